# SPDX-License-Identifier: BSD-3-Clause
"""What the metrics endpoint has to say, by what the telemetry socket says."""
import time


def same(prefix, *members):
    """Samples that are called like the members."""
    return {prefix + member: member for member in members}


# Lists of the telemetry socket: the labels of an item's samples, then the samples; each with the
# member that it is.
LISTS = {
    "info": ({}, {"uptime_seconds": "uptime_s", "configuration_generation": "generation"}),
    "totals": ({}, {
        "received_packets": "rx", "originated_packets": "originated", "sent_packets": "tx",
        "keepalives_received": "keepalives_in", "keepalives_originated": "keepalives_out",
        "local_packets": "local", "held_packets": "held",
        "icmp_errors_suppressed": "errors_suppressed",
        **same("", "buffers_free_min", "flows", "flows_created", "flows_expired", "flows_evicted",
               "flows_flushed", "flows_reopened")}),
    "drops": ({"reason": "reason"}, {"dropped_packets": "packets"}),
    "workers": ({"worker": "worker", "cpu": "cpu"}, {
        "worker_received_packets": "rx", "worker_originated_packets": "originated",
        "worker_sent_packets": "tx", "worker_local_packets": "local",
        "worker_dropped_packets": "drops", "worker_held_packets": "held",
        "worker_icmp_errors_suppressed": "errors_suppressed", "worker_stalled": "state",
        "worker_busy_seconds": "busy_ms", "worker_idle_seconds": "idle_ms",
        "worker_longest_round_seconds": "longest_round_us", "worker_receive_queues": "queues",
        **same("worker_", "passes", "stalls")}),
    "ports": ({"port": "name"}, {
        "port_up": "link", "port_speed_bytes": "link_mbps", "port_mtu_bytes": "mtu",
        "port_receive_queues": "rx_queues",
        "port_received_packets": "rx_packets", "port_received_bytes": "rx_bytes",
        "port_receive_missed_packets": "rx_missed", "port_receive_no_buffer": "rx_no_buffer",
        "port_receive_errors": "rx_errors", "port_sent_packets": "tx_packets",
        "port_sent_bytes": "tx_bytes", "port_send_errors": "tx_errors",
        **same("port_", "link_changes")}),
    "stages": ({"stage": "stage"}, same("stage_sampled_", "calls", "packets")),
    "sas": ({"sa": "name", "direction": "direction"}, {
        "sa_sequence_number": "sequence", "sa_replay_window_packets": "window",
        "sa_last_seen_seconds": "last_seen_s", "sa_mtu_bytes": "mtu", "sa_path_mtu_bytes": "path_mtu",
        **{f"sa_lifetime_{what}_{unit}": f"{unit}_{what}" for what in ("used", "left")
           for unit in ("bytes", "packets", "seconds")},
        **same("sa_", "packets", "bytes", "dummies")}),
    "tunnels": ({"tunnel": "tunnel", "sa": "out"}, {
        "tunnel_last_received_seconds": "last_received_s", "tunnel_silent_seconds": "silent_s",
        "tunnel_probes": "probes"}),
    "policies": ({"policy": "name", "action": "action"}, {
        "policy_asked_packets": "asked", **same("policy_", "packets", "bytes")}),
    "rules": ({"rule": "rule", "action": "action"}, {
        "rule_asked_packets": "asked", **same("rule_", "packets", "bytes")}),
    "memory": ({"memory": "memory"}, same("memory_", "used", "size")),
}
# Samples whose value is 1: what they are called, and their labels beside the others'.
INFOS = {
    "info": ("build", ("version",)),
    "ports": ("port", ("driver", "side", "mac")),
    "sas": ("sa", ("spi", "local", "remote", "mode", "esn", "cipher", "auth", "engine")),
}
BURSTS = {"1": "bursts_1", "2-3": "bursts_2", "4-7": "bursts_4", "8-15": "bursts_8",
          "16-31": "bursts_16", "32": "bursts_32"}
NEIGHBOURS = ("incomplete", "reachable", "stale", "probe", "failed", "static")
WORDS = {"up": 1, "down": 0, "stalled": 1, "running": 0}
# Units of the telemetry socket that are not the metric's: how many of the metric's they are.
UNITS = {"worker_busy_seconds": 1e-3, "worker_idle_seconds": 1e-3, "worker_longest_round_seconds": 1e-6,
         "port_speed_bytes": 125000}
# Times that go on between the two answers.
RUNNING = ("uptime_seconds", "worker_busy_seconds", "worker_idle_seconds", "sa_last_seen_seconds",
           "sa_lifetime_used_seconds", "sa_lifetime_left_seconds", "tunnel_last_received_seconds",
           "tunnel_silent_seconds")
ROUNDING = 2  # seconds that both answers together may round off a running time
# Samples that there are none of where the member is 0.
NOT_ZERO = ("port_speed_bytes", "sa_mtu_bytes", "sa_path_mtu_bytes")


def _lists(telemetry):
    for name, (labels, samples) in LISTS.items():
        for item in telemetry.items("/culvert/" + name):
            shared = {label: item[member] for label, member in labels.items()}
            if item.get("memory") == "heap":
                yield "heap_used_bytes", {}, item["used"]
                yield "heap_size_bytes", {}, item["size"]
                continue
            for sample, member in samples.items():
                if item[member] != 0 or sample not in NOT_ZERO:
                    yield sample, shared, item[member]
            if name in INFOS:
                sample, more = INFOS[name]
                yield sample, {**shared, **{label: item[label] for label in more}}, 1


def _arrays(telemetry):
    for queue in telemetry.items("/culvert/queues"):
        for frames, member in BURSTS.items():
            yield "queue_bursts", {"port": queue["port"], "queue": queue["queue"],
                                   "worker": queue["worker"], "frames": frames}, queue[member]
    for sa in telemetry.items("/culvert/sas"):
        shared = {"sa": sa["name"], "direction": sa["direction"]}
        for reason, packets in sa["drops"].items():
            yield "sa_dropped_packets", {**shared, "reason": reason}, packets
    for tunnel in telemetry.items("/culvert/tunnels"):
        for state in ("never", "up", "silent"):
            yield "tunnel_state", {"tunnel": tunnel["tunnel"], "sa": tunnel["out"],
                                   "state": state}, int(tunnel["state"] == state)
    states = [neighbour["state"] for neighbour in telemetry.items("/culvert/neighbours")]
    for state in NEIGHBOURS:
        yield "neighbours", {"state": state}, states.count(state)


def told(telemetry, scraped):
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
