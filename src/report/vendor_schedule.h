// SPDX-License-Identifier: Apache-2.0
// The JSON of the vendor's schedule viewer: a run written as one, and one read and explained.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command/program.h"
#include "report/diff.h"
#include "report/text_table.h"
#include "sim/run_result.h"
#include "support/diagnostic.h"

namespace rngdsim {

// The memory that the viewer draws: 512 slices of 512 KiB in 16 pages of 32 KiB a slice.
constexpr uint64_t kScheduleMemory = 268435456;
constexpr uint64_t kSchedulePage = 16777216;
constexpr uint64_t kScheduleSlices = 512;

// Precondition: all commands have ended. Tensors are numbered as the versions of the program; those
// in HBM and the host have no entry, as in the vendor's files. Utilization: useful and issued
// products of the multipliers' peak, and the lower bound of the command's cycles.
nlohmann::ordered_json schedule_json(const RunResult& run, const Program& program);

struct VendorSchedule {
  struct Instruction {
    std::string index;                  // "12", "ExplicitSync(3)"
    std::vector<std::string> contexts;  // "MainContext", "VectorEngine"
    uint64_t begin = 0, end = 0;
    std::vector<int64_t> inputs, outputs;  // tensors
    std::string label;                     // the text of its description, else its index
    std::string context() const;           // "main", "sub", "dma", else that of the file
  };
  std::string file, title;
  std::vector<Instruction> instructions;
  uint64_t makespan() const;
};

// Every fault is an error of `file`; then nothing.
std::optional<VendorSchedule> read_schedule(const std::string& text, const std::string& file,
                                            Diagnostics& diagnostics);

// Makespan, how much of it each context ran, the critical path, and the gaps of each context.
std::string schedule_text(const VendorSchedule& schedule, const Style& style = {});

// For comparing it with a report. Waits and places are not known.
ReportedRun as_report(const VendorSchedule& schedule);

}  // namespace rngdsim
