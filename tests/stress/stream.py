#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Numbered traffic, of which nothing may be lost, doubled or out of order.

    stream.py receive udp|tcp ADDRESS PORT     prints what came, once the sender has said its end
    stream.py send udp|tcp ADDRESS PORT RATE   packets (udp) or kilobytes (tcp) a second, until SIGTERM
"""
import hashlib
import signal
import socket
import struct
import sys
import time

END = 0xFFFFFFFF
SIZE = 1200


def receive_udp(sock):
    """Every datagram has the number behind the one before; the last one says how many there were."""
    wanted = 0
    wrong = []
    sock.settimeout(60)
    while True:
        number, sent = struct.unpack("!II", sock.recv(2048)[:8])
        if number == END:
            break
        if number != wanted:
            wrong.append(f"{number} came for {wanted}")
        wanted = number + 1
    if wanted != sent:
        wrong.append(f"{sent} were sent, the last that came is {wanted - 1}")
    return wanted, wrong


def receive_tcp(sock):
    """The last 32 octets are the digest of all before."""
    digest, total, tail = hashlib.sha256(), 0, b""
    sock.settimeout(60)
    while piece := sock.recv(65536):
        total += len(piece)
        tail += piece
        digest.update(tail[:-32])
        tail = tail[-32:]
    return total, [] if digest.digest() == tail else ["the octets are others"]


def send_udp(sock, rate, going):
    start, number = time.monotonic(), 0
    while going():
        while number < (time.monotonic() - start) * rate:
            sock.send(struct.pack("!II", number, 0) + bytes(SIZE))
            number += 1
        time.sleep(0.0005)
    time.sleep(0.5)  # nothing overtakes the end
    sock.send(struct.pack("!II", END, number))


def send_tcp(sock, rate, going):
    sock.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_MAX_PACING_RATE", 47), rate * 1000)
    digest, number = hashlib.sha256(), 0
    while going():
        piece = struct.pack("!Q", number) * 1024
        number += 1
        digest.update(piece)
        sock.sendall(piece)
    sock.sendall(digest.digest())
    sock.close()


def main():
    way, proto, address, port = sys.argv[1:5]
    kind = socket.SOCK_DGRAM if proto == "udp" else socket.SOCK_STREAM
    sock = socket.socket(socket.AF_INET, kind)
    if way == "send":
        stopped = []
        signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
        sock.connect((address, int(port)))
        send = send_udp if proto == "udp" else send_tcp
        send(sock, int(sys.argv[5]), lambda: not stopped)
        return 0
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if proto == "udp":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    sock.bind((address, int(port)))
    if proto == "tcp":
        sock.listen()
        sock = sock.accept()[0]
    total, wrong = receive_udp(sock) if proto == "udp" else receive_tcp(sock)
    print(f"{proto}: {total} {'datagrams' if proto == 'udp' else 'octets'}, {len(wrong)} wrong")
    print("\n".join(wrong[:20]))
    return 1 if wrong or total == 0 else 0


sys.exit(main())
