// SPDX-License-Identifier: Apache-2.0
// compare: kernels side by side, the proof that they compute the same, and refusals.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/rngdsim/process.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// y[N,M] = x[N,M], 256 elements that begin with 0, `step`, 2 `step`...: 16 reads of 32 B, or 32 of
// 16 B with half a row a packet.
std::string copy(bool halves, const std::string& step = "1") {
  const std::string time = halves ? "N, M / 8" : "N", packet = halves ? "M % 8" : "M";
  return "kernel: copy\naxes: {N: 16, M: 16}\ntensors:\n"
         "  x: {memory: dm, dtype: bf16, slice: \"1 # 256\", element: \"N, M\", init: {iota: "
         "{step: " +
         step +
         "}}}\nprogram:\n  - main:\n      from: x\n      stages:\n        - fetch: {time: \"" +
         time + "\", packet: \"" + packet +
         "\"}\n        - collect: {}\n        - commit_trim: " + "{packet: \"" + packet +
         "\"}\n        - commit: {to: y, element: \"N, M\"}\n";
}

class Compare : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    rows_ = write("rows.yaml", copy(false));
    halves_ = write("halves.yaml", copy(true));
  }

  static std::vector<std::string> with_format(std::vector<std::string> arguments,
                                              const std::string& format) {
    arguments.insert(arguments.end(), {"--format", format});
    return arguments;
  }

  // Cycles of a kernel as run reports them.
  static uint64_t cycles(const std::string& kernel) {
    return nlohmann::json::parse(rngdsim({"run", kernel, "--format", "json"}).out)["cycles"];
  }

  std::string rows_, halves_;
};

TEST_F(Compare, TextHasTheVerdictAndARowAKernelFastestFirst) {
  const ProcessResult result = rngdsim({"compare", halves_, rows_});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("all compute the same y[N,M] (256 elements, equal within the "
                                     "bound of summation order)\ntopology rngd, 1.0 GHz\n"));
  const size_t rows = result.out.find("\n  rows "), halves = result.out.find("\n  halves ");
  ASSERT_NE(rows, std::string::npos);
  ASSERT_NE(halves, std::string::npos);
  EXPECT_LT(rows, halves);
  for (const std::string& line : lines_of(result.out)) EXPECT_LE(line.size(), 100u) << line;
}

// 263 cycles of overhead, then an access a cycle: at least 279 and 295 cycles.
TEST_F(Compare, JsonHasTheReportsOfTheRuns) {
  const ProcessResult result = rngdsim(with_format({"compare", halves_, rows_}, "json"));
  EXPECT_EQ(result.status, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["baseline"], "rows");
  EXPECT_EQ(json["equal"]["proved"], true);
  EXPECT_EQ(json["equal"]["results"][0]["name"], "y");
  EXPECT_EQ(json["equal"]["results"][0]["elements"], 256);
  ASSERT_EQ(json["kernels"].size(), 2U);
  const auto& fast = json["kernels"][0];
  const auto& slow = json["kernels"][1];
  EXPECT_EQ(fast["name"], "rows");
  EXPECT_EQ(slow["name"], "halves");
  EXPECT_EQ(slow["file"], halves_);
  EXPECT_EQ(fast["bound"]["cycles"], 279);
  EXPECT_EQ(slow["bound"]["cycles"], 295);
  EXPECT_EQ(fast["cycles"], cycles(rows_));
  EXPECT_EQ(slow["cycles"], cycles(halves_));
  EXPECT_GE(fast["cycles"].get<int>(), 279);
  EXPECT_GE(slow["cycles"].get<int>(), 295);
  EXPECT_EQ(fast["ratio"], 1.0);
  EXPECT_DOUBLE_EQ(slow["ratio"].get<double>(),
                   slow["cycles"].get<double>() / fast["cycles"].get<double>());
  // Both move 512 bytes a slice; halves of rows fill half of their flits.
  for (const auto& kernel : json["kernels"]) {
    EXPECT_EQ(kernel["bandwidth"]["dm_read"]["bytes_per_slice"], 512);
    EXPECT_EQ(kernel["bandwidth"]["dm_write"]["bytes_per_slice"], 512);
    EXPECT_FALSE(kernel.contains("wall_seconds"));
  }
  EXPECT_EQ(fast["flits"], 16);
  EXPECT_EQ(slow["flits"], 32);
}

TEST_F(Compare, CsvHasARowAKernel) {
  const ProcessResult result = rngdsim(with_format({"compare", halves_, rows_}, "csv"));
  EXPECT_EQ(result.status, 0) << result.err;
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[0], StartsWith("name,file,parameters,cycles,ratio,"));
  EXPECT_THAT(lines[1], StartsWith("rows," + rows_ + ",,"));
  EXPECT_THAT(lines[2], StartsWith("halves," + halves_ + ",,"));
  EXPECT_EQ(std::count(lines[0].begin(), lines[0].end(), ','),
            std::count(lines[1].begin(), lines[1].end(), ','));
}

TEST_F(Compare, MarkdownHasTheColumnsOfTheText) {
  const ProcessResult result = rngdsim(with_format({"compare", halves_, rows_}, "markdown"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              HasSubstr("| kernel | cycles | vs best | MAC use | bound by | bound | "
                        "cycles / bound |\n|---|---:|---:|---:|---|---:|---:|\n| rows "));
}

TEST_F(Compare, TheBaselineCanBeNamed) {
  const auto json = nlohmann::json::parse(
      rngdsim(with_format({"compare", halves_, rows_, "--baseline", "halves"}, "json")).out);
  EXPECT_EQ(json["baseline"], "halves");
  EXPECT_EQ(json["kernels"][1]["ratio"], 1.0);
  EXPECT_LT(json["kernels"][0]["ratio"].get<double>(), 1.0);
  EXPECT_THAT(rngdsim({"compare", halves_, rows_, "--baseline", "halves"}).out,
              HasSubstr("vs halves"));
  const ProcessResult wrong = rngdsim({"compare", halves_, rows_, "--baseline", "halfs"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_EQ(wrong.out, "");
  EXPECT_THAT(wrong.err, HasSubstr("there is no kernel 'halfs'\nhint: did you mean 'halves'?"));
}

TEST_F(Compare, IsTheSameForAnyNumberOfProcesses) {
  for (const char* format : {"text", "json", "csv", "markdown"}) {
    const std::vector<std::string> arguments =
        with_format({"compare", halves_, rows_, halves_}, format);
    std::vector<std::string> one = arguments, two = arguments;
    one.insert(one.end(), {"--jobs", "1"});
    two.insert(two.end(), {"--jobs", "2"});
    const ProcessResult result = rngdsim(one);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, rngdsim(two).out) << format;
  }
}

TEST_F(Compare, NamesAreStemsMadeUniqueByFolders) {
  std::filesystem::create_directory(directory_ / "a");
  std::filesystem::create_directory(directory_ / "b");
  const std::string a = write("a/copy.yaml", copy(false)), b = write("b/copy.yaml", copy(false));
  const auto json =
      nlohmann::json::parse(rngdsim(with_format({"compare", b, a, rows_, rows_}, "json")).out);
  std::vector<std::string> names;
  for (const auto& kernel : json["kernels"]) names.push_back(kernel["name"]);
  EXPECT_THAT(names, ElementsAre("a/copy", "b/copy", "rows", "rows#2"));
}

// Element 0 is 0 in both; all others differ.
TEST_F(Compare, OtherMathematicsIsRefusedWithTensorAndIndex) {
  const std::string twice = write("twice.yaml", copy(false, "2"));
  const ProcessResult result = rngdsim({"compare", rows_, twice});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err,
              HasSubstr("y at N=0 M=1: 1 (right: 1) in rows (" + rows_ +
                        "), 2 (right: 2) in twice (" + twice + "); 255 of 256 elements differ"));
  EXPECT_THAT(result.err, HasSubstr("hint: 'x' begins with iota from 0 by 1 in " + rows_ + ":4:"));
}

TEST_F(Compare, OtherResultsAreRefusedBeforeAnythingRuns) {
  std::string text = copy(false);
  text.replace(text.find("to: y"), 5, "to: z");
  const std::string other = write("other.yaml", text);
  const ProcessResult result = rngdsim({"compare", rows_, other});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("there is no result 'y', which " + rows_));
}

TEST_F(Compare, AllErrorsOfAllFilesAreToldAtOnce) {
  const std::string a = write("a.yaml", "kernel: a\naxes: {a: 1}\n");
  const std::string b = write("b.yaml", "kernel: b\naxes: {I: 0}\nprogram: []\n");
  const ProcessResult result = rngdsim({"compare", a, rows_, b, "missing.yaml", a});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr(a + ":2:8: error: "));
  EXPECT_THAT(result.err, HasSubstr(b + ":2:11: error: "));
  EXPECT_THAT(result.err, HasSubstr("missing.yaml: error: "));
  // A file given twice is told once.
  EXPECT_EQ(result.err.find(a + ":2:8"), result.err.rfind(a + ":2:8"));
}

TEST_F(Compare, OneKernelIsNotEnough) {
  const ProcessResult result = rngdsim({"compare", rows_});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("at least 2 kernels, there is 1"));
  EXPECT_EQ(rngdsim({"compare"}).status, 2);
}

TEST_F(Compare, ARunThatFailsIsNamedWithItsFailure) {
  std::string text = copy(true);
  const size_t init = text.find(", init:");
  text.erase(init, text.find("}}}", init) + 2 - init);
  const std::string poisoned = write("poisoned.yaml", text);
  const ProcessResult result = rngdsim({"compare", rows_, poisoned});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err,
              HasSubstr("error: poisoned (" + poisoned + "): poison: main_fetch, cycle "));
  EXPECT_THAT(result.err, HasSubstr("hint: rngdsim run " + poisoned + " shows the whole report"));
  EXPECT_THAT(result.err, Not(HasSubstr("rows (")));
}

// halves takes longer: it has more accesses.
TEST_F(Compare, MaxCyclesIsALimitOfEachKernel) {
  const std::string limit = std::to_string(cycles(halves_) - 1);
  ASSERT_LT(cycles(rows_), cycles(halves_) - 1);
  const ProcessResult result = rngdsim({"compare", rows_, halves_, "--max-cycles", limit});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err,
              HasSubstr("halves (" + halves_ + "): --max-cycles reached at " + limit + " cycles"));
  EXPECT_THAT(result.err, Not(HasSubstr("rows (")));
}

TEST_F(Compare, TimingOnlySaysThatNothingIsProved) {
  const std::string twice = write("twice.yaml", copy(false, "2"));
  const ProcessResult result = rngdsim({"compare", rows_, twice, "--timing-only"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("not proved to compute the same: "));
  const auto json = nlohmann::json::parse(
      rngdsim(with_format({"compare", rows_, twice, "--timing-only"}, "json")).out);
  EXPECT_EQ(json["equal"]["proved"], false);
}

TEST_F(Compare, OptionsOfTheMachineArePassedOn) {
  const auto json = nlohmann::json::parse(
      rngdsim(
          with_format({"compare", halves_, rows_, "--set", "machine.command_overhead=0"}, "json"))
          .out);
  EXPECT_EQ(json["kernels"][0]["bound"]["cycles"], 16);
  EXPECT_EQ(json["topology"]["set"][0], "machine.command_overhead=0");
}

TEST_F(Compare, InitialValuesThatCannotBeMadeAreBadInput) {
  std::string text = copy(false);
  const size_t init = text.find("{iota");
  text.replace(init, text.find("}}", init) + 2 - init, "{npy: nowhere.npy}");
  const std::string kernel = write("npy.yaml", text);
  const ProcessResult result = rngdsim({"compare", rows_, kernel});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr(kernel + ":4:"));
  EXPECT_THAT(result.err, HasSubstr("nowhere.npy"));
}

TEST_F(Compare, CtrlCEndsAllProcesses) {
  const std::string text = long_copy(65536, 40);
  const std::string a = write("a.yaml", text), b = write("b.yaml", text);
  ProcessOptions options;
  options.interrupt_after_seconds = 2;
  options.timeout_seconds = 60;
  const ProcessResult result = rngdsim({"compare", a, b, "--timing-only"}, options);
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("stopped before all kernels have ended"));
}

// The same product with another axis in Time each: sums in another order, results in sinks.
TEST_F(Compare, ShippedMappingsComputeTheSame) {
  const std::string kernels = RNGDSIM_SOURCE_DIR "/configs/kernels/bmatmul_";
  const ProcessResult result = rngdsim({"compare", kernels + "k_in_time.yaml",
                                        kernels + "m_in_time.yaml", kernels + "v_in_time.yaml"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("all compute the same sink[V,M,N] (8,192 elements, "));
}

// One product in twelve mappings: all equal, ranked by cycles (tests/golden derives these), the
// best close to its bound.
TEST_F(Compare, ShippedMappingsOfOneGemmAreRanked) {
  std::vector<std::string> arguments = {"compare", "--format", "json"};
  for (const auto& entry :
       std::filesystem::directory_iterator(RNGDSIM_SOURCE_DIR "/configs/kernels/gemm_mappings")) {
    arguments.push_back(entry.path().string());
  }
  ASSERT_GE(arguments.size(), 3u + 6);
  const ProcessResult result = rngdsim(arguments);
  ASSERT_EQ(result.status, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["equal"]["results"][0]["elements"], 512 * 512);
  const auto& kernels = json["kernels"];
  ASSERT_EQ(kernels.size(), arguments.size() - 3);
  EXPECT_EQ(kernels.front()["name"], "two_clusters");
  EXPECT_EQ(kernels.back()["name"], "k_in_time");
  for (size_t i = 1; i < kernels.size(); ++i) {
    EXPECT_LE(kernels[i - 1]["cycles"], kernels[i]["cycles"]);
  }
  EXPECT_LE(kernels.front()["cycles_per_bound"].get<double>(), 1.10);
}

}  // namespace
}  // namespace rngdsim
