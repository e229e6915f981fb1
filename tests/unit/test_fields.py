#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The fields of culvertctl's lists and the metrics agree: lib/stats/field.def, docs/metrics.md. That
the daemon has these fields and metrics, and no others, the end-to-end tests ctl and metrics see."""
import os
import re
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
# Families that are in no list of culvertctl.
METRICS_ALONE = {
    "flow_refused_packets", "heap_used_bytes", "heap_size_bytes",
}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


FIELDS = re.findall(r'^FIELD\((\w+), (\w+), (\w+), (\w+), (?:NULL|"([^"]*)")\)$',
                    read("lib/stats/field.def"), re.MULTILINE)
METRICS = {name: {"gateway", *re.findall(r"`(\w+)`", labels)} for name, labels in re.findall(
    r"^\| `culvert_(\w+)` \| \w+ \|(.*?)\| .* \|$", read("docs/metrics.md"), re.MULTILINE)}


class Fields(unittest.TestCase):
    def test_every_line_is_read(self):
        self.assertEqual(len(FIELDS), read("lib/stats/field.def").count("\nFIELD("))
        self.assertGreater(len(FIELDS), 100)
        self.assertGreater(len(METRICS), 50)

    def test_names_and_roles(self):
        for what in {field[0] for field in FIELDS}:
            mine = [field for field in FIELDS if field[0] == what]
            self.assertEqual(len({field[1] for field in mine}), len(mine), what)
            keys = [field[1] for field in mine if field[3] == "KEY"]
            self.assertEqual(len(keys), 0 if what in ("totals", "info", "match") else 1, what)

    def test_metrics_of_fields(self):
        for what, name, _, _, metric in FIELDS:
            if metric:
                family, label = re.fullmatch(r"(\w+)(?:\{(\w+)\})?", metric).groups()
                self.assertIn(family, METRICS, f"{what}: {name}")
                if label:
                    self.assertIn(label, METRICS[family], f"{what}: {name}")

    def test_fields_of_events(self):
        """What the daemon posts has a type, and is described."""
        events = [(name, re.findall(r'"(\w+)"', fields)) for name, fields in re.findall(
            r'^EVENT\(\w+,\s+(\w+),\s+\w+,\s+(?:"(?:[^"\\]|\\.)*"\s*)+,([^)]*)\)',
            read("app/culvertd/event_log.def"), re.MULTILINE)]
        self.assertEqual(len(events), read("app/culvertd/event_log.def").count("\nEVENT("))
        self.assertEqual({field for _, fields in events for field in fields}
                         | {"time", "event", "severity"},
                         {name for what, name, *_ in FIELDS if what == "events"})
        self.assertEqual(events, [(name, re.findall(r"`(\w+)`", fields)) for name, fields in
                                  re.findall(r"^\| `(\w+)` \| \w+ \|(.*?)\|", read("docs/events.md"),
                                             re.MULTILINE)])

    def test_fields_of_metrics(self):
        named = {field[4].split("{")[0] for field in FIELDS}
        self.assertEqual(set(METRICS) - named, METRICS_ALONE)


if __name__ == "__main__":
    unittest.main()
