// SPDX-License-Identifier: Apache-2.0
// Compares what the simulated machine left in its memories and sinks with the reference, and makes
// the values that enter it.
//
// Every command is judged by itself: its expected result is computed from the values its inputs
// really held, so that one wrong command is reported once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command/program.h"
#include "reference/logical_tensor.h"
#include "reference/positions.h"
#include "reference/reference.h"
#include "reference/results.h"

namespace rngdsim {

// Reads back memory: elements [first, first + count) of `lane` (0 outside the TRF) of the tensor
// version in slice `slice` (cluster * slices + slice; 0 in HBM). bits[i]: raw bits; valid[i]: 0 for
// poison.
using TensorReader =
    std::function<void(TensorId tensor, uint32_t slice, uint32_t lane, uint64_t first,
                       uint64_t count, uint32_t* bits, uint8_t* valid)>;

struct Mismatch {
  std::string tensor;         // "c_dm", "sink of command 2"
  std::string index;          // "I=3 J=5"
  std::string place;          // "slice 17, element 40"; empty for `expect:`
  std::string expected, got;  // expected carries its bound
};
// "c_dm at I=3 J=5 (slice 17, element 40): expected 2 +- 1e-07, got 3"
std::string to_string(const Mismatch& mismatch);

struct CheckedTensor {
  std::string name;  // as in Mismatch::tensor; "c (expect)" for `expect:`
  uint32_t version = 0;
  DType dtype{};
  std::optional<CommandId> command;  // that wrote it; none for `expect:`
  uint64_t elements = 0;             // places compared, replicas included
  uint64_t mismatches = 0;
  double max_abs_error = 0;   // against the exact value rounded once
  double bound_fraction = 0;  // the largest part of the bound that was used
};

struct CheckReport {
  std::vector<CheckedTensor> checked;  // in the order of the checks
  uint64_t mismatches = 0;
  double max_abs_error = 0;
  double bound_fraction = 0;
  std::vector<Mismatch> first;  // at most Checker::kMaxListed a tensor
};

// Elements of results, by the name of the result: ascending offsets into its logical tensor.
using ResultOffsets = std::map<std::string, std::vector<uint64_t>>;

// A result as it came out.
struct KeptResult {
  ProgramResult result;
  const LogicalTensor* values = nullptr;  // null before its check
  // What its reference accepts at the offsets that were asked for: the reference is that of
  // `expect:` where there is one, else that of the command.
  std::vector<Accepted> accepted;
};

class Checker {
 public:
  static constexpr size_t kMaxListed = 8;

  // `program` must outlive the checker. Faults of the initial values and of `expect:` are added to
  // `diagnostics`; with errors the checker must not be used further.
  Checker(const Program& program, uint64_t seed, const std::string& kernel_dir, TensorReader reader,
          Diagnostics& diagnostics);
  ~Checker();
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  // The logical value of a version: declared ones from the start, produced ones once checked (null
  // before).
  const LogicalTensor* value(TensorId tensor) const;
  // Where each element of a version lies, as offsets into value(tensor): for filling memories.
  const Positions& positions(TensorId tensor) const;

  // Fills an item of a `stream:` command: rows are the positions of Packet. Elements get their
  // initial values (poison where undefined), padding is poison (zero for `#{0}`), dead slices and
  // rows beyond Packet hold valid zeros. BlockT is channel's Block: data, valid, elements, slices,
  // track_validity().
  template <typename BlockT>
  void fill_stream_item(CommandId command, uint64_t index, BlockT& block) {
    block.all_valid = true;
    if (stream_has_poison(command)) block.track_validity();
    fill_rows(command, index, block.elements, block.slices, block.data.data(),
              block.all_valid ? nullptr : block.valid.data());
  }

  // Takes in an item that reached the sink: row lane * size(Packet) + p is position p of Packet in
  // `lane` (lane 0 only, once contract_lane has folded them). Fewer rows than a packet: a part of
  // it, item `index` being the index-th part (accesses without a collect stage).
  // `first_slice`: the slice of the block's first entry, where it holds those of one cluster.
  template <typename BlockT>
  void check_sink_item(CommandId command, uint64_t index, const BlockT& block,
                       uint32_t first_slice = 0) {
    take_sink_rows(command, index, {block.elements, block.slices, first_slice}, block.data.data(),
                   block.all_valid ? nullptr : block.valid.data());
  }

  // Compares everything the finished `command` wrote (or sent to its sink). To be called once for
  // every command, at its end and in the order in which they end, before anything else overwrites
  // the result.
  void check_written(CommandId id);

  // Compares the final tensors with `expect:`. To be called once, after all commands.
  void check_expected();

  // From now on keeps what results_of() lists. To be called before the first check.
  void keep_results(ResultOffsets accepted_at);
  // In the order of results_of().
  const std::vector<KeptResult>& kept() const { return kept_; }

  const CheckReport& report() const { return report_; }

 private:
  struct SinkState;

  // What a command fetches: value(id), or for a view its tile of it. The pointer holds until
  // the next call.
  const LogicalTensor* operand(TensorId id);
  const LogicalTensor* pair_operand(const TensorVersion& pair);
  // Takes in what a version holds now; for a view, in the version that it is a view of.
  void keep(TensorId id, std::unique_ptr<LogicalTensor> values);
  void keep_originals();
  void count_uses();
  // The versions whose values the check of a command looks at: its operands, and what it changes.
  std::vector<TensorId> used_by(const Command& command) const;
  // Forgets the values that no later command uses, unless they are the last of their name.
  void release_used(const Command& command);
  void judge_written(const Command& command);
  bool stream_has_poison(CommandId command);
  void fill_rows(CommandId command, uint64_t index, uint32_t elements, uint32_t slices,
                 uint8_t* data, uint8_t* valid);
  struct BlockShape {
    uint32_t elements, slices, first_slice;
  };
  void take_sink_rows(CommandId command, uint64_t index, const BlockShape& shape,
                      const uint8_t* data, const uint8_t* valid);
  class Collector;  // gathers places into a logical tensor
  struct FilteredPlaces;
  struct StreamSource;
  StreamSource& stream_source(CommandId command);
  SinkState& sink(CommandId id);
  std::optional<Expectation> expectation(const Command& command,
                                         const std::vector<AxisId>& out_axes);
  // Chunk by chunk over all slices is quick, slice by slice is the order of messages.
  enum class ReadOrder { kByChunk, kBySlice };
  // What a filter left out of a tensor, and what was there before.
  std::unique_ptr<FilteredPlaces> filtered(const Command& command, TensorId id,
                                           Expectation& expectation);
  // The same for a sink; null without a filter.
  std::unique_ptr<FilteredPlaces> filtered_in_sink(const Command& command,
                                                   const std::vector<AxisId>& out_axes);
  std::unique_ptr<LogicalTensor> tile_of_view(TensorId id) const;
  // The values of a view, of those of what it is a view of; and the other way round.
  LogicalTensor view_of(const TensorVersion& view, const LogicalTensor& whole) const;
  void put_view(const TensorVersion& view, const LogicalTensor& part, LogicalTensor& whole) const;
  // Whether other tensors lie or lay in the memory of a version.
  bool shares_place(TensorId id) const;
  // Collects a written tensor from its memory.
  void read_back(TensorId id, ReadOrder order, Collector& collector);
  void judge(Collector& collector, Expectation& expectation, CheckedTensor& entry);
  // The result that `command` leaves in its sink or in `tensor`, where it is kept.
  KeptResult* kept_in_sink(CommandId command);
  KeptResult* kept_in(TensorId tensor);
  // `values`: of the whole result; `expectation`: of what was `written`, a version or a view.
  void keep_result(KeptResult& kept, const LogicalTensor& values, Expectation& expectation,
                   std::optional<TensorId> written) const;
  std::optional<uint64_t> offset_in(std::optional<TensorId> view, uint64_t offset) const;
  void book(CheckedTensor entry, std::vector<Mismatch> listed);
  std::optional<TensorId> first_version(const std::string& name) const;
  std::optional<TensorId> last_version(const std::string& name) const;

  const Program& program_;
  TensorReader reader_;
  std::vector<std::unique_ptr<LogicalTensor>> values_;  // by tensor; none for views
  std::unique_ptr<LogicalTensor> view_operand_;
  std::map<TensorId, LogicalTensor> originals_;  // see keep_originals
  std::vector<size_t> uses_left_;                // by tensor; commands not checked yet
  std::vector<uint8_t> lasts_;                   // by tensor: the last version of its name
  mutable std::vector<std::unique_ptr<Positions>> places_;  // by tensor, made on demand
  std::map<CommandId, std::unique_ptr<StreamSource>> streams_;
  std::map<CommandId, std::unique_ptr<SinkState>> sinks_;
  std::vector<KeptResult> kept_;
  ResultOffsets accepted_at_;
  std::vector<std::unique_ptr<LogicalTensor>> kept_sinks_;
  CheckReport report_;
};

}  // namespace rngdsim
