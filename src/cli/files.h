// SPDX-License-Identifier: Apache-2.0
// Files of results: whole or not at all.
#pragma once

#include <filesystem>
#include <string>

namespace rngdsim::cli {

// Makes the directory and those above it. InputError where it cannot be one.
void make_directory(const std::filesystem::path& directory);

// Writes beside `path` first and renames then. InputError where that fails; nothing is left behind.
void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace rngdsim::cli
