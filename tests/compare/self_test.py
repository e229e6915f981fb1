# SPDX-License-Identifier: BSD-3-Clause
"""Whether the comparison finds what it must: one build, and a copy of it that has one other text in its program, must differ
where that text shows."""
import config_part
import sequences
from pair import Pair
from sequence_part import BASE, play

SEQUENCES = 60  # at most, until the difference shows
# Where it must show, the text in the program, another one as long.
TEXTS = (
    ("log", b"reloaded, generation {", b"reloadeD, generation {"),
    ("list.drops", b"no inbound SA for SPI and destination", b"no inbound SA for SPI and destinatioN"),
    ("list.drops", b"\0tcp_unopened\0", b"\0tcp_uNopened\0"),
    ("list.sas", b"\0bytes_left\0", b"\0bytes_lefT\0"),
    ("answer", b"is already the name of", b"is already the namE of"),
    ("output", b"faces the %s side", b"faces The %s side"),
)


def _output_differs(builds):
    said = config_part.check(builds, {"a.conf": (BASE.encode(), 0o600)}, ["-t", "-c", config_part.LAB + "/a.conf"])
    return said[0] != said[1]


def _differs(builds, where):
    if where == "output":
        return _output_differs(builds)
    with Pair(builds) as pair:
        pair.start(BASE)
        return any(line.startswith(where) for i in range(SEQUENCES)
                   for line in play(pair, sequences.sequence("self-test", i)))


def _frames_differ(build):
    """A gateway that sends no ICMP errors sends other frames."""
    with Pair((build, build)) as pair:
        pair.start(BASE)
        pair.gateways[1].write("gw.conf", BASE + "icmp = { errors_per_second = 0; };\n")
        pair.gateways[1].ask("reload")
        frames = [step for i in range(SEQUENCES) for step in sequences.sequence("self-test", i) if step[0] == "frames"]
        return any(one != other for one, other in (pair.frames(what) for _, what in frames))


def run(build):
    """Returns how many changes are not found."""
    missed = 0
    for where, old, new in TEXTS:
        if not _differs((build, build.changed(old, new)), where):
            print(f"not found: {new!r} instead of {old!r}")
            missed += 1
    if not _frames_differ(build):
        print("not found: other frames")
        missed += 1
    print(f"self-test: {len(TEXTS) + 1 - missed} of {len(TEXTS) + 1} changes found")
    return missed
