#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The shell of culvertctl, on a terminal and as a script, against daemons played by test_culvertctl.py.

Usage: CULVERTCTL=build/app/culvertctl/culvertctl tests/unit/test_shell.py [TEST...]
"""

import fcntl
import os
import pty
import re
import select
import signal
import stat
import struct
import subprocess
import termios
import time
import unittest

import test_culvertctl
from test_culvertctl import DEADLINE_S, DROPS, INFO, Daemon

PROMPT = "culvert> "
SAS = [{"name": name, "direction": "out"} for name in ("to-b", "to-c", "from-b")]
LISTS = {"info": INFO, "sas": SAS, "routes": [{"to": "10.0.0.0/8"}], "drops": DROPS,
         "policies": [{"name": "sites", "action": "protect"}],
         "aliases": [{"name": name, "of": "prefixes"} for name in ("branches", "web", "web-2")]}


class Script(test_culvertctl.Case):
    """Other input than a terminal: a command in each line."""

    def run_script(self, text, code=0, *args):
        return self.finish(self.start_script(text, *args), code)

    def start_script(self, text, *args):
        self.daemon("west", LISTS)
        read, write = os.pipe()
        os.write(write, text.encode())
        os.close(write)
        process = self.start(*args, stdin=read)
        os.close(read)
        return process

    def test_commands_in_lines(self):
        out, err = self.run_script("# a comment\n\n  show routes\nshow sas to-b --json\n")
        self.assertEqual(err, "")
        self.assertTrue(out.startswith("TO\n10.0.0.0/8\n[\n"), out)

    def test_last_line_without_an_end(self):
        self.assertEqual(self.run_script("show routes")[0], "TO\n10.0.0.0/8\n")

    def test_ends_at_the_first_error_with_its_code(self):
        out, err = self.run_script("show routes\nshow sas nobody\nshow routes\n", 1)
        self.assertEqual(out, "TO\n10.0.0.0/8\n")
        self.assertIn('there is no "nobody"', err)
        self.assertIn("line 2: exit code 1, the rest is left out", err)
        self.doCleanups()
        self.setUp()
        self.assertIn("line 1: exit code 2", self.run_script("shwo routes\nshow routes\n", 2)[1])

    def test_ends_before_the_end_of_the_script(self):
        self.assertEqual(self.run_script("show routes\nquit\nshwo\n")[0], "TO\n10.0.0.0/8\n")

    def test_options_without_a_command(self):
        self.assertIn("there is no command after the options", self.run_script("-i west\n", 2)[1])

    def test_run_of_events_is_for_the_command_line(self):
        self.assertIn("--run is for the command line", self.run_script("events --run id\n", 2)[1])

    def test_ignored_signal_of_ended_commands(self):
        before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        try:
            process = self.start_script("show routes\n")
        finally:
            signal.signal(signal.SIGCHLD, before)
        self.assertEqual(self.finish(process, 0)[0], "TO\n10.0.0.0/8\n")

    def test_nothing_at_all(self):
        out, err = self.run_script("", 2)
        self.assertEqual(out, "")
        self.assertTrue(err.startswith("Usage: culvertctl"), err)

    def test_options_of_all_lines(self):
        self.daemon("east", {"routes": [{"to": "10.7.0.0/16"}]})
        self.assertEqual(self.run_script("show routes\nshow routes -i west\n", 0, "-i", "east")[0],
                         "TO\n10.7.0.0/16\nTO\n10.0.0.0/8\n")

    def test_abbreviations(self):
        routes = "TO\n10.0.0.0/8\n"
        for line, said in (("sh ro", routes), ("show route", routes), ("sho routes to any", "no routes\n"),
                           ("show policy sites", "ITEM    VALUE\nname    sites\naction  protect\n"),
                           ("show policies", "NAME   ACTION\nsites  protect\n"),
                           ("sh sa dir out na to-c", "NAME  DIRECTION\nto-c  out\n"),
                           ("sh drop all", None), ("he sho", None), ("sh in", None), ("expl replay", None)):
            with self.subTest(line):
                out, err = self.run_script(line + "\n")
                self.assertEqual(err, "")
                if said is not None:
                    self.assertEqual(out, said)
            self.doCleanups()
            self.setUp()

    def test_ambiguous_abbreviations(self):
        for line, message in (("s routes", '"s" is ambiguous: status, show, save, sa'),
                              ("show s", '"s" is ambiguous: stages, sas'),
                              ("sh sas lo x", '"lo" is ambiguous: local, local_port')):
            self.assertIn(message, self.run_script(line + "\n", 2)[1].replace("sas, stages", "stages, sas"))
            self.doCleanups()
            self.setUp()

    def test_names_are_never_abbreviated(self):
        self.assertIn('there is no "from"', self.run_script("show sas from\n", 1)[1])
        self.doCleanups()
        self.setUp()
        # Nor is a name taken for the filter that it begins.
        self.assertIn('there is no "dir"', self.run_script("show sas dir\n", 1)[1])

    def test_commands_of_the_command_line_are_not_abbreviated(self):
        for words in (["sh", "routes"], ["show", "route"]):
            self.assertIn("unknown", self.ctl(*words, code=2))

    def asked(self, line):
        """What the control socket is asked by a line."""
        def conversation(connection):
            self.request = connection.recv(1 << 17).decode()
            connection.send(b"ok 13\ngeneration 2\n")
        daemon = Daemon(self.runtime, "east", conversation=conversation, file="control")
        self.addCleanup(daemon.stop)
        self.run_script(line + "\n", 0, "-i", "east")
        self.doCleanups()
        self.setUp()
        return self.request

    def test_settings_in_braces_and_quotes(self):
        settings = '{ name = "r \\"1\'"; icmp = { type = 8; }; }'
        for line in (f"rule add {settings}", f"rule add {settings};", "rule add '%s'" % settings.replace("'", "'\"'\"'")):
            self.assertTrue(self.asked(line).startswith(f"change argument\nrule add {settings}"), line)
        self.assertEqual(self.asked(r"sa del to\-b"), "change argument\nsa del to-b \n")
        self.assertEqual(self.asked('sas del "to-b"'), "change argument\nsa del to-b \n")

    def test_open_quotes(self):
        for line in ("rule add { name = 1;", "show sas 'to-b", 'show sas "to-b', 'rule add { name = "}'):
            self.assertIn("a quote or a brace is not closed", self.run_script(line + "\n", 2)[1])
            self.doCleanups()
            self.setUp()
        self.assertIn("too many words", self.run_script("show " + "x " * 100 + "\n", 2)[1])

    def test_commands_do_not_read_the_script(self):
        self.assertEqual(self.asked("apply -\n# the rest"), "change stdin\n")

    def test_session_of_the_documentation(self):
        """What docs/operations.md shows is what is printed."""
        page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/operations.md")
        with open(page, encoding="utf-8") as file:
            session = re.search(r"(?s)```\n\$ culvertctl\n(.*?)```", file.read())[1]
        head, *parts = session.split(PROMPT)
        self.assertEqual(head, "? lists what may follow, Tab completes, Ctrl-D ends.\n")
        self.assertEqual(parts.pop(), "exit\n")
        self.assertGreater(len(parts), 2)
        silent = test_culvertctl.tunnel("to-oslo", "silent", silent_s="77", peer="198.51.100.7")
        self.daemon("docs", {"routes": [{"to": "10.2.0.0/16", "kind": "tunnel", "via": "-", "port": "wan"}],
                             "tunnels": [silent]})
        for part in parts:
            line, said = part.split("\n", 1)
            self.assertEqual(self.finish(self.start_script(line + "\n", "-i", "docs"), 0), (said, ""))
            os.unlink(self.runtime + "/dpdk/culvert-west/dpdk_telemetry.v2")
            os.rmdir(self.runtime + "/dpdk/culvert-west")


class Terminal(test_culvertctl.Case):
    """Lines that are edited on a terminal."""

    def setUp(self):
        super().setUp()
        self.env |= {"TERM": "xterm", "XDG_STATE_HOME": self.runtime + "/state"}
        self.history = self.runtime + "/state/culvert/history"
        self.west = self.daemon("west", dict(LISTS))

    def open(self, *args, columns=100):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            [test_culvertctl.CULVERTCTL, *args], stdin=slave, stdout=slave, stderr=slave, env=self.env,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.slave = slave
        self.addCleanup(os.close, slave)
        self.addCleanup(os.close, self.master)
        self.addCleanup(self.process.kill)
        self.read(PROMPT)

    def read(self, pattern):
        """What is written up to that, without control sequences."""
        out, deadline = "", time.monotonic() + DEADLINE_S
        while not re.search(pattern, out):
            self.assertLess(time.monotonic(), deadline, f"no {pattern!r} in {out!r}")
            if select.select([self.master], [], [], 1)[0]:
                out += re.sub(r"\x1b\[\d*[A-Za-z]|\r", "", os.read(self.master, 65536).decode())
        return out

    def press(self, keys):
        """When the line is edited: the prompt comes a moment before."""
        deadline = time.monotonic() + DEADLINE_S
        while termios.tcgetattr(self.slave)[3] & termios.ICANON and time.monotonic() < deadline:
            time.sleep(0.01)
        os.write(self.master, keys.encode())

    def type(self, keys, pattern=PROMPT + r"\Z"):
        self.press(keys)
        return self.read(pattern)

    def close(self, keys="\x04"):
        self.press(keys)
        self.assertEqual(self.process.wait(DEADLINE_S), 0)
        self.assertEqual(termios.tcgetattr(self.slave), self.before)

    def kept(self):
        with open(self.history, encoding="ascii") as file:
            return file.read()

    def test_commands(self):
        self.open()
        self.assertIn("TO\n10.0.0.0/8\n", self.type("show routes\n"))
        self.assertIn("TO\n10.0.0.0/8\n", self.type("sh ro\n"))
        self.assertIn('unknown command "shwo", did you mean "show"?', self.type("shwo\n"))
        self.assertIn('there is no "nobody"', self.type("show sas nobody\n"))  # and the shell continues
        self.assertIn("name       to-b\n", self.type("show sas to-b\n"))
        self.close()

    def test_ends(self):
        for keys in ("exit\n", "quit\n", "\x04"):
            self.open()
            self.close(keys)

    def test_tab_completes(self):
        self.open()
        self.assertIn("to-b", self.type("sho\tsas to\t\t", r"to-c\n(?s:.*)show sas to-"))
        self.assertIn("direction  out", self.type("b\n"))
        self.assertIn("10.0.0.0/8", self.type("show rout\t\n"))
        self.type("flush nei\t", "flush neighbours ")
        self.type("\x03")
        self.type("sh ro\tto 10\t", "10.0.0.0/8 ")  # after a word that is short for another
        self.type("\x03")
        self.close()

    def test_question_mark_lists(self):
        self.open()
        out = self.type("?", r"route .*(?s:.*)culvert> ")
        self.assertIn("  show                  print a list, or one object with all fields; see below\n", out)
        out = self.type("sh ?", r"(?s)workers.*culvert> sh ")
        self.assertIn("  routes                routes\n", out)
        self.type("\x03")
        out = self.type("sa del ?", r"(?s)from-b.*culvert> sa del ")
        self.assertIn("\n  to-b\n  to-c\n", out)
        self.type("\x03")
        self.assertIn("nothing that is known follows", self.type("top ?", r"(?s)follows.*culvert> top "))
        self.type("\x03")
        self.type('rule add { name = "x?', r'"x\?')  # a character there
        self.type("\x03")
        self.close()

    def test_aliases_in_settings(self):
        self.open()
        self.type('rule add { source = "@b\t', '"@branches"')
        self.type('; destination = [ "@w\t', '"@web')
        self.assertIn("\n  web\n  web-2\n", self.type("\t", r"web-2\n(?s:.*)@web"))
        self.type("-\t", '2"')
        self.type("\x03")
        self.type("rule add 'source = \"@b\t", '"@branches"')
        self.type("\x03")
        self.type('rule add { source = "b\t', "\a")  # no alias
        self.type("\x03")
        self.close()

    def test_narrow_window(self):
        self.open(columns=20)
        self.type("sh ?", r"(?s)workers.*culvert> sh ")
        self.type("\x03")
        self.assertIn("TO", self.type("show routes\n"))
        self.close()

    def test_daemon_that_does_not_answer(self):
        """Completion gives up after seconds, and the line can be typed all the same."""
        self.west.conversation = lambda connection: connection.recv(1)
        self.open()
        self.type("show sas to\t", "to\x07|to\a")
        self.type("\x03")
        self.assertIn("Usage", self.type("help top\n"))
        self.close()

    def test_no_daemon(self):
        self.env["RUNTIME_DIRECTORY"] = self.runtime + "/other"
        self.open()
        self.assertIn("no running culvertd", self.type("show routes\n"))
        self.type("show sas to\t", "\a")
        self.type("\x03")
        self.close()

    def test_names_cannot_steer_the_terminal(self):
        self.west.lists["sas"] = [{"name": "a\x1b[2J", "direction": "out"}, {"name": "ab", "direction": "in"}]
        self.open()
        os.write(self.master, b"sa del ?")
        out = b""
        while b"ab" not in out:
            out += os.read(self.master, 65536)
        self.assertIn(b"a\\x1b[2J", out)
        self.assertNotIn(b"\x1b[2J", out)
        self.type("\x03")
        self.close()

    def test_interrupt(self):
        def events(connection):
            connection.recv(100)
            connection.send(b"events 0\n")
            connection.send(b"time=2026-01-01T00:00:00.000Z\tevent=link_down\tseverity=warning\tport=lan")
            connection.recv(100)  # until it is closed

        control = test_culvertctl.Daemon(self.runtime, "west", conversation=events, file="control")
        self.addCleanup(control.stop)
        self.open()
        self.type("show nonsense\x03")
        self.assertIn("TO\n", self.type("show routes\n"))
        # A command that runs is ended, and the shell is not.
        self.type("show routes --watch 600\n", r"10\.0\.0\.0/8")
        time.sleep(0.2)
        self.type("\x03")
        self.type("events\n", "link_down")
        os.write(self.master, b"\x03")
        self.read(PROMPT)
        self.assertIn("TO\n", self.type("show routes\n"))
        self.close()

    def test_terminal_after_a_command_was_killed(self):
        self.open()
        self.type("show routes --watch 600\n", r"10\.0\.0\.0/8")
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as children:
            os.kill(int(children.read()), signal.SIGKILL)
        self.read(PROMPT)
        self.assertIn("TO\n", self.type("show routes\n"))
        self.close()

    def test_history(self):
        self.open()
        self.type("show routes\n")
        self.type("show info\n")
        self.assertIn("west", self.type("\x1b[A\n"))
        self.close()
        self.assertEqual(self.kept(), "show routes\nshow info\n")
        self.assertEqual(stat.S_IMODE(os.stat(self.history).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(self.history)).st_mode), 0o700)
        os.chmod(self.history, 0o644)
        self.open()
        self.assertIn("10.0.0.0/8", self.type("\x1b[A\x1b[A\n"))
        self.assertIn("10.0.0.0/8", self.type("\x12rout\n"))
        self.close()
        self.assertEqual(stat.S_IMODE(os.stat(self.history).st_mode), 0o600)

    def test_keys_are_not_kept(self):
        self.open()
        for line in ('sa add { name = "x"; cipher_key = "12"; }', "sa set x { auth_key = 5; }",
                     "explain " + "ab12" * 8, "explain " + "ab12" * 5):
            self.type(line + "\n")
        self.type("show routes\n")
        self.assertIn("10.0.0.0/8", self.type("\x1b[A\x1b[A\n"))  # the only line that there is
        self.close()
        self.assertEqual(self.kept(), "show routes\n")

    def test_history_without_a_place(self):
        for state in ("/proc/nowhere", "relative"):
            self.env |= {"XDG_STATE_HOME": state, "HOME": "/proc"}
            self.open()
            self.type("show routes\n")
            self.assertIn("10.0.0.0/8", self.type("\x1b[A\n"))
            self.close()

    def test_history_stays_small(self):
        os.makedirs(os.path.dirname(self.history))
        with open(self.history, "w", encoding="ascii") as file:
            file.writelines(f"show sas {i}\n" for i in range(2500))
        self.open()
        self.close()
        with open(self.history, encoding="ascii") as file:
            self.assertEqual(file.readlines(), [f"show sas {i}\n" for i in range(1500, 2500)])

    def test_link_instead_of_the_history(self):
        os.makedirs(os.path.dirname(self.history))
        os.symlink(self.runtime + "/target", self.history)
        self.open()
        self.type("show routes\n")
        self.close()
        self.assertFalse(os.path.exists(self.runtime + "/target"))

    def test_options_of_all_lines(self):
        self.daemon("east", {"routes": [{"to": "10.7.0.0/16"}]})
        self.open("-i", "east", "--json")
        self.assertIn('"to": "10.7.0.0/16"', self.type("show routes\n"))
        self.close()


if __name__ == "__main__":
    test_culvertctl.CULVERTCTL = os.path.abspath(os.environ["CULVERTCTL"])
    unittest.main()
