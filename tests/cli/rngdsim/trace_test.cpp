// SPDX-License-Identifier: Apache-2.0
// Waveforms, flits, dumps and the pipeline as text, as a user gets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/rngdsim/process.h"
#include "tests/cli/rngdsim/vcd.h"

namespace rngdsim {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct FlitRow {
  uint64_t cycle, command, time_index, valid;
  std::string link, event;
};

std::vector<FlitRow> parse_flits(const std::string& text) {
  const std::vector<std::string> lines = lines_of(text);
  EXPECT_FALSE(lines.empty());
  if (!lines.empty()) {
    EXPECT_EQ(lines[0], "cycle,link,event,command,time_index,valid");
  }
  std::vector<FlitRow> rows;
  for (size_t i = 1; i < lines.size(); ++i) {
    std::vector<std::string> fields;
    std::istringstream stream(lines[i]);
    for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
    EXPECT_EQ(fields.size(), 6u) << lines[i];
    if (fields.size() != 6) continue;
    rows.push_back({std::stoull(fields[0]), std::stoull(fields[3]), std::stoull(fields[4]),
                    std::stoull(fields[5]), fields[1], fields[2]});
  }
  return rows;
}

std::string link_scope(std::string link) {
  link.replace(link.find("->"), 2, "_to_");
  std::replace(link.begin(), link.end(), '.', '_');
  return "rngdsim.links." + link;
}

class TraceCliTest : public CliTest {
 protected:
  static std::string kernel_file(const std::string& name) {
    return RNGDSIM_SOURCE_DIR "/configs/kernels/" + name + ".yaml";
  }
  // Runs with all traces; the report as JSON.
  json traced(const std::string& kernel, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"run",           kernel,    "--format",
                                          "json",          "-q",      "--vcd",
                                          path("run.vcd"), "--flits", path("run.csv")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult run = rngdsim(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    return json::parse(run.out, nullptr, false);
  }
};

// What the waveform says in each cycle, against the flits and the report of the same run.
class Waveform : public TraceCliTest, public testing::WithParamInterface<const char*> {};

TEST_P(Waveform, AgreesWithFlitsAndReport) {
  const json report = traced(kernel_file(GetParam()));
  const uint64_t cycles = report["cycles"];
  const Vcd vcd = parse_vcd(read(path("run.vcd")));
  EXPECT_EQ(vcd.timescale, "1ns");
  EXPECT_EQ(vcd.last_time, cycles);
  const std::vector<FlitRow> rows = parse_flits(read(path("run.csv")));

  struct Events {
    std::vector<int> push, pop, stall;
  };
  std::map<std::string, Events> events;
  for (const json& link : report["links"]) {
    Events& of = events[link["name"]];
    of.push.assign(cycles, 0);
    of.pop.assign(cycles, 0);
    of.stall.assign(cycles, 0);
  }
  uint64_t last_cycle = 0;
  for (const FlitRow& row : rows) {
    ASSERT_LT(row.cycle, cycles);
    ASSERT_GE(row.cycle, last_cycle);
    last_cycle = row.cycle;
    ASSERT_EQ(events.count(row.link), 1u) << row.link;
    Events& of = events[row.link];
    ++(row.event == "push" ? of.push : row.event == "pop" ? of.pop : of.stall)[row.cycle];
  }
  for (const json& link : report["links"]) {
    SCOPED_TRACE(link["name"].get<std::string>());
    const Events& of = events[link["name"]];
    uint64_t pushes = 0, stalls = 0;
    const std::string scope = link_scope(link["name"]);
    const auto occupancy = per_cycle(vcd, scope + ".occupancy", 0, cycles);
    const auto valid = per_cycle(vcd, scope + ".valid", 0, cycles);
    const auto ready = per_cycle(vcd, scope + ".ready", 0, cycles);
    int inside = 0;  // at the start of the cycle
    for (uint64_t cycle = 0; cycle < cycles; ++cycle) {
      ASSERT_EQ(binary(occupancy[cycle]), static_cast<uint64_t>(inside)) << "cycle " << cycle;
      if (of.pop[cycle] > 0) {
        ASSERT_EQ(valid[cycle], "1") << "cycle " << cycle;
      }
      if (inside == 0) {
        ASSERT_EQ(valid[cycle], "0") << "cycle " << cycle;
      }
      if (of.push[cycle] > 0) {
        ASSERT_EQ(ready[cycle], "1") << "cycle " << cycle;
      }
      if (of.stall[cycle] > 0) {
        ASSERT_EQ(ready[cycle], "0") << "cycle " << cycle;
      }
      inside += of.push[cycle] - of.pop[cycle];
      pushes += static_cast<uint64_t>(of.push[cycle]);
      stalls += static_cast<uint64_t>(of.stall[cycle]);
    }
    EXPECT_EQ(pushes, link["items"].get<uint64_t>());
    EXPECT_EQ(stalls, link["stalled"].get<uint64_t>());
  }
  for (const json& unit : report["units"]) {
    const std::string name = unit["name"];
    SCOPED_TRACE(name);
    std::map<std::string, uint64_t> in_state;
    const auto states = per_cycle(vcd, "rngdsim.units." + name + ".state", 0, cycles);
    const auto commands = per_cycle(vcd, "rngdsim.units." + name + ".command", 0, cycles);
    for (uint64_t cycle = 0; cycle < cycles; ++cycle) {
      ++in_state[states[cycle]];
      ASSERT_EQ(commands[cycle] == "z", states[cycle] == "idle") << "cycle " << cycle;
    }
    for (const char* state : {"busy", "starved", "blocked", "conflict", "idle"}) {
      EXPECT_EQ(in_state[state], unit[state].get<uint64_t>()) << state;
    }
  }
  for (const json& command : report["commands"]) {
    const std::string signal = "rngdsim.commands." + command["context"].get<std::string>();
    const std::string begins_with = std::to_string(command["index"].get<uint64_t>()) + "_";
    EXPECT_THAT(vcd.at(signal, command["begin"]), StartsWith(begins_with));
    EXPECT_THAT(vcd.at(signal, command["end"].get<uint64_t>() - 1), StartsWith(begins_with));
    if (command["end"].get<uint64_t>() < cycles) {
      EXPECT_THAT(vcd.at(signal, command["end"]), Not(StartsWith(begins_with)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Waveform,
                         testing::Values("gemm", "stream_copy", "outer_broadcast", "dot",
                                         "bmatmul_k_in_time", "fetch_batch_2"),
                         [](const auto& info) { return info.param; });

// 256 packets of gemm multiply in all eight lanes.
TEST_F(TraceCliTest, TheMultiplierShowsItsLanes) {
  const json report = traced(kernel_file("gemm"));
  const Vcd vcd = parse_vcd(read(path("run.vcd")));
  const auto lanes = per_cycle(vcd, "rngdsim.units.multiplier.active_lanes", 0, report["cycles"]);
  EXPECT_EQ(std::count(lanes.begin(), lanes.end(), "11111111"), 256);
  EXPECT_EQ(std::count(lanes.begin(), lanes.end(), "0"), static_cast<int64_t>(lanes.size()) - 256);
}

// A main read of 32 B takes four banks of 8 B: accesses 0 to 3 of a 128 B row all sixteen in turn.
TEST_F(TraceCliTest, TheMemoryShowsItsBanks) {
  const std::string kernel = write("copy.yaml", kCopy);
  traced(kernel);
  const Vcd vcd = parse_vcd(read(path("run.vcd")));
  const std::string banks = "rngdsim.units.data_memory.bank_grants";
  EXPECT_EQ(vcd.at(banks, 263), "0");
  EXPECT_EQ(vcd.at(banks, 264), "1111");
  EXPECT_EQ(vcd.at(banks, 265), "11110000");
  EXPECT_EQ(vcd.at(banks, 266), "111100000000");
  EXPECT_EQ(vcd.at(banks, 267), "1111000000000000");
  EXPECT_EQ(vcd.at(banks, 268), "1111");
}

TEST_F(TraceCliTest, AWindowIsThatPartOfTheWhole) {
  traced(kernel_file("gemm"));
  const Vcd whole = parse_vcd(read(path("run.vcd")));
  const std::vector<std::string> all = lines_of(read(path("run.csv")));
  traced(kernel_file("gemm"), {"--window", "1045:1071"});
  const Vcd part = parse_vcd(read(path("run.vcd")));
  std::string expected = all[0] + "\n";
  for (size_t i = 1; i < all.size(); ++i) {
    const uint64_t cycle = std::stoull(all[i]);
    if (cycle >= 1045 && cycle < 1071) expected += all[i] + "\n";
  }
  EXPECT_EQ(read(path("run.csv")), expected);
  ASSERT_EQ(part.signals.size(), whole.signals.size());
  EXPECT_EQ(part.last_time, 1071u);
  for (const auto& [signal, changes] : part.signals) {
    ASSERT_FALSE(changes.empty());
    EXPECT_EQ(changes.front().first, 1045u) << signal;
    EXPECT_EQ(per_cycle(part, signal, 1045, 1071), per_cycle(whole, signal, 1045, 1071)) << signal;
  }
}

TEST_F(TraceCliTest, TracesAndReportAreTheSameFromRunToRun) {
  const auto report = [&](const std::vector<std::string>& more) {
    json result = traced(kernel_file("gemm"), more);
    result.erase("wall_seconds");
    result.erase("cycles_per_second");
    return result;
  };
  const json first = report({});
  const std::string vcd = read(path("run.vcd"));
  const std::string flits = read(path("run.csv"));
  EXPECT_EQ(report({}), first);
  EXPECT_EQ(read(path("run.vcd")), vcd);
  EXPECT_EQ(read(path("run.csv")), flits);
  json without_values = report({"--timing-only"});
  EXPECT_EQ(read(path("run.vcd")), vcd);
  EXPECT_EQ(read(path("run.csv")), flits);
  json expected = first;
  expected.erase("values");
  without_values.erase("values");
  EXPECT_EQ(without_values, expected);
}

// ---- Other programs read it ---------------------------------------------------------------------

int run_command(const std::string& command) { return std::system(command.c_str()); }

// vcd2fst and fst2vcd come with GTKWave.
TEST_F(TraceCliTest, SurvivesGtkwavesOwnFormat) {
  const json report = traced(kernel_file("gemm"));
  ASSERT_EQ(run_command("vcd2fst " + path("run.vcd") + " " + path("run.fst") + " > " + path("log") +
                        " 2>&1"),
            0)
      << read(path("log"));
  ASSERT_EQ(run_command("fst2vcd " + path("run.fst") + " > " + path("back.vcd")), 0);
  const Vcd own = parse_vcd(read(path("run.vcd")));
  const Vcd back = parse_vcd(read(path("back.vcd")));
  ASSERT_EQ(back.signals.size(), own.signals.size());
  const uint64_t cycles = report["cycles"];
  for (const auto& [signal, changes] : own.signals) {
    auto expected = per_cycle(own, signal, 0, cycles);
    auto got = per_cycle(back, signal, 0, cycles);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      // The other one writes all digits.
      const bool number = expected[i].find_first_not_of("01") == std::string::npos;
      if (number) {
        ASSERT_EQ(binary(got[i]), binary(expected[i])) << signal << " in " << i;
      } else if (expected[i] == "z") {
        ASSERT_EQ(got[i].find_first_not_of('z'), std::string::npos) << signal << " in " << i;
      } else {
        ASSERT_EQ(got[i], expected[i]) << signal << " in " << i;
      }
    }
  }
}

TEST_F(TraceCliTest, TheSaveFileNamesSignalsOfTheDump) {
  traced(kernel_file("gemm"));
  const Vcd vcd = parse_vcd(read(path("run.vcd")));
  size_t named = 0;
  for (const std::string& line : lines_of(read(path("run.gtkw")))) {
    if (line.rfind("rngdsim.", 0) != 0) continue;
    EXPECT_EQ(vcd.signals.count(line.substr(0, line.find('['))), 1u) << line;
    ++named;
  }
  // Two commands; state and time index of 16 units at work in gemm, bank grants twice and lanes.
  EXPECT_GE(named, 2u + 2 * 16 + 3);
  EXPECT_THAT(read(path("run.gtkw")), StartsWith("[dumpfile] \"run.vcd\"\n"));
}

// ---- Runs that do not end well ------------------------------------------------------------------

TEST_F(TraceCliTest, CtrlCClosesTheFiles) {
  const std::string kernel = write("long.yaml", long_copy(4000, 40));
  ProcessOptions options;
  options.interrupt_after_seconds = 0.5;
  const ProcessResult run = rngdsim({"run", kernel, "--timing-only", "--format", "json", "--vcd",
                                     path("run.vcd"), "--flits", path("run.csv")},
                                    options);
  EXPECT_EQ(run.status, 1) << run.err;
  const json report = json::parse(run.out, nullptr, false);
  ASSERT_FALSE(report.is_discarded());
  EXPECT_EQ(report["status"], "stopped");
  EXPECT_EQ(parse_vcd(read(path("run.vcd"))).last_time, report["cycles"].get<uint64_t>());
  EXPECT_LT(parse_flits(read(path("run.csv"))).back().cycle, report["cycles"].get<uint64_t>());
  EXPECT_TRUE(std::filesystem::exists(path("run.gtkw")));
}

TEST_F(TraceCliTest, AFailureOfTheMachineClosesTheFiles) {
  const std::string kernel = write("poison.yaml", poisoned_copy());
  const ProcessResult run = rngdsim({"run", kernel, "--vcd", path("run.vcd")});
  EXPECT_EQ(run.status, 1);
  // The first data are back in 265; the run ends after that cycle.
  EXPECT_EQ(parse_vcd(read(path("run.vcd"))).last_time, 266u);
}

TEST_F(TraceCliTest, BadInputWritesNothing) {
  const std::string kernel = write("bad.yaml", "kernel: bad\n");
  const ProcessResult run =
      rngdsim({"run", kernel, "--vcd", path("run.vcd"), "--flits", path("run.csv")});
  EXPECT_EQ(run.status, 2);
  EXPECT_FALSE(std::filesystem::exists(path("run.vcd")));
  EXPECT_FALSE(std::filesystem::exists(path("run.csv")));
}

TEST_F(TraceCliTest, WrongOptionsAreToldBeforeTheRun) {
  const std::string kernel = write("copy.yaml", kCopy);
  struct Case {
    std::vector<std::string> arguments;
    std::string message;
  };
  const std::vector<Case> cases = {
      {{"--window", "5:9"}, "--window limits --vcd, --flits and --perfetto, and none is given"},
      {{"--vcd", path("a.vcd"), "--window", "9:9"}, "holds no cycle: 9 is not before 9"},
      {{"--vcd", path("a.vcd"), "--window", "9"}, "'9' is no range of cycles"},
      {{"--vcd", path("a.vcd"), "--window", "a:9"}, "'a:9' is no range of cycles"},
      {{"--vcd", path("no/a.vcd")}, "a.vcd: error: cannot write: No such file or directory"},
      {{"--vcd", path("a"), "--flits", path("a")}, "--vcd and --flits name the same file"},
      {{"--perfetto", path("a"), "--flits", path("a")},
       "--flits and --perfetto name the same file"},
      {{"--html", path("a"), "--vcd", path("a")}, "--vcd and --html name the same file"},
      {{"--html", path("no/a.html")}, "a.html: error: cannot write: there is no such directory"},
      {{"--dump", "y"}, "'y' is not of the form TENSOR=FILE.npy"},
      {{"--dump", "=a.npy"}, "'=a.npy' is not of the form TENSOR=FILE.npy"},
      {{"--dump", "yy=" + path("a.npy")}, "no tensor 'yy'"},
      {{"--dump", "y=" + path("a.npy"), "--timing-only"}, "--timing-only simulates none"},
      {{"--dump", "y=" + path("no/a.npy")}, "a.npy: error: cannot write"},
  };
  for (const Case& wrong : cases) {
    SCOPED_TRACE(wrong.message);
    std::vector<std::string> arguments = {"run", kernel};
    arguments.insert(arguments.end(), wrong.arguments.begin(), wrong.arguments.end());
    const ProcessResult run = rngdsim(arguments);
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.err, HasSubstr(wrong.message));
    EXPECT_EQ(run.out, "");
  }
}

TEST_F(TraceCliTest, AFullDiskIsAnError) {
  const std::string kernel = write("copy.yaml", kCopy);
  const ProcessResult run = rngdsim({"run", kernel, "--flits", "/dev/full"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("/dev/full: error: cannot write: No space left on device"));
}

// ---- Dumps --------------------------------------------------------------------------------------

// 2 x 16 bf16 numbers 0, 1, 2, ..., exact in f4; the shape in the order of the kernel's axes.
TEST_F(TraceCliTest, ADumpIsAnArrayOfNumpy) {
  std::string text = kCopy;
  const auto replace = [&](const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
  };
  replace("{N: 16,", "{N: 2,");
  replace("{random: {seed: 1, low: -1, high: 1}}", "{iota: {start: 0, step: 1}}");
  const std::string kernel = write("copy.yaml", text);
  const ProcessResult run =
      rngdsim({"run", kernel, "--dump", "y=" + path("y.npy"), "--dump", "x=" + path("x.npy")});
  ASSERT_EQ(run.status, 0) << run.err;
  const std::string npy = read(path("y.npy"));
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 16, ), }";
  ASSERT_EQ(npy.size(), 128u + 2 * 16 * 4);  // 10 bytes, the header, blanks up to 128
  EXPECT_EQ(npy.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(npy.substr(10, header.size()), header);
  EXPECT_EQ(npy[127], '\n');
  for (int i = 0; i < 32; ++i) {
    float value = -1;
    std::memcpy(&value, npy.data() + 128 + 4 * i, 4);
    EXPECT_EQ(value, static_cast<float>(i));
  }
  EXPECT_EQ(read(path("x.npy")), npy);
}

// ---- cycles and lockstep ------------------------------------------------------------------------

// Every unit a cycle after the one before it, as derived in tests/golden/traces.
TEST_F(TraceCliTest, CyclesShowsThePipeline) {
  const ProcessResult run =
      rngdsim({"cycles", RNGDSIM_SOURCE_DIR "/traces/copy.yaml", "--window", "260:300"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out,
            "copy, cycles 260 to 278 (the last), topology rngd\n"
            "a digit: busy with the item whose place in Time ends in it; - starved  = blocked  x "
            "conflict  . idle\n"
            "\n"
            "                     260       270\n"
            "                     |         |\n"
            "main command         0000000000000000000\n"
            "main_fetch           ...012.............\n"
            "data_memory          ....012.........012\n"
            "fetch_adapter        ......012..........\n"
            "main_collect         .......012.........\n"
            "stream_adapter       ........012........\n"
            "multiplier           .........012.......\n"
            "packet_reducer       ..........012......\n"
            "time_reducer         ...........012.....\n"
            "lane_folder          ............012....\n"
            "cast                 .............012...\n"
            "main_commit_adapter  ..............012..\n"
            "main_commit          ...............012.\n"
            "\n"
            "idle throughout: main_source, sub_source, sub_fetch, switch, sub_collect, trf, vrf, "
            "trf_sequencer,\n"
            "  vcg, vector_engine, inter_slice_reducer, transpose, sub_commit_adapter, sub_commit, "
            "dma_0, dma_1,\n"
            "  dma_2, dma_3, dma_4, dma_5, dma_6, dma_7, hbm, host\n");
}

TEST_F(TraceCliTest, CyclesWithoutAWindowBeginsAtTheFirstAccess) {
  const ProcessResult run = rngdsim({"cycles", kernel_file("gemm")});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(StartsWith("gemm, cycles 260 to 419, topology rngd\n"),
                             HasSubstr("\nsub_fetch      ...0123456789")));
}

TEST_F(TraceCliTest, CyclesBehindTheEndSaysSo) {
  const ProcessResult run =
      rngdsim({"cycles", RNGDSIM_SOURCE_DIR "/traces/copy.yaml", "--window", "1000:"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "copy: the run ends in cycle 279, before the window begins (1,000)\n");
}

TEST_F(TraceCliTest, CyclesRefusesAWindowThatNobodyCanRead) {
  const ProcessResult run = rngdsim({"cycles", kernel_file("gemm"), "--window", "0:10001"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("--window: 10,001 cycles; at most 10,000 can be shown"));
}

TEST_F(TraceCliTest, LockstepShowsThatPipelinesOfSingleSlicesAreEqual) {
  for (const char* kernel : {"gemm", "stream_copy", "outer_broadcast"}) {
    const ProcessResult run = rngdsim({"lockstep", kernel_file(kernel)});
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("equal in every cycle"));
    EXPECT_THAT(run.out, Not(HasSubstr("differ")));
  }
}

TEST_F(TraceCliTest, LockstepOfSlicesThatAreFoldedComparesCyclesOnly) {
  const ProcessResult run = rngdsim({"lockstep", kernel_file("full_sum")});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("error: folds 256 slices into one value"));
  EXPECT_EQ(rngdsim({"lockstep", kernel_file("full_sum"), "--timing-only"}).status, 0);
}

// ---- Perfetto -----------------------------------------------------------------------------------

// Every event has what the format asks of its kind, times begin with 0, and what is shown is the
// report's: the commands from begin to end, each unit's cycles in each state.
TEST_F(TraceCliTest, PerfettoShowsWhatTheReportSays) {
  const ProcessResult run = rngdsim({"run", kernel_file("gemm"), "--timing-only", "--format",
                                     "json", "--perfetto", path("p.json")});
  ASSERT_EQ(run.status, 0) << run.err;
  const json report = json::parse(run.out), trace = json::parse(read(path("p.json")));
  std::map<std::pair<int, int>, std::string> tracks;
  std::map<std::string, std::map<std::string, uint64_t>> states;  // by unit
  std::vector<std::pair<uint64_t, uint64_t>> commands;
  double first = 1e9;
  const auto cycles = [](const json& microseconds) {
    return static_cast<uint64_t>(std::llround(microseconds.get<double>() * 1000));
  };
  for (const json& event : trace["traceEvents"]) {
    const std::string kind = event.at("ph");
    ASSERT_TRUE(event.at("name").is_string());
    ASSERT_TRUE(event.at("pid").is_number_unsigned() && event.at("tid").is_number_unsigned());
    ASSERT_GE(event.at("ts").get<double>(), 0);
    first = std::min(first, event["ts"].get<double>());
    const std::pair<int, int> track = {event["pid"], event["tid"]};
    if (event["name"] == "thread_name") tracks[track] = event["args"]["name"];
    if (kind == "C") {
      ASSERT_EQ(event["args"].size(), 1u);
      ASSERT_TRUE(event["args"].front().is_number());
    } else if (kind == "X") {
      ASSERT_GT(event.at("dur").get<double>(), 0);
      if (event["cat"] == "command") {
        EXPECT_EQ(tracks.at(track), report["commands"][commands.size()]["context"]);
        commands.emplace_back(cycles(event["ts"]), cycles(event["ts"]) + cycles(event["dur"]));
      } else {
        states[tracks.at(track)][event["name"]] += cycles(event["dur"]);
      }
    } else {
      ASSERT_EQ(kind, "M");
    }
  }
  EXPECT_EQ(first, 0);
  ASSERT_EQ(commands.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(commands[i].first, report["commands"][i]["begin"]);
    EXPECT_EQ(commands[i].second, report["commands"][i]["end"]);
  }
  for (const json& unit : report["units"]) {
    for (const char* state : {"busy", "starved", "blocked", "conflict"}) {
      EXPECT_EQ(states[unit["name"]][state], unit[state]) << unit["name"] << " " << state;
    }
  }
}

// ---- why ----------------------------------------------------------------------------------------

// gemm: the load of the operand (780 cycles) and the product that waits for it (792).
TEST_F(TraceCliTest, WhyNamesTheCriticalPath) {
  const ProcessResult run = rngdsim({"why", kernel_file("gemm"), "--timing-only"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out,
              HasSubstr("2 of 2 commands set the end: main 792 (50.4 %), sub 780 (49.6 %)"));
  EXPECT_THAT(run.out, HasSubstr("b_trf (read after write)"));
  const ProcessResult again =
      rngdsim({"why", kernel_file("gemm"), "--timing-only", "--format", "json"});
  EXPECT_EQ(again.status, 0) << again.err;
  const json found = json::parse(again.out);
  EXPECT_EQ(found["cycles"], 780 + 792);
  ASSERT_EQ(found["critical_path"].size(), 2u);
  EXPECT_TRUE(found["critical_path"][0]["because"].is_null());
  EXPECT_EQ(found["critical_path"][1]["from"], 780);
  EXPECT_EQ(found["critical_path"][1]["because"]["kind"], "read after write");
  EXPECT_EQ(found["commands"][0]["slack"], 0);
  EXPECT_EQ(found["commands"][0]["exposed"], 780);
  EXPECT_EQ(found["commands"][0]["limiting"], 1);
  EXPECT_EQ(found["gaps"][0]["context"], "main");
  EXPECT_EQ(found["gaps"][0]["to"], 780);
}

TEST_F(TraceCliTest, WhyHasNoAnswerForARunThatDidNotEnd) {
  const std::string kernel = write("poison.yaml", R"(kernel: poison
axes: {S: 256, A: 32}
tensors:
  x: {memory: dm, dtype: i8, slice: "S", element: "A"}
program:
  - main: {from: x, stages: [fetch: {time: "1", packet: "A"}, collect]}
)");
  const ProcessResult run = rngdsim({"why", kernel});
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("poison: "));
  EXPECT_THAT(run.err, HasSubstr("a run that did not end has no critical path"));
}

// ---- what-if ------------------------------------------------------------------------------------

// gemm's load and product take 780 and 792 cycles, one after the other.
TEST_F(TraceCliTest, WhatIfTellsTheGain) {
  const ProcessResult run = rngdsim({"what-if", kernel_file("gemm"), "--free", "0"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("command 0 (b_dm -> b_trf) is free"));
  EXPECT_THAT(run.out, HasSubstr("780 cycles less (49.6 % of the run), 1.98 x as fast"));
  const ProcessResult label = rngdsim({"what-if", kernel_file("gemm"), "--free", "b_dm -> b_trf"});
  EXPECT_EQ(label.out, run.out);
  const ProcessResult all =
      rngdsim({"what-if", kernel_file("gemm"), "--free", "0", "--free", "1", "--format", "json"});
  EXPECT_EQ(all.status, 0) << all.err;
  const json found = json::parse(all.out);
  EXPECT_EQ(found["cycles"], 780 + 792);
  EXPECT_EQ(found["cycles_what_if"], 0);
  EXPECT_EQ(found["commands"][1]["end"], 780 + 792);
  EXPECT_EQ(found["commands"][1]["end_what_if"], 0);
}

// The same as a run of the changed machine.
TEST_F(TraceCliTest, WhatIfOfAParameterIsARunWithIt) {
  const ProcessResult what = rngdsim({"what-if", kernel_file("gemm"), "--set",
                                      "machine.command_overhead=100", "--format", "json"});
  EXPECT_EQ(what.status, 0) << what.err;
  const ProcessResult run = rngdsim({"run", kernel_file("gemm"), "--timing-only", "--set",
                                     "machine.command_overhead=100", "--format", "json"});
  EXPECT_EQ(json::parse(what.out)["cycles_what_if"], json::parse(run.out)["cycles"]);
  EXPECT_EQ(json::parse(what.out)["cycles_what_if"], 780 + 792 - 2 * 163);
  // And as a run on a topology file in which the number is another one.
  std::ifstream shipped(RNGDSIM_SOURCE_DIR "/configs/topologies/rngd.yaml");
  std::string text((std::istreambuf_iterator<char>(shipped)), std::istreambuf_iterator<char>());
  const std::string overhead = "{value: 263, source: C, note: commands";
  ASSERT_NE(text.find(overhead), std::string::npos);
  text.replace(text.find(overhead), overhead.size(), "{value: 100, source: C, note: commands");
  const ProcessResult edited = rngdsim({"run", kernel_file("gemm"), "--timing-only", "--topology",
                                        write("edited.yaml", text), "--format", "json"});
  EXPECT_EQ(json::parse(what.out)["cycles_what_if"], json::parse(edited.out)["cycles"]);
}

// HBM at its peak: what takes time beside transfers is gone, as if it were set by hand.
TEST_F(TraceCliTest, WhatIfOfAFreeUnitIsARunWithItsParameters) {
  const ProcessResult free = rngdsim({"what-if", kernel_file("mnist"), "-q", "--free", "hbm"});
  EXPECT_EQ(free.status, 0) << free.err;
  EXPECT_THAT(free.out, HasSubstr("hbm is at its peak (hbm.row_open=0, hbm.row_change=0,"));
  const ProcessResult set =
      rngdsim({"what-if", kernel_file("mnist"), "-q", "--format", "json", "--set", "hbm.row_open=0",
               "--set", "hbm.row_change=0", "--set", "hbm.other_slice=4", "--set",
               "hbm.same_bank_group=4", "--set", "hbm.read_modify_write=4", "--set",
               "hbm.access_latency=1", "--set", "hbm.queue_entries=4096"});
  EXPECT_EQ(set.status, 0) << set.err;
  const json found = json::parse(set.out);
  EXPECT_LT(found["cycles_what_if"], found["cycles"]);
  const ProcessResult as_json =
      rngdsim({"what-if", kernel_file("mnist"), "-q", "--format", "json", "--free", "hbm"});
  EXPECT_EQ(json::parse(as_json.out)["commands"], found["commands"]);
}

// Whatever unit is free, what is shown is a run of the machine with the settings told.
TEST_F(TraceCliTest, AFreeSwitchTakesNoHops) {
  const ProcessResult free =
      rngdsim({"what-if", kernel_file("switch_broadcast"), "--format", "json", "--free", "switch"});
  EXPECT_EQ(free.status, 0) << free.err;
  const ProcessResult set =
      rngdsim({"run", kernel_file("switch_broadcast"), "--format", "json", "--timing-only", "--set",
               "switch.hop_cycles=0", "--set", "switch.bitmap_load=0"});
  EXPECT_EQ(set.status, 0) << set.err;
  EXPECT_EQ(json::parse(free.out)["cycles_what_if"], json::parse(set.out)["cycles"]);
  EXPECT_LT(json::parse(free.out)["cycles_what_if"], json::parse(free.out)["cycles"]);
}

TEST_F(TraceCliTest, WhatIfTheClustersRunApart) {
  const auto cycles = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin() + 1, kernel_file("two_clusters"));
    arguments.insert(arguments.end(), {"-q", "--format", "json", "--skew", "100"});
    const ProcessResult run = rngdsim(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    return json::parse(run.out);
  };
  const json what = cycles({"what-if", "--set", "machine.command_overhead=100"});
  EXPECT_EQ(what["cycles"], cycles({"run", "--timing-only"})["cycles"]);
  EXPECT_EQ(what["cycles_what_if"],
            cycles({"run", "--timing-only", "--set", "machine.command_overhead=100"})["cycles"]);
}

// The page holds no time of the clock on the wall, and writing it changes nothing in the run.
TEST_F(TraceCliTest, APageIsTheSameEachTime) {
  const std::string kernel = write("copy.yaml", kCopy);
  const ProcessResult plain = rngdsim({"run", kernel});
  std::vector<std::string> pages;
  for (const char* name : {"a.html", "b.html"}) {
    const ProcessResult run = rngdsim({"run", kernel, "--html", path(name)});
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.out, plain.out);
    pages.push_back(read(path(name)));
  }
  EXPECT_EQ(pages[0], pages[1]);
  EXPECT_THAT(pages[0], HasSubstr("<!DOCTYPE html>"));
  EXPECT_THAT(pages[0], testing::Not(HasSubstr("cycles_per_second")));
}

// A name from the file cannot end the element that it stands in.
TEST_F(TraceCliTest, APageHoldsNamesAsText) {
  std::string text = kCopy;
  const size_t name = text.find("kernel: ") + 8;
  text.replace(name, text.find('\n', name) - name, "\"</script><script>alert(1)</script>\"");
  const ProcessResult run = rngdsim({"run", write("evil.yaml", text), "--html", path("e.html")});
  EXPECT_EQ(run.status, 0) << run.err;
  const std::string page = read(path("e.html"));
  EXPECT_THAT(page, HasSubstr("alert(1)"));
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
}

TEST_F(TraceCliTest, WhatIfNeedsSomethingThatThereIs) {
  const ProcessResult nothing = rngdsim({"what-if", kernel_file("gemm")});
  EXPECT_EQ(nothing.status, 2);
  EXPECT_THAT(nothing.err, HasSubstr("error: nothing to change"));
  const ProcessResult unknown =
      rngdsim({"what-if", kernel_file("gemm"), "--free", "2", "--free", "multiplier"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("there is no command '2', nor a unit that can be free"));
  EXPECT_THAT(unknown.err, HasSubstr("--free: nothing waits for 'multiplier'"));
  EXPECT_EQ(rngdsim({"what-if", kernel_file("gemm"), "--set", "hbm.nothing=1"}).status, 2);
  // Two commands of mnist have one label: a dma and one of main.
  const ProcessResult both = rngdsim({"what-if", kernel_file("mnist"), "-q", "--free", "bias 2"});
  EXPECT_EQ(both.status, 2);
  EXPECT_THAT(both.err, HasSubstr("--free: 2 commands are called 'bias 2'"));
  EXPECT_THAT(both.err, HasSubstr("by their numbers: 12, 14"));
}

// ---- diff ---------------------------------------------------------------------------------------

// Of real reports: the overhead of both commands of gemm is 163 cycles less.
TEST_F(TraceCliTest, DiffReadsTheReportsOfRun) {
  std::vector<std::string> files;
  for (const char* overhead : {"263", "100"}) {
    const ProcessResult run =
        rngdsim({"run", kernel_file("gemm"), "--timing-only", "--format", "json", "--set",
                 std::string("machine.command_overhead=") + overhead});
    ASSERT_EQ(run.status, 0) << run.err;
    files.push_back(write(std::string(overhead) + ".json", run.out));
  }
  const ProcessResult diff = rngdsim({"diff", files[0], files[1]});
  EXPECT_EQ(diff.status, 0) << diff.err;
  EXPECT_THAT(diff.out, HasSubstr("gemm  1,572 -> 1,246 cycles, 326 less (20.7 %)"));
  EXPECT_THAT(diff.out, HasSubstr("-163"));
  const ProcessResult missing = rngdsim({"diff", files[0], "/nowhere/b.json"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("/nowhere/b.json: error: cannot be read"));
}

// ---- schedule -----------------------------------------------------------------------------------

TEST_F(TraceCliTest, AScheduleIsWrittenReadAndCompared) {
  const ProcessResult run = rngdsim({"run", kernel_file("gemm"), "--timing-only", "--format",
                                     "json", "--schedule", path("s.json")});
  ASSERT_EQ(run.status, 0) << run.err;
  const ProcessResult schedule = rngdsim({"schedule", path("s.json")});
  EXPECT_EQ(schedule.status, 0) << schedule.err;
  EXPECT_THAT(schedule.out, HasSubstr("gemm  makespan 1,572 cycles, 2 instructions"));
  const std::string report = write("r.json", run.out);
  const ProcessResult diff = rngdsim({"diff", path("s.json"), report});
  EXPECT_EQ(diff.status, 0) << diff.err;
  EXPECT_THAT(diff.out, HasSubstr("no command, wait or place differs"));
  EXPECT_EQ(rngdsim({"schedule", report}).status, 2);
  EXPECT_EQ(rngdsim({"run", kernel_file("gemm"), "--schedule", path("no/s.json")}).status, 2);
}

TEST_F(TraceCliTest, ARunThatDidNotEndHasNoSchedule) {
  const ProcessResult run =
      rngdsim({"run", kernel_file("gemm"), "--max-cycles", "100", "--schedule", path("s.json")});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("--schedule: the run did not end"));
  EXPECT_FALSE(std::filesystem::exists(path("s.json")));
}

}  // namespace
}  // namespace rngdsim
