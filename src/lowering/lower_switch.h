// SPDX-License-Identifier: Apache-2.0
// The Switch Engine: which structure each kind asks of Slice and Time, and which router takes what.
#pragma once

#include <optional>

#include "lowering/stages.h"

namespace rngdsim {

struct SwitchStage {
  const SwitchDecl& decl;
  std::optional<Declared> slice, time;  // OutSlice and OutTime where the file gives them
  SourceLocation where;
};

// Sizes that the file leaves out are derived where only one choice of them makes the declared
// OutSlice and OutTime; OutSlice and OutTime where it leaves those out, with `n` for a broadcast
// axis. `in.slice` has a power of two of positions.
std::optional<LoweredStage<SwitchConfig>> lower_switch(const StreamShape& in,
                                                       const SwitchStage& stage,
                                                       const LowerScope& scope);

// What the kinds share ---------------------------------------------------------------------------

// What a kind makes of a stream, besides what every switch has.
struct SwitchForm {
  SwitchConfig config;
  Mapping slice, time;
};
// kind: custom_broadcast. `ring_size` where given: a power of two.
std::optional<SwitchForm> lower_custom_switch(const StreamShape& in, const SwitchStage& stage,
                                              const LowerScope& scope);
// Adds an error "switch: ..." and returns false.
bool switch_error(const LowerScope& scope, const SourceLocation& where, const std::string& message,
                  const std::string& hint = "");
// Adds an error where `axis` is not new to the stream: names the dimension that has it.
bool check_new_axis(const StreamShape& in, AxisId axis, const SourceLocation& where,
                    const LowerScope& scope);
// The same positions; what is padding is padding of no promise: what slices that hold nothing send
// is not known.
Mapping without_promises(const Mapping& mapping);

}  // namespace rngdsim
