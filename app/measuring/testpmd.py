# SPDX-License-Identifier: BSD-3-Clause
"""testpmd, driven by its prompt."""
import os
import re
import shutil
import subprocess
import time

from .process import START_S, STOP_S, Child, Failure, wait_until

TESTPMD = "dpdk-testpmd"
PROMPT = "testpmd> "


class Testpmd:
    """testpmd with five ports in a chain, of which one CPU serves one after the other:

        source -> send      the packets of the capture, repeatedly, into the gateway
        send -> null        what the gateway sends back by that port (ICMP) is not returned to it
        null -> pace        a port that takes nothing: testpmd waits and tries once more. There is
                            no other way to have it send at a certain rate (docs/measuring.md)
        pace -> receive     nothing
        receive -> source   what comes out of the gateway is counted, and ends there
    """
    PORTS = ("source", "send", "null", "pace", "receive")

    def __init__(self, options, folder, capture, count, send, receive):
        self.prefix = options.name + "-testpmd"
        buffers = count + 16384
        devices = (f"net_pcap8,rx_pcap={capture},infinite_rx=1", send, "net_null8",
                   f"net_memif8,role=server,socket={folder}/pace,socket-abstract=no", receive)
        # Messages of other threads would appear within the prompt.
        command = ["stdbuf", "-oL", TESTPMD, *eal_arguments(options, self.prefix, devices, buffers),
                   "--", "--interactive", f"--total-num-mbufs={buffers}", "--rxd=1024", "--txd=1024",
                   "--port-topology=chained", "--disable-link-check", "--no-flush-rx", "--mask-event=all"]
        self.child = Child("testpmd", command, os.path.join(folder, "testpmd.log"),
                           stdin=subprocess.PIPE)
        self.read = 0  # octets of the log
        self.names = names_of(devices)
        self.number = {}

    def begin(self):
        """Waits until it is ready, and reads the numbers of its ports."""
        self.answer()
        for line in self.ask("show port summary all").splitlines():
            fields = line.split()
            if len(fields) > 2 and fields[2] in self.names:
                self.number[self.PORTS[self.names.index(fields[2])]] = fields[0]
        if len(self.number) != len(self.PORTS):
            raise Failure(f"testpmd did not open its ports. It said:\n{self.child.tail()}")

    def answer(self):
        """Its output until the next prompt."""
        def prompted():
            return PROMPT in self.child.said()[self.read:] or self.child.process.poll() is not None
        if not wait_until(prompted, START_S) or self.child.process.poll() is not None:
            raise Failure(f"testpmd ended or hangs. It said:\n{self.child.tail()}")
        end = self.child.said().index(PROMPT, self.read) + len(PROMPT)
        text, self.read = self.child.said()[self.read:end], end
        return text

    def ask(self, command):
        self.child.process.stdin.write(command.encode() + b"\n")
        self.child.process.stdin.flush()
        text = self.answer()
        if "Bad arguments" in text or "Command not found" in text or "Not all ports" in text:
            raise Failure(f"testpmd does not take '{command}':\n{text}")
        return text

    def run(self, mode, ports, condition, seconds):
        """Forwards until the condition or the time is over. Returns counters by port, and seconds."""
        self.ask(f"set fwd {mode}")
        self.ask("set portlist " + ",".join(self.number[port] for port in ports))
        self.ask("start")
        start = time.monotonic()
        wait_until(condition, seconds)
        elapsed = time.monotonic() - start
        text = self.ask("stop")
        counters = {}
        for port, block in re.findall(r"statistics for port (\d+) (.*?TX-total: +\d+)", text, re.DOTALL):
            counters[port] = {k: int(v) for k, v in re.findall(r"([RT]X-\w+): +(\d+)", block)}
        return {port: counters[self.number[port]] for port in ports}, elapsed

    def send(self, pace, seconds):
        """pace: packets in a burst, and microseconds between bursts."""
        burst, delay = pace
        self.ask(f"set burst {burst}")
        self.ask(f"set burst tx delay {delay} retry {1 if delay else 0}")
        return self.run("io retry", self.PORTS, lambda: False, seconds)

    def drain(self, quiet):
        """Receives the packets still in flight, until there are no more. Returns their number."""
        counters, _ = self.run("rxonly", ("receive",), quiet, STOP_S)
        return counters["receive"]["RX-packets"]

    def reconnect(self):
        for port in ("send", "receive"):
            self.ask(f"port stop {self.number[port]}")
            self.ask(f"port start {self.number[port]}")

    def stop(self):
        self.child.stop()
        run_dir_remove(self.prefix)


def eal_arguments(options, prefix, devices, buffers):
    """Of a program of DPDK on the generator's CPU, with these devices and that number of buffers."""
    yield from (f"--file-prefix={prefix}", "--log-level=*:error", "-m", str(128 + buffers * 2560 // 1000000),
                f"--lcores=0@{options.generator_cpu},1@{options.generator_cpu}")
    if not options.hugepages:
        yield from ("--no-huge", "--iova-mode=va")
    if not any(is_pci(device) for device in devices):
        yield "--no-pci"
    for device in devices:
        yield from ("--allow" if is_pci(device) else "--vdev", device)


def names_of(devices):
    """Those by which DPDK knows their ports."""
    return [device.split(",")[0] for device in devices]


def is_pci(device):
    return re.match(r"[0-9a-fA-F]{4}:|[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.", device) is not None


def run_dir_remove(prefix):
    """The folder that a program has left, where DPDK chooses it."""
    usual = "/var/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", "/tmp")
    shutil.rmtree(os.path.join(os.environ.get("RUNTIME_DIRECTORY", usual), "dpdk", prefix), ignore_errors=True)
