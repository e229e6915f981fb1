# SPDX-License-Identifier: BSD-3-Clause
"""The members of tests/bench/fleet: their configuration, and bench_fleet, which runs them."""

import os
import queue
import subprocess
import threading
import time

import fleet_etcd
import gateway

PATIENCE = 180  # seconds
REBALANCE = 2  # seconds
QUIET = REBALANCE + 3  # seconds without a move, after which there is none
PORT_ADDRESSES = 16  # as lib/conf/conf.h
COUNTS = ("leases", "polls", "reads", "writes", "failed", "sent", "received", "used", "unsaved", "accepted", "replayed", "twice")


def address(group):
    """Of a group; the last octets of ports differ, as their networks do."""
    return f"172.16.{group // PORT_ADDRESSES}.{1 + group % PORT_ADDRESSES}"


def write(path, options, lease, endpoints):
    """Tunnel i is of group i % groups."""
    groups = range(options.groups)
    vlans = -(-options.groups // PORT_ADDRESSES)
    items = [gateway.tunnel(i, address(i % options.groups), "esn = true;") for i in range(options.tunnels)]
    ports = "".join(
        f', {{ name = "wan-{v}"; parent = "wan"; vlan = {v + 1}; side = "unprotected"; addresses = [ '
        + ", ".join(f'"{address(g)}/24"' for g in groups if g // PORT_ADDRESSES == v) + " ]; }"
        for v in range(vlans))
    path.write_text(
        f'instance = "member"; state_dir = "{path.parent}";\n'
        "flows = { max = 1024; };\n"
        'ports = ( { name = "lan"; device = "net_null0"; addresses = [ "10.0.0.1/16" ]; },\n'
        f'  {{ name = "wan"; side = "unprotected"; device = "net_null1"; }}{ports} );\n'
        'routes = ( { to = "198.18.0.0/15"; via = "172.16.0.254"; } );\n'
        'neighbours = ( { address = "172.16.0.254"; mac = "02:00:00:00:00:02"; } );\n'
        "groups = (" + ", ".join(f'{{ name = "group-{g}"; addresses = [ "{address(g)}" ]; }}' for g in groups) + ");\n"
        f"fleet = {{ member = 1; lease = {lease}; rebalance = {REBALANCE}; endpoints = [ "
        + ", ".join(f'"{e}"' for e in endpoints) + " ]; };\n"
        + gateway.lists(items))
    path.chmod(0o600)


class Members:
    """Processes that are members of the fleet, and what they print."""

    def __init__(self, program, path, options):
        self.options = options
        self.pids, self.rss_kb, self.connected_ms, self.reads_ms = {}, {}, {}, {}
        self.owners = {g: set() for g in range(options.groups)}
        self.changes = []  # (milliseconds, member, group) that became active
        self.killed_ms = self.stopped_ms = 0
        self.last = None  # words of "counts" or "check"
        self.lines = queue.Queue()
        self.process = subprocess.Popen([program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=fleet_etcd.with_parent)
        threading.Thread(target=self.read, daemon=True).start()

    def __enter__(self):
        for member in range(1, self.options.members + 1):
            self.order("start", member)
        self.until(lambda: len(self.pids) == self.options.members, "members are not prepared")
        return self

    def __exit__(self, *_):
        self.process.kill()  # its members end with it
        self.process.wait()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.split())
        self.lines.put(["end"])

    def order(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def take(self, words):
        kind, numbers = words[0], [int(w) for w in words[1:] if w.isdigit()]
        if kind == "prepared":
            self.pids[numbers[0]] = numbers[1]
        elif kind == "connects":
            self.rss_kb[numbers[0]], self.connected_ms[numbers[0]] = numbers[1:]
        elif kind == "reads":
            self.reads_ms[numbers[0]] = numbers[1]
        elif kind == "role" and words[3] == "active":
            self.owners[numbers[1]].add(numbers[0])
            self.changes.append((numbers[2], numbers[0], numbers[1]))
        elif kind == "role":
            self.owners[numbers[1]].discard(numbers[0])
        elif kind in ("killed", "stopped"):
            self.left(*numbers, kind)
        elif kind in ("counts", "check"):
            self.last = numbers
        elif kind == "end":
            raise SystemExit("bench_fleet has ended")

    def left(self, member, at_ms, kind):
        setattr(self, f"{kind}_ms", at_ms)
        self.pids.pop(member, None)
        self.reads_ms.pop(member, None)
        for owners in self.owners.values():
            owners.discard(member)

    def wait(self, seconds):
        """Takes what they print meanwhile."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                self.take(self.lines.get(timeout=left))
            except queue.Empty:
                return

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise SystemExit(f"after {PATIENCE} s: {what}")
            self.wait(0.01)

    def answer(self, *words):
        self.last = None
        self.order(*words)
        self.until(lambda: self.last is not None, f"no answer to {words}")
        return self.last

    def counts(self):
        return dict(zip(COUNTS, self.answer("counts")))

    def are_owned(self):
        return all(len(owners) == 1 for owners in self.owners.values())

    def settle(self, what):
        self.until(self.are_owned, f"{what}: groups without one owner: "
                   + str({g: sorted(o) for g, o in self.owners.items() if len(o) != 1}))

    def are_quiet(self):
        last_ms = max(self.changes[-1][0], *self.reads_ms.values())
        return self.are_owned() and time.monotonic() * 1000 > last_ms + QUIET * 1000

    def rest(self):
        """Until each group has one owner, and none moves."""
        self.until(self.are_quiet, f"groups move: {self.each()}")

    def each(self):
        """How many groups each member has."""
        return {m: len(self.groups_of(m)) for m in sorted(self.pids)}

    def owner(self, group):
        return next(iter(self.owners[group]))

    def groups_of(self, member):
        return [g for g, owners in self.owners.items() if member in owners]

    def start(self, member):
        self.order("start", member)
        self.until(lambda: member in self.reads_ms, f"member {member} reads no keys")

    def cpu(self):
        """Seconds of CPU time that all have used so far."""
        return sum(ticks(pid) for pid in self.pids.values()) / os.sysconf("SC_CLK_TCK")

    def memory_kb(self, member):
        """Resident now, and at most so far."""
        with open(f"/proc/{self.pids[member]}/status", encoding="utf-8") as file:
            fields = dict(line.split(":", 1) for line in file)
        return [int(fields[name].split()[0]) for name in ("VmRSS", "VmHWM")]


def ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
