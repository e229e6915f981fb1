# SPDX-License-Identifier: BSD-3-Clause
"""ipsec-secgw of the DPDK that is installed, with net_frames.c as its network card: fetched, and compiled in
build/secgw."""
import glob
import os
import platform
import shlex
import sys

from beside import ROOT, output

HERE = os.path.dirname(os.path.abspath(__file__))
WORK = os.path.join(ROOT, "build/secgw")
PROGRAM = os.path.join(WORK, "ipsec-secgw")


def source():
    """The folder of the package's source, of the version installed; fetched if it is not there."""
    version = output(["dpkg-query", "--show", "--showformat=${Version}", "libdpdk-dev"])
    release = platform.freedesktop_os_release()["VERSION_CODENAME"]
    folder = os.path.join(WORK, "source-" + version)
    if not glob.glob(folder + "/dpdk-*/examples"):
        os.makedirs(folder + "/lists/partial", exist_ok=True)
        with open(folder + "/sources.list", "w", encoding="utf-8") as f:
            f.write(f"deb-src http://deb.debian.org/debian {release} main\n"
                    f"deb-src http://deb.debian.org/debian-security {release}-security main\n")
        apt = ["apt-get", "-q", "-o", f"Dir::Etc::sourcelist={folder}/sources.list", "-o",
               "Dir::Etc::sourceparts=/dev/null", "-o", f"Dir::State::lists={folder}/lists"]
        print("fetching the source of dpdk", version, file=sys.stderr)
        output(apt + ["update"])
        output(apt + ["--download-only", "source", "dpdk=" + version], cwd=folder)
        output(["tar", "-xf", glob.glob(folder + "/dpdk_*.orig.tar.xz")[0], "-C", folder])
    return glob.glob(folder + "/dpdk-*/")[0]


def in_ninja(path):
    return "".join("$" + c if c in "$ :" else c for c in path)


def build():
    os.makedirs(WORK, exist_ok=True)
    tree = source()
    # DPDK's own flags select its oldest processor: ours follow and override them.
    flags = output(["pkg-config", "--cflags", "libdpdk"]).split()
    flags += ["-O3", "-march=native", "-w", "-DALLOW_EXPERIMENTAL_API", "-DALLOW_INTERNAL_API"]
    libraries = output(["pkg-config", "--libs", "libdpdk"]).split() + ["-lrte_bus_vdev", "-lrte_kvargs"]
    private = [f"-I{tree}{folder}" for folder in ("lib/eal/include", "lib/ethdev", "drivers/bus/vdev")]
    private.append("-I" + os.path.dirname(HERE))
    # The card is linked in: DPDK refuses to load it from below a folder that others may write to,
    # such as /tmp.
    sources = glob.glob(tree + "examples/ipsec-secgw/*.c")
    sources += [os.path.join(HERE, name) for name in ("net_frames.c", "latency.c")]
    sources += [os.path.join(HERE, "..", name) for name in ("core.c", "rounds.c", "paced.c", "paced_port.c")]
    objects = {os.path.basename(name)[:-1] + "o": name for name in sources}
    with open(WORK + "/build.ninja", "w", encoding="utf-8") as f:
        f.write(f"rule cc\n command = gcc {shlex.join(flags + private)} -c -o $out $in\n"
                f"rule link\n command = gcc -o $out $in -Wl,--wrap=ipsec_launch_one_lcore {shlex.join(libraries)}\n")
        f.writelines(f"build {name}: cc {in_ninja(of)}\n" for name, of in objects.items())
        f.write(f"build {in_ninja(PROGRAM)}: link {' '.join(objects)}\n")
    output(["ninja", "-C", WORK])
