#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Has a packet arrive a second time: the first with ESP of an SPI, NAMESPACE NAMESPACE INTERFACE SPI: where
it comes from, and where it arrives."""
import struct
import sys

from peer import packet_socket

ETH, IP = 14, 20


def main(origin, destination, interface, spi):
    wire = packet_socket(destination, interface)
    back = packet_socket(origin, interface)
    print("listening", flush=True)
    while True:
        frame = wire.recv(65536)
        if frame[12:14] == b"\x08\x00" and frame[ETH + 9] == 50 and \
                struct.unpack_from("!I", frame, ETH + IP)[0] == int(spi, 0):
            back.send(frame)
            return


main(*sys.argv[1:])
