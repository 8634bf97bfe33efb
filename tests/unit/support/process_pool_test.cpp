// SPDX-License-Identifier: Apache-2.0
// Processes: results in order whatever happens to each, no process left behind.
#include "support/process_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace rngdsim {
namespace {

using testing::HasSubstr;
using Kind = ProcessOutcome::Kind;
using Tasks = std::vector<std::function<std::string()>>;

void sleep_milliseconds(unsigned count) { usleep(1000 * count); }

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class ProcessPool : public testing::Test {
 protected:
  // waitpid() must find no child, neither running nor ended.
  void TearDown() override {
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }
};

TEST_F(ProcessPool, ResultsAreInTheOrderOfTheTasks) {
  // The first ends last.
  Tasks tasks;
  for (int i = 0; i < 4; ++i) {
    tasks.emplace_back([i] {
      sleep_milliseconds(static_cast<unsigned>(4 - i) * 40);
      return std::string(1, static_cast<char>('a' + i));
    });
  }
  for (const size_t jobs : {1, 2, 4, 9}) {
    ProcessPoolOptions options;
    options.jobs = jobs;
    std::string all;
    for (const ProcessOutcome& outcome : run_in_processes(tasks, options)) {
      EXPECT_EQ(outcome.kind, Kind::kDone);
      EXPECT_EQ(outcome.problem(), "");
      all += outcome.bytes;
    }
    EXPECT_EQ(all, "abcd");
  }
}

TEST_F(ProcessPool, BytesArriveAsTheyAre) {
  // More than a pipe holds, and all values of a byte.
  std::string sent;
  for (int i = 0; i < 3'000'000; ++i) sent += static_cast<char>(i * 7);
  const auto outcomes = run_in_processes({[&] { return sent; }, [] { return std::string(); }});
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_TRUE(outcomes[0].bytes == sent);
  EXPECT_TRUE(outcomes[1].done());
  EXPECT_EQ(outcomes[1].bytes, "");
}

TEST_F(ProcessPool, EachTaskHasAProcessOfItsOwn) {
  int shared = 0;
  const auto count = [&shared] { return std::to_string(++shared); };
  for (const ProcessOutcome& outcome : run_in_processes({count, count, count})) {
    EXPECT_EQ(outcome.bytes, "1");
  }
  EXPECT_EQ(shared, 0);
}

TEST_F(ProcessPool, WhatEndsBadlySaysHowAndTheOthersGoOn) {
  const auto outcomes = run_in_processes({
      []() -> std::string { throw std::runtime_error("no luck"); },
      []() -> std::string { throw std::bad_alloc(); },
      []() -> std::string { throw 7; },
      []() -> std::string { _exit(3); },
      []() -> std::string { _exit(0); },
      []() -> std::string {
        raise(SIGKILL);
        return "";
      },
      [] { return std::string("fine"); },
  });
  ASSERT_EQ(outcomes.size(), 7U);
  EXPECT_EQ(outcomes[0].kind, Kind::kThrew);
  EXPECT_EQ(outcomes[0].problem(), "no luck");
  EXPECT_EQ(outcomes[1].kind, Kind::kOutOfMemory);
  EXPECT_EQ(outcomes[1].problem(), "out of memory");
  EXPECT_EQ(outcomes[2].kind, Kind::kThrew);
  EXPECT_EQ(outcomes[3].kind, Kind::kExited);
  EXPECT_EQ(outcomes[3].code, 3);
  // A good status without a result is none.
  EXPECT_EQ(outcomes[4].kind, Kind::kExited);
  EXPECT_EQ(outcomes[5].kind, Kind::kSignalled);
  EXPECT_EQ(outcomes[5].code, SIGKILL);
  EXPECT_THAT(outcomes[5].problem(), HasSubstr("signal 9"));
  EXPECT_EQ(outcomes[6].bytes, "fine");
}

TEST_F(ProcessPool, NoMoreThanJobsAtATime) {
  // Two at a time, 100 ms each: four take 200 ms at least.
  const auto task = [] {
    sleep_milliseconds(100);
    return std::string();
  };
  ProcessPoolOptions options;
  options.jobs = 2;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run_in_processes({task, task, task, task}, options).size(), 4U);
  EXPECT_GE(seconds_since(start), 0.2);
}

TEST_F(ProcessPool, StopEndsAllProcesses) {
  std::atomic<bool> stop{false};
  const auto never = []() -> std::string {
    for (;;) pause();
  };
  ProcessPoolOptions options;
  options.jobs = 3;
  options.stop = &stop;
  options.progress = [&stop](size_t /*ended*/) { stop = true; };
  const auto start = std::chrono::steady_clock::now();
  const auto outcomes =
      run_in_processes({never, [] { return std::string("first"); }, never, never}, options);
  EXPECT_LT(seconds_since(start), 30);
  EXPECT_EQ(outcomes[0].kind, Kind::kStopped);
  EXPECT_EQ(outcomes[1].bytes, "first");
  EXPECT_EQ(outcomes[2].kind, Kind::kStopped);
  EXPECT_EQ(outcomes[3].kind, Kind::kStopped);  // running or not begun
}

TEST_F(ProcessPool, ATaskIsNotEndedByCtrlC) {
  const auto outcomes = run_in_processes({[]() -> std::string {
    raise(SIGINT);
    return "still here";
  }});
  EXPECT_EQ(outcomes[0].bytes, "still here");
}

TEST_F(ProcessPool, ProgressCountsTheEnds) {
  std::vector<size_t> counts;
  ProcessPoolOptions options;
  options.progress = [&counts](size_t ended) { counts.push_back(ended); };
  const auto task = [] { return std::string(); };
  run_in_processes({task, task, task}, options);
  EXPECT_EQ(counts, (std::vector<size_t>{1, 2, 3}));
}

TEST_F(ProcessPool, OutcomesAreHandedOverInOrder) {
  // The first ends last; whoever takes the bytes away leaves none.
  const auto slow = [] {
    sleep_milliseconds(150);
    return std::string("a");
  };
  const auto quick = [] { return std::string("b"); };
  std::string taken;
  ProcessPoolOptions options;
  options.jobs = 3;
  options.take = [&taken](size_t task, ProcessOutcome& outcome) {
    taken += std::to_string(task) + std::move(outcome.bytes);
    outcome.bytes.clear();
  };
  const auto outcomes = run_in_processes({slow, quick, quick}, options);
  EXPECT_EQ(taken, "0a1b2b");
  for (const ProcessOutcome& outcome : outcomes) EXPECT_EQ(outcome.bytes, "");
}

TEST_F(ProcessPool, NoTasksNoResults) { EXPECT_TRUE(run_in_processes({}).empty()); }

}  // namespace
}  // namespace rngdsim
