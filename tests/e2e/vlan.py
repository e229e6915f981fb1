#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A switch with VLANs, in place of the kernel's, which may lack 802.1Q.

    vlan.py switch COUNTS LINK...           forwards frames of both ends of each link, END=END, to the other one,
                                            but to a trunk only when there has been a frame from it: its gateway
                                            is there; SIGUSR1 writes to the file how many each end sent and received
    vlan.py send IFACE VLAN TIMES           sends so many frames of the VLAN, or without a tag for "-"
    vlan.py ask IFACE VLAN OWN MAC TARGET   asks for an address by ARP with that tag, prints the tag of the reply

An END is an interface, whose frames have no tag, or IFACE:VLAN.
"""

import errno
import json
import os
import select
import signal
import socket
import struct
import sys

SOL_PACKET, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING = 263, 8, 23
TP_STATUS_VLAN_VALID = 1 << 4
ETH_P_ALL = 3
ARP_ASK = struct.Struct("!6s6sHHHBBH6s4s6s4s")
PATIENCE_MS = 60000
SO_RCVBUFFORCE = 33  # socket(7); the module has no name for it


def port(iface):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
    sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    sock.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    sock.bind((iface, ETH_P_ALL))
    return sock


def receive(sock):
    """A frame without its tag, and the VLAN of that, None without one. The kernel has removed the tag."""
    frame, control, _, _ = sock.recvmsg(65536, 64)
    for _, _, data in control:
        status, _, _, _, _, tci, _ = struct.unpack("IIIHHHH", data)
        if status & TP_STATUS_VLAN_VALID:
            return frame, tci & 0xFFF
    return frame, None


def send(sock, frame, vlan):
    if vlan is not None:
        frame = frame[:12] + struct.pack("!HH", 0x8100, vlan) + frame[12:]
    sock.send(frame)


def end_of(text):
    iface, _, vlan = text.partition(":")
    return iface, int(vlan) if vlan else None


def name_of(end):
    return end[0] if end[1] is None else f"{end[0]}:{end[1]}"


def switch(path, links):
    to, there = {}, set()
    for a, b in (link.split("=") for link in links):
        to[end_of(a)], to[end_of(b)] = end_of(b), end_of(a)
    socks = {iface: port(iface) for iface in {end[0] for end in to}}
    ifaces = {sock.fileno(): iface for iface, sock in socks.items()}
    counts = {name_of(end): {"received": 0, "sent": 0} for end in to}
    poll = select.poll()
    for fd in ifaces:
        poll.register(fd, select.POLLIN)

    def write(*_):
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(counts, file)
        os.rename(path + ".new", path)

    signal.signal(signal.SIGUSR1, write)
    print("ready", flush=True)
    while True:
        for fd, _ in poll.poll():
            iface = ifaces[fd]
            try:
                frame, vlan = receive(socks[iface])
                there.add(iface)
                end = to.get((iface, vlan))
                if end is None:
                    continue
                counts[name_of((iface, vlan))]["received"] += 1
                if end[1] is not None and end[0] not in there:
                    continue
                send(socks[end[0]], frame, end[1])
                counts[name_of(end)]["sent"] += 1
            except OSError as error:
                if error.errno != errno.ENETDOWN:
                    raise


def ask(iface, vlan, own, mac, target):
    sock = port(iface)
    me = bytes.fromhex(mac.replace(":", ""))
    frame = ARP_ASK.pack(b"\xff" * 6, me, 0x0806, 1, 0x0800, 6, 4, 1, me, socket.inet_aton(own), bytes(6),
                         socket.inet_aton(target))
    send(sock, frame, vlan)
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    while poll.poll(PATIENCE_MS):
        frame, vlan = receive(sock)
        if frame[:6] == me and frame[12:14] == b"\x08\x06" and frame[20:22] == b"\x00\x02":
            print("none" if vlan is None else vlan)
            return 0
    return 1


def main():
    way, rest = sys.argv[1], sys.argv[2:]
    if way == "switch":
        return switch(rest[0], rest[1:])
    vlan = None if rest[1] == "-" else int(rest[1])
    if way == "ask":
        return ask(rest[0], vlan, *rest[2:])
    sock = port(rest[0])
    for _ in range(int(rest[2])):
        send(sock, b"\x02\x00\x00\x00\x00\x01" * 2 + b"\x08\x00" + bytes(46), vlan)
    return 0


if __name__ == "__main__":
    sys.exit(main())
