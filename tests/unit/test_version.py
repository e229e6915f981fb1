#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Proves that the version changes with every commit, and that an archive has it without git."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(__file__), "../..")


class Version(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.sources = self.folder + "/sources"
        os.makedirs(self.sources + "/app")
        for file in ("app/version", "meson.build", ".gitattributes"):
            shutil.copy(f"{ROOT}/{file}", f"{self.sources}/{file}")
        self.git("init", "-q")
        self.git("add", ".")
        self.commit("first")

    def git(self, *args):
        return subprocess.run(["git", "-C", self.sources, "-c", "user.name=x", "-c", "user.email=x@x", *args],
                              check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, text):
        self.git("commit", "-q", "--allow-empty", "-m", text, "--date", "2026-01-02T03:04:05Z")

    def version(self, sources):
        return subprocess.run([sources + "/app/version"], check=True, capture_output=True, text=True).stdout.strip()

    def archived(self):
        """The version of an archive of the last commit, where there is no git."""
        unpacked = tempfile.mkdtemp(dir=self.folder)
        subprocess.run(["git", "-C", self.sources, "archive", "-o", unpacked + ".tar", "HEAD"], check=True)
        subprocess.run(["tar", "-xf", unpacked + ".tar", "-C", unpacked], check=True)
        return self.version(unpacked)

    def test_before_the_first_tag(self):
        version, commit = self.version(self.sources), self.git("rev-parse", "--short", "HEAD")
        self.assertRegex(version, rf"\A\d+\.\d+\.\d+~\d{{14}}\.g{commit}\Z")
        self.assertEqual(self.archived(), version)
        self.commit("second")
        self.assertNotEqual(self.version(self.sources), version)

    def test_tags(self):
        self.git("tag", "v7.8.9")
        self.git("tag", "other")
        self.assertEqual(self.version(self.sources), "7.8.9")
        self.assertEqual(self.archived(), "7.8.9")
        self.commit("second")
        version = f"7.8.9+1.g{self.git('rev-parse', '--short', 'HEAD')}"
        self.assertEqual(self.version(self.sources), version)
        self.assertEqual(self.archived(), version)

    def test_changes_that_are_not_committed(self):
        version = self.version(self.sources)
        with open(self.sources + "/meson.build", "a", encoding="utf-8") as file:
            file.write("\n")
        self.assertEqual(self.version(self.sources), version + ".dirty")

    def test_copy_in_the_repository_of_others(self):
        copy = self.sources + "/copy"
        os.makedirs(copy + "/app")
        for file in ("app/version", "meson.build"):
            shutil.copy(f"{ROOT}/{file}", f"{copy}/{file}")
        self.assertRegex(self.version(copy), r"\A\d+\.\d+\.\d+~unknown\Z")

    def test_programs(self):
        versions = set()
        for program in (os.environ["CULVERTCTL"], os.environ["CULVERTD"]):
            said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
            versions.add(re.fullmatch(r"culvert(?:ctl|d) (\S+)\n", said).group(1))
        self.assertEqual(len(versions), 1, versions)
        self.assertRegex(versions.pop(), r"\A\d+\.\d+\.\d+([~+][0-9a-z.]+)?\Z")


if __name__ == "__main__":
    unittest.main()
