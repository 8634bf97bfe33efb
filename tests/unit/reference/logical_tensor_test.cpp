// SPDX-License-Identifier: Apache-2.0
#include "reference/logical_tensor.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "numeric/random.h"
#include "tests/support/reference_program.h"

namespace rngdsim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LogicalTensorTest : public ::testing::Test {
 protected:
  LogicalTensor make(const InitSpec& init, DType dtype, const std::vector<std::string>& logical,
                     uint64_t seed_offset = 0) {
    return initial_values(init, dtype, axes_.ids(logical), axes_.table(), seed_offset, directory_,
                          diagnostics_);
  }
  std::vector<double> values(const LogicalTensor& tensor) {
    EXPECT_TRUE(tensor.all_defined());
    std::vector<double> result;
    for (uint64_t i = 0; i < tensor.volume(); ++i) result.push_back(tensor.value(i));
    return result;
  }
  // The only error.
  std::string error() {
    if (diagnostics_.all().size() != 1) return diagnostics_.render();
    EXPECT_EQ(diagnostics_.all()[0].where.line, 7);
    return diagnostics_.all()[0].message;
  }
  InitSpec spec(InitSpec::Kind kind) {
    InitSpec init;
    init.kind = kind;
    init.where = {"k.yaml", 7, 3};
    return init;
  }

  testing::TestAxes axes_{{{"I", 2}, {"J", 3}, {"K", 4}, {"Huge", uint64_t{1} << 32}}};
  std::string directory_ = ::testing::TempDir();
  Diagnostics diagnostics_;
};

TEST_F(LogicalTensorTest, ARunIsSetAsItsElementsAre) {
  const uint32_t bits[] = {0x11, 0x22, 0x33, 0x44, 0x55};
  for (DType dtype : {DType::kI8, DType::kBF16, DType::kI32}) {
    LogicalTensor run(dtype, axes_.ids({"J", "K"}), axes_.table());
    LogicalTensor single = run;
    EXPECT_TRUE(run.none_defined(0, 12));
    for (LogicalTensor* tensor : {&run, &single}) tensor->set(6, 0x66);
    run.set_run(3, bits, 5);
    for (uint64_t i = 0; i < 5; ++i) single.set(3 + i, bits[i]);
    EXPECT_EQ(run.defined_count(), 5u);  // one of them twice
    for (uint64_t i = 0; i < 12; ++i) {
      EXPECT_EQ(run.defined(i), single.defined(i)) << i;
      EXPECT_EQ(run.bits(i), single.bits(i)) << i;
    }
    EXPECT_TRUE(run.none_defined(0, 3));
    EXPECT_FALSE(run.none_defined(0, 4));
    EXPECT_FALSE(run.none_defined(7, 5));
    EXPECT_TRUE(run.none_defined(8, 4));
  }
}

TEST_F(LogicalTensorTest, IsRowMajorInTheOrderOfTheAxes) {
  const LogicalTensor tensor(DType::kI8, axes_.ids({"I", "K"}), axes_.table());
  EXPECT_EQ(tensor.volume(), 8u);
  EXPECT_EQ(tensor.stride(axes_.id("I")), 4u);
  EXPECT_EQ(tensor.stride(axes_.id("K")), 1u);
  EXPECT_EQ(tensor.stride(axes_.id("J")), 0u);
  EXPECT_EQ(to_string(tensor.index(6), axes_.table()), "I=1 K=2");
}

TEST_F(LogicalTensorTest, AnElementIsDefinedOnceItIsSet) {
  LogicalTensor tensor(DType::kBF16, axes_.ids({"I"}), axes_.table());
  EXPECT_FALSE(tensor.defined(0));
  tensor.set(1, 0x3f80);
  tensor.set(1, 0x4000);
  EXPECT_EQ(tensor.defined_count(), 1u);
  EXPECT_EQ(tensor.value(1), 2.0);
  EXPECT_FALSE(tensor.all_defined());
  tensor.set(0, 0);
  EXPECT_TRUE(tensor.all_defined());
}

TEST_F(LogicalTensorTest, ATensorWithoutAxesHasOneElement) {
  InitSpec init = spec(InitSpec::Kind::kConstant);
  init.constant = 5;
  EXPECT_THAT(values(make(init, DType::kI32, {})), ElementsAre(5));
}

TEST_F(LogicalTensorTest, ZeroConstantAndIotaFillInLogicalOrder) {
  EXPECT_THAT(values(make(spec(InitSpec::Kind::kZero), DType::kF32, {"I"})), ElementsAre(0, 0));
  InitSpec init = spec(InitSpec::Kind::kIota);
  init.start = -1;
  init.step = 2;
  EXPECT_THAT(values(make(init, DType::kI8, {"I", "J"})), ElementsAre(-1, 1, 3, 5, 7, 9));
  EXPECT_FALSE(diagnostics_.has_errors());
}

TEST_F(LogicalTensorTest, NoInitLeavesPoison) {
  EXPECT_EQ(make(spec(InitSpec::Kind::kNone), DType::kF32, {"I"}).defined_count(), 0u);
}

TEST_F(LogicalTensorTest, RandomUsesSeedPlusOffsetAndTheLinearIndex) {
  InitSpec init = spec(InitSpec::Kind::kRandom);
  init.seed = 10;
  init.low = -3;
  init.high = 5;
  const LogicalTensor tensor = make(init, DType::kI8, {"J", "K"}, 7);
  for (uint64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(tensor.bits(i), random_bits(DType::kI8, 17, i, -3, 5)) << i;
  }
}

TEST_F(LogicalTensorTest, RandomBoundsMustFitTheType) {
  InitSpec init = spec(InitSpec::Kind::kRandom);
  init.low = -129;
  init.high = 5;
  make(init, DType::kI8, {"I"});
  EXPECT_THAT(error(), HasSubstr("from -129 to 5 do not fit i8, which holds -128 to 127"));
}

TEST_F(LogicalTensorTest, RandomBoundsMustBeInOrder) {
  InitSpec init = spec(InitSpec::Kind::kRandom);
  init.low = 2;
  init.high = 1;
  make(init, DType::kF32, {"I"});
  EXPECT_THAT(error(), HasSubstr("low 2 above high 1"));
}

TEST_F(LogicalTensorTest, RandomIntegersNeedAnIntegerBetweenTheBounds) {
  InitSpec init = spec(InitSpec::Kind::kRandom);
  init.low = 0.25;
  init.high = 0.75;
  make(init, DType::kI4, {"I"});
  EXPECT_THAT(error(), HasSubstr("no integer"));
}

TEST_F(LogicalTensorTest, ValuesMustBeAsManyAsElements) {
  InitSpec init = spec(InitSpec::Kind::kValues);
  init.values = {1, 2, 3, 4, 5};
  make(init, DType::kF32, {"I", "J"});
  EXPECT_THAT(error(), HasSubstr("5 values for I x J = 2 x 3, which has 6 elements"));
}

TEST_F(LogicalTensorTest, ValuesFillInLogicalOrder) {
  InitSpec init = spec(InitSpec::Kind::kValues);
  init.values = {1, -2, 7, 4, 5, -8};
  EXPECT_THAT(values(make(init, DType::kI4, {"I", "J"})), ElementsAre(1, -2, 7, 4, 5, -8));
}

TEST_F(LogicalTensorTest, AnIntegerTypeRefusesValuesOutOfRange) {
  InitSpec init = spec(InitSpec::Kind::kValues);
  init.values = {7, 8};
  make(init, DType::kI4, {"I"});
  EXPECT_THAT(error(), HasSubstr("value 1 is 8, but i4 holds only -8 to 7"));
}

TEST_F(LogicalTensorTest, AnIntegerTypeRefusesFractions) {
  InitSpec init = spec(InitSpec::Kind::kConstant);
  init.constant = 1.5;
  make(init, DType::kI8, {"I"});
  EXPECT_THAT(error(), HasSubstr("1.5"));
}

TEST_F(LogicalTensorTest, TheLastValueOfIotaMustFit) {
  InitSpec init = spec(InitSpec::Kind::kIota);
  init.start = 125;
  make(init, DType::kI8, {"J"});  // 125, 126, 127
  EXPECT_FALSE(diagnostics_.has_errors());
  make(init, DType::kI8, {"K"});
  EXPECT_THAT(error(), HasSubstr("is 128, but i8 holds only -128 to 127"));
}

TEST_F(LogicalTensorTest, AVolumeBeyondTheLimitIsRefused) {
  make(spec(InitSpec::Kind::kZero), DType::kI8, {"Huge"});
  EXPECT_THAT(error(), HasSubstr("4294967296"));
}

// ---- .npy

class NpyTest : public LogicalTensorTest {
 protected:
  // A file as numpy.lib.format describes it.
  std::string write(const std::string& header, const std::string& data, int version = 1) {
    std::string bytes = "\x93NUMPY";
    bytes += static_cast<char>(version);
    bytes += '\0';
    std::string text = header;
    const size_t prefix = version == 1 ? 10 : 12;
    while ((prefix + text.size() + 1) % 64 != 0) text += ' ';
    text += '\n';
    for (size_t i = 0; i < prefix - 8; ++i) {
      bytes += static_cast<char>((text.size() >> (8 * i)) & 0xff);
    }
    return write_raw(bytes + text + data);
  }
  std::string write_raw(const std::string& bytes) {
    // Test cases run in processes of their own, at the same time.
    const std::string file = fmt::format("reference_npy_test_{}.npy", getpid());
    std::ofstream(directory_ + "/" + file, std::ios::binary) << bytes;
    return file;
  }
  template <typename T>
  static std::string data(const std::vector<T>& values) {
    std::string bytes(values.size() * sizeof(T), '\0');
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  static std::string header(const std::string& descr, const std::string& shape) {
    return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  }
  LogicalTensor load(const std::string& file, DType dtype,
                     const std::vector<std::string>& logical) {
    InitSpec init = spec(InitSpec::Kind::kNpy);
    init.file = file;
    return make(init, dtype, logical);
  }
};

TEST_F(NpyTest, ReadsEveryElementTypeInEveryVersion) {
  const std::vector<double> expected = {1, 2, 3, 100, 5, 6};
  const auto check = [&](const std::string& descr, const std::string& bytes) {
    for (int version = 1; version <= 3; ++version) {
      const std::string file = write(header(descr, "(2, 3)"), bytes, version);
      EXPECT_EQ(values(load(file, DType::kF32, {"I", "J"})), expected)
          << descr << " version " << version;
      EXPECT_EQ(diagnostics_.render(), "");
    }
  };
  check("<f4", data<float>({1, 2, 3, 100, 5, 6}));
  check("<f8", data<double>({1, 2, 3, 100, 5, 6}));
  check("|i1", data<int8_t>({1, 2, 3, 100, 5, 6}));
  check("<i2", data<int16_t>({1, 2, 3, 100, 5, 6}));
  check("<i4", data<int32_t>({1, 2, 3, 100, 5, 6}));
  check("<i8", data<int64_t>({1, 2, 3, 100, 5, 6}));
  check("|u1", data<uint8_t>({1, 2, 3, 100, 5, 6}));
}

TEST_F(NpyTest, ReadsScalarsAndSingleDimensions) {
  EXPECT_THAT(values(load(write(header("<i4", "()"), data<int32_t>({-9})), DType::kI32, {})),
              ElementsAre(-9));
  EXPECT_THAT(values(load(write(header("<i4", "(2,)"), data<int32_t>({4, 5})), DType::kI32, {"I"})),
              ElementsAre(4, 5));
}

TEST_F(NpyTest, RoundsToTheType) {
  // 1 + 2^-9 lies between the bf16 numbers 1 and 1 + 2^-7, nearer to 1.
  EXPECT_THAT(values(load(write(header("<f8", "(2,)"), data<double>({1 + 0x1p-9, -0.5})),
                          DType::kBF16, {"I"})),
              ElementsAre(1, -0.5));
}

TEST_F(NpyTest, TheShapeMustBeThatOfTheLogicalTensor) {
  load(write(header("<f4", "(3, 2)"), data<float>({1, 2, 3, 4, 5, 6})), DType::kF32, {"I", "J"});
  EXPECT_THAT(error(), HasSubstr("holds 3 x 2, but the tensor is I x J = 2 x 3"));
}

TEST_F(NpyTest, IntegerRangesHoldForFilesToo) {
  load(write(header("<i2", "(2,)"), data<int16_t>({1, 300})), DType::kI8, {"I"});
  EXPECT_THAT(error(), HasSubstr("element 1 is 300, but i8 holds only -128 to 127"));
}

TEST_F(NpyTest, AMissingFileIsAnError) {
  load("no_such_file.npy", DType::kF32, {"I"});
  EXPECT_THAT(error(), HasSubstr("cannot be opened"));
}

TEST_F(NpyTest, OtherFilesAreAnError) {
  load(write_raw("PK\x03\x04 and so on"), DType::kF32, {"I"});
  EXPECT_THAT(error(), HasSubstr("is no .npy file"));
}

TEST_F(NpyTest, OtherVersionsAreAnError) {
  load(write(header("<f4", "(2,)"), data<float>({1, 2}), 4), DType::kF32, {"I"});
  EXPECT_THAT(error(), HasSubstr("version 4"));
}

TEST_F(NpyTest, BigEndianIsAnError) {
  load(write(header(">f4", "(2,)"), data<float>({1, 2})), DType::kF32, {"I"});
  EXPECT_THAT(error(), HasSubstr("'>f4'"));
}

TEST_F(NpyTest, FortranOrderIsAnError) {
  load(write("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
             data<float>({1, 2, 3, 4, 5, 6})),
       DType::kF32, {"I", "J"});
  EXPECT_THAT(error(), HasSubstr("Fortran"));
}

TEST_F(NpyTest, AFileCutShortIsAnError) {
  load(write(header("<f4", "(2, 3)"), data<float>({1, 2, 3})), DType::kF32, {"I", "J"});
  EXPECT_THAT(error(), HasSubstr("12 bytes of data where its header promises 24"));
}

TEST_F(NpyTest, AFileCutInsideItsHeaderIsAnError) {
  load(write_raw(std::string("\x93NUMPY\x01\x00\x76\x00{'descr'", 18)), DType::kF32, {"I"});
  EXPECT_THAT(error(), HasSubstr("ends inside its header"));
}

TEST_F(NpyTest, AGarbledHeaderIsAnError) {
  load(write("{'descr': '<f4', 'shape': (2,)}", data<float>({1, 2})), DType::kF32, {"I"});
  EXPECT_THAT(error(), HasSubstr("header that cannot be read"));
}

TEST_F(NpyTest, StructuredTypesAreAnError) {
  load(write("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
             data<float>({1, 2})),
       DType::kF32, {"I"});
  EXPECT_THAT(error(), HasSubstr("header that cannot be read"));
}

TEST_F(NpyTest, AnIntegerThatADoubleCannotHoldIsAnError) {
  load(write(header("<i8", "(2,)"), data<int64_t>({1, (int64_t{1} << 53) + 1})), DType::kF32,
       {"I"});
  EXPECT_THAT(error(), HasSubstr("9007199254740993"));
}

// Every element by the definition: the tile at x is the tensor at x + start * stride.
TEST_F(LogicalTensorTest, TilesOfEveryDigit) {
  InitSpec iota = spec(InitSpec::Kind::kIota);
  const LogicalTensor whole = make(iota, DType::kI32, {"I", "J", "K"});
  const AxisId axis = *axes_.table().find("K");  // 4: K / 2 and K % 2 and K
  for (const auto& [stride, size] : {std::pair<uint64_t, uint64_t>{2, 2}, {1, 2}, {1, 4}}) {
    for (uint64_t start = 0; start < size; ++start) {
      for (uint64_t length = 1; start + length <= size; ++length) {
        const Tile tile{axis, stride, size, start, length};
        const LogicalTensor part = tile_of(whole, tile, axes_.table());
        LogicalTensor target(DType::kI32, whole.axes(), axes_.table());
        put_tile(part, tile, axes_.table(), target);
        for (uint64_t offset = 0; offset < whole.volume(); ++offset) {
          const uint64_t k = offset % 4, digit = k / stride % size;
          ASSERT_EQ(part.defined(offset), digit < length);
          if (digit < length) {
            ASSERT_EQ(part.value(offset), static_cast<double>(offset + start * stride));
          }
          const bool inside = digit >= start && digit < start + length;
          ASSERT_EQ(target.defined(offset), inside);
          if (inside) {
            ASSERT_EQ(target.value(offset), static_cast<double>(offset));
          }
        }
      }
    }
  }
}

TEST_F(LogicalTensorTest, ATensorWithoutTheAxisIsItsOwnTile) {
  const LogicalTensor whole = make(spec(InitSpec::Kind::kIota), DType::kI32, {"I", "J"});
  const Tile tile{*axes_.table().find("K"), 1, 4, 2, 1};
  const LogicalTensor part = tile_of(whole, tile, axes_.table());
  EXPECT_EQ(values(part), values(whole));
  LogicalTensor target(DType::kI32, whole.axes(), axes_.table());
  put_tile(part, tile, axes_.table(), target);
  EXPECT_EQ(values(target), values(whole));
}

}  // namespace
}  // namespace rngdsim
