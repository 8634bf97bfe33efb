// SPDX-License-Identifier: Apache-2.0
// A kernel file, parsed and lowered for the default machine.
#include <cstddef>
#include <cstdint>
#include <string>

#include "config/kernel.h"
#include "fuzz/fuzzer.h"
#include "lowering/lower.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rngdsim;  // NOLINT(google-build-using-namespace)
  Diagnostics diagnostics;
  const KernelDecl kernel =
      parse_kernel(std::string(reinterpret_cast<const char*>(data), size), "k.yaml", diagnostics);
  if (kernel.names_faulty) {
    require(diagnostics.has_errors(), "a kernel without good names has errors");
  } else {
    const Program program = lower(kernel, {}, diagnostics);
    require(diagnostics.has_errors() || !program.commands.empty(), "a good kernel has commands");
  }
  require_places(diagnostics, "k.yaml");
  return 0;
}
