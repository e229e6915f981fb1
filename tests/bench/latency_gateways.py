# SPDX-License-Identifier: BSD-3-Clause
"""The gateways of tests/bench/latency: culvertd, and others to be measured beside it."""

import collections
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import gateway
from secgw import program

INSTANCE = f"bench-latency-{os.getpid()}"
FLOWS_OF_HOST = 60000  # by their ports
PATIENCE = 60  # seconds
NOT_HERE = 77  # a status
MAC = "02:70:63:61:70:00"  # where gateway.udp() sends


def spi(site, number, rekeys=0):
    """Of the SA from a site to the other one."""
    return site << 12 | number | rekeys << 16


def sa(site, sender, number, rekeys=0):
    """Its name, and the change that adds it to a site. Frames are repeated, so that there is no replay window."""
    direction, value = "out" if sender == site else "in", spi(sender, number, rekeys)
    name = f"ike.{direction}.{value:x}"
    window = "" if sender == site else "replay_window = 0;"
    return name, (
        f'sa add {{ name = "{name}"; direction = "{direction}"; spi = "{value:#x}"; reqid = {number + 1}; {window}\n'
        f'local = "192.0.2.{site}"; remote = "192.0.2.{3 - site}"; cipher = "aes-128-gcm"; cipher_key = "{value:040x}"; }}\n'
    )


def policy(site, number):
    near, far = "10.1.0.0/16", f"10.2.{number}.0/24"
    local, remote = (near, far) if site == 1 else (far, near)
    return (f'policy add {{ name = "ike.{number}"; local = "{local}"; remote = "{remote}"; action = "protect";\n'
            f'reqid = {number + 1}; }}\n')


def frames(site, options, size):
    """Of all flows, in clear, from a site to the other one."""
    for flow in range(options.flows):
        near, far = "10.1.0.2", f"10.2.{flow % options.sas}.{2 + flow // FLOWS_OF_HOST}"
        source, destination = (near, far) if site == 1 else (far, near)
        yield gateway.udp(source, 1024 + flow % FLOWS_OF_HOST, destination, size)


class Program:
    """What all have: a process, and threads of workers, whose names are DPDK's."""

    def begin(self, process, pid, workers):
        self.process, self.pid, self.workers = process, pid, workers
        tasks = pathlib.Path(f"/proc/{pid}/task")
        self.worker_tasks = [comm.parent for comm in tasks.glob("*/comm") if "-worker" in comm.read_text()]

    def waited_us(self):
        """How long its workers were ready to run, but another thread had their CPUs."""
        return sum(int((task / "schedstat").read_text().split()[1]) for task in self.worker_tasks) / 1000

    def rest(self):
        """Until resume() it needs no CPU, which another one polls with."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self):
        os.kill(self.pid, signal.SIGCONT)


class Culvert(gateway.Daemon, Program):
    """A site's, whose tunnels with traffic are those of an IKE daemon."""

    name = "culvert"

    def __init__(self, options, folder, site, workers=1, idle="poll"):
        self.options, self.site, self.path = options, site, folder / "latency.conf"
        self.workers, self.idle, self.rekeys = workers, idle, 0
        self.write(options.tunnels)
        gateway.declare(options.program, self.path)
        os.sched_setaffinity(0, options.cpus)
        super().__init__(options.bench, self.path)
        self.wait("ready")
        self.log = collections.deque(maxlen=20)
        self.reader = threading.Thread(target=self.log.extend, args=[self.process.stderr])
        self.reader.start()
        os.sched_setaffinity(0, options.cpus[:1])
        self.begin(self.process, self.process.pid, workers)
        for number in range(options.sas):
            self.ike(sa(site, 1, number)[1] + sa(site, 2, number)[1] + policy(site, number))

    def __exit__(self, *_):
        self.resume()
        self.process.terminate()
        self.reader.join()
        if self.process.wait() != 0:
            print("".join(self.log), file=sys.stderr)
        pathlib.Path("/run/culvert", INSTANCE + ".replay").unlink(missing_ok=True)

    def write(self, tunnels):
        cpus = self.options.cpus
        self.path.write_text(
            f'instance = "{INSTANCE}"; state_dir = "{self.path.parent}"; idle = "{self.idle}";\n'
            f"cpus = {{ control = {cpus[0]}; workers = [ {', '.join(map(str, cpus[-self.workers:]))} ]; }};\n"
            f"memory = {{ size = {512 + self.options.flows // 2000}; hugepages = false; }};\n"
            f"flows = {{ max = {max(100000, 2 * self.options.flows)}; timeouts = {{ udp = 3600; udp_stream = 3600; }}; }};\n"
            "ports = (\n"
            f'  {{ name = "lan"; device = "net_null0,no-rx=1"; mac = "{MAC}"; addresses = [ "10.{self.site}.0.1/16" ]; }},\n'
            f'  {{ name = "wan"; side = "unprotected"; device = "net_null1,no-rx=1"; mac = "{MAC}";\n'
            f'    addresses = [ "192.0.2.{self.site}/24" ]; }} );\n'
            f'routes = ( {{ to = "198.18.0.0/15"; via = "192.0.2.{3 - self.site}"; }} );\n'
            "neighbours = (\n"
            f'  {{ address = "192.0.2.{3 - self.site}"; mac = "{MAC}"; }},\n'
            f'  {{ address = "10.{self.site}.0.2"; mac = "02:00:00:00:00:03"; }} );\n'
            'ike = { before = "rest"; };\n'
            + gateway.lists([gateway.tunnel(number, f"192.0.2.{self.site}") for number in range(tunnels)])
        )
        self.path.chmod(0o600)

    def ike(self, changes):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.connect(f"/var/run/dpdk/culvert-{INSTANCE}/control")
            client.send(f"ike bench\n{changes}".encode())
            answer = client.recv(100000)
        assert answer.startswith(b"ok "), answer

    def ask(self, *words):
        return gateway.ask(self.options.program, INSTANCE, *words)


def ready(process, log):
    """Waits for a line with this word. Returns the rest of it; None: it ended because this machine has not what it needs."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        for line in log.read_text().splitlines():
            if line.startswith("ready"):
                return line[len("ready"):]
        time.sleep(0.01)
    if process.poll() == NOT_HERE:
        return None
    raise SystemExit(f"not ready:\n{log.read_text()[-2000:]}")


class Other(Program):
    """Only those that this machine has are to be used."""

    def __init__(self, command, folder, workers):
        log = folder / (self.name + ".log")
        with open(log, "w", encoding="utf-8") as file:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        try:
            pid = ready(process, log)
        except BaseException:
            self.end(process)
            raise
        self.is_here = pid is not None
        if self.is_here:
            self.begin(process, int(pid), workers)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.is_here:
            with contextlib.suppress(ProcessLookupError):  # a signal has ended it already
                self.resume()
            self.end(self.process)

    def end(self, process):
        process.terminate()
        process.wait()


class Secgw(Other):
    """DPDK's ipsec-secgw with the same SAs. It sends a burst when it is full, or after 0.1 ms. It has no replay windows."""

    name = "secgw"

    def __init__(self, options, folder, workers):
        self.write(folder / "secgw.cfg", options.sas)
        self.prefix = f"secgw-{os.getpid()}"
        lcores = ",".join(f"{i}@{cpu}" for i, cpu in enumerate(options.cpus[:1] + options.cpus[-workers:]))
        queues = ",".join(f"({port},{i},{i + 1})" for i in range(workers) for port in (0, 1))
        os.sched_setaffinity(0, options.cpus)
        super().__init__([
            program.PROGRAM, f"--lcores={lcores}", "--no-huge", "-m", "1024", "--no-pci", "--iova-mode=va",
            "--file-prefix=" + self.prefix, "--vdev", "crypto_aesni_gcm0", "--vdev", "net_frames0", "--vdev", "net_frames1",
            "--", "-p", "0x3", "-P", "-u", "0x2", f"--config={queues}", "-f", folder / "secgw.cfg"], folder, workers)
        os.sched_setaffinity(0, options.cpus[:1])

    def end(self, process):
        process.kill()  # its first thread only sleeps here, and does not see that it is to end
        process.wait()
        shutil.rmtree(f"/var/run/dpdk/{self.prefix}", ignore_errors=True)

    @staticmethod
    def write(path, sas):
        def of(direction, number):
            value = spi(1 if direction == "out" else 2, number)
            key = ":".join(f"{octet:02x}" for octet in bytes.fromhex(f"{value:040x}"))
            near, far, ends = "10.1.0.0/16", f"10.2.{number}.0/24", ("192.0.2.1", "192.0.2.2")
            if direction == "in":
                near, far, ends = far, near, ends[::-1]
            return (f"sp ipv4 {direction} esp protect {value} pri 1 src {near} dst {far} sport 0:65535 dport 0:65535\n"
                    f"sa {direction} {value} aead_algo aes-128-gcm aead_key {key} mode ipv4-tunnel src {ends[0]} dst {ends[1]}\n")

        path.write_text(
            "".join(of(direction, number) for direction in ("out", "in") for number in range(sas))
            + "rt ipv4 dst 192.0.2.2/32 port 1\nrt ipv4 dst 10.1.0.0/16 port 0\n"
            "neigh port 0 02:00:00:00:00:03\nneigh port 1 02:00:00:00:02:01\n")


class Kernel(Other):
    """The kernel of a namespace, without ESP: it passes on packets in clear by its table of connections."""

    name = "kernel"

    def __init__(self, options, folder, workers):
        bench = options.bench.with_name("bench_latency_kernel")
        script = pathlib.Path(__file__).with_name("latency_kernel")
        os.sched_setaffinity(0, options.cpus)
        super().__init__([script, bench, *map(str, options.cpus[-workers:])], folder, workers)
        os.sched_setaffinity(0, options.cpus[:1])
