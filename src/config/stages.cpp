// SPDX-License-Identifier: Apache-2.0
#include "config/stages.h"

namespace rngdsim {
namespace {

constexpr bool kMainOnly = false;

StageRule not_yet(std::string name, bool in_sub = true) {
  return {std::move(name), {}, in_sub, kNotYet};
}

// A key is optional where the stage cannot change it or it follows from the others.
std::vector<StageRule> make_rules() {
  return {
      {"fetch", {{"time", kRequired}, {"packet", kRequired}}},
      not_yet("fetch_table_lookup", kMainOnly),
      {"fetch_cast", {{"dtype", kRequired}}},
      {"fetch_zero_point_sub", {{"zero_point", kRequired}}},
      not_yet("switch"),
      {"collect", {{"time", kOptional}, {"packet", kOptional}}},
      {"to_trf",
       {{"to", kRequired}, {"lane", kRequired}, {"element", kRequired}, {"region", kOptional}}},
      not_yet("to_vrf"),
      {"contract_outer",
       {{"with", kRequired}, {"time", kRequired}, {"packet", kRequired}},
       kMainOnly},
      {"contract_packet", {{"packet", kRequired}}, kMainOnly},
      {"contract_time", {{"time", kRequired}}, kMainOnly},
      {"contract_lane",
       {{"mode", kRequired}, {"time", kOptional}, {"packet", kOptional}},
       kMainOnly},
      {"vector_tag", {{"mode", kRequired}}},
      not_yet("vector_unzip"),
      not_yet("vector_logic"),
      not_yet("vector_fxp"),
      not_yet("vector_fxp_to_fp"),
      {"vector_narrow_split", {{"time", kOptional}, {"packet", kOptional}}},
      {"vector_narrow_trim", {{"packet", kRequired}}},
      not_yet("vector_fp"),
      {"vector_intra_slice_reduce",
       {{"label", kRequired}, {"op", kRequired}, {"track"}, {"time"}, {"packet"}}},
      not_yet("vector_fp_div"),
      {"vector_widen_concat", {{"time", kOptional}, {"packet", kOptional}}},
      {"vector_widen_pad", {{"packet", kOptional}}},
      not_yet("vector_fp_to_fxp"),
      not_yet("vector_clip"),
      not_yet("vector_filter"),
      not_yet("vector_stash"),
      not_yet("vector_reinterpret"),
      not_yet("vector_inter_slice_reduce"),
      {"cast", {{"dtype", kRequired}, {"packet", kOptional}}},
      not_yet("transpose"),
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
