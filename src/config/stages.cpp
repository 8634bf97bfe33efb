// SPDX-License-Identifier: Apache-2.0
#include "config/stages.h"

namespace rngdsim {
namespace {

constexpr bool kMainOnly = false;

// The keys of a stage whose ALUs take operands.
std::vector<KeyRule> arithmetic(std::vector<KeyRule> keys = {{"op", kRequired}}) {
  for (const char* key : {"operand", "mode", "group0", "group1", "zip"}) keys.push_back({key});
  return keys;
}

// A key is optional where the stage cannot change it or it follows from the others.
std::vector<StageRule> make_rules() {
  return {
      {"fetch", {{"time", kRequired}, {"packet", kRequired}}},
      {"fetch_table_lookup", {{"dtype", kRequired}}, kMainOnly},
      {"fetch_cast", {{"dtype", kRequired}}},
      {"fetch_zero_point_sub", {{"zero_point", kRequired}}},
      {"switch",
       {{"kind", kRequired},
        {"slice1"},
        {"slice0"},
        {"time0"},
        {"ring_size"},
        {"slice"},
        {"time"}}},
      {"collect", {{"time", kOptional}, {"packet", kOptional}}},
      {"to_trf",
       {{"to", kRequired}, {"lane", kRequired}, {"element", kRequired}, {"region", kOptional}}},
      {"to_vrf", {{"to", kRequired}, {"element", kRequired}}},
      {"contract_outer",
       {{"with", kRequired}, {"time", kRequired}, {"packet", kRequired}},
       kMainOnly},
      {"contract_packet", {{"packet", kRequired}}, kMainOnly},
      {"contract_time", {{"time", kRequired}}, kMainOnly},
      {"contract_lane",
       {{"mode", kRequired}, {"time", kOptional}, {"packet", kOptional}},
       kMainOnly},
      {"vector_tag", {{"mode", kRequired}}},
      {"vector_unzip", {{"axis", kRequired}, {"slice"}, {"time"}}},
      {"vector_logic", arithmetic()},
      {"vector_fxp", arithmetic()},
      {"vector_fxp_to_fp", {{"int_width", kRequired}}},
      {"vector_narrow_split", {{"time", kOptional}, {"packet", kOptional}}},
      {"vector_narrow_trim", {{"packet", kRequired}}},
      {"vector_fp", arithmetic({{"op", kRequired}, {"operand1"}, {"alu"}, {"guard"}})},
      {"vector_intra_slice_reduce",
       {{"label", kRequired}, {"op", kRequired}, {"track"}, {"time"}, {"packet"}}},
      {"vector_fp_div", {{"op"}, {"operand"}, {"mode"}, {"group0"}, {"group1"}}},
      {"vector_widen_concat", {{"time", kOptional}, {"packet", kOptional}}},
      {"vector_widen_pad", {{"packet", kOptional}}},
      {"vector_fp_to_fxp", {{"int_width", kRequired}}},
      {"vector_clip", arithmetic()},
      {"vector_filter", {{"guard", kRequired}}},
      {"vector_stash", {}},
      {"vector_reinterpret", {{"dtype", kRequired}}},
      {"vector_inter_slice_reduce", {{"op", kRequired}, {"slice", kRequired}, {"time"}}},
      {"cast", {{"dtype", kRequired}, {"packet", kOptional}}},
      {"transpose", {{"time", kRequired}, {"packet", kRequired}}},
      {"commit_trim", {{"packet", kRequired}}},
      {"commit_cast", {{"dtype", kRequired}, {"relu", kOptional}}, kMainOnly},
      {"commit", {{"to", kRequired}, {"element"}, {"view"}}},
  };
}

}  // namespace

const std::vector<StageRule>& stage_rules() {
  static const std::vector<StageRule> kRules = make_rules();
  return kRules;
}

}  // namespace rngdsim
