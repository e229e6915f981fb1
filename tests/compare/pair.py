# SPDX-License-Identifier: BSD-3-Clause
"""Two gateways of two builds that get the same, and what they do different."""
import difflib
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
        return [normal.answer(g.answer(s)) for g, s in zip(self.gateways, asked)]

    def frames(self, frames):
        """Sends one after the other, each when the last one was processed. Returns the frames that came out, of each
        gateway."""
        return [sum(out, []) for out in zip(*(self.burst(port, [frame]) for port, frame in frames))]

    def burst(self, port, frames):
        """Sends frames at once, and waits until they were processed. Returns the frames that came out, of each gateway."""
        for gateway in self.gateways:
            for frame in frames:
                gateway.send(port, frame)
        received = self.both(lambda g: g.settle(self.sent + len(frames)))
        self.sent = max(received)
        if len(set(received)) > 1:
            raise Failure(f"frames received: {received}, the last one {frames[-1].hex()}")
        return self.both(lambda g: [(p, normal.frame(f)) for p, f in g.received() if not normal.by_time(f)])

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


def _by_name(items):
    """Items of a list by their first field, flows by five; of several with the same, the later ones with a mark."""
    named = {}
    for item in items:
        name = " ".join(map(str, list(item.values())[:5 if "proto" in item and "source_port" in item else 1]))
        while name in named:
            name += "'"
        named[name] = item
    return named


def _items_differ(what, one, other):
    one, other = _by_name(one), _by_name(other)
    found = differences(what, (one, other))
    for name in one.keys() - other.keys():
        del one[name]
    for name in other.keys() - one.keys():
        del other[name]
    return found + ([f"{what}: other order: {list(one)} and {list(other)}"] if list(one) != list(other) else [])


def _lines_differ(what, one, other):
    one, other = ([str(line) for line in lines] for lines in (one, other))
    found = []
    for change, i, end, j, other_end in difflib.SequenceMatcher(None, one, other, False).get_opcodes():
        if change != "equal":
            found += [f"{what} -: {line}" for line in one[i:end]] + [f"{what} +: {line}" for line in other[j:other_end]]
    return found


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
        if all(isinstance(item, dict) for item in one + other):
            return _items_differ(what, one, other)
        return _lines_differ(what, one, other)
    return [f"{what}: {one!r} and {other!r}"]
