// SPDX-License-Identifier: Apache-2.0
#include "cli/candidates.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "config/kernel.h"
#include "config/yaml_document.h"
#include "report/numbers.h"
#include "support/text.h"

namespace rngdsim::cli {
namespace {

namespace fs = std::filesystem;

std::string key_of(const Diagnostic& diagnostic) {
  return to_string(diagnostic.where) + "\n" + diagnostic.message;
}

std::string errors_of(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& d : diagnostics.all()) {
    if (d.severity == Severity::kError) text += key_of(d) + "\n";
  }
  return text;
}

class Loader {
 public:
  Loader(Candidates& candidates, Machine& machine, PointNames point_names)
      : candidates_(candidates), machine_(machine), point_names_(point_names) {}

  void load(const std::string& file, const std::string& name) {
    Diagnostics diagnostics;
    const std::optional<std::string> text = read_config_file(file, diagnostics);
    if (!text) return tell(diagnostics);
    const KernelDecl first = parse_kernel(*text, file, diagnostics);
    if (!first.sweep.faulty && !first.sweep.parameters.empty()) {
      expand(*text, file, name, first.sweep);
      return;
    }
    Program program = lower_kernel(first, machine_, diagnostics);
    tell(diagnostics);
    candidates_.kernels.push_back({name, file, {}, std::move(program)});
  }

 private:
  // A file that is given twice, and the points of a sweep, have the same faults.
  void tell(const Diagnostics& diagnostics) {
    for (const Diagnostic& d : diagnostics.all()) {
      if (!told_.insert(key_of(d)).second) continue;
      if (d.severity == Severity::kError) {
        candidates_.diagnostics.error(d.where, d.message, d.hint);
      } else {
        candidates_.diagnostics.warning(d.where, d.message, d.hint);
      }
    }
  }

  void expand(const std::string& text, const std::string& file, const std::string& name,
              const SweepDecl& sweep) {
    SweepSummary summary;
    summary.file = file;
    summary.points = sweep.points();
    summary.legend = legend_of(sweep);
    const size_t kernels_before = candidates_.kernels.size();
    std::vector<Diagnostics> faults;  // of illegal points
    for (uint64_t number = 0; number < sweep.points(); ++number) {
      const SweepPoint point = sweep.point(number);
      Diagnostics diagnostics;
      const KernelDecl kernel = parse_kernel(text, file, diagnostics, {point, {}});
      if (kernel.excluded && !diagnostics.has_errors()) {
        ++summary.excluded;
        continue;
      }
      Program program = lower_kernel(kernel, machine_, diagnostics);
      if (diagnostics.has_errors()) {
        add_illegal(sweep.name(point), diagnostics, summary);
        faults.push_back(std::move(diagnostics));
        continue;
      }
      tell(diagnostics);
      const bool alone = point_names_ == PointNames::kAlone;
      candidates_.kernels.push_back(
          {alone ? sweep.name(point) : fmt::format("{}[{}]", name, sweep.name(point)), file,
           values_of(sweep, point), std::move(program)});
    }
    if (candidates_.kernels.size() == kernels_before && machine_.good)
      explain_none(summary, faults);
    candidates_.sweeps.push_back(std::move(summary));
  }

  static std::vector<std::pair<std::string, std::string>> legend_of(const SweepDecl& sweep) {
    std::vector<std::pair<std::string, std::string>> legend;
    for (const SweepParameter& parameter : sweep.parameters) {
      for (size_t i = 0; parameter.is_mapping() && i < parameter.count(); ++i) {
        legend.emplace_back(parameter.name + "=" + parameter.short_value(i), parameter.value(i));
      }
    }
    return legend;
  }

  static std::vector<std::pair<std::string, std::string>> values_of(const SweepDecl& sweep,
                                                                    const SweepPoint& point) {
    std::vector<std::pair<std::string, std::string>> values;
    for (size_t i = 0; i < point.size(); ++i) {
      values.emplace_back(sweep.parameters[i].name, sweep.parameters[i].value(point[i]));
    }
    return values;
  }

  // Under the rule that it breaks first, in the order of the file.
  static void add_illegal(const std::string& point, const Diagnostics& diagnostics,
                          SweepSummary& summary) {
    ++summary.illegal;
    const Diagnostic* first = nullptr;
    for (const Diagnostic& d : diagnostics.all()) {
      if (d.severity != Severity::kError) continue;
      const auto place = [](const Diagnostic& of) {
        return std::make_pair(of.where.line, of.where.column);
      };
      if (first == nullptr || place(d) < place(*first)) first = &d;
    }
    for (IllegalPoints& illegal : summary.rules) {
      if (key_of(illegal.rule) != key_of(*first)) continue;
      illegal.names.push_back(point);
      return;
    }
    summary.rules.push_back({{point}, *first});
  }

  // A fault of the file itself is the same at every point.
  void explain_none(const SweepSummary& summary, const std::vector<Diagnostics>& faults) {
    if (faults.empty()) {
      candidates_.diagnostics.error(
          {summary.file, 0, 0},
          fmt::format("the constraints exclude {} of the sweep",
                      summary.points == 1 ? std::string("the only point")
                                          : fmt::format("all {} points", summary.points)));
      return;
    }
    const std::string errors = errors_of(faults.front());
    const bool same = std::all_of(faults.begin(), faults.end(),
                                  [&](const Diagnostics& d) { return errors_of(d) == errors; });
    if (same) return tell(faults.front());
    for (const IllegalPoints& illegal : summary.rules) {
      const size_t more = illegal.names.size() - 1;
      const std::string points =
          illegal.names.front() + (more > 0 ? fmt::format(" and {} more", more) : "");
      candidates_.diagnostics.error(illegal.rule.where,
                                    fmt::format("{} (with {})", illegal.rule.message, points),
                                    illegal.rule.hint);
    }
    candidates_.diagnostics.error({summary.file, 0, 0},
                                  fmt::format("no point of the sweep is legal: {} of {} illegal, "
                                              "{} excluded by constraints",
                                              summary.illegal, summary.points, summary.excluded));
  }

  Candidates& candidates_;
  Machine& machine_;
  PointNames point_names_;
  std::set<std::string> told_;
};

}  // namespace

std::vector<std::string> names_of_files(const std::vector<std::string>& files) {
  // The parts of a path without its extension, the last one first.
  std::vector<std::vector<std::string>> parts;
  for (const std::string& file : files) {
    const fs::path path = fs::path(file).lexically_normal().replace_extension();
    std::vector<std::string> reversed;
    for (const fs::path& part : path) reversed.insert(reversed.begin(), part.string());
    parts.push_back(std::move(reversed));
  }
  std::vector<size_t> depths(files.size(), 1);
  const auto name = [&](size_t i) {
    std::string text;
    for (size_t d = std::min(depths[i], parts[i].size()); d > 0; --d) {
      const std::string& part = parts[i][d - 1];
      text += part + (d > 1 && part != "/" ? "/" : "");
    }
    return text;
  };
  for (bool changed = true; changed;) {
    changed = false;
    std::map<std::string, std::vector<size_t>> same;
    for (size_t i = 0; i < files.size(); ++i) same[name(i)].push_back(i);
    for (const auto& group : same) {
      const std::vector<size_t>& members = group.second;
      const bool differ = std::any_of(members.begin(), members.end(),
                                      [&](size_t i) { return parts[i] != parts[members[0]]; });
      for (const size_t i : members) {
        if (!differ || depths[i] >= parts[i].size()) continue;
        ++depths[i];
        changed = true;
      }
    }
  }
  std::vector<std::string> names;
  std::map<std::string, size_t> seen;
  for (size_t i = 0; i < files.size(); ++i) {
    const size_t count = ++seen[name(i)];
    names.push_back(count == 1 ? name(i) : fmt::format("{}#{}", name(i), count));
  }
  return names;
}

Candidates load_candidates(const std::vector<std::string>& files, const MachineOptions& machine,
                           PointNames point_names) {
  Candidates candidates;
  Machine lowered_for = load_machine_limits(machine, candidates.diagnostics);
  const std::vector<std::string> names = names_of_files(files);
  Loader loader(candidates, lowered_for, point_names);
  for (size_t i = 0; i < files.size(); ++i) {
    spdlog::info("kernel {}", files[i]);
    loader.load(files[i], names[i]);
  }
  candidates.topology = std::move(lowered_for.topology);
  return candidates;
}

}  // namespace rngdsim::cli
