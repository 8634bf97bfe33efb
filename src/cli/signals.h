// SPDX-License-Identifier: Apache-2.0
// Ctrl-C ends a run with the report so far; a crash ends the program with a message and a status.
#pragma once

#include <atomic>

namespace rngdsim::cli {

// From now on SIGINT and SIGTERM set the flag returned; a second one ends the program at once with
// status 1.
const std::atomic<bool>& stop_on_signals();

// Signals of broken code (SIGSEGV, SIGABRT, ...) and uncaught exceptions: one line on stderr,
// status 3. A closed pipe becomes an error of write() instead of a signal.
void report_crashes();

}  // namespace rngdsim::cli
