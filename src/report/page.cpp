// SPDX-License-Identifier: Apache-2.0
#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/explain.h"
#include "report/findings.h"
#include "report/run_json.h"
#include "report/run_text.h"
#include "report/why.h"
#include "support/text.h"

namespace rngdsim {

// Made by CMake of src/report/page/.
extern const char* const kPageHtml;
extern const char* const kPageStyle;
extern const char* const kPageScript;
extern const char* const kPageNotice;
extern const char* const kPageD3;

namespace {

using Json = nlohmann::ordered_json;

// Of a heatmap as JSON what the page draws.
Json page_counts(const Json& heatmap) {
  constexpr size_t kMostRows = 256;
  Json columns = Json::array(), rows = Json::array();
  for (const Json& column : heatmap["columns"]) {
    columns.push_back({{"first_slice", column["first_slice"]}, {"slices", column["slices"]}});
  }
  for (const Json& row : heatmap["rows"]) {
    if (rows.size() == kMostRows) break;
    rows.push_back({{"t", row["t"]}, {"counts", row["valid_size"]}});
  }
  return {{"columns", columns}, {"rows", rows}, {"flits", heatmap["flits"]}};
}

// Each command's stages, and its valid counts where no command before it has the same.
Json page_commands(const Program& program) {
  Json list = Json::array();
  std::vector<Json> told;
  for (const Command& command : program.commands) {
    Json stages = Json::array(), counts = Json::array();
    for (const StageExplanation& stage : explain_command(program, command)) {
      stages.push_back({{"label", stage.label}, {"text", stage.text}});
      if (!stage.json.is_object() || !stage.json.contains("vcg")) continue;
      const Json heatmap = page_counts(stage.json["vcg"]["heatmap"]);
      if (std::find(told.begin(), told.end(), heatmap) != told.end()) continue;
      told.push_back(heatmap);
      counts.push_back({{"heatmap", heatmap}});
    }
    list.push_back({{"index", command.id}, {"stages", stages}, {"counts", counts}});
  }
  return list;
}

// Inside of a script element nothing may look like its end.
std::string in_script(const Json& data) {
  const std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string page_html(const RunResult& run, const Program& program, const CommandProfile& profile,
                      const Json& activity, const ReportOptions& options) {
  Json report = run_json(run, program, options);
  report.erase("wall_seconds");
  report.erase("cycles_per_second");
  const bool has_path = run.status == RunStatus::kOk && run.clusters.empty();
  Json lead = Json::array();
  lead.push_back({{"topic", ""}, {"text", outcome_sentence(run, program)}});
  for (const Lead& sentence : leads(run, program, hints(run, program))) {
    lead.push_back({{"topic", sentence.topic}, {"text", sentence.text}});
  }
  Json data = {{"lead", lead},
               {"report", std::move(report)},
               {"why", has_path ? why_json(run, program, profile, options) : Json(nullptr)},
               {"activity", activity},
               {"commands", page_commands(program)}};
  std::string page = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  // No request of the browser for a picture of the page, either.
  page += "<link rel=\"icon\" href=\"data:,\">\n<title>rngdsim</title>\n";
  page += fmt::format("<style>\n{}</style>\n</head>\n<body>\n{}", kPageStyle, kPageHtml);
  page +=
      fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n", in_script(data));
  page += fmt::format("<script>\n/*\n{}*/\n{}\n</script>\n", kPageNotice, kPageD3);
  page += fmt::format("<script>\n{}</script>\n</body>\n</html>\n", kPageScript);
  return page;
}

}  // namespace rngdsim
