// SPDX-License-Identifier: Apache-2.0
#include "cli/kernel_runs.h"

#include <cstring>
#include <filesystem>
#include <utility>

#include "report/run_text.h"
#include "sim/run.h"
#include "support/process_pool.h"

namespace rngdsim::cli {
namespace {

using Json = nlohmann::ordered_json;

// ---- Between processes: CBOR, columns of values as bytes. Both ends are the same program.

template <typename T>
Json column(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return Json::binary(std::move(bytes));
}

template <typename T>
std::vector<T> column_of(const Json& json) {
  const auto& bytes = json.get_binary();
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

constexpr uint8_t kNan = 1, kPlusInfinity = 2, kMinusInfinity = 4;

Json packed(const TensorValues& tensor) {
  Json json = {
      {"name", tensor.name}, {"version", tensor.version}, {"dtype", static_cast<int>(tensor.dtype)},
      {"axes", tensor.axes}, {"shape", tensor.shape},     {"valid", column(tensor.valid)}};
  // Elements of two bytes and less, as most are, take no more.
  if (storage_bytes(tensor.dtype) <= 2) {
    json["narrow_bits"] = column(std::vector<uint16_t>(tensor.bits.begin(), tensor.bits.end()));
  } else {
    json["bits"] = column(tensor.bits);
  }
  return json;
}

TensorValues unpacked_tensor(const Json& json) {
  TensorValues tensor;
  tensor.name = json["name"];
  tensor.version = json["version"];
  tensor.dtype = static_cast<DType>(json["dtype"].get<int>());
  tensor.axes = json["axes"].get<std::vector<std::string>>();
  tensor.shape = json["shape"].get<std::vector<uint64_t>>();
  tensor.valid = column_of<uint8_t>(json["valid"]);
  if (json.contains("narrow_bits")) {
    const auto narrow = column_of<uint16_t>(json["narrow_bits"]);
    tensor.bits.assign(narrow.begin(), narrow.end());
  } else {
    tensor.bits = column_of<uint32_t>(json["bits"]);
  }
  return tensor;
}

// Of a result only what was asked for.
Json packed_suspects(const TensorValues& tensor, const std::vector<uint64_t>& offsets) {
  std::vector<uint32_t> bits;
  std::vector<double> low, high;
  std::vector<uint8_t> also;
  for (const uint64_t offset : offsets) bits.push_back(tensor.bits[offset]);
  for (const Accepted& accepted : tensor.accepted) {
    low.push_back(accepted.low);
    high.push_back(accepted.high);
    also.push_back(static_cast<uint8_t>((accepted.nan ? kNan : 0) |
                                        (accepted.plus_infinity ? kPlusInfinity : 0) |
                                        (accepted.minus_infinity ? kMinusInfinity : 0)));
  }
  return {{"name", tensor.name},
          {"bits", column(bits)},
          {"low", column(low)},
          {"high", column(high)},
          {"also", column(also)}};
}

SuspectValues unpacked_suspects(const Json& json) {
  SuspectValues values{json["name"], column_of<uint32_t>(json["bits"]), {}};
  const auto low = column_of<double>(json["low"]), high = column_of<double>(json["high"]);
  const auto also = column_of<uint8_t>(json["also"]);
  for (size_t i = 0; i < low.size(); ++i) {
    values.accepted.push_back({low[i], high[i], (also[i] & kNan) != 0,
                               (also[i] & kPlusInfinity) != 0, (also[i] & kMinusInfinity) != 0});
  }
  return values;
}

Json packed(const Diagnostics& diagnostics) {
  Json list = Json::array();
  for (const Diagnostic& d : diagnostics.all()) {
    list.push_back({{"error", d.severity == Severity::kError},
                    {"file", d.where.file},
                    {"line", d.where.line},
                    {"column", d.where.column},
                    {"message", d.message},
                    {"hint", d.hint}});
  }
  return list;
}

Diagnostics unpacked_diagnostics(const Json& list) {
  Diagnostics diagnostics;
  for (const Json& d : list) {
    const SourceLocation where{d["file"], d["line"], d["column"]};
    if (d["error"].get<bool>()) {
      diagnostics.error(where, d["message"], d["hint"]);
    } else {
      diagnostics.warning(where, d["message"], d["hint"]);
    }
  }
  return diagnostics;
}

std::string bytes_of(const Json& json) {
  std::string bytes;
  Json::to_cbor(json, bytes);
  return bytes;
}

// In the process of the run.
std::string run_one(const Candidate& candidate, const TopologyDecl& topology,
                    const RunSettings& settings, const ResultOffsets* suspects) {
  RunOptions options;
  if (suspects != nullptr) options.accepted_at = *suspects;
  options.values = settings.values;
  options.keep_results = settings.values;
  options.seed = settings.seed;
  options.max_cycles = settings.max_cycles;
  options.kernel_dir = std::filesystem::path(candidate.file).parent_path().string();
  try {
    const RunResult run = run_program(candidate.program, topology, options);
    Json results = Json::array();
    for (const TensorValues& tensor : run.results) {
      const bool all = suspects == nullptr;
      if (!all && suspects->count(tensor.name) == 0) continue;
      results.push_back(all ? packed(tensor) : packed_suspects(tensor, suspects->at(tensor.name)));
    }
    return bytes_of({{"report", compared_run_json(run, candidate.program, settings.report)},
                     {"failures", failure_sentences(run, candidate.program)},
                     {"results", std::move(results)}});
  } catch (const InputError& error) {
    return bytes_of({{"diagnostics", packed(error.diagnostics())}});
  }
}

KernelRun unpacked(ProcessOutcome& outcome, bool suspects) {
  KernelRun run;
  run.stopped = outcome.kind == ProcessOutcome::Kind::kStopped;
  run.problem = run.stopped ? "" : outcome.problem();
  if (!outcome.done()) return run;
  Json json = Json::from_cbor(outcome.bytes);
  outcome.bytes = {};
  if (json.contains("diagnostics")) {
    run.diagnostics = unpacked_diagnostics(json["diagnostics"]);
    return run;
  }
  run.report = std::move(json["report"]);
  run.failures = json["failures"].get<std::vector<std::string>>();
  for (const Json& tensor : json["results"]) {
    if (suspects) {
      run.suspects.push_back(unpacked_suspects(tensor));
    } else {
      run.results.push_back(unpacked_tensor(tensor));
    }
  }
  return run;
}

}  // namespace

void run_candidates(const Candidates& candidates, const RunSettings& settings,
                    const std::function<void(size_t candidate, KernelRun& run)>& take) {
  std::vector<std::function<std::string()>> tasks;
  for (size_t i = 0; i < candidates.kernels.size(); ++i) {
    tasks.emplace_back([i, &candidates, &settings] {
      return run_one(candidates.kernels[i], candidates.topology, settings,
                     settings.suspects.empty() ? nullptr : &settings.suspects[i]);
    });
  }
  ProcessPoolOptions options;
  options.jobs = settings.jobs;
  options.stop = settings.stop;
  options.progress = settings.progress;
  const bool suspects = !settings.suspects.empty();
  options.take = [&take, suspects](size_t task, ProcessOutcome& outcome) {
    KernelRun run = unpacked(outcome, suspects);
    take(task, run);
  };
  run_in_processes(tasks, options);
}

}  // namespace rngdsim::cli
