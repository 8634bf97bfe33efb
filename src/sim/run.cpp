// SPDX-License-Identifier: Apache-2.0
#include "sim/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <utility>

#include "reference/checker.h"
#include "reference/positions.h"
#include "sim/dispatcher.h"
#include "sim/index_values.h"
#include "sim/limits.h"
#include "sim/machine.h"
#include "sim/wiring.h"
#include "support/input_limits.h"
#include "support/text.h"

namespace rngdsim {
namespace {

constexpr uint64_t kProgressEvery = 1 << 16;  // evaluated cycles
constexpr uint64_t kLookAtStopEvery = 1 << 10;
constexpr uint64_t kLoadElements = 64;  // elements a slice that are written at a time

// SystemC is process-wide, and deleting a context that has run crashes at exit: all are kept.
void install_systemc_context() {
  static auto* const kKept = new std::vector<sc_core::sc_simcontext*>;  // reachable for ever
  kKept->push_back(new sc_core::sc_simcontext);
  sc_core::sc_curr_simcontext = sc_core::sc_default_global_context = kKept->back();
}

auto sizes_of(const MachineLimits& l) {
  return std::tie(
      l.clusters, l.slices, l.lanes, l.flit_bytes, l.packet_bytes, l.sequencer.max_entries,
      l.sequencer.max_size, l.dm_banks, l.dm_bank_bytes, l.dm_rows, l.trf_banks, l.trf_rows,
      l.trf_row_bytes, l.main_max_read, l.sub_fixed_read, l.main_max_write, l.sub_fixed_write,
      l.accumulator_cells, l.accumulator_columns, l.bus_elements, l.reduce_slots, l.vrf_bytes,
      l.vrf_align, l.lookup_flits, l.lookup_cycles, l.transpose_valid_4bit, l.transpose_valid,
      l.transpose_columns, l.transpose_column_bytes, l.hbm_bytes, l.hbm_align, l.dma_engines,
      l.dmn_slices, l.dma_request_bytes, l.dma_packet_bytes, l.dma_startup, l.dma_startup_to_hbm,
      l.dma_startup_in_dm, l.dma_startup_engines, l.dmn_beats, l.dmn_beat_cycles,
      l.dma_index_cycles, l.dma_scatter_cycles, l.dma_dm_to_hbm_in_turn, l.overlap_drain,
      l.starving_alone, l.starvation_cycles, l.dm_slice_stride, l.host_bytes_per_cycle,
      l.host_latency, l.dma_first_access_host);
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// The slices of the clusters that hold anything are simulated, the others never differ from empty.
uint64_t clusters_to_simulate(const std::vector<std::vector<uint8_t>>& live, uint64_t slices) {
  uint64_t clusters = 1;
  for (const auto& flags : live) {
    for (size_t i = 0; i < flags.size(); ++i) {
      if (flags[i] != 0) clusters = std::max<uint64_t>(clusters, i / slices + 1);
    }
  }
  return clusters;
}

class Run final {
 public:
  Run(const Program& program, const TopologyDecl& topology, const RunOptions& options)
      : given_(program),
        program_(program),
        options_(options),
        watchdog_cycles_(machine_number(topology, "watchdog_cycles")),
        watchdog_looks_(watchdog_cycles_),
        dmas_(program.commands.size()) {
    restrict_to_live_clusters();
    context_.program = &program_;
    fill_live_slices();
    if (options.only_slice) restrict_to_slice(*options.only_slice);
    make_pipelines(topology);
    install_systemc_context();
    MachineContexts contexts{&context_, {}};
    for (const auto& pipeline : pipelines_) contexts.clusters.push_back(&pipeline->context);
    machine_ = std::make_unique<Machine>(topology_,
                                         options.types != nullptr ? *options.types : unit_types(),
                                         contexts, options.shuffle_seed);
    for (const auto& pipeline : pipelines_) {
      if (pipeline->launch > 0) machine_->call_in(pipeline->launch);
    }
    if (options.values) {
      prepare_values();
    } else {
      prepare_indices();
    }
  }

  RunResult execute() {
    Clock& clock = machine_->clock();
    clock.add_hook([this](Cycle now) { before_cycle(now); });
    clock.set_on_quiet([this](Cycle now) { stuck(RunStatus::kDeadlock, now); });
    if (options_.plain_loop) clock.call_units_directly();
    if (options_.observer != nullptr) machine_->observe(*options_.observer, program_);
    sc_core::sc_start();
    clock.rethrow();
    if (options_.observer != nullptr) options_.observer->finished(cycles_);
    machine_->finish(cycles_);
    if (judges() && all_ended() && failures_.empty()) checker_->check_expected();
    return collect();
  }

 private:
  // A tensor unit with what decides when its commands begin: one for all clusters, or, where they
  // run apart, one each.
  struct Pipeline final : RunMonitor {
    Pipeline(Run& of, size_t place, const Program& program, Cycle launched)
        : run(of), number(place), launch(launched), dispatcher(program, launched) {}
    void command_finished(CommandId command, Cycle cycle) override {
      run.command_finished(*this, command, cycle);
    }
    void command_passed(CommandId command, Pace pace, Cycle cycle) override {
      run.command_passed(*this, command, pace, cycle);
    }
    void failure(MachineFailure failure) override { run.failures_.push_back(std::move(failure)); }
    void sink_item(const StreamItem& item, Cycle cycle) override {
      run.sink_item(*this, item, cycle);
    }
    Run& run;
    size_t number;
    Cycle launch;
    RunContext context;
    Dispatcher dispatcher;
  };
  bool apart() const { return pipelines_.size() > 1; }
  // Of the slice of the chip.
  Pipeline& pipeline_of(uint32_t slice) {
    return *pipelines_[apart() ? slice / program_.limits.slices : 0];
  }
  bool all_ended() const {
    return std::all_of(pipelines_.begin(), pipelines_.end(),
                       [](const auto& pipeline) { return pipeline->dispatcher.all_ended(); });
  }
  bool ended_everywhere(CommandId command) const {
    if (drains(program_.commands[command])) {
      const auto landed = landings_.find(command);
      return landed != landings_.end() && landed->second == pipelines_.size();
    }
    return std::all_of(pipelines_.begin(), pipelines_.end(), [&](const auto& pipeline) {
      return pipeline->dispatcher.timing(command).ended;
    });
  }
  Cycle last_end() const {
    Cycle last = 0;
    for (const auto& pipeline : pipelines_) {
      last = std::max(last, pipeline->dispatcher.last_end());
    }
    return last;
  }

  // ---- Before the first cycle -------------------------------------------------------------------

  void restrict_to_live_clusters() {
    std::vector<std::vector<uint8_t>> live;
    for (const TensorVersion& tensor : given_.tensors) live.push_back(live_slices_of(tensor));
    for (const Command& command : given_.commands) {
      live.push_back(live_slices_of(command.source));
      live.push_back(live_slices_of(behind_switch(command)));
    }
    program_.limits.clusters = clusters_to_simulate(live, given_.limits.slices);
  }

  // The stream behind the switch; where there is none, the one that enters.
  static const StreamShape& behind_switch(const Command& command) {
    for (const StageRecord& stage : command.stages) {
      if (stage.name == "switch") return stage.after;
    }
    return command.source;
  }

  std::vector<uint8_t> live_slices_of(const StreamShape& shape) const {
    return live_slices(shape.chip, shape.cluster, shape.slice, program_.limits, program_.axes);
  }
  // From where it begins on.
  std::vector<uint8_t> live_slices_of(const TensorVersion& tensor) const {
    std::vector<uint8_t> live =
        live_slices(tensor.chip, tensor.cluster, tensor.slice, program_.limits, program_.axes);
    const auto first = static_cast<std::ptrdiff_t>(tensor.first_slice % live.size());
    std::rotate(live.begin(), live.end() - first, live.end());
    return live;
  }

  void fill_live_slices() {
    for (const TensorVersion& tensor : program_.tensors) {
      context_.tensor_live.push_back(live_slices_of(tensor));
    }
    for (const Command& command : program_.commands) {
      context_.source_live.push_back(live_slices_of(command.source));
      context_.command_live.push_back(live_slices_of(behind_switch(command)));
    }
  }

  void make_pipelines(const TopologyDecl& topology) {
    check_skew();
    for (const CommandId command : options_.free) {
      program_.commands[command].bound = LowerBound();
      program_.commands[command].bound.bound_by = "free";
    }
    const size_t count = options_.skew ? program_.limits.clusters : 1;
    topology_ = count > 1 ? clusters_apart(topology, count) : clusters_together(topology);
    const uint32_t slices = context_.slices() / static_cast<uint32_t>(count);
    if (options_.values) pool_ = std::make_unique<BlockPool>(slices);
    context_.pool = pool_.get();
    for (size_t i = 0; i < count; ++i) {
      const Cycle launch = i == 0 ? 0 : *options_.skew;
      pipelines_.push_back(std::make_unique<Pipeline>(*this, i, program_, launch));
      pipelines_.back()->dispatcher.make_free(options_.free);
    }
    context_.monitor = pipelines_.front().get();
    for (const auto& pipeline : pipelines_) {
      pipeline->context = context_;
      pipeline->context.monitor = pipeline.get();
      if (count > 1) restrict_to_cluster(*pipeline, slices);
    }
    if (count == 1) return;
    context_.clusters_apart = true;
    std::vector<uint8_t> crossing(program_.commands.size(), 0);
    for (const Command& command : program_.commands) {
      crossing[command.id] = command.dma && crosses_clusters(*command.dma, program_) ? 1 : 0;
    }
    for (const auto& pipeline : pipelines_) {
      context_.cluster_monitors.push_back(pipeline.get());
      for (const auto& other : pipelines_) {
        if (other == pipeline) continue;
        pipeline->dispatcher.wait_for_other(other->dispatcher, crossing);
      }
    }
  }

  void check_skew() const {
    if (!options_.skew) return;
    const SourceLocation where{given_.kernel_file, 0, 0};
    Diagnostics diagnostics;
    // One cluster cannot be launched later than another.
    if (program_.limits.clusters < 2) {
      diagnostics.error(where,
                        fmt::format("a skew of {} cycles needs 2 clusters; the kernel uses 1 of {}",
                                    group_digits(*options_.skew), given_.limits.clusters),
                        "spread its tensors over Cluster, or leave the skew out");
    }
    if (*options_.skew > kMaxSkew) {
      diagnostics.error(where,
                        fmt::format("a skew of {} cycles is more than the {} that are simulated",
                                    group_digits(*options_.skew), group_digits(kMaxSkew)));
    }
    diagnostics.throw_if_errors();
  }

  static void restrict_to_cluster(Pipeline& pipeline, uint32_t slices) {
    RunContext& context = pipeline.context;
    context.first_slice = static_cast<uint32_t>(pipeline.number) * slices;
    context.slice_count = slices;
    for (auto* live : {&context.tensor_live, &context.command_live, &context.source_live}) {
      for (std::vector<uint8_t>& flags : *live) {
        const auto first = flags.begin() + context.first_slice;
        flags = std::vector<uint8_t>(first, first + slices);
      }
    }
  }

  // The machine is made for one slice; the program stays that of all.
  void restrict_to_slice(uint32_t slice) {
    context_.first_slice = slice;
    context_.slice_count = 1;
    for (auto* live : {&context_.tensor_live, &context_.command_live, &context_.source_live}) {
      for (std::vector<uint8_t>& flags : *live) {
        flags = {slice < flags.size() ? flags[slice] : uint8_t{0}};
      }
    }
  }
  bool judges() const { return checker_ != nullptr && !options_.only_slice; }

  void prepare_values() {
    Diagnostics diagnostics;
    checker_ = std::make_unique<Checker>(
        program_, options_.seed, options_.kernel_dir,
        [this](TensorId tensor, uint32_t slice, uint32_t lane, uint64_t first, uint64_t count,
               uint32_t* bits,
               uint8_t* valid) { read_back(tensor, slice, lane, first, count, bits, valid); },
        diagnostics);
    diagnostics.throw_if_errors();
    if (options_.keep_results) checker_->keep_results(options_.accepted_at);
    for (TensorId id = 0; id < program_.tensors.size(); ++id) {
      if (program_.tensors[id].produced_by || program_.tensors[id].view_of) continue;
      if (program_.tensors[id].memory == MemoryKind::kDm) each_pipeline(id, &Run::load_data_memory);
      if (program_.tensors[id].memory == MemoryKind::kTrf) each_pipeline(id, &Run::load_trf);
      if (program_.tensors[id].memory == MemoryKind::kVrf) each_pipeline(id, &Run::load_vrf);
      if (program_.tensors[id].memory == MemoryKind::kHbm) {
        load_storage(id, machine_->hbm().storage());
      }
      if (program_.tensors[id].memory == MemoryKind::kHost) {
        load_storage(id, machine_->host().storage());
      }
    }
    for (const auto& pipeline : pipelines_) {
      for (const Context context : {Context::kMain, Context::kSub}) {
        machine_->stream_source(context, pipeline->number)
            .set_fill([this, &pipeline](CommandId command, uint64_t index, Block& block) {
              if (options_.only_slice || apart()) {
                fill_some_slices(command, index, pipeline->context.first_slice, block);
              } else {
                checker_->fill_stream_item(command, index, block);
              }
            });
      }
    }
  }

  // Without values the addresses of moves by an index still follow from what it holds, which must
  // be known before the run.
  void prepare_indices() {
    Diagnostics diagnostics;
    for (const Command& command : program_.commands) {
      if (!command.dma || !command.dma->indexed) continue;
      const TensorId index = command.dma->indexed->index;
      if (indices_.count(index) != 0) continue;
      const auto origin = declared_origin(program_, index, command.id);
      const TensorVersion& tensor = program_.tensors[index];
      if (!origin) {
        diagnostics.error(command.where,
                          fmt::format("the index '{}' is computed by a command; without values "
                                      "(--timing-only) the rows that it chooses are not known",
                                      tensor.name),
                          "run with values, or declare the index with an init");
        continue;
      }
      indices_.emplace(
          index, initial_values(program_.tensors[*origin].init, tensor.dtype, tensor.logical,
                                program_.axes, options_.seed, options_.kernel_dir, diagnostics));
    }
    diagnostics.throw_if_errors();
    for (DmaEngine* engine : machine_->dma_engines()) {
      engine->set_index_values(
          [this](TensorId index, uint64_t address) { return index_at(index, address); });
    }
  }

  std::optional<int64_t> index_at(TensorId id, uint64_t address) {
    const TensorVersion& tensor = program_.tensors[id];
    const bool hbm = tensor.memory == MemoryKind::kHbm;
    const uint64_t slice = hbm ? 0 : address / program_.limits.dm_slice_stride;
    const uint64_t byte = hbm ? address : address % program_.limits.dm_slice_stride;
    const auto found = index_positions_.try_emplace(id, Positions::of(tensor, program_.axes)).first;
    const Positions& positions = found->second;
    Positions::Partial at = positions.begin();
    positions.add(at, 0, 0);
    positions.add(at, 1, slice / program_.limits.slices);
    positions.add(at, 2, slice % program_.limits.slices);
    positions.add(at, 3, 0);
    int64_t offset = Positions::kPoison;
    positions.last(at, (byte - tensor.address) / kDmaIndexBytes, 1, &offset);
    const LogicalTensor& values = indices_.at(id);
    if (offset < 0 || !values.defined(static_cast<uint64_t>(offset))) return std::nullopt;
    return static_cast<int32_t>(values.bits(static_cast<uint64_t>(offset)));
  }

  // A scatter that writes a row twice: what stays depends on the order of the writes.
  void look_for_equal_rows(const Command& command) {
    if (!command.dma->indexed || !command.dma->indexed->scatter) return;
    const TensorId id = command.dma->indexed->index;
    const LogicalTensor* index = checker_ != nullptr ? checker_->value(id) : &indices_.at(id);
    if (index == nullptr) return;
    const TensorVersion& target = program_.tensors[command.dma->to];
    if (const auto text = equal_rows(*index, target.logical, program_.axes)) {
      hazards_.push_back(
          {first_begin(command.id), command.id,
           fmt::format(
               "the index '{}' names a row of '{}' more than once, {}: the one written last "
               "stays",
               program_.tensors[id].name, target.name, *text)});
    }
  }

  // Of an item of all slices those from `first` on that the block has.
  void fill_some_slices(CommandId command, uint64_t index, uint32_t first, Block& block) {
    if (!chip_pool_) {
      chip_pool_ = std::make_unique<BlockPool>(
          static_cast<uint32_t>(program_.limits.clusters * program_.limits.slices));
    }
    const BlockRef chip = chip_pool_->allocate(block.dtype, block.elements);
    checker_->fill_stream_item(command, index, *chip);
    if (!chip->all_valid) block.track_validity();
    for (uint32_t e = 0; e < block.elements; ++e) {
      for (uint32_t s = 0; s < block.slices; ++s) {
        block.set_bits(e, s, chip->bits(e, first + s));
        if (!chip->is_valid(e, first + s)) block.valid_row(e)[s] = 0;
      }
    }
  }

  // Calls visit(entry of the slice in blocks, partial position) for each slice of a context that
  // holds a part of the tensor, or zeros as its padding.
  template <typename Visit>
  void for_each_slice(const RunContext& context, TensorId id, const Positions& positions,
                      Visit&& visit) const {
    Positions::Partial on_chip = positions.begin();
    positions.add(on_chip, 0, 0);
    for (uint64_t c = 0; c < std::min(program_.limits.clusters, positions.size(1)); ++c) {
      Positions::Partial in_cluster = on_chip;
      positions.add(in_cluster, 1, c);
      for (uint64_t s = 0; s < std::min(program_.limits.slices, positions.size(2)); ++s) {
        const uint64_t slice = c * program_.limits.slices + s;
        const uint64_t entry = slice - context.first_slice;
        if (slice < context.first_slice || entry >= context.slices()) continue;
        Positions::Partial in_slice = in_cluster;
        positions.add(in_slice, 2, s);
        if (context.tensor_live[id][entry] == 0 && in_slice.offset != Positions::kZero) continue;
        visit(static_cast<uint32_t>(entry), in_slice);
      }
    }
  }

  void each_pipeline(TensorId id, void (Run::*load)(const Pipeline&, TensorId)) {
    for (const auto& pipeline : pipelines_) (this->*load)(*pipeline, id);
  }

  void load_data_memory(const Pipeline& pipeline, TensorId id) {
    const TensorVersion& tensor = program_.tensors[id];
    const LogicalTensor& values = *checker_->value(id);
    const Positions& positions = checker_->positions(id);
    const uint64_t size = tensor.element.size();
    std::vector<uint8_t> loaded(pipeline.context.slices(), 0);
    for_each_slice(pipeline.context, id, positions,
                   [&](uint32_t slice, const auto&) { loaded[slice] = 1; });
    std::vector<int64_t> offsets(std::min(size, kLoadElements));
    for (uint64_t first = 0; first < size; first += kLoadElements) {
      const auto count = static_cast<uint32_t>(std::min(kLoadElements, size - first));
      BlockRef block = pool_->allocate(tensor.dtype, count);
      std::fill(block->data.begin(), block->data.end(), uint8_t{0});
      block->track_validity();
      for_each_slice(pipeline.context, id, positions, [&](uint32_t slice, Positions::Partial at) {
        positions.add(at, 3, 0);
        positions.last(at, first, count, offsets.data());
        for (uint32_t e = 0; e < count; ++e) {
          const int64_t offset = offsets[e];
          if (offset >= 0 && values.defined(static_cast<uint64_t>(offset))) {
            block->set_bits(e, slice, values.bits(static_cast<uint64_t>(offset)));
          } else if (offset != Positions::kZero) {
            block->valid_row(e)[slice] = 0;
          }
        }
      });
      machine_->data_memory()
          .storage(pipeline.number)
          .write(bit_address(tensor, first), *block, 0, count, loaded);
    }
  }

  void load_trf(const Pipeline& pipeline, TensorId id) {
    Trf& trf = machine_->trf(pipeline.number);
    const TensorVersion& tensor = program_.tensors[id];
    const LogicalTensor& values = *checker_->value(id);
    const Positions& positions = checker_->positions(id);
    const uint64_t size = tensor.element.size();
    std::vector<int64_t> offsets(size);
    const auto fill = [&](uint32_t slice, const Positions::Partial& in_slice) {
      for (uint64_t lane = 0; lane < tensor.lane.size(); ++lane) {
        Positions::Partial at = in_slice;
        positions.add(at, 3, lane);
        positions.last(at, 0, size, offsets.data());
        for (uint64_t e = 0; e < size; ++e) {
          const int64_t offset = offsets[e];
          if (offset == Positions::kZero) {
            trf.poke(id, lane, e, slice, 0);
          } else if (offset >= 0 && values.defined(static_cast<uint64_t>(offset))) {
            trf.poke(id, lane, e, slice, values.bits(static_cast<uint64_t>(offset)));
          }
        }
      }
    };
    for_each_slice(pipeline.context, id, positions, fill);
  }

  // HBM or the host.
  void load_storage(TensorId id, HbmStorage& storage) {
    const TensorVersion& tensor = program_.tensors[id];
    const LogicalTensor& values = *checker_->value(id);
    const Positions& positions = checker_->positions(id);
    const uint64_t size = tensor.element.size();
    Positions::Partial at = positions.begin();
    for (size_t dimension = 0; dimension < 4; ++dimension) positions.add(at, dimension, 0);
    std::vector<int64_t> offsets(std::min(size, kLoadElements));
    for (uint64_t first = 0; first < size; first += kLoadElements) {
      const uint64_t count = std::min(kLoadElements, size - first);
      positions.last(at, first, count, offsets.data());
      for (uint64_t e = 0; e < count; ++e) {
        const int64_t offset = offsets[e];
        if (offset == Positions::kZero) {
          storage.poke(bit_address(tensor, first + e), tensor.dtype, 0);
        } else if (offset >= 0 && values.defined(static_cast<uint64_t>(offset))) {
          storage.poke(bit_address(tensor, first + e), tensor.dtype,
                       values.bits(static_cast<uint64_t>(offset)));
        }
      }
    }
  }

  void load_vrf(const Pipeline& pipeline, TensorId id) {
    Vrf& vrf = machine_->vrf(pipeline.number);
    const TensorVersion& tensor = program_.tensors[id];
    const LogicalTensor& values = *checker_->value(id);
    const Positions& positions = checker_->positions(id);
    const uint64_t size = tensor.element.size();
    std::vector<int64_t> offsets(size);
    for_each_slice(pipeline.context, id, positions, [&](uint32_t slice, Positions::Partial at) {
      positions.add(at, 3, 0);
      positions.last(at, 0, size, offsets.data());
      for (uint64_t e = 0; e < size; ++e) {
        const int64_t offset = offsets[e];
        if (offset == Positions::kZero) {
          vrf.poke(id, e, slice, 0);
        } else if (offset >= 0 && values.defined(static_cast<uint64_t>(offset))) {
          vrf.poke(id, e, slice, values.bits(static_cast<uint64_t>(offset)));
        }
      }
    });
  }

  static uint64_t bit_address(const TensorVersion& tensor, uint64_t element) {
    return 8 * tensor.address + element * static_cast<uint64_t>(memory_bits(tensor.dtype));
  }

  void read_back(TensorId id, uint32_t slice, uint32_t lane, uint64_t first, uint64_t count,
                 uint32_t* bits, uint8_t* valid) {
    const auto held = snapshots_.find({id, slice, lane});
    if (held == snapshots_.end()) return read_memory(id, slice, lane, first, count, bits, valid);
    const Snapshot& snapshot = held->second;
    std::copy_n(snapshot.bits.begin() + static_cast<std::ptrdiff_t>(first), count, bits);
    std::copy_n(snapshot.valid.begin() + static_cast<std::ptrdiff_t>(first), count, valid);
  }

  void read_memory(TensorId id, uint32_t slice, uint32_t lane, uint64_t first, uint64_t count,
                   uint32_t* bits, uint8_t* valid) {
    const TensorVersion& tensor = program_.tensors[id];
    if (tensor.memory == MemoryKind::kHbm || tensor.memory == MemoryKind::kHost) {
      const bool hbm = tensor.memory == MemoryKind::kHbm;
      const HbmStorage& storage = hbm ? machine_->hbm().storage() : machine_->host().storage();
      for (uint64_t i = 0; i < count; ++i) {
        const auto element = storage.peek(bit_address(tensor, first + i), tensor.dtype);
        bits[i] = element.bits;
        valid[i] = element.valid ? 1 : 0;
      }
      return;
    }
    const Pipeline& pipeline = pipeline_of(slice);
    const size_t cluster = pipeline.number;
    const uint32_t entry = slice - pipeline.context.first_slice;
    if (tensor.memory == MemoryKind::kDm) {
      const SlicedMemory& storage = machine_->data_memory().storage(cluster);
      // The padding of a view, which begins inside of its tensor, may reach past the memory.
      const uint64_t left =
          8 * storage.bytes() - std::min(8 * storage.bytes(), bit_address(tensor, first));
      const uint64_t held =
          std::min(count, left / static_cast<uint64_t>(memory_bits(tensor.dtype)));
      if (held > 0) {
        storage.peek_run(entry, bit_address(tensor, first), tensor.dtype, held, bits, valid);
      }
      std::fill(bits + held, bits + count, 0);
      std::fill(valid + held, valid + count, uint8_t{0});
      return;
    }
    for (uint64_t i = 0; i < count; ++i) {
      const auto element = tensor.memory == MemoryKind::kTrf
                               ? machine_->trf(cluster).peek(id, lane, first + i, entry)
                               : machine_->vrf(cluster).peek(id, first + i, entry);
      bits[i] = element.value_or(0);
      valid[i] = element ? 1 : 0;
    }
  }

  // Keeps what slices of a pipeline hold of what a command has written, since they may go on before
  // the others are as far and all of it can be checked.
  void take_snapshot(const Pipeline& pipeline, const Command& command) {
    const std::optional<TensorId> id = written_by(command);
    if (!id) return;
    const TensorVersion& tensor = program_.tensors[*id];
    const bool one = tensor.memory == MemoryKind::kHbm || tensor.memory == MemoryKind::kHost;
    const RunContext& context = command.dma ? context_ : pipeline.context;
    const uint64_t size = tensor.element.size();
    for (uint32_t entry = 0; entry < (one ? 1 : context.slices()); ++entry) {
      if (!one && context.tensor_live[*id][entry] == 0) continue;
      const uint32_t slice = one ? 0 : context.first_slice + entry;
      for (uint32_t lane = 0; lane < tensor.lane.size(); ++lane) {
        Snapshot held{std::vector<uint32_t>(size), std::vector<uint8_t>(size)};
        read_memory(*id, slice, lane, 0, size, held.bits.data(), held.valid.data());
        snapshots_.emplace(std::make_tuple(*id, slice, lane), std::move(held));
      }
    }
  }

  void drop_snapshots(const Command& command) {
    const std::optional<TensorId> id = written_by(command);
    if (!id) return;
    snapshots_.erase(snapshots_.lower_bound({*id, 0, 0}), snapshots_.lower_bound({*id + 1, 0, 0}));
  }

  // ---- In the cycles --------------------------------------------------------------------------

  // Whether a command ends for those that follow before all of it has landed.
  bool drains(const Command& command) const {
    return program_.limits.overlap_drain && pace_of(command) != Pace::kLanding;
  }
  void command_passed(const Pipeline& pipeline, CommandId id, Pace pace, Cycle cycle) {
    const Command& command = program_.commands[id];
    if (!drains(command) || pace_of(command) != pace) return;
    finished_.push_back({id, pipeline.number, cycle});
    ++draining_;
  }

  void command_finished(const Pipeline& pipeline, CommandId command, Cycle cycle) {
    if (drains(program_.commands[command])) {
      landed_.push_back({command, pipeline.number, cycle});
      last_landing_ = std::max(last_landing_, cycle + 1);
      return;
    }
    if (!program_.commands[command].dma) {
      finished_.push_back({command, pipeline.number, cycle});
      return;
    }
    // Of a DMA each engine tells; the last one ends it, wherever it has begun.
    Dma& dma = dmas_[command];
    if (--dma.engines_left > 0) return;
    dma.done = true;
    for (const auto& any : pipelines_) {
      if (any->dispatcher.timing(command).begun) finished_.push_back({command, any->number, cycle});
    }
  }
  void sink_item(const Pipeline& pipeline, const StreamItem& item, Cycle cycle) {
    if (!judges()) return;
    if (!item.values) {
      throw InternalError(
          fmt::format("item {} of command {} reached the sink in cycle {} without "
                      "values",
                      item.index, item.command, cycle));
    }
    checker_->check_sink_item(item.command, item.index, *item.values, pipeline.context.first_slice);
  }

  // All units have run in all cycles before `now`, none in `now`.
  void before_cycle(Cycle now) {
    const bool look = !finished_.empty() || is_due(now);
    end_commands(now);
    land_commands();
    const uint64_t calls = calls_++;
    if (!failures_.empty()) return end_run(RunStatus::kFailed, now);
    if (all_ended() && draining_ == 0) {
      return end_run(RunStatus::kOk, std::max(last_end(), last_landing_));
    }
    if (options_.max_cycles != 0 && now >= options_.max_cycles) {
      return end_run(RunStatus::kMaxCycles, options_.max_cycles);
    }
    if (options_.stop != nullptr && calls % kLookAtStopEvery == 0 && options_.stop->load()) {
      return end_run(RunStatus::kStopped, now);
    }
    if (now >= watchdog_looks_ && watchdog(now)) return;
    if (options_.observer != nullptr) tell_observer(now);
    if (look) {
      for (const auto& pipeline : pipelines_) begin_commands(*pipeline, now);
    }
    start_held_back(now);
    if (options_.progress && calls % kProgressEvery == 0) {
      options_.progress(now, pipelines_.front()->dispatcher.ended());
    }
  }

  // Whether something may begin that waited for no command's end.
  bool is_due(Cycle now) const {
    return std::any_of(pipelines_.begin(), pipelines_.end(), [now](const auto& pipeline) {
      return now == pipeline->launch || now == pipeline->dispatcher.load_until();
    });
  }

  void begin_commands(Pipeline& pipeline, Cycle now) {
    const size_t ended_before = pipeline.dispatcher.ended();
    const auto starts = pipeline.dispatcher.advance(now);
    // A free command may have been the last: nothing else would tell.
    if (pipeline.dispatcher.ended() != ended_before) machine_->call_in(now + 1);
    for (const Dispatcher::Start& start : starts) {
      // An observer sees the contexts of one tensor unit.
      if (options_.observer != nullptr && pipeline.number == 0) {
        options_.observer->command_began(start.command, start.begin);
      }
      const Command& command = program_.commands[start.command];
      if (command.dma) begin_dma(command);
      if (command.dma && dmas_[start.command].done) {
        // The engines of others have done it all, and this cluster only now comes to it.
        finished_.push_back({start.command, pipeline.number, now});
        machine_->call_in(now + 1);
      } else {
        start_or_hold_back(command, pipeline.number, start.first_access);
      }
      if (pipeline.dispatcher.load_until() > now) {
        machine_->call_in(pipeline.dispatcher.load_until());
      }
      // Nothing is expected to move before the first access.
      last_start_ = std::max(last_start_, start.first_access);
    }
  }

  // Nothing of the tensor unit moves for a command while another drains: looked at when its
  // overhead is over.
  void start_or_hold_back(const Command& command, size_t pipeline, Cycle first_access) {
    if (!program_.limits.overlap_drain || command.dma) {
      return machine_->start(command, pipeline, first_access);
    }
    held_back_.push_back({command.id, pipeline, first_access});
    machine_->call_in(first_access);
  }
  void start_held_back(Cycle now) {
    if (held_back_.empty()) return;
    std::sort(held_back_.begin(), held_back_.end());
    std::vector<HeldBack> later;
    for (const HeldBack& held : held_back_) {
      if (held.first_access <= now && draining_ == 0) {
        machine_->start(program_.commands[held.command], held.pipeline, now);
        last_start_ = std::max(last_start_, now);
        continue;
      }
      if (held.first_access <= now) machine_->call_in(now + 1);
      later.push_back(held);
    }
    held_back_ = std::move(later);
  }

  void begin_dma(const Command& command) {
    if (dmas_[command.id].begun) return;
    dmas_[command.id].begun = true;
    dmas_[command.id].engines_left = engines_of(*command.dma).size();
    dma_snapshots_.push_back(dma_snapshot(command.id));
    look_for_equal_rows(command);
  }

  Cycle first_begin(CommandId command) const {
    std::optional<Cycle> first;
    for (const auto& pipeline : pipelines_) {
      const Dispatcher::Timing& timing = pipeline->dispatcher.timing(command);
      if (timing.begun && (!first || timing.begin < *first)) first = timing.begin;
    }
    return first.value_or(0);
  }

  void end_commands(Cycle now) {
    // Several of one cycle: in file order, whatever the order of the units.
    std::sort(finished_.begin(), finished_.end());
    for (const auto& [command, pipeline, cycle] : finished_) {
      if (cycle + 1 != now) {
        throw InternalError(
            fmt::format("command {} ended in cycle {}, told before cycle {}", command, cycle, now));
      }
      pipelines_[pipeline]->dispatcher.finished(command, cycle);
      if (options_.observer != nullptr && pipeline == 0) ended_.push_back(command);
    }
    if (judges()) {
      // Those that drain are checked when they have landed.
      finished_.erase(
          std::remove_if(finished_.begin(), finished_.end(),
                         [&](const Finished& f) { return drains(program_.commands[f.command]); }),
          finished_.end());
      check_finished();
    }
    finished_.clear();
  }

  void land_commands() {
    if (landed_.empty()) return;
    draining_ -= landed_.size();
    for (const Finished& landed : landed_) ++landings_[landed.command];
    std::sort(landed_.begin(), landed_.end());
    finished_.swap(landed_);
    if (judges()) check_finished();
    finished_.clear();
  }

  // A command is checked when it has ended in all pipelines.
  void check_finished() {
    for (size_t i = 0; i < finished_.size(); ++i) {
      const Command& command = program_.commands[finished_[i].command];
      if (!ended_everywhere(command.id)) {
        take_snapshot(*pipelines_[finished_[i].pipeline], command);
        continue;
      }
      if (i + 1 < finished_.size() && finished_[i + 1].command == command.id) continue;
      checker_->check_written(command.id);
      if (!snapshots_.empty()) drop_snapshots(command);
    }
  }

  void end_run(RunStatus status, Cycle cycles) {
    status_ = status;
    cycles_ = cycles;
    machine_->clock().stop();
  }

  void tell_observer(Cycle now) {
    options_.observer->cycle_begins(now);
    for (const CommandId command : ended_) options_.observer->command_ended(command, now);
    ended_.clear();
  }

  // True where the machine is stuck: the run has ended. Looks rarely: not before something could
  // have been still for long enough.
  bool watchdog(Cycle now) {
    const Cycle still_since = std::max({machine_->last_moved().value_or(0), last_start_,
                                        machine_->expected_to_move(), pipelines_.back()->launch});
    watchdog_looks_ = still_since + watchdog_cycles_;
    if (now < watchdog_looks_ || open_commands().empty()) return false;
    stuck(RunStatus::kWatchdog, watchdog_looks_);
    return true;
  }

  // Ends the run before cycle `now` and says why nothing moves.
  void stuck(RunStatus status, Cycle now) {
    end_run(status, now);
    std::vector<std::string> parts;
    for (const Command& command : program_.commands) {
      for (const auto& pipeline : pipelines_) {
        const Dispatcher::Timing& timing = pipeline->dispatcher.timing(command.id);
        if (timing.ended) continue;
        const std::string what =
            timing.begun ? fmt::format("began in cycle {}", timing.begin)
                         : fmt::format("waits for {}", pipeline->dispatcher.waits_for(command.id));
        parts.push_back(fmt::format(
            "command {} ({}, {}){} {}", command.id, name(command.context), command.label,
            apart() ? fmt::format(" in cluster {}", pipeline->number) : "", what));
      }
    }
    const Unit* const root = root_of_the_trouble();
    for (const auto& unit : machine_->units()) {
      if (unit->state() == UnitState::kIdle) continue;
      const StuckUnit entry{unit->unit_name(), rngdsim::name(unit->state()), unit->waiting_for()};
      stuck_.insert(unit.get() == root ? stuck_.begin() : stuck_.end(), entry);
    }
    for (const StuckUnit& unit : stuck_) {
      parts.push_back(
          fmt::format("{} is {}{}", unit.unit, unit.state,
                      unit.waiting_for.empty() ? "" : ", waiting for " + unit.waiting_for));
    }
    for (const auto& link : machine_->links()) {
      const auto head = link->head();
      if (!head) continue;
      queues_.push_back(
          {link->name(), link->occupancy(), link->depth(), head->command, head->index});
    }
    const std::vector<CommandId> open = open_commands();
    const bool watchdog = status == RunStatus::kWatchdog;
    failures_.push_back({watchdog ? "watchdog" : "deadlock", stuck_.empty() ? "" : stuck_[0].unit,
                         now, open.empty() ? 0 : open.front(),
                         fmt::format("{}: {}",
                                     watchdog ? fmt::format("nothing moved for {} cycles",
                                                            group_digits(watchdog_cycles_))
                                              : "nothing can happen any more",
                                     fmt::join(parts, "; "))});
  }

  // Begun and not ended, in the first pipeline in which there are any.
  std::vector<CommandId> open_commands() const {
    for (const auto& pipeline : pipelines_) {
      std::vector<CommandId> open = pipeline->dispatcher.open();
      if (!open.empty()) return open;
    }
    return {};
  }

  // Of the units that are not idle, the one at which the chain of blame ends: it blames nobody, an
  // idle unit, or one that the chain has passed already. Null: all are idle.
  const Unit* root_of_the_trouble() const {
    const Unit* at = nullptr;
    for (const auto& unit : machine_->units()) {
      if (unit->state() == UnitState::kIdle) continue;
      at = unit.get();
      break;
    }
    std::vector<const Unit*> passed;
    while (at != nullptr && at->blamed_unit() != nullptr) {
      passed.push_back(at);
      const auto next =
          std::find_if(machine_->units().begin(), machine_->units().end(),
                       [&](const auto& unit) { return unit->unit_name() == *at->blamed_unit(); });
      if (next == machine_->units().end() || (*next)->state() == UnitState::kIdle) break;
      if (std::find(passed.begin(), passed.end(), next->get()) != passed.end()) break;
      at = next->get();
    }
    return at;
  }

  // ---- After the last cycle -------------------------------------------------------------------

  RunResult collect() {
    RunResult result;
    result.kernel_name = given_.kernel_name;
    result.kernel_file = given_.kernel_file;
    result.kernel_sha256 = given_.kernel_sha256;
    result.kernel_description = given_.description;
    result.topology_name = topology_.topology.name;
    result.topology_sha256 = topology_.topology.sha256;
    result.clock_ghz = std::get<double>(topology_.topology.clock_ghz.value);
    result.cycles = cycles_;
    result.status = status_;
    result.stuck = stuck_;
    result.queues = queues_;
    result.commands = command_results(*pipelines_.front());
    if (apart()) {
      for (const auto& pipeline : pipelines_) result.clusters.push_back(cluster_result(*pipeline));
    }
    result.overlap = overlap_of(result.commands);
    for (const auto& unit : machine_->units()) result.units.push_back(unit_result(*unit));
    for (const auto& link : machine_->links()) {
      result.links.push_back({link->name(), link->items(), link->stalled()});
    }
    result.mac = mac_result();
    result.bandwidth = bandwidth_results();
    result.dmas = dma_results();
    collect_hazards(result);
    result.values = value_result();
    if (status_ == RunStatus::kOk && result.values.mismatches > 0) {
      result.status = RunStatus::kFailed;
    }
    collect_failures(result);
    collect_bound(result);
    collect_tensors(result);
    return result;
  }

  std::vector<CommandResult> command_results(const Pipeline& pipeline) const {
    std::vector<CommandResult> results;
    for (const Command& command : program_.commands) {
      results.push_back(command_result(pipeline, command));
    }
    return results;
  }

  CommandResult command_result(const Pipeline& pipeline, const Command& command) const {
    const Dispatcher::Timing& timing = pipeline.dispatcher.timing(command.id);
    CommandResult result;
    result.index = command.id;
    result.context = name(command.context);
    result.kind = command.kind;
    result.label = command.label;
    result.line = command.where.line;
    result.begun = timing.begun;
    result.ended = timing.ended;
    result.issue = timing.issue;
    result.begin = timing.begin;
    if (timing.begun) result.end = timing.ended ? timing.end : cycles_;
    result.cycles = result.end - result.begin;
    result.waited_for = timing.waited_for;
    result.bound = command.bound.cycles;
    result.bound_by = command.bound.bound_by;
    result.overhead = command.overhead;
    // Apart, a cluster may come late to a DMA of which others do the larger part.
    const bool is_shared = apart() && command.dma.has_value();
    if (timing.ended && result.bound > result.cycles && !is_shared) {
      throw InternalError(
          fmt::format("command {} took {} cycles, fewer than its lower bound of {} "
                      "({})",
                      command.id, result.cycles, result.bound, result.bound_by));
    }
    return result;
  }

  ClusterResult cluster_result(const Pipeline& pipeline) const {
    ClusterResult result;
    result.cluster = pipeline.number;
    result.launch = std::min(pipeline.launch, cycles_);
    result.end = result.launch;
    result.commands = command_results(pipeline);
    std::vector<std::pair<Cycle, Cycle>> ran;
    for (const CommandResult& command : result.commands) {
      if (!command.begun) continue;
      result.end = std::max(result.end, command.end);
      const Command& what = program_.commands[command.index];
      const Cycle end = what.dma ? engines_end(pipeline, what) : command.end;
      ran.emplace_back(command.begin, std::max(command.begin, end));
    }
    std::sort(ran.begin(), ran.end());
    Cycle counted = 0;
    for (const auto& [begin, end] : ran) {
      if (end > std::max(begin, counted)) result.work += end - std::max(begin, counted);
      counted = std::max(counted, end);
    }
    result.waited = result.end - result.launch - result.work;
    return result;
  }

  // When the engines of a cluster were through with a DMA; 0: it has none.
  Cycle engines_end(const Pipeline& pipeline, const Command& command) const {
    Cycle last = 0;
    for (const uint64_t number : machine_->engines_of(*command.dma, pipeline.number)) {
      for (const DmaEngine::Activity& done : machine_->dma_engines()[number]->activities()) {
        if (done.command == command.id) last = std::max(last, done.ended ? done.end : cycles_);
      }
    }
    return last;
  }

  UnitResult unit_result(const Unit& unit) const {
    const UnitCounters& counters = unit.counters();
    const auto cycles = [&](UnitState state) {
      return counters.cycles[static_cast<size_t>(state)];
    };
    UnitResult result;
    result.name = unit.unit_name();
    result.type = machine_->type_of(unit);
    result.busy = cycles(UnitState::kBusy);
    result.starved = cycles(UnitState::kStarved);
    result.blocked = cycles(UnitState::kBlocked);
    result.conflict = cycles(UnitState::kConflict);
    result.idle = cycles(UnitState::kIdle);
    result.items_in = counters.items_in;
    result.items_out = counters.items_out;
    for (const auto& [other, blamed] : counters.blamed) result.blamed[other] += blamed;
    result.extra = counters.extra;
    const uint64_t sum =
        result.busy + result.starved + result.blocked + result.conflict + result.idle;
    if (sum != cycles_) {
      throw InternalError(fmt::format("unit {}: the states add up to {} cycles, the run has {}",
                                      result.name, sum, cycles_));
    }
    return result;
  }

  const UnitDecl& unit_of_type(const std::string& type) const {
    for (const UnitDecl& unit : topology_.topology.units) {
      if (unit.type.value == type) return unit;
    }
    throw InternalError(fmt::format("no unit of type {}", type));
  }

  uint64_t macs_a_lane(DType dtype) const {
    const UnitParameters parameters(unit_of_type("multiplier"));
    switch (memory_bits(dtype)) {
      case 4:
        return parameters.number("macs_4bit");
      case 8:
        return parameters.number("macs_8bit");
      default:
        return parameters.number("macs_16bit");
    }
  }

  // Of `total`, which all slices of a command have done, the part of a pipeline.
  uint64_t part_of(const Pipeline& pipeline, const Command& command, uint64_t total) const {
    if (!apart() || command.live_slices == 0) return total;
    const auto up_to = [&](size_t pipelines) {
      uint64_t live = 0;
      for (size_t i = 0; i < pipelines; ++i) {
        const std::vector<uint8_t>& flags = pipelines_[i]->context.command_live[command.id];
        live += static_cast<uint64_t>(
            std::count_if(flags.begin(), flags.end(), [](uint8_t flag) { return flag != 0; }));
      }
      return live;
    };
    const uint64_t all = std::max<uint64_t>(1, up_to(pipelines_.size()));
    // What the first so many have, rounded: the parts add up.
    const auto share = [&](size_t pipelines) {
      return static_cast<uint64_t>(static_cast<long double>(total) * up_to(pipelines) / all);
    };
    return share(pipeline.number + 1) - share(pipeline.number);
  }

  void add_macs(const Pipeline& pipeline, const Command& command, MacResult& mac) const {
    const Multiplier::Activity activity =
        machine_->multiplier(pipeline.number).activity(command.id);
    const bool is_free =
        std::find(options_.free.begin(), options_.free.end(), command.id) != options_.free.end();
    const uint64_t packets = is_free ? 0 : command.outer->packets;
    if (pipeline.dispatcher.timing(command.id).ended && activity.packets != packets) {
      throw InternalError(fmt::format("command {} ended after {} packets of {} at the multiplier",
                                      command.id, activity.packets, packets));
    }
    if (activity.packets == 0) return;
    // A command that the run's end has cut counts its share.
    const double share = static_cast<double>(activity.packets) / static_cast<double>(packets);
    const auto done = [&](uint64_t all) {
      return activity.packets == packets ? all
                                         : static_cast<uint64_t>(share * static_cast<double>(all));
    };
    mac.useful += done(part_of(pipeline, command, command.mac_useful));
    mac.issued += done(part_of(pipeline, command, command.mac_issued));
    mac.first_packet =
        mac.packets == 0 ? activity.first : std::min(mac.first_packet, activity.first);
    mac.last_packet = std::max(mac.last_packet, activity.last);
    if (pipeline.number == 0) mac.packets += activity.packets;
  }

  MacResult mac_result() const {
    MacResult mac;
    uint64_t peak_a_slice = 0;
    for (const Command& command : program_.commands) {
      if (!command.outer) continue;
      peak_a_slice =
          std::max(peak_a_slice, macs_a_lane(command.outer->stream_dtype) * given_.limits.lanes);
      mac.clusters_used = std::max(mac.clusters_used, command.clusters_used);
      for (const auto& pipeline : pipelines_) add_macs(*pipeline, command, mac);
    }
    if (mac.packets > 0) mac.active_cycles = mac.last_packet - mac.first_packet + 1;
    const uint64_t peak_a_cluster = peak_a_slice * given_.limits.slices;
    mac.peak_per_cycle = peak_a_cluster * given_.limits.clusters;
    const auto useful = static_cast<double>(mac.useful);
    mac.utilization =
        ratio(useful, static_cast<double>(mac.peak_per_cycle) * static_cast<double>(cycles_));
    mac.utilization_while_active =
        ratio(useful, static_cast<double>(peak_a_cluster * mac.clusters_used) *
                          static_cast<double>(mac.active_cycles));
    return mac;
  }

  // `bytes(command, cluster)` of one slice; `peak` bytes a cycle of one slice.
  template <typename Bytes>
  BandwidthResult bandwidth(const std::string& what, uint64_t peak, Bytes&& bytes) const {
    BandwidthResult result;
    result.name = what;
    for (const Command& command : program_.commands) {
      result.bytes_per_slice += bytes(command.id, 0);
      for (size_t c = 0; c < command.clusters_used; ++c) {
        result.bytes += bytes(command.id, apart() ? c : 0) * given_.limits.slices;
      }
    }
    const uint64_t slices = given_.limits.slices * given_.limits.clusters;
    result.peak_bytes_per_cycle = static_cast<double>(peak * slices);
    result.bytes_per_cycle = ratio(static_cast<double>(result.bytes), static_cast<double>(cycles_));
    result.utilization = ratio(result.bytes_per_cycle, result.peak_bytes_per_cycle);
    return result;
  }

  // Bytes that the tensor unit did not move, of the whole chip.
  BandwidthResult with_dma(BandwidthResult result, uint64_t bytes) const {
    result.bytes += bytes;
    result.bytes_per_slice += bytes / (given_.limits.slices * given_.limits.clusters);
    result.bytes_per_cycle = ratio(static_cast<double>(result.bytes), static_cast<double>(cycles_));
    result.utilization = ratio(result.bytes_per_cycle, result.peak_bytes_per_cycle);
    return result;
  }

  BandwidthResult bandwidth_of_chip(const std::string& what, double peak, uint64_t bytes) const {
    BandwidthResult result;
    result.name = what;
    result.peak_bytes_per_cycle = peak;
    result = with_dma(std::move(result), bytes);
    result.bytes_per_slice = 0;
    return result;
  }

  std::vector<BandwidthResult> bandwidth_results() const {
    const MachineLimits& limits = given_.limits;
    const DataMemory& memory = machine_->data_memory();
    const HbmUnit& hbm = machine_->hbm();
    const uint64_t dm_peak = limits.dm_banks * limits.dm_bank_bytes;
    uint64_t moved = 0;
    for (const DmaEngine* engine : machine_->dma_engines()) {
      for (const DmaEngine::Activity& done : engine->activities()) moved += done.bytes;
    }
    const auto pcie_peak = static_cast<double>(limits.host_bytes_per_cycle);
    return {
        with_dma(bandwidth("dm_read", dm_peak,
                           [&](CommandId id, size_t c) { return memory.bytes_read(id, c); }),
                 memory.dma_bytes_read()),
        with_dma(bandwidth("dm_write", dm_peak,
                           [&](CommandId id, size_t c) { return memory.bytes_written(id, c); }),
                 memory.dma_bytes_written()),
        // A wide read: a row of every bank of every lane.
        bandwidth("trf_read", limits.lanes * limits.trf_banks * limits.trf_row_bytes,
                  [&](CommandId id, size_t c) { return machine_->trf(c).bytes_read(id); }),
        // A store: one flit.
        bandwidth("trf_write", limits.flit_bytes,
                  [&](CommandId id, size_t c) { return machine_->trf(c).bytes_written(id); }),
        bandwidth_of_chip("hbm_read", hbm.peak_bytes_per_cycle(), hbm.bytes_read()),
        bandwidth_of_chip("hbm_write", hbm.peak_bytes_per_cycle(), hbm.bytes_written()),
        bandwidth_of_chip("dma", static_cast<double>(limits.dma_engines * limits.dma_request_bytes),
                          moved),
        bandwidth_of_chip("pcie_read", pcie_peak, machine_->host().bytes_read()),
        bandwidth_of_chip("pcie_write", pcie_peak, machine_->host().bytes_written()),
    };
  }

  // What HBM had done before a DMA began.
  struct DmaSnapshot {
    CommandId command = 0;
    std::vector<HbmChannelCounters> channels;
    std::vector<HbmBankCounters> banks;
  };
  DmaSnapshot dma_snapshot(CommandId command) const {
    const HbmUnit& hbm = machine_->hbm();
    return {command, hbm.channel_counters(), hbm.bank_counters()};
  }

  static HbmTraffic traffic(const HbmBankCounters& before, const HbmBankCounters& after) {
    return {after.requests - before.requests,
            after.bytes - before.bytes,
            after.row_hits - before.row_hits,
            after.row_misses - before.row_misses,
            after.row_conflicts - before.row_conflicts,
            after.misaligned_reads - before.misaligned_reads,
            after.read_modify_writes - before.read_modify_writes};
  }

  // One DMA command runs at a time: what happened in HBM from its begin to that of the next is its
  // own, with the writes that were still queued when it ended.
  std::vector<DmaResult> dma_results() {
    std::vector<DmaResult> results;
    if (dma_snapshots_.empty()) return results;
    machine_->hbm().drain();
    const DmaSnapshot last = dma_snapshot(0);
    for (size_t i = 0; i < dma_snapshots_.size(); ++i) {
      results.push_back(dma_result(dma_snapshots_[i],
                                   i + 1 < dma_snapshots_.size() ? dma_snapshots_[i + 1] : last));
    }
    return results;
  }

  DmaResult dma_result(const DmaSnapshot& before, const DmaSnapshot& after) const {
    const Command& command = program_.commands[before.command];
    DmaResult result;
    result.command = command.id;
    result.begin = first_begin(command.id);
    for (const auto& pipeline : pipelines_) {
      const Dispatcher::Timing& timing = pipeline->dispatcher.timing(command.id);
      if (!timing.begun || timing.begin != result.begin) continue;
      result.issue = timing.issue;
      result.end = timing.ended ? timing.end : cycles_;
      break;
    }
    result.bytes_ideal = command.dma->bytes;
    const bool with_host = program_.tensors[command.dma->from].memory == MemoryKind::kHost ||
                           program_.tensors[command.dma->to].memory == MemoryKind::kHost;
    for (const DmaEngine* engine : machine_->dma_engines()) {
      for (const DmaEngine::Activity& done : engine->activities()) {
        if (done.command != command.id) continue;
        result.engines.push_back(
            {engine->number(), done.segments, done.requests, done.packets, done.bytes,
             done.first_data, done.ended ? done.end : cycles_,
             machine_->data_memory().dma_conflicts(command.id, engine->number()),
             done.index_requests, done.index_bytes, done.index_cycles});
        result.requests += done.requests;
        result.packets += done.packets;
        result.bytes_moved += done.bytes;
        if (with_host) result.bytes_pcie += done.bytes;
        if (!done.has_data) continue;
        result.first_data =
            result.first_data == 0 ? done.first_data : std::min(result.first_data, done.first_data);
      }
    }
    add_hbm_traffic(before, after, result);
    return result;
  }

  void add_hbm_traffic(const DmaSnapshot& before, const DmaSnapshot& after,
                       DmaResult& result) const {
    const Hbm& model = machine_->hbm().model();
    result.stacks.resize(model.stacks());
    for (size_t i = 0; i < after.channels.size(); ++i) {
      const HbmTraffic moved = traffic(before.channels[i], after.channels[i]);
      if (moved.transfers == 0) continue;
      result.channels.push_back({i / model.channels(), i % model.channels(), moved});
      result.stacks[i / model.channels()] += moved;
      result.hbm += moved;
    }
    const uint64_t banks = model.address().banks(), groups = model.address().bank_groups();
    for (size_t i = 0; i < after.banks.size(); ++i) {
      const HbmTraffic moved = traffic(before.banks[i], after.banks[i]);
      if (moved.transfers == 0) continue;
      result.banks.push_back({i / banks / groups, i / banks % groups, i % banks, moved});
    }
  }

  void collect_hazards(RunResult& result) const {
    std::vector<MachineHazard> all = machine_->data_memory().hazards();
    all.insert(all.end(), hazards_.begin(), hazards_.end());
    for (const DmaEngine* engine : machine_->dma_engines()) {
      all.insert(all.end(), engine->hazards().begin(), engine->hazards().end());
    }
    std::sort(all.begin(), all.end(), [](const MachineHazard& a, const MachineHazard& b) {
      return std::tie(a.cycle, a.command, a.text) < std::tie(b.cycle, b.command, b.text);
    });
    for (const MachineHazard& hazard : all) {
      result.hazards.push_back(fmt::format("command {} ({}), cycle {}: {}", hazard.command,
                                           program_.commands[hazard.command].label, hazard.cycle,
                                           hazard.text));
    }
  }

  ValueResult value_result() const {
    ValueResult values;
    values.simulated = judges();
    if (!judges()) return values;
    const CheckReport& report = checker_->report();
    for (const CheckedTensor& checked : report.checked) {
      values.checked.push_back({checked.name, checked.elements, checked.mismatches,
                                checked.max_abs_error, checked.bound_fraction});
    }
    for (const Mismatch& mismatch : report.first) {
      if (values.first_mismatches.size() == kMaxMismatches) break;
      values.first_mismatches.push_back(
          {mismatch.tensor, mismatch.index, mismatch.place, mismatch.expected, mismatch.got});
    }
    values.mismatches = report.mismatches;
    values.max_abs_error = report.max_abs_error;
    values.max_bound_fraction = report.bound_fraction;
    return values;
  }

  void collect_failures(RunResult& result) const {
    for (const MachineFailure& failure : failures_) {
      result.failures.push_back(
          {failure.kind, failure.unit, failure.cycle, failure.command, failure.message});
    }
    // Units may have told those of one cycle in any order.
    std::sort(result.failures.begin(), result.failures.end(),
              [](const FailureResult& a, const FailureResult& b) {
                return std::tie(a.cycle, a.command, a.unit, a.message) <
                       std::tie(b.cycle, b.command, b.unit, b.message);
              });
  }

  void collect_bound(RunResult& result) const {
    const ProgramBound bound = program_bound(program_);
    result.bound = bound.cycles;
    result.bound_chain = bound.chain;
    if (all_ended() && bound.cycles > cycles_) {
      throw InternalError(
          fmt::format("the run took {} cycles, fewer than its lower bound of {} "
                      "(commands {})",
                      cycles_, bound.cycles, fmt::join(bound.chain, ", ")));
    }
  }

  void collect_tensors(RunResult& result) const {
    if (!judges()) return;
    for (TensorId id = 0; id < program_.tensors.size(); ++id) {
      const TensorVersion& tensor = program_.tensors[id];
      const bool wanted = options_.keep_all || std::find(options_.keep.begin(), options_.keep.end(),
                                                         tensor.name) != options_.keep.end();
      if (!wanted || !is_last_version(id) || checker_->value(id) == nullptr) continue;
      result.tensors.push_back(tensor_values(tensor.name, tensor.version, *checker_->value(id)));
    }
    for (const KeptResult& kept : checker_->kept()) {
      if (kept.values == nullptr) continue;  // the run did not come that far
      const auto& tensor = kept.result.tensor;
      const uint32_t version = tensor ? program_.tensors[*tensor].version : 0;
      result.results.push_back(tensor_values(kept.result.name, version, *kept.values));
      result.results.back().accepted = kept.accepted;
    }
  }

  TensorValues tensor_values(const std::string& name, uint32_t version,
                             const LogicalTensor& logical) const {
    TensorValues values;
    values.name = name;
    values.version = version;
    values.dtype = logical.dtype();
    for (const AxisId axis : logical.axes()) {
      values.axes.push_back(program_.axes.name(axis));
      values.shape.push_back(program_.axes.size(axis));
    }
    for (uint64_t offset = 0; offset < logical.volume(); ++offset) {
      values.bits.push_back(logical.bits(offset));
      values.valid.push_back(logical.defined(offset) ? 1 : 0);
    }
    return values;
  }

  bool is_last_version(TensorId id) const {
    for (TensorId later = id + 1; later < program_.tensors.size(); ++later) {
      if (program_.tensors[later].name == program_.tensors[id].name) return false;
    }
    return true;
  }

  const Program& given_;
  Program program_;  // for the clusters that are simulated
  ClusterUnits topology_;
  const RunOptions& options_;
  std::unique_ptr<BlockPool> chip_pool_;  // blocks of all slices, where those in use hold fewer
  std::unique_ptr<BlockPool> pool_;       // outlives all blocks, which live in the machine
  RunContext context_;                    // of the whole chip
  std::vector<std::unique_ptr<Pipeline>> pipelines_;  // one, or one a cluster
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<Checker> checker_;

  uint64_t watchdog_cycles_;
  Cycle watchdog_looks_;  // not before
  Cycle last_start_ = 0;  // first access of the command that began last
  struct Finished {
    CommandId command;
    size_t pipeline;
    Cycle cycle;
    bool operator<(const Finished& o) const {
      return std::tie(command, pipeline) < std::tie(o.command, o.pipeline);
    }
  };
  std::vector<Finished> finished_;  // in the cycle before
  // Where commands end before all has landed (drains()): landings of the cycle before, those under
  // way, and by command how many tensor units are through.
  std::vector<Finished> landed_;
  size_t draining_ = 0;
  Cycle last_landing_ = 0;
  std::map<CommandId, size_t> landings_;
  struct HeldBack {
    CommandId command;
    size_t pipeline;
    Cycle first_access;
    bool operator<(const HeldBack& o) const {
      return std::tie(command, pipeline) < std::tie(o.command, o.pipeline);
    }
  };
  std::vector<HeldBack> held_back_;  // begun, and the first access is to come
  std::vector<CommandId> ended_;     // and the observer has not been told
  struct Dma {
    bool begun = false, done = false;
    size_t engines_left = 0;  // that are not through
  };
  std::vector<Dma> dmas_;  // by command
  struct Snapshot {
    std::vector<uint32_t> bits;
    std::vector<uint8_t> valid;
  };
  // By tensor, slice of the chip and lane; of commands that have not ended in all pipelines.
  std::map<std::tuple<TensorId, uint32_t, uint32_t>, Snapshot> snapshots_;
  // Of each DMA that has begun, what the channels had done before.
  std::vector<DmaSnapshot> dma_snapshots_;
  // Without values: of index tensors.
  std::map<TensorId, LogicalTensor> indices_;
  std::map<TensorId, Positions> index_positions_;
  std::vector<MachineHazard> hazards_;
  std::vector<MachineFailure> failures_;
  std::vector<StuckUnit> stuck_;
  std::vector<StuckQueue> queues_;
  uint64_t calls_ = 0;
  RunStatus status_ = RunStatus::kOk;
  Cycle cycles_ = 0;
};

void check_slice(const Program& program, const RunOptions& options) {
  const uint64_t slices = program.limits.clusters * program.limits.slices;
  if (!options.only_slice || *options.only_slice < slices) return;
  Diagnostics diagnostics;
  diagnostics.error(
      {program.kernel_file, 0, 0},
      fmt::format("there is no slice {}: the machine has {}", *options.only_slice, slices));
  throw InputError(diagnostics);
}

void check_names(const Program& program, const RunOptions& options) {
  Diagnostics diagnostics;
  std::vector<std::string> names;
  for (const TensorVersion& tensor : program.tensors) {
    if (!tensor.view_of && std::find(names.begin(), names.end(), tensor.name) == names.end()) {
      names.push_back(tensor.name);
    }
  }
  for (const std::string& wanted : options.keep) {
    if (std::find(names.begin(), names.end(), wanted) != names.end()) continue;
    const auto match = nearest(wanted, names);
    diagnostics.error({program.kernel_file, 0, 0}, fmt::format("no tensor '{}'", wanted),
                      match ? fmt::format("did you mean '{}'?", *match)
                            : fmt::format("there are {}", fmt::join(names, ", ")));
  }
  diagnostics.throw_if_errors();
}

}  // namespace

RunResult run_program(const Program& program, const TopologyDecl& topology,
                      const RunOptions& options) {
  const UnitTypes& types = options.types != nullptr ? *options.types : unit_types();
  Diagnostics diagnostics;
  const MachineLimits limits = limits_from(topology, diagnostics, types);
  diagnostics.throw_if_errors();
  const TopologyDecl resolved = resolve_topology(topology, diagnostics, types);
  if (sizes_of(limits) != sizes_of(program.limits)) {
    throw InternalError("the program was lowered for a machine of other sizes");
  }
  check_names(program, options);
  check_slice(program, options);
  if (options.values && !options.free.empty()) {
    throw InternalError("free commands make no values that could be checked");
  }
  try {
    return Run(program, resolved, options).execute();
  } catch (const InputError&) {
    throw;
  } catch (const InternalError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;  // the machine's limit, no fault of the program
  } catch (const std::exception& error) {
    throw InternalError(error.what());
  }
}

}  // namespace rngdsim
