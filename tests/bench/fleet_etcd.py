# SPDX-License-Identifier: BSD-3-Clause
"""The etcd of tests/bench/fleet: one process or more, on loopback."""

import ctypes
import json
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request

PATIENCE = 60  # seconds
PR_SET_PDEATHSIG = 1
FIRST_PORT = 2379


def is_installed():
    return shutil.which("etcd") is not None


def with_parent():
    """The process ends with this one."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Etcd:
    def __init__(self, folder, count):
        self.folder = folder
        self.peers = ",".join(f"e{i}=http://127.0.0.1:{FIRST_PORT + 2 * i + 1}" for i in range(count))
        self.processes = {}
        for i in range(count):
            self.start(i)

    def __enter__(self):
        end = time.monotonic() + PATIENCE
        while not all(self.is_healthy(i) for i in self.processes):
            if time.monotonic() > end:
                raise SystemExit("etcd does not start: " + self.log(0))
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.kill()
            process.wait()

    def url(self, i):
        return f"http://127.0.0.1:{FIRST_PORT + 2 * i}"

    def urls(self):
        return [self.url(i) for i in self.processes]

    def start(self, i):
        peer = f"http://127.0.0.1:{FIRST_PORT + 2 * i + 1}"
        with open(self.folder / f"e{i}.log", "ab") as log:
            self.processes[i] = subprocess.Popen(
                ["etcd", "--name", f"e{i}", "--data-dir", self.folder / f"e{i}", "--auto-compaction-retention=1h",
                 "--listen-client-urls", self.url(i), "--advertise-client-urls", self.url(i),
                 "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", self.peers],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=with_parent)

    def kill(self, i):
        self.processes[i].kill()
        self.processes[i].wait()

    def log(self, i):
        return (self.folder / f"e{i}.log").read_text()[-2000:]

    def get(self, i, path):
        with urllib.request.urlopen(self.url(i) + path, timeout=2) as answer:
            return answer.read().decode()

    def is_healthy(self, i):
        try:
            return json.loads(self.get(i, "/health"))["health"] == "true"
        except (OSError, urllib.error.URLError, ValueError):
            return False

    def metrics(self, i):
        found = re.findall(r"^(\w+) ([-+.\de]+)$", self.get(i, "/metrics"), re.MULTILINE)
        return {name: float(value) for name, value in found}

    def leader(self):
        return next(i for i in self.processes if self.metrics(i)["etcd_server_is_leader"] == 1)
