# SPDX-License-Identifier: BSD-3-Clause
"""Figures of a pass that depend on the code alone, not on the machine or its load, compared with those of the last
release for this Debian."""
import fcntl
import json
import os
import platform
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
BUILD = os.path.join(ROOT, "build/instructions")


def release():
    system = platform.freedesktop_os_release()
    return system["ID"] + system["VERSION_ID"]


def build(*programs):
    """For x86-64-v3: libraries choose functions by the processor, our own code does not. Tests that run at the same time
    build one after the other."""
    os.makedirs(os.path.dirname(BUILD), exist_ok=True)
    with open(BUILD + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(os.path.join(BUILD, "build.ninja")):
            subprocess.run(["meson", "setup", BUILD, ROOT, "-Dmarch=x86-64-v3"], check=True, stdout=sys.stderr)
        subprocess.run(["ninja", "-C", BUILD, "--quiet", *programs], check=True, stdout=sys.stderr)


class Counts:
    """The rows in a file of tests/bench/. key: fields that name a row; field: its figure."""

    def __init__(self, file, key, field, most):
        self.path, self.key, self.field, self.most = os.path.join(ROOT, "tests/bench", file), ("release", *key), field, most

    def place(self, row):
        return tuple(row.get(name) for name in self.key)

    def read(self):
        if not os.path.exists(self.path):
            return []
        with open(self.path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def record(self, rows):
        kept = [row for row in self.read() if row["release"] != release()]
        with open(self.path, "w", encoding="utf-8") as file:
            for row in kept + rows:
                file.write(json.dumps({name: row[name] for name in (*self.key, self.field) if name in row}) + "\n")

    def compare(self, rows):
        """Prints both figures of each row. Returns how many are worse, or are not counted any more."""
        before = {self.place(row): row for row in self.read() if row["release"] == release()}
        worse = len(before.keys() - {self.place(row) for row in rows})
        for row in rows:
            old = before[self.place(row)][self.field] if self.place(row) in before else 0
            is_worse = row[self.field] > self.most * old
            name = row.get("alg") or row["feature"]
            print(f"{name:<26}{row['dir']:<5}{row.get('sas', 1):>6}{old:>9.1f}{row[self.field]:>9.1f}", "worse" * is_worse)
            worse += is_worse
        return worse

    def run(self, rows, more):
        """more: how the figures are found in detail."""
        rows = [{"release": release()} | row for row in rows]
        if sys.argv[1:] == ["record"]:
            self.record(rows)
            return
        worse = self.compare(rows)
        if worse:
            sys.exit(f"{worse} rows have more than {self.most} times the {self.field}, or are not counted: {more}")
