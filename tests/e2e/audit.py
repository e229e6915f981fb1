#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The attacker of the test audit; arguments as of hostile.py."""
import struct
import sys

from scapy.layers.inet import IP, UDP
from scapy.packet import Raw

from hostile import HOST, Attacker

FLOOD = 20000


def main(*arguments):
    a = Attacker(*arguments)
    first = a.sealed(a.echo())
    a.send([first])
    a.expect("sequence number seen before", "replay", [first])
    unknown = a.outer() / Raw(struct.pack("!II", 0xabc, 7) + bytes(40))
    a.expect("unknown SPI", "no_sa", [a.frame(unknown)])
    udp = IP(src="10.9.0.9", dst=HOST) / UDP(sport=53, dport=1024)
    a.expect("not of this tunnel", "selector", [a.sealed(udp)])
    forged = a.sealed(a.echo())
    forged = forged[:-1] + bytes([forged[-1] ^ 1])
    a.expect("forged", "auth", [forged])
    a.expect("a flood of forged packets", "auth", [forged] * FLOOD)
    a.expect("a flood of unknown SPIs", "no_sa",
             [a.frame(a.outer() / Raw(struct.pack("!II", 0x1000000 + i, 1) + bytes(40)))
              for i in range(500)])
    a.expect_traffic()


main(*sys.argv[1:])
