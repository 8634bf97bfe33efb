// SPDX-License-Identifier: Apache-2.0
// Whole runs of gathers and scatters: hazards, what is refused, and who wins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/kernel.h"
#include "lowering/lower.h"
#include "sim/index_values.h"
#include "sim/limits.h"
#include "sim/run.h"
#include "support/diagnostic.h"
#include "tests/unit/sim/topology_text.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Program rows_program(const std::string& text) {
  Diagnostics diagnostics;
  const KernelDecl decl = parse_kernel(text, "k.yaml", diagnostics);
  const MachineLimits limits = limits_from(test::shipped_topology(), diagnostics);
  Program program = lower(decl, limits, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  return program;
}
RunResult run_rows(const Program& program, bool values = true) {
  RunOptions options;
  options.values = values;
  options.keep_all = values;
  return run_program(program, test::shipped_topology(), options);
}
const TensorValues& tensor_of(const RunResult& run, const std::string& name) {
  for (const TensorValues& tensor : run.tensors) {
    if (tensor.name == name) return tensor;
  }
  throw std::runtime_error("no tensor " + name);
}

// Element (k, d) of the data is 32 k + d; rows of 32 x i32 are 128 bytes.
std::string scatter_text(const std::string& index_init) {
  return R"(kernel: k
axes: {C: 4, K: 4, D: 32}
tensors:
  data: {memory: dm, dtype: i32, slice: "K # 64", element: "D", init: {iota: {start: 0, step: 1}}}
  index: {memory: hbm, dtype: i32, element: "K", init: )" +
         index_init + R"(}
  cache: {memory: hbm, dtype: i32, element: "C, D", init: {constant: -1}}
program:
  - dma: {from: data, to: cache, memory: hbm, element: "C, D", index: index, scaled: true}
)";
}

// An index without axes: byte 48 is row 3 of 16 bytes, elements 48 to 63 of the table.
TEST(DmaRowsRun, AnIndexWithoutAxesChoosesOneRow) {
  const Program program = rows_program(R"(kernel: k
axes: {V: 8, D: 16}
tensors:
  table: {memory: hbm, dtype: i8, element: "V, D", init: {iota: {start: -64, step: 1}}}
  row: {memory: hbm, dtype: i32, element: "1", init: {values: [48]}}
program:
  - dma: {from: table, to: chosen, memory: dm, slice: "1 # 256", element: "D", index: row, scaled: true}
)");
  const RunResult run = run_rows(program);
  EXPECT_EQ(run.status, RunStatus::kOk);
  EXPECT_EQ(run.values.mismatches, 0u);
  const TensorValues& chosen = tensor_of(run, "chosen");
  ASSERT_EQ(chosen.bits.size(), 16u);
  for (int d = 0; d < 16; ++d) EXPECT_EQ(static_cast<int8_t>(chosen.bits[d]), 48 + d - 64) << d;
}

// Row 2 is named by k = 1 and by k = 3, of which 3 comes later in the stream of the one engine.
TEST(DmaRowsRun, OfEqualIndicesTheLaterRowWins) {
  const Program program = rows_program(scatter_text("{values: [0, 256, 384, 256]}"));
  const RunResult run = run_rows(program);
  EXPECT_EQ(run.status, RunStatus::kOk);
  EXPECT_EQ(run.values.mismatches, 0u);
  const TensorValues& cache = tensor_of(run, "cache");
  EXPECT_EQ(cache.bits[0], 0u);
  EXPECT_EQ(cache.bits[32], 0xFFFFFFFFu);  // nobody names row 1
  EXPECT_EQ(cache.bits[64], 96u);
  EXPECT_EQ(cache.bits[96], 64u);
  EXPECT_THAT(run.hazards,
              ElementsAre(HasSubstr("the index 'index' names a row of 'cache' more than once, "
                                    "first by K=1 and K=3: the one written last stays")));
  EXPECT_EQ(run.exit_status(false), 0);
  EXPECT_EQ(run.exit_status(true), 1);
  EXPECT_EQ(run_rows(program, false).hazards, run.hazards);
}

TEST(DmaRowsRun, DifferentIndicesAreNoHazard) {
  EXPECT_TRUE(run_rows(rows_program(scatter_text("{values: [0, 256, 384, 128]}"))).hazards.empty());
}

TEST(DmaRowsRun, ARowThatDoesNotExistFailsTheRun) {
  for (const bool values : {true, false}) {
    const RunResult run =
        run_rows(rows_program(scatter_text("{values: [0, 256, 512, 128]}")), values);
    EXPECT_EQ(run.status, RunStatus::kFailed);
    EXPECT_EQ(run.exit_status(false), 1);
    ASSERT_EQ(run.failures.size(), 1u);
    EXPECT_EQ(run.failures[0].message,
              "index 'index' (element 2) is 512; 'cache' has 4 rows, bytes 0 to 384");
  }
}

// A wrong value that stays is found: the reference knows what each row holds.
TEST(DmaRowsRun, ARowInTheWrongPlaceIsFound) {
  Program program = rows_program(scatter_text("{values: [0, 256, 384, 128]}"));
  program.commands[0].dma->segments[0].write_base += 4;
  program.commands[0].dma->segments[0].read_base += 4;
  program.commands[0].dma->segments[0].packet_bytes -= 4;
  const RunResult run = run_rows(program);
  EXPECT_EQ(run.status, RunStatus::kFailed);
  EXPECT_EQ(run.values.mismatches, 4u);  // element 0 of each row
}

// Elements that were never written are moved as such, over what was there.
TEST(DmaRowsRun, PoisonIsScatteredAsPoison) {
  std::string text = scatter_text("{values: [0, 256, 384, 128]}");
  const std::string init = ", init: {iota: {start: 0, step: 1}}";
  text.replace(text.find(init), init.size(), "");
  const RunResult run = run_rows(rows_program(text));
  EXPECT_EQ(run.status, RunStatus::kOk);
  EXPECT_EQ(run.values.mismatches, 0u);
  for (const uint8_t valid : tensor_of(run, "cache").valid) EXPECT_EQ(valid, 0);
}

// main reads data memory that a gather writes, and writes the index of a later one.
const char* const kComputed = R"(kernel: k
axes: {V: 8, G: 8, D: 32}
tensors:
  table: {memory: hbm, dtype: i32, element: "V, D", init: {random: {seed: 1, low: 0, high: 99}}}
  index: {memory: dm, dtype: i32, slice: "1 # 256", element: "G", init: {values: [7, 6, 5, 4, 3, 2, 1, 0]}}
program:
  - main:
      from: index
      stages:
        - fetch: {time: "1", packet: "G"}
        - collect
        - commit_trim: {packet: "G"}
        - commit: {to: computed, element: "G"}
  - dma: {from: table, to: rows, memory: dm, slice: "G # 64", element: "D", index: computed, scaled: false}
)";

TEST(DmaRowsRun, AGatherWaitsForItsIndex) {
  const RunResult run = run_rows(rows_program(kComputed));
  EXPECT_EQ(run.status, RunStatus::kOk);
  EXPECT_EQ(run.values.mismatches, 0u);
  EXPECT_EQ(run.commands[1].begin, run.commands[0].end);
  EXPECT_EQ(run.commands[1].waited_for.kind, "read after write");
  EXPECT_EQ(run.commands[1].waited_for.what, "computed");
  const TensorValues& table = tensor_of(run, "table");
  const TensorValues& rows = tensor_of(run, "rows");
  for (uint64_t g = 0; g < 8; ++g) EXPECT_EQ(rows.bits[32 * g], table.bits[32 * (7 - g)]);
}

TEST(DmaRowsRun, AComputedIndexNeedsValues) {
  try {
    run_rows(rows_program(kComputed), false);
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_THAT(error.diagnostics().render(), HasSubstr("k.yaml:14:5: error: the index 'computed' "
                                                        "is computed by a command"));
  }
}

// An index that only moved is known; one that was scattered into is not.
TEST(DmaRowsRun, AnIndexThatWasMovedIsKnown) {
  const std::string text = R"(kernel: k
axes: {V: 8, G: 8, K: 2, D: 32}
tensors:
  table: {memory: hbm, dtype: i32, element: "V, D"}
  numbers: {memory: hbm, dtype: i32, element: "G", init: zero}
  places: {memory: hbm, dtype: i32, element: "K", init: zero}
  two: {memory: dm, dtype: i32, slice: "1 # 64", element: "K"}
program:
  - dma: {from: numbers, to: numbers_dm, memory: dm, slice: "1 # 64", element: "G"}
  - dma: {from: table, to: rows, memory: dm, slice: "G # 64", element: "D", index: numbers_dm, scaled: false}
  - dma: {from: two, to: numbers, memory: hbm, element: "G", index: places, scaled: true}
  - dma: {from: numbers, to: again, memory: dm, slice: "1 # 64", element: "G"}
)";
  const Program program = rows_program(text);
  const auto id_of = [&](const std::string& name) {
    for (TensorId id = 0; id < program.tensors.size(); ++id) {
      if (program.tensors[id].name == name) return id;
    }
    throw std::runtime_error("no tensor " + name);
  };
  EXPECT_EQ(declared_origin(program, id_of("numbers_dm"), 1), id_of("numbers"));
  EXPECT_EQ(declared_origin(program, id_of("again"), 4), std::nullopt);
  EXPECT_EQ(declared_origin(program, id_of("rows"), 4), std::nullopt);
}

}  // namespace
}  // namespace rngdsim
