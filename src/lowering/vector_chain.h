// SPDX-License-Identifier: Apache-2.0
// A chain of the Vector Engine, stage by stage: operations to ALUs, operands to slots, and the
// rules between stages. Source of the rules: docs/vector.md names the pages.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lowering/scope.h"

namespace rngdsim {

// The mappings that a stage of the kernel file gives.
struct StageMappings {
  std::optional<Declared> time, packet, lane, element, slice;
  bool failed = false;  // at least one is faulty; reported
};

class VectorChain {
 public:
  // The present version of a tensor in the VRF; nothing after an error.
  using FindVrf = std::function<std::optional<TensorId>(const Located<std::string>& name)>;

  // `config` receives what is lowered. `entry`: the stream in front of the chain. All outlive it.
  VectorChain(VectorConfig& config, const StreamShape& entry, const LowerScope& scope,
              const std::vector<TensorVersion>& tensors, FindVrf find_vrf);

  // Lowers a stage and changes the stream. False where the stream behind it is not known; errors
  // that leave it known make the chain faulty only.
  bool lower(const StageDecl& stage, const StageMappings& mappings, StreamShape& shape);
  // To be called behind the last stage. `next`: the stage that follows, or null.
  void finish(const StreamShape& shape, const StageDecl* next);

  bool faulty() const { return faulty_; }
  // VRF tensors that operands read, each once, in order of use.
  const std::vector<TensorId>& operands() const { return operands_; }

 private:
  // The stage that the stream comes from.
  enum class At : uint8_t {
    kStart,
    kTag,
    kLogic,
    kFxp,
    kFxpToFp,
    kNarrow,
    kFp,
    kReduce,
    kFpDiv,
    kWiden,
    kFpToFxp,
    kClip,
    kFilter,
    kInterSlice,
  };
  enum class Pair : uint8_t { kNone, kOpen, kZipped };
  struct Stash {
    DType dtype{};
    bool eight_way = true;
    bool reduced = false;  // written behind the reduction
    SourceLocation where;
    bool read = false;
  };

  void error(const SourceLocation& where, const std::string& message, const std::string& hint = "");
  bool structure(const StageDecl& stage, const StageMappings& mappings, StreamShape& shape);
  bool tag(const StageDecl& stage, const StreamShape& shape);
  bool unzip(const StageDecl& stage, const StageMappings& mappings, StreamShape& shape);
  bool narrow(const StageDecl& stage, const StageMappings& mappings, StreamShape& shape);
  bool widen(const StageDecl& stage, const StageMappings& mappings, StreamShape& shape);
  bool reduce(const StageDecl& stage, const StageMappings& mappings, StreamShape& shape);
  bool inter_slice(const StageDecl& stage, const StageMappings& mappings, StreamShape& shape);
  bool convert(const StageDecl& stage, StreamShape& shape);
  bool reinterpret(const StageDecl& stage, StreamShape& shape);
  void stash(const StageDecl& stage, const StreamShape& shape);
  void filter(const StageDecl& stage);
  void arithmetic(const StageDecl& stage, StreamShape& shape);

  // Parts of arithmetic().
  void set_arguments(const StageDecl& stage, VectorStep& step);
  void set_alu(const StageDecl& stage, const std::vector<Alu>& alus, VectorStep& step);
  void set_slots(const StageDecl& stage, const StreamShape& shape, VectorStep& step);
  void set_group_slots(const StageDecl& stage, const StreamShape& shape, VectorStep& step);
  void set_listed_slots(const StageDecl& stage, const StreamShape& shape, VectorStep& step);
  void set_unary_slot(const StageDecl& stage, VectorStep& step);
  void zip(const StageDecl& stage, const VectorStep& step);
  void fill_slot(const StageDecl& stage, const OperandDecl& decl, const StreamShape& shape,
                 const VectorStep& step, VectorStep::Slot& slot);
  void count_slots(const StageDecl& stage, const VectorStep& step);
  void read_stash(const StageDecl& stage, const OperandDecl& decl, const StreamShape& shape);
  void read_vrf(const StageDecl& stage, const OperandDecl& decl, const StreamShape& shape,
                VectorOperand& operand);
  std::optional<uint32_t> constant(const char* stage, const VectorNumber& number, DType dtype);
  std::optional<TagGuard> guard(const StageDecl& stage, const std::optional<GuardDecl>& decl);
  void check_reachable(const StageDecl& stage, const VectorStep& step,
                       const std::vector<SourceLocation>& places);
  std::vector<uint8_t> possible_tags() const;

  bool has_flits(const StageDecl& stage, const StreamShape& shape, bool eight_way);
  bool takes(const StageDecl& stage, const StreamShape& shape, DType dtype, const char* hint);
  std::vector<VectorStep>& segment();
  // The stream as it passes: in pair mode the flits of both groups.
  const Mapping& passing(const StreamShape& shape) const;
  void move_to(At at);

  VectorConfig& config_;
  const LowerScope& scope_;
  const std::vector<TensorVersion>& tensors_;
  FindVrf find_vrf_;
  StreamShape flits_;  // that enter the chain, as the Valid Count Generator sees them
  At at_ = At::kStart;
  bool eight_way_ = true;
  Pair pair_ = Pair::kNone;
  Mapping paired_time_;  // pair mode: Time with the axis of the groups
  std::optional<Stash> stash_;
  std::map<Alu, int> alus_;  // in use: the line
  std::vector<TensorId> operands_;
  bool faulty_ = false;
};

// The order of a chain's stages, what needs what: everything that names alone tell. False after an
// error.
bool check_vector_order(const CommandDecl& command, Diagnostics& diagnostics);

// --- lower_inter_slice.cpp ----------------------------------------------------------------------

struct InterSliceStage {
  Located<std::string> op;
  Declared slice;
  std::optional<Declared> time;
  SourceLocation where;
};
struct LoweredInterSlice {
  InterSliceConfig config;
  StreamShape after;
};
std::optional<LoweredInterSlice> lower_inter_slice(const StreamShape& in,
                                                   const InterSliceStage& stage,
                                                   const LowerScope& scope);

}  // namespace rngdsim
