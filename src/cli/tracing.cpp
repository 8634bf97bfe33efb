// SPDX-License-Identifier: Apache-2.0
#include "cli/tracing.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/files.h"
#include "cli/inputs.h"
#include "reference/npy.h"
#include "report/page.h"
#include "support/diagnostic.h"
#include "support/text.h"

namespace rngdsim::cli {
namespace {

[[noreturn]] void fail(const std::string& file, const std::string& message,
                       const std::string& hint = "") {
  Diagnostics diagnostics;
  diagnostics.error({file, 0, 0}, message, hint);
  throw InputError(diagnostics);
}

void check(const TraceFile& file) {
  if (!file.problem().empty()) fail(file.path(), "cannot write: " + file.problem());
}

}  // namespace

Window parse_window(const std::string& text) {
  constexpr char kHint[] = "A:B are the cycles from A on and before B; either may be left out";
  const size_t colon = text.find(':');
  Window window;
  const std::string begin = text.substr(0, colon);
  const std::string end = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (colon == std::string::npos || (!begin.empty() && !parse_count(begin, window.begin)) ||
      (!end.empty() && !parse_count(end, window.end))) {
    fail("", fmt::format("--window: {} is no range of cycles", quoted(text)), kHint);
  }
  if (window.begin >= window.end) {
    fail("",
         fmt::format("--window: {} holds no cycle: {} is not before {}", quoted(text),
                     group_digits(window.begin), group_digits(window.end)),
         kHint);
  }
  return window;
}

void Tracing::check_different(const TraceOptions& options) {
  const std::pair<const char*, const std::string*> files[] = {{"--vcd", &options.vcd},
                                                              {"--flits", &options.flits},
                                                              {"--perfetto", &options.perfetto},
                                                              {"--html", &options.html}};
  std::error_code ignored;
  for (size_t i = 0; i < std::size(files); ++i) {
    for (size_t j = i + 1; j < std::size(files); ++j) {
      const std::string &one = *files[i].second, &other = *files[j].second;
      if (one.empty() || other.empty()) continue;
      if (std::filesystem::weakly_canonical(one, ignored) !=
          std::filesystem::weakly_canonical(other, ignored)) {
        continue;
      }
      fail(one, fmt::format("{} and {} name the same file", files[i].first, files[j].first));
    }
  }
}

Tracing::Tracing(const TraceOptions& options, double clock_ghz) : options_(options) {
  if (!options.window.empty()) {
    window_ = parse_window(options.window);
    if (options.vcd.empty() && options.flits.empty() && options.perfetto.empty()) {
      fail("", "--window limits --vcd, --flits and --perfetto, and none is given");
    }
  }
  check_different(options);
  if (!options.vcd.empty()) {
    vcd_file_.emplace(options.vcd);
    check(*vcd_file_);
    vcd_.emplace(*vcd_file_, window_, clock_ghz);
    gtkw_.emplace(window_);
    recorder_.add(*vcd_);
    recorder_.add(*gtkw_);
  }
  if (!options.flits.empty()) {
    flits_file_.emplace(options.flits);
    check(*flits_file_);
    flits_.emplace(*flits_file_, window_);
    recorder_.add(*flits_);
  }
  if (!options.perfetto.empty()) {
    perfetto_file_.emplace(options.perfetto);
    check(*perfetto_file_);
    perfetto_.emplace(*perfetto_file_, window_, clock_ghz);
    recorder_.add(*perfetto_);
  }
  if (!options.html.empty()) {
    check_writable(options.html);
    recorder_.add(activity_.emplace());
    observers_.add(profile_.emplace());
  }
  if (vcd_ || flits_ || perfetto_ || activity_) observers_.add(recorder_);
}

void Tracing::finish() {
  for (auto* file : {&vcd_file_, &flits_file_, &perfetto_file_}) {
    if (!*file) continue;
    (*file)->close();
    check(**file);
  }
  if (!gtkw_) return;
  std::filesystem::path save = vcd_file_->path();
  // GTKWave looks for the dump beside the save file.
  const std::string dump = save.filename().string();
  save.replace_extension(".gtkw");
  write_file(save, gtkw_->text(dump));
}

void Tracing::write_page(const RunResult& run, const Program& program,
                         const ReportOptions& options) const {
  if (options_.html.empty()) return;
  write_file(options_.html, page_html(run, program, *profile_, activity_->json(), options));
}

void check_writable(const std::string& file) {
  const std::filesystem::path path = file;
  std::error_code ignored;
  if (path.has_parent_path() && !std::filesystem::is_directory(path.parent_path(), ignored)) {
    fail(file, "cannot write: there is no such directory");
  }
}

std::vector<Dump> parse_dumps(const std::vector<std::string>& texts) {
  std::vector<Dump> dumps;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      fail("", fmt::format("--dump: {} is not of the form TENSOR=FILE.npy", quoted(text)));
    }
    const std::string file = text.substr(equals + 1);
    check_writable(file);
    dumps.push_back({text.substr(0, equals), file});
  }
  return dumps;
}

void write_dumps(const std::vector<Dump>& dumps, const RunResult& run,
                 std::vector<std::string>& warnings) {
  for (const Dump& dump : dumps) {
    const auto tensor =
        std::find_if(run.tensors.begin(), run.tensors.end(),
                     [&](const TensorValues& values) { return values.name == dump.tensor; });
    if (tensor == run.tensors.end()) {
      warnings.push_back(
          fmt::format("--dump: '{}' was not produced before the run ended; {} is not "
                      "written",
                      dump.tensor, dump.file));
      continue;
    }
    write_file(dump.file, npy_text(tensor->shape, tensor->dtype, tensor->bits, tensor->valid));
    const auto missing =
        static_cast<uint64_t>(std::count(tensor->valid.begin(), tensor->valid.end(), 0));
    if (missing == 0) continue;
    warnings.push_back(
        fmt::format("--dump: {} of {} elements of '{}' were never written; they are "
                    "{} in {}",
                    group_digits(missing), group_digits(tensor->bits.size()), dump.tensor,
                    is_float(tensor->dtype) ? "NaN" : "0", dump.file));
  }
}

}  // namespace rngdsim::cli
