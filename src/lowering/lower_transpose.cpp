// SPDX-License-Identifier: Apache-2.0
// The Transpose Engine: which matrices a declared Time and Packet mean.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "lowering/stages.h"
#include "support/text.h"

namespace rngdsim {
namespace {

// Rows of more packets than this are not looked for where an error is explained.
constexpr uint64_t kMaxExplained = 64;

class TransposeLowering {
 public:
  TransposeLowering(const StreamShape& in, const Declared& time, const Declared& packet,
                    const SourceLocation& where, const LowerScope& scope)
      : in_(in), time_(time), packet_(packet), where_(where), scope_(scope) {
    const auto bits = static_cast<uint64_t>(memory_bits(in.dtype));
    valid_ = bits == 4 ? scope.limits.transpose_valid_4bit : scope.limits.transpose_valid;
    max_rows_ = scope.limits.transpose_column_bytes * 8 / bits;
    flit_ = scope.limits.flit_bytes * 8 / bits;
    for (uint64_t columns = valid_; columns <= 2 * scope.limits.transpose_columns; columns *= 2) {
      columns_.push_back(columns);
    }
  }

  std::optional<LoweredStage<TransposeConfig>> lower() {
    if (!check_stream() || !check_packet()) return std::nullopt;
    std::optional<Fit> best;
    for (const uint64_t columns : columns_) {
      for (uint64_t rows = live_rows_; rows <= max_rows_; ++rows) {
        const auto fit = fits(rows, columns / valid_);
        if (!fit) continue;
        if (best && cost(fit->config) >= cost(best->config)) continue;
        best = fit;
      }
    }
    if (!best) {
      explain();
      return std::nullopt;
    }
    if (!promises_no_zero(time_, best->time, "transpose", "Time", scope_) ||
        !promises_no_zero(packet_, best->rows, "transpose", "Packet", scope_)) {
      return std::nullopt;
    }
    LoweredStage<TransposeConfig> stage{best->config, in_};
    stage.after.time = time_.mapping;
    stage.after.packet = packet_.mapping;
    return stage;
  }

 private:
  // A geometry whose rows are those of the declared Packet.
  struct Rows {
    uint64_t rows, packets;
    Mapping matrices;  // the terms of Time outside of a matrix
    Mapping columns;   // those of a row: packets and what is taken of each
    Mapping stacked;   // the terms of Time that the rows are, filled up to a flit
  };
  // One that also makes the declared Time.
  struct Fit {
    TransposeConfig config;
    Mapping time, rows;
  };

  void error(const SourceLocation& where, const std::string& message,
             const std::string& hint = "") const {
    scope_.diagnostics.error(where, "transpose: " + message, hint);
  }

  // The fewest cycles, then the fewest columns.
  static std::pair<uint64_t, uint64_t> cost(const TransposeConfig& config) {
    return {config.cycles(), config.in_cols};
  }

  bool check_stream() const {
    if (in_.dtype == DType::kI5 || in_.dtype == DType::kI9) {
      error(where_, fmt::format("a stream of {} can only be contracted", name(in_.dtype)),
            "i5 and i9 come from zero-point subtraction");
      return false;
    }
    if (bytes_of(in_.dtype, in_.packet.size()) != scope_.limits.flit_bytes) {
      error(where_,
            fmt::format("takes flits of {} bytes; Packet '{}' is {}", scope_.limits.flit_bytes,
                        scope_.text(in_.packet), bytes_text(in_.dtype, in_.packet.size())),
            "collect makes flits of the packets");
      return false;
    }
    for (uint64_t i = valid_; i < in_.packet.size(); ++i) {
      const Cell cell = in_.packet.cell(i, scope_.axes);
      if (!cell.live) continue;
      error(where_,
            fmt::format("takes the leading {} elements of a flit of {}; position {} of Packet "
                        "'{}' holds {}",
                        valid_, name(in_.dtype), i, scope_.text(in_.packet),
                        to_string(cell, scope_.axes)),
            fmt::format("fetch packets of {} elements; collect fills each up to a flit", valid_));
      return false;
    }
    return true;
  }

  // The declared Packet is a flit, and has no more rows than a column has room for.
  bool check_packet() {
    const Mapping& packet = packet_.mapping;
    if (packet.size() != flit_) {
      error(packet_.where,
            fmt::format("makes flits of {} bytes; Packet '{}' is {}", scope_.limits.flit_bytes,
                        scope_.text(packet), bytes_text(in_.dtype, packet.size())),
            packet.size() < flit_ ? fmt::format("pad it: # {}", flit_) : "");
      return false;
    }
    for (uint64_t i = 0; i < flit_; ++i) {
      if (packet.cell(i, scope_.axes).live) live_rows_ = i + 1;
    }
    if (live_rows_ <= max_rows_) return true;
    error(packet_.where,
          fmt::format("Packet '{}' has {} rows; a column has {} bytes, {} elements of {}",
                      scope_.text(packet), live_rows_, scope_.limits.transpose_column_bytes,
                      max_rows_, name(in_.dtype)),
          fmt::format("split the rows: {} of them in Packet, the others outermost in Time",
                      max_rows_));
    return false;
  }

  // Nothing where the rows of that geometry are not those of the declared Packet.
  std::optional<Rows> rows_of(uint64_t rows, uint64_t packets) const {
    if (in_.time.size() % (rows * packets) != 0) return std::nullopt;
    const Mapping stacked =
        in_.time.stride(packets).modulo(rows).pad(flit_, PadKind::kTop);  // cheap to compare
    if (!scope_.same(packet_.mapping, stacked)) return std::nullopt;
    const auto parts = divide(in_.time, packets, scope_);
    if (!parts) return std::nullopt;
    const auto outer = divide(parts->first, rows, scope_);
    if (!outer) return std::nullopt;
    return Rows{rows, packets, outer->first,
                Mapping::concat({parts->second, in_.packet.resize(valid_)}), stacked};
  }

  // Of the first column behind the leading `kept` ones that holds something.
  std::optional<uint64_t> first_lost(const Mapping& columns, uint64_t kept) const {
    for (uint64_t column = kept; column < columns.size(); ++column) {
      if (columns.cell(column, scope_.axes).live) return column;
    }
    return std::nullopt;
  }

  std::optional<Fit> fits(uint64_t rows, uint64_t packets) const {
    if (in_.time.size() % (rows * packets) != 0) return std::nullopt;
    const uint64_t matrices = in_.time.size() / (rows * packets);
    if (time_.mapping.size() % matrices != 0) return std::nullopt;
    const uint64_t out_rows = time_.mapping.size() / matrices;
    if (out_rows > packets * valid_) return std::nullopt;
    const auto geometry = rows_of(rows, packets);
    if (!geometry || first_lost(geometry->columns, out_rows)) return std::nullopt;
    Fit fit;
    fit.time = Mapping::concat({geometry->matrices, geometry->columns.resize(out_rows)});
    if (!scope_.same(time_.mapping, fit.time)) return std::nullopt;
    fit.rows = geometry->stacked;
    fit.config.flit_elements = flit_;
    fit.config.valid_elements = valid_;
    fit.config.packets_per_row = packets;
    fit.config.in_rows = rows;
    fit.config.in_cols = packets * valid_;
    fit.config.out_rows = out_rows;
    fit.config.matrices = matrices;
    fit.config.double_buffered = fit.config.in_cols <= scope_.limits.transpose_columns;
    return fit;
  }

  // ---- Why nothing fits ----

  void explain() const {
    std::optional<Rows> legal, illegal;
    for (uint64_t packets = 1; packets <= kMaxExplained; ++packets) {
      const uint64_t columns = packets * valid_;
      const bool exists = std::find(columns_.begin(), columns_.end(), columns) != columns_.end();
      for (uint64_t rows = live_rows_; rows <= max_rows_; ++rows) {
        std::optional<Rows>& found = exists ? legal : illegal;
        if (!found) found = rows_of(rows, packets);
      }
    }
    if (legal) return explain_time(*legal);
    if (illegal) {
      return error(
          where_,
          fmt::format("rows of {} columns ({} packets of {} elements); there are {}",
                      illegal->columns.size(), illegal->packets, valid_, choices(columns_)),
          "the packets of a row are what is left of Time inside of the rows");
    }
    std::vector<uint64_t> packets;
    for (const uint64_t columns : columns_) packets.push_back(columns / valid_);
    error(packet_.where,
          fmt::format("Packet is '{}', but no term of Time '{}' has these {} rows outside of the "
                      "innermost {} packets",
                      scope_.text(packet_.mapping), scope_.text(in_.time), live_rows_,
                      choices(packets)),
          "a matrix is [rows, packets of a row] in Time; its rows become Packet");
  }

  void explain_time(const Rows& rows) const {
    const uint64_t size = time_.mapping.size();
    const uint64_t matrices = rows.matrices.size();
    const uint64_t columns = rows.columns.size();
    const std::string shape = fmt::format("{} x {}", rows.rows, columns);
    if (size % matrices != 0) {
      return error(time_.where,
                   fmt::format("Time '{}' has {} positions for {} matrices of {}, no whole number "
                               "for each",
                               scope_.text(time_.mapping), group_digits(size),
                               group_digits(matrices), shape),
                   "each gives the same number of columns");
    }
    const uint64_t out_rows = size / matrices;
    if (out_rows > columns) {
      return error(time_.where,
                   fmt::format("Time '{}' has {} rows a matrix; a matrix of {} has {} columns",
                               scope_.text(time_.mapping), group_digits(out_rows), shape, columns),
                   "columns become rows; at most all of them leave");
    }
    if (const auto lost = first_lost(rows.columns, out_rows)) {
      return error(time_.where,
                   fmt::format("Time '{}' keeps {} of {} columns, but column {} holds {}",
                               scope_.text(time_.mapping), out_rows, columns, *lost,
                               to_string(rows.columns.cell(*lost, scope_.axes), scope_.axes)),
                   "only columns of padding are trimmed");
    }
    const Mapping made = Mapping::concat({rows.matrices, rows.columns.resize(out_rows)});
    error(time_.where,
          fmt::format("Time is '{}' (size {}), but the stage makes '{}' (size {})",
                      scope_.text(time_.mapping), group_digits(size), scope_.text(made),
                      group_digits(made.size())),
          "[the matrices, their columns], the rows being Packet");
  }

  const StreamShape& in_;
  const Declared& time_;
  const Declared& packet_;
  const SourceLocation& where_;
  const LowerScope& scope_;
  uint64_t valid_ = 8, max_rows_ = 1, flit_ = 32;
  uint64_t live_rows_ = 1;
  std::vector<uint64_t> columns_;  // a row may have
};

}  // namespace

std::optional<LoweredStage<TransposeConfig>> lower_transpose(const StreamShape& in,
                                                             const Declared& time,
                                                             const Declared& packet,
                                                             const SourceLocation& where,
                                                             const LowerScope& scope) {
  return TransposeLowering(in, time, packet, where, scope).lower();
}

}  // namespace rngdsim
