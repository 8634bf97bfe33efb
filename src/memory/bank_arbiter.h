// SPDX-License-Identifier: Apache-2.0
// Which banks an access touches, and who gets them in a cycle. Plain arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rngdsim {

// A set of banks, one bit a bank; at most 64 banks.
using BankMask = uint64_t;

// Consecutive `bank_bytes` of a slice's address space lie in consecutive banks, so the bank of byte
// a is (a / bank_bytes) % banks: address bits 0-2 byte, 3-6 bank with 16 banks of 8 B [B].
class BankArbiter {
 public:
  // Preconditions: 1 <= banks <= 64, bank_bytes >= 1.
  BankArbiter(uint32_t banks, uint32_t bank_bytes)
      : banks_(banks), bank_bytes_(bank_bytes), power_of_two_((banks & (banks - 1)) == 0) {
    for (int shift = 3; shift < 35; ++shift) {
      if ((uint64_t{1} << shift) == uint64_t{8} * bank_bytes) bits_shift_ = shift;
    }
  }

  // The banks that hold bits [bit_address, bit_address + bits). An unaligned access touches what it
  // touches: 32 B at byte 4 touch five banks. Precondition: bits >= 1.
  BankMask banks_of(uint64_t bit_address, uint64_t bits) const;

  struct Grant {
    bool granted = false;
    size_t winner = 0;  // of a loser: the request that holds the first bank it misses
  };
  // Decides one cycle. `requests` are the masks in priority order, highest first; 0: no request.
  // A request is granted where all its banks are still free, as a whole or not at all [A]; a loser
  // takes nothing away from those after it.
  void arbitrate(const BankMask* requests, size_t count, Grant* grants) const;

 private:
  uint32_t banks_, bank_bytes_;
  bool power_of_two_;    // banks
  int bits_shift_ = -1;  // log2 of the bits of a bank in a row; -1: no power of two
};

}  // namespace rngdsim
