# SPDX-License-Identifier: BSD-3-Clause
"""Daemons of benchmarks, with many tunnels and frames from a file."""

import socket
import struct
import subprocess


def tunnel(number, local="192.0.2.1", more=""):
    """Its SAs, with more settings, and its policy, as elements of lists."""
    remote = f"198.18.{number >> 8}.{number & 255}"
    ends = f'local = "{local}"; remote = "{remote}"; cipher = "aes-128-gcm"; {more}'
    sas = ",\n".join(
        f'{{ name = "{direction}-{number}"; direction = "{direction}"; spi = "{base + number:#x}"; {ends}\n'
        f'  cipher_key = "{base + number:040x}"; }}'
        for direction, base in (("out", 0x100000), ("in", 0x200000))
    )
    policy = (
        f'{{ name = "p-{number}"; local = "10.0.0.0/16"; remote = "10.{128 + (number >> 8)}.{number & 255}.0/24";\n'
        f'  action = "protect"; out = "out-{number}"; in = "in-{number}"; }}'
    )
    return sas, policy


def tunnels(count, policies=""):
    """The lists sas and policies of that many tunnels, these policies before their own."""
    return lists([tunnel(number) for number in range(count)], policies)


def lists(items, policies=""):
    """The same of such tunnels."""
    return (
        "sas = (\n" + ",\n".join(sas for sas, _ in items) + ");\n"
        "policies = (\n" + policies + "\n".join(policy + "," for _, policy in items)
        + '\n{ name = "rest"; action = "discard"; } );\n'
    )


def checksum(header):
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def udp(source, port, destination, octets=64):
    """A frame with an IP packet of that many octets."""
    source, destination = socket.inet_aton(source), socket.inet_aton(destination)
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, octets, port, 0, 64, 17, 0, source, destination)
    header = header[:10] + struct.pack("!H", checksum(header)) + header[12:]
    ether = bytes.fromhex("027063617000" "020000000001" "0800")  # the first is net_pcap's own
    return ether + header + struct.pack("!4H", port, 9, octets - 20, 0) + bytes(octets - 28)


def frame(number):
    """To a host at the other end of that tunnel."""
    return udp("10.0.0.2", 1024 + number, f"10.{128 + (number >> 8)}.{number & 255}.2")


def capture(path, frames):
    """A file for net_pcap."""
    data = bytearray(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for octets in frames:
        data += struct.pack("<IIII", 0, 0, len(octets), len(octets)) + octets
    path.write_bytes(data)


class Daemon:
    def __init__(self, program, path):
        self.process = subprocess.Popen(
            [program, "-c", path], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.stderr.read()
        assert self.process.wait() == 0

    def wait(self, words):
        """Waits until it logs a line whose text begins with these words."""
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if " culvertd: " + words in line:
                return
        raise SystemExit(f"no '{words}' from culvertd:\n{''.join(lines[-20:])}")


def declare(program, path):
    subprocess.run([program, "--new-keys", "-c", path], check=True, stdout=subprocess.DEVNULL)


def ask(program, instance, *words, **more):
    """What culvertctl prints."""
    client = program.parent.parent / "culvertctl/culvertctl"
    return subprocess.run(
        [client, "-i", instance, *words], check=True, stdout=subprocess.PIPE, text=True, **more
    ).stdout
