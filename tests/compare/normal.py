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
    (r"^culvertd \d+\.\d+\.\d+\S*$", "culvertd VERSION", "of the sources"),
    (r"ok \d+\nneighbours removed: \d+", "neighbours removed: N", "stale ones may be gone already"),
    (r"(ok \d+\n)?\bgeneration[= ]\d+", "generation N", "as that of the list info"),
)


# The identification of IPv4 packets that the gateway makes begins with a random number, for each SA with another one.
ESP = 50
OWN = {bytes((192, 0, 2, 1)), bytes((10, 1, 0, 1))}


class Frames:
    """Of one gateway."""

    def __init__(self):
        self.first = None

    def frame(self, octets):
        if octets[12:14] != b"\x08\x00" or octets[26:30] not in OWN:
            return octets.hex()
        number = int.from_bytes(octets[18:20], "big")
        if octets[23] == ESP:
            first = number
        else:
            first = self.first = number if self.first is None else self.first
        header = octets[14:14 + 4 * (octets[14] & 15)]
        right = "" if sum(int.from_bytes(header[i:i + 2], "big") for i in range(0, len(header), 2)) % 65535 == 0 else "wrong sum "
        return right + (octets[:18] + ((number - first) % 65536).to_bytes(2, "big") + octets[20:24] + b"\0\0" +
                        octets[26:]).hex()

# Whole lines.
PASSING = ((r'tunnel ".*" is (up|silent|failing)', "looked at once in a second"),)


def lines(found):
    """Of the log, without those that come at some time, or not at all if what they are about has gone again."""
    return [line(text) for text in found if not any(re.search(pattern, text) for pattern, _ in PASSING)]


def line(text):
    for pattern, instead, _ in LINES:
        text = re.sub(pattern, instead, text)
    return text


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
