# SPDX-License-Identifier: BSD-3-Clause
"""The configurations of all end-to-end tests: what each test gives culvertd to read, without running it. A copy of the
test runs in namespaces where nothing but its own files can be written, with the commands below alone; dump.sh takes the
place of what the tests share."""
import hashlib
import os
import pickle
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from builds import ROOT, run

COMMANDS = """awk base64 basename bash cat chmod cmp cp cut date diff dirname env find grep head jq ln ls mkdir mktemp mv nice
nproc od rm sed seq setsid sh sha512sum sort stat tac tail tee timeout touch tr truncate uniq wc xargs xxd""".split()
E2E = os.path.join(ROOT, "tests/e2e")
TIMEOUT_S = 10
AT_ONCE = 4
LAB = "/tmp/culvert.same"  # where tests write, as in dump.sh
# Keeps the files that culvertd is to read, and its arguments.
CULVERTD = """#!/bin/bash
kept=$(mktemp -d /mnt/out/XXXXXXXX)
mkdir "$kept/files"
cd /tmp/culvert.same && find . -type f -size -200k ! -name '*.log' -exec cp --parents -p -t "$kept/files" {} +
printf '%s\\n' "$@" >"$kept/new" && mv "$kept/new" "$kept/arguments"
"""
# Only commands that run culvertd.
IP = """#!/bin/bash
[[ "$1 $2" == "netns exec" ]] && command -v "$4" >/dev/null && exec "${@:4}"
exit 0
"""
SANDBOX = """
mount --bind "$1" /mnt
mount --bind "$1/out/$2" /mnt/out
mount -o remount,bind,ro /
mount -t tmpfs none /tmp
mount -t tmpfs none /run
mount --bind -o ro /proc/sys /proc/sys
cd /mnt/tests/e2e
exec env -i PATH=/mnt/bin CULVERT_BUILD=/mnt/build DUMP=/mnt/out /bin/bash "./$2"
"""


def _script(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o755), "w", encoding="utf-8") as file:
        file.write(text)


def _copy(place):
    """The tests, and what they need, in a folder."""
    shutil.copytree(os.path.join(ROOT, "app"), os.path.join(place, "app"))
    shutil.copytree(os.path.join(ROOT, "docs"), os.path.join(place, "docs"))
    shutil.copytree(os.path.join(ROOT, "conf"), os.path.join(place, "conf"))
    shutil.copytree(E2E, os.path.join(place, "tests/e2e"), ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    with open(os.path.join(E2E, "lib.sh"), encoding="utf-8") as file:
        shared = re.sub(r"^(lab_begin|set -euo pipefail)$", "", file.read(), flags=re.M)
    with open(os.path.join(ROOT, "tests/compare/dump.sh"), encoding="utf-8") as file:
        _script(os.path.join(place, "tests/e2e/lib.sh"), shared + file.read())
    for name in os.listdir(os.path.join(place, "tests/e2e")):  # programs that this machine lacks are not needed
        path = os.path.join(place, "tests/e2e", name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if "exit 77" in text:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("exit 77", "return 0 2>/dev/null"))
    os.makedirs(os.path.join(place, "bin"))
    for command in COMMANDS:
        if path := shutil.which(command):
            os.symlink(path, os.path.join(place, "bin", command))
    _script(os.path.join(place, "bin/ip"), IP)
    _script(os.path.join(place, "build/app/culvertd/culvertd"), CULVERTD)
    _script(os.path.join(place, "build/app/culvertctl/culvertctl"), "#!/bin/sh\n")


class Dump:
    """What a test had culvertd read: files by name below LAB, and the arguments."""

    def __init__(self, test, place):
        self.test = test
        with open(os.path.join(place, "arguments"), encoding="utf-8") as file:
            self.arguments = file.read().splitlines()
        self.files = {}
        for folder, _, names in os.walk(os.path.join(place, "files")):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    self.files[os.path.relpath(path, os.path.join(place, "files"))] = file.read(), os.stat(path).st_mode

    def conf(self):
        """The name of the configuration, or None."""
        at = self.arguments.index("-c") + 1 if "-c" in self.arguments else 0
        name = self.arguments[at] if 0 < at < len(self.arguments) else ""
        name = os.path.relpath(name, LAB) if name.startswith(LAB) else ""
        return name if name in self.files else None

    def identity(self):
        read = {name: value for name, value in self.files.items() if name.endswith(".conf") and name != self.conf()}
        return hashlib.sha256(repr((self.arguments, self.files.get(self.conf()), sorted(read))).encode()).digest()


def _dump_of(place, test):
    out = os.path.join(place, "out", test)
    os.makedirs(out)
    subprocess.run(["unshare", "--mount", "--net", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc",
                    "timeout", "-s", "KILL", str(TIMEOUT_S), "sh", "-ec", SANDBOX, "sh", place, test],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return [Dump(test, os.path.join(out, name)) for name in
            sorted(os.listdir(out), key=lambda name: os.stat(os.path.join(out, name)).st_mtime_ns)
            if os.path.exists(os.path.join(out, name, "arguments"))]


def dump():
    """The dumps of all tests, each once, and the tests of which there is none. They are kept for the same sources."""
    kept = os.path.join(ROOT, "build/compare/configurations-" + _sources())
    if not os.path.exists(kept):
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        with open(kept + ".new", "wb") as file:
            pickle.dump(_dump_all(), file)
        os.rename(kept + ".new", kept)
    with open(kept, "rb") as file:
        return pickle.load(file)


def _sources():
    """A hash of what makes the dumps."""
    names = run("git", "-C", ROOT, "ls-files", "app", "tests/e2e", "tests/compare", "docs/ike.md", "docs/tutorial.md", "conf",
                stdout=subprocess.PIPE).stdout.split()
    made = hashlib.sha256()
    for name in names:
        if name.endswith((".c", ".h", ".py")) and "configs" not in name:
            continue
        with open(os.path.join(ROOT, name), "rb") as file:
            made.update(name.encode() + b"\0" + file.read())
    return made.hexdigest()[:16]


def _dump_all():
    found, none = {}, []
    tests = sorted(name for name in os.listdir(E2E) if "." not in name and os.path.isfile(os.path.join(E2E, name)))
    with tempfile.TemporaryDirectory(prefix="culvert-dump.") as place:
        _copy(place)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for test, dumps in zip(tests, pool.map(lambda test: _dump_of(place, test), tests)):
                if not dumps:
                    none.append(test)
                for one in dumps:
                    found.setdefault(one.identity(), one)
    return list(found.values()), none
