// SPDX-License-Identifier: Apache-2.0
// Every shipped kernel damaged at every place, parsed and lowered as `rngdsim check` does: either
// it is a good kernel still, or there are errors, each at its line. Nothing is thrown.
#include <gtest/gtest.h>

#include <exception>
#include <string>

#include "config/kernel.h"
#include "lowering/lower.h"
#include "tests/support/mutants.h"

namespace rngdsim {
namespace {

class KernelMutation : public testing::TestWithParam<const char*> {};

TEST_P(KernelMutation, EndsInAProgramOrInErrorsWithTheirLines) {
  const std::string file = std::string(GetParam()) + ".yaml";
  Mutants mutants(source_text("configs/kernels/" + file));
  size_t good = 0;
  size_t bad = 0;
  const auto check = [&](const Mutant& mutant) {
    Diagnostics diagnostics;
    try {
      const KernelDecl kernel = parse_kernel(mutant.text, file, diagnostics);
      if (kernel.names_faulty) {
        EXPECT_TRUE(diagnostics.has_errors()) << mutant.what << "\n" << mutant.text;
      } else {
        const Program program = lower(kernel, {}, diagnostics);
        EXPECT_TRUE(diagnostics.has_errors() || !program.commands.empty()) << mutant.what;
      }
    } catch (const std::exception& error) {
      ADD_FAILURE() << mutant.what << " throws: " << error.what() << "\n" << mutant.text;
    }
    expect_places(diagnostics, file, mutant);
    ++(diagnostics.has_errors() ? bad : good);
  };
  check({"unchanged", mutants.original()});
  EXPECT_EQ(good, 1u) << "as written for the mutants, the kernel is good";
  mutants.for_each(check);
  EXPECT_GT(good, 1u) << "some changes, as of a seed, do no harm";
  EXPECT_GT(bad, good) << "most changes do";
}

INSTANTIATE_TEST_SUITE_P(Shipped, KernelMutation,
                         testing::Values("copy_tiles", "gemm_sweep", "gemm_zero_point",
                                         "reduce_hcw_3", "bmatmul_k_in_time", "bmatmul_m_in_time",
                                         "bmatmul_v_in_time", "dot", "fetch_batch_1",
                                         "fetch_batch_2", "fetch_batch_3", "fetch_batch_4",
                                         "fetch_pad_16", "fetch_pad_32", "fetch_pad_8", "gemm",
                                         "gemm_large", "gemv", "outer_broadcast", "stream_copy"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace rngdsim
