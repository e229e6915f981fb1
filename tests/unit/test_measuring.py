#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The report of app/measure, of recorded runs (measured.json) on a machine with other load, and the watch over a
machine."""
import copy
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import time
import unittest
from xml.etree import ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../../app"))
from measuring import charts, machine, page  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
with open(os.path.join(HERE, "measured.json"), encoding="utf-8") as file:
    RECORDED = json.load(file)


def dots(panel):
    """Colour and place of each dot of a panel."""
    return [(dot.get("class"), float(dot.get("cx")), float(dot.get("cy")))
            for dot in ElementTree.fromstring(f"<g>{''.join(panel.parts)}</g>").iter("circle")]


def calm():
    rows = copy.deepcopy(RECORDED)
    for row in rows:
        row |= {"steal": 0.0, "others": 0.0, "load": 1.0, "mhz": [2100, 2101]}
    return rows


class Figures(unittest.TestCase):
    def setUp(self):
        self.by_case = charts.cases(RECORDED)

    def test_rates_as_csit_defines_them(self):
        self.assertEqual(list(self.by_case), ["64", "1400"])
        full = [row["mpps"] for row in RECORDED if row["run"] == "full" and row["size"] == "64"]
        figures = charts.figures(self.by_case["64"])
        self.assertEqual(list(figures), ["MRR", "NDR", "PDR"])
        self.assertEqual(figures["MRR"], statistics.mean(full))
        for name, limit in (("NDR", 0), ("PDR", 0.005)):
            self.assertEqual([figures[name]], [row["mpps"] for row in RECORDED
                                               if row["size"] == "64" and row["limit"] == limit])
        self.assertAlmostEqual(charts.deviation(self.by_case["64"]), statistics.stdev(full) / statistics.mean(full))

    def test_another_loss_and_none_found(self):
        rows = [row | {"limit": 0.01} for row in RECORDED if row["limit"] != 0]
        self.assertEqual(list(charts.figures(charts.cases(rows)["64"])), ["MRR", "loss 0.01"])
        rows = [row for row in RECORDED if row["size"] != "64" or row["limit"] != 0]
        self.assertIn("none", page.page({"measured": "", "CPUs": 2}, rows))

    def test_kinds_of_packets(self):
        rows = [row | {"vxlan": "tunnel"} for row in RECORDED]
        self.assertEqual(list(charts.cases(RECORDED + rows)), ["64", "1400", "64 tunnel", "1400 tunnel"])


class Charts(unittest.TestCase):
    def setUp(self):
        self.by_case = charts.cases(RECORDED)

    def test_one_bar_for_each_figure(self):
        panel = charts.rates(self.by_case)
        bars = re.findall(r'height="([\d.]+)" class="c\d"', "".join(panel.parts))[3:]  # after the legend
        heights = [rate * charts.HEIGHT / panel.high for rows in self.by_case.values()
                   for rate in charts.figures(rows).values()]
        self.assertEqual(bars, [f"{height:.1f}" for height in heights])

    def test_one_dot_for_each_run(self):
        panel = charts.loss(self.by_case)
        found = dots(panel)
        self.assertEqual(len(found), len(RECORDED))
        lost, kept = RECORDED[0], next(row for row in RECORDED if row["loss"] == 0)
        for row in (lost, kept):
            place = (panel.x(math.log10(row["offered"] / row["seconds"])), panel.y(math.log10(max(row["loss"], 1e-6))))
            self.assertIn(("c0", *(round(part, 1) for part in place)), found)

    def test_spread_is_around_the_mean(self):
        found = dots(charts.spread(self.by_case))
        self.assertEqual(len(found), sum(row["run"] == "full" for row in RECORDED))
        middle = charts.TOP + charts.HEIGHT / 2
        for number in ("c0", "c1"):
            self.assertAlmostEqual(statistics.mean(y for colour, _, y in found if colour == number), middle, delta=0.1)

    def test_latency(self):
        panel = charts.latency(self.by_case)
        found = charts.latencies(self.by_case)
        self.assertEqual([label for label, _ in found], [f"{size}, {share}" for size in ("64", "1400")
                                                         for share in ("10%", "50%", "90%")])
        self.assertEqual(len(dots(panel)), len(found) * len(charts.PERCENTILES))
        heights = [y for _, _, y in dots(panel)]
        self.assertEqual(heights[:5], sorted(heights[:5], reverse=True))  # from the least to the most
        self.assertEqual(round(panel.y(math.log10(found[0][1]["min"] / 1000)), 1), heights[0])

    def test_latency_of_lost_batches(self):
        rows = copy.deepcopy(RECORDED)
        for row in rows:
            row["latency"] = [{"share": 0.1, "mpps": 0.1, "packets": 0, "lost": 7}] if row["latency"] else []
        self.assertEqual(dots(charts.latency(charts.cases(rows))), [])
        self.assertIn("<td>none</td><td>0</td><td>7</td>", page.page({"measured": "", "CPUs": 2}, rows))

    def test_others(self):
        self.assertEqual(len(dots(charts.others(RECORDED))), 2 * len(RECORDED))

    def test_everything_is_inside_the_picture(self):
        for rows in (RECORDED, calm(), RECORDED[:1]):
            picture = ElementTree.fromstring(charts.picture(rows))
            for panel in picture.iter(f"{SVG}g"):
                for dot in panel.iter(f"{SVG}circle"):
                    self.assertTrue(charts.LEFT <= float(dot.get("cx")) <= charts.LEFT + charts.WIDTH)
                    self.assertTrue(charts.TOP <= float(dot.get("cy")) <= charts.TOP + charts.HEIGHT)

    def test_nothing_was_received(self):
        rows = [row | {"received": 0, "mpps": 0.0, "gbps": 0.0, "loss": 1.0} for row in RECORDED if row["run"] != "lossless"]
        ElementTree.fromstring(charts.picture(rows))
        page.page({"measured": "", "CPUs": 2}, rows)


class Page(unittest.TestCase):
    def page(self, rows):
        return page.page({"measured": "encap: <memif> & more", "CPUs": 2, "processor": "made up"}, rows)

    def test_needs_nothing_else(self):
        text = self.page(RECORDED)
        self.assertEqual(set(re.findall(r"https?://[^\"<> ]*", text)), {"http://www.w3.org/2000/svg"})
        self.assertIsNone(re.search(r"<script|<link|<img|\bsrc=|\bhref=|url\(|@import", text))

    def test_is_well_formed(self):
        body = ElementTree.fromstring(self.page(RECORDED).replace("<!DOCTYPE html>", "").replace('<meta charset="utf-8">', ""))
        self.assertEqual(body.find("head/title").text, "Culvert: encap: <memif> & more")
        self.assertEqual([cell.text for cell in body.find("body/table/tr")],
                         ["octets", "MRR, Mpps (Gbit/s)", "NDR, Mpps (Gbit/s)", "PDR, Mpps (Gbit/s)", "standard deviation"])
        self.assertIn(["processor", "made up"], [[cell.text for cell in row] for row in body.iter("tr")])

    def test_warns_of_disturbed_runs_alone(self):
        self.assertIn("<b>Disturbed</b>: 32 of 32 runs", self.page(RECORDED))
        rows = calm()
        self.assertNotIn("Disturbed", self.page(rows))
        rows[3]["others"] = 0.5
        self.assertIn("<b>Disturbed</b>: 1 of 32 runs", self.page(rows))
        self.assertIn("other processes used 50.0% of the CPUs' time", self.page(rows).replace("&#x27;", "'"))


class Machine(unittest.TestCase):
    def test_each_disturbance(self):
        row = calm()[0]
        for change in ({"steal": 0.01}, {"others": 0.03}, {"load": 2.1}, {"mhz": [1900, 2100]}):
            self.assertEqual(len(list(machine.disturbances(row | change, 2))), 1, change)
        for change in ({}, {"load": 1.9}, {"mhz": [2050, 2100]}, {"mhz": []}):
            self.assertEqual(list(machine.disturbances(row | change, 2)), [], change)

    def test_the_watch_counts_the_time_of_others(self):
        cpus = sorted(os.sched_getaffinity(0))[:1]
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, cpus)
        self.addCleanup(os.sched_setaffinity, 0, before)

        def watched(sessions):
            watch, begin = machine.Watch(cpus, lambda: sessions), time.monotonic()
            used = time.process_time()
            watch.begin()
            while time.process_time() - used < 0.5:
                pass
            return watch.end(), 0.5 / (time.monotonic() - begin)
        other, share = watched([])
        self.assertGreater(other["others"], 0.9 * share)
        own, share = watched([os.getsid(0)])
        self.assertLess(own["others"], 1.1 - share)

    def test_what_a_script_starts_belongs_to_it(self):
        with subprocess.Popen(["sh", "-c", "(while :; do :; done) & wait"], start_new_session=True) as script:
            deadline = time.monotonic() + 20
            try:
                while machine.used_by([script.pid]) < 0.1:
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.05)
            finally:
                os.killpg(script.pid, signal.SIGKILL)

    def test_a_process_that_ended_has_used_as_much(self):
        loop = "sh -c 'i=0; while [ $i -lt 1000000 ]; do i=$((i + 1)); done'; echo; sleep 60"
        with subprocess.Popen(["sh", "-c", loop], start_new_session=True, stdout=subprocess.PIPE) as script:
            try:
                script.stdout.readline()
                self.assertGreater(machine.used_by([script.pid]), 0.1)
            finally:
                os.killpg(script.pid, signal.SIGKILL)

    def test_a_session_that_ended_used_nothing(self):
        self.assertEqual(machine.used_by([2 ** 22 + 1]), 0)

    def test_names_the_machine(self):
        self.assertEqual(machine.machine()["CPUs"], os.cpu_count())
        self.assertIn("processor", machine.machine())


if __name__ == "__main__":
    unittest.main()
