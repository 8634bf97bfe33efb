// SPDX-License-Identifier: Apache-2.0
#include "memory/bank_arbiter.h"

#include <gtest/gtest.h>

#include <array>

namespace rngdsim {
namespace {

BankMask bank(int i) { return BankMask{1} << i; }

// The bank of byte address a is (a / 8) % 16: address bits 0-2 byte, 3-6 bank, 7-18 row.
TEST(BankArbiter, BankOfAByte) {
  const BankArbiter arbiter(16, 8);
  EXPECT_EQ(arbiter.banks_of(0, 8), bank(0));
  EXPECT_EQ(arbiter.banks_of(8 * 7, 8), bank(0));
  EXPECT_EQ(arbiter.banks_of(8 * 8, 8), bank(1));
  EXPECT_EQ(arbiter.banks_of(8 * 127, 8), bank(15));
  EXPECT_EQ(arbiter.banks_of(8 * 128, 8), bank(0));  // the next row
  EXPECT_EQ(arbiter.banks_of(8 * (5 * 128 + 3 * 8 + 2), 8), bank(3));
  EXPECT_EQ(arbiter.banks_of(8 * 524287, 8), bank(15));  // the last byte of 512 KB
}

TEST(BankArbiter, AlignedAccessesTouchOneBankEightBytes) {
  const BankArbiter arbiter(16, 8);
  EXPECT_EQ(arbiter.banks_of(8 * 32, 8 * 32), bank(4) | bank(5) | bank(6) | bank(7));
  EXPECT_EQ(arbiter.banks_of(8 * 24, 8 * 8), bank(3));
}

TEST(BankArbiter, UnalignedAccessesTouchWhatTheyTouch) {
  const BankArbiter arbiter(16, 8);
  // Bytes 4 to 35: banks 0 to 4, five of them.
  EXPECT_EQ(arbiter.banks_of(8 * 4, 8 * 32), bank(0) | bank(1) | bank(2) | bank(3) | bank(4));
  // Bytes 120 to 135 wrap from the last bank to the first.
  EXPECT_EQ(arbiter.banks_of(8 * 120, 8 * 16), bank(15) | bank(0));
  // One nibble on either side of a bank's end.
  EXPECT_EQ(arbiter.banks_of(8 * 7 + 4, 4), bank(0));
  EXPECT_EQ(arbiter.banks_of(8 * 7 + 4, 8), bank(0) | bank(1));
}

TEST(BankArbiter, AnAccessAcrossAllBanksHasNoMore) {
  EXPECT_EQ(BankArbiter(16, 8).banks_of(0, 8 * 1000), 0xffffu);
  EXPECT_EQ(BankArbiter(64, 8).banks_of(8, 8 * 1000), ~BankMask{0});
}

TEST(BankArbiter, OtherGeometries) {
  const BankArbiter arbiter(4, 16);
  EXPECT_EQ(arbiter.banks_of(8 * 15, 8), bank(0));
  EXPECT_EQ(arbiter.banks_of(8 * 16, 8), bank(1));
  EXPECT_EQ(arbiter.banks_of(8 * 64, 8), bank(0));
}

// Every geometry up to 64 banks, powers of two and others, against the definition bit by bit.
TEST(BankArbiter, IsTheDefinitionForAllGeometries) {
  for (const uint32_t banks : {1u, 2u, 3u, 5u, 16u, 31u, 63u, 64u}) {
    for (const uint32_t bank_bytes : {1u, 3u, 8u, 64u}) {
      const BankArbiter arbiter(banks, bank_bytes);
      for (uint64_t address = 0; address < 8u * bank_bytes * banks + 40; address += 4) {
        for (const uint64_t bits : {4u, 8u, 36u, 64u, 256u, 1000u}) {
          BankMask expected = 0;
          for (uint64_t bit = address; bit < address + bits; ++bit) {
            expected |= BankMask{1} << (bit / 8 / bank_bytes % banks);
          }
          ASSERT_EQ(arbiter.banks_of(address, bits), expected)
              << banks << " banks of " << bank_bytes << " bytes, bit " << address << ", " << bits;
        }
      }
    }
  }
}

class Arbitration : public testing::Test {
 protected:
  void decide(std::array<BankMask, 4> requests) {
    BankArbiter(16, 8).arbitrate(requests.data(), requests.size(), grants.data());
  }
  std::array<BankArbiter::Grant, 4> grants;
};

TEST_F(Arbitration, DisjointRequestsAreAllGranted) {
  decide({bank(0), bank(1), bank(2) | bank(3), bank(4)});
  for (const auto& grant : grants) EXPECT_TRUE(grant.granted);
}

TEST_F(Arbitration, TheFirstOfTheListWins) {
  decide({bank(5), bank(5), bank(5), 0});
  EXPECT_TRUE(grants[0].granted);
  EXPECT_FALSE(grants[1].granted);
  EXPECT_EQ(grants[1].winner, 0u);
  EXPECT_FALSE(grants[2].granted);
  EXPECT_EQ(grants[2].winner, 0u);
}

TEST_F(Arbitration, NoRequestIsNoGrant) {
  decide({0, bank(5), 0, 0});
  EXPECT_FALSE(grants[0].granted);
  EXPECT_TRUE(grants[1].granted);
  EXPECT_FALSE(grants[2].granted);
}

TEST_F(Arbitration, AllOrNothing) {
  decide({bank(1), bank(0) | bank(1), 0, 0});
  EXPECT_FALSE(grants[1].granted);
}

// What a loser would have taken stays free for those after it.
TEST_F(Arbitration, ALoserTakesNothing) {
  decide({bank(1), bank(0) | bank(1), bank(0), 0});
  EXPECT_FALSE(grants[1].granted);
  EXPECT_TRUE(grants[2].granted);
}

TEST_F(Arbitration, TheWinnerNamedHoldsTheFirstMissingBank) {
  decide({bank(7), bank(2), bank(2) | bank(7), bank(7) | bank(8)});
  EXPECT_EQ(grants[2].winner, 1u);
  EXPECT_EQ(grants[3].winner, 0u);
}

}  // namespace
}  // namespace rngdsim
