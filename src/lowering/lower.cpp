// SPDX-License-Identifier: Apache-2.0
#include "lowering/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "lowering/dma_rows.h"
#include "lowering/lower_dma.h"
#include "lowering/lower_switch.h"
#include "lowering/placement.h"
#include "lowering/stages.h"
#include "lowering/vector_chain.h"
#include "numeric/convert.h"
#include "support/input_limits.h"
#include "support/text.h"

namespace rngdsim {
namespace {

// Stages in the order of the pipeline; a chain lists them in this order and may leave some out.
const std::vector<std::string>& stage_order() {
  static const std::vector<std::string> kOrder = {"fetch",
                                                  "fetch_table_lookup",
                                                  "fetch_cast",
                                                  "fetch_zero_point_sub",
                                                  "switch",
                                                  "collect",
                                                  "to_trf",
                                                  "contract_outer",
                                                  "contract_packet",
                                                  "contract_time",
                                                  "contract_lane",
                                                  "vector_tag",
                                                  "vector_unzip",
                                                  "vector_logic",
                                                  "vector_fxp",
                                                  "vector_fxp_to_fp",
                                                  "vector_narrow_split",
                                                  "vector_narrow_trim",
                                                  "vector_fp",
                                                  "vector_intra_slice_reduce",
                                                  "vector_fp_div",
                                                  "vector_widen_concat",
                                                  "vector_widen_pad",
                                                  "vector_fp_to_fxp",
                                                  "vector_clip",
                                                  "vector_filter",
                                                  "vector_inter_slice_reduce",
                                                  "to_vrf",
                                                  "cast",
                                                  "transpose",
                                                  "commit_trim",
                                                  "commit_cast",
                                                  "commit"};
  return kOrder;
}

size_t stage_rank(const std::string& stage) {
  const auto& order = stage_order();
  return static_cast<size_t>(std::find(order.begin(), order.end(), stage) - order.begin());
}

bool is_vector(const std::string& stage) { return stage.rfind("vector_", 0) == 0; }

// Between any two stages of a vector chain, any number of times.
bool floats(const std::string& stage) {
  return stage == "vector_stash" || stage == "vector_reinterpret";
}

// Stages whose ALUs work one after the other, each at most once.
bool has_several_alus(const std::string& stage) {
  return stage == "vector_logic" || stage == "vector_fxp" || stage == "vector_fp" ||
         stage == "vector_clip";
}

// For messages: of the vector stages, or of the others.
std::string order_text(bool vector) {
  std::vector<std::string> stages;
  for (const std::string& stage : stage_order()) {
    if (is_vector(stage) == vector) {
      stages.push_back(stage);
    } else if (stage == "vector_tag") {
      stages.emplace_back("a vector chain");
    }
  }
  return fmt::format("{}", fmt::join(stages, ", "));
}

// Stages at which a stream may enter: those that take one packet or flit an item.
const std::vector<std::string>& entry_stages() {
  static const std::vector<std::string> kEntries = [] {
    std::vector<std::string> entries = {"fetch_table_lookup",
                                        "fetch_cast",
                                        "fetch_zero_point_sub",
                                        "switch",
                                        "collect",
                                        "to_trf",
                                        "contract_outer",
                                        "cast",
                                        "transpose",
                                        "commit_trim"};
    for (const std::string& stage : stage_order()) {
      // A chain cannot begin 4-way.
      const bool inside = stage == "vector_fp" || stage == "vector_fp_div" ||
                          stage == "vector_intra_slice_reduce" ||
                          stage.rfind("vector_widen", 0) == 0;
      if ((is_vector(stage) && !inside) || stage == "to_vrf") entries.push_back(stage);
    }
    std::sort(entries.begin(), entries.end(), [](const std::string& a, const std::string& b) {
      return stage_rank(a) < stage_rank(b);
    });
    return entries;
  }();
  return kEntries;
}

class KernelLowering {
 public:
  KernelLowering(const KernelDecl& kernel, const MachineLimits& limits, Diagnostics& diagnostics)
      : kernel_(kernel),
        diagnostics_(diagnostics),
        placement_(MemoryKind::kDm, program_.limits),
        hbm_placement_(MemoryKind::kHbm, program_.limits),
        host_placement_(MemoryKind::kHost, program_.limits),
        vrf_placement_(MemoryKind::kVrf, program_.limits),
        scope_{program_.axes, program_.limits, diagnostics} {
    program_.limits = limits;
  }

  Program run() {
    program_.kernel_name = kernel_.name;
    program_.description = kernel_.description;
    program_.kernel_file = kernel_.file;
    program_.kernel_sha256 = kernel_.sha256;
    declare_names();
    find_uses();
    declare_tensors();
    for (const CommandDecl& decl : kernel_.program) {
      if (diagnostics_.full()) break;
      lower_command(decl);
    }
    lower_expectations();
    return std::move(program_);
  }

 private:
  // ---- Names ------------------------------------------------------------------------------------

  void declare_names() {
    for (const AxisDecl& axis : kernel_.axes) program_.axes.add(axis.name, axis.size);
    for (const ConstantDecl& constant : kernel_.constants) {
      names_.constants[constant.name] = constant.value;
    }
    for (const AliasDecl& alias : kernel_.mappings) {
      // A faulty named mapping is reported once, here, and stands for nothing elsewhere.
      names_.aliases[alias.name] = alias.text;
    }
    std::set<std::string> faulty;
    for (const AliasDecl& alias : kernel_.mappings) {
      if (!parse_mapping(alias.text, program_.axes, names_, diagnostics_)) {
        faulty.insert(alias.name);
      }
    }
    faulty_aliases_ = std::move(faulty);
  }

  // Whether the text has `{NAME}` of a faulty named mapping.
  bool uses_faulty_alias(const std::string& text) const {
    if (faulty_aliases_.empty()) return false;
    for (size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
      const std::string name = text.substr(at + 1, text.find('}', at) - at - 1);
      if (faulty_aliases_.count(name) != 0) return true;
    }
    return false;
  }

  std::optional<Declared> parse(const MappingText& text) {
    if (uses_faulty_alias(text.value)) return std::nullopt;
    const ExprPtr expr = parse_mapping(text, program_.axes, names_, diagnostics_);
    if (!expr) return std::nullopt;
    return Declared{make_mapping(*expr, program_.axes), text.where};
  }

  // Sets `failed` where a given text is faulty.
  std::optional<Declared> parse(const std::optional<MappingText>& text, bool& failed) {
    if (!text) return std::nullopt;
    auto declared = parse(*text);
    if (!declared) failed = true;
    return declared;
  }

  // ---- Spatial dimensions ---------------------------------------------------------------------

  struct Spatial {
    Mapping chip, cluster, slice;
  };

  std::optional<Spatial> spatial(const std::optional<MappingText>& chip,
                                 const std::optional<MappingText>& cluster,
                                 const std::optional<MappingText>& slice,
                                 const SourceLocation& where, const std::string& what) {
    bool failed = false;
    const auto declared_chip = parse(chip, failed);
    const auto declared_cluster = parse(cluster, failed);
    const auto declared_slice = parse(slice, failed);
    if (!slice) {
      diagnostics_.error(
          where, fmt::format("{}: Slice is missing", what),
          fmt::format("for a single slice write slice: \"1 # {}\"", program_.limits.slices));
      failed = true;
    }
    if (failed) return std::nullopt;
    Spatial result;
    const uint64_t clusters = program_.limits.clusters;
    const uint64_t slices = program_.limits.slices;
    result.chip = declared_chip ? declared_chip->mapping : Mapping();
    result.cluster =
        declared_cluster ? declared_cluster->mapping : Mapping().pad(clusters, PadKind::kTop);
    result.slice = declared_slice->mapping;
    if (result.chip.size() != 1) {
      diagnostics_.error(declared_chip->where,
                         fmt::format("{}: Chip '{}' has {} positions; 1 chip is modelled", what,
                                     scope_.text(result.chip), group_digits(result.chip.size())));
      failed = true;
    }
    if (result.cluster.size() != 1 && result.cluster.size() != clusters) {
      diagnostics_.error(
          declared_cluster->where,
          fmt::format("{}: Cluster '{}' has {} positions; a chip has {} (or 1 is used)", what,
                      scope_.text(result.cluster), result.cluster.size(), clusters),
          fmt::format("pad it: # {}", clusters));
      failed = true;
    }
    if (result.slice.size() != slices && result.slice.size() != slices / 2 &&
        result.slice.size() != slices / 4) {
      diagnostics_.error(declared_slice->where,
                         fmt::format("{}: Slice '{}' has {} positions; {} are accepted", what,
                                     scope_.text(result.slice), result.slice.size(),
                                     choices({slices / 4, slices / 2, slices})),
                         fmt::format("pad it: # {}", slices));
      failed = true;
    }
    if (failed) return std::nullopt;
    return result;
  }

  // ---- Tensors --------------------------------------------------------------------------------

  // For each name, the commands that write it and those that read it.
  void find_uses() {
    ptrdiff_t i = 0;
    for (const CommandDecl& command : kernel_.program) {
      if (command.from) reads_[command.from->value].push_back(i);
      if (command.second) reads_[command.second->value].push_back(i);
      if (command.dma) find_uses(*command.dma, i);
      for (const StageDecl& stage : command.stages) {
        if (stage.with) reads_[stage.with->value].push_back(i);
        for (const std::string& name : vrf_names(stage)) reads_[name].push_back(i);
        if (!stage.to) continue;
        if (stage.view.empty()) {
          writes_[stage.to->value].push_back(i);
        } else {  // the version stays, changed in part
          reads_[stage.to->value].push_back(i);
          changes_[stage.to->value].push_back(i);
        }
      }
      ++i;
    }
  }

  void find_uses(const DmaDecl& dma, ptrdiff_t i) {
    if (dma.index) reads_[dma.index->value].push_back(i);
    if (!dma.to) return;
    if (!changes_tensor(dma)) {
      writes_[dma.to->value].push_back(i);
      return;
    }
    reads_[dma.to->value].push_back(i);
    changes_[dma.to->value].push_back(i);
  }

  // A part of a tensor that exists is written.
  static bool changes_tensor(const DmaDecl& dma) {
    return is_scatter(dma) || !dma.to_view.empty() || (dma.shuffle && dma.shuffle->target != 0);
  }

  // Rows of a tensor that exists are written.
  static bool is_scatter(const DmaDecl& dma) {
    return dma.index.has_value() && dma.memory == MemoryKind::kHbm;
  }

  // The tensors in the VRF that a stage reads.
  static std::vector<std::string> vrf_names(const StageDecl& stage) {
    std::vector<std::string> names;
    const auto add = [&](const OperandDecl& operand) {
      if (operand.kind == OperandDecl::Kind::kVrf) names.push_back(operand.vrf.value);
    };
    for (const GuardedOperandDecl& entry : stage.vector.operands) add(entry.operand);
    for (const auto& group : stage.vector.groups) {
      if (group && group->operand) add(*group->operand);
    }
    return names;
  }

  // The last command that uses the version of `name` that exists from command `since` on (-1:
  // declared); nothing for a result: never read after its last change, and not written again.
  LastUse last_use(const std::string& name, ptrdiff_t since) const {
    const auto end = static_cast<ptrdiff_t>(kernel_.program.size());
    ptrdiff_t replaced = end;
    if (const auto it = writes_.find(name); it != writes_.end()) {
      const auto next = std::upper_bound(it->second.begin(), it->second.end(), since);
      if (next != it->second.end()) replaced = *next;
    }
    LastUse last;
    if (const auto it = reads_.find(name); it != reads_.end()) {
      const auto behind = std::upper_bound(it->second.begin(), it->second.end(), replaced);
      if (behind != it->second.begin() && *std::prev(behind) > since) last = *std::prev(behind);
    }
    if (!last && (replaced != end || since == -1)) last = since;
    if (const auto it = changes_.find(name);
        last && replaced == end && it != changes_.end() && it->second.back() == *last) {
      return std::nullopt;
    }
    return last;
  }

  int line_of(ptrdiff_t command) const {
    return command < 0 ? 0 : kernel_.program[static_cast<size_t>(command)].where.line;
  }

  // Finds a place in the register file for a tensor that command `now` writes (-1: declared). False
  // after an error.
  bool place_in_trf(TensorId id, ptrdiff_t now, const std::optional<Located<std::string>>& region) {
    TensorVersion& tensor = program_.tensors[id];
    const size_t before = diagnostics_.error_count();
    place_trf(tensor, id, now, region, placed_trf_, program_.limits, diagnostics_);
    if (diagnostics_.error_count() != before) return false;
    const ptrdiff_t last = last_use(tensor.name, now).value_or(now);
    placed_trf_.push_back({trf_footprint(tensor, id), tensor.name, last, line_of(last)});
    return true;
  }

  void declare_tensors() {
    for (const std::string& name : kernel_.faulty_tensors) {
      known_names_.push_back(name);
      faulty_names_.push_back(name);
    }
    std::vector<std::pair<const TensorDecl*, TensorId>> floating;
    for (const TensorDecl& decl : kernel_.tensors) {
      known_names_.push_back(decl.name);
      const auto tensor = declared_tensor(decl);
      if (!tensor) {
        faulty_names_.push_back(decl.name);
        continue;
      }
      const auto id = static_cast<TensorId>(program_.tensors.size());
      program_.tensors.push_back(*tensor);
      latest_[decl.name] = id;
      const size_t before = diagnostics_.error_count();
      if (decl.memory == MemoryKind::kTrf) {
        place_in_trf(id, -1, decl.region);
      } else if (decl.address) {
        placement_of(decl.memory)
            .fix(program_.tensors[id], *decl.address, -1, last_use(decl.name, -1), diagnostics_);
      } else {
        floating.emplace_back(&decl, id);
      }
      if (diagnostics_.error_count() != before) forget(decl.name);
    }
    for (const auto& [decl, id] : floating) {
      const size_t before = diagnostics_.error_count();
      placement_of(decl->memory)
          .place(program_.tensors[id], -1, last_use(decl->name, -1), diagnostics_);
      if (diagnostics_.error_count() != before) forget(decl->name);
    }
  }

  Placement& placement_of(MemoryKind memory) {
    if (memory == MemoryKind::kHbm) return hbm_placement_;
    if (memory == MemoryKind::kHost) return host_placement_;
    return memory == MemoryKind::kVrf ? vrf_placement_ : placement_;
  }

  // What is read under this name is not known: commands that use it are not judged by it.
  void forget(const std::string& name) {
    faulty_names_.push_back(name);
    latest_.erase(name);
  }

  std::optional<TensorVersion> declared_tensor(const TensorDecl& decl) {
    const std::string what = fmt::format("tensor '{}'", decl.name);
    bool failed = false;
    const auto space = is_one_memory(decl.memory)
                           ? chip_only(decl.chip, what)
                           : spatial(decl.chip, decl.cluster, decl.slice, decl.where, what);
    const auto element = parse(decl.element, failed);
    const auto lane = parse(decl.lane, failed);
    if (!decl.element) {
      diagnostics_.error(decl.where, fmt::format("{}: element is missing", what));
    }
    if (!space || failed || !element) return std::nullopt;
    TensorVersion tensor;
    tensor.name = decl.name;
    tensor.where = decl.where;
    tensor.memory = decl.memory;
    tensor.dtype = decl.dtype;
    tensor.chip = space->chip;
    tensor.cluster = space->cluster;
    tensor.slice = space->slice;
    if (lane) tensor.lane = lane->mapping;
    tensor.element = element->mapping;
    tensor.init = decl.init;
    const size_t before = diagnostics_.error_count();
    if (decl.memory == MemoryKind::kDm || is_one_memory(decl.memory)) {
      if (decl.dtype == DType::kI5 || decl.dtype == DType::kI9) {
        diagnostics_.error(
            decl.where, fmt::format("{}: {} exists only in streams and in the register file", what,
                                    name(decl.dtype)));
      }
      tensor.bytes = bytes_of(tensor.dtype, tensor.element.size());
      check_capacity(tensor, what, element->where);
    } else if (decl.memory == MemoryKind::kVrf) {
      tensor.bytes = bytes_of(tensor.dtype, tensor.element.size());
      check_vrf_tensor(decl.dtype, what, decl.where, *element, scope_);
    } else {
      const Declared one{Mapping(), decl.where};
      if (const auto bytes = check_trf_tensor(decl.dtype, lane ? *lane : one, *element, scope_)) {
        tensor.bytes = *bytes;
      }
    }
    check_digits({&tensor.chip, &tensor.cluster, &tensor.slice, &tensor.lane, &tensor.element},
                 program_.axes, decl.where, what, diagnostics_);
    tensor.logical =
        axes_of({&tensor.chip, &tensor.cluster, &tensor.slice, &tensor.lane, &tensor.element},
                program_.axes);
    if (decl.logical) restrict_logical(*decl.logical, what, tensor.logical);
    if (diagnostics_.error_count() != before) return std::nullopt;
    return tensor;
  }

  // Of the chip or the host, without clusters and slices.
  static bool is_one_memory(MemoryKind memory) {
    return memory == MemoryKind::kHbm || memory == MemoryKind::kHost;
  }

  // The dimensions of a tensor in HBM or the host besides Element.
  std::optional<Spatial> chip_only(const std::optional<MappingText>& chip,
                                   const std::string& what) {
    bool failed = false;
    const auto declared = parse(chip, failed);
    if (failed) return std::nullopt;
    Spatial result;
    if (declared) result.chip = declared->mapping;
    if (result.chip.size() == 1) return result;
    diagnostics_.error(declared->where,
                       fmt::format("{}: Chip '{}' has {} positions; 1 chip is modelled", what,
                                   scope_.text(result.chip), group_digits(result.chip.size())));
    return std::nullopt;
  }

  // Of data memory, HBM or the host. False after an error.
  bool check_capacity(const TensorVersion& tensor, const std::string& what,
                      const SourceLocation& where) {
    const bool hbm = tensor.memory == MemoryKind::kHbm, host = tensor.memory == MemoryKind::kHost;
    const uint64_t most = hbm    ? program_.limits.hbm_bytes
                          : host ? program_.limits.host_bytes
                                 : program_.limits.dm_bytes();
    if (tensor.bytes <= most) return true;
    diagnostics_.error(where,
                       fmt::format("{}: '{}' takes {} bytes; the {} has {}", what,
                                   scope_.text(tensor.element), group_digits(tensor.bytes),
                                   hbm    ? "HBM of a chip"
                                   : host ? "memory of a host"
                                          : "data memory of a slice",
                                   group_digits(most)),
                       hbm || host ? "" : "spread the tensor over more slices");
    return false;
  }

  void restrict_logical(const std::vector<Located<std::string>>& wanted, const std::string& what,
                        std::vector<AxisId>& logical) {
    std::vector<AxisId> kept;
    for (const Located<std::string>& axis : wanted) {
      const auto id = program_.axes.find(axis.value);
      if (!id) {
        const auto close = nearest(axis.value, program_.axes.names());
        diagnostics_.error(axis.where, fmt::format("{}: unknown axis '{}'", what, axis.value),
                           close ? fmt::format("did you mean '{}'?", *close) : "");
      } else if (program_.axes.size(*id) == 1) {
        continue;  // nothing depends on it
      } else if (std::find(logical.begin(), logical.end(), *id) == logical.end()) {
        diagnostics_.error(
            axis.where, fmt::format("{}: axis {} is in none of its dimensions", what, axis.value));
      } else {
        kept.push_back(*id);
      }
    }
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    logical = kept;
  }

  // The present version of a name, or nothing after an error. Without `memory`: in HBM, data memory
  // or the host.
  const TensorVersion* resolve(const Located<std::string>& wanted, std::optional<MemoryKind> memory,
                               const char* user) {
    // What the file says of this name had errors of its own.
    const auto& faulty = kernel_.faulty_tensors;
    if (std::find(faulty.begin(), faulty.end(), wanted.value) != faulty.end()) return nullptr;
    const auto it = latest_.find(wanted.value);
    if (it == latest_.end()) {
      // Names whose own declaration or command failed are not reported again.
      if (std::find(faulty_names_.begin(), faulty_names_.end(), wanted.value) !=
          faulty_names_.end()) {
        return nullptr;
      }
      if (const auto later = writes_.find(wanted.value); later != writes_.end()) {
        const int line = line_of(later->second.front());
        diagnostics_.error(
            wanted.where,
            fmt::format("{}: '{}' is read before a command has written it", user, wanted.value),
            fmt::format("the command in line {} writes it; commands run in the order of the file",
                        line));
        return nullptr;
      }
      const auto close = nearest(wanted.value, known_names_);
      diagnostics_.error(wanted.where, fmt::format("{}: unknown tensor '{}'", user, wanted.value),
                         close                  ? fmt::format("did you mean '{}'?", *close)
                         : known_names_.empty() ? "none is declared"
                                                : "known here: " + listed(known_names_));
      return nullptr;
    }
    const TensorVersion& tensor = program_.tensors[it->second];
    const bool movable = tensor.memory == MemoryKind::kDm || is_one_memory(tensor.memory);
    if (memory ? tensor.memory != *memory : !movable) {
      diagnostics_.error(wanted.where,
                         fmt::format("{}: '{}' lies in {}, not in {}", user, wanted.value,
                                     rngdsim::name(tensor.memory),
                                     memory ? rngdsim::name(*memory) : "hbm, dm or host"),
                         memory == MemoryKind::kTrf
                             ? "the second operand of a contraction is stored by to_trf first"
                         : memory == MemoryKind::kVrf
                             ? "the operand of a vector operation is stored by to_vrf first"
                         : !memory ? "a dma reads hbm, data memory and the host"
                         : is_one_memory(tensor.memory)
                             ? "a fetch reads data memory; a dma command moves it there"
                             : "a fetch reads data memory");
      return nullptr;
    }
    return &tensor;
  }

  // The axes on which the elements that enter the pipeline depend.
  const std::vector<AxisId>& stream_axes(const Command& command) const {
    return command.fetch ? program_.tensors[command.fetch->tensor].logical
                         : command.stream->logical;
  }

  // Those of all operands.
  std::vector<AxisId> input_axes(const Command& command) const {
    std::vector<AxisId> axes = stream_axes(command);
    if (chain_) {
      for (const TensorId operand : chain_->operands()) {
        const std::vector<AxisId>& more = program_.tensors[operand].logical;
        axes.insert(axes.end(), more.begin(), more.end());
      }
    }
    if (command.outer) {
      const std::vector<AxisId>& trf = program_.tensors[command.outer->trf].logical;
      axes.insert(axes.end(), trf.begin(), trf.end());
    }
    return axes;
  }

  // A new version of `to`; nothing after an error.
  std::optional<TensorId> new_version(const Located<std::string>& to, MemoryKind memory,
                                      const StreamShape& shape, const Mapping& lane,
                                      const Declared& element, const Command& command) {
    return new_version(to, memory, shape, lane, element, command, input_axes(command));
  }

  // `inputs`: the axes on which its values may depend.
  std::optional<TensorId> new_version(const Located<std::string>& to, MemoryKind memory,
                                      const StreamShape& shape, const Mapping& lane,
                                      const Declared& element, const Command& command,
                                      const std::vector<AxisId>& inputs) {
    TensorVersion tensor;
    tensor.name = to.value;
    tensor.where = to.where;
    tensor.memory = memory;
    tensor.dtype = shape.dtype;
    tensor.chip = shape.chip;
    tensor.cluster = shape.cluster;
    tensor.slice = shape.slice;
    tensor.lane = lane;
    tensor.element = element.mapping;
    // Axes that no operand depends on are replicas.
    for (const AxisId axis :
         axes_of({&tensor.chip, &tensor.cluster, &tensor.slice, &tensor.lane, &tensor.element},
                 program_.axes)) {
      if (std::find(inputs.begin(), inputs.end(), axis) != inputs.end()) {
        tensor.logical.push_back(axis);
      }
    }
    tensor.bytes = bytes_of(tensor.dtype, tensor.element.size());
    tensor.produced_by = command.id;
    if (const auto it = latest_.find(to.value); it != latest_.end()) {
      const TensorVersion& old = program_.tensors[it->second];
      if (old.memory != memory) {
        diagnostics_.error(to.where,
                           fmt::format("'{}' lies in {} and cannot be written to {}", to.value,
                                       rngdsim::name(old.memory), rngdsim::name(memory)),
                           "give the result a name of its own");
        return std::nullopt;
      }
      tensor.version = old.version + 1;
    }
    const auto id = static_cast<TensorId>(program_.tensors.size());
    program_.tensors.push_back(std::move(tensor));
    return id;
  }

  // ---- Commands -------------------------------------------------------------------------------

  void lower_command(const CommandDecl& decl) {
    Command command;
    command.id = static_cast<CommandId>(program_.commands.size());
    command.context = decl.dma                                      ? Context::kDma
                      : decl.context == CommandDecl::Context::kMain ? Context::kMain
                                                                    : Context::kSub;
    command.kind = name(command.context);
    command.where = decl.where;
    delay_ = decl.delay;
    if (decl.dma) command.overhead = delay_;
    for (const auto& [name, value] : decl.variables) names_.constants[name] = value;
    // A command of a repeat that had errors in one round is not judged again.
    const std::pair<int, int> place{decl.where.line, decl.where.column};
    const bool good = failed_.count(place) == 0 &&
                      (decl.dma ? move(decl, *decl.dma, command) : lower_chain(decl, command));
    if (!good && !decl.variables.empty()) failed_.insert(place);
    for (const auto& [name, value] : decl.variables) names_.constants.erase(name);
    // What a scatter writes into stays known, whatever is wrong with the command.
    if (decl.dma && decl.dma->to && !changes_tensor(*decl.dma))
      note_written(decl.dma->to->value, good);
    for (const StageDecl& stage : decl.stages) {
      if (stage.to) note_written(stage.to->value, good);
    }
    finish_command(decl, command);
    program_.commands.push_back(std::move(command));
  }

  void note_written(const std::string& name, bool good) {
    if (std::find(known_names_.begin(), known_names_.end(), name) == known_names_.end()) {
      known_names_.push_back(name);
    }
    if (!good) forget(name);
  }

  // ---- dma ------------------------------------------------------------------------------------

  bool move(const CommandDecl& decl, const DmaDecl& dma, Command& command) {
    if (dma.shuffle) return shuffle(decl, dma, *dma.shuffle, command);
    if (!dma.to_view.empty()) return move_into_view(decl, dma, command);
    bool known = resolve(*decl.from, std::nullopt, "dma") != nullptr;
    if (dma.index) known = resolve(*dma.index, std::nullopt, "dma") != nullptr && known;
    if (known && is_scatter(dma) && !lies_in_hbm(*decl.from)) {
      known = resolve(*dma.to, std::nullopt, "dma") != nullptr;
    }
    bool failed = false;
    const bool one = is_one_memory(dma.memory);
    const auto space = one ? chip_only(dma.chip, "dma")
                           : spatial(dma.chip, dma.cluster, dma.slice, decl.where, "dma");
    const auto element = parse(dma.element, failed);
    const auto time = parse(dma.time, failed), packet = parse(dma.packet, failed);
    if (!known || failed || !space || !element) return false;
    const auto source = source_view(*decl.from, decl.view, ViewUser::kDma);
    if (!source) return false;
    const TensorId from = *source;
    if (!check_host(program_.tensors[from], dma.memory, dma.to->value, decl.where)) return false;
    std::optional<DmaConfig::Indexed> indexed;
    if (dma.index) {
      indexed = rows_of(decl, dma, *space, *element);
      if (!indexed) return false;
    }
    const bool scatter = indexed && indexed->scatter;
    const auto to = scatter ? latest_[dma.to->value]
                            : moved_tensor(from, indexed, dma, *space, *element, command);
    if (!to) return false;
    TensorVersion& tensor = program_.tensors[*to];
    DmaMoveRequest request{
        program_.tensors[from], tensor, time, packet, dma.engines, {}, 1, 1, decl.where};
    if (indexed) {
      request.indexed.emplace(
          DmaIndexed{program_.tensors[indexed->index], indexed->row_axis, indexed->scatter});
      request.rows = indexed->rows;
      request.row_bytes = indexed->row_bytes;
    }
    auto config = lower_dma(request, scope_);
    if (!config) return false;
    config->indexed = indexed;
    if (scatter) {
      finish_move(from, *to, std::move(*config), decl.delay, command);
      return true;
    }
    const uint64_t assumed = tensor.address;
    if (!place_moved(tensor, dma, command)) return false;
    for (DmaConfig::Segment& segment : config->segments) {
      segment.write_base += tensor.address - assumed;
    }
    finish_move(from, *to, std::move(*config), decl.delay, command);
    return true;
  }

  bool place_moved(TensorVersion& tensor, const DmaDecl& dma, const Command& command) {
    const size_t before = diagnostics_.error_count();
    const auto now = static_cast<ptrdiff_t>(command.id);
    Placement& placement = placement_of(tensor.memory);
    if (dma.address) {
      placement.fix(tensor, *dma.address, now, last_use(tensor.name, now), diagnostics_);
    } else {
      placement.place(tensor, now, last_use(tensor.name, now), diagnostics_);
    }
    return diagnostics_.error_count() == before;
  }

  // From one version to another that is placed.
  bool move_between(TensorId from, TensorId to, const CommandDecl& decl, const DmaDecl& dma,
                    Command& command) {
    bool failed = false;
    const auto time = parse(dma.time, failed), packet = parse(dma.packet, failed);
    if (failed) return false;
    DmaMoveRequest request{program_.tensors[from],
                           program_.tensors[to],
                           time,
                           packet,
                           dma.engines,
                           {},
                           1,
                           1,
                           decl.where};
    auto config = lower_dma(request, scope_);
    if (!config) return false;
    finish_move(from, to, std::move(*config), decl.delay, command);
    return true;
  }

  // Into a tile of a tensor that exists.
  bool move_into_view(const CommandDecl& decl, const DmaDecl& dma, Command& command) {
    const bool known = resolve(*decl.from, std::nullopt, "dma") != nullptr;
    if (resolve(*dma.to, std::nullopt, "dma") == nullptr || !known) return false;
    const auto from = source_view(*decl.from, decl.view, ViewUser::kDma);
    const auto to = view_of(latest_[dma.to->value], dma.to_view, PadKind::kBottom, ViewUser::kDma);
    if (!from || !to) return false;
    if (!check_moved_into(*from, *to, dma, decl.where)) return false;
    program_.tensors[*to].produced_by = command.id;
    return move_between(*from, *to, decl, dma, command);
  }

  bool check_moved_into(TensorId from, TensorId to, const DmaDecl& dma,
                        const SourceLocation& where) {
    const TensorVersion& source = program_.tensors[from];
    const TensorVersion& target = program_.tensors[to];
    if (target.memory == MemoryKind::kTrf || target.memory == MemoryKind::kVrf) {
      diagnostics_.error(dma.to->where,
                         fmt::format("dma: '{}' lies in {}; a dma command writes hbm, dm or host",
                                     dma.to->value, rngdsim::name(target.memory)),
                         fmt::format("a sub command stores into {}", rngdsim::name(target.memory)));
      return false;
    }
    bool good = check_host(source, target.memory, dma.to->value, where);
    if (source.dtype != target.dtype) {
      diagnostics_.error(
          dma.to->where,
          fmt::format("dma: '{}' is of {}, '{}' of {}", source.name, rngdsim::name(source.dtype),
                      target.name, rngdsim::name(target.dtype)),
          "a dma does not convert");
      good = false;
    }
    for (const AxisId axis :
         axes_of({&target.chip, &target.cluster, &target.slice, &target.element}, program_.axes)) {
      const auto has = [axis](const TensorVersion& tensor) {
        return std::find(tensor.logical.begin(), tensor.logical.end(), axis) !=
               tensor.logical.end();
      };
      if (!has(source) || has(target)) continue;
      diagnostics_.error(dma.to->where,
                         fmt::format("dma: '{}' depends on axis {}, '{}' does not", source.name,
                                     program_.axes.name(axis), target.name),
                         "name the axis in its 'logical'");
      good = false;
    }
    return good;
  }

  // One move of a shuffle: a tile of clusters to another one. Chips: there is one.
  bool shuffle(const CommandDecl& decl, const DmaDecl& dma, const DmaDecl::Shuffle& what,
               Command& command) {
    const bool first = what.target == 0;
    if (resolve(*decl.from, std::nullopt, "dma") == nullptr) return false;
    if (!first && resolve(*dma.to, std::nullopt, "dma") == nullptr) return false;
    const auto source = source_view(*decl.from, decl.view, ViewUser::kDma);
    if (!source || !check_shuffle(program_.tensors[*source], what)) return false;
    const auto to = first ? shuffled_tensor(*source, dma, command) : latest_[dma.to->value];
    if (!to) return false;
    latest_[dma.to->value] = *to;
    if (what.of == DmaDecl::Shuffle::Of::kChip) {
      return move_between(*source, *to, decl, dma, command);
    }
    const Declared clusters{program_.tensors[*source].cluster, what.where};
    TileDecl tile;
    tile.where = tile.length.where = what.source.where;
    tile.length.value = 1;
    tile.start = what.source;
    const auto from = tile_of(*source, clusters, tile, PadKind::kTop, ViewUser::kDma);
    tile.start = {what.target, what.source.where};
    const auto target = tile_of(*to, clusters, tile, PadKind::kBottom, ViewUser::kDma);
    if (!from || !target) return false;
    program_.tensors[*target].produced_by = command.id;
    return move_between(*from, *target, decl, dma, command);
  }

  // The pattern names clusters or chips, as many as there are.
  bool check_shuffle(const TensorVersion& source, const DmaDecl::Shuffle& what) {
    const bool clusters = what.of == DmaDecl::Shuffle::Of::kCluster;
    const char* parts = clusters ? "clusters" : "chips";
    const auto fail = [&](const SourceLocation& where, const std::string& message,
                          const std::string& hint) {
      diagnostics_.error(where, "dma: " + message, hint);
      return false;
    };
    if (clusters && source.memory != MemoryKind::kDm) {
      return fail(what.where,
                  fmt::format("'{}' lies in {}, which has no clusters", source.name,
                              rngdsim::name(source.memory)),
                  "clusters are shuffled in dm");
    }
    const uint64_t count = clusters ? program_.limits.clusters : 1;
    if (what.length != count) {
      return fail(
          what.where,
          fmt::format("a pattern of {} for {} {}", what.length, count, count == 1 ? "chip" : parts),
          clusters ? "name for each cluster of the destination one of the source"
                   : "one chip is simulated: chip_shuffle: [0]");
    }
    if (what.source.value >= count) {
      return fail(
          what.source.where,
          fmt::format("{} {} of {}", clusters ? "cluster" : "chip", what.source.value, count),
          clusters ? "they are counted from 0" : "one chip is simulated: chip_shuffle: [0]");
    }
    if (!clusters) return true;
    const std::vector<Node> nodes = source.cluster.normalized().nodes();
    if (nodes.size() == 1 && nodes[0].kind == Node::Kind::kDigit && nodes[0].live == count &&
        nodes[0].size == count) {
      return true;
    }
    return fail(what.where,
                fmt::format("Cluster of '{}' is '{}'; what is shuffled is an axis, or a part of "
                            "one, with {} positions",
                            source.name, scope_.text(source.cluster), count),
                "a tensor of one cluster is moved by a dma without shuffle");
  }

  // As the source, in the same memory.
  std::optional<TensorId> shuffled_tensor(TensorId source, const DmaDecl& dma,
                                          const Command& command) {
    const TensorVersion of = program_.tensors[source];
    const Spatial space{of.chip, of.cluster, of.slice};
    const Declared element{of.element, dma.to->where};
    DmaDecl made = dma;
    made.memory = of.memory;
    const auto id = moved_tensor(source, std::nullopt, made, space, element, command);
    if (!id || !place_moved(program_.tensors[*id], dma, command)) return std::nullopt;
    return id;
  }

  // What the host's memory exchanges with others [B: with HBM].
  bool check_host(const TensorVersion& from, MemoryKind to, const std::string& to_name,
                  const SourceLocation& where) {
    const bool from_host = from.memory == MemoryKind::kHost;
    const bool to_host = to == MemoryKind::kHost;
    if (from_host && to_host) {
      diagnostics_.error(where,
                         fmt::format("dma: '{}' and '{}' both lie in the host; a dma engine moves "
                                     "between the host and the chip",
                                     from.name, to_name),
                         "move it to hbm and back, or declare it as it is wanted");
      return false;
    }
    if ((from_host && to == MemoryKind::kDm) || (to_host && from.memory == MemoryKind::kDm)) {
      diagnostics_.warning(where,
                           fmt::format("dma: {} to {}; the documents know moves of the host to and "
                                       "from hbm only",
                                       rngdsim::name(from.memory), rngdsim::name(to)),
                           "move it through hbm");
    }
    return true;
  }

  bool lies_in_hbm(const Located<std::string>& tensor) {
    return program_.tensors[latest_[tensor.value]].memory == MemoryKind::kHbm;
  }

  // What an index chooses; nothing after an error.
  std::optional<DmaConfig::Indexed> rows_of(const CommandDecl& decl, const DmaDecl& dma,
                                            const Spatial& space, const Declared& element) {
    const TensorVersion& from = program_.tensors[latest_[decl.from->value]];
    const TensorId index = latest_[dma.index->value];
    DmaRowsRequest request{from, program_.tensors[index], dma.to->value, dma.memory, {}};
    request.scaled = dma.scaled->value;
    request.where = decl.where;
    request.index_where = dma.index->where;
    request.scaled_where = dma.scaled->where;
    if (is_scatter(dma) && from.memory != MemoryKind::kHbm) {
      request.target = &program_.tensors[latest_[dma.to->value]];
      request.to_axes = request.target->logical;
      if (!check_scattered(from, *request.target, dma, element)) return std::nullopt;
    } else {
      request.to_axes =
          axes_of({&space.chip, &space.cluster, &space.slice, &element.mapping}, program_.axes);
    }
    auto indexed = choose_rows(request, scope_);
    if (indexed) indexed->index = index;
    return indexed;
  }

  // The tensor that is changed must be as the command says, and take what is moved.
  bool check_scattered(const TensorVersion& from, const TensorVersion& to, const DmaDecl& dma,
                       const Declared& element) {
    bool good = true;
    const auto differs = [&](const SourceLocation& where, const std::string& message,
                             const std::string& hint) {
      diagnostics_.error(where, "dma: " + message, hint);
      good = false;
    };
    if (to.memory != MemoryKind::kHbm) {
      differs(dma.to->where,
              fmt::format("'{}' lies in {}, not in hbm", to.name, rngdsim::name(to.memory)),
              "a scatter writes rows of a tensor in hbm");
      return false;
    }
    if (from.dtype != to.dtype) {
      differs(dma.to->where,
              fmt::format("'{}' is of {}, '{}' of {}", from.name, rngdsim::name(from.dtype),
                          to.name, rngdsim::name(to.dtype)),
              "a dma does not convert");
    }
    if (!scope_.same(element.mapping, to.element)) {
      differs(element.where,
              fmt::format("Element is '{}' (size {}), but that of '{}' is '{}' (size {})",
                          scope_.text(element.mapping), group_digits(element.mapping.size()),
                          to.name, scope_.text(to.element), group_digits(to.element.size())),
              "a scatter writes rows of a tensor that exists, as it lies");
    }
    if (dma.address) {
      differs(dma.address->where, fmt::format("'{}' lies at {} already", to.name, to.address),
              "leave the address out: a scatter writes rows of a tensor that exists");
    }
    return good;
  }

  // The new version that a dma writes, not placed yet; at its address where that is given.
  std::optional<TensorId> moved_tensor(TensorId from,
                                       const std::optional<DmaConfig::Indexed>& indexed,
                                       const DmaDecl& dma, const Spatial& space,
                                       const Declared& element, const Command& command) {
    const TensorVersion& source = program_.tensors[from];
    std::vector<AxisId> inputs = source.logical;
    if (indexed) {
      const std::vector<AxisId>& more = program_.tensors[indexed->index].logical;
      inputs.insert(inputs.end(), more.begin(), more.end());
    }
    StreamShape shape;
    shape.chip = space.chip;
    shape.cluster = space.cluster;
    shape.slice = space.slice;
    shape.dtype = source.dtype;
    const auto id = new_version(*dma.to, dma.memory, shape, Mapping(), element, command, inputs);
    if (!id) return std::nullopt;
    TensorVersion& tensor = program_.tensors[*id];
    if (dma.address) tensor.address = dma.address->value;
    const size_t before = diagnostics_.error_count();
    check_capacity(tensor, "dma", element.where);
    check_digits({&tensor.chip, &tensor.cluster, &tensor.slice, &tensor.element}, program_.axes,
                 element.where, fmt::format("dma: '{}'", tensor.name), diagnostics_);
    if (diagnostics_.error_count() != before) return std::nullopt;
    return id;
  }

  void finish_move(TensorId from, TensorId to, DmaConfig config, uint64_t delay, Command& command) {
    const TensorVersion& source = program_.tensors[from];
    const TensorVersion& target = program_.tensors[to];
    config.from = from;
    config.to = to;
    if (!target.view_of) latest_[target.name] = to;
    command.reads.push_back({source.memory, from, source.address, source.address + source.bytes});
    command.writes.push_back({target.memory, to, target.address, target.address + target.bytes});
    if (config.indexed) {
      const TensorVersion& index = program_.tensors[config.indexed->index];
      command.reads.push_back(
          {index.memory, config.indexed->index, index.address, index.address + index.bytes});
    }
    command.source.chip = source.chip;
    command.source.cluster = source.cluster;
    command.source.slice = source.slice;
    command.source.dtype = source.dtype;
    command.final_shape.chip = target.chip;
    command.final_shape.cluster = target.cluster;
    command.final_shape.slice = target.slice;
    command.final_shape.time = config.time;
    command.final_shape.packet = config.packet;
    command.final_shape.dtype = target.dtype;
    config.startup = startup_of(config, source.memory, target.memory, program_.limits);
    command.bound = dma_bound(config, source.memory, target.memory, delay, program_.limits);
    command.dma = std::move(config);
  }

  bool check_order(const CommandDecl& decl) {
    bool good = true;
    std::map<std::string, int> lines;
    const StageDecl* before = nullptr;
    for (const StageDecl& stage : decl.stages) {
      if (floats(stage.name)) {
        if (before == nullptr || !is_vector(before->name)) {
          diagnostics_.error(stage.where,
                             fmt::format("'{}' stands outside of a vector chain", stage.name),
                             "between the stages of a chain, behind vector_tag");
          good = false;
        }
        continue;
      }
      const auto [first, is_new] = lines.emplace(stage.name, stage.where.line);
      if (!is_new && !has_several_alus(stage.name)) {
        diagnostics_.error(stage.where,
                           fmt::format("stage '{}' appears twice in one chain (first in line {})",
                                       stage.name, first->second));
        good = false;
        continue;
      }
      // The inter-slice reducer may also come before the whole chain.
      const bool restarts = before != nullptr && before->name == "vector_inter_slice_reduce" &&
                            is_vector(stage.name) && reducer_is_first(decl);
      if (before != nullptr && (before->name == "to_trf" || before->name == "to_vrf")) {
        diagnostics_.error(stage.where, fmt::format("'{}' follows {}, which ends the chain",
                                                    stage.name, before->name));
        good = false;
      } else if (before != nullptr && !restarts &&
                 stage_rank(stage.name) < stage_rank(before->name)) {
        diagnostics_.error(
            stage.where,
            fmt::format("stage '{}' comes before '{}' in the pipeline", stage.name, before->name),
            "the order is " + order_text(is_vector(stage.name) && is_vector(before->name)));
        good = false;
      }
      before = &stage;
    }
    const std::string& first = decl.stages.front().name;
    if (decl.from && first != "fetch") {
      diagnostics_.error(decl.stages.front().where,
                         fmt::format("a chain that reads '{}' begins with 'fetch', not with '{}'",
                                     decl.from->value, first));
      good = false;
    }
    if (decl.stream &&
        std::find(entry_stages().begin(), entry_stages().end(), first) == entry_stages().end()) {
      diagnostics_.error(decl.stages.front().where,
                         fmt::format("a stream cannot enter at '{}'", first),
                         fmt::format("it can enter at {}", fmt::join(entry_stages(), ", ")));
      return false;
    }
    const bool vector = check_vector_order(decl, diagnostics_);
    return check_prerequisites(decl) && vector && good;
  }

  bool check_prerequisites(const CommandDecl& decl) {
    // stage -> the stage that must come before it in the same chain
    static const std::vector<std::pair<std::string, std::string>> kNeeds = {
        {"contract_packet", "contract_outer"},
        {"contract_time", "contract_packet"},
        {"contract_lane", "contract_time"},
        {"commit_cast", "commit_trim"},
        {"commit", "commit_trim"}};
    const auto listed = [&](const std::string& stage) {
      return std::any_of(decl.stages.begin(), decl.stages.end(),
                         [&](const StageDecl& s) { return s.name == stage; });
    };
    bool good = true;
    const auto needs_flits = [](const StageDecl& s) {
      return stage_rank(s.name) > stage_rank("collect");
    };
    if (stage_rank(decl.stages.front().name) < stage_rank("collect") && !listed("collect")) {
      const auto user = std::find_if(decl.stages.begin(), decl.stages.end(), needs_flits);
      if (user != decl.stages.end()) {
        diagnostics_.error(user->where, fmt::format("'{}' needs 'collect' before it", user->name),
                           fmt::format("collect makes flits of {} bytes of the packets",
                                       program_.limits.flit_bytes));
        return false;
      }
      const StageDecl& last = decl.stages.back();
      if (last.name == "switch") {
        diagnostics_.error(last.where, "'switch' needs 'collect' behind it",
                           "the Switch Engine hands its flits to the Collect Engine");
        return false;
      }
    }
    for (const StageDecl& stage : decl.stages) {
      for (const auto& [user, needed] : kNeeds) {
        if (stage.name != user || listed(needed)) continue;
        diagnostics_.error(stage.where, fmt::format("'{}' needs '{}' before it", user, needed),
                           needed == "commit_trim" ? "trim is mandatory: it says how many bytes of "
                                                     "a flit are written"
                                                   : "");
        good = false;
      }
      const bool behind = stage_rank(stage.name) > stage_rank("contract_lane");
      if (behind && listed("contract_outer") && !listed("contract_lane")) {
        diagnostics_.error(
            stage.where,
            fmt::format("'{}' takes flits; a contraction gives them after contract_lane",
                        stage.name));
        return false;
      }
    }
    return good;
  }

  // Whether the chain's first vector stage is the inter-slice reducer.
  static bool reducer_is_first(const CommandDecl& decl) {
    const auto first = std::find_if(decl.stages.begin(), decl.stages.end(),
                                    [](const StageDecl& s) { return is_vector(s.name); });
    return first != decl.stages.end() && first->name == "vector_inter_slice_reduce";
  }

  StageMappings parse_stage(const StageDecl& stage) {
    StageMappings mappings;
    mappings.time = parse(stage.time, mappings.failed);
    mappings.packet = parse(stage.packet, mappings.failed);
    mappings.lane = parse(stage.lane, mappings.failed);
    mappings.element = parse(stage.element, mappings.failed);
    mappings.slice = parse(stage.slice, mappings.failed);
    return mappings;
  }

  // True where the whole chain was lowered. Stages behind a faulty one are not judged, since its
  // stream is not known, but the texts and names in them are.
  bool lower_chain(const CommandDecl& decl, Command& command) {
    if (decl.memset && !check_memset(decl)) return false;
    const bool ordered = check_order(decl);
    StreamShape shape;
    bool entered = false;
    std::vector<StageMappings> mappings;
    for (const StageDecl& stage : decl.stages) mappings.push_back(parse_stage(stage));
    if (decl.stream) {
      entered = enter_stream(decl, command, shape);
    } else if (ordered) {
      entered = begin_fetch(decl, mappings.front(), command, shape);
    } else {
      resolve(*decl.from, MemoryKind::kDm, "from");
    }
    command.source = shape;
    chain_.reset();
    bool good = ordered && entered;
    for (size_t i = 0; i < decl.stages.size(); ++i) {
      const StageDecl& stage = decl.stages[i];
      if (good) {
        good = !mappings[i].failed && lower_checked_stage(stage, mappings[i], command, shape);
      } else if (stage.with) {
        resolve(*stage.with, MemoryKind::kTrf, "contract_outer");
      }
    }
    command.final_shape = shape;
    if (good && chain_ && is_vector(decl.stages.back().name)) chain_->finish(shape, nullptr);
    if (good) command.carries_poison = carries_poison(decl, command);
    return good && !(chain_ && chain_->faulty()) && check_open_slots(command);
  }

  // It writes whole 8 bytes.
  bool check_memset(const CommandDecl& decl) {
    const auto element = parse(*decl.memset);
    if (!element) return false;
    const uint64_t bits =
        element->mapping.size() * static_cast<uint64_t>(memory_bits(decl.stream->dtype));
    if (bits % 64 == 0) return true;
    diagnostics_.error(
        element->where,
        fmt::format("memset: writes 8 bytes at a time; '{}' takes {}",
                    scope_.text(element->mapping),
                    bytes_text(decl.stream->dtype, element->mapping.size())),
        fmt::format("pad it: # {}", (bits + 63) / 64 * 64 /
                                        static_cast<uint64_t>(memory_bits(decl.stream->dtype))));
    return false;
  }

  // Without contract_lane, whose mode would decide, a slot is all lanes of a result.
  bool check_open_slots(const Command& command) {
    if (!command.time_reduce || command.lane_fold) return true;
    const uint64_t cells = program_.limits.lanes * command.packet_reduce->columns;
    return check_slots(*command.time_reduce, cells, "contract_time", "a chain that ends here",
                       "move the reduced term inwards in Time, or reduce more of the packet",
                       command.stages.back().where, scope_);
  }

  bool lower_checked_stage(const StageDecl& stage, const StageMappings& mappings, Command& command,
                           StreamShape& shape) {
    if (stage.name != "fetch") {
      const bool leaves = chain_ && !is_vector(stage.name) && is_vector(command.stages.back().name);
      if (leaves) chain_->finish(shape, &stage);
      if (chain_ && chain_->faulty() && !is_vector(stage.name)) return false;
      const Mapping& time = mappings.time ? mappings.time->mapping : shape.time;
      const Mapping& packet = mappings.packet ? mappings.packet->mapping : shape.packet;
      if (!check_positions(time, packet, shape.lane, stage.where, stage.name)) return false;
      if (!lower_stage(stage, mappings, command, shape)) return false;
    }
    const size_t before = diagnostics_.error_count();
    check_digits(
        {&shape.chip, &shape.cluster, &shape.slice, &shape.lane, &shape.time, &shape.packet},
        program_.axes, stage.where, fmt::format("the stream after {}", stage.name), diagnostics_);
    if (diagnostics_.error_count() != before) return false;
    command.stages.push_back({stage.name, stage.where, shape});
    return true;
  }

  // A bound of ours: longer commands could not be simulated, and counts derived from it fit 64
  // bits.
  bool check_positions(const Mapping& time, const Mapping& packet, const Mapping& lane,
                       const SourceLocation& where, const std::string& stage) {
    if (packet.size() <= kMaxStreamPositions / lane.size() &&
        time.size() <= kMaxStreamPositions / lane.size() / packet.size()) {
      return true;
    }
    diagnostics_.error(
        where, fmt::format("{}: a stream has at most {} positions a slice; Time has {} and "
                           "Packet {}",
                           stage, group_digits(kMaxStreamPositions), group_digits(time.size()),
                           group_digits(packet.size())));
    return false;
  }

  bool enter_stream(const CommandDecl& decl, Command& command, StreamShape& shape) {
    const StreamDecl& stream = *decl.stream;
    bool failed = false;
    const auto space = spatial(stream.chip, stream.cluster, stream.slice, stream.where,
                               decl.memset ? "memset" : "stream");
    const auto time = parse(stream.time, failed);
    const auto packet = parse(stream.packet, failed);
    if (!stream.packet) {
      diagnostics_.error(stream.where, "stream: packet is missing");
      failed = true;
    }
    if (!space || failed) return false;
    shape.chip = space->chip;
    shape.cluster = space->cluster;
    shape.slice = space->slice;
    if (time) shape.time = time->mapping;
    shape.packet = packet->mapping;
    shape.dtype = stream.dtype;
    const size_t before = diagnostics_.error_count();
    check_digits({&shape.chip, &shape.cluster, &shape.slice, &shape.time, &shape.packet},
                 program_.axes, stream.where, "stream", diagnostics_);
    if (bytes_of(shape.dtype, shape.packet.size()) > kMaxStreamPacketBytes) {
      diagnostics_.error(packet->where,
                         fmt::format("stream: a packet has at most {} bytes; '{}' is {}",
                                     group_digits(kMaxStreamPacketBytes), scope_.text(shape.packet),
                                     bytes_text(shape.dtype, shape.packet.size())));
    }
    check_positions(shape.time, shape.packet, Mapping(), stream.where, "stream");
    if (diagnostics_.error_count() != before) return false;
    StreamEntryConfig config;
    config.init = stream.init;
    config.items = shape.time.size();
    config.logical = axes_of(
        {&shape.chip, &shape.cluster, &shape.slice, &shape.time, &shape.packet}, program_.axes);
    command.stream = config;
    command.entry_stage = decl.stages.front().name;
    return true;
  }

  bool begin_fetch(const CommandDecl& decl, const StageMappings& mappings, Command& command,
                   StreamShape& shape) {
    const StageDecl& stage = decl.stages.front();
    const TensorVersion* tensor = resolve(*decl.from, MemoryKind::kDm, "from");
    if (tensor == nullptr) return false;
    const auto source =
        decl.second ? pair_of(decl) : source_view(*decl.from, decl.view, ViewUser::kTensorUnit);
    if (!source || mappings.failed || !mappings.packet) return false;
    tensor = &program_.tensors[*source];
    const Declared fetch_time = mappings.time ? *mappings.time : Declared{Mapping(), stage.where};
    const Declared& packet = *mappings.packet;
    shape.chip = tensor->chip;
    shape.cluster = tensor->cluster;
    shape.slice = tensor->slice;
    shape.time = fetch_time.mapping;
    shape.packet = packet.mapping;
    shape.dtype = tensor->dtype;
    if (!check_positions(shape.time, shape.packet, Mapping(), stage.where, "fetch")) return false;
    const size_t before = diagnostics_.error_count();
    check_digits({&shape.chip, &shape.cluster, &shape.slice, &shape.time, &shape.packet},
                 program_.axes, stage.where, "fetch: the stream", diagnostics_);
    if (diagnostics_.error_count() != before) return false;
    if (!check_indices_exist({&shape.time, &shape.packet},
                             {&tensor->chip, &tensor->cluster, &tensor->slice, &tensor->element},
                             tensor->logical, "fetch", fmt::format("tensor '{}'", tensor->name),
                             stage.where, scope_)) {
      return false;
    }
    if (tensor->pair && !check_in_turn(*tensor, fetch_time)) return false;
    auto fetch = lower_fetch(tensor->element, tensor->dtype, command.context, fetch_time, packet,
                             widest_behind_fetch(decl), scope_);
    if (!fetch) return false;
    fetch->tensor = *source;
    const uint64_t last = last_byte(*fetch, *tensor);
    if (tensor->pair) take_in_turn(*tensor, *fetch);
    if (last > program_.limits.dm_bytes()) {
      diagnostics_.error(
          packet.where,
          fmt::format("fetch: '{}' at byte {} is read up to byte {} of a slice, past "
                      "the end of its data memory of {} bytes",
                      tensor->name, group_digits(tensor->address), group_digits(last),
                      group_digits(program_.limits.dm_bytes())),
          "padding innermost in a packet is read from memory; place the tensor lower");
      return false;
    }
    command.fetch = fetch;
    std::vector<TensorId> read = {fetch->tensor};
    if (tensor->pair) read = {*tensor->view_of, tensor->pair->second};
    for (const TensorId id : read) {
      const TensorVersion& part = program_.tensors[id];
      command.reads.push_back({MemoryKind::kDm, id, part.address, part.address + part.bytes});
    }
    return true;
  }

  // The widest type that the Fetch Adapter makes; nothing where it changes none.
  static std::optional<DType> widest_behind_fetch(const CommandDecl& decl) {
    std::optional<DType> widest;
    for (const StageDecl& stage : decl.stages) {
      if (stage.name != "fetch_table_lookup" && stage.name != "fetch_cast") continue;
      if (!stage.dtype) continue;
      const DType made = stage.dtype->value;
      if (!widest || memory_bits(made) > memory_bits(*widest)) widest = made;
    }
    return widest;
  }

  bool look_up(const StageDecl& stage, Command& command, StreamShape& shape) {
    if (!take(lower_table_lookup(shape, *stage.dtype, scope_), command.table_lookup, shape)) {
      return false;
    }
    TableLookupConfig& lookup = *command.table_lookup;
    const uint64_t elements =
        command.fetch ? command.fetch->access_elements : command.source.packet.size();
    lookup.item_bytes = bytes_of(lookup.to, elements);
    lookup.items = command.fetch ? command.fetch->accesses : command.stream->items;
    return true;
  }

  // From the first item that the table takes to the last one, both included.
  static uint64_t lookup_cycles(const TableLookupConfig& lookup, const MachineLimits& limits) {
    const uint64_t work = (lookup.items - 1) * lookup.item_bytes * limits.lookup_cycles;
    const uint64_t rate = limits.lookup_flits * limits.flit_bytes;
    return (work + rate - 1) / rate + 1;
  }

  // Of two tensors, in turn as the mapping has them: of the one that lies higher.
  uint64_t last_byte(const FetchConfig& fetch, const TensorVersion& tensor) const {
    uint64_t reach = 0, begin = tensor.address;
    if (tensor.pair) begin = std::max(begin, program_.tensors[tensor.pair->second].address);
    for (const SequencerEntry& entry : fetch.sequencer.entries) {
      if (tensor.pair && entry.stride == mapped_step(tensor)) continue;
      reach += (entry.size - 1) * static_cast<uint64_t>(entry.stride);
    }
    return begin + bytes_of(tensor.dtype, reach + 1);
  }

  // ---- Two tensors in turn --------------------------------------------------------------------

  // From the first tensor to the second, in elements.
  int64_t pair_step(const TensorVersion& pair) const {
    const auto bits = static_cast<int64_t>(memory_bits(pair.dtype));
    const auto bytes = static_cast<int64_t>(program_.tensors[pair.pair->second].address) -
                       static_cast<int64_t>(pair.address);
    return bytes * 8 / bits;
  }

  // The same in the Element of the pair. Views of one tensor may lie closer than their Element is
  // long; then the mapping has them farther apart, where no other loop steps.
  static int64_t mapped_step(const TensorVersion& pair) {
    return static_cast<int64_t>(pair.element.size() / 2);
  }

  std::optional<TensorId> pair_of(const CommandDecl& decl) {
    const Located<std::string>& second = *decl.second;
    const Located<std::string>& interleave = *decl.interleave;
    if (resolve(second, MemoryKind::kDm, "from") == nullptr) return std::nullopt;
    const auto one_id = source_view(*decl.from, decl.view, ViewUser::kTensorUnit);
    const auto other_id = source_view(second, decl.second_view, ViewUser::kTensorUnit);
    if (!one_id || !other_id) return std::nullopt;
    const TensorId ids[] = {*one_id, *other_id};
    const TensorVersion& a = program_.tensors[ids[0]];
    const TensorVersion& b = program_.tensors[ids[1]];
    const auto axis = interleave_axis(interleave);
    bool good = axis.has_value();
    const auto differs = [&](const std::string& message) {
      diagnostics_.error(second.where, "from: " + message, "two tensors in turn are mapped alike");
      good = false;
    };
    if (a.address == b.address) {  // tensors that are read lie apart
      differs(a.name == b.name
                  ? fmt::format("'{}' is given twice", a.name)
                  : fmt::format("'{}' and '{}' begin at the same byte", a.name, b.name));
      return std::nullopt;
    }
    if (a.dtype != b.dtype) {
      differs(
          fmt::format("'{}' is of {}, '{}' of {}", a.name, name(a.dtype), b.name, name(b.dtype)));
    }
    const std::tuple<const char*, const Mapping*, const Mapping*> dimensions[] = {
        {"Chip", &a.chip, &b.chip},
        {"Cluster", &a.cluster, &b.cluster},
        {"Slice", &a.slice, &b.slice},
        {"Element", &a.element, &b.element}};
    for (const auto& [dimension, one, other] : dimensions) {
      if (scope_.same(*one, *other)) continue;
      differs(fmt::format("{} of '{}' is '{}', that of '{}' is '{}'", dimension, a.name,
                          scope_.text(*one), b.name, scope_.text(*other)));
    }
    if (a.logical != b.logical) {
      differs(fmt::format("'{}' and '{}' do not depend on the same axes", a.name, b.name));
    }
    const std::vector<AxisId> held =
        axes_of({&a.chip, &a.cluster, &a.slice, &a.element}, program_.axes);
    if (axis && std::find(held.begin(), held.end(), *axis) != held.end()) {
      diagnostics_.error(
          interleave.where,
          fmt::format("interleave: '{}' has axis {} already", a.name, interleave.value),
          "it tells the two tensors apart; declare one of its own");
      good = false;
    }
    if (!good) return std::nullopt;
    TensorVersion pair = a;
    pair.name = fmt::format("{}, {}", a.name, b.name);
    pair.where = decl.from->where;
    pair.view_of = ids[0];
    pair.tile = Tile();
    pair.reshaped = false;
    pair.pair = TensorVersion::Pair{ids[1], *axis};
    uint64_t step = static_cast<uint64_t>(std::abs(pair_step(pair)));
    if (step < a.element.size()) step = 2 * a.element.size();
    pair.element = Mapping::concat({Mapping::axis(*axis, 2), a.element.pad(step, PadKind::kTop)});
    pair.logical.push_back(*axis);
    std::sort(pair.logical.begin(), pair.logical.end());
    pair.init = InitSpec();
    pair.produced_by.reset();
    program_.tensors.push_back(std::move(pair));
    return static_cast<TensorId>(program_.tensors.size() - 1);
  }

  std::optional<AxisId> interleave_axis(const Located<std::string>& interleave) {
    const auto axis = program_.axes.find(interleave.value);
    if (!axis) {
      diagnostics_.error(interleave.where,
                         fmt::format("interleave: '{}' is not an axis", interleave.value));
      return std::nullopt;
    }
    if (program_.axes.size(*axis) != 2) {
      diagnostics_.error(interleave.where,
                         fmt::format("interleave: axis {} has size {}; two tensors are told apart "
                                     "by one of size 2",
                                     interleave.value, program_.axes.size(*axis)));
      return std::nullopt;
    }
    return axis;
  }

  // The axis of the two is the innermost of Time [B].
  bool check_in_turn(const TensorVersion& pair, const Declared& time) {
    const auto parts = time.mapping.split(2);
    if (parts && scope_.same(parts->second, Mapping::axis(pair.pair->axis, 2))) return true;
    diagnostics_.error(
        time.where,
        fmt::format("fetch: two tensors are read in turn, so that axis {} is innermost in Time; "
                    "Time is '{}'",
                    program_.axes.name(pair.pair->axis), scope_.text(time.mapping)));
    return false;
  }

  // From the step that the mapping has to that in memory, which may go down. No other loop of the
  // mapping steps as far.
  void take_in_turn(const TensorVersion& pair, FetchConfig& fetch) {
    for (SequencerEntry& entry : fetch.sequencer.entries) {
      if (entry.stride == mapped_step(pair)) entry.stride = pair_step(pair);
    }
    fetch.same_bank = longest_same_bank(fetch.sequencer, fetch.access_elements, pair.dtype,
                                        pair.address, program_.limits);
  }

  bool lower_stage(const StageDecl& stage, const StageMappings& mappings, Command& command,
                   StreamShape& shape) {
    const std::optional<Declared>& time = mappings.time;
    const std::optional<Declared>& packet = mappings.packet;
    const std::optional<Declared>& element = mappings.element;
    const Declared no_time{Mapping(), stage.where};
    if (stage.name == "fetch_table_lookup") return look_up(stage, command, shape);
    if (stage.name == "fetch_cast") {
      return take(lower_fetch_cast(shape, *stage.dtype, scope_), command.fetch_cast, shape);
    }
    if (stage.name == "fetch_zero_point_sub") {
      return take(lower_zero_point(shape, *stage.zero_point, stage.where, scope_),
                  command.fetch_zero_point, shape);
    }
    if (stage.name == "switch") return exchange(stage, mappings, command, shape);
    if (stage.name == "collect") {
      return take(lower_collect(shape, time, packet, stage.where, scope_), command.collect, shape);
    }
    if (stage.name == "to_trf") return store(stage, *mappings.lane, *element, command, shape);
    if (stage.name == "contract_outer") {
      return outer(stage, time ? *time : no_time, *packet, command, shape);
    }
    if (stage.name == "contract_packet") {
      return take(lower_packet_reduce(shape, *command.outer, *packet, scope_),
                  command.packet_reduce, shape);
    }
    if (stage.name == "contract_time") {
      return reduce_time(stage, time ? *time : no_time, command, shape);
    }
    if (stage.name == "contract_lane") {
      return take(lower_lane_fold(shape, *stage.mode, time, packet, *command.time_reduce, scope_),
                  command.lane_fold, shape);
    }
    if (is_vector(stage.name)) return vector(stage, mappings, command, shape);
    if (stage.name == "to_vrf") return store_in_vrf(stage, *element, command, shape);
    if (stage.name == "cast") {
      return take(lower_cast(shape, *stage.dtype, packet, scope_), command.cast, shape);
    }
    if (stage.name == "transpose") {
      return take(lower_transpose(shape, *time, *packet, stage.where, scope_), command.transpose,
                  shape);
    }
    if (stage.name == "commit_trim") {
      const auto after = lower_commit_trim(shape, *packet, scope_);
      if (!after) return false;
      command.commit_adapter.emplace();
      command.commit_adapter->trim_elements = packet->mapping.size();
      shape = *after;
      return true;
    }
    if (stage.name == "commit_cast") {
      const auto lowered = lower_commit_cast(shape, *stage.dtype, scope_);
      if (!lowered) return false;
      command.commit_adapter->cast = lowered->config;
      command.commit_adapter->relu = stage.relu && stage.relu->value;
      shape = lowered->after;
      return true;
    }
    if (!stage.view.empty()) return commit_into_view(stage, element, command, shape);
    return commit(stage, *element, command, shape);
  }

  template <typename Config>
  static bool take(const std::optional<LoweredStage<Config>>& lowered,
                   std::optional<Config>& config, StreamShape& shape) {
    if (!lowered) return false;
    config = lowered->config;
    shape = lowered->after;
    return true;
  }

  bool exchange(const StageDecl& stage, const StageMappings& mappings, Command& command,
                StreamShape& shape) {
    const SwitchStage config{stage.switching, mappings.slice, mappings.time, stage.where};
    if (!take(lower_switch(shape, config, scope_), command.switching, shape)) return false;
    return check_positions(shape.time, shape.packet, Mapping(), stage.where, stage.name);
  }

  bool store(const StageDecl& stage, const Declared& lane, const Declared& element,
             Command& command, const StreamShape& shape) {
    auto config = lower_to_trf(shape, lane, element, stage.where, scope_);
    if (!config) return false;
    const auto id = new_version(*stage.to, MemoryKind::kTrf, shape, lane.mapping, element, command);
    if (!id) return false;
    config->tensor = *id;
    if (!place_in_trf(*id, static_cast<ptrdiff_t>(command.id), stage.region)) return false;
    latest_[stage.to->value] = *id;
    command.to_trf = config;
    command.writes.push_back(trf_footprint(program_.tensors[*id], *id));
    return true;
  }

  bool outer(const StageDecl& stage, const Declared& time, const Declared& packet, Command& command,
             StreamShape& shape) {
    const TensorVersion* trf = resolve(*stage.with, MemoryKind::kTrf, "contract_outer");
    if (trf == nullptr) return false;
    const auto lowered = lower_outer(shape, *trf, time, packet, stage.where, scope_);
    if (!lowered) return false;
    const std::vector<const Mapping*> made = {&trf->lane, &time.mapping, &packet.mapping};
    if (!check_indices_exist(
            made, {&shape.chip, &shape.cluster, &shape.slice, &shape.time, &shape.packet},
            stream_axes(command), "contract_outer", "the stream", time.where, scope_) ||
        !check_indices_exist(
            made, {&trf->chip, &trf->cluster, &trf->slice, &trf->lane, &trf->element}, trf->logical,
            "contract_outer", fmt::format("'{}'", trf->name), time.where, scope_)) {
      return false;
    }
    command.outer = lowered->config;
    command.outer->trf = latest_[stage.with->value];
    shape = lowered->after;
    command.reads.push_back(trf_footprint(*trf, command.outer->trf));
    command.mac_useful = count_live(
        {&shape.chip, &shape.cluster, &shape.slice, &shape.lane, &shape.time, &shape.packet},
        program_.axes);
    return true;
  }

  bool vector(const StageDecl& stage, const StageMappings& mappings, Command& command,
              StreamShape& shape) {
    if (!chain_) {
      command.vector.emplace();
      chain_.emplace(*command.vector, shape, scope_, program_.tensors,
                     [this](const Located<std::string>& name) -> std::optional<TensorId> {
                       if (resolve(name, MemoryKind::kVrf, "operand") == nullptr) {
                         return std::nullopt;
                       }
                       return latest_[name.value];
                     });
    }
    const size_t operands = chain_->operands().size();
    const bool known = chain_->lower(stage, mappings, shape);
    for (size_t i = operands; i < chain_->operands().size(); ++i) {
      const TensorId id = chain_->operands()[i];
      command.reads.push_back(vrf_footprint(program_.tensors[id], id));
    }
    return known;
  }

  static Footprint vrf_footprint(const TensorVersion& tensor, TensorId id) {
    return {MemoryKind::kVrf, id, tensor.address, tensor.address + tensor.bytes};
  }

  bool store_in_vrf(const StageDecl& stage, const Declared& element, Command& command,
                    const StreamShape& shape) {
    if (command.lane_fold && !command.vector) {
      diagnostics_.error(stage.where, "to_vrf: the result of a contraction does not go there",
                         "let a vector chain follow it: vector_tag: {mode: zero}");
      return false;
    }
    const auto& stages = command.stages;
    if (std::any_of(stages.begin(), stages.end(),
                    [](const StageRecord& s) { return s.name == "vector_filter"; })) {
      diagnostics_.error(stage.where, "to_vrf: a filter leaves elements out of a commit alone",
                         "commit the stream, or leave vector_filter out");
      return false;
    }
    auto config = lower_to_vrf(shape, element, stage.where, scope_);
    if (!config) return false;
    const auto id = new_version(*stage.to, MemoryKind::kVrf, shape, Mapping(), element, command);
    if (!id) return false;
    TensorVersion& tensor = program_.tensors[*id];
    const size_t before = diagnostics_.error_count();
    const auto now = static_cast<ptrdiff_t>(command.id);
    vrf_placement_.place(tensor, now, last_use(tensor.name, now), diagnostics_);
    if (diagnostics_.error_count() != before) return false;
    config->tensor = *id;
    latest_[stage.to->value] = *id;
    command.to_vrf = config;
    command.writes.push_back(vrf_footprint(tensor, *id));
    return true;
  }

  bool reduce_time(const StageDecl& stage, const Declared& time, Command& command,
                   StreamShape& shape) {
    if (!take(lower_time_reduce(shape, time, scope_), command.time_reduce, shape)) return false;
    const auto outer = std::find_if(command.stages.begin(), command.stages.end(),
                                    [](const auto& s) { return s.name == "contract_outer"; });
    warn_of_summed_padding(outer->after, program_.tensors[command.outer->trf], *command.outer,
                           *command.packet_reduce, *command.time_reduce, stage.where, scope_);
    return true;
  }

  // What is read of a tensor.
  std::optional<TensorId> source_view(const Located<std::string>& tensor,
                                      const std::vector<TileDecl>& tiles, ViewUser user) {
    return view_of(latest_[tensor.value], tiles, PadKind::kTop, user);
  }

  // The version itself where there are no tiles, else a view of it, each tile taken of the one
  // before. Nothing after an error.
  std::optional<TensorId> view_of(TensorId id, const std::vector<TileDecl>& tiles, PadKind outside,
                                  ViewUser user) {
    for (const TileDecl& tile : tiles) {
      if (tile.kind != TileDecl::Kind::kTile) {
        const auto relabelled = relabel(id, tile, outside == PadKind::kBottom);
        if (!relabelled) return std::nullopt;
        id = *relabelled;
        continue;
      }
      const auto axis = parse(tile.axis);
      if (!axis) return std::nullopt;
      const auto view = tile_of(id, *axis, tile, outside, user);
      if (!view) return std::nullopt;
      id = *view;
    }
    return id;
  }

  std::optional<TensorId> tile_of(TensorId id, const Declared& axis, const TileDecl& tile,
                                  PadKind outside, ViewUser user) {
    const auto lowered =
        lower_view(program_.tensors[id], axis, tile.start, tile.length, outside, user, scope_);
    if (!lowered) return std::nullopt;
    TensorVersion view = program_.tensors[id];
    const bool tile_of_tile = view.view_of.has_value();  // "x[I / 4: 0, J / 16: 2]"
    if (tile_of_tile) view.name.pop_back();
    view.name += fmt::format(
        "{}{}: {}{}]", tile_of_tile ? ", " : "[", scope_.text(axis.mapping), tile.start.value,
        tile.length.value == 1 ? "" : fmt::format("-{}", tile.start.value + tile.length.value - 1));
    view.where = tile.where;
    view.view_of = id;
    view.tile = lowered->tile;
    view.reshaped = false;
    view.cluster = lowered->cluster;
    view.slice = lowered->slice;
    view.element = lowered->element;
    view.first_slice += lowered->first_slice;
    view.init = InitSpec();
    view.produced_by.reset();
    const uint64_t bits = lowered->first_element * static_cast<uint64_t>(memory_bits(view.dtype));
    // Data memory is written 8 bytes at a time; a read may begin at any byte.
    const bool in_units = outside == PadKind::kBottom && view.memory == MemoryKind::kDm;
    const uint64_t unit = in_units ? program_.limits.dm_bank_bytes : 1;
    if (bits % (8 * unit) != 0) {
      diagnostics_.error(
          tile.start.where,
          fmt::format("view: '{}' begins {} bits into '{}', which is no multiple of {} byte{}",
                      view.name, group_digits(bits), program_.tensors[id].name, unit,
                      unit == 1 ? "" : "s"),
          "pad the rows of the tensor");
      return std::nullopt;
    }
    view.address += bits / 8;
    view.bytes = bytes_of(view.dtype, lowered->extent);
    program_.tensors.push_back(std::move(view));
    return static_cast<TensorId>(program_.tensors.size() - 1);
  }

  // A reshape, a pad or an unpad: other mappings of the same bytes.
  std::optional<TensorId> relabel(TensorId id, const TileDecl& decl, bool written) {
    bool failed = false;
    ReshapeRequest request;
    request.chip = parse(decl.chip, failed);
    request.cluster = parse(decl.cluster, failed);
    request.slice = parse(decl.slice, failed);
    request.element = parse(decl.element, failed);
    request.where = decl.where;
    request.written = written;
    if (failed) return std::nullopt;
    const TensorVersion& of = program_.tensors[id];
    TensorVersion view = of;
    const char* what = "reshape";
    if (decl.kind == TileDecl::Kind::kReshape) {
      auto reshaped = lower_reshape(of, request, scope_);
      if (!reshaped) return std::nullopt;
      view = std::move(*reshaped);
    } else {
      const bool unpad = decl.kind == TileDecl::Kind::kUnpad;
      what = unpad ? "unpad" : "pad";
      const auto element = lower_pad(of, *request.element, unpad, written, scope_);
      if (!element) return std::nullopt;
      view.element = *element;
      view.reshaped = false;
    }
    if (of.view_of) view.name.pop_back();
    view.name += fmt::format("{}{}]", of.view_of ? ", " : "[", what);
    view.where = decl.where;
    view.view_of = id;
    view.tile = Tile();
    view.init = InitSpec();
    view.produced_by.reset();
    view.bytes = bytes_of(view.dtype, live_extent(view.element));
    if (!ends_in_memory(view, decl.where)) return std::nullopt;
    program_.tensors.push_back(std::move(view));
    return static_cast<TensorId>(program_.tensors.size() - 1);
  }

  // With its padding.
  bool ends_in_memory(const TensorVersion& view, const SourceLocation& where) {
    const uint64_t room = view.memory == MemoryKind::kDm    ? program_.limits.dm_bytes()
                          : view.memory == MemoryKind::kHbm ? program_.limits.hbm_bytes
                                                            : program_.limits.host_bytes;
    const uint64_t end = view.address + bytes_of(view.dtype, view.element.size());
    if (end <= room) return true;
    diagnostics_.error(where,
                       fmt::format("view: '{}' at byte {} ends at byte {}, past the end of {} of "
                                   "{} bytes",
                                   view.name, group_digits(view.address), group_digits(end),
                                   name(view.memory), group_digits(room)),
                       "place the tensor lower");
    return false;
  }

  // Whether a chain moves a reshaped view and does nothing else with it.
  bool carries_poison(const CommandDecl& decl, const Command& command) const {
    if (!command.fetch || !(command.commit || command.to_trf)) return false;
    static const std::set<std::string> kMoves = {"fetch",     "switch",      "collect", "to_trf",
                                                 "transpose", "commit_trim", "commit"};
    const auto moves = [](const StageDecl& stage) { return kMoves.count(stage.name) != 0; };
    if (!std::all_of(decl.stages.begin(), decl.stages.end(), moves)) return false;
    for (std::optional<TensorId> id = command.fetch->tensor; id;
         id = program_.tensors[*id].view_of) {
      if (program_.tensors[*id].reshaped) return true;
    }
    return false;
  }

  // The tensor that is changed must be as the stream is.
  bool check_view(const StageDecl& stage, const TensorVersion& view, const Command& command,
                  const StreamShape& shape) {
    bool good = true;
    const auto differs = [&](const std::string& message, const std::string& hint = "") {
      diagnostics_.error(stage.to->where, "commit: " + message, hint);
      good = false;
    };
    if (view.dtype != shape.dtype) {
      differs(fmt::format("the stream is of {}, '{}' of {}", name(shape.dtype), stage.to->value,
                          name(view.dtype)));
    }
    const std::tuple<const char*, const Mapping*, const Mapping*> dimensions[] = {
        {"Chip", &shape.chip, &view.chip},
        {"Cluster", &shape.cluster, &view.cluster},
        {"Slice", &shape.slice, &view.slice}};
    for (const auto& [dimension, stream, tensor] : dimensions) {
      if (scope_.same(*stream, *tensor)) continue;
      differs(fmt::format("{} of the stream is '{}', that of '{}' is '{}'", dimension,
                          scope_.text(*stream), stage.to->value, scope_.text(*tensor)));
    }
    const std::vector<AxisId> inputs = input_axes(command);
    for (const AxisId axis :
         axes_of({&shape.chip, &shape.cluster, &shape.slice, &shape.time, &shape.packet},
                 program_.axes)) {
      const auto has = [axis](const std::vector<AxisId>& axes) {
        return std::find(axes.begin(), axes.end(), axis) != axes.end();
      };
      if (!has(inputs) || has(view.logical)) continue;
      differs(fmt::format("the stream depends on axis {}, '{}' does not", program_.axes.name(axis),
                          stage.to->value),
              "name the axis in its 'logical'");
    }
    return good;
  }

  bool commit_into_view(const StageDecl& stage, const std::optional<Declared>& element,
                        Command& command, const StreamShape& shape) {
    if (resolve(*stage.to, MemoryKind::kDm, "commit") == nullptr) return false;
    const auto id =
        view_of(latest_[stage.to->value], stage.view, PadKind::kBottom, ViewUser::kTensorUnit);
    if (!id) return false;
    TensorVersion& view = program_.tensors[*id];
    if (!check_view(stage, view, command, shape)) return false;
    if (element && !scope_.same(element->mapping, view.element)) {
      diagnostics_.error(
          element->where,
          fmt::format("commit: Element is '{}' (size {}), but that of '{}' is '{}' "
                      "(size {})",
                      scope_.text(element->mapping), group_digits(element->mapping.size()),
                      view.name, scope_.text(view.element), group_digits(view.element.size())),
          "leave it out: a view has the Element of its tensor");
      return false;
    }
    auto config =
        lower_commit(shape, {view.element, stage.where}, command.context, stage.where, scope_);
    if (!config) return false;
    config->tensor = *id;
    view.produced_by = command.id;
    command.commit = config;
    command.writes.push_back({MemoryKind::kDm, *id, view.address, view.address + view.bytes});
    return true;
  }

  bool commit(const StageDecl& stage, const Declared& element, Command& command,
              const StreamShape& shape) {
    auto config = lower_commit(shape, element, command.context, stage.where, scope_);
    if (!config) return false;
    const auto id = new_version(*stage.to, MemoryKind::kDm, shape, Mapping(), element, command);
    if (!id) return false;
    TensorVersion& tensor = program_.tensors[*id];
    const size_t before = diagnostics_.error_count();
    check_digits({&tensor.chip, &tensor.cluster, &tensor.slice, &tensor.element}, program_.axes,
                 element.where, fmt::format("commit: '{}'", tensor.name), diagnostics_);
    const auto now = static_cast<ptrdiff_t>(command.id);
    placement_.place(tensor, now, last_use(tensor.name, now), diagnostics_);
    if (diagnostics_.error_count() != before) return false;
    config->tensor = *id;
    latest_[stage.to->value] = *id;
    command.commit = config;
    command.writes.push_back({MemoryKind::kDm, *id, tensor.address, tensor.address + tensor.bytes});
    return true;
  }

  // ---- What follows from a lowered chain ------------------------------------------------------

  void finish_command(const CommandDecl& decl, Command& command) {
    command.label = decl.label ? *decl.label : default_label(decl, command);
    if (decl.dma) return;
    if (command.stages.size() != decl.stages.size()) return;  // errors were reported
    const StreamShape& shape = command.final_shape;
    command.live_slices = count_live({&shape.chip, &shape.cluster, &shape.slice}, program_.axes);
    command.clusters_used = clusters_with_data(shape.cluster);
    if (command.outer) {
      command.mac_issued = command.outer->packets * command.outer->slots * command.outer->lanes *
                           program_.limits.slices * command.clusters_used;
    }
    set_bound(command);
    judge_starvation(command);
  }

  // The 64-access rule of the data memory, as far as a command breaks it alone. Fetch asks once a
  // cycle; writes follow one another where nothing of the command takes longer.
  void judge_starvation(Command& command) {
    const uint64_t most = program_.limits.starvation_cycles;
    const auto judge = [&](const char* stage, const char* what, uint64_t same) {
      if (same < most) return;
      command.starves_dma = true;
      const auto record =
          std::find_if(command.stages.begin(), command.stages.end(),
                       [&](const StageRecord& given) { return given.name == stage; });
      diagnostics_.warning(
          record == command.stages.end() ? command.where : record->where,
          fmt::format(
              "{}: {} consecutive {} go to one bank; from {} on, a DMA that waits for it "
              "starves{}",
              stage, group_digits(same), what, most,
              program_.limits.starving_alone ? ", so that this command runs beside no DMA" : ""),
          "order the time loops so that neighbouring accesses differ in address bits 3 to 6");
    };
    if (command.fetch) judge("fetch", "accesses", command.fetch->same_bank);
    const bool write_after_write =
        command.bound.cycles == command.bound.overhead + command.bound.writes;
    if (command.commit && write_after_write) judge("commit", "writes", command.commit->same_bank);
  }

  uint64_t clusters_with_data(const Mapping& cluster) const {
    uint64_t used = 1;
    for (uint64_t c = 0; c < cluster.size(); ++c) {
      if (cluster.cell(c, program_.axes).live) used = c + 1;
    }
    return used;
  }

  std::string default_label(const CommandDecl& decl, const Command& command) const {
    std::string label = decl.from ? decl.from->value : "stream";
    if (command.fetch) label = program_.tensors[command.fetch->tensor].name;
    if (decl.dma) {
      const std::string rows = decl.dma->index ? "[" + decl.dma->index->value + "]" : "";
      std::string dma_to = decl.dma->to ? decl.dma->to->value : "";
      if (command.dma && !command.dma->indexed) {  // views with their tiles
        label = program_.tensors[command.dma->from].name;
        dma_to = program_.tensors[command.dma->to].name;
      }
      return is_scatter(*decl.dma) ? label + " -> " + dma_to + rows
                                   : label + rows + " -> " + dma_to;
    }
    std::string to = "sink";
    for (const StageDecl& stage : decl.stages) {
      if (stage.with) label += " x " + stage.with->value;
      if (stage.to) to = stage.to->value;
    }
    if (command.commit) to = program_.tensors[command.commit->tensor].name;
    return label + " -> " + to;
  }

  void set_bound(Command& command) const {
    LowerBound& bound = command.bound;
    command.overhead = delay_ + overhead_of(command, program_.limits);
    // The bitmap is loaded while nothing is fetched yet.
    if (command.switching) {
      command.overhead = std::max(command.overhead, command.switching->load_cycles);
    }
    bound.overhead = command.overhead;
    if (command.fetch) bound.fetch_accesses = command.fetch->accesses;
    if (command.stream) bound.flits = command.stream->items;
    if (command.table_lookup) {
      bound.lookups = lookup_cycles(*command.table_lookup, program_.limits);
    }
    if (command.switching) {
      bound.switch_hops = command.switching->hops() * program_.limits.switch_hop_cycles;
    }
    if (command.collect) bound.flits = command.collect->flits;
    if (command.outer) bound.packets = bound.trf_reads = command.outer->packets;
    if (command.lane_fold) bound.output_flits = command.lane_fold->flits;
    if (command.vector && command.vector->chain) bound.vector_steps = command.vector->steps;
    if (command.transpose) bound.transpose = command.transpose->cycles();
    if (command.commit) bound.writes = command.commit->writes;
    command.final_items = command.fetch ? command.fetch->accesses : bound.flits;
    if (command.collect) command.final_items = command.collect->flits;
    if (command.outer) command.final_items = command.outer->packets;
    if (command.time_reduce) command.final_items = command.time_reduce->results;
    if (command.lane_fold) command.final_items = command.lane_fold->flits;
    if (command.vector && command.vector->chain) command.final_items = command.vector->results;
    if (command.vector && command.vector->inter) {
      bound.vector_steps = std::max(bound.vector_steps, command.vector->inter->flits);
      if (!command.vector->inter_first || !command.vector->chain) {
        command.final_items = command.vector->inter->results;
      }
    }
    if (command.transpose) command.final_items = command.transpose->results();
    // What drains beside the next command is no part of it.
    const Pace pace = program_.limits.overlap_drain ? pace_of(command) : Pace::kLanding;
    if (pace != Pace::kLanding) bound.writes = bound.transpose = 0;
    if (pace == Pace::kSwitch) bound.flits = 0;
    if (pace == Pace::kContraction) bound.output_flits = 0;
    const std::vector<std::pair<uint64_t, const char*>> parts = {
        {bound.fetch_accesses, "fetch reads"},
        {bound.lookups, "table lookup"},
        {bound.flits, "flits"},
        {bound.packets, "packets"},
        {bound.trf_reads, "TRF reads"},
        {bound.output_flits, "output flits"},
        {bound.vector_steps, "vector steps"},
        {bound.transpose, "transpose"},
        {bound.switch_hops, "switch hops"},
        {bound.writes, "writes"}};
    uint64_t longest = 0;
    for (const auto& [cycles, what] : parts) {
      if (cycles > longest) {
        longest = cycles;
        bound.bound_by = what;
      }
    }
    bound.cycles = bound.overhead + longest;
  }

  // ---- expect: --------------------------------------------------------------------------------

  void lower_expectations() {
    for (const ExpectDecl& decl : kernel_.expect) {
      ExpectedResult expected;
      expected.tensor = decl.tensor.value;
      expected.where = decl.tensor.where;
      check_known(decl.tensor);
      for (const Located<std::string>& factor : decl.product_of) {
        const auto& faulty = kernel_.faulty_tensors;
        const bool declared =
            std::any_of(kernel_.tensors.begin(), kernel_.tensors.end(),
                        [&](const TensorDecl& t) { return t.name == factor.value; }) ||
            std::find(faulty.begin(), faulty.end(), factor.value) != faulty.end();
        if (!declared) {
          std::vector<std::string> names;
          for (const TensorDecl& t : kernel_.tensors) names.push_back(t.name);
          const auto close = nearest(factor.value, names);
          diagnostics_.error(
              factor.where,
              fmt::format("expect: product_of names declared tensors; '{}' is none", factor.value),
              close ? fmt::format("did you mean '{}'?", *close) : "");
        }
        expected.product_of.push_back(factor.value);
      }
      for (const Located<std::string>& axis : decl.sum_over) {
        const auto id = program_.axes.find(axis.value);
        if (id) {
          expected.sum_over.push_back(*id);
          continue;
        }
        const auto close = nearest(axis.value, program_.axes.names());
        diagnostics_.error(axis.where, fmt::format("expect: unknown axis '{}'", axis.value),
                           close ? fmt::format("did you mean '{}'?", *close) : "");
      }
      program_.expect.push_back(std::move(expected));
    }
  }

  void check_known(const Located<std::string>& tensor) {
    if (std::find(known_names_.begin(), known_names_.end(), tensor.value) != known_names_.end())
      return;
    const auto close = nearest(tensor.value, known_names_);
    diagnostics_.error(tensor.where, fmt::format("expect: unknown tensor '{}'", tensor.value),
                       close ? fmt::format("did you mean '{}'?", *close) : "");
  }

  const KernelDecl& kernel_;
  Diagnostics& diagnostics_;
  Program program_;
  MappingNames names_;
  uint64_t delay_ = 0;  // of the command that is lowered
  std::set<std::string> faulty_aliases_;
  Placement placement_, hbm_placement_, host_placement_, vrf_placement_;
  LowerScope scope_;
  std::map<std::string, TensorId> latest_;
  std::vector<std::string> known_names_, faulty_names_;
  // Commands, ascending. Writing a view changes a version, and counts among its reads too.
  std::map<std::string, std::vector<ptrdiff_t>> reads_, writes_, changes_;
  std::optional<VectorChain> chain_;      // of the command at hand
  std::set<std::pair<int, int>> failed_;  // places of commands in a repeat that had errors
  std::vector<PlacedTrf>
      placed_trf_;  // so far; a stored one that nothing reads is done with its command
};

}  // namespace

Program lower(const KernelDecl& kernel, const MachineLimits& limits, Diagnostics& diagnostics) {
  return KernelLowering(kernel, limits, diagnostics).run();
}

}  // namespace rngdsim
