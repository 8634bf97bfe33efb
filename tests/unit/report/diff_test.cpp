// SPDX-License-Identifier: Apache-2.0
// Two reports side by side: which commands belong together, and what is said of them.
#include "report/diff.h"

#include <gmock/gmock.h>

#include <initializer_list>
#include <string>

namespace rngdsim {
namespace {

using testing::HasSubstr;
using testing::Not;

using Json = nlohmann::ordered_json;

Json command(uint64_t index, const char* context, const char* label, uint64_t begin, uint64_t end) {
  return {{"index", index}, {"context", context}, {"label", label},
          {"begin", begin}, {"end", end},         {"waited_for", nullptr}};
}

// Braces around a single object are that object.
Json list(std::initializer_list<Json> items) {
  Json json = Json::array();
  for (const Json& item : items) json.push_back(item);
  return json;
}

Json report(uint64_t cycles, const Json& commands, const Json& tensors = Json::array()) {
  return {{"kernel", {{"name", "k"}, {"sha256", "1"}}},
          {"topology", {{"sha256", "2"}, {"set", Json::array()}}},
          {"cycles", cycles},
          {"commands", commands},
          {"tensors", tensors}};
}

ReportedRun read(const Json& json) {
  Diagnostics diagnostics;
  const auto run = read_report(json.dump(), "r.json", diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  return run.value_or(ReportedRun());
}

// Two loads of one name: the first goes with the first, though something is in front of it now.
TEST(Diff, CommandsOfOneNameGoInTheirOrder) {
  const ReportedRun a =
      read(report(300, {command(0, "sub", "load", 0, 100), command(1, "sub", "load", 100, 250),
                        command(2, "main", "load", 250, 300)}));
  const ReportedRun b =
      read(report(350, {command(0, "sub", "new", 0, 50), command(1, "sub", "load", 50, 150),
                        command(2, "sub", "load", 150, 320)}));
  const Json json = diff_json(a, b);
  ASSERT_EQ(json["commands"].size(), 4u);
  EXPECT_EQ(json["commands"][0]["a"]["index"], 0);
  EXPECT_EQ(json["commands"][0]["b"]["index"], 1);
  EXPECT_EQ(json["commands"][1]["b"]["cycles"], 170);
  EXPECT_TRUE(json["commands"][2]["b"].is_null());  // of another context
  EXPECT_TRUE(json["commands"][3]["a"].is_null());
  EXPECT_EQ(json["commands"][3]["label"], "new");
  const std::string text = diff_text(a, b);
  EXPECT_THAT(text, HasSubstr("300 -> 350 cycles, 50 more (16.7 %)"));
  EXPECT_THAT(text, HasSubstr("only A"));
  EXPECT_THAT(text, HasSubstr("only B"));
  EXPECT_THAT(text, HasSubstr("+20"));  // of the second load
}

TEST(Diff, WhatIsEqualIsNotShown) {
  const ReportedRun run = read(report(100, list({command(0, "sub", "load", 0, 100)})));
  EXPECT_THAT(diff_text(run, run), HasSubstr("no command, wait or place differs"));
  EXPECT_THAT(diff_text(run, run), Not(HasSubstr("load")));
}

TEST(Diff, NewWaitsAndMovedTensorsAreToldApart) {
  Json waits = command(0, "main", "product", 50, 100);
  waits["waited_for"] = {
      {"kind", "read after write"}, {"what", "w"}, {"command", 1}, {"cycle", 50}};
  const auto tensor = [](uint64_t version, uint64_t begin) {
    return Json{{"name", "w"},     {"version", version}, {"memory", "dm"},
                {"unit", "bytes"}, {"begin", begin},     {"end", begin + 64}};
  };
  const ReportedRun a = read(report(100, list({command(0, "main", "product", 50, 100)}),
                                    list({tensor(0, 0), tensor(1, 128)})));
  const ReportedRun b = read(report(100, list({waits}), list({tensor(0, 0), tensor(1, 256)})));
  const std::string text = diff_text(a, b);
  EXPECT_THAT(text, HasSubstr("w (read after write)"));
  EXPECT_THAT(text, HasSubstr("w #1     dm 128 to 191   dm 256 to 319"));
  const Json json = diff_json(a, b);
  ASSERT_EQ(json["moved_tensors"].size(), 1u);
  EXPECT_EQ(json["moved_tensors"][0]["version"], 1);
  EXPECT_TRUE(json["commands"][0]["a"]["waited_for"].is_null());
}

TEST(Diff, OtherKernelsAndMachinesAreNoted) {
  Json other = report(100, Json::array());
  other["topology"]["set"] = list({"hbm.row_open=0"});
  const ReportedRun a = read(report(100, Json::array()));
  EXPECT_THAT(diff_text(a, read(other)), HasSubstr("the machines differ"));
  other["kernel"]["sha256"] = "3";
  EXPECT_THAT(diff_text(a, read(other)), HasSubstr("the kernel file has changed"));
  other["kernel"]["name"] = "l";
  EXPECT_THAT(diff_text(a, read(other)), HasSubstr("the kernels are 'k' and 'l'"));
}

TEST(Diff, WhatIsNoReportIsRefused) {
  const auto errors = [](const std::string& text) {
    Diagnostics diagnostics;
    EXPECT_FALSE(read_report(text, "r.json", diagnostics));
    EXPECT_EQ(diagnostics.error_count(), 1u);
    return diagnostics.render();
  };
  EXPECT_THAT(errors("{"), HasSubstr("no JSON: parse error at line 1, column 2"));
  EXPECT_THAT(errors("[]"), HasSubstr("no report of a run: 'kernel' is not an object"));
  Json json = report(100, list({command(0, "sub", "load", 0, 100)}));
  json["commands"][0]["end"] = -1;
  EXPECT_THAT(errors(json.dump()), HasSubstr("'end' is not a whole number"));
  json["commands"] = 7;
  EXPECT_THAT(errors(json.dump()), HasSubstr("'commands' is not a list"));
  json.erase("cycles");
  EXPECT_THAT(errors(json.dump()), HasSubstr("'cycles' is not a whole number"));
}

}  // namespace
}  // namespace rngdsim
