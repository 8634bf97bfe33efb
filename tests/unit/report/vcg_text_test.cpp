// SPDX-License-Identifier: Apache-2.0
// The Valid Count Generator as text and JSON. Configurations and the heatmap are typed from the
// vendor's page (docs/vcg.md); only the blanks of the heatmap are ours.
#include "report/vcg_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/support/vcg_fixture.h"

namespace rngdsim {
namespace {

using testing::HasSubstr;

PlacementText three_axes() {
  return {{{"H", 5}, {"C", 5}, {"W", 19}},
          "[H # 8 / 2, C # 8 / 2] # 256",
          "H # 8 % 2, C # 8 % 2, W # 24 / 8",
          "W # 24 % 8",
          {"W", "C", "H"}};
}

// The fields of the page's SliceMajor example, then its heatmap's.
TEST(VcgText, FieldsAsThePagePrintsThem) {
  VcgPlacement placement({{{"R", 11}, {"X", 32}},
                          "R # 16 / 8, X, R # 16 / 4 % 2",
                          "R # 16 % 2, R # 16 / 2 % 2",
                          "1 # 8",
                          {"R"}});
  EXPECT_EQ(vcg_config_text(*placement.lower(), placement.texts.axes),
            "time_filters[0], axis R: TimeFilterConfig {\n"
            "    sequencer:   [R # 16 % 2     -> size 2 : stride 1,\n"
            "                  R # 16 / 2 % 2 -> size 2 : stride 2],\n"
            "    slice_mask:  0b1000001,\n"
            "    slice_thres: 64,\n"
            "    time_thres:  3,\n"
            "    mode:        SliceMajor,\n"
            "}\n"
            "packet_clipper: disabled (axis_size 8, packet_span 8)\n"
            "time_filters[1]: disabled (slice_mask 0, slice_thres 1)\n"
            "time_filters[2]: disabled (slice_mask 0, slice_thres 1)\n");

  VcgPlacement packet(
      {{{"A", 8}, {"R", 10}, {"X", 64}}, "X, A / 2", "R # 16 / 4", "R # 16 % 4 # 8", {"R"}});
  EXPECT_THAT(vcg_config_text(*packet.lower(), packet.texts.axes),
              HasSubstr("packet_clipper, axis R: PacketClipperConfig {\n"
                        "    sequencer:   [R # 16 / 4 -> size 4 : stride 4],\n"
                        "    axis_size:   10,\n"
                        "    packet_span: 4,\n"
                        "}\n"));
}

// Masks are as wide as the widest, as on the page: 0b0011 beside 0b1100, whether the 16 slices are
// the inner ones of 256 or are filled up to them.
TEST(VcgText, MasksAreEquallyWide) {
  PlacementText text = three_axes();
  text.axes.emplace_back("X", 16);
  text.slice = "X, H # 8 / 2, C # 8 / 2";
  VcgPlacement placement(text);
  const std::string fields = vcg_config_text(*placement.lower(), placement.texts.axes);
  EXPECT_THAT(fields, HasSubstr("slice_mask:  0b0011,\n    slice_thres: 2,"));
  EXPECT_THAT(fields, HasSubstr("slice_mask:  0b1100,\n    slice_thres: 8,"));
  VcgPlacement filled(three_axes());
  EXPECT_EQ(filled.lower()->time_filters[1].slice_mask, 0b1100U);
}

TEST(VcgText, HeatmapOfThreeAxes) {
  VcgPlacement placement(three_axes());
  const auto config = placement.lower();
  ASSERT_TRUE(config);
  const std::string rule(82, '-');
  EXPECT_EQ(
      vcg_heatmap_text(*config, placement.in, placement.texts.axes),
      "                     Ho=0       |  Ho=1       |  Ho=2       |  Ho=3\n"
      "                Co:  0  1  2  3 |  0  1  2  3 |  0  1  2  3 |  0  1  2  3\n"
      "     H time filter:  v  v  v  v |  v  v  v  v |  >  >  >  > |  x  x  x  x\n"
      "     C time filter:  v  v  >  x |  v  v  >  x |  v  v  >  x |  v  v  >  x\n" +
          rule +
          "\n"
          " t= 0  Hi=0,Ci=0  W  8  8  8  0 |  8  8  8  0 |  8  8  8  0 |  0  0  0  0  H:v C:v\n"
          " t= 1             |  8  8  8  0 |  8  8  8  0 |  8  8  8  0 |  0  0  0  0\n"
          " t= 2             |  3  3  3  0 |  3  3  3  0 |  3  3  3  0 |  0  0  0  0\n"
          "                                |             |             |\n"
          " t= 3  Hi=0,Ci=1  W  8  8  0  0 |  8  8  0  0 |  8  8  0  0 |  0  0  0  0  H:v C:>\n"
          " t= 4             |  8  8  0  0 |  8  8  0  0 |  8  8  0  0 |  0  0  0  0\n"
          " t= 5             |  3  3  0  0 |  3  3  0  0 |  3  3  0  0 |  0  0  0  0\n"
          "                                |             |             |\n"
          " t= 6  Hi=1,Ci=0  W  8  8  8  0 |  8  8  8  0 |  0  0  0  0 |  0  0  0  0  H:> C:v\n"
          " t= 7             |  8  8  8  0 |  8  8  8  0 |  0  0  0  0 |  0  0  0  0\n"
          " t= 8             |  3  3  3  0 |  3  3  3  0 |  0  0  0  0 |  0  0  0  0\n"
          "                                |             |             |\n"
          " t= 9  Hi=1,Ci=1  W  8  8  0  0 |  8  8  0  0 |  0  0  0  0 |  0  0  0  0  H:> C:>\n"
          " t=10             |  8  8  0  0 |  8  8  0  0 |  0  0  0  0 |  0  0  0  0\n"
          " t=11             |  3  3  0  0 |  3  3  0  0 |  0  0  0  0 |  0  0  0  0\n"
          "\n"
          "Ho = H # 8 / 2 in Slice, Hi = H # 8 % 2 in Time\n"
          "Co = C # 8 / 2 in Slice, Ci = C # 8 % 2 in Time\n"
          "Wo = W # 24 / 8 in Time, Wi = W # 24 % 8 in Packet\n"
          "columns: v below the threshold (all pass), > at it (time decides), x above (none)\n"
          "rows:    v all slices up to the threshold pass, > those below it, x none\n");
}

// docs/vcg.md explains this very figure.
TEST(VcgText, HeatmapIsThatOfTheDocument) {
  std::ifstream file(std::string(RNGDSIM_SOURCE_DIR) + "/docs/vcg.md");
  ASSERT_TRUE(file);
  std::ostringstream document;
  document << file.rdbuf();
  VcgPlacement placement(three_axes());
  const std::string text = vcg_heatmap_text(*placement.lower(), placement.in, placement.texts.axes);
  EXPECT_THAT(document.str(), HasSubstr("```\n" + text.substr(0, text.find("\n\n") + 1) + "```"));
}

// Steps beyond R pass nowhere: x. No part lies in Slice: one column for all slices.
TEST(VcgText, AxisInTimeAlone) {
  VcgPlacement placement({{{"R", 2}, {"X", 256}}, "X", "R # 4", "1 # 8", {"R"}});
  EXPECT_EQ(vcg_heatmap_text(*placement.lower(), placement.in, placement.texts.axes),
            " all slices:\n"
            "--------------------\n"
            " t=0  R=0     8  R:v\n"
            " t=1  R=1     8  R:v\n"
            " t=2  R=2     0  R:x\n"
            " t=3  R=3     0  R:x\n"
            "\n"
            "R = R # 4 in Time\n"
            "columns: v below the threshold (all pass), > at it (time decides), x above (none)\n"
            "rows:    v all slices up to the threshold pass, > those below it, x none\n"
            "a column stands for 256 slices that differ in other axes\n");
}

// 64 slices of R = 100 (two positions each): slices 0 to 49 are full, 50 to 63 empty. Time repeats
// both steps 32 times for A.
TEST(VcgText, EqualNeighboursMergeWhereTheyDoNotFit) {
  VcgPlacement placement(
      {{{"R", 100}, {"A", 64}, {"X", 4}}, "R # 128 / 2, X", "A, R # 128 % 2", "1 # 8", {"R"}});
  const std::string text = vcg_heatmap_text(*placement.lower(), placement.in, placement.texts.axes);
  // The boundary, 100 / 2 = 50, has nothing left: time_thres 0 lets no step pass there, so all 128
  // flits look alike.
  EXPECT_THAT(text, HasSubstr("             Ro:  0-49  50  51-63\n"));
  EXPECT_THAT(text, HasSubstr("R time filter:     v   >      x\n"));
  EXPECT_THAT(text, HasSubstr(" t=0-127  Ri=0-1     8   0      0  R:>\n"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(VcgText, WhatDoesNotFitIsCounted) {
  VcgPlacement placement({{{"R", 2}, {"A", 15}}, "1 # 256", "A, R # 4", "1 # 8", {"R"}});
  const std::string text =
      vcg_heatmap_text(*placement.lower(), placement.in, placement.texts.axes, 10);
  // R = 0, 1 pass and 2, 3 do not: two flits a row, so ten rows are 20 flits.
  EXPECT_THAT(text, HasSubstr("40 flits not shown\n"));
  EXPECT_THAT(text, HasSubstr(" t=18-19  "));
}

// 64 groups of 4 columns: of P the groups 0 to 60, 61 and 62 to 63 look alike, of Q columns 0 to 2.
TEST(VcgText, EqualGroupsMerge) {
  VcgPlacement placement({{{"P", 61}, {"Q", 3}}, "P # 64, Q # 4", "1", "1 # 8", {"P", "Q"}});
  const auto config = placement.lower();
  ASSERT_TRUE(config);
  const std::string text = vcg_heatmap_text(*config, placement.in, placement.texts.axes);
  EXPECT_THAT(text, HasSubstr("  P=0-60 |  P=61   |  P=62-63\n"));
  EXPECT_THAT(text, HasSubstr("Q:  0-2  3 |  0-2  3 |  0-2  3\n"));
  EXPECT_THAT(text, HasSubstr("P time filter:    v  v |    >  > |    x  x\n"));
  // At slice P = 60, Q = 2 there is an element; a part alone in Slice has nothing at its boundary.
  EXPECT_THAT(text, HasSubstr(" t=0               8  0 |    0  0 |    0  0"));
}

// 64 groups of 4 columns. Of R columns 0 to 2 look alike, of Q groups 0 to 2 in each P: more than
// fit, and no further neighbours are equal.
TEST(VcgText, SlicesThatDoNotFitAreCounted) {
  VcgPlacement placement(
      {{{"P", 15}, {"Q", 3}, {"R", 3}}, "P # 16, Q # 4, R # 4", "1", "1 # 8", {"P", "Q", "R"}});
  const auto config = placement.lower();
  ASSERT_TRUE(config);
  const std::string text = vcg_heatmap_text(*config, placement.in, placement.texts.axes);
  EXPECT_THAT(text, HasSubstr("P=0,Q=0-2 |  P=0,Q=3 |  P=1,Q=0-2"));
  EXPECT_THAT(text, HasSubstr(" slices not shown\n"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(VcgJson, HasFieldsAndHeatmap) {
  VcgPlacement placement(three_axes());
  const auto json = vcg_json(*placement.lower(), placement.in, placement.texts.axes, 7);
  EXPECT_EQ(json["packet_clipper"]["axis"], "W");
  EXPECT_EQ(json["packet_clipper"]["axis_size"], 19);
  EXPECT_EQ(json["packet_clipper"]["packet_span"], 8);
  EXPECT_EQ(json["packet_clipper"]["sequencer"][2],
            (nlohmann::ordered_json{{"term", "W # 24 / 8"}, {"size", 3}, {"stride", 8}}));
  EXPECT_EQ(json["time_filters"][0]["axis"], "C");
  EXPECT_EQ(json["time_filters"][0]["slice_mask"], 3);
  EXPECT_EQ(json["time_filters"][0]["slice_thres"], 2);
  EXPECT_EQ(json["time_filters"][0]["time_thres"], 1);
  EXPECT_EQ(json["time_filters"][0]["mode"], "SliceMajor");
  EXPECT_TRUE(json["time_filters"][2]["axis"].is_null());
  EXPECT_EQ(json["parts"][0]["term"], "H # 8 / 2");
  const auto& heatmap = json["heatmap"];
  ASSERT_EQ(heatmap["columns"].size(), 16U);
  EXPECT_EQ(heatmap["columns"][6]["parts"], (nlohmann::ordered_json{{"Ho", 1}, {"Co", 2}}));
  EXPECT_EQ(heatmap["columns"][6]["filters"],
            (nlohmann::ordered_json{{"H", "below"}, {"C", "boundary"}}));
  EXPECT_EQ(heatmap["columns"][6]["first_slice"], 6);
  EXPECT_EQ(heatmap["columns"][6]["slices"], 1);
  EXPECT_EQ(heatmap["flits"], 12);
  ASSERT_EQ(heatmap["rows"].size(), 7U);
  EXPECT_EQ(heatmap["rows"][5]["parts"], (nlohmann::ordered_json{{"Hi", 0}, {"Ci", 1}, {"Wo", 2}}));
  EXPECT_EQ(heatmap["rows"][5]["filters"],
            (nlohmann::ordered_json{{"H", "open"}, {"C", "below_only"}}));
  EXPECT_EQ(heatmap["rows"][5]["valid_size"],
            (nlohmann::ordered_json{3, 3, 0, 0, 3, 3, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace rngdsim
