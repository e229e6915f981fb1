#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Numbered UDP packets of several flows, from one host to another.

    numbered.py receive SOCKET ADDRESS PORT      prints: received, late, missing
    numbered.py send SOCKET ADDRESS PORT PACKETS FLOWS SIZE

A packet is late if one of its flow that was sent after it has arrived before. No more packets are in
flight than fit into the smallest queue between the two, so that gateways alone can lose any: the receiver
says by the Unix socket how many have arrived.
"""
import os
import socket
import struct
import sys
import time

SO_RCVBUFFORCE = 33  # of Linux
WINDOW = 256  # packets in flight
SAY_EVERY = 16
LOST_S = 3
END = struct.pack("!II", 0xFFFFFFFF, 0)


def receive(path, address, port):
    """Until the sender says by the Unix socket that all were sent."""
    data = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    data.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
    data.bind((address, port))
    data.settimeout(0.05)
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    peer.bind(path + ".receiver")
    peer.setblocking(False)
    last, received, late, sent = {}, 0, 0, None
    packet = memoryview(bytearray(2048))
    quiet = None
    while sent is None or (received < sent and time.monotonic() < quiet + LOST_S):
        try:
            data.recv_into(packet)
        except TimeoutError:
            if received > 0:
                tell(peer, path, received)
            try:
                sent = struct.unpack("!I", peer.recv(4))[0]
                quiet = quiet or time.monotonic()
            except BlockingIOError:
                pass
            continue
        flow, number = struct.unpack_from("!II", packet)
        late += number < last.get(flow, -1)
        last[flow] = max(number, last.get(flow, -1))
        received += 1
        quiet = time.monotonic()
        if received % SAY_EVERY == 0:
            tell(peer, path, received)
    print(received, late, sent - received)


def tell(peer, path, received):
    try:
        peer.sendto(struct.pack("!I", received), path + ".sender")
    except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
        pass


def send(path, address, port, packets, flows, size):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    peer.bind(path + ".sender")
    peer.settimeout(LOST_S)
    data = []
    for flow in range(flows):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind(("", 20000 + flow))
        s.connect((address, port))
        data.append(s.send)
    rest = bytes(size)
    arrived = lost = 0
    for number in range(packets):
        while number - arrived - lost >= WINDOW:
            try:
                arrived = struct.unpack("!I", peer.recv(4))[0]
            except TimeoutError:  # the receiver counts missing ones
                lost = number - arrived
        data[number % flows](struct.pack("!II", number % flows, number) + rest)
    peer.sendto(struct.pack("!I", packets), path + ".receiver")


if sys.argv[1] == "receive":
    receive(sys.argv[2], sys.argv[3], int(sys.argv[4]))
else:
    send(sys.argv[2], sys.argv[3], *(int(a) for a in sys.argv[4:8]))
