# SPDX-License-Identifier: BSD-3-Clause
"""The figures, as a table, as JSON or as a page with charts."""
import json
import shlex
import sys
import time

from .charts import PERCENTILES, microseconds, picture
from .machine import disturbances, machine, version
from .packets import lengths
from .page import page
from .process import note


class Report:
    RUNS = {"full": "full load", "lossless": "no loss", "rate": "rate"}  # "search" is not in the table
    HEAD = ("size", "VXLAN", "run", "offered", "refused", "sent", "dropped", "lost", "received", "loss",
            "Mpps", "Gbit/s")
    LINE = "{:>5} {:<9} {:<10}{:>11}{:>11}{:>11}{:>10}{:>9}{:>11}{:>9}{:>8}{:>8}"

    def __init__(self, options):
        self.options, self.rows, self.right = options, [], True
        self.failed = []  # gateways that ended with an error
        self.machine = machine()

    def begin(self):
        o = self.options
        if o.json:
            return
        print(self.title())
        print(self.LINE.format(*self.HEAD))

    def title(self):
        o = self.options
        subject = " and ".join(i.split(":")[0] for i in o.instance) if o.instance else (
            f"{o.transport}, {o.cipher}" + (f" {o.auth}" if o.auth != "none" else "")
            + (f", {o.gateway}" if o.gateway else ""))
        cpus = "" if o.instance else f", gateways on CPU {' and '.join(map(str, o.gateway_cpus))}"
        return f"{o.way}: {subject}, {o.flows} flows, {o.seconds:g} s each; testpmd on CPU {o.generator_cpu}{cpus}"

    def row(self, size, vxlan, run, result, limit=None):
        """limit: the loss that the search allowed."""
        o = self.options
        if result is None:
            note(f"app/measure: {size} octets: no rate found with a loss of at most {limit:g}; try --loss 0.005, "
                 "or leave the CPUs to the measurement alone")
            return
        octets = lengths(size)
        gbps = result.mpps * 8 * sum(octets) / len(octets) / 1000
        self.right = self.right and result.unexplained == 0
        self.rows.append({
            "way": o.way, "transport": None if o.instance else o.transport, "size": size, "vxlan": vxlan,
            "flows": o.flows, "run": run, "limit": limit, "seconds": round(result.seconds, 3),
            "offered": result.offered, "refused": result.refused, "sent": result.sent,
            "received": result.received, "drops": result.drops, "lost": result.wires,
            "other": result.other, "unexplained": result.unexplained, "loss": round(result.loss, 7),
            "mpps": round(result.mpps, 4), "gbps": round(gbps, 4), **result.machine, "latency": []})
        if o.json or run == "search":
            return
        print(self.LINE.format(
            size, vxlan, f"loss {limit:.3g}" if limit else self.RUNS[run], result.offered, result.refused, result.sent,
            sum(result.drops.values()), sum(result.wires), result.received, f"{result.loss:.4%}",
            f"{result.mpps:.3f}", f"{gbps:.2f}"))
        extra = [f"{reason} {n}" for reason, n in result.drops.items()]
        extra += [f"for or of the gateways {result.other}"] if result.other else []
        extra += [f"UNEXPLAINED {result.unexplained}"] if result.unexplained else []
        if extra:
            print(f"{'':27}{', '.join(extra)}")

    def latency(self, found):
        """Adds it to the last row, a search's: it is measured at shares of that rate."""
        self.rows[-1]["latency"] = found
        for at in found if not self.options.json else ():
            times = ", ".join(f"{label} {microseconds(at, name)}" for name, label in PERCENTILES.items())
            print(f"{'':27}latency at {at['mpps']:.3f} Mpps, microseconds: {times}")

    def end(self):
        if self.options.plot:
            self.write()
        disturbed = sum(any(disturbances(row, self.machine["CPUs"])) for row in self.rows)
        if disturbed:
            note(f"app/measure: {disturbed} of {len(self.rows)} runs were disturbed by others on this machine: "
                 "--plot shows by what, --json has their shares")
        if self.options.json:
            print(json.dumps(self.rows, indent=1))
            return
        print("offered = refused by the full wire + sent; sent = dropped by gateways + lost on wires + "
              "received.\nGbit/s are those of the clear IP packets, inside the VXLAN if there is one.")

    def write(self):
        facts = {"measured": self.title(), "command": shlex.join(["app/measure", *sys.argv[1:]]),
                 "version": version(), "time": time.strftime("%F %R UTC", time.gmtime()), **self.machine}
        for suffix, content in ((".svg", picture(self.rows)), (".html", page(facts, self.rows))):
            with open(self.options.plot + suffix, "w", encoding="utf-8") as file:
                file.write(content)
