#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ESP packets of a capture: no SA may have a sequence number or an IV twice.

esp_numbers.py CAPTURE                 checks that, and prints how many packets there are
esp_numbers.py CAPTURE INTERFACE MAC   sends all of them by the interface to a link address
"""
import socket
import struct
import sys
import time


def frames(path):
    with open(path, "rb") as f:
        magic = f.read(24)[:4]
        order = "<" if magic[0] in (0xD4, 0x4D) else ">"
        while len(head := f.read(16)) == 16:
            frame = f.read(struct.unpack(order + "8xI4x", head)[0])
            yield frame


def esp(frame):
    """SPI, number and IV of a frame with ESP over IPv4 or IPv6; None of others."""
    kind = frame[12:14]
    if kind == b"\x08\x00" and frame[23] == 50:
        at = 14 + 4 * (frame[14] & 15)
    elif kind == b"\x86\xdd" and frame[20] == 50:
        at = 54
    else:
        return None
    return frame[at:at + 4], frame[at + 4:at + 8], frame[at + 8:at + 16]


def check(path):
    seen = {"number": set(), "IV": set()}
    twice, n = 0, 0
    for fields in filter(None, map(esp, frames(path))):
        n += 1
        for what, value in (("number", fields[1]), ("IV", fields[2])):
            if (fields[0], value) in seen[what]:
                print(f"{what} {value.hex()} of SPI {fields[0].hex()} twice", file=sys.stderr)
                twice += 1
            seen[what].add((fields[0], value))
    print(f"{n} packets, {twice} numbers or IVs twice")
    return 1 if twice > 0 or n == 0 else 0


def send(path, interface, mac):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    link.bind((interface, 0))
    to = bytes.fromhex(mac.replace(":", ""))
    n = 0
    for frame in filter(esp, frames(path)):
        link.send(to + frame[6:])
        n += 1
        if n % 50 == 0:
            time.sleep(0.004)  # the receiver has a queue of its own
    print(n)
    return 0


sys.exit(check(sys.argv[1]) if len(sys.argv) == 2 else send(*sys.argv[1:]))
