// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/findings.h"
#include "report/run_json.h"
#include "report/run_text.h"
#include "tests/unit/report/sample.h"

namespace rngdsim {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class RunReport : public testing::Test {
 protected:
  std::string text(const Style& style = {}) const { return run_text(run_, program_, {}, style); }
  nlohmann::ordered_json json() const { return run_json(run_, program_); }

  Program program_ = sample::gemm();
  RunResult run_ = sample::gemm_run();
};

// ---- Text -------------------------------------------------------------------------------------

TEST_F(RunReport, HeaderNamesKernelAxesTypesAndMachine) {
  const std::vector<std::string> lines = sample::lines_of(text());
  EXPECT_EQ(
      lines[0],
      "gemm  C[I,J] = sum over K of A[I,K] B[J,K]    I 512  J 512  K 64  bf16    topology rngd, "
      "1.0 GHz");
  EXPECT_EQ(lines[1], "");
}

TEST_F(RunReport, SaysCyclesTimeAndValuesFirst) {
  EXPECT_THAT(text(),
              HasSubstr("\n\n  1,566 cycles (1.57 us)    values right: c_dm 262,144 elements, "
                        "max error 0.4 % of bound\n"));
}

TEST_F(RunReport, TimeFollowsTheClock) {
  run_.clock_ghz = 2;
  EXPECT_THAT(text(), HasSubstr("1,566 cycles (783 ns)"));
}

TEST_F(RunReport, CommandTableHasItsColumns) {
  EXPECT_THAT(text(),
              HasSubstr("command               begin    end  cycles  bound   waited for\n"));
  EXPECT_THAT(text(),
              HasSubstr("  0 sub   b_dm -> b_trf             0    777     777    775   -\n"));
  EXPECT_THAT(text(), HasSubstr("  1 main  a_dm x b_trf -> c_dm    777  1,566     789    775   "
                                "b_trf (read after write)"));
  EXPECT_THAT(text(), HasSubstr("\n  cycles and bound: 263 of each are overhead, before the first "
                                "access\n"));
}

TEST_F(RunReport, OverheadsThatDifferAreNamed) {
  run_.commands[1].overhead = 300;
  EXPECT_THAT(text(),
              HasSubstr("\n  overhead in cycles and bound: 263 of command 0; 300 of command 1\n"));
}

TEST_F(RunReport, SaysHowTheContextsOverlap) {
  EXPECT_THAT(text(), Not(HasSubstr("overlap")));  // none in the sample
  run_.overlap = {789, 777, 100, 677, 5};
  EXPECT_THAT(
      text(),
      HasSubstr("  overlap   main ran 789 cycles and sub 777, both at once 100 (6.4 % of the "
                "run); main waited 677\n            for sub, sub 5 for main\n"));
}

// Of many commands the first 24 and the last 16 are shown.
TEST_F(RunReport, LongListsOfCommandsAreShortened) {
  const CommandResult second = run_.commands[1];
  const auto with = [&](size_t count) {
    run_.commands.resize(1);
    while (run_.commands.size() < count) {
      run_.commands.push_back(second);
      run_.commands.back().index = static_cast<CommandId>(run_.commands.size() - 1);
    }
    return text();
  };
  EXPECT_THAT(with(40), Not(HasSubstr(" more")));
  const std::string report = with(60);
  EXPECT_THAT(report, HasSubstr("\n  23 main"));
  EXPECT_THAT(report, Not(HasSubstr("\n  24 main")));
  EXPECT_THAT(report, HasSubstr("... 20 more\n"));
  EXPECT_THAT(report, Not(HasSubstr("\n  43 main")));
  EXPECT_THAT(report, HasSubstr("\n  44 main"));
  EXPECT_THAT(report, HasSubstr("\n  59 main"));
  EXPECT_THAT(report, HasSubstr("\n  all of them: --format json\n"));
}

TEST_F(RunReport, UnitsAreBusiestFirstAndIdleOnesTogether) {
  const std::string report = text();
  EXPECT_LT(report.find("  main_fetch"), report.find("  multiplier"));
  EXPECT_THAT(report, HasSubstr("multiplier       256      255        0         0  1,055   "
                                "stream_adapter 255: two flits a packet\n"));
  EXPECT_THAT(report, HasSubstr("  idle throughout: cast, sub_commit\n"));
}

TEST_F(RunReport, MemoryTableHasBytesRateAndShareOfPeak) {
  EXPECT_THAT(text(),
              HasSubstr("dm read          20,480   5,242,880   3,347.9   131,072     2.6 %\n"));
}

TEST_F(RunReport, MacsNameTheirDenominators) {
  const std::string report = text();
  EXPECT_THAT(report,
              HasSubstr("  MACs      16,777,216 useful of 16,777,216 issued (100.0 %); 50.0 % of "
                        "the cluster's peak"));
  EXPECT_THAT(report, HasSubstr("8.2 % of the chip's over the run\n"));
}

TEST_F(RunReport, NoLineIsWiderThanTheReport) {
  run_.kernel_description = std::string(40, 'd') + " " + std::string(70, 'e');
  run_.commands[1].label = std::string(200, 'x');
  run_.commands[1].waited_for.what = std::string(60, 'y') + " " + std::string(60, 'z');
  run_.hazards = {
      "bank 3 was used 64 times in a row by main_fetch while dma_0 waited for it, from "
      "cycle 1,000 to cycle 1,064, in command 1"};
  for (const std::string& line : sample::lines_of(text())) {
    if (line.find("yyyy") != std::string::npos || line.find("zzzz") != std::string::npos) continue;
    EXPECT_LE(text_width(line), kReportWidth) << line;
  }
}

TEST_F(RunReport, ColourOnlyWhereAskedFor) {
  EXPECT_THAT(text(), Not(HasSubstr("\033")));
  EXPECT_THAT(text({true}), HasSubstr("\033[32mvalues right\033[0m"));
}

TEST_F(RunReport, NothingInTheTextDependsOnTheWallClock) {
  const std::string before = text();
  run_.wall_seconds = 99;
  run_.cycles_per_second = 1;
  EXPECT_EQ(text(), before);
}

TEST_F(RunReport, WrongValuesAreListed) {
  run_.status = RunStatus::kFailed;
  run_.values.mismatches = 12;
  run_.values.first_mismatches = {{"c_dm", "I=3 J=5", "slice 17, element 40", "2 +- 1e-07", "3"}};
  const std::string report = text();
  EXPECT_THAT(report, HasSubstr("values wrong: 12 of 262,144 elements (< 0.1 %)\n"));
  EXPECT_THAT(report, HasSubstr("  wrong in  index    place                 expected    got\n"
                                "  c_dm      I=3 J=5  slice 17, element 40  2 +- 1e-07  3\n"
                                "  and 11 more\n"));
  EXPECT_THAT(report, Not(HasSubstr("values right")));
}

TEST_F(RunReport, ADeadlockNamesWhoIsStuckAndWhy) {
  run_.status = RunStatus::kDeadlock;
  run_.commands[1].ended = false;
  run_.failures = {{"deadlock", "", 900, 1, "no unit can move"}};
  run_.stuck = {{"multiplier", "starved", "packets of stream_adapter"}};
  const std::string report = text();
  EXPECT_THAT(report, HasSubstr("deadlock: nothing moves after cycle 1,566\n"));
  EXPECT_THAT(
      report,
      HasSubstr("deadlock: cycle 900, command 1 (a_dm x b_trf -> c_dm): no unit can move\n"));
  EXPECT_THAT(report, HasSubstr("  multiplier  starved  packets of stream_adapter\n"));
  EXPECT_THAT(report, HasSubstr("not ended\n"));
}

TEST_F(RunReport, AStoppedRunSaysSo) {
  run_.status = RunStatus::kMaxCycles;
  EXPECT_THAT(text(), HasSubstr("--max-cycles reached at 1,566 cycles; the report so far\n"));
  run_.status = RunStatus::kStopped;
  EXPECT_THAT(text(), HasSubstr("stopped after 1,566 cycles; the report so far\n"));
}

TEST_F(RunReport, TimingOnlyClaimsNothingOfValues) {
  run_.values = {};
  run_.values.simulated = false;
  EXPECT_THAT(text(), HasSubstr("values not simulated (--timing-only)\n"));
  EXPECT_THAT(text(), Not(HasSubstr("values right")));
}

TEST_F(RunReport, ManyResultsAreCounted) {
  run_.values.checked.assign(4, {"t", 10, 0, 0, 0});
  run_.values.max_abs_error = 0;
  EXPECT_THAT(text(), HasSubstr("values right: 4 results, 40 elements, all exact\n"));
}

TEST_F(RunReport, ExpectIsNotCountedTwice) {
  run_.values.checked.push_back({"c_dm (expect)", 262144, 0, 1e-3, 0.003});
  EXPECT_THAT(text(), HasSubstr("values right: c_dm 262,144 elements, c_dm as expect: says, max "));
}

TEST_F(RunReport, OverriddenParametersAreNamed) {
  const std::string report = run_text(run_, program_, {{"machine.command_overhead=0"}});
  EXPECT_THAT(report, HasSubstr("topology rngd, 1.0 GHz\n  with machine.command_overhead=0\n"));
}

TEST_F(RunReport, AnEmptyRunIsReportedToo) {
  run_ = RunResult();
  run_.kernel_name = "none";
  EXPECT_THAT(run_text(run_, Program()), HasSubstr("0 cycles (0 ns)"));
  EXPECT_EQ(run_json(run_, Program())["commands"].size(), 0u);
}

// ---- JSON -------------------------------------------------------------------------------------

TEST_F(RunReport, JsonHasTheContractedNames) {
  const nlohmann::ordered_json report = json();
  EXPECT_EQ(report["schema_version"], 1);
  EXPECT_EQ(report["tool"]["name"], "rngdsim");
  EXPECT_EQ(report["kernel"]["name"], "gemm");
  EXPECT_EQ(report["kernel"]["sha256"], std::string(64, 'a'));
  EXPECT_EQ(report["topology"]["name"], "rngd");
  EXPECT_EQ(report["clock_ghz"], 1.0);
  EXPECT_EQ(report["cycles"], 1566);
  const auto& command = report["commands"][1];
  for (const char* key : {"index", "context", "kind", "label", "line", "issue", "begin", "end",
                          "cycles", "waited_for", "bound", "bound_by"}) {
    EXPECT_TRUE(command.contains(key)) << key;
  }
  EXPECT_EQ(command["begin"], 777);
  EXPECT_EQ(command["waited_for"]["what"], "b_trf");
  EXPECT_TRUE(report["commands"][0]["waited_for"].is_null());
  const auto& unit = report["units"][3];
  for (const char* key : {"name", "type", "busy", "starved", "blocked", "conflict", "idle",
                          "items_in", "items_out", "blamed"}) {
    EXPECT_TRUE(unit.contains(key)) << key;
  }
  EXPECT_EQ(unit["blamed"]["stream_adapter"], 255);
  for (const char* key :
       {"useful", "issued", "peak_per_cycle", "utilization", "utilization_while_active"}) {
    EXPECT_TRUE(report["mac"].contains(key)) << key;
  }
  EXPECT_EQ(report["bandwidth"]["dm_read"]["bytes"], 5242880);
  EXPECT_EQ(report["links"][0]["name"], "main_fetch.out->fetch_adapter.in");
  EXPECT_EQ(report["links"][0]["stalled"], 3);
  EXPECT_EQ(report["values"]["checked"][0]["tensor"], "c_dm");
  EXPECT_EQ(report["values"]["mismatches"], 0);
  EXPECT_TRUE(report["hazards"].is_array());
  EXPECT_EQ(report["wall_seconds"], 0.25);
  EXPECT_EQ(report["cycles_per_second"], 6264.0);
}

TEST_F(RunReport, JsonKeepsItsOrder) {
  std::vector<std::string> keys;
  const nlohmann::ordered_json report = json();
  for (const auto& [key, value] : report.items()) keys.push_back(key);
  const std::vector<std::string> contracted = {
      "schema_version", "tool",     "kernel",  "topology",     "clock_ghz",
      "cycles",         "commands", "units",   "mac",          "bandwidth",
      "links",          "values",   "hazards", "wall_seconds", "cycles_per_second"};
  size_t at = 0;
  for (const std::string& key : keys) {
    if (at < contracted.size() && key == contracted[at]) ++at;
  }
  EXPECT_EQ(at, contracted.size()) << "first out of order: " << contracted[at];
}

TEST_F(RunReport, JsonNumbersStayExact) {
  run_.cycles = (uint64_t{1} << 53) + 1;  // no double
  EXPECT_EQ(json().dump().find("9007199254740993") != std::string::npos, true);
}

// ---- What limited it, what to change ------------------------------------------------------------

TEST_F(RunReport, BoundByFetchIsSaidWithItsNumbers) {
  EXPECT_EQ(bound_by(run_, program_),
            "main fetch: it delivered one 32 B read in 512 of 512 cycles while active");
}

TEST_F(RunReport, BoundByTheMultiplier) {
  run_.commands[1].bound_by = "packets";
  run_.units[3] = sample::unit("multiplier", "multiplier", 500, 12, 0, 0, 1566);
  EXPECT_EQ(bound_by(run_, program_),
            "multiplier: it took one packet in 500 of 512 cycles while active");
}

// 2 x 263 of 600 cycles are more than half.
TEST_F(RunReport, BoundByOverheadWhereThatIsMost) {
  run_.cycles = 600;
  run_.commands[0].cycles = 300;
  run_.commands[1].cycles = 300;
  EXPECT_EQ(bound_by(run_, program_),
            "command overhead: 2 x 263 = 526 of the 600 cycles, before the first access of each "
            "command");
}

// 1,000 cycles of work where 512 would do, 400 of them lost to another unit's bank.
TEST_F(RunReport, BoundByBankConflicts) {
  run_.commands[1].cycles = 263 + 1000;
  run_.commands[1].end = 777 + 1263;
  run_.cycles = 2040;
  run_.units[0] = sample::unit("main_fetch", "fetch_sequencer", 512, 0, 88, 400, 2040,
                               {{"main_commit", 400}, {"data_memory", 88}});
  EXPECT_EQ(bound_by(run_, program_),
            "bank conflicts: main fetch lost a bank to another unit in 400 of 1,000 cycles while "
            "active");
  EXPECT_THAT(hints(run_, program_), Contains(StartsWith("main fetch lost a bank")));
}

TEST_F(RunReport, BoundByAccumulatorSlots) {
  run_.commands[1].cycles = 263 + 1000;
  run_.cycles = 2040;
  run_.units.push_back(
      sample::unit("time_reducer", "time_reducer", 256, 0, 400, 0, 2040, {{"lane_folder", 400}}));
  run_.units.push_back(sample::unit("lane_folder", "lane_folder", 600, 0, 0, 0, 2040));
  EXPECT_THAT(bound_by(run_, program_), StartsWith("accumulator slots: time reducer waited"));
  EXPECT_THAT(hints(run_, program_), Contains(HasSubstr("accumulator slot")));
}

TEST_F(RunReport, BoundIsEmptyWhereNothingEnded) {
  for (CommandResult& command : run_.commands) command.ended = false;
  EXPECT_EQ(bound_by(run_, program_), "");
}

TEST_F(RunReport, HintsAreCostliestFirst) {
  // The load is exposed for 777 cycles; the multiplier waits 255.
  const std::vector<std::string> found = hints(run_, program_);
  ASSERT_GE(found.size(), 2u);
  EXPECT_THAT(found[0],
              StartsWith("command 1 waited 777 cycles, 49.6 % of the run, for the load of "
                         "b_trf (command 0)"));
  EXPECT_EQ(
      found[1],
      "the multiplier waits for flits every other cycle in command 1 (a_dm x b_trf -> c_dm); a "
      "TimeBroadcast of 2 or more would fill it (rngdsim explain)");
}

TEST_F(RunReport, NoHintWithoutALoss) {
  run_.units[3] = sample::unit("multiplier", "multiplier", 256, 10, 0, 0, 1566);
  run_.commands[1].waited_for = {};
  EXPECT_THAT(hints(run_, program_), IsEmpty());
}

TEST_F(RunReport, HintsOnPackSizeLanesReadsAndWrites) {
  Command& command = program_.commands[1];
  command.outer->pack_size = 1;
  command.outer->lanes = 4;
  command.fetch->access_bytes = 8;
  command.fetch->accesses = 2048;
  command.commit->writes_per_flit = 2;
  command.commit->write_bytes = 8;
  command.commit->writes = 256;
  const std::vector<std::string> found = hints(run_, program_);
  EXPECT_THAT(found, Contains(HasSubstr("PackSize 1")));
  EXPECT_THAT(found, Contains(HasSubstr("4 of 8 lanes")));
  EXPECT_THAT(found, Contains(HasSubstr("reads 8 B at a time where 32 B are possible")));
  EXPECT_THAT(found, Contains(HasSubstr("2 writes of 8 B a flit")));
  // 2,048 reads of 8 B would be 512 of 32 B: 1,536 cycles, more than all others.
  EXPECT_THAT(found.front(), HasSubstr("reads 8 B"));
}

TEST_F(RunReport, HintOnEmptySlices) {
  program_.commands[1].live_slices = 64;
  EXPECT_THAT(hints(run_, program_), Contains(HasSubstr("data in 64 of 256 slices")));
  program_.commands[1].live_slices = 129;
  EXPECT_THAT(hints(run_, program_), Not(Contains(HasSubstr("slices"))));
}

// ---- Longest waits ------------------------------------------------------------------------------

// The busiest unit works 100 cycles: one that works 50 counts, one that works 49 does not, and
// memories never do.
TEST_F(RunReport, LongestWaitsAreThoseOfUnitsThatMatter) {
  run_.units = {
      sample::unit("main_fetch", "fetch_sequencer", 100, 0, 5, 40, 1566, {{"sub_fetch", 45}}),
      sample::unit("multiplier", "multiplier", 50, 10, 50, 0, 1566,
                   {{"stream_adapter", 10}, {"packet_reducer", 50}}),
      sample::unit("main_commit", "commit_sequencer", 49, 900, 900, 0, 1566),
      sample::unit("data_memory", "data_memory", 500, 600, 600, 0, 1566),
  };
  EXPECT_EQ(busiest_unit(run_)->name, "main_fetch");
  std::vector<std::string> waits;
  for (const LongestWait& wait : longest_waits(run_, program_)) {
    waits.push_back(wait.unit + " " + wait.state + " " + std::to_string(wait.cycles) + " " +
                    wait.blamed + " " + std::to_string(wait.blamed_cycles));
  }
  EXPECT_THAT(waits, ElementsAre("multiplier blocked 50 packet_reducer 50",
                                 "main_fetch conflict 40 sub_fetch 45",
                                 "multiplier starved 10 packet_reducer 50"));
  run_.units.clear();
  EXPECT_EQ(busiest_unit(run_), nullptr);
  EXPECT_THAT(longest_waits(run_, program_), IsEmpty());
}

TEST_F(RunReport, TheResourceIsTheBeginningOfBoundBy) {
  EXPECT_EQ(bounding_resource(run_, program_), "main fetch");
}

TEST_F(RunReport, FailureSentencesSayWhatTheReportSays) {
  EXPECT_THAT(failure_sentences(run_, program_), IsEmpty());
  run_.status = RunStatus::kFailed;
  run_.failures = {{"poison", "main_fetch", 1234, 1, "tensor 'x' is read"}};
  EXPECT_THAT(
      failure_sentences(run_, program_),
      ElementsAre("poison: main_fetch, cycle 1,234, command 1 (a_dm x b_trf -> c_dm): tensor "
                  "'x' is read"));
  run_.failures.clear();
  run_.status = RunStatus::kMaxCycles;
  EXPECT_THAT(failure_sentences(run_, program_),
              ElementsAre("--max-cycles reached at 1,566 cycles"));
}

}  // namespace
}  // namespace rngdsim
