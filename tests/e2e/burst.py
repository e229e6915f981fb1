#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bursts of numbered datagrams, each after a rest, of which nothing may be lost or out of order.

    burst.py receive ADDRESS PORT COUNT             fails unless so many come, in order
    burst.py send ADDRESS PORT SIZE TIMES SECONDS   bursts of SIZE, SECONDS of rest before each
"""

import socket
import struct
import sys
import time

PATIENCE_S = 5
SO_RCVBUFFORCE = 33  # socket(7); the module has no name for it


def receive(sock, address, count):
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 23)
    sock.bind(address)
    sock.settimeout(60)
    for wanted in range(count):
        try:
            number = struct.unpack("!I", sock.recv(2048)[:4])[0]
        except TimeoutError:
            return f"{wanted} of {count} datagrams came"
        if number != wanted:
            return f"{number} came for {wanted}"
        sock.settimeout(PATIENCE_S)
    return None


def send(sock, address, size, times, rest):
    sock.connect(address)
    number = 0
    for _ in range(times):
        time.sleep(rest)
        for number in range(number, number + size):
            sock.send(struct.pack("!I", number) + bytes(60))
        number += 1


def main():
    way, address = sys.argv[1], (sys.argv[2], int(sys.argv[3]))
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if way == "send":
        send(sock, address, int(sys.argv[4]), int(sys.argv[5]), float(sys.argv[6]))
        return 0
    wrong = receive(sock, address, int(sys.argv[4]))
    print(wrong or "all came, in order")
    return 1 if wrong else 0


sys.exit(main())
