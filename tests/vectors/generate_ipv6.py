#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes ipv6_packets.txt: IPv6 packets as scapy makes them.

    tests/vectors/generate_ipv6.py > tests/vectors/ipv6_packets.txt

The same at every run. One line each, its first word says what follows:

    chain NAME PROTO OFF FRAGMENT LATER PACKET  what lies behind the extension headers
    echo NAME REQUEST REPLY
    error NAME TYPE CODE PARAM SOURCE ABOUT ERROR
    reset NAME ABOUT RESET
    solicit NAME MAC SENDER TARGET TO FRAME     TO: a station, or - for all
    answer NAME MAC ASKED ANSWER                frames
    announce NAME MAC ADDRESS FRAME
    read NAME SOURCE TARGET MAC FLAGS PACKET    MAC: - if it has none
    bad NAME PACKET                             neighbour discovery that is to be ignored

Needs python3-scapy.
"""

import random
import socket
import struct

from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6DestUnreach,
    ICMPv6EchoReply,
    ICMPv6EchoRequest,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6ND_RS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptMTU,
    ICMPv6NDOptSrcLLAddr,
    ICMPv6PacketTooBig,
    ICMPv6ParamProblem,
    ICMPv6TimeExceeded,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
    RouterAlert,
    in6_chksum,
)
from scapy.layers.ipsec import AH, ESP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.pton_ntop import inet_ntop, inet_pton
from scapy.utils6 import in6_getnsma, in6_getnsmac

A, B, GW = "2001:db8:1::5", "2001:db8:2::7", "2001:db8:1::1"
LL = "fe80::c:dff:fe0e:f01"
MAC, PEER = "02:00:5e:10:00:01", "02:00:5e:10:00:99"
ROUTER, SOLICITED, OVERRIDE = 4, 2, 1
rng = random.Random(8200)


def text(length):
    return Raw(rng.randbytes(length))


def hexa(packet):
    return bytes(packet).hex()


def line(*words):
    print(*words)


def chain(name, headers, upper, proto, fragment=0, later=0):
    packet = IPv6(src=A, dst=B, tc=0xB9, fl=0x12345)
    off = 40
    for header in headers:
        packet /= header
        off += len(bytes(header))
    if upper is not None:
        packet /= upper
    line("chain", name, proto, off, fragment, later, hexa(packet))


def option(pad):
    return IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(pad))])


def chains():
    udp = UDP(sport=1000, dport=53) / text(20)
    tcp = TCP(sport=1000, dport=80)
    hop = IPv6ExtHdrHopByHop(options=[RouterAlert()])
    routed = IPv6ExtHdrRouting(type=0, segleft=0, addresses=[GW, B])
    chain("udp", [], udp, 17)
    chain("tcp", [], tcp, 6)
    chain("hop-by-hop", [hop], udp, 17)
    chain("destination", [option(4)], tcp, 6)
    chain("long-option", [option(254)], tcp, 6)
    chain("routing-done", [routed], tcp, 6)
    chain("routing-unknown-type-done", [IPv6ExtHdrRouting(type=200, segleft=0)], tcp, 6)
    chain("all", [hop, option(4), routed, IPv6ExtHdrFragment(m=0, offset=0), option(12)], udp, 17)
    chain("atomic-fragment", [IPv6ExtHdrFragment(m=0, offset=0)], udp, 17)
    chain("first-fragment", [IPv6ExtHdrFragment(m=1, offset=0)], udp, 17, 1)
    chain("first-fragment-options", [hop, IPv6ExtHdrFragment(m=1, offset=0), option(4)], udp, 17, 1)
    chain("later-fragment", [IPv6ExtHdrFragment(nh=17, m=1, offset=1)], text(24), 17, 1, 1)
    chain("last-fragment", [hop, IPv6ExtHdrFragment(nh=60, m=0, offset=0x1FFF)], text(8), 60, 1, 1)
    chain("esp", [hop], ESP(spi=0x100, seq=1, data=bytes(20)), 50)
    chain("ah", [], AH(spi=0x100, seq=1, icv=bytes(12)) / udp, 51)
    chain("none", [option(4)], Raw(b""), 59)
    chain("eight", [hop] + [option(4)] * 7, tcp, 6)


def echoes():
    for length in (0, 1, 56, 57, 1400):
        ask = ICMPv6EchoRequest(id=7, seq=length, data=rng.randbytes(length))
        reply = ICMPv6EchoReply(id=7, seq=length, data=ask.data)
        back = IPv6(src=GW, dst=A, tc=0x28, hlim=64) / reply
        line("echo", length, hexa(IPv6(src=A, dst=GW, tc=0x28, fl=0x777, hlim=3) / ask), hexa(back))
        headers = IPv6ExtHdrHopByHop(options=[RouterAlert()]) / option(12)
        packet = IPv6(src=A, dst=GW, tc=0x28, hlim=3) / headers / ask
        line("echo", f"{length}-options", hexa(packet), hexa(back))


def errors():
    for name, icmp in (
        ("no-route", ICMPv6DestUnreach(code=0)),
        ("prohibited", ICMPv6DestUnreach(code=1)),
        ("port", ICMPv6DestUnreach(code=4)),
        ("too-big", ICMPv6PacketTooBig(mtu=1280)),
        ("too-big-wide", ICMPv6PacketTooBig(mtu=70000)),
        ("hop-limit", ICMPv6TimeExceeded(code=0)),
        ("parameter", ICMPv6ParamProblem(code=2, ptr=42)),
    ):
        for length in (0, 8, 13, 1183, 1184, 1185, 1452):
            about = bytes(IPv6(src=A, dst=B, tc=0xB9) / UDP(sport=1, dport=2) / text(length))
            quoted = icmp.copy() / Raw(about[: 1280 - 48])
            packet = IPv6(src=GW, dst=A, hlim=64) / quoted
            param = getattr(icmp, "mtu", getattr(icmp, "ptr", 0))
            if isinstance(icmp, (ICMPv6DestUnreach, ICMPv6TimeExceeded)):
                param = 0
            line("error", f"{name}-{length}", icmp.type, icmp.code, param, GW, about.hex(),
                 hexa(packet))


def resets():
    for flags, length in (("S", 0), ("A", 0), ("PA", 100), ("FA", 3), ("F", 9), ("SF", 1)):
        for headers in (None, option(12)):
            tcp = TCP(sport=1000, dport=80, seq=0xFFFFFFF0, ack=0x11223344, flags=flags)
            packet = IPv6(src=A, dst=B, tc=0xB9, fl=5)
            if headers is not None:
                packet /= headers
            about = hexa(packet / tcp / text(length))
            back = TCP(sport=80, dport=1000, window=0)
            if "A" in flags:
                back.flags, back.seq, back.ack = "R", tcp.ack, 0
            else:
                taken = length + ("S" in flags) + ("F" in flags)
                back.flags, back.seq, back.ack = "RA", 0, (tcp.seq + taken) & 0xFFFFFFFF
            line("reset", f"{flags}-{length}-{headers is not None}", about,
                 hexa(IPv6(src=B, dst=A, hlim=64) / back))


def group_of(address):
    return inet_ntop(socket.AF_INET6, in6_getnsma(inet_pton(socket.AF_INET6, address)))


def group_mac_of(address):
    return in6_getnsmac(in6_getnsma(inet_pton(socket.AF_INET6, address)))


def solicitations():
    own = ICMPv6NDOptSrcLLAddr(lladdr=MAC)
    for target in (A, LL, "2001:db8::ff00:1234", "2001:db8::"):
        packet = IPv6(src=GW, dst=group_of(target), hlim=255) / ICMPv6ND_NS(tgt=target) / own
        frame = Ether(src=MAC, dst=group_mac_of(target)) / packet
        line("solicit", f"all-{target}", MAC, GW, target, "-", hexa(frame))
        packet = IPv6(src=GW, dst=target, hlim=255) / ICMPv6ND_NS(tgt=target) / own
        line("solicit", f"one-{target}", MAC, GW, target, PEER,
             hexa(Ether(src=MAC, dst=PEER) / packet))
        packet = IPv6(src="::", dst=group_of(target), hlim=255) / ICMPv6ND_NS(tgt=target)
        frame = Ether(src=MAC, dst=group_mac_of(target)) / packet
        line("solicit", f"duplicate-{target}", MAC, "::", target, "-", hexa(frame))


def answers():
    for source, option_mac, to in ((A, PEER, PEER), (LL, None, "02:00:5e:10:00:77"),
                                   ("::", None, None)):
        ask = IPv6(src=source, dst=group_of(GW), hlim=255) / ICMPv6ND_NS(tgt=GW)
        if option_mac:
            ask /= ICMPv6NDOptSrcLLAddr(lladdr=option_mac)
        asked = Ether(src=to or PEER, dst=group_mac_of(GW)) / ask
        back = IPv6(src=GW, dst="ff02::1" if source == "::" else source, hlim=255)
        back /= ICMPv6ND_NA(R=1, S=int(source != "::"), O=1, tgt=GW)
        back /= ICMPv6NDOptDstLLAddr(lladdr=MAC)
        frame = Ether(src=MAC, dst=to or "33:33:00:00:00:01") / back
        line("answer", source, MAC, hexa(asked), hexa(frame))
    packet = IPv6(src=GW, dst="ff02::1", hlim=255) / ICMPv6ND_NA(R=1, S=0, O=1, tgt=GW)
    packet /= ICMPv6NDOptDstLLAddr(lladdr=MAC)
    line("announce", "own", MAC, GW, hexa(Ether(src=MAC, dst="33:33:00:00:00:01") / packet))


def read(name, packet, source, target, mac, flags=0):
    line("read", name, source, target, mac or "-", flags, hexa(packet))


def ask(**ip):
    return IPv6(**{"src": A, "dst": group_of(GW), "hlim": 255, **ip})


def readings():
    ns, na = ICMPv6ND_NS(tgt=GW), ICMPv6ND_NA(tgt=A, R=0, S=1, O=1)
    source, target = ICMPv6NDOptSrcLLAddr(lladdr=PEER), ICMPv6NDOptDstLLAddr(lladdr=PEER)
    mtu = ICMPv6NDOptMTU(mtu=1400)
    read("ns", ask() / ns / source, A, GW, PEER)
    read("ns-unicast", ask(dst=GW) / ns / source, A, GW, PEER)
    read("ns-no-option", ask(dst=GW) / ns, A, GW, None)
    read("ns-other-options", ask() / ns / mtu / source, A, GW, PEER)
    read("ns-foreign-option", ask() / ns / target, A, GW, None)
    read("ns-duplicate", ask(src="::") / ns, "::", GW, None)
    read("ns-options-header", ask() / option(4) / ns / source, A, GW, PEER)
    read("na", ask(dst=GW) / na / target, A, A, PEER, SOLICITED | OVERRIDE)
    read("na-no-option", ask(dst=GW) / na, A, A, None, SOLICITED | OVERRIDE)
    for flags in range(8):
        r, s, o = flags >> 2, flags >> 1 & 1, flags & 1
        advert = ICMPv6ND_NA(tgt=LL, R=r, S=s, O=o)
        read(f"na-flags-{flags}", ask(dst=GW) / advert / target, A, LL, PEER, flags)
    read("na-to-all", ask(dst="ff02::1") / ICMPv6ND_NA(tgt=A, R=1, S=0, O=1) / target, A, A, PEER,
         ROUTER | OVERRIDE)
    read("rs", ask(dst="ff02::2") / ICMPv6ND_RS() / source, A, "::", PEER)
    read("rs-none", ask(src="::", dst="ff02::2") / ICMPv6ND_RS(), "::", "::", None)


def bad(name, packet):
    line("bad", name, hexa(packet))


def bad_ones():
    ns, na = ICMPv6ND_NS(tgt=GW), ICMPv6ND_NA(tgt=A, R=0, S=1, O=1)
    source, target = ICMPv6NDOptSrcLLAddr(lladdr=PEER), ICMPv6NDOptDstLLAddr(lladdr=PEER)
    for hops in (0, 1, 64, 254):
        bad(f"hops-{hops}", ask(hlim=hops) / ns / source)
        bad(f"na-hops-{hops}", ask(dst=GW, hlim=hops) / na / target)
    bad("fragment-header", ask() / IPv6ExtHdrFragment(m=0, offset=0) / ns / source)
    bad("ns-code", ask() / ICMPv6ND_NS(tgt=GW, code=1) / source)
    bad("na-code", ask(dst=GW) / ICMPv6ND_NA(tgt=A, code=1) / target)
    bad("ns-checksum", ask() / ICMPv6ND_NS(tgt=GW, cksum=0x1234) / source)
    bad("ns-target-multicast", ask() / ICMPv6ND_NS(tgt="ff02::5") / source)
    bad("na-target-multicast", ask(dst=GW) / ICMPv6ND_NA(tgt="ff02::5") / target)
    bad("ns-target-mapped", ask(dst=GW) / ICMPv6ND_NS(tgt="::ffff:10.1.0.1") / source)
    bad("na-target-mapped", ask(dst=GW) / ICMPv6ND_NA(tgt="::ffff:10.1.0.1") / target)
    bad("ns-option-empty", ask() / ns / Raw(b"\1\0\2\0\x5e\x10\0\1"))
    bad("ns-option-cut", ask() / ns / Raw(b"\1\1\2\0\x5e"))
    bad("ns-option-beyond", ask() / ns / Raw(b"\1\2\2\0\x5e\x10\0\1"))
    bad("ns-option-multicast", ask() / ns / ICMPv6NDOptSrcLLAddr(lladdr="33:33:00:00:00:01"))
    bad("ns-option-zero", ask() / ns / ICMPv6NDOptSrcLLAddr(lladdr="00:00:00:00:00:00"))
    bad("ns-none-unicast", ask(src="::", dst=GW) / ns)
    bad("ns-none-other-group", ask(src="::", dst="ff02::1") / ns)
    bad("ns-none-option", ask(src="::") / ns / source)
    bad("rs-none-option", ask(src="::", dst="ff02::2") / ICMPv6ND_RS() / source)
    bad("na-to-all-solicited", ask(dst="ff02::1") / na / target)
    bad("na-option-empty", ask(dst=GW) / na / Raw(b"\2\0\2\0\x5e\x10\0\1"))
    for length in (8, 20, 23):
        short = ICMPv6ND_NS(tgt=GW, cksum=0).build()[:length]
        packet = ask(nh=58) / Raw(short)
        cksum = struct.pack(">H", in6_chksum(58, IPv6(bytes(packet)), short))
        bad(f"ns-short-{length}", ask(nh=58) / Raw(short[:2] + cksum + short[4:]))
    bad("echo", ask(dst=GW) / ICMPv6EchoRequest())
    bad("udp", ask(dst=GW) / UDP())


print("# IPv6 packets that scapy made, see generate_ipv6.py. Do not edit.")
for part in (chains, echoes, errors, resets, solicitations, answers, readings, bad_ones):
    part()
