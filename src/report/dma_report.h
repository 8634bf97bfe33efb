// SPDX-License-Identifier: Apache-2.0
// What the DMAs of a run did, and what slowed each.
#pragma once

#include <cstdint>
#include <string>

#include "command/program.h"
#include "report/text_table.h"
#include "sim/run_result.h"

namespace rngdsim {

// What took most of the cycles of a DMA, a sentence, and what would help, empty where nothing is
// known to. `program`: what `run` ran.
struct DmaCause {
  std::string text, remedy;
};
DmaCause dma_cause(const DmaResult& dma, const RunResult& run, const Program& program);
// The text alone.
std::string dma_sentence(const DmaResult& dma, const RunResult& run, const Program& program);

// How often a command reads what it reads: of the lines (dma_request_bytes at their multiples) of
// the source, how many there are, and of one of them the most reads and the most engines.
struct DmaReaders {
  uint64_t lines = 0, most_reads = 0, most_engines = 0;
};
DmaReaders readers_of(const DmaConfig& config, const MachineLimits& limits);

// The channel with most transfers; null without traffic in HBM.
const DmaChannelResult* busiest_channel(const DmaResult& dma);
// Of the requests of the engine that ended last: cycles from its first data to its end.
uint64_t data_cycles(const DmaResult& dma);

// Tables and sentences of all DMAs, with an empty line behind; nothing without DMAs.
std::string dma_text(const RunResult& run, const Program& program);

}  // namespace rngdsim
