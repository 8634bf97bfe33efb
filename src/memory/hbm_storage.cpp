// SPDX-License-Identifier: Apache-2.0
#include "memory/hbm_storage.h"

#include <algorithm>
#include <cstring>

namespace rngdsim {

HbmStorage::Page& HbmStorage::page_of(uint64_t byte) {
  std::unique_ptr<Page>& page = pages_[byte / kPageBytes];
  if (page == nullptr) page = std::make_unique<Page>();
  return *page;
}

const HbmStorage::Page* HbmStorage::find(uint64_t byte) const {
  const auto page = pages_.find(byte / kPageBytes);
  return page == pages_.end() ? nullptr : page->second.get();
}

void HbmStorage::read(uint64_t byte, uint64_t count, uint8_t* bytes, uint8_t* valid) const {
  while (count > 0) {
    const uint64_t at = byte % kPageBytes;
    const uint64_t run = std::min(count, kPageBytes - at);
    if (const Page* page = find(byte)) {
      std::memcpy(bytes, page->bytes + at, run);
      std::memcpy(valid, page->valid + at, run);
    } else {
      std::memset(bytes, 0, run);
      std::memset(valid, 0, run);
    }
    byte += run;
    bytes += run;
    valid += run;
    count -= run;
  }
}

void HbmStorage::write(uint64_t byte, uint64_t count, const uint8_t* bytes, const uint8_t* valid) {
  while (count > 0) {
    const uint64_t at = byte % kPageBytes;
    const uint64_t run = std::min(count, kPageBytes - at);
    Page& page = page_of(byte);
    std::memcpy(page.bytes + at, bytes, run);
    std::memcpy(page.valid + at, valid, run);
    byte += run;
    bytes += run;
    valid += run;
    count -= run;
  }
}

void HbmStorage::poke(uint64_t bit_address, DType dtype, uint32_t bits) {
  const uint64_t byte = bit_address / 8;
  const auto width = static_cast<uint32_t>(memory_bits(dtype));
  Page& first = page_of(byte);
  if (width == 4) {
    const auto shift = static_cast<int>(bit_address & 4);
    uint8_t& cell = first.bytes[byte % kPageBytes];
    cell = static_cast<uint8_t>((cell & ~(0xf << shift)) | (bits & 0xf) << shift);
    first.valid[byte % kPageBytes] |= shift == 0 ? 1 : 2;
    return;
  }
  for (uint32_t b = 0; b < width / 8; ++b) {
    Page& page = page_of(byte + b);
    page.bytes[(byte + b) % kPageBytes] = static_cast<uint8_t>(bits >> 8 * b);
    page.valid[(byte + b) % kPageBytes] = 3;
  }
}

SlicedMemory::Element HbmStorage::peek(uint64_t bit_address, DType dtype) const {
  const uint64_t byte = bit_address / 8;
  const auto width = static_cast<uint32_t>(memory_bits(dtype));
  uint8_t bytes[4] = {}, valid[4] = {};
  read(byte, std::max<uint64_t>(1, width / 8), bytes, valid);
  if (width == 4) {
    const auto shift = static_cast<int>(bit_address & 4);
    if ((valid[0] & (shift == 0 ? 1 : 2)) == 0) return {};
    return {static_cast<uint32_t>(bytes[0] >> shift & 0xf), true};
  }
  SlicedMemory::Element element{0, true};
  for (uint32_t b = 0; b < width / 8; ++b) {
    if (valid[b] != 3) return {};
    element.bits |= uint32_t{bytes[b]} << 8 * b;
  }
  return element;
}

}  // namespace rngdsim
