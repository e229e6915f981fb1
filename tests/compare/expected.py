# SPDX-License-Identifier: BSD-3-Clause
"""Differences that there must be, as the reference lacks what later commits have added or corrected: lines of the file
differences, each a regular expression, a tab and the reason."""
import re

LINES_MAX = 20


class Expected:
    def __init__(self, path=None):
        self.rows = []
        self.used = set()
        if path is not None:
            with open(path, encoding="utf-8") as file:
                rows = [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]
            self.rows = [(re.compile(pattern), reason) for pattern, reason in rows]

    def unexpected(self, found):
        """The lines about differences that nobody expects."""
        left = []
        for line in found:
            rows = [i for i, (pattern, _) in enumerate(self.rows) if pattern.search(line)]
            self.used.update(rows)
            if not rows:
                left.append(line)
        return left

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

    def missing(self):
        """Rows that nothing was like."""
        return [f"{pattern.pattern}\t{reason}" for i, (pattern, reason) in enumerate(self.rows) if i not in self.used]
