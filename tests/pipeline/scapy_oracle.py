#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""ESP against scapy, octet by octet: each opens the packets that the other seals, for NULL and AES-CBC
with two HMACs, and AES-GCM, and inner packets of 20 to 1500 octets; then the same with IPv6: in both
outer families, inner packets of either alternately. The other algorithms that scapy has are in
tests/e2e/scapy_peer.

Usage: scapy_oracle.py ESP_TOOL
"""

import random
import subprocess
import sys

from scapy.config import conf
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.ipsec import ESP, SecurityAssociation
from scapy.packet import Raw

conf.verb = 0

# Our name, scapy's, octets of IV.
CIPHERS = [
    ("null", "NULL", 0),
    ("aes-128-cbc", "AES-CBC", 16),
    ("aes-192-cbc", "AES-CBC", 16),
    ("aes-256-cbc", "AES-CBC", 16),
    ("aes-128-gcm", "AES-GCM", 8),
    ("aes-192-gcm", "AES-GCM", 8),
    ("aes-256-gcm", "AES-GCM", 8),
]
AUTHS = [("hmac-sha1-96", "HMAC-SHA1-96"), ("hmac-sha2-256-128", "SHA2-256-128")]

SIZES = [*range(20, 37), 40, 59, 60, 127, 128, 255, 256, 511, 576, 1023, 1024, 1280, *range(1432, 1448), 1499, 1500]
HOST_A, HOST_B = "10.1.0.5", "10.2.0.5"
HOST6_A, HOST6_B = "2001:db8:1::5", "2001:db8:2::5"
GATEWAY_A, GATEWAY_B = "192.0.2.1", "192.0.2.2"
GATEWAYS = {"4": (GATEWAY_A, GATEWAY_B), "6": ("2001:db8:f::1", "2001:db8:f::2")}


def pairs():
    for ours, theirs, iv_len in CIPHERS:
        if theirs == "AES-GCM":
            yield ours, "none", theirs, "NULL", iv_len
            continue
        for our_auth, their_auth in AUTHS:
            yield ours, our_auth, theirs, their_auth, iv_len


class Tool:
    """A gateway in a process of its own."""

    def __init__(self, path, *arguments):
        self.process = subprocess.Popen([path, *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.sas = dict(self.read_sa() for _ in range(2))

    def read_sa(self):
        name, spi, *keys = self.process.stdout.readline().split()
        return name, (int(spi, 16), *(bytes.fromhex(key.replace("-", "")) for key in keys))

    def packet(self, port, octets):
        self.process.stdin.write(f"{port} {octets.hex()}\n")
        self.process.stdin.flush()
        verb, what = self.process.stdout.readline().split()
        assert verb == "sent", f"dropped: {what}"
        return bytes.fromhex(what)

    def close(self):
        self.process.stdin.close()
        status = self.process.wait()
        assert status == 0, f"esp_tool: exit status {status}"


def inner_packet(rng, size, src, dst):
    packet = IP(src=src, dst=dst, ttl=64, id=rng.randrange(65536), tos=rng.randrange(64) << 2)
    if size >= 28:
        packet /= UDP(sport=rng.randrange(1, 65536), dport=rng.randrange(1, 65536)) / Raw(
            rng.randbytes(size - 28))
    else:
        packet /= Raw(rng.randbytes(size - 20))
        packet.proto = 253  # for experiments: has no ports
    octets = bytes(packet)
    assert len(octets) == size
    return octets


def inner_packet6(rng, size, src, dst):
    packet = IPv6(src=src, dst=dst, hlim=64, tc=rng.randrange(64) << 2, fl=rng.randrange(1 << 20), nh=253)
    octets = bytes(packet / Raw(rng.randbytes(size - 40)))
    assert len(octets) == size
    return octets


def one_hop_on(octets):
    if octets[0] >> 4 == 6:
        return octets[:7] + bytes([octets[7] - 1]) + octets[8:]
    packet = IP(octets)
    packet.ttl -= 1
    del packet.chksum
    return bytes(packet)


def header(src, dst):
    return IPv6(src=src, dst=dst) if ":" in src else IP(src=src, dst=dst)


def association(sa, cipher, auth, src, dst):
    spi, cipher_key, auth_key = sa
    return SecurityAssociation(ESP, spi=spi, crypt_algo=cipher, crypt_key=cipher_key or None,
                               auth_algo=auth, auth_key=auth_key or None,
                               tunnel_header=header(src, dst))


def check_sealed(tool, sa, rng, size, seq, iv_len):
    """scapy opens packets of the pipeline; with the same IV it seals the same octets."""
    inner = inner_packet(rng, size, HOST_A, HOST_B)
    right = one_hop_on(inner)
    sealed = IP(tool.packet("lan", inner))
    assert bytes(sa.decrypt(IP(bytes(sealed)))) == right, "scapy opens something else"

    esp = bytes(sealed[ESP])
    again = sa.encrypt(IP(right), seq_num=seq, iv=esp[8:8 + iv_len] or None)
    assert bytes(again[ESP]) == esp, "scapy seals something else"
    assert (sealed.src, sealed.dst, sealed.proto) == (GATEWAY_A, GATEWAY_B, 50)
    assert sealed.tos == right[1], "the outer TOS is another"


def check_opened(tool, sa, rng, size, seq):
    """The pipeline opens packets of scapy."""
    inner = inner_packet(rng, size, HOST_B, HOST_A)
    sealed = sa.encrypt(IP(inner), seq_num=seq)
    assert tool.packet("wan", bytes(sealed)) == one_hop_on(inner), "another packet is opened"


def check_pair(path, cipher, auth, their_cipher, their_auth, iv_len):
    rng = random.Random(f"{cipher} {auth}")
    tool = Tool(path, cipher, auth)
    to_b = association(tool.sas["to-b"], their_cipher, their_auth, GATEWAY_A, GATEWAY_B)
    from_b = association(tool.sas["from-b"], their_cipher, their_auth, GATEWAY_B, GATEWAY_A)
    for seq, size in enumerate(SIZES, 1):
        try:
            check_sealed(tool, to_b, rng, size, seq, iv_len)
            check_opened(tool, from_b, rng, size, seq)
        except Exception:
            print(f"{cipher} {auth}: inner packet of {size} octets", file=sys.stderr)
            raise
    tool.close()
    print(f"{cipher} {auth}: {len(SIZES)} packets in each direction")


def parse(octets):
    return IPv6(octets) if octets[0] >> 4 == 6 else IP(octets)


def traffic_class(octets):
    return octets[1] if octets[0] >> 4 == 4 else (octets[0] << 4 | octets[1] >> 4) & 255


def check_mix(path, outer, cipher, auth, their_cipher, their_auth, iv_len):
    rng = random.Random(f"{outer} {cipher} {auth}")
    tool = Tool(path, cipher, auth, outer)
    ours, theirs = GATEWAYS[outer]
    out = association(tool.sas["out"], their_cipher, their_auth, ours, theirs)
    back = association(tool.sas["in"], their_cipher, their_auth, theirs, ours)
    packets = 0
    for size in SIZES:
        for make, here, there, least in ((inner_packet, HOST_A, HOST_B, 20),
                                         (inner_packet6, HOST6_A, HOST6_B, 40)):
            if size < least:
                continue
            packets += 1
            inner = make(rng, size, here, there)
            sealed = tool.packet("lan", inner)
            esp = bytes(parse(sealed)[ESP])
            assert bytes(out.decrypt(parse(sealed))) == one_hop_on(inner), "scapy opens something else"
            again = out.encrypt(parse(one_hop_on(inner)), seq_num=packets, iv=esp[8:8 + iv_len] or None)
            assert bytes(again[ESP]) == esp, "scapy seals something else"
            assert (parse(sealed).src, parse(sealed).dst) == (ours, theirs)
            assert traffic_class(sealed) == traffic_class(inner), "the outer traffic class is another"
            inner = make(rng, size, there, here)
            sealed = bytes(back.encrypt(parse(inner), seq_num=packets))
            assert tool.packet("wan", sealed) == one_hop_on(inner), "another packet is opened"
    tool.close()
    print(f"{cipher} {auth} over IPv{outer}: {packets} packets in each direction, of both families")


def check_tfc(path, outer, cipher, auth, their_cipher, their_auth):
    """TFC padding (RFC 4303 2.7): scapy finds the inner packet, zeros after it and one length; and
    the pipeline removes the padding of scapy's packets."""
    pad = 1000
    rng = random.Random(f"tfc {outer} {cipher} {auth}")
    tool = Tool(path, cipher, auth, outer, f"tfc = {{ pad = {pad}; }};")
    ours, theirs = GATEWAYS[outer]
    out = association(tool.sas["out"], their_cipher, their_auth, ours, theirs)
    back = association(tool.sas["in"], their_cipher, their_auth, theirs, ours)
    lengths = set()
    seq = 0
    for size in SIZES:
        for make, here, there, least in ((inner_packet, HOST_A, HOST_B, 20),
                                         (inner_packet6, HOST6_A, HOST6_B, 40)):
            if size < least:
                continue
            seq += 1
            inner = make(rng, size, here, there)
            sealed = tool.packet("lan", inner)
            right = one_hop_on(inner)
            opened = bytes(out.decrypt(parse(sealed)))
            assert opened == right + bytes(max(pad - size, 0)), "scapy opens something else"
            assert traffic_class(sealed) == 0, "the outer traffic class reveals the inner one"
            if size <= pad:
                lengths.add(len(sealed))
            inner = make(rng, size, there, here)
            sealed = bytes(back.encrypt(parse(inner + rng.randbytes(rng.randrange(40))), seq_num=seq))
            assert tool.packet("wan", sealed) == one_hop_on(inner), "another packet is opened"
    assert len(lengths) == 1, f"lengths on the wire: {lengths}"
    tool.close()
    print(f"{cipher} {auth} over IPv{outer}, TFC padding: {seq} packets in each direction")


def main():
    count = 0
    for cipher, auth, their_cipher, their_auth, iv_len in pairs():
        check_pair(sys.argv[1], cipher, auth, their_cipher, their_auth, iv_len)
        for outer in GATEWAYS:
            check_mix(sys.argv[1], outer, cipher, auth, their_cipher, their_auth, iv_len)
            if cipher != "null":
                check_tfc(sys.argv[1], outer, cipher, auth, their_cipher, their_auth)
        count += 1
    assert count == 11


if __name__ == "__main__":
    main()
