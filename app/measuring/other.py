# SPDX-License-Identifier: BSD-3-Clause
"""Another gateway, started by a command of the user's, in the place of culvertd: docs/measuring.md."""
import os
import shlex

from .gateways import DESTINATIONS, HOST_MAC, SOURCES, WIRE_MAC, Lab
from .process import START_S, Child, Failure, wait_until

TRIES = 20  # to get a packet through, for about 10 s, before the wires are connected again


class Other(Lab):
    """It has no counters that we read: what it does not send on is lost on the wire."""

    def build(self):
        first, send = self.wire(1)
        last, receive = self.wire(3)
        lan, wan = (first, last) if self.options.way == "encap" else (last, first)
        key, auth_key = self.keys["a"]
        variables = {"WAY": self.options.way, "LAN": lan, "WAN": wan, "CPU": self.options.gateway_cpus[0],
                     "CIPHER": self.options.cipher, "AUTH": self.options.auth, "KEY": key, "AUTH_KEY": auth_key,
                     "MAC": WIRE_MAC % 1, "NEIGHBOUR": HOST_MAC, "SOURCES": SOURCES, "DESTINATIONS": DESTINATIONS}
        command = ["env", *(f"MEASURE_{name}={value}" for name, value in variables.items()),
                   *shlex.split(self.options.gateway)]
        self.children.append(Child("the gateway", command, os.path.join(self.folder, "gateway.log")))
        if self.options.transport != "virtio":  # on virtio-user it waits for its peer
            self.wait(self.listens, "does not listen on both wires")
        return send, receive

    def wait(self, condition, fault):
        gateway = self.children[0]
        found = wait_until(lambda: gateway.process.poll() is not None or condition(), START_S)
        if not found or gateway.process.poll() is not None:
            raise Failure(f"the gateway {fault}. It said:\n{gateway.tail()}")

    def listens(self):
        return all(os.path.exists(os.path.join(self.folder, f"wire{n}")) for n in (1, 3))

    def warm_up(self, send, reconnect):
        """It listens before it is ready. A memif that was connected that early passes nothing until it is again."""
        def passes():
            for _ in range(TRIES):
                if send().received:
                    return True
            reconnect()
            return False
        self.wait(passes, "passes no packet")

    def mac(self):
        return WIRE_MAC % 1

    def stop(self):
        """It may end by the signal."""
        for child in self.children:
            child.stop()
        return []
