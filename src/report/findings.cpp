// SPDX-License-Identifier: Apache-2.0
#include "report/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/dma_report.h"
#include "report/explain_switch.h"
#include "report/numbers.h"
#include "support/text.h"

namespace rngdsim {
namespace {

// A command's bound explains its time where it is at least this part of it, overhead aside.
constexpr double kExplained = 0.8;
// A cause explains a loss where it is at least this part of it.
constexpr double kCause = 0.5;
// Overhead is what limits a run where it is more than this part of it.
constexpr double kOverheadShare = 0.5;
// Losses below these parts are not worth a hint: of a unit's active cycles, of the run.
constexpr double kWorthOfActive = 0.05;
constexpr double kWorthOfRun = 0.1;
constexpr double kConflictsWorthOfRun = 0.02;
// A multiplier that waits for packets in more than this part of its active cycles is half empty.
constexpr double kEveryOther = 0.25;

double part(uint64_t a, uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

std::string spoken(std::string unit) {
  std::replace(unit.begin(), unit.end(), '_', ' ');
  return unit;
}

std::string of_active(uint64_t cycles, const UnitResult& unit) {
  return fmt::format("{} of {} cycles while active", group_digits(cycles),
                     group_digits(active_cycles(unit)));
}

Context context_of(const CommandResult& command) {
  for (const Context context : {Context::kSub, Context::kDma}) {
    if (command.context == name(context)) return context;
  }
  return Context::kMain;
}

uint64_t blamed_on(const UnitResult& unit, const std::string& other) {
  const auto it = unit.blamed.find(other);
  return it == unit.blamed.end() ? 0 : it->second;
}

// Whether a unit has work of its own that can limit a command. Memories and what serves both
// contexts are kept busy by these.
bool can_limit(const UnitResult& unit) {
  static const std::vector<std::string> kTypes = {
      "fetch_sequencer", "stream_source", "collect",     "stream_adapter",
      "trf_sequencer",   "multiplier",    "lane_folder", "commit_sequencer",
      "vector_engine",   "transpose",     "switch"};
  return std::find(kTypes.begin(), kTypes.end(), unit.type) != kTypes.end();
}

// ---- bound_by ---------------------------------------------------------------------------------

// The command of the bounding chain that took longest.
const CommandResult* longest_command(const RunResult& run) {
  const CommandResult* longest = nullptr;
  const auto consider = [&](const CommandResult& command) {
    if (!command.ended) return;
    if (longest == nullptr || command.cycles > longest->cycles) longest = &command;
  };
  for (const CommandId id : run.bound_chain) {
    if (id < run.commands.size()) consider(run.commands[id]);
  }
  if (longest == nullptr) std::for_each(run.commands.begin(), run.commands.end(), consider);
  return longest;
}

std::string overhead_sentence(const RunResult& run) {
  uint64_t overhead = 0;
  uint64_t commands = 0;
  bool equal = true;
  uint64_t each = 0;
  for (const CommandId id : run.bound_chain) {
    if (id >= run.commands.size() || !run.commands[id].ended) continue;
    const uint64_t own = run.commands[id].overhead;
    equal = equal && (commands == 0 || own == each);
    each = own;
    overhead += own;
    ++commands;
  }
  if (part(overhead, run.cycles) <= kOverheadShare) return "";
  const std::string sum =
      commands > 1 && equal ? fmt::format("{} x {} = ", commands, group_digits(each)) : "";
  return fmt::format("command overhead: {}{} of the {} cycles, before the first access of {}", sum,
                     group_digits(overhead), group_digits(run.cycles),
                     commands == 1 ? "the command" : "each command");
}

// The bytes of one access of all commands of a context, 0 where they differ.
uint64_t access_bytes(const Program& program, Context context, bool reads) {
  uint64_t bytes = 0;
  for (const Command& command : program.commands) {
    if (command.context != context || (reads ? !command.fetch : !command.commit)) continue;
    const uint64_t own = reads ? command.fetch->access_bytes : command.commit->write_bytes;
    if (bytes != 0 && bytes != own) return 0;
    bytes = own;
  }
  return bytes;
}

std::string sized(uint64_t bytes, const char* noun) {
  return bytes == 0 ? noun : fmt::format("{} B {}", bytes, noun);
}

// What the unit behind a part of the lower bound did.
std::string resource_sentence(const CommandResult& command, const RunResult& run,
                              const Program& program) {
  if (command.index >= program.commands.size()) return "";
  const Context context = context_of(command);
  const auto sentence = [&](const char* type, const std::string& did) -> std::string {
    const UnitResult* unit = find_unit(run, type, context);
    if (unit == nullptr) return "";
    return fmt::format("{}: it {} in {}", spoken(unit->name), did, of_active(unit->busy, *unit));
  };
  const std::string& by = command.bound_by;
  if (by == "switch hops") return switch_cost_text(*program.commands[command.index].switching);
  const char* const type = limiting_type(by, program.commands[command.index]);
  if (type == nullptr) return "";
  if (by == "fetch reads") {
    return sentence(type, "delivered one " + sized(access_bytes(program, context, true), "read"));
  }
  if (by == "writes") {
    return sentence(type, "made one " + sized(access_bytes(program, context, false), "write"));
  }
  static const std::map<std::string, const char*> kDid = {
      {"fetch_adapter", "took one read to look up"},
      {"collect", "passed on one flit"},
      {"stream_source", "gave out one item of the stream"},
      {"multiplier", "took one packet"},
      {"trf_sequencer", "read one packet of operands"},
      {"lane_folder", "put out one flit"},
      {"vector_engine", "was busy"},
      {"transpose", "took or gave a flit"}};
  const auto did = kDid.find(type);
  return did == kDid.end() ? "" : sentence(type, did->second);
}

bool accumulates(const Program& program) {
  return std::any_of(program.commands.begin(), program.commands.end(),
                     [](const Command& command) { return command.time_reduce.has_value(); });
}

// Cycles in which the reducer did nothing but wait for its own results.
uint64_t ring_cycles(const UnitResult& reducer) {
  const auto own = reducer.blamed.find(reducer.name);
  return own == reducer.blamed.end() ? 0 : own->second;
}

// What made a command take `lost` cycles more than its bound.
std::string loss_sentence(const CommandResult& command, uint64_t lost, const RunResult& run,
                          const Program& program) {
  const Context context = context_of(command);
  const UnitResult* loser = nullptr;
  for (const char* type : {"fetch_sequencer", "collect", "commit_sequencer", "trf_sequencer"}) {
    const UnitResult* unit = find_unit(run, type, context);
    if (unit == nullptr) continue;
    if (loser == nullptr || unit->conflict > loser->conflict) loser = unit;
  }
  if (loser != nullptr &&
      static_cast<double>(loser->conflict) >= kCause * static_cast<double>(lost)) {
    return fmt::format("bank conflicts: {} lost a bank to another unit in {}", spoken(loser->name),
                       of_active(loser->conflict, *loser));
  }
  const UnitResult* reducer = find_unit(run, "time_reducer", context);
  if (context == Context::kMain && reducer != nullptr && accumulates(program) &&
      static_cast<double>(reducer->blocked) >= kCause * static_cast<double>(lost)) {
    return fmt::format("accumulator slots: {} waited for one to be drained in {}",
                       spoken(reducer->name), of_active(reducer->blocked, *reducer));
  }
  const UnitResult* ring = find_unit(run, "inter_slice_reducer", context);
  if (ring != nullptr && command.index < program.commands.size()) {
    const auto& vector = program.commands[command.index].vector;
    const uint64_t hops = ring_cycles(*ring);
    if (vector && vector->inter && part(hops, lost) >= kCause) {
      return fmt::format(
          "inter-slice fold: results of {} slices each were on their way round the "
          "ring for {} cycles in which nothing else moved there",
          vector->inter->ratio, group_digits(hops));
    }
  }
  const uint64_t least = command.bound - std::min(command.bound, command.overhead);
  const std::string resource = resource_sentence(command, run, program);
  return fmt::format("latency: {} ({}) took {} cycles beyond the overhead{}",
                     count_of(least, "cycle") + " of work", command.bound_by,
                     group_digits(command.cycles - std::min(command.cycles, command.overhead)),
                     resource.empty() ? "" : "; " + resource);
}

// ---- Hints ------------------------------------------------------------------------------------

struct Hint {
  uint64_t cost = 0;  // cycles, estimated
  std::string text;
};

std::string command_name(const Command& command) {
  return fmt::format("command {} ({})", command.id, command.label);
}

class HintFinder {
 public:
  HintFinder(const RunResult& run, const Program& program) : run_(run), program_(program) {}

  std::vector<std::string> find() {
    for (const Command& command : program_.commands) {
      reads(command);
      writes(command);
      ring(command);
      if (!command.outer) continue;
      packing(command);
      empty_lanes(command);
      empty_slices(command);
    }
    for (const DmaResult& dma : run_.dmas) transfers(dma);
    conflicts();
    accumulator();
    exposed_loads();
    std::stable_sort(hints_.begin(), hints_.end(),
                     [](const Hint& a, const Hint& b) { return a.cost > b.cost; });
    std::vector<std::string> texts;
    for (Hint& hint : hints_) texts.push_back(std::move(hint.text));
    return texts;
  }

 private:
  void add(uint64_t cost, std::string text) { hints_.push_back({cost, std::move(text)}); }

  void reads(const Command& command) {
    const uint64_t most = program_.limits.main_max_read;
    if (command.context != Context::kMain || !command.fetch) return;
    // The width of a read is what another stage takes.
    if (command.fetch_cast || command.table_lookup || command.transpose) return;
    const uint64_t bytes = command.fetch->access_bytes;
    if (bytes >= most) return;
    add(command.fetch->accesses - command.fetch->accesses * bytes / most,
        fmt::format(
            "{} reads {} B at a time where {} B are possible; let the innermost {} B of the "
            "packet lie together in memory",
            command_name(command), bytes, most, most));
  }

  void writes(const Command& command) {
    if (command.context != Context::kMain || !command.commit) return;
    const CommitConfig& commit = *command.commit;
    if (commit.writes_per_flit <= 1) return;
    add(commit.writes - commit.writes / commit.writes_per_flit,
        fmt::format("{} needs {} writes of {} B a flit; let the elements of a flit lie together in "
                    "memory",
                    command_name(command), commit.writes_per_flit, commit.write_bytes));
  }

  void ring(const Command& command) {
    if (!command.switching || command.bound.bound_by != "switch hops") return;
    const SwitchConfig& config = *command.switching;
    const bool through =
        config.kind == SwitchKind::kBroadcast1 || config.kind == SwitchKind::kInterTranspose;
    if (!through || config.slice0 == 1) return;
    add(config.hops() - config.hops() / config.slice0,
        fmt::format("{} has rings of {} slices for {} that exchange something: slice0 = {} lies "
                    "between them; let the {} that move be innermost in Slice",
                    command_name(command), config.ring_size, config.slice1, config.slice0,
                    config.slice1));
  }

  // Against all engines that took part at full rate.
  void transfers(const DmaResult& dma) {
    const uint64_t request = program_.limits.dma_request_bytes;
    const uint64_t data = data_cycles(dma);
    const uint64_t engines = std::max<uint64_t>(1, dma.engines.size());
    const uint64_t least = (dma.bytes_ideal + request * engines - 1) / (request * engines);
    const uint64_t lost = data - std::min(data, least);
    if (part(lost, run_.cycles) < kWorthOfRun) return;
    const DmaCause cause = dma_cause(dma, run_, program_);
    if (cause.remedy.empty()) return;
    add(lost,
        fmt::format("{} moves {} in {} cycles that could take {}; {}",
                    command_name(program_.commands[dma.command]), count_of(dma.bytes_ideal, "byte"),
                    group_digits(data), group_digits(least), cause.remedy));
  }

  void packing(const Command& command) {
    const OuterConfig& outer = *command.outer;
    if (outer.pack_size == 1) {
      add(outer.packets / 2,
          fmt::format(
              "{} has PackSize 1: packets of {} B use half of the {} multipliers a lane; let "
              "OutPacket take the innermost factor 2 of Time",
              command_name(command), program_.limits.flit_bytes, outer.slots));
      return;
    }
    const UnitResult* multiplier = find_unit(run_, "multiplier", Context::kMain);
    const UnitResult* adapter = find_unit(run_, "stream_adapter", Context::kMain);
    if (multiplier == nullptr || adapter == nullptr || outer.time_broadcast >= outer.pack_size)
      return;
    if (command.bound.bound_by == "table lookup") return;  // flits do not come every cycle
    const uint64_t waited = blamed_on(*multiplier, adapter->name);
    if (part(waited, active_cycles(*multiplier)) < kEveryOther) return;
    add(waited,
        fmt::format(
            "the multiplier waits for flits every other cycle in {}; a TimeBroadcast of {} or "
            "more would fill it (rngdsim explain)",
            command_name(command), outer.pack_size));
  }

  void empty_lanes(const Command& command) {
    const uint64_t lanes = program_.limits.lanes;
    if (command.outer->lanes >= lanes) return;
    add(command.outer->packets - command.outer->packets * command.outer->lanes / lanes,
        fmt::format("{} uses {} of {} lanes; let Lane take more of an axis that only the register "
                    "file has",
                    command_name(command), command.outer->lanes, lanes));
  }

  void empty_slices(const Command& command) {
    const uint64_t slices = program_.limits.slices * command.clusters_used;
    if (command.live_slices * 2 > slices) return;
    add(command.outer->packets - command.outer->packets * command.live_slices / slices,
        fmt::format("{} has data in {} of {} slices; spread an axis over more of them",
                    command_name(command), group_digits(command.live_slices),
                    group_digits(slices)));
  }

  void conflicts() {
    for (const UnitResult& unit : run_.units) {
      if (part(unit.conflict, active_cycles(unit)) < kWorthOfActive) continue;
      if (part(unit.conflict, run_.cycles) < kConflictsWorthOfRun) continue;
      // Stores to the register file lose to its reads, other accesses to each other.
      const bool stores = unit.type == "collect";
      add(unit.conflict,
          fmt::format("{} lost a bank {} in {}, {}; {}", spoken(unit.name),
                      stores ? "of the register file to reads" : "to another unit",
                      of_active(unit.conflict, unit), percent(unit.conflict, active_cycles(unit)),
                      stores ? "read each row again while the read cache holds it, or read 32 B "
                               "packets, which leave one of the banks free"
                             : "move a tensor by a few banks (address) or change the order of a "
                               "walk"));
    }
  }

  void accumulator() {
    const UnitResult* reducer = find_unit(run_, "time_reducer", Context::kMain);
    const UnitResult* folder = find_unit(run_, "lane_folder", Context::kMain);
    if (reducer == nullptr || folder == nullptr) return;
    const uint64_t waited = blamed_on(*reducer, folder->name);
    if (!accumulates(program_)) return;
    if (part(waited, active_cycles(*reducer)) < kWorthOfActive) return;
    add(waited,
        fmt::format("the time reducer waited for a free accumulator slot in {}; more packets a "
                    "result, or fewer flits a result, give the lane folder time to drain them",
                    of_active(waited, *reducer)));
  }

  // Main commands that began only when a load of the register file was done.
  void exposed_loads() {
    for (const CommandResult& command : run_.commands) {
      if (!command.begun || command.context != name(Context::kMain)) continue;
      if (command.waited_for.kind != "read after write") continue;
      const CommandId load = command.waited_for.command;
      if (load >= program_.commands.size() || !program_.commands[load].to_trf) continue;
      const uint64_t waited = command.begin - command.issue;
      if (part(waited, run_.cycles) < kWorthOfRun) continue;
      add(waited,
          fmt::format("command {} waited {} cycles, {} of the run, for the load of {} (command "
                      "{}); load a part of it first, or load the next operand while main works",
                      command.index, group_digits(waited), percent(waited, run_.cycles),
                      command.waited_for.what, load));
    }
  }

  const RunResult& run_;
  const Program& program_;
  std::vector<Hint> hints_;
};

}  // namespace

uint64_t active_cycles(const UnitResult& unit) {
  return unit.busy + unit.starved + unit.blocked + unit.conflict;
}

const char* limiting_type(const std::string& bound_by, const Command& command) {
  static const std::map<std::string, const char*> kTypes = {
      {"fetch reads", "fetch_sequencer"}, {"table lookup", "fetch_adapter"},
      {"switch hops", "switch"},          {"packets", "multiplier"},
      {"TRF reads", "trf_sequencer"},     {"output flits", "lane_folder"},
      {"vector steps", "vector_engine"},  {"transpose", "transpose"},
      {"writes", "commit_sequencer"}};
  if (bound_by == "flits") return command.collect ? "collect" : "stream_source";
  const auto type = kTypes.find(bound_by);
  return type == kTypes.end() ? nullptr : type->second;
}

const UnitResult* find_unit(const RunResult& run, const std::string& type, Context context) {
  std::vector<const UnitResult*> found;
  for (const UnitResult& unit : run.units) {
    if (unit.type == type) found.push_back(&unit);
  }
  if (found.size() < 2) return found.empty() ? nullptr : found.front();
  // One a context: told apart by their names, else by their order.
  const std::string word = name(context);
  for (const UnitResult* unit : found) {
    if (unit->name.find(word) != std::string::npos) return unit;
  }
  return found[std::min<size_t>(static_cast<size_t>(context), found.size() - 1)];
}

std::string bound_by(const RunResult& run, const Program& program) {
  const CommandResult* command = longest_command(run);
  if (command == nullptr) return "";
  std::string overhead = overhead_sentence(run);
  if (!overhead.empty()) return overhead;
  for (const DmaResult& dma : run.dmas) {
    if (dma.command != command->index) continue;
    return fmt::format("dma of command {}: {}", dma.command, dma_sentence(dma, run, program));
  }
  const uint64_t work = command->cycles - std::min(command->cycles, command->overhead);
  const uint64_t least = command->bound - std::min(command->bound, command->overhead);
  if (part(least, work) < kExplained) {
    return loss_sentence(*command, work - std::min(work, least), run, program);
  }
  return resource_sentence(*command, run, program);
}

std::string bounding_resource(const RunResult& run, const Program& program) {
  const std::string sentence = bound_by(run, program);
  return sentence.substr(0, sentence.find(':'));
}

const UnitResult* busiest_unit(const RunResult& run) {
  const UnitResult* busiest = nullptr;
  for (const UnitResult& unit : run.units) {
    if (!can_limit(unit)) continue;
    if (unit.busy > (busiest == nullptr ? 0 : busiest->busy)) busiest = &unit;
  }
  return busiest;
}

std::vector<LongestWait> longest_waits(const RunResult& run, const Program& program) {
  struct State {
    const char* name;
    uint64_t UnitResult::*cycles;
  };
  constexpr State kStates[] = {{"starved", &UnitResult::starved},
                               {"blocked", &UnitResult::blocked},
                               {"conflict", &UnitResult::conflict}};
  std::vector<LongestWait> waits;
  const UnitResult* busiest = busiest_unit(run);
  if (busiest == nullptr) return waits;
  for (const State& state : kStates) {
    const UnitResult* worst = nullptr;
    for (const UnitResult& unit : run.units) {
      if (!can_limit(unit) || unit.busy * 2 < busiest->busy) continue;
      if (unit.*state.cycles > (worst == nullptr ? 0 : worst->*state.cycles)) worst = &unit;
    }
    if (worst == nullptr) continue;
    LongestWait wait{state.name, worst->name, worst->*state.cycles, "", 0, ""};
    for (const auto& [name, cycles] : worst->blamed) {
      if (cycles <= wait.blamed_cycles) continue;
      wait.blamed = name;
      wait.blamed_cycles = cycles;
    }
    if (!wait.blamed.empty()) wait.reason = blame_reason(*worst, wait.blamed, run, program);
    waits.push_back(std::move(wait));
  }
  std::stable_sort(waits.begin(), waits.end(),
                   [](const LongestWait& a, const LongestWait& b) { return a.cycles > b.cycles; });
  return waits;
}

std::vector<std::string> hints(const RunResult& run, const Program& program) {
  return HintFinder(run, program).find();
}

std::vector<Lead> leads(const RunResult& run, const Program& program,
                        const std::vector<std::string>& hints) {
  const std::string by = bound_by(run, program);
  if (by.empty()) return {};
  std::vector<Lead> found = {{"bound by", by}};
  if (!hints.empty()) {
    found.push_back({"change", hints.front()});
  } else if (run.exit_status() == 0) {
    found.push_back({"change",
                     "nothing stands out; rngdsim why tells what each command waited for and where "
                     "its cycles went"});
  }
  return found;
}

std::string blame_reason(const UnitResult& unit, const std::string& blamed, const RunResult& run,
                         const Program& program) {
  const auto is = [&](const char* type) {
    const auto it = std::find_if(run.units.begin(), run.units.end(),
                                 [&](const UnitResult& u) { return u.name == blamed; });
    return it != run.units.end() && it->type == type;
  };
  if (unit.type == "multiplier" && is("stream_adapter")) {
    for (const Command& command : program.commands) {
      if (command.outer && command.outer->time_broadcast < command.outer->pack_size) {
        return "two flits a packet";
      }
    }
  }
  if (unit.type == "time_reducer" && is("lane_folder") && accumulates(program)) {
    return "accumulator slots";
  }
  if (is("switch")) return "hops of the ring";
  if (unit.type == "hbm" && blamed == unit.name) return "its channels";
  if (unit.type == "inter_slice_reducer" && blamed == unit.name) return "hops of the ring";
  if (unit.type == "fetch_adapter" && blamed == unit.name) return "table lookups";
  if (unit.conflict * 2 > active_cycles(unit) - unit.busy) {
    return unit.type == "collect" ? "TRF bank" : "bank";
  }
  return "";
}

}  // namespace rngdsim
