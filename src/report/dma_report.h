// SPDX-License-Identifier: Apache-2.0
// What the DMAs of a run did, and what slowed each.
#pragma once

#include <cstdint>
#include <string>

#include "command/program.h"
#include "report/text_table.h"
#include "sim/run_result.h"

namespace rngdsim {

// One sentence: what took most of the cycles of a DMA. `program`: what `run` ran.
std::string dma_sentence(const DmaResult& dma, const RunResult& run, const Program& program);

// The channel with most transfers; null without traffic in HBM.
const DmaChannelResult* busiest_channel(const DmaResult& dma);
// Of the requests of the engine that ended last: cycles from its first data to its end.
uint64_t data_cycles(const DmaResult& dma);

// Tables and sentences of all DMAs, with an empty line behind; nothing without DMAs.
std::string dma_text(const RunResult& run, const Program& program);

}  // namespace rngdsim
