// SPDX-License-Identifier: Apache-2.0
// Files and arguments that nobody would write, through the real program with little memory and
// little time: each is refused with its place, or does what it says.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/cli/rngdsim/process.h"

namespace rngdsim {
namespace {

using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string repeated(const std::string& text, size_t times) {
  std::string result;
  result.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) result += text;
  return result;
}

const char* const kAnywhere = "";
const char* const kWholeFile = " error: ";  // instead of a line

class Hostile : public CliTest {
 protected:
  static ProcessResult bounded(const std::vector<std::string>& arguments) {
    ProcessOptions options;
    options.memory_bytes = 200 << 20;
    options.cpu_seconds = 2;
    options.timeout_seconds = 60;
    ProcessResult result = rngdsim(arguments, options);
    EXPECT_EQ(result.signal, 0) << arguments.front();
    return result;
  }

  // run, check and explain of the kernel say `message` at `place` ("3:8", or its beginning).
  void refused(const std::string& kernel, const std::string& place, const std::string& message) {
    for (const char* command : {"run", "check", "explain"}) {
      const ProcessResult result = bounded({command, kernel});
      EXPECT_EQ(result.status, 2) << command << "\n" << result.err.substr(0, 2000);
      const std::string said = result.out + result.err;
      EXPECT_THAT(said.substr(0, 4000), HasSubstr(kernel + ":" + place)) << command;
      EXPECT_THAT(said.substr(0, 9000), HasSubstr(": error: ")) << command;
      EXPECT_THAT(said.substr(0, 4000), HasSubstr(message)) << command;
      EXPECT_LT(said.size(), 2u << 20) << command;
    }
  }
  void refused_text(const std::string& text, const std::string& place, const std::string& message) {
    refused(write("hostile.yaml", text), place, message);
  }
};

// A kernel of one command; `axes` and the element of its tensor are given.
std::string kernel_with(const std::string& axes, const std::string& element,
                        const std::string& rest = "") {
  return "kernel: k\n"
         "axes: {" +
         axes + "}\n" + rest +
         "tensors:\n"
         "  x: {memory: dm, dtype: bf16, slice: \"1 # 256\", element: \"" +
         element +
         "\", init: zero}\n"
         "program:\n"
         "  - main: {from: x, stages: [{fetch: {time: \"1\", packet: \"16\"}}, collect]}\n";
}

// ---- Sizes --------------------------------------------------------------------------------------

TEST_F(Hostile, AxesAndTensorsThatNoMachineHolds) {
  refused_text(kernel_with("N: 1000000000000000000", "N"), "2:11",
               "must be at most 4,294,967,296, got 1,000,000,000,000,000,000");
  refused_text(kernel_with("N: 99999999999999999999999", "N"), "2:11",
               "must be at most 4,294,967,296");
  // 2^32 x 2^32 = 2^64.
  refused_text(kernel_with("A: 4294967296, B: 4294967296, C: 4294967296", "A, B, C"), "4:63",
               "size 4,294,967,296 x 4,294,967,296 is above 281,474,976,710,656");
  // 2^40 elements of 2 bytes in each slice.
  refused_text(kernel_with("A: 16", "A # 1099511627776"), "4:60", "takes 2,199,023,255,552 bytes");
  refused_text(kernel_with("A: 65536, B: 65536", "A, B"), "4:60", "takes 8,589,934,592 bytes");
}

TEST_F(Hostile, HugeNumbersEverywhere) {
  const std::string kernel = write("huge.yaml", R"(kernel: k
axes: {N: 1e18}
constants: {C: 1e300, D: 1000000000000000000}
tensors:
  x: {memory: dm, dtype: i8, slice: "1 # 1000000000000000000", element: "1 # 281474976710656", address: 1000000000000000000, init: {constant: 1e999}}
  y: {memory: dm, dtype: i8, slice: "1 # 256", element: "8", init: {random: {seed: 99999999999999999999}}}
program:
  - main: {from: x, delay: 1000000000000000000, stages: [{fetch: {time: "1", packet: "8"}}]}
)");
  const ProcessResult result = bounded({"check", kernel});
  EXPECT_EQ(result.status, 2);
  for (const char* place : {":2:11: error:", ":3:16: error:", ":3:26: error:", ":5:105: error:",
                            ":5:143: error:", ":6:84: error:", ":8:28: error:"}) {
    EXPECT_THAT(result.out, HasSubstr(kernel + place));
  }
}

TEST_F(Hostile, AStreamThatNobodyCouldSimulateIsRefused) {
  // 2^48 positions.
  refused_text(R"(kernel: k
axes: {A: 65536, B: 65536, C: 65536}
program:
  - main:
      stream: {dtype: i8, slice: "1 # 256", time: "A, B, C", packet: "32"}
      stages: [collect]
)",
               "5:7", "at most 1,099,511,627,776 positions");
}

TEST_F(Hostile, LongRunsStartAndStop) {
  // 65,536 x 1,024 x 16 = 2^30 accesses.
  const std::string kernel = write("long.yaml", R"(kernel: long
axes: {P: 65536, Q: 1024, N: 16, M: 16}
tensors:
  x: {memory: dm, dtype: bf16, slice: "1 # 256", element: "N, M", init: zero}
program:
  - main:
      from: x
      stages:
        - fetch:   {time: "P, Q, N", packet: "M"}
        - collect: {}
)");
  const ProcessResult run = bounded({"run", kernel, "--max-cycles", "1000"});
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_THAT(run.out, HasSubstr("--max-cycles reached at 1,000 cycles"));
  EXPECT_EQ(bounded({"run", kernel, "--max-cycles", "1000", "--timing-only"}).status, 1);
  const ProcessResult check = bounded({"check", kernel});
  EXPECT_EQ(check.status, 0);
  EXPECT_THAT(check.out, HasSubstr("at least 1,073,742,087 cycles"));  // 2^30 + 263
  EXPECT_EQ(bounded({"explain", kernel}).status, 0);
}

// ---- Numbers of things
// ----------------------------------------------------------------------------

TEST_F(Hostile, ManyAxes) {
  std::string axes;
  for (int i = 0; i < 100'000; ++i) axes += fmt::format("{}A{}: 2", i == 0 ? "" : ", ", i);
  refused_text(kernel_with(axes, "A1"), "2:7", "'axes' has 100,000 entries; at most 256");
}

TEST_F(Hostile, ManyNames) {
  std::string constants = "constants: {";
  std::string mappings = "mappings: {";
  for (int i = 0; i < 20'000; ++i) {
    constants += fmt::format("C{}: 2, ", i);
    mappings += fmt::format("M{}: \"2\", ", i);
  }
  const std::string kernel =
      write("names.yaml", kernel_with("N: 2", "N", constants + "}\n" + mappings + "}\n"));
  const ProcessResult result = bounded({"check", kernel});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.out, HasSubstr(kernel + ":3:12: error: 'constants' has 20,000 entries"));
  EXPECT_THAT(result.out, HasSubstr(kernel + ":4:11: error: 'mappings' has 20,000 entries"));
}

TEST_F(Hostile, ManyTensors) {
  std::string text = "kernel: k\naxes: {N: 2}\ntensors:\n";
  for (int i = 0; i < 20'000; ++i) {
    text +=
        fmt::format("  t{}: {{memory: dm, dtype: i8, slice: \"1 # 256\", element: \"N\"}}\n", i);
  }
  refused_text(text + "program: [{main: {from: t0, stages: [collect]}}]\n", "4:3",
               "'tensors' has 20,000 entries; at most 1,024");
}

TEST_F(Hostile, ManyCommands) {
  std::string text = "kernel: k\naxes: {N: 2}\nprogram:\n";
  refused_text(text + repeated("- main: {from: x, stages: [collect]}\n", 100'000), kAnywhere,
               "more than");
  refused_text(text + repeated("- main: {from: x, stages: [collect]}\n", 10'000), "4:1",
               "'program' has 10,000 entries; at most 4,096");
}

TEST_F(Hostile, ManyStages) {
  const std::string head = "kernel: k\naxes: {N: 2}\nprogram:\n- main: {from: x, stages: [";
  refused_text(head + repeated("a,", 1'000'000) + "a]}\n", "4:", "more than 250,000 values");
  refused_text(head + repeated("collect,", 100'000) + "a]}\n", "4:27",
               "has 100,001 entries; at most 64");
}

TEST_F(Hostile, ManyErrorsAreCounted) {
  // Each command has an unknown tensor, and many names are near it.
  std::string text = "kernel: k\naxes: {N: 2}\ntensors:\n";
  const std::string name(60, 'a');
  for (int i = 0; i < 1000; ++i) {
    text += fmt::format(
        "  {}{:04}: {{memory: dm, dtype: i8, slice: \"1 # 256\", element: \"8\"}}\n", name, i);
  }
  text += "program:\n";
  for (int i = 0; i < 4000; ++i) {
    text += fmt::format(
        "- main: {{from: {}x{:03}, stages: [{{fetch: {{time: \"1\", packet: "
        "\"8\"}}}}]}}\n",
        name, i % 1000);
  }
  refused_text(text, kAnywhere, "");
  EXPECT_THAT(bounded({"check", path("hostile.yaml")}).out,
              HasSubstr("more than 1,000 errors; the rest is not shown"));
}

TEST_F(Hostile, AsManyCommandsAsAllowedAreLowered) {
  // All write and read one name, so that each has thousands of versions before it.
  std::string text = kernel_with("N: 16, M: 16", "N, M");
  text = text.substr(0, text.find("program:"));
  text += "program:\n" +
          repeated(
              "- sub: {from: x, stages: [{fetch: {time: \"N\", packet: \"M\"}}, collect, "
              "{to_trf: {to: w, lane: \"1\", element: \"N, M\"}}]}\n",
              4096);
  const std::string kernel = write("many.yaml", text);
  EXPECT_EQ(bounded({"check", kernel}).status, 0);
  EXPECT_EQ(bounded({"run", kernel, "--max-cycles", "1000", "--timing-only"}).status, 1);
}

// ---- Mappings
// -------------------------------------------------------------------------------------

TEST_F(Hostile, LongAndDeepMappings) {
  refused_text(kernel_with("N: 2", "1" + repeated(",1", 500'000)), "4:60",
               "more than 8,192 characters");
  refused_text(kernel_with("N: 2", "1" + repeated(",1", 2'000)), "4:", "more than 1,024 terms");
  refused_text(kernel_with("N: 2", "1" + repeated(" ", 1'000'000)), "4:60",
               "more than 8,192 characters");
  refused_text(kernel_with("N: 2", repeated("(", 100'000)), "4:60", "more than 8,192 characters");
  refused_text(kernel_with("N: 2", repeated("(", 8'000)), "4:", "nested deeper than 64");
  refused_text(kernel_with("N: 2", repeated("[", 4'000) + "1" + repeated("]", 4'000)),
               "4:", "nested deeper than");
}

TEST_F(Hostile, NamedMappingsDoNotMultiply) {
  std::string mappings = "mappings:\n  M0: \"N\"\n";
  for (int i = 1; i < 60; ++i) {
    mappings += fmt::format("  M{}: \"{{M{}}}, {{M{}}}\"\n", i, i - 1, i - 1);
  }
  refused_text(kernel_with("N: 1", "{M59}", mappings), kAnywhere, "more than 1,024 terms");
  // Blanks do not count as terms.
  refused_text(kernel_with("N: 1", "{M2}",
                           "mappings: {M0: \"1" + repeated(" ", 5000) +
                               "\", M1: \"{M0}, {M0}\", M2: \"{M1}, {M1}\"}\n"),
               "3:", "more than 8,192 characters");
  refused_text(kernel_with("N: 1", "{A}", "mappings: {A: \"{B}\", B: \"{A}\"}\n"), "3:16",
               "uses itself");
}

// ---- YAML
// -----------------------------------------------------------------------------------------

TEST_F(Hostile, DeepYaml) {
  refused_text("a: " + repeated("[", 100'000), "1:", "nested deeper than 32 levels");
  refused_text(repeated("{a: ", 100'000), "1:", "nested deeper than 32 levels");
  refused_text(repeated("[\n", 100'000), kAnywhere, "nested deeper than 32 levels");
  refused_text(repeated("- ", 100'000) + "a\n", "1:", "nested deeper than 32 levels");
  refused_text(repeated("? ", 100'000) + "a\n", "1:", "nested deeper than 32 levels");
  std::string blocks;
  for (int i = 0; i < 2'000; ++i) blocks += std::string(i, ' ') + "a:\n";
  refused_text(blocks, "33:", "nested deeper than 32 levels");
}

TEST_F(Hostile, AliasesAreNotFollowed) {
  std::string bomb = "a0: &a0 [lol, lol, lol]\n";
  for (int i = 1; i < 100; ++i) {
    bomb += fmt::format("a{}: &a{} [*a{}, *a{}, *a{}]\n", i, i, i - 1, i - 1, i - 1);
  }
  refused_text(bomb, "1:5", "YAML anchors are not allowed here");
  refused_text("a: &a [*a, *a]\n", "1:4", "YAML anchors are not allowed here");
  refused_text("&k a: *k\n", "1:1", "YAML anchors are not allowed here");
  refused_text("a: *missing\n", "1:4", "");
}

TEST_F(Hostile, LongLinesAndNames) {
  refused_text("kernel: " + std::string(4'000'000, 'a') + "\n", "1:1", "missing key 'program'");
  refused_text(std::string(4'000'000, 'a') + ": 1\n", "1:", "");
  refused_text(std::string(4'000'000, ' '), kWholeFile, "the file is empty");
  refused_text("kernel: \"" + std::string(4'000'000, 'a') + "\n", "1:9",
               "the quote that is opened here is not closed");
  refused_text(kernel_with(std::string(1'000, 'A') + ": 2", "1"), "2:8",
               "has 1,000 characters; at most 64");
  refused_text(kernel_with("N: 2", "1", "constants: {" + std::string(65, 'a') + ": 1}\n"), "3:13",
               "has 65 characters; at most 64");
  const std::string kernel =
      write("from.yaml", "kernel: k\naxes: {N: 2}\nprogram:\n  - main: {from: " +
                             std::string(1'000'000, 'x') + ", stages: [collect]}\n");
  refused(kernel, "4:18", "has 1,000,000 characters; at most 64");
  refused_text(repeated("# comment\n", 400'000), kWholeFile, "the file is empty");
  refused_text(repeated("\n", 4'000'000), kWholeFile, "the file is empty");
  // Small pieces of YAML over and over: whatever is said, it is said soon.
  const std::vector<std::pair<const char*, size_t>> pieces = {
      {"a: 'x\n", 100'000}, {"a: |\n", 100'000}, {"{},", 100'000},   {"[]: ", 100'000},
      {"a: ", 100'000},     {"!", 1'000'000},    {"---\n", 100'000}, {"%YAML 1.2\n", 100'000},
      {"\"\\", 1'000'000},  {"*", 1'000'000},    {"&a ", 100'000}};
  for (const auto& [piece, times] : pieces) {
    const ProcessResult result = bounded({"check", write("pieces.yaml", repeated(piece, times))});
    EXPECT_EQ(result.status, 2) << piece;
    EXPECT_THAT(result.out.substr(0, 2000), ContainsRegex("pieces.yaml:[12]:[0-9]+: error: "))
        << piece;
  }
}

TEST_F(Hostile, TextsThatAreNone) {
  refused_text(std::string("kernel: a\0b\n", 12), "1:10", "control character 0x00");
  refused_text("kernel: k\ndescription: \xff\xfe\n", "2:14", "byte 0xff is no UTF-8 character");
  refused_text("kernel: k\n\xc3(: 1\n", "2:1", "byte 0xc3 is no UTF-8 character");
  refused_text(std::string("\xff\xfek\0e\0y\0", 8), "1:1", "byte 0xff is no UTF-8 character");
  refused_text(std::string("\0\0\xfe\xff", 4), "1:1", "control character 0x00");
  refused_text("", kWholeFile, "the file is empty");
  refused_text("\xef\xbb\xbf", kWholeFile, "the file is empty");
  refused_text("\r\n\r\n", kWholeFile, "the file is empty");
}

TEST_F(Hostile, ByteOrderMarkAndCarriageReturnsAreHarmless) {
  std::string text = kCopy;
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 2)) {
    text.insert(at, "\r");
  }
  const std::string kernel = write("crlf.yaml", "\xef\xbb\xbf" + text);
  EXPECT_EQ(bounded({"check", kernel}).status, 0) << bounded({"check", kernel}).out;
  // Places are counted as in a file without them.
  text.replace(text.find("N: 16"), 5, "n: 16");
  refused(write("bad.yaml", "\xef\xbb\xbf" + text), "3:8", "axis name 'n'");
}

TEST_F(Hostile, WhatIsNoFile) {
  refused(directory_.string(), kWholeFile, "cannot read the file");
  refused("/dev/zero", kWholeFile, "more than 4,194,304 bytes");
  refused("/dev/null", kWholeFile, "the file is empty");
  refused(path("none.yaml"), kWholeFile, "cannot read the file");
  refused(path(std::string(300, 'a')), kWholeFile, "cannot read the file");
  const std::string large = write("large.yaml", repeated("# comment\n", 500'000));
  refused(large, kWholeFile, "more than 4,194,304 bytes");
}

// ---- Topologies
// -----------------------------------------------------------------------------------

TEST_F(Hostile, Topologies) {
  const std::string kernel = write("copy.yaml", kCopy);
  const std::string good = read(shipped_topology());
  const auto refused_topology = [&](const std::string& text, const std::string& message) {
    const std::string topology = write("t.yaml", text);
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"topology", topology},
          {"check", kernel, "--topology", topology},
          {"run", kernel, "--topology", topology}}) {
      const ProcessResult result = bounded(arguments);
      EXPECT_EQ(result.status, 2) << arguments.front();
      EXPECT_THAT((result.out + result.err).substr(0, 4000), HasSubstr(topology + ":"));
      EXPECT_THAT((result.out + result.err).substr(0, 4000), HasSubstr(message));
    }
  };
  std::string units = "topology: t\nclock_ghz: 1\nmachine: {}\nconnections: []\nunits: {";
  for (int i = 0; i < 50'000; ++i) units += fmt::format("u{}: {{type: cast}}, ", i);
  refused_topology(units + "}\n", "'units' has 50,000 entries; at most 256");
  refused_topology(good + repeated("  - {from: a.b, to: c.d}\n", 40'000), "at most 1,024");
  std::string parameters = good;
  std::string many;
  for (int i = 0; i < 50'000; ++i) many += fmt::format(", p{}: 1", i);
  parameters.insert(parameters.find("main_source: {type: stream_source") + 33, many);
  refused_topology(parameters, "at most 256");
  refused_topology("topology: t\nclock_ghz: 1e300\nmachine: {slices: 1e300}\nunits: {}\n",
                   ":2:12:");
  refused_topology(repeated("[", 100'000), "nested deeper than 32 levels");
}

TEST_F(Hostile, NumbersOfAMachineAtTheirBounds) {
  const std::string kernel = write("copy.yaml", kCopy);
  // Each is accepted or refused with a message; none takes memory for what is never used.
  for (const char* set : {"machine.slices=4096",
                          "machine.slices=1e18",
                          "machine.clusters=64",
                          "machine.lanes=64",
                          "machine.command_overhead=1000000",
                          "machine.sequencer_entries=64",
                          "machine.sequencer_max_size=2147483648",
                          "machine.data_memory_align=1048576",
                          "data_memory.rows=1048576",
                          "data_memory.banks=64",
                          "data_memory.bank_bytes=64",
                          "data_memory.read_latency=100000",
                          "trf.rows=1048576",
                          "time_reducer.cells=16777216",
                          "packet_reducer.latency_16bit=100000",
                          "main_fetch.outstanding=4096",
                          "multiplier.macs_16bit=1048576",
                          "lane_folder.bus_elements=256",
                          "machine.slices=99999999999999999999",
                          "machine.slices=-1",
                          "machine.slices=nan",
                          "machine.slices=0x1p60"}) {
    for (const char* command : {"check", "run"}) {
      const ProcessResult result = bounded({command, kernel, "--set", set});
      EXPECT_THAT(result.status, AnyOf(0, 2)) << set << "\n" << result.out << result.err;
      if (result.status == 0) continue;
      EXPECT_THAT(result.out + result.err, HasSubstr("error: ")) << set;
    }
  }
}

// ---- map
// ------------------------------------------------------------------------------------------

TEST_F(Hostile, MappingsOnTheCommandLine) {
  const auto refused_mapping = [&](const std::string& mapping, const std::string& axes,
                                   const std::string& message) {
    const ProcessResult result = bounded({"map", mapping, "--axes", axes});
    EXPECT_EQ(result.status, 2) << mapping.substr(0, 100);
    EXPECT_THAT(result.err.substr(0, 4000), ContainsRegex(":1:[0-9]+: error: "));
    EXPECT_THAT(result.err.substr(0, 4000), HasSubstr(message));
  };
  refused_mapping("A", "A=1000000000000000000", "1 to 4,294,967,296 are possible");
  refused_mapping("A", "A=18446744073709551617", "must be AXIS=SIZE");
  refused_mapping("A, A, A", "A=4294967296", "is above 281,474,976,710,656");
  refused_mapping("A # 99999999999999999999", "A=2", "is above 281,474,976,710,656");
  refused_mapping(repeated("(", 100'000), "A=2", "more than 8,192 characters");
  refused_mapping(repeated("[", 8'000), "A=2", "nested deeper than 64");
  refused_mapping(repeated("1,", 4'000), "A=2", "more than 1,024 terms");
  refused_mapping("A\xff", "A=2", "unexpected");
  std::string axes;
  for (int i = 0; i < 10'000; ++i) axes += fmt::format("{}A{}=2", i == 0 ? "" : ",", i);
  refused_mapping("A1", axes, "more than 256 axes");
  refused_mapping("A", std::string(100'000, 'A') + "=2", "has 100000 characters; at most 64");
}

TEST_F(Hostile, MapOfALargeMapping) {
  const ProcessResult result = bounded({"map", "A, B # 65536", "--axes", "A=4294967296,B=65535"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("281,474,976,710,656 positions"));
  const ProcessResult all = bounded(
      {"map", "A, B # 65536", "--axes", "A=4294967296,B=65535", "--limit", "18446744073709551615"});
  EXPECT_EQ(all.status, 2);
  EXPECT_THAT(all.err, HasSubstr("--limit"));
  EXPECT_THAT(all.err, Not(HasSubstr("internal")));
}

}  // namespace
}  // namespace rngdsim
