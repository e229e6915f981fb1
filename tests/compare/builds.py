# SPDX-License-Identifier: BSD-3-Clause
"""Builds the two gateways that are compared: those of these sources, and those of an earlier commit. As a program, it builds
those of a revision and prints their folder."""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
PROGRAMS = ("app/culvertd/culvertd", "app/culvertctl/culvertctl")


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, **options)


class Build:
    """Copies of the programs, which may be built again in the meantime. name: for messages."""

    def __init__(self, name, programs):
        self.name = name
        self.place = tempfile.TemporaryDirectory(prefix="culvert-build.", dir="/dev/shm")  # pylint: disable=consider-using-with
        self.culvertd, self.culvertctl = (shutil.copy(program, self.place.name) for program in programs)

    def changed(self, old, new):
        """Another copy, whose daemon has the new octets instead of the old ones."""
        other = Build(self.name + " changed", (self.culvertd, self.culvertctl))
        with open(self.culvertd, "rb") as file:
            octets = file.read()
        assert len(old) == len(new) and old in octets, old
        with open(other.culvertd, "wb") as file:
            file.write(octets.replace(old, new))
        return other


def _of_folder(name, folder):
    return Build(name, [os.path.join(folder, program) for program in PROGRAMS])


def _build(sources, folder):
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        run("meson", "setup", folder, sources, stdout=sys.stderr)
    run("ninja", "-C", folder, "--quiet", *PROGRAMS, stdout=sys.stderr)


def here():
    """Another build by CULVERT_BUILD, as for end-to-end tests."""
    if "CULVERT_BUILD" in os.environ:
        return _of_folder("here", os.environ["CULVERT_BUILD"])
    folder = os.path.join(ROOT, "build")
    _build(ROOT, folder)
    return _of_folder("here", folder)


def _build_earlier(revision):
    """In build/compare/COMMIT, which is kept: a commit does not change. Returns the commit and that folder."""
    commit = run("git", "-C", ROOT, "rev-parse", "--short=12", "--verify", revision + "^{commit}",
                 stdout=subprocess.PIPE).stdout.strip()
    place = os.path.join(ROOT, "build/compare", commit)
    if not os.path.exists(os.path.join(place, "build/build.ninja")):
        os.makedirs(place, exist_ok=True)
        with subprocess.Popen(["git", "-C", ROOT, "archive", commit], stdout=subprocess.PIPE) as git:
            run("tar", "-x", "-C", place, stdin=git.stdout)
    folder = os.path.join(place, "build")
    _build(place, folder)
    return commit, folder


def earlier(revision):
    commit, folder = _build_earlier(revision)
    return _of_folder(commit[:7], folder)


if __name__ == "__main__":  # REVISION: for scripts
    print(_build_earlier(sys.argv[1])[1])
