// SPDX-License-Identifier: Apache-2.0
// Two units and a link to write traces of, without a simulation.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "trace/recorder.h"

namespace rngdsim {

inline UnitView busy(CommandId command, uint64_t time_index, std::vector<uint64_t> signals = {}) {
  return {UnitState::kBusy, true, command, time_index, std::move(signals)};
}
inline UnitView in_state(UnitState state, CommandId command, uint64_t time_index,
                         std::vector<uint64_t> signals = {}) {
  return {state, true, command, time_index, std::move(signals)};
}
inline UnitView idle(std::vector<uint64_t> signals = {}) {
  return {UnitState::kIdle, false, 0, 0, std::move(signals)};
}

class TraceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "rngdsim_trace_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    program_.commands.resize(2);
    program_.commands[1].id = 1;
    program_.commands[1].label = "a x b -> c";
    names_.kernel = "sample";
    names_.program = &program_;
    names_.units = {{"source", {}}, {"memory", {{"bank_grants", 4}}}};
    names_.links = {{"source.out->memory.in", 2}};
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::string read(const std::string& name) const {
    std::ifstream stream(path(name), std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
  }

  std::filesystem::path directory_;
  Program program_;
  TraceNames names_;
};

}  // namespace rngdsim
