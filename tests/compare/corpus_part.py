# SPDX-License-Identifier: BSD-3-Clause
"""Gives two gateways the inputs of the fuzz corpora: as frames of either port, IP packets and text that a peer has sealed, as
requests for the control socket and questions for telemetry, and as files of sequence numbers. Compares frames, answers,
drops, lines of the log and all lists."""
import os
import struct
import time

import config_part
import normal
import packets
from builds import ROOT
from gateway import MACS
from pair import LISTS, Pair, differences
from sequences import FLOWS

CORPUS = os.path.join(ROOT, "tests/fuzz/corpus")
PACKETS = ("frame", "inner", "ipv6", "sequence", "transport")
START_S = 3  # until addresses of IPv6 are used
KEY = bytes(range(20))
SPI = 0x1002
SITE = """
instance = "same"; state_dir = "/mnt/state"; cpus = { control = 0; workers = [ 1 ]; };
idle = "sleep"; memory = { size = 128; hugepages = false; }; audit = "none";
""" + FLOWS + """
ports = (
  { name = "lan"; device = "net_af_packet0,iface=lan0"; addresses = [ "10.1.0.1/24", "2001:db8:1::1/64" ]; },
  { name = "wan"; device = "net_af_packet1,iface=wan0"; addresses = [ "192.0.2.1/24", "2001:db8:f::1/64" ]; mtu = 1280; } );
routes = ( { to = "10.2.0.0/24"; via = "192.0.2.2"; }, { to = "10.3.0.0/24"; via = "192.0.2.3"; },
           { to = "2001:db8:2::/64"; via = "2001:db8:f::2"; }, { to = "198.51.100.0/24"; via = "192.0.2.254"; } );
neighbours = ( { address = "10.1.0.5"; mac = "02:00:00:00:02:01"; }, { address = "192.0.2.2"; mac = "02:00:00:00:02:02"; },
  { address = "192.0.2.3"; mac = "02:00:00:00:02:02"; }, { address = "192.0.2.254"; mac = "02:00:00:00:02:02"; },
  { address = "2001:db8:1::5"; mac = "02:00:00:00:02:01"; }, { address = "2001:db8:f::2"; mac = "02:00:00:00:02:02"; } );
sas = (
  { name = "to-b"; direction = "out"; spi = "0x1001"; local = "192.0.2.1"; remote = "192.0.2.2"; cipher = "null";
    auth = "hmac-sha1-96"; auth_key = "1101020304050607080910111213141516171819"; df = "clear"; fragment = "after"; },
  { name = "from-b"; direction = "in"; spi = "0x1002"; local = "192.0.2.1"; remote = "192.0.2.2"; cipher = "null";
    auth = "hmac-sha1-96"; auth_key = "%s"; } );
policies = (
  { name = "b"; local = "10.1.0.0/24"; remote = "10.2.0.0/24"; action = "protect"; out = "to-b"; in = "from-b"; mss_clamp = "auto"; },
  { name = "b6"; local = "2001:db8:1::/64"; remote = "2001:db8:2::/64"; action = "protect"; out = "to-b"; in = "from-b"; },
  { name = "a"; remote = "10.3.0.0/24"; action = "bypass"; }, { name = "last"; action = "discard"; } );
icmp = { errors_in_clear = [ "unreachable", "time_exceeded" ]; };
""".replace("%s", KEY.hex())


def files(name):
    """Names and octets of a corpus."""
    folder = os.path.join(CORPUS, name)
    for file_name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, file_name), "rb") as file:
            yield f"{name}/{file_name}", file.read()


def _corrected(packet):
    """An IP packet with the length and, of IPv4, the checksum that it must have."""
    if packet[:1] and packet[0] >> 4 == 6 and len(packet) >= 40:
        return packet[:4] + struct.pack("!H", len(packet) - 40) + packet[6:], 0x86dd
    header_len = (packet[0] & 15) * 4 if packet else 0
    if len(packet) >= 20 <= header_len <= len(packet):
        packet = packet[:2] + struct.pack("!H", len(packet)) + packet[4:10] + b"\0\0" + packet[12:]
        packet = packet[:10] + struct.pack("!H", packets.checksum(packet[:header_len])) + packet[12:]
    return packet, 0x0800


def _records(octets):
    """Of the corpus frame: how it is received, its length, the frame."""
    while len(octets) >= 3:
        how, length = octets[0], struct.unpack("!H", octets[1:3])[0] % 2040 + 1
        frame, octets = octets[3:3 + length], octets[3 + length:]
        port = "wan" if how & 1 else "lan"
        if how & 2:
            frame = bytes.fromhex(MACS[port].replace(":", "")) + frame[6:]
        yield port, frame
        if len(frame) > 34:
            packet, ethertype = _corrected(frame[14:])
            yield port, packets.frame(port, packet, ethertype)


def frames_of(name, octets, sequence):
    """All frames that are made of an input. sequence: of the next packet of ESP."""
    if name.startswith("frame/"):
        yield from _records(octets)
    for packet in (octets[1:1400], octets[2:1400]):
        corrected, ethertype = _corrected(packet)
        for port in ("lan", "wan"):
            yield port, packets.frame(port, packet)
            yield port, packets.frame(port, corrected, ethertype)
        for text in (packet, corrected):
            sealed = packets.esp_null(SPI, next(sequence), text, KEY, 41 if ethertype == 0x86dd else 4)
            yield "wan", packets.frame("wan", packets.ipv4("192.0.2.2", "192.0.2.1", packets.ESP, sealed))
    yield "lan", packets.frame("lan", packets.ipv4("10.1.0.5", "10.2.0.5", octets[:1][0] if octets else 0, octets[1:900]))


def _counter():
    number = 1
    while True:
        yield number
        number += 1


def _frames(pair, expected, step):
    """step: of this number of inputs, one is used."""
    bad, sequence = 0, _counter()
    for corpus in PACKETS:
        for name, octets in list(files(corpus))[::step]:
            frames = [(port, frame[:1290]) for port, frame in frames_of(name, octets, sequence) if len(frame) >= 14]
            for port in ("lan", "wan"):
                out = pair.burst(port, [frame for at, frame in frames if at == port])
                bad += expected.report(name, differences("frames", [sorted(sent) for sent in out])) > 0
    return bad


def _questions(pair, expected):
    bad = 0
    for name, octets in files("change"):
        text = octets.split(b"\0")[0]
        for kind in (b"change same\n", b"new-keys change same\n", b"ike same\n"):
            if expected.is_known((kind + text).decode(errors="replace")):
                bad += expected.report(name, differences("answer", pair.ask(kind + text))) > 0
    for name, octets in files("control"):
        if octets:
            bad += expected.report(name, differences("answer", pair.ask(octets[:60000]))) > 0
    for name, octets in files("telemetry"):
        words, _, rest = octets.decode(errors="replace").replace("\0", "").partition(" ")
        for command in ("flows", "match", "policies", "sas"):
            parameters = "," + (rest if words in ("trace", "match", "policies") else words + rest)
            found = pair.both(lambda g, c=command, p=parameters[:200]: normal.items(c, g.list(c, p)))
            bad += expected.report(name, differences("list." + command, found)) > 0
    return bad


def _states(builds, expected):
    bad = 0
    for name, octets in files("state"):
        what = {"a.conf": (SITE.replace("/mnt/", config_part.LAB + "/").encode(), 0o600),
                "state/same.sequence": (b"culvert sequence numbers 2\nstart 0123\n" + octets[1:], 0o600)}
        said = config_part.check(builds, what, ["--new-keys", "-c", config_part.LAB + "/a.conf"])
        bad += expected.report(name, differences("output", said)) > 0
    return bad


def compare(builds, expected, step):
    """Of the frames, one in step inputs is used. Returns how many inputs differ."""
    begin = time.monotonic()
    with Pair(builds) as pair:
        pair.start(SITE)
        time.sleep(START_S)
        pair.both(lambda g: g.received())
        bad = _frames(pair, expected, step)
        bad += expected.report("after the frames", differences("list", normal.timed(pair.lists(LISTS)))) > 0
        bad += _questions(pair, expected)
        bad += expected.report("after the corpora", differences("log", pair.log())) > 0
        bad += expected.report("stop", pair.stop()) > 0
        sent = pair.sent
    bad += _states(builds, expected)
    print(f"corpora: {sent} frames, {bad} inputs differ, {time.monotonic() - begin:.0f} s")
    return bad
