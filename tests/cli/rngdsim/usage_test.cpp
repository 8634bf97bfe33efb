// SPDX-License-Identifier: Apache-2.0
// Help, version, wrong usage.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>

#include "support/version.h"
#include "tests/cli/rngdsim/process.h"

namespace rngdsim {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Usage : public CliTest {};

TEST_F(Usage, AloneItPrintsHelpAsAnError) {
  const ProcessResult result = rngdsim({});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("usage: rngdsim COMMAND"));
}

TEST_F(Usage, HelpDocumentsEveryCommandAndOption) {
  const ProcessResult result = rngdsim({"--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  for (const char* word : {"run KERNEL",
                           "why KERNEL",
                           "what-if KERNEL",
                           "diff A B",
                           "schedule FILE",
                           "--schedule FILE.json",
                           "--free COMMAND|UNIT",
                           "compare KERNEL...",
                           "--baseline NAME",
                           "--jobs N",
                           "--format text|json|csv|markdown",
                           "sweep KERNEL",
                           "--top N",
                           "--param NAME=VALUE",
                           "check KERNEL",
                           "explain KERNEL",
                           "map MAPPING",
                           "topology [FILE]",
                           "version",
                           "--topology FILE",
                           "--format text|json",
                           "--out DIR",
                           "--set UNIT.PARAMETER=VALUE",
                           "--timing-only",
                           "--seed N",
                           "--skew N",
                           "--perfetto FILE.json",
                           "--html FILE.html",
                           "--max-cycles N",
                           "--strict",
                           "--axes AXIS=SIZE,...",
                           "--limit N",
                           "--resolved",
                           "-q, --quiet",
                           "-v, --verbose",
                           "--log ",
                           "--color auto|always|never",
                           "--help",
                           "exit status"}) {
    EXPECT_THAT(result.out, HasSubstr(word));
  }
  for (const std::string& line : lines_of(result.out)) EXPECT_LE(line.size(), 100u) << line;
}

TEST_F(Usage, HelpOfACommandShowsItsOptions) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"run", "--help"}, {"run", "k.yaml", "-h"}, {"--help", "run"}}) {
    const ProcessResult result = rngdsim(arguments);
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.err, "");
    EXPECT_THAT(result.out, HasSubstr("--max-cycles"));
  }
  EXPECT_THAT(rngdsim({"map", "--help"}).out, Not(HasSubstr("--max-cycles")));
}

TEST_F(Usage, Version) {
  const ProcessResult result = rngdsim({"version"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "rngdsim " + std::string(kVersion) + "\n");
  EXPECT_EQ(result.err, "");
}

TEST_F(Usage, WrongArgumentsAreErrorsWithAHint) {
  const std::string kernel = write("k.yaml", kCopy);
  struct Case {
    std::vector<std::string> arguments;
    std::string message;
  };
  const std::vector<Case> cases = {
      {{"rum", kernel}, "unknown command 'rum'\nhint: did you mean 'run'?"},
      {{"run"}, "KERNEL is required"},
      {{"run", kernel, "--topolgy", "x"},
       "unknown option '--topolgy'\nhint: did you mean '--topology'?"},
      {{"run", kernel, "another"}, "unexpected argument 'another'"},
      {{"run", kernel, "--format", "xml"}, "'xml' is none of text, json"},
      {{"run", kernel, "--format", "csv"}, "'csv' is none of text, json"},
      {{"run", kernel, "--seed", "-1"}, "got '-1'"},
      {{"run", kernel, "--seed", "1.5"}, "got '1.5'"},
      {{"run", kernel, "--seed", "18446744073709551616"}, "got '18446744073709551616'"},
      {{"run", kernel, "--max-cycles", "0"}, "at least 1, got '0'"},
      {{"run", kernel, "--topology"}, "--topology"},
      {{"run", kernel, "--color", "blue"}, "'blue' is none of auto, always, never"},
      {{"run", kernel, "--log", "loud"}, "'loud' is none of"},
      {{"check"}, "KERNEL is required"},
      {{"map"}, "MAPPING is required"},
      {{"map", "A", "--axes", "A=4", "--limit", "0"}, "at least 1"},
  };
  for (const Case& wrong : cases) {
    const ProcessResult result = rngdsim(wrong.arguments);
    EXPECT_EQ(result.status, 2) << wrong.message;
    EXPECT_EQ(result.out, "") << wrong.message;
    EXPECT_THAT(result.err, HasSubstr(wrong.message));
    EXPECT_EQ(result.err.rfind("error: ", 0), 0u) << result.err;
    EXPECT_THAT(result.err, HasSubstr("--help"));
  }
}

TEST_F(Usage, CommonOptionsStandBeforeOrBehindTheCommand) {
  const std::string kernel = write("k.yaml", kCopy);
  EXPECT_EQ(rngdsim({"-q", "check", kernel}).status, 0);
  EXPECT_EQ(rngdsim({"check", kernel, "-q"}).status, 0);
  const ProcessResult verbose = rngdsim({"check", "-v", kernel});
  EXPECT_EQ(verbose.status, 0);
  EXPECT_THAT(verbose.err, HasSubstr("rngdsim: info: kernel " + kernel));
  EXPECT_THAT(rngdsim({"check", "--log", "info", kernel}).err, HasSubstr("rngdsim: info:"));
  EXPECT_EQ(rngdsim({"check", kernel}).err, "");
}

TEST_F(Usage, AFullDiskIsToldAndNoCrash) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  ProcessOptions options;
  options.stdout_path = "/dev/full";
  const ProcessResult result = rngdsim({"topology"}, options);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("cannot write to stdout"));
}

// The script as bash runs it: commands first, then their options and the common ones, else files.
TEST_F(Usage, TheCompletionCompletes) {
  const ProcessResult script = rngdsim({"completion"});
  EXPECT_EQ(script.status, 0);
  write("completion.bash", script.out);
  write("words.bash", R"(source completion.bash
complete_words() {
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  _rngdsim
  echo "${COMPREPLY[*]}"
}
complete_words rngdsim wh
complete_words rngdsim run k.yaml --sk
complete_words rngdsim -q what-if k.yaml --fr
complete_words rngdsim why k.yaml --quie
complete_words rngdsim run words.ba
)");
  const std::string command =
      fmt::format("cd {} && bash {} >out.txt 2>&1", directory_.string(), "words.bash");
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(read(path("out.txt")), "why what-if\n--skew\n--free\n--quiet\nwords.bash\n");
}

TEST_F(Usage, TheManualPageHasEveryCommand) {
  const ProcessResult page = rngdsim({"man"});
  EXPECT_EQ(page.status, 0);
  EXPECT_THAT(page.out, testing::StartsWith(".TH RNGDSIM 1"));
  for (const char* text : {".SS rngdsim run KERNEL", ".SS rngdsim what\\-if KERNEL",
                           ".B \\-\\-free COMMAND|UNIT", ".SH EXIT STATUS"}) {
    EXPECT_THAT(page.out, HasSubstr(text));
  }
}

}  // namespace
}  // namespace rngdsim
