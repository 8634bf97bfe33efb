// SPDX-License-Identifier: Apache-2.0
// The Vector Register File of a slice: what the ALUs of the Vector Engine take beside the stream.
//
// Each port stores one flit a cycle and is never refused; reads by the Vector Engine are part of
// its pipeline and never wait [A]. Flit f of a command fills elements [f, f + 1) * flit_elements of
// its tensor [B]. A command with to_vrf ends here, with its last flit.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "channel/unit.h"
#include "channel/vrf_reader.h"
#include "memory/vrf_storage.h"

namespace rngdsim {

class Vrf final : public Unit, public VrfReader {
 public:
  struct Parameters {
    uint64_t bytes = 8192;  // [B] of a slice
    uint64_t align = 32;    // [A] bytes; of tensors placed automatically
  };
  Vrf(sc_core::sc_module_name name, Clock& clock, const RunContext& context,
      const Parameters& parameters);

  LinkIn<StreamItem> main_store{"main_store", "stream"};      // past contraction and Vector Engine
  LinkIn<StreamItem> sub_store{"sub_store", "stream"};        // the same of the sub context
  LinkIn<StreamItem> vector_store{"vector_store", "stream"};  // ends of vector chains
  std::vector<PortBase*> ports() override { return {&main_store, &sub_store, &vector_store}; }

  void read(TensorId tensor, uint64_t element, uint32_t* bits, uint8_t* valid) const override;
  // See VrfStorage.
  void poke(TensorId tensor, uint64_t element, uint32_t slice, uint32_t bits) {
    storage_.poke(tensor, element, slice, bits);
  }
  std::optional<uint32_t> peek(TensorId tensor, uint64_t element, uint32_t slice) const {
    return storage_.peek(tensor, element, slice);
  }

  // vrf_read, vrf_write: bytes a slice, of elements.
  void add_extra_counters(UnitCounters& counters) const override;
  std::string waiting_for() const override;

 private:
  // `active`: between the first and the last flit of a command.
  struct StorePort {
    LinkIn<StreamItem>* link;
    bool active = false;
  };
  void tick(Cycle now) override;
  void store(StorePort& port, Cycle now);

  VrfStorage storage_;
  std::array<StorePort, 3> stores_;
  uint64_t bytes_written_ = 0;
  mutable uint64_t bytes_read_ = 0;  // counting a read changes nothing that a run could see
};

}  // namespace rngdsim
