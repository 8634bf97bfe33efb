// SPDX-License-Identifier: Apache-2.0
#include "cli/files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "support/diagnostic.h"

namespace rngdsim::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_path(const fs::path& path, const std::string& message) {
  Diagnostics diagnostics;
  diagnostics.error({path.string(), 0, 0}, message);
  throw InputError(diagnostics);
}

}  // namespace

void make_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) refuse_path(directory, "cannot make this directory: " + error.message());
  if (!fs::is_directory(directory, error)) refuse_path(directory, "is no directory");
  if (access(directory.c_str(), W_OK) != 0) {
    refuse_path(directory, fmt::format("cannot write here: {}", std::strerror(errno)));
  }
}

std::optional<std::string> read_file(const std::string& file, Diagnostics& diagnostics) {
  std::ifstream stream(file, std::ios::binary);
  std::stringstream text;
  // Of a directory nothing can be read.
  if (stream) text << stream.rdbuf();
  if (!stream || text.fail()) {
    diagnostics.error({file, 0, 0}, "cannot be read");
    return std::nullopt;
  }
  return text.str();
}

void write_file(const fs::path& path, const std::string& text) {
  const fs::path temporary =
      path.parent_path() / fmt::format(".{}.{}", path.filename().string(), getpid());
  std::ofstream file(temporary, std::ios::binary);
  file << text;
  file.close();
  std::error_code error;
  if (!file) {
    const std::string reason = std::strerror(errno);
    fs::remove(temporary, error);
    refuse_path(path, "cannot write: " + reason);
  }
  fs::rename(temporary, path, error);
  if (error) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    refuse_path(path, "cannot write: " + error.message());
  }
}

}  // namespace rngdsim::cli
