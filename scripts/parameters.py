#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of all parameters in docs/fidelity.md, from the tags and notes of the shipped topologies.

  scripts/parameters.py RNGDSIM          writes it anew
"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "fidelity.md")
BEGIN, END = "<!-- parameters: begin -->\n", "<!-- parameters: end -->\n"


def resolved(rngdsim, topology):
    """{"unit.parameter": (value, tag, note)} of a topology with all its defaults."""
    text = subprocess.run(
        [rngdsim, "topology", os.path.join(ROOT, "configs", "topologies", topology + ".yaml"),
         "--resolved"], stdout=subprocess.PIPE, check=True, text=True).stdout
    found, owner = {}, None
    for line in text.splitlines():
        if line.startswith("connections:"):
            break
        if re.match(r"machine:", line):
            owner = "machine"
        elif re.match(r"  \w+:$", line):
            owner = line.strip()[:-1]
        value = re.match(r" +(\w+): \{value: (\[[^\]]*\]|[^,}]+), source: (\w)(?:, note: (.*))?\}$",
                         line)
        if value and owner:
            found[f"{owner}.{value[1]}"] = (value[2], value[3], (value[4] or "").strip('"'))
    return found


def table(rngdsim):
    documented, compiler = (resolved(rngdsim, name) for name in ("rngd", "rngd-compiler"))
    text = "| parameter | rngd | | rngd-compiler | | |\n|---|---|---|---|---|---|\n"
    for name, (value, tag, note) in documented.items():
        # Engines differ in their number alone.
        if re.match(r"dma_[1-9]\.", name):
            continue
        other, other_tag, other_note = compiler[name]
        same = (other, other_tag) == (value, tag)
        notes = note if same or not other_note or other_note == note else f"{note}; {other_note}"
        notes = notes.strip("; ")
        text += (f"| `{name}` | {value} | {tag} | {'' if same else other} | "
                 f"{'' if same else other_tag} | {notes} |\n")
    return text


def page(rngdsim):
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(BEGIN)
    return before + BEGIN + table(rngdsim) + END + rest.split(END)[1]


if __name__ == "__main__":
    new = page(sys.argv[1])
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(new)
