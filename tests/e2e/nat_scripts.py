# SPDX-License-Identifier: BSD-3-Clause
"""Scripts of the test nat: rules of translation and of the firewall, and who sends what. Each is made from a
number, which gives the same script always.

  10.64.0.0/10 -- lan [router] wan -- 0.0.0.0/0: servers 100.64.0.0/11
                       dmz
                        |
                  10.128.0.0/10

Packets that come out are not written down: a reply or an error is about the packet that came out of an earlier step,
with any ports. But a reply must reach the end that sent the packet, as from the end that it was sent to."""
import dataclasses
import ipaddress
import random

from nat_packets import ACK, ESP, FIN, GRE, ICMP, ICMPV6, OTHER, PSH, RST, SCTP, SYN, TCP, UDP, Packet

SEGMENTS = ("lan", "wan", "dmz")


def places(family, n):
    """Prefixes of the n-th script: of the hosts, of addresses that only rules know, and of the router itself. No
    two scripts meet in the tables."""
    if family == 6:
        return {"lan": f"fd00:1:{n:x}::", "dmz": f"fd00:3:{n:x}::", "wan": f"2001:db8:100:{n:x}::",
                "outer": f"2001:db8:113:{n:x}::", "mapped": f"fd00:16:{n:x}::", "routers": "2001:db8:18::",
                "own_lan": "2001:db8:a1::", "own_wan": "2001:db8:2::", "own_dmz": "2001:db8:a3::"}
    def octets(first):
        return f"{first + n // 256}.{n % 256}."
    return {"lan": "10." + octets(64), "dmz": "10." + octets(128), "wan": "100." + octets(64), "outer": "100." + octets(96),
            "mapped": "10." + octets(192), "routers": "198.18.0.", "own_lan": "10.0.1.", "own_wan": "192.0.2.", "own_dmz": "10.0.3."}


LENGTH = {4: {"host": 32, "net": 24, "quarter": 30}, 6: {"host": 128, "net": 64, "quarter": 126}}
CLIENT_PORTS = (20001, 20002, 700)
IDENTIFIERS = (7, 8)
SERVICES = (53, 80, 443)
FORWARDED = (8000, 8007)  # ports of the outer address
SMALL, LARGE = (61000, 61002), (61000, 61999)


@dataclasses.dataclass
class Rule:
    """Of the list nat; with an action of the firewall, of the list rules."""
    action: str
    source: str = None
    destination: str = None
    proto: int = None
    destination_port: tuple = None
    in_port: str = None
    out_port: str = None
    to: str = None
    to_port: tuple = None
    end: str = None  # that is translated

    def __str__(self):
        return " ".join(f"{f.name}={getattr(self, f.name)}" for f in dataclasses.fields(self) if getattr(self, f.name) is not None)


def _covers(a, b):
    """Whether a rule matches all that another one does."""
    def within(x, y):
        return x is None or y is not None and ipaddress.ip_network(y).subnet_of(ipaddress.ip_network(x))
    return within(a.source, b.source) and within(a.destination, b.destination) and \
        all(getattr(a, f) in (None, getattr(b, f)) for f in ("proto", "destination_port", "in_port", "out_port"))


def without_covered(rules):
    """The rules that can match: configurations with others are refused."""
    kept = []
    for rule in rules:
        if not any(a.end in (None, rule.end) and _covers(a, rule) for a in kept):
            kept.append(rule)
    return kept


@dataclasses.dataclass
class Step:
    port: str = None  # that a packet is sent to; none: where that came out which this one is about
    packet: Packet = None
    about: int = None  # step
    changes: dict = dataclasses.field(default_factory=dict)  # of the reply
    kind: tuple = None  # type and code of an error instead of a reply
    param: int = 0
    router: str = None  # that sends the error; none: the destination
    quoted: int = None  # octets that it quotes; none: all
    room: int = None  # octets in a fragment

    def __str__(self):
        if self.packet is not None:
            return f"to {self.port}: {self.packet}" + f" in fragments of {self.room}" * (self.room is not None)
        if self.kind is not None:
            return f"error {self.kind} {self.param} by {self.router or 'its destination'} about what came of step {self.about}"
        return f"reply to what came of step {self.about} {self.changes}"


@dataclasses.dataclass
class Script:
    number: int
    family: int
    nat: list
    rules: list
    default: str
    steps: list
    own: dict  # addresses of the router, by segment


class Author:
    def __init__(self, number, place):
        self.r = random.Random(number)
        self.number = number
        self.family = 6 if number % 3 == 2 else 4
        self.places = places(self.family, place)
        self.nat, self.rules, self.default, self.steps = [], [], "accept", []
        self.names = 0
        self.distinct = False  # no two clients send from the same port
        self.used = 0
        self.connections = set()

    def at(self, place, n):
        return f"{self.places[place]}{n if self.family == 4 else format(n, 'x')}"

    def net(self, place, n=0, length="net"):
        return f"{self.at(place, n) if n or self.family == 4 else self.places[place]}/{LENGTH[self.family][length]}"

    def some(self, *choices):
        return self.r.choice(choices)

    # Rules

    def masquerade(self):
        proto = self.some(None, None, None, TCP, UDP)
        self.nat.append(Rule("source", end="source", source=self.some(self.net("lan"), self.net("lan"), None, self.net("lan", 10, "host")),
                             out_port="wan", proto=proto, to="port",
                             to_port=self.some(None, SMALL, LARGE) if proto else None))

    def source(self):
        one = self.r.random() < 0.5
        first, last = self.at("outer", 8), self.at("outer", 8 if one else 11)
        self.distinct = self.distinct or not one
        proto = self.some(None, None, UDP)
        self.nat.append(Rule("source", end="source", source=self.net("lan"), destination=self.some(None, self.net("wan")), out_port="wan",
                             proto=proto, to=first if one else f"{first}-{last}", to_port=self.some(None, LARGE) if proto else None))

    def netmap(self):
        self.nat.append(Rule("netmap", source=self.net("lan"), destination=self.some(None, self.net("wan"), self.net("wan", 16, "quarter")),
                             to=self.net("mapped"), end="source"))
        if self.r.random() < 0.8:
            self.nat.append(Rule("netmap", destination=self.net("mapped"), source=self.some(None, self.net("wan"), self.net("wan", 16, "quarter")),
                                 to=self.net("lan"), end="destination"))

    def forwarding(self):
        proto = self.some(TCP, UDP)
        to = self.some(self.at("lan", 5), self.at("dmz", 5))
        ports = self.some((FORWARDED[0],) * 2, FORWARDED)
        new = self.some(None, (80, 80), (80, 80) if ports[0] == ports[1] else (9000, 9007))
        outer = self.some(self.at("own_wan", 1), self.at("outer", 20))
        hairpin = self.r.random() < 0.6
        self.nat.append(Rule("destination", end="destination", destination=outer, proto=proto, destination_port=ports, to=to, to_port=new,
                             in_port=None if hairpin else "wan"))
        if hairpin:
            self.nat.append(Rule("source", end="source", source=self.net("lan"), destination=to, to="port"))
        if self.r.random() < 0.3: # a whole address
            self.nat.append(Rule("destination", end="destination", destination=self.at("outer", 21), to=self.at("dmz", 6)))

    def accept(self):
        self.nat.insert(0, self.some(
            Rule("accept", source=self.net("lan", 11, "host")), Rule("accept", destination=self.net("wan", 17, "host")),
            Rule("accept", proto=UDP, destination_port=(53, 53)), Rule("accept", out_port="wan", source=self.net("lan", 12, "host"))))

    def firewall(self):
        """They see the destination translated and the source not."""
        self.default = self.some("drop", "drop", "reject")
        self.rules = [Rule("accept", source=self.net("lan"), out_port="wan"), Rule("accept", destination=self.net("lan", 5, "host")),
                      Rule("accept", source=self.net("lan"), in_port="lan", out_port="lan")]
        self.rules.insert(self.r.randrange(3), self.some(
            Rule("reject", source=self.net("lan", 12, "host")), Rule("drop", proto=UDP, destination_port=(443, 443)),
            Rule("reject", proto=TCP, destination_port=(80, 80)), Rule("accept", destination=self.net("dmz", 5, "host"), proto=TCP),
            Rule("reject", destination=self.net("wan", 18, "host"))))

    # Packets

    def client_port(self):
        self.used += 1
        return 20000 + self.used if self.distinct else self.some(*CLIENT_PORTS)

    def ends(self):
        """Where a connection begins, and both ends of it, with a service that makes sense there."""
        lan, server = self.at("lan", self.some(10, 10, 11, 12, 5)), self.at("wan", self.some(16, 17, 18))
        outer = self.some(self.at("own_wan", 1), self.at("outer", 20), self.at("outer", 20))
        forwarded = self.r.randint(*FORWARDED) if self.r.random() < 0.4 else FORWARDED[0]
        return self.some(*[("lan", lan, server, self.some(*SERVICES))] * 6,
                         ("dmz", self.at("dmz", 5), server, 53), ("wan", self.at("outer", 8), server, 53), ("lan", lan, self.at("dmz", 5), 80),
                         *[("wan", server, outer, forwarded)] * (3 if self.forwards() else 1),
                         *[("lan", lan, outer, forwarded)] * (2 if self.forwards() else 0),
                         ("wan", server, self.at("mapped", self.some(10, 11)), self.some(*SERVICES)),
                         ("wan", server, lan, self.some(*SERVICES)), ("wan", server, self.at("outer", 21), 80),
                         ("lan", lan, self.at("own_lan", 1), 53))

    def forwards(self):
        return any(rule.action == "destination" for rule in self.nat)

    def add(self, **fields):
        self.steps.append(Step(**fields))
        return len(self.steps) - 1

    def send(self, port, packet, **fields):
        return self.add(port=port, packet=packet.changed(number=len(self.steps) + 1), **fields)

    def reply(self, about, **changes):
        return self.add(about=about, changes={"number": 1000 + len(self.steps), "payload": b"reply", **changes})

    def udp(self, **fields):
        port, src, dst, service = self.ends()
        p = Packet(src, dst, UDP, self.client_port(), service, payload=b"question" * self.some(1, 3), **fields)
        at = self.send(port, p)
        for _ in range(self.r.randrange(3)):
            self.some(lambda: self.reply(at, **({"no_checksum": True} if p.no_checksum else {})), lambda: self.send(port, p))()

    def unchecked(self):
        if self.family == 4:
            self.udp(no_checksum=True)

    def ping(self):
        port, src, dst, _ = self.ends()
        proto, kind = (ICMP, (8, 0)) if self.family == 4 else (ICMPV6, (128, 0))
        p = Packet(src, dst, proto, 100 + self.client_port() if self.distinct else self.some(*IDENTIFIERS), kind=kind,
                   param=1, payload=b"ping" * 3)
        at = self.send(port, p)
        if self.r.random() < 0.8:
            self.reply(at, payload=p.payload, param=1)
        if self.r.random() < 0.5:
            at = self.send(port, p.changed(param=2))
            self.reply(at, payload=p.payload, param=2)

    def tcp(self):
        """A connection, or the begin of one, and how it ends."""
        port, src, dst, service = self.ends()
        mine, theirs = self.r.randrange(1 << 30), self.r.randrange(1 << 30)
        p = Packet(src, dst, TCP, self.client_port(), service, flags=SYN, seq=mine)
        if (src, p.sport, dst) in self.connections:
            return
        self.connections.add((src, p.sport, dst))
        at = self.send(port, p)
        p = p.changed(flags=ACK, seq=mine + 1, ack=theirs + 1)
        theirs += 1
        end = self.some("refused", "syn", "open", "data", "data", "fin", "reset", "reset by peer")
        if end == "refused":
            self.reply(at, flags=RST | ACK, seq=0, ack=mine + 1, payload=b"")
        if end in ("refused", "syn"):
            return
        self.reply(at, flags=SYN | ACK, seq=theirs - 1, ack=mine + 1, payload=b"")
        self.send(port, p)
        if end == "open":
            return
        self.send(port, p.changed(flags=ACK | PSH, payload=b"GET /"))
        self.reply(at, flags=ACK | PSH, seq=theirs, ack=mine + 6, payload=b"200 OK")
        p = p.changed(seq=mine + 6, ack=theirs + 6)
        if end == "fin":
            self.send(port, p.changed(flags=FIN | ACK))
            self.reply(at, flags=FIN | ACK, seq=theirs + 6, ack=mine + 7, payload=b"")
            self.send(port, p.changed(seq=mine + 7, ack=theirs + 7))
        if end == "reset":
            self.send(port, p.changed(flags=RST | ACK))
        if end == "reset by peer":
            self.reply(at, flags=RST | ACK, seq=theirs + 6, ack=mine + 6, payload=b"")

    def unknown(self):
        port, src, dst, service = self.ends()
        if dst in (self.at("own_lan", 1), self.at("own_wan", 1)):
            return
        proto = self.some(ESP, GRE, SCTP, OTHER)
        payload = b"\x00\x00\x10\x01" + b"\0\0\0\1" + b"sealed text."
        fields = {}
        if proto == GRE:
            payload = b"\0\0\x08\0" + b"inner packet"
        if proto == SCTP:  # INIT
            fields = {"sport": self.client_port(), "dport": service}
            payload = b"\1\0\0\x14" + b"\0\0\0\1" + b"\0\0\x40\0" + b"\0\1\0\1" + b"\0\0\0\1"
        at = self.send(port, Packet(src, dst, proto, payload=payload, **fields))
        if proto != SCTP and self.r.random() < 0.6:
            self.reply(at, payload=payload)

    def fragments(self):
        """What fits whole, and what the next link takes in fragments again."""
        port, src, dst, service = self.ends()
        p = Packet(src, dst, UDP, self.client_port(), service, payload=bytes(range(200)) * self.some(5, 7))
        at = self.send(port, p, room=self.some(504, 1000))
        if self.r.random() < 0.6:
            self.add(about=at, changes={"payload": bytes(range(250)) * 5, "number": 1000 + at}, room=self.some(400, 800))

    def large(self):
        """Larger than the MTU of the WAN: an error says so."""
        port, src, dst, service = self.ends()
        if port == "wan":
            return
        p = Packet(src, dst, UDP, self.client_port(), service, payload=bytes(1420), df=self.family == 4)
        self.send(port, p)
        self.send(port, p.changed(payload=b"smaller"))

    def expires(self):
        """A probe of traceroute, of a known connection or of none, in either direction."""
        port, src, dst, service = self.ends()
        p = Packet(src, dst, UDP, self.client_port(), service, payload=b"probe")
        if self.r.random() < 0.5:
            self.send(port, p.changed(ttl=1))
            return
        at = self.send(port, p)
        self.send(port, p.changed(ttl=1))
        self.reply(at, ttl=1)

    def error(self):
        """About something that came out: by a router, by the end itself, with a long quote or a short one."""
        if not self.steps:
            return
        at = self.r.randrange(len(self.steps))
        step = self.steps[at]
        if step.kind is not None or step.room is not None:
            return
        kinds = [((3, 1), 0), ((3, 3), 0), ((3, 4), 1300), ((11, 0), 0)] if self.family == 4 else \
            [((1, 0), 0), ((1, 4), 0), ((2, 0), 1300), ((3, 0), 0)]
        kind, param = self.some(*kinds)
        self.add(about=at, kind=kind, param=param, router=self.some(None, self.at("routers", 3)),
                 quoted=self.some(None, None, (20 if self.family == 4 else 40) + 8))

    def stray(self):
        """What nobody asked for: for ports that are not in use, errors about nothing, segments of no connection."""
        server, own = self.at("wan", 16), self.some(self.at("own_wan", 1), self.at("outer", 8), self.at("mapped", 10))
        lan = self.at("lan", 10)
        self.some(
            lambda: self.send("wan", Packet(server, own, UDP, 53, self.some(*CLIENT_PORTS, 61001), payload=b"stray")),
            lambda: self.send("wan", Packet(server, own, TCP, 80, 20003, flags=ACK, seq=77, ack=78)),
            lambda: self.send("lan", Packet(lan, server, TCP, 20009, 80, flags=RST, seq=77)),
            lambda: self.send("wan", Packet(server, lan, TCP, 80, 20009, flags=SYN | ACK, seq=77, ack=78)),
            lambda: self.send("wan", Packet(server, lan, ICMP, 9, kind=(0, 0)) if self.family == 4 else
                              Packet(server, lan, ICMPV6, 9, kind=(129, 0))))()

    def unasked(self):
        """A packet from outside that would be a reply if the connection were not translated."""
        asked = [s.packet for s in self.steps if s.port == "lan" and s.packet.proto == UDP and s.packet.dst.startswith(self.places["wan"])]
        if asked:
            p = self.r.choice(asked)
            self.send("wan", Packet(p.dst, p.src, UDP, p.dport, p.sport, payload=b"unasked"))

    def script(self):
        for part in self.r.sample((self.masquerade, self.source, self.netmap, self.forwarding), self.some(1, 1, 2)):
            part()
        if self.r.random() < 0.3:
            self.accept()
        if self.r.random() < 0.3:
            self.firewall()
        self.nat, self.rules = without_covered(self.nat), without_covered(self.rules)
        acts = [self.udp] * 4 + [self.tcp] * 4 + [self.ping] * 2 + [self.error] * 4 + \
            [self.unchecked, self.unknown, self.fragments, self.large, self.expires, self.stray, self.unasked]
        while len(self.steps) < 20:
            self.r.choice(acts)()
        return Script(self.number, self.family, self.nat, self.rules, self.default, self.steps,
                      {segment: self.at("own_" + segment, 1) for segment in SEGMENTS})
