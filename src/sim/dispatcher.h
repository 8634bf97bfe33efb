// SPDX-License-Identifier: Apache-2.0
// Decides when commands begin. Each context runs its own commands in file order; across contexts a
// command waits for the hazards of its tensors and for a shared unit, and, where the topology says
// so, a command that starves DMA and a DMA for one another. A command that loads a snoop bitmap
// begins when no DMA and no sub command runs, and none begins before the load is done [B]; those
// behind it in file order let it go first [A]. Plain class, no clock of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command/program.h"
#include "sim/run_result.h"

namespace rngdsim {

// An earlier command (file order) of another context that a command must wait for: footprints of
// both overlap and at least one of them writes [B].
struct Hazard {
  CommandId earlier = 0;
  std::string kind;  // "read after write", "write after read", "write after write"
  std::string what;  // the earlier command's tensor
};

// The hazards of every command, earlier commands ascending, one entry an earlier command (the first
// kind that applies, in the order above).
std::vector<std::vector<Hazard>> find_hazards(const Program& program);

// Units that belong to one command at a time, from its begin to its end [A]: the types of those
// that a command uses, of "cast", "transpose", "switch" and "vector_engine".
std::vector<const char*> shared_units_of(const Command& command);

// Whether a command loads a snoop bitmap, and whether commands of a context may not begin
// meanwhile.
bool loads_bitmap(const Command& command);
bool is_held_by_load(Context context);

// The longest chain of command bounds through context order and hazards: cycles that the program
// needs at least, and the commands of that chain.
struct ProgramBound {
  uint64_t cycles = 0;
  std::vector<CommandId> chain;
};
ProgramBound program_bound(const Program& program);

class Dispatcher {
 public:
  struct Timing {
    bool issued = false, begun = false, ended = false;
    uint64_t issue = 0, begin = 0, end = 0;
    WaitedFor waited_for;
  };
  struct Start {
    CommandId command = 0;
    uint64_t begin = 0;
    uint64_t first_access = 0;  // begin + overhead
  };

  // `program` must outlive the dispatcher. No command begins before `launch`.
  explicit Dispatcher(const Program& program, uint64_t launch = 0);

  // Where clusters are dispatched apart: commands with a flag in `waits` begin when their hazards
  // are clear in this cluster and in that of `other`, which must outlive this one.
  void wait_for_other(const Dispatcher& other, std::vector<uint8_t> waits);

  // Commands that end in the cycle in which they begin. To be called before anything begins.
  void make_free(const std::vector<CommandId>& commands);

  // The last write or item of a begun command was in `cycle`; its end is one later.
  void finished(CommandId command, uint64_t cycle);
  // The commands that begin in `now`, in file order, without free ones, which are over. To be
  // called with every cycle that is one past a finished() at the latest, with 0 and with
  // load_until(); cycles ascend. An InternalError where a begin was missed.
  std::vector<Start> advance(uint64_t now);

  // The end of the last load of a bitmap, 0: there was none.
  uint64_t load_until() const { return load_until_; }

  bool all_ended() const { return ended_ == timing_.size(); }
  size_t ended() const { return ended_; }
  const Timing& timing(CommandId command) const { return timing_[command]; }
  uint64_t last_end() const { return last_end_; }
  // Begun and not ended, ascending.
  std::vector<CommandId> open() const;
  // Why a command that has not begun waits: "command 3 (main)", ..., for reports of a stopped run.
  std::string waits_for(CommandId command) const;

 private:
  struct SharedUnit {
    const char* type;
    bool is_used_by(const Command& command) const;
    std::optional<CommandId> holder;
    std::optional<CommandId> last_holder;
    uint64_t free_at = 0;
  };
  struct Queue {
    std::vector<CommandId> commands;
    size_t next = 0;       // the first that has not begun
    uint64_t free_at = 0;  // end of the one before
    bool running = false;
  };
  // Commands of two kinds that may not run at a time.
  struct KeptApart {
    bool (*is_of)(const Command&);
    const char* kind;  // what the other kind waits for, as in WaitedFor
    const char* what;
    size_t running = 0;
    std::optional<CommandId> last_ended;
  };
  // By kept_apart_: the kind that a command of `kind` waits for.
  const KeptApart& other(size_t kind) const { return kept_apart_[1 - kind]; }
  // What a command that could begin otherwise waits for.
  struct Need {
    uint64_t begin = 0;  // the earliest
    WaitedFor waited_for;
    void wait_until(uint64_t cleared, const char* kind, const std::string& what, CommandId earlier);
  };
  // Nothing where a hazard or a shared unit holds the command back.
  std::optional<Need> ready(const Queue& queue) const;
  // False where its load of a bitmap holds the command back; another's is one of its needs.
  bool may_load(CommandId id, Need& need) const;
  std::optional<Start> try_begin(Queue& queue, uint64_t now, bool& load_waits);
  // What may begin in `now`; whether a free one was among it, behind which more may.
  bool begin_some(uint64_t now, std::vector<Start>& starts);
  void end(CommandId command, uint64_t cycle);

  const Program& program_;
  std::vector<const Dispatcher*> others_;
  std::vector<uint8_t> waits_for_others_;  // by command; empty: none
  std::vector<std::vector<Hazard>> hazards_;
  std::vector<Timing> timing_;
  std::vector<uint8_t> free_;  // by command
  std::vector<Queue> queues_;  // by Context
  // In the order in which a command that waits names them.
  std::vector<SharedUnit> shared_;
  std::optional<CommandId> loader_;  // of a bitmap, the last one
  uint64_t load_until_ = 0;
  std::vector<KeptApart> kept_apart_;  // none or two
  size_t ended_ = 0;
  uint64_t last_end_ = 0;
};

}  // namespace rngdsim
