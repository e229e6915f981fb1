#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A learning switch, for taps, whose link address the kernel's bridge would take for its own.

    bond.py switch IFACE...    forwards frames between the interfaces
    bond.py send IFACE         sends a frame to all stations by one of them
    bond.py run IFACE... -- COMMAND...
                               becomes the command, with a socket of each interface from descriptor 10 on; it does not
                               receive what the command sends, as a second socket would

The switch forgets nothing when a link goes down: a station that moves to another port has to send before it receives.
An interface that does not exist yet, or not any more, is looked for again and again.
"""

import os
import select
import socket
import sys

import vlan

LOOK_MS = 50
FIRST_FD = 10


def port(iface):
    """A socket of the interface; None: there is none."""
    try:
        return vlan.port(iface)
    except OSError:
        return None


def index(iface):
    try:
        return socket.if_nametoindex(iface)
    except OSError:
        return 0


class Switch:
    def __init__(self, ifaces):
        self.ports = dict.fromkeys(ifaces)
        self.numbers = dict.fromkeys(ifaces, 0)
        self.learnt = {}

    def look(self):
        for iface, sock in self.ports.items():
            number = index(iface)
            if number != self.numbers[iface] or sock is None:
                if sock is not None:
                    sock.close()
                self.ports[iface], self.numbers[iface] = port(iface), number

    def send(self, iface, frame, tag):
        try:
            if self.ports[iface]:
                vlan.send(self.ports[iface], frame, tag)
        except OSError:
            pass  # its link is down

    def forward(self, came, frame, tag):
        self.learnt[frame[6:12]] = came
        to = None if frame[0] & 1 else self.learnt.get(frame[:6])
        for iface in [to] if to else self.ports:
            if iface != came:
                self.send(iface, frame, tag)

    def run(self):
        while True:
            self.look()
            ready, _, _ = select.select([s for s in self.ports.values() if s], [], [], LOOK_MS / 1000)
            for iface, sock in self.ports.items():
                if sock in ready:
                    try:
                        self.forward(iface, *vlan.receive(sock))
                    except OSError:
                        pass  # the same


def run(ifaces, command):
    for number, iface in enumerate(ifaces):
        os.dup2(vlan.port(iface).detach(), FIRST_FD + number)
    os.execvp(command[0], command)


if sys.argv[1] == "switch":
    Switch(sys.argv[2:]).run()
elif sys.argv[1] == "run":
    dashes = sys.argv.index("--")
    run(sys.argv[2:dashes], sys.argv[dashes + 1:])
else:
    port(sys.argv[2]).send(b"\xff" * 6 + b"\x02" + bytes(5) + b"\x88\xb5" + bytes(46))
