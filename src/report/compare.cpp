// SPDX-License-Identifier: Apache-2.0
#include "report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "report/findings.h"
#include "report/run_json.h"

namespace rngdsim {
namespace {

using Json = nlohmann::ordered_json;

Json busiest_json(const RunResult& run) {
  const UnitResult* unit = busiest_unit(run);
  if (unit == nullptr) return nullptr;
  return {{"unit", unit->name}, {"busy", unit->busy}, {"active", active_cycles(*unit)}};
}

Json waits_json(const RunResult& run, const Program& program) {
  Json list = Json::array();
  for (const LongestWait& wait : longest_waits(run, program)) {
    list.push_back({{"state", wait.state},
                    {"unit", wait.unit},
                    {"cycles", wait.cycles},
                    {"blamed", wait.blamed},
                    {"blamed_cycles", wait.blamed_cycles},
                    {"reason", wait.reason}});
  }
  return list;
}

Json kernel_json(const Comparison& comparison, const ComparedKernel& kernel) {
  Json parameters = Json::object();
  for (const auto& [name, value] : kernel.parameters) parameters[name] = value;
  Json json = {{"name", kernel.name},
               {"file", kernel.file},
               {"parameters", parameters},
               {"cycles", kernel.run["cycles"]},
               {"ratio", ratio_to_baseline(comparison, kernel)},
               {"cycles_per_bound", cycles_per_bound(kernel)}};
  // What all kernels share stands above.
  for (const auto& [key, value] : kernel.run.items()) {
    if (key != "schema_version" && key != "tool" && key != "topology" && key != "clock_ghz") {
      json[key] = value;
    }
  }
  return json;
}

Json equal_json(const Comparison& comparison) {
  Json results = Json::array();
  if (comparison.equal) {
    for (const EqualResult& result : *comparison.equal) {
      results.push_back({{"name", result.name},
                         {"axes", result.axes},
                         {"shape", result.shape},
                         {"dtype", name(result.dtype)},
                         {"elements", elements_of(result)},
                         {"within", is_integer(result.dtype) ? "nothing" : "summation order"}});
    }
  }
  return {{"proved", comparison.equal.has_value()}, {"results", results}};
}

Json sweep_json(const SweepSummary& sweep) {
  Json rules = Json::array();
  for (const IllegalPoints& illegal : sweep.rules) {
    rules.push_back({{"points", illegal.names},
                     {"file", illegal.rule.where.file},
                     {"line", illegal.rule.where.line},
                     {"column", illegal.rule.where.column},
                     {"error", illegal.rule.message},
                     {"hint", illegal.rule.hint}});
  }
  return {{"file", sweep.file},
          {"points", sweep.points},
          {"excluded", sweep.excluded},
          {"illegal", sweep.illegal},
          {"rules", rules}};
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + "\"";
}

// The wait of a kernel in one state, null where there is none.
Json wait_in(const ComparedKernel& kernel, const char* state) {
  for (const Json& wait : kernel.run["longest_waits"]) {
    if (wait["state"] == state) return wait;
  }
  return nullptr;
}

using CsvRow = std::vector<std::pair<std::string, std::string>>;

CsvRow csv_row(const Comparison& comparison, const ComparedKernel& kernel) {
  const Json& run = kernel.run;
  const Json& mac = run["mac"];
  std::vector<std::string> parameters;
  for (const auto& [name, value] : kernel.parameters) parameters.push_back(name + "=" + value);
  CsvRow row = {
      {"name", kernel.name},
      {"file", kernel.file},
      {"parameters", fmt::format("{}", fmt::join(parameters, "; "))},
      {"cycles", run["cycles"].dump()},
      {"ratio", Json(ratio_to_baseline(comparison, kernel)).dump()},
      {"mac_utilization", mac["utilization"].dump()},
      {"mac_utilization_while_active", mac["utilization_while_active"].dump()},
      {"mac_useful", mac["useful"].dump()},
      {"mac_issued", mac["issued"].dump()},
      {"bound_resource", run["bound_resource"].get<std::string>()},
      {"bound", run["bound"]["cycles"].dump()},
      {"cycles_per_bound", Json(cycles_per_bound(kernel)).dump()},
  };
  for (const auto& [memory, numbers] : run["bandwidth"].items()) {
    row.emplace_back(memory + "_bytes", numbers["bytes"].dump());
    row.emplace_back(memory + "_bytes_per_cycle", numbers["bytes_per_cycle"].dump());
  }
  row.emplace_back("flits", run["flits"].dump());
  const Json& busiest = run["busiest"];
  row.emplace_back("busiest_unit", busiest.is_null() ? "" : busiest["unit"].get<std::string>());
  row.emplace_back("busy", busiest.is_null() ? "0" : busiest["busy"].dump());
  for (const char* state : {"starved", "blocked", "conflict"}) {
    const Json wait = wait_in(kernel, state);
    const std::string prefix = state;
    row.emplace_back(prefix, wait.is_null() ? "0" : wait["cycles"].dump());
    row.emplace_back(prefix + "_unit", wait.is_null() ? "" : wait["unit"].get<std::string>());
    row.emplace_back(prefix + "_for", wait.is_null() ? "" : wait["blamed"].get<std::string>());
  }
  return row;
}

}  // namespace

Json compared_run_json(const RunResult& run, const Program& program, const ReportOptions& options) {
  Json json = run_json(run, program, options);
  json.erase("wall_seconds");
  json.erase("cycles_per_second");
  json["bound_resource"] = bounding_resource(run, program);
  json["busiest"] = busiest_json(run);
  json["longest_waits"] = waits_json(run, program);
  uint64_t flits = 0;
  for (const UnitResult& unit : run.units) {
    if (unit.type == "collect") flits += unit.items_out;
  }
  json["flits"] = flits;
  return json;
}

uint64_t cycles_of(const ComparedKernel& kernel) { return kernel.run["cycles"].get<uint64_t>(); }

double ratio_to_baseline(const Comparison& comparison, const ComparedKernel& kernel) {
  const uint64_t base = cycles_of(comparison.kernels[comparison.baseline]);
  return base == 0 ? 1 : static_cast<double>(cycles_of(kernel)) / static_cast<double>(base);
}

double cycles_per_bound(const ComparedKernel& kernel) {
  const auto bound = kernel.run["bound"]["cycles"].get<uint64_t>();
  return bound == 0 ? 1 : static_cast<double>(cycles_of(kernel)) / static_cast<double>(bound);
}

uint64_t elements_of(const EqualResult& result) {
  uint64_t elements = 1;
  for (const uint64_t size : result.shape) elements *= size;
  return elements;
}

void Comparison::order(const std::string& named) {
  std::stable_sort(
      kernels.begin(), kernels.end(), [](const ComparedKernel& a, const ComparedKernel& b) {
        return std::make_tuple(cycles_of(a), a.name) < std::make_tuple(cycles_of(b), b.name);
      });
  baseline_named = !named.empty();
  const auto found =
      std::find_if(kernels.begin(), kernels.end(),
                   [&](const ComparedKernel& kernel) { return kernel.name == named; });
  baseline = baseline_named ? static_cast<size_t>(found - kernels.begin()) : 0;
}

void Comparison::keep_fastest(size_t count) {
  std::vector<ComparedKernel> kept;
  size_t new_baseline = 0;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (i >= count && i != baseline) continue;
    if (i == baseline) new_baseline = kept.size();
    kept.push_back(std::move(kernels[i]));
  }
  left_out += kernels.size() - kept.size();
  kernels = std::move(kept);
  baseline = new_baseline;
}

std::string compare_csv(const Comparison& comparison) {
  std::string text;
  for (const ComparedKernel& kernel : comparison.kernels) {
    const CsvRow row = csv_row(comparison, kernel);
    std::string headings, cells;
    for (const auto& [heading, value] : row) {
      const char* comma = headings.empty() ? "" : ",";
      headings += comma + heading;
      cells += comma + csv_cell(value);
    }
    if (text.empty()) text = headings + "\n";
    text += cells + "\n";
  }
  return text;
}

Json compare_json(const Comparison& comparison) {
  Json kernels = Json::array();
  for (const ComparedKernel& kernel : comparison.kernels) {
    kernels.push_back(kernel_json(comparison, kernel));
  }
  Json sweeps = Json::array();
  for (const SweepSummary& sweep : comparison.sweeps) sweeps.push_back(sweep_json(sweep));
  const Json& first = comparison.kernels.front().run;
  return {{"schema_version", kSchemaVersion},
          {"tool", tool_json()},
          {"topology", first["topology"]},
          {"clock_ghz", first["clock_ghz"]},
          {"baseline", comparison.kernels[comparison.baseline].name},
          {"equal", equal_json(comparison)},
          {"kernels", kernels},
          {"left_out", comparison.left_out},
          {"sweeps", sweeps}};
}

}  // namespace rngdsim
