#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pings a gateway in transport mode: scapy seals what it opens, and opens the answers.

Usage: transport_peer.py NAMESPACE SPI CIPHER-KEY AUTH-KEY SPI CIPHER-KEY AUTH-KEY
(first the SA to the gateway, 192.0.2.1, then the one from it, to 192.0.2.2)
"""
import socket
import sys

from peer import association, socket_in
from scapy.layers.inet import ICMP, IP
from scapy.packet import Raw

namespace, *keys = sys.argv[1:]
there, back = (association(int(spi, 16), "aes-256-cbc", cipher_key, "hmac-sha2-256-128", auth_key, None)
               for spi, cipher_key, auth_key in (keys[:3], keys[3:]))
wire = socket_in(namespace, socket.AF_INET, socket.SOCK_RAW, 50)
wire.setsockopt(socket.IPPROTO_IP, socket.IP_HDRINCL, 1)
for number in range(1, 21):
    data = Raw(bytes(range(number * 3)))
    ping = IP(src="192.0.2.2", dst="192.0.2.1", id=number) / ICMP(id=7, seq=number) / data
    sealed = there.encrypt(IP(bytes(ping)), seq_num=1000 + number)
    wire.sendto(bytes(sealed), ("192.0.2.1", 0))
    answer = IP(bytes(back.decrypt(IP(wire.recv(2048)))))
    assert (answer.src, answer.dst) == ("192.0.2.1", "192.0.2.2"), answer.summary()
    assert (answer[ICMP].type, answer[ICMP].id, answer[ICMP].seq) == (0, 7, number), answer.summary()
    assert bytes(answer[ICMP].payload) == bytes(data), "other data"
print("20 pings answered")
