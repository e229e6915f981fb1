# SPDX-License-Identifier: BSD-3-Clause
"""Charts of the runs of a measurement, and the figures that they show. Rows are those of --json."""
import itertools
import math
import statistics

from . import svg

WIDTH, HEIGHT = 400, 200  # of a plot
LEFT, RIGHT, TOP, BOTTOM = 52, 28, 52, 44  # margins
PANEL_W, PANEL_H = LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM
LOSS_LEAST = 1e-6  # at the lower end of the scale, as no loss
PERCENTILES = {"min": "least", "p50": "median", "p90": "90 %", "p99": "99 %", "max": "most"}
LIMITS = {0: "NDR", 0.005: "PDR"}  # as CSIT names them
COLOURS = ("#2f6fb0", "#d9662b", "#3a8a4d", "#8a5fb8", "#b58a00", "#c2385a")
STYLE = svg.STYLE + "".join(f".c{i} {{ fill: {colour}; stroke: {colour}; }}\n" for i, colour in enumerate(COLOURS))


def colour(i):
    return f"c{i % len(COLOURS)}"


def case_of(row):
    return str(row["size"]) if row["vxlan"] == "none" else f"{row['size']} {row['vxlan']}"


def cases(rows):
    """The rows of each kind of packet, in the order in which these were measured."""
    return {case: list(group) for case, group in itertools.groupby(rows, case_of)}


def full(rows):
    return [row["mpps"] for row in rows if row["run"] == "full"]


def figures(rows):
    """By name, the rates in Mpps of one kind of packet: MRR, the mean at full load, and the highest for each loss."""
    found = {"MRR": statistics.mean(full(rows))}
    for row in rows:
        if row["run"] == "lossless":
            found[LIMITS.get(row["limit"], f"loss {row['limit']:.3g}")] = row["mpps"]
    return found


def deviation(rows):
    """Standard deviation of the rates at full load, as a share of their mean."""
    rates = full(rows)
    return statistics.stdev(rates) / statistics.mean(rates) if len(rates) > 1 and any(rates) else 0.0


def between(low, high):
    """Round values from low to high."""
    step = svg.step_of(high - low)
    return [round(i * step, 6) for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def latencies(by_case):
    """A label and a measurement for each share of a rate, of each kind of packet."""
    return [(f"{case}, {at['share']:.0%}", at) for case, rows in by_case.items() for row in rows for at in row["latency"]]


def microseconds(at, name):
    """none: every batch lost packets."""
    return f"{at[name] / 1000:.1f}" if name in at else "none"


class Panel:
    """A plot with its axes, each from its least to its most value. x(), y() are places in the picture."""

    def __init__(self, title, under, along, upward):
        (self.left, self.right), (self.low, self.high) = along, upward
        self.parts = [svg.text(LEFT, 18, title, "name", "start"), svg.text(LEFT + WIDTH / 2, PANEL_H - 8, under, "small muted")]

    def x(self, value):
        return LEFT + WIDTH * (value - self.left) / (self.right - self.left)

    def y(self, value):
        return TOP + HEIGHT * (1 - (value - self.low) / (self.high - self.low))

    def level(self, value, label):
        self.parts += [svg.line(LEFT, self.y(value), LEFT + WIDTH, self.y(value), "axis" if value == self.low else "grid"),
                       svg.text(LEFT - 6, self.y(value) + 4, label, "small muted", "end")]

    def levels(self):
        for value in between(self.low, self.high):
            self.level(value, f"{value:g}")

    def mark(self, value, label):
        self.parts.append(svg.text(self.x(value), TOP + HEIGHT + 16, label, "small muted"))

    def dot(self, x, y, number):
        self.parts.append(f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="3" class="{colour(number)}"/>')

    def bar(self, left, right, value, number):
        self.parts.append(svg.box(self.x(left), self.y(value), self.x(right) - self.x(left),
                                  self.y(self.low) - self.y(value), colour(number)))

    def legend(self, names):
        for i, name in enumerate(names):
            x = LEFT + i * WIDTH / max(len(names), 3)
            self.parts += [svg.box(x, 28, 10, 10, colour(i)), svg.text(x + 14, 37, name, "small", "start")]


def rates(by_case):
    """Rate by size: a bar for each figure."""
    found = {case: figures(rows) for case, rows in by_case.items()}
    names = list(dict.fromkeys(itertools.chain.from_iterable(found.values())))
    most = max(rate for rates_of in found.values() for rate in rates_of.values())
    panel = Panel("Rate, Mpps", "octets of the inner packet", (0, len(found)), (0, 1.05 * most or 1))
    panel.levels()
    panel.legend(names)
    width = 0.8 / len(names)
    for i, (case, rates_of) in enumerate(found.items()):
        panel.mark(i + 0.5, case)
        for j, name in enumerate(names):
            panel.bar(i + 0.1 + j * width, i + 0.08 + (j + 1) * width, rates_of.get(name, 0), j)
    return panel


def loss(by_case):
    """Loss by rate: a dot for each run."""
    runs = {case: [(math.log10(row["offered"] / row["seconds"]), row["loss"]) for row in rows if row["offered"]]
            for case, rows in by_case.items()}
    offered = [rate for runs_of in runs.values() for rate, _ in runs_of]
    panel = Panel("Loss of each run", "offered, packets per second", (min(offered) - 0.1, max(offered) + 0.1),
                  (math.log10(LOSS_LEAST), 0))
    for share in (1e-6, 1e-4, 1e-2, 1):
        panel.level(math.log10(share), "0" if share == LOSS_LEAST else f"{share:.4g}")
    for rate in (digit * 10 ** exponent for exponent in range(3, 9) for digit in (1, 2, 5)):
        if panel.left <= math.log10(rate) <= panel.right:
            panel.mark(math.log10(rate), f"{rate / 1e6:g}M" if rate >= 1e6 else f"{rate / 1e3:g}k")
    panel.legend(runs)
    for i, runs_of in enumerate(runs.values()):
        for rate, share in runs_of:
            panel.dot(rate, math.log10(max(share, LOSS_LEAST)), i)
    return panel


def spread(by_case):
    """Runs at full load: a dot for each, as its difference from their mean."""
    differences = {case: [100 * (rate / statistics.mean(full(rows)) - 1) for rate in full(rows)]
                   for case, rows in by_case.items() if any(full(rows))}
    most = 1.1 * max([1, *(abs(d) for of_case in differences.values() for d in of_case)])
    panel = Panel("Runs at full load, % above their mean", "octets of the inner packet, standard deviation",
                  (0, len(by_case)), (-most, most))
    panel.levels()
    for i, (case, of_case) in enumerate(differences.items()):
        panel.mark(i + 0.5, f"{case}, {deviation(by_case[case]):.1%}")
        for j, difference in enumerate(of_case):
            panel.dot(i + 0.2 + 0.6 * (j + 0.5) / len(of_case), difference, i)
    return panel


def others(rows):
    """Time of the CPUs that others had, run by run."""
    names = ("others", "steal")
    panel = Panel("Time of the CPUs that others had, %", "runs in order", (0, len(rows)),
                  (0, max(1, 105 * max(row[name] for row in rows for name in names))))
    panel.levels()
    panel.legend(("other processes", "other guests"))
    for i, row in enumerate(rows):
        for j, name in enumerate(names):
            panel.dot(i + 0.5, 100 * row[name], j)
    return panel


def latency(by_case):
    """Latency: a column of percentiles for each share of a rate."""
    found = [(label, at) for label, at in latencies(by_case) if "max" in at]
    exponents = [math.log10(max(at[name], 1) / 1000) for _, at in found for name in PERCENTILES] or [0]
    panel = Panel("Latency, microseconds", "octets of the inner packet, share of the highest rate", (0, len(found) or 1),
                  (math.floor(min(exponents)), math.floor(max(exponents)) + 1))
    for exponent in range(panel.low, panel.high + 1):
        panel.level(exponent, f"{10 ** exponent:g}")
    panel.legend(PERCENTILES.values())
    for i, (label, at) in enumerate(found):
        panel.mark(i + 0.5, label)
        for j, name in enumerate(PERCENTILES):
            panel.dot(i + 0.5, math.log10(max(at[name], 1) / 1000), j)
    return panel


def picture(rows):
    """All charts as one SVG."""
    by_case = cases(rows)
    panels = [rates(by_case), loss(by_case), spread(by_case), latency(by_case), others(rows)]
    parts = [f'<g transform="translate({i % 2 * PANEL_W} {i // 2 * PANEL_H})">' + "\n".join(panel.parts) + "</g>"
             for i, panel in enumerate(panels)]
    return svg.document(2 * PANEL_W, (len(panels) + 1) // 2 * PANEL_H, STYLE, parts)
