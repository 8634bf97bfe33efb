// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_file.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace rngdsim {

TraceFile::TraceFile(std::string path) : path_(std::move(path)) {
  buffer_.reserve(kBufferBytes);
  file_ = std::fopen(path_.c_str(), "wb");
  if (file_ == nullptr) problem_ = std::strerror(errno);
}

void TraceFile::number(uint64_t value) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  write({digits, static_cast<size_t>(end - digits)});
}

void TraceFile::flush() {
  if (file_ != nullptr && problem_.empty() && !buffer_.empty() &&
      std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size()) {
    problem_ = std::strerror(errno);
  }
  buffer_.clear();
}

void TraceFile::close() {
  if (file_ == nullptr) return;
  flush();
  if (std::fclose(std::exchange(file_, nullptr)) != 0 && problem_.empty()) {
    problem_ = std::strerror(errno);
  }
}

}  // namespace rngdsim
