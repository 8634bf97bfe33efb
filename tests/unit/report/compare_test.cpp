// SPDX-License-Identifier: Apache-2.0
// The forms of a comparison, of two runs that are made up. Ratios are worked out by hand.
#include "report/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/report/sample.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CompareReport : public testing::Test {
 protected:
  CompareReport() {
    RunResult run = sample::gemm_run();
    run.units.push_back(sample::unit("main_collect", "collect", 512, 0, 0, 0, 1566));
    run.units.push_back(sample::unit("sub_collect", "collect", 128, 0, 0, 0, 1566));
    run.bandwidth = {{"dm_read", 0, 0, 0, 0, 20480},
                     {"dm_write", 0, 0, 0, 0, 2048},
                     {"trf_read", 0, 0, 0, 0, 131072},
                     {"trf_write", 0, 0, 0, 0, 4096}};
    add("fast", run);
    run.cycles *= 2;
    add("slow", run);
    comparison_.equal = {{"c_dm", {"I", "J"}, {512, 512}, DType::kBF16}};
    comparison_.order("");
  }

  void add(const std::string& name, const RunResult& run) {
    const Program program = sample::gemm();
    comparison_.kernels.insert(comparison_.kernels.begin(),
                               {name, name + ".yaml", {}, compared_run_json(run, program, {})});
  }

  Comparison comparison_;
};

// 1,566 / 1,550 = 1.01, 3,132 / 1,550 = 2.02. Bytes over cycles: 20,480 / 1,566 = 13.1 and so on.
TEST_F(CompareReport, Text) {
  EXPECT_THAT(
      compare_text(comparison_),
      StartsWith(
          "all compute the same c_dm[I,J] (262,144 elements, equal within the bound of summation "
          "order)\n"
          "topology rngd, 1.0 GHz\n"
          "\n"
          "  kernel  cycles  vs best  MAC use   bound by    bound  cycles / bound\n"
          "  fast     1,566    1.00x   50.0 %   main fetch  1,550            1.01\n"
          "  slow     3,132    2.00x   50.0 %   main fetch  1,550            2.02\n"
          "  MAC use: useful products, of the peak of the clusters in use from the first to the "
          "last packet;\n"
          "  bound: the least cycles that the commands can take, overhead included\n"
          "\n"
          "  work  MACs useful  MACs issued   useful  flits\n"
          "  fast   16,777,216   16,777,216  100.0 %    640\n"
          "  slow   16,777,216   16,777,216  100.0 %    640\n"
          "  MACs are of the whole chip, flits those of one slice that left Collect\n"
          "\n"
          "  bytes a slice  DM read  B/cycle  DM write  B/cycle  TRF read  B/cycle  TRF write  "
          "B/cycle\n"
          "  fast            20,480     13.1     2,048      1.3   131,072     83.7      4,096      "
          "2.6\n"
          "  slow            20,480      6.5     2,048      0.7   131,072     41.8      4,096      "
          "1.3\n"
          "  bytes and B/cycle are of one slice, over all cycles of the run\n"
          "\n"
          "  waits  busiest unit  busy  of active   longest waits, and whom they are blamed on\n"
          "  fast   main_fetch     512    100.0 %   multiplier starved 255 (stream_adapter 255: "
          "two "
          "flits a\n"
          "                                         packet)\n"));
}

TEST_F(CompareReport, HintsSayForWhom) {
  const std::string text = compare_text(comparison_);
  EXPECT_THAT(text, HasSubstr("\n  hint: fast: command 1 waited 777 cycles, 49.6 % of the run"));
  EXPECT_THAT(text, HasSubstr("\n  hint: slow: command 1 waited 777 cycles, 24.8 % of the run"));
}

TEST_F(CompareReport, ANamedBaselineIsInTheHeading) {
  comparison_.order("slow");
  const std::string text = compare_text(comparison_);
  EXPECT_THAT(text, HasSubstr("  kernel  cycles  vs slow "));
  EXPECT_THAT(text, HasSubstr("  fast     1,566    0.50x "));
  EXPECT_THAT(text, HasSubstr("; baseline slow\n"));
  EXPECT_EQ(compare_json(comparison_)["baseline"], "slow");
}

TEST_F(CompareReport, EqualCyclesAreInTheOrderOfTheNames) {
  comparison_.kernels[1].run["cycles"] = 1566;
  comparison_.kernels[1].name = "able";
  comparison_.order("");
  EXPECT_EQ(comparison_.kernels[0].name, "able");
}

TEST_F(CompareReport, OnlyTheFastestAndTheBaselineAreKept) {
  add("slower", sample::gemm_run());
  comparison_.kernels[0].run["cycles"] = 9999;
  comparison_.order("");
  comparison_.keep_fastest(1);
  ASSERT_EQ(comparison_.kernels.size(), 1U);
  EXPECT_EQ(comparison_.left_out, 2U);
  EXPECT_THAT(compare_text(comparison_), HasSubstr("; 2 slower kernels not shown\n"));
}

// The end of a name tells one point of a sweep from another.
TEST_F(CompareReport, LongNamesKeepTheirEnds) {
  comparison_.kernels[0].name = std::string(120, 'x') + "[TILE=8]";
  for (const std::string& line : sample::lines_of(compare_text(comparison_))) {
    EXPECT_LE(line.size(), 100U) << line;
  }
  EXPECT_THAT(compare_text(comparison_), HasSubstr("\n  ...xxx"));
  EXPECT_THAT(compare_text(comparison_), HasSubstr("xxx[TILE=8] "));
}

// Points with long names get numbers, by rank, and a table of what they are; mappings by number.
TEST_F(CompareReport, PointsWithLongNamesAreNumbered) {
  comparison_.kernels[0].name = "BLOCK=16,BLOCKS=2,LANES=8,ORDER=2";
  comparison_.kernels[0].parameters = {
      {"BLOCK", "16"}, {"BLOCKS", "2"}, {"LANES", "8"}, {"ORDER", "K / 32, I % 32"}};
  comparison_.kernels[1].name = "BLOCK=32,BLOCKS=1,LANES=4,ORDER=1";
  comparison_.kernels[1].parameters = {
      {"BLOCK", "32"}, {"BLOCKS", "1"}, {"LANES", "4"}, {"ORDER", "I % 32, K / 32"}};
  const std::string text = compare_text(comparison_);
  EXPECT_THAT(text, HasSubstr("\n  point  BLOCK  BLOCKS  LANES  ORDER\n"
                              "  #1        16       2      8      2\n"
                              "  #2        32       1      4      1\n"
                              "\n  kernel  cycles  vs best "));
  EXPECT_THAT(text, HasSubstr("\n  #1       1,566    1.00x "));
  EXPECT_THAT(text, HasSubstr("\n  hint: #1: "));
  // A short name says it all.
  comparison_.kernels[0].name = "BLOCK=16";
  comparison_.kernels[1].name = "BLOCK=32";
  EXPECT_THAT(compare_text(comparison_), Not(HasSubstr("point")));
}

TEST_F(CompareReport, CsvQuotesWhatNeedsIt) {
  comparison_.kernels[0].name = "a[T=8,\"U\"=1]";
  comparison_.kernels[0].parameters = {{"T", "8"}, {"U", "I, J"}};
  const auto lines = sample::lines_of(compare_csv(comparison_));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[1], StartsWith("\"a[T=8,\"\"U\"\"=1]\",fast.yaml,\"T=8; U=I, J\",1566,1.0,"));
  EXPECT_THAT(lines[2], StartsWith("slow,slow.yaml,,3132,2.0,"));
}

TEST_F(CompareReport, MarkdownEscapesItsOwnSigns) {
  const std::string text = compare_markdown(comparison_);
  EXPECT_THAT(text, HasSubstr("| fast | 1,566 | 1.00x | 50.0 % | main fetch | 1,550 | 1.01 |\n"));
  EXPECT_THAT(text, HasSubstr("c\\_dm\\[I,J] (262,144 elements"));
}

TEST_F(CompareReport, IntegersAreEqualBitForBit) {
  comparison_.equal->front().dtype = DType::kI8;
  EXPECT_THAT(compare_text(comparison_), HasSubstr("(262,144 elements, equal bit for bit)"));
  EXPECT_EQ(compare_json(comparison_)["equal"]["results"][0]["within"], "nothing");
}

TEST_F(CompareReport, SweepsTellTheirPointsAndWhyTheOthersAreIllegal) {
  SweepSummary sweep;
  sweep.file = "s.yaml";
  sweep.points = 8;
  sweep.excluded = 1;
  sweep.illegal = 5;
  sweep.legend = {{"ORDER=1", "I, J"}};
  sweep.rules = {{{"T=1", "T=2", "T=3", "T=4", "T=5"},
                  {Severity::kError, {"s.yaml", 7, 3}, "too wide", "make it narrow"}}};
  comparison_.sweeps = {sweep};
  EXPECT_THAT(compare_text(comparison_),
              HasSubstr("\n  s.yaml: 8 points; 1 excluded by constraints, 5 illegal\n"
                        "  ORDER=1: I, J\n"
                        "  illegal: T=1, T=2, T=3, T=4 and 1 more\n"
                        "    s.yaml:7:3: error: too wide\n"
                        "    hint: make it narrow\n"));
  const auto json = compare_json(comparison_)["sweeps"][0];
  EXPECT_EQ(json["points"], 8);
  EXPECT_EQ(json["rules"][0]["points"].size(), 5U);
  EXPECT_EQ(json["rules"][0]["line"], 7);
}

}  // namespace
}  // namespace rngdsim
