// SPDX-License-Identifier: Apache-2.0
// One function a stage of a command: its line, its JSON and its reasons.
#include <fmt/format.h>

#include <algorithm>

#include "report/explain.h"
#include "report/explain_dma.h"
#include "report/explain_switch.h"
#include "report/explain_vector.h"
#include "report/numbers.h"
#include "support/text.h"

namespace rngdsim {
namespace {

using Json = nlohmann::ordered_json;

uint64_t bytes_of(DType dtype, uint64_t elements) {
  return (elements * static_cast<uint64_t>(memory_bits(dtype)) + 7) / 8;
}

Json sequencer_json(const SequencerConfig& config) {
  Json entries = Json::array();
  for (const SequencerEntry& entry : config.entries) {
    entries.push_back({{"size", entry.size}, {"stride", entry.stride}});
  }
  return {{"text", config.text()}, {"entries", entries}, {"packet_size", config.packet_size}};
}

uint64_t log2_of(uint64_t power) {
  uint64_t log = 0;
  while (power > 1) {
    power /= 2;
    ++log;
  }
  return log;
}

// "first half, rows 0-7 of 128"
std::string region_text(const TensorVersion& tensor, const MachineLimits& limits) {
  std::string region = tensor.region;
  std::replace(region.begin(), region.end(), '_', ' ');
  const uint64_t lanes = std::max<uint64_t>(1, tensor.lane.size());
  return fmt::format("region {}, rows {}-{} of {}", region, tensor.first_row,
                     tensor.first_row + std::max<uint64_t>(1, tensor.rows) - 1,
                     limits.trf_rows * limits.lanes / lanes);
}

Json region_json(const TensorVersion& tensor) {
  return {{"region", tensor.region}, {"first_row", tensor.first_row}, {"rows", tensor.rows}};
}

class CommandExplainer {
 public:
  CommandExplainer(const Program& program, const Command& command)
      : program_(program), command_(command), limits_(program.limits) {}

  std::vector<StageExplanation> explain() {
    if (command_.dma) {
      stages_ = explain_dma(program_, command_);
      bound();
      return std::move(stages_);
    }
    if (command_.fetch) fetch(*command_.fetch);
    if (command_.stream) stream(*command_.stream);
    if (command_.table_lookup) lookup(*command_.table_lookup);
    if (command_.fetch_cast)
      cast("fetch cast", "fetch_cast", command_.fetch_cast->from, command_.fetch_cast->to);
    if (command_.fetch_zero_point) zero_point(*command_.fetch_zero_point);
    if (command_.switching) stages_.push_back(explain_switch(program_, command_));
    if (command_.collect) collect(*command_.collect);
    if (command_.to_trf) to_trf(*command_.to_trf);
    if (command_.outer) outer(*command_.outer);
    if (command_.outer) trf(*command_.outer);
    if (command_.packet_reduce) packet(*command_.packet_reduce);
    if (command_.time_reduce) time(*command_.time_reduce);
    if (command_.lane_fold) lane(*command_.lane_fold);
    for (StageExplanation& stage : explain_vector(program_, command_)) {
      stages_.push_back(std::move(stage));
    }
    if (command_.to_vrf) to_vrf(*command_.to_vrf);
    if (command_.cast) cast("cast", "cast", command_.cast->from, command_.cast->to);
    if (command_.transpose) transpose(*command_.transpose);
    if (command_.commit_adapter && !command_.commit) trim();
    if (command_.commit) commit(*command_.commit);
    if (!command_.commit && !command_.to_trf && !command_.to_vrf) sink();
    macs();
    bound();
    return std::move(stages_);
  }

 private:
  StageExplanation& add(std::string label, std::string key, std::string text, Json json) {
    stages_.push_back({std::move(label), std::move(text), std::move(key), std::move(json), {}});
    return stages_.back();
  }

  std::string text(const Mapping& mapping) const { return "'" + mapping.text(program_.axes) + "'"; }

  // The stream that enters the stage `name`.
  const StreamShape& before(const std::string& name) const {
    const StreamShape* shape = &command_.source;
    for (const StageRecord& stage : command_.stages) {
      if (stage.name == name) break;
      shape = &stage.after;
    }
    return *shape;
  }

  // The stream behind it.
  const StreamShape& after(const std::string& name) const {
    for (const StageRecord& stage : command_.stages) {
      if (stage.name == name) return stage.after;
    }
    return command_.final_shape;
  }

  void fetch(const FetchConfig& fetch) {
    const TensorVersion& tensor = program_.tensors[fetch.tensor];
    StageExplanation& stage = add(
        "fetch", "fetch",
        fmt::format("{}    read {} B, {} a packet, {}", fetch.sequencer.text(), fetch.access_bytes,
                    group_digits(fetch.accesses_per_packet), count_of(fetch.accesses, "read")),
        {{"tensor", tensor.name},
         {"sequencer", sequencer_json(fetch.sequencer)},
         {"read_bytes", fetch.access_bytes},
         {"read_elements", fetch.access_elements},
         {"reads_per_packet", fetch.accesses_per_packet},
         {"packets", fetch.packets},
         {"reads", fetch.accesses}});
    if (tensor.pair) {
      stage.text += fmt::format(", of {} in turn", tensor.name);
    } else if (tensor.view_of) {
      stage.text += from_byte(tensor);
    }
    const bool sub = command_.context == Context::kSub && limits_.sub_fixed_read != 0;
    const uint64_t run = fetch.sequencer.contiguous_run();
    std::string because;
    if (sub) {
      because = fmt::format("the sub context always reads {} B", limits_.sub_fixed_read);
    } else {
      because = fmt::format(
          "of the packet's {} ({} B) {} lie together in {}; main reads the largest of "
          "1, 2, 4 ... {} B that divides both",
          count_of(fetch.sequencer.packet_size, "element"),
          group_digits(bytes_of(tensor.dtype, fetch.sequencer.packet_size)),
          run >= fetch.sequencer.packet_size ? "all" : group_digits(run), text(tensor.element),
          limits_.main_max_read);
      if (command_.fetch_cast) {
        because += fmt::format(", and whose cast to {} fits a flit", name(command_.fetch_cast->to));
      } else if (command_.table_lookup) {
        because += fmt::format(", and what is looked up for it, of {}, fits a flit",
                               name(command_.table_lookup->to));
      }
    }
    stage.why.emplace_back(fmt::format("read {} B", fetch.access_bytes), because);
  }

  // Where a view lies in its tensor.
  std::string from_byte(const TensorVersion& view) const {
    const TensorVersion* whole = &view;
    while (whole->view_of) whole = &program_.tensors[*whole->view_of];
    return fmt::format(", from byte {} of {}", group_digits(view.address - whole->address),
                       whole->name);
  }

  void stream(const StreamEntryConfig& stream) {
    const StreamShape& shape = command_.source;
    add("stream", "stream",
        fmt::format("{} of {} ({} B, {}) enter at {}", count_of(stream.items, "packet"),
                    text(shape.packet), group_digits(bytes_of(shape.dtype, shape.packet.size())),
                    name(shape.dtype), command_.entry_stage),
        {{"items", stream.items},
         {"packet_elements", shape.packet.size()},
         {"packet_bytes", bytes_of(shape.dtype, shape.packet.size())},
         {"dtype", name(shape.dtype)},
         {"enters_at", command_.entry_stage}});
  }

  void to_vrf(const ToVrfConfig& to) {
    const TensorVersion& tensor = program_.tensors[to.tensor];
    add("to_vrf", "to_vrf",
        fmt::format("{}, bytes {} to {} of {}", count_of(to.flits, "flit"),
                    group_digits(tensor.address),
                    group_digits(tensor.address + std::max<uint64_t>(1, tensor.bytes) - 1),
                    group_digits(limits_.vrf_bytes)),
        {{"tensor", tensor.name},
         {"flits", to.flits},
         {"address", tensor.address},
         {"bytes", tensor.bytes}});
  }

  void lookup(const TableLookupConfig& lookup) {
    const uint64_t keys = bytes_of(lookup.to, lookup.elements_per_key);
    StageExplanation& stage =
        add("lookup", "fetch_table_lookup",
            fmt::format("{} -> {}, a table of {} entries of {} B", name(lookup.from),
                        name(lookup.to), lookup.entries, keys),
            {{"from", name(lookup.from)},
             {"to", name(lookup.to)},
             {"entries", lookup.entries},
             {"elements_per_key", lookup.elements_per_key},
             {"bytes", lookup.items * lookup.item_bytes}});
    stage.why.emplace_back(
        fmt::format("{} entries", lookup.entries),
        lookup.elements_per_key > 1
            ? fmt::format("a key is a byte, two elements of {}: the table is paired, an entry "
                          "holds the values of both",
                          name(lookup.from))
            : fmt::format("a key is a byte, one element of {}", name(lookup.from)));
    stage.why.emplace_back(
        "rate",
        fmt::format("the table makes {} of {} B in {}", count_of(limits_.lookup_flits, "flit"),
                    limits_.flit_bytes, count_of(limits_.lookup_cycles, "cycle")));
  }

  void cast(const char* label, const char* key, DType from, DType to) {
    add(label, key, fmt::format("{} -> {}", name(from), name(to)),
        {{"from", name(from)}, {"to", name(to)}});
  }

  void zero_point(const FetchZeroPointConfig& config) {
    add("zero point", "fetch_zero_point_sub",
        fmt::format("{} -> {}, less {}", name(config.from), name(config.to), config.zero_point),
        {{"from", name(config.from)}, {"to", name(config.to)}, {"zero_point", config.zero_point}});
  }

  void collect(const CollectConfig& collect) {
    const uint64_t bytes = bytes_of(collect.dtype, collect.packet_elements);
    const uint64_t padding = collect.flits_per_packet * limits_.flit_bytes - bytes;
    StageExplanation& stage = add(
        "collect", "collect",
        fmt::format("{} B packets -> {}, {}", group_digits(bytes),
                    count_of(collect.flits_per_packet, "flit"), count_of(collect.flits, "flit")),
        {{"packet_bytes", bytes},
         {"padding_bytes", padding},
         {"flits_per_packet", collect.flits_per_packet},
         {"flits", collect.flits}});
    if (padding > 0) {
      stage.text =
          fmt::format("{} B packets, {} B of padding -> {}, {}", group_digits(bytes), padding,
                      count_of(collect.flits_per_packet, "flit"), count_of(collect.flits, "flit"));
      stage.why.emplace_back(
          fmt::format("{} B padding", padding),
          fmt::format("a packet is filled to whole flits of {} B with zeros", limits_.flit_bytes));
    }
  }

  void to_trf(const ToTrfConfig& to) {
    const TensorVersion& tensor = program_.tensors[to.tensor];
    Json json = {{"tensor", tensor.name},
                 {"lanes", to.lanes},
                 {"flits_per_lane", to.flits_per_lane},
                 {"bytes_per_lane", tensor.bytes}};
    json.update(region_json(tensor));
    StageExplanation& stage =
        add("to_trf", "to_trf",
            fmt::format("{} of {}, {} B a lane, {}", count_of(to.lanes, "lane"),
                        count_of(to.flits_per_lane, "flit"), group_digits(tensor.bytes),
                        region_text(tensor, limits_)),
            std::move(json));
    stage.why.emplace_back(count_of(to.lanes, "lane"),
                           fmt::format("Lane {} is the outermost part of Time {}",
                                       text(tensor.lane), text(before("to_trf").time)));
    why_region(stage, tensor);
  }

  void why_region(StageExplanation& stage, const TensorVersion& tensor) const {
    const uint64_t bytes = tensor.bytes * std::max<uint64_t>(1, tensor.lane.size());
    const bool half = bytes * 2 <= limits_.trf_bytes();
    stage.why.emplace_back(
        tensor.region == "full"         ? "whole file"
        : tensor.region == "first_half" ? "first half"
                                        : "second half",
        fmt::format(
            "{} B a slice {} in a half of {} B{}", group_digits(bytes), half ? "fit" : "do not fit",
            group_digits(limits_.trf_bytes() / 2),
            half && tensor.region == "second_half"
                ? "; the first holds what another command still reads, or the kernel says so"
                : ""));
  }

  void outer(const OuterConfig& outer) {
    const uint64_t bytes = bytes_of(outer.stream_dtype, outer.packet_elements);
    StageExplanation& stage =
        add("outer", "outer",
            fmt::format("PackSize {}, lanes {}, TimeBroadcast {}: {} of {} B", outer.pack_size,
                        outer.lanes, group_digits(outer.time_broadcast),
                        count_of(outer.packets, "packet"), bytes),
            {{"pack_size", outer.pack_size},
             {"lanes", outer.lanes},
             {"time_broadcast", outer.time_broadcast},
             {"packets", outer.packets},
             {"packet_bytes", bytes},
             {"stream_dtype", name(outer.stream_dtype)},
             {"trf_dtype", name(outer.trf_dtype)},
             {"accumulator", name(outer.accumulator)}});
    const StreamShape& in = before("contract_outer");
    const StreamShape& out = after("contract_outer");
    const std::string packet = text(out.packet);
    if (outer.pack_size > 1) {
      const auto parts = in.time.split(outer.pack_size);
      stage.why.emplace_back(
          fmt::format("PackSize {}", outer.pack_size),
          fmt::format("OutPacket {} ({} B) takes the innermost {} of Time{}", packet, bytes,
                      outer.pack_size, parts ? ", " + text(parts->second) : ""));
    } else {
      stage.why.emplace_back(
          "PackSize 1", fmt::format("OutPacket {} is one flit; packets are filled to {} B with "
                                    "zeros, half of the {} multipliers a lane idle",
                                    packet, limits_.packet_bytes, outer.slots));
    }
    if (outer.time_broadcast > 1) {
      const auto parts = out.time.split(outer.time_broadcast);
      stage.why.emplace_back(
          fmt::format("TimeBroadcast {}", group_digits(outer.time_broadcast)),
          fmt::format("OutTime has {}innermost, which Time has not: each packet is sent that often",
                      parts ? text(parts->second) + " " : "more terms "));
    } else {
      stage.why.emplace_back("TimeBroadcast 1",
                             "OutTime is Time / PackSize: each packet is sent once");
    }
  }

  void trf(const OuterConfig& outer) {
    const TensorVersion& tensor = program_.tensors[outer.trf];
    const bool wide = outer.read_bytes > limits_.trf_row_bytes;
    const std::string walk = "Element / " + std::to_string(outer.read_elements) + " = " +
                             sizes(tensor.element, outer.read_elements);
    std::string line = fmt::format("ReadSize {} ({}, {} B)", outer.read_elements,
                                   wide ? "wide" : "narrow", outer.read_bytes);
    if (outer.packet_broadcast > 1) {
      line += fmt::format(", PacketBroadcast {}", outer.packet_broadcast);
    }
    line += fmt::format(", {}, {}; {}, {}", walk, region_text(tensor, limits_),
                        outer.trf_sequencer.text(), count_of(outer.packets, "read"));
    Json json = {{"tensor", tensor.name},
                 {"read_elements", outer.read_elements},
                 {"read_bytes", outer.read_bytes},
                 {"wide", wide},
                 {"packet_broadcast", outer.packet_broadcast},
                 {"sequencer", sequencer_json(outer.trf_sequencer)},
                 {"reads", outer.packets}};
    json.update(region_json(tensor));
    StageExplanation& stage = add("trf", "trf", line, std::move(json));
    const StreamShape& out = after("contract_outer");
    stage.why.emplace_back(
        fmt::format("ReadSize {}", outer.read_elements),
        fmt::format("the innermost {} of Element {} and of OutPacket {} are the same, at most {} B",
                    outer.read_elements, text(tensor.element), text(out.packet),
                    limits_.packet_bytes));
    stage.why.emplace_back(wide ? "wide" : "narrow",
                           wide ? fmt::format("a read takes a row of both banks, {} B",
                                              limits_.trf_banks * limits_.trf_row_bytes)
                                : fmt::format("a read takes one bank; banks alternate every {} B",
                                              limits_.trf_row_bytes));
  }

  // The sizes of the terms outside of the innermost `inner` positions: "[4, 2]".
  std::string sizes(const Mapping& mapping, uint64_t inner) const {
    const auto parts = mapping.split(inner);
    if (!parts) return group_digits(mapping.size() / std::max<uint64_t>(1, inner));
    std::vector<std::string> terms;
    for (const Node& node : parts->first.nodes()) terms.push_back(group_digits(node.size));
    return "[" + fmt::format("{}", fmt::join(terms, ", ")) + "]";
  }

  void packet(const PacketReduceConfig& reduce) {
    const uint64_t deepest =
        command_.outer ? log2_of(command_.outer->slots) : std::max<uint64_t>(reduce.depth, 1);
    StageExplanation& stage =
        add("packet", "packet",
            fmt::format("tree depth {} of {} -> {}", reduce.depth, deepest,
                        count_of(reduce.columns, "column")),
            {{"depth", reduce.depth}, {"max_depth", deepest}, {"columns", reduce.columns}});
    stage.why.emplace_back(
        fmt::format("depth {}", reduce.depth),
        fmt::format("{} leaves {}: the innermost {} are summed",
                    text(before("contract_packet").packet), text(after("contract_packet").packet),
                    count_of(uint64_t{1} << reduce.depth, "element")));
  }

  void time(const TimeReduceConfig& reduce) {
    uint64_t packets = 1;
    Json loops = Json::array();
    std::vector<std::string> shown;
    for (const TimeReduceConfig::Loop& loop : reduce.loops) {
      if (loop.reduced) packets *= loop.size;
      loops.push_back({{"size", loop.size}, {"reduced", loop.reduced}});
      shown.push_back(group_digits(loop.size) + (loop.reduced ? " (summed)" : ""));
    }
    StageExplanation& stage =
        add("time", "time",
            fmt::format("{} a result, {} of {}, {}", count_of(packets, "packet"),
                        count_of(reduce.slots, "slot"), group_digits(reduce.capacity),
                        count_of(reduce.results, "result")),
            {{"packets_per_result", packets},
             {"slots", reduce.slots},
             {"capacity", reduce.capacity},
             {"results", reduce.results},
             {"loops", loops}});
    const std::string order =
        shown.empty() ? "Time is 1"
                      : fmt::format("Time is {}, outermost first", fmt::join(shown, " x "));
    stage.why.emplace_back(
        count_of(reduce.slots, "slot"),
        order + (reduce.slots > 1
                     ? "; a slot for each of what is kept inside the outermost summed loop"
                 : packets > 1 ? "; nothing is kept inside the outermost summed loop"
                               : "; nothing is summed"));
    if (command_.lane_fold) {
      stage.why.emplace_back(
          fmt::format("{} exist", group_digits(reduce.capacity)),
          command_.lane_fold->interleaved
              ? fmt::format("{} cells / ({} lanes x {}), interleaved",
                            group_digits(limits_.accumulator_cells), limits_.lanes,
                            count_of(command_.lane_fold->columns, "column"))
              : fmt::format("{} cells / ({} x {} columns), sequential",
                            group_digits(limits_.accumulator_cells),
                            count_of(command_.lane_fold->lanes, "lane"),
                            limits_.accumulator_columns));
    }
  }

  void lane(const LaneFoldConfig& fold) {
    const char* mode = fold.interleaved ? "interleaved" : "sequential";
    StageExplanation& stage =
        add("lane", "lane",
            fmt::format("{}: {} a result, {} of {}", mode, count_of(fold.flits_per_result, "flit"),
                        count_of(fold.flits, "flit"), count_of(limits_.bus_elements, "element")),
            {{"mode", mode},
             {"lanes", fold.lanes},
             {"columns", fold.columns},
             {"flits_per_result", fold.flits_per_result},
             {"flits", fold.flits}});
    stage.why.emplace_back(
        count_of(fold.flits_per_result, "flit"),
        fold.interleaved ? fmt::format("one for each column of a result, its {} side by side",
                                       count_of(fold.lanes, "lane"))
                         : fmt::format("{} x {} in parts of {}", count_of(fold.lanes, "lane"),
                                       count_of(fold.columns, "column"), limits_.bus_elements));
  }

  void transpose(const TransposeConfig& config) {
    StageExplanation& stage =
        add("transpose", "transpose",
            fmt::format(
                "{} of {} x {} -> {} x {}, {} in, {} out, {} buffered: {}",
                config.matrices == 1 ? "1 matrix" : group_digits(config.matrices) + " matrices",
                config.in_rows, config.in_cols, config.out_rows, config.in_rows,
                count_of(config.in_flits(), "flit"), count_of(config.out_rows, "flit"),
                config.double_buffered ? "double" : "single", count_of(config.cycles(), "cycle")),
            {{"in_rows", config.in_rows},
             {"in_cols", config.in_cols},
             {"out_rows", config.out_rows},
             {"valid_elements", config.valid_elements},
             {"packets_per_row", config.packets_per_row},
             {"matrices", config.matrices},
             {"in_flits", config.in_flits()},
             {"double_buffered", config.double_buffered},
             {"flits", config.results()},
             {"cycles", config.cycles()}});
    const StreamShape& in = before("transpose");
    const StreamShape& out = after("transpose");
    stage.why.emplace_back(
        fmt::format("{} columns", config.in_cols),
        fmt::format("{} of {} elements make a row: what Time {} has inside of the rows",
                    count_of(config.packets_per_row, "packet"), config.valid_elements,
                    text(in.time)));
    stage.why.emplace_back(count_of(config.in_rows, "row"),
                           fmt::format("Packet {} holds them", text(out.packet)));
    stage.why.emplace_back(
        fmt::format("{} of {} columns leave", config.out_rows, config.in_cols),
        fmt::format("Time {} has as many of each matrix; the others are padding", text(out.time)));
    const uint64_t in_flits = config.in_flits(), n = config.matrices;
    stage.why.emplace_back(
        fmt::format("{} buffered", config.double_buffered ? "double" : "single"),
        config.double_buffered
            ? fmt::format("a buffer has {} columns, one matrix comes in while the one before "
                          "leaves: {} + {} x max({}, {}) + {}",
                          limits_.transpose_columns, in_flits, group_digits(n - 1), in_flits,
                          config.out_rows, config.out_rows)
            : fmt::format("{} columns take both buffers of {}, nothing comes in while a matrix "
                          "leaves: {} x ({} + {})",
                          config.in_cols, limits_.transpose_columns, group_digits(n), in_flits,
                          config.out_rows));
  }

  static uint64_t trim_bytes(const Command& command) {
    const CommitAdapterConfig& adapter = *command.commit_adapter;
    return bytes_of(adapter.cast ? adapter.cast->from : command.final_shape.dtype,
                    adapter.trim_elements);
  }

  // "trim 16 B, " with the cast behind it, "" without a trim.
  std::string trim_text() const {
    if (!command_.commit_adapter) return "";
    const CommitAdapterConfig& adapter = *command_.commit_adapter;
    std::string text = fmt::format("trim {} B, ", trim_bytes(command_));
    if (adapter.cast) {
      text += fmt::format("{} -> {}{}, ", name(adapter.cast->from), name(adapter.cast->to),
                          adapter.relu ? " with ReLU" : "");
    }
    return text;
  }

  Json trim_json() const {
    if (!command_.commit_adapter) return nullptr;
    const CommitAdapterConfig& adapter = *command_.commit_adapter;
    Json json = {{"elements", adapter.trim_elements}, {"bytes", trim_bytes(command_)}};
    if (adapter.cast) {
      json["cast"] = {{"from", name(adapter.cast->from)}, {"to", name(adapter.cast->to)}};
      json["relu"] = adapter.relu;
    }
    return json;
  }

  void trim() {
    std::string text = trim_text();
    add("trim", "trim", text.substr(0, text.size() - 2), trim_json());
  }

  void commit(const CommitConfig& commit) {
    const TensorVersion& tensor = program_.tensors[commit.tensor];
    StageExplanation& stage =
        add("commit", "commit",
            fmt::format("{}{}, {} of {} B", trim_text(), commit.sequencer.text(),
                        count_of(commit.writes, "write"), commit.write_bytes),
            {{"tensor", tensor.name},
             {"trim", trim_json()},
             {"sequencer", sequencer_json(commit.sequencer)},
             {"write_bytes", commit.write_bytes},
             {"write_elements", commit.write_elements},
             {"writes_per_flit", commit.writes_per_flit},
             {"writes", commit.writes}});
    if (tensor.view_of) stage.text += from_byte(tensor);
    const uint64_t packet = bytes_of(tensor.dtype, commit.sequencer.packet_size);
    const uint64_t run = bytes_of(tensor.dtype, commit.sequencer.contiguous_run());
    std::string because =
        fmt::format("of the {} B kept of a flit {} lie together in {}", packet,
                    run >= packet ? "all" : fmt::format("{} B", run), text(tensor.element));
    if (command_.context == Context::kSub && limits_.sub_fixed_write != 0) {
      because = fmt::format("the sub context always writes {} B", limits_.sub_fixed_write);
    }
    stage.why.emplace_back(fmt::format("write {} B", commit.write_bytes), because);
  }

  void sink() {
    const StreamShape& shape = command_.final_shape;
    add("sink", "sink",
        fmt::format("the chain ends here: {} checked", count_of(command_.final_items, "item")),
        {{"items", command_.final_items}, {"dtype", name(shape.dtype)}});
  }

  void macs() {
    if (!command_.outer) return;
    add("MACs", "mac",
        fmt::format("{} useful of {} issued ({}), in {} of {} slices",
                    group_digits(command_.mac_useful), group_digits(command_.mac_issued),
                    percent(command_.mac_useful, command_.mac_issued),
                    group_digits(command_.live_slices),
                    group_digits(limits_.slices * command_.clusters_used)),
        {{"useful", command_.mac_useful},
         {"issued", command_.mac_issued},
         {"live_slices", command_.live_slices},
         {"clusters_used", command_.clusters_used}});
  }

  void bound() {
    const LowerBound& b = command_.bound;
    const std::vector<std::pair<const char*, uint64_t>> parts = {{"fetch reads", b.fetch_accesses},
                                                                 {"table lookup", b.lookups},
                                                                 {"flits", b.flits},
                                                                 {"packets", b.packets},
                                                                 {"TRF reads", b.trf_reads},
                                                                 {"output flits", b.output_flits},
                                                                 {"vector steps", b.vector_steps},
                                                                 {"transpose", b.transpose},
                                                                 {"writes", b.writes},
                                                                 {"switch hops", b.switch_hops},
                                                                 {"dma requests", b.dma_requests},
                                                                 {"dmn", b.dmn},
                                                                 {"pcie", b.pcie}};
    std::vector<std::string> others;
    uint64_t largest = 0;
    for (const auto& [what, cycles] : parts) {
      if (what == b.bound_by) {
        largest = cycles;
      } else if (cycles > 0) {
        others.push_back(fmt::format("{} {}", what, group_digits(cycles)));
      }
    }
    std::string line = fmt::format("{}: {} overhead and {} ({})", count_of(b.cycles, "cycle"),
                                   group_digits(b.overhead), group_digits(largest), b.bound_by);
    if (!others.empty()) line += fmt::format("; {}", fmt::join(others, ", "));
    if (command_.dma) {
      add("lower bound", "bound", line,
          {{"cycles", b.cycles},
           {"bound_by", b.bound_by},
           {"overhead", b.overhead},
           {"dma_requests", b.dma_requests},
           {"dmn", b.dmn},
           {"pcie", b.pcie}});
      return;
    }
    add("lower bound", "bound", line,
        {{"cycles", b.cycles},
         {"bound_by", b.bound_by},
         {"overhead", b.overhead},
         {"fetch_reads", b.fetch_accesses},
         {"table_lookup", b.lookups},
         {"flits", b.flits},
         {"packets", b.packets},
         {"trf_reads", b.trf_reads},
         {"output_flits", b.output_flits},
         {"transpose", b.transpose},
         {"writes", b.writes},
         {"switch_hops", b.switch_hops}});
  }

  const Program& program_;
  const Command& command_;
  const MachineLimits& limits_;
  std::vector<StageExplanation> stages_;
};

}  // namespace

std::vector<StageExplanation> explain_command(const Program& program, const Command& command) {
  return CommandExplainer(program, command).explain();
}

}  // namespace rngdsim
