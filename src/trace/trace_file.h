// SPDX-License-Identifier: Apache-2.0
// A text file that grows while a run goes on.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace rngdsim {

// Opened at once, so that a wrong path is known before the run. Errors are kept: after the first
// one nothing more is written and problem() tells it. Whatever is in the buffer reaches the file
// when the object dies, also where an exception ends the run.
class TraceFile {
 public:
  explicit TraceFile(std::string path);
  ~TraceFile() { close(); }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  const std::string& path() const { return path_; }
  // Empty: all is well.
  const std::string& problem() const { return problem_; }
  void close();

  void write(std::string_view text) {
    if (buffer_.size() + text.size() > kBufferBytes) flush();
    buffer_.append(text);
  }
  void put(char c) {
    if (buffer_.size() == kBufferBytes) flush();
    buffer_.push_back(c);
  }
  // In decimal, without separators.
  void number(uint64_t value);

 private:
  static constexpr size_t kBufferBytes = 1 << 16;
  void flush();

  std::string path_, problem_, buffer_;
  std::FILE* file_ = nullptr;
};

}  // namespace rngdsim
