# SPDX-License-Identifier: BSD-3-Clause
"""Sending for some seconds and accounting for every packet; looking for the rate without loss."""
import functools
import operator
import shutil
import tempfile
import time
from dataclasses import dataclass

from .gateways import Gateway, Lab
from .latency import latency
from .machine import Watch
from .other import Other
from .testpmd import Testpmd

QUIET_S = 0.05
WARM_UP_S = 0.2
PRECISION = 0.01  # of the search, share of the rate
PROBES = 12


@dataclass
class Trial:
    """Packets sent for some seconds, and their fate:
    offered = refused + sent,  sent = received + sum of drops + sum of wires + other + unexplained"""
    pace: tuple
    seconds: float
    offered: int
    sent: int
    received: int
    drops: dict  # by gateway and reason
    wires: list  # lost between testpmd and gateway, or between gateways
    other: int  # for the gateways' own addresses, held, less originated ones
    unexplained: int
    machine: dict  # use of its CPUs by others, as Watch.end() returns it

    @property
    def refused(self):
        return self.offered - self.sent

    @property
    def loss(self):
        return 1 - self.received / self.offered if self.offered else 1.0

    @property
    def mpps(self):
        return self.received / self.seconds / 1e6

    @property
    def overhead_ns(self):
        """The time that testpmd used for each packet beside the pause."""
        burst, delay = self.pace
        return self.seconds * 1e9 / self.offered - delay * 1000 / burst if self.offered else 0


def quiet_detector(gateways):
    """A condition: the gateways' counters have not changed for a moment, and balance."""
    last, since = None, 0.0

    def quiet():
        nonlocal last, since
        now = [gateway.counters() for gateway in gateways]
        if now != last:
            last, since = now, time.monotonic()
        balanced = all(c["rx"] + c["originated"] == c["tx"] + c["drops"] + c["local"] + c["held"]
                       for c in now)
        return balanced and time.monotonic() - since > QUIET_S
    return quiet


def trial(testpmd, gateways, pace, seconds, watch):
    testpmd.drain(quiet_detector(gateways))  # or a late frame is received here that was counted before
    before = [gateway.counters() for gateway in gateways]
    watch.begin()
    ports, elapsed = testpmd.send(pace, seconds)
    machine = watch.end()
    received = ports["receive"]["RX-packets"] + testpmd.drain(quiet_detector(gateways))
    deltas = [{k: v - b.get(k, 0) for k, v in gateway.counters().items()}
              for gateway, b in zip(gateways, before)]
    drops = {f"{gateway.instance.rpartition('-')[2]}.{k[len('drop.'):]}": v
             for gateway, d in zip(gateways, deltas) for k, v in d.items() if k.startswith("drop.") and v}
    sent = ports["send"]["TX-packets"]
    ends = [sent] + [n for d in deltas for n in (d["in"], d["out"])] + [received]
    wires = [ends[i] - ends[i + 1] for i in range(0, len(ends), 2)]
    # Packets that gateways sent elsewhere, or received from elsewhere, count here too.
    other = sum(d["local"] + d["held"] - d["originated"] + (d["tx"] - d["out"]) - (d["rx"] - d["in"])
                for d in deltas)
    return Trial(pace, elapsed, ports["send"]["TX-total"], sent, received, drops, wires, other,
                 sent - received - sum(drops.values()) - sum(wires) - other, machine)


def pace_of(ns):
    """Burst and pause for that many nanoseconds of pause for each packet: testpmd pauses for whole
    microseconds."""
    if ns <= 0:
        return 32, 0
    return min(((burst, max(1, round(ns * burst / 1000))) for burst in range(32, 65)),
               key=lambda pace: abs(pace[1] * 1000 / pace[0] - ns))


def pace_for(mpps, probe):
    """The pause at which testpmd reaches a rate: the interval, less its own time."""
    interval = 1000 / mpps
    return pace_of(interval - probe(pace_of(interval)).overhead_ns)


def search(probe, full, limit):
    """The fastest trial that lost no more than the limit, None if there is none. Halves an
    interval of pauses repeatedly: its fast end loses packets, its slow end does not."""
    if full.loss <= limit:
        return full
    fast, slow, best = 0.0, 1000 / max(full.mpps, 0.001), None
    for _ in range(PROBES):
        result = probe(pace_of(slow if best is None else (fast + slow) / 2))
        middle = result.pace[1] * 1000 / result.pace[0]
        if result.loss <= limit:
            best, slow = result, middle
        elif best is None:
            fast, slow = slow, slow * 2
        else:
            fast = middle
        if best is not None and slow - fast < PRECISION * 1000 / best.mpps:
            break
    return best


def measure(options, size, vxlan, report):
    folder = tempfile.mkdtemp(prefix=f"culvert-{options.name}.")
    lab, testpmd = (Other if options.gateway else Lab)(options, folder, vxlan), None
    try:
        if options.instance:
            lab.gateways = [Gateway(*instance.split(":")) for instance in options.instance]
            send, receive = options.send, options.receive
        else:
            send, receive = lab.build()
        wires = (*lab.capture(size), send, receive)
        testpmd = Testpmd(options, folder, *wires)
        testpmd.begin()
        # Each child began a session of its own.
        watch = Watch(options.used_cpus, lambda: [child.process.pid for child in (testpmd.child, *lab.children)])

        def once(pace, seconds=options.seconds):
            return trial(testpmd, lab.gateways, pace, seconds, watch)

        def probe(limit, pace):
            result = once(pace)
            # Where CPUs are shared, another program may have run for a moment.
            if result.loss > limit:
                result = min(result, once(pace), key=lambda r: r.loss)
            report.row(size, vxlan, "search", result)
            return result

        lab.warm_up(lambda: once(pace_of(10000), WARM_UP_S), testpmd.reconnect)
        if options.rate:
            report.row(size, vxlan, "rate", once(pace_for(options.rate, once)))
            return
        received = operator.attrgetter("mpps")
        trials = [once(pace_of(0)) for _ in range(options.repeat)]
        for result in trials:
            report.row(size, vxlan, "full", result)
        best = None
        for limit in sorted(options.loss):
            found = search(functools.partial(probe, limit), max(trials, key=received), limit)
            # A run that lost less than an earlier limit does for this one as well.
            best = max(filter(None, (best, found)), key=received, default=None)
            report.row(size, vxlan, "lossless", best, limit)
        if options.plot and best is not None:
            testpmd.stop()
            report.latency(latency(options, *wires, best.mpps))
    finally:
        if testpmd is not None:
            testpmd.stop()
        report.failed += lab.stop()
        shutil.rmtree(folder, ignore_errors=True)
