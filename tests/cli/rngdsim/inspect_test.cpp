// SPDX-License-Identifier: Apache-2.0
// check, explain, map and topology: no simulation.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/rngdsim/process.h"

namespace rngdsim {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Inspect : public CliTest {};

// ---- check --------------------------------------------------------------------------------------

TEST_F(Inspect, CheckOfAGoodKernelIsOneLine) {
  const std::string kernel = write("copy.yaml", kCopy);
  const ProcessResult result = rngdsim({"check", kernel});
  EXPECT_EQ(result.status, 0);
  // 16 reads of 32 B after 263 cycles of overhead.
  EXPECT_EQ(result.out,
            kernel +
                ": ok, 1 command, at least 279 cycles (longest: command 0, 279 by fetch "
                "reads)\n");
  EXPECT_EQ(result.err, "");
}

TEST_F(Inspect, CheckPrintsEveryErrorWithItsPlace) {
  const std::string kernel = write("broken.yaml", R"(kernel: broken
axes: {N: 16, M: 16}
tensors:
  x: {memory: dm, dtype: bf17, slice: "1 # 256", element: "N, M"}
  y: {memory: dn, dtype: bf16, slice: "1 # 256", element: "N, M"}
program:
  - main:
      from: x
      stages:
        - fech: {time: "N", packet: "M"}
)");
  const ProcessResult result = rngdsim({"check", kernel});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr(kernel + ":4:26: error: "));
  EXPECT_THAT(result.out, HasSubstr(kernel + ":5:15: error: "));
  EXPECT_THAT(result.out, HasSubstr(kernel + ":10:11: error: "));
  EXPECT_THAT(result.out, HasSubstr("\n3 errors\n"));
}

TEST_F(Inspect, CheckAppliesTheRulesToWhatIsLeftOfAFaultyFile) {
  // One fault of the form, in a command that would write z, and two of the hardware; the command
  // that reads z is not blamed for it.
  const std::string kernel = write("mixed.yaml", R"(kernel: mixed
axes: {N: 16, M: 16}
tensors:
  x: {memory: dm, dtype: bf16, slice: "1 # 256", element: "N, M"}
  y: {memory: dm, dtype: bf16, slice: "1 # 200", element: "N, M"}
program:
  - main:
      from: x
      stages:
        - fech: {time: "N", packet: "M"}
        - commit: {to: z, element: "N, M"}
  - main:
      from: z
      stages:
        - fetch: {time: "N", packet: "M"}
  - sub:
      from: x
      stages:
        - fetch: {time: "N", packet: "M % 3"}
)");
  const ProcessResult result = rngdsim({"check", kernel});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.out, HasSubstr(kernel + ":5:40: error: "));  // 200 slices
  EXPECT_THAT(result.out, HasSubstr(kernel + ":10:11: error: unknown stage 'fech'"));
  EXPECT_THAT(result.out, HasSubstr(kernel + ":19:41: error: "));  // 3 does not divide 16
  EXPECT_THAT(result.out, HasSubstr("\n3 errors\n"));
}

TEST_F(Inspect, CheckWarningsCountOnlyWithStrict) {
  // A packet of 8 B of the 32 B that are possible.
  std::string text = kCopy;
  text.replace(text.find("M: 16"), 5, "M: 4");
  const std::string kernel = write("narrow.yaml", text);
  const ProcessResult result = rngdsim({"check", kernel});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("warning: "));
  EXPECT_THAT(result.out, HasSubstr(": ok, 1 command"));
  EXPECT_EQ(rngdsim({"check", kernel, "--strict"}).status, 1);
}

TEST_F(Inspect, FilesThatCannotBeReadAreErrors) {
  for (const std::string& file : {path("missing.yaml"), directory_.string()}) {
    const ProcessResult result = rngdsim({"check", file});
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.out, HasSubstr(file));
    EXPECT_THAT(result.out, HasSubstr("error: "));
  }
  const std::string kernel = write("copy.yaml", kCopy);
  const ProcessResult result = rngdsim({"explain", kernel, "--topology", path("missing.yaml")});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("missing.yaml"));
}

TEST_F(Inspect, AnyBytesAreAnErrorAndNoCrash) {
  std::string noise;
  uint32_t state = 1;
  for (int i = 0; i < 4000; ++i) {
    state = state * 1664525 + 1013904223;
    noise += static_cast<char>(state >> 24);
  }
  for (const std::string& text : {std::string(), noise, std::string(100000, '['),
                                  std::string("\0\0\0", 3), std::string("kernel: \xff\xfe\n")}) {
    const ProcessResult result = rngdsim({"check", write("noise.yaml", text)});
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.signal, 0);
    EXPECT_NE(result.out, "");
  }
}

TEST_F(Inspect, ColourOnlyWhereAskedFor) {
  const std::string kernel = write("broken.yaml", "kernel: 1\n");
  EXPECT_THAT(rngdsim({"check", kernel}).out, Not(HasSubstr("\033")));
  EXPECT_THAT(rngdsim({"check", kernel, "--color", "always"}).out,
              HasSubstr("\033[1;31merror:\033[0m"));
  EXPECT_THAT(rngdsim({"check", kernel, "--color=never"}).out, Not(HasSubstr("\033")));
}

// ---- explain ------------------------------------------------------------------------------------

TEST_F(Inspect, ExplainShowsTheLoweredProgram) {
  const ProcessResult result = rngdsim({"explain", write("copy.yaml", kCopy)});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("copy  y[N] = x[N]    topology rngd\n"));
  EXPECT_THAT(result.out, HasSubstr("read 32 B, 1 a packet, 16 reads\n"));
  EXPECT_THAT(result.out, HasSubstr("trim 32 B, "));
  EXPECT_THAT(result.out, HasSubstr("279 cycles: 263 overhead and 16 (fetch reads)"));
}

TEST_F(Inspect, ExplainJsonHasTheSameNumbers) {
  const ProcessResult result = rngdsim({"explain", write("copy.yaml", kCopy), "--format", "json"});
  EXPECT_EQ(result.status, 0);
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["commands"][0]["fetch"]["reads"], 16);
  EXPECT_EQ(json["commands"][0]["commit"]["writes"], 16);
  EXPECT_EQ(json["bound"]["cycles"], 279);
}

TEST_F(Inspect, ExplainPutsDiagnosticsOnStderr) {
  const ProcessResult result = rngdsim({"explain", write("broken.yaml", "kernel: k\n")});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("error: "));
}

TEST_F(Inspect, SetChangesTheMachine) {
  const std::string kernel = write("copy.yaml", kCopy);
  const ProcessResult result = rngdsim({"explain", kernel, "--set", "machine.command_overhead=7",
                                        "--set", "main_fetch.max_read_bytes=16"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("7 overhead and 32 (fetch reads)"));
  EXPECT_THAT(result.out,
              HasSubstr("with machine.command_overhead=7, main_fetch.max_read_bytes=16"));
}

TEST_F(Inspect, SetOfSomethingUnknownNamesWhatIsNear) {
  const std::string kernel = write("copy.yaml", kCopy);
  struct Case {
    std::string set, message;
  };
  for (const Case& wrong :
       std::vector<Case>{{"main_fetsh.max_read_bytes=16", "did you mean 'main_fetch'?"},
                         {"main_fetch.max_read_byte=16", "did you mean 'max_read_bytes'?"},
                         {"machine.command_overheat=1", "did you mean 'command_overhead'?"},
                         {"main_fetch.max_read_bytes=lots", "must be a number, got a text"},
                         {"main_fetch.max_read_bytes=1000000", "1 to 32"},
                         {"nothing", "unit.parameter=value"}}) {
    for (const char* command : {"run", "explain"}) {
      const ProcessResult result = rngdsim({command, kernel, "--set", wrong.set});
      EXPECT_EQ(result.status, 2) << wrong.set;
      EXPECT_EQ(result.out, "");
      EXPECT_THAT(result.err, HasSubstr(wrong.message));
      EXPECT_THAT(result.err, HasSubstr(wrong.set));
    }
  }
}

// The running example of the page on the Transpose Engine: two matrices of 8 x 16, 16 flits in and
// out each, 16 + 1 x max(16, 16) + 16 cycles.
TEST_F(Inspect, ExplainsATransposition) {
  const std::string kernel = std::string(RNGDSIM_SOURCE_DIR) + "/configs/kernels/transpose.yaml";
  const ProcessResult text = rngdsim({"explain", kernel});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("  transpose    2 matrices of 8 x 16 -> 16 x 8, 16 flits in, 16 "
                                  "flits out, double buffered: 48 cycles\n"));
  EXPECT_THAT(text.out,
              HasSubstr("while the one before\n                            leaves: 16 + 1 x "
                        "max(16, 16) + 16\n"));
  EXPECT_THAT(text.out, HasSubstr("311 cycles: 263 overhead and 48 (transpose)"));
  const ProcessResult json = rngdsim({"explain", kernel, "--format", "json"});
  for (const char* entry :
       {"\"in_rows\": 8", "\"in_cols\": 16", "\"out_rows\": 16", "\"matrices\": 2",
        "\"in_flits\": 16", "\"double_buffered\": true", "\"cycles\": 48"}) {
    EXPECT_THAT(json.out, HasSubstr(entry));
  }
}

// 16 f4e2m1 are 8 B; what is looked up for 32 of them, of f8e4m3, fits a flit of 32 B.
TEST_F(Inspect, ExplainsATableLookup) {
  const std::string kernel =
      std::string(RNGDSIM_SOURCE_DIR) + "/configs/kernels/fetch_table_lookup.yaml";
  const ProcessResult text = rngdsim({"explain", kernel});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("read 16 B, 2 a packet, 64 reads\n"));
  EXPECT_THAT(text.out,
              HasSubstr("  lookup       f4e2m1 -> f8e4m3, a table of 256 entries of 2 B\n"));
  EXPECT_THAT(text.out, HasSubstr("the table is paired"));
}

// ---- map ----------------------------------------------------------------------------------------

TEST_F(Inspect, MapShowsCells) {
  // Worked value of docs/mapping.md: B / 64, B % 32, B / 32 % 2 at 67 is B = 97.
  const ProcessResult result =
      rngdsim({"map", "B / 64, B % 32, B / 32 % 2", "--axes", "B=512", "--limit", "512"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("512 positions"));
  EXPECT_THAT(result.out, HasSubstr("        67  B=97\n"));
}

TEST_F(Inspect, MapTakesAxesInOneListOrSeveral) {
  const ProcessResult one = rngdsim({"map", "R # 16 / 8, X", "--axes", "R=11,X=64"});
  EXPECT_EQ(one.status, 0);
  EXPECT_EQ(rngdsim({"map", "--axes", "R=11", "--axes", "X=64", "R # 16 / 8, X"}).out, one.out);
  EXPECT_THAT(one.out, HasSubstr("... 96 positions not shown"));  // 32 of 128 are
}

TEST_F(Inspect, MapErrorsPointIntoTheText) {
  struct Case {
    std::vector<std::string> arguments;
    std::string message;
  };
  for (const Case& wrong :
       std::vector<Case>{{{"map", "A / 3", "--axes", "A=8"}, "MAPPING:1:"},
                         {{"map", "A, Z", "--axes", "A=8"}, "MAPPING:1:4: error: "},
                         {{"map", "", "--axes", "A=8"}, "MAPPING:1:1: error: "},
                         {{"map", "A", "--axes", "A"}, "--axes:1:1: error: "},
                         {{"map", "A", "--axes", "A=0"}, "size 0"},
                         {{"map", "A", "--axes", "A=4,a=3"}, "--axes:1:5: error: "},
                         {{"map", "A", "--axes", "A=4,A=4"}, "given twice"},
                         {{"map", "A / 2, A % 4", "--axes", "A=8"}, "error: "},
                         {{"map", "A"}, "error: "}}) {
    const ProcessResult result = rngdsim(wrong.arguments);
    EXPECT_EQ(result.status, 2) << wrong.message;
    EXPECT_EQ(result.out, "") << wrong.message;
    EXPECT_THAT(result.err, HasSubstr(wrong.message));
  }
}

// ---- topology -----------------------------------------------------------------------------------

TEST_F(Inspect, TopologyDocumentsTheMachine) {
  const ProcessResult result = rngdsim({"topology"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  for (const char* word : {"topology rngd", "command_overhead", "263", "fetch_sequencer",
                           "max_read_bytes", "main_fetch.out", "fetch_adapter.in", "ports  "}) {
    EXPECT_THAT(result.out, HasSubstr(word));
  }
}

TEST_F(Inspect, ResolvedTopologyLoadsAgain) {
  const ProcessResult first = rngdsim({"topology", "--resolved"});
  EXPECT_EQ(first.status, 0);
  const std::string file = write("resolved.yaml", first.out);
  const ProcessResult second = rngdsim({"topology", file, "--resolved"});
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_EQ(second.out, first.out);
  const std::string kernel = write("copy.yaml", kCopy);
  EXPECT_EQ(rngdsim({"check", kernel, "--topology", file}).out, rngdsim({"check", kernel}).out);
}

TEST_F(Inspect, TopologyErrorsGoToStderr) {
  std::string text = read(shipped_topology());
  const size_t at = text.find("type: collect");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 13, "type: colect");
  const std::string file = write("broken.yaml", text);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"topology", file}, {"topology", file, "--resolved"}}) {
    const ProcessResult result = rngdsim(arguments);
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("did you mean 'collect'?"));
  }
}

TEST_F(Inspect, EveryShippedKernelChecksAndExplains) {
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(RNGDSIM_SOURCE_DIR "/configs/kernels")) {
    if (entry.path().extension() != ".yaml") continue;
    const bool rejected = entry.path().parent_path().filename() == "rejected";
    const ProcessResult check = rngdsim({"check", entry.path().string()});
    EXPECT_EQ(check.status, rejected ? 2 : 0) << check.out;
    const ProcessResult explain = rngdsim({"explain", entry.path().string()});
    EXPECT_EQ(explain.status, rejected ? 2 : 0) << explain.err;
    for (const std::string& line : lines_of(explain.out)) EXPECT_LE(line.size(), 100u) << line;
  }
}

}  // namespace
}  // namespace rngdsim
