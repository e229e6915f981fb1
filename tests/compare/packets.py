# SPDX-License-Identifier: BSD-3-Clause
"""Frames for the ports: in clear, and ESP as the peers of settings.py would send it."""
import hmac
import ipaddress
import struct

import settings
from gateway import MACS, STATIONS

ESP, UDP, TCP, ICMP = 50, 17, 6, 1


def checksum(octets):
    octets += b"\0" * (len(octets) % 2)
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ipv4(source, destination, proto, payload, **fields):
    """fields: ttl, tos, df, number."""
    header = struct.pack("!BBHHHBBH4s4s", 0x45, fields.get("tos", 0), 20 + len(payload), fields.get("number", 1),
                         0x4000 * fields.get("df", 0), fields.get("ttl", 64), proto, 0,
                         ipaddress.IPv4Address(source).packed, ipaddress.IPv4Address(destination).packed)
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + payload


def frame(port, packet, ethertype=0x0800):
    def octets(mac):
        return bytes.fromhex(mac.replace(":", ""))
    return octets(MACS[port]) + octets(STATIONS[port]) + struct.pack("!H", ethertype) + packet


def udp(source, destination, payload):
    return struct.pack("!HHHH", source, destination, 8 + len(payload), 0) + payload


def tcp(source, destination, flags):
    return struct.pack("!HHIIBBHHH", source, destination, 1000, 0, 0x50, flags, 8192, 0, 0)


def echo(kind, number):
    message = struct.pack("!BBHHH", kind, 0, 0, number, 1) + b"culvert!"
    return message[:2] + struct.pack("!H", checksum(message)) + message[4:]


def esp_null(spi, sequence, inner, key, next_header=4):
    """With HMAC-SHA1-96."""
    padding = bytes(range(1, 1 + -(len(inner) + 2) % 4))
    packet = struct.pack("!II", spi, sequence) + inner + padding + struct.pack("!BB", len(padding), next_header)
    return packet + hmac.new(key, packet, "sha1").digest()[:12]


def _payload(r):
    ports = r.choice((53, 1000, 2000)), r.choice((7, 53, 80))
    return r.choice(((UDP, udp(*ports, bytes(r.choice((0, 100, 1400, 1472))))), (TCP, tcp(*ports, r.choice((2, 16, 18, 4)))),
                     (ICMP, echo(r.choice((8, 0)), r.randrange(3))), (47, b"\0" * 20)))


def _clear(r):
    proto, payload = _payload(r)
    here, there = r.choice(("10.1.0.2", "10.1.0.3", "10.1.0.129")), \
        r.choice(("10.2.0.2", "10.2.0.130", "10.3.0.2", "10.4.0.2", "10.5.0.2", "203.0.113.5"))
    fields = {"df": r.random() < 0.3, "ttl": r.choice((64, 64, 64, 1)), "tos": r.choice((0, 0, 0xb8, 3))}
    port = r.choice(("lan", "lan", "wan"))
    ends = (here, there) if port == "lan" else (there, here)
    return port, frame(port, ipv4(*ends, proto, payload, **fields))


def _protected(r):
    number = r.choice((0, 2, 4, 6))
    proto, payload = _payload(r)
    inner = ipv4(f"10.{2 + number // 2}.0.2", r.choice(("10.1.0.2", "10.1.0.3", "10.9.0.1")), proto, payload)
    packet = esp_null(0x1001 + number, r.randint(1, 300), inner, bytes.fromhex(settings.key(r, 20, number)))
    return "wan", frame("wan", ipv4("192.0.2.254", "192.0.2.1", ESP, packet))


def some(r):
    return [r.choice((_clear, _clear, _protected))(r) for _ in range(r.randint(1, 6))]
