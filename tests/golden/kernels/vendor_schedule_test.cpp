// SPDX-License-Identifier: Apache-2.0
// Schedules of the vendor's viewer: written with every key and type, read back, and explained.
#include "report/vendor_schedule.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/golden/kernels/shipped_kernel.h"

namespace rngdsim {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::ordered_json;

Json schedule_of(const std::string& kernel) {
  const Loaded loaded = load(kernel);
  return schedule_json(run(loaded, false), loaded.program);
}

std::vector<std::string> keys_of(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

TEST(VendorSchedule, HasEveryKeyAndType) {
  const Json json = schedule_of("mnist");
  EXPECT_EQ(keys_of(json), (std::vector<std::string>{"title", "total_memory", "page_size",
                                                     "instructions", "tensors"}));
  EXPECT_EQ(json["title"], "mnist");
  EXPECT_EQ(json["total_memory"], 268435456);
  EXPECT_EQ(json["page_size"], 16777216);
  ASSERT_EQ(json["instructions"].size(), 16u);
  for (const Json& instruction : json["instructions"]) {
    EXPECT_EQ(keys_of(instruction),
              (std::vector<std::string>{"index", "history", "tpe", "contexts", "lifetime",
                                        "input_tensors", "output_tensors", "description", "util"}));
    EXPECT_TRUE(instruction["index"].is_string());
    EXPECT_TRUE(instruction["history"].is_object() && instruction["history"].empty());
    EXPECT_TRUE(instruction["input_tensors"].is_array());
    EXPECT_EQ(keys_of(instruction["lifetime"]), (std::vector<std::string>{"begin", "end"}));
    EXPECT_EQ(keys_of(instruction["util"]),
              (std::vector<std::string>{"total_util", "base_util", "efficiency"}));
    EXPECT_EQ(instruction["description"].get<std::string>().rfind("--> ", 0), 0u);
    EXPECT_THAT(instruction["description"].get<std::string>(), HasSubstr("mnist.yaml:"));
  }
  ASSERT_FALSE(json["tensors"].empty());
  for (const Json& tensor : json["tensors"]) {
    EXPECT_EQ(keys_of(tensor),
              (std::vector<std::string>{"name", "index", "buffer_type", "lifetime", "address",
                                        "size", "physical_pages", "shape", "fingerprint"}));
    EXPECT_TRUE(tensor["index"].is_string());
    EXPECT_EQ(keys_of(tensor["lifetime"]),
              (std::vector<std::string>{"begin", "end", "block_begin", "block_end"}));
    EXPECT_TRUE(tensor["fingerprint"].is_null());
    EXPECT_EQ(tensor["address"].get<uint64_t>() % 512, 0u);
  }
}

// The types of instructions, by kernels that have them; the Vector Engine beside its context.
TEST(VendorSchedule, NamesTheTypes) {
  const auto types = [](const std::string& kernel) {
    std::vector<std::string> types;
    const Json schedule = schedule_of(kernel);
    for (const Json& instruction : schedule["instructions"]) {
      types.push_back(instruction["tpe"]);
    }
    return types;
  };
  using Types = std::vector<std::string>;
  EXPECT_EQ(types("gemm_hbm"), (Types{"DmaLoad", "DmaLoad", "Sub", "Main", "DmaStore"}));
  EXPECT_THAT(types("cluster_shuffle"), testing::Contains("DmaStos"));
  EXPECT_THAT(types("gather_rows"), testing::Contains("DmaGather"));
  EXPECT_THAT(types("scatter_rows"), testing::Contains("DmaScatter"));
  EXPECT_EQ(schedule_of("relu")["instructions"].back()["contexts"],
            (Json{"MainContext", "VectorEngine"}));
}

// w1 of mnist: 800 bf16 at byte 1,664 of a slice; page 0 of 32 KiB. The image in the register file:
// one lane of 1,600 B.
TEST(VendorSchedule, PlacesTensors) {
  std::map<std::string, Json> tensors;
  const Json schedule = schedule_of("mnist");
  for (const Json& tensor : schedule["tensors"]) tensors[tensor["name"]] = tensor;
  EXPECT_EQ(tensors.count("w1"), 0u) << "in HBM";
  const Json& w1 = tensors.at("w1_dm");
  EXPECT_EQ(w1["buffer_type"], "Sram");
  EXPECT_EQ(w1["address"], 1664 * 512);
  EXPECT_EQ(w1["size"], 1600 * 512);
  EXPECT_EQ(w1["physical_pages"], Json::array({0}));
  EXPECT_EQ(w1["shape"], "MappingShape[Chip: 1, Cluster: 1 # 2, Slice: H, Element: X]");
  EXPECT_EQ(tensors.at("image_trf")["buffer_type"], "Trf");
  EXPECT_THAT(tensors.at("image_trf")["shape"].get<std::string>(), HasSubstr("Lane: 1,"));
}

// What is read back is what the run was, in every shipped kernel of several commands.
TEST(VendorSchedule, IsReadBack) {
  for (const char* kernel : {"mnist", "gemm_hbm", "decoder_rope", "softmax", "scatter_rows"}) {
    SCOPED_TRACE(kernel);
    const Loaded loaded = load(kernel);
    const RunResult result = run(loaded, false);
    Diagnostics diagnostics;
    const auto read =
        read_schedule(schedule_json(result, loaded.program).dump(), "s.json", diagnostics);
    ASSERT_TRUE(read) << diagnostics.render();
    EXPECT_EQ(read->makespan(), result.cycles);
    ASSERT_EQ(read->instructions.size(), result.commands.size());
    for (size_t i = 0; i < result.commands.size(); ++i) {
      EXPECT_EQ(read->instructions[i].begin, result.commands[i].begin);
      EXPECT_EQ(read->instructions[i].end, result.commands[i].end);
      EXPECT_EQ(read->instructions[i].context(), result.commands[i].context);
      EXPECT_EQ(read->instructions[i].label, result.commands[i].label);
    }
    EXPECT_EQ(as_report(*read).cycles, result.cycles);
  }
}

// ---- A schedule as the vendor's compiler writes it ----------------------------------------------

Json instruction(const std::string& index, const std::string& context, uint64_t begin, uint64_t end,
                 const std::vector<int>& inputs, const std::vector<int>& outputs,
                 const std::string& text) {
  return {{"index", index},
          {"history", Json::object()},
          {"tpe", "Main"},
          {"contexts", Json::array({context})},
          {"lifetime", {{"begin", begin}, {"end", end}}},
          {"input_tensors", inputs},
          {"output_tensors", outputs},
          {"description", text.empty() ? "" : "--> a.rs:3:5\n\n" + text},
          {"util", Json::object()}};
}

// A load to 400, a product that takes it over at 410, ten cycles late, and a synchronisation.
Json loads_and_multiplies() {
  return {{"title", "small"},
          {"instructions",
           Json::array({instruction("0", "DmaEngine", 100, 400, {7}, {1}, "load"),
                        instruction("1", "MainContext", 410, 900, {1}, {2}, "product"),
                        instruction("ExplicitSync(2)", "PeCore", 900, 1500, {2}, {}, "")})}};
}

TEST(VendorSchedule, IsExplained) {
  Diagnostics diagnostics;
  const auto schedule = read_schedule(loads_and_multiplies().dump(), "s.json", diagnostics);
  ASSERT_TRUE(schedule) << diagnostics.render();
  const std::string text = schedule_text(*schedule);
  EXPECT_THAT(text, HasSubstr("small  makespan 1,500 cycles, 3 instructions"));
  EXPECT_THAT(text, HasSubstr("DmaEngine               1     300       20.0 %"));
  EXPECT_THAT(text, HasSubstr("PeCore                  1     600       40.0 %"));
  // The path, with what is lost before the load and before the product.
  EXPECT_THAT(text, HasSubstr("0 load            -                               100"));
  EXPECT_THAT(text, HasSubstr("1 product         tensor 1 (read after write)      10"));
  EXPECT_THAT(text, HasSubstr("ExplicitSync(2)   tensor 2 (read after write)       -"));
  // The gaps.
  EXPECT_THAT(text, HasSubstr("main       0  410     410   1 product         0 load: tensor 1"));
  EXPECT_THAT(text, HasSubstr("nothing before it"));
}

TEST(VendorSchedule, IsComparedWithARun) {
  Diagnostics diagnostics;
  const auto schedule = read_schedule(loads_and_multiplies().dump(), "s.json", diagnostics);
  ASSERT_TRUE(schedule);
  ReportedRun simulated = as_report(*schedule);
  simulated.file = "r.json";
  simulated.only_times = false;
  simulated.commands[1].end = 950;
  simulated.commands[1].waited_for = "w (read after write)";
  const std::string text = diff_text(as_report(*schedule), simulated);
  EXPECT_THAT(text, HasSubstr("+50"));
  EXPECT_THAT(text, Not(HasSubstr("read after write")));  // a schedule does not tell
}

TEST(VendorSchedule, WhatIsNoneIsRefused) {
  const auto errors = [](const Json& json) {
    Diagnostics diagnostics;
    EXPECT_FALSE(read_schedule(json.dump(), "s.json", diagnostics));
    EXPECT_EQ(diagnostics.error_count(), 1u);
    return diagnostics.render();
  };
  EXPECT_THAT(errors(Json::array()), HasSubstr("no schedule: 'the file' is not an object"));
  EXPECT_THAT(errors(Json::object()), HasSubstr("'instructions' is not a list"));
  Json many = loads_and_multiplies();
  for (int i = 0; i < 9998; ++i) many["instructions"].push_back(many["instructions"][0]);
  EXPECT_THAT(errors(many), HasSubstr("10,001 instructions; at most 10,000"));
  Json json = loads_and_multiplies();
  json["instructions"][1]["lifetime"]["end"] = 3;
  EXPECT_THAT(errors(json), HasSubstr("'end' is not at or behind begin"));
  json["instructions"][1]["lifetime"] = 3;
  EXPECT_THAT(errors(json), HasSubstr("'begin' is not a whole number"));
  json["instructions"][0]["input_tensors"] = Json::array({"x"});
  EXPECT_THAT(errors(json), HasSubstr("'input_tensors' is not a list of whole numbers"));
}

}  // namespace
}  // namespace rngdsim
