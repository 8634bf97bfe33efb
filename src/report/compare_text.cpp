// SPDX-License-Identifier: Apache-2.0
// A comparison for people: as text, and as Markdown with the same columns.
#include <fmt/format.h>

#include <algorithm>

#include "report/compare.h"
#include "report/numbers.h"
#include "support/text.h"

namespace rngdsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLeastName = 16;        // columns that a kernel's name always has
constexpr size_t kLongestBaseline = 16;  // that stands in a heading
constexpr size_t kMostNamedPoints = 4;
constexpr size_t kLongestSpokenName = 90;  // in a sentence
// Where a point of a sweep has a longer name, points are numbered and a table tells their values.
constexpr size_t kLongestPointName = 28;

// A table before it has a form. The first column holds names of kernels.
struct Sheet {
  struct Column {
    std::string heading;
    TextTable::Align align = TextTable::Align::kRight;
    size_t gap = 2;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  std::string note;  // what its numbers are of
};

constexpr auto kLeft = TextTable::Align::kLeft;
constexpr auto kRight = TextTable::Align::kRight;

std::string number(const Json& json) { return group_digits(json.get<uint64_t>()); }

// The end of a long name tells more than its beginning.
std::string shortened_name(const std::string& name, size_t width) {
  if (text_width(name) <= width || width < 4) return name;
  size_t at = name.size();
  for (size_t columns = 0; at > 0 && columns < width - 3; ++columns) {
    --at;
    while (at > 0 && (static_cast<unsigned char>(name[at]) & 0xc0) == 0x80) --at;
  }
  return "..." + name.substr(at);
}

Sheet cycles_sheet(const Comparison& comparison) {
  const std::string& base = comparison.kernels[comparison.baseline].name;
  const std::string versus = !comparison.baseline_named             ? "vs best"
                             : text_width(base) <= kLongestBaseline ? "vs " + base
                                                                    : "vs baseline";
  Sheet sheet{{{"kernel", kLeft},
               {"cycles", kRight},
               {versus, kRight},
               {"MAC use", kRight},
               {"bound by", kLeft, 3},
               {"bound", kRight},
               {"cycles / bound", kRight}},
              {},
              "MAC use: useful products, of the peak of the clusters in use from the first to the "
              "last packet; bound: the least cycles that the commands can take, overhead included"};
  for (const ComparedKernel& kernel : comparison.kernels) {
    const Json& run = kernel.run;
    const Json& mac = run["mac"];
    sheet.rows.push_back(
        {kernel.name, number(run["cycles"]),
         decimal(ratio_to_baseline(comparison, kernel), 2) + "x",
         mac["packets"] == 0 ? "-" : percent(mac["utilization_while_active"].get<double>()),
         run["bound_resource"].get<std::string>(), number(run["bound"]["cycles"]),
         decimal(cycles_per_bound(kernel), 2)});
  }
  return sheet;
}

Sheet work_sheet(const Comparison& comparison) {
  Sheet sheet{{{"work", kLeft},
               {"MACs useful", kRight},
               {"MACs issued", kRight},
               {"useful", kRight},
               {"flits", kRight}},
              {},
              "MACs are of the whole chip, flits those of one slice that left Collect"};
  for (const ComparedKernel& kernel : comparison.kernels) {
    const Json& mac = kernel.run["mac"];
    sheet.rows.push_back({kernel.name, number(mac["useful"]), number(mac["issued"]),
                          percent(mac["useful"].get<uint64_t>(), mac["issued"].get<uint64_t>()),
                          number(kernel.run["flits"])});
  }
  return sheet;
}

Sheet memory_sheet(const Comparison& comparison) {
  Sheet sheet{{{"bytes a slice", kLeft}},
              {},
              "bytes and B/cycle are of one slice, over all cycles of the run"};
  for (const char* memory : {"DM read", "DM write", "TRF read", "TRF write"}) {
    sheet.columns.push_back({memory, kRight});
    sheet.columns.push_back({"B/cycle", kRight});
  }
  for (const ComparedKernel& kernel : comparison.kernels) {
    std::vector<std::string> row = {kernel.name};
    const auto cycles = static_cast<double>(cycles_of(kernel));
    for (const char* memory : {"dm_read", "dm_write", "trf_read", "trf_write"}) {
      const auto bytes = kernel.run["bandwidth"][memory]["bytes_per_slice"].get<uint64_t>();
      row.push_back(group_digits(bytes));
      row.push_back(decimal(cycles > 0 ? static_cast<double>(bytes) / cycles : 0, 1));
    }
    sheet.rows.push_back(std::move(row));
  }
  return sheet;
}

// "multiplier starved 255 (stream_adapter 255: two flits a packet)".
std::string wait_text(const Json& wait) {
  const std::string text = fmt::format("{} {} {}", wait["unit"].get<std::string>(),
                                       wait["state"].get<std::string>(), number(wait["cycles"]));
  const auto blamed = wait["blamed"].get<std::string>();
  if (blamed.empty()) return text;
  const auto reason = wait["reason"].get<std::string>();
  return fmt::format("{} ({} {}{})", text, blamed, number(wait["blamed_cycles"]),
                     reason.empty() ? "" : ": " + reason);
}

Sheet waits_sheet(const Comparison& comparison) {
  Sheet sheet{
      {{"waits", kLeft},
       {"busiest unit", kLeft},
       {"busy", kRight},
       {"of active", kRight},
       {"longest waits, and whom they are blamed on", kLeft, 3}},
      {},
      "cycles of one slice; waits are the longest in each state among the units that worked "
      "at least half as long as the busiest one"};
  for (const ComparedKernel& kernel : comparison.kernels) {
    const Json& busiest = kernel.run["busiest"];
    std::vector<std::string> row = {kernel.name, "-", "", ""};
    if (!busiest.is_null()) {
      row = {kernel.name, busiest["unit"].get<std::string>(), number(busiest["busy"]),
             percent(busiest["busy"].get<uint64_t>(), busiest["active"].get<uint64_t>())};
    }
    const Json& waits = kernel.run["longest_waits"];
    row.push_back(waits.empty() ? "none" : wait_text(waits.front()));
    sheet.rows.push_back(row);
    for (size_t i = 1; i < waits.size(); ++i) {
      sheet.rows.push_back({"", "", "", "", wait_text(waits[i])});
    }
  }
  return sheet;
}

std::vector<Sheet> sheets_of(const Comparison& comparison) {
  return {cycles_sheet(comparison), work_sheet(comparison), memory_sheet(comparison),
          waits_sheet(comparison)};
}

// "c_dm[I,J] (262,144 elements, ...)".
std::string result_text(const EqualResult& result) {
  return fmt::format(
      "{}[{}] ({}, {})", result.name, fmt::join(result.axes, ","),
      count_of(elements_of(result), "element"),
      is_integer(result.dtype) ? "equal bit for bit" : "equal within the bound of summation order");
}

std::string equality_text(const Comparison& comparison) {
  if (!comparison.equal) {
    return "not proved to compute the same: values were not simulated (--timing-only)";
  }
  std::vector<std::string> results;
  for (const EqualResult& result : *comparison.equal) results.push_back(result_text(result));
  return fmt::format("all compute the same {}", fmt::join(results, ", "));
}

std::string machine_text(const Comparison& comparison) {
  const Json& run = comparison.kernels.front().run;
  std::string text = fmt::format("topology {}, {}", run["topology"]["name"].get<std::string>(),
                                 gigahertz(run["clock_ghz"].get<double>()));
  if (!comparison.options.set.empty()) {
    text += fmt::format(" with {}", fmt::join(comparison.options.set, ", "));
  }
  if (comparison.baseline_named) {
    text += "; baseline " + comparison.kernels[comparison.baseline].name;
  }
  if (comparison.left_out > 0) {
    text += fmt::format("; {} not shown", count_of(comparison.left_out, "slower kernel"));
  }
  return text;
}

std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostNamedPoints); ++i) {
    text += (i == 0 ? "" : ", ") + shortened_name(names[i], kLongestSpokenName);
  }
  if (names.size() <= kMostNamedPoints) return text;
  return fmt::format("{} and {} more", text, group_digits(names.size() - kMostNamedPoints));
}

// The costliest hint of each run, with the names of the kernels that it is for.
std::vector<std::pair<std::string, std::string>> hints_of(const Comparison& comparison) {
  struct Hint {
    std::vector<std::string> names;
    std::string text;
  };
  std::vector<Hint> hints;
  for (const ComparedKernel& kernel : comparison.kernels) {
    const Json& found = kernel.run["hints"];
    if (found.empty()) continue;
    const auto text = found.front().get<std::string>();
    const auto same = std::find_if(hints.begin(), hints.end(),
                                   [&](const Hint& hint) { return hint.text == text; });
    if (same == hints.end()) {
      hints.push_back({{kernel.name}, text});
    } else {
      same->names.push_back(kernel.name);
    }
  }
  std::vector<std::pair<std::string, std::string>> texts;
  for (Hint& hint : hints) texts.emplace_back(names_text(hint.names), std::move(hint.text));
  return texts;
}

std::string points_text(const SweepSummary& sweep) {
  return fmt::format("{}: {}; {} excluded by constraints, {} illegal", sweep.file,
                     count_of(sweep.points, "point"), group_digits(sweep.excluded),
                     group_digits(sweep.illegal));
}

std::string place_text(const Diagnostic& rule) {
  const std::string place = to_string(rule.where);
  return place.empty() ? "" : place + ": ";
}

// ---- Text

// The value of a parameter as the name of a point spells it: a mapping by its number.
std::string spelled_value(const std::string& name, const std::string& parameter) {
  const std::string key = parameter + "=";
  for (size_t at = name.find(key); at != std::string::npos; at = name.find(key, at + 1)) {
    if (at > 0 && name[at - 1] != ',' && name[at - 1] != '[') continue;
    const size_t begin = at + key.size();
    return name.substr(begin, name.find_first_of(",]", begin) - begin);
  }
  return "";
}

bool has_long_points(const Comparison& comparison) {
  return std::any_of(
      comparison.kernels.begin(), comparison.kernels.end(), [](const ComparedKernel& kernel) {
        return !kernel.parameters.empty() && text_width(kernel.name) > kLongestPointName;
      });
}

// "#1", "#2" ... for points of sweeps, and what they are.
Sheet number_points(Comparison& comparison) {
  std::vector<std::string> parameters;
  for (const ComparedKernel& kernel : comparison.kernels) {
    for (const auto& [name, value] : kernel.parameters) {
      if (std::find(parameters.begin(), parameters.end(), name) == parameters.end()) {
        parameters.push_back(name);
      }
    }
  }
  Sheet sheet{{{"point", kLeft}}, {}, "points by rank"};
  const bool several = comparison.sweeps.size() > 1;
  if (several) sheet.columns.push_back({"file", kLeft});
  for (const std::string& name : parameters) sheet.columns.push_back({name, kRight});
  size_t number = 0;
  for (ComparedKernel& kernel : comparison.kernels) {
    ++number;
    if (kernel.parameters.empty()) continue;
    std::vector<std::string> row = {fmt::format("#{}", number)};
    if (several) row.push_back(kernel.file);
    for (const std::string& name : parameters) row.push_back(spelled_value(kernel.name, name));
    sheet.rows.push_back(std::move(row));
    kernel.name = fmt::format("#{}", number);
  }
  return sheet;
}

std::string text_of(Sheet sheet) {
  // What the other columns leave belongs to the names; the last one, where it is text, wraps.
  size_t others = kIndent;
  for (size_t c = 1; c < sheet.columns.size(); ++c) {
    const Sheet::Column& column = sheet.columns[c];
    size_t width = text_width(column.heading);
    const bool wraps = c + 1 == sheet.columns.size() && column.align == kLeft;
    for (const auto& row : sheet.rows) {
      if (!wraps && c < row.size()) width = std::max(width, text_width(row[c]));
    }
    others += column.gap + width;
  }
  const size_t room = std::max(kLeastName, kReportWidth - std::min(others, kReportWidth));
  TextTable table;
  for (const Sheet::Column& column : sheet.columns) {
    table.column(column.heading, column.align, column.gap);
  }
  for (std::vector<std::string>& row : sheet.rows) {
    row[0] = shortened_name(row[0], room);
    table.row(row);
  }
  return table.text(kIndent);
}

std::string indented(const std::string& text, const std::string& first) {
  return wrap(text, first, text_width(first));
}

std::string sweep_text(const SweepSummary& sweep, const Style& style) {
  std::string text = "\n" + wrap(points_text(sweep), "  ", 4);
  for (const auto& [name, value] : sweep.legend) text += indented(value, "  " + name + ": ");
  for (const IllegalPoints& illegal : sweep.rules) {
    text += indented(names_text(illegal.names), "  " + style.bad("illegal:") + " ");
    text += wrap(place_text(illegal.rule) + "error: " + illegal.rule.message, "    ", 6);
    if (!illegal.rule.hint.empty()) text += indented(illegal.rule.hint, "    hint: ");
  }
  return text;
}

// ---- Markdown

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '_' || c == '<' || c == '`' || c == '[') result += '\\';
    result += c;
  }
  return result;
}

std::string markdown_of(const Sheet& sheet) {
  std::string text, rule;
  for (const Sheet::Column& column : sheet.columns) {
    text += "| " + escaped(column.heading) + " ";
    rule += column.align == kLeft ? "|---" : "|---:";
  }
  text += "|\n" + rule + "|\n";
  for (const std::vector<std::string>& row : sheet.rows) {
    for (size_t c = 0; c < sheet.columns.size(); ++c) {
      text += "| " + (c < row.size() ? escaped(row[c]) : std::string()) + " ";
    }
    text += "|\n";
  }
  return text + "\n" + escaped(sheet.note) + ".\n";
}

std::string sweep_markdown(const SweepSummary& sweep) {
  std::string text = "\n" + escaped(points_text(sweep)) + ".\n";
  if (!sweep.legend.empty() || !sweep.rules.empty()) text += "\n";
  for (const auto& [name, value] : sweep.legend) {
    text += fmt::format("* {}: {}\n", escaped(name), escaped(value));
  }
  for (const IllegalPoints& illegal : sweep.rules) {
    text += fmt::format("* illegal: {}: {}error: {}\n", escaped(names_text(illegal.names)),
                        escaped(place_text(illegal.rule)), escaped(illegal.rule.message));
    if (!illegal.rule.hint.empty()) text += "  hint: " + escaped(illegal.rule.hint) + "\n";
  }
  return text;
}

}  // namespace

std::string compare_text(const Comparison& comparison, const Style& style) {
  Comparison shown = comparison;
  std::optional<Sheet> points;
  if (has_long_points(shown)) points = number_points(shown);
  const std::string equality = equality_text(shown);
  const std::string verdict = shown.equal ? style.good(equality) : style.warn(equality);
  // Colour would be cut where the line is.
  std::string text = text_width(equality) <= kReportWidth ? verdict + "\n" : wrap(equality, "", 2);
  text += wrap(machine_text(shown), "", 2);
  if (points) text += "\n" + text_of(*points);
  for (const Sheet& sheet : sheets_of(shown)) {
    text += "\n" + text_of(sheet) + wrap(sheet.note, "  ", 2);
  }
  const auto hints = hints_of(shown);
  if (!hints.empty()) text += "\n";
  for (const auto& [name, hint] : hints) {
    text += wrap(name + ": " + hint, "  " + style.strong("hint:") + " ", 8);
  }
  for (const SweepSummary& sweep : shown.sweeps) text += sweep_text(sweep, style);
  return text;
}

std::string compare_markdown(const Comparison& comparison) {
  std::string text =
      escaped(equality_text(comparison)) + ".\n\n" + escaped(machine_text(comparison)) + ".\n";
  for (const Sheet& sheet : sheets_of(comparison)) text += "\n" + markdown_of(sheet);
  const auto hints = hints_of(comparison);
  if (!hints.empty()) text += "\n";
  for (const auto& [name, hint] : hints) {
    text += fmt::format("* hint for {}: {}\n", escaped(name), escaped(hint));
  }
  for (const SweepSummary& sweep : comparison.sweeps) text += sweep_markdown(sweep);
  return text;
}

}  // namespace rngdsim
