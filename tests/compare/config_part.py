# SPDX-License-Identifier: BSD-3-Clause
"""Lets both builds check configurations, culvertd -t, and compares what they say and their status: those of all end-to-end
tests, those of the corpora, and these with a random mistake."""
import collections
import os
import random
import re
import shutil
import subprocess
import tempfile
import time

import configs
import normal
from builds import ROOT
from configs import LAB
from pair import differences

CORPUS = os.path.join(ROOT, "tests/fuzz/corpus/conf")
REST = b"\n#rest\n"  # as tests/fuzz/fuzz_conf.c
# In namespaces of its own, with the interfaces that the file names: the output of each build, then a line with its status.
IN_NAMESPACES = """
ip link set lo up
for interface in $3; do
	ip link add "$interface" type veth peer name "$((++number))-peer" && ip link set "$interface" mtu 9000 up
done
mount -t tmpfs none /tmp
mkdir "$(dirname "$1")" 2>/dev/null || true
mkdir -p "$2" /run/culvert
for culvertd in "$4" "$5"; do
	mount -t tmpfs none "$2"
	mount -t tmpfs -o mode=755 none /run/culvert
	mount -t tmpfs -o mode=755 none /var/lib
	cp -rp "$1/." "$2"
	status=0
	timeout 20 bash -c 'exec -a culvertd "$0" "$@"' "$culvertd" "${@:6}" 2>&1 || status=$?
	printf '\\n===%d\\n' $status
	umount "$2" /run/culvert /var/lib
done
"""


def _write(folder, files):
    for name, (octets, mode) in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(octets)
        os.chmod(path, mode & 0o7777)


def check(pair, files, arguments):
    """Files below LAB, and arguments of culvertd. Returns the output and the status of each build."""
    text = b" ".join(octets for octets, _ in files.values()).decode(errors="replace")
    interfaces = " ".join(sorted(set(re.findall(r"iface=([a-z0-9.]{1,15})", text)))[:20])
    place = tempfile.mkdtemp(prefix="culvert-config.", dir="/dev/shm")
    _write(place, files)
    try:
        said = subprocess.run(["unshare", "--mount", "--net", "bash", "-c", IN_NAMESPACES, "bash", place, LAB, interfaces,
                               *(build.culvertd for build in pair), *arguments], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False).stdout
    finally:
        shutil.rmtree(place)
    parts = re.split(r"\n===(\d+)\n", said.decode(errors="surrogateescape"))
    return [[normal.line(line) for line in parts[i].splitlines()] + ["status " + parts[i + 1]] for i in (0, 2)]


def of_corpus():
    """(name, files, arguments)"""
    for name in sorted(os.listdir(CORPUS)):
        with open(os.path.join(CORPUS, name), "rb") as file:
            text, _, rest = file.read().partition(REST)
        yield name, {"fuzz.conf": (text, 0o600), "rest": (rest, 0o600)}, ["-t", "-c", LAB + "/fuzz.conf"]


def of_tests(dumps, most):
    """most: of each test; None: all."""
    taken = collections.Counter()
    for dump in dumps:
        taken[dump.test] += 1
        if most is not None and taken[dump.test] > most:
            continue
        arguments = dump.arguments
        if "--test-devices" in arguments:
            continue
        if "-c" in arguments and not {"-t", "--new-keys"} & set(arguments):
            arguments = ["-t", *arguments]
        yield dump.test, dump.files, arguments


def with_mistake(r, text):
    """The text with a mistake in a random line."""
    lines = text.split(b"\n")
    i = r.randrange(len(lines))
    words = lines[i].split(b" ")
    k = r.randrange(len(words))
    change = r.randrange(5)
    if change == 0:
        del lines[i]
    elif change == 1:
        lines.insert(r.randrange(len(lines)), lines[i])
    elif change == 2:
        del words[k]
    elif change == 3:
        words[k] = words[k][:-2] + words[k][-1:]
    else:
        words.insert(k, r.choice(text.split() or [b"#"]))
    if change >= 2:
        lines[i] = b" ".join(words)
    return b"\n".join(lines)


def of_mistakes(r, dumps, number):
    for _ in range(number):
        dump = r.choice(dumps)
        name = dump.conf()
        octets, mode = dump.files[name]
        yield dump.test + " with a mistake", dump.files | {name: (with_mistake(r, octets), mode)}, ["-t", "-c", f"{LAB}/{name}"]


def compare(pair, expected, seed, number, most):
    """number: of mistakes. most: configurations of each test, None: all. Returns how many configurations differ."""
    begin = time.monotonic()
    dumps, none = configs.dump()
    print(f"{len(dumps)} configurations of tests, none of {' '.join(none)}, {time.monotonic() - begin:.0f} s")
    readable = [dump for dump in dumps if dump.conf()]
    bad = total = 0
    for where, files, arguments in (*of_corpus(), *of_tests(dumps, most), *of_mistakes(random.Random(seed), readable, number)):
        if not expected.is_known(" ".join([*arguments, *(octets.decode(errors="replace") for octets, _ in files.values())])):
            continue
        total += 1
        if expected.report(f"{where}: culvertd {' '.join(arguments)}", differences("output", check(pair, files, arguments))):
            bad += 1
            print(files[os.path.relpath(arguments[-1], LAB)][0].decode(errors="replace")
                  if os.path.relpath(arguments[-1], LAB) in files else "")
    print(f"configurations: {total}, {bad} differ, {time.monotonic() - begin:.0f} s")
    return bad
