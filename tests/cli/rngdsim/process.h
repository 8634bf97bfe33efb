// SPDX-License-Identifier: Apache-2.0
// Runs the real executable and returns what it did.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

extern char** environ;

namespace rngdsim {

struct ProcessResult {
  int status = -1;  // exit status; -1 where a signal ended it
  int signal = 0;
  bool timed_out = false;
  std::string out, err;
};

struct ProcessOptions {
  double timeout_seconds = 120;
  double interrupt_after_seconds = 0;  // > 0: send SIGINT then
  std::string stdout_path;             // not captured but opened for writing there
  std::string directory;               // to start in
  size_t memory_bytes = 0;             // > 0: address space it may use
  int cpu_seconds = 0;                 // > 0: time it may use
};

// Commands of a shell that set the limits; empty where there are none.
inline std::string limits_of(const ProcessOptions& options) {
  std::string limits;
#ifndef __SANITIZE_ADDRESS__  // which reserves terabytes of addresses, and is slow
  if (options.memory_bytes > 0) {
    limits += "ulimit -v " + std::to_string(options.memory_bytes / 1024) + "; ";
  }
  if (options.cpu_seconds > 0) limits += "ulimit -t " + std::to_string(options.cpu_seconds) + "; ";
#endif
  return limits;
}

// rngdsim ARGUMENTS...
inline ProcessResult rngdsim(const std::vector<std::string>& arguments,
                             const ProcessOptions& options = {}) {
  using Clock = std::chrono::steady_clock;
  ProcessResult result;
  int out[2] = {-1, -1};
  int err[2] = {-1, -1};
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
    ADD_FAILURE() << "no pipe";
    return result;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (options.stdout_path.empty()) {
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  } else {
    posix_spawn_file_actions_addopen(&actions, 1, options.stdout_path.c_str(), O_WRONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  if (!options.directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, options.directory.c_str());
  }
  std::vector<std::string> words = {RNGDSIM_BINARY};
  std::string limits = limits_of(options);
  if (!limits.empty()) words = {"/bin/sh", "-c", limits + "exec \"$0\" \"$@\"", RNGDSIM_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  close(err[1]);
  if (failed != 0) {
    ADD_FAILURE() << "cannot start " << RNGDSIM_BINARY;
    close(out[0]);
    close(err[0]);
    return result;
  }
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  bool interrupted = options.interrupt_after_seconds <= 0;
  pollfd ends[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    if (!interrupted && elapsed() >= options.interrupt_after_seconds) {
      kill(child, SIGINT);
      interrupted = true;
    }
    if (!result.timed_out && elapsed() > options.timeout_seconds) {
      result.timed_out = true;
      kill(child, SIGKILL);
    }
    if (poll(ends, 2, 20) <= 0) continue;
    for (int i = 0; i < 2; ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t n = read(ends[i].fd, buffer, sizeof(buffer));
      if (n > 0) {
        (i == 0 ? result.out : result.err).append(buffer, static_cast<size_t>(n));
      } else if (n == 0 || errno != EINTR) {
        ends[i].fd = -1;
      }
    }
  }
  close(out[0]);
  close(err[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  EXPECT_FALSE(result.timed_out) << "rngdsim ran into the timeout";
  return result;
}

// A directory of its own for each test, removed afterwards.
class CliTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "rngdsim_cli_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name, std::ios::binary) << text;
    return path(name);
  }
  static std::string read(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
  }
  static std::string shipped_topology() {
    return RNGDSIM_SOURCE_DIR "/configs/topologies/rngd.yaml";
  }

  std::filesystem::path directory_;
};

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// ---- Kernels -----------------------------------------------------------------------------------

// Copies 16 rows of 32 B in each slice. Main: 16 reads of 32 B.
inline const char* const kCopy = R"(kernel: copy
description: y[N] = x[N]
axes: {N: 16, M: 16}
tensors:
  x: {memory: dm, dtype: bf16, slice: "1 # 256", element: "N, M", init: {random: {seed: 1, low: -1, high: 1}}}
program:
  - main:
      from: x
      stages:
        - fetch:       {time: "N", packet: "M"}
        - collect:     {}
        - commit_trim: {packet: "M"}
        - commit:      {to: y, element: "N, M"}
)";

// The same from memory that nothing has written.
inline std::string poisoned_copy() {
  std::string text = kCopy;
  const size_t at = text.find(", init:");
  text.erase(at, text.find("}}}", at) + 2 - at);
  return text;
}

// A copy that takes long: `rows` accesses in each of `commands` commands. Not for running to its
// end.
inline std::string long_copy(uint64_t rows, int commands) {
  std::string text =
      "kernel: long\naxes: {R: " + std::to_string(rows) +
      ", N: 16, M: 16}\ntensors:\n"
      "  x: {memory: dm, dtype: bf16, slice: \"1 # 256\", element: \"N, M\", init: zero}\n"
      "program:\n";
  for (int i = 0; i < commands; ++i) {
    text +=
        "  - main:\n      from: x\n      stages:\n"
        "        - fetch:   {time: \"R, N\", packet: \"M\"}\n"
        "        - collect: {}\n";
  }
  return text;
}

}  // namespace rngdsim
