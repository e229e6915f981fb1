#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Judges the text of a metrics endpoint: INSTANCE FILE. Reads it with the parser of Prometheus'
client library, and compares it with docs/metrics.md, with the dashboard and with what the daemon
says over its telemetry socket."""
import json
import os
import re
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from peer import Telemetry

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SUFFIX = {"counter": "_total", "info": "_info", "gauge": ""}


def fail(what):
    raise SystemExit("FAILED: " + what)


def equal(what, got, wanted):
    if got != wanted:
        fail(f"{what}: got {got!r}, wanted {wanted!r}")


def documented():
    """name: (type, labels, help) of each row of the tables."""
    row = re.compile(r"^\| `(culvert_\w+)` \| (\w+) \|(.*?)\| (.*) \|$", re.MULTILINE)
    with open(ROOT + "/docs/metrics.md", encoding="utf-8") as file:
        return {name: (kind, set(re.findall(r"`(\w+)`", labels)), text)
                for name, kind, labels, text in row.findall(file.read())}


def check_documentation(families):
    rows = documented()
    equal("metrics that are exposed and not in docs/metrics.md", set(families) - set(rows), set())
    equal("metrics that are in docs/metrics.md and not exposed", set(rows) - set(families), set())
    for name, family in families.items():
        kind, labels, text = rows[name]
        equal(name + ": type", kind, family.type)
        equal(name + ": help", text, family.documentation)
        for sample in family.samples:
            equal(name + ": labels", set(sample.labels), labels)
        equal(name + ": unit", family.unit, name.rsplit("_", 1)[1] if family.unit else "")


def check_dashboard(families):
    """Every name in a query of the dashboard is that of a sample."""
    samples = {name + SUFFIX[family.type] for name, family in families.items()}
    with open(ROOT + "/conf/grafana-dashboard.json", encoding="utf-8") as file:
        dashboard = json.load(file)
    queries = [target["expr"] for panel in dashboard["panels"]
               for target in panel.get("targets", [])]
    queries += [variable["query"] for variable in dashboard["templating"]["list"]
                if variable["type"] == "query"]
    if len(queries) < 10:
        fail(f"the dashboard has {len(queries)} queries")
    for query in queries:
        names = re.findall(r"\bculvert_\w+", query)
        if not names:
            fail(f"dashboard: {query} names no metric")
        equal(f"dashboard: {query}: metrics that are not exposed", set(names) - samples, set())


def check_values(families, telemetry):
    """Traffic rests: both say the same."""
    values = {(sample.name, *sorted(sample.labels.items())): sample.value
              for family in families.values() for sample in family.samples}

    def value(name, **labels):
        return values.get((name, *sorted(labels.items())))

    totals = telemetry.totals()
    for name, item in (("received", "rx"), ("originated", "originated"), ("sent", "tx"),
                       ("local", "local")):
        equal(name, value(f"culvert_{name}_packets_total"), totals[item])
    equal("held", value("culvert_held_packets"), totals["held"])
    drops = telemetry.drops()
    for reason, packets in drops.items():
        equal(reason, value("culvert_dropped_packets_total", reason=reason), packets)
    equal("conservation", totals["rx"] + totals["originated"],
          value("culvert_sent_packets_total") + value("culvert_local_packets_total") +
          value("culvert_held_packets") + sum(drops.values()))
    for sa in telemetry.items("/culvert/sas"):
        labels = {"sa": sa["name"], "direction": sa["direction"]}
        equal("packets", value("culvert_sa_packets_total", **labels), sa["packets"])
        equal("bytes", value("culvert_sa_bytes_total", **labels), sa["bytes"])
        equal("dummies", value("culvert_sa_dummies_total", **labels), sa["dummies"])
        equal("sequence", value("culvert_sa_sequence_number", **labels), sa["sequence"])
        equal("info", value("culvert_sa_info", spi=sa["spi"], local=sa["local"],
                            remote=sa["remote"], cipher=sa["cipher"], auth=sa["auth"],
                            engine=sa["engine"], **labels), 1)
        if not 0 <= value("culvert_sa_last_seen_seconds", **labels) <= 60:
            fail(f"{labels}: last seen")
        for unit in ("bytes", "packets"):
            equal(unit, value("culvert_sa_lifetime_used", unit=unit, **labels), sa[unit + "_used"])
            equal(unit, value("culvert_sa_lifetime_left", unit=unit, **labels),
                  float(sa[unit + "_left"]))
        equal("seconds", value("culvert_sa_lifetime_left", unit="seconds", **labels), None)
    for policy in telemetry.items("/culvert/policies"):
        equal("policy", value("culvert_policy_asked_packets_total", policy=policy["name"],
                              action=policy["action"]), policy["asked"])
    for rule in telemetry.items("/culvert/rules"):
        equal("rule", value("culvert_rule_asked_packets_total", rule=rule["rule"],
                            action=rule["action"]), rule["asked"])
    for port in telemetry.items("/culvert/ports"):
        equal("port up", value("culvert_port_up", port=port["name"]), port["link"] == "up")
        equal("port", value("culvert_port_received_packets_total", port=port["name"]),
              port["rx_packets"])
    for memory in telemetry.items("/culvert/memory"):
        equal("size", value("culvert_memory_size", memory=memory["memory"]), memory["size"])


def main(instance, path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    check_documentation(families)
    check_dashboard(families)
    check_values(families, Telemetry(instance))
    print(f"{instance}: {len(families)} metrics, {len(text)} octets")


main(*sys.argv[1:])
