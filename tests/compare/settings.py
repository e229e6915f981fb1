# SPDX-License-Identifier: BSD-3-Clause
"""Random settings of a gateway's objects, as text: good ones mostly, and some that must be refused. Names, addresses and
keys are few, so that changes meet each other's objects."""
import hashlib

KEY_OCTETS = {"null": 0, "aes-128-cbc": 16, "aes-256-cbc": 32, "aes-128-ctr": 20, "aes-128-gcm": 20,
              "aes-256-gcm-12": 36, "aes-128-gmac": 20, "chacha20-poly1305": 36}
AUTH_OCTETS = {"none": 0, "hmac-sha1-96": 20, "hmac-sha2-256-128": 32, "hmac-sha2-512-256": 64}
AEAD = ("gcm", "gmac", "poly1305")

LOCAL = ("10.1.0.0/24", "10.1.0.0/25", "10.1.0.2/32", "10.1.0.128/25", "10.9.0.0/16", "2001:db8:1::/64", "0.0.0.0/0")
REMOTE = ("10.2.0.0/24", "10.2.0.0/25", "10.2.0.128/25", "10.3.0.0/16", "10.2.0.2/32", "2001:db8:2::/64", "0.0.0.0/0")
ENDS = ("192.0.2.2", "192.0.2.3", "198.51.100.7")
PROTOS = ("tcp", "udp", "icmp", "any", "47")
STATES = ("new", "established", "related", "invalid")
KINDS = ("sa", "policy", "rule", "route", "neighbour")


def text(value):
    """A value as libconfig has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return braces(value)
    if isinstance(value, (list, tuple)):
        return "[ " + ", ".join(map(text, value)) + " ]"
    return str(value) if isinstance(value, int) else f'"{value}"'


def braces(settings):
    return "{ " + "".join(f"{name} = {text(value)}; " for name, value in settings.items()) + "}"


def key(r, octets, number):
    """Keys of a sequence by number: two SAs of one number share theirs, which is refused where it would be unsafe. Those
    of other sequences are others, as a gateway remembers their sequence numbers."""
    return hashlib.shake_128(f"{r.salt} {number}".encode()).hexdigest(octets)


def some(r, chance, settings):
    """Each of the settings with that chance."""
    return {name: value for name, value in settings.items() if r.random() < chance}


def _options_sa(r, direction):
    options = {"esn": r.random() < 0.5, "lifetime": some(r, 0.6, {
        "hard_packets": r.choice((1000, "2M")), "soft_packets": 500, "hard_bytes": "5G", "hard_seconds": "9h"})}
    if direction == "in":
        return options | {"replay_window": r.choice((0, 32, 64, 1024)), "dscp": "copy"}
    return options | {"df": r.choice(("copy", "set", "clear")), "fragment": r.choice(("before", "after")),
                      "dscp": r.choice(("copy", "ef", 0)), "ecn": r.random() < 0.5, "ttl": r.choice((1, 32, 255)),
                      "tfc": some(r, 0.5, {"pad": r.choice((128, "mtu"))})}


def _udp(r, direction):
    own = {"local_port": r.choice((4500, 4501))}
    peers = {"remote_port": r.choice((4500, 1025)), "follow": True} if direction == "out" else {}
    return some(r, 0.4, own | peers) | ({"keepalive": 0} if direction == "out" else {})


def sa(r, name, extra=None):
    number = int(name[1]) if name[1:].isdigit() and r.random() < 0.9 else r.randrange(8)
    direction = "out" if number % 2 else "in"
    cipher = r.choice(("null", "null", "null", *KEY_OCTETS))
    auth = "none" if cipher.rsplit("-", 1)[-1] in AEAD or "gcm" in cipher else r.choice(list(AUTH_OCTETS)[1:])
    settings = {"name": name, "direction": direction, "spi": f"0x{0x1001 + number:x}", "local": "192.0.2.1",
                "remote": r.choice((ENDS[0], *ENDS)), "cipher": cipher, "auth": auth}
    settings |= {"cipher_key": key(r, KEY_OCTETS[cipher], r.choice((number, number, r.randrange(8))))} if KEY_OCTETS[cipher] else {}
    settings |= {"auth_key": key(r, AUTH_OCTETS[auth], number)} if AUTH_OCTETS[auth] else {}
    settings |= some(r, 0.15, _options_sa(r, direction)) | (extra or {})
    if r.random() < 0.25:
        settings["udp"] = _udp(r, direction)
    if r.random() < 0.03:
        settings |= {"mode": "transport"}
    return settings


def selectors(r, source, destination, prefix_chance=0.8):
    found = some(r, prefix_chance, {source[0]: r.choice(LOCAL), destination[0]: r.choice(REMOTE)})
    if r.random() < 0.4:
        found["proto"] = r.choice(PROTOS)
        if found["proto"] in ("tcp", "udp"):
            found |= some(r, 0.4, {source[1]: r.choice(("53", "1000-2000")), destination[1]: r.choice(("53", "7"))})
        if found["proto"] == "icmp":
            found |= some(r, 0.4, {source[2]: r.choice(("8", "none", "3/0-4"))})
    return found


def policy(r, name, extra=None):
    action = r.choice(("protect", "protect", "protect", "bypass", "discard"))
    settings = {"name": name, "action": action}
    settings |= selectors(r, ("local", "local_port", "local_icmp"), ("remote", "remote_port", "remote_icmp"))
    if action == "protect":
        settings |= extra if extra is not None else \
            {"out": r.choice(("s1", "s1", "s1", "s3", "s5", "s0")),
             "in": r.choice(("s0", "s0", "s0", "s2", ["s0", "s2"], "s4", "s1"))}
        settings |= some(r, 0.1, {"icmp_errors": "trust", "mss_clamp": r.choice(("auto", 1200)),
                                  "probe": {"address": "10.2.0.2", "interval": 3600}})
    return settings


def rule(r, name):
    return {"name": name, "action": r.choice(("accept", "drop", "reject"))} | \
        selectors(r, ("source", "source_port", "icmp"), ("destination", "destination_port", "icmp")) | \
        some(r, 0.15, {"in": r.choice(("lan", "wan", "lam")), "out": r.choice(("wan", "lan")), "log": True,
                       "tunnel": r.choice(("p0", "p1", "s1", "s0")), "state": r.sample(STATES, r.randint(1, 3))})


def route(r, _name=None):
    return {"to": r.choice(("10.2.0.0/24", "10.3.0.0/16", "198.51.100.0/24", "0.0.0.0/0", "10.2.0.128/25", "203.0.113.0/24")),
            "via": r.choice(("192.0.2.2", "192.0.2.3", "10.1.0.2", "198.51.100.1"))} | \
        some(r, 0.1, {"source": r.choice(("192.0.2.1", "10.1.0.1", "192.0.2.9")), "port": r.choice(("wan", "lan"))})


def neighbour(r, _name=None):
    return {"address": r.choice(("192.0.2.4", "192.0.2.4", "192.0.2.5", "10.1.0.9", "10.1.0.9", "10.7.0.1")),
            "mac": r.choice(("02:00:00:00:02:01", "02:00:00:00:02:02", "02:00:00:00:02:09", "03:00:00:00:00:01"))} | \
        some(r, 0.05, {"port": r.choice(("wan", "lan"))})


MAKERS = {"sa": sa, "policy": policy, "rule": rule, "route": route, "neighbour": neighbour}


class Names:
    """The objects that a sequence has probably made so far, so that most changes are about objects that are there."""

    def __init__(self, r):
        self.r = r
        self.known = {kind: set() for kind in KINDS}

    def new(self, kind):
        free = sorted({kind[0] + str(i) for i in range(6)} - self.known[kind])
        return self.r.choice(free) if free and self.r.random() < 0.9 else kind[0] + str(self.r.randrange(6))

    def add(self, kind, made):
        self.known[kind].add(self.called(kind, made))

    def old(self, kind):
        """As changes name an object of the kind."""
        if self.known[kind] and self.r.random() < 0.9:
            return self.r.choice(sorted(self.known[kind]))
        return self.called(kind, MAKERS[kind](self.r, kind[0] + str(self.r.randrange(6))))

    @staticmethod
    def called(kind, made):
        if kind == "route":
            return made["to"] + (f" source {made['source']}" if "source" in made else "")
        if kind == "neighbour":
            return made["address"] + (f" port {made['port']}" if "port" in made else "")
        return made["name"]


def maybe_wrong(r, words):
    """Sometimes what must be refused."""
    if r.random() > 0.03:
        return words
    return r.choice((words.replace("=", "", 1), words[:-1], words + " }", words.replace("name", "name2"),
                     words.replace("{", "{ nothing = 1;", 1), words.replace('"', "", 1), words.replace("0x", "0y"),
                     words.replace("add", "ad"), words.replace(";", "; ttl = 256;", 1), "# " + words, words + "\n" + words))
