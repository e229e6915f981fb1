# SPDX-License-Identifier: BSD-3-Clause
"""What the tests with scapy as the independent peer share: sockets in network namespaces, security
associations, and a gateway's counters over its telemetry socket."""
import ctypes
import json
import os
import socket
import time

PATIENCE_S = 120  # as poll() of app/lab.sh
_libc = ctypes.CDLL(None, use_errno=True)

# Our names to scapy's.
CIPHERS = {"null": "NULL", "cbc": "AES-CBC", "ctr": "AES-CTR", "gcm": "AES-GCM",
           "poly1305": "CHACHA20-POLY1305"}
AUTHS = {"none": "NULL", "hmac-sha1-96": "HMAC-SHA1-96", "hmac-sha2-256-128": "SHA2-256-128",
         "hmac-sha2-384-192": "SHA2-384-192", "hmac-sha2-512-256": "SHA2-512-256"}


def socket_in(namespace, *arguments):
    """A socket in a network namespace: it belongs to the one that the thread is in when it is made."""
    with open("/proc/self/ns/net") as home, open("/run/netns/" + namespace) as there:
        for namespace_file, make in ((there, True), (home, False)):
            if _libc.setns(namespace_file.fileno(), 0) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            if make:
                made = socket.socket(*arguments)
    made.settimeout(PATIENCE_S)
    return made


def packet_socket(namespace, interface):
    """A socket for whole frames."""
    s = socket_in(namespace, socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    s.bind((interface, 0))
    return s


def association(spi, cipher, cipher_key, auth, auth_key, tunnel_header):
    """A security association of scapy's; keys are hexadecimal digits."""
    # It takes a second, for which scripts that only ask the gateway need not wait.
    from scapy.layers.ipsec import ESP, SecurityAssociation  # pylint: disable=import-outside-toplevel
    return SecurityAssociation(
        ESP, spi=spi, crypt_algo=CIPHERS[cipher.rsplit("-", 1)[-1]],
        crypt_key=bytes.fromhex(cipher_key), auth_algo=AUTHS[auth],
        auth_key=bytes.fromhex(auth_key), tunnel_header=tunnel_header)


def wait_until(condition, what):
    """Repeats a question until the answer is yes."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("FAILED: timeout: " + (what() if callable(what) else what))
        time.sleep(0.005)


class Telemetry:
    """The telemetry socket of an instance, as any client of DPDK's sees it."""

    def __init__(self, instance):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(os.path.join(
            "/var/run/dpdk", "culvert-" + instance, "dpdk_telemetry.v2"))
        self.greeting = json.loads(self.socket.recv(16384))

    def ask(self, command, parameters=""):
        self.socket.send((command + ("," + parameters if parameters else "")).encode())
        return json.loads(self.socket.recv(65536))[command]

    def items(self, command):
        """All items of a list: the answer has pages, each item under its number."""
        found = []
        while True:
            page = self.ask(command, str(len(found)))
            if not page:
                return found
            while str(len(found)) in page:
                found.append(page[str(len(found))])

    def totals(self):
        return self.items("/culvert/totals")[0]

    def drops(self):
        return {item["reason"]: item["packets"] for item in self.items("/culvert/drops")}
