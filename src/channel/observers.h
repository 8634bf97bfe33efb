// SPDX-License-Identifier: Apache-2.0
// Several observers of one run.
#pragma once

#include <vector>

#include "channel/observer.h"

namespace rngdsim {

// Tells all of them what happens, in the order in which they were added. They must outlive it.
class Observers final : public RunObserver {
 public:
  void add(RunObserver& observer) { all_.push_back(&observer); }
  // Null where there is none, and where there is one alone that one: nobody in between.
  RunObserver* observer() {
    if (all_.empty()) return nullptr;
    return all_.size() == 1 ? all_.front() : this;
  }

  void attached(const Program& program, const std::vector<std::unique_ptr<Unit>>& units,
                const std::vector<std::unique_ptr<LinkBase>>& links) override {
    for (RunObserver* observer : all_) observer->attached(program, units, links);
  }
  void cycle_begins(Cycle now) override {
    for (RunObserver* observer : all_) observer->cycle_begins(now);
  }
  void command_began(CommandId command, Cycle begin) override {
    for (RunObserver* observer : all_) observer->command_began(command, begin);
  }
  void command_ended(CommandId command, Cycle end) override {
    for (RunObserver* observer : all_) observer->command_ended(command, end);
  }
  void pushed(uint32_t link, Cycle now, Cycle ready, const ItemTag& item) override {
    for (RunObserver* observer : all_) observer->pushed(link, now, ready, item);
  }
  void popped(uint32_t link, Cycle now) override {
    for (RunObserver* observer : all_) observer->popped(link, now);
  }
  void refused(uint32_t link, Cycle now) override {
    for (RunObserver* observer : all_) observer->refused(link, now);
  }
  void touched(uint32_t unit, Cycle now) override {
    for (RunObserver* observer : all_) observer->touched(unit, now);
  }
  void finished(Cycle end) override {
    for (RunObserver* observer : all_) observer->finished(end);
  }

 private:
  std::vector<RunObserver*> all_;
};

}  // namespace rngdsim
