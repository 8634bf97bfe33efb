// SPDX-License-Identifier: Apache-2.0
// Random vector chains: whatever stages, operations, operands, guards, groups and reductions they
// have, their values are those of the reference and their cycles those of the timing model.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/kernel.h"
#include "config/vector_stages.h"
#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/run.h"
#include "tests/support/random_kernel.h"
#include "tests/support/small_topology.h"

namespace rngdsim {
namespace {

using test::Random;

constexpr uint64_t kChainSlices = 16;

// Draws a chain stage by stage and counts, from what it drew alone, the cycles it takes.
class ChainGenerator {
 public:
  explicit ChainGenerator(uint64_t seed) : random_(seed) {}

  void run() {
    context_ = random_.one_in(3) ? "sub" : "main";
    seen_.insert(context_);
    float_ = random_.one_in(2);
    pair_ = random_.one_in(4);
    p_ = random_.of<uint64_t>({3, 4, 5, 8});
    ratio_ = random_.of<uint64_t>({2, 4, 16});
    t_ = 2 + random_.below(4);  // of one element no axis is left
    entry_float_ = float_;
    arrive();
    const bool alone = !pair_ && random_.one_in(10);
    if (alone || (!pair_ && random_.one_in(6))) inter_first();
    if (!alone) chain();
    if (!alone && exits_ && !has_inter_ && random_.one_in(4)) {
      inter_last();
      reinterpret(3);
    }
    // The Cast Engine passes a flit a cycle, with a cast or without.
    if (random_.one_in(3)) stage("cast", float_ ? "dtype: bf16" : "dtype: i8");
  }

  std::string text() const {
    std::string text = fmt::format("kernel: chain\naxes: {{T: {}, P: {}, I: 2, X: 16, Y: {}}}\n",
                                   t_all_, p_, ratio_);
    if (!tensors_.empty()) text += "tensors:\n" + tensors_;
    const std::string range = entry_float_              ? "low: -4.0, high: 4.0"
                              : random_low_ == "narrow" ? "low: -20, high: 20"
                                                        : "low: -2147483648, high: 2147483647";
    text += fmt::format(
        "program:\n  - {}:\n      stream: {{dtype: {}, slice: \"X\", time: \"{}\", packet: "
        "\"{}\", init: {{random: {{seed: 7, {}}}}}}}\n      stages:\n",
        context_, entry_float_ ? "f32" : "i32", entry_time_, packet_text(), range);
    for (const std::string& stage : stages_) text += "        - " + stage + "\n";
    return text;
  }
  uint64_t cycles() const { return end_; }
  const std::set<std::string>& seen() const { return seen_; }

 private:
  std::string packet_text() const { return test::padded("P", p_, 8); }
  bool open_pair() const { return pair_ && !zipped_; }
  void stage(const std::string& name, const std::string& keys = "") {
    stages_.push_back(name + (keys.empty() ? "" : ": {" + keys + "}"));
    seen_.insert(name);
  }

  // Flits leave the source in 263, 264, ... and are taken by the next unit a cycle later.
  void arrive() {
    t_all_ = t_;
    if (random_.one_in(2)) t_all_ = t_ *= ratio_;  // a promotion may take T % ratio
    entry_time_ = pair_ ? "T, I" : "T";
    random_low_ = random_.one_in(2) ? "narrow" : "wide";
    const uint64_t flits = pair_ ? 2 * t_ : t_;
    for (uint64_t i = 0; i < flits; ++i) at_.push_back(264 + i);
  }

  // --- the inter-slice reducer

  void inter(bool may_promote) {
    has_inter_ = true;
    const std::vector<std::string> ops =
        float_ ? std::vector<std::string>{"add", "max", "min", "mul"}
               : std::vector<std::string>{"add", "add_sat", "max", "min"};
    const std::string op = random_.of(ops);
    const bool promotes = may_promote && t_ % ratio_ == 0 && random_.one_in(2);
    const bool broadcasts = !promotes && random_.one_in(3);
    const std::string outer = ratio_ == kChainSlices ? "" : fmt::format("X / {}, ", ratio_);
    const std::string slot = promotes     ? fmt::format("T % {}", ratio_)
                             : broadcasts ? "Y"
                                          : fmt::format("1 # {}", ratio_);
    slice_ = outer + slot;
    stage("vector_inter_slice_reduce", fmt::format("op: {}, slice: \"{}\"", op, slice_));
    seen_.insert(fmt::format("inter {} {}", op, float_ ? "f32" : "i32"));
    seen_.insert(promotes ? "promotion" : broadcasts ? "broadcast" : "dummy");
    // A result goes (r - 1) hops after the last flit it is of.
    std::vector<uint64_t> out;
    for (uint64_t i = promotes ? ratio_ - 1 : 0; i < at_.size(); i += promotes ? ratio_ : 1) {
      out.push_back(at_[i] + ratio_ - 1);
    }
    at_ = out;
    if (promotes) {
      t_ /= ratio_;
      time_ = fmt::format("T / {}", ratio_);
      promoted_ = true;
    }
  }
  void inter_first() {
    inter(true);
    end_ = at_.back() + 4;  // Cast Engine, Commit Adapter, sink, and the cycle behind
    for (uint64_t& cycle : at_) ++cycle;
  }
  void inter_last() {
    at_ = {end_ - 4 + 1};  // the reducer takes what would have gone to the Cast Engine
    inter(false);
    end_ = at_.back() + 4;
  }

  // --- the chain

  void chain() {
    for (uint64_t& cycle : at_) ++cycle;  // through the Valid Count Generator
    begin();
    elementwise("vector_logic");
    if (!float_) elementwise("vector_fxp");
    if (!float_ && random_.one_in(2)) {
      stage("vector_fxp_to_fp", fmt::format("int_width: {}", random_.of<int>({31, 15, 8, 0})));
      float_ = true;
    }
    exits_ = at_exit_;
    if (random_.one_in(2)) four_way();
    if (float_ && random_.one_in(3)) {
      stage("vector_fp_to_fxp", fmt::format("int_width: {}", random_.of<int>({31, 15, 8, 0})));
      float_ = false;
      exits_ = true;
    }
    if (elementwise("vector_clip")) exits_ = true;
    if (open_pair()) {
      zip("vector_clip", "max", "ClipMax");
      exits_ = true;
    }
    if (!pair_ && !reduced_ && random_.one_in(6)) {
      stage("vector_filter", "guard: " + guard(random_.below(4)));
      exits_ = false;
    }
    finish();
  }

  void begin() {
    if (pair_) return stage("vector_unzip", "axis: I");
    if (!random_.one_in(3)) return stage("vector_tag", "mode: zero");
    tags_ = true;
    const std::string zero = float_ ? "0.5" : "3";
    stage("vector_tag",
          fmt::format("mode: {{comparison: [{{less: 0}}, {{greater: {0}}}, {{less_unsigned: {0}}}, "
                      "{{equal: {0}}}]}}",
                      zero));
  }

  void four_way() {
    const bool trim = p_ <= 4 && !open_pair() && random_.one_in(2);
    stage(trim ? "vector_narrow_trim" : "vector_narrow_split",
          trim ? fmt::format("packet: \"{}\"", test::padded("P", p_, 4)) : "");
    steps_ = trim ? 1 : 2;
    zip_before_narrow_ = zipped_;
    narrow_ = true;
    maybe_stash(false);
    if (float_) elementwise("vector_fp");
    bool packet_gone = false;
    if (!open_pair() && random_.one_in(2)) packet_gone = reduce();
    if (float_ && random_.one_in(3) && !open_pair()) {
      stage("vector_fp_div", fmt::format("operand: {}", number()));
      ++alus_;
    }
    const bool concat = !trim && !packet_gone && (open_pair() || random_.one_in(2));
    stage(concat ? "vector_widen_concat" : "vector_widen_pad");
    exits_ = true;
  }

  // Whether Packet became one element.
  bool reduce() {
    const bool packet = promoted_ || random_.one_in(2);
    const std::vector<std::string> ops = float_ ? std::vector<std::string>{"add", "max", "min"}
                                                : std::vector<std::string>{"add_sat", "max", "min"};
    const std::string op = random_.of(ops);
    stage("vector_intra_slice_reduce", fmt::format("label: {}, op: {}", packet ? "P" : "T", op));
    reduced_ = true;
    ++alus_;
    if (steps_ == 2 && !packet) return false;
    return packet;
  }

  void maybe_stash(bool eight_way) {
    if (pair_ || stashed_ || !random_.one_in(4)) return;
    stage("vector_stash");
    stashed_ = true;
    stash_float_ = float_;
    stash_eight_way_ = eight_way;
    stash_reduced_ = reduced_;
  }

  // The same bits as the other type, once in a while.
  void reinterpret(uint64_t once_in) {
    if (!random_.one_in(once_in)) return;
    float_ = !float_;
    stage("vector_reinterpret", float_ ? "dtype: f32" : "dtype: i32");
    seen_.insert(has_inter_ ? "reinterpret behind the reducer" : "reinterpret");
  }

  // Up to three operations of a stage; in pair mode perhaps the zip among them.
  bool elementwise(const std::string& name) {
    const bool eight_way = name != "vector_fp";
    at_exit_ = false;
    if (name == "vector_logic" && !pair_) maybe_stash(true);
    uint64_t wanted = random_.below(name == "vector_fp" ? 4 : 3);
    for (; wanted > 0; --wanted) {
      const VectorOpRule* rule = pick(name);
      if (rule == nullptr) continue;
      const int arguments = operand_count(rule->op);
      if (open_pair() && arguments == 2 && random_.one_in(4)) {
        zip(name, rule->name, alu_name(rule));
      } else {
        take(alu_name(rule));
        stage(name, "op: " + std::string(rule->name) +
                        (open_pair() ? groups(arguments) : operands(arguments, eight_way)));
        seen_.insert(fmt::format("{} {}", rule->name, rule->dtype == DType::kF32 ? "f" : "i"));
      }
      at_exit_ = true;
      if (eight_way) maybe_stash(true);
      reinterpret(8);
    }
    return at_exit_;
  }
  void zip(const std::string& name, const std::string& op, const std::string& alu) {
    take(alu);
    stage(name, fmt::format("op: {}, zip: true{}", op, random_.one_in(2) ? ", mode: Mode10" : ""));
    seen_.insert(narrow_ ? "zip behind narrow" : "zip before narrow");
    zipped_ = true;
  }
  void take(const std::string& alu) {
    used_.insert(alu);
    ++alus_;
  }
  // An operation whose ALU is free; of mul_f the kernel's automatic choice is the first free one.
  const VectorOpRule* pick(const std::string& name) {
    std::vector<const VectorOpRule*> free;
    for (const VectorOpRule& rule : vector_op_rules()) {
      const bool fits = name == rule.stage && rule.dtype == (float_ ? DType::kF32 : DType::kI32);
      // The last zip of a pair may need ClipMax.
      const bool kept = open_pair() && name == "vector_clip" && alu_name(&rule) == "ClipMax";
      if (fits && !kept && used_.count(alu_name(&rule)) == 0) free.push_back(&rule);
    }
    return free.empty() ? nullptr : random_.of(free);
  }
  std::string alu_name(const VectorOpRule* rule) const {
    for (const Alu alu : rule->alus) {
      if (used_.count(name(alu)) == 0) return name(alu);
    }
    return name(rule->alus.front());
  }

  // --- operands

  std::string number() {
    if (float_) return random_.of<std::string>({"0.5", "-1.25", "3.0", "-0.0", "1e-3", "100.0"});
    return random_.of<std::string>({"1", "-1", "5", "31", "33", "-2147483648", "2147483647"});
  }
  std::string vrf() {
    const std::string name = fmt::format("v{}", tensor_count_++);
    std::vector<std::string> elements = {"1 # 8"};
    if (!reduced_) {
      elements.insert(elements.end(), {"P", "P # 8"});
      if (!promoted_) elements.insert(elements.end(), {"T, P", "P, T", "T"});
      if (open_pair()) elements.insert(elements.end(), {"I, P", "T, I"});
    }
    const std::string element = random_.of(elements);
    std::vector<std::string> axes;  // not T, of which the slices hold a digit
    if (ratio_ < kChainSlices) axes.emplace_back("X");
    if (element != "1 # 8") axes.emplace_back("P");
    const std::string logical = fmt::format(", logical: [{}]", fmt::join(axes, ", "));
    tensors_ += fmt::format(
        "  {}: {{memory: vrf, dtype: {}, slice: \"{}\", element: \"{}\"{}, init: {{random: {{seed: "
        "{}, {}}}}}}}\n",
        name, float_ ? "f32" : "i32", slice_, element, promoted_ ? logical : "", tensor_count_,
        float_ ? "low: -2.0, high: 2.0" : "low: -40, high: 40");
    seen_.insert("vrf");
    return fmt::format("{{vrf: {}}}", name);
  }
  bool stash_fits(bool eight_way) const {
    return stashed_ && !stash_read_ && stash_float_ == float_ && stash_eight_way_ == eight_way &&
           stash_reduced_ == reduced_;
  }
  std::string one_operand(bool eight_way) {
    if (stash_fits(eight_way) && random_.one_in(2)) {
      stash_read_ = true;
      seen_.insert("stash read");
      return "stash";
    }
    return random_.one_in(3) ? vrf() : number();
  }
  std::string guard(uint64_t bit) const {
    std::string bits;
    for (uint64_t i = 0; i < 4; ++i) {
      bits += std::string(i == 0 ? "" : ", ") + (i == bit ? "one" : "ignore");
    }
    return "{matches: [" + bits + "]}";
  }
  std::string operands(int arguments, bool eight_way) {
    if (arguments == 1) {
      if (!tags_ || reduced_ || !random_.one_in(3)) return "";
      return ", guard: " + guard(random_.below(4));
    }
    const std::string second = arguments == 3 ? ", operand1: " + number() : "";
    if (tags_ && !reduced_ && random_.one_in(2)) {
      seen_.insert("guards");
      std::string list;
      const uint64_t count = 1 + random_.below(3);
      for (uint64_t i = 0; i < count; ++i) {
        list += fmt::format("{}{{guard: {}, operand: {}{}}}", i == 0 ? "" : ", ", guard(i),
                            number(), second);
      }
      if (count < 3 && random_.one_in(2)) {
        list += fmt::format(", {{operand: {}{}}}", one_operand(eight_way), second);
      }
      return ", operand: [" + list + "]";
    }
    const char* mode = "";
    if (arguments == 2 && random_.one_in(3)) {
      mode = ", mode: Mode10";
      seen_.insert("Mode10");
    }
    if (arguments == 3 && random_.one_in(2)) {
      mode = ", mode: Mode120";
      seen_.insert("Mode120");
    }
    return fmt::format(", operand: {}{}{}", one_operand(eight_way), second, mode);
  }
  std::string groups(int arguments) {
    const uint64_t which = 1 + random_.below(3);  // group 0, group 1, both
    std::string text;
    bool port = false;  // one register-file port a pass
    for (uint64_t group = 0; group < 2; ++group) {
      if ((which >> group & 1) == 0) continue;
      std::string operand = "true";
      if (arguments == 2) {
        const bool reads = !port && random_.one_in(3);
        port = port || reads;
        operand = reads ? vrf() : number();
      } else if (arguments == 3) {
        operand = fmt::format("{{operand: {}, operand1: {}}}", number(), number());
      }
      text += fmt::format(", group{}: {}", group, operand);
    }
    seen_.insert("groups");
    return text;
  }

  // The last step: a flit or half of one a cycle; two halves of a flit that a zip made of two
  // leave room for the next flit of the pair.
  void finish() {
    uint64_t last = 0, free = 0;
    if (zip_before_narrow_) {
      last = at_.back() + steps_ - 1;
    } else {
      for (const uint64_t cycle : at_) {
        const uint64_t begin = std::max(cycle, free);
        free = begin + steps_;
        last = free - 1;
      }
    }
    end_ = last + alus_ + 4;
  }

  Random random_;
  bool float_ = false, entry_float_ = false, pair_ = false, zipped_ = false, tags_ = false;
  bool narrow_ = false, zip_before_narrow_ = false, reduced_ = false, promoted_ = false;
  bool has_inter_ = false, exits_ = false, at_exit_ = false;
  bool stashed_ = false, stash_read_ = false, stash_float_ = false;
  bool stash_eight_way_ = false, stash_reduced_ = false;
  uint64_t p_ = 8, t_ = 1, t_all_ = 1, ratio_ = 2, steps_ = 1, alus_ = 0, end_ = 0;
  uint64_t tensor_count_ = 0;
  std::string context_, tensors_, slice_ = "X", time_ = "T", entry_time_, random_low_;
  std::vector<std::string> stages_;
  std::vector<uint64_t> at_;  // cycles in which flits are where the generator has got to
  std::set<std::string> used_, seen_;
};

TEST(VectorChains, HaveTheReferencesValuesInTheModelsTime) {
  const TopologyDecl topology = test::small_topology(1, kChainSlices);
  Diagnostics none;
  const MachineLimits limits = limits_from(topology, none);
  std::set<std::string> seen;
  uint64_t elements = 0;
  for (uint64_t seed = 1; seed <= 600 && !HasFailure(); ++seed) {
    ChainGenerator chain(seed);
    chain.run();
    SCOPED_TRACE(chain.text());
    Diagnostics diagnostics;
    const KernelDecl kernel = parse_kernel(chain.text(), "k.yaml", diagnostics);
    Program program;
    if (!diagnostics.has_errors()) program = lower(kernel, limits, diagnostics);
    ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
    const RunResult result = run_program(program, topology, {});
    EXPECT_EQ(result.status, RunStatus::kOk);
    for (const FailureResult& failure : result.failures) ADD_FAILURE() << failure.message;
    EXPECT_EQ(result.values.mismatches, 0u);
    EXPECT_EQ(result.cycles, chain.cycles());
    elements += result.values.checked.at(0).elements;
    seen.insert(chain.seen().begin(), chain.seen().end());
  }
  EXPECT_GT(elements, 10'000u);
  // Everything was there at least once.
  for (const VectorOpRule& rule : vector_op_rules()) {
    if (std::string(rule.stage) == "vector_fp_div") continue;
    EXPECT_EQ(seen.count(fmt::format("{} {}", rule.name, rule.dtype == DType::kF32 ? "f" : "i")),
              1u)
        << rule.name;
  }
  for (const char* form : {"main",
                           "sub",
                           "vector_tag",
                           "vector_unzip",
                           "vector_fxp_to_fp",
                           "vector_narrow_split",
                           "vector_narrow_trim",
                           "vector_intra_slice_reduce",
                           "vector_fp_div",
                           "vector_widen_concat",
                           "vector_widen_pad",
                           "vector_fp_to_fxp",
                           "vector_filter",
                           "vector_stash",
                           "stash read",
                           "cast",
                           "reinterpret",
                           "reinterpret behind the reducer",
                           "guards",
                           "groups",
                           "vrf",
                           "Mode10",
                           "Mode120",
                           "zip before narrow",
                           "zip behind narrow",
                           "promotion",
                           "broadcast",
                           "dummy",
                           "inter add f32",
                           "inter mul f32",
                           "inter max f32",
                           "inter min f32",
                           "inter add i32",
                           "inter add_sat i32",
                           "inter max i32",
                           "inter min i32"}) {
    EXPECT_EQ(seen.count(form), 1u) << form;
  }
}

}  // namespace
}  // namespace rngdsim
