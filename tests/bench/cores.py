# SPDX-License-Identifier: BSD-3-Clause
"""What 1 to 64 cores carry, and how many 10 to 400 Gbit/s need, computed from rows of docs/performance/ for
docs/scaling.md, which describes the model. Each function yields lines."""

import random
from math import log2
from statistics import mean

from rows import IMIX, rows_read
from tables import head, line

CORES = (1, 2, 4, 8, 16, 32, 64)
LINKS = (10, 25, 40, 100, 200, 400)  # Gbit/s
LOADS = {"64": {64: 1}, "IMIX": IMIX, "1400": {1400: 1}}

# Assumptions: nobody has measured these here.
PORT = 60  # TSC cycles: the driver of a card receives a packet and sends it
CLOCK = 0.85  # of all cores of a processor, to that of one alone
TABLE = 512  # entries of a card's table from hashes to queues
TUNNELS = 1000  # of equal rate


def evenness(tunnels, workers, draws=300):
    """The mean load of the queues to that of the fullest one, when a card's hash distributes tunnels."""
    rng = random.Random(1)  # the same figures each time
    found = []
    for _ in range(draws):
        load = [0] * workers
        for _ in range(tunnels):
            load[rng.randrange(TABLE) % workers] += 1
        found.append(tunnels / workers / max(load))
    return mean(found)


class Model:
    def __init__(self, folder, direction):
        passes = [r for r in rows_read(f"{folder}/pass.jsonl")
                  if (r["alg"], r["engine"], r["dir"]) == ("aes-128-gcm", "ipsec_mb", direction)]
        one = [r for r in passes if r["sas"] == 1]
        self.cycles = {r["size"]: r["cycles"] - r["ports"] + r["daemon"] for r in one}
        self.ghz = one[0]["mpps"] * one[0]["cycles"] / 1000
        self.header = one[0]["gbps_wire"] * 1000 / 8 / one[0]["mpps"] - one[0]["size"]  # octets on the wire, without the inner ones
        many = max(passes, key=lambda r: r["sas"])
        self.many = (many["cycles"] - many["ports"] + many["daemon"]) / self.cycles[many["size"]]
        self.two = min(r["speedup"] / 2 for r in rows_read(f"{folder}/workers.jsonl")
                       if r["workers"] == 2 and r["sas"] > 1 and r["dir"] == direction)

    def cost(self, size):
        """TSC cycles of a packet with the card, on the line through the two nearest sizes that were measured."""
        low, high = ((64, 512) if size < 512 else (512, 1400))
        slope = (self.cycles[high] - self.cycles[low]) / (high - low)
        return self.cycles[low] + slope * (max(size, 64) - low) + PORT

    def sharing(self, cores):
        """Each doubling costs what two cores cost."""
        return self.two ** log2(cores)

    def mpps(self, load, cores, even=1.0):
        cost = sum(n * self.cost(size) for size, n in load.items()) / sum(load.values())
        clock = 1 if cores == 1 else CLOCK
        return cores * self.ghz * 1000 * clock * self.sharing(cores) * even / cost

    def octets(self, load):
        """Of a frame on the wire."""
        return sum(n * (size + self.header) for size, n in load.items()) / sum(load.values())

    def gbps(self, load, cores, even=1.0):
        return self.mpps(load, cores, even) * self.octets(load) * 8 / 1000

    def cores(self, load, gbps):
        """The fewest that carry it; with workers that slow each other down as on a machine with other load, there may be none."""
        return next((n for n in range(1, 1025) if self.gbps(load, n) >= gbps), "none")


def tables(folder):
    out, into = Model(folder, "out"), Model(folder, "in")
    yield from head("cores", *(f"{name}: out / in" for name in LOADS), f"in, {TUNNELS:,} tunnels, IMIX")
    for n in CORES:
        yield line(n, *(f"{out.gbps(load, n):.0f} / {into.gbps(load, n):.0f}" for load in LOADS.values()),
                   f"{into.gbps(IMIX, n, evenness(TUNNELS, n)):.0f}")
    yield ""
    yield from head("Gbit/s in each direction", *LOADS)
    for gbps in LINKS:
        cells = [(out.cores(load, gbps), into.cores(load, gbps)) for load in LOADS.values()]
        yield line(gbps, *(f"{a} + {b}" for a, b in cells))
    yield ""
    yield from head("assumption, 64 cores, in", "of the rate of 64 single cores is left")
    effects = {
        f"{TUNNELS:,} tunnels of equal rate, distributed by a hash": evenness(TUNNELS, 64),
        f"each doubling of cores costs as much as the first one, which was measured ({into.two:.2f})": into.sharing(64),
        "10,000 SAs and 100,000 flows instead of one and 1,000 (64 octets, measured)": 1 / into.many,
        f"a card's driver needs {PORT} TSC cycles for a packet (64 octets)": 1 - PORT / into.cost(64),
        f"all cores together are clocked at {CLOCK} of one": CLOCK,
    }
    for what, left in sorted(effects.items(), key=lambda item: item[1]):
        yield line(what, f"{left:.2f}")
