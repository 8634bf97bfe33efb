// SPDX-License-Identifier: Apache-2.0
// The table of unit types: what a topology file may name. One line a type gives its documentation,
// its parameters, its ports and how it is made; `rngdsim topology` prints it, wiring.h checks files
// by it. A new unit is one header, one source and one entry here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "command/program.h"
#include "config/topology.h"

namespace rngdsim {

class Clock;
class Unit;
struct RunContext;

enum class ParameterKind { kNumber, kFlag, kText, kList };
const char* name(ParameterKind kind);  // "number", "flag", "text", "list"

// As in ParameterValue. Numbers are whole: counts, bytes, cycles.
using ParameterContent = std::variant<double, bool, std::string, std::vector<std::string>>;

struct ParameterSpec {
  std::string name;
  ParameterKind kind = ParameterKind::kNumber;
  std::optional<ParameterContent> default_value;  // none: must be given
  double min = 0, max = 0;                        // kNumber, both ends included
  std::string unit;                               // "bytes", "cycles", ...; empty for none
  std::string source;                             // of the default: S B C M A
  std::string doc;
  std::vector<std::string> words =
      {};  // kText: one of these. kList: each of these, once, any order
};

struct PortSpec {
  std::string name;
  bool input = false;
  std::string item;  // what travels
  bool required = true;
  // "main", "sub": only units with this `context` have the port; empty: all have it.
  std::string context = {};
};

// The cycles of a parameter include the latency of the link behind a port, and cannot be fewer.
struct IncludedLatency {
  std::string parameter, port;
};

// What a factory builds from: a unit of a topology of which all parameters are known and checked.
class UnitParameters {
 public:
  explicit UnitParameters(const UnitDecl& unit) : unit_(unit) {}
  uint64_t number(const std::string& name) const;
  bool flag(const std::string& name) const;
  const std::string& text(const std::string& name) const;
  const std::vector<std::string>& list(const std::string& name) const;
  Context context() const;  // of the parameter "context"

 private:
  const ParameterContent& find(const std::string& name) const;  // InternalError where missing
  const UnitDecl& unit_;
};

enum class UnitCount {
  kOne,          // exactly one in a machine
  kOneAContext,  // one with `context: main`, one with `context: sub`
  kAny,
};

struct UnitType {
  std::string name;
  std::string doc;
  UnitCount count = UnitCount::kOne;
  bool source = false;  // commands start here: needs no input from others, nor any connection
  std::vector<ParameterSpec> parameters;
  std::vector<PortSpec> ports;
  std::vector<IncludedLatency> latencies;
  std::function<std::unique_ptr<Unit>(const char* name, Clock&, const RunContext&,
                                      const UnitParameters&)>
      make;

  const ParameterSpec* parameter(const std::string& name) const;
  const PortSpec* port(const std::string& name) const;
};

using UnitTypes = std::vector<UnitType>;
const UnitType* find_type(const UnitTypes& types, const std::string& name);

// The types that exist.
const UnitTypes& unit_types();

// The keys of the `machine:` section.
const std::vector<ParameterSpec>& machine_parameters();

}  // namespace rngdsim
