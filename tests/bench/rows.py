# SPDX-License-Identifier: BSD-3-Clause
"""Rows of bench_pass --json, and what others have published about the same work."""

import json

SIZES = [64, 512, 1400]  # octets of inner IP packet
NAMES = {
    "aes-128-gcm": "AES-128-GCM",
    "aes-128-cbc+hmac-sha1-96": "AES-128-CBC + HMAC-SHA1",
    "null+hmac-sha1-96": "NULL + HMAC-SHA1",
}

# TSC cycles per packet at the three sizes, one core, one SA, measured on a machine of this kind, by
# the engine of ours that takes the same kind of crypto: ipsec-secgw of DPDK 22.11.11 with ports
# faked in the process, which are subtracted below; VPP 26.06, the whole graph.
SECGW_PORTS = [18, 38, 89]
SECGW = {
    "ipsec_mb": {
        "aes-128-gcm": {"out": [199, 263, 449], "in": [196, 286, 448]},
        "aes-128-cbc+hmac-sha1-96": {"out": [341, 650, 1029], "in": [321, 556, 898]},
        "null+hmac-sha1-96": {"out": [299, 444, 720], "in": [317, 513, 836]},
    },
    "openssl": {
        "aes-128-gcm": {"out": [670, 836, 1233], "in": [647, 805, 1189]},
        "aes-128-cbc+hmac-sha1-96": {"out": [2044, 3392, 5381], "in": [1970, 2818, 3773]},
    },
}
VPP = {
    "ipsec_mb": {
        "aes-128-gcm": {"out": [175, 240, 363], "in": [206, 283, 379]},
        "aes-128-cbc+hmac-sha1-96": {"out": [332, 560, 1043], "in": [324, 525, 922]},
        "null+hmac-sha1-96": {"out": [258, 389, 692], "in": [279, 407, 707]},
    },
}
PEERS = {"ipsec-secgw": (SECGW, SECGW_PORTS), "VPP": (VPP, [0, 0, 0])}


def rows_read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def rows_simple(rows):
    """Those with one SA and 1000 flows in bursts of 32 on one core, by (alg, engine, dir), then size."""
    simple = {}
    for row in rows:
        if (row["sas"], row["flows"], row["burst"], row["workers"]) != (1, 1000, 32, 1):
            continue
        if row["alg"] in NAMES and row["dir"] in ("out", "in") and row["size"] in SIZES:
            simple.setdefault((row["alg"], row["engine"], row["dir"]), {})[row["size"]] = row
    return simple


def peers_of(alg, engine, direction):
    """{peer: {size: cycles without ports}}, of those whose crypto is of the same kind."""
    found = {}
    for peer, (published, ports) in PEERS.items():
        figures = published.get(engine, {}).get(alg, {}).get(direction)
        if figures:
            found[peer] = {s: f - p for s, f, p in zip(SIZES, figures, ports)}
    return found
