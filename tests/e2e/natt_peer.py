#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The peer of the test natt: NAMESPACE GATEWAY SPI KEY, then

bare SOURCE            one packet of ESP without UDP
udp SPI KEY ENDS...    pings through ESP in UDP from each end (ADDRESS PORT), answered there"""
import socket
import sys
import time

from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.ipsec import ESP

from peer import association, socket_in, wait_until

HOST, INNER = "10.2.0.2", "10.1.0.9"
CIPHER = "aes-128-gcm"
# Above the numbers of the replaced gateway, and of earlier runs of this script.
FIRST = (1 << 20) + int(time.monotonic() * 8)


def sealed(spi, key, source, gateway, sequence, port=None):
    sa = association(int(spi, 16), CIPHER, key, "none", "", IP(src=source, dst=gateway))
    if port is not None:
        sa.nat_t_header = UDP(sport=port, dport=4500)
    inner = IP(src=INNER, dst=HOST) / ICMP(id=7, seq=sequence & 0xffff) / b"through"
    packet = sa.encrypt(inner, seq_num=sequence)
    if port is not None:
        packet[UDP].len = len(packet[UDP])  # scapy 2.5.0 has 8
    return packet


def main(namespace, gateway, spi, key, what, *rest):
    raw = socket_in(namespace, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    if what == "bare":
        raw.sendto(bytes(sealed(spi, key, rest[0], gateway, FIRST)), (gateway, 0))
        return
    back = association(int(rest[0], 16), CIPHER, rest[1], "none", "", IP(src=gateway, dst=rest[2]))
    back.nat_t_header = UDP(sport=4500, dport=4500)
    sequence = FIRST
    for address, port in zip(rest[2::2], map(int, rest[3::2])):
        s = socket_in(namespace, socket.AF_INET, socket.SOCK_DGRAM)
        s.bind((address, port))
        s.settimeout(0.2)
        answer = None

        # The first answer may still go to where the peer was, until the gateway has seen it move.
        def asked():
            nonlocal answer, sequence
            sequence += 1
            packet = sealed(spi, key, address, gateway, sequence, port)
            raw.sendto(bytes(packet), (gateway, 0))
            try:
                answer = s.recvfrom(65536)
            except socket.timeout:
                return False
            return True

        wait_until(asked, "no answer at %s:%d" % (address, port))
        payload, sender = answer
        if sender != (gateway, 4500):
            raise SystemExit("FAILED: the answer comes from %s:%d" % sender)
        outer = IP(bytes(IP(src=gateway, dst=address, proto=50) / ESP(payload)))
        inner = back.decrypt(outer)
        if (inner.src, inner.dst, inner[ICMP].type, bytes(inner[ICMP].payload)) != (HOST, INNER, 0, b"through"):
            raise SystemExit("FAILED: the answer is " + inner.summary())


main(*sys.argv[1:])
