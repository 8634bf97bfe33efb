// SPDX-License-Identifier: Apache-2.0
// Where a byte of the HBM lies. Plain arithmetic on addresses.
//
// Each part of a place is made of some bits of the address [B]. The channel is the exclusive or of
// several fields, so that strides of almost any power of two spread over the channels. Every other
// bit belongs to one part, and the decoding is one to one.
//
// Three slices do not fill two bits. The memory of 3 x 2^34 B is contiguous with this reading [A]:
// with bit 34 set the slice is 2 and bit 20 is the top row bit, otherwise the slice is bit 20 and
// bit 35 the top row bit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rngdsim {

// A byte of one chip's HBM. A bank is named by slice, bank group and bank.
struct HbmPlace {
  uint32_t stack = 0, channel = 0;  // channel of the stack
  uint32_t slice = 0, bank_group = 0, bank = 0;
  uint32_t row = 0, byte = 0;  // byte in the row

  bool operator==(const HbmPlace& o) const {
    return stack == o.stack && channel == o.channel && slice == o.slice &&
           bank_group == o.bank_group && bank == o.bank && row == o.row && byte == o.byte;
  }
};

class HbmAddress {
 public:
  // Address bits of each part, least significant first. All defaults [B].
  struct Parameters {
    using Bits = std::vector<uint32_t>;
    Bits byte{0, 1, 2, 3, 4, 5, 6, 7, 14, 15, 16};
    Bits stack{8};
    Bits channel{9, 10, 11, 12};
    std::vector<Bits> channel_xor{
        {13, 14, 15, 16}, {17, 18, 19, 20}, {21, 22, 23, 24}, {25, 26, 27, 28}};
    Bits bank_group{13, 19};
    Bits bank{17, 18};
    Bits row{21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33};  // below the top row bit
    uint32_t low_slice = 20, third_slice = 34, top_row = 35;
  };
  // What is wrong with parameters, all of it, a sentence each: bits that no part or two parts have,
  // channel fields of different sizes, a third slice that leaves a gap in the addresses.
  static std::vector<std::string> problems(const Parameters& parameters);

  // Throws InternalError where problems() is not empty.
  explicit HbmAddress(const Parameters& parameters);

  uint64_t size() const { return size_; }  // bytes of a chip
  // Bytes that lie together in one place: 256. A transfer moves one line.
  uint64_t line_bytes() const { return line_bytes_; }
  uint32_t stacks() const { return stack_.count(); }
  uint32_t channels() const { return channel_.count(); }  // of a stack
  static constexpr uint32_t slices() { return 3; }
  uint32_t bank_groups() const { return bank_group_.count(); }  // of a slice
  uint32_t banks() const { return bank_.count(); }              // of a bank group

  // Precondition: address < size().
  HbmPlace decode(uint64_t address) const;
  // The address of a place that exists: decode() of it gives `place`.
  uint64_t encode(const HbmPlace& place) const;

 private:
  // Some bits of an address as one number, kept as runs of neighbouring bits.
  class Field {
   public:
    explicit Field(const Parameters::Bits& bits);
    uint32_t get(uint64_t address) const {
      uint64_t value = 0;
      for (const Run& run : runs_) value |= (address >> run.from & run.mask) << run.to;
      return static_cast<uint32_t>(value);
    }
    uint64_t put(uint64_t value) const {
      uint64_t address = 0;
      for (const Run& run : runs_) address |= (value >> run.to & run.mask) << run.from;
      return address;
    }
    uint32_t count() const { return uint32_t{1} << width_; }  // of values
    uint32_t width() const { return width_; }

   private:
    struct Run {
      uint64_t mask;
      uint32_t from, to;  // lowest bit in the address, in the number
    };
    std::vector<Run> runs_;
    uint32_t width_;
  };

  Field byte_, stack_, channel_;
  std::vector<Field> channel_xor_;
  Field bank_group_, bank_, row_;
  uint32_t low_slice_, third_slice_, top_row_;
  uint64_t size_, line_bytes_;
};

}  // namespace rngdsim
