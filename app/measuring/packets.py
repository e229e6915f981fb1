# SPDX-License-Identifier: BSD-3-Clause
"""The packets sent: UDP in flows, as a capture that testpmd reads."""
import struct

# Octets of the IP packets, in the order in which they are sent. IMIX has Ethernet frames of 64, 570
# and 1518 octets, 7 : 4 : 1; the last are smaller here, so that none is fragmented to fit into ESP.
IMIX = (46, 552, 46, 46, 552, 46, 552, 46, 46, 552, 46, 1400)
SIZE_MIN, SIZE_MAX = 28, 1400
VXLANS = ("none", "tunnel", "transport")  # by the mode of ESP
VXLAN_PORT, VXLAN_HEADER = 4789, struct.pack("!II", 0x08000000, 7 << 8)  # RFC 7348
VXLAN_OCTETS = 20 + 8 + 8 + 14  # IP, UDP, VXLAN, inner Ethernet header

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


def udp(source, destination, ports, content, mac):
    """UDP over IPv4 over Ethernet."""
    return (bytes.fromhex(mac.replace(":", "") + HOST_MAC.replace(":", "")) + IPV4 +
            ip_header(28 + len(content), int(source), int(destination)) +
            struct.pack("!HHHH", *ports, 8 + len(content), 0) + content)


def frame(flow, length, sources, destination, mac):
    """Flows differ in source address, then in source port."""
    hosts = max(1, sources.num_addresses - 2)
    first = int(sources.network_address) + (1 if sources.num_addresses > 2 else 0)
    return udp(first + flow % hosts, destination, (1024 + flow // hosts, 9), bytes(length - 28), mac)


def in_vxlan(flow, inner, vteps, mac):
    """The frame in a VXLAN between two VTEPs, each flow from a port of its own as far as there are any."""
    return udp(*vteps, (49152 + flow % 16384, VXLAN_PORT), VXLAN_HEADER + inner, mac)


def frames(options, size, mac, vteps=None):
    """Every flow in turn, often enough for each size to occur; in a VXLAN if there are VTEPs."""
    octets = lengths(size)
    rounds = -(-options.flows // len(octets))
    for n in range(rounds * len(octets)):
        flow = n % options.flows
        one = frame(flow, octets[n % len(octets)], options.sources, options.destination, mac)
        yield in_vxlan(flow, one, vteps, mac) if vteps else one


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
