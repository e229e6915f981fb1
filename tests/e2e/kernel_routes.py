#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Changes many routes of the kernel, faster than ip does, in the network namespace of this process.

    kernel_routes.py add|replace|delete 4|6 COUNT OBJECT     by the next-hop object with that number
    kernel_routes.py change TIMES RATE COUNT OBJECT OBJECT   replaces random ones of COUNT IPv4 routes by either object,
                                                             RATE in a second; prints the seconds that it took

The routes have protocol bgp: every 11th /24 from 16.0.0.0 on, a million in 46,000 networks of /16, or every 37th /48 from
2a00:: on.
"""
import random
import socket
import struct
import sys
import time

NEW, DELETE = 24, 25  # RTM_*
REQUEST, REPLACE, CREATE = 1, 0x100, 0x400  # NLM_F_*
DST, NH_ID = 1, 30  # RTA_*
BGP, MAIN, UNICAST = 186, 254, 1
ERROR = 2  # NLMSG_ERROR
AT_ONCE = 400  # messages

PREFIX = {
    socket.AF_INET: lambda i: struct.pack("!I", 0x10000000 + (i * 11 << 8)),
    socket.AF_INET6: lambda i: struct.pack("!QQ", 0x2A00000000000000 + (i * 37 << 16), 0),
}
LENGTH = {socket.AF_INET: 24, socket.AF_INET6: 48}


def message(kind, family, i, number):
    flags = REQUEST | (CREATE | REPLACE if kind == NEW else 0)
    to = PREFIX[family](i)
    body = struct.pack("BBBBBBBBI", family, LENGTH[family], 0, 0, MAIN, BGP, 0, UNICAST if kind == NEW else 0, 0)
    body += struct.pack("HH", 4 + len(to), DST) + to
    if kind == NEW:
        body += struct.pack("HHI", 8, NH_ID, number)
    return struct.pack("IHHII", 16 + len(body), kind, flags, i, 0) + body


def send(sock, messages):
    sock.send(b"".join(messages))
    try:
        answer = sock.recv(65536, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return
    kind, error = struct.unpack_from("H", answer, 4)[0], struct.unpack_from("i", answer, 16)[0]
    if kind == ERROR and error != 0:
        sys.exit(f"error {-error} of the kernel")


def all_of(sock, kind, family, count, number):
    for begin in range(0, count, AT_ONCE):
        send(sock, [message(kind, family, i, number) for i in range(begin, min(begin + AT_ONCE, count))])


def changes(sock, times, rate, count, numbers):
    rng, done, begun = random.Random(31), 0, time.monotonic()
    while done < times:
        if done > rate * (time.monotonic() - begun):
            time.sleep(0.005)
            continue
        send(sock, [message(NEW, socket.AF_INET, rng.randrange(count), rng.choice(numbers)) for _ in range(AT_ONCE)])
        done += AT_ONCE
    print(f"{time.monotonic() - begun:.0f}")


def main():
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        verb, numbers = sys.argv[1], [int(word) for word in sys.argv[2:]]
        if verb == "change":
            changes(sock, *numbers[:3], numbers[3:])
        else:
            family = socket.AF_INET if numbers[0] == 4 else socket.AF_INET6
            all_of(sock, DELETE if verb == "delete" else NEW, family, *numbers[1:])


main()
