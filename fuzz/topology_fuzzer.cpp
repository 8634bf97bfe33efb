// SPDX-License-Identifier: Apache-2.0
// A topology file, parsed, checked and resolved.
#include <cstddef>
#include <cstdint>
#include <string>

#include "config/topology.h"
#include "fuzz/fuzzer.h"
#include "sim/limits.h"
#include "sim/wiring.h"

// libsystemc does not link without one.
extern "C" int sc_main(int /*argc*/, char* /*argv*/[]) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rngdsim;  // NOLINT(google-build-using-namespace)
  Diagnostics diagnostics;
  const TopologyDecl topology =
      parse_topology(std::string(reinterpret_cast<const char*>(data), size), "t.yaml", diagnostics);
  if (!diagnostics.has_errors()) {
    const MachineLimits limits = limits_from(topology, diagnostics);
    Diagnostics again;
    const TopologyDecl resolved = resolve_topology(topology, again);
    require(!again.has_errors() || diagnostics.has_errors(), "the limits need a good topology");
    if (!diagnostics.has_errors()) {
      require(resolved.units.size() == topology.units.size(), "a machine has the units listed");
      require(limits.dm_bytes() > 0 && limits.trf_bytes() > 0, "a machine has memory");
    }
  }
  require_places(diagnostics, "t.yaml");
  return 0;
}
