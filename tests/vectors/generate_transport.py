#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes transport_packets.txt: IP packets and the ESP packets in transport mode made of them.

    tests/vectors/generate_transport.py > tests/vectors/transport_packets.txt

The same at every run. One line each, "-" where there is no key:

    NAME CIPHER AUTH ESN CIPHER-KEY AUTH-KEY SPI SEQ PACKET SEALED

scapy makes the packets and cuts them at the place of ESP; generate.py seals. What scapy's own
SecurityAssociation gets right it has to seal alike: that is neither HMAC with ESN, GMAC, GCM with a
shorter ICV, nor the destination options and fragment headers that it leaves on the other side of ESP.

Needs python3-cryptography and python3-scapy.
"""

import random

import generate
from scapy.layers.inet import IP, UDP, IPOption_NOP
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
    RouterAlert,
)
from scapy.layers.ipsec import ESP, SecurityAssociation
from scapy.packet import Raw

A, B = "192.0.2.1", "198.51.100.2"
A6, B6 = "2001:db8:f::1", "2001:db8:e::2"
IN_FRONT = (IPv6ExtHdrHopByHop, IPv6ExtHdrRouting, IPv6ExtHdrFragment)
SCAPY_CIPHERS = {
    "null": ("NULL", 0),
    "aes-128-cbc": ("AES-CBC", 16),
    "aes-192-cbc": ("AES-CBC", 16),
    "aes-256-cbc": ("AES-CBC", 16),
    "aes-128-gcm": ("AES-GCM", 8),
    "aes-192-gcm": ("AES-GCM", 8),
    "aes-256-gcm": ("AES-GCM", 8),
}
SCAPY_AUTHS = {
    "none": "NULL",
    "hmac-sha1-96": "HMAC-SHA1-96",
    "hmac-sha2-256-128": "SHA2-256-128",
    "hmac-sha2-384-192": "SHA2-384-192",
    "hmac-sha2-512-256": "SHA2-512-256",
}
rng = random.Random(4301)


def split(octets):
    """The packet up to ESP, the protocol behind it, and the rest (RFC 4303 3.1.1)."""
    packet = IPv6(octets) if octets[0] >> 4 == 6 else IP(octets)
    if packet.version == 4:
        header, rest = packet, bytes(packet.payload)
        following, header.proto = packet.proto, 50
        header.remove_payload()
        del header.chksum
        return header, following, rest
    last = layer = packet
    while isinstance(layer, (IPv6, IPv6ExtHdrDestOpt, *IN_FRONT)):
        last = layer if isinstance(layer, IN_FRONT) else last
        layer = layer.payload
    following, last.nh = last.nh, 50
    rest = bytes(last.payload)
    last.remove_payload()
    return packet, following, rest


def protect(octets, cipher, auth, keys, spi, seq, esn):
    header, following, rest = split(octets)
    block = 16 if "cbc" in cipher else 4
    pad = -(len(rest) + 2) % block
    text = rest + bytes(range(1, pad + 1)) + bytes([pad, following])
    esp = generate.seal_esp(cipher, auth, keys, spi, seq, text, esn)
    if header.version == 4:
        header.len = len(bytes(header)) + len(esp)
    else:
        header.plen = len(bytes(header)) - 40 + len(esp)
    return bytes(header) + esp


def check_scapy(octets, sealed, cipher, auth, keys, spi, seq):
    name, iv_len = SCAPY_CIPHERS[cipher]
    sa = SecurityAssociation(ESP, spi=spi, crypt_algo=name, crypt_key=keys[0] or None,
                             auth_algo=SCAPY_AUTHS[auth], auth_key=keys[1] or None)
    cls = IPv6 if octets[0] >> 4 == 6 else IP
    esp = bytes(cls(sealed)[ESP])
    again = bytes(sa.encrypt(cls(octets), seq_num=seq, iv=esp[8:8 + iv_len] or None))
    assert again == sealed, f"scapy seals something else: {again.hex()}, not {sealed.hex()}"
    if cls is IP or octets[6] not in (0, 43):  # scapy takes the next octets for another extension header
        assert bytes(sa.decrypt(cls(sealed))) == octets, "scapy opens something else"


def write(name, packet, cipher, auth, esn, like_scapy=True):
    octets = bytes(packet)
    keys = [rng.randbytes(generate.CIPHERS[cipher][0]), rng.randbytes(generate.AUTHS[auth][0])]
    spi = rng.randrange(0x100, 1 << 32)
    seq = rng.randrange(1, 1 << (63 if esn else 32))
    sealed = protect(octets, cipher, auth, keys, spi, seq, esn)
    if like_scapy and not esn and cipher in SCAPY_CIPHERS:
        check_scapy(octets, sealed, cipher, auth, keys, spi, seq)
    print(f"{name}-{len(octets)}", cipher, auth, int(esn), *(key.hex() or "-" for key in keys),
          f"{spi:#x} {seq:#x} {octets.hex()} {sealed.hex()}")


def headers():
    """Every kind of header in front of ESP, and of what stays behind it."""
    udp = UDP(sport=1000, dport=4789) / Raw(rng.randbytes(50))
    hop = IPv6ExtHdrHopByHop(options=[RouterAlert()])
    routed = IPv6ExtHdrRouting(type=0, segleft=0, addresses=[A6, B6])
    options = IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(12))])
    whole = IPv6ExtHdrFragment(m=0, offset=0, id=0x12345678)
    v4, v6 = IP(src=A, dst=B, tos=0xB9, id=77, flags="DF"), IPv6(src=A6, dst=B6, tc=0xB9, fl=0x12345)
    for length in (4, 20, 40):
        yield f"options-{length}", IP(src=A, dst=B, options=[IPOption_NOP()] * length) / udp, True
    yield "df", v4 / udp, True
    yield "ip-in-ip", v4 / IP(src="10.1.0.5", dst="10.2.0.5") / udp, True
    yield "ipv6-in-ip", v4 / v6 / udp, True
    yield "esp", v4 / ESP(spi=7, seq=1, data=bytes(20)), True
    yield "hop-by-hop", v6 / hop / udp, True
    yield "routing", v6 / routed / udp, True
    yield "hop-routing", v6 / hop / routed / udp, True
    yield "options-routing-options", v6 / hop / options / routed / options / udp, True
    yield "destination-options", v6 / options / udp, False
    yield "atomic-fragment", v6 / whole / udp, False
    yield "all", v6 / hop / options / routed / whole / options / udp, False
    yield "ip-in-ipv6", v6 / v4 / udp, True


def main():
    print("# ESP in transport mode. Made by generate_transport.py, do not edit.")
    for cipher, auth in generate.pairs():
        for esn in (False, True):
            for length in (0, 1, 2, 61):
                rest = Raw(rng.randbytes(length))
                write("ip", IP(src=A, dst=B, proto=253, ttl=9) / rest, cipher, auth, esn)
                write("ipv6", IPv6(src=A6, dst=B6, nh=253, hlim=9) / rest, cipher, auth, esn)
    for cipher, auth in (("aes-256-gcm", "none"), ("aes-128-cbc", "hmac-sha2-256-128")):
        for name, packet, like_scapy in headers():
            write(name, packet, cipher, auth, False, like_scapy)


if __name__ == "__main__":
    main()
