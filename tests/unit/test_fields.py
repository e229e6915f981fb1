#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What lib/stats/field.def says of lists and metrics is right in itself, and docs/metrics.md says the
same. That the daemon has these fields and metrics, and no others, the end-to-end tests ctl and
metrics see.

With --write, it rewrites the tables of docs/metrics.md."""
import os
import re
import sys
import unittest

import field_def

FIELDS = field_def.fields()
PAGE = "docs/metrics.md"
TABLE = re.compile(r"<!-- lists: ([a-z_, ]+) -->\n(.*?)<!-- end -->\n", re.DOTALL)


def of(what):
    return [field for field in FIELDS if field.list == what]


def labels_of(what, family):
    """The names of a family's labels, without the gateway's."""
    macros = ("LABEL", "INFO_LABEL") if family.macro == "INFO" else ("LABEL",)
    names = [field.metric.name for field in of(what)
             if field.metric and field.metric.macro in macros]
    return names + ([family.label] if family.label else [])


def table(lists):
    """The rows of docs/metrics.md about some lists."""
    rows = ["| metric | type | labels | meaning |", "|---|---|---|---|"]
    for what in lists:
        for field in of(what):
            if field.metric and field.metric.is_family:
                labels = ", ".join(f"`{name}`" for name in labels_of(what, field.metric))
                rows.append(f"| `culvert_{field.metric.name}` | {field.metric.type} | "
                            f"{labels + ' ' if labels else ''}| {field.metric.help} |")
    return "\n" + "\n".join(rows) + "\n\n"


def page():
    """docs/metrics.md as it should be."""
    return TABLE.sub(lambda found: f"<!-- lists: {found[1]} -->\n{table(found[1].split(', '))}"
                                   "<!-- end -->\n", field_def.read(PAGE))


class Fields(unittest.TestCase):
    def test_every_row_is_read(self):
        text = field_def.text()
        self.assertEqual(len(FIELDS), text.count("\nFIELD(") + text.count("\nMETRIC("))

    def test_names_and_roles(self):
        for what in {field.list for field in FIELDS}:
            mine = [field for field in of(what) if field.name]
            self.assertEqual(len({field.name for field in mine}), len(mine), what)
            keys = [field.name for field in mine if field.role == "KEY"]
            self.assertEqual(len(keys), 0 if what in ("totals", "info", "match") else 1, what)

    def test_each_family_once(self):
        names = [field.metric.name for field in FIELDS if field.metric and field.metric.is_family]
        self.assertEqual(sorted(names), sorted(set(names)))

    def test_metrics_are_documented(self):
        listed = [what for lists, _ in TABLE.findall(field_def.read(PAGE))
                  for what in lists.split(", ")]
        self.assertEqual(sorted(listed), sorted({field.list for field in FIELDS
                                                 if field.metric and field.metric.is_family}))
        self.assertEqual(page(), field_def.read(PAGE), "tests/unit/test_fields.py --write")

    def test_fields_of_events(self):
        """What the daemon posts has a type, and is described."""
        events = [(name, re.findall(r'"(\w+)"', fields)) for name, fields in re.findall(
            r'^EVENT\(\w+,\s+(\w+),\s+\w+,\s+(?:"(?:[^"\\]|\\.)*"\s*)+,([^)]*)\)',
            field_def.read("lib/control/event_log.def"), re.MULTILINE)]
        self.assertEqual(len(events),
                         field_def.read("lib/control/event_log.def").count("\nEVENT("))
        self.assertEqual({field for _, fields in events for field in fields}
                         | {"time", "event", "severity"},
                         {field.name for field in of("events")})
        self.assertEqual(events, [(name, re.findall(r"`(\w+)`", fields)) for name, fields in
                                  re.findall(r"^\| `(\w+)` \| \w+ \|(.*?)\|",
                                             field_def.read("docs/events.md"), re.MULTILINE)])


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        TEXT = page()
        with open(os.path.join(field_def.ROOT, PAGE), "w", encoding="utf-8") as file:
            file.write(TEXT)
    else:
        unittest.main()
