# SPDX-License-Identifier: BSD-3-Clause
"""Packets of the test nat: written with all checksums, and read back with all of them checked."""
import dataclasses
import ipaddress
import struct

ICMP, TCP, UDP, ESP, GRE, ICMPV6, SCTP, OTHER = 1, 6, 17, 50, 47, 58, 132, 253
NAMES = {ICMP: "icmp", TCP: "tcp", UDP: "udp", ESP: "esp", GRE: "gre", ICMPV6: "icmpv6", SCTP: "sctp", OTHER: "253"}
FRAGMENT = 44
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
ECHOES = (8, 0, 128, 129)
ERRORS = (3, 11, 12)
ERRORS6 = (1, 2, 3, 4)


@dataclasses.dataclass(frozen=True)
class Packet:
    src: str
    dst: str
    proto: int
    sport: int = 0  # of TCP, UDP and SCTP; of an ICMP echo the identifier
    dport: int = 0
    kind: tuple = (0, 0)  # ICMP type and code
    param: int = 0  # of an ICMP error: the MTU; of an echo: the sequence number
    flags: int = 0
    seq: int = 0
    ack: int = 0
    payload: bytes = b""
    ttl: int = 64
    tos: int = 0
    number: int = 0  # the identification of IPv4
    df: bool = False
    no_checksum: bool = False  # UDP
    quote: object = None  # of an ICMP error: the packet that it is about, as far as it was read
    faults: tuple = ()  # of a packet that was read

    @property
    def v4(self):
        return ":" not in self.src

    @property
    def is_error(self):
        return self.proto == ICMP and self.kind[0] in ERRORS or self.proto == ICMPV6 and self.kind[0] in ERRORS6

    def changed(self, **fields):
        return dataclasses.replace(self, **fields)

    def __str__(self):
        ports = {TCP: f" {self.sport}>{self.dport}", UDP: f" {self.sport}>{self.dport}",
                 SCTP: f" {self.sport}>{self.dport}"}.get(self.proto, "")
        text = f"{self.src} > {self.dst} {NAMES.get(self.proto, self.proto)}{ports}"
        if self.proto in (ICMP, ICMPV6):
            text += f" {self.kind[0]}/{self.kind[1]} {self.param}"
            text += "" if self.is_error else f" id {self.sport}"
        if self.proto == TCP:
            text += " " + "".join(c for b, c in ((SYN, "S"), (ACK, "A"), (PSH, "P"), (FIN, "F"), (RST, "R")) if self.flags & b)
            text += f" {self.seq}/{self.ack}"
        text += f" ttl {self.ttl} len {len(self.payload)}" + " no checksum" * self.no_checksum + " df" * self.df
        if self.quote is not None:
            text += f" about [{self.quote}]"
        return text + "".join(f" BAD {fault}" for fault in self.faults)


def checksum(octets):
    octets += b"\0" * (len(octets) % 2)
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def crc32c(octets):
    """Of SCTP (RFC 9260, appendix A)."""
    crc = 0xffffffff
    for octet in octets:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ 0x82f63b78 * (crc & 1)
    return crc ^ 0xffffffff


def packed(address):
    return ipaddress.ip_address(address).packed


def pseudo(p, length):
    return packed(p.src) + packed(p.dst) + (struct.pack("!BBH", 0, p.proto, length) if p.v4 else
                                            struct.pack("!IHBB", length, 0, 0, p.proto))


# --- writing ---

def _upper(p, quoted):
    """Header and payload, the distance of the checksum, and whether it covers the addresses."""
    if p.proto == TCP:
        header = struct.pack("!HHIIBBHHH", p.sport, p.dport, p.seq, p.ack, 0x50, p.flags, 16384, 0, 0)
        return header + p.payload, 16, True
    if p.proto == UDP:
        header = struct.pack("!HHHH", p.sport, p.dport, 8 + len(p.payload), 0)
        return header + p.payload, None if p.no_checksum else 6, True
    if p.proto in (ICMP, ICMPV6):
        if p.is_error:
            header = struct.pack("!BBHI", *p.kind, 0, p.param)
        else:
            header = struct.pack("!BBHHH", *p.kind, 0, p.sport, p.param)
        return header + (quoted or b"") + p.payload, 2, p.proto == ICMPV6
    if p.proto == SCTP:
        text = struct.pack("!HHII", p.sport, p.dport, 0, 0) + p.payload
        return text[:8] + struct.pack("<I", crc32c(text)) + text[12:], None, False
    return p.payload, None, False


def upper(p, quoted=None):
    text, at, addresses = _upper(p, quoted)
    if at is None:
        return text
    value = checksum((pseudo(p, len(text)) if addresses else b"") + text)
    if p.proto == UDP and value == 0:
        value = 0xffff
    return text[:at] + struct.pack("!H", value) + text[at + 2:]


def header4(p, length, fragment):
    header = struct.pack("!BBHHHBBH", 0x45, p.tos, 20 + length, p.number, fragment | 0x4000 * p.df, p.ttl, p.proto, 0)
    header += packed(p.src) + packed(p.dst)
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:]


def header6(p, length, next_header):
    return struct.pack("!IHBB", 6 << 28 | p.tos << 20, length, next_header, p.ttl) + packed(p.src) + packed(p.dst)


def packets(p, quoted=None, room=None):
    """The packet in octets, or its fragments with so much payload."""
    text = upper(p, quoted)
    if room is None:
        return [(header4(p, len(text), 0) if p.v4 else header6(p, len(text), p.proto)) + text]
    pieces = []
    for at in range(0, len(text), room):
        piece, more = text[at:at + room], at + room < len(text)
        if p.v4:
            pieces.append(header4(p, len(piece), at // 8 | 0x2000 * more) + piece)
        else:
            pieces.append(header6(p, 8 + len(piece), FRAGMENT) +
                          struct.pack("!BBHI", p.proto, 0, at | more, p.number) + piece)
    return pieces


# --- reading ---

def _read_ip(octets):
    """The packet with its IP header alone, its payload, and how long that was; None: it is no IP packet."""
    if octets[0] >> 4 == 4:
        _, tos, length, number, fragment, ttl, proto, _ = struct.unpack_from("!BBHHHBBH", octets)
        faults = () if checksum(octets[:20]) == 0 else ("IP checksum",)
        src, dst = (str(ipaddress.IPv4Address(octets[i:i + 4])) for i in (12, 16))
        return Packet(src, dst, proto, ttl=ttl, tos=tos, number=number, df=bool(fragment & 0x4000), faults=faults), \
            octets[20:length], length - 20
    first, length, proto, ttl = struct.unpack_from("!IHBB", octets)
    src, dst = (str(ipaddress.IPv6Address(octets[i:i + 16])) for i in (8, 24))
    return Packet(src, dst, proto, ttl=ttl, tos=first >> 20 & 0xff), octets[40:40 + length], length


def read(octets):
    """A whole packet, or the first octets of one that an error quotes."""
    p, text, length = _read_ip(octets)
    fields, at, addresses = {}, None, True
    if p.proto in (TCP, UDP, SCTP) and len(text) >= 8:
        fields["sport"], fields["dport"] = struct.unpack_from("!HH", text)
    if p.proto == TCP and len(text) >= 20:
        fields["seq"], fields["ack"], offset, fields["flags"] = struct.unpack_from("!IIBB", text, 4)
        fields["payload"], at = text[(offset >> 4) * 4:], 16
    elif p.proto == UDP and len(text) >= 8:
        fields["no_checksum"] = text[6:8] == b"\0\0"
        fields["payload"], at = text[8:], None if fields["no_checksum"] else 6
    elif p.proto in (ICMP, ICMPV6) and len(text) >= 8:
        fields["kind"] = tuple(text[:2])
        at, addresses = 2, p.proto == ICMPV6
        if p.changed(**fields).is_error:
            fields["param"] = struct.unpack_from("!I", text, 4)[0]
            fields["quote"] = read(text[8:])
        else:
            fields["sport"], fields["param"] = struct.unpack_from("!HH", text, 4)
            fields["payload"] = text[8:]
    elif p.proto == SCTP and len(text) >= 12:
        fields["payload"] = text[12:]
        if len(text) == length and text[8:12] != struct.pack("<I", crc32c(text[:8] + bytes(4) + text[12:])):
            fields["faults"] = p.faults + ("checksum",)
    elif len(text) == length:
        fields["payload"] = text
    if at is not None and len(text) == length and checksum((pseudo(p, length) if addresses else b"") + text) != 0:
        fields["faults"] = p.faults + ("checksum",)
    return p.changed(**fields)


class Reassembly:
    """Joins fragments; whole packets pass."""

    def __init__(self):
        self.pieces = {}

    def add(self, octets):
        """The whole packet in octets, or None as long as pieces of it are missing."""
        if octets[0] >> 4 == 4:
            octets = octets[:struct.unpack_from("!H", octets, 2)[0]]
            fragment = struct.unpack_from("!H", octets, 6)[0]
            key, at, more, text = octets[4:6] + octets[9:10] + octets[12:20], (fragment & 0x1fff) * 8, fragment & 0x2000, octets[20:]
            if at == 0 and not more:
                return octets
        else:
            octets = octets[:40 + struct.unpack_from("!H", octets, 4)[0]]
            if octets[6] != FRAGMENT:
                return octets
            at = struct.unpack_from("!H", octets, 42)[0]
            key, at, more, text = octets[44:48] + octets[8:40], at & ~7, at & 1, octets[48:]
        pieces = self.pieces.setdefault(key, {})
        pieces[at] = (octets, text, more)
        whole = b""
        for start in sorted(pieces):
            if start != len(whole):
                return None
            whole += pieces[start][1]
        if pieces[max(pieces)][2]:
            return None
        del self.pieces[key]
        first = pieces[0][0]
        if first[0] >> 4 == 4:
            p = _read_ip(first)[0]
            return header4(p, len(whole), 0) + whole
        return first[:4] + struct.pack("!HB", len(whole), first[40]) + first[7:40] + whole
