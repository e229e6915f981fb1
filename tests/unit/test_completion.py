#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Proves that the words that shells complete are those of the programs CULVERTCTL and CULVERTD."""
import os
import re
import subprocess
import unittest

COMPLETION = os.path.join(os.path.dirname(__file__), "../../conf/completion")


def run(shell, script, *words):
    """What a shell prints that can find the programs."""
    path = os.path.dirname(os.environ["CULVERTCTL"]) + ":" + os.path.dirname(os.environ["CULVERTD"])
    said = subprocess.run([*shell, script, *words], env=os.environ | {"PATH": path + ":" + os.environ["PATH"]},
                          check=True, capture_output=True, text=True)
    assert said.stderr == "", said.stderr
    return said.stdout


def complete(program, *words):
    """The words that bash offers for the last word."""
    return run(["bash", "-euc"],
               f'. "{COMPLETION}/{program}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; '
               f'COMP_POINT=${{#COMP_LINE}}; _{program}; printf "%s\\n" "${{COMPREPLY[@]}}"', "bash", program,
               *words).split()


def complete_zsh(*words):
    """The words, each with its help behind a colon, that zsh offers."""
    return run(["zsh", "-fc"], '_files() { print :files }; _describe() { print -l -- "${(P@)2}" }; words=("$@"); '
               f'CURRENT=$#; complete() {{ . "{COMPLETION}/_culvertctl" }}; complete', "zsh", "culvertctl",
               *words).splitlines()


def complete_fish(*words):
    """The words, each with its help behind a tab, that fish offers."""
    return run(["fish", "--no-config", "-c"], f'source "{COMPLETION}/culvertctl.fish"; complete -C "$argv"',
               "culvertctl " + " ".join(words)).splitlines()


def takes(*words):
    """Whether culvertctl knows the words: it finds no daemon, but reports no usage error."""
    said = subprocess.run([os.environ["CULVERTCTL"], "-i", "nosuch", *words], check=False,
                          capture_output=True, text=True)
    return said.returncode != 2


class Completion(unittest.TestCase):
    def test_commands(self):
        words = complete("culvertctl", "")
        for word in ("show", "flush", "explain", "list", "--json", "--instance"):
            self.assertIn(word, words)
        helped = subprocess.run([os.environ["CULVERTCTL"], "--help"], check=True,
                                capture_output=True, text=True).stdout.split("\n\n")[2]
        self.assertEqual([w for w in words if w[0] != "-"], re.findall(r"(?m)^  ([\w-]+)", helped))

    def test_what_to_show(self):
        words = complete("culvertctl", "--json", "-i", "x", "show", "")
        self.assertGreater(len(words), 10)
        for word in words:
            more = ("10.0.0.1", "10.0.0.2") if word == "match" else ()
            self.assertTrue(takes("show", word, *more), word)
        self.assertFalse(takes("show", "nosuch"))
        self.assertEqual(complete("culvertctl", "show", "neigh"), ["neighbours"])
        self.assertEqual(complete("culvertctl", "show", "--watch", "5", "pol"), ["policies"])
        self.assertEqual(complete("culvertctl", "status", "--wa"), ["--watch"])

    def test_filters(self):
        for command in ("show", "flush"):
            words = complete("culvertctl", command, "flows", "")
            self.assertEqual(words, ["address", "port", "proto", "state", "sa", "nat"])
            for word in words:
                self.assertTrue(takes(command, "flows", word, "1"), word)
        self.assertEqual(complete("culvertctl", "flush", ""), ["flows", "neighbours"])
        self.assertEqual(complete("culvertctl", "flush", "neighbours", ""), ["address", "port", "mac", "state", "age_s"])
        self.assertEqual(complete("culvertctl", "show", "sas", "rem"), ["remote", "remote_port"])
        self.assertEqual(complete("culvertctl", "trace", "drop", "repl"), ["replay", "replay_forged"])
        self.assertEqual(complete("culvertctl", "trace", "--count", "5", "proto", "u"), ["udp"])

    def test_changes(self):
        for kind in ("sa", "policy", "rule", "neighbour", "route"):
            self.assertEqual(complete("culvertctl", kind, ""), ["add", "set", "del"])
        self.assertEqual(complete("culvertctl", "tunnel", ""), ["add", "set", "del", "down", "up"])
        for kind in ("policy", "rule"):
            self.assertEqual(complete("culvertctl", kind, "add", "be"), ["before"])
        self.assertIn("/etc/passwd", complete("culvertctl", "apply", "/etc/pass"))

    def test_devices(self):
        self.assertEqual(complete("culvertctl", "bind", "--"),
                         ["--instance", "--json", "--driver", "--force", "--help", "--version"])
        self.assertEqual(complete("culvertctl", "bind", "--driver", "v"), ["vfio-pci"])
        listed = subprocess.run([os.environ["CULVERTCTL"], "devices"], check=True,
                                capture_output=True, text=True).stdout
        for word in complete("culvertctl", "unbind", "0"):
            self.assertIn(word, listed)

    def test_reasons(self):
        reasons = complete("culvertctl", "explain", "")
        self.assertGreater(len(reasons), 50)
        for reason in reasons:
            self.assertTrue(takes("explain", reason), reason)
        self.assertEqual(complete("culvertctl", "explain", "repl"),
                         ["replay", "replay_forged"])
        self.assertEqual(complete("culvertctl", "explain", "sas.udp.k"), ["sas.udp.keepalive"])
        self.assertEqual(complete("culvertctl", "top", "--o"), ["--once"])
        self.assertEqual(complete("culvertctl", "help", "rel"), ["reload"])

    def test_other_shells(self):
        """The words of zsh and fish are those of bash, and have their help."""
        for words in (["show", ""], ["explain", "no_"], ["trace", "drop", "repl"], ["reload", "--"], ["sa", ""],
                      ["show", "sas", "rem"], ["--js"], [""]):
            bash = complete("culvertctl", *words)
            self.assertEqual([w.split(":", 1)[0] for w in complete_zsh(*words) if w != ":"], bash, words)
            self.assertEqual(sorted(w.split("\t")[0] for w in complete_fish(*words)), sorted(bash), words)
        self.assertIn("routes:routes", complete_zsh("show", ""))
        self.assertIn("sas\tsecurity associations, algorithms, counters, drops by reason, lifetimes",
                      complete_fish("show", ""))
        self.assertEqual(complete_zsh("apply", ""), [":files"])
        self.assertIn("/etc/passwd", "".join(complete_fish("apply", "/etc/passw")))

    def test_daemon(self):
        words = complete("culvertd", "--")
        self.assertEqual(sorted(words), ["--config", "--help", "--new-keys", "--test", "--test-devices", "--verbose", "--version"])
        self.assertIn("/etc/passwd", complete("culvertd", "-c", "/etc/pass"))


if __name__ == "__main__":
    unittest.main()
