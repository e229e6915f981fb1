#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reassembly against scapy, which fragments datagrams of both families, and opens and reassembles the
packets that the pipeline makes of them: with fragments of every size, in any order, duplicated,
overlapping, tiny, with holes and without ends. Then the opposite direction: sealed fragments.

Usage: scapy_fragments.py ESP_TOOL
"""

import random
import sys

from scapy.layers.inet import IP, defragment, fragment
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, defragment6, fragment6
from scapy.packet import Raw

from scapy_oracle import GATEWAYS, HOST6_A, HOST6_B, HOST_A, HOST_B, Tool, association, one_hop_on, parse

ROUNDS = 80
FRAGMENTS_MAX = 60  # the pipeline can hold 64
LEN_MAX = 6000
HELD = ("held", "drop fragments_full")  # incomplete datagrams are evicted


class Four:
    """Datagrams of IPv4, parsed by scapy."""

    least = 8

    def __init__(self, rng, number, there=False):
        src, dst = (HOST_B, HOST_A) if there else (HOST_A, HOST_B)
        self.whole = IP(src=src, dst=dst, id=number, proto=253) / Raw(rng.randbytes(rng.randrange(100, LEN_MAX)))
        self.len = len(self.whole) - 20

    def fragments(self, size):
        return [bytes(p) for p in fragment(IP(bytes(self.whole)), fragsize=size)]

    def widen(self, piece, rng):
        """The fragment with more octets, which overlap the next one."""
        packet = IP(piece)
        return bytes(IP(src=packet.src, dst=packet.dst, id=packet.id, proto=253, flags=packet.flags,
                        frag=packet.frag) / Raw(bytes(packet.payload) + rng.randbytes(8)))

    def expected(self):
        return one_hop_on(bytes(self.whole))

    @staticmethod
    def join(pieces):
        joined = defragment([IP(p) for p in pieces])
        assert len(joined) == 1, f"scapy makes {len(joined)} packets of it"
        packet = IP(bytes(joined[0]))
        packet.flags = 0
        del packet.chksum, packet.len
        return bytes(packet)


class Six:
    """The same of IPv6."""

    least = 8

    def __init__(self, rng, number, there=False):
        src, dst = (HOST6_B, HOST6_A) if there else (HOST6_A, HOST6_B)
        self.payload = rng.randbytes(rng.randrange(100, LEN_MAX))
        self.header = IPv6(src=src, dst=dst, nh=253)
        self.number = number
        self.len = len(self.payload)

    def fragments(self, size):
        whole = self.header.copy()
        whole.nh = 44
        whole /= IPv6ExtHdrFragment(id=self.number, nh=253) / Raw(self.payload)
        return [bytes(p) for p in fragment6(whole, 40 + 8 + size)]

    def widen(self, piece, rng):
        packet = IPv6(piece)
        ext = packet[IPv6ExtHdrFragment]
        return bytes(IPv6(src=packet.src, dst=packet.dst) / IPv6ExtHdrFragment(
            id=ext.id, nh=253, m=ext.m, offset=ext.offset) / Raw(bytes(ext.payload) + rng.randbytes(8)))

    def expected(self):
        return one_hop_on(bytes(self.header / Raw(self.payload)))

    @staticmethod
    def join(pieces):
        return bytes(defragment6([IPv6(p) for p in pieces]))


def sizes(rng, datagram):
    """Payload of a fragment: so that there are not too many fragments, and mostly few."""
    least = -(-datagram.len // FRAGMENTS_MAX)
    size = rng.choice([least, rng.randrange(least, 1400), rng.randrange(600, 1400)])
    return max(datagram.least, -(-size // 8) * 8)


class Pipe:
    """Fragments are received from a port, sealed if there is an SA; packets sent are opened if so."""

    def __init__(self, tool, port, seal=None, open_=None):
        self.tool, self.port, self.seal, self.open = tool, port, seal, open_
        self.seq = 0

    def send(self, piece):
        """The result for one fragment, and the packets sent."""
        self.seq += 1
        if self.seal is not None:
            piece = bytes(self.seal.encrypt(parse(piece), seq_num=self.seq))
        self.tool.process.stdin.write(f"{self.port} {piece.hex()}\n")
        self.tool.process.stdin.flush()
        verb, *what = self.tool.process.stdout.readline().split()
        if verb != "sent":
            return " ".join([verb, *what]), []
        packets = [bytes.fromhex(p) for p in what]
        return verb, [bytes(self.open.decrypt(parse(p))) for p in packets] if self.open is not None else packets


def check_complete(pipe, datagram, pieces, rng):
    """In any order, some of them twice: complete with the last one."""
    rng.shuffle(pieces)
    for i, piece in enumerate(pieces):
        verb, packets = pipe.send(piece)
        if i + 1 < len(pieces):
            assert verb in HELD, f"{verb} for fragment {i} of {len(pieces)}"
            if rng.randrange(8) == 0:
                verb, _ = pipe.send(rng.choice(pieces[:i + 1]))
                assert verb == "drop fragment_duplicate", f"{verb} for a second one"
    assert verb == "sent", f"{verb} for the last fragment"
    assert datagram.join(packets) == datagram.expected(), "the datagram sent is another"


def check_nothing(pipe, pieces, rng):
    """Fragments that make no datagram, in any order."""
    rng.shuffle(pieces)
    for piece in pieces:
        verb, _ = pipe.send(piece)
        assert verb != "sent", "fragments that make no datagram are reassembled"


def check(pipe, make, rng, there=False):
    kinds = {"whole": 0, "overlap": 0, "hole": 0, "no end": 0}
    for number in range(1, ROUNDS + 1):
        datagram = make(rng, number, there)
        size = sizes(rng, datagram)
        pieces = datagram.fragments(size)
        kind = rng.choice(["whole", "whole", "whole", *kinds])
        if len(pieces) < 3:
            kind = "whole"
        kinds[kind] += 1
        try:
            if kind == "whole":
                check_complete(pipe, datagram, pieces, rng)
                continue
            at = rng.randrange(0, len(pieces) - 1)
            if kind == "overlap":
                pieces[at] = datagram.widen(pieces[at], rng)
            elif kind == "hole":
                del pieces[at]
            else:
                del pieces[-1]
            check_nothing(pipe, pieces, rng)
        except Exception:
            print(f"{make.__name__} {number}: {kind}, {datagram.len} octets in {len(pieces)} fragments of {size}",
                  file=sys.stderr)
            raise
    assert min(kinds.values()) > ROUNDS // 20, f"too few of a kind: {kinds}"
    print(f"{make.__name__}, {pipe.port}: {kinds}")


def main():
    for outer, (ours, theirs) in GATEWAYS.items():
        for make in (Four, Six):
            rng = random.Random(f"{outer} {make.__name__}")
            tool = Tool(sys.argv[1], "aes-128-gcm", "none", outer)
            out = association(tool.sas["out"], "AES-GCM", "NULL", ours, theirs)
            back = association(tool.sas["in"], "AES-GCM", "NULL", theirs, ours)
            check(Pipe(tool, "lan", open_=out), make, rng)
            check(Pipe(tool, "wan", seal=back), make, rng, there=True)
            tool.close()


if __name__ == "__main__":
    main()
