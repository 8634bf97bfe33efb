// SPDX-License-Identifier: Apache-2.0
#include "reference/npy.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <string_view>

#include "support/text.h"

namespace rngdsim {
namespace {

// A reader of the header, the text of a Python dict such as
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  bool parse() {
    if (!take('{')) return false;
    while (!take('}')) {
      std::string key;
      if (!string(key) || !take(':')) return false;
      bool ok = false;
      if (key == "descr") {
        ok = !has_descr_ && string(descr);
        has_descr_ = true;
      } else if (key == "fortran_order") {
        ok = !has_order_ && boolean(fortran_order);
        has_order_ = true;
      } else if (key == "shape") {
        ok = !has_shape_ && tuple(shape);
        has_shape_ = true;
      }
      if (!ok) return false;
      if (!take(',') && !peek('}')) return false;
    }
    skip_space();
    return has_descr_ && has_order_ && has_shape_ && position_ == text_.size();
  }

  std::string descr;
  bool fortran_order = false;
  std::vector<uint64_t> shape;

 private:
  void skip_space() {
    while (position_ < text_.size() && std::strchr(" \t\r\n", text_[position_]) != nullptr &&
           text_[position_] != '\0') {
      ++position_;
    }
  }
  bool peek(char c) {
    skip_space();
    return position_ < text_.size() && text_[position_] == c;
  }
  bool take(char c) {
    if (!peek(c)) return false;
    ++position_;
    return true;
  }
  bool string(std::string& out) {
    skip_space();
    if (position_ == text_.size()) return false;
    const char quote = text_[position_];
    if (quote != '\'' && quote != '"') return false;
    const size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) return false;
    out = std::string(text_.substr(position_ + 1, end - position_ - 1));
    position_ = end + 1;
    return true;
  }
  bool boolean(bool& out) {
    skip_space();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(position_, word.size()) == word) {
        position_ += word.size();
        out = value;
        return true;
      }
    }
    return false;
  }
  bool number(uint64_t& out) {
    skip_space();
    const size_t begin = position_;
    out = 0;
    while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') {
      if (position_ - begin == 18) return false;  // would not fit
      out = out * 10 + static_cast<uint64_t>(text_[position_++] - '0');
    }
    return position_ != begin;
  }
  bool tuple(std::vector<uint64_t>& out) {
    if (!take('(')) return false;
    while (!take(')')) {
      uint64_t size = 0;
      if (!number(size)) return false;
      out.push_back(size);
      if (!take(',') && !peek(')')) return false;
    }
    return true;
  }

  std::string_view text_;
  size_t position_ = 0;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

template <typename T>
double element(const char* bytes) {
  T value;  // the machines we run on are little-endian, as the file
  std::memcpy(&value, bytes, sizeof value);
  return static_cast<double>(value);
}

struct ElementType {
  const char* descr;
  size_t bytes;
  double (*read)(const char*);
};
constexpr ElementType kTypes[] = {
    {"<f4", 4, element<float>},   {"<f8", 8, element<double>},  {"|i1", 1, element<int8_t>},
    {"<i1", 1, element<int8_t>},  {"<i2", 2, element<int16_t>}, {"<i4", 4, element<int32_t>},
    {"<i8", 8, element<int64_t>}, {"|u1", 1, element<uint8_t>}, {"<u1", 1, element<uint8_t>},
};

}  // namespace

bool read_npy(const std::string& path, uint64_t max_elements, NpyArray& array,
              std::string& problem) {
  const auto fail = [&problem](std::string text) {
    problem = std::move(text);
    return false;
  };
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail("cannot be opened");
  file.seekg(0, std::ios::end);
  const std::streamoff end = file.tellg();
  file.seekg(0);
  if (end < 0 || !file) return fail("cannot be read");
  const auto file_bytes = static_cast<uint64_t>(end);

  char prefix[12];
  if (file_bytes < 10 || !file.read(prefix, 10) || std::memcmp(prefix, "\x93NUMPY", 6) != 0) {
    return fail("is no .npy file");
  }
  const auto byte = [&prefix](size_t i) { return uint64_t{static_cast<uint8_t>(prefix[i])}; };
  const uint64_t major = byte(6);
  if (major < 1 || major > 3) {
    return fail(fmt::format("has .npy version {}; versions 1 to 3 are read", major));
  }
  uint64_t header_bytes = byte(8) | byte(9) << 8;
  uint64_t data_begin = 10 + header_bytes;
  if (major > 1) {
    if (!file.read(prefix + 10, 2)) return fail("ends inside its header");
    header_bytes |= byte(10) << 16 | byte(11) << 24;
    data_begin = 12 + header_bytes;
  }
  if (data_begin > file_bytes) return fail("ends inside its header");
  std::string header(header_bytes, ' ');
  if (!file.read(header.data(), static_cast<std::streamsize>(header_bytes))) {
    return fail("ends inside its header");
  }
  HeaderParser parser(header);
  if (!parser.parse()) return fail("has a header that cannot be read: " + quoted(header));

  const ElementType* type = nullptr;
  for (const ElementType& candidate : kTypes) {
    if (parser.descr == candidate.descr) type = &candidate;
  }
  if (type == nullptr) {
    return fail(fmt::format("has elements of type {}; <f4 <f8 |i1 <i2 <i4 <i8 |u1 are read",
                            quoted(parser.descr)));
  }
  if (parser.fortran_order && parser.shape.size() > 1) {
    return fail("is in Fortran order; C order is read");
  }
  uint64_t count = 1;
  for (uint64_t size : parser.shape) {
    if (size != 0 && count > max_elements / size) {
      return fail(fmt::format("has more than {} elements", max_elements));
    }
    count *= size;
  }
  const uint64_t data_bytes = file_bytes - data_begin;
  if (data_bytes != count * type->bytes) {
    return fail(fmt::format("has {} bytes of data where its header promises {}", data_bytes,
                            count * type->bytes));
  }
  std::string data(data_bytes, '\0');
  if (!file.read(data.data(), static_cast<std::streamsize>(data_bytes))) {
    return fail("cannot be read");
  }
  array.shape = parser.shape;
  array.values.resize(count);
  for (uint64_t i = 0; i < count; ++i) {
    array.values[i] = type->read(data.data() + i * type->bytes);
  }
  if (parser.descr == "<i8") {
    for (uint64_t i = 0; i < count; ++i) {
      int64_t exact;
      std::memcpy(&exact, data.data() + i * 8, 8);
      constexpr int64_t kLimit = int64_t{1} << 53;
      if (exact > kLimit || exact < -kLimit) {
        return fail(fmt::format("has element {} = {}, beyond 2^53", i, exact));
      }
    }
  }
  return true;
}

namespace {

struct NpyType {
  const char* name;
  size_t bytes;
};

NpyType npy_type(DType dtype) {
  if (is_float(dtype)) return {"<f4", 4};
  const int bits = value_bits(dtype);
  if (bits <= 8) return {"|i1", 1};
  return bits <= 16 ? NpyType{"<i2", 2} : NpyType{"<i4", 4};
}

void append_little_endian(std::string& text, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

}  // namespace

std::string npy_text(const std::vector<uint64_t>& shape, DType dtype,
                     const std::vector<uint32_t>& bits, const std::vector<uint8_t>& valid) {
  constexpr size_t kAlign = 64;  // of the data in the file
  constexpr uint32_t kNan = 0x7fc00000;
  const NpyType type = npy_type(dtype);
  std::string sizes;
  for (const uint64_t size : shape) sizes += fmt::format("{}, ", size);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type.name, sizes);
  const size_t before = 10 + header.size() + 1;
  header.append((kAlign - before % kAlign) % kAlign, ' ');
  header.push_back('\n');

  std::string text("\x93NUMPY\x01\x00", 8);
  append_little_endian(text, header.size(), 2);
  text += header;
  text.reserve(text.size() + bits.size() * type.bytes);
  for (size_t i = 0; i < bits.size(); ++i) {
    uint32_t word = 0;
    if (is_float(dtype)) {
      const auto value = static_cast<float>(to_double(dtype, bits[i]));
      std::memcpy(&word, &value, sizeof(word));
      if (valid[i] == 0) word = kNan;
    } else if (valid[i] != 0) {
      word = static_cast<uint32_t>(static_cast<int64_t>(to_double(dtype, bits[i])));
    }
    append_little_endian(text, word, type.bytes);
  }
  return text;
}

}  // namespace rngdsim
