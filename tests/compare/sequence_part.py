# SPDX-License-Identifier: BSD-3-Clause
"""Gives both gateways the same random sequences, and compares after each: answers, frames, lines of the log and lists."""
import re
import time

import sequences
from pair import IKE_GRACE_S, Pair, differences

BASE = sequences.file_text(sequences.FIXED)
BAD_MAX = 10        # sequences that differ
SHRINKS_MAX = 30    # tries
KEY = r'_key = "([0-9a-f]+)"'
AT_ONCE = 500       # sequences of the same two daemons: they remember the keys of all
UNSTEADY_MAX = 0.02 # of the sequences: differences that occur once and not again, as a machine was too busy for a grace period


def _reset(pair):
    """Each sequence begins with the file alone. Returns what differs."""
    pair.both(lambda g: g.write("gw.conf", BASE))
    found = differences("answer to the reset", pair.ask("reload discard"))
    return found + differences("answer to the reset", pair.ask("ike same\nflush\n"))


def play(pair, steps):
    """Returns lines about what differs."""
    found = _reset(pair)
    ike = False
    left = -1.0  # when SAs may have left: their keys are in use until no worker uses them
    keys = set()
    for i, (kind, what) in enumerate(steps):
        if kind == "request":
            used = set(re.findall(KEY, what))
            if used & keys and what.startswith("ike "):
                time.sleep(max(0, left + IKE_GRACE_S - time.monotonic()))
            keys |= used
            left = time.monotonic()
            found += differences(f"answer to step {i}", pair.ask(what))
            ike |= what.startswith("ike ")
        elif kind == "file":
            pair.both(lambda g, text=what: g.write("gw.conf", text))
        else:
            if ike:
                time.sleep(IKE_GRACE_S)
                ike = False
            found += differences(f"frames of step {i}", pair.frames(what))
    found += differences("log", pair.log())
    return found + differences("list", pair.lists())


class Player:
    """Plays sequences; after a difference with other daemons, because what these remember differs as well."""

    def __init__(self, pair, expected):
        self.pair, self.expected = pair, expected
        self.played = 0

    def start(self):
        self.pair.start(BASE)
        self.played = 0
        return differences("log of the start", self.pair.log())

    def stop(self):
        return self.pair.stop()

    def play(self, steps):
        """Returns the unexpected differences."""
        if self.played >= AT_ONCE:
            self.stop()
            self.start()
        self.played += 1
        found = self.expected.unexpected(play(self.pair, steps))
        if found:
            self.played = AT_ONCE
        return found

    def shrink(self, steps, kinds):
        """Leaves out steps as long as a difference of these kinds remains."""
        tries = at = 0
        size = len(steps) // 2
        while size > 0 and tries < SHRINKS_MAX:
            fewer = steps[:at] + steps[at + size:]
            tries += 1
            if kinds & kinds_of(self.play(fewer)):
                steps = fewer
            else:
                at += size
            if at >= len(steps):
                at, size = 0, size // 2
        return steps


def kinds_of(found):
    """What differs, without where."""
    return {re.split(r"[:\[]| step ", line, maxsplit=1)[0] for line in found}


def text_of(steps):
    lines = []
    for kind, what in steps:
        if kind == "frames":
            what = "\n".join(f"{port} {frame.hex()}" for port, frame in what)
        elif kind == "file":
            what = what.removeprefix(sequences.BASE)
        lines.append(f"--- {kind}\n{what.rstrip()}")
    return "\n".join(lines)


def _show(player, where, steps, found):
    """Prints a sequence that differs."""
    player.expected.report(where, found)
    steps = player.shrink(steps, kinds_of(found))
    print(f"with {len(steps)} steps:\n{text_of(steps)}")
    player.expected.report(f"differences of these steps after the file {BASE!r}", player.play(steps))


def compare(builds, expected, seed, number, first):
    """Returns how many sequences have a difference that is not expected."""
    bad = unsteady = 0
    begin = time.monotonic()
    with Pair(builds) as pair:
        player = Player(pair, expected)
        bad += expected.report("start", player.start()) > 0
        for i in range(first, first + number):
            steps = [(kind, what) for kind, what in sequences.sequence(seed, i) if kind == "frames" or expected.is_known(what)]
            found = player.play(steps)
            if found and not player.play(steps):
                unsteady += 1
                print(f"sequence {i} differs once, not again: {found[0]}")
            elif found:
                bad += 1
                _show(player, f"sequence {i} of seed {seed}", steps, found)
            if bad >= BAD_MAX:
                break
        bad += expected.report("stop", player.stop()) > 0
    print(f"sequences {first} to {i} of seed {seed}: {bad} differ, {unsteady} once, {time.monotonic() - begin:.0f} s")
    return bad + (unsteady > 1 + UNSTEADY_MAX * number)
