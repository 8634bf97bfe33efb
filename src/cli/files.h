// SPDX-License-Identifier: Apache-2.0
// Files of results: whole or not at all.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "support/diagnostic.h"

namespace rngdsim::cli {

// Makes the directory and those above it. InputError where it cannot be one.
void make_directory(const std::filesystem::path& directory);

// All of a file; nothing where it cannot be read: an error.
std::optional<std::string> read_file(const std::string& file, Diagnostics& diagnostics);

// Writes beside `path` first and renames then. InputError where that fails; nothing is left behind.
void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace rngdsim::cli
