# SPDX-License-Identifier: BSD-3-Clause
"""Differences from the reference that are intended, because later commits have added or corrected something. Each line of
the file differences.REFERENCE has three columns with tabs in between: a word, a regular expression and the reason.

  differs: a line about a difference matches.
  without: input that matches is not given to the gateways, because the reference lacks what it asks for.
"""
import os
import re

LINES_MAX = 20


class Row:
    def __init__(self, line):
        self.word, pattern, self.reason = line.split("\t")
        self.pattern = re.compile(pattern)
        self.used = 0


class Expected:
    """path: of the file; there is none if the reference does the same."""

    def __init__(self, path):
        self.rows = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.rows = [Row(line.rstrip("\n")) for line in file if line.strip() and not line.startswith("#")]

    def _matches(self, word, text):
        rows = [row for row in self.rows if row.word == word and row.pattern.search(text)]
        for row in rows:
            row.used += 1
        return len(rows) > 0

    def is_known(self, text):
        """Whether the reference has all that the input asks for."""
        return not self._matches("without", text)

    def unexpected(self, found):
        """The lines about differences that nobody expects."""
        return [line for line in found if not self._matches("differs", line)]

    def report(self, where, found):
        """Prints the unexpected ones. Returns how many they are."""
        left = self.unexpected(found)
        if left:
            print(f"== {where}: {len(left)} differences")
            for line in left[:LINES_MAX]:
                print(line[:1000])
            if len(left) > LINES_MAX:
                print("...", flush=True)
        return len(left)

    def unused(self):
        """Rows that nothing matched."""
        return [f"{row.word} {row.pattern.pattern}: {row.reason}" for row in self.rows if row.used == 0]
