#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Numbered traffic at full speed, of which nothing may be lost, duplicated or out of order.

    stream.py receive udp|tcp ADDRESS PORT   prints what it has received when the sender ends
    stream.py send udp|tcp ADDRESS PORT      until SIGTERM

No more datagrams are in flight than fit into the smallest queue between the two, so a missing datagram
was lost by a gateway, not by a queue.
"""
import hashlib
import signal
import socket
import struct
import sys
import time

END = 0xFFFFFFFF
SIZE = 1200
WINDOW = 128  # datagrams in flight
ACK_EVERY = 16
LOST_S = 5  # then the datagram is lost
TCP_BUFFER = 1 << 16  # octets; the kernel takes twice as much


def receive_udp(sock):
    """Every datagram has the number behind the one before; the last one says how many there were."""
    wanted = 0
    wrong = []
    sock.settimeout(60)
    while True:
        datagram, sender = sock.recvfrom(2048)
        number, sent = struct.unpack("!II", datagram[:8])
        if number == END:
            break
        if number != wanted:
            wrong.append(f"{number} came for {wanted}")
        wanted = number + 1
        if wanted % ACK_EVERY == 0:
            sock.sendto(struct.pack("!I", wanted), sender)
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


def send_udp(sock, going):
    number = acknowledged = 0
    sock.settimeout(LOST_S)
    while going():
        while number - acknowledged < WINDOW:
            sock.send(struct.pack("!II", number, 0) + bytes(SIZE))
            number += 1
        try:
            acknowledged = struct.unpack("!I", sock.recv(4))[0]
        except TimeoutError:  # the receiver reports missing datagrams
            acknowledged = number
    time.sleep(0.5)  # nothing may overtake the end
    sock.send(struct.pack("!II", END, number))


def send_tcp(sock, going):
    digest, number = hashlib.sha256(), 0
    while going():
        piece = struct.pack("!Q", number) * 1024
        number += 1
        digest.update(piece)
        sock.sendall(piece)
    sock.sendall(digest.digest())
    sock.close()


def main():
    action, proto, address, port = sys.argv[1:5]
    kind = socket.SOCK_DGRAM if proto == "udp" else socket.SOCK_STREAM
    sock = socket.socket(socket.AF_INET, kind)
    if action == "send":
        stopped = []
        signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
        sock.connect((address, int(port)))
        send = send_udp if proto == "udp" else send_tcp
        send(sock, lambda: not stopped)
        return 0
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22 if proto == "udp" else TCP_BUFFER)
    sock.bind((address, int(port)))
    if proto == "tcp":
        sock.listen()
        sock = sock.accept()[0]
    total, wrong = receive_udp(sock) if proto == "udp" else receive_tcp(sock)
    print(f"{proto}: {total} {'datagrams' if proto == 'udp' else 'octets'}, {len(wrong)} wrong")
    print("\n".join(wrong[:20]))
    return 1 if wrong or total == 0 else 0


sys.exit(main())
