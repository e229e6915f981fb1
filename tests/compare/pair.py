# SPDX-License-Identifier: BSD-3-Clause
"""Two gateways of two builds that get the same, and what they do different."""
import os
import shutil
import tempfile
import time

import normal
from gateway import PATIENCE_S, Failure, Gateway, Network

LISTS = ("info", "totals", "workers", "ports", "members", "queues", "stages", "sas", "tunnels", "policies", "rules",
         "memory", "routes", "neighbours", "drops", "flows")
# A request whose line in the log is the last of a sequence. It is refused.
MARK = "flush mark=1"  # no such filter
MARKED = "request=flush result=refused"
IKE_GRACE_S = 0.25  # until a deleted policy of IKE is gone


class Pair:
    """Also a context: what it starts ends with it."""

    def __init__(self, builds):
        self.folder = tempfile.mkdtemp(prefix="culvert-compare.", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.networks = []
        self.gateways = []
        self.sent = 0
        self.normal = []
        for i, build in enumerate(builds):
            self.networks.append(Network(f"cvc{os.getpid()}-{i}"))
            self.gateways.append(Gateway(build, self.networks[-1], os.path.join(self.folder, str(i))))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for gateway in self.gateways:
            gateway.remove()
        for network in self.networks:
            network.remove()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, text):
        """Without anything that gateways before have left."""
        self.sent = 0
        self.normal = [normal.Frames() for _ in self.gateways]
        for gateway in self.gateways:
            gateway.clear()
            gateway.write("gw.conf", text)
            gateway.start()
            if not gateway.is_running():
                raise Failure(f"{gateway.build.name}: does not start: {gateway.log_lines()}")

    def stop(self):
        """Returns what the last lines of the log differ in."""
        for gateway in self.gateways:
            if (status := gateway.stop()) != 0:
                raise Failure(f"{gateway.build.name}: ends with status {status}: {gateway.log_lines()[-5:]}")
        return differences("log of the stop", [normal.lines(g.log_new()) for g in self.gateways])

    def both(self, do):
        return [do(gateway) for gateway in self.gateways]

    def ask(self, text):
        """The answers of both, which work at the same time."""
        asked = self.both(lambda g: g.request(text))
        return [normal.line(g.answer(s)) for g, s in zip(self.gateways, asked)]

    def frames(self, frames):
        """Sends one after the other, each when the last one was processed. Returns what came out, of each gateway."""
        out = [[] for _ in self.gateways]
        for port, frame in frames:
            self.both(lambda g, p=port, f=frame: g.send(p, f))
            self.sent += 1
            self.both(lambda g: g.settle(self.sent))
            for i, gateway in enumerate(self.gateways):
                out[i].append([(p, self.normal[i].frame(f)) for p, f in gateway.received()])
        return out

    def log(self):
        """New lines of both, up to those of the mark."""
        self.ask(MARK)
        deadline = time.monotonic() + PATIENCE_S
        lines = []
        for gateway in self.gateways:
            found = []
            while not any(MARKED in line for line in found):
                found += gateway.log_new()
                if time.monotonic() > deadline:
                    raise Failure(f"{gateway.build.name}: no line of the mark in the log: {found}")
            lines.append(normal.lines(found))
        return lines

    def lists(self, names=LISTS):
        return [{name: normal.items(name, g.list(name)) for name in names} for g in self.gateways]


def differences(what, results):
    """Lines about where two results differ: lists and objects are entered."""
    one, other = results
    if one == other:
        return []
    if isinstance(one, dict) and isinstance(other, dict):
        found = []
        for name in sorted(one.keys() | other.keys(), key=str):
            found += differences(f"{what}.{name}", (one.get(name, "(none)"), other.get(name, "(none)")))
        return found
    if isinstance(one, list) and isinstance(other, list):
        found = []
        for i in range(max(len(one), len(other))):
            found += differences(f"{what}[{i}]", (one[i] if i < len(one) else "(none)",
                                                  other[i] if i < len(other) else "(none)"))
        return found
    return [f"{what}: {one!r} and {other!r}"]
