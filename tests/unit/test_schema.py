#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The JSON Schema of the settings accepts what CULVERTD does, and refuses most mistakes: `CULVERTCTL explain schema`."""
import copy
import functools
import glob
import json
import os
import re
import subprocess
import tempfile
import unittest

import jsonschema
import libconf

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
# Messages of culvertd about mistakes that a schema can describe.
VISIBLE = (r"unknown setting|is (an integer|a string|a boolean|a floating-point number|an array \[ \]|a list \( \)|"
           r"a group \{ \}), must|has \d+ elements|is out of range, must")
# The schema has the names of the documentation alone.
OTHER_NAMES = {"AES256GCM16": "aes-256-gcm"}
# Settings and spellings that the shipped examples lack.
MORE = {
    "show_group": "root", "state_dir": "/var/lib/culvert", "default_log": True, "audit": "policy",
    "memory": {"size": "1.5G", "hugepages": False},
    "flows": {"max": "20k", "takeover": "1m", "timeouts": {"udp": 60}},
    "pmtu": {"age": "1.5h"}, "nat_log": {"size": "1G"}, "pair": {"member": 1},
    "flow_export": {"collector": "127.0.0.1", "rate": "2k", "active_timeout": "5m"},
    "kernel_routes": {"table": "main", "protocols": ["bgp", "static"], "max": "10k"},
    "icmp": {"errors_in_clear": ["too_big"]},
    "ports": [
        {"name": "lan", "device": "net_tap0,iface=lan0", "addresses": ["10.1.0.1/24"], "mac": "02:00:00:00:00:01"},
        {"name": "wan", "device": "net_tap1,iface=wan0", "addresses": ["192.0.2.1/24", "2001:db8::1/64"], "mtu": 1500, "host": "wan1"}],
    "routes": [
        {"to": "0.0.0.0/0", "hops": [{"via": "192.0.2.3"}, {"via": "192.0.2.4", "weight": 3}]},
        {"to": "10.2.0.0/24", "tunnel": "t", "down": "drop"}, {"to": "10.9.0.0/16", "type": "blackhole"}],
    "sas": [
        {"name": "out", "direction": "out", "spi": "4097", "local": "2001:db8::1", "remote": "2001:db8::2",
         "cipher": "aes-128-gcm", "cipher_key": "00" * 19 + "01", "dscp": "ef", "ttl": 64, "flow_label": "copy",
         "lifetime": {"hard_bytes": "100T", "hard_seconds": "8h"}, "tfc": {"pad": "mtu", "dummies": 10}},
        {"name": "in", "direction": "in", "spi": "0x1002", "local": "2001:db8::1", "remote": "2001:db8::2",
         "cipher": "aes-128-gcm", "cipher_key": "00" * 19 + "02", "replay_window": 1024}],
    "tunnels": [{"name": "t", "out": "out", "in": ["in"], "mss_clamp": 1300, "source_check": "loose",
                 "probe": {"address": "10.2.0.1", "interval": "30s"}}],
    "policies": [
        {"name": "ping", "action": "bypass", "proto": "icmp", "local_icmp": "8", "remote_icmp": "0"},
        {"name": "errors", "action": "bypass", "proto": 1, "local_icmp": "3/0-4", "remote_icmp": "none"},
        {"name": "dns", "action": "bypass", "proto": "17", "remote_port": "53", "local_port": "1024-65535"}],
    "rules": [{"name": "r", "action": "accept", "proto": "tcp", "destination_port": 443, "state": ["new"]}],
    "nat": [{"name": "n", "action": "source", "source": "10.1.0.0/24", "out": "wan", "to": "192.0.2.7-192.0.2.9",
             "per_source": "1k", "to_port": "1024-65535"}],
    "groups": [{"name": "g", "addresses": ["10.1.0.1"]}],
}


def plain(value):
    """A configuration that libconf has read as JSON has it."""
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    return OTHER_NAMES.get(value, value) if isinstance(value, str) else value


def as_libconfig(value):
    """The inverse: libconf writes tuples as lists ( )."""
    if isinstance(value, dict):
        return {name: as_libconfig(member) for name, member in value.items()}
    if isinstance(value, list):
        return tuple(map(as_libconfig, value)) if any(isinstance(element, dict) for element in value) else value
    return value


def read(path):
    with open(path, encoding="utf-8") as file:
        return plain(libconf.load(file, includedir=os.path.dirname(path)))


@functools.lru_cache
def validator():
    said = subprocess.run([os.environ["CULVERTCTL"], "explain", "schema"], check=True, capture_output=True, text=True)
    jsonschema.Draft7Validator.check_schema(json.loads(said.stdout))
    return jsonschema.Draft7Validator(json.loads(said.stdout))


def mistakes(settings):
    return [f"{list(error.path)}: {error.message}" for error in validator().iter_errors(settings)]


def check(settings):
    """Messages of culvertd about the settings; "" if it accepts them."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        libconf.dump(as_libconfig(settings), file)
        file.flush()
        said = subprocess.run([os.environ["CULVERTD"], "-t", "-c", file.name], check=False, capture_output=True, text=True)
    return "" if said.returncode == 0 else said.stderr or "refused"


class Schema(unittest.TestCase):
    def test_examples(self):
        paths = [f"{ROOT}/conf/gateway-a.conf", f"{ROOT}/conf/gateway-b.conf", f"{ROOT}/tests/unit/conf/full.conf",
                 f"{ROOT}/tests/unit/conf/minimal.conf", f"{ROOT}/tests/fuzz/corpus/conf/members_good.conf"]
        for path in paths:
            self.assertEqual(mistakes(read(path)), [], path)

    def test_more_settings(self):
        self.assertEqual(check(MORE), "")
        self.assertEqual(mistakes(MORE), [])

    def test_mistakes(self):
        """Both refuse them."""
        for path, value in (
                (["flwos"], {}), (["idle"], "never"), (["ports"], []), (["ports"], None), (["memory", "size"], "1.5X"),
                (["memory", "hugepages"], "no"), (["ports", 0, "mtu"], 100), (["ports", 0, "addresses"], ["10.1.0.1"]),
                (["ports", 0, "name"], "a lan"), (["sas", 0, "cipher"], "aes-1"), (["sas", 0, "spi"], "x1001"),
                (["policies", 0, "local_icmp"], "echo"), (["policies", 0, "action"], None),
                (["rules", 0, "destination_port"], "https"), (["kernel_routes", "protocols"], ["bpg"]),
                (["routes", 0, "hops"], [{"via": "192.0.2.3"}, {"via": "router"}]), (["tunnels", 0, "in"], []),
                (["nat", 0, "to"], "wan"), (["pair", "member"], 3), (["state_dir"], "var/lib"), (["show_group"], "a b")):
            settings = copy.deepcopy(MORE)
            place = functools.reduce(lambda part, name: part[name], path[:-1], settings)
            if value is None:
                del place[path[-1]]
            else:
                place[path[-1]] = value
            with self.subTest(path=path, value=value):
                self.assertNotEqual(mistakes(settings), [])
                self.assertNotEqual(check(settings), "")

    def test_mistakes_of_the_reader(self):
        """Of the files with mistakes that test_conf reads."""
        found = 0
        for path in glob.glob(f"{ROOT}/tests/unit/conf/*.err"):
            with open(path, encoding="utf-8") as file:
                if not re.search(VISIBLE, file.read()):
                    continue
            try:
                settings = read(path.replace(".err", ".conf"))
            except (libconf.ConfigParseError, ValueError):
                continue
            found += 1
            self.assertNotEqual(mistakes(settings), [], path)
        self.assertGreater(found, 30)

    def test_help_for_editors(self):
        workers = validator().schema["properties"]["cpus"]["properties"]["workers"]
        self.assertEqual(workers["default"], [1])
        self.assertRegex(workers["description"], r"^CPUs of the workers.* Default: 1\. Changed by a restart\.$")
        self.assertIs(validator().schema["properties"]["sandbox"]["default"], True)
        said = subprocess.run([os.environ["CULVERTCTL"], "--json", "explain", "settings"], check=True, capture_output=True)
        for setting in json.loads(said.stdout):
            place = validator().schema
            for name in setting["setting"].split("."):
                place = place.get("items", place)["properties"][name]
            self.assertIn(setting["help"], place["description"])


if __name__ == "__main__":
    unittest.main()
