# SPDX-License-Identifier: BSD-3-Clause
"""Random sequences of what changes a gateway: requests of operators, reloads of changed files, requests of an IKE daemon,
and packets in between. Each step is a request or frames; a sequence begins with the same configuration and depends on
its seed alone."""
import random

import packets
import settings as make

# No flow expires.
FLOWS = """flows = { max = 20000; timeouts = { udp = "10h"; udp_stream = "10h"; icmp = "10h"; generic = "10h";
  tcp_syn_sent = "10h"; tcp_syn_recv = "10h"; tcp_picked_up = "10h"; tcp_fin_wait = "10h"; tcp_close_wait = "10h";
  tcp_last_ack = "10h"; tcp_time_wait = "10h"; tcp_close = "10h"; }; };"""
BASE = """
instance = "same"; state_dir = "/mnt/state"; cpus = { control = 0; workers = [ 1 ]; };
idle = "sleep"; memory = { size = 128; hugepages = false; }; audit = "none";
""" + FLOWS + """
ports = (
  { name = "lan"; device = "net_af_packet0,iface=lan0"; addresses = [ "10.1.0.1/24" ]; },
  { name = "wan"; side = "unprotected"; device = "net_af_packet1,iface=wan0"; addresses = [ "192.0.2.1/24" ]; } );
"""
# The start of each sequence. Without these neighbours and the default route, packets would wait for answers.
FIXED = {"neighbour": [f'{{ address = "{address}"; mac = "02:00:00:00:02:0{port}"; {more} }}' for address, port, more in (
    ("192.0.2.254", 2, ""), ("192.0.2.2", 2, ""), ("192.0.2.3", 2, ""), ("10.1.0.254", 1, ""), ("10.1.0.2", 1, ""))],
         "route": ['{ to = "0.0.0.0/0"; via = "192.0.2.254"; }', '{ to = "10.1.0.0/28"; via = "10.1.0.254"; }',
                   '{ to = "10.1.0.128/28"; via = "10.1.0.254"; }'],
         "policy": ['{ name = "rest"; action = "bypass"; }'], "rule": [], "sa": []}
PLURAL = {"neighbour": "neighbours", "route": "routes", "policy": "policies", "rule": "rules", "sa": "sas"}


def file_text(objects):
    """objects: by kind, as text."""
    return BASE + "".join(f"{PLURAL[kind]} = (\n  " + ",\n  ".join(objects[kind]) + "\n);\n" for kind in make.KINDS)


def random_file(r):
    objects = {kind: list(FIXED[kind]) for kind in make.KINDS}
    for kind in make.KINDS:
        for i in range(r.randrange(5)):
            item = make.maybe_wrong(r, make.braces(make.MAKERS[kind](r, f"{kind[0]}{i}")))
            objects[kind].insert(0, item)
    return file_text(objects)


def one_change(r, names):
    kind = r.choice(("sa", "sa", "policy", "policy", "rule", "route", "neighbour"))
    verb = r.choice(("add", "add", "add", "set", "del"))
    name = names.new(kind) if verb == "add" else names.old(kind)
    place = ""
    if kind in ("policy", "rule") and r.random() < 0.6:
        place = r.choice((" first", " first", " before rest" if kind == "policy" else " last", " before " + names.old(kind),
                          " after " + names.old(kind), " last"))
    made = make.MAKERS[kind](r, name)
    if verb == "add":
        names.add(kind, made)
        return make.maybe_wrong(r, f"{kind} add{place} {make.braces(made)}")
    if verb == "del":
        names.known[kind].discard(name)
        return make.maybe_wrong(r, f"{kind} del {name}")
    chosen = r.sample(list(made), r.randint(1, min(3, len(made))))
    return make.maybe_wrong(r, f"{kind} set{place if r.random() < 0.3 else ''} {name} " +
                       make.braces({s: made[s] for s in chosen if s != "name" or r.random() < 0.1}))


def tunnel(r, names):
    """A whole tunnel, so that many sequences have one that works; packets.py knows its keys."""
    n = r.randrange(4)
    direction = {0: "in", 1: "out"}
    pair = [{"name": f"s{2 * n + i}", "direction": direction[i], "spi": f"0x{0x1001 + 2 * n + i:x}", "local": "192.0.2.1",
             "remote": "192.0.2.254", "cipher": "null", "auth": "hmac-sha1-96", "auth_key": make.key(r, 20, 2 * n + i)}
            for i in (0, 1)]
    policy = {"name": f"p{n}", "action": "protect", "local": "10.1.0.0/24", "remote": f"10.{2 + n}.0.0/16",
              "out": f"s{2 * n + 1}", "in": f"s{2 * n}"}
    for kind, made in (("sa", pair[0]), ("sa", pair[1]), ("policy", policy)):
        names.add(kind, made)
    return f"sa add {make.braces(pair[0])}\nsa add {make.braces(pair[1])}\npolicy add first {make.braces(policy)}"


def change(r, names):
    lines = tunnel(r, names) if r.random() < 0.3 else \
        "\n".join(one_change(r, names) for _ in range(r.choice((1, 1, 1, 1, 2, 2, 5))))
    return f"{r.choice(('', 'new-keys '))}change same\n{lines}\n"


def ike_change(r, known):
    """known: kind and name of what was probably added."""
    if r.random() < 0.06:
        return r.choice((f"spi add 0x{r.randint(0x1101, 0x1140):x}", f"spi del 0x{r.randint(0x1101, 0x1140):x}"))
    if known and r.random() < 0.35:
        kind, name = r.choice(sorted(known))
        if kind == "sa" and r.random() < 0.5:
            return make.maybe_wrong(r, f"sa set {name} " + make.braces(make.some(r, 0.5, {
                "remote": r.choice(make.ENDS), "late": r.random() < 0.5, "local": "192.0.2.1", "udp": {"remote_port": 1024}})))
        known.discard((kind, name))
        return make.maybe_wrong(r, f"{kind} del {name}")
    name = f"ike.{r.choice('xyz')}.{r.randrange(4)}"
    number = {"reqid": r.randint(1, 2)} | make.some(r, 0.2, {"peer_id": r.randrange(3)})
    kind = r.choice(("sa", "policy"))
    if kind == "sa":
        made = make.sa(r, name, number)
        made["spi"] = f"0x{int(made['spi'], 16) + 0x100 + r.randrange(4) * 16:x}"
        made |= make.some(r, 0.1, {"late": True})
    else:
        made = make.policy(r, name, number)
        made = {"local": "10.1.0.0/24", "remote": "10.2.0.0/24"} | made | \
            make.some(r, 0.4, {"priority": r.randrange(3)}) | make.some(r, 0.1, {"trap": True})
    known.add((kind, name))
    return make.maybe_wrong(r, f"{kind} add {make.braces(made)}")


def ike(r, known):
    lines = ["flush"] if r.random() < 0.05 else [ike_change(r, known) for _ in range(r.choice((1, 1, 2, 3)))]
    return "ike charon\n" + "\n".join(lines) + "\n"


def step(r, names, known):
    """(kind, text or frames)"""
    chance = r.random()
    if chance < 0.42:
        return "request", change(r, names)
    if chance < 0.66:
        return "request", ike(r, known)
    if chance < 0.72:
        return "file", random_file(r)
    if chance < 0.82:
        return "request", r.choice(("", "new-keys ")) + r.choice(("reload", "reload discard"))
    if chance < 0.88:
        return "request", r.choice(("diff", "save", "config", "flush-neighbours address=10.1.0.0/24", "nothing"))
    return "frames", packets.some(r)


def sequence(seed, number):
    r = random.Random(f"{seed} {number}")
    r.salt = f"{seed} {number}"
    names, known = make.Names(r), set()
    return [step(r, names, known) for _ in range(r.randint(3, 10))]
