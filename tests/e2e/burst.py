#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bursts of numbered datagrams, each after a rest, of which nothing may be lost or out of order.

    burst.py receive ADDRESS PORT SIZE TIMES        fails unless all of so many bursts come, in order
    burst.py send ADDRESS PORT SIZE TIMES SECONDS   SECONDS of rest before each, once the one before has come
"""

import socket
import struct
import sys
import time

PATIENCE_S = 60
SO_RCVBUFFORCE = 33  # socket(7); the module has no name for it


def receive(sock, address, size, times):
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 23)
    sock.bind(address)
    for wanted in range(size * times):
        try:
            datagram, sender = sock.recvfrom(2048)
        except TimeoutError:
            return f"{wanted} of {size * times} datagrams came"
        number = struct.unpack("!I", datagram[:4])[0]
        if number != wanted:
            return f"{number} came for {wanted}"
        if (number + 1) % size == 0:
            sock.sendto(b"a whole burst", sender)
    return None


def send(sock, address, size, times, rest):
    sock.connect(address)
    for first in range(0, size * times, size):
        time.sleep(rest)
        for number in range(first, first + size):
            sock.send(struct.pack("!I", number) + bytes(60))
        sock.recv(64)


def main():
    way, address = sys.argv[1], (sys.argv[2], int(sys.argv[3]))
    size, times = int(sys.argv[4]), int(sys.argv[5])
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(PATIENCE_S)
    if way == "send":
        send(sock, address, size, times, float(sys.argv[6]))
        return 0
    wrong = receive(sock, address, size, times)
    print(wrong or "all came, in order")
    return 1 if wrong else 0


sys.exit(main())
