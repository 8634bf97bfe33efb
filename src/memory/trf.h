// SPDX-License-Identifier: Apache-2.0
// The Tensor Register File of a slice: banked SRAM that Collect stores weights into and the TRF
// Sequencer reads operands from.
//
// Each cycle serves one read and, of each store port, one flit. A read needs a row of one bank (at
// most 32 B a lane: narrow) or of all banks (wide) of every lane [B]. Rows that the read cache
// holds leave their bank to the stores; the others take it in that cycle and are cached [B]. A
// store takes one bank of one lane [A] and updates a cached copy of its row [A]. A read that takes
// a bank wins over a store to it [B], whatever the lanes, since the active lanes share out all rows
// [A]; of two stores to the same lane and bank main wins [A]. A store that loses waits at its port
// and the unit behind the port books a conflict. Both halves of the file lie in the same banks:
// what a half changes is which rows may be stored while others are read, not who gets a bank.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "channel/unit.h"
#include "memory/trf_cache.h"
#include "memory/trf_storage.h"

namespace rngdsim {

class Trf final : public Unit {
 public:
  struct Parameters {
    uint64_t banks = 2;         // [B]
    uint64_t rows = 128;        // [B] of a bank and lane
    uint64_t row_bytes = 32;    // [S] of elements, whatever the type
    uint64_t cache_rows = 4;    // [B] of the read cache, of a bank and lane; 0: none
    uint64_t read_latency = 1;  // [A] cycles from taking a request to the data at the port, >= 1
  };
  Trf(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
      const Parameters& parameters);

  LinkIn<StreamItem> main_store{"main_store", "stream"};
  LinkIn<StreamItem> sub_store{"sub_store", "stream"};
  LinkIn<TrfRequest> read{"read", "trf request"};
  LinkOut<StreamItem> read_data{"read_data", "trf data"};
  std::vector<PortBase*> ports() override { return {&main_store, &sub_store, &read, &read_data}; }

  // The unit behind a port ("main_store", "sub_store", "read"), whose conflicts are booked and who
  // wins them. Without: nothing is booked.
  void set_client(const std::string& port, Unit* unit);

  // See TrfStorage.
  void poke(TensorId tensor, uint64_t lane, uint64_t element, uint32_t slice, uint32_t bits) {
    storage_.poke(tensor, lane, element, slice, bits);
  }
  std::optional<uint32_t> peek(TensorId tensor, uint64_t lane, uint64_t element,
                               uint32_t slice) const {
    return storage_.peek(tensor, lane, element, slice);
  }

  // Bytes a slice that a command has read or stored, whole rows.
  uint64_t bytes_read(CommandId command) const { return of_command(read_by_command_, command); }
  uint64_t bytes_written(CommandId command) const {
    return of_command(written_by_command_, command);
  }
  // trf_read, trf_write: bytes a slice, whole rows. cache_hits, cache_misses: rows read in all
  // lanes at once from the cache, from a bank.
  void add_extra_counters(UnitCounters& counters) const override;
  // bank_grants: a bit a bank, set in the cycles in which a read or a store has it.
  std::vector<Signal> signals() const override;
  std::string waiting_for() const override;

 private:
  // A port on which items of a command come in; `active`: between the first and the last of them.
  struct StorePort {
    LinkIn<StreamItem>* link;
    Unit* client = nullptr;
    bool active = false;
  };
  // What a store needs: one bank of one lane. Lanes in units of the machine's, since tensors of
  // fewer active lanes own several.
  struct Place {
    uint64_t lane = 0, granule = 0;
    uint64_t bank = 0;
    uint64_t first_lane = 0, last_lane = 0;
  };

  void tick(Cycle now) override;
  bool serve_read(Cycle now);
  bool serve_store(StorePort& port, Cycle now);
  Place place_of(const StreamItem& flit, Cycle now) const;

  Parameters parameters_;
  TrfStorage storage_;
  TrfCache cache_;
  StorePort main_, sub_;
  Unit* reader_ = nullptr;
  bool reading_ = false;  // between the first and the last read of a command

  // Of the present cycle.
  uint64_t read_banks_ = 0;  // bit set: taken by a read
  bool has_read_ = false;
  std::optional<Place> stored_;  // by main
  bool read_blocked_ = false;
  Cycle ticked_ = ~Cycle{0};
  uint64_t banks_in_use_ = 0;  // by reads and stores

  static uint64_t of_command(const std::vector<uint64_t>& bytes, CommandId command) {
    return command < bytes.size() ? bytes[command] : 0;
  }
  void count(std::vector<uint64_t>& bytes_by_command, CommandId command, uint64_t bytes);
  uint64_t bytes_read_ = 0, bytes_written_ = 0, hits_ = 0, misses_ = 0;
  std::vector<uint64_t> read_by_command_, written_by_command_;
};

}  // namespace rngdsim
