#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/plot_sweep.py on what `rngdsim sweep` prints: plot_sweep_test.py RNGDSIM SOURCES."""

import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

RNGDSIM = SOURCES = ""
SVG = "{http://www.w3.org/2000/svg}"


def run(*arguments):
    return subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)


class PlotSweep(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.csv = os.path.join(cls.scratch.name, "sweep.csv")
        swept = run(RNGDSIM, "sweep", f"{SOURCES}/configs/kernels/gemm_sweep.yaml", "-q",
                    "--timing-only", "--format", "csv", "--top", "100")
        assert swept.returncode == 0, swept.stderr
        with open(cls.csv, "w", encoding="utf-8") as file:
            file.write(swept.stdout)
        cls.points = len(swept.stdout.splitlines()) - 1

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def plot(self, *options, picture="plot.svg", csv=None):
        path = os.path.join(self.scratch.name, picture)
        done = run("/usr/bin/python3", f"{SOURCES}/scripts/plot_sweep.py", csv or self.csv, path,
                   *options)
        return done, path

    def test_a_point_a_kernel(self):
        done, path = self.plot("--x", "BLOCK", "--colour", "LANES")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        root = xml.parse(path).getroot()
        plot = next(node for node in root.iter(f"{SVG}g") if node.get("id") == "axes_1")
        marks = [node for node in plot if node.get("id", "").startswith("PathCollection")]
        drawn = sum(len(list(group.iter(f"{SVG}use"))) for group in marks)
        self.assertGreater(self.points, 10)
        self.assertEqual(drawn, self.points)

    def test_the_same_file_gives_the_same_picture(self):
        pictures = []
        for name in ("one.svg", "two.svg"):
            with open(self.plot(picture=name)[1], "rb") as file:
                pictures.append(file.read())
        self.assertEqual(pictures[0], pictures[1])

    def test_what_is_wrong_is_told(self):
        for options, text in ((("--x", "TILE"), "no parameter 'TILE'; there are BLOCK"),
                              (("--y", "seconds"), "no column 'seconds'"),
                              (("--y", "name"), "column 'name' holds no numbers")):
            done, _ = self.plot(*options)
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stderr)
        done, _ = self.plot(csv="/nowhere.csv")
        self.assertIn("/nowhere.csv: cannot read", done.stderr)
        done, _ = self.plot(picture="plot.xyz")
        self.assertIn("cannot write", done.stderr)


if __name__ == "__main__":
    RNGDSIM, SOURCES = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
