// SPDX-License-Identifier: Apache-2.0
#include "memory/sliced_memory.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

namespace rngdsim {

// ---- SliceSets ---------------------------------------------------------------------------------

namespace {
constexpr size_t kRecentSets = 8;  // liveness vectors in use at a time: a few tensors
}  // namespace

SliceSets::SliceSets(uint32_t slices) : slices_(slices), scratch_(slices, 0), recent_(kRecentSets) {
  find_flags(scratch_.data());  // kNone
  scratch_.assign(slices, 1);
  find_flags(scratch_.data());  // kAll
}

SliceSets::Id SliceSets::find_flags(const uint8_t* flags) {
  if (flags != scratch_.data()) {
    std::transform(flags, flags + slices_, scratch_.begin(),
                   [](uint8_t flag) -> uint8_t { return flag != 0; });
  }
  const uint64_t hash = std::hash<std::string_view>()(
      {reinterpret_cast<const char*>(scratch_.data()), scratch_.size()});
  const auto range = by_hash_.equal_range(hash);
  for (auto it = range.first; it != range.second; ++it) {
    if (sets_[it->second] == scratch_) return it->second;
  }
  const Id id = static_cast<Id>(sets_.size());
  sets_.push_back(scratch_);
  by_hash_.emplace(hash, id);
  return id;
}

SliceSets::Id SliceSets::find(const std::vector<uint8_t>& flags) {
  if (flags.empty()) return kAll;
  for (const Recent& recent : recent_) {
    if (recent.flags == flags.data() &&
        std::memcmp(flags.data(), sets_[recent.set].data(), slices_) == 0) {
      return recent.set;
    }
  }
  const Id set = find_flags(flags.data());
  recent_[next_recent_] = {flags.data(), set};
  next_recent_ = (next_recent_ + 1) % recent_.size();
  return set;
}

SliceSets::Id& SliceSets::cached(Operation operation, Id a, Id b, bool& fresh) {
  const uint64_t key = static_cast<uint64_t>(operation) << 60 | uint64_t{a} << 30 | b;
  const auto inserted = results_.emplace(key, 0);
  fresh = inserted.second;
  return inserted.first->second;
}

bool SliceSets::covers(Id set, Id part) {
  if (set == part || part == kNone || set == kAll) return true;
  if (set == kNone) return false;
  bool fresh = false;
  Id& result = cached(Operation::kCovers, set, part, fresh);
  if (fresh) {
    result = 1;
    for (uint32_t s = 0; s < slices_; ++s) {
      if (sets_[part][s] != 0 && sets_[set][s] == 0) result = 0;
    }
  }
  return result != 0;
}

SliceSets::Id SliceSets::unite(Id a, Id b) {
  if (a == b || b == kNone || a == kAll) return a;
  if (a == kNone || b == kAll) return b;
  bool fresh = false;
  Id& result = cached(Operation::kUnite, a, b, fresh);
  if (fresh) {
    for (uint32_t s = 0; s < slices_; ++s) scratch_[s] = sets_[a][s] | sets_[b][s];
    result = find_flags(scratch_.data());
  }
  return result;
}

SliceSets::Id SliceSets::subtract(Id a, Id b) {
  if (a == kNone || b == kNone) return a;
  if (a == b || b == kAll) return kNone;
  bool fresh = false;
  Id& result = cached(Operation::kSubtract, a, b, fresh);
  if (fresh) {
    for (uint32_t s = 0; s < slices_; ++s) scratch_[s] = sets_[a][s] & ~sets_[b][s];
    result = find_flags(scratch_.data());
  }
  return result;
}

SliceSets::Id SliceSets::change(Id set, uint32_t slice, uint8_t flag) {
  if (sets_[set][slice] == flag) return set;
  auto& table = changed_[flag];
  if (table.size() <= set) table.resize(sets_.size());
  if (table[set].empty()) table[set].assign(slices_, 0);
  Id& known = table[set][slice];
  if (known == 0) {
    scratch_ = sets_[set];
    scratch_[slice] = flag;
    known = find_flags(scratch_.data()) + 1;
  }
  return known - 1;
}

SliceSets::Id SliceSets::with(Id set, uint32_t slice) { return change(set, slice, 1); }
SliceSets::Id SliceSets::without(Id set, uint32_t slice) { return change(set, slice, 0); }

// ---- SlicedMemory ------------------------------------------------------------------------------

namespace {

constexpr uint64_t kArenaBytes = uint64_t{8} << 20;  // pages are small, faults are not

// Loops over the slices; separate functions so that the compiler may assume that nothing overlaps.

template <typename T>
void mask_row(T* __restrict row, const uint8_t* __restrict live, uint32_t slices) {
  for (uint32_t s = 0; s < slices; ++s) row[s] = live[s] != 0 ? row[s] : T{0};
}

void join_planes(const uint8_t* __restrict low, const uint8_t* __restrict high,
                 uint16_t* __restrict row, uint32_t slices) {
  for (uint32_t s = 0; s < slices; ++s) row[s] = static_cast<uint16_t>(low[s] | high[s] << 8);
}

void join_planes(const uint8_t* __restrict b0, const uint8_t* __restrict b1,
                 const uint8_t* __restrict b2, const uint8_t* __restrict b3,
                 uint32_t* __restrict row, uint32_t slices) {
  for (uint32_t s = 0; s < slices; ++s) {
    row[s] = uint32_t{b0[s]} | uint32_t{b1[s]} << 8 | uint32_t{b2[s]} << 16 | uint32_t{b3[s]} << 24;
  }
}

void read_nibbles(const uint8_t* __restrict plane, int shift, uint8_t* __restrict row,
                  uint32_t slices) {
  for (uint32_t s = 0; s < slices; ++s) row[s] = static_cast<uint8_t>(plane[s] >> shift & 0xf);
}

// Byte `byte` of each element of a row into a plane, where the slice is live.
template <typename T>
void split_plane(const T* __restrict row, uint32_t byte, const uint8_t* __restrict live,
                 uint8_t* __restrict plane, uint32_t slices) {
  for (uint32_t s = 0; s < slices; ++s) {
    const auto value = static_cast<uint8_t>(row[s] >> 8 * byte);
    plane[s] = live[s] != 0 ? value : plane[s];
  }
}

void write_nibbles(const uint8_t* __restrict row, int shift, const uint8_t* __restrict live,
                   uint8_t* __restrict plane, uint32_t slices) {
  const auto keep = static_cast<uint8_t>(~(0xf << shift));
  for (uint32_t s = 0; s < slices; ++s) {
    const auto value = static_cast<uint8_t>((plane[s] & keep) | (row[s] & 0xf) << shift);
    plane[s] = live[s] != 0 ? value : plane[s];
  }
}

// One slice of `count` elements of kBytes planes each.
template <uint32_t kBytes>
void gather_planes(const uint8_t* planes, size_t slices, uint64_t count, uint32_t* bits) {
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t value = 0;
    for (uint32_t b = 0; b < kBytes; ++b, planes += slices) value |= uint32_t{*planes} << 8 * b;
    bits[i] = value;
  }
}

int nibble_shift(uint64_t bit_address) { return static_cast<int>(bit_address & 4); }

}  // namespace

SlicedMemory::SlicedMemory(uint64_t bytes, uint64_t page_bytes, uint32_t slices)
    : bytes_(bytes),
      page_bytes_(page_bytes),
      slices_(slices),
      pages_((bytes + page_bytes - 1) / page_bytes),
      arena_pages_(std::max<uint64_t>(
          1, std::min<uint64_t>(kArenaBytes / (page_bytes * slices), pages_.size()))),
      zeros_(slices, 0),
      scratch_(slices, 0),
      sets_(slices) {}

bool SlicedMemory::contains(uint64_t bit_address, DType dtype, uint64_t elements) const {
  const uint64_t bits = 8 * bytes_;
  const uint64_t size = elements * static_cast<uint64_t>(memory_bits(dtype));
  return bit_address < bits && size <= bits - bit_address;
}

SlicedMemory::Page& SlicedMemory::page_of(uint64_t byte) {
  std::unique_ptr<Page>& page = pages_[byte / page_bytes_];
  if (page == nullptr) {
    const uint64_t size = page_bytes_ * slices_;
    const size_t place = allocated_ % arena_pages_;
    if (place == 0) arenas_.emplace_back(size * arena_pages_);
    page = std::make_unique<Page>();
    page->data = arenas_.back().data() + place * size;
    page->valid.assign(2 * page_bytes_, SliceSets::kNone);
    ++allocated_;
  }
  return *page;
}

uint8_t* SlicedMemory::plane(uint64_t byte) {
  return page_of(byte).data + byte % page_bytes_ * slices_;
}

const uint8_t* SlicedMemory::plane_or_zeros(uint64_t byte) const {
  const Page* page = pages_[byte / page_bytes_].get();
  return page == nullptr ? zeros_.data() : page->data + byte % page_bytes_ * slices_;
}

SliceSets::Id& SlicedMemory::valid_slices(uint64_t nibble) {
  Page& page = page_of(nibble / 2);
  settle(page);
  return page.valid[nibble % (2 * page_bytes_)];
}

SliceSets::Id SlicedMemory::valid_slices_or_none(uint64_t nibble) const {
  Page* page = pages_[nibble / 2 / page_bytes_].get();
  if (page == nullptr) return SliceSets::kNone;
  settle(*page);
  return page->valid[nibble % (2 * page_bytes_)];
}

void SlicedMemory::read(uint64_t bit_address, uint32_t elements, bool replicated, Block& out,
                        uint32_t first_row, const std::vector<uint8_t>& live) {
  const SliceSets::Id live_set = sets_.find(live);
  const auto bits = static_cast<uint32_t>(memory_bits(out.dtype));
  const uint32_t read_rows = replicated ? 1 : elements;
  for (uint32_t i = 0; i < read_rows; ++i) {
    const uint64_t address = bit_address + uint64_t{i} * bits;
    read_row(address, out, first_row + i, live_set);
    read_validity(address / 4, bits / 4, out, first_row + i, live_set);
  }
  const size_t row_bytes = size_t{slices_} * static_cast<size_t>(storage_bytes(out.dtype));
  for (uint32_t i = read_rows; i < elements; ++i) {
    std::memcpy(out.data.data() + (first_row + i) * row_bytes,
                out.data.data() + first_row * row_bytes, row_bytes);
    if (!out.all_valid) {
      std::memcpy(out.valid_row(first_row + i), out.valid_row(first_row), slices_);
    }
  }
}

void SlicedMemory::read_row(uint64_t bit_address, Block& out, uint32_t row, SliceSets::Id live) {
  const uint64_t byte = bit_address / 8;
  const uint8_t* mask = live == SliceSets::kAll ? nullptr : sets_.flags(live);
  switch (memory_bits(out.dtype)) {
    case 4:
      read_nibbles(plane_or_zeros(byte), nibble_shift(bit_address), out.row<uint8_t>(row), slices_);
      if (mask != nullptr) mask_row(out.row<uint8_t>(row), mask, slices_);
      break;
    case 8:
      std::memcpy(out.row<uint8_t>(row), plane_or_zeros(byte), slices_);
      if (mask != nullptr) mask_row(out.row<uint8_t>(row), mask, slices_);
      break;
    case 16:
      join_planes(plane_or_zeros(byte), plane_or_zeros(byte + 1), out.row<uint16_t>(row), slices_);
      if (mask != nullptr) mask_row(out.row<uint16_t>(row), mask, slices_);
      break;
    default:
      join_planes(plane_or_zeros(byte), plane_or_zeros(byte + 1), plane_or_zeros(byte + 2),
                  plane_or_zeros(byte + 3), out.row<uint32_t>(row), slices_);
      if (mask != nullptr) mask_row(out.row<uint32_t>(row), mask, slices_);
  }
}

void SlicedMemory::read_validity(uint64_t nibble, uint32_t nibbles, Block& out, uint32_t row,
                                 SliceSets::Id live) {
  if (!out.all_valid) std::memset(out.valid_row(row), 1, slices_);
  for (uint32_t n = 0; n < nibbles; ++n) {
    const SliceSets::Id set = valid_slices_or_none(nibble + n);
    if (sets_.covers(set, live)) continue;
    out.track_validity();
    uint8_t* flags = out.valid_row(row);
    const uint8_t* written = sets_.flags(set);
    const uint8_t* is_live = sets_.flags(live);
    for (uint32_t s = 0; s < slices_; ++s) {
      flags[s] = static_cast<uint8_t>(flags[s] & (written[s] | (is_live[s] ^ 1)));
    }
  }
}

void SlicedMemory::write(uint64_t bit_address, const Block& values, uint32_t first_row,
                         uint32_t elements, const std::vector<uint8_t>& live, const Block* keep) {
  const SliceSets::Id live_set = sets_.find(live);
  const auto bits = static_cast<uint32_t>(memory_bits(values.dtype));
  for (uint32_t i = 0; i < elements; ++i) {
    const uint64_t address = bit_address + uint64_t{i} * bits;
    const SliceSets::Id written = kept_slices(live_set, keep, first_row + i);
    write_row(address, values, first_row + i, written);
    write_validity(address / 4, bits / 4, values, first_row + i, written);
  }
}

SliceSets::Id SlicedMemory::kept_slices(SliceSets::Id live, const Block* keep, uint32_t row) {
  if (keep == nullptr || row >= keep->elements) return live;
  const uint8_t* is_live = sets_.flags(live);
  const uint8_t* kept = keep->row<uint8_t>(row);
  for (uint32_t s = 0; s < slices_; ++s) scratch_[s] = is_live[s] != 0 && kept[s] != 0 ? 1 : 0;
  return sets_.find_flags(scratch_.data());
}

void SlicedMemory::write_row(uint64_t bit_address, const Block& values, uint32_t row,
                             SliceSets::Id live) {
  const uint64_t byte = bit_address / 8;
  const uint8_t* is_live = sets_.flags(live);
  switch (memory_bits(values.dtype)) {
    case 4:
      write_nibbles(values.row<uint8_t>(row), nibble_shift(bit_address), is_live, plane(byte),
                    slices_);
      break;
    case 8:
      split_plane(values.row<uint8_t>(row), 0, is_live, plane(byte), slices_);
      break;
    case 16:
      for (uint32_t b = 0; b < 2; ++b) {
        split_plane(values.row<uint16_t>(row), b, is_live, plane(byte + b), slices_);
      }
      break;
    default:
      for (uint32_t b = 0; b < 4; ++b) {
        split_plane(values.row<uint32_t>(row), b, is_live, plane(byte + b), slices_);
      }
  }
}

void SlicedMemory::write_validity(uint64_t nibble, uint32_t nibbles, const Block& values,
                                  uint32_t row, SliceSets::Id live) {
  SliceSets::Id written = live;
  if (!values.all_valid) {
    const uint8_t* is_live = sets_.flags(live);
    const uint8_t* valid = values.valid_row(row);
    for (uint32_t s = 0; s < slices_; ++s) scratch_[s] = is_live[s] != 0 && valid[s] != 0 ? 1 : 0;
    written = sets_.find_flags(scratch_.data());
  }
  for (uint32_t n = 0; n < nibbles; ++n) {
    SliceSets::Id& set = valid_slices(nibble + n);
    const SliceSets::Id kept = written == live ? set : sets_.subtract(set, live);
    set = sets_.unite(kept, written);
  }
}

void SlicedMemory::poke(uint32_t slice, uint64_t bit_address, DType dtype, uint32_t bits,
                        bool valid) {
  const uint64_t byte = bit_address / 8;
  const auto width = static_cast<uint32_t>(memory_bits(dtype));
  if (width == 4) {
    const int shift = nibble_shift(bit_address);
    uint8_t& cell = plane(byte)[slice];
    cell = static_cast<uint8_t>((cell & ~(0xf << shift)) | (bits & 0xf) << shift);
  } else {
    for (uint32_t b = 0; b < width / 8; ++b) {
      plane(byte + b)[slice] = static_cast<uint8_t>(bits >> 8 * b);
    }
  }
  for (uint32_t n = 0; n < width / 4; ++n) {
    SliceSets::Id& set = valid_slices(bit_address / 4 + n);
    set = valid ? sets_.with(set, slice) : sets_.without(set, slice);
  }
}

SlicedMemory::Element SlicedMemory::peek(uint32_t slice, uint64_t bit_address, DType dtype) const {
  const uint64_t byte = bit_address / 8;
  const auto width = static_cast<uint32_t>(memory_bits(dtype));
  for (uint32_t n = 0; n < width / 4; ++n) {
    if (sets_.flags(valid_slices_or_none(bit_address / 4 + n))[slice] == 0) return {};
  }
  Element element{0, true};
  if (width == 4) {
    element.bits = plane_or_zeros(byte)[slice] >> nibble_shift(bit_address) & 0xf;
  } else {
    for (uint32_t b = 0; b < width / 8; ++b) {
      element.bits |= uint32_t{plane_or_zeros(byte + b)[slice]} << 8 * b;
    }
  }
  return element;
}

void SlicedMemory::peek_run(uint32_t slice, uint64_t bit_address, DType dtype, uint64_t count,
                            uint32_t* bits, uint8_t* valid) const {
  const auto width = static_cast<uint32_t>(memory_bits(dtype));
  while (count > 0) {
    const uint64_t page = bit_address / 8 / page_bytes_;
    const uint64_t in_page = ((page + 1) * page_bytes_ * 8 - bit_address) / width;
    const uint64_t run = std::min(count, std::max<uint64_t>(in_page, 1));
    if (in_page == 0) {  // across the end of the page
      const Element element = peek(slice, bit_address, dtype);
      *bits = element.bits;
      *valid = element.valid ? 1 : 0;
    } else if (pages_[page] == nullptr) {
      std::fill_n(bits, run, 0);
      std::fill_n(valid, run, uint8_t{0});
    } else {
      settle(*pages_[page]);
      peek_in_page(*pages_[page], slice, bit_address / 8 % page_bytes_, nibble_shift(bit_address),
                   width, run, bits, valid);
    }
    bit_address += run * width;
    bits += run;
    valid += run;
    count -= run;
  }
}

void SlicedMemory::peek_in_page(const Page& page, uint32_t slice, uint64_t at, int first_shift,
                                uint32_t width, uint64_t count, uint32_t* bits,
                                uint8_t* valid) const {
  const uint8_t* planes = page.data + at * slices_ + slice;
  switch (width) {
    case 4:
      for (uint64_t i = 0; i < count; ++i) {
        const uint64_t nibble = static_cast<uint64_t>(first_shift / 4) + i;
        bits[i] = planes[nibble / 2 * slices_] >> 4 * (nibble & 1) & 0xf;
      }
      break;
    case 8:
      gather_planes<1>(planes, slices_, count, bits);
      break;
    case 16:
      gather_planes<2>(planes, slices_, count, bits);
      break;
    default:
      gather_planes<4>(planes, slices_, count, bits);
  }
  const uint32_t nibbles = width / 4;
  const SliceSets::Id* sets = page.valid.data() + 2 * at + first_shift / 4;
  const bool alike =
      std::all_of(sets, sets + count * nibbles, [&](SliceSets::Id set) { return set == *sets; });
  if (alike && sets_.flags(*sets)[slice] != 0) {
    std::fill_n(valid, count, uint8_t{1});
    return;
  }
  for (uint64_t i = 0; i < count; ++i) {
    valid[i] = 1;
    for (uint32_t n = 0; n < nibbles; ++n) valid[i] &= sets_.flags(sets[i * nibbles + n])[slice];
    if (valid[i] == 0) bits[i] = 0;
  }
}

void SlicedMemory::spread(Page& page) {
  if (!page.flags.empty()) return;
  page.flags.resize(page_bytes_ * slices_);
  for (uint64_t b = 0; b < page_bytes_; ++b) {
    const uint8_t* low = sets_.flags(page.valid[2 * b]);
    const uint8_t* high = sets_.flags(page.valid[2 * b + 1]);
    uint8_t* flags = page.flags.data() + b * slices_;
    for (uint32_t s = 0; s < slices_; ++s) flags[s] = static_cast<uint8_t>(low[s] | high[s] << 1);
  }
}

void SlicedMemory::settle(Page& page) const {
  if (page.flags.empty()) return;
  for (uint64_t nibble = 0; nibble < 2 * page_bytes_; ++nibble) {
    const uint8_t* flags = page.flags.data() + nibble / 2 * slices_;
    const auto shift = static_cast<int>(nibble % 2);
    for (uint32_t s = 0; s < slices_; ++s) {
      scratch_[s] = static_cast<uint8_t>(flags[s] >> shift & 1);
    }
    page.valid[nibble] = sets_.find_flags(scratch_.data());
  }
  page.flags = {};
}

void SlicedMemory::read_bytes(uint32_t slice, uint64_t byte, uint64_t count, uint8_t* bytes,
                              uint8_t* valid) const {
  for (uint64_t i = 0; i < count; ++i) {
    const Page* page = pages_[(byte + i) / page_bytes_].get();
    const uint64_t at = (byte + i) % page_bytes_;
    bytes[i] = 0;
    valid[i] = 0;
    if (page == nullptr) continue;
    valid[i] = page->flags.empty()
                   ? static_cast<uint8_t>(sets_.flags(page->valid[2 * at])[slice] |
                                          sets_.flags(page->valid[2 * at + 1])[slice] << 1)
                   : page->flags[at * slices_ + slice];
    if (valid[i] != 0) bytes[i] = page->data[at * slices_ + slice];
  }
}

void SlicedMemory::write_bytes(uint32_t slice, uint64_t byte, uint64_t count, const uint8_t* bytes,
                               const uint8_t* valid) {
  for (uint64_t i = 0; i < count;) {
    Page& page = page_of(byte + i);
    spread(page);
    uint64_t at = (byte + i) % page_bytes_;
    for (; at < page_bytes_ && i < count; ++at, ++i) {
      page.data[at * slices_ + slice] = bytes[i];
      page.flags[at * slices_ + slice] = valid[i];
    }
  }
}

}  // namespace rngdsim
