# SPDX-License-Identifier: BSD-3-Clause
"""The rows of lib/stats/field.def, with those of sa_counter.def in their place."""
import os
import re
from typing import NamedTuple, Optional

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PATH = "lib/stats/field.def"
KINDS = {"COUNTER": "counter", "COUNTER_IN": "counter", "COUNTER_AT": "counter", "COUNTERS": "counter",
         "INFO": "info"}  # all others are gauges


class Metric(NamedTuple):
    """A metric family without "culvert_", or a label."""
    macro: str  # of field.def
    name: str
    label: Optional[str]  # of an array
    help: str

    @property
    def type(self):
        return KINDS.get(self.macro, "gauge")

    @property
    def is_family(self):
        return not self.macro.endswith("LABEL")


class Field(NamedTuple):
    """A field, or a metric alone (name None)."""
    list: str
    name: Optional[str]
    type: Optional[str]
    role: Optional[str]
    metric: Optional[Metric]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def text():
    """The rows as field.def has them, one after the other."""
    counters = re.sub(r"^SA_COUNTER\((\w+), (\w+),\s+(\w+), (.*?)\)\n",
                      r"FIELD(sas, \1, NUMBER, \2, U64(\1), \3(\4))\n",
                      read("lib/stats/sa_counter.def"), flags=re.MULTILINE | re.DOTALL)
    rows = re.sub(r'^#include "sa_counter.def"\n', lambda _: counters, read(PATH), flags=re.MULTILINE)
    rows = re.sub(r"^EVENT_FIELD\((\w+), (\w+), (\w+)\)", r"FIELD(events, \1, \2, \3, TEXT, NO_METRIC)", rows,
                  flags=re.MULTILINE)
    return re.sub(r"^(//|#)(.*\\\n)*.*\n", "", rows, flags=re.MULTILINE)


def _metric(value):
    macro = re.match(r"\w+", value)[0]
    if macro == "NO_METRIC":
        return None
    strings = re.findall(r'"([^"]*)"', re.sub(r'"\s+"', "", value))
    if macro.endswith("LABEL"):
        return Metric(macro, strings[0], None, "")
    name = "_".join(strings[:2]) if "_IN" in macro else strings[0]
    return Metric(macro, name, strings[1] if macro in ("COUNTERS", "GAUGES") else None, strings[-1])


def fields():
    """All rows, in order."""
    rows = []
    for macro, row in re.findall(r"^(FIELD|METRIC)\((.*?)\)\n(?=\n|[A-Z/]|\Z)", text(),
                                 re.MULTILINE | re.DOTALL):
        if macro == "METRIC":
            what, metric = re.fullmatch(r"(\w+), (.*)", row, re.DOTALL).groups()
            rows.append(Field(what, None, None, None, _metric(metric)))
        else:
            what, name, kind, role, metric = re.fullmatch(
                r"(\w+), (\w+), (\w+), (\w+), \w+(?:\([^)]*\))?,\s+(.*)", row, re.DOTALL).groups()
            rows.append(Field(what, name, kind, role, _metric(metric)))
    return rows
