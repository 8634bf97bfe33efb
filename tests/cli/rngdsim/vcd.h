// SPDX-License-Identifier: Apache-2.0
// Reads a value change dump back, by the grammar of IEEE 1364 and strings as viewers know them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace rngdsim {

struct Vcd {
  using Changes = std::vector<std::pair<uint64_t, std::string>>;  // time, value
  std::map<std::string, Changes> signals;                         // by path
  uint64_t last_time = 0;
  size_t times = 0;  // lines with a time
  std::string timescale;

  // The value from `time` on; "?" before the first.
  std::string at(const std::string& path, uint64_t time) const {
    const auto found = signals.find(path);
    if (found == signals.end()) {
      ADD_FAILURE() << "no signal " << path;
      return "?";
    }
    std::string value = "?";
    for (const auto& [when, what] : found->second) {
      if (when > time) break;
      value = what;
    }
    return value;
  }
};

// The values of a signal in the cycles [begin, end), one an entry.
inline std::vector<std::string> per_cycle(const Vcd& vcd, const std::string& path, uint64_t begin,
                                          uint64_t end) {
  std::vector<std::string> values;
  const auto found = vcd.signals.find(path);
  EXPECT_NE(found, vcd.signals.end()) << path;
  if (found == vcd.signals.end()) return values;
  size_t next = 0;
  std::string value = "?";
  for (uint64_t time = begin; time < end; ++time) {
    while (next < found->second.size() && found->second[next].first <= time) {
      value = found->second[next++].second;
    }
    values.push_back(value);
  }
  return values;
}

inline uint64_t binary(const std::string& digits) {
  uint64_t value = 0;
  for (const char c : digits) {
    EXPECT_TRUE(c == '0' || c == '1') << digits;
    value = 2 * value + (c == '1' ? 1 : 0);
  }
  return value;
}

inline Vcd parse_vcd(const std::string& text) {
  Vcd vcd;
  std::istringstream stream(text);
  std::map<std::string, std::vector<std::string>> paths_of;  // by identifier
  std::vector<std::string> scopes;
  std::string word;
  const auto words_to_end = [&] {
    std::vector<std::string> words;
    while (stream >> word && word != "$end") words.push_back(word);
    EXPECT_EQ(word, "$end");
    return words;
  };
  uint64_t time = 0;
  bool in_header = true;
  const auto change = [&](const std::string& code, const std::string& value) {
    const auto found = paths_of.find(code);
    if (found == paths_of.end()) {
      ADD_FAILURE() << "a change of the unknown identifier " << code;
      return;
    }
    for (const std::string& path : found->second) {
      Vcd::Changes& changes = vcd.signals[path];
      EXPECT_TRUE(changes.empty() || changes.back().first < time)
          << path << " changes twice in " << time;
      EXPECT_TRUE(changes.empty() || changes.back().second != value)
          << path << " is told at " << time << " though it did not change";
      changes.emplace_back(time, value);
    }
  };
  while (stream >> word) {
    if (in_header) {
      if (word == "$scope") {
        const auto words = words_to_end();
        EXPECT_EQ(words.size(), 2u);
        EXPECT_EQ(words.at(0), "module");
        scopes.push_back(words.at(1));
      } else if (word == "$upscope") {
        words_to_end();
        EXPECT_FALSE(scopes.empty());
        scopes.pop_back();
      } else if (word == "$var") {
        const auto words = words_to_end();  // type width identifier name [range]
        EXPECT_GE(words.size(), 4u);
        std::string path;
        for (const std::string& scope : scopes) path += scope + ".";
        path += words.at(3);
        EXPECT_EQ(vcd.signals.count(path), 0u) << path;
        vcd.signals[path];
        paths_of[words.at(2)].push_back(path);
      } else if (word == "$timescale") {
        for (const std::string& part : words_to_end()) vcd.timescale += part;
      } else if (word == "$enddefinitions") {
        words_to_end();
        EXPECT_TRUE(scopes.empty());
        in_header = false;
      } else {
        EXPECT_TRUE(word == "$comment" || word == "$date" || word == "$version") << word;
        words_to_end();
      }
      continue;
    }
    if (word == "$dumpvars" || word == "$end") continue;
    if (word[0] == '#') {
      const uint64_t next = std::stoull(word.substr(1));
      EXPECT_TRUE(vcd.times == 0 || next >= time) << "time runs backwards at " << word;
      time = next;
      ++vcd.times;
    } else if (word[0] == 'b' || word[0] == 's') {
      std::string code;
      stream >> code;
      change(code, word.substr(1));
    } else {
      EXPECT_TRUE(word[0] == '0' || word[0] == '1' || word[0] == 'x' || word[0] == 'z') << word;
      change(word.substr(1), word.substr(0, 1));
    }
  }
  EXPECT_FALSE(in_header);
  vcd.last_time = time;
  return vcd;
}

}  // namespace rngdsim
