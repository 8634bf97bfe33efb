// SPDX-License-Identifier: Apache-2.0
// The topology file as typed data: the numbers of the machine, its units and how they are wired.
// Which unit types exist and which parameters they take is known to `sim`; here only the form
// counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "support/diagnostic.h"

namespace rngdsim {

// A number (or text, flag, list of texts) with its provenance: `{value: 263, source: C, note: ...}`
// or a bare value. `source` is one of S B C M A (see docs/fidelity.md) or empty for a bare value.
struct ParameterValue {
  std::variant<double, bool, std::string, std::vector<std::string>> value;
  std::string source;
  std::string note;
  SourceLocation where;
};

struct NamedParameter {
  std::string name;
  SourceLocation where;  // of the key
  ParameterValue parameter;
};

struct UnitDecl {
  std::string name;
  SourceLocation where;
  Located<std::string> type;
  std::vector<NamedParameter> parameters;  // every key but `type`, in file order
};

struct PortRef {
  std::string unit;
  std::string port;
  SourceLocation where;
};

struct ConnectionDecl {
  PortRef from, to;
  SourceLocation where;
  uint64_t latency = 1;  // cycles from push to pop
  std::string latency_source;
  uint64_t depth = 0;  // items; 0: not given, latency + 1 (at least 2)
  std::string depth_source;
};

struct TopologyDecl {
  std::string file;
  std::string sha256;
  std::string name;
  ParameterValue clock_ghz;
  std::vector<NamedParameter> machine;  // `machine:` section: sizes shared by all units, overheads
  std::vector<UnitDecl> units;
  std::vector<ConnectionDecl> connections;
};

TopologyDecl load_topology(const std::string& path, Diagnostics& diagnostics);
TopologyDecl parse_topology(const std::string& text, const std::string& file,
                            Diagnostics& diagnostics);

}  // namespace rngdsim
