// SPDX-License-Identifier: Apache-2.0
#include "reference/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "reference/vector_chain.h"

namespace rngdsim {
namespace {

// Elements of a slice looked at at a time.
constexpr uint64_t kChunk = 4096;
// The same for reading back all slices of a chunk, which share cache lines.
constexpr uint64_t kReadChunk = 128;

uint32_t load(const uint8_t* data, size_t entry, int bytes) {
  switch (bytes) {
    case 1:
      return data[entry];
    case 2:
      return reinterpret_cast<const uint16_t*>(data)[entry];
    default:
      return reinterpret_cast<const uint32_t*>(data)[entry];
  }
}

void store(uint8_t* data, size_t entry, int bytes, uint32_t bits) {
  switch (bytes) {
    case 1:
      data[entry] = static_cast<uint8_t>(bits);
      break;
    case 2:
      reinterpret_cast<uint16_t*>(data)[entry] = static_cast<uint16_t>(bits);
      break;
    default:
      reinterpret_cast<uint32_t*>(data)[entry] = bits;
  }
}

// Where something was found: positions of all dimensions, and the slice on the chip.
struct Place {
  std::vector<uint64_t> positions;
  uint64_t slice = 0;
};

std::string place_text(const Place& place, const TensorVersion* tensor) {
  const std::vector<uint64_t>& p = place.positions;
  if (tensor == nullptr) {
    const std::string lane = p[3] == 0 ? "" : fmt::format(", lane {}", p[3]);
    return fmt::format("slice {}{}, item {}, position {}", place.slice, lane, p[4], p[5]);
  }
  switch (tensor->memory) {
    case MemoryKind::kHbm:
    case MemoryKind::kHost:
      return fmt::format("element {}", p[4]);
    case MemoryKind::kTrf:
      return fmt::format("slice {}, lane {}, element {}", place.slice, p[3], p[4]);
    default:
      return fmt::format("slice {}, element {}", place.slice, p[4]);
  }
}

}  // namespace

std::string to_string(const Mismatch& mismatch) {
  const std::string place = mismatch.place.empty() ? "" : " (" + mismatch.place + ")";
  return fmt::format("{} at {}{}: expected {}, got {}", mismatch.tensor, mismatch.index, place,
                     mismatch.expected, mismatch.got);
}

// Elements that a filter may have left out of what a command wrote: they hold what was there
// before.
struct Checker::FilteredPlaces {
  std::vector<Written> written;  // by offset
  const char* why = "the filter leaves it out";
  std::unique_ptr<LogicalTensor> before;  // null: poison
  bool before_is_known = true;
};

// Gathers the places of one result into its logical tensor: every replica must agree with the
// first, no element may be poison, zero padding must be zero.
class Checker::Collector {
 public:
  Collector(std::string name, const TensorVersion* tensor, DType dtype,
            const std::vector<AxisId>& logical, const Positions& positions, const Program& program,
            const FilteredPlaces* filtered = nullptr)
      : name_(std::move(name)),
        tensor_(tensor),
        positions_(positions),
        program_(program),
        filtered_(filtered),
        mask_(static_cast<uint32_t>((uint64_t{1} << value_bits(dtype)) - 1)),
        actual_(std::make_unique<LogicalTensor>(dtype, logical, program.axes)) {}

  // `offset` as Positions gives it, at the dimensions' `place`.
  void take(int64_t offset, uint32_t bits, bool valid, const Place& place) {
    if (offset == Positions::kPoison) return;
    bits &= mask_;
    if (offset == Positions::kZero) {
      // A negative float zero is none of ours either.
      if (valid && bits == 0) return;
      add({name_, "zero padding", place_text(place, tensor_), "0", got(bits, valid)});
      return;
    }
    ++places_;
    const auto element = static_cast<uint64_t>(offset);
    if (filtered_ != nullptr && left_out(element, bits, valid, place)) return;
    if (!valid) {
      add({name_, index_text(place), place_text(place, tensor_), "a value", "poison"});
      return;
    }
    if (!actual_->defined(element)) {
      actual_->set(element, bits);
    } else if (actual_->bits(element) != bits) {
      add({name_, index_text(place), place_text(place, tensor_),
           "the value of its other copies, " + value_text(actual_->dtype(), actual_->bits(element)),
           got(bits, true)});
    }
  }

  // The same for `count` neighbours from `place` on along the last dimension, whose position in
  // `place` is changed.
  void take_run(const int64_t* offsets, uint32_t* bits, const uint8_t* valid, uint64_t count,
                Place& place) {
    if (count == 0) return;
    if (is_fresh_run(offsets, valid, count)) {
      for (uint64_t i = 0; i < count; ++i) bits[i] &= mask_;
      actual_->set_run(static_cast<uint64_t>(offsets[0]), bits, count);
      places_ += count;
      return;
    }
    uint64_t& position = place.positions.back();
    const uint64_t first = position;
    for (uint64_t i = 0; i < count; ++i) {
      position = first + i;
      take(offsets[i], bits[i], valid[i] != 0, place);
    }
  }

  void add(Mismatch mismatch) {
    ++mismatches_;
    if (listed_.size() < kMaxListed) listed_.push_back(std::move(mismatch));
  }

  std::string index_text(const Place& place) const {
    return to_string(positions_.cell(place.positions), program_.axes);
  }
  std::string got(uint32_t bits, bool valid) const {
    return valid ? value_text(actual_->dtype(), bits) : "poison";
  }

  const std::string& name() const { return name_; }
  const TensorVersion* tensor() const { return tensor_; }
  const Positions& positions() const { return positions_; }
  LogicalTensor& actual() { return *actual_; }
  // With what a tensor still holds where nothing was written, which later commands read.
  std::unique_ptr<LogicalTensor> release() {
    for (const auto& [element, bits] : as_before_) {
      if (tensor_ != nullptr && !actual_->defined(element)) actual_->set(element, bits);
    }
    return std::move(actual_);
  }
  uint64_t places() const { return places_; }
  uint64_t mismatches() const { return mismatches_; }
  std::vector<Mismatch>& listed() { return listed_; }

 private:
  // Valid elements at consecutive offsets, of which no copy has been seen yet.
  bool is_fresh_run(const int64_t* offsets, const uint8_t* valid, uint64_t count) const {
    if (filtered_ != nullptr) return false;
    if (offsets[0] < 0 || std::memchr(valid, 0, count) != nullptr) return false;
    for (uint64_t i = 1; i < count; ++i) {
      if (offsets[i] != offsets[0] + static_cast<int64_t>(i)) return false;
    }
    return actual_->none_defined(static_cast<uint64_t>(offsets[0]), count);
  }

  // Whether a place is settled as one that was not written.
  bool left_out(uint64_t element, uint32_t bits, bool valid, const Place& place) {
    const Written written = filtered_->written[element];
    if (written == Written::kYes) return false;
    if (valid) as_before_.emplace_back(element, bits);
    const LogicalTensor* before = filtered_->before.get();
    const bool held = before != nullptr && before->defined(element);
    const bool as_before = held ? valid && bits == before->bits(element) : !valid;
    if (as_before || !filtered_->before_is_known) return true;
    if (written == Written::kMaybe) return false;
    add({name_, index_text(place), place_text(place, tensor_),
         fmt::format("{}, since {}",
                     held ? value_text(actual_->dtype(), before->bits(element)) : "poison",
                     filtered_->why),
         got(bits, valid)});
    return true;
  }

  std::string name_;
  const TensorVersion* tensor_;  // null: a sink
  const Positions& positions_;
  const Program& program_;
  const FilteredPlaces* filtered_;  // null: all is written
  uint32_t mask_;
  std::unique_ptr<LogicalTensor> actual_;
  std::vector<std::pair<uint64_t, uint32_t>> as_before_;  // where a filter may leave elements out
  uint64_t places_ = 0;
  uint64_t mismatches_ = 0;
  std::vector<Mismatch> listed_;
};

// The slices of the chip that hold elements, with what their positions contribute.
struct LiveSlice {
  uint64_t slice;  // cluster * slices + slice
  uint64_t cluster_position, slice_position;
  Positions::Partial partial;  // after chip, cluster, slice
};

namespace {

// `first_slice`: where the positions begin.
std::vector<LiveSlice> spatial(const Positions& positions, const MachineLimits& limits,
                               uint64_t first_slice = 0) {
  std::vector<LiveSlice> result;
  Positions::Partial on_chip = positions.begin();
  positions.add(on_chip, 0, 0);
  for (uint64_t c = 0; c < std::min(limits.clusters, positions.size(1)); ++c) {
    Positions::Partial in_cluster = on_chip;
    positions.add(in_cluster, 1, c);
    for (uint64_t s = 0; s < std::min(limits.slices, positions.size(2)); ++s) {
      LiveSlice live{first_slice + c * limits.slices + s, c, s, in_cluster};
      positions.add(live.partial, 2, s);
      if (positions.finish(live.partial) >= 0) result.push_back(std::move(live));
    }
  }
  return result;
}

// Finds the first place of each of the given offsets, in their order.
std::vector<Place> find_places(const Positions& positions, const MachineLimits& limits,
                               uint64_t first_slice, const std::vector<uint64_t>& offsets) {
  std::vector<Place> found(offsets.size());
  size_t missing = offsets.size();
  const size_t last = positions.dimensions() - 1;
  const uint64_t items = last == 5 ? positions.size(4) : 1;  // Time of a stream
  const uint64_t chunk_size = std::min(kChunk, positions.size(last));
  std::vector<int64_t> chunk(chunk_size);
  for (const LiveSlice& live : spatial(positions, limits, first_slice)) {
    for (uint64_t lane = 0; lane < positions.size(3); ++lane) {
      for (uint64_t item = 0; item < items && missing > 0; ++item) {
        Positions::Partial at = live.partial;
        positions.add(at, 3, lane);
        if (last == 5) positions.add(at, 4, item);
        for (uint64_t first = 0; first < positions.size(last) && missing > 0; first += chunk_size) {
          const uint64_t count = std::min(chunk_size, positions.size(last) - first);
          positions.last(at, first, count, chunk.data());
          for (size_t k = 0; k < offsets.size(); ++k) {
            if (!found[k].positions.empty()) continue;
            const auto end = chunk.begin() + static_cast<std::ptrdiff_t>(count);
            const auto hit = std::find(chunk.begin(), end, static_cast<int64_t>(offsets[k]));
            if (hit == end) continue;
            const uint64_t position = first + static_cast<uint64_t>(hit - chunk.begin());
            found[k].slice = live.slice;
            found[k].positions = {0, live.cluster_position, live.slice_position, lane};
            if (last == 5) found[k].positions.push_back(item);
            found[k].positions.push_back(position);
            --missing;
          }
        }
      }
    }
  }
  return found;
}

}  // namespace

struct Checker::StreamSource {
  LogicalTensor values;
  Positions positions;
  std::vector<LiveSlice> slices;
  bool has_poison = false;
  std::vector<int64_t> offsets;  // scratch, one a position of Packet
};

struct Checker::SinkState {
  SinkState(Positions where, const Program& program, const Command& command, DType dtype,
            const std::vector<AxisId>& logical, std::unique_ptr<FilteredPlaces> filtered)
      : positions(std::move(where)),
        slices(spatial(positions, program.limits)),
        left_out(std::move(filtered)),
        collector(fmt::format("sink of command {}", command.id), nullptr, dtype, logical, positions,
                  program, left_out.get()),
        offsets(positions.size(5)),
        bits(positions.size(5)),
        flags(positions.size(5)) {}

  Positions positions;
  std::vector<LiveSlice> slices;
  std::unique_ptr<FilteredPlaces> left_out;
  Collector collector;
  // Scratch, one entry a position of Packet.
  std::vector<int64_t> offsets;
  std::vector<uint32_t> bits;
  std::vector<uint8_t> flags;
  uint64_t taken = 0;  // elements of a lane
};

Checker::Checker(const Program& program, uint64_t seed, const std::string& kernel_dir,
                 TensorReader reader, Diagnostics& diagnostics)
    : program_(program), reader_(std::move(reader)) {
  const AxisTable& axes = program.axes;
  values_.resize(program.tensors.size());
  places_.resize(program.tensors.size());
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    const TensorVersion& tensor = program.tensors[id];
    if (tensor.view_of && !tensor.reshaped) continue;  // its tensor has the values
    if (tensor.produced_by || tensor.view_of) {
      if (LogicalTensor::volume(tensor.logical, axes) > kMaxLogicalVolume) {
        diagnostics.error(tensor.where,
                          fmt::format("tensor '{}' has more than the {} elements that "
                                      "values are simulated for",
                                      tensor.name, kMaxLogicalVolume),
                          "--timing-only needs no values");
      }
      continue;
    }
    values_[id] = std::make_unique<LogicalTensor>(initial_values(
        tensor.init, tensor.dtype, tensor.logical, axes, seed, kernel_dir, diagnostics));
  }
  for (const Command& command : program.commands) {
    if (!command.stream) continue;
    LogicalTensor values =
        initial_values(command.stream->init, command.source.dtype, command.stream->logical, axes,
                       seed, kernel_dir, diagnostics);
    if (diagnostics.has_errors()) continue;
    const StreamShape& shape = command.source;
    auto source = std::make_unique<StreamSource>(StreamSource{
        std::move(values), Positions::of(shape, command.stream->logical, axes), {}, false, {}});
    source->slices = spatial(source->positions, program.limits);
    source->has_poison = !source->values.all_defined() || source->positions.watches_overshoot() ||
                         count_live({&shape.time}, axes) < shape.time.size() ||
                         count_live({&shape.packet}, axes) < shape.packet.size();
    source->offsets.resize(shape.packet.size());
    streams_[command.id] = std::move(source);
  }
  keep_originals();
  count_uses();
  for (const ExpectedResult& expected : program.expect) {
    const auto result = last_version(expected.tensor);
    if (!result) continue;  // lowering has reported it
    std::vector<AxisId> in_axes;
    for (const std::string& factor : expected.product_of) {
      const auto version = first_version(factor);
      if (!version) continue;
      const std::vector<AxisId>& logical = program.tensors[*version].logical;
      in_axes.insert(in_axes.end(), logical.begin(), logical.end());
    }
    std::sort(in_axes.begin(), in_axes.end());
    in_axes.erase(std::unique(in_axes.begin(), in_axes.end()), in_axes.end());
    check_sum(expected.sum_over, in_axes, program.tensors[*result].logical, axes, expected.where,
              diagnostics);
  }
}

Checker::~Checker() = default;

// `expect:` speaks of tensors as they were declared; those that commands change are copied.
void Checker::keep_originals() {
  for (const Command& command : program_.commands) {
    const auto written = written_by(command);
    if (!written || !changes_in_part(program_, command)) continue;
    const TensorId id = root_of(program_, *written);
    const std::string& name = program_.tensors[id].name;
    for (const ExpectedResult& expected : program_.expect) {
      const auto& factors = expected.product_of;
      if (values_[id] == nullptr || originals_.count(id) != 0 ||
          std::find(factors.begin(), factors.end(), name) == factors.end()) {
        continue;
      }
      originals_.emplace(id, *values_[id]);
    }
  }
}

std::vector<TensorId> Checker::used_by(const Command& command) const {
  std::vector<TensorId> used;
  const auto add = [&](TensorId id) {
    while (program_.tensors[id].view_of) id = *program_.tensors[id].view_of;
    used.push_back(id);
  };
  if (command.fetch) {
    add(command.fetch->tensor);
    const auto& pair = program_.tensors[command.fetch->tensor].pair;
    if (pair) add(pair->second);
  }
  if (command.dma) add(command.dma->from);
  if (command.dma && command.dma->indexed) add(command.dma->indexed->index);
  if (command.outer) add(command.outer->trf);
  for (const TensorId id : vrf_operands(command)) add(id);
  if (const auto written = written_by(command)) add(*written);
  return used;
}

void Checker::count_uses() {
  uses_left_.assign(program_.tensors.size(), 0);
  lasts_.assign(program_.tensors.size(), 0);
  for (const Command& command : program_.commands) {
    for (const TensorId id : used_by(command)) ++uses_left_[id];
  }
  std::map<std::string, TensorId> last;
  for (TensorId id = 0; id < program_.tensors.size(); ++id) {
    last[program_.tensors[id].name] = id;
  }
  for (const auto& [name, id] : last) lasts_[id] = 1;
}

void Checker::release_used(const Command& command) {
  for (const TensorId id : used_by(command)) {
    if (--uses_left_[id] > 0 || lasts_[id] != 0 || !program_.tensors[id].produced_by) continue;
    values_[id].reset();
    places_[id].reset();
  }
}

std::optional<TensorId> Checker::first_version(const std::string& name) const {
  for (TensorId id = 0; id < program_.tensors.size(); ++id) {
    if (program_.tensors[id].name == name) return id;
  }
  return std::nullopt;
}

std::optional<TensorId> Checker::last_version(const std::string& name) const {
  std::optional<TensorId> last;
  for (TensorId id = 0; id < program_.tensors.size(); ++id) {
    if (program_.tensors[id].name == name) last = id;
  }
  return last;
}

const LogicalTensor* Checker::value(TensorId tensor) const { return values_[tensor].get(); }

const LogicalTensor* Checker::operand(TensorId id) {
  const TensorVersion& tensor = program_.tensors[id];
  if (!tensor.view_of) return value(id);
  if (tensor.pair) return pair_operand(tensor);
  const LogicalTensor* whole = operand(*tensor.view_of);
  if (whole == nullptr) return nullptr;
  view_operand_ = std::make_unique<LogicalTensor>(view_of(tensor, *whole));
  return view_operand_.get();
}

const LogicalTensor* Checker::pair_operand(const TensorVersion& pair) {
  const LogicalTensor* one = operand(*pair.view_of);
  if (one == nullptr) return nullptr;
  const LogicalTensor first = *one;  // a view's lasts until the next one is made
  const LogicalTensor* second = operand(pair.pair->second);
  if (second == nullptr) return nullptr;
  view_operand_ = std::make_unique<LogicalTensor>(
      interleaved(first, *second, pair.pair->axis, pair.logical, program_.axes));
  return view_operand_.get();
}

void Checker::keep(TensorId id, std::unique_ptr<LogicalTensor> values) {
  while (program_.tensors[id].view_of) {
    const TensorVersion& view = program_.tensors[id];
    id = *view.view_of;
    const TensorVersion& of = program_.tensors[id];
    if (of.view_of || values_[id] == nullptr) {
      // Beside the view it stays what it was.
      auto whole = std::make_unique<LogicalTensor>(values->dtype(), of.logical, program_.axes);
      if (of.view_of && values_[root_of(program_, id)] != nullptr) whole = tile_of_view(id);
      put_view(view, *values, *whole);
      values = std::move(whole);
      continue;
    }
    put_view(view, *values, *values_[id]);
    return;
  }
  values_[id] = std::move(values);
}

const Positions& Checker::positions(TensorId tensor) const {
  if (places_[tensor] == nullptr) {
    places_[tensor] =
        std::make_unique<Positions>(Positions::of(program_.tensors[tensor], program_.axes));
  }
  return *places_[tensor];
}

Checker::StreamSource& Checker::stream_source(CommandId command) {
  const auto found = streams_.find(command);
  if (found == streams_.end()) {
    throw InternalError(fmt::format("command {} does not begin from a stream", command));
  }
  return *found->second;
}

bool Checker::stream_has_poison(CommandId command) { return stream_source(command).has_poison; }

void Checker::fill_rows(CommandId command, uint64_t index, uint32_t elements, uint32_t slices,
                        uint8_t* data, uint8_t* valid) {
  StreamSource& source = stream_source(command);
  const int bytes = storage_bytes(source.values.dtype());
  std::memset(data, 0, size_t{elements} * slices * static_cast<size_t>(bytes));
  if (valid != nullptr) std::memset(valid, 1, size_t{elements} * slices);
  const uint64_t rows = std::min<uint64_t>(elements, source.offsets.size());
  for (const LiveSlice& live : source.slices) {
    if (live.slice >= slices) continue;
    Positions::Partial at = live.partial;
    source.positions.add(at, 3, 0);
    source.positions.add(at, 4, index);
    source.positions.last(at, 0, rows, source.offsets.data());
    for (uint64_t row = 0; row < rows; ++row) {
      const int64_t offset = source.offsets[row];
      const size_t entry = row * slices + live.slice;
      if (offset >= 0 && source.values.defined(static_cast<uint64_t>(offset))) {
        store(data, entry, bytes, source.values.bits(static_cast<uint64_t>(offset)));
      } else if (offset != Positions::kZero) {
        valid[entry] = 0;
      }
    }
  }
}

std::optional<Expectation> Checker::expectation(const Command& command,
                                                const std::vector<AxisId>& out_axes) {
  const LogicalTensor* a = command.dma     ? operand(command.dma->from)
                           : command.fetch ? operand(command.fetch->tensor)
                                           : &stream_source(command.id).values;
  const LogicalTensor* b = command.outer ? value(command.outer->trf) : nullptr;
  if (a == nullptr || (command.outer && b == nullptr)) {
    throw InternalError(
        fmt::format("command {} ends before one that makes its operand", command.id));
  }
  const auto known_value = [&](TensorId id) {
    if (value(id) == nullptr) {
      throw InternalError(
          fmt::format("command {} ends before one that makes its operand", command.id));
    }
    return value(id);
  };
  if (command.dma && command.dma->indexed) {
    const DmaConfig::Indexed& indexed = *command.dma->indexed;
    return Expectation::of_rows(*a, *known_value(indexed.index), indexed, out_axes, program_.axes);
  }
  if (command.dma) return Expectation::of_copy(*a, out_axes, program_.axes);
  Diagnostics diagnostics;
  std::optional<Expectation> result =
      Expectation::of_command(program_, command, *a, b, known_value, out_axes, diagnostics);
  diagnostics.throw_if_errors();
  return result;
}

Checker::SinkState& Checker::sink(CommandId id) {
  std::unique_ptr<SinkState>& state = sinks_[id];
  if (state == nullptr) {
    const Command& command = program_.commands[id];
    const StreamShape& shape = command.final_shape;
    // The result depends on no more axes than its operands.
    const std::vector<AxisId> logical = sink_axes(program_, command);
    state =
        std::make_unique<SinkState>(Positions::of(shape, logical, program_.axes), program_, command,
                                    shape.dtype, logical, filtered_in_sink(command, logical));
  }
  return *state;
}

void Checker::take_sink_rows(CommandId command, uint64_t index, const BlockShape& shape,
                             const uint8_t* data, const uint8_t* valid) {
  const auto& [elements, slices, first_slice] = shape;
  SinkState& state = sink(command);
  const int bytes = storage_bytes(state.collector.actual().dtype());
  const uint64_t lanes = state.positions.size(3), packet = state.positions.size(5);
  // Accesses that reach the sink without a collect stage are parts of a packet, in order.
  const bool whole = elements >= lanes * packet;
  const uint64_t columns = whole ? packet : elements;
  const uint64_t parts = whole || elements == 0 ? 1 : packet / elements;
  const uint64_t time = index / parts, first = index % parts * columns;
  if (time >= state.positions.size(4) || (!whole && (lanes != 1 || columns * parts != packet))) {
    throw InternalError(
        fmt::format("item {} with {} elements at the sink of command {}, which "
                    "takes {} packets of {}",
                    index, elements, command, state.positions.size(4), lanes * packet));
  }
  if (first_slice == 0) state.taken += columns;
  Place place{{0, 0, 0, 0, time, 0}, 0};
  for (const LiveSlice& live : state.slices) {
    if (live.slice < first_slice || live.slice - first_slice >= slices) continue;
    place.slice = live.slice;
    place.positions[1] = live.cluster_position;
    place.positions[2] = live.slice_position;
    for (uint64_t lane = 0; lane < lanes; ++lane) {
      Positions::Partial at = live.partial;
      state.positions.add(at, 3, lane);
      if (!at.live()) continue;
      state.positions.add(at, 4, time);
      state.positions.last(at, first, columns, state.offsets.data());
      place.positions[3] = lane;
      for (uint64_t p = 0; p < columns; ++p) {
        const size_t entry = (lane * columns + p) * slices + live.slice - first_slice;
        state.bits[p] = load(data, entry, bytes);
        state.flags[p] = valid == nullptr || valid[entry] != 0 ? 1 : 0;
      }
      place.positions[5] = first;
      state.collector.take_run(state.offsets.data(), state.bits.data(), state.flags.data(), columns,
                               place);
    }
  }
}

void Checker::judge(Collector& collector, Expectation& expectation, CheckedTensor& entry) {
  const LogicalTensor& actual = collector.actual();
  if (expectation.dtype() != actual.dtype() || expectation.volume() != actual.volume()) {
    throw InternalError(fmt::format("{} is {} in the program and {} by its definition",
                                    collector.name(), rngdsim::name(actual.dtype()),
                                    rngdsim::name(expectation.dtype())));
  }
  const Verdict verdict = expectation.judge_all(actual, kMaxListed);
  const std::vector<uint64_t>& wrong = verdict.first_wrong;
  entry.max_abs_error = verdict.max_error;
  entry.bound_fraction = verdict.max_fraction;
  const std::vector<Place> places =
      wrong.empty()
          ? std::vector<Place>{}
          : find_places(collector.positions(), program_.limits,
                        collector.tensor() == nullptr ? 0 : collector.tensor()->first_slice, wrong);
  for (size_t i = 0; i < wrong.size(); ++i) {
    const bool known = !places[i].positions.empty();
    collector.add(
        {collector.name(),
         known ? collector.index_text(places[i]) : to_string(actual.index(wrong[i]), program_.axes),
         known ? place_text(places[i], collector.tensor()) : "",
         expectation.expected_text(wrong[i]), collector.got(actual.bits(wrong[i]), true)});
  }
  entry.elements = collector.places();
  entry.mismatches = collector.mismatches() + verdict.wrong - wrong.size();
}

void Checker::book(CheckedTensor entry, std::vector<Mismatch> listed) {
  report_.mismatches += entry.mismatches;
  report_.max_abs_error = std::max(report_.max_abs_error, entry.max_abs_error);
  report_.bound_fraction = std::max(report_.bound_fraction, entry.bound_fraction);
  report_.checked.push_back(std::move(entry));
  for (Mismatch& mismatch : listed) report_.first.push_back(std::move(mismatch));
}

void Checker::check_written(CommandId id) {
  const Command& command = program_.commands[id];
  judge_written(command);
  // Views have no further use.
  if (command.fetch && program_.tensors[command.fetch->tensor].view_of) {
    places_[command.fetch->tensor].reset();
  }
  if (command.dma && program_.tensors[command.dma->from].view_of) {
    places_[command.dma->from].reset();
  }
  if (command.dma && program_.tensors[command.dma->to].view_of) {
    places_[command.dma->to].reset();
  }
  if (command.commit && program_.tensors[command.commit->tensor].view_of) {
    places_[command.commit->tensor].reset();
  }
  release_used(command);
}

void Checker::judge_written(const Command& command) {
  const CommandId id = command.id;
  const std::optional<TensorId> target = written_by(command);
  if (!target) {
    SinkState& state = sink(id);
    Collector& collector = state.collector;
    const uint64_t expected_elements = state.positions.size(4) * state.positions.size(5);
    if (state.taken != expected_elements) {
      collector.add({collector.name(), "the end", "",
                     fmt::format("{} elements a lane", expected_elements),
                     fmt::format("{} elements a lane", state.taken)});
    }
    std::optional<Expectation> expected = expectation(command, collector.actual().axes());
    CheckedTensor entry{collector.name(), 0, collector.actual().dtype(), id, 0, 0, 0, 0};
    judge(collector, *expected, entry);
    book(std::move(entry), std::move(collector.listed()));
    if (KeptResult* kept = kept_in_sink(id)) {
      kept_sinks_.push_back(collector.release());
      keep_result(*kept, *kept_sinks_.back(), *expected, std::nullopt);
    }
    sinks_.erase(id);
    return;
  }
  const TensorId written = *target;
  const TensorVersion& tensor = program_.tensors[written];
  const Positions& where = positions(written);
  std::optional<Expectation> expected = expectation(command, tensor.logical);
  const std::unique_ptr<FilteredPlaces> left_out =
      expected->has_filter() ? filtered(command, written, *expected) : nullptr;
  const auto collect = [&](ReadOrder order) {
    auto collector = std::make_unique<Collector>(tensor.name, &tensor, tensor.dtype, tensor.logical,
                                                 where, program_, left_out.get());
    read_back(written, order, *collector);
    return collector;
  };
  // The first mismatches are those of the first slice, which only the slow order finds first.
  std::unique_ptr<Collector> collected = collect(ReadOrder::kByChunk);
  if (collected->mismatches() > 0) {
    collected.reset();
    collected = collect(ReadOrder::kBySlice);
  }
  Collector& collector = *collected;
  CheckedTensor entry{tensor.name, tensor.version, tensor.dtype, id, 0, 0, 0, 0};
  judge(collector, *expected, entry);
  book(std::move(entry), std::move(collector.listed()));
  const TensorId whole = root_of(program_, written);
  KeptResult* kept = kept_in(whole);
  // Where there is an `expect:`, it has the last word on what is right. Before what is written
  // changes a tensor that the command reads.
  if (kept != nullptr && program_.expect.empty()) {
    keep_result(*kept, collector.actual(), *expected, written);
  }
  keep(written, collector.release());
  if (kept != nullptr) kept->values = values_[whole].get();
}

namespace {

// Without the elements that poison may have been written over.
void forget_poisoned(const std::vector<uint8_t>& poisoned, LogicalTensor& values) {
  if (std::find(poisoned.begin(), poisoned.end(), 1) == poisoned.end()) return;
  for (uint64_t offset = 0; offset < values.volume(); ++offset) {
    if (poisoned[offset] != 0) values.unset(offset);
  }
}

}  // namespace

std::unique_ptr<Checker::FilteredPlaces> Checker::filtered(const Command& command, TensorId id,
                                                           Expectation& expectation) {
  auto result = std::make_unique<FilteredPlaces>();
  result->written = expectation.written();
  if (command.dma) result->why = "no row that is moved has it";
  if (changes_in_part(program_, command)) {
    const TensorId whole = root_of(program_, id);
    // The part of the whole that the view is.
    if (values_[whole] != nullptr) result->before = tile_of_view(id);
    if (result->before != nullptr) forget_poisoned(expectation.poisoned(), *result->before);
    result->before_is_known = values_[whole] != nullptr || !shares_place(whole);
  } else {
    result->before_is_known = !shares_place(id);
  }
  return result;
}

// What a filter leaves out is none of the result, whatever the items hold there.
std::unique_ptr<Checker::FilteredPlaces> Checker::filtered_in_sink(
    const Command& command, const std::vector<AxisId>& out_axes) {
  if (!command.vector || !has_filter(*command.vector)) return nullptr;
  auto result = std::make_unique<FilteredPlaces>();
  result->written = expectation(command, out_axes)->written();
  result->before_is_known = false;
  return result;
}

std::unique_ptr<LogicalTensor> Checker::tile_of_view(TensorId id) const {
  const TensorVersion& tensor = program_.tensors[id];
  if (!tensor.view_of) return std::make_unique<LogicalTensor>(*values_[id]);
  return std::make_unique<LogicalTensor>(view_of(tensor, *tile_of_view(*tensor.view_of)));
}

LogicalTensor Checker::view_of(const TensorVersion& view, const LogicalTensor& whole) const {
  if (!view.reshaped) return tile_of(whole, view.tile, program_.axes);
  LogicalTensor part(whole.dtype(), view.logical, program_.axes);
  const std::vector<int64_t> origin = origins(program_.tensors[*view.view_of], view, program_);
  for (uint64_t offset = 0; offset < part.volume(); ++offset) {
    const int64_t from = origin[offset];
    if (from == Positions::kZero) part.set(offset, 0);
    if (from < 0 || !whole.defined(static_cast<uint64_t>(from))) continue;
    part.set(offset, whole.bits(static_cast<uint64_t>(from)));
  }
  return part;
}

void Checker::put_view(const TensorVersion& view, const LogicalTensor& part,
                       LogicalTensor& whole) const {
  if (!view.reshaped) {
    put_tile(part, view.tile, program_.axes, whole);
    return;
  }
  const std::vector<int64_t> origin = origins(program_.tensors[*view.view_of], view, program_);
  for (uint64_t offset = 0; offset < part.volume(); ++offset) {
    if (origin[offset] < 0) continue;
    if (part.defined(offset)) {
      whole.set(static_cast<uint64_t>(origin[offset]), part.bits(offset));
    } else {
      whole.unset(static_cast<uint64_t>(origin[offset]));
    }
  }
}

bool Checker::shares_place(TensorId id) const {
  const TensorVersion& own = program_.tensors[id];
  for (TensorId other = 0; other < program_.tensors.size(); ++other) {
    const TensorVersion& tensor = program_.tensors[other];
    if (tensor.memory != own.memory || root_of(program_, other) == id) continue;
    if (tensor.address < own.address + own.bytes && own.address < tensor.address + tensor.bytes) {
      return true;
    }
  }
  return false;
}

void Checker::keep_results(ResultOffsets accepted_at) {
  accepted_at_ = std::move(accepted_at);
  for (ProgramResult& result : results_of(program_)) {
    kept_.push_back({std::move(result), nullptr, {}});
  }
}

KeptResult* Checker::kept_in_sink(CommandId command) {
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const KeptResult& kept) {
    return kept.result.command == command;
  });
  return found == kept_.end() ? nullptr : &*found;
}

KeptResult* Checker::kept_in(TensorId tensor) {
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const KeptResult& kept) {
    return kept.result.tensor == tensor;
  });
  return found == kept_.end() ? nullptr : &*found;
}

namespace {

// As LogicalTensor::stride.
uint64_t stride_of(AxisId axis, const std::vector<AxisId>& logical, const AxisTable& axes) {
  uint64_t stride = 1;
  for (auto at = logical.rbegin(); at != logical.rend(); ++at) {
    if (*at == axis) return stride;
    stride *= axes.size(*at);
  }
  return 0;
}

}  // namespace

// What a view has of an element of the whole, as an offset into its own tensor.
std::optional<uint64_t> Checker::offset_in(std::optional<TensorId> view, uint64_t offset) const {
  std::vector<const TensorVersion*> views;  // the innermost first
  for (; view && program_.tensors[*view].view_of; view = program_.tensors[*view].view_of) {
    views.push_back(&program_.tensors[*view]);
  }
  for (auto at = views.rbegin(); at != views.rend(); ++at) {
    const TensorVersion& of = program_.tensors[*(*at)->view_of];
    if ((*at)->reshaped) {
      const std::vector<int64_t> origin = origins(of, **at, program_);
      const auto found = std::find(origin.begin(), origin.end(), static_cast<int64_t>(offset));
      if (found == origin.end()) return std::nullopt;
      offset = static_cast<uint64_t>(found - origin.begin());
      continue;
    }
    const Tile& tile = (*at)->tile;
    const uint64_t stride = stride_of(tile.axis, of.logical, program_.axes);
    if (stride == 0) continue;  // the tensor does not depend on this axis
    const uint64_t index = offset / stride % program_.axes.size(tile.axis);
    const uint64_t shift = tile.shift();
    if (index < shift || !tile.holds(index - shift)) return std::nullopt;
    offset -= shift * stride;
  }
  return offset;
}

void Checker::keep_result(KeptResult& kept, const LogicalTensor& values, Expectation& expectation,
                          std::optional<TensorId> written) const {
  kept.values = &values;
  const auto wanted = accepted_at_.find(kept.result.name);
  if (wanted == accepted_at_.end()) return;
  kept.accepted.resize(wanted->second.size(), Accepted::nothing());
  for (size_t i = 0; i < wanted->second.size(); ++i) {
    const auto offset = offset_in(written, wanted->second[i]);
    if (offset) kept.accepted[i] = expectation.accepted(*offset);
  }
}

void Checker::read_back(TensorId id, ReadOrder order, Collector& collector) {
  const Positions& where = positions(id);
  struct Lane {
    const LiveSlice* live;
    uint64_t lane;
    Positions::Partial partial;  // after chip, cluster, slice, lane
  };
  const std::vector<LiveSlice> slices =
      spatial(where, program_.limits, program_.tensors[id].first_slice);
  std::vector<Lane> lanes;
  for (const LiveSlice& live : slices) {
    for (uint64_t lane = 0; lane < where.size(3); ++lane) {
      Positions::Partial at = live.partial;
      where.add(at, 3, lane);
      if (where.finish(at) >= 0) lanes.push_back({&live, lane, std::move(at)});
    }
  }
  const uint64_t elements = where.size(4);
  const uint64_t chunk_size = std::min(kReadChunk, elements);
  std::vector<uint32_t> bits(chunk_size);
  std::vector<uint8_t> valid(chunk_size);
  std::vector<int64_t> offsets(chunk_size);
  Place place{{0, 0, 0, 0, 0}, 0};
  const auto take_chunk = [&](const Lane& of, uint64_t first) {
    const uint64_t count = std::min(chunk_size, elements - first);
    where.last(of.partial, first, count, offsets.data());
    reader_(id, static_cast<uint32_t>(of.live->slice), static_cast<uint32_t>(of.lane), first, count,
            bits.data(), valid.data());
    place.slice = of.live->slice;
    place.positions = {0, of.live->cluster_position, of.live->slice_position, of.lane, first};
    collector.take_run(offsets.data(), bits.data(), valid.data(), count, place);
  };
  if (order == ReadOrder::kByChunk) {
    for (uint64_t first = 0; first < elements; first += chunk_size) {
      for (const Lane& lane : lanes) take_chunk(lane, first);
    }
  } else {
    for (const Lane& lane : lanes) {
      for (uint64_t first = 0; first < elements; first += chunk_size) take_chunk(lane, first);
    }
  }
}

void Checker::check_expected() {
  for (const ExpectedResult& expected : program_.expect) {
    const auto result = last_version(expected.tensor);
    std::array<const LogicalTensor*, 2> factors{};
    bool known = result.has_value() && !expected.product_of.empty() &&
                 expected.product_of.size() <= factors.size();
    for (size_t i = 0; known && i < expected.product_of.size(); ++i) {
      const auto version = first_version(expected.product_of[i]);
      known = version.has_value();
      if (!known) continue;
      const auto original = originals_.find(*version);
      factors[i] = original != originals_.end() ? &original->second : value(*version);
    }
    if (!known) continue;  // lowering has reported it
    const TensorVersion& tensor = program_.tensors[*result];
    const LogicalTensor* actual = value(*result);
    CheckedTensor entry{tensor.name + " (expect)", tensor.version, tensor.dtype, {}, 0, 0, 0, 0};
    std::vector<Mismatch> listed;
    const bool complete = actual != nullptr && factors[0] != nullptr &&
                          (expected.product_of.size() == 1 || factors[1] != nullptr);
    if (!complete) {
      ++entry.mismatches;
      listed.push_back(
          {entry.name, "the end", "", "a value", "nothing: the command that makes it did not end"});
      book(std::move(entry), std::move(listed));
      continue;
    }
    Diagnostics diagnostics;
    std::optional<Expectation> expectation =
        Expectation::of_sum(expected.sum_over, *factors[0], factors[1], actual->axes(),
                            actual->dtype(), program_.axes, expected.where, diagnostics);
    diagnostics.throw_if_errors();
    if (KeptResult* kept = kept_in(*result)) {
      keep_result(*kept, *actual, *expectation, std::nullopt);
    }
    const Verdict verdict = expectation->judge_all(*actual, kMaxListed);
    entry.elements = actual->volume();
    entry.max_abs_error = verdict.max_error;
    entry.bound_fraction = verdict.max_fraction;
    entry.mismatches = verdict.wrong + actual->volume() - actual->defined_count();
    std::vector<uint64_t> wrong = verdict.first_wrong;
    for (uint64_t offset = 0, found = 0;
         !actual->all_defined() && offset < actual->volume() && found < kMaxListed; ++offset) {
      if (actual->defined(offset)) continue;
      wrong.push_back(offset);
      ++found;
    }
    std::sort(wrong.begin(), wrong.end());
    wrong.resize(std::min(wrong.size(), kMaxListed));
    for (const uint64_t offset : wrong) {
      listed.push_back({entry.name, to_string(actual->index(offset), program_.axes), "",
                        expectation->expected_text(offset),
                        actual->defined(offset) ? value_text(actual->dtype(), actual->bits(offset))
                                                : "nothing"});
    }
    book(std::move(entry), std::move(listed));
  }
}

}  // namespace rngdsim
