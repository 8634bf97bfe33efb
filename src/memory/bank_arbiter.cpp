// SPDX-License-Identifier: Apache-2.0
#include "memory/bank_arbiter.h"

namespace rngdsim {

BankMask BankArbiter::banks_of(uint64_t bit_address, uint64_t bits) const {
  const uint64_t bank_bits = uint64_t{8} * bank_bytes_;
  const uint64_t first = bit_address / bank_bits;
  const uint64_t last = (bit_address + bits - 1) / bank_bits;
  if (last - first + 1 >= banks_) return ~BankMask{0} >> (64 - banks_);
  BankMask mask = 0;
  for (uint64_t i = first; i <= last; ++i) mask |= BankMask{1} << (i % banks_);
  return mask;
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
