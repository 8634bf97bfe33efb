// SPDX-License-Identifier: Apache-2.0
// Ctrl-C ends a run with the report so far; a crash ends the program with a message and a status.
#pragma once

#include <atomic>

namespace rngdsim::cli {

// To be called first. No signal ends the program as such:
//   SIGINT, SIGTERM     status 1 at once, until a run listens to them (see stop_on_signals)
//   SIGSEGV, SIGABRT... one line on stderr, status 3
//   SIGPIPE             an error of write()
void handle_signals();

// From now on the first SIGINT or SIGTERM only sets the flag returned, so that the report so far
// can be printed; a second one ends the program at once with status 1.
const std::atomic<bool>& stop_on_signals();

}  // namespace rngdsim::cli
