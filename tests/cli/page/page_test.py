#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the page of a run (`rngdsim run --html`) in Chromium without a window and uses it.

  page_test.py RNGDSIM CONFIGS           runs the tests
  page_test.py --pictures DIR RNGDSIM CONFIGS   photographs pages in both colour schemes instead
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

RNGDSIM = CONFIGS = ""
STATES = ("busy", "starved", "blocked", "conflict")


def browser(scheme="light"):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage",
                     "--window-size=1400,1000", "--force-device-scale-factor=1"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    set_scheme(driver, scheme)
    return driver


def set_scheme(driver, scheme):
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                           {"features": [{"name": "prefers-color-scheme", "value": scheme}]})


def simulate(directory, kernel, *options):
    """The page of a kernel, and what the run itself reports as JSON."""
    page = os.path.join(directory, kernel.replace("/", "_") + ".html")
    run = subprocess.run([RNGDSIM, "run", f"{CONFIGS}/kernels/{kernel}.yaml", "-q", "--format",
                          "json", "--html", page, *options],
                         stdout=subprocess.PIPE, check=False, text=True)
    return page, json.loads(run.stdout)


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.driver = browser()

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        cls.scratch.cleanup()

    def open(self, kernel, *options):
        page, report = simulate(self.scratch.name, kernel, *options)
        self.driver.get("file://" + page)
        return report

    def script(self, text):
        return self.driver.execute_script("return " + text)

    def settle(self):
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))")

    def element(self, name):
        return self.driver.find_element(By.ID, name)

    def text(self, name):
        return self.element(name).get_attribute("textContent")

    def window(self):
        timeline = self.element("timeline")
        return (float(timeline.get_attribute("data-from")), float(timeline.get_attribute("data-to")))

    def selected(self):
        return self.element("timeline").get_attribute("data-selected")

    def press(self, *keys):
        timeline = self.element("timeline")
        for key in keys:
            timeline.send_keys(key)
        self.settle()

    def click(self, cycle, y):
        """On the timeline, at a cycle and a height; the gutters are 160 and 150 pixels wide."""
        canvas = self.driver.find_element(By.CSS_SELECTOR, "#timeline canvas")
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
        begin, end = self.window()
        size = canvas.rect["width"]
        x = 160 + (size - 310) * (cycle - begin) / (end - begin)
        ActionChains(self.driver).move_to_element_with_offset(
            canvas, round(x - size / 2), round(y - canvas.rect["height"] / 2)).click().perform()
        self.settle()

    def table(self, name):
        return self.script(
            f"[...document.querySelectorAll('#{name} tbody tr')].map(row => "
            "[...row.cells].map(cell => cell.textContent))")

    def no_complaints(self):
        self.assertEqual([entry["message"] for entry in self.driver.get_log("browser")], [])

    def no_requests(self):
        """The network is asked for nothing but the page itself."""
        asked = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked.append(message["params"]["request"]["url"])
        self.assertEqual([url for url in asked if not url.startswith(("file:", "data:"))], [])

    # ---- numbers -------------------------------------------------------------------------------

    def test_numbers_are_those_of_the_report(self):
        report = self.open("gemm")
        self.assertEqual(self.text("tile-cycles"), f"{report['cycles']:,}")
        self.assertEqual(self.text("tile-status"), "ok")
        self.assertEqual(self.text("tile-values"), "right")
        self.assertEqual(self.text("tile-MAC-utilization-of-the-chip"),
                         f"{100 * report['mac']['utilization']:.1f} %")
        rows = self.table("commands")
        self.assertEqual(len(rows), len(report["commands"]))
        for row, command in zip(rows, report["commands"]):
            self.assertEqual(row[:7], [str(command["index"]), command["context"], command["label"]] +
                             [f"{command[key]:,}" for key in ("begin", "end", "cycles", "bound")])
        units = {unit["name"]: unit for unit in report["units"]}
        stalls = self.table("stalls")
        self.assertEqual({row[0] for row in stalls},
                         {name for name, unit in units.items() if unit["idle"] < report["cycles"]})
        for row in stalls:
            self.assertEqual(row[1:6],
                             [f"{units[row[0]][state]:,}" for state in STATES + ("idle",)])
        for row in self.table("memory"):
            self.assertEqual(row[1], f"{report['bandwidth'][row[0].replace(' ', '_')]['bytes']:,}")
        why = json.loads(subprocess.run(
            [RNGDSIM, "why", f"{CONFIGS}/kernels/gemm.yaml", "-q", "--format", "json"],
            stdout=subprocess.PIPE, check=True, text=True).stdout)
        for row, told in zip(self.table("went"), why["commands"]):
            went = told["went"]
            waits = sum(went["waits"].values())
            self.assertEqual(row[2:7], [f"{number:,}" for number in (
                told["cycles"], went["overhead"], went["work"], waits, went["fill"])])
            self.assertEqual(went["overhead"] + went["work"] + waits + went["fill"], told["cycles"])
        self.assertEqual(len(self.table("roofs")), len(why["roofline"]["memories"]))
        self.no_complaints()
        self.no_requests()

    def test_activity_adds_up_to_the_report(self):
        # More cycles than stretches: some hold several.
        for kernel in ("gemm", "decoder_attention"):
            report = self.open(kernel)
            activity = self.script("JSON.parse(document.getElementById('data').textContent).activity")
            sums = {unit["name"]: {state: sum(count * number for count, number in unit[state])
                                   for state in STATES} for unit in activity["units"]}
            for unit in report["units"]:
                self.assertEqual(sums[unit["name"]], {state: unit[state] for state in STATES})
            total = {key: sum(count * number for count, number in activity[key])
                     for key in activity if key not in ("width", "units")}
            self.assertAlmostEqual(total["macs"], report["mac"]["useful"], delta=1)
            for memory in ("dm_read", "dm_write", "hbm_read", "hbm_write"):
                self.assertEqual(total[memory], report["bandwidth"][memory]["bytes"], memory)
            self.no_complaints()

    def test_sentences_are_those_of_the_text_report(self):
        self.open("gemm")
        text = subprocess.run([RNGDSIM, "run", f"{CONFIGS}/kernels/gemm.yaml", "-q"],
                              stdout=subprocess.PIPE, check=True, text=True).stdout
        flat = " ".join(text.split())
        lines = self.script("[...document.querySelectorAll('#lead p')].map(p => p.textContent.trim())")
        self.assertEqual(len(lines), 3)
        for line in lines[1:]:
            self.assertIn(" ".join(line.split()), flat)
        self.assertIn("values right", lines[0])

    # ---- what the page answers to ---------------------------------------------------------------

    def test_zoom_by_keys_and_buttons(self):
        cycles = self.open("gemm")["cycles"]
        self.assertEqual(self.window(), (0, cycles))
        self.press("+")
        self.assertEqual(self.window(), (cycles / 4, cycles * 3 / 4))
        self.press(Keys.ARROW_RIGHT)
        self.assertAlmostEqual(self.window()[0], cycles * (1 / 4 + 0.1))
        self.press(Keys.ARROW_LEFT, "-")
        self.assertEqual(self.window(), (0, cycles))
        self.press("-")  # never more than all
        self.assertEqual(self.window(), (0, cycles))
        self.element("zoom-in").click()
        self.settle()
        self.assertEqual(self.window(), (cycles / 4, cycles * 3 / 4))
        self.element("zoom-all").click()
        self.settle()
        self.assertEqual(self.window(), (0, cycles))
        self.press(*["+"] * 20)
        self.assertEqual(self.window()[1] - self.window()[0], 8)
        self.press("0")
        self.assertEqual(self.window(), (0, cycles))
        self.no_complaints()

    def test_zoom_changes_the_picture(self):
        self.open("gemm")
        picture = "document.querySelector('#timeline canvas').toDataURL()"
        whole = self.script(picture)
        self.press("+")
        self.assertNotEqual(self.script(picture), whole)
        self.press("0")
        self.assertEqual(self.script(picture), whole)
        self.press("c")  # without the critical path
        self.assertNotEqual(self.script(picture), whole)
        self.assertEqual(self.element("show-path").get_attribute("aria-pressed"), "false")

    def test_drag_and_wheel(self):
        cycles = self.open("gemm")["cycles"]
        canvas = self.driver.find_element(By.CSS_SELECTOR, "#timeline canvas")
        self.driver.execute_script(
            "const c = arguments[0]; c.dispatchEvent(new WheelEvent('wheel', {deltaY: -500, "
            "ctrlKey: true, cancelable: true, bubbles: true}))", canvas)
        self.settle()
        begin, end = self.window()
        self.assertAlmostEqual(end - begin, cycles * 1.002 ** -500)
        self.press("0", "+")
        ActionChains(self.driver).move_to_element(canvas).click_and_hold().move_by_offset(
            -100, 0).release().perform()
        self.settle()
        self.assertAlmostEqual(self.window()[0] - cycles / 4,
                               100 * (cycles / 2) / (canvas.rect["width"] - 310), places=3)
        self.assertEqual(self.selected(), "")  # dragging selects nothing

    def test_selection(self):
        report = self.open("gemm")
        self.assertEqual(self.selected(), "")
        self.press(Keys.ARROW_DOWN)
        self.assertEqual(self.selected(), "0")
        self.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)  # there are two
        self.assertEqual(self.selected(), "1")
        command = report["commands"][1]
        self.assertIn(f"{command['begin']:,} to {command['end']:,}: {command['cycles']:,}",
                      self.text("selected"))
        self.press(Keys.ENTER)
        self.assertEqual(self.window(), (command["begin"], command["end"]))
        self.press(Keys.ESCAPE, "0")
        self.assertEqual(self.selected(), "")
        # Rows from the top: main, sub; each 26 high, 3 apart, below an axis of 24.
        self.click(command["begin"] + command["cycles"] / 2, 24 + 13)
        self.assertEqual(self.selected(), "1")
        self.click(report["commands"][0]["cycles"] / 2, 24 + 29 + 13)
        self.assertEqual(self.selected(), "0")
        self.click(report["commands"][0]["cycles"] / 2, 24 + 13)  # main does not run there
        self.assertEqual(self.selected(), "")
        self.driver.find_elements(By.CSS_SELECTOR, "#stalls button")[0].click()
        self.settle()
        name = self.element("timeline").get_attribute("data-unit")
        unit = next(unit for unit in report["units"] if unit["name"] == name)
        self.assertIn(f"{unit['busy']:,} cycles", self.text("selected"))
        self.no_complaints()

    # ---- other runs ------------------------------------------------------------------------------

    def test_valid_counts(self):
        self.open("reduce_hcw_1")
        explained = json.loads(subprocess.run(
            [RNGDSIM, "explain", f"{CONFIGS}/kernels/reduce_hcw_1.yaml", "-q", "--format", "json"],
            stdout=subprocess.PIPE, check=True, text=True).stdout)
        command = explained["commands"][0]
        heatmap = next(stage["vcg"]["heatmap"] for stage in command.values()
                       if isinstance(stage, dict) and "vcg" in stage)
        drawn = self.script(
            "JSON.parse(document.getElementById('data').textContent).commands[0].counts[0].heatmap")
        self.assertEqual([row["counts"] for row in drawn["rows"]],
                         [row["valid_size"] for row in heatmap["rows"]])
        pictures = self.driver.find_elements(By.CSS_SELECTOR, "#counts canvas")
        self.assertEqual(len(pictures), 1)
        self.assertTrue(self.element("counts-section").is_displayed())
        ActionChains(self.driver).move_to_element_with_offset(
            pictures[0], 0, 3 - pictures[0].rect["height"] // 2).perform()
        self.assertTrue(self.script("document.querySelector('#counts p').textContent").endswith(
            f"flit 0: {heatmap['rows'][0]['valid_size'][0]}"))
        self.no_complaints()

    def test_clusters_apart_have_no_path(self):
        self.open("gemm_mappings/two_clusters", "--skew", "100")
        self.assertFalse(self.element("show-path").is_displayed())
        self.assertFalse(self.element("went-section").is_displayed())
        self.no_complaints()

    def test_a_run_that_is_cut_short(self):
        self.open("gemm", "--max-cycles", "900")
        self.assertEqual(self.text("tile-status"), "max_cycles")
        self.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER)
        self.assertEqual(self.window()[1], 900)
        self.no_complaints()

    def test_both_colour_schemes_and_print(self):
        self.open("gemm")
        picture = "document.querySelector('#timeline canvas').toDataURL()"
        page = "getComputedStyle(document.body).backgroundColor"
        light, on_light = self.script(picture), self.script(page)
        set_scheme(self.driver, "dark")
        try:
            self.settle()
            self.assertNotEqual(self.script(page), on_light)
            self.assertNotEqual(self.script(picture), light)
            # On paper it is light, whatever the screen is.
            self.driver.execute_script("window.dispatchEvent(new Event('beforeprint'))")
            self.assertEqual(self.script(picture), light)
            self.assertEqual(self.script(page), on_light)
            self.driver.execute_script("window.dispatchEvent(new Event('afterprint'))")
            self.assertNotEqual(self.script(picture), light)
        finally:
            set_scheme(self.driver, "light")
        self.assertGreater(len(self.driver.print_page()), 10000)
        self.no_complaints()


def pictures(directory):
    with tempfile.TemporaryDirectory() as scratch:
        page, _ = simulate(scratch, "decoder_attention")
        for scheme in ("light", "dark"):
            driver = browser(scheme)
            driver.set_window_size(1400, 1250)
            driver.get("file://" + page)
            driver.execute_async_script("requestAnimationFrame(arguments[0])")
            driver.save_screenshot(os.path.join(directory, f"page_{scheme}.png"))
            driver.quit()


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[:1] == ["--pictures"]:
        RNGDSIM, CONFIGS = arguments[2:]
        pictures(arguments[1])
    else:
        RNGDSIM, CONFIGS = arguments[:2]
        unittest.main(argv=[sys.argv[0], *arguments[2:]])
