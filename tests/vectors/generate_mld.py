#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes mld_packets.txt: messages of multicast listener discovery as scapy makes them.

    tests/vectors/generate_mld.py > tests/vectors/mld_packets.txt

One line each, its first word says what follows:

    report SOURCE RECORD GROUPS PACKET          version 2; RECORD: 2, 3 or 4; GROUPS with commas
    v1 SOURCE RECORD GROUP PACKET               version 1
    query NAME GROUP DELAY INTERVAL V1 PACKET   DELAY in milliseconds, INTERVAL in seconds
    bad NAME PACKET                             queries that are to be ignored
    other NAME PACKET                           no queries

Needs python3-scapy.
"""

import struct

from scapy.layers.inet import UDP
from scapy.layers.inet6 import (
    HBHOptUnknown,
    ICMPv6EchoRequest,
    ICMPv6MLDMultAddrRec,
    ICMPv6MLDone,
    ICMPv6MLQuery,
    ICMPv6MLQuery2,
    ICMPv6MLReport,
    ICMPv6MLReport2,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    Pad1,
    PadN,
    RouterAlert,
    in6_chksum,
)
from scapy.packet import Raw

LL, ROUTER = "fe80::c:dff:fe0e:f01", "fe80::99"
GROUPS = ["ff02::1:ff0e:f01", "ff02::1:ff00:1", "ff02::2", "ff02::1:ff00:0", "ff02::1:ffab:cdef"]
RECORDS = [2, 3, 4]


def line(*words):
    print(*words[:-1], bytes(words[-1]).hex())


def wrapped(source, destination, message):
    ip = IPv6(src=source, dst=destination, hlim=1)
    return ip / IPv6ExtHdrHopByHop(options=[RouterAlert(value=0)]) / message


def reports():
    for source in (LL, "::"):
        for record in RECORDS:
            for n in (1, 2, len(GROUPS)):
                records = [ICMPv6MLDMultAddrRec(rtype=record, dst=g) for g in GROUPS[:n]]
                packet = wrapped(source, "ff02::16", ICMPv6MLReport2(records=records))
                line("report", source, record, ",".join(GROUPS[:n]), packet)


def version_1():
    for source in (LL, "::"):
        for record in RECORDS:
            for group in GROUPS:
                leaves = record == 3
                message = ICMPv6MLDone if leaves else ICMPv6MLReport
                to = "ff02::2" if leaves else group
                line("v1", source, record, group, wrapped(source, to, message(mladdr=group)))


def ask(message, dst="ff02::1", options=None, between=None, **fields):
    ip = IPv6(src=fields.get("src", ROUTER), dst=dst, hlim=fields.get("hlim", 1))
    ip /= IPv6ExtHdrHopByHop(options=[RouterAlert(value=0)] if options is None else options)
    return ip / between / message if between else ip / message


def query(name, group, delay, interval, packet):
    line("query", name, group, delay, interval, int("v1" in name), packet)


# Codes of long delays: by their highest bits, so that a mistake in one shows.
def codes():
    for code in (0, 1, 1000, 10000, 0x7fff, 0x8000, 0x8001, 0x9234, 0xcabc, 0xffff):
        exp, mant = code >> 12 & 7, code & 0xfff
        yield code, code if code < 0x8000 else (mant + 0x1000) * 2 ** (exp + 3)


def intervals():
    for code in (0, 1, 125, 127, 128, 0x95, 0xff):
        exp, mant = code >> 4 & 7, code & 0xf
        yield code, code if code < 128 else (mant + 16) * 2 ** (exp + 3)


def queries():
    group = GROUPS[0]
    for code, delay in codes():
        query(f"general-{code}", "::", delay, 125, ask(ICMPv6MLQuery2(mrd=code, QQIC=125)))
        query(f"v1-general-{code}", "::", code, 0, ask(ICMPv6MLQuery(mrd=code)))
    for code, seconds in intervals():
        query(f"interval-{code}", "::", 10000, seconds, ask(ICMPv6MLQuery2(QQIC=code)))
    message = ICMPv6MLQuery2(mladdr=group, mrd=1000, S=1, QRV=2, QQIC=20)
    query("group", group, 1000, 20, ask(message, dst=group))
    query("v1-group", group, 1000, 0, ask(ICMPv6MLQuery(mladdr=group, mrd=1000), dst=group))
    query("unicast", "::", 10000, 0, ask(ICMPv6MLQuery2(), dst=LL))
    for n in (1, 80):
        sources = [f"2001:db8::{i + 1:x}" for i in range(n)]
        message = ICMPv6MLQuery2(mladdr=group, mrd=1000, QQIC=20, sources=sources)
        query(f"sources-{n}", group, 1000, 20, ask(message, dst=group))
    message = ICMPv6MLQuery2(QQIC=7)
    query("longer", "::", 10000, 7, ask(ICMPv6MLQuery2(QQIC=7, sources_number=0) / Raw(b"\1" * 9)))
    query("code", "::", 10000, 7, ask(ICMPv6MLQuery2(QQIC=7, code=9)))
    for name, options in (("pad-first", [PadN(optdata=b""), RouterAlert(value=0)]),
                          ("pad-ones", [Pad1(), Pad1(), RouterAlert(value=0)]),
                          ("two-alerts", [RouterAlert(value=1), RouterAlert(value=0), PadN(optdata=b"")])):
        query(name, "::", 10000, 7, ask(message, options=options))
    query("destination-options", "::", 10000, 7,
          ask(message, between=IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)])))


def cut(message, length):
    """The first octets of a message, with their right checksum."""
    short = bytes(message.__class__(cksum=0))[:length]
    cksum = struct.pack(">H", in6_chksum(58, IPv6(src=ROUTER, dst="ff02::1"), short))
    packet = ask(Raw(short[:2] + cksum + short[4:]))
    packet[IPv6ExtHdrHopByHop].nh = 58
    return packet


def bad():
    message, old = ICMPv6MLQuery2(QQIC=125), ICMPv6MLQuery()
    for hops in (0, 2, 64, 255):
        line("bad", f"hops-{hops}", ask(message, hlim=hops))
    for source in ("::", "2001:db8::1", "fec0::1"):
        line("bad", f"source-{source}", ask(message, src=source))
        line("bad", f"v1-source-{source}", ask(old, src=source))
    line("bad", "no-alert", ask(message, options=[PadN(optdata=b"\0" * 4)]))
    line("bad", "v1-no-alert", ask(old, options=[PadN(optdata=b"\0" * 4)]))
    line("bad", "alert-rsvp", ask(message, options=[RouterAlert(value=1)]))
    line("bad", "alert-in-padding", ask(message, options=[PadN(optdata=b"\5\2\0\0")]))
    line("bad", "alert-length",
         ask(message, options=[HBHOptUnknown(otype=5, optlen=3, optdata=b"\0\0\0"), Pad1()]))
    line("bad", "option-beyond", ask(message, options=[RouterAlert(value=0), PadN(optlen=7, optdata=b"")]))
    line("bad", "option-drop", ask(message, options=[RouterAlert(value=0), HBHOptUnknown(otype=0x45, optdata=b"")]))
    line("bad", "checksum", ask(ICMPv6MLQuery2(cksum=0x1234)))
    line("bad", "v1-checksum", ask(ICMPv6MLQuery(cksum=0x1234)))
    line("bad", "group-unicast", ask(ICMPv6MLQuery2(mladdr="2001:db8::1")))
    line("bad", "v1-group-unicast", ask(ICMPv6MLQuery(mladdr="fe80::1")))
    line("bad", "sources-beyond", ask(ICMPv6MLQuery2(mladdr=GROUPS[0], sources_number=1)))
    line("bad", "sources-many", ask(ICMPv6MLQuery2(mladdr=GROUPS[0], sources_number=65535)))
    line("bad", "sources-general", ask(ICMPv6MLQuery2(sources=["2001:db8::1"])))
    line("bad", "fragment", ask(message, between=IPv6ExtHdrFragment(m=0, offset=0)))
    line("bad", "first-fragment", ask(message, between=IPv6ExtHdrFragment(m=1, offset=0)))
    for length in (8, 23):
        line("bad", f"short-{length}", cut(old, length))
    for length in (25, 26, 27):
        line("bad", f"short-{length}", cut(message, length))


def others():
    line("other", "report", wrapped(LL, "ff02::16", ICMPv6MLReport2(
        records=[ICMPv6MLDMultAddrRec(dst=GROUPS[0])])))
    line("other", "v1-report", wrapped(LL, GROUPS[0], ICMPv6MLReport(mladdr=GROUPS[0])))
    line("other", "v1-done", wrapped(LL, "ff02::2", ICMPv6MLDone(mladdr=GROUPS[0])))
    line("other", "echo", wrapped(LL, "ff02::1", ICMPv6EchoRequest()))
    line("other", "udp", wrapped(LL, "ff02::1", UDP()))
    line("other", "later-fragment",
         ask(Raw(bytes(ICMPv6MLQuery2(cksum=0))), between=IPv6ExtHdrFragment(nh=58, m=0, offset=8)))
    nothing = ask(Raw(b""))
    nothing[IPv6ExtHdrHopByHop].nh = 58
    line("other", "nothing", nothing)


print("# Messages of MLD that scapy made, see generate_mld.py. Do not edit.")
for part in (reports, version_1, queries, bad, others):
    part()
