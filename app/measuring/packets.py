# SPDX-License-Identifier: BSD-3-Clause
"""The packets sent: UDP in flows, as a capture that testpmd reads."""
import struct

# Octets of the IP packets, in the order in which they are sent. IMIX has Ethernet frames of 64, 570
# and 1518 octets, 7 : 4 : 1; the last are smaller here, so that none is fragmented to fit into ESP.
IMIX = (46, 552, 46, 46, 552, 46, 552, 46, 46, 552, 46, 1400)
SIZE_MIN, SIZE_MAX = 28, 1400

HOST_MAC = "02:00:00:00:01:00"  # of a host beyond the gateways: testpmd accepts every frame
IPV4 = b"\x08\x00"


def lengths(size):
    return IMIX if size == "imix" else (int(size),)


def ip_header(length, source, destination):
    def header(checksum):
        return struct.pack("!BBHHHBBHII", 0x45, 0, length, 0, 0, 64, 17, checksum, source, destination)
    total = sum(struct.unpack("!10H", header(0)))
    total = (total & 0xffff) + (total >> 16)
    return header(~(total + (total >> 16)) & 0xffff)


def frame(flow, length, sources, destination, mac):
    """UDP over IPv4 over Ethernet. Flows differ in source address, then in source port."""
    hosts = max(1, sources.num_addresses - 2)
    first = int(sources.network_address) + (1 if sources.num_addresses > 2 else 0)
    return (bytes.fromhex(mac.replace(":", "") + HOST_MAC.replace(":", "")) + IPV4 +
            ip_header(length, first + flow % hosts, int(destination)) +
            struct.pack("!HHHH", 1024 + flow // hosts, 9, length - 20, 0) + bytes(length - 28))


def frames(options, size, mac):
    """Every flow in turn, often enough for each size to occur."""
    octets = lengths(size)
    rounds = -(-options.flows // len(octets))
    for n in range(rounds * len(octets)):
        yield frame(n % options.flows, octets[n % len(octets)], options.sources, options.destination,
                    mac)


def capture_write(path, packets):
    """Returns how many it wrote."""
    n = 0
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for n, packet in enumerate(packets, 1):
            f.write(struct.pack("<IIII", 0, 0, len(packet), len(packet)) + packet)
    return n


def capture_read(path):
    with open(path, "rb") as f:
        f.read(24)
        while header := f.read(16):
            yield f.read(struct.unpack_from("<I", header, 8)[0])
