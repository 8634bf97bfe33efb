// SPDX-License-Identifier: Apache-2.0
#include "support/sha256.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace rngdsim {
namespace {

using State = std::array<uint32_t, 8>;

constexpr size_t kBlockBytes = 64;
constexpr size_t kLengthBytes = 8;  // the message length in bits, at the end of the last block

// Fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// Fractional parts of the square roots of the first 8 primes.
constexpr State kInitial = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

uint32_t rotate_right(uint32_t x, int n) { return (x >> n) | (x << (32 - n)); }

void absorb(State& state, const unsigned char* block) {
  std::array<uint32_t, 64> w{};
  for (size_t i = 0; i < 16; ++i) {
    for (size_t b = 0; b < 4; ++b) w[i] = w[i] << 8 | block[4 * i + b];
  }
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t x = w[i - 15];
    const uint32_t y = w[i - 2];
    const uint32_t s0 = rotate_right(x, 7) ^ rotate_right(x, 18) ^ (x >> 3);
    const uint32_t s1 = rotate_right(y, 17) ^ rotate_right(y, 19) ^ (y >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const uint32_t s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const State mixed = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state.size(); ++i) state[i] += mixed[i];
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  State state = kInitial;
  const size_t whole = bytes.size() - bytes.size() % kBlockBytes;
  for (size_t at = 0; at < whole; at += kBlockBytes) {
    absorb(state, reinterpret_cast<const unsigned char*>(bytes.data()) + at);
  }

  // The rest, a one bit, zeros up to the end of a block, the length.
  std::string tail(bytes.substr(whole));
  tail.push_back('\x80');
  while (tail.size() % kBlockBytes != kBlockBytes - kLengthBytes) tail.push_back('\0');
  const uint64_t bits = uint64_t{bytes.size()} * 8;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    tail.push_back(static_cast<char>(bits >> (8 * (kLengthBytes - 1 - i)) & 0xff));
  }
  for (size_t at = 0; at < tail.size(); at += kBlockBytes) {
    absorb(state, reinterpret_cast<const unsigned char*>(tail.data()) + at);
  }

  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) hex.push_back(kDigits[word >> shift & 0xf]);
  }
  return hex;
}

}  // namespace rngdsim
