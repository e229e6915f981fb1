#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Many flows of UDP between two hosts.

    echo_flows.py answer ADDRESS PORT        sends each datagram back
    echo_flows.py send ADDRESS PORT FLOWS    sends a datagram of each flow, then of one after the other, slowly, until it is ended
"""
import resource
import socket
import sys
import time


def udp():
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def answer(to):
    s = udp()
    s.bind(to)
    while True:
        s.sendto(*s.recvfrom(64))


def send(to, flows):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    sockets, pause = [], 0.001
    for flow in range(flows):
        sockets.append(udp())
        sockets[-1].bind(("", 21000 + flow))
    while True:
        for s in sockets:
            s.sendto(b"flow", to)
            time.sleep(pause)
        pause = 0.005  # that a busy machine loses nothing


address = (sys.argv[2], int(sys.argv[3]))
if sys.argv[1] == "answer":
    answer(address)
else:
    send(address, int(sys.argv[4]))
