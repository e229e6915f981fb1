#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The peer of the test scapy_peer, and its host: ASSOCIATIONS HOST-NAMESPACE PEER-NAMESPACE."""
import os
import socket
import sys

from scapy.layers.inet import IP
from scapy.packet import Raw

from peer import association, socket_in

HOST, GATEWAY, PEER = "10.1.0.2", "192.0.2.1", "192.0.2.2"
PROTOCOL = 253  # for experiments (RFC 3692): no header between the IP header and our octets
LARGEST = 1500 - 20
BATCH = 4  # packets in flight at once: the buffers of net_pcap hold few


def sizes(n):
    """Lengths of payload: the smallest, the largest, and every third between, others for each n."""
    return [size for size in range(LARGEST + 1) if size < 100 or size % 3 == n % 3 or size > LARGEST - 64]


def check(condition, what):
    if not condition:
        raise SystemExit("FAILED: " + what)


def batches(payloads):
    for start in range(0, len(payloads), BATCH):
        yield payloads[start:start + BATCH]


def opened_by_us(n, sa, host, wire, payloads):
    """Sealed by scapy, opened by the gateway, delivered to the host."""
    remote = "10.2.%d.9" % n
    for batch in batches(payloads):
        for number, payload in enumerate(batch):
            inner = IP(src=remote, dst=HOST, proto=PROTOCOL, ttl=33, tos=0x28, id=number + 1) / Raw(payload)
            wire.sendto(bytes(sa.encrypt(inner)), (GATEWAY, 0))
        for number, payload in enumerate(batch):
            packet = host.recv(65536)
            got = IP(packet)
            check(packet[20:] == payload, "%d octets arrive changed" % len(payload))
            check((got.src, got.dst, got.ttl, got.tos, got.id) == (remote, HOST, 32, 0x28, number + 1),
                  "inner header of %d octets: %s" % (len(payload), got.summary()))


def sealed_by_us(n, sa, host, wire, payloads, sequence):
    """Sent by the host, sealed by the gateway, opened by scapy."""
    remote = "10.2.%d.9" % n
    for batch in batches(payloads):
        for payload in batch:
            host.sendto(payload, (remote, 0))
        for payload in batch:
            outer = IP(wire.recv(65536))
            check((outer.src, outer.dst) == (GATEWAY, PEER), "outer header: " + outer.summary())
            check(len(outer) == outer.len, "outer length")
            sequence += 1
            esp = bytes(outer.payload)
            check(int.from_bytes(esp[0:4], "big") == sa.spi, "SPI")
            check(int.from_bytes(esp[4:8], "big") == sequence, "sequence number")
            inner = sa.decrypt(outer)  # raises IPSecIntegrityError for a wrong ICV
            check((inner.src, inner.dst, inner.proto, inner.ttl) == (HOST, remote, PROTOCOL, 63),
                  "inner header of %d octets: %s" % (len(payload), inner.summary()))
            check(bytes(inner.payload) == payload, "%d octets are sealed changed" % len(payload))
    return sequence


def main(file, host_namespace, peer_namespace):
    host = socket_in(host_namespace, socket.AF_INET, socket.SOCK_RAW, PROTOCOL)
    wire = socket_in(peer_namespace, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ESP)
    wire.setsockopt(socket.IPPROTO_IP, socket.IP_HDRINCL, 1)
    with open(file) as lines:
        for line in lines:
            n, direction, spi, cipher, cipher_key, auth, auth_key = line.split()
            outbound = direction == "out"
            ends = (GATEWAY, PEER) if outbound else (PEER, GATEWAY)
            sa = association(int(spi), cipher, cipher_key.strip("-"), auth, auth_key.strip("-"),
                             IP(src=ends[0], dst=ends[1]))
            payloads = [os.urandom(size) for size in sizes(int(n))]
            if outbound:
                sealed_by_us(int(n), sa, host, wire, payloads, 0)
            else:
                opened_by_us(int(n), sa, host, wire, payloads)
            print(cipher, auth, "sealed by us" if outbound else "opened by us", len(payloads), "sizes")


main(*sys.argv[1:])
