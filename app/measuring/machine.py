# SPDX-License-Identifier: BSD-3-Clause
"""The machine of a measurement, and what else it did during a trial."""
import glob
import os
import platform
import subprocess
import time

TICKS_S = os.sysconf("SC_CLK_TCK")
BUSY, STEAL = (1, 2, 3, 6, 7), 8  # fields of a CPU in /proc/stat: user, nice, system, irq, softirq; steal

# Above these a trial is disturbed.
STEAL_MOST = 0.005  # share of the time of the CPUs measured with
OTHERS_MOST = 0.02
CLOCK_MOST = 0.05  # difference of the clocks of these CPUs, share of the higher one


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def clocks(cpus):
    """MHz of the CPUs, as far as the kernel shows them."""
    shown = [read(f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq") for cpu in cpus]
    if all(shown):
        return [int(khz) / 1000 for khz in shown]
    all_cpus = [block for block in read("/proc/cpuinfo").split("\n\n") if "cpu MHz" in block]
    mhz = {int(fields["processor"]): float(fields["cpu MHz"]) for fields in map(fields_of, all_cpus)}
    return [mhz[cpu] for cpu in cpus if cpu in mhz]


def fields_of(block):
    return dict(map(str.strip, row.split(":", 1)) for row in block.splitlines() if ":" in row)


def times(cpus):
    """Seconds that the CPUs were busy, and that the hypervisor gave them to other guests."""
    rows = [row.split() for row in read("/proc/stat").splitlines()]
    used = [row for row in rows if row[0] in {f"cpu{cpu}" for cpu in cpus}]
    return (sum(int(row[i]) for row in used for i in BUSY) / TICKS_S, sum(int(row[STEAL]) for row in used) / TICKS_S)


def used_by(sessions):
    """Seconds of CPU time that the processes of these sessions used."""
    ticks = 0
    for path in glob.glob("/proc/[0-9]*/stat"):
        fields = read(path).rpartition(")")[2].split()
        # Of the process, and of its children that have ended.
        ticks += sum(map(int, fields[11:15])) if fields and int(fields[3]) in sessions else 0
    return ticks / TICKS_S


class Watch:
    """What else the CPUs of a measurement do. sessions: a function that returns those of its own processes."""

    def __init__(self, cpus, sessions):
        self.cpus, self.sessions = sorted(set(cpus)), sessions

    def begin(self):
        self.since = time.monotonic()
        self.before, self.clocks = (*times(self.cpus), used_by(self.sessions())), clocks(self.cpus)

    def end(self):
        """Returns shares of the time since begin(), the load average of the machine, and the clocks in MHz."""
        busy, steal, own = (now - then for now, then in zip((*times(self.cpus), used_by(self.sessions())), self.before))
        whole = (time.monotonic() - self.since) * len(self.cpus)
        mhz = self.clocks + clocks(self.cpus)
        return {"steal": round(steal / whole, 4), "others": round(max(0, busy - own) / whole, 4),
                "load": round(os.getloadavg()[0], 2), "mhz": [round(min(mhz)), round(max(mhz))] if mhz else []}


def disturbances(row, cpus):
    """The reasons for which a trial says less about the gateway. cpus: of the machine."""
    if row["steal"] > STEAL_MOST:
        yield f"the hypervisor took {row['steal']:.1%} of the CPUs' time"
    if row["others"] > OTHERS_MOST:
        yield f"other processes used {row['others']:.1%} of the CPUs' time"
    if row["load"] > cpus:
        yield f"the load was {row['load']:g} on {cpus} CPUs"
    if row["mhz"] and row["mhz"][0] < row["mhz"][1] * (1 - CLOCK_MOST):
        yield f"the clocks were between {row['mhz'][0]} and {row['mhz'][1]} MHz"


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def version():
    return output(os.path.join(os.path.dirname(__file__), "../version"))


def machine():
    """What a reader needs to know of it: a value for each name."""
    governors = {read(path).strip() for path in glob.glob("/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor")}
    facts = {
        "processor": fields_of(read("/proc/cpuinfo")).get("model name", platform.machine()),
        "CPUs": os.cpu_count(),
        "hypervisor": output("systemd-detect-virt", "--vm"),
        "governor": ", ".join(sorted(governors)) or "not shown",
        "isolated CPUs": read("/sys/devices/system/cpu/isolated").strip() or "none",
        "system": f"{platform.freedesktop_os_release()['PRETTY_NAME']}, Linux {platform.release()}",
        "DPDK": output("pkg-config", "--modversion", "libdpdk"),
    }
    return {name: value for name, value in facts.items() if value}
