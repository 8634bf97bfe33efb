// SPDX-License-Identifier: Apache-2.0
#include "report/json_fields.h"

#include <fmt/format.h>

#include <utility>

namespace rngdsim {

std::optional<nlohmann::ordered_json> parse_json(const std::string& text, const std::string& file,
                                                 Diagnostics& diagnostics) {
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::ordered_json::parse_error& error) {
    std::string what = error.what();  // "[json.exception...] parse error at line 1, column 5: ..."
    if (const size_t at = what.find("] "); at != std::string::npos) what = what.substr(at + 2);
    diagnostics.error({file, 0, 0}, "no JSON: " + what);
    return std::nullopt;
  }
}

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

JsonFields::JsonFields(std::string file, std::string what, std::string hint,
                       Diagnostics& diagnostics)
    : file_(std::move(file)),
      what_(std::move(what)),
      hint_(std::move(hint)),
      diagnostics_(diagnostics) {}

const JsonFields::Json* JsonFields::find(const Json& of, const char* key) {
  return of.is_object() && of.contains(key) ? &of.at(key) : nullptr;
}

std::vector<JsonFields::Json> JsonFields::list(const Json& of, const char* key) {
  const Json* const found = find(of, key);
  if (found != nullptr && found->is_array()) return found->get<std::vector<Json>>();
  fault(key, "a list");
  return {};
}

JsonFields::Json JsonFields::object(const Json& of, const char* key) {
  const Json* const found = find(of, key);
  if (found != nullptr && found->is_object()) return *found;
  fault(key, "an object");
  return Json::object();
}

std::string JsonFields::text(const Json& of, const char* key) {
  const Json* const found = find(of, key);
  if (found != nullptr && found->is_string()) return found->get<std::string>();
  fault(key, "a text");
  return "";
}

uint64_t JsonFields::number(const Json& of, const char* key) {
  const Json* const found = find(of, key);
  if (found != nullptr && found->is_number_unsigned()) return found->get<uint64_t>();
  fault(key, "a whole number");
  return 0;
}

void JsonFields::fault(const char* key, const char* wanted) {
  if (good_) {
    diagnostics_.error({file_, 0, 0}, fmt::format("no {}: '{}' is not {}", what_, key, wanted),
                       hint_);
  }
  good_ = false;
}

}  // namespace rngdsim
