// SPDX-License-Identifier: Apache-2.0
// The network of mnist.yaml: its values against the mathematics, its cycles against a pencil, the
// table of docs/network.md against both.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/text.h"
#include "tests/golden/kernels/kept_numbers.h"

namespace rngdsim {
namespace {

// Numbers of the commands.
enum Mnist : size_t {
  kImage,
  kWeights1,
  kLoad1,
  kMatmul1,
  kBias1,
  kApart,
  kSpread1,
  kRelu,
  kToAll,
  kWeights2,
  kLoad2,
  kMatmul2,
  kBias2,
  kSpread2,
  kAdd2,
  kLogits,
  kMnistCommands
};

const RunResult& mnist() {
  static const RunResult result =
      run_keeping(load("mnist"), {"image", "w1", "b1", "w2", "b2", "logits"});
  return result;
}

std::vector<double> numbers(const std::string& name) { return kept_numbers(mnist(), name); }

// W x + b in double. Values lie in the order of the file's axes, that of the rows last.
std::vector<double> layer(const std::vector<double>& w, const std::vector<double>& x,
                          const std::vector<double>& b) {
  std::vector<double> y = b;
  for (size_t row = 0; row < y.size(); ++row) {
    for (size_t k = 0; k < x.size(); ++k) y[row] += w[k * y.size() + row] * x[k];
  }
  return y;
}

// A bf16 number is off by at most 2^-9 of itself. A hidden unit, below 4, is rounded twice: off by
// at most 2 x 4 / 512, mostly by a tenth of it. With weights of at most 0.2 and random signs, 256
// of them make some thousandths. A logit, a sum below 8, is rounded twice too: 2 x 8 / 512 = 0.031.
TEST(Mnist, ComputesTheNetwork) {
  std::vector<double> hidden = layer(numbers("w1"), numbers("image"), numbers("b1"));
  size_t off = 0;
  for (double& unit : hidden) {
    EXPECT_LT(std::abs(unit), 4);
    off += unit < 0 ? 1 : 0;
    unit = std::max(unit, 0.0);
  }
  EXPECT_GT(off, 0u);  // ReLU has something to do
  const std::vector<double> expected = layer(numbers("w2"), hidden, numbers("b2"));
  const std::vector<double> logits = numbers("logits");
  ASSERT_EQ(logits.size(), 16u);
  for (size_t c = 0; c < 16; ++c) EXPECT_NEAR(logits[c], expected[c], 0.05) << c;
  const auto [low, high] = std::minmax_element(logits.begin(), logits.end());
  EXPECT_GT(*high - *low, 1);
}

TEST(Mnist, EveryCommandIsAsItsReference) {
  const RunResult& result = mnist();
  EXPECT_EQ(result.status, RunStatus::kOk);
  EXPECT_EQ(result.values.mismatches, 0u);
  ASSERT_EQ(result.commands.size(), kMnistCommands);
  EXPECT_EQ(run(load("mnist"), false).cycles, result.cycles);
}

// Contractions and chains as in decoder_kernels_test.cpp, loads too: a sub context reads 8 B. A
// pair of flits is 2 steps, each operation an ALU.
//
// A command without a chain whose n flits reach the Cast Engine one a cycle takes n + 276. The
// Transpose Engine takes a flit when the Commit Adapter would, and the first of n columns follows a
// cycle after the last flit, each other in the next cycle: a flit and 8 columns, 1 + 276 + 1 + 8.
// Where every four flits become one column the last comes 2 cycles later than the last flit would.
//
// Through the switch (switch_kernels_test.cpp) n flits take 277, the cycles of the ring, and what
// is left of the last round. Inter-transposes of 8 and 16: rings of 8 and 256, 8 and 16 packets;
// the last router wants 8 and 16 of the last traversal, 7 and 15 of which follow. The broadcast:
// one packet around 256, of which a router then sends the 255 that follow the first.
TEST(Mnist, TakesTheCyclesOfThePencil) {
  const std::vector<CommandResult>& c = mnist().commands;
  ASSERT_EQ(c.size(), kMnistCommands);
  EXPECT_EQ(c[kLoad1].cycles, 800u / 4 + 268);
  EXPECT_EQ(c[kMatmul1].cycles, 800u / 16 + 280);
  EXPECT_EQ(c[kApart].cycles, 1u + 276 + 1 + 8);
  EXPECT_EQ(c[kSpread1].cycles, 277u + 8 * 8 + 7 + 2);
  EXPECT_EQ(c[kRelu].cycles, 2u + 2 + 278);
  EXPECT_EQ(c[kToAll].cycles, 277u + 256 + 255 + 2);
  EXPECT_EQ(c[kLoad2].cycles, 256u / 4 + 268);
  EXPECT_EQ(c[kMatmul2].cycles, 256u / 16 + 280);
  EXPECT_EQ(c[kSpread2].cycles, 277u + 256 * 16 + 15 + 2);
  EXPECT_EQ(c[kAdd2].cycles, 2u + 1 + 278);
  // One request: data at the engine 500 cycles after the begin, one beat that data memory has
  // written and answered two cycles later; the command ends with the next.
  EXPECT_EQ(c[kBias2].cycles, 500u + 2 + 1);
}

// The DMA context moves as soon as the tensors are there, in the order of the file; main and sub
// wait for what they need and no longer.
TEST(Mnist, LoadsRunBesideComputation) {
  const std::vector<CommandResult>& c = mnist().commands;
  ASSERT_EQ(c.size(), kMnistCommands);
  for (const auto& [later, earlier] : std::vector<std::pair<size_t, size_t>>{{kWeights1, kImage},
                                                                             {kBias1, kWeights1},
                                                                             {kWeights2, kBias1},
                                                                             {kBias2, kWeights2},
                                                                             {kLoad1, kImage},
                                                                             {kMatmul1, kWeights1},
                                                                             {kApart, kBias1},
                                                                             {kSpread1, kApart},
                                                                             {kRelu, kSpread1},
                                                                             {kToAll, kRelu},
                                                                             {kLoad2, kToAll},
                                                                             {kMatmul2, kLoad2},
                                                                             {kSpread2, kMatmul2},
                                                                             {kAdd2, kSpread2},
                                                                             {kLogits, kAdd2}}) {
    EXPECT_EQ(c[later].begin, c[earlier].end) << later;
  }
  const auto beside = [&](size_t a, size_t b) {
    return c[a].begin < c[b].end && c[b].begin < c[a].end;
  };
  EXPECT_TRUE(beside(kWeights1, kLoad1));
  EXPECT_TRUE(beside(kBias1, kMatmul1));
  EXPECT_TRUE(beside(kWeights2, kApart));
  EXPECT_TRUE(beside(kWeights2, kSpread1));
  EXPECT_TRUE(beside(kBias2, kToAll));
  // What the second layer loads is there long before it begins.
  EXPECT_LT(c[kBias2].end, c[kToAll].end);
}

// The same commands in another order: the long inter-transpose is hidden behind the loads, up to
// the contraction that waits for the weights; what the documents tell of both is true.
TEST(Mnist, AnotherOrderHidesTheSwitch) {
  const RunResult reordered = run_keeping(load("mnist_reordered"), {"logits"});
  EXPECT_EQ(reordered.status, RunStatus::kOk);
  EXPECT_EQ(reordered.values.mismatches, 0u);
  EXPECT_EQ(kept_numbers(reordered, "logits"), numbers("logits"));
  ASSERT_EQ(reordered.commands.size(), kMnistCommands);
  const CommandResult &ring = reordered.commands[4], &weights = reordered.commands[3];
  EXPECT_EQ(ring.label, "bias 2 over slices");
  EXPECT_EQ(ring.cycles, mnist().commands[kSpread2].cycles);
  EXPECT_LT(ring.end, weights.end);
  EXPECT_LT(reordered.cycles, mnist().cycles);
  std::ifstream file(std::string(RNGDSIM_SOURCE_DIR) + "/docs/diagnosis.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), testing::HasSubstr(group_digits(mnist().cycles) + " cycles"));
  EXPECT_THAT(text.str(), testing::HasSubstr(group_digits(reordered.cycles) + " cycles"));
  // Of the path main is the rest behind the weights: nothing of main is on it before.
  const uint64_t slack = reordered.commands[8].begin - reordered.commands[6].end;
  EXPECT_THAT(text.str(), testing::HasSubstr(fmt::format("with {} cycles to spare", slack)));
}

std::string beside_text(const std::vector<CommandResult>& commands, size_t of) {
  std::string text;
  for (size_t i = 0; i < commands.size(); ++i) {
    const bool beside =
        i != of && commands[of].begin < commands[i].end && commands[i].begin < commands[of].end;
    if (beside) text += fmt::format("{}{}", text.empty() ? "" : ", ", i);
  }
  return text.empty() ? "-" : text;
}

TEST(Mnist, TheTableInTheDocsIsTrue) {
  std::ifstream file(std::string(RNGDSIM_SOURCE_DIR) + "/docs/network.md");
  std::stringstream text;
  text << file.rdbuf();
  const RunResult& result = mnist();
  for (size_t i = 0; i < result.commands.size(); ++i) {
    const CommandResult& c = result.commands[i];
    EXPECT_THAT(text.str(),
                testing::HasSubstr(fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |", i,
                                               c.context, c.label, c.begin, c.end, c.cycles,
                                               c.bound, beside_text(result.commands, i))));
  }
  EXPECT_THAT(text.str(), testing::HasSubstr(fmt::format("{} cycles", result.cycles)));
}

}  // namespace
}  // namespace rngdsim
