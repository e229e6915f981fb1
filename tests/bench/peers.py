# SPDX-License-Identifier: BSD-3-Clause
"""Gateways beside each other, of the rows of tests/bench/publish peers: AES-128-GCM and one SA."""

from rows import IMIX

SIZES = [64, "imix", 1400]
PLACES = [(direction, size) for direction in ("out", "in") for size in SIZES]
IMIX_OCTETS = sum(octets * n for octets, n in IMIX.items()) / sum(IMIX.values())
NAMES = {"culvert": "Culvert", "secgw": "ipsec-secgw", "vpp": "VPP", "kernel": "Linux, in clear"}


def octets(size):
    """Of an inner IP packet, the mean of a mix."""
    return IMIX_OCTETS if size == "imix" else size


def rates(rows, ghz):
    """Million packets a second by (dir, size), then gateway. Others are at the ratio of their own alternating runs to
    Culvert's, whose rate is the one beside ipsec-secgw; ghz: of the TSC. The kernel encapsulates nothing: its packets are
    those of the direction out."""
    found = {place: {} for place in PLACES}
    for row in rows:
        if "secgw" in row:
            ours = ghz * 1000 / row["culvert"]
            found[row["dir"], row["size"]].update(culvert=ours, secgw=ours * row["ratio"])
    for row in rows:
        if "vpp" in row:
            found[row["dir"], row["size"]]["vpp"] = found[row["dir"], row["size"]]["culvert"] * row["ratio"]
        elif "kernel" in row:
            found["out", row["size"]]["kernel"] = ghz * 1000 / row["kernel"]
    return found


def sentences(rows, ghz):
    by_place = rates(rows, ghz)

    def mpps(name, size):
        return " and ".join(f"{by_place[direction, size][name]:.1f}" for direction in ("out", "in"))

    def gbps(size):
        return " and ".join(f"{by_place[direction, size]['culvert'] * octets(size) * 8 / 1000:.0f}" for direction in ("out", "in"))

    def ratios(name):
        found = [by_place[place]["culvert"] / by_place[place][name] for place in PLACES]
        return f"{min(found):.2f} to {max(found):.2f}"

    pairs = [row for row in rows if "pairs" in row]
    kernel = [by_place["out", size]["kernel"] for size in SIZES]
    yield (f"One core encapsulates and decapsulates {mpps('culvert', 64)} million packets of 64 octets in a second, with"
           f" policies, connection state and replay window; of IMIX that is {gbps('imix')} Gbit/s, and of 1400 octets"
           f" {gbps(1400)} Gbit/s. DPDK's ipsec-secgw passes {mpps('secgw', 64)} million of 64 octets on the same core in"
           f" alternating runs, without connection state and replay window: Culvert has {ratios('secgw')} times its rate, by"
           f" size and direction. VPP passes {mpps('vpp', 64)} million, without connection state, and without replay window"
           f" inbound: Culvert has {ratios('vpp')} times its rate. The kernel of the machine, which has no ESP, forwards"
           f" {min(kernel):.2f} to {max(kernel):.2f} million packets in clear by nf_conntrack and nftables. Ports are not"
           " counted here: with them rates are lower, and differ less ([over memif](#over-memif), [ports](#ports)). Of"
           f" {sum(row['pairs'] for row in pairs)} pairs of runs, {sum(row['disturbed'] for row in pairs)} were disturbed.")
