// SPDX-License-Identifier: Apache-2.0
#include "memory/bank_arbiter.h"

namespace rngdsim {

BankMask BankArbiter::banks_of(uint64_t bit_address, uint64_t bits) const {
  // Divisions cost more than all the rest; the usual sizes are powers of two.
  const uint64_t bank_bits = uint64_t{8} * bank_bytes_;
  const uint64_t end = bit_address + bits - 1;
  const uint64_t first = bits_shift_ >= 0 ? bit_address >> bits_shift_ : bit_address / bank_bits;
  const uint64_t last = bits_shift_ >= 0 ? end >> bits_shift_ : end / bank_bits;
  const BankMask all = ~BankMask{0} >> (64 - banks_);
  const uint64_t count = last - first + 1;
  if (count >= banks_) return all;
  const uint64_t start = power_of_two_ ? first & (banks_ - 1) : first % banks_;
  const BankMask run = (BankMask{1} << count) - 1;
  // What leaves at the top comes in at the bottom; start > 0 there, since count < banks.
  const BankMask wrapped = start + count > banks_ ? run >> (banks_ - start) : 0;
  return ((run << start) | wrapped) & all;
}

void BankArbiter::arbitrate(const BankMask* requests, size_t count, Grant* grants) const {
  BankMask taken = 0;
  for (size_t i = 0; i < count; ++i) {
    const BankMask missing = requests[i] & taken;
    grants[i] = Grant{};
    if (requests[i] == 0) continue;
    if (missing == 0) {
      grants[i].granted = true;
      taken |= requests[i];
      continue;
    }
    const BankMask first_missing = missing & (~missing + 1);
    size_t winner = 0;
    while (!grants[winner].granted || (requests[winner] & first_missing) == 0) ++winner;
    grants[i].winner = winner;
  }
}

}  // namespace rngdsim
