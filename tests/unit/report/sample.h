// SPDX-License-Identifier: Apache-2.0
// A program and what a run of it might have shown, for the tests of the reports. The numbers of the
// run are made up where they cannot be worked out on paper.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "config/kernel.h"
#include "lowering/lower.h"
#include "sim/run_result.h"

namespace rngdsim::sample {

inline Program lowered(const std::string& text, const std::string& file = "kernel.yaml") {
  Diagnostics diagnostics;
  const KernelDecl kernel = parse_kernel(text, file, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  Program program = lower(kernel, MachineLimits(), diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  return program;
}

// C[I,J] = A[I,K] B[J,K] in tiles of 32 x 32 a slice: 128 B of K in two packets of 64 B.
inline const char* const kGemm = R"(kernel: gemm
description: C[I,J] = sum over K of A[I,K] B[J,K]
axes: {I: 512, J: 512, K: 64}
mappings: {Slice: "I / 32, J / 32"}
tensors:
  a_dm: {memory: dm, dtype: bf16, slice: "{Slice}", element: "I % 32, K", logical: [I, K]}
  b_dm: {memory: dm, dtype: bf16, slice: "{Slice}", element: "J % 32, K", logical: [J, K]}
program:
  - sub:
      from: b_dm
      stages:
        - fetch:   {time: "J % 8, J / 8 % 4", packet: "K"}
        - collect: {time: "J % 8, J / 8 % 4, K / 16", packet: "K % 16"}
        - to_trf:  {to: b_trf, lane: "J % 8", element: "J / 8 % 4, K"}
  - main:
      from: a_dm
      stages:
        - fetch:           {time: "I % 32, J / 8 % 4", packet: "K"}
        - collect:         {time: "I % 32, J / 8 % 4, K / 16", packet: "K % 16"}
        - contract_outer:  {with: b_trf, time: "I % 32, J / 8 % 4, K / 32", packet: "K % 32"}
        - contract_packet: {packet: "1"}
        - contract_time:   {time: "I % 32, J / 8 % 4"}
        - contract_lane:   {mode: interleaved, time: "I % 32, J / 8 % 4", packet: "J % 8"}
        - cast:            {dtype: bf16, packet: "J % 8 # 16"}
        - commit_trim:     {packet: "J % 8"}
        - commit:          {to: c_dm, element: "I % 32, J % 32"}
)";

inline Program gemm() { return lowered(kGemm, "gemm.yaml"); }

inline UnitResult unit(const std::string& name, const std::string& type, uint64_t busy,
                       uint64_t starved, uint64_t blocked, uint64_t conflict, uint64_t cycles,
                       std::map<std::string, uint64_t> blamed = {}) {
  UnitResult result;
  result.name = name;
  result.type = type;
  result.busy = busy;
  result.starved = starved;
  result.blocked = blocked;
  result.conflict = conflict;
  result.idle = cycles - busy - starved - blocked - conflict;
  result.items_in = result.items_out = busy;
  result.blamed = std::move(blamed);
  return result;
}

// A run without overhead in the way: main takes its 512 reads and 14 cycles of latency.
inline RunResult gemm_run() {
  RunResult run;
  run.kernel_name = "gemm";
  run.kernel_file = "gemm.yaml";
  run.kernel_sha256 = std::string(64, 'a');
  run.kernel_description = "C[I,J] = sum over K of A[I,K] B[J,K]";
  run.topology_name = "rngd";
  run.topology_sha256 = std::string(64, 'b');
  run.cycles = 1566;
  CommandResult load;
  load.index = 0;
  load.context = load.kind = "sub";
  load.label = "b_dm -> b_trf";
  load.line = 9;
  load.begun = load.ended = true;
  load.end = load.cycles = 777;
  load.bound = 775;
  load.bound_by = "fetch reads";
  load.overhead = 263;
  CommandResult main = load;
  main.index = 1;
  main.context = main.kind = "main";
  main.label = "a_dm x b_trf -> c_dm";
  main.line = 15;
  main.begin = 777;
  main.end = 1566;
  main.cycles = 789;
  main.waited_for = {"read after write", "b_trf", 0, 777};
  run.commands = {load, main};
  run.units = {
      unit("main_fetch", "fetch_sequencer", 512, 0, 0, 0, 1566),
      unit("sub_fetch", "fetch_sequencer", 512, 0, 0, 0, 1566),
      unit("stream_adapter", "stream_adapter", 512, 1, 0, 0, 1566, {{"main_collect", 1}}),
      unit("multiplier", "multiplier", 256, 255, 0, 0, 1566, {{"stream_adapter", 255}}),
      unit("cast", "cast", 0, 0, 0, 0, 1566),
      unit("sub_commit", "commit_sequencer", 0, 0, 0, 0, 1566),
  };
  run.mac.useful = run.mac.issued = 16777216;
  run.mac.peak_per_cycle = 131072;
  run.mac.utilization = 16777216.0 / (131072.0 * 1566.0);  // 8.17 %
  run.mac.utilization_while_active = 0.5;
  run.mac.packets = 256;
  run.mac.active_cycles = 511;
  run.mac.clusters_used = 1;
  run.bandwidth = {{"dm_read", 5242880, 3347.9438, 131072, 0.0255427, 20480}};
  run.links = {{"main_fetch.out->fetch_adapter.in", 512, 3}};
  run.values.checked = {{"c_dm", 262144, 0, 1e-3, 0.004}};
  run.values.max_abs_error = 1e-3;
  run.values.max_bound_fraction = 0.004;
  run.bound = 1550;
  run.bound_chain = {0, 1};
  run.wall_seconds = 0.25;
  run.cycles_per_second = 6264;
  return run;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace rngdsim::sample
