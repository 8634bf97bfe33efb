// SPDX-License-Identifier: Apache-2.0
#include "config/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "config/stages.h"
#include "support/diagnostic.h"

namespace rngdsim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

KernelDecl parse_good_kernel(const std::string& text) {
  Diagnostics diagnostics;
  KernelDecl kernel = parse_kernel(text, "k.yaml", diagnostics);
  EXPECT_EQ(diagnostics.render(), "");
  return kernel;
}

std::string errors_of(const std::string& text) {
  Diagnostics diagnostics;
  parse_kernel(text, "k.yaml", diagnostics);
  EXPECT_TRUE(diagnostics.has_errors());
  return diagnostics.render();
}

// A kernel with one tensor, whose `init` is given.
std::string with_init(const std::string& init) {
  return R"(kernel: k
axes: {I: 8}
constants: {SEED: 7}
tensors:
  a: {memory: dm, dtype: i8, slice: "1 # 256", element: "I", init: )" +
         init + R"(}
program:
  - main: {from: a, stages: [{commit_trim: {packet: "I"}}]}
)";
}

InitSpec init_of(const std::string& init) {
  return parse_good_kernel(with_init(init)).tensors.at(0).init;
}

std::vector<std::string> values_of(const std::vector<Located<std::string>>& located) {
  std::vector<std::string> values;
  for (const auto& one : located) values.push_back(one.value);
  return values;
}

// A plain character stands for itself, so columns can be counted in the text below.
constexpr char kGemm[] = R"(kernel: gemm
description: C[I,J] = sum over K of A[I,K] B[J,K]
axes: {I: 512, J: "{COLS}", K: 64}
constants: {COLS: 512, WAIT: 10}
mappings: {Slice: "I / 32, J / 32"}
tensors:
  a: {memory: dm, dtype: bf16, chip: "1", cluster: "1 # 2", slice: "{Slice}", element: 'I % 32, K'}
  w:
    memory: trf
    dtype: i8
    slice: 1 # 256
    lane: J % 8
    element: K
    region: second_half
    logical: [J, K]
    init: zero
program:
  - sub:
      from: a
      label: load
      delay: "{WAIT}"
      stages:
        - fetch: {time: "J % 8, J / 8 % 4", packet: "K"}
        - collect
        - to_trf: {to: b_trf, lane: "J % 8", element: "J / 8 % 4, K", region: full}
  - main:
      stream: {dtype: f8e4m3, slice: "{Slice}", time: "I % 32", packet: "K", init: {iota: {}}}
      delay: 3
      stages:
        - collect: {}
        - collect:
        - contract_outer: {with: b_trf, time: "I % 32", packet: "K % 32"}
        - contract_packet: {packet: "1"}
        - contract_time: {time: "I % 32"}
        - contract_lane: {mode: interleaved, time: "I % 32", packet: "J % 8"}
        - contract_lane: {mode: sequential}
        - cast: {dtype: bf16, packet: "J % 8 # 16"}
        - commit_trim: {packet: "J % 8"}
        - commit_cast: {dtype: bf16, relu: true}
        - commit: {to: c_dm, element: "I % 32, J % 32"}
expect:
  c_dm: {sum_over: [K], product_of: [a, w]}
)";

// The comment after `slice: 1` would be an error.
std::string gemm() {
  std::string text = kGemm;
  const std::string unquoted = "slice: 1 # 256";
  text.replace(text.find(unquoted), unquoted.size(), "slice: \"1 # 256\"");
  return text;
}

TEST(Kernel, NamesAxesConstantsMappings) {
  const KernelDecl kernel = parse_good_kernel(gemm());
  EXPECT_EQ(kernel.file, "k.yaml");
  EXPECT_EQ(kernel.sha256.size(), 64U);
  EXPECT_EQ(kernel.name, "gemm");
  EXPECT_EQ(kernel.description, "C[I,J] = sum over K of A[I,K] B[J,K]");
  ASSERT_EQ(kernel.axes.size(), 3U);
  EXPECT_EQ(kernel.axes[0].name, "I");
  EXPECT_EQ(kernel.axes[0].size, 512U);
  EXPECT_EQ(to_string(kernel.axes[0].where), "k.yaml:3:8");
  EXPECT_EQ(kernel.axes[1].size, 512U) << "a constant, though it is declared later in the file";
  ASSERT_EQ(kernel.constants.size(), 2U);
  EXPECT_EQ(kernel.constants[1].name, "WAIT");
  EXPECT_EQ(kernel.constants[1].value, 10U);
  ASSERT_EQ(kernel.mappings.size(), 1U);
  EXPECT_EQ(kernel.mappings[0].name, "Slice");
  EXPECT_EQ(kernel.mappings[0].text.value, "I / 32, J / 32");
}

TEST(Kernel, Tensors) {
  const KernelDecl kernel = parse_good_kernel(gemm());
  ASSERT_EQ(kernel.tensors.size(), 2U);
  const TensorDecl& a = kernel.tensors[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(to_string(a.where), "k.yaml:7:3");
  EXPECT_EQ(a.memory, MemoryKind::kDm);
  EXPECT_EQ(a.dtype, DType::kBF16);
  EXPECT_EQ(a.chip->value, "1");
  EXPECT_EQ(a.cluster->value, "1 # 2");
  EXPECT_EQ(a.slice->value, "{Slice}") << "left for lowering to resolve";
  EXPECT_FALSE(a.lane.has_value());
  EXPECT_FALSE(a.address.has_value());
  EXPECT_FALSE(a.logical.has_value());
  EXPECT_EQ(a.init.kind, InitSpec::Kind::kNone);
  const TensorDecl& w = kernel.tensors[1];
  EXPECT_EQ(w.memory, MemoryKind::kTrf);
  EXPECT_EQ(w.dtype, DType::kI8);
  EXPECT_FALSE(w.chip.has_value());
  EXPECT_FALSE(w.cluster.has_value());
  EXPECT_EQ(w.lane->value, "J % 8");
  EXPECT_EQ(w.region->value, "second_half");
  EXPECT_THAT(values_of(*w.logical), ElementsAre("J", "K"));
  EXPECT_EQ(w.init.kind, InitSpec::Kind::kZero);
}

TEST(Kernel, AMappingIsWhereItsFirstCharacterIs) {
  const KernelDecl kernel = parse_good_kernel(gemm());
  EXPECT_EQ(to_string(kernel.tensors[0].chip->where), "k.yaml:7:39") << "inside double quotes";
  EXPECT_EQ(to_string(kernel.tensors[0].element->where), "k.yaml:7:89") << "inside single quotes";
  EXPECT_EQ(to_string(kernel.tensors[1].lane->where), "k.yaml:12:11") << "without quotes";
}

TEST(Kernel, Program) {
  const KernelDecl kernel = parse_good_kernel(gemm());
  ASSERT_EQ(kernel.program.size(), 2U);
  const CommandDecl& sub = kernel.program[0];
  EXPECT_EQ(sub.context, CommandDecl::Context::kSub);
  EXPECT_EQ(to_string(sub.where), "k.yaml:18:5");
  EXPECT_EQ(sub.from->value, "a");
  EXPECT_FALSE(sub.stream.has_value());
  EXPECT_EQ(sub.label, "load");
  EXPECT_EQ(sub.delay, 10U);
  ASSERT_EQ(sub.stages.size(), 3U);
  EXPECT_EQ(sub.stages[0].name, "fetch");
  EXPECT_EQ(to_string(sub.stages[0].where), "k.yaml:23:11");
  EXPECT_EQ(sub.stages[0].time->value, "J % 8, J / 8 % 4");
  EXPECT_EQ(sub.stages[0].packet->value, "K");
  EXPECT_EQ(sub.stages[1].name, "collect");
  EXPECT_EQ(to_string(sub.stages[1].where), "k.yaml:24:11");
  EXPECT_FALSE(sub.stages[1].time.has_value());
  EXPECT_EQ(sub.stages[2].to->value, "b_trf");
  EXPECT_EQ(sub.stages[2].lane->value, "J % 8");
  EXPECT_EQ(sub.stages[2].element->value, "J / 8 % 4, K");
  EXPECT_EQ(sub.stages[2].region->value, "full");

  const CommandDecl& main = kernel.program[1];
  EXPECT_EQ(main.context, CommandDecl::Context::kMain);
  EXPECT_FALSE(main.from.has_value());
  EXPECT_EQ(main.stream->dtype, DType::kF8E4M3);
  EXPECT_EQ(main.stream->time->value, "I % 32");
  EXPECT_EQ(main.stream->init.kind, InitSpec::Kind::kIota);
  EXPECT_EQ(main.delay, 3U);
  EXPECT_FALSE(main.label.has_value());
  ASSERT_EQ(main.stages.size(), 11U);
  EXPECT_EQ(main.stages[0].name, "collect") << "with an empty map";
  EXPECT_EQ(main.stages[1].name, "collect") << "with nothing";
  EXPECT_EQ(main.stages[2].with->value, "b_trf");
  EXPECT_EQ(main.stages[5].mode->value, "interleaved");
  EXPECT_EQ(main.stages[6].mode->value, "sequential");
  EXPECT_EQ(main.stages[7].dtype->value, DType::kBF16);
  EXPECT_EQ(main.stages[7].packet->value, "J % 8 # 16");
  EXPECT_TRUE(main.stages[9].relu->value);
  EXPECT_EQ(main.stages[10].to->value, "c_dm");
}

std::string with_program(const std::string& program) {
  return "kernel: k\naxes: {I: 8}\nconstants: {N: 3}\nprogram:\n" + program;
}

TEST(Kernel, RepeatIsItsBodyOnceAValue) {
  const KernelDecl kernel = parse_good_kernel(with_program(R"(  - repeat:
      var: i
      count: "{N}"
      body:
        - main:
            view: {of: a, axis: "I / 2", start: "{i}"}
            label: tile {i} of {N}
            stages: [{fetch: {time: "1", packet: "I % 2"}}]
        - repeat:
            var: j
            count: 2
            body:
              - sub:
                  view: [{of: b, axis: "I / 4", start: "{i}", length: "{N}"}, {axis: "I % 4", start: "{j}"}]
                  stages: [{fetch: {time: "1", packet: "1"}}]
)"));
  ASSERT_EQ(kernel.program.size(), 9u);  // 3 x (1 + 2)
  const CommandDecl& fourth = kernel.program[3];
  EXPECT_EQ(fourth.context, CommandDecl::Context::kMain);
  EXPECT_EQ(fourth.from->value, "a");
  ASSERT_EQ(fourth.view.size(), 1u);
  EXPECT_EQ(fourth.view[0].axis.value, "I / 2");
  EXPECT_EQ(fourth.view[0].start.value, 1u);
  EXPECT_EQ(fourth.view[0].length.value, 1u);
  EXPECT_EQ(fourth.label, "tile 1 of {N}");
  EXPECT_EQ(fourth.variables, (std::vector<std::pair<std::string, uint64_t>>{{"i", 1}}));
  const CommandDecl& last = kernel.program[8];
  ASSERT_EQ(last.view.size(), 2u);
  EXPECT_EQ(last.view[0].start.value, 2u);
  EXPECT_EQ(last.view[0].length.value, 3u);
  EXPECT_EQ(last.view[1].start.value, 1u);
  EXPECT_EQ(last.variables, (std::vector<std::pair<std::string, uint64_t>>{{"i", 2}, {"j", 1}}));
  EXPECT_EQ(last.where.line, kernel.program[7].where.line);
}

TEST(Kernel, ARepeatThatIsTooLongIsOneError) {
  const std::string body = "{main: {from: a, stages: [{fetch: {time: \"1\", packet: \"I\"}}]}}";
  const auto nested = [&](int outer) {
    return with_program("  - repeat: {var: i, count: " + std::to_string(outer) +
                        ", body: [{repeat: {var: j, count: 64, body: [" + body + "]}}]}\n");
  };
  EXPECT_EQ(parse_good_kernel(nested(64)).program.size(), 4096u);
  EXPECT_THAT(errors_of(nested(65)),
              AllOf(HasSubstr("the program has more than 4,096 commands"), HasSubstr("1 error")));
}

TEST(Kernel, WhatIsWrongInEveryRoundIsSaidOnce) {
  EXPECT_THAT(errors_of(with_program("  - repeat: {var: i, count: 5, body: [{main: {}}]}\n")),
              HasSubstr("2 errors"));  // no source, no stages
}

TEST(Kernel, ACommitIntoAViewNeedsNoElement) {
  const KernelDecl kernel = parse_good_kernel(with_program(
      "  - main: {from: a, stages: [{commit: {to: c, view: {axis: \"I / 2\", start: 3, length: "
      "1}}}]}\n"));
  const StageDecl& commit = kernel.program.at(0).stages.at(0);
  ASSERT_EQ(commit.view.size(), 1u);
  EXPECT_EQ(commit.view[0].start.value, 3u);
  EXPECT_FALSE(commit.element);
}

TEST(Kernel, ZeroPointsHaveASign) {
  const auto zero_point = [](const std::string& text) {
    return with_program("  - main: {from: a, stages: [{fetch_zero_point_sub: {zero_point: " + text +
                        "}}]}\n");
  };
  const auto value = [&](const std::string& text) {
    return parse_good_kernel(zero_point(text)).program.at(0).stages.at(0).zero_point->value;
  };
  EXPECT_EQ(value("-8"), -8);
  EXPECT_EQ(value("7"), 7);
  EXPECT_EQ(value("\"{N}\""), 3);
  EXPECT_EQ(value("-1000000"), -1000000);
  EXPECT_THAT(errors_of(zero_point("-1000001")), HasSubstr("must be at least -1000000"));
  EXPECT_THAT(errors_of(zero_point("1000001")), HasSubstr("must be at most 1,000,000"));
  EXPECT_THAT(errors_of(zero_point("-1.5")), HasSubstr("a whole number"));
  EXPECT_THAT(errors_of(zero_point("\"-8\"")), HasSubstr("a whole number"));
}

TEST(Kernel, Expect) {
  const KernelDecl kernel = parse_good_kernel(gemm());
  ASSERT_EQ(kernel.expect.size(), 1U);
  EXPECT_EQ(kernel.expect[0].tensor.value, "c_dm");
  EXPECT_THAT(values_of(kernel.expect[0].sum_over), ElementsAre("K"));
  EXPECT_THAT(values_of(kernel.expect[0].product_of), ElementsAre("a", "w"));
}

TEST(Kernel, EveryInitForm) {
  EXPECT_EQ(init_of("zero").kind, InitSpec::Kind::kZero);
  EXPECT_EQ(init_of("{constant: -1.5e1}").kind, InitSpec::Kind::kConstant);
  EXPECT_EQ(init_of("{constant: -1.5e1}").constant, -15.0);
  EXPECT_EQ(init_of("{iota: {start: -4, step: 0.5}}").start, -4.0);
  EXPECT_EQ(init_of("{iota: {start: -4, step: 0.5}}").step, 0.5);
  EXPECT_EQ(init_of("{iota: {}}").step, 1.0);
  EXPECT_EQ(init_of("{random: {seed: 18446744073709551615}}").seed, UINT64_MAX);
  EXPECT_EQ(init_of("{random: {seed: \"{SEED}\", low: -2, high: -2}}").seed, 7U);
  EXPECT_EQ(init_of("{random: {seed: 1, low: -2, high: -2}}").low, -2.0);
  EXPECT_EQ(init_of("{random: {seed: 1}}").high, 1.0);
  EXPECT_THAT(init_of("{values: [1, -2, 0.25, +3, \"{SEED}\"]}").values,
              ElementsAre(1, -2, 0.25, 3, 7));
  EXPECT_EQ(init_of("{npy: data/a.npy}").kind, InitSpec::Kind::kNpy);
  EXPECT_EQ(init_of("{npy: data/a.npy}").file, "data/a.npy");
  EXPECT_EQ(to_string(init_of("zero").where), "k.yaml:5:68");
}

TEST(Kernel, AddressesMayBeHexadecimal) {
  const KernelDecl kernel = parse_good_kernel(R"(
kernel: k
axes: {I: 8}
tensors: {a: {memory: dm, dtype: i8, slice: "1 # 256", element: "I", address: 0x80}}
program: [{main: {from: a, stages: [collect]}}]
)");
  EXPECT_EQ(kernel.tensors.at(0).address->value, 128U);
}

// The unquoted text is valid YAML and would be read as "1".
TEST(Kernel, AMappingThatACommentCutsIsAnError) {
  EXPECT_THAT(errors_of(kGemm),
              HasSubstr("k.yaml:11:12: error: 'slice' of tensor 'w' is cut to '1'"));
}

TEST(Kernel, WindowsLineEndsAndAByteOrderMarkDoNotMatter) {
  std::string text = "\xef\xbb\xbf";
  for (const char c : gemm()) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  const KernelDecl kernel = parse_good_kernel(text);
  EXPECT_EQ(kernel.name, "gemm");
  EXPECT_EQ(kernel.tensors.at(1).lane->value, "J % 8");
  EXPECT_EQ(to_string(kernel.axes.at(0).where), "k.yaml:3:8");
}

TEST(Kernel, AFileThatIsNoText) {
  EXPECT_THAT(errors_of(std::string("k\0e\0", 4)),
              HasSubstr("k.yaml:1:2: error: control character 0x00: not a UTF-8 text file"));
  EXPECT_THAT(errors_of("kernel: \"a\x1b[31m\"\n"), HasSubstr("k.yaml:1:11: error: control"));
  errors_of("\xff\xfe\xff");
  errors_of("");
}

TEST(Kernel, NestingIsBounded) {
  std::string list(31, '[');
  EXPECT_THAT(errors_of("kernel: " + list + std::string(31, ']') + "\n"),
              HasSubstr("'kernel' must be a text, got a list"));
  EXPECT_THAT(errors_of("kernel: [" + list + std::string(32, ']') + "\n"),
              HasSubstr("k.yaml:1:40: error: nested deeper than 32 levels"));
  EXPECT_THAT(errors_of(std::string(1'000'000, '[')), HasSubstr("nested deeper than 32 levels"));
  std::string block;
  for (int i = 0; i < 1000; ++i) block += std::string(i, ' ') + "a:\n";
  EXPECT_THAT(errors_of(block), HasSubstr("k.yaml:33:33: error: nested deeper than 32 levels"));
}

TEST(Kernel, SizeIsBounded) {
  const std::string comment = "#" + std::string(99, 'x') + "\n";
  std::string text = gemm();
  while (text.size() + comment.size() <= 4 << 20) text += comment;
  parse_good_kernel(text);
  text += comment;
  EXPECT_THAT(errors_of(text), HasSubstr("k.yaml: error: the file has 4,1"));
  std::string values = "axes: [";
  for (int i = 0; i < 250'000; ++i) values += "1,";
  EXPECT_THAT(errors_of(values + "1]\n"), HasSubstr("more than 250,000 values in one file"));
}

TEST(Kernel, ErrorsAreBounded) {
  std::string values = "{values: [";
  for (int i = 0; i < 5000; ++i) values += "x, ";
  const std::string errors = errors_of(with_init(values + "x]}"));
  EXPECT_THAT(errors, HasSubstr("more than 1,000 errors; the rest is not shown"));
  EXPECT_THAT(errors, HasSubstr("\nmore than 1,000 errors\n"));
}

TEST(Kernel, AllErrorsAreFoundAtOnce) {
  std::string text = gemm();
  const auto spoil = [&](const std::string& good, const std::string& bad) {
    text.replace(text.find(good), good.size(), bad);
  };
  spoil("K: 64", "K: 0");
  spoil("dtype: bf16, chip", "dtype: b16, chip");
  spoil("relu: true", "relu: maybe");
  spoil("sum_over: [K]", "sum_over: [L]");
  EXPECT_THAT(errors_of(text), HasSubstr("\n4 errors\n"));
}

// Cutting or spoiling a good file anywhere must end in diagnostics or a result, never in a throw.
TEST(Kernel, NoPrefixThrows) {
  const std::string text = gemm();
  for (size_t n = 0; n < text.size(); ++n) {
    Diagnostics diagnostics;
    EXPECT_NO_THROW(parse_kernel(text.substr(0, n), "k.yaml", diagnostics)) << n;
  }
}

TEST(Kernel, NoSpoiltCharacterThrows) {
  const std::string text = gemm();
  const std::string characters("\n \"'{}[]:,#&*!|>-%@`?\t~0\\\xff");
  constexpr size_t kStep = 13;  // every 13th place, another set for each character
  for (size_t c = 0; c < characters.size(); ++c) {
    for (size_t at = c % kStep; at < text.size(); at += kStep) {
      std::string spoilt = text;
      spoilt[at] = characters[c];
      Diagnostics diagnostics;
      EXPECT_NO_THROW(parse_kernel(spoilt, "k.yaml", diagnostics)) << characters[c] << " at " << at;
    }
  }
}

TEST(LoadKernel, ReadsAFile) {
  const std::string path = testing::TempDir() + "rngdsim_load_kernel.yaml";
  std::ofstream(path) << gemm();
  Diagnostics diagnostics;
  const KernelDecl kernel = load_kernel(path, diagnostics);
  std::remove(path.c_str());
  EXPECT_EQ(diagnostics.render(), "");
  EXPECT_EQ(kernel.file, path);
  EXPECT_EQ(kernel.name, "gemm");
  EXPECT_EQ(kernel.sha256, parse_good_kernel(gemm()).sha256);
}

TEST(LoadKernel, WhatCannotBeReadIsAnError) {
  Diagnostics missing;
  load_kernel("/no/such/kernel.yaml", missing);
  EXPECT_EQ(missing.render(),
            "/no/such/kernel.yaml: error: cannot read the file: No such file or directory\n"
            "1 error\n");
  Diagnostics folder;
  load_kernel(testing::TempDir(), folder);
  EXPECT_THAT(folder.render(), HasSubstr("cannot read the file"));
  if (std::filesystem::exists("/dev/zero")) {
    Diagnostics endless;
    load_kernel("/dev/zero", endless);
    EXPECT_THAT(endless.render(), HasSubstr("the file has more than 4,194,304 bytes"));
  }
}

// The page that carries kernels of the virtual ISA over names each stage.
TEST(StageRules, EachIsDocumented) {
  std::ifstream file(std::string(RNGDSIM_SOURCE_DIR) + "/docs/virtual-isa.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const StageRule& rule : stage_rules()) {
    EXPECT_NE(text.str().find("`" + rule.name), std::string::npos) << rule.name;
  }
}

}  // namespace
}  // namespace rngdsim
