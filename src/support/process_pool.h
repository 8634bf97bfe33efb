// SPDX-License-Identifier: Apache-2.0
// Runs functions side by side, each in a process of its own: what they change, where they crash and
// how much memory they take stays there.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace rngdsim {

// What became of a task.
struct ProcessOutcome {
  enum class Kind {
    kDone,         // it returned `bytes`
    kThrew,        // an exception, whose text is `what`
    kOutOfMemory,  // std::bad_alloc
    kExited,       // its process ended by itself with `code`
    kSignalled,    // a signal, `code`, ended its process
    kNotStarted,   // there was no process to be had; `what` says why
    kStopped,      // the caller's stop flag ended it, or kept it from starting
  };
  Kind kind = Kind::kStopped;
  std::string bytes;
  std::string what;
  int code = 0;

  bool done() const { return kind == Kind::kDone; }
  // Why there are no bytes: "out of memory", "ended by signal 9 (Killed)...". Empty where done.
  std::string problem() const;
};

struct ProcessPoolOptions {
  size_t jobs = 0;                             // processes at a time; 0: one a processor
  const std::atomic<bool>* stop = nullptr;     // true: end all processes soon (Ctrl-C)
  std::function<void(size_t ended)> progress;  // called after each end of a task
  // Called in the order of the tasks, each as soon as it and all before it have ended; may take the
  // bytes away, which then need no memory any longer.
  std::function<void(size_t task, ProcessOutcome& outcome)> take;
};

// Calls each task in a process of its own; the outcomes are in the order of the tasks, whichever
// ends first. Returns when all processes have ended. Ctrl-C of the terminal is left to the caller's
// `stop`. A task begins as a copy of this process, which must have no other threads, and ends
// without handlers of atexit().
std::vector<ProcessOutcome> run_in_processes(const std::vector<std::function<std::string()>>& tasks,
                                             const ProcessPoolOptions& options = {});

}  // namespace rngdsim
