// SPDX-License-Identifier: Apache-2.0
// Reading JSON that a user hands over: what is missing or of another type is an error, once a file.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace rngdsim {

// Nothing where it is no JSON: an error of `file`.
std::optional<nlohmann::ordered_json> parse_json(const std::string& text, const std::string& file,
                                                 Diagnostics& diagnostics);
// As every JSON document of the program is written, with a line break at the end.
std::string json_text(const nlohmann::ordered_json& json);

class JsonFields {
 public:
  using Json = nlohmann::ordered_json;

  // `what` the file should be ("report of a run"), and where one comes from.
  JsonFields(std::string file, std::string what, std::string hint, Diagnostics& diagnostics);

  bool good() const { return good_; }  // no error so far
  // After a fault: empty, 0.
  std::vector<Json> list(const Json& of, const char* key);
  Json object(const Json& of, const char* key);
  std::string text(const Json& of, const char* key);
  uint64_t number(const Json& of, const char* key);
  // "no schedule: 'end' is not a whole number"
  void fault(const char* key, const char* wanted);

 private:
  // Null where there is no such key.
  static const Json* find(const Json& of, const char* key);

  std::string file_, what_, hint_;
  Diagnostics& diagnostics_;
  bool good_ = true;
};

}  // namespace rngdsim
