# SPDX-License-Identifier: BSD-3-Clause
"""What the metrics endpoint has to say, by what the telemetry socket says."""
import os
import sys
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "../unit"))
import field_def  # pylint: disable=wrong-import-position

FIELDS = [field for field in field_def.fields() if field.name and field.metric]
# Samples that are not the member itself.
APART = ("stage_sampled_cycles",)
BURSTS = {"1": "bursts_1", "2-3": "bursts_2", "4-7": "bursts_4", "8-15": "bursts_8",
          "16-31": "bursts_16", "32-63": "bursts_32", "64": "bursts_64"}
TUNNELS = ("never", "up", "silent", "failing", "stopped", "down", "standby")
NEIGHBOURS = ("incomplete", "reachable", "stale", "probe", "failed", "static")
WORDS = {"up": 1, "down": 0, "active": 1, "standby": 0, "stalled": 1, "running": 0}
# Units of the telemetry socket that are not the metric's: how many of the metric's they are.
UNITS = {"worker_busy_seconds": 1e-3, "worker_idle_seconds": 1e-3, "worker_longest_round_seconds": 1e-6,
         "port_speed_bytes": 125000}
# Times that go on between the two answers.
RUNNING = ("uptime_seconds", "worker_busy_seconds", "worker_idle_seconds", "sa_last_seen_seconds",
           "sa_lifetime_used_seconds", "sa_lifetime_left_seconds", "tunnel_last_received_seconds",
           "tunnel_silent_seconds", "group_role_age_seconds")
ROUNDING = 2  # seconds that both answers together may round off a running time


def _members(what, *macros):
    """What the metrics are called, and the members that they are."""
    return {field.metric.name: field.name for field in FIELDS
            if field.list == what and field.metric.macro in macros}


def _item(what, item):
    """The samples of an item of a list."""
    labels = {label: item[member] for label, member in _members(what, "LABEL").items()}
    infos = {label: item[member] for label, member in _members(what, "INFO_LABEL").items()}
    for field in FIELDS:
        metric = field.metric
        if field.list != what or not metric.is_family or metric.label or metric.name in APART:
            continue
        if item[field.name] != 0 or metric.macro != "POSITIVE_IN":
            yield metric.name, labels, item[field.name]
    if infos:
        yield {"info": "build", "ports": "port", "sas": "sa"}[what], {**labels, **infos}, 1


def _lists(telemetry):
    for what in sorted({field.list for field in FIELDS}):
        for item in telemetry.items("/culvert/" + what):
            if item.get("memory") == "heap":
                yield "heap_used_bytes", {}, item["used"]
                yield "heap_size_bytes", {}, item["size"]
            else:
                yield from _item(what, item)


def _arrays(telemetry):
    for drop in telemetry.items("/culvert/drops"):
        yield "dropped_packets", {"reason": drop["reason"]}, drop["packets"]
    for queue in telemetry.items("/culvert/queues"):
        for frames, member in BURSTS.items():
            yield "queue_bursts", {"port": queue["port"], "queue": queue["queue"],
                                   "worker": queue["worker"], "frames": frames}, queue[member]
    for sa in telemetry.items("/culvert/sas"):
        shared = {"sa": sa["name"], "direction": sa["direction"]}
        for reason, packets in sa["drops"].items():
            yield "sa_dropped_packets", {**shared, "reason": reason}, packets
    tunnels = list(telemetry.items("/culvert/tunnels"))
    for state in TUNNELS:
        yield "tunnels", {"state": state}, [tunnel["state"] for tunnel in tunnels].count(state)
        for tunnel in tunnels:
            yield "tunnel_state", {"tunnel": tunnel["tunnel"], "sa": tunnel["out"],
                                   "state": state}, int(tunnel["state"] == state)
    neighbours = list(telemetry.items("/culvert/neighbours"))
    failed = [(n["address"], n["port"]) for n in neighbours if n["state"] == "failed"]
    for route in telemetry.items("/culvert/routes"):
        if route["kind"] == "gateway":
            yield ("next_hop_failed", {label: route[label] for label in ("to", "via", "port", "source")},
                   int((route["via"], route["port"]) in failed))
    states = [neighbour["state"] for neighbour in neighbours]
    for state in NEIGHBOURS:
        yield "neighbours", {"state": state}, states.count(state)


def described(telemetry, scraped):
    """{(name, labels): (least, most)} of the values at the time scraped, without those that there are none of."""
    ranges = {}
    samples = [*_lists(telemetry), *_arrays(telemetry)]
    since = time.time() - scraped
    for name, labels, value in samples:
        if value == "-":
            continue
        at = (name, frozenset((label, str(text)) for label, text in labels.items()))
        value = float(WORDS.get(value, value)) * UNITS.get(name, 1)
        apart = since + ROUNDING if name in RUNNING else abs(value) * 1e-9
        ranges[at] = (value - apart, value + apart)
    for stage in telemetry.items("/culvert/stages"):
        least = stage["packets"] * stage["cycles_per_packet"]
        ranges["stage_sampled_cycles", frozenset({("stage", stage["stage"])})] = (
            least, least + stage["packets"])
    return ranges
