#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Judges the text of a metrics endpoint: INSTANCE FILE. Reads it with the parser of Prometheus'
client library, and compares it with docs/metrics.md, with the dashboard and with what the daemon
says over its telemetry socket."""
import json
import os
import re
import sys

import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from metrics_list import described
from peer import Telemetry

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SUFFIX = {"counter": "_total", "info": "_info", "gauge": ""}


def fail(what):
    raise SystemExit("FAILED: " + what)


def equal(what, got, wanted):
    if got != wanted:
        fail(f"{what}: got {got!r}, wanted {wanted!r}")


def take_gateway(families, instance):
    """Takes the label off that every sample has, and so no table of the documentation."""
    for name, family in families.items():
        for sample in family.samples:
            equal(name + ": gateway", sample.labels.pop("gateway", None), instance)


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


def check_alerts():
    """Every alert has what Prometheus wants of one, and names samples and labels of theirs."""
    labels = {name + SUFFIX[kind]: labels for name, (kind, labels, _) in documented().items()}
    with open(ROOT + "/conf/prometheus-alerts.yml", encoding="utf-8") as file:
        groups = yaml.safe_load(file)["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    if len(rules) < 5:
        fail(f"there are {len(rules)} alerts")
    for rule in rules:
        name = rule["alert"]
        equal(name + ": keys", set(rule), {"alert", "expr", "for", "labels", "annotations"})
        equal(name + ": severity", rule["labels"]["severity"] in ("warning", "critical"), True)
        used = re.findall(r"\bculvert_\w+", rule["expr"])
        equal(name + ": has a metric", bool(used) or rule["expr"].startswith("up{"), True)
        equal(name + ": metrics that are not exposed", set(used) - set(labels), set())
        known = {"instance", "gateway", *(label for sample in used for label in labels[sample])}
        said = re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])
        equal(name + ": labels that no sample has", set(said) - known, set())


def check_values(families, scraped, telemetry):
    """Traffic rests: both say the same, and neither says more."""
    got = {(name.removeprefix("culvert_"), frozenset(sample.labels.items())): sample.value
           for name, family in families.items() for sample in family.samples}
    drops = telemetry.drops()
    # With tcp = "strict", refused packets are dropped, and only the metrics tell the reason.
    for name, labels in [at for at in got if at[0] == "flow_refused_packets"]:
        reason = dict(labels)["reason"]
        equal(f"refused: {reason}", got.pop((name, labels)), drops[reason])
    # Events are no list: their names are those of docs/events.md.
    with open(ROOT + "/docs/events.md", encoding="utf-8") as file:
        names = set(re.findall(r"(?m)^\| `(\w+)` \|", file.read())) - {"lost"}
    events = [at for at in got if at[0] == "events"]
    equal("events", {dict(labels)["event"] for _, labels in events}, names)
    for at in events:
        got.pop(at)
    wanted = described(telemetry, scraped)
    equal("samples that only one of both has", set(got) ^ set(wanted), set())
    wrong = [f"{name} {dict(labels)}: got {got[name, labels]}, wanted {least} to {most}"
             for (name, labels), (least, most) in wanted.items()
             if not least <= got[name, labels] <= most]
    if wrong:
        fail("\n".join(wrong))
    totals = telemetry.totals()
    equal("conservation", totals["rx"] + totals["originated"],
          totals["tx"] + totals["local"] + totals["held"] + sum(drops.values()))


def main(instance, path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    take_gateway(families, instance)
    check_documentation(families)
    check_alerts()
    check_dashboard(families)
    check_values(families, os.path.getmtime(path), Telemetry(instance))
    print(f"{instance}: {len(families)} metrics, {len(text)} octets")


main(*sys.argv[1:])
