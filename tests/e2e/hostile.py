#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The attacker of the test hostile, who even has the keys: INSTANCE NAMESPACE SPI KEY SPI KEY MAC MAC,
SPI and keys of its own packets and of the gateway's, link addresses of its own and of the gateway."""
import os
import random
import socket
import struct
import sys

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from peer import PATIENCE_S, Telemetry, packet_socket, socket_in, wait_until

HOST, LAN, GATEWAY, PEER, REMOTE = "10.1.0.2", "10.1.0.1", "192.0.2.1", "192.0.2.2", "10.2.0.9"
RANDOM_FRAMES = 100000
BATCH = 128  # frames at once: fewer than the port's ring holds


class Attacker:
    def __init__(self, instance, namespace, spi, key, their_spi, their_key, mac, gateway_mac):
        self.telemetry = Telemetry(instance)
        self.wire = packet_socket(namespace, "wan0")
        # A socket for packets of the gateway. The kernel would refuse them without a listener.
        self.esp = socket_in(namespace, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ESP)
        self.spi, self.key = int(spi, 0), bytes.fromhex(key)
        self.their_spi, self.their_key = int(their_spi, 0), bytes.fromhex(their_key)
        self.ether = Ether(src=mac, dst=gateway_mac)
        self.sequence = 0

    # Packets

    def outer(self, **fields):
        return IP(**{"src": PEER, "dst": GATEWAY, "proto": 50, **fields})

    def frame(self, packet):
        return bytes(self.ether / packet)

    def seal_text(self, text, sequence=None, spi=None):
        """ESP of AES-GCM (RFC 4106) around any text, trailer included."""
        if sequence is None:
            self.sequence += 1
            sequence = self.sequence
        header = struct.pack("!II", spi or self.spi, sequence)
        iv = os.urandom(8)
        sealed = AESGCM(self.key[:-4]).encrypt(self.key[-4:] + iv, text, header)
        return header + iv + sealed

    def seal(self, inner, next_header=4, pad=None, **arguments):
        inner = bytes(inner)
        if pad is None:
            pad = bytes(range(1, 1 + -(len(inner) + 2) % 4))
        return self.seal_text(inner + pad + bytes([len(pad), next_header]), **arguments)

    def sealed(self, inner, outer=None, **arguments):
        """A whole frame with a sealed packet."""
        return self.frame((outer or self.outer()) / Raw(self.seal(inner, **arguments)))

    def echo(self, **fields):
        return IP(**{"src": REMOTE, "dst": HOST, **fields}) / ICMP(id=7) / Raw(b"hello there")

    # Checks

    def send(self, frames):
        """In portions that the port's ring takes, waiting until the gateway has seen each."""
        for start in range(0, len(frames), BATCH):
            batch = frames[start:start + BATCH]
            target = self.telemetry.totals()["rx"] + len(batch)
            for frame in batch:
                self.wire.send(frame)
            wait_until(lambda: self.telemetry.totals()["rx"] >= target,
                       lambda: "the gateway saw %d packets less than were sent"
                       % (target - self.telemetry.totals()["rx"]))

    def expect(self, what, drop, frames):
        """Every frame is dropped, for this reason."""
        before = self.telemetry.drops()
        self.send(frames)

        def changes():
            after = self.telemetry.drops()
            return {name: after[name] - before.get(name, 0)
                    for name in after if after[name] != before.get(name, 0)}

        wait_until(lambda: sum(changes().values()) >= len(frames),
                   lambda: "%s: %d packets, dropped: %s" % (what, len(frames), changes()))
        if changes() != {drop: len(frames)}:
            raise SystemExit("FAILED: %s: wanted %d times %s, got %s"
                             % (what, len(frames), drop, changes()))
        print("%-52s %s" % (what, drop))

    def expect_traffic(self):
        """A sealed ping to the host is answered by a sealed reply."""
        self.esp.setblocking(False)
        try:  # earlier packets: ICMP errors in the tunnel
            while True:
                self.esp.recv(65536)
        except BlockingIOError:
            self.esp.settimeout(PATIENCE_S)
        self.send([self.sealed(self.echo())])
        packet = self.esp.recv(65536)[20:]
        if struct.unpack("!I", packet[:4])[0] != self.their_spi:
            raise SystemExit("FAILED: the answer has a wrong SPI")
        text = AESGCM(self.their_key[:-4]).decrypt(
            self.their_key[-4:] + packet[8:16], packet[16:], packet[:8])
        inner = IP(text)
        if (inner.src, inner.dst, inner[ICMP].type) != (HOST, REMOTE, 0):
            raise SystemExit("FAILED: not the answer: " + inner.summary())


def changed(frame, position, xor=1):
    """The frame with bits of one octet turned."""
    octets = bytearray(frame)
    octets[position] ^= xor
    return bytes(octets)


def truncated(frame, length):
    """The frame cut to a length, with an IP header that agrees."""
    ether = Ether(frame[:length])
    del ether[IP].len, ether[IP].chksum
    return bytes(ether)


def frames_and_headers(a):
    good = a.sealed(a.echo())
    ip_source = a.frame(IP(src="224.0.0.1", dst=GATEWAY, proto=50) / Raw(bytes(40)))
    a.expect("cut inside the IP header", drop="frame_short", frames=[good[:24], good[:14], good[:33]])
    a.expect("shorter than the IP header says", drop="ip_truncated", frames=[good[:-1], good[:60]])
    a.expect("for another station", drop="mac_other", frames=[changed(good, 5)])
    a.expect("MPLS", drop="ethertype", frames=[good[:12] + b"\x88\x47" + good[14:]])
    a.expect("IPv4 that says it is IPv6", drop="ip_header", frames=[good[:12] + b"\x86\xdd" + good[14:]])
    a.expect("ARP with a wrong address length, or cut", drop="arp_malformed", frames=[
        a.frame(ARP(hwlen=5, psrc=PEER, pdst=GATEWAY)), a.frame(ARP(psrc=PEER, pdst=GATEWAY))[:30]])
    a.expect("ARP whose sender is a group", drop="arp_malformed", frames=[
        a.frame(ARP(hwsrc="03:00:00:00:00:99", psrc=PEER, pdst=GATEWAY))])
    a.expect("IP version 5, header of 16 octets", drop="ip_header", frames=[
        good[:14] + b"\x55" + good[15:], good[:14] + b"\x44" + good[15:]])
    a.expect("wrong header checksum", drop="ip_checksum", frames=[changed(good, 24)])
    a.expect("multicast as source", drop="ip_source", frames=[ip_source])
    a.expect("broadcast", drop="not_unicast", frames=[
        bytes(Ether(src=a.ether.src, dst="ff:ff:ff:ff:ff:ff")
              / IP(src=PEER, dst="255.255.255.255") / UDP(dport=67))])


def esp(a):
    good = a.sealed(a.echo())
    esp_at = 14 + 20
    a.expect("no room for SPI and sequence number", drop="frame_short", frames=[
        truncated(good, esp_at + n) for n in (0, 4, 7)])
    a.expect("truncated to less than an empty packet", drop="esp_short", frames=[
        truncated(good, esp_at + n) for n in (8, 16, 32, 33)])
    a.expect("truncated, not a multiple of the block", drop="esp_short", frames=[
        truncated(good, len(good) - n) for n in (1, 2, 3)])
    a.expect("truncated, a multiple of the block", drop="auth", frames=[
        truncated(good, len(good) - n) for n in (4, 8)])
    a.expect("corrupted: sequence number, IV, text, ICV", drop="auth", frames=[
        changed(good, position, 0x80)
        for position in (esp_at + 7, esp_at + 8, esp_at + 16, esp_at + 40, len(good) - 16, len(good) - 1)])
    a.expect("wrong SPI", drop="no_sa", frames=[
        a.sealed(a.echo(), spi=a.spi + 16), a.sealed(a.echo(), spi=a.their_spi), a.sealed(a.echo(), spi=1)])
    a.expect("right SPI, but another of our addresses", drop="no_sa", frames=[
        a.sealed(a.echo(), outer=a.outer(dst=LAN))])

    a.send([a.sealed(a.echo(), sequence=1000)])
    a.sequence = 1000
    a.expect("replayed", drop="replay", frames=[a.sealed(a.echo(), sequence=1000)] * 3)
    a.expect("left of the window", drop="replay", frames=[
        a.sealed(a.echo(), sequence=n) for n in (1, 500, 1000 - 64)])
    a.expect("sequence number 0", drop="replay", frames=[a.sealed(a.echo(), sequence=0)])


def inner(a):
    echo = bytes(a.echo())  # 39 octets: padding of 3
    a.expect("padding that is not 1, 2, 3", drop="padding", frames=[
        a.sealed(echo, pad=pad) for pad in (b"\0\0\0", b"\1\2\4", b"\2\2\3", b"\1\2\3\4\5\6\0")])
    a.expect("padding longer than the packet", drop="padding", frames=[
        a.frame(a.outer() / Raw(a.seal_text(bytes(n) + b"\xff\x04"))) for n in (2, 50, 250)])
    a.expect("next header UDP", drop="next_header", frames=[a.sealed(echo, next_header=17)])
    a.expect("next header IPv6, but IPv4", drop="inner_header", frames=[a.sealed(echo, next_header=41)])
    a.expect("dummy packet", drop="dummy", frames=[a.sealed(os.urandom(39), next_header=59)])
    a.expect("inner packet of 0, 1, 19 octets", drop="inner_header", frames=[
        a.sealed(echo[:n]) for n in (0, 1, 19)])
    a.expect("inner version 6, short header, checksum", drop="inner_header", frames=[
        a.sealed(changed(echo, 0, 0x20)), a.sealed(b"\x44" + echo[1:]), a.sealed(changed(echo, 10))])
    a.expect("inner packet longer than its frame", drop="inner_header", frames=[a.sealed(echo[:-1])])
    a.expect("congestion marked, inner cannot tell", drop="ecn", frames=[
        a.sealed(echo, outer=a.outer(tos=3))])
    a.expect("inner source of another tunnel", drop="selector", frames=[a.sealed(a.echo(src="10.3.0.9"))])
    a.expect("inner source not in the policy", drop="selector", frames=[
        a.sealed(a.echo(src="10.4.0.9")), a.sealed(a.echo(src=HOST)), a.sealed(a.echo(src=PEER))])
    a.expect("inner destination not in the policy", drop="selector", frames=[
        a.sealed(a.echo(dst="10.3.0.9")), a.sealed(a.echo(dst=GATEWAY)), a.sealed(a.echo(dst=PEER))])
    a.expect("inner time to live is over", drop="ttl", frames=[a.sealed(a.echo(ttl=1))])
    a.expect("inner packet to the gateway, not served", drop="local_unserved", frames=[
        a.sealed(IP(src=REMOTE, dst=LAN) / UDP(dport=9))])


def clear(a):
    a.expect("clear, should be protected", drop="clear_text", frames=[
        a.frame(a.echo()), a.frame(a.echo(dst=LAN)), a.frame(a.echo(ttl=1))])
    a.expect("clear, policy says discard", drop="policy_discard", frames=[
        a.frame(a.echo(src="198.51.100.1")), a.frame(a.echo(dst="203.0.113.1"))])
    a.expect("to the gateway, not served", drop="local_unserved", frames=[
        a.frame(IP(src=PEER, dst=GATEWAY) / UDP(dport=9))])


def random_frames(a):
    """Random from ever further inside: the frame, the IP packet, the ESP packet, the sealed part."""
    ether = bytes(a.ether)[:12] + b"\x08\x00"
    spi = struct.pack("!I", a.spi)

    def whole(frame):
        """No fragment, which the kernel keeps for packet sockets with fanout, and no cut VLAN tag, which it frees."""
        if len(frame) < 20 and frame[12:14] in (b"\x81\0", b"\x88\xa8"):
            frame = ether + frame[14:]
        return frame[:20] + b"\0\0" + frame[22:] if len(frame) > 22 else frame

    def packet(head, n):
        return ether + bytes(a.outer(len=20 + len(head) + n)) + head + os.urandom(n)

    frames = []
    for _ in range(RANDOM_FRAMES // 4):
        n = random.randint(0, 1400)
        frames += [whole(os.urandom(14 + n)), whole(ether + os.urandom(n)),
                   packet(b"", n), packet(spi, n)]
    before = a.telemetry.drops()
    a.send(frames)
    wait_until(lambda: sum(a.telemetry.drops().values()) - sum(before.values()) >= len(frames),
               "not every random packet was dropped")
    after = a.telemetry.drops()
    counts = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    print(len(frames), "random packets:", counts)
    if sum(counts.values()) != len(frames):
        raise SystemExit("FAILED: packets counted twice: %d" % sum(counts.values()))
    for drop in ("mac_other", "ip_header", "no_sa", "auth", "esp_short"):
        if counts.get(drop, 0) < RANDOM_FRAMES // 20:
            raise SystemExit("FAILED: too few drops for the reason " + drop)


def main(*arguments):
    a = Attacker(*arguments)
    a.expect_traffic()
    buffers = a.telemetry.totals()["buffers_in_use"]
    for attack in (frames_and_headers, esp, inner, clear, random_frames):
        attack(a)
        a.expect_traffic()
        wait_until(lambda: a.telemetry.totals()["buffers_in_use"] == buffers,
                   lambda: "%d packet buffers are in use, it were %d before"
                   % (a.telemetry.totals()["buffers_in_use"], buffers))


if __name__ == "__main__":
    main(*sys.argv[1:])
