# SPDX-License-Identifier: BSD-3-Clause
"""The report of a measurement: one page of HTML that needs nothing else."""
from html import escape

from .charts import PERCENTILES, cases, deviation, figures, latencies, microseconds, picture
from .machine import disturbances

STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; max-width: 980px; margin: 2em auto; padding: 0 1em; color: #24292f; }
table { border-collapse: collapse; margin: 1em 0; } th, td { padding: 2px 16px 2px 0; text-align: left; }
.warning { border-left: 4px solid #d9662b; padding-left: 1em; } svg { max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) { body { background: #0d1117; color: #e6edf3; } }
"""
NOTE = """MRR: mean of the rates received at full load, with the standard deviation of the runs. NDR and PDR: the highest
rates at which no packet, and at most 0.5 % of the packets, were lost. CSIT of FD.io defines them so. Latency is that
of batches without loss, at shares of the last of these rates."""


def table(rows):
    """rows: of cells. The first cell of each is its head."""
    return "<table>\n" + "".join(
        f"<tr><th>{escape(str(row[0]))}</th>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row[1:]) + "</tr>\n"
        for row in rows) + "</table>\n"


def results(rows):
    """A row for each kind of packet."""
    by_case = cases(rows)
    names = list(dict.fromkeys(name for group in by_case.values() for name in figures(group)))
    yield ["octets", *(f"{name}, Mpps (Gbit/s)" for name in names), "standard deviation"]
    for case, group in by_case.items():
        gbit = max(row["gbps"] / row["mpps"] if row["mpps"] else 0 for row in group)
        found = figures(group)
        yield [case, *(f"{found[name]:.3f} ({found[name] * gbit:.2f})" if name in found else "none" for name in names),
               f"{deviation(group):.1%}"]


def latency(rows):
    """A row for each share of a rate."""
    yield ["latency, microseconds", "Mpps", *PERCENTILES.values(), "packets", "lost"]
    for label, at in latencies(cases(rows)):
        yield [label, at["mpps"], *(microseconds(at, name) for name in PERCENTILES), at["packets"], at["lost"]]


def warnings(rows, cpus):
    """What disturbed the runs, as HTML. Nothing if nothing did."""
    reasons = [list(disturbances(row, cpus)) for row in rows]
    disturbed = [(i + 1, row["size"], row["mpps"], "; ".join(reasons[i])) for i, row in enumerate(rows) if reasons[i]]
    if not disturbed:
        return ""
    return (f'<div class="warning"><p><b>Disturbed</b>: {len(disturbed)} of {len(rows)} runs, by others on this machine. '
            "An undisturbed machine may give other rates.</p>\n<details><summary>Runs and reasons</summary>\n" +
            table([("run", "octets", "Mpps", "reason"), *disturbed]) + "</details></div>\n")


def page(facts, rows):
    """facts: what is known of the measurement and the machine, by name."""
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Culvert: {escape(facts["measured"])}</title>
<style>{STYLE}</style></head><body>
<h1>Measurement of Culvert</h1>
{warnings(rows, facts["CPUs"])}{table(results(rows))}{table(latency(rows))}<p>{NOTE}</p>
{picture(rows)}
<h2>Machine</h2>
{table(facts.items())}</body></html>
"""
