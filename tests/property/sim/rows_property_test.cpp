// SPDX-License-Identifier: Apache-2.0
// Random gathers and scatters through the whole machine against their definition: element (i, rest)
// of a gather is element (index[i], rest) of the table; element (index[i], rest) behind a scatter
// is element (i, rest) of the source, of one of them where several name a row, and every other row
// is as before.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "config/kernel.h"
#include "lowering/lower.h"
#include "sim/limits.h"
#include "sim/run.h"
#include "tests/unit/sim/topology_text.h"

namespace rngdsim {
namespace {

class RandomRows {
 public:
  explicit RandomRows(uint32_t seed) : random_(seed) {
    scatter_ = pick(0, 1) == 1;
    scaled_ = scatter_ || pick(0, 1) == 0;
    rows_ = pick(2, 12);
    count_ = uint64_t{1} << pick(1, 6);
    batch_ = pick(0, 2) == 0 ? 2 : 1;  // the index may have an axis that the table has too
    width_ = 8 * pick(1, 40);
    padded_ = pick(0, 1) == 0 ? width_ + 8 * pick(0, 3) : width_;
    split_ = pick(0, 1) == 0;
    batch_inside_ = pick(0, 1) == 0;
    for (uint64_t i = 0; i < batch_ * count_; ++i) index_.push_back(pick(0, rows_ - 1));
  }

  std::string text() const {
    std::string values;
    const uint64_t unit = scaled_ ? row_bytes() : 1;
    for (const uint64_t row : index_) {
      values += fmt::format("{}{}", values.empty() ? "" : ", ", row * unit);
    }
    std::string text = fmt::format(
        "kernel: k\naxes: {{B: {}, V: {}, G: {}, D: {}}}\ntensors:\n"
        "  table: {{memory: hbm, dtype: i8, element: \"{}\", init: {{random: {{seed: 1}}}}}}\n"
        "  index: {{memory: hbm, dtype: i32, element: \"B, G\", init: {{values: [{}]}}}}\n",
        batch_, rows_, count_, width_, table_element(), values);
    if (scatter_) {
      return text + fmt::format(
                        "  data: {{memory: dm, dtype: i8, {}, init: {{random: {{seed: 2}}}}}}\n"
                        "program:\n  - dma: {{from: data, to: table, memory: hbm, element: "
                        "\"{}\", index: index, scaled: true}}\n",
                        dm_layout(), table_element());
    }
    text += "program:\n";
    if (!scaled_) {
      text +=
          "  - dma: {from: index, to: index_dm, memory: dm, slice: \"1 # 64\", element: \"G / 2, "
          "B, G % 2\"}\n";
    }
    return text + fmt::format(
                      "  - dma: {{from: table, to: data, memory: dm, {}, index: {}, scaled: "
                      "{}}}\n",
                      dm_layout(), scaled_ ? "index" : "index_dm", scaled_);
  }

  bool is_scatter() const { return scatter_; }

  // `before`: the table as it was.
  void check(const TensorValues& table, const TensorValues& data,
             const std::vector<uint32_t>& before) const {
    for (uint64_t b = 0; b < batch_; ++b) {
      for (uint64_t v = 0; v < rows_; ++v) {
        for (uint64_t d = 0; d < width_; ++d) {
          const uint64_t place = (b * rows_ + v) * width_ + d;
          std::set<uint32_t> allowed;
          for (uint64_t g = 0; scatter_ && g < count_; ++g) {
            if (index_[b * count_ + g] != v) continue;
            allowed.insert(data.bits.at((b * count_ + g) * width_ + d));
          }
          if (allowed.empty()) allowed.insert(before.at(place));
          ASSERT_EQ(allowed.count(table.bits.at(place)), 1u)
              << "B=" << b << " V=" << v << " D=" << d;
        }
      }
      for (uint64_t g = 0; !scatter_ && g < count_; ++g) {
        const uint64_t row = index_[b * count_ + g];
        for (uint64_t d = 0; d < width_; ++d) {
          ASSERT_EQ(data.bits.at((b * count_ + g) * width_ + d),
                    before.at((b * rows_ + row) * width_ + d))
              << "B=" << b << " G=" << g << " D=" << d;
        }
      }
    }
  }

 private:
  uint64_t pick(uint64_t low, uint64_t high) {
    return std::uniform_int_distribution<uint64_t>(low, high)(random_);
  }
  // With the batch between them rows lie further apart.
  std::string table_element() const {
    return fmt::format("{}, D # {}", batch_inside_ ? "V, B" : "B, V", padded_);
  }
  uint64_t row_bytes() const { return padded_ * (batch_inside_ ? batch_ : 1); }
  std::string dm_layout() const {
    if (split_) return fmt::format("slice: \"G / 2 # 64\", element: \"B, G % 2, D\"");
    return fmt::format("slice: \"G # 256\", element: \"B, D\"");
  }

  std::mt19937 random_;
  bool scatter_ = false, scaled_ = true, split_ = false, batch_inside_ = false;
  uint64_t rows_ = 1, count_ = 1, batch_ = 1, width_ = 8, padded_ = 8;
  std::vector<uint64_t> index_;
};

const TensorValues* kept(const RunResult& result, const std::string& name) {
  for (const TensorValues& tensor : result.tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

RunResult run_rows(const std::string& text, bool values) {
  Diagnostics diagnostics;
  const KernelDecl decl = parse_kernel(text, "k.yaml", diagnostics);
  const MachineLimits limits = limits_from(test::shipped_topology(), diagnostics);
  Program program = lower(decl, limits, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  if (diagnostics.has_errors()) return {};
  RunOptions options;
  options.values = values;
  options.keep_all = values;
  return run_program(program, test::shipped_topology(), options);
}

// The values of a table that nothing changes.
std::vector<uint32_t> untouched(const std::string& text) {
  const std::string tensors = text.substr(0, text.find("program:"));
  const RunResult result = run_rows(
      tensors + "program:\n  - dma: {from: table, to: copy, memory: hbm, element: \"B, V, D\"}\n",
      true);
  return kept(result, "copy")->bits;
}

TEST(RandomRowsTest, RunsMatchTheDefinition) {
  constexpr uint32_t kRuns = 60;
  uint32_t scatters = 0;
  for (uint32_t seed = 0; seed < kRuns; ++seed) {
    const RandomRows rows(seed);
    const std::string text = rows.text();
    SCOPED_TRACE(text);
    const RunResult result = run_rows(text, true);
    ASSERT_EQ(result.status, RunStatus::kOk);
    EXPECT_EQ(result.values.mismatches, 0u);
    ASSERT_NE(kept(result, "table"), nullptr);
    ASSERT_NE(kept(result, "data"), nullptr);
    rows.check(*kept(result, "table"), *kept(result, "data"), untouched(text));
    if (HasFatalFailure()) return;
    // The same cycles where only the initial values of the index are known.
    EXPECT_EQ(run_rows(text, false).cycles, result.cycles);
    scatters += rows.is_scatter() ? 1 : 0;
  }
  EXPECT_GT(scatters, kRuns / 5);
  EXPECT_LT(scatters, kRuns * 4 / 5);
}

}  // namespace
}  // namespace rngdsim
