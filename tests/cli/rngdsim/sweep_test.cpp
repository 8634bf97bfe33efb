// SPDX-License-Identifier: Apache-2.0
// sweep: all points of a kernel file, the illegal ones explained; --param of the other commands.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/rngdsim/process.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// y[N,M] = x[N,M] with WIDTH elements of 2 B a packet, in two orders: 16 reads of 32 B, 32 of 16 B,
// 64 of 8 B. Of 2 elements, 4 B, Collect makes no flit: a packet is a multiple of 8 B.
constexpr char kSwept[] = R"(kernel: swept
axes: {N: 16, M: 16}
sweep:
  parameters:
    WIDTH: [2, 4, 8, 16]
    TIME: ["N, M / {WIDTH}", "M / {WIDTH}, N"]
  constraints: ["{WIDTH} * 2 != 8"]
tensors:
  x: {memory: dm, dtype: i16, slice: "1 # 256", element: "N, M", init: {iota: {}}}
program:
  - main:
      from: x
      stages:
        - fetch:       {time: "{TIME}", packet: "M % {WIDTH}"}
        - collect:     {}
        - commit_trim: {packet: "M % {WIDTH}"}
        - commit:      {to: y, element: "N, M"}
)";

class Sweep : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    kernel_ = write("swept.yaml", kSwept);
  }

  std::string with(const std::string& from, const std::string& to) const {
    std::string text = kSwept;
    text.replace(text.find(from), from.size(), to);
    return write("changed.yaml", text);
  }

  static std::vector<std::string> names_of(const nlohmann::json& json) {
    std::vector<std::string> names;
    for (const auto& kernel : json["kernels"]) names.push_back(kernel["name"]);
    return names;
  }

  std::string kernel_;
};

// Of 4 x 2 points, WIDTH=4 is excluded and WIDTH=2 illegal, in both orders.
TEST_F(Sweep, RunsTheLegalPointsFastestFirst) {
  const ProcessResult result = rngdsim({"sweep", kernel_, "--format", "json"});
  EXPECT_EQ(result.status, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_THAT(names_of(json), ElementsAre("WIDTH=16,TIME=1", "WIDTH=16,TIME=2", "WIDTH=8,TIME=1",
                                          "WIDTH=8,TIME=2"));
  EXPECT_EQ(json["kernels"][3]["parameters"]["WIDTH"], "8");
  EXPECT_EQ(json["kernels"][3]["parameters"]["TIME"], "M / {WIDTH}, N");
  EXPECT_EQ(json["kernels"][0]["bound"]["cycles"], 263 + 16);
  EXPECT_EQ(json["kernels"][3]["bound"]["cycles"], 263 + 32);
  EXPECT_EQ(json["equal"]["proved"], true);
  const auto& sweep = json["sweeps"][0];
  EXPECT_EQ(sweep["points"], 8);
  EXPECT_EQ(sweep["excluded"], 2);
  EXPECT_EQ(sweep["illegal"], 2);
  // One rule for both, at the stage.
  ASSERT_EQ(sweep["rules"].size(), 1U);
  EXPECT_EQ(sweep["rules"][0]["line"], 15);
  EXPECT_THAT(sweep["rules"][0]["points"].get<std::vector<std::string>>(),
              ElementsAre("WIDTH=2,TIME=1", "WIDTH=2,TIME=2"));
}

TEST_F(Sweep, TextExplainsTheIllegalPoints) {
  const ProcessResult result = rngdsim({"sweep", kernel_});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("all compute the same y[N,M] (256 elements, equal bit for "
                                     "bit)\n"));
  EXPECT_THAT(result.out, HasSubstr("swept.yaml: 8 points; 2 excluded by constraints, 2 illegal\n"
                                    "  TIME=1: N, M / {WIDTH}\n"
                                    "  TIME=2: M / {WIDTH}, N\n"
                                    "  illegal: WIDTH=2,TIME=1, WIDTH=2,TIME=2\n"
                                    "    "));
  EXPECT_THAT(result.out, HasSubstr("swept.yaml:15:"));
  for (const std::string& line : lines_of(result.out)) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_EQ(result.out, rngdsim({"sweep", kernel_, "--jobs", "1"}).out);
}

TEST_F(Sweep, TopShowsSoMany) {
  const auto json =
      nlohmann::json::parse(rngdsim({"sweep", kernel_, "--top", "3", "--format", "json"}).out);
  EXPECT_EQ(json["kernels"].size(), 3U);
  EXPECT_EQ(json["left_out"], 1);
  EXPECT_THAT(rngdsim({"sweep", kernel_, "--top", "3"}).out,
              HasSubstr("1 slower kernel not shown"));
  EXPECT_EQ(rngdsim({"sweep", kernel_, "--top", "0"}).status, 2);
}

TEST_F(Sweep, CompareExpandsIt) {
  const std::string other = write("other.yaml", kSwept);
  const ProcessResult result = rngdsim({"compare", kernel_, other, "--format", "csv"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(lines_of(result.out).size(), 9U);
  EXPECT_THAT(result.out, HasSubstr("\n\"other[WIDTH=16,TIME=1]\"," + other +
                                    ",\"WIDTH=16; TIME=N, M / {WIDTH}\","));
  EXPECT_THAT(result.out, HasSubstr("\n\"swept[WIDTH=8,TIME=2]\","));
}

// Two legal points that read different values.
TEST_F(Sweep, PointsThatDoNotComputeTheSameAreRefused) {
  const std::string kernel = with("{iota: {}}", "{iota: {step: \"{WIDTH}\"}}");
  const ProcessResult result = rngdsim({"sweep", kernel});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("these kernels do not compute the same: y at N=0 M=1: 8 in "
                                    "WIDTH=8,TIME=1"));
}

TEST_F(Sweep, NoLegalPointIsBadInput) {
  const ProcessResult same = rngdsim({"sweep", with("[2, 4, 8, 16]", "[2]")});
  EXPECT_EQ(same.status, 2);
  EXPECT_EQ(same.out, "");
  // Broken at all points alike: as for a file without a sweep.
  EXPECT_THAT(same.err, HasSubstr("changed.yaml:15:"));
  EXPECT_THAT(same.err, HasSubstr("\n1 error, 1 warning\n"));
  const ProcessResult different = rngdsim({"sweep", with("[2, 4, 8, 16]", "[1, 2]")});
  EXPECT_EQ(different.status, 2);
  EXPECT_THAT(different.err,
              HasSubstr("no point of the sweep is legal: 4 of 4 illegal, 0 excluded"));
  const ProcessResult excluded = rngdsim({"sweep", with("[2, 4, 8, 16]", "[4]")});
  EXPECT_EQ(excluded.status, 2);
  EXPECT_THAT(excluded.err, HasSubstr("the constraints exclude all 2 points of the sweep"));
}

TEST_F(Sweep, AFaultySectionIsToldWithItsPlaces) {
  const ProcessResult result = rngdsim({"sweep", with("!= 8", "!= 8 8")});
  EXPECT_EQ(result.status, 2);
  // `  constraints: ["` are 17 columns, `{WIDTH} * 2 != 8 ` as many.
  EXPECT_THAT(result.err, HasSubstr("changed.yaml:7:35: error: unexpected '8' after"));
}

TEST_F(Sweep, AFileWithoutOneIsBadInput) {
  const ProcessResult result = rngdsim({"sweep", write("copy.yaml", kCopy)});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("copy.yaml:1:1: error: there is no 'sweep:' section"));
}

TEST_F(Sweep, OtherCommandsTakeTheFirstValuesOrThoseOfParam) {
  // The first WIDTH is illegal.
  EXPECT_EQ(rngdsim({"check", kernel_}).status, 2);
  const ProcessResult result =
      rngdsim({"run", kernel_, "--param", "WIDTH=8", "--param", "TIME=2", "--format", "json"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["bound"]["cycles"], 263 + 32);
  EXPECT_EQ(rngdsim({"explain", kernel_, "--param", "WIDTH=16"}).status, 0);
  const ProcessResult wrong = rngdsim({"run", kernel_, "--param", "WIDTH=5"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("'5' is no value of WIDTH"));
  EXPECT_THAT(wrong.err, HasSubstr("there are 2, 4, 8, 16"));
  const ProcessResult excluded = rngdsim({"run", kernel_, "--param", "WIDTH=4"});
  EXPECT_EQ(excluded.status, 2);
  EXPECT_THAT(excluded.err, HasSubstr(":7:18: error: the constraint does not hold with "
                                      "WIDTH=4,TIME=1: 8 != 8"));
}

// 3 x 3 x 2 x 4 x 2 combinations. BLOCK and BLOCKS must give 32 columns, LANES and GROUPS the
// block: (32, 1), (16, 2), (8, 4) with two ways each, in two orders. Of these 12 one keeps 32 rows
// x 8 groups in 128 slots.
TEST_F(Sweep, TheShippedOneRanksBlocksAndExplainsTheIllegalOne) {
  const std::string kernel = RNGDSIM_SOURCE_DIR "/configs/kernels/gemm_sweep.yaml";
  const ProcessResult result = rngdsim({"sweep", kernel, "--top", "20", "--format", "json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["kernels"].size(), 11u);
  const auto& sweep = json["sweeps"][0];
  EXPECT_EQ(sweep["points"], 144);
  EXPECT_EQ(sweep["excluded"], 132);
  EXPECT_EQ(sweep["illegal"], 1);
  EXPECT_THAT(result.out, HasSubstr("the accumulator needs 256 slots"));
  // Whoever walks all rows before the next K lets the next block be loaded meanwhile.
  EXPECT_EQ(json["kernels"][0]["parameters"]["ORDER"], "K / 32, I % 32");
  EXPECT_EQ(json["kernels"][0]["parameters"]["BLOCKS"], "2");
}

}  // namespace
}  // namespace rngdsim
