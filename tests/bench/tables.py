# SPDX-License-Identifier: BSD-3-Clause
"""Rows of benchmarks as the tables of docs/performance.md. Each function takes all rows of a part and
yields lines."""

from rows import NAMES, SIZES, rows_simple

NO_ROW = ""
STAGES = ("input", "esp_check", "open", "esp_finish", "transit", "fit", "frame", "seal", "output")  # as in a pass


def head(*columns):
    yield "| " + " | ".join(columns) + " |"
    yield "|---" * len(columns) + "|"


def line(*cells):
    return "| " + " | ".join(str(c) for c in cells) + " |"


def point(row):
    return f"{NAMES.get(row['alg'], row['alg'])}, {row['engine']}, {row['dir']}"


def sas(n):
    return f"{n:,} SA{'' if n == 1 else 's'}"


def core(row, cycles):
    """TSC cycles as core cycles."""
    return cycles * row["core_clock"]


def against(row, cycles, key):
    """The figure in core cycles, and the target after it if there is one."""
    most = row.get(key)
    cycles = core(row, cycles)
    if most is None:
        return f"{cycles:.0f}"
    return f"{cycles:.0f} (of {most})" if cycles <= most else f"**{cycles:.0f}** (of {most})"


def three(figures):
    return " / ".join(figures)


def by_size(rows):
    """Points in order, each with its rows in the order of sizes."""
    points = {}
    for row in rows:
        points.setdefault((row["alg"], row["engine"], row["dir"]), {})[row["size"]] = row
    return [[found[size] for size in SIZES if size in found] for found in points.values()]


def passes(rows):
    yield from head("core cycles, 64 / 512 / 1400 octets (target)", "pass", "floor", "overhead", "daemon")
    for found in rows_simple(rows).values():
        found = [found[size] for size in SIZES if size in found]
        yield line(
            point(found[0]),
            three(against(r, r["cycles"] - r["ports"], "target") for r in found),
            three(f"{core(r, r['floor']):.0f}" for r in found),
            three(f"{core(r, r['overhead']):.0f}" for r in found),
            three(against(r, r["daemon"], "target_daemon") for r in found),
        )
    yield ""
    small = [r for r in rows if "target_overhead" in r]
    loads = sorted({(r["sas"], r["flows"]) for r in small})
    by_point = {}
    for row in small:
        by_point.setdefault(point(row), {})[row["sas"], row["flows"]] = row
    yield from head("overhead in core cycles, 64 octets (target)", *(f"{sas(s)}, {f:,} flows" for s, f in loads))
    for name, found in by_point.items():
        yield line(name, *(against(found[at], found[at]["overhead"], "target_overhead") if at in found else NO_ROW
                           for at in loads))


def workers(rows):
    if any(r.get("same_core") for r in rows):
        yield "**The two CPUs are hyperthreads of one core: the speed-up means nothing.**"
        yield ""
    yield from head("", "flows", "Mpps, one worker", "Mpps, two workers", "speed-up (target 1.90)")
    for row in rows:
        if row["workers"] != 2:
            continue
        speedup = row["speedup"]
        yield line(f"{point(row)}, {row['size']} octets, {sas(row['sas'])}", f"{row['flows']:,}",
                   f"{row['mpps'] / speedup:.2f}", f"{row['mpps']:.2f}",
                   f"{speedup:.2f}" if speedup >= 1.9 else f"**{speedup:.2f}**")


def features(rows):
    yield from head("", "direction", "octets", "plain", "with it", "more", "ratio", "instructions, plain",
                    "instructions, with it")
    for r in rows:
        yield line(f"`{r['feature']}`: {r['text']}", r["dir"], r["size"], *(round(r[k]) for k in ("plain", "cycles", "more")),
                   f"{r['ratio']:.2f}", *(round(r[k]) for k in ("plain_instructions", "instructions")))


def instructions(rows):
    yield from head("", "SAs", "instructions", "own", "daemon")
    for r in rows:
        most = r.get("target", r["instructions"])
        count = f"{r['instructions']:.0f}" if r["instructions"] <= most else f"**{r['instructions']:.0f}**"
        yield line(point(r), f"{r['sas']:,}", count, *(f"{r[k]:.0f}" for k in ("own", "daemon")))


def hostile(rows):
    yield from head("kind", "cycles", "kept", "goal")
    for r in rows:
        kept = f"{r['kept']:.0f} %" if r["kept"] >= r["goal"] else f"**{r['kept']:.0f} %**"
        yield line(f"`{r['kind']}`", f"{r['cycles']:.0f}", kept, f"{r['goal']} %")


def connections(rows):
    yield from head("table", "cycles", "connections a second", "kernel: cycles", "sending", "connections a second", "ratio", "lost here", "by the kernel")
    for r in rows:
        lost = r["kernel_lost"] > 0
        kernel = ("",) * 4 if lost else (f"{r['kernel']:,.0f}", f"{r['sending']:,.0f}", f"{r['kernel_per_s']:,.0f}",
                                         f"{r['ratio']:.1f}" if r["ratio"] >= 10 else f"**{r['ratio']:.1f}**")
        yield line({"room": f"has room, of {r['flows']:,} flows", "full": "full of connections that have ended"}[r["row"]],
                   f"{r['cycles']:,.0f}", f"{r['per_s']:,.0f}", *kernel, f"{r['lost']:.3f} %", f"{r['kernel_lost']:.3f} %")


def secgw(rows):
    """With each set of libraries, in hugepages and without."""
    def with_what(r):
        return r["dpdk"], r["ipsec_mb"], r["hugepages"]

    def ratios(of):
        found = [r["ratio"] for r in rows if r["hugepages"] and of(r["sas"])]
        return f"{min(found):.2f} to {max(found):.2f}"

    for this in dict.fromkeys(map(with_what, rows)):
        dpdk, ipsec_mb, hugepages = this
        yield f"DPDK {dpdk}, ipsec-mb {ipsec_mb}, {'hugepages' if hugepages else 'pages of 4 kB'}:"
        yield ""
        yield from head("ipsec-secgw / Culvert: ratio", "SAs", *map(str, SIZES))
        ours = [r for r in rows if with_what(r) == this]
        for n in sorted({r["sas"] for r in ours}):
            for found in by_size(r for r in ours if r["sas"] == n):
                cells = {r["size"]: f"{r['secgw']:.0f} / {r['culvert']:.0f}: {r['ratio']:.2f}" for r in found}
                yield line(point(found[0]), f"{n:,}", *(cells.get(size, NO_ROW) for size in SIZES))
        yield ""
    disturbed = sum(r["disturbed"] for r in rows)
    yield (f"With hugepages and one SA Culvert needs {ratios(lambda n: n == 1)} of its cycles, by algorithm, engine,"
           f" direction and size; with 1,000 and 10,000 SAs {ratios(lambda n: n > 1)}."
           f" Of {sum(r['pairs'] for r in rows)} pairs of runs, {disturbed} were disturbed.")


def vpp(rows):
    """Of each of VPP's modes."""
    most = 0.9
    versions = {(r["version"], r["ipsec_mb"], r["hugepages"], r["vector"]) for r in rows}
    for version, ipsec_mb, hugepages, vector in sorted(versions):
        yield (f"VPP {version}, ipsec-mb {ipsec_mb}, {'hugepages' if hugepages else 'pages of 4 kB'}, VPP in vectors of {vector:.0f}"
               f" packets. **Bold**: the goal of {most:.2f} is missed.")
        yield ""
    for mode in dict.fromkeys(r["mode"] for r in rows):
        yield from head(f"`{mode}`, VPP / Culvert: ratio", "SAs", *map(str, SIZES))
        lines = {}
        for r in (r for r in rows if r["mode"] == mode):
            ratio = f"{r['ratio']:.2f}" if r["ratio"] <= most else f"**{r['ratio']:.2f}**"
            lines.setdefault((r["alg"], r["dir"], r["sas"]), {})[r["size"]] = f"{r['vpp']:.0f} / {r['culvert']:.0f}: {ratio}"
        for (alg, direction, n), cells in lines.items():
            yield line(f"{NAMES[alg]}, {direction}", f"{n:,}", *(cells.get(size, NO_ROW) for size in SIZES))
        yield ""
    disturbed = sum(r["disturbed"] for r in rows)
    yield f"Of {sum(r['pairs'] for r in rows)} pairs of runs, {disturbed} were disturbed."


def stages(rows):
    names = [name for name in STAGES if any(name in r["stages"] for r in rows)]
    yield from head("", "SAs", *(f"`{name}`" for name in names))
    for r in rows:
        yield line(r["dir"], f"{r['sas']:,}",
                   *(f"{r['stages'][name]:.0f}" if name in r["stages"] else NO_ROW for name in names))


def crypto(rows):
    """Engines beside each other."""
    engines = sorted({r["engine"] for r in rows})
    by_alg = {}
    for r in rows:
        name = r["alg"].upper() + ("" if r["auth"] == "none" else " + " + r["auth"].upper())
        by_alg.setdefault((name, r["dir"]), {}).setdefault(r["engine"], []).append(f"{r['cycles']:.0f}")
    yield from head("algorithms", "direction", *(f"`{e}`" for e in engines))
    for (name, direction), found in by_alg.items():
        yield line(name, direction, *(three(found.get(e, [])) for e in engines))


def flow(rows):
    most = {1000: 80, 1000000: 160}  # core cycles
    yield from head("flows", "core cycles, hit (target)", "of these waiting for memory", "new flows a second",
                    "core cycles to expire one", "memory")
    for r in rows:
        hit = against(r | {"most": most.get(r["flows"])}, r["cycles_hit"], "most")
        yield line(f"{r['flows']:,}", hit, f"{core(r, r['of_it_misses']):.0f}", f"{r['new_per_s'] / 1e6:.1f} million",
                   f"{core(r, r['cycles_expire']):.0f}", f"{r['memory_mb']:.0f} MB")


def flows(rows):
    """Of the whole pass, against the pass with the fewest flows; the target is that of one row."""
    most, measured = 1.2, 1000000
    yield from head("flows", *(f"TSC cycles, {d}, and ratio to the first (target {most})" for d in ("out", "in")))
    cycles = {(r["flows"], r["dir"]): r["cycles"] - r["ports"] for r in rows}
    first = min(r["flows"] for r in rows)
    for n in sorted({r["flows"] for r in rows}):
        ratios = {d: (cycles[n, d], cycles[n, d] / cycles[first, d]) for d in ("out", "in")}
        yield line(f"{n:,}", *(f"{c:.0f}: {ratio:.2f}" if ratio <= most or n != measured else f"{c:.0f}: **{ratio:.2f}**"
                               for c, ratio in ratios.values()))


def load(rows):
    columns = {"check": "`culvertd -t` ms", "start": "start to ready ms", "reload": "reload ms", "add": "add ms",
               "round": "round us", "change": "change us", "ike": "ike us", "cpu": "cpu us"}
    yield from head("SAs", "policies", *columns.values())
    for r in rows:
        yield line(f"{r['sas']:,}", f"{r['policies']:,}", *(f"{r[c]:.0f}" for c in columns))


WAITS = {"p50_us": "p50", "p99_us": "p99", "p999_us": "p99.9", "max_us": "max"}
ROUND = {"round_us": "round"}
MACHINE = {"machine_p999_us": "machine p99.9", "machine_max_us": "max"}


def times(row, *columns):
    """And the part of rounds that were left out."""
    yield from (f"{row[key]:.1f}" for titles in columns for key in titles)
    yield f"{row['left_out']:.0f} %"


def latency(rows):
    """At parts of the highest rate, and then while the control thread does something."""
    yield from head("", "octets", "workers", "`idle`", "of the highest rate", "Mpps", *WAITS.values(), *MACHINE.values(), "left out")
    for r in rows:
        if "during" not in r:
            yield line(r["dir"], r["size"], r["workers"], f"`{r['idle']}`", f"{r['load']} %", f"{r['mpps']:.2f}",
                       *times(r, WAITS, MACHINE))
    yield ""
    yield from head("", "flows", "during", "in a second", "of the highest rate", *WAITS.values(), *ROUND.values(),
                    *MACHINE.values(), "left out")
    for r in rows:
        if "during" in r:
            yield line(r["dir"], f"{r['flows']:,}", r["during"], f"{r['per_s']:.0f}", f"{r['load']} %",
                       *times(r, WAITS, ROUND, MACHINE))


def latency_beside(rows):
    names = {"culvert": "Culvert", "secgw": "ipsec-secgw", "kernel": "kernel, in clear"}
    yield from head("", "workers", "of its highest rate", "", "Mpps", *WAITS.values(), *ROUND.values(), *MACHINE.values(), "left out")
    for r in rows:
        yield line(r["dir"], r["workers"], f"{r['load']} %", names[r["gateway"]], f"{r['mpps']:.2f}",
                   *times(r, WAITS, ROUND, MACHINE))


def standby(rows):
    yield from head("SAs", "flows", "active MB", "standby MB", "part")
    for r in rows:
        yield line(f"{r['sas']:,}", f"{r['flows']:,}", r["active_mb"], r["standby_mb"], r["part"])
