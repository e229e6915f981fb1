# SPDX-License-Identifier: BSD-3-Clause
"""What comparisons of a pass with that of another gateway have in common: packets, Culvert's side, and pairs of runs."""
import argparse
import ipaddress
import json
import math
import os
import subprocess
import sys
from statistics import median

from rows import IMIX, is_disturbed

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(ROOT, "app"))
from measuring.packets import frame  # noqa: E402

PASS = os.path.join(ROOT, "build/tests/bench/bench_pass")
CPUS = sorted(os.sched_getaffinity(0))  # the measured thread is on the last one
FLOWS = {1: 1000, 1000: 10000, 10000: 100000}  # by number of SAs
MAC = "02:00:00:00:00:01"
KEY = "000102030405060708090a0b0c0d0e0f10111213"
SPI = 5  # of the first SA
SOURCES = ipaddress.ip_network("198.18.0.0/16")
DESTINATION = ipaddress.ip_address("198.19.0.2")  # of the first SA


def output(command, **options):
    r = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if r.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {r.returncode}\n{r.stdout[-2000:]}{r.stderr[-2000:]}")
    return r.stdout


def prepare():
    """The programs."""
    output([ROOT + "/app/packages", "build", "measure"])
    if not os.path.exists(ROOT + "/build/build.ninja"):
        output(["meson", "setup", ROOT + "/build", ROOT])
    output(["ninja", "-C", ROOT + "/build", "tests/bench/bench_pass", "tests/bench/bench_core_watch"])


def ipsec_mb():
    """The version that both gateways use."""
    return output(["dpkg-query", "--show", "--showformat=${Version}", "libipsec-mb-dev"]).split("-")[0]


def octets(size):
    """Of the IP packets, all equally frequent: those of bench_pass."""
    return [octets for octets, n in IMIX.items() for _ in range(n)] if size == "imix" else [size]


def clear_frames(size, sas, flows):
    """Frames of every flow: the SAs in turn, as in bench_pass. Each size is as frequent as the others."""
    for n in range(math.lcm(flows, len(octets(size)))):
        flow = n % flows
        yield frame(flow, octets(size)[n % len(octets(size))], SOURCES, DESTINATION + flow % sas, MAC)


def culvert(direction, size, sas, *options):
    """Its row of bench_pass."""
    return json.loads(output([PASS, "--dir", direction, "--size", str(size), "--sas", str(sas), "--flows", str(FLOWS[sas]),
                              *options, "--json"]))


def hugepages():
    """Whether bench_pass has its memory there."""
    return json.loads(output([PASS, "--rounds", "1", "--size", "64", "--alg", "aes-128-gcm", "--dir", "out", "--json"]))["hugepages"]


def cycles(row):
    return row["cycles"] - row["ports"]


def compare(ours, theirs, name, rounds):
    """Alternating runs of two functions, each of which returns a row: what their pairs have in common, and the other's rows."""
    good, disturbed = [], []
    while len(good) < rounds and len(good) + len(disturbed) < 3 * rounds:
        sides = [theirs, ours] if (len(good) + len(disturbed)) % 2 == 0 else [ours, theirs]
        row = {side: side() for side in sides}
        (disturbed if any(map(is_disturbed, row.values())) else good).append(row)
    pairs = good + disturbed[: rounds - len(good)]
    return {"ratio": round(median(cycles(p[ours]) / cycles(p[theirs]) for p in pairs), 3),
            name: round(median(cycles(p[theirs]) for p in pairs), 1),
            "culvert": round(median(cycles(p[ours]) for p in pairs), 1),
            "core_clock": round(median(p[ours]["core_clock"] for p in pairs), 3),
            "hugepages": all(p[ours]["hugepages"] for p in pairs),
            "pairs": len(pairs), "disturbed": len(pairs) - len(good)}, [p[theirs] for p in pairs]


def size_of(text):
    return text if text == "imix" else int(text)


def list_of(known, kind=str):
    """A type of arguments: some of those known, separated by commas."""
    def parse(text):
        values = [kind(v) for v in text.split(",")]
        if known and not set(values) <= set(known):
            raise argparse.ArgumentTypeError(f"there are: {', '.join(map(str, known))}")
        return values
    return parse
