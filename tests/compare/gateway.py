# SPDX-License-Identifier: BSD-3-Clause
"""A gateway of a build, in namespaces of its own, so that two of them have the same names, paths and interfaces: its
files are in /mnt, its sockets in /run/dpdk, its ports are lan0 and wan0. What is sent and asked comes from outside."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../e2e"))
from peer import packet_socket  # pylint: disable=wrong-import-position

PATIENCE_S = 60
UNTAKEN_S = 3  # without another frame, after which a device has not taken the rest
INSTANCE = "same"
PORTS = ("lan", "wan")
# Link addresses of the gateway's ports, and of the stations at the other end of their cables.
MACS = {"lan": "02:00:00:00:01:01", "wan": "02:00:00:00:01:02"}
STATIONS = {"lan": "02:00:00:00:02:01", "wan": "02:00:00:00:02:02"}
IN_NAMESPACES = """
mount -t tmpfs none /run/dpdk
mkdir -p /run/culvert
mount -t tmpfs -o mode=755 none /run/culvert
mount --bind "$1" /mnt
exec "$2" -c /mnt/gw.conf
"""


class Failure(Exception):
    """A gateway did not do what each must, such as to start."""


def run(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


class Network:
    """A network namespace with the interfaces of the ports; the other end of each cable is a station's."""

    def __init__(self, name, ports=PORTS):
        self.name = name
        run("ip", "netns", "add", name)
        self.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
        run("ip", "-n", name, "link", "set", "lo", "up")
        for port in ports:
            self.cable(port)

    def run(self, *command):
        return run("ip", "netns", "exec", self.name, *command)

    def cable(self, port):
        ends = (port + "0", MACS[port]), (port + "s", STATIONS[port])
        run("ip", "-n", self.name, "link", "add", ends[0][0], "type", "veth", "peer", "name", ends[1][0])
        for interface, mac in ends:
            self.run("ethtool", "-K", interface, *"rx off tx off sg off tso off gso off gro off".split())
            run("ip", "-n", self.name, "link", "set", interface, "address", mac, "mtu", "9000", "up")

    def remove(self):
        subprocess.run(["ip", "netns", "del", self.name], check=False)


class Gateway:
    def __init__(self, build, network, folder):
        self.build, self.network, self.folder = build, network, folder
        self.process = None
        self.log_read = 0
        self.telemetry = None
        self.stations = {port: packet_socket(network.name, port + "s") for port in PORTS}
        for station in self.stations.values():
            station.setblocking(False)
        self.clear()

    def clear(self):
        """Removes its files; it must have stopped."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.log_read = 0
        self.received()

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())

    def start(self):
        """Waits until it is ready, or has ended."""
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                ["ip", "netns", "exec", self.network.name, "unshare", "--mount", "--propagation", "private", "sh",
                 "-ec", IN_NAMESPACES, "sh", self.folder, self.build.culvertd],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and not any(line.endswith(": ready") for line in self.log_lines()):
            if time.monotonic() > deadline:
                raise Failure(f"{self.build.name}: does not start")
            time.sleep(0.02)

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def stop(self):
        """Returns the exit status."""
        if self.telemetry is not None:
            self.telemetry.close()
            self.telemetry = None
        if self.is_running():
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failure(f"{self.build.name}: does not stop") from None

    def remove(self):
        if self.is_running():
            self.process.kill()
            self.process.wait()
        for station in self.stations.values():
            station.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- the log ---

    def log_lines(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="surrogateescape") as file:
            return file.read().splitlines()

    def log_new(self):
        """The lines since the last call; only whole ones."""
        with open(os.path.join(self.folder, "log"), "rb") as file:
            file.seek(self.log_read)
            text = file.read()
        text = text[:text.rfind(b"\n") + 1]
        self.log_read += len(text)
        return text.decode(errors="surrogateescape").splitlines()

    # --- requests ---

    def _socket(self, name):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.settimeout(PATIENCE_S)
        s.connect(f"/proc/{self.process.pid}/root/run/dpdk/culvert-{INSTANCE}/{name}")
        return s

    def request(self, text):
        """Sends a request to the control socket. The answer is read by answer()."""
        s = self._socket("control")
        s.send(text if isinstance(text, bytes) else text.encode())
        return s

    @staticmethod
    def answer(s):
        text = b""
        while piece := s.recv(1 << 20):
            text += piece
        s.close()
        return text.decode(errors="surrogateescape")

    def ask(self, text):
        return self.answer(self.request(text))

    def query(self, command, parameters):
        """An answer by telemetry."""
        if self.telemetry is None:
            self.telemetry = self._socket("dpdk_telemetry.v2")
            self.telemetry.recv(16384)
        self.telemetry.send(f"{command},{parameters}".encode())
        return json.loads(self.telemetry.recv(65536))[command]

    def list(self, name, filters=""):
        found = []
        while page := self.query("/culvert/" + name, f"{len(found)}{filters}"):
            if "error" in page:
                return page
            while str(len(found)) in page:
                found.append(page[str(len(found))])
        return found

    def ctl(self, *words, stdin=""):
        """culvertctl of the build, in the namespaces of the daemon: status, output and errors."""
        done = subprocess.run(
            ["nsenter", "-t", str(self.process.pid), "-m", "-n", self.build.culvertctl, "-i", INSTANCE, *words],
            input=stdin, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return done.returncode, done.stdout, done.stderr

    # --- frames ---

    def send(self, port, frame):
        self.stations[port].send(frame)

    def received(self):
        """Frames that the gateway has sent since the last call: pairs of port and octets."""
        frames = []
        for port, station in self.stations.items():
            while True:
                try:
                    frame, address = station.recvfrom(65536)
                except BlockingIOError:
                    break
                if address[2] != socket.PACKET_OUTGOING:
                    frames.append((port, frame))
        return frames

    def settle(self, sent):
        """Waits until it has processed all that it has received: that many frames, or fewer if the device takes no more of
        them. Returns how many."""
        begin = taken = time.monotonic()
        received = 0
        while True:
            t = self.list("totals")[0]
            now = time.monotonic()
            if t["rx"] > received:
                received, taken = t["rx"], now
            if (received >= sent or now - taken > UNTAKEN_S) and \
                    t["rx"] + t["originated"] == t["tx"] + t["drops"] + t["local"] + t["held"]:
                return received
            if now - begin > PATIENCE_S:
                raise Failure(f"{self.build.name}: frames are missing: {t}, sent {sent}")
