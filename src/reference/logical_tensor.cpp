// SPDX-License-Identifier: Apache-2.0
#include "reference/logical_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/random.h"
#include "reference/npy.h"
#include "support/text.h"

namespace rngdsim {
namespace {

std::string shape_text(const std::vector<uint64_t>& shape) {
  std::string text;
  for (uint64_t size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text.empty() ? "a single value" : text;
}

// "I x K = 32 x 64", so that a reader need not look the axes up.
std::string logical_text(const std::vector<AxisId>& logical, const AxisTable& axes) {
  std::string names;
  std::vector<uint64_t> sizes;
  for (AxisId axis : logical) {
    names += (names.empty() ? "" : " x ") + axes.name(axis);
    sizes.push_back(axes.size(axis));
  }
  return names.empty() ? "a single value" : names + " = " + shape_text(sizes);
}

// Raw bits of values from a user; integers must be exact and in range.
class ValueConverter {
 public:
  ValueConverter(DType dtype, const SourceLocation& where, Diagnostics& diagnostics)
      : dtype_(dtype), where_(where), diagnostics_(diagnostics) {}

  // Returns 0 after an error; only the first is reported, the others are like it.
  uint32_t operator()(double value, const std::string& what) {
    if (is_integer(dtype_)) {
      const double low = min_value(dtype_), high = max_value(dtype_);
      if (!(value >= low && value <= high)) {
        return fail(fmt::format("{} is {}, but {} holds only {:.0f} to {:.0f}", what, value,
                                name(dtype_), low, high));
      }
      if (value != std::floor(value)) {
        return fail(fmt::format("{} is {}, but {} holds only integers from {:.0f} to {:.0f}", what,
                                value, name(dtype_), low, high));
      }
    }
    return from_double(dtype_, value);
  }
  bool failed() const { return failed_; }

 private:
  uint32_t fail(std::string message) {
    if (!failed_) diagnostics_.error(where_, std::move(message));
    failed_ = true;
    return 0;
  }

  DType dtype_;
  const SourceLocation& where_;
  Diagnostics& diagnostics_;
  bool failed_ = false;
};

void fill_random(const InitSpec& init, uint64_t seed_offset, LogicalTensor& tensor,
                 Diagnostics& diagnostics) {
  const DType dtype = tensor.dtype();
  const double low = min_value(dtype), high = max_value(dtype);
  // Written so that NaN fails too.
  if (!(init.low >= low && init.low <= high && init.high >= low && init.high <= high)) {
    diagnostics.error(init.where, fmt::format("random numbers from {} to {} do not fit {}, which "
                                              "holds {} to {}",
                                              init.low, init.high, name(dtype), low, high));
    return;
  }
  if (init.low > init.high) {
    diagnostics.error(init.where,
                      fmt::format("random numbers have low {} above high {}", init.low, init.high));
    return;
  }
  if (is_integer(dtype) && std::ceil(init.low) > std::floor(init.high)) {
    diagnostics.error(init.where, fmt::format("random {} numbers from {} to {}: no integer lies "
                                              "between",
                                              name(dtype), init.low, init.high));
    return;
  }
  const uint64_t seed = init.seed + seed_offset;
  for (uint64_t i = 0; i < tensor.volume(); ++i) {
    tensor.set(i, random_bits(dtype, seed, i, init.low, init.high));
  }
}

void fill_values(const std::vector<double>& values, const std::string& what, const InitSpec& init,
                 LogicalTensor& tensor, Diagnostics& diagnostics) {
  ValueConverter convert(tensor.dtype(), init.where, diagnostics);
  for (uint64_t i = 0; i < tensor.volume() && !convert.failed(); ++i) {
    const double value = values[i];
    const bool fits = !is_integer(tensor.dtype()) ||
                      (value >= min_value(tensor.dtype()) && value <= max_value(tensor.dtype()) &&
                       value == std::floor(value));
    if (fits) {  // spares the text
      tensor.set(i, from_double(tensor.dtype(), value));
    } else {
      convert(value, fmt::format("{} {}", what, i));
    }
  }
}

void fill_npy(const InitSpec& init, const std::vector<AxisId>& logical, const AxisTable& axes,
              const std::string& kernel_dir, LogicalTensor& tensor, Diagnostics& diagnostics) {
  const bool absolute = !init.file.empty() && init.file.front() == '/';
  const std::string path =
      absolute || kernel_dir.empty() ? init.file : kernel_dir + "/" + init.file;
  NpyArray array;
  std::string problem;
  if (!read_npy(path, kMaxLogicalVolume, array, problem)) {
    diagnostics.error(init.where, fmt::format("{}: {}", quoted(path), problem));
    return;
  }
  std::vector<uint64_t> expected;
  for (AxisId axis : logical) expected.push_back(axes.size(axis));
  if (array.shape != expected) {
    diagnostics.error(init.where,
                      fmt::format("{} holds {}, but the tensor is {}", quoted(path),
                                  shape_text(array.shape), logical_text(logical, axes)),
                      "values are those of the logical tensor, its axes in the order of 'axes:'");
    return;
  }
  fill_values(array.values, "element", init, tensor, diagnostics);
}

}  // namespace

LogicalTensor::LogicalTensor(DType dtype, std::vector<AxisId> logical, const AxisTable& axes)
    : dtype_(dtype), bytes_(storage_bytes(dtype)), axes_(std::move(logical)) {
  volume_ = volume(axes_, axes);
  if (volume_ > kMaxLogicalVolume) throw InternalError("a logical tensor beyond the volume limit");
  strides_.assign(axes.count(), 0);
  uint64_t stride = 1;
  for (size_t i = axes_.size(); i-- > 0;) {
    strides_[axes_[i]] = stride;
    stride *= axes.size(axes_[i]);
  }
  for (AxisId axis : axes_) sizes_.push_back(axes.size(axis));
  data_ = ZeroedVector<uint8_t>(volume_ * static_cast<uint64_t>(bytes_));
  defined_ = ZeroedVector<uint8_t>(volume_);
}

uint64_t LogicalTensor::volume(const std::vector<AxisId>& logical, const AxisTable& axes) {
  uint64_t volume = 1;
  for (AxisId axis : logical) {
    const uint64_t size = axes.size(axis);
    if (volume > std::numeric_limits<uint64_t>::max() / size) {
      return std::numeric_limits<uint64_t>::max();
    }
    volume *= size;
  }
  return volume;
}

void LogicalTensor::set(uint64_t offset, uint32_t bits) {
  switch (bytes_) {
    case 1:
      data_[offset] = static_cast<uint8_t>(bits);
      break;
    case 2:
      reinterpret_cast<uint16_t*>(data_.data())[offset] = static_cast<uint16_t>(bits);
      break;
    default:
      reinterpret_cast<uint32_t*>(data_.data())[offset] = bits;
  }
  defined_count_ += defined_[offset] == 0 ? 1 : 0;
  defined_[offset] = 1;
}

void LogicalTensor::unset(uint64_t offset) {
  if (defined_[offset] == 0) return;
  set(offset, 0);
  defined_[offset] = 0;
  --defined_count_;
}

void LogicalTensor::set_run(uint64_t offset, const uint32_t* bits, uint64_t count) {
  switch (bytes_) {
    case 1:
      std::copy_n(bits, count, data_.data() + offset);
      break;
    case 2:
      std::copy_n(bits, count, reinterpret_cast<uint16_t*>(data_.data()) + offset);
      break;
    default:
      std::copy_n(bits, count, reinterpret_cast<uint32_t*>(data_.data()) + offset);
  }
  const auto first = defined_.begin() + static_cast<std::ptrdiff_t>(offset);
  const auto last = first + static_cast<std::ptrdiff_t>(count);
  defined_count_ += static_cast<uint64_t>(std::count(first, last, uint8_t{0}));
  std::fill(first, last, uint8_t{1});
}

Cell LogicalTensor::index(uint64_t offset) const {
  Cell cell;
  for (size_t i = 0; i < axes_.size(); ++i) {
    const uint64_t value = offset / strides_[axes_[i]] % sizes_[i];
    if (value != 0) cell.index.emplace_back(axes_[i], value);
  }
  return cell;
}

namespace {

// Copies the defined elements of `from` whose index along the axis is x to x + step in `to`, for
// every x < `size` that `wanted` names.
template <typename Wanted>
void copy_shifted(const LogicalTensor& from, LogicalTensor& to, AxisId axis, uint64_t size,
                  int64_t step, Wanted&& wanted) {
  const uint64_t stride = from.stride(axis);
  const uint64_t block = stride * size;
  std::vector<uint32_t> bits(stride);
  for (uint64_t outer = 0; outer < from.volume(); outer += block) {
    for (uint64_t x = 0; x < size; ++x) {
      if (!wanted(x)) continue;
      const uint64_t source = outer + x * stride;
      const uint64_t target = outer + (x + static_cast<uint64_t>(step)) * stride;
      for (uint64_t i = 0; i < stride; ++i) {
        if (from.defined(source + i)) {
          to.set(target + i, from.bits(source + i));
        } else {
          to.unset(target + i);
        }
      }
    }
  }
}

}  // namespace

LogicalTensor interleaved(const LogicalTensor& first, const LogicalTensor& second, AxisId axis,
                          const std::vector<AxisId>& logical, const AxisTable& axes) {
  LogicalTensor both(first.dtype(), logical, axes);
  const uint64_t inner = both.stride(axis);
  for (uint64_t offset = 0; offset < both.volume(); ++offset) {
    const LogicalTensor& from = offset / inner % 2 == 0 ? first : second;
    const uint64_t own = offset / (2 * inner) * inner + offset % inner;
    if (from.defined(own)) both.set(offset, from.bits(own));
  }
  return both;
}

LogicalTensor tile_of(const LogicalTensor& whole, const Tile& tile, const AxisTable& axes) {
  if (whole.stride(tile.axis) == 0) return whole;
  LogicalTensor part(whole.dtype(), whole.axes(), axes);
  copy_shifted(whole, part, tile.axis, axes.size(tile.axis), -static_cast<int64_t>(tile.shift()),
               [&](uint64_t x) { return x >= tile.shift() && tile.holds(x - tile.shift()); });
  return part;
}

void put_tile(const LogicalTensor& part, const Tile& tile, const AxisTable& axes,
              LogicalTensor& whole) {
  if (whole.stride(tile.axis) == 0) {
    for (uint64_t offset = 0; offset < part.volume(); ++offset) {
      if (part.defined(offset)) {
        whole.set(offset, part.bits(offset));
      } else {
        whole.unset(offset);
      }
    }
    return;
  }
  const uint64_t size = axes.size(tile.axis);
  copy_shifted(part, whole, tile.axis, size, static_cast<int64_t>(tile.shift()),
               [&](uint64_t x) { return x + tile.shift() < size && tile.holds(x); });
}

LogicalTensor initial_values(const InitSpec& init, DType dtype, const std::vector<AxisId>& logical,
                             const AxisTable& axes, uint64_t seed_offset,
                             const std::string& kernel_dir, Diagnostics& diagnostics) {
  const uint64_t volume = LogicalTensor::volume(logical, axes);
  if (volume > kMaxLogicalVolume) {
    diagnostics.error(init.where,
                      fmt::format("{} has {} elements, more than the {} that values "
                                  "are simulated for",
                                  logical_text(logical, axes), volume, kMaxLogicalVolume),
                      "--timing-only needs no values");
    return {};
  }
  LogicalTensor tensor(dtype, logical, axes);
  switch (init.kind) {
    case InitSpec::Kind::kNone:
      break;
    case InitSpec::Kind::kZero:
      for (uint64_t i = 0; i < volume; ++i) tensor.set(i, 0);
      break;
    case InitSpec::Kind::kConstant: {
      ValueConverter convert(dtype, init.where, diagnostics);
      const uint32_t bits = convert(init.constant, "the constant");
      for (uint64_t i = 0; i < volume; ++i) tensor.set(i, bits);
      break;
    }
    case InitSpec::Kind::kIota: {
      // An integer type is checked at both ends and the step; all else lies between.
      ValueConverter convert(dtype, init.where, diagnostics);
      convert(init.start, "the first value (start)");
      const double last = init.start + init.step * static_cast<double>(volume - 1);
      convert(last, fmt::format("value {} (start + {} * step)", volume - 1, volume - 1));
      if (volume > 1) convert(init.start + init.step, "value 1 (start + step)");
      if (convert.failed()) break;
      for (uint64_t i = 0; i < volume; ++i) {
        tensor.set(i, from_double(dtype, init.start + init.step * static_cast<double>(i)));
      }
      break;
    }
    case InitSpec::Kind::kRandom:
      fill_random(init, seed_offset, tensor, diagnostics);
      break;
    case InitSpec::Kind::kValues:
      if (init.values.size() != volume) {
        diagnostics.error(init.where,
                          fmt::format("{} values for {}, which has {} elements", init.values.size(),
                                      logical_text(logical, axes), volume));
        break;
      }
      fill_values(init.values, "value", init, tensor, diagnostics);
      break;
    case InitSpec::Kind::kNpy:
      fill_npy(init, logical, axes, kernel_dir, tensor, diagnostics);
      break;
  }
  return tensor;
}

}  // namespace rngdsim
