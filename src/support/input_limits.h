// SPDX-License-Identifier: Apache-2.0
// How much an input may hold (docs/kernel-file.md, "Limits"). Far beyond what is useful: these
// bounds keep time, memory and arithmetic in hand whatever a file contains. Rules of the hardware
// are elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rngdsim {

inline constexpr const char* kLimitHint =
    "a limit of this program, see 'Limits' in docs/kernel-file.md";

// A file.
inline constexpr size_t kMaxFileBytes = size_t{4} << 20;
inline constexpr size_t kMaxYamlDepth = 32;       // of nested lists and maps
inline constexpr size_t kMaxYamlNodes = 250'000;  // keys, values, lists and maps
inline constexpr size_t kMaxNameLength = 64;
inline constexpr size_t kMaxErrors = 1000;          // shown
inline constexpr size_t kMaxMessageLength = 4'000;  // bytes of one of them

// A kernel.
inline constexpr size_t kMaxAxes = 256;
inline constexpr size_t kMaxNames = 1024;  // of constants; of mappings
inline constexpr size_t kMaxTensors = 1024;
inline constexpr size_t kMaxCommands = 4096;
inline constexpr size_t kMaxStages = 64;  // of a command
inline constexpr size_t kMaxTiles = 8;    // of a view
inline constexpr int64_t kMaxZeroPoint = 1'000'000;
inline constexpr uint64_t kMaxAxisSize = uint64_t{1} << 32;
inline constexpr uint64_t kMaxConstant = uint64_t{1} << 40;
inline constexpr uint64_t kMaxAddress = uint64_t{1} << 40;
inline constexpr uint64_t kMaxDelay = uint64_t{1} << 32;              // cycles
inline constexpr uint64_t kMaxSkew = uint64_t{1} << 32;               // cycles
inline constexpr uint64_t kMaxStreamPositions = uint64_t{1} << 40;    // a slice
inline constexpr uint64_t kMaxSwitchRoundFlits = 16'384;              // a slice, of a switch
inline constexpr size_t kMaxDmaSegments = 4096;                       // of a dma command
inline constexpr uint64_t kMaxReshapedPositions = uint64_t{1} << 22;  // of a dimension of a view
inline constexpr uint64_t kMaxDmaEngines = 1024;
inline constexpr size_t kMaxInstructions = 10'000;       // of a schedule
inline constexpr uint64_t kMaxShuffled = 1024;           // entries of a shuffle's pattern
inline constexpr uint64_t kMaxStreamPacketBytes = 4096;  // of a `stream:`

// A sweep.
inline constexpr size_t kMaxSweepParameters = 64;
inline constexpr size_t kMaxSweepConstraints = 64;
inline constexpr uint64_t kMaxSweepPoints = 4096;

// A mapping, with the named mappings that it uses.
inline constexpr size_t kMaxMappingCharacters = 8192;
inline constexpr size_t kMaxMappingNodes = 1024;  // atoms and suffixes
inline constexpr int kMaxMappingDepth = 64;       // of brackets
inline constexpr uint64_t kMaxMappingSize = uint64_t{1} << 48;

// A topology.
inline constexpr size_t kMaxUnits = 256;
inline constexpr size_t kMaxParameters = 256;  // of a unit
inline constexpr size_t kMaxConnections = 1024;
inline constexpr uint64_t kMaxMemoryBytes = uint64_t{16} << 20;  // data memory of a slice
inline constexpr uint64_t kMaxMachineLanes = 65'536;             // in all slices of all clusters
inline constexpr double kMaxClockGhz = 1000;
inline constexpr uint64_t kMaxLatency = 1'000'000;    // cycles of a link
inline constexpr uint64_t kMaxLinkDepth = 1'000'000;  // items

}  // namespace rngdsim
