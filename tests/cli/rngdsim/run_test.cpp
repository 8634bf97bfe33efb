// SPDX-License-Identifier: Apache-2.0
// run: reports, files, exit statuses.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/rngdsim/process.h"

namespace rngdsim {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Run : public CliTest {
 protected:
  static nlohmann::ordered_json without_wall_time(const std::string& text) {
    auto json = nlohmann::ordered_json::parse(text);
    json.erase("wall_seconds");
    json.erase("cycles_per_second");
    return json;
  }
};

TEST_F(Run, ReportsCyclesValuesAndLimits) {
  const ProcessResult result = rngdsim({"run", write("copy.yaml", kCopy)});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, StartsWith("copy  y[N] = x[N]"));
  EXPECT_THAT(result.out, HasSubstr("values right: y "));
  EXPECT_THAT(result.out, HasSubstr("  bound by  "));
  for (const std::string& line : lines_of(result.out)) EXPECT_LE(line.size(), 100u) << line;
}

// A copy in both clusters: nothing joins them.
TEST_F(Run, ClustersApartAreReported) {
  const std::string kernel = write("both.yaml", R"(kernel: both
axes: {A: 2, S: 256, B: 16}
tensors:
  x: {memory: dm, dtype: bf16, cluster: "A", slice: "S", element: "B", init: {random: {seed: 1}}}
program:
  - main: {from: x, stages: [{fetch: {time: "1", packet: "B"}}, collect, {commit_trim: {packet: "B"}}, {commit: {to: y, element: "B"}}]}
)");
  const auto together = nlohmann::json::parse(rngdsim({"run", kernel, "--format", "json"}).out);
  EXPECT_TRUE(together["clusters"].empty());
  const uint64_t cycles = together["cycles"];
  const ProcessResult result = rngdsim({"run", kernel, "--skew", "100", "--format", "json"});
  EXPECT_EQ(result.status, 0);
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["cycles"], cycles + 100);
  ASSERT_EQ(json["clusters"].size(), 2u);
  EXPECT_EQ(json["clusters"][1]["launch"], 100);
  EXPECT_EQ(json["clusters"][1]["end"], cycles + 100);
  EXPECT_EQ(json["clusters"][1]["work"], cycles);
  EXPECT_EQ(json["clusters"][1]["waited"], 0);
  EXPECT_EQ(json["clusters"][1]["commands"][0]["begin"], 100);
  const ProcessResult text = rngdsim({"run", kernel, "--skew", "100"});
  EXPECT_THAT(text.out, HasSubstr("launch"));
  EXPECT_THAT(text.out, HasSubstr("commands of cluster 1"));
  for (const std::string& line : lines_of(text.out)) EXPECT_LE(line.size(), 100u) << line;
  const ProcessResult refused = rngdsim({"run", write("copy.yaml", kCopy), "--skew", "0"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("a skew of 0 cycles needs 2 clusters"));
}

TEST_F(Run, JsonHasTheContractedFieldsAndTheSameNumbers) {
  const std::string kernel = write("copy.yaml", kCopy);
  const ProcessResult result = rngdsim({"run", kernel, "--format", "json"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  const auto json = nlohmann::json::parse(result.out);
  for (const char* key :
       {"schema_version", "tool", "kernel", "topology", "clock_ghz", "cycles", "commands", "units",
        "mac", "bandwidth", "links", "values", "hazards", "wall_seconds", "cycles_per_second"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  const uint64_t cycles = json["cycles"];
  EXPECT_GE(cycles, 279u);
  EXPECT_EQ(json["commands"][0]["begin"], 0);
  EXPECT_EQ(json["commands"][0]["end"], cycles);
  EXPECT_EQ(json["kernel"]["file"], kernel);
  for (const auto& unit : json["units"]) {
    const uint64_t sum = unit["busy"].get<uint64_t>() + unit["starved"].get<uint64_t>() +
                         unit["blocked"].get<uint64_t>() + unit["conflict"].get<uint64_t>() +
                         unit["idle"].get<uint64_t>();
    EXPECT_EQ(sum, cycles) << unit["name"];
  }
  EXPECT_THAT(rngdsim({"run", kernel}).out, HasSubstr("  " + std::to_string(cycles) + " cycles ("));
}

TEST_F(Run, IsTheSameEveryTime) {
  const std::string kernel = write("copy.yaml", kCopy);
  const std::vector<std::string> arguments = {"run", kernel, "--format", "json"};
  EXPECT_EQ(without_wall_time(rngdsim(arguments).out).dump(),
            without_wall_time(rngdsim(arguments).out).dump());
}

TEST_F(Run, TimingOnlyTakesTheSameCycles) {
  const std::string kernel = write("copy.yaml", kCopy);
  auto with = without_wall_time(rngdsim({"run", kernel, "--format", "json"}).out);
  const ProcessResult timing = rngdsim({"run", kernel, "--format", "json", "--timing-only"});
  EXPECT_EQ(timing.status, 0);
  auto without = without_wall_time(timing.out);
  with.erase("values");
  without.erase("values");
  EXPECT_EQ(with.dump(), without.dump());
}

TEST_F(Run, OutWritesBothReportsAndNothingElse) {
  const std::string kernel = write("copy.yaml", kCopy);
  const std::filesystem::path out = directory_ / "deep" / "out";
  const ProcessResult result = rngdsim({"run", kernel, "--out", out.string(), "--color", "always"});
  EXPECT_EQ(result.status, 0) << result.err;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(out)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"report.json", "report.txt"}));
  EXPECT_THAT(read(out / "report.txt"), StartsWith("copy  y[N]"));  // no colour in files
  EXPECT_EQ(nlohmann::json::parse(read(out / "report.json"))["kernel"]["name"], "copy");
  EXPECT_EQ(rngdsim({"run", kernel, "--out", out.string()}).status, 0);  // again, over the old ones
}

TEST_F(Run, OutThatCannotBeADirectoryIsToldBeforeTheRun) {
  const std::string kernel = write("copy.yaml", kCopy);
  const ProcessResult result = rngdsim({"run", kernel, "--out", kernel});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("directory"));
}

TEST_F(Run, NothingIsWrittenWithoutOut) {
  const std::string kernel = write("copy.yaml", kCopy);
  ProcessOptions options;
  options.directory = directory_.string();
  EXPECT_EQ(rngdsim({"run", "copy.yaml"}, options).status, 0);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory_))
    ++files;
  EXPECT_EQ(files, 1u);
}

TEST_F(Run, BadInputIsStatusTwoOnStderr) {
  const ProcessResult result =
      rngdsim({"run", write("broken.yaml", "kernel: k\naxes: {a: 1}\n"), "--format", "json"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("broken.yaml:2:8: error: "));
}

TEST_F(Run, PoisonIsStatusOneWithTheReport) {
  const ProcessResult result = rngdsim({"run", write("poison.yaml", poisoned_copy())});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("poison: main_fetch, cycle "));
  EXPECT_THAT(result.out, HasSubstr("tensor 'x' is read at"));
}

TEST_F(Run, MaxCyclesIsStatusOneWithTheReportSoFar) {
  const std::string kernel = write("copy.yaml", kCopy);
  const ProcessResult result = rngdsim({"run", kernel, "--max-cycles", "270"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("--max-cycles reached at 270 cycles"));
  EXPECT_THAT(result.out, HasSubstr("not ended"));
  const auto json = nlohmann::json::parse(
      rngdsim({"run", kernel, "--max-cycles", "270", "--format", "json"}).out);
  EXPECT_EQ(json["status"], "max_cycles");
  EXPECT_EQ(json["cycles"], 270);
  // A limit that is not reached changes nothing.
  EXPECT_EQ(rngdsim({"run", kernel, "--max-cycles", "1000000"}).out, rngdsim({"run", kernel}).out);
}

TEST_F(Run, InterruptedRunsReportSoFar) {
  // 40 commands of a million accesses: minutes.
  const std::string kernel = write("long.yaml", long_copy(65536, 40));
  ProcessOptions options;
  options.interrupt_after_seconds = 2;
  options.timeout_seconds = 60;
  const ProcessResult result = rngdsim({"run", kernel, "--timing-only"}, options);
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("stopped after "));
  EXPECT_THAT(result.out, HasSubstr("the report so far"));
}

TEST_F(Run, StrictMakesWarningsAFailure) {
  std::string text = kCopy;
  text.replace(text.find("M: 16"), 5, "M: 4");
  const std::string kernel = write("narrow.yaml", text);
  const ProcessResult result = rngdsim({"run", kernel});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.err, HasSubstr("warning: "));
  const ProcessResult strict = rngdsim({"run", kernel, "--strict"});
  EXPECT_EQ(strict.status, 1);
  EXPECT_EQ(strict.out, result.out);
  EXPECT_EQ(rngdsim({"run", kernel, "-q"}).err, "");
  EXPECT_THAT(rngdsim({"run", kernel, "-q", "--strict"}).err, HasSubstr("warning: "));
}

TEST_F(Run, SeedChangesValuesNotCycles) {
  const std::string kernel = write("copy.yaml", kCopy);
  const ProcessResult a = rngdsim({"run", kernel});
  const ProcessResult b = rngdsim({"run", kernel, "--seed", "12345"});
  EXPECT_EQ(b.status, 0);
  EXPECT_EQ(a.out, b.out);  // a copy is exact, whatever it copies
}

TEST_F(Run, SetChangesTheCycles) {
  const std::string kernel = write("copy.yaml", kCopy);
  const auto cycles = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"run", kernel, "--format", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return nlohmann::json::parse(rngdsim(arguments).out)["cycles"].get<int64_t>();
  };
  EXPECT_EQ(cycles({}) - cycles({"--set", "machine.command_overhead=0"}), 263);
  const auto json = nlohmann::json::parse(
      rngdsim({"run", kernel, "--format", "json", "--set", "machine.command_overhead=1"}).out);
  EXPECT_EQ(json["topology"]["set"][0], "machine.command_overhead=1");
}

TEST_F(Run, NoProgressLineWhereStderrIsNoTerminal) {
  const std::string kernel = write("copy.yaml", kCopy);
  EXPECT_THAT(rngdsim({"run", kernel, "-v"}).err, Not(HasSubstr("\r")));
}

}  // namespace
}  // namespace rngdsim
