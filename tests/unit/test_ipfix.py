# SPDX-License-Identifier: BSD-3-Clause
"""Messages of IPFIX, of random records, against a decoder that was written from RFC 7011: all fields of all records arrive,
no message is too long, sequence numbers count records. Argument: the program that prints them."""
import ipaddress
import json
import subprocess
import sys

from ipfix import Decoder

ADDRESSES = {"source": ("sourceIPv4Address", "sourceIPv6Address"),
             "destination": ("destinationIPv4Address", "destinationIPv6Address"),
             "to_source": ("postNATSourceIPv4Address", "postNATSourceIPv6Address"),
             "to_destination": ("postNATDestinationIPv4Address", "postNATDestinationIPv6Address")}


def wanted(record):
    """The record as the elements of its family have it."""
    v6 = len(record.get("source", "")) == 32
    out = {}
    for name, content in record.items():
        if name in ADDRESSES:
            out[ADDRESSES[name][v6]] = str(ipaddress.ip_address(bytes.fromhex(content)))
        elif name == "icmp":
            out["icmpTypeCodeIPv6" if v6 else "icmpTypeCodeIPv4"] = content
        else:
            out[name] = content
    return out


def check(seed):
    decoder, waiting, messages = Decoder(), [], 0
    for line in subprocess.run([sys.argv[1], str(seed)], capture_output=True, check=True).stdout.splitlines():
        line = json.loads(line)
        if "message" not in line:
            waiting.append(wanted(line))
            continue
        message = bytes.fromhex(line["message"])
        assert 16 < len(message) <= 1232, len(message)
        assert int.from_bytes(message[4:8], "big") == 1800000000
        got = list(decoder.decode(message))
        messages += 1
        expected, waiting = waiting[:len(got)], waiting[len(got):]
        for a, b in zip(got, expected):
            assert a.pop("domain") == 7
            assert a.pop("options") == ("flowEndReason" not in b)
            assert a == b, (a, b)
        assert len(waiting) <= 1, "a record that was printed is not in its message"
    assert not waiting and decoder.missing == 0 and 50 < messages < 150
    return messages


for number in range(20):
    check(number)
print("all records arrive")
