// SPDX-License-Identifier: Apache-2.0
#include "support/process_pool.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <thread>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

namespace rngdsim {
namespace {

using Task = std::function<std::string()>;

constexpr int kLookAtStopMilliseconds = 100;

// What a process sends: one of these, then the bytes or the text of the exception.
constexpr char kResultMark = 'R';
constexpr char kExceptionMark = 'E';
constexpr char kMemoryMark = 'M';

bool write_all(int descriptor, const char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t written = write(descriptor, bytes, count);
    if (written > 0) {
      bytes += written;
      count -= static_cast<size_t>(written);
    } else if (written < 0 && errno != EINTR) {
      return false;
    }
  }
  return true;
}

// The life of a process: never returns.
[[noreturn]] void work(const Task& task, int descriptor) {
  // Ctrl-C goes to all processes of a terminal; the parent alone decides what it means.
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_DFL);
#if defined(__linux__)
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  char mark = kResultMark;
  std::string bytes;
  try {
    bytes = task();
  } catch (const std::bad_alloc&) {
    mark = kMemoryMark;
  } catch (const std::exception& error) {
    mark = kExceptionMark;
    bytes = error.what();
  } catch (...) {
    mark = kExceptionMark;
    bytes = "an exception of an unknown type";
  }
  const bool sent =
      write_all(descriptor, &mark, 1) && write_all(descriptor, bytes.data(), bytes.size());
  // Not exit(): what the parent has registered and buffered is not ours.
  _exit(sent ? 0 : 1);
}

struct Process {
  size_t task = 0;
  pid_t id = 0;
  int descriptor = -1;
  std::string received;
};

// The outcome of an ended process from its exit and what it has sent.
ProcessOutcome outcome_of(std::string received, int status) {
  using Kind = ProcessOutcome::Kind;
  ProcessOutcome outcome;
  if (WIFSIGNALED(status)) {
    outcome.kind = Kind::kSignalled;
    outcome.code = WTERMSIG(status);
    return outcome;
  }
  outcome.code = WEXITSTATUS(status);
  const char mark = received.empty() ? '\0' : received.front();
  if (outcome.code != 0 || mark == '\0') {
    outcome.kind = Kind::kExited;
    return outcome;
  }
  received.erase(0, 1);
  if (mark == kResultMark) {
    outcome.kind = Kind::kDone;
    outcome.bytes = std::move(received);
  } else if (mark == kMemoryMark) {
    outcome.kind = Kind::kOutOfMemory;
  } else {
    outcome.kind = Kind::kThrew;
    outcome.what = std::move(received);
  }
  return outcome;
}

class Pool {
 public:
  Pool(const std::vector<Task>& tasks, const ProcessPoolOptions& options)
      : tasks_(tasks), options_(options), outcomes_(tasks.size()), has_ended_(tasks.size()) {
    jobs_ =
        options.jobs > 0 ? options.jobs : std::max<size_t>(1, std::thread::hardware_concurrency());
  }
  ~Pool() { end_all(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  std::vector<ProcessOutcome> run() {
    while (!stopped() && (next_ < tasks_.size() || !running_.empty())) {
      while (next_ < tasks_.size() && running_.size() < jobs_ && start()) {
      }
      if (!running_.empty()) receive();
    }
    end_all();
    for (size_t task = 0; task < tasks_.size(); ++task) has_ended_[task] = true;
    hand_over();
    return std::move(outcomes_);
  }

 private:
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }

  void ended(size_t task) {
    ++ended_;
    has_ended_[task] = true;
    hand_over();
    if (options_.progress) options_.progress(ended_);
  }

  // The tasks that have ended, up to the first that has not.
  void hand_over() {
    for (; handed_over_ < tasks_.size() && has_ended_[handed_over_]; ++handed_over_) {
      if (options_.take) options_.take(handed_over_, outcomes_[handed_over_]);
    }
  }

  // Starts the next task. False where the system has no room for it now.
  bool start() {
    std::array<int, 2> ends{-1, -1};
    pid_t id = -1;
    if (pipe(ends.data()) == 0) {
      id = fork();
      if (id == 0) {
        close(ends[0]);
        work(tasks_[next_], ends[1]);
      }
    }
    const int error = errno;
    if (ends[1] >= 0) close(ends[1]);
    if (id < 0) {
      if (ends[0] >= 0) close(ends[0]);
      // One that ends makes room.
      if (!running_.empty()) return false;
      outcomes_[next_].kind = ProcessOutcome::Kind::kNotStarted;
      outcomes_[next_].what = std::strerror(error);
      ended(next_++);
      return true;
    }
    running_.push_back({next_++, id, ends[0], {}});
    return true;
  }

  // Takes in what the processes send, until one has ended or for a short while.
  void receive() {
    std::vector<pollfd> polled;
    for (const Process& process : running_) polled.push_back({process.descriptor, POLLIN, 0});
    if (poll(polled.data(), polled.size(), kLookAtStopMilliseconds) <= 0) return;
    for (size_t i = polled.size(); i > 0; --i) {
      if (polled[i - 1].revents == 0 || !at_end(running_[i - 1])) continue;
      reap(running_[i - 1]);
      const size_t task = running_[i - 1].task;
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i - 1));
      ended(task);
    }
  }

  // Reads once; whether there is nothing more to come.
  static bool at_end(Process& process) {
    std::array<char, 1 << 16> buffer{};
    const ssize_t count = read(process.descriptor, buffer.data(), buffer.size());
    if (count > 0) process.received.append(buffer.data(), static_cast<size_t>(count));
    return count == 0 || (count < 0 && errno != EINTR);
  }

  void reap(Process& process) {
    close(process.descriptor);
    int status = 0;
    while (waitpid(process.id, &status, 0) < 0 && errno == EINTR) {
    }
    outcomes_[process.task] = outcome_of(std::move(process.received), status);
  }

  void end_all() {
    for (Process& process : running_) kill(process.id, SIGKILL);
    for (Process& process : running_) {
      const size_t task = process.task;
      reap(process);
      outcomes_[task] = {};
    }
    running_.clear();
  }

  const std::vector<Task>& tasks_;
  const ProcessPoolOptions& options_;
  std::vector<ProcessOutcome> outcomes_;
  std::vector<bool> has_ended_;  // by task
  std::vector<Process> running_;
  size_t jobs_ = 1;
  size_t next_ = 0;   // task to start
  size_t ended_ = 0;  // tasks
  size_t handed_over_ = 0;
};

}  // namespace

std::string ProcessOutcome::problem() const {
  switch (kind) {
    case Kind::kDone:
      return "";
    case Kind::kThrew:
      return what;
    case Kind::kOutOfMemory:
      return "out of memory";
    case Kind::kExited:
      return fmt::format("its process ended with status {}", code);
    case Kind::kSignalled:
      return fmt::format("its process was ended by signal {} ({}){}", code, strsignal(code),
                         code == SIGKILL ? ", perhaps because memory ran out" : "");
    case Kind::kNotStarted:
      return "no process can be started: " + what;
    case Kind::kStopped:
      break;
  }
  return "stopped";
}

std::vector<ProcessOutcome> run_in_processes(const std::vector<Task>& tasks,
                                             const ProcessPoolOptions& options) {
  return Pool(tasks, options).run();
}

}  // namespace rngdsim
