#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/validation.md promises: validation_test.py RNGDSIM SOURCES."""

import os
import sys
import unittest

RNGDSIM = SOURCES = ""


class Validation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, os.path.join(SOURCES, "scripts"))
        global validate  # pylint: disable=global-statement
        import validate  # pylint: disable=import-outside-toplevel
        cls.reports = validate.simulate(RNGDSIM)

    def tensor_unit(self):
        return [(row, booked, cycles["rngd-compiler"])
                for row, booked, cycles in validate.operations(self.reports, validate.is_tensor_unit)]

    def test_every_operation_of_the_tensor_unit_has_a_kernel(self):
        named = {row["id"] for row, _, _ in self.tensor_unit()}
        all_rows = {row["id"] for row in validate.rows("compiler_ops.csv")
                    if validate.is_tensor_unit(row)}
        self.assertEqual(all_rows - named, {"op047"})  # the expansion of a table

    def test_operations_are_within_two_cycles(self):
        rows = self.tensor_unit()
        far = [row["id"] for row, booked, cycles in rows if not validate.is_close(booked, cycles)]
        self.assertLessEqual(len(far), 0.05 * len(rows), far)

    def test_all_are_within_a_percent_or_ten_cycles(self):
        for row, booked, cycles in self.tensor_unit():
            self.assertTrue(validate.is_near(booked, cycles), f"{row['id']}: {booked} {cycles}")

    def test_whole_kernels_run_in_the_order_of_the_schedules(self):
        for name, commands in validate.published().items():
            own = validate.simulated(self.reports[name, "rngd-compiler"])
            self.assertEqual([kind for kind, _, _ in commands], [kind for kind, _, _ in own], name)
            for i, (_, begin, _) in enumerate(commands):
                # The same commands have ended before each of them begins, and none begins earlier.
                before = {j for j, (_, _, end) in enumerate(commands) if end <= begin}
                own_before = {j for j, (_, _, end) in enumerate(own) if end <= own[i][1]}
                self.assertEqual(before, own_before, f"{name}, command {i}")

    def dma(self, *classes):
        return [(row, booked, cycles["rngd-compiler"]) for row, booked, cycles in validate.operations(
            self.reports, lambda row: row["formula_class"] in classes)]

    def test_every_dma_has_a_kernel(self):
        named = {row["id"] for row, _, _ in validate.operations(
            self.reports, lambda row: row["context"] == "Dma")}
        self.assertEqual(named, {row["id"] for row in validate.rows("compiler_ops.csv")
                                 if row["context"] == "Dma"})

    def test_dma_that_the_parameters_describe_is_within_three_percent(self):
        rows = self.dma("dma_L1", "dma_S1", "dma_G1", "dma_SC1", "dma_stos", "dma_big")
        self.assertEqual(len(rows), 9)
        for row, booked, cycles in rows:
            self.assertLessEqual(abs(cycles - booked), 0.03 * booked, row["id"])

    def test_small_and_replicated_loads_are_within_a_quarter(self):
        rows = self.dma("dma_small", "dma_repl")
        self.assertEqual(len(rows), 6)
        for row, booked, cycles in rows:
            self.assertLessEqual(abs(cycles - booked), 0.25 * booked, row["id"])

    def test_every_parameter_is_in_the_table_of_fidelity(self):
        import parameters  # pylint: disable=import-outside-toplevel
        with open(parameters.PAGE, encoding="utf-8") as file:
            self.assertEqual(file.read(), parameters.page(RNGDSIM),
                             "scripts/parameters.py writes it anew")

    def test_the_page_is_what_the_program_gives(self):
        with open(os.path.join(SOURCES, "docs", "validation.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), validate.text_of(self.reports),
                             "scripts/validate writes it anew")


if __name__ == "__main__":
    RNGDSIM, SOURCES = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
