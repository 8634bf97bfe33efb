// SPDX-License-Identifier: Apache-2.0
#include "cli/signals.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "cli/console.h"

namespace rngdsim::cli {
namespace {

std::atomic<bool> run_listens{false};  // a report can still be made
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "the flag is set in a signal handler");

void request_stop(int /*signal*/) {
  if (!run_listens || stop_requested.exchange(true)) _exit(kMachineFailed);
}

void report_crash(int signal) {
  // Only what is safe in a signal handler.
  const char* what = signal == SIGABRT  ? "aborted"
                     : signal == SIGFPE ? "arithmetic fault"
                     : signal == SIGILL ? "illegal instruction"
                                        : "invalid memory access";
  const auto put = [](const char* text) {
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
  };
  put("rngdsim: internal error: ");
  put(what);
  put("; please report this with the files that you ran\n");
  _exit(kInternalError);
}

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

const std::atomic<bool>& stop_on_signals() {
  run_listens = true;
  return stop_requested;
}

void handle_signals() {
  handle(SIGPIPE, SIG_IGN, 0);
  handle(SIGINT, request_stop, SA_RESTART);
  handle(SIGTERM, request_stop, SA_RESTART);
#ifndef __SANITIZE_ADDRESS__  // whose own report says more
  // A stack of its own, for when the usual one has run out.
  static char stack[64 * 1024];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof(stack);
  sigaltstack(&alternative, nullptr);
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) {
    handle(signal, report_crash, SA_ONSTACK);
  }
#endif
}

}  // namespace rngdsim::cli
