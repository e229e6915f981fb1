#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the queries of the dashboard, and those of the alerts in parts: one on each line, with "must" behind a tab if
a gateway with traffic has an answer to it."""
import json
import os
import re

import yaml

CONF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../conf/")
# Values that a gateway may lack: the other one of a pair, members of its ports, drops of an SA, lifetimes, a tunnel that
# is silent, the speed of a veth.
ABSENT = r"culvert_(member_\w+|group_active|port_member|sa_dropped|sa_lifetime_left_(bytes|seconds)|tunnel_silent)"


def dashboard():
    with open(CONF + "grafana-dashboard.json", encoding="utf-8") as file:
        board = json.load(file)
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield target["expr"].replace("$instance", ".*").replace("$__rate_interval", "1m")


def alerts():
    """Each rule as it is, and each metric with its labels, which a comparison may hide."""
    with open(CONF + "prometheus-alerts.yml", encoding="utf-8") as file:
        groups = yaml.safe_load(file)["groups"]
    for rule in (rule for group in groups for rule in group["rules"]):
        yield rule["expr"]
        yield from re.findall(r"\b(?:culvert_\w+|up)(?:\{[^}]*\})?(?=\W|$)", rule["expr"])


for query in [*dashboard(), *alerts()]:
    hidden = re.search(r"[<>=]=? *[\d.]+\W*$|[<>] |==", re.sub(r"\{[^}]*\}", "", query))
    print(query + ("\t" if hidden or re.search(ABSENT, query) else "\tmust"))
