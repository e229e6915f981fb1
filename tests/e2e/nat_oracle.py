#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plays scripts of nat_scripts.py through nftables in a kernel and through a gateway, and compares: FOLDER INSTANCE
CULVERTCTL KERNEL-NAMESPACE ITS-STATIONS GATEWAY-NAMESPACE ITS-STATIONS [FIRST [NUMBER]]. The folder has the gateway's
configuration, which includes what is written here."""
import collections
import os
import select
import socket
import struct
import subprocess
import sys

import nat_differences
from nat_packets import ICMP, ICMPV6, NAMES, TCP, UDP, Packet, Reassembly, packets, read
from nat_scripts import SEGMENTS, Author
from peer import PATIENCE_S, packet_socket

IGNORE_OUTGOING = 23  # of SOL_PACKET
MARKER_PORT = 9
TRIES = 4


# --- rules in both languages ---

def nft_match(rule, family, hook):
    ip = "ip" if family == 4 else "ip6"
    words = [f"meta nfproto ipv{family}"]
    if rule.in_port:
        words.append(f'iifname "{rule.in_port}0"')
    if rule.out_port and hook != "prerouting":
        words.append(f'oifname "{rule.out_port}0"')
    words += [f"{ip} saddr {rule.source}"] * bool(rule.source) + [f"{ip} daddr {rule.destination}"] * bool(rule.destination)
    if rule.proto:
        words.append(f"meta l4proto {NAMES[rule.proto]}")
    if rule.destination_port:
        words.append("th dport {}-{}".format(*rule.destination_port))
    return " ".join(words)


def nft_target(rule, family):
    ip = "ip" if family == 4 else "ip6"
    ports = "" if rule.to_port is None else ":{}-{}".format(*rule.to_port)
    if rule.action == "accept":
        return "accept"
    if rule.action == "netmap":
        way, end, of = ("snat", "saddr", rule.source) if rule.end == "source" else ("dnat", "daddr", rule.destination)
        return f"{way} {ip} prefix to {ip} {end} map {{ {of} : {rule.to} }}"
    if rule.action == "destination":
        if rule.to_port is None:
            return f"dnat {ip} to {rule.to}"
        first, last = rule.destination_port
        to = {port: rule.to_port[0] + (port - first if rule.to_port[0] != rule.to_port[1] else 0) for port in range(first, last + 1)}
        return f"dnat {ip} to {rule.to} : th dport map {{ " + ", ".join(f"{a} : {b}" for a, b in to.items()) + " }"
    if rule.to == "port":
        return "masquerade" + (f" to {ports}" if ports else "")
    to = rule.to if family == 4 or not ports else "-".join(f"[{a}]" for a in rule.to.split("-"))
    return f"snat {ip} to {to}{ports} persistent"


def nft_verdict(action, proto):
    if action != "reject":
        return [action]
    # Of TCP alone a reset is sent.
    return ["meta l4proto tcp reject with tcp reset"] * (proto in (None, TCP)) + \
        ["reject with icmpx admin-prohibited"] * (proto != TCP)


def nft(script):
    """The ruleset: what is invalid is dropped, as in every guide."""
    nat = {"prerouting": [], "postrouting": []}
    for rule in script.nat:
        for hook, end in (("prerouting", "destination"), ("postrouting", "source")):
            if rule.end in (None, end) and not (rule.out_port and hook == "prerouting"):
                nat[hook].append(f"{nft_match(rule, script.family, hook)} {nft_target(rule, script.family)}")
    forward = [f"{nft_match(rule, script.family, 'forward')} {verdict}" for rule in script.rules
               for verdict in nft_verdict(rule.action, rule.proto)] + nft_verdict(script.default, None)
    return "\n".join([
        "flush ruleset", "table inet oracle {",
        "chain destination { type nat hook prerouting priority dstnat;", *nat["prerouting"], "}",
        "chain source { type nat hook postrouting priority srcnat;", *nat["postrouting"], "}",
        "chain forward { type filter hook forward priority filter;", f"udp dport {MARKER_PORT} accept", "ct state invalid drop",
        "ct state { established, related } accept", *forward, "}", "}"])


def culvert_item(rule, n):
    fields = {"name": f"r{n}", "action": rule.action, "source": rule.source, "destination": rule.destination,
              "proto": rule.proto and NAMES[rule.proto], "in": rule.in_port, "out": rule.out_port, "to": rule.to,
              "replaces": rule.end if rule.action == "netmap" and rule.source and rule.destination else None,
              "destination_port": rule.destination_port and "{}-{}".format(*rule.destination_port),
              "to_port": rule.to_port and "{}-{}".format(*rule.to_port)}
    return "{ " + " ".join(f'{k} = "{v}";' for k, v in fields.items() if v is not None) + " }"


def culvert(script):
    marker = f'{{ name = "marker"; action = "accept"; proto = "udp"; destination_port = "{MARKER_PORT}"; }}'

    def several(rules):
        return ", ".join([marker] + [culvert_item(rule, n) for n, rule in enumerate(rules)])
    return f'nat = ( {several(script.nat)} );\nrules = ( {several(script.rules)} );\ndefault_action = "{script.default}";\n'


# --- players ---

class Player:
    """Stations around a router."""

    def __init__(self, router, stations):
        self.ports = {}
        for segment in SEGMENTS:
            s = packet_socket(stations, segment)
            s.setsockopt(socket.SOL_PACKET if hasattr(socket, "SOL_PACKET") else 263, IGNORE_OUTGOING, 1)
            self.ports[segment] = s
        self.segments = {s.fileno(): segment for segment, s in self.ports.items()}
        self.macs = {segment: tuple(bytes.fromhex(subprocess.run(
            ["ip", "netns", "exec", ns, "cat", f"/sys/class/net/{name}/address"], check=True, capture_output=True, text=True)
            .stdout.strip().replace(":", "")) for ns, name in ((router, segment + "0"), (stations, segment)))
            for segment in SEGMENTS}
        self.marked = 0

    def inject(self, segment, packet):
        self.ports[segment].send(b"".join(self.macs[segment]) + (b"\x08\x00" if packet[0] >> 4 == 4 else b"\x86\xdd") + packet)

    def sift(self, outputs, wanted, segment):
        """One frame that arrived: an output, or a marker."""
        frame = self.ports[segment].recv(65536)
        if frame[12:14] not in (b"\x08\x00", b"\x86\xdd"):
            return
        packet = frame[14:]
        if packet[0] >> 4 == 4 and packet[9] == UDP and packet[22:24] == struct.pack("!H", MARKER_PORT):
            if packet[28:36] == struct.pack("!Q", self.marked):
                wanted.discard(segment)
            return
        if packet[0] >> 4 == 6 and (packet[8:10] in (b"\xfe\x80", b"\0\0") or packet[24] == 0xff):  # of the link: MLD
            return
        outputs.append((segment, packet))

    def settle(self, segment, outputs):
        """Until packets that were sent afterwards, from the same segment, have arrived in all of them."""
        self.marked += 1
        wanted = set(SEGMENTS)
        poll = select.poll()
        for fd in self.segments:
            poll.register(fd, select.POLLIN)
        for _ in range(TRIES):  # on a busy machine the kernel may lose one
            self.mark(segment, wanted)
            while wanted:
                ready = poll.poll(PATIENCE_S * 1000 // TRIES)
                if not ready:
                    break
                for fd, _ in ready:
                    self.sift(outputs, wanted, self.segments[fd])
        if wanted:
            raise SystemExit(f"FAILED: {type(self).__name__}: no marker arrives in {wanted}")

    def mark(self, segment, wanted):
        for n, to in enumerate(SEGMENTS, 1):
            if to not in wanted:
                continue
            self.inject(segment, packets(Packet(f"10.9.{1 + SEGMENTS.index(segment)}.1", f"10.9.{n}.2", UDP, MARKER_PORT, MARKER_PORT,
                                                payload=struct.pack("!Q", self.marked)))[0])

    def play(self, segment, pieces):
        """Sends a packet in pieces; returns the packets that came out, each with its segment."""
        outputs, whole = [], []
        for piece in pieces:
            self.inject(segment, piece)
        for _ in range(self.rounds):
            self.settle(segment, outputs)
        joiners = collections.defaultdict(Reassembly)
        for to, packet in outputs:
            packet = joiners[to].add(packet)
            if packet is not None:
                whole.append((to, packet))
        return whole


class Kernel(Player):
    rounds = 1

    def __init__(self, router, stations):
        super().__init__(router, stations)
        self.router = router

    def begin(self, script):
        subprocess.run(["ip", "netns", "exec", self.router, "nft", "-f", "-"], check=True, text=True, input=nft(script))


class Gateway(Player):
    rounds = 2  # errors that it sends itself may leave after the packets of the same pass

    def __init__(self, router, stations, folder, instance, culvertctl):
        super().__init__(router, stations)
        self.file, self.command = os.path.join(folder, "script.inc"), [culvertctl, "-i", instance]

    def begin(self, script):
        with open(self.file, "w") as f:
            f.write(culvert(script))
        done = subprocess.run(self.command + ["reload"], check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"FAILED: script {script.number} is refused: {done.stderr}")


# --- one script ---

class Played:
    """The packets of the steps so far, into one player's router and out of it."""

    def __init__(self, player):
        self.player = player
        self.sent, self.came = [], []  # by step: a packet with its segment, the packets that came out with theirs

    def forwarded(self, about):
        """The first packet of a step's that is no answer of the router itself; None: there is none."""
        for segment, packet in self.came[about]:
            if not self.is_own_answer(about, read(packet)):
                return segment, packet, read(packet)
        return None

    def is_own_answer(self, about, p):
        sent = self.sent[about][1]
        return p.dst == sent.src and (p.is_error and not sent.is_error or p.src == sent.dst)

    def write(self, step):
        """Segment, packet and its octets in pieces; None: the packet that it would be about never came out."""
        if step.packet is not None:
            return step.port, step.packet, packets(step.packet, room=step.room)
        about = self.forwarded(step.about)
        if about is None:
            return None
        segment, octets, p = about
        if step.kind is None:
            reply = p.changed(src=p.dst, dst=p.src, sport=p.dport, dport=p.sport, ttl=64, faults=(), **{
                k: v for k, v in step.changes.items() if k != "ttl"})
            if p.proto in (ICMP, ICMPV6):
                reply = reply.changed(sport=p.sport, dport=0, kind=(p.kind[0] + (1 if p.proto == ICMPV6 else -8), 0))
            reply = reply.changed(ttl=step.changes.get("ttl", 64))
            return segment, reply, packets(reply, room=step.room)
        error = Packet(step.router or p.dst, p.src, ICMP if p.v4 else ICMPV6, kind=step.kind, param=step.param, number=2000,
                       quote=p)
        return segment, error, packets(error, quoted=octets[:step.quoted or (548 if p.v4 else 1232)])

    def play(self, step):
        written = self.write(step)
        if written is None:
            self.sent.append((None, Packet("0.0.0.0", "0.0.0.0", 0)))
            self.came.append([])
            return
        segment, packet, pieces = written
        self.sent.append((segment, packet))
        self.came.append(self.player.play(segment, pieces))

    def text(self, step):
        segment, packet = self.sent[step]
        came = "; ".join(f"{to}: {read(p)}" for to, p in self.came[step]) or "nothing"
        return f"{segment}: {packet}\n        gives {came}" if segment else "nothing to send"


# --- comparison ---

class Renaming:
    """Ports that both chose at random: the same ones, under other names."""

    def __init__(self):
        self.there, self.back = {}, {}

    def same(self, where, k, g):
        return self.there.setdefault((where, k), g) == g and self.back.setdefault((where, g), k) == k


class Comparison:
    def __init__(self, script, kernel, gateway):
        self.script, self.kernel, self.gateway = script, kernel, gateway
        self.renaming = Renaming()
        self.ranges = [rule.to.split("-") for rule in script.nat if rule.to and "-" in rule.to]
        self.chosen = set()

    def address(self, address):
        """Either of a range may be the one."""
        for first, last in self.ranges:
            if all(socket.inet_pton(socket.AF_INET6 if ":" in a else socket.AF_INET, a) <=
                   socket.inet_pton(socket.AF_INET6 if ":" in b else socket.AF_INET, b)
                   for a, b in ((first, address), (address, last))):
                return first
        return address

    def is_own(self, address):
        return address in self.script.own.values()

    def ports(self, k, g, step):
        """Compares their ports, which both must have kept, or both chosen: a text as that of packets(), or None."""
        sent = [played.sent[step][1] for played in (self.kernel, self.gateway)]
        for name, ends in (("sport", (k.src, k.dst, k.dport)), ("dport", (k.dst, k.src, k.sport))):
            a, b = getattr(k, name), getattr(g, name)
            if not self.renaming.same((k.proto, *map(self.address, ends[:2]), ends[2]), a, b):
                return f"{name} {a} and {b}"
            if name == "sport" and self.script.steps[step].packet is not None and not self.kernel.is_own_answer(step, k):
                if (a == sent[0].sport) != (b == sent[1].sport):
                    return f"port {sent[0].sport} is kept by one alone"
                if a != sent[0].sport:
                    self.chosen |= {a, b}
        return None

    def packets(self, k, g, step, own, quoted=False):
        """Compares two packets: a text that names the field in which they differ, or None."""
        names = ["proto", "kind", "param", "flags", "seq", "ack", "no_checksum"]
        if not own:
            names += ["tos", "df", "number"]
        if not own and not quoted:
            names += ["ttl", "payload"]
        for name in names:
            if getattr(k, name) != getattr(g, name):
                return f"{name} {getattr(k, name)} and {getattr(g, name)}"
        if k.faults or g.faults:
            return f"faults {k.faults} and {g.faults}"
        for a, b in ((k.src, g.src), (k.dst, g.dst)):
            if self.address(a) != self.address(b):
                return f"addresses {a} and {b}"
        return self.ports(k, g, step) or (self.packets(k.quote, g.quote, step, False, True) if k.quote else None)

    def returned(self, played, step):
        """A reply must reach the sender of the question, from the end that it asked: a text, or None."""
        s = self.script.steps[step]
        came = played.forwarded(step)
        if s.about is None or came is None:
            return None
        segment, asked = played.sent[s.about]
        to, _, p = came
        answered = p.quote if s.kind else p.changed(src=p.dst, dst=p.src, sport=p.dport, dport=p.sport)
        if p.proto in (ICMP, ICMPV6) and not s.kind:
            answered = answered.changed(sport=p.sport, dport=0)
        for name in ("src", "dst", "sport", "dport"):
            if getattr(asked, name) != getattr(answered, name):
                return f"the answer is about {answered}, not {asked}"
        return None if to == segment and p.dst == asked.src else f"the answer goes to {to}, not {segment}"

    def step(self, step):
        """Compares a step: a text that names the difference, or None."""
        came = [[(to, read(p)) for to, p in sorted(played.came[step], key=lambda c: SEGMENTS.index(c[0]))]
                for played in (self.kernel, self.gateway)]
        if [to for to, _ in came[0]] != [to for to, _ in came[1]]:
            return "other verdicts"
        sent = self.kernel.sent[step][1]
        for (_, k), (_, g) in zip(*came):
            own = k.proto != sent.proto or k.is_error and not sent.is_error or k.flags != sent.flags
            wrong = self.packets(k, g, step, own)
            if wrong is not None:
                return wrong
        for played in (self.kernel, self.gateway):
            wrong = self.returned(played, step)
            if wrong is not None:
                return f"{type(played.player).__name__}: {wrong}"
        return None


class Dice(Exception):
    """A port chosen at random is one that the script uses later: what follows may differ. Another try."""


class Lost(Exception):
    """The kernel gives nothing where the gateway does: on a busy machine it may have lost the packet. Another try, once."""


def play(script, kernel, gateway, counts, may_lose):
    """Returns the comparison, and the step where both differ with a text about it, or None and None."""
    kernel.begin(script)
    gateway.begin(script)
    played = Played(kernel), Played(gateway)
    comparison = Comparison(script, *played)
    written = {s.packet.sport for s in script.steps if s.packet is not None}
    for n, step in enumerate(script.steps):
        for p in played:
            p.play(step)
        wrong = comparison.step(n)
        known = wrong and nat_differences.find(comparison, n)
        if known:
            counts[known.name] += 1
            if known.ends:
                break
        elif wrong and may_lose and not comparison.kernel.came[n]:
            raise Lost
        elif wrong:
            return comparison, n, wrong
        if comparison.chosen & written:
            raise Dice
    return comparison, None, None


def explain(comparison, step, wrong):
    script = comparison.script
    lines = [f"script {script.number}, step {step}: {wrong}", "rules:", *(f"    {rule}" for rule in script.nat),
             f"firewall, default {script.default}:", *(f"    {rule}" for rule in script.rules), "steps:"]
    for n in range(step + 1):
        lines += [f"  {n:2} {script.steps[n]}"] + [f"      {type(p.player).__name__:8} {p.text(n)}" for p in (comparison.kernel, comparison.gateway)]
    return "\n".join(lines)


def main(folder, instance, culvertctl, kernel, kernel_stations, gateway, gateway_stations, first="0", number="300"):
    players = Kernel(kernel, kernel_stations), Gateway(gateway, gateway_stations, folder, instance, culvertctl)
    counts, different = collections.Counter(), 0
    for n in range(int(first), int(first) + int(number)):
        may_lose = True
        for _ in range(9):
            script = Author(n, counts["scripts"] + counts["repeated"]).script()
            try:
                comparison, step, wrong = play(script, *players, counts, may_lose)
                break
            except Dice:
                counts["repeated"] += 1
            except Lost:
                counts["repeated"] += 1
                may_lose = False
        if step is not None:
            print(explain(comparison, step, wrong))
            different += 1
        counts["scripts"] += 1
        counts["steps"] += len(comparison.kernel.came)
        counts["steps that gave nothing"] += comparison.kernel.came.count([])
        counts["ports chosen"] += len(comparison.chosen)
    print(*(f"{n} {what}" for what, n in counts.items()), sep=", ")
    sys.exit(different > 0)


main(*sys.argv[1:])
