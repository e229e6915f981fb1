#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""culvertctl against daemons played by this file: tables, JSON, paging, finding instances, and
every failure of a daemon or a command line.

Usage: CULVERTCTL=build/app/culvertctl/culvertctl tests/unit/test_culvertctl.py [TEST...]
"""

import fcntl
import glob
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import textwrap
import threading
import time
import unittest

import field_def

PACKET_MAX = 16 * 1024  # of DPDK 22.11, lib/telemetry/telemetry.c
DICT_MAX = 256
GREETING = b'{"version":"DPDK 22.11.11","pid":4711,"max_output_len":16384}'
DEADLINE_S = 30

# A user other than root, also if the tests run as root.
UNPRIVILEGED = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}

DROPS = [
    {"reason": "no_sa", "packets": 0, "help": "no inbound SA for SPI and destination"},
    {"reason": "replay", "packets": 12, "help": "seen before"},
    {"reason": "auth", "packets": 0, "help": "integrity check failed"},
    {"reason": "no_policy", "packets": 3456, "help": "no policy matches"},
]
PORTS = [
    {"name": "lan", "mac": "02:00:00:00:00:01", "addresses": ["10.1.0.1/24", "10.9.0.1/24"],
     "mtu": 1500, "link": "up", "rx_packets": 123456789, "tx_packets": 7},
    {"name": "wan-of-the-west", "mac": "02:00:00:00:00:02", "addresses": [],
     "mtu": 9000, "link": "", "rx_packets": 0, "tx_packets": 18},
]
TOTALS = [{"rx": 1000, "tx": 990, "buffers_in_use": 2}]
INFO = [{"instance": "west", "version": "0.1.0", "pid": 4711}]


def dpdk_answer(command, items, offset):
    """Like output_json() of DPDK: omits each item that does not fit, and continues after it."""
    text = '{"%s":{' % command
    for number in range(offset, min(len(items), offset + DICT_MAX)):
        comma = "" if text.endswith("{") else ","
        item = '%s"%d":%s' % (comma, number, json.dumps(items[number], separators=(",", ":")))
        if len(text) + len(item) + len("}}") < PACKET_MAX:
            text += item
    return (text + "}}").encode()


class Growing:
    """A list whose counters grow by the same from answer to answer, however many pages it takes."""

    def __init__(self, items, **steps):
        self.items, self.steps, self.answers = items, steps, 0

    def at(self, offset):
        self.answers += offset == 0
        return [{key: value + self.steps.get(key, 0) * (self.answers - 1)
                 if key in self.steps else value for key, value in item.items()}
                for item in self.items]


class Daemon:
    """A telemetry server. conversation(connection) replaces its handling of one client. A list
    that is a string rejects every request, for that reason."""

    def __init__(self, runtime, instance, lists=None, conversation=None,
                 file="dpdk_telemetry.v2"):
        self.lists = lists or {}
        self.conversation = conversation or self.converse
        self.requests = []
        self.path = f"{runtime}/dpdk/culvert-{instance}/{file}"
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(self.path)
        self.socket.listen(1)
        self.threads = []
        self.start(self.listen)

    def start(self, function, *args):
        self.threads.append(threading.Thread(target=function, args=args))
        self.threads[-1].start()

    def listen(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:  # stop() was called
                return
            self.start(self.serve, connection)

    def serve(self, connection):
        with connection:
            try:
                self.conversation(connection)
            except (BrokenPipeError, ConnectionResetError):
                pass  # that client has disconnected

    def converse(self, connection):
        connection.send(GREETING)
        while request := connection.recv(1024).decode():
            self.requests.append(request)
            command, offset, *filters = request.split(",")
            word = command.removeprefix("/culvert/")
            items = self.lists.get(word)
            if isinstance(items, Growing):
                items = items.at(int(offset))
            if isinstance(items, str):
                connection.send(json.dumps({command: {"error": items}}).encode())
            elif items is not None:
                for key, value in (f.split("=") for f in filters):
                    items = [item for item in items if str(item[key]) == value]
                connection.send(dpdk_answer(command, items, int(offset)))
            else:
                connection.send(b'{"%s":null}' % command.encode())

    def stop(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:  # the listener first: it starts the others
            thread.join()
        self.socket.close()


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.runtime = tempfile.mkdtemp(prefix="culvertctl-")
        self.addCleanup(shutil.rmtree, self.runtime)
        os.chmod(self.runtime, 0o755)
        self.env = {k: v for k, v in os.environ.items() if k != "XDG_RUNTIME_DIR"}
        self.env["RUNTIME_DIRECTORY"] = self.runtime
        self.env["TERM"] = "dumb"

    def daemon(self, instance, lists=None, conversation=None):
        daemon = Daemon(self.runtime, instance, lists, conversation)
        self.addCleanup(daemon.stop)
        return daemon

    def start(self, *args, **more):
        more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": self.env} | more
        return subprocess.Popen([CULVERTCTL, *args], text=True, **more)

    def finish(self, process, code):
        """Returns (stdout, stderr) of a culvertctl that is to end with this exit code."""
        try:
            out, err = process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        self.assertEqual(process.returncode, code, f"stdout:\n{out}\nstderr:\n{err}")
        self.assertNotRegex(err, "Sanitizer|runtime error")
        return out, err

    def ctl(self, *args, code=0, **more):
        out, err = self.finish(self.start(*args, **more), code)
        if code == 0:
            self.assertEqual(err, "")
        else:
            self.assertEqual(out, "")
            self.assertRegex(err, r"\Aculvertctl[^:]*: ")
        return out if code == 0 else err

    def on_terminal(self, columns, *args, code=0):
        """Runs culvertctl with a terminal of that width as its output."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
        attributes = termios.tcgetattr(slave)
        attributes[1] &= ~termios.OPOST  # leave line ends alone
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        process = self.start(*args, stdout=slave)
        os.close(slave)
        deadline = threading.Timer(DEADLINE_S, process.kill)
        deadline.start()
        with open(master, "rb") as screen:
            out = b""
            try:
                while data := screen.read1():
                    out += data
            except OSError:  # EIO: the other end is closed
                pass
        deadline.cancel()
        self.assertEqual(self.finish(process, code)[1], "")
        return out.decode()

    def assert_table(self, out, golden):
        self.assertEqual(out, textwrap.dedent(golden).lstrip("\n"))


class Tables(Case):
    def test_columns_are_aligned(self):
        self.daemon("west", {"ports": PORTS})
        self.assert_table(self.ctl("--wide", "show", "ports"), """
            NAME             MAC                ADDRESSES                 MTU  LINK  RX_PACKETS  TX_PACKETS
            lan              02:00:00:00:00:01  10.1.0.1/24,10.9.0.1/24  1500  up     123456789           7
            wan-of-the-west  02:00:00:00:00:02  -                        9000  -              0          18
            """)

    def test_table_wider_than_the_terminal_is_continued_below(self):
        self.daemon("west", {"ports": PORTS})
        self.assert_table(self.on_terminal(60, "--wide", "show", "ports"), """
            NAME             MAC                ADDRESSES
            lan              02:00:00:00:00:01  10.1.0.1/24,10.9.0.1/24
            wan-of-the-west  02:00:00:00:00:02  -

            NAME              MTU  LINK  RX_PACKETS  TX_PACKETS
            lan              1500  up     123456789           7
            wan-of-the-west  9000  -              0          18
            """)

    def test_terminal_that_is_just_wide_enough(self):
        self.daemon("west", {"ports": PORTS})
        wide = self.ctl("--wide", "show", "ports")
        width = len(wide.splitlines()[0])
        self.assertEqual(self.on_terminal(width, "--wide", "show", "ports"), wide)
        self.assertEqual(self.on_terminal(width - 1, "--wide", "show", "ports").count("NAME"), 2)

    def test_terminal_narrower_than_any_column(self):
        self.daemon("west", {"routes": [{"to": "10.0.0.0/8", "via": "192.0.2.254", "port": "wan"}]})
        self.assert_table(self.on_terminal(1, "show", "routes"), """
            TO          VIA
            10.0.0.0/8  192.0.2.254

            TO          PORT
            10.0.0.0/8  wan
            """)

    def test_rows_of_a_continued_table_are_told_apart(self):
        flows = [{"proto": "tcp", "source": f"2001:db8:1::{i}", "source_port": 40000 + i,
                  "destination": "2001:db8:2::2", "destination_port": 443, "state": "tcp_established",
                  "packets_out": 1000 + i} for i in range(3)]
        self.daemon("west", {"flows": flows})
        self.assertEqual(self.on_terminal(80, "show", "flows"), textwrap.dedent("""\
            #  PROTO  SOURCE         SOURCE_PORT  DESTINATION    DESTINATION_PORT
            1  tcp    2001:db8:1::0        40000  2001:db8:2::2               443
            2  tcp    2001:db8:1::1        40001  2001:db8:2::2               443
            3  tcp    2001:db8:1::2        40002  2001:db8:2::2               443

            #  STATE            PACKETS_OUT
            1  tcp_established         1000
            2  tcp_established         1001
            3  tcp_established         1002
            """))
        self.assertNotIn("#", self.on_terminal(200, "show", "flows"))

    def test_one_column(self):
        self.daemon("west", {"routes": [{"to": "10.0.0.0/8"}]})
        self.assert_table(self.ctl("show", "routes"), """
            TO
            10.0.0.0/8
            """)

    def test_columns_come_from_the_first_row(self):
        self.daemon("west", {"sas": [{"name": "a", "window": 64}, {"spi": "0x100", "name": "b"},
                                     {"name": "c", "window": None}]})
        self.assert_table(self.ctl("show", "sas", "--wide"), """
            NAME  WINDOW
            a         64
            b          -
            c          -
            """)

    def test_other_types(self):
        self.daemon("west", {"workers": [{"cpu": 1, "busy": 12.5, "idle": True, "list": [1, 2]},
                                         {"cpu": "none", "busy": -3, "idle": False, "list": {}},
                                         {"cpu": 0, "busy": 0.1, "idle": None,
                                          "list": {"auth": 3, "a\n": [1, 2]}}]})
        self.assert_table(self.ctl("show", "workers", "--wide"), """
            CPU   BUSY  IDLE   LIST
            1     12.5  true   1,2
            none    -3  false  -
            0      0.1  -      auth:3,a\\x0a:1,2
            """)

    def test_largest_counters(self):
        self.daemon("west", {"workers": [{"rx": 2**63 - 1, "tx": 0}]})
        self.assert_table(self.ctl("show", "workers"), """
                             RX  TX
            9223372036854775807   0
            """)

    def test_octets_that_could_steer_a_terminal_are_escaped(self):
        self.daemon("west", {"routes": [{"to": "\x1b[2J\r\n", "v\x07": "\x7f\\x\u009b\u202eÄ"}]})
        out = self.ctl("show", "routes")
        self.assert_table(out, r"""
            TO                V\X07
            \x1b[2J\x0d\x0a  \x7f\x5cx\xc2\x9b\xe2\x80\xae\xc3\x84
            """.replace("TO                V", "TO               V"))

    def test_single_object_stands_upright(self):
        self.daemon("west", {"totals": TOTALS, "info": INFO})
        self.assert_table(self.ctl("show", "totals"), """
            ITEM            VALUE
            rx               1000
            tx                990
            buffers_in_use      2
            """)
        self.assert_table(self.ctl("show", "info"), """
            ITEM      VALUE
            instance  west
            version   0.1.0
            pid       4711
            """)

    def test_drops_hides_zeros_unless_all(self):
        self.daemon("west", {"drops": DROPS})
        self.assert_table(self.ctl("show", "drops"), """
            REASON     PACKETS  HELP
            replay          12  seen before
            no_policy     3456  no policy matches
            """)
        self.assert_table(self.ctl("show", "drops", "all"), """
            REASON     PACKETS  HELP
            no_sa            0  no inbound SA for SPI and destination
            replay          12  seen before
            auth             0  integrity check failed
            no_policy     3456  no policy matches
            """)
        self.assertEqual(json.loads(self.ctl("show", "drops", "--json")), DROPS)

    def test_drops_hides_only_what_is_known_to_be_zero(self):
        self.daemon("west", {"drops": [{"reason": "a", "packets": "0"}, {"reason": "b"}]})
        self.assertEqual(len(self.ctl("show", "drops").splitlines()), 3)

    def test_nothing_to_show(self):
        self.daemon("west", {"neighbours": [], "drops": DROPS[:1], "info": []})
        self.assertEqual(self.ctl("show", "neighbours"), "no neighbours\n")
        self.assertEqual(self.ctl("show", "drops"), "no drops\n")
        self.assertEqual(self.ctl("show", "info"), "no info\n")
        self.assertEqual(json.loads(self.ctl("show", "neighbours", "--json")), [])


class Fields(Case):
    """What lib/stats/field.def says of the fields: columns, types, names of objects."""

    SA = {"name": "to-b", "direction": "out", "remote": "any", "local_port": 0, "esn": "no",
          "window": 0, "mtu": 1438, "drops": {"auth": 3}, "last_seen_s": "-", "bytes_left": "0",
          "packets_left": "17", "new": 1}
    RULE = {"rule": "web", "source": "any", "proto": "tcp", "source_port": "any",
            "destination_port": "80", "icmp": "any", "state": "new,established",
            "tunnel": "", "log": "yes", "asked": 0}

    def test_usual_and_wide_columns(self):
        self.daemon("west", {"sas": [self.SA]})
        self.assert_table(self.ctl("show", "sas"), """
            NAME  DIRECTION  REMOTE  DROPS   LAST_SEEN_S  NEW
            to-b  out        any     auth:3  -              1
            """)
        wide = self.ctl("--wide", "show", "sas").splitlines()[0].lower().split()
        self.assertEqual(wide, list(self.SA))

    def test_types_for_programs(self):
        self.daemon("west", {
            "sas": [self.SA], "rules": [self.RULE, {**self.RULE, "destination_port": "1-9",
                                                    "icmp": "3/0-4", "log": "no"}],
            "flows": [{"proto": "tcp", "replied": "yes", "sa_out": "", "sa_in": "a,b"}]})
        sa, = json.loads(self.ctl("--json", "show", "sas"))
        self.assertEqual(sa, {**self.SA, "remote": None, "local_port": None, "esn": False,
                              "window": None, "last_seen_s": None, "bytes_left": 0,
                              "packets_left": 17})
        web, other = json.loads(self.ctl("--json", "show", "rules"))
        self.assertEqual(web, {
            **self.RULE, "source": None, "source_port": None, "destination_port": [80, 80],
            "icmp": None, "state": ["new", "established"], "tunnel": None, "log": True})
        self.assertEqual((other["destination_port"], other["icmp"], other["log"]),
                         ([1, 9], "3/0-4", False))
        flow, = json.loads(self.ctl("--json", "show", "flows"))
        self.assertEqual(flow, {"proto": "tcp", "replied": True, "sa_out": [], "sa_in": ["a", "b"]})

    def test_one_object(self):
        both = [{"name": "b", "direction": d, "spi": "0x100", "mode": "tunnel"} for d in
                ("out", "in")]
        self.daemon("west", {"sas": [self.SA, *both], "workers": [{"worker": 0}, {"worker": 1}],
                             "drops": DROPS})
        self.assert_table(self.ctl("show", "sas", "b"), """
            ITEM       VALUE
            name       b
            direction  out
            spi        0x100
            mode       tunnel

            ITEM       VALUE
            name       b
            direction  in
            spi        0x100
            mode       tunnel
            """)
        self.assertEqual(json.loads(self.ctl("--json", "show", "sas", "b")), both)
        self.assertEqual(json.loads(self.ctl("--json", "show", "workers", "1")), [{"worker": 1}])
        self.assertIn("reason   auth\npackets  0\n", self.ctl("show", "drops", "auth"))

    def test_clear(self):
        drops = [{"reason": "replay", "packets": 5, "help": "seen"},
                 {"reason": "auth", "packets": 2, "help": "bad"}]
        sa = {"name": "b", "direction": "in", "packets": 10, "errors": 3, "mtu": 1400,
              "drops": {"auth": 2, "replay": 1}}
        empty = {what: [] for what in ("ports", "port_members", "members", "tunnels", "policies", "rules", "nat", "groups", "stages",
                                       "queues", "workers", "totals", "kernel")}
        daemon = self.daemon("west", {**empty, "drops": drops, "sas": [sa],
                                      "info": [{"pid": 7, "uptime_s": 100}]})
        self.assertEqual(self.ctl("clear"), "")
        daemon.lists["drops"] = [{**drops[0], "packets": 9}, drops[1]]
        daemon.lists["sas"] = [{**sa, "packets": 25, "errors": 4, "drops": {"auth": 3, "replay": 1}},
                               {**sa, "name": "new"}]
        out, err = self.finish(self.start("show", "drops"), 0)
        self.assert_table(out, """
            REASON  PACKETS  HELP
            replay        4  seen
            """)
        self.assertRegex(err, r'counting since \d{4}-.*; "culvertctl clear undo" counts from the start again\n\Z')
        out, _ = self.finish(self.start("--json", "show", "sas"), 0)
        self.assertEqual(json.loads(out), [
            {**sa, "packets": 15, "errors": 1, "drops": {"auth": 1}}, {**sa, "name": "new"}])
        daemon.lists["info"] = [{"pid": 7, "uptime_s": 3}]  # another run of the daemon
        self.assertEqual(json.loads(self.ctl("--json", "show", "drops"))[0]["packets"], 9)
        daemon.lists["info"] = [{"pid": 7, "uptime_s": 100}]
        self.assertEqual(self.ctl("clear", "undo"), "")
        self.assertEqual(self.ctl("clear", "undo"), "")
        self.assertEqual(json.loads(self.ctl("--json", "show", "drops"))[0]["packets"], 9)
        self.assertIn('clear: unexpected argument "all"', self.ctl("clear", "all", code=2))

    def test_match(self):
        daemon = self.daemon("west", {"match": [{"port": "lan", "source": "10.1.0.5",
                                                 "destination": "10.2.0.5", "proto": "tcp",
                                                 "rule": "", "mtu": 0}]})
        self.assertIn("port         lan\n",
                      self.ctl("show", "match", "10.1.0.5", "10.2.0.5", "tcp"))
        self.assertEqual(daemon.requests[0],
                         "/culvert/match,0,source=10.1.0.5,destination=10.2.0.5,proto=tcp")
        result, = json.loads(self.ctl("--json", "show", "match", "10.1.0.5", "10.2.0.5"))
        self.assertEqual((result["rule"], result["mtu"]), (None, None))
        for words in ([], ["10.1.0.5"], ["a", "b,c=d"], ["1", "2", "3", "4", "5", "6"]):
            self.assertIn("show match: ", self.ctl("show", "match", *words, code=2))

    def test_object_that_is_not_there(self):
        self.daemon("west", {"sas": [self.SA], "workers": [{"worker": 0}]})
        for option in ((), ("--json",)):
            self.assertIn('show sas: there is no "to-c", did you mean "to-b"?',
                          self.ctl("show", "sas", "to-c", *option, code=1))
        self.assertIn('show workers: there is no "7"; show workers lists the names',
                      self.ctl("show", "workers", "7", code=1))
        self.assertIn('there is no "to-c"', self.ctl("show", "sas", "to-c", "--watch", "1", code=1))


class Paging(Case):
    def test_thousand_items(self):
        sas = [{"name": f"sa-{i}", "spi": hex(0x1000 + i), "packets": i * 10**12, "errors": 0}
               for i in range(1000)]
        daemon = self.daemon("west", {"sas": sas})
        out = self.ctl("--json", "show", "sas")
        self.assertEqual(json.loads(out), sas)
        self.assertEqual(list(json.loads(out)[0]), list(sas[0]))  # keys in order
        self.assertEqual(daemon.requests[0], "/culvert/sas,0")
        self.assertEqual(daemon.requests[-1], "/culvert/sas,1000")
        self.assertEqual(len(self.ctl("show", "sas").splitlines()), 1001)

    def test_items_that_dpdk_omitted_are_requested_again(self):
        # Long and short ones: after an element that did not fit there are some that did.
        policies = [{"name": f"p{i}", "text": "x" * (3000 if i % 3 else 20)} for i in range(50)]
        numbers = list(json.loads(dpdk_answer("c", policies, 0))["c"])
        self.assertNotEqual(numbers, [str(i) for i in range(len(numbers))], "no gap to test with")
        self.daemon("west", {"policies": policies})
        self.assertEqual(json.loads(self.ctl("--json", "show", "policies")), policies)


class Filters(Case):
    FLOWS = [{"proto": ("tcp", "udp")[i % 2], "source": f"10.1.0.{i % 250}", "port": i % 4,
              "state": "x" * 60} for i in range(2000)]

    def test_no_filter(self):
        daemon = self.daemon("west", {"flows": self.FLOWS[:1]})
        self.assertEqual(json.loads(self.ctl("--json", "show", "flows")), self.FLOWS[:1])
        self.assertEqual(daemon.requests, ["/culvert/flows,0", "/culvert/flows,1"])

    def test_filters_are_part_of_every_question(self):
        daemon = self.daemon("west", {"flows": self.FLOWS})
        out = self.ctl("--json", "show", "flows", "proto", "udp", "port", "3")
        self.assertEqual(json.loads(out), self.FLOWS[3::4])
        self.assertGreater(len(daemon.requests), 3, "more than one page")
        for request in daemon.requests:
            self.assertRegex(request, r"\A/culvert/flows,\d+,proto=udp,port=3\Z")

    def test_nothing_matches(self):
        self.daemon("west", {"flows": self.FLOWS})
        self.assertEqual(self.ctl("show", "flows", "proto", "sctp"), "no flows\n")

    def test_filters_of_a_list_are_its_fields(self):
        sas = [{"name": f"sa-{i}", "remote": f"192.0.2.{i % 3}", "packets": i} for i in range(9)]
        daemon = self.daemon("west", {"sas": sas})
        self.assertEqual(json.loads(self.ctl("--json", "show", "sas", "remote", "192.0.2.1")), sas[1::3])
        self.assertEqual(daemon.requests, ["/culvert/sas,0,remote=192.0.2.1", "/culvert/sas,3,remote=192.0.2.1"])
        self.assertEqual(json.loads(self.ctl("--json", "show", "sas", "name", "sa-2")), sas[2:3])
        for words, message in ((["remote"], "filter remote needs a value"),
                               (["peer", "x"], 'unknown filter "peer", must be one of: name direction mode spi '),
                               (["packets", "1"], 'unknown filter "packets"')):
            self.assertIn(message, self.ctl("show", "sas", *words, code=2))
        self.assertNotIn(" packets ", self.ctl("show", "sas", "x", "y", code=2))

    def flushed(self, instance, answer="ok 0\n"):
        """A daemon that answers so to the request to flush; what it was asked is in self.asked."""
        def conversation(connection):
            self.asked = connection.recv(1 << 17).decode()
            connection.send(answer.encode())
        daemon = Daemon(self.runtime, instance, conversation=conversation, file="control")
        self.addCleanup(daemon.stop)

    def test_every_filter_of_show_and_flush(self):
        filters = [("address", "2001:db8::/32"), ("port", "80"), ("proto", "tcp"),
                   ("state", "udp_new"), ("sa", "west-in")]
        words = [word for pair in filters for word in pair]
        question = "".join(f",{key}={value}" for key, value in filters)
        daemon = self.daemon("west", {"flows": [dict(filters)]})
        self.ctl("show", "flows", *words)
        self.assertEqual(daemon.requests, [f"/culvert/flows,{number}{question}" for number in (0, 1)])
        self.flushed("east")
        self.ctl("-i", "east", "flush", "flows", *words)
        self.assertEqual(self.asked, "flush " + question[1:])

    def test_flush(self):
        self.flushed("west")
        self.assertEqual(self.ctl("-i", "west", "flush", "flows"),
                         "matching flows will be removed within some seconds\n")
        self.assertEqual(self.asked, "flush ")
        self.assertEqual(json.loads(self.ctl("-i", "west", "flush", "flows", "--json")),
                         [{"result": "matching flows will be removed within some seconds"}])

    def test_flush_of_neighbours(self):
        self.flushed("west", "ok 21\nneighbours removed: 2")
        self.assertEqual(self.ctl("-i", "west", "flush", "neighbours", "port", "wan", "address", "192.0.2.9"),
                         "neighbours removed: 2\n")
        self.assertEqual(self.asked, "flush-neighbours port=wan,address=192.0.2.9")
        self.assertIn('flush neighbours: unknown filter "proto"', self.ctl("flush", "neighbours", "proto", "x", code=2))

    def test_flush_of_the_chosen_instance(self):
        for name in ("east", "west"):
            self.daemon(name, {})
        self.assertIn("choose one with -i", self.ctl("flush", "flows", code=2))

    def test_refused_by_the_daemon(self):
        refusal = "port must be \x1b[2J 80"
        self.daemon("west", {"flows": refusal})
        self.flushed("east", f"refused {len(refusal)}\n{refusal}")
        for verb, instance in (("show", "west"), ("flush", "east")):
            for option in ((), ("--json",)):
                self.assertEqual(self.ctl("-i", instance, verb, "flows", "port", "0", *option, code=2),
                                 f"culvertctl: instance {instance}: port must be \\x1b[2J 80\n")

    def test_refused_behind_the_first_page(self):
        def conversation(connection):
            connection.send(GREETING)
            for answer in ({"0": {"a": 1}}, {"error": "it is gone"}):
                connection.recv(1024)
                connection.send(json.dumps({"/culvert/flows": answer}).encode())
        self.daemon("west", conversation=conversation)
        self.assertIn("west: it is gone\n", self.ctl("show", "flows", code=2))

    def test_wrong_words(self):
        daemon = self.daemon("west", {"flows": []})
        for verb in ("show", "flush"):
            for words, message in (
                    (["prot", "tcp"], 'unknown filter "prot", must be one of: '
                                      "address port proto state sa nat\n"),
                    (["port", "1", "all"], 'unknown filter "all"'),
                    ([""], 'unknown filter ""'),
                    (["port"], "filter port needs a value"),
                    (["port", "1", "sa"], "filter sa needs a value"),
                    (["sa", "x" * 508], "filters are too long")):
                self.assertIn(f"{verb} flows: ", err := self.ctl(verb, "flows", *words, code=2))
                self.assertIn(message, err)
        self.assertEqual(daemon.requests, [])

    def test_longest_filter(self):
        daemon = self.daemon("west", {"flows": []})
        self.ctl("show", "flows", "sa", "x" * 507)
        self.assertEqual(daemon.requests, ["/culvert/flows,0,sa=" + "x" * 507])


class Instances(Case):
    def two(self):
        self.daemon("west", {"info": [{"instance": "west"}]})
        self.daemon("east", {"info": [{"instance": "east"}]})

    def test_instance_is_chosen_by_name(self):
        self.two()
        for name in ("east", "west"):
            for args in (("-i", name, "show", "info"), ("show", "info", f"--instance={name}")):
                self.assertIn(f"instance  {name}\n", self.ctl(*args))

    def test_several_and_none_chosen(self):
        self.two()
        err = self.ctl("show", "info", code=2)
        self.assertIn("-i", err)
        self.assertTrue(err.endswith("\n  east\n  west\n"), err)

    def test_list(self):
        self.two()
        self.leave_behind("dead")
        os.makedirs(f"{self.runtime}/dpdk/rte")
        os.makedirs(f"{self.runtime}/dpdk/culvert-no socket\x1b")
        os.makedirs(f"{self.runtime}/dpdk/culvert-empty")
        path = f"{self.runtime}/dpdk/culvert-%s/dpdk_telemetry.v2"
        pad = " " * (len(path % "west") - len("SOCKET"))
        self.assertEqual(self.ctl("list").replace(pad, ""), textwrap.dedent(f"""\
            INSTANCE   PID  STATE    SOCKET
            east      4711  running  {path % "east"}
            west      4711  running  {path % "west"}
            """))
        self.assertEqual(json.loads(self.ctl("list", "--json")), [
            {"instance": name, "pid": 4711, "state": "running", "socket": path % name}
            for name in ("east", "west")])

    def leave_behind(self, instance):
        Daemon(self.runtime, instance).stop()

    def test_stopped_instances_do_not_count(self):
        self.leave_behind("dead")
        self.daemon("west", {"info": INFO})
        self.assertIn("west", self.ctl("show", "info"))
        err = self.ctl("-i", "dead", "show", "info", code=1)
        self.assertRegex(err, "instance dead .*culvert-dead/dpdk_telemetry.v2.*not running")
        self.assertIn("not running", self.ctl("-i", "never", "show", "info", code=1))

    def test_none_runs(self):
        self.leave_behind("dead")
        err = self.ctl("show", "sas", code=1)
        self.assertIn(f"no running culvertd found in {self.runtime}/dpdk", err)
        self.assertIn("culvertd -c FILE", err)
        out, err = self.finish(self.start("list"), 0)
        self.assertEqual(out, "")
        self.assertIn("no running culvertd", err)
        self.assertEqual(self.ctl("list", "--json"), "[]\n")

    def test_no_runtime_folder(self):
        self.env["RUNTIME_DIRECTORY"] = "/nonexistent"
        self.assertIn("found in /nonexistent/dpdk", self.ctl("show", "sas", code=1))

    def test_runtime_folder_that_is_none(self):
        open(f"{self.runtime}/dpdk", "w", encoding="ascii").close()
        self.assertIn(f"cannot read {self.runtime}/dpdk: Not a directory",
                      self.ctl("show", "sas", code=1))

    def test_names_that_are_none(self):
        for name in ("", "a/b", "../x", "a b", "ä"):
            self.assertIn("[A-Za-z0-9_.-]", self.ctl("-i", name, "show", "sas", code=2))
        self.assertIn("too long", self.ctl("-i", "x" * 108, "show", "sas", code=1))

    def unprivileged(self, *args, code):
        """As somebody who is not root; a copy, since the build folder may be closed to others."""
        copy = shutil.copy(CULVERTCTL, f"{self.runtime}/culvertctl")
        return self.ctl(*args, code=code, executable=copy, cwd="/", **UNPRIVILEGED)

    def test_permission_denied(self):
        west = self.daemon("west", {"info": INFO})
        os.chmod(west.path, 0)
        for args in (("show", "info"), ("-i", "west", "show", "info")):
            self.assertRegex(self.unprivileged(*args, code=1), "west.*permission denied.*only root and members")
        self.assertRegex(self.unprivileged("list", code=0), r"west +- +permission denied")
        folder = f"{self.runtime}/dpdk"
        os.chmod(folder, 0)
        self.assertRegex(self.unprivileged("show", "info", code=1),
                         f"cannot read {folder}: permission denied")
        os.chmod(folder, 0o755)

    def test_folder_of_an_ordinary_user(self):
        self.daemon("west", {"info": INFO})
        del self.env["RUNTIME_DIRECTORY"]
        self.env["XDG_RUNTIME_DIR"] = self.runtime
        os.chmod(f"{self.runtime}/dpdk/culvert-west/dpdk_telemetry.v2", 0o777)
        self.assertIn("west", self.unprivileged("show", "info", code=0))
        del self.env["XDG_RUNTIME_DIR"]
        name = os.path.basename(self.runtime)
        self.assertIn(f"/tmp/dpdk/culvert-{name}/",
                      self.unprivileged("-i", name, "show", "info", code=1))
        self.env["XDG_RUNTIME_DIR"] = "/nonexistent"
        self.assertIn("run as root", self.unprivileged("show", "info", code=1))

    @unittest.skipUnless(os.getuid() == 0, "root's folder is for root")
    def test_folder_of_root(self):
        del self.env["RUNTIME_DIRECTORY"]
        self.env["XDG_RUNTIME_DIR"] = self.runtime
        name = os.path.basename(self.runtime)
        self.assertIn(f"/var/run/dpdk/culvert-{name}/", self.ctl("-i", name, "show", "sas", code=1))


class CommandLine(Case):
    def test_help_and_version(self):
        for option in ("-h", "--help", "help"):
            out = self.ctl(option)
            for word in ("show", "flush flows", "list", "explain [REASON|SETTING|COUNTER]", "rules", "state STATE", "--json", "neighbours",
                         "Exit codes"):
                self.assertIn(word, out)
        self.assertRegex(self.ctl("--version"), r"\Aculvertctl \d+\.\d+\.\d+([~+][0-9a-z.]+)?\n\Z")

    def test_help_of_one_command(self):
        out = self.ctl("help", "trace")
        for args in (["trace", "--help"], ["trace", "-h"], ["-h", "trace", "drop", "any"]):
            self.assertEqual(self.ctl(*args), out)
        for word in ("Usage: culvertctl [OPTION]... trace [FILTER VALUE]...\n", "  -n, --count N        number of packets",
                     "drop REASON|any"):
            self.assertIn(word, out)
        for word in ("--once", "reload", "Flow filters", "Lists for show"):
            self.assertNotIn(word, out)
        self.assertIn("  neighbours     neighbours (ARP, ND)", self.ctl("show", "--help"))
        commands = re.findall(r"(?m)^  ([\w-]+)", self.ctl("help").split("\n\n")[2])
        for command in commands:
            self.assertIn(f"Usage: culvertctl [OPTION]... {command}", self.ctl("help", command))

    def test_no_command(self):
        out, err = self.finish(self.start(), 2)
        self.assertEqual(out, "")
        self.assertTrue(err.startswith("Usage: culvertctl"), err)

    def test_wrong_command_lines(self):
        for args, message in (
                (["shwo", "sas"], 'unknown command "shwo", did you mean "show"? Commands: status, show, top, trace, '),
                (["list", "all"], "list takes no argument"),
                (["-i", "west", "list"], "list takes no argument"),
                (["temperature"], 'unknown command "temperature", commands: status, show, '),
                (["help", "show", "sas"], 'help: unexpected argument "sas"'),
                (["help", "shwo"], 'unknown command "shwo", did you mean "show"?'),
                (["shwo", "--help"], 'unknown command "shwo", did you mean "show"?'),
                (["explain", "replay", "auth"], 'explain: unexpected argument "auth"'),
                (["explain", "replai"], 'unknown reason "replai", did you mean "replay"?'),
                (["explain", "sas.udp.keepalives"], 'unknown setting "sas.udp.keepalives", did you mean '
                 '"sas.udp.keepalive"?'),
                (["explain", "temperature"], '"culvertctl explain" lists all'),
                (["explain", ""], '"culvertctl explain" lists all'),
                (["show"], "show: expected one of these lists"),
                (["bind"], "bind: expected a PCI address or interface: see 'culvertctl devices'"),
                (["unbind"], "unbind: expected a PCI address or interface"),
                (["bind", "eth1", "--driver", "e1000e"], '"e1000e" does not give devices to DPDK, must be vfio-pci'),
                (["devices", "all"], 'devices: unexpected argument "all"'),
                (["flush"], 'flush: expected "flows"'),
                (["ping"], "ping: expected the name of a tunnel, and perhaps an address"),
                (["ping", "a-b", "10.2.0.2", "10.2.0.3"], "ping: expected the name of a tunnel"),
                (["ping", "a-b,size=1"], 'ping: invalid word "a-b,size=1"'),
                (["ping", "a-b", "--mtu", "--size", "100"], "ping: --mtu finds the size: leave --size out"),
                (["status", "-n", "5"], "status: --count is for trace, ping"),
                (["show", "sas", "--size", "5"], "show: --size is for ping"),
                (["ping", "a-b", "--wide"], "ping: --wide is for show"),
                (["show", "sas", "--confirm", "5"], "show: --confirm is for reload, apply, rollback, "),
                (["ping", "a-b", "--size", "0"], 'size: "0" is not a number from 1 to 65535'),
                (["flush", "sas"], 'flush: expected "flows"'),
                (["show", "sas", "port", "1"], 'show sas: unknown filter "port"'),
                (["show", "totals", "all"], 'show totals: unknown filter "all"'),
                (["show", "drops", "auth", "all"], 'show drops: unknown filter "auth"'),
                (["show", "drops", "all", "all"], 'show drops: unknown filter "all"')):
            self.assertIn(message, self.ctl(*args, code=2))
        for args in (["--jsno"], ["-i"], ["-x", "show", "sas"]):
            self.assertIn("Try: culvertctl --help", self.finish(self.start(*args), 2)[1])

    def test_unknown_word(self):
        for word, nearest in (("prots", "ports"), ("neighbors", "neighbours"), ("sa", "sas"),
                              ("policy", "policies"), ("Routes", "routes"), ("temperature", None),
                              ("x", None), ("", None), ("x" * 500, None)):
            err = self.ctl("show", word, code=2)
            self.assertIn(f'unknown list "{word}"', err)
            if nearest:
                self.assertIn(f'did you mean "{nearest}"?', err)
            else:
                self.assertNotIn("did you mean", err)
            self.assertIn("\n  workers        workers, ", err)

    def test_devices(self):
        cards = [path for path in glob.glob("/sys/bus/pci/devices/*")
                 if open(path + "/class", encoding="ascii").read().startswith("0x02")]
        listed = json.loads(self.ctl("--json", "devices"))
        self.assertEqual([d["device"] for d in listed], sorted(os.path.basename(c) for c in cards))
        for device in listed:
            self.assertIn(device["state"], ("ready", "in use", "kernel", "needed", "blocked"))
            driver = "/sys/bus/pci/devices/" + device["device"] + "/driver"
            self.assertEqual(device["driver"], os.path.basename(os.readlink(driver))
                             if os.path.exists(driver) else None)
        self.assertIn(listed[0]["device"] if listed else "no network cards", self.ctl("devices"))

    def test_devices_that_are_not_there(self):
        for command in ("bind", "unbind"):
            err = self.ctl(command, "0000:ff:1f.7", "nosuch0", code=1)
            for name in ("0000:ff:1f.7", "nosuch0"):
                self.assertIn(f'{command}: there is no network card "{name}": see', err)

    def test_output_that_cannot_be_written(self):
        self.daemon("west", {"info": INFO})
        with open("/dev/full", "w", encoding="ascii") as full:
            for args in (["show", "info"], ["show", "info", "--json"], ["list"], ["--help"]):
                err = self.finish(self.start(*args, stdout=full), 1)[1]
                self.assertIn("cannot write", err)


def tunnel(name, state, reason="-", silent_s="-", peer="192.0.2.2"):
    return {"tunnel": name, "state": state, "reason": reason, "peer": peer, "out": "out", "in": "in",
            "last_received_s": "9", "silent_s": silent_s, "probe": "-", "probes": 0}


class Status(Case):
    """Whether all is well: by the exit code, in words and for programs."""

    def well(self):
        """The lists of a daemon without a problem."""
        port = {"link": "up", "rx_packets": 5, "rx_bytes": 0, "rx_missed": 0, "rx_no_buffer": 0, "rx_errors": 0,
                "tx_packets": 0, "tx_bytes": 0, "tx_errors": 0}
        self.lists = {
            "info": [{"instance": "west", "version": "0.1.0", "uptime_s": 90061, "unsaved": 0, "refused_s": "-",
                      "refused": ""}],
            "totals": [{"tunnels": 3, "tunnels_up": 2, "tunnels_never": 1}],
            "ports": Growing([{"name": "lan", **port}, {"name": "wan", **port}], rx_packets=1000),
            "workers": [{"worker": 0, "cpu": 3, "state": "running", "busy_ms": 0, "idle_ms": 0, "rx": 0, "tx": 0,
                         "drops": 0, "held": 2}],
            "tunnels_worst": [tunnel("new", "never")],
            "sas_busiest": [],
            "drops": Growing([{"reason": "replay", "packets": 1, "help": "seen before"}]),
        }
        self.daemon("west", self.lists)

    def status(self, code):
        out, err = self.finish(self.start("status"), code)
        self.assertEqual(err, "")
        return out

    def test_all_is_well(self):
        self.well()
        since = time.strftime("%Y-%m-%d %H:", time.localtime(time.time() - 90061))
        out = self.status(0)
        self.assertRegex(out, r"\AStatus      well\n"
                         rf"Instance    west, version 0\.1\.0, since {since}\d\d:\d\d \(1 d 01:01:01\)\n"
                         r"Ports       up lan: received \d+/s, 0\.0 Mbit/s; sent 0/s, 0\.0 Mbit/s\n"
                         r"            up wan: received .*\n"
                         r"Tunnels     2 of 3 up\n"
                         r"            never new: nothing received yet\n\Z")

    def test_each_problem(self):
        self.well()
        port, worker = self.lists["ports"].items[0], self.lists["workers"][0]
        for item, key, value, problem in (
                (port, "link", "down", "1 of 2 ports without a link"),
                (worker, "state", "stalled", "1 of 1 workers stalled"),
                (self.lists["totals"][0], "tunnels_up", 1, "1 of 3 tunnels not up"),
                (self.lists["info"][0], "refused", "x.conf:3: wrong", "the last reload was refused")):
            before, item[key] = item[key], value
            self.assertEqual(self.status(3).split("\n")[0], "Status      degraded " + problem)
            item[key] = before
        self.lists["ports"].steps["rx_missed"] = 50
        out = self.status(3)
        self.assertIn("degraded 2 of 2 ports lose frames\n", out)
        self.assertIn("Mbit/s; loses\n            frames\n", out)

    def test_one_screen_whatever_the_number_of_tunnels(self):
        self.well()
        self.lists["totals"][0] |= {"tunnels": 10000, "tunnels_up": 5}
        self.lists["tunnels_worst"] = [
            tunnel("cut", "stopped"), tunnel("wrong-key", "failing", "auth"),
            *(tunnel(f"to-{i}", "silent", silent_s="77") for i in range(14))]
        self.lists["ports"] = Growing(self.lists["ports"].items[:1] * 30)
        self.lists["ports"].items[3] = {**self.lists["ports"].items[3], "name": "broken", "link": "down"}
        self.lists["drops"] = Growing([{"reason": f"reason_{i}", "packets": 1, "help": "word " * 25}
                                       for i in range(60)], packets=100)
        self.lists["info"][0] |= {"unsaved": 4, "refused_s": "60", "refused": "/etc/culvert/culvert.conf:12: " + "x" * 90}
        out = self.on_terminal(80, "status", code=3)
        self.assertLessEqual(len(out.splitlines()), 24)
        self.assertIn("Status      degraded 1 of 30 ports without a link; 9994 of 10000 tunnels not up;\n"
                      "            the last reload was refused\n", out)
        for line in ("Ports       down broken: received", "            27 more: culvertctl show ports\n",
                     "Tunnels     5 of 10000 up\n            stopped cut: its SA needs a new key\n"
                     "            failing wrong-key: auth: integrity check failed",
                     "            silent to-0: nothing received from 192.0.2.2 for 77 s\n",
                     "            9991 more: culvertctl show tunnels\n", "            58 more: culvertctl top\n",
                     "Changes     4 at run time, which the file may lack: culvertctl diff\n",
                     "\nReload      refused 20", "/etc/culvert/culvert.conf:12:"):
            self.assertIn(line, out)

    def test_tunnels_that_are_down(self):
        """Each reason that the daemon has is explained."""
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib/control/tunnel_life.c")
        with open(path, encoding="ascii") as file:
            reasons = re.findall(r'\[TUNNEL_DOWN_\w+\] = "(\w+)"', file.read())
        self.assertGreater(len(reasons), 5)
        self.well()
        for i in range(0, len(reasons), 4):
            self.lists["tunnels_worst"] = [tunnel("t", "down", reason) for reason in reasons[i:i + 4]]
            out = self.status(0)
            for reason in reasons[i:i + 4]:
                self.assertRegex(out, rf"(?m)^ +down t: {reason}: \w+ ")
                self.assertNotIn("no inbound SA", out)

    def test_drops_that_grow(self):
        self.well()
        self.lists["drops"] = Growing([{"reason": "auth", "packets": 7, "help": "grows slowly"},
                                       {"reason": "replay", "packets": 1, "help": "grows"},
                                       {"reason": "ttl", "packets": 9, "help": "is over"}])
        answers = [[7, 1, 9], [17, 1001, 9]]
        self.lists["drops"].at = lambda offset: [
            {**item, "packets": n} for item, n in zip(self.lists["drops"].items, answers.pop(0) if answers else [])
        ] if offset == 0 else []
        out = self.status(0)
        self.assertRegex(out, r"(?m)^Drops       replay \d+/s: grows\n            auth \d+/s: grows slowly\n")
        self.assertNotIn("ttl", out)

    def test_for_programs(self):
        self.well()
        self.lists["info"][0] |= {"unsaved": 2, "refused_s": "60", "refused": "x.conf:3: wrong"}
        out, err = self.finish(self.start("--json", "status"), 3)
        self.assertEqual(err, "")
        status = json.loads(out)
        self.assertEqual(list(status), ["state", "problems", "info", "tunnels", "ports", "workers", "drops"])
        self.assertEqual(status["state"], "degraded")
        self.assertEqual(status["problems"], ["the last reload was refused"])
        self.assertEqual((status["info"]["unsaved"], status["info"]["refused_s"], status["info"]["refused"]),
                         (2, 60, "x.conf:3: wrong"))
        self.assertEqual([status["tunnels"][key] for key in ("all", "up", "never")], [3, 2, 1])
        self.assertEqual(status["tunnels"]["not_up"][0]["silent_s"], None)
        self.assertEqual(status["ports"][0]["port"], "lan")
        self.assertEqual(status["drops"], [])

    def test_names_cannot_steer_the_terminal(self):
        self.well()
        self.lists["tunnels_worst"] = [tunnel("\x1b[2Jevil", "failing", "\x1b]0;x\x07")]
        self.lists["ports"].items[0]["name"] = "l\nan"
        out = self.status(0)
        self.assertIn("failing \\x1b[2Jevil: \\x1b]0;x\\x07:", out)
        self.assertIn("up l\\x0aan: received", out)
        self.assertNotIn("\x1b", out)

    def test_narrow_window(self):
        self.well()
        out = self.on_terminal(20, "status")
        self.assertIn("Status      well\n", out)
        self.assertIn("            never\n            new:\n", out)

    def test_no_answer(self):
        self.assertIn("no running culvertd", self.ctl("status", code=1))
        self.daemon("west", {"info": []})
        self.assertIn("unknown to the daemon", self.ctl("status", code=1))
        self.assertIn('status: unexpected argument "now"', self.ctl("status", "now", code=2))


class Live(Case):
    """What is shown again and again: --watch and top."""

    SAS = [{"name": f"sa-{i}", "direction": "out", "remote": "192.0.2.2", "packets": 0,
            "bytes": 0, "errors": 0, "last_seen_s": "0"} for i in range(30)]

    def growing_daemon(self):
        self.west = self.daemon("west", {
            "info": [{"instance": "west", "version": "0.1.0", "uptime_s": 90061, "unsaved": 0,
                      "refused_s": "-", "refused": ""}],
            "totals": [{"tunnels": 10000, "tunnels_up": 10000, "tunnels_never": 0}],
            "tunnels_worst": [],
            "ports": Growing([{"name": "lan", "link": "up", "rx_packets": 5, "rx_bytes": 0,
                               "rx_missed": 0, "rx_no_buffer": 0, "rx_errors": 0, "tx_packets": 0,
                               "tx_bytes": 0, "tx_errors": 0}],
                             rx_packets=1000, rx_bytes=10**6, rx_missed=7, tx_errors=3),
            "workers": Growing([{"worker": 0, "cpu": 3, "state": "running", "busy_ms": 0,
                                 "idle_ms": 0, "rx": 0, "tx": 0, "drops": 0, "held": 2}],
                               busy_ms=250, idle_ms=750, rx=10),
            "sas": Growing(self.SAS, packets=100),
            "sas_busiest": Growing(self.SAS, packets=100),
            "drops": Growing([{"reason": "replay", "packets": 1, "help": "seen"}], packets=50),
        })

    def read_until(self, process, pattern, stream=None):
        out, deadline = "", time.monotonic() + DEADLINE_S
        fd = stream if stream is not None else process.stdout.fileno()
        while not re.search(pattern, out):
            self.assertLess(time.monotonic(), deadline, out)
            if select.select([fd], [], [], 1)[0]:
                out += os.read(fd, 65536).decode()
        return out

    def test_watch_adds_rates(self):
        self.growing_daemon()
        process = self.start("show", "drops", "--watch", "1")
        out = self.read_until(process, r"PACKETS/S[^\n]*\n[^\n]*\n")
        self.assertRegex(out, r"\AREASON  PACKETS  HELP\nreplay +1 +seen\n\n")
        rate = int(re.search(r"PACKETS/S +HELP\nreplay +\d+ +(\d+) ", out)[1])
        self.assertGreater(rate, 0)
        process.send_signal(signal.SIGINT)
        self.finish(process, 0)

    def test_watch_for_programs(self):
        self.growing_daemon()
        process = self.start("--json", "show", "sas", "--watch=1")
        out = self.read_until(process, r"\n.*\n.*\n")
        process.send_signal(signal.SIGTERM)
        self.finish(process, 0)
        first, second = (json.loads(line)["sas"] for line in out.splitlines()[:2])
        self.assertEqual(first, [{**sa, "last_seen_s": 0} for sa in self.SAS])
        self.assertEqual([sa["name"] for sa in second], [sa["name"] for sa in self.SAS])
        for sa in second:
            self.assertGreater(sa["packets/s"], 0)
            self.assertEqual(sa["bytes/s"], 0)

    def test_q_ends_it_and_leaves_the_terminal_as_it_was(self):
        self.growing_daemon()
        self.west.lists["ports"].steps["rx_missed"] = 0
        self.env["TERM"] = "xterm"
        for command in (["top"], ["show", "totals", "--watch", "1"], ["show", "ports", "--watch", "1"],
                        ["status", "--watch", "1"]):
            self.west.lists["totals"][0]["rx"] = 1
            master, slave = pty.openpty()
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 8, 120, 0, 0))
            before = termios.tcgetattr(slave)
            process = self.start(*command, stdin=slave, stdout=slave)
            out = self.read_until(process, r"\x1b\[H\x1b\[J[^J]*\x1b\[H", master)
            self.assertLess(out.split("\x1b[H\x1b[J")[1].count("\n"), 8, "more than the screen")
            os.write(master, b"xq")
            self.finish(process, 0)
            self.assertEqual(termios.tcgetattr(slave), before)
            os.close(slave)
            os.close(master)

    def terminal(self, rows=24, columns=80):
        """A terminal of that size: its two ends."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        return master, slave

    def test_new_size_of_the_terminal(self):
        """The last answer is shown in the new size at once, without another question."""
        self.growing_daemon()
        self.env["TERM"] = "xterm"
        master, slave = self.terminal(columns=200)
        process = self.start("show", "ports", "--watch", "600", stdin=slave, stdout=slave)
        self.read_until(process, "TX_PACKETS", master)
        asked = len(self.west.requests)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 20, 0, 0))
        process.send_signal(signal.SIGWINCH)
        out = self.read_until(process, r"(?s)\x1b\[H\x1b\[J[^J]*NAME[^J]*NAME.*TX_ERRORS", master)
        self.assertNotIn("TX_PACKETS", out.splitlines()[0])
        self.assertEqual(len(self.west.requests), asked)
        os.write(master, b"q")
        self.finish(process, 0)

    def test_lines_longer_than_the_window(self):
        """No more is shown than there is room for, so that the head stays in sight."""
        self.growing_daemon()
        self.env["TERM"] = "xterm"
        self.west.lists["drops"] = [{"reason": f"r{i}", "packets": 1, "help": "x" * 70} for i in range(20)]
        master, slave = self.terminal(rows=9, columns=20)
        process = self.start("show", "drops", "--watch", "600", stdin=slave, stdout=slave)
        self.read_until(process, r"r6", master)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 9, 10, 0, 0))
        process.send_signal(signal.SIGWINCH)
        out = self.read_until(process, r"\x1b\[H\x1b\[J[^\x1b]*", master)
        rows = sum(-(-max(len(line), 1) // 10) for line in out.split("\x1b[J")[-1].split("\r\n")[:-1])
        self.assertLessEqual(rows, 8)
        process.send_signal(signal.SIGINT)
        self.finish(process, 0)

    def test_it_sleeps_between_answers(self):
        self.growing_daemon()
        process = self.start("show", "drops", "--watch", "600")
        self.read_until(process, "replay")
        with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
            before = stat.read().split()[13:15]
        self.west.requests.clear()
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(2)
        with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
            self.assertEqual(stat.read().split()[13:15], before)
        self.assertEqual(self.west.requests, [])
        process.send_signal(signal.SIGINT)
        self.finish(process, 0)

    def test_status_is_repeated(self):
        self.growing_daemon()
        self.west.lists["ports"].steps["rx_missed"] = 0
        process = self.start("status", "--watch", "1")
        out = self.read_until(process, r"(?s)Status.*Status")
        self.assertIn("\n\nStatus", out)
        self.west.lists["totals"][0]["tunnels_up"] = 9
        self.read_until(process, "degraded 9991 of 10000 tunnels not up")
        process.send_signal(signal.SIGINT)
        self.finish(process, 3)
        process = self.start("status", "--watch", "1", "--json")
        out = self.read_until(process, r"\n.*\n")
        self.assertEqual([json.loads(line)["state"] for line in out.splitlines()[:2]], ["degraded"] * 2)
        process.send_signal(signal.SIGTERM)
        self.finish(process, 3)

    def coloured(self, *args, term="xterm", code=0, **env):
        """What culvertctl writes on a terminal."""
        self.env |= {"TERM": term} | env
        return self.on_terminal(120, *args, code=code)

    def test_colours_of_states(self):
        self.growing_daemon()
        self.west.lists["ports"].steps["rx_missed"] = 0
        self.west.lists["tunnels"] = [tunnel("a", "up"), tunnel("b", "silent"), tunnel("up", "failing"),
                                      tunnel("d", "\x1b[7mup")]
        plain = self.ctl("show", "tunnels")
        out = self.coloured("show", "tunnels")
        self.assertIn("a       \x1b[32mup\x1b[0m         -", out)
        self.assertIn("b       \x1b[33msilent\x1b[0m     -", out)
        self.assertIn("up      \x1b[31mfailing\x1b[0m    -", out)
        self.assertIn("d       \\x1b[7mup ", out)
        self.assertEqual(re.sub(r"\x1b\[\d+m", "", out), plain)
        self.assertIn("\x1b[32mwell\x1b[0m\n", self.coloured("status"))
        self.west.lists["ports"].items[0]["link"] = "down"
        out = self.coloured("status", code=3)
        self.assertIn("Status      \x1b[31mdegraded\x1b[0m 1 of 1", out)
        self.assertIn("Ports       \x1b[31mdown\x1b[0m lan:", out)

    def test_no_colours(self):
        self.growing_daemon()
        self.west.lists["tunnels"] = [tunnel("a", "up")]
        plain = self.ctl("show", "tunnels")
        self.env["TERM"] = "xterm"
        self.assertEqual(self.ctl("show", "tunnels"), plain)
        self.assertNotIn("\x1b", self.coloured("show", "tunnels", "--json"))
        self.assertEqual(self.coloured("show", "tunnels", term="dumb"), plain)
        self.assertEqual(self.coloured("show", "tunnels", NO_COLOR="1"), plain)
        self.assertIn("\x1b[32mup", self.coloured("show", "tunnels", NO_COLOR=""))
        del self.env["TERM"]
        self.assertEqual(self.on_terminal(120, "show", "tunnels"), plain)

    def test_dumb_terminal(self):
        self.growing_daemon()
        self.env["TERM"] = "dumb"
        master, slave = pty.openpty()
        process = self.start("top", stdin=slave, stdout=slave)
        out = self.read_until(process, r"(?s)PORT.*PORT", master)
        self.assertNotIn("\x1b", out)
        process.send_signal(signal.SIGINT)
        self.finish(process, 0)
        os.close(slave)
        os.close(master)

    def test_top_once(self):
        self.growing_daemon()
        for words in (["top"], ["top", "--once"]):
            out = self.ctl(*words)
            self.assertTrue(out.startswith("west  up 1 d 01:01:01  tunnels 10000 of 10000 up\n\nPORT  LINK  RX/S"), out)
            self.assertEqual(len(re.findall(r"^sa-\d+ ", out, re.MULTILINE)), 10)
        self.assertNotIn("/culvert/sas,0", self.west.requests)  # there may be thousands

    def test_top_for_programs(self):
        self.growing_daemon()
        began = time.monotonic()
        tables = json.loads(self.ctl("--json", "top"))
        period = time.monotonic() - began
        self.assertEqual(list(tables), ["ports", "workers", "tunnels", "sas", "drops"])
        port, worker, drop = tables["ports"][0], tables["workers"][0], tables["drops"][0]
        for got, grown in ((port["rx/s"], 1000), (port["missed/s"], 7), (port["errors/s"], 3),
                           (port["rx_mbit/s"], 8), (worker["rx/s"], 10), (drop["packets/s"], 50)):
            self.assertTrue(grown / period - 1 <= got <= grown, (got, grown, period))
        self.assertEqual(worker["busy_%"], 25)
        self.assertEqual(worker["held"], 2)

    def test_tunnels_in_top(self):
        """Those that are not up, the worst first, at most 10: the daemon has them in order."""
        self.growing_daemon()
        self.west.lists["tunnels_worst"] = [tunnel(f"t-{i}", "silent", silent_s=str(i)) for i in range(16)]
        out = self.ctl("top")
        self.assertIn("\n\nTUNNEL  STATE   REASON  PEER       LAST_RECEIVED_S  SILENT_S\n"
                      "t-0     silent       -  192.0.2.2                9         0\n", out)
        self.assertEqual(len(re.findall(r"(?m)^t-\d+ ", out)), 10)
        self.assertNotIn("/culvert/tunnels,0", self.west.requests)  # there may be thousands

    def test_daemon_that_stops_leaves_the_terminal_as_it_was(self):
        self.growing_daemon()
        self.env["TERM"] = "xterm"
        master, slave = self.terminal()
        before = termios.tcgetattr(slave)
        process = self.start("show", "drops", "--watch", "1", stdin=slave, stdout=slave)
        self.read_until(process, "replay", master)
        self.assertNotEqual(termios.tcgetattr(slave), before)
        self.west.lists = {}
        self.assertIn("unknown to the daemon", self.finish(process, 1)[1])
        self.assertEqual(termios.tcgetattr(slave), before)

    def test_daemon_that_stops(self):
        self.growing_daemon()
        process = self.start("show", "drops", "--watch", "1")
        self.read_until(process, "replay")
        self.west.lists = {}
        self.assertIn("unknown to the daemon", self.finish(process, 1)[1])

    def test_wrong_words(self):
        for seconds in ("0", "x", "3601", "-1", ""):
            self.assertIn("watch: ", self.ctl("show", "sas", "--watch", seconds, code=2))
        self.assertIn("show: expected one of these lists", self.ctl("show", "--watch", "1", code=2))
        self.assertIn("show config: --watch is for lists", self.ctl("show", "config", "--watch", "1", code=2))
        self.assertIn('top: unexpected argument "now"', self.ctl("top", "now", code=2))
        for words in (["top"], ["show", "sas", "--watch", "1"], ["status", "--watch", "1"]):
            self.assertIn("no running culvertd", self.ctl(*words, code=1))


class Explain(Case):
    """Against the list of reasons itself, read by other means than the program."""

    def setUp(self):
        super().setUp()
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib/stats/drop.def")
        with open(path, encoding="ascii") as file:
            pattern = r'^DROP\(\w+, +(\w+), +(\w+), +"(.*)",\n\t"(.*)"\)$'
            found = re.findall(pattern, file.read(), re.MULTILINE)
        scopes = {"SA": "gateway and SA", "GATEWAY": "gateway"}
        self.reasons = [{"reason": name, "scope": scopes[scope], "help": text,
                         "advice": advice.replace('\\"', '"')}
                        for name, scope, text, advice in found]
        self.assertGreater(len(self.reasons), 40)

    def test_every_reason(self):
        self.assertEqual(json.loads(self.ctl("--json", "explain")), self.reasons)
        out = self.ctl("explain")
        self.assertEqual([line.split()[0] for line in out.splitlines()],
                         [reason["reason"] for reason in self.reasons])
        for reason in self.reasons:
            self.assertEqual(json.loads(self.ctl("--json", "explain", reason["reason"])), [reason])
            out = self.ctl("explain", reason["reason"]).split("\n\nSetting ")[0]
            self.assertEqual(out.split(), ["Reason", reason["reason"], "Counted", "on",
                                           *reason["scope"].split(), "A", "packet",
                                           *reason["help"].split(), "What", "to", "do",
                                           *reason["advice"].split()])
            self.assertLessEqual(max(map(len, out.splitlines())), 80)

    def test_counters(self):
        """Every metric of a field is explained, with the lists that have a field of the name."""
        named = {}
        for field in field_def.fields():
            if field.name and field.metric and field.metric.is_family:
                named.setdefault(field.name, []).append(
                    {"field": field.name, "list": field.list, "help": field.metric.help})
        self.assertIn("checksums_completed", named)
        for name, explained in named.items():
            found = json.loads(self.ctl("--json", "explain", name))
            self.assertTrue(found == explained or "setting" in found[0] or "reason" in found[0], name)
        self.assertEqual(self.ctl("explain", "keepalives_in"), textwrap.dedent("""\
            Field       keepalives_in
            Shown by    culvertctl show totals
            Meaning     NAT-keepalives received, included in the local packets.
            """))

    def test_settings(self):
        """The settings are those of the tables of docs/configuration.md."""
        settings = json.loads(self.ctl("--json", "explain", "settings"))
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/configuration.md")
        with open(path, encoding="utf-8") as file:
            rows = re.findall(r"(?m)^\| `([a-z_]+)` \|.*\|.*\|.*\|.*\|$", file.read())
        self.assertEqual({s["setting"].split(".")[-1] for s in settings} | {"key"}, set(rows))
        names = [line.split()[0] for line in self.ctl("explain", "settings").splitlines()]
        self.assertEqual(names, [s["setting"] for s in settings])
        for setting in settings:
            self.assertNotRegex("".join(setting.values()), r"`|\]\(")
        self.assertEqual(self.ctl("explain", "sas.udp.local_port"), textwrap.dedent("""\
            Setting     sas.udp.local_port
            Value       integer from 1 to 65535
            Default     4500
            Change by   reload
            Meaning     Own port: packets are sent from and to it.
            """))
        self.assertIn("Only for    direction out and mode tunnel\n", self.ctl("explain", "sas.ttl"))
        self.assertIn("\n\nSetting     sas.auth\n", self.ctl("explain", "auth"))
        self.assertEqual([s["setting"] for s in json.loads(self.ctl("--json", "explain", "cpus"))],
                         ["cpus", "cpus.control", "cpus.workers"])
        self.assertEqual([s["setting"] for s in json.loads(self.ctl("--json", "explain", "mac"))],
                         ["ports.mac", "neighbours.mac"])

    def test_layout(self):
        self.assertEqual(self.ctl("explain", "dummy"), textwrap.dedent("""\
            Reason      dummy
            Counted on  gateway and SA
            A packet    dummy packet, discarded as intended (RFC 4303 2.6)
            What to do  Nothing: the peer hides how much traffic there is.
            """))


class Control(Case):
    """The control socket: what is asked there, and every answer."""

    def answers(self, *pieces, instance="west"):
        """A daemon that answers in these pieces; what it was asked is in self.asked."""
        def conversation(connection):
            self.asked = connection.recv(1 << 17).decode()
            for piece in pieces:
                connection.send(piece.encode())
        daemon = Daemon(self.runtime, instance, conversation=conversation, file="control")
        self.addCleanup(daemon.stop)

    def test_requests(self):
        for number, (words, asked) in enumerate((
                (["reload"], "reload"),
                (["--new-keys", "reload"], "new-keys reload"),
                (["reload", "--discard"], "reload discard"),
                (["--new-keys", "sa", "del", "x"], "new-keys change argument\nsa del x \n"),
                (["sa", "del", "x"], "change argument\nsa del x \n"),
                (["sa", "add", "a = 1;"], "change argument\nsa add {a = 1;\n}\n"),
                (["sa", "add", " {a = 1; }"], "change argument\nsa add {a = 1; }\n"),
                (["rule", "add", "before", "r", "#"], "change argument\nrule add before r {#\n}\n"),
                (["neighbour", "del", "fe80::1", "port", "wan"],
                 "change argument\nneighbour del fe80::1 port wan \n"))):
            with self.subTest(words=words):
                self.answers("ok 13\ngenera", "tion 7\n", instance=f"west{number}")
                said = self.ctl("-i", f"west{number}", *words)
                self.assertRegex(said, "^(changed|reloaded), generation 7\n$")
                self.assertEqual(self.asked, asked)

    def test_refused(self):
        self.answers("refused 8\na:1: \x1bb\n")
        out, err = self.finish(self.start("-i", "west", "reload"), 1)
        self.assertEqual((out, err),
                         ("", "a:1: \\x1bb\nculvertctl: refused, the running configuration is unchanged\n"))
        self.answers("refused 4\n99?\n", instance="east")
        self.assertEqual(self.finish(self.start("-i", "east", "diff", "99"), 2), ("", "99?\n"))

    def test_truncated(self):
        self.answers("ok 14\ngeneration")
        self.assertIn("closed the connection", self.ctl("-i", "west", "reload", code=1))

    def test_differences(self):
        keys = ("change", "kind", "name", "setting", "old", "new", "key", "restart", "run_time", "file", "line")
        rows = (("changed", "sa", "x", "ttl", "64", "9", False, False, True, "gw.conf", 12),
                ("changed", "sa", "x", "cipher_key", None, None, True, False, False, "gw.conf", 13),
                ("changed", None, None, "memory.size", None, "9", False, True, False, "gw.conf", 1),
                ("removed", "rule", "r", None, None, None, False, False, True, "argument", 1))
        text = json.dumps([dict(zip(keys, row)) for row in rows])
        self.answers(f"different {len(text)}\n", text)
        out, err = self.finish(self.start("-i", "west", "diff"), 1)
        self.assertEqual(err, "")
        self.assertEqual(out, textwrap.dedent("""\
            changed  sa "x": ttl: 64 -> 9 (gw.conf:12)
            changed  sa "x": cipher_key (gw.conf:13)
            changed  memory.size: (not set) -> 9 (gw.conf:1), needs a restart
            removed  rule "r"
            A reload would be refused, as 1 of these needs a restart.
            """))

    def test_run_time_differences(self):
        text = json.dumps([{"change": "removed", "kind": "rule", "name": "r", "run_time": True}])
        self.answers(f"different {len(text)}\n", text)
        out, _ = self.finish(self.start("-i", "west", "diff"), 1)
        self.assertEqual(out, textwrap.dedent("""\
            removed  rule "r"
            A reload would be refused without --discard, as it would discard 1 run-time change.
            """))

    def test_same(self):
        self.answers("same 0\n")
        self.assertEqual(self.ctl("-i", "west", "--json", "diff"), "[]\n")

    EVENTS = ("time=2026-01-01T00:00:00.000Z\tevent=link_down\tseverity=warning\tport=l\x1bn",
              "time=2026-01-01T00:00:01.000Z\tevent=worker_stalled\tseverity=error\tworker=1\tms=1000"
              "\tplace=frames of port \"lan\"\tthread=7\tstate=R\tcpu=2")

    def events(self, *words, pieces=EVENTS):
        self.answers("events 0\n", *pieces)
        out, err = self.finish(self.start("-i", "west", "events", *words), 1)
        self.assertEqual(self.asked, "subscribe")
        self.assertTrue(err.endswith("the daemon closed the connection: it stopped\n"), err)
        return out, err

    def test_events(self):
        self.assertEqual(self.events()[0], textwrap.dedent("""\
            2026-01-01T00:00:00.000Z warning link_down port=l\\x1bn
            2026-01-01T00:00:01.000Z error worker_stalled worker=1 ms=1000 place="frames of port "lan"" thread=7 state=R cpu=2
            """))

    def test_events_for_programs(self):
        down, stalled = (json.loads(line) for line in self.events("--json")[0].splitlines())
        self.assertEqual(down, {"time": "2026-01-01T00:00:00.000Z", "event": "link_down",
                                "severity": "warning", "port": "l\x1bn"})
        self.assertEqual((stalled["worker"], stalled["state"]), (1, "R"))

    def test_command_for_each_event(self):
        """One at a time, in order, with the event in its environment and in no other's."""
        record = f"{self.runtime}/record"
        command = (f'echo "$CULVERT_INSTANCE $CULVERT_EVENT ${{CULVERT_PORT-none}} ${{CULVERT_WORKER-none}}"'
                   f' >>{record}; [ $CULVERT_EVENT = link_down ]')
        out, err = self.events("--run", command)
        self.assertEqual(len(out.splitlines()), 2)
        self.assertIn("event worker_stalled: the command exited with status 1", err)
        with open(record, encoding="utf-8") as file:
            self.assertEqual(file.read(), "west link_down l\x1bn none\nwest worker_stalled none 1\n")

    def test_events_refused(self):
        self.answers("refused 10\nno place\x1b\n")
        _, err = self.finish(self.start("-i", "west", "events"), 1)
        self.assertEqual(err, "no place\\x1b\n")

    def test_words(self):
        for words in (["events", "x"], ["sa"], ["sa", "add"], ["sa", "del", "a b"], ["apply"], ["apply", "a", "b"],
                      ["diff", "x"], ["reload", "x"]):
            self.ctl("-i", "west", *words, code=2)


class Failures(Case):
    """What daemons can do wrong."""

    def failure(self, conversation):
        self.daemon("west", conversation=conversation)
        err = self.ctl("-i", "west", "show", "sas", code=1)
        self.assertIn("instance west", err)
        return err

    @staticmethod
    def answering(*answers, greeting=GREETING):
        """A daemon that says this, whatever it is asked, and closes the connection."""
        def conversation(connection):
            connection.send(greeting)
            for answer in answers:
                connection.recv(1024)
                connection.send(answer)
        return conversation

    def test_command_unknown_to_the_daemon(self):
        err = self.failure(self.answering(b'{"/culvert/sas":null}'))
        self.assertIn("unknown to the daemon", err)
        self.assertIn("older than culvertctl", err)

    def test_malformed_greeting(self):
        for i, greeting in enumerate((b"hello", b"[]", b"{}", b'{"pid":"4711"}', b'{"pid":1',
                                      b'{"pid":' + b"1" * 30 + b"}", b'{"pid":1} {}')):
            with self.subTest(greeting=greeting):
                self.daemon(f"g{i}", conversation=self.answering(greeting=greeting))
                self.assertIn("malformed answer", self.ctl("-i", f"g{i}", "show", "sas", code=1))

    def test_malformed_answer(self):
        for i, answer in enumerate((
                b"?", b"[]", b"{}", b"null", b'{"/culvert/ports":{}}', b'{"/culvert/sas":[]}',
                b'{"/culvert/sas":"text"}', b'{"/culvert/sas":{"0":1}}',
                b'{"/culvert/sas":{"error":1}}', b'{"/culvert/sas":{"1":{}}}',
                b'{"/culvert/sas":{"name":"a"}}',
                b'{"/culvert/sas":{"0":{"name":"\xff"}}}', b'{"/culvert/sas":{"0":{"name":',
                b'{"/culvert/sas":{"0":{}}}' + b" " * PACKET_MAX, b"[" * 10000,
                b'{"/culvert/sas":{"0":{"a":1,"a":2}}}')):
            with self.subTest(answer=answer[:40]):
                self.daemon(f"a{i}", conversation=self.answering(answer))
                self.assertIn("malformed answer", self.ctl("-i", f"a{i}", "show", "sas", code=1))

    def test_daemon_that_ignores_the_offset(self):
        page = dpdk_answer("/culvert/sas", [{"name": "a"}], 0)
        self.assertIn("malformed answer", self.failure(self.answering(*[page] * 3)))

    def test_daemon_that_has_too_many_clients(self):
        self.assertIn("has 10 clients", self.failure(lambda connection: None))

    def test_daemon_that_dies_after_the_greeting(self):
        self.assertIn("closed the connection", self.failure(self.answering()))

    def test_daemon_that_dies_between_pages(self):
        page = dpdk_answer("/culvert/sas", [{"name": "a"}], 0)
        self.assertIn("closed the connection", self.failure(self.answering(page)))

    def test_daemon_that_dies_with_the_question_unread(self):
        def conversation(connection):
            connection.send(GREETING)
            connection.recv(1, socket.MSG_PEEK)
        self.assertIn("closed the connection", self.failure(conversation))

    def test_daemons_that_hang(self):
        over = threading.Event()

        def greets(connection):
            connection.send(GREETING)
            over.wait(DEADLINE_S)

        self.daemon("silent", conversation=lambda connection: over.wait(DEADLINE_S))
        self.daemon("greets", conversation=greets)
        self.addCleanup(over.set)  # runs before the daemons are stopped
        began = time.monotonic()
        clients = [self.start("-i", name, "show", "sas") for name in ("silent", "greets")]
        listing = self.start("list")
        for client in clients:
            self.assertIn("no answer within 5 seconds", self.finish(client, 1)[1])
        self.assertGreater(time.monotonic() - began, 4)
        out, _ = self.finish(listing, 0)
        self.assertRegex(out, r"\ngreets +4711 +running +/")
        self.assertRegex(out, r"\nsilent +- +no answer within 5 seconds +/")

    def test_stopped_and_continued_while_waiting(self):
        asked, answer = threading.Event(), threading.Event()

        def conversation(connection):
            connection.send(GREETING)
            connection.recv(1024)
            asked.set()
            answer.wait(DEADLINE_S)
            connection.send(b'{"/culvert/sas":{}}')

        self.daemon("west", conversation=conversation)
        self.addCleanup(answer.set)
        client = self.start("-i", "west", "show", "sas")
        self.assertTrue(asked.wait(DEADLINE_S))
        self.wait_for_state(client, "S")
        client.send_signal(signal.SIGSTOP)
        self.wait_for_state(client, "T")
        client.send_signal(signal.SIGCONT)
        self.wait_for_state(client, "S")
        answer.set()
        self.assertEqual(self.finish(client, 0)[0], "no sas\n")

    def wait_for_state(self, process, state):
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
                if stat.read().rpartition(")")[2].split()[0] == state:
                    return
        self.fail(f"culvertctl does not reach state {state}")


if __name__ == "__main__":
    CULVERTCTL = os.path.abspath(os.environ["CULVERTCTL"])
    unittest.main()
