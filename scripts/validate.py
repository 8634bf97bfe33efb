#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares rngdsim with published schedules of the vendor's compiler and prints docs/validation.md.

  scripts/validate.py RNGDSIM > docs/validation.md

For each operation of tests/cli/validation/compiler_ops.csv there is a kernel in configs/validation/ that
ends with it; for each kernel of compiler_timelines.csv there is one as a whole.
"""

import concurrent.futures
import csv
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIGURES = os.path.join(ROOT, "tests", "cli", "validation")
TOPOLOGIES = ("rngd-compiler", "rngd")
LAUNCH = 1003  # cycles of a schedule before the first DMA of a kernel
# A row's class, in words, and what the schedules book for it.
CLASSES = {
    "sub": ("load of TRF or VRF", "263 + B / 8"),
    "move": ("copy", "263 + 1 + F"),
    "contract": ("contraction", "263 + 2 + F"),
    "contractlut": ("lookup, contraction", "263 + max(2.5 Q, F + 2)"),
    "ve": ("vector chain", "263 + 18 + S"),
    "vet": ("vector chain, transpose", "263 + 17 + S"),
    "veinter": ("chain, inter-slice reduce", "263 + 18 + S + 9 (r - 1)"),
    "mainvrf": ("vector chain into VRF", "263 + 1"),
    "switch": ("switch broadcast", "263 + 1 + R F, R (T + 2) for one-flit packets"),
    "intert": ("inter-transpose", "263 + R F"),
}


def rows(name):
    with open(os.path.join(FIGURES, name), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def kernel_file(name):
    return os.path.join(ROOT, "configs", "validation", name + ".yaml")


def run(rngdsim, name, topology):
    """The report of a kernel as JSON."""
    done = subprocess.run(
        [rngdsim, "run", kernel_file(name), "-q", "--timing-only", "--format", "json", "--topology",
         os.path.join(ROOT, "configs", "topologies", topology + ".yaml")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"validate: error: {name} with {topology}: {done.stderr or done.stdout}")
    return json.loads(done.stdout)


def simulate(rngdsim):
    """{(name, topology): report} of all operations that have a kernel, and of all whole kernels."""
    names = [row["id"] for row in rows("compiler_ops.csv") if os.path.exists(kernel_file(row["id"]))]
    names += sorted({row["kernel"] for row in rows("compiler_timelines.csv")})
    jobs = [(name, topology) for name in names for topology in TOPOLOGIES]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(jobs, pool.map(lambda job: run(rngdsim, *job), jobs)))


def is_tensor_unit(row):
    return row["context"].startswith(("Main", "Sub"))


def operations(reports, wanted):
    """[row, booked, {topology: cycles}] of the operations that `wanted` says and that have a kernel."""
    found = []
    for row in rows("compiler_ops.csv"):
        if not wanted(row) or (row["id"], TOPOLOGIES[0]) not in reports:
            continue
        cycles = {t: reports[row["id"], t]["commands"][-1]["cycles"] for t in TOPOLOGIES}
        found.append((row, int(row["cycles"]), cycles))
    return found


def is_close(booked, cycles):
    """Within 2 cycles."""
    return abs(cycles - booked) <= 2


def is_near(booked, cycles):
    """Within 1 % or 10 cycles."""
    return abs(cycles - booked) <= max(10, booked / 100)


def share(cycles, booked):
    return 100 * (cycles - booked) / booked


def table(headings, lines):
    text = "| " + " | ".join(headings) + " |\n"
    text += "|---" * len(headings) + "|\n"
    return text + "".join("| " + " | ".join(line) + " |\n" for line in lines)


def by_class(found):
    classes = {}
    for row, booked, cycles in found:
        classes.setdefault(row["formula_class"], []).append((row, booked, cycles))
    return classes


def tensor_unit_text(reports):
    found = operations(reports, is_tensor_unit)
    close = sum(is_close(booked, cycles["rngd-compiler"]) for _, booked, cycles in found)
    text = (f"{close} of {len(found)} operations are within 2 cycles, "
            f"{sum(is_near(b, c['rngd-compiler']) for _, b, c in found)} within 1 % or 10 cycles.\n\n")
    lines = []
    for name, members in by_class(found).items():
        errors = [cycles["rngd-compiler"] - booked for _, booked, cycles in members]
        plain = [cycles["rngd"] - booked for _, booked, cycles in members]
        lines.append([CLASSES[name][0], CLASSES[name][1], str(len(members)),
                      f"{sum(map(abs, errors)) / len(errors):.1f}", f"{max(errors, key=abs):+d}",
                      f"{sum(map(abs, plain)) / len(plain):.1f}", f"{max(plain, key=abs):+d}"])
    text += table(["class", "booked", "operations", "mean error", "worst", "mean, rngd", "worst, rngd"],
                  lines) + "\n"
    lines = [[row["id"], row["what"], f"{booked:,}", f"{cycles['rngd-compiler']:,}",
              f"{cycles['rngd-compiler'] - booked:+d}", f"{cycles['rngd']:,}",
              f"{cycles['rngd'] - booked:+d}"] for row, booked, cycles in found]
    return text + table(["", "operation", "booked", "rngd-compiler", "error", "rngd", "error"], lines)


def dma_text(reports):
    found = operations(reports, lambda row: row["context"] == "Dma")
    lines = [[row["id"], row["what"], row["formula_class"][4:], f"{booked:,}",
              f"{cycles['rngd-compiler']:,}", f"{share(cycles['rngd-compiler'], booked):+.1f} %",
              f"{cycles['rngd']:,}", f"{share(cycles['rngd'], booked):+.1f} %"]
             for row, booked, cycles in found]
    return table(["", "operation", "class", "booked", "rngd-compiler", "error", "rngd", "error"], lines)


def published():
    """{kernel: [(kind, begin, end)]}, without the synchronisation at the end, from the first DMA on."""
    kernels = {}
    for row in rows("compiler_timelines.csv"):
        if row["kind"] == "core":
            continue
        kernels.setdefault(row["kernel"], []).append(
            (row["kind"].split("_")[0], int(row["begin"]) - LAUNCH, int(row["end"]) - LAUNCH))
    return kernels


def simulated(report):
    return [(command["context"], command["begin"], command["end"]) for command in report["commands"]]


def kernels_text(reports):
    lines = []
    for name, commands in published().items():
        own = {t: simulated(reports[name, t]) for t in TOPOLOGIES}
        for i, (kind, begin, end) in enumerate(commands):
            line = [name if i == 0 else "", kind, f"{begin:,} to {end:,}"]
            for topology in TOPOLOGIES:
                _, own_begin, own_end = own[topology][i]
                line.append(f"{own_begin:,} to {own_end:,}")
            line.append(f"{share(own['rngd-compiler'][i][2], end):+.1f} %")
            lines.append(line)
    return table(["kernel", "command", "schedule", "rngd-compiler", "rngd", "error of the end"], lines)


def text_of(reports):
    with open(os.path.join(ROOT, "docs", "validation.in.md"), encoding="utf-8") as file:
        text = file.read()
    for mark, part in (("tensor unit", tensor_unit_text), ("dma", dma_text), ("kernels", kernels_text)):
        text = text.replace(f"<!-- {mark} -->\n", part(reports))
    return text


if __name__ == "__main__":
    sys.stdout.write(text_of(simulate(sys.argv[1])))
