// SPDX-License-Identifier: Apache-2.0
#include "reference/vector_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "numeric/vector_ops.h"
#include "reference/value_row.h"
#include "reference/value_set.h"

namespace rngdsim {
namespace {

using Step = VectorStep;

// Indices, as distances from the origin in everything that is read, and coordinates of the axes
// that a reduction may leave.
struct Places {
  std::vector<std::vector<uint64_t>> columns;
  size_t count = 0;

  Places(size_t width, size_t length) : columns(width), count(length) {
    for (auto& column : columns) column.resize(length);
  }
};

// Elements between two stages.
struct ChainRow {
  ValueRow value;
  // The tags that an element may have, a bit each. Empty: `common` is that of all.
  std::vector<uint16_t> tags;
  uint16_t common = 1;
  std::optional<ValueRow> stash;
  std::vector<Written> written;  // empty: all are

  uint16_t tags_of(size_t i) const { return tags.empty() ? common : tags[i]; }
};

struct ChainStage {
  enum class Kind : uint8_t { kReduce, kTag, kStep };
  Kind kind = Kind::kStep;
  // kReduce
  ReduceOp op = ReduceOp::kAdd;
  DType dtype = DType::kF32;
  uint64_t repeat = 1;
  std::vector<std::vector<uint64_t>> cells;  // [column][cell]: distances
  size_t cell_count = 0;
  // Of an axis that is folded in part: only indices below its size exist.
  struct Limit {
    size_t column;
    uint64_t size, reach;  // reach: the largest distance
  };
  std::vector<Limit> limits;
  // kStep
  const Step* step = nullptr;
  std::vector<size_t> operand_columns;  // by slot
};

// The stages of a chain and the columns of Places they use.
struct ChainPlan {
  struct Column {
    std::vector<uint64_t> strides;  // by axis
    const LogicalTensor* tensor = nullptr;
  };
  std::vector<Column> columns;  // the first is what enters
  std::vector<ChainStage> stages;
  DType dtype = DType::kF32;  // of what leaves the chain
};

class Planner {
 public:
  Planner(const Program& program, const Command& command, const OperandValues& operands,
          const std::vector<AxisId>& out_axes, Diagnostics& diagnostics)
      : axes_(program.axes),
        command_(command),
        vector_(*command.vector),
        operands_(operands),
        out_axes_(out_axes),
        diagnostics_(diagnostics) {}

  ChainPlan plan(const ChainEntry& entry) {
    add_entry(entry);
    find_shapes();
    if (vector_.inter && (vector_.inter_first || !vector_.chain)) add_inter();
    if (vector_.chain) add_chain();
    if (vector_.inter && vector_.chain && !vector_.inter_first) add_inter();
    add_cells();
    return std::move(plan_);
  }

 private:
  void add_entry(const ChainEntry& entry) {
    ChainPlan::Column column;
    column.strides.assign(axes_.count(), 0);
    column.tensor = entry.tensor;
    uint64_t stride = 1;
    if (entry.tensor != nullptr) {
      for (AxisId axis = 0; axis < axes_.count(); ++axis) {
        column.strides[axis] = entry.tensor->stride(axis);
      }
    } else {
      for (size_t i = entry.sum_axes.size(); i > 0; --i) {
        column.strides[entry.sum_axes[i - 1]] = stride;
        stride *= axes_.size(entry.sum_axes[i - 1]);
      }
    }
    plan_.columns.push_back(std::move(column));
  }

  // The streams around the reductions.
  void find_shapes() {
    const StreamShape* previous = &command_.source;
    for (const StageRecord& stage : command_.stages) {
      if (stage.name == "vector_intra_slice_reduce")
        reduce_ = {previous, &stage.after, stage.where};
      if (stage.name == "vector_inter_slice_reduce") inter_ = {previous, &stage.after, stage.where};
      previous = &stage.after;
    }
  }

  struct Around {
    const StreamShape* before = nullptr;
    const StreamShape* after = nullptr;
    SourceLocation where;
  };

  void add_chain() {
    stage(ChainStage::Kind::kTag);
    paired_ = vector_.pair;
    add_steps(vector_.front);
    add_steps(vector_.middle);
    if (vector_.reduce) add_intra();
    add_steps(vector_.after_reduce);
    add_steps(vector_.back);
    if (paired_) error("the groups of pair mode are never zipped");
  }

  void add_intra() {
    if (reduce_.before == nullptr) {
      return error("no stage of the command is the reduction of its chain");
    }
    add_reduction(
        derive_reduction(*reduce_.before, *reduce_.after, axes_, reduce_.where, diagnostics_),
        vector_.reduce->op, reduce_.before->dtype);
    has_tags_ = !vector_.tags;
  }

  void add_inter() {
    if (inter_.before == nullptr) {
      return error("no stage of the command is the inter-slice reduction of its chain");
    }
    const InterSliceConfig& inter = *vector_.inter;
    add_reduction(derive_inter_slice_reduction(inter_.before->slice, inter.ratio, axes_,
                                               inter_.where, diagnostics_),
                  inter.op, inter.dtype);
  }

  void add_reduction(Reduction reduction, ReduceOp op, DType dtype) {
    ChainStage& added = stage(ChainStage::Kind::kReduce);
    added.op = op;
    added.dtype = dtype;
    added.repeat = reduction.repeat;
    reductions_.emplace_back(plan_.stages.size() - 1, std::move(reduction));
    stashed_ = false;
  }

  void add_steps(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      ChainStage& added = stage(ChainStage::Kind::kStep);
      added.step = &step;
      for (const Step::Slot& slot : step.slots) {
        if (!slot.guard.is_all() && !has_tags_) {
          error("a guard behind a reduction, where elements have no tags");
        }
        added.operand_columns.push_back(operand_column(slot.operand));
      }
      if (step.kind == Step::Kind::kStash) stashed_ = true;
      if (step.kind == Step::Kind::kZip) {
        if (!paired_) error("a zip outside of pair mode");
        paired_ = false;
      }
    }
  }

  size_t operand_column(const VectorOperand& operand) {
    if (operand.kind == VectorOperand::Kind::kStash && !stashed_) {
      error("the stash is read where nothing was stashed for the same elements");
    }
    if (operand.kind != VectorOperand::Kind::kVrf) return 0;
    const LogicalTensor* tensor = operands_ ? operands_(operand.tensor) : nullptr;
    if (tensor == nullptr) {
      error(fmt::format("tensor {} of the VRF has no values", operand.tensor));
      return 0;
    }
    for (size_t i = 1; i < plan_.columns.size(); ++i) {
      if (plan_.columns[i].tensor == tensor) return i;
    }
    ChainPlan::Column column;
    column.tensor = tensor;
    for (AxisId axis = 0; axis < axes_.count(); ++axis) {
      column.strides.push_back(tensor->stride(axis));
    }
    plan_.columns.push_back(std::move(column));
    return plan_.columns.size() - 1;
  }

  // ---- Cells of reductions, once all columns are known

  static std::vector<uint64_t> largest(const Reduction& reduction, size_t axes) {
    std::vector<uint64_t> largest(axes, 0);
    for (const auto& factor : reduction.factors) {
      std::vector<uint64_t> here(axes, 0);
      for (const auto& cell : factor) {
        for (const auto& [axis, value] : cell) here[axis] = std::max(here[axis], value);
      }
      for (size_t axis = 0; axis < axes; ++axis) largest[axis] += here[axis];
    }
    return largest;
  }

  void add_cells() {
    // An axis of which other parts are elsewhere: those decide how much of a fold exists.
    std::vector<size_t> uses(axes_.count(), 0);
    for (const AxisId axis : out_axes_) ++uses[axis];
    std::vector<std::vector<uint64_t>> reach;
    for (const auto& [stage, reduction] : reductions_) {
      reach.push_back(largest(reduction, axes_.count()));
      for (AxisId axis = 0; axis < axes_.count(); ++axis) uses[axis] += reach.back()[axis] > 0;
    }
    std::vector<std::optional<size_t>> coordinates(axes_.count());
    for (size_t i = 0; i < reductions_.size(); ++i) {
      ChainStage& stage = plan_.stages[reductions_[i].first];
      for (AxisId axis = 0; axis < axes_.count(); ++axis) {
        if (reach[i][axis] == 0 || uses[axis] < 2) continue;
        if (!coordinates[axis]) {
          coordinates[axis] = plan_.columns.size();
          ChainPlan::Column column;
          column.strides.assign(axes_.count(), 0);
          column.strides[axis] = 1;
          plan_.columns.push_back(std::move(column));
        }
        stage.limits.push_back({*coordinates[axis], axes_.size(axis), reach[i][axis]});
      }
    }
    for (const auto& [stage, reduction] : reductions_) list_cells(reduction, plan_.stages[stage]);
  }

  void list_cells(const Reduction& reduction, ChainStage& stage) {
    std::vector<uint64_t> values(axes_.count(), 0);
    std::vector<std::vector<uint64_t>> cells;
    const auto walk = [&](const auto& self, size_t depth) -> void {
      if (depth < reduction.factors.size()) {
        for (const auto& cell : reduction.factors[depth]) {
          for (const auto& [axis, value] : cell) values[axis] += value;
          self(self, depth + 1);
          for (const auto& [axis, value] : cell) values[axis] -= value;
        }
        return;
      }
      for (AxisId axis = 0; axis < axes_.count(); ++axis) {
        if (values[axis] >= axes_.size(axis)) return;  // holds no element
      }
      std::vector<uint64_t> distances;
      for (const ChainPlan::Column& column : plan_.columns) {
        uint64_t distance = 0;
        for (AxisId axis = 0; axis < axes_.count(); ++axis) {
          distance += values[axis] * column.strides[axis];
        }
        distances.push_back(distance);
      }
      cells.push_back(std::move(distances));
    };
    walk(walk, 0);
    std::sort(cells.begin(), cells.end());  // runs of neighbours; the order means nothing
    stage.cell_count = cells.size();
    stage.cells.resize(plan_.columns.size());
    for (const auto& cell : cells) {
      for (size_t column = 0; column < cell.size(); ++column) {
        stage.cells[column].push_back(cell[column]);
      }
    }
  }

  ChainStage& stage(ChainStage::Kind kind) {
    plan_.stages.emplace_back();
    plan_.stages.back().kind = kind;
    return plan_.stages.back();
  }
  void error(const std::string& text) {
    diagnostics_.error(command_.where, "the reference cannot evaluate the vector chain: " + text);
  }

  const AxisTable& axes_;
  const Command& command_;
  const VectorConfig& vector_;
  const OperandValues& operands_;
  const std::vector<AxisId>& out_axes_;
  Diagnostics& diagnostics_;
  ChainPlan plan_;
  Around reduce_, inter_;
  std::vector<std::pair<size_t, Reduction>> reductions_;  // by stage
  bool stashed_ = false, paired_ = false;
  bool has_tags_ = true;  // false: behind a reduction of elements with different ones
};

// ---- Evaluation

// Evaluates stages for the elements at some places.
class ChainEvaluator {
 public:
  ChainEvaluator(ChainPlan plan, ChainEntry entry, const VectorConfig& vector)
      : plan_(std::move(plan)), entry_(std::move(entry)), vector_(vector) {}

  const ChainPlan& plan() const { return plan_; }
  ChainRow evaluate(const Places& places) {
    ChainRow row = behind(plan_.stages.size(), places, 0);
    row.value.reinterpret(plan_.dtype);
    return row;
  }

 private:
  static constexpr size_t kMostFolded = size_t{1} << 16;  // elements looked at at a time

  // Behind the first `count` stages; `group`: of pair mode.
  ChainRow behind(size_t count, const Places& places, unsigned group) {
    if (count == 0) return entering(places);
    const ChainStage& stage = plan_.stages[count - 1];
    switch (stage.kind) {
      case ChainStage::Kind::kReduce:
        return folded(stage, count - 1, places, group);
      case ChainStage::Kind::kTag: {
        ChainRow row = behind(count - 1, places, group);
        tag(group, row);
        return row;
      }
      case ChainStage::Kind::kStep:
        break;
    }
    if (stage.step->kind == Step::Kind::kZip) return zipped(*stage.step, count - 1, places);
    ChainRow row = behind(count - 1, places, group);
    take_step(stage, places, row);
    return row;
  }

  // ---- What enters

  ChainRow entering(const Places& places) {
    ChainRow row;
    if (entry_.tensor != nullptr) {
      row.value = converted(gathered(*entry_.tensor, places.columns[0]), entry_.conversions);
      return row;
    }
    row.value = ValueRow(entry_.dtype, places.count);
    for (size_t i = 0; i < places.count; ++i) enter_sum(places.columns[0][i], i, row.value);
    return row;
  }

  void enter_sum(uint64_t offset, size_t i, ValueRow& row) {
    Accepted set = entry_.sums->accepted(offset);
    if (has_numbers(set)) {
      const Accepted numbers = range_set(row.dtype, set.low, set.high);
      set.low = numbers.low;
      set.high = numbers.high;
    } else if (!has_specials(set)) {
      return row.mark_undefined(i);
    }
    row.put(i, set, entry_.sums->expected_bits(offset));
  }

  static ValueRow gathered(const LogicalTensor& tensor, const std::vector<uint64_t>& offsets) {
    ValueRow row(tensor.dtype(), offsets.size());
    const bool all_defined = tensor.all_defined();
    for (size_t i = 0; i < offsets.size(); ++i) {
      row.bits[i] = tensor.bits(offsets[i]);
      if (!all_defined && !tensor.defined(offsets[i])) row.mark_undefined(i);
    }
    return row;
  }

  // ---- Reductions

  ChainRow folded(const ChainStage& stage, size_t before, const Places& places, unsigned group) {
    ChainRow result;
    result.value = ValueRow(stage.dtype, places.count);
    const size_t cells = std::min(std::max<size_t>(stage.cell_count, 1), kMostFolded);
    const size_t rows = std::max<size_t>(1, kMostFolded / cells);
    std::vector<Fold> folds;
    std::vector<size_t> ends;
    for (size_t first = 0; first < places.count; first += rows) {
      const size_t last = std::min(places.count, first + rows);
      folds.assign(last - first, Fold(stage.op, stage.dtype, stage.repeat));
      for (size_t cell = 0; cell < stage.cell_count; cell += cells) {
        const size_t end = std::min(stage.cell_count, cell + cells);
        const Places parts = spread(stage, places, {first, last}, {cell, end}, ends);
        ChainRow row = behind(before, parts, group);
        ValueRow& values = row.value;
        values.reinterpret(stage.dtype);
        result.common = row.common;  // where all tags are the same
        for (size_t i = 0; i < folds.size(); ++i) {
          const size_t begin = i == 0 ? 0 : ends[i - 1];
          folds[i].add(values, begin, ends[i] - begin);
        }
      }
      for (size_t i = 0; i < folds.size(); ++i) folds[i].finish(result.value, first + i);
    }
    return result;
  }

  using Range = std::pair<size_t, size_t>;
  // The existing ones of some cells of some places; `ends`: where those of each place end.
  Places spread(const ChainStage& stage, const Places& places, Range rows, Range cells,
                std::vector<size_t>& ends) const {
    const size_t each = cells.second - cells.first;
    Places parts(plan_.columns.size(), (rows.second - rows.first) * each);
    ends.clear();
    size_t at = 0;
    for (size_t i = rows.first; i < rows.second; ++i) {
      if (exists_whole(stage, places, i)) {
        for (size_t k = 0; k < parts.columns.size(); ++k) {
          const uint64_t base = places.columns[k][i];
          const uint64_t* distances = stage.cells[k].data() + cells.first;
          uint64_t* out = parts.columns[k].data() + at;
          for (size_t c = 0; c < each; ++c) out[c] = base + distances[c];
        }
        at += each;
      } else {
        for (size_t c = cells.first; c < cells.second; ++c) {
          if (!exists(stage, places, i, c)) continue;
          for (size_t k = 0; k < parts.columns.size(); ++k) {
            parts.columns[k][at] = places.columns[k][i] + stage.cells[k][c];
          }
          ++at;
        }
      }
      ends.push_back(at);
    }
    parts.count = at;
    for (auto& column : parts.columns) column.resize(at);
    return parts;
  }
  static bool exists(const ChainStage& stage, const Places& places, size_t i, size_t cell) {
    return std::all_of(stage.limits.begin(), stage.limits.end(), [&](const auto& limit) {
      return places.columns[limit.column][i] + stage.cells[limit.column][cell] < limit.size;
    });
  }
  static bool exists_whole(const ChainStage& stage, const Places& places, size_t i) {
    return std::all_of(stage.limits.begin(), stage.limits.end(), [&](const auto& limit) {
      return places.columns[limit.column][i] + limit.reach < limit.size;
    });
  }

  // ---- Tags

  void tag(unsigned group, ChainRow& row) const {
    const unsigned of_group = vector_.pair ? kGroupBit * group : 0;
    row.common = static_cast<uint16_t>(1U << of_group);
    row.value.reinterpret(vector_.dtype);
    if (!vector_.tags) return;
    row.tags.resize(row.value.size());
    for (size_t i = 0; i < row.value.size(); ++i) {
      const uint16_t possible = compared(row.value, i);
      row.tags[i] = vector_.pair ? in_group(possible, of_group) : possible;
    }
  }

  uint16_t compared(const ValueRow& row, size_t i) const {
    if (row.is_undefined(i)) return 0xffff;
    if (!row.is_open(i)) {
      unsigned tag = 0;
      for (unsigned bit = 0; bit < 4; ++bit) {
        const VectorConfig::Compare& c = (*vector_.tags)[bit];
        if (compare(c.op, vector_.dtype, row.bits[i], c.boundary)) tag |= 1U << bit;
      }
      return static_cast<uint16_t>(1U << tag);
    }
    unsigned possible = 1;  // a bit a tag
    for (unsigned bit = 0; bit < 4; ++bit) {
      const VectorConfig::Compare& c = (*vector_.tags)[bit];
      const Answers given = answers(c.op, vector_.dtype, row.sets[i], c.boundary);
      possible = (given.no ? possible : 0) | (given.yes ? possible << (1U << bit) : 0);
    }
    return static_cast<uint16_t>(possible);
  }

  static uint16_t in_group(uint16_t possible, unsigned of_group) {
    const unsigned either = (possible | possible >> kGroupBit) & 0xffU;
    return static_cast<uint16_t>(either << of_group);
  }

  // ---- Steps

  ChainRow zipped(const Step& step, size_t before, const Places& places) {
    Places second = places;
    for (size_t k = 0; k < second.columns.size(); ++k) {
      const uint64_t distance = plan_.columns[k].strides[vector_.pair_axis];
      for (uint64_t& place : second.columns[k]) place += distance;
    }
    std::array<ValueRow, 2> groups = {behind(before, places, 0).value,
                                      behind(before, second, 1).value};
    for (ValueRow& group : groups) group.reinterpret(step.dtype);
    ChainRow row;
    row.value = apply(step.op, step.dtype,
                      {&groups[step.arguments[0] % 2], &groups[step.arguments[1] % 2], nullptr});
    return row;
  }

  void take_step(const ChainStage& stage, const Places& places, ChainRow& row) {
    const Step& step = *stage.step;
    switch (step.kind) {
      case Step::Kind::kFxpToFp:
        row.value.reinterpret(DType::kI32);
        row.value = fxp_to_fp(row.value, step.int_width);
        break;
      case Step::Kind::kFpToFxp:
        row.value.reinterpret(DType::kF32);
        row.value = fp_to_fxp(row.value, step.int_width);
        break;
      case Step::Kind::kStash:
        row.stash = row.value;
        break;
      case Step::Kind::kFilter:
        filter(step, row);
        break;
      default:
        row.value.reinterpret(step.dtype);
        operate(stage, places, row);
    }
  }

  static void filter(const Step& step, ChainRow& row) {
    const TagGuard guard = step.slots.empty() ? TagGuard{} : step.slots[0].guard;
    row.written.resize(row.value.size());
    for (size_t i = 0; i < row.value.size(); ++i) {
      bool yes = false, no = false;
      for (uint8_t tag = 0; tag < 16; ++tag) {
        if ((row.tags_of(i) >> tag & 1) != 0) (guard.holds(tag) ? yes : no) = true;
      }
      // What was never written must not vanish unseen.
      if (row.value.is_undefined(i)) no = false;
      row.written[i] = !no ? Written::kYes : !yes ? Written::kNo : Written::kMaybe;
    }
  }

  // For each set of tags the slots that elements may take, a bit each; one more for none.
  using SlotsOfTag = std::array<uint8_t, 16>;
  static SlotsOfTag slots_of_tags(const Step& step) {
    SlotsOfTag slots{};
    for (uint8_t tag = 0; tag < 16; ++tag) {
      size_t slot = 0;
      while (slot < step.slots.size() && !step.slots[slot].guard.holds(tag)) ++slot;
      // A unary step may come without a slot, and is for all.
      if (step.slots.empty() && step.kind != Step::Kind::kUnary) slot = 1;
      slots[tag] = static_cast<uint8_t>(1U << slot);
    }
    return slots;
  }
  static uint8_t slots_of(const SlotsOfTag& of_tag, uint16_t tags) {
    uint8_t slots = 0;
    for (unsigned tag = 0; tag < 16; ++tag) {
      if ((tags >> tag & 1) != 0) slots |= of_tag[tag];
    }
    return slots;
  }

  void operate(const ChainStage& stage, const Places& places, ChainRow& row) {
    const SlotsOfTag of_tag = slots_of_tags(*stage.step);
    std::vector<uint8_t> slots;
    uint8_t used = 0;
    if (row.tags.empty()) {
      used = slots_of(of_tag, row.common);
    } else {
      for (const uint16_t tags : row.tags) {
        slots.push_back(slots_of(of_tag, tags));
        used |= slots.back();
      }
    }
    const size_t count = std::max<size_t>(stage.step->slots.size(), 1);
    std::vector<ValueRow> results(count + 1);
    for (size_t slot = 0; slot < count; ++slot) {
      if ((used >> slot & 1) != 0) results[slot] = result_of(stage, slot, places, row);
    }
    if ((used >> count & 1) != 0) results[count] = row.value;
    merge(results, slots, used, row.value);
  }

  static void merge(std::vector<ValueRow>& results, const std::vector<uint8_t>& slots, uint8_t used,
                    ValueRow& value) {
    if ((used & (used - 1)) == 0) {
      for (size_t slot = 0; slot < results.size(); ++slot) {
        if ((used >> slot & 1) != 0) value = std::move(results[slot]);
      }
      return;
    }
    ValueRow merged(value.dtype, value.size());
    for (size_t i = 0; i < merged.size(); ++i) {
      bool first = true;
      for (size_t slot = 0; slot < results.size(); ++slot) {
        if ((slots[i] >> slot & 1) == 0) continue;
        if (first) {
          merged.take(i, results[slot], i);
        } else {
          merged.unite(i, results[slot], i);
        }
        first = false;
      }
    }
    value = std::move(merged);
  }

  ValueRow result_of(const ChainStage& stage, size_t slot, const Places& places,
                     const ChainRow& row) const {
    const Step& step = *stage.step;
    std::array<ValueRow, 2> beside;
    const auto operand = [&](uint8_t argument) -> const ValueRow* {
      if (argument == 0) return &row.value;
      ValueRow& own = beside[argument - 1];
      if (own.size() == 0) own = operand_of(stage, slot, argument, places, row);
      return &own;
    };
    std::array<const ValueRow*, 3> operands{};
    for (size_t i = 0; i < static_cast<size_t>(operand_count(step.op)); ++i) {
      operands[i] = operand(step.kind == Step::Kind::kUnary ? 0 : step.arguments[i]);
    }
    return apply(step.op, step.dtype, operands);
  }

  // Argument 1: the operand of the slot, 2: its second constant.
  ValueRow operand_of(const ChainStage& stage, size_t slot, uint8_t argument, const Places& places,
                      const ChainRow& row) const {
    const Step::Slot& from = stage.step->slots[slot];
    if (argument == 1 && from.operand.kind == VectorOperand::Kind::kVrf) {
      const size_t column = stage.operand_columns[slot];
      ValueRow result = gathered(*plan_.columns[column].tensor, places.columns[column]);
      result.reinterpret(stage.step->dtype);
      return result;
    }
    if (argument == 1 && from.operand.kind == VectorOperand::Kind::kStash) {
      ValueRow result = *row.stash;
      result.reinterpret(stage.step->dtype);
      return result;
    }
    ValueRow result(stage.step->dtype, places.count);
    std::fill(result.bits.begin(), result.bits.end(),
              argument == 1 ? from.operand.bits : from.second);
    return result;
  }

  ChainPlan plan_;
  ChainEntry entry_;
  const VectorConfig& vector_;
};

// ---- Judging

class VectorChainImpl final : public Expectation::Impl {
 public:
  VectorChainImpl(ChainEvaluator evaluator, std::vector<Conversion> conversions, bool filters,
                  std::vector<AxisId> out_axes, const AxisTable& axes)
      : Impl(std::move(out_axes), axes),
        evaluator_(std::move(evaluator)),
        conversions_(std::move(conversions)),
        filters_(filters) {
    for (const ChainPlan::Column& column : evaluator_.plan().columns) {
      strides_.emplace_back();
      for (const AxisId axis : out_axes_) strides_.back().push_back(column.strides[axis]);
    }
  }

  DType dtype() const override {
    return conversions_.empty() ? evaluator_.plan().dtype : conversions_.back().to;
  }

  Judgement judge(uint64_t offset, uint32_t bits) override {
    const ChainRow& row = element(offset);
    return judged(row.value, element_unconverted_, 0, bits);
  }

  void judge_all(const LogicalTensor& actual, VerdictMaker& verdict) override {
    std::vector<uint64_t> offsets;
    for (uint64_t offset = 0; offset < volume_; ++offset) {
      if (actual.defined(offset)) offsets.push_back(offset);
      if (offsets.size() == kRow || offset + 1 == volume_) judge_row(actual, offsets, verdict);
      if (offsets.size() == kRow) offsets.clear();
    }
  }

  Accepted accepted(uint64_t offset) override {
    const ValueRow& value = element(offset).value;
    return value.is_undefined(0) ? Accepted::nothing() : value.set(0);
  }

  uint32_t expected_bits(uint64_t offset) override { return element(offset).value.bits[0]; }

  std::string expected_text(uint64_t offset) override {
    const ChainRow& row = element(offset);
    if (row.value.is_undefined(0)) return kUndefinedText;
    std::string text = value_text(dtype(), row.value.bits[0]);
    if (!row.value.is_open(0)) return text;
    const Accepted& set = row.value.sets[0];
    if (has_numbers(set)) {
      const double best = to_double(dtype(), row.value.bits[0]);
      text += fmt::format(" +- {:.3g}", std::max(best - set.low, set.high - best));
    }
    if (set.plus_infinity) text += ", or inf";
    if (set.minus_infinity) text += ", or -inf";
    if (set.nan) text += ", or nan";
    return text;
  }

  bool has_filter() const override { return filters_; }
  std::vector<Written> written() override {
    std::vector<Written> result(volume_, Written::kYes);
    std::vector<uint64_t> offsets;
    for (uint64_t first = 0; first < volume_; first += kRow) {
      offsets.clear();
      for (uint64_t i = first; i < std::min(volume_, first + kRow); ++i) offsets.push_back(i);
      const ChainRow row = evaluated(offsets);
      std::copy(row.written.begin(), row.written.end(),
                result.begin() + static_cast<std::ptrdiff_t>(first));
    }
    return result;
  }

 private:
  static constexpr uint64_t kRow = 4096;

  Places places_of(const std::vector<uint64_t>& offsets) const {
    Places places(strides_.size(), offsets.size());
    std::vector<uint64_t> index(out_axes_.size());
    for (size_t i = 0; i < offsets.size(); ++i) {
      const size_t last = out_axes_.size() - 1;
      // Most are next to the one before along the last axis.
      if (i > 0 && !out_axes_.empty() && offsets[i] == offsets[i - 1] + 1 &&
          index[last] + 1 < out_sizes_[last]) {
        ++index[last];
        for (size_t k = 0; k < strides_.size(); ++k) {
          places.columns[k][i] = places.columns[k][i - 1] + strides_[k][last];
        }
        continue;
      }
      for (size_t a = 0; a < index.size(); ++a) index[a] = coordinate(offsets[i], a);
      for (size_t k = 0; k < strides_.size(); ++k) {
        for (size_t a = 0; a < index.size(); ++a) {
          places.columns[k][i] += index[a] * strides_[k][a];
        }
      }
    }
    return places;
  }

  // `unconverted`, where asked for: the values in front of the conversions on the way out.
  ChainRow evaluated(const std::vector<uint64_t>& offsets, ValueRow* unconverted = nullptr) {
    ChainRow row = evaluator_.evaluate(places_of(offsets));
    if (conversions_.empty()) return row;
    ValueRow result = converted(row.value, conversions_);
    if (unconverted != nullptr) *unconverted = std::move(row.value);
    row.value = std::move(result);
    return row;
  }

  const ChainRow& element(uint64_t offset) {
    if (offset != element_at_) element_ = evaluated({offset}, &element_unconverted_);
    element_at_ = offset;
    return element_;
  }

  void judge_row(const LogicalTensor& actual, const std::vector<uint64_t>& offsets,
                 VerdictMaker& verdict) {
    if (offsets.empty()) return;
    ValueRow unconverted;
    const ValueRow row = evaluated(offsets, &unconverted).value;
    for (size_t i = 0; i < offsets.size(); ++i) {
      const uint32_t bits = actual.bits(offsets[i]);
      if (row.flags[i] == 0 && row.bits[i] == bits) continue;
      verdict.take(offsets[i], judged(row, unconverted, i, bits));
    }
  }

  // The smallest part of the bound in front of the conversions that explains the value.
  double explaining_part(const ValueRow& unconverted, size_t i, double got) const {
    const Accepted& whole = unconverted.sets[i];
    const double best = to_double(unconverted.dtype, unconverted.bits[i]);
    double low = 0, high = 1;
    for (int step = 0; step < 12; ++step) {
      const double middle = (low + high) / 2;
      const double from = best - middle * (best - whole.low);
      const double to = best + middle * (whole.high - best);
      const Accepted part =
          converted(unconverted.dtype, range_set(unconverted.dtype, from, to), conversions_);
      (part.low <= got && got <= part.high ? high : low) = middle;
    }
    return high;
  }

  Judgement judged(const ValueRow& row, const ValueRow& unconverted, size_t i,
                   uint32_t bits) const {
    if (row.is_undefined(i)) return {false, 0, 0};
    bits &= value_mask(dtype());
    const double got = to_double(dtype(), bits);
    const double best = to_double(dtype(), row.bits[i]);
    Judgement judgement;
    const double error = std::fabs(got - best);
    if (std::isfinite(error)) judgement.error = error;
    if (!row.is_open(i)) {
      judgement.ok = ((row.bits[i] ^ bits) & value_mask(dtype())) == 0;
      if (judgement.ok) judgement.error = 0;
      return judgement;
    }
    const Accepted& set = row.sets[i];
    if (std::isnan(got)) {
      judgement.ok = set.nan;
    } else if (std::isinf(got)) {
      judgement.ok = got > 0 ? set.plus_infinity : set.minus_infinity;
    } else {
      judgement.ok = set.low <= got && got <= set.high;
      const double room = got > best ? set.high - best : best - set.low;
      if (judgement.ok && got != best && room > 0) {
        judgement.fraction = conversions_.empty() ? std::min(1.0, error / room)
                                                  : explaining_part(unconverted, i, got);
      }
    }
    return judgement;
  }

  ChainEvaluator evaluator_;
  std::vector<Conversion> conversions_;
  bool filters_;
  std::vector<std::vector<uint64_t>> strides_;  // [column][axis of the result]
  // The element looked at last.
  uint64_t element_at_ = std::numeric_limits<uint64_t>::max();
  ChainRow element_;
  ValueRow element_unconverted_;
};

}  // namespace

bool has_filter(const VectorConfig& vector) {
  return std::any_of(vector.back.begin(), vector.back.end(),
                     [](const Step& step) { return step.kind == Step::Kind::kFilter; });
}

std::unique_ptr<Expectation::Impl> make_vector_chain(const Program& program, const Command& command,
                                                     ChainEntry entry, ChainExit exit,
                                                     const OperandValues& operands,
                                                     const std::vector<AxisId>& out_axes,
                                                     Diagnostics& diagnostics) {
  const size_t errors = diagnostics.error_count();
  ChainPlan plan = Planner(program, command, operands, out_axes, diagnostics).plan(entry);
  if (diagnostics.error_count() != errors) return nullptr;
  plan.dtype = exit.dtype;
  ChainEvaluator evaluator(std::move(plan), std::move(entry), *command.vector);
  return std::make_unique<VectorChainImpl>(std::move(evaluator), std::move(exit.conversions),
                                           has_filter(*command.vector), out_axes, program.axes);
}

}  // namespace rngdsim
