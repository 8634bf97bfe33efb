// SPDX-License-Identifier: Apache-2.0
// What `run` writes beside its report: the waveform, the flits, tensors.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "channel/observers.h"
#include "report/report_options.h"
#include "sim/command_profile.h"
#include "sim/run_result.h"
#include "trace/activity.h"
#include "trace/flit_writer.h"
#include "trace/gtkw.h"
#include "trace/perfetto_writer.h"
#include "trace/recorder.h"
#include "trace/vcd_writer.h"

namespace rngdsim::cli {

// "A:B", half open; either may be left out. InputError for anything else and for an empty one.
Window parse_window(const std::string& text);

struct TraceOptions {
  std::string vcd, flits, perfetto, html;  // files; empty: not wanted
  std::string window;                      // as given; empty: the whole run
};

// The files of a run, opened before it begins.
class Tracing {
 public:
  // InputError where a file cannot be opened.
  Tracing(const TraceOptions& options, double clock_ghz);
  // Null where nothing is traced.
  RunObserver* observer() { return observers_.observer(); }
  // Completes the files and writes the save file beside the dump. InputError where something could
  // not be written.
  void finish();
  // Writes the page, if one is wanted; after the run and finish().
  void write_page(const RunResult& run, const Program& program, const ReportOptions& options) const;

 private:
  static void check_different(const TraceOptions& options);

  TraceOptions options_;
  Window window_;
  Observers observers_;
  Recorder recorder_;
  std::optional<ActivitySink> activity_;
  std::optional<CommandProfile> profile_;
  std::optional<TraceFile> vcd_file_, flits_file_, perfetto_file_;
  std::optional<VcdWriter> vcd_;
  std::optional<GtkwWriter> gtkw_;
  std::optional<FlitWriter> flits_;
  std::optional<PerfettoWriter> perfetto_;
};

// InputError where the file's directory does not exist: known before a run, whose result must not
// be lost.
void check_writable(const std::string& file);

// `--dump TENSOR=FILE.npy`, taken apart. InputError for anything else.
struct Dump {
  std::string tensor, file;
};
std::vector<Dump> parse_dumps(const std::vector<std::string>& texts);
// Writes the tensors that the run has kept; one that no command had produced yet is told in
// `warnings`, like elements that were never written.
void write_dumps(const std::vector<Dump>& dumps, const RunResult& run,
                 std::vector<std::string>& warnings);

}  // namespace rngdsim::cli
