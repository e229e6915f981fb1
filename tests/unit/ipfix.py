# SPDX-License-Identifier: BSD-3-Clause
"""A decoder of IPFIX messages, by RFC 7011 and the registry of IANA alone.

As a program: a collector of UDP on an address and port, which prints each record as a line of JSON.
"""
import ipaddress
import json
import socket
import struct
import sys

# Of the elements that are used: name and kind (u: number, a: address, s: text).
ELEMENTS = {
    1: ("octetDeltaCount", "u"), 2: ("packetDeltaCount", "u"), 4: ("protocolIdentifier", "u"),
    7: ("sourceTransportPort", "u"), 8: ("sourceIPv4Address", "a"), 10: ("ingressInterface", "u"),
    11: ("destinationTransportPort", "u"), 12: ("destinationIPv4Address", "a"), 14: ("egressInterface", "u"),
    27: ("sourceIPv6Address", "a"), 28: ("destinationIPv6Address", "a"), 32: ("icmpTypeCodeIPv4", "u"),
    40: ("exportedOctetTotalCount", "u"), 41: ("exportedMessageTotalCount", "u"),
    42: ("exportedFlowRecordTotalCount", "u"), 61: ("flowDirection", "u"), 83: ("interfaceDescription", "s"),
    133: ("droppedPacketDeltaCount", "u"), 136: ("flowEndReason", "u"), 139: ("icmpTypeCodeIPv6", "u"),
    144: ("exportingProcessId", "u"), 149: ("observationDomainId", "u"), 152: ("flowStartMilliseconds", "u"),
    153: ("flowEndMilliseconds", "u"), 166: ("notSentFlowTotalCount", "u"),
    225: ("postNATSourceIPv4Address", "a"), 226: ("postNATDestinationIPv4Address", "a"),
    227: ("postNAPTSourceTransportPort", "u"), 228: ("postNAPTDestinationTransportPort", "u"),
    281: ("postNATSourceIPv6Address", "a"), 282: ("postNATDestinationIPv6Address", "a"), 335: ("selectorName", "s"),
}


def value(kind, octets):
    if kind == "u":
        return int.from_bytes(octets, "big")
    if kind == "a":
        return str(ipaddress.ip_address(octets))
    return octets.rstrip(b"\0").decode()


class Decoder:
    def __init__(self):
        self.templates = {}  # by identifier: how many fields are the scope, and (element, octets) of all
        self.sequence = None
        self.missing = 0  # records, by the sequence numbers

    def learn(self, data, options):
        at = 0
        while len(data) - at >= 4:
            number, n = struct.unpack_from(">HH", data, at)
            at += 4
            scopes = struct.unpack_from(">H", data, at)[0] if options else 0
            at += 2 if options else 0
            assert number >= 256 and n > 0 and scopes <= n and (scopes > 0) == options, (number, n, scopes)
            fields = [struct.unpack_from(">HH", data, at + 4 * i) for i in range(n)]
            assert all(element < 0x8000 and 0 < size < 0xffff for element, size in fields), fields
            self.templates[number] = (scopes, fields)
            at += 4 * n
        assert at == len(data), "octets after the last template"

    def records(self, number, data):
        scopes, fields = self.templates[number]
        size = sum(octets for _, octets in fields)
        assert len(data) % size == 0 and data, (number, len(data), size)
        for at in range(0, len(data), size):
            record = {"options": scopes > 0}
            for element, octets in fields:
                name, kind = ELEMENTS[element]
                record[name] = value(kind, data[at:at + octets])
                at += octets
            yield record

    def decode(self, message):
        """Yields the records of a message of a known template."""
        version, length, _, sequence, domain = struct.unpack_from(">HHIII", message)
        assert version == 10 and length == len(message), (version, length, len(message))
        if self.sequence is not None:
            self.missing += (sequence - self.sequence) % 2 ** 32
        self.sequence = sequence
        at = 16
        while at < length:
            number, size = struct.unpack_from(">HH", message, at)
            assert size > 4 and at + size <= length, (number, size)
            data = message[at + 4:at + size]
            if number in (2, 3):
                self.learn(data, number == 3)
            else:
                for record in self.records(number, data):
                    self.sequence = (self.sequence + 1) % 2 ** 32
                    yield dict(record, domain=domain)
            at += size


def collect(address, port):
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    sock.bind((address, port))
    decoder = Decoder()
    while True:
        for record in decoder.decode(sock.recv(65535)):
            print(json.dumps(dict(record, missing=decoder.missing)), flush=True)


if __name__ == "__main__":
    collect(sys.argv[1], int(sys.argv[2]))
