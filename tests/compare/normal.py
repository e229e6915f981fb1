# SPDX-License-Identifier: BSD-3-Clause
"""What two runs of one gateway may differ in, and nothing else: each is named here with its reason, and replaced before
results are compared."""
import re

# Fields of lists.
FIELDS = {
    "info": {"version": "of the sources", "pid": "of the process", "uptime_s": "time",
             "generation": "a deleted policy of IKE takes another one once workers have seen the first"},
    "totals": {"buffers_in_use": "which buffers drivers hold at the moment", "buffers_free_min": "the same"},
    "workers": {"longest_round_us": "time", "busy_ms": "time", "idle_ms": "time", "passes": "how frames met in a pass"},
    "queues": {f"bursts_{n}": "how frames met in a burst" for n in (1, 2, 4, 8, 16, 32, 64)},
    "stages": {"calls": "one pass of 1024", "packets": "one pass of 1024", "packets_per_call": "one pass of 1024",
               "cycles_per_packet": "time"},
    "sas": {"last_seen_s": "time", "seconds_used": "time", "seconds_left": "time"},
    "tunnels": {"last_received_s": "time", "silent_s": "time", "state": "looked at once in a second", "reason": "as state"},
    "neighbours": {"age_s": "time"},
    "flows": {"idle_s": "time", "age_s": "time"},
}
# Lists in the order of a table with a random key.
UNORDERED = ("flows", "neighbours")
# Parts of lines of the log, by their pattern.
LINES = (
    (r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ", "", "time"),
    (r"culvertd: version \S+,", "culvertd: version,", "of the sources"),
    (r"stopped: rx=(\d+) originated=\d+ tx=\d+ drops=\d+", r"stopped: rx=\1", "timers send and drop as well"),
    (r"^culvertd \d+\.\d+\.\d+\S*$", "culvertd VERSION", "of the sources"),
    (r"^neighbours removed: \d+", "neighbours removed: N", "stale ones may be gone already"),
    (r"\bgeneration[= ]\d+", "generation N", "as that of the list info"),
)


# The gateway's own packets have an identification from a random number: of a fragment and of a reply others than of ESP.
ESP, ICV = 50, 12
OWN = {bytes((192, 0, 2, 1)), bytes((10, 1, 0, 1))}


def _own(octets):
    """An IPv4 packet without its identification, which an own one has; its checksum must be right."""
    header = octets[:4 * (octets[0] & 15)]
    right = sum(int.from_bytes(header[i:i + 2], "big") for i in range(0, len(header), 2)) % 65535 == 0
    return octets[:4] + (b"\0\0" if right else b"!!") + octets[6:10] + b"\0\0" + octets[12:]


def frame(octets):
    """As digits. An own packet that NULL protects has an ICV that depends on its identification."""
    if octets[12:14] != b"\x08\x00" or octets[26:30] not in OWN:
        return octets.hex()
    octets = octets[:14] + _own(octets[14:])
    inner = octets[42:]
    if octets[23] == ESP and inner[:1] == b"\x45" and inner[12:16] in OWN:
        octets = octets[:42] + _own(inner)[:-ICV]
    return octets.hex()


# Values that depend on timers: of lists while addresses are resolved and fragments wait.
TIMED = {
    "totals": ("originated", "tx", "drops", "held"), "workers": ("originated", "tx", "drops", "held"),
    "ports": ("tx_packets", "tx_bytes"),
}
TIMED_DROPS = ("neigh_failed", "neigh_hold_full", "fragment_timeout", "fragments_full")


def timed(results):
    """Lists of both gateways, without that."""
    for lists in results:
        for name, fields in TIMED.items():
            lists[name] = [{field: None if field in fields else value for field, value in item.items()} for item in lists[name]]
        lists["drops"] = [item for item in lists["drops"] if item["reason"] not in TIMED_DROPS]
        lists["neighbours"] = [item for item in lists["neighbours"] if item["state"] == "static"]
        lists["memory"] = []
    return results


# Whole lines.
PASSING = ((r'tunnel ".*" is (up|silent|failing)', "looked at once in a second"),)


def lines(found):
    """Of the log, without those that come at some time, or not at all if what they are about has gone again."""
    return [line(text) for text in found if not any(re.search(pattern, text) for pattern, _ in PASSING)]


def by_time(octets):
    """Whether a frame of the gateway is sent by a timer: ARP requests, and neighbour solicitations and reports of MLD."""
    if octets[12:14] == b"\x08\x06":
        return octets[20:22] == b"\0\1"
    return octets[12:14] == b"\x86\xdd" and octets[:2] == b"\x33\x33" and (octets[2:3] == b"\xff" or octets[20] == 0)


def line(text):
    for pattern, instead, _ in LINES:
        text = re.sub(pattern, instead, text)
    return text


def answer(text):
    """Of the control socket: its status and lines. The number of octets after the status must be right, no more."""
    first, _, rest = text.partition("\n")
    status, _, octets = first.partition(" ")
    return [status if octets == str(len(rest.encode(errors="surrogateescape"))) else first, *map(line, rest.splitlines())]


def items(name, found):
    """A list as telemetry or culvertctl --json has it."""
    if not isinstance(found, list):
        return found
    found = [{field: None if field in FIELDS.get(name, {}) else value for field, value in item.items()} for item in found]
    for item in found:
        if name == "memory" and item["memory"] in ("heap", "neighbours"):
            item["used"] = None  # octets: sizes of structs may change; and stale neighbours, as below
    if name == "neighbours":  # a search of the table removes stale ones at some time
        found = [item for item in found if item["state"] != "stale"]
    return sorted(found, key=str) if name in UNORDERED else found
