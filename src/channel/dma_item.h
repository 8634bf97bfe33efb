// SPDX-License-Identifier: Apache-2.0
// What travels between the DMA engines and the memories, and a memory's end of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "channel/link.h"
#include "command/program.h"

namespace rngdsim {

// The bytes of one request on their way from memory to memory. Owned by the engine.
struct DmaLine {
  std::vector<uint8_t> bytes;
  // By byte, which nibbles were ever written: bit 0 the low one, bit 1 the high one. What was not
  // is poison, and stays it where it is written to.
  std::vector<uint8_t> valid;
};

// A read or write of up to `dma_request_bytes` bytes that lie together in HBM or in one slice.
struct DmaRequest {
  CommandId command = 0;
  uint64_t index = 0;    // of the command in this engine, reads and writes alike
  uint64_t address = 0;  // byte, as in DmaConfig
  uint32_t bytes = 1;
  uint32_t slot = 0;  // the engine's, handed back
  bool write = false;
  DmaLine* line = nullptr;  // null with --timing-only
  uint64_t arrived = 0;     // cycle in which the memory had it before it; set there, handed back
};

// The answer: the data of a read, or that a write was accepted.
struct DmaResponse {
  CommandId command = 0;
  uint64_t index = 0;
  uint32_t slot = 0;
  uint32_t bytes = 0;
  bool write = false;
  DmaLine* line = nullptr;
  uint64_t arrived = 0;

  DmaResponse() = default;
  explicit DmaResponse(const DmaRequest& request)
      : command(request.command),
        index(request.index),
        slot(request.slot),
        bytes(request.bytes),
        write(request.write),
        line(request.line),
        arrived(request.arrived) {}
};

inline ItemTag tag_of(const DmaRequest& request) {
  return {request.command, request.index, request.bytes, nullptr,
          nullptr,         request.bytes, request.write};
}
inline ItemTag tag_of(const DmaResponse& response) {
  return {response.command, response.index, response.bytes, nullptr, nullptr};
}

// Something that a real machine might not survive; the simulation goes on.
struct MachineHazard {
  uint64_t cycle = 0;
  CommandId command = 0;
  std::string text;  // without command and cycle
};

// Where one engine is connected to a memory. Answers for which the link has no space wait here;
// those of writes pass the data of reads, which have a way of their own.
class DmaPort {
 public:
  explicit DmaPort(const std::string& name)
      : request(name, "dma request"), data(name + "_data", "dma response") {}

  LinkIn<DmaRequest> request;
  LinkOut<DmaResponse> data;

  bool connected() const { return request.bound() && data.bound(); }
  // The request that the memory has before it; null: none has arrived. To be called in the first
  // cycle in which one can be taken.
  const DmaRequest* head(Cycle now) {
    if (!request->can_pop(now)) return nullptr;
    if (!head_seen_) head_since_ = now;
    head_seen_ = true;
    return &request->front();
  }
  // Since when; precondition: head() has returned it.
  Cycle head_since() const { return head_since_; }
  // Takes it; precondition: head() has returned it.
  DmaRequest take(Cycle now) {
    DmaRequest taken = request->pop(now);
    taken.arrived = head_since_;
    head_seen_ = false;
    return taken;
  }
  void answer(const DmaResponse& response) {
    (response.write ? writes_ : reads_).items.push_back(response);
  }
  bool has_answers() const { return !writes_.empty() || !reads_.empty(); }
  // Sends what the link takes in this cycle; how many.
  uint64_t send(Cycle now) { return send(writes_, now) + send(reads_, now); }

 private:
  struct Queue {
    std::vector<DmaResponse> items;  // from `first` on
    size_t first = 0;
    bool empty() const { return first == items.size(); }
  };
  uint64_t send(Queue& queue, Cycle now) {
    uint64_t sent = 0;
    while (!queue.empty() && data->can_push(now)) {
      data->push(now, DmaResponse(queue.items[queue.first++]));
      ++sent;
    }
    // Now and then: nobody shall shift them for every answer.
    constexpr size_t kManySent = 256;
    if (queue.empty() || queue.first >= kManySent) {
      queue.items.erase(queue.items.begin(),
                        queue.items.begin() + static_cast<std::ptrdiff_t>(queue.first));
      queue.first = 0;
    }
    return sent;
  }
  Queue writes_, reads_;
  bool head_seen_ = false;
  Cycle head_since_ = 0;
};

// The ports of a memory, one for each engine that a machine may have; those of engine e are dma_<e>
// and dma_<e>_data. They need not be connected.
class DmaPorts {
 public:
  static constexpr size_t kMaxEngines = 8;
  DmaPorts() {
    for (size_t engine = 0; engine < kMaxEngines; ++engine) {
      ports_.push_back(std::make_unique<DmaPort>("dma_" + std::to_string(engine)));
    }
  }

  DmaPort& operator[](size_t engine) const { return *ports_[engine]; }
  void add_to(std::vector<PortBase*>& all) const {
    for (const auto& port : ports_) all.insert(all.end(), {&port->request, &port->data});
  }
  // To be called once, when all ports are bound.
  void elaborated() {
    for (size_t engine = 0; engine < kMaxEngines; ++engine) {
      if (ports_[engine]->connected()) in_use_.push_back(engine);
    }
  }
  // The connected ones, ascending.
  const std::vector<size_t>& in_use() const { return in_use_; }

 private:
  std::vector<std::unique_ptr<DmaPort>> ports_;  // by engine
  std::vector<size_t> in_use_;
};

}  // namespace rngdsim
