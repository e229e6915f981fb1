# SPDX-License-Identifier: BSD-3-Clause
"""Rows that benchmarks print with --json."""

import json

SIZES = [64, 512, 1400]  # octets of inner IP packet
IMIX = {46: 7, 552: 4, 1500: 1}  # packets by these octets, as in point.c
NAMES = {
    "aes-128-gcm": "AES-128-GCM",
    "aes-128-cbc+hmac-sha1-96": "AES-128-CBC + HMAC-SHA1",
    "null+hmac-sha1-96": "NULL + HMAC-SHA1",
}
SPREAD = 0.05  # half the distance of the quartiles of the rounds, to their median: more is disturbed


def is_disturbed(row):
    """As in docs/performance.md. Rows of some benchmarks have no quartiles."""
    return row.get("core_shared") or row.get("cycles_q3", 0) - row.get("cycles_q1", 0) > 2 * SPREAD * row.get("cycles", 0)


def rows_of(text):
    """One object a line, or an array of them."""
    return json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]


def rows_read(path):
    with open(path, encoding="utf-8") as file:
        return rows_of(file.read())


def rows_simple(rows):
    """Those of bench_pass with one SA and 1000 flows in bursts of 32 on one core, by (alg, engine, dir), then size."""
    simple = {}
    for row in rows:
        if (row["sas"], row["flows"], row["burst"], row["workers"]) != (1, 1000, 32, 1):
            continue
        if row["alg"] in NAMES and row["dir"] in ("out", "in") and row["size"] in SIZES:
            simple.setdefault((row["alg"], row["engine"], row["dir"]), {})[row["size"]] = row
    return simple
