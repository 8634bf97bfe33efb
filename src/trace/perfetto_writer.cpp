// SPDX-License-Identifier: Apache-2.0
#include "trace/perfetto_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace rngdsim {
namespace {

std::string quoted_json(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The links by which memories answer: "trf.read_data->...", "hbm.dma_0_data->...".
std::optional<std::string> answers_of(const std::string& link) {
  const std::string from = link.substr(0, link.find("->"));
  const size_t dot = from.find('.');
  if (dot == std::string::npos || from.size() < 4 || from.substr(from.size() - 4) != "data") {
    return std::nullopt;
  }
  const std::string unit = from.substr(0, dot);
  return unit == "trf" || unit == "hbm" || unit == "data_memory" ? std::optional(unit + " reads")
                                                                 : std::nullopt;
}

}  // namespace

PerfettoWriter::PerfettoWriter(TraceFile& file, Window window, double clock_ghz)
    : file_(file), window_(window), clock_ghz_(clock_ghz) {}

void PerfettoWriter::event_text(const std::string& text) {
  file_.write(first_ ? "\n" : ",\n");
  file_.write(text);
  first_ = false;
}

void PerfettoWriter::name_track(Process process, size_t track, const std::string& name) {
  event_text(fmt::format(
      R"({{"name":"thread_name","ph":"M","ts":0,"pid":{},"tid":{},"args":{{"name":{}}}}})", process,
      track, quoted_json(name)));
  event_text(fmt::format(
      R"({{"name":"thread_sort_index","ph":"M","ts":0,"pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
      process, track, track));
}

void PerfettoWriter::begin(const TraceNames& names) {
  program_ = names.program;
  file_.write(fmt::format(
      R"({{"displayTimeUnit":"ns","otherData":{{"kernel":{},"clock_ghz":{}}},"traceEvents":[)",
      quoted_json(names.kernel), clock_ghz_));
  for (const auto& [process, name] :
       {std::pair{kContextTracks, "contexts"}, std::pair{kUnitTracks, "units"},
        std::pair{kCounterTracks, "counters"}}) {
    event_text(fmt::format(
        R"({{"name":"process_name","ph":"M","ts":0,"pid":{},"tid":0,"args":{{"name":"{}"}}}})",
        static_cast<int>(process), name));
  }
  for (size_t context = 0; context < kContexts; ++context) {
    name_track(kContextTracks, context, name(static_cast<Context>(context)));
  }
  units_.resize(names.units.size());
  signal_counters_.resize(names.units.size());
  for (size_t unit = 0; unit < names.units.size(); ++unit) {
    name_track(kUnitTracks, unit, names.units[unit].name);
    for (const auto& [signal, bits] : names.units[unit].signals) {
      signal_counters_[unit].push_back(counters_.size());
      Counter& counter = counters_.emplace_back();
      counter.name = fmt::format("{} {}", names.units[unit].name, signal);
      counter.unit = "percent";
      counter.scale = 100.0 / std::max<uint32_t>(1, bits);
    }
  }
  for (const TraceNames::LinkNames& link : names.links) {
    std::optional<size_t>& counter = link_counters_.emplace_back();
    const auto answers = answers_of(link.name);
    if (!answers) continue;
    const auto known = std::find_if(counters_.begin(), counters_.end(),
                                    [&](const Counter& c) { return c.name == *answers; });
    counter = static_cast<size_t>(known - counters_.begin());
    if (known != counters_.end()) continue;
    counters_.emplace_back();
    counters_.back().name = *answers;
    counters_.back().unit = "items a cycle";
  }
}

void PerfettoWriter::begin_cycle(Cycle cycle) { cycle_ = cycle; }

std::string PerfettoWriter::times(Cycle begin, Cycle end) const {
  const auto microseconds = [this](Cycle cycles) {
    return static_cast<double>(cycles) / (1000 * clock_ghz_);
  };
  return fmt::format(R"("ts":{},"dur":{})", microseconds(begin), microseconds(end - begin));
}

void PerfettoWriter::close(Process process, size_t track, const Span& span, Cycle end) {
  if (!span.command) return;
  const Cycle from = std::max(span.since, window_.begin), to = std::min(end, window_.end);
  if (from >= to) return;
  const std::string& label = program_->commands[*span.command].label;
  const std::string what = process == kContextTracks
                               ? quoted_json(fmt::format("{} {}", *span.command, label))
                               : fmt::format("\"{}\"", name(span.state));
  event_text(fmt::format(
      R"({{"name":{},"cat":"{}","ph":"X",{},"pid":{},"tid":{},"args":{{"command":{},"label":{}}}}})",
      what, process == kContextTracks ? "command" : "state", times(from, to),
      static_cast<int>(process), track, *span.command, quoted_json(label)));
}

void PerfettoWriter::open_command(Context context, std::optional<CommandId> command) {
  const auto track = static_cast<size_t>(context);
  close(kContextTracks, track, contexts_[track], cycle_);
  contexts_[track] = {cycle_, command, UnitState::kBusy};
}

void PerfettoWriter::unit(uint32_t unit, const UnitView& view) {
  Span& span = units_[unit];
  const std::optional<CommandId> command = view.active ? std::optional(view.command) : std::nullopt;
  if (span.command != command || span.state != view.state) {
    close(kUnitTracks, unit, span, cycle_);
    span = {cycle_, command, view.state};
  }
  for (size_t i = 0; i < signal_counters_[unit].size(); ++i) {
    uint64_t bits = 0;
    for (uint64_t value = view.signals[i]; value != 0; value &= value - 1) ++bits;
    set_counter(counters_[signal_counters_[unit][i]], bits);
  }
}

void PerfettoWriter::event(uint32_t link, LinkEvent event, const ItemView& /*item*/) {
  if (event != LinkEvent::kPush || !link_counters_[link]) return;
  Counter& counter = counters_[*link_counters_[link]];
  advance(counter, cycle_);
  counter.sum += 1;
}

void PerfettoWriter::set_counter(Counter& counter, uint64_t value) {
  advance(counter, cycle_);
  counter.value = value;
}

void PerfettoWriter::advance(Counter& counter, Cycle to) {
  while (counter.since < to) {
    const Cycle bucket_end = (counter.since / kBucket + 1) * kBucket;
    const Cycle until = std::min(to, bucket_end);
    counter.sum += static_cast<double>(counter.value) * static_cast<double>(until - counter.since);
    counter.since = until;
    if (until != bucket_end) return;
    const double average = counter.sum * counter.scale / kBucket;
    counter.sum = 0;
    const Cycle from = bucket_end - kBucket;
    const bool told = counter.shown == average;
    counter.shown = average;
    // Where nothing happens for long, all buckets to come are alike.
    if (told && static_cast<double>(counter.value) * counter.scale == average) {
      counter.since = std::max(counter.since, to / kBucket * kBucket);
    }
    if (told || bucket_end <= window_.begin || from >= window_.end) continue;
    event_text(fmt::format(R"({{"name":{},"ph":"C","ts":{},"pid":{},"tid":0,"args":{{"{}":{}}}}})",
                           quoted_json(counter.name),
                           static_cast<double>(from) / (1000 * clock_ghz_),
                           static_cast<int>(kCounterTracks), counter.unit, average));
  }
}

void PerfettoWriter::end(Cycle end) {
  for (size_t track = 0; track < kContexts; ++track) {
    close(kContextTracks, track, contexts_[track], end);
  }
  for (size_t unit = 0; unit < units_.size(); ++unit) close(kUnitTracks, unit, units_[unit], end);
  // The last bucket, whatever is left of it.
  const Cycle whole = (end + kBucket - 1) / kBucket * kBucket;
  for (Counter& counter : counters_) {
    advance(counter, end);
    counter.value = 0;
    advance(counter, whole);
  }
  file_.write("\n]}\n");
}

}  // namespace rngdsim
