#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plots what `rngdsim sweep KERNEL --format csv` (or compare) printed: a point a kernel, by one of
the sweep's parameters, in a colour by another one.

  rngdsim sweep configs/kernels/gemm_sweep.yaml --format csv --top 100 > sweep.csv
  scripts/plot_sweep sweep.csv sweep.svg --x BLOCK --colour LANES
"""

import argparse
import csv
import sys

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "rngdsim"  # the same picture for the same file
from matplotlib import pyplot  # noqa: E402


def fail(message):
    sys.exit(f"plot_sweep: error: {message}")


def parameters_of(row):
    """{'BLOCK': '16', 'ORDER': 'K / 32, I % 32'} of "BLOCK=16; ORDER=K / 32, I % 32"."""
    return dict(part.split("=", 1) for part in row["parameters"].split("; ") if "=" in part)


def read(path):
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except OSError as problem:
        fail(f"{path}: cannot read: {problem.strerror}")
    if not rows:
        fail(f"{path}: no rows")
    for column in ("name", "cycles", "parameters"):
        if column not in rows[0]:
            fail(f"{path}: no column '{column}'; rngdsim sweep --format csv writes one")
    return rows


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def ordered(values):
    """Numbers by size, texts by the alphabet, each once."""
    return sorted(set(values), key=lambda value: (number(value) is None, number(value) or 0, value))


def main():
    options = argparse.ArgumentParser(
        description=__doc__.split("\n\n", maxsplit=1)[0],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("csv", help="what sweep or compare printed with --format csv")
    options.add_argument("picture", help="file to write: .svg, .png or .pdf")
    options.add_argument("--x", help="parameter across (default: the first of the sweep)")
    options.add_argument("--colour", help="parameter that gives the colour (default: none)")
    options.add_argument("--y", default="cycles", help="column up (default: cycles)")
    arguments = options.parse_args()

    rows = read(arguments.csv)
    if arguments.y not in rows[0]:
        fail(f"{arguments.csv}: no column '{arguments.y}'; there are {', '.join(rows[0])}")
    points = [(parameters_of(row), number(row[arguments.y])) for row in rows]
    if any(value is None for _, value in points):
        fail(f"{arguments.csv}: column '{arguments.y}' holds no numbers")
    names = list(points[0][0])
    for name in (arguments.x, arguments.colour):
        if name and name not in names:
            fail(f"{arguments.csv}: no parameter '{name}'; "
                 f"there are {', '.join(names) if names else 'none'}")
    across = arguments.x or (names[0] if names else None)

    figure, axes = pyplot.subplots(figsize=(9, 5))
    places = [parameters[across] if across else row["name"]
              for (parameters, _), row in zip(points, rows)]
    order = ordered(places)
    groups = ordered(parameters[arguments.colour] for parameters, _ in points) \
        if arguments.colour else [None]
    for group in groups:
        chosen = [i for i, (parameters, _) in enumerate(points)
                  if group is None or parameters[arguments.colour] == group]
        axes.scatter([order.index(places[i]) for i in chosen], [points[i][1] for i in chosen],
                     label=None if group is None else f"{arguments.colour} = {group}", alpha=0.75)
    best = min(range(len(points)), key=lambda i: points[i][1]) if arguments.y == "cycles" else None
    if best is not None:
        axes.annotate(f"{points[best][1]:,.0f}", (order.index(places[best]), points[best][1]),
                      textcoords="offset points", xytext=(6, -12))
    axes.set_xticks(range(len(order)), order, rotation=30 if max(map(len, order)) > 6 else 0)
    axes.set_xlabel(across or "kernel")
    axes.set_ylabel(arguments.y.replace("_", " "))
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:,g}"))
    axes.grid(axis="y", alpha=0.3)
    if arguments.colour:
        axes.legend()
    figure.tight_layout()
    try:
        figure.savefig(arguments.picture,
                       metadata={"Date": None} if arguments.picture.endswith(".svg") else None)
    except (OSError, ValueError) as problem:
        fail(f"{arguments.picture}: cannot write: {problem}")


if __name__ == "__main__":
    main()
