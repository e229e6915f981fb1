# SPDX-License-Identifier: BSD-3-Clause
"""The gateways that are measured: culvertd, and the virtual wires to and between them."""
import ipaddress
import json
import os
import secrets
import subprocess
from dataclasses import dataclass

from .packets import HOST_MAC, IPV4, VXLAN_PORT, capture_read, capture_write, frames
from .process import START_S, Child, Failure, wait_until

BUILD = os.environ.get("CULVERT_BUILD", os.path.join(os.path.dirname(__file__), "../../build"))
CULVERTD = os.path.join(BUILD, "app/culvertd/culvertd")
CULVERTCTL = os.path.join(BUILD, "app/culvertctl/culvertctl")

SOURCES, DESTINATIONS = "198.18.0.0/16", "198.19.0.0/16"  # for benchmarks (RFC 2544, appendix C.2.2)
VTEPS = tuple(map(ipaddress.IPv4Address, ("198.18.0.2", "198.19.0.2")))
PCAP_MAC = "02:70:63:61:70:00"  # net_pcap's own, of the first port
WIRE_MAC = "02:00:00:00:00:%02x"

# Octets of the keys: cipher with salt, authenticator.
CIPHERS = {"null": 0, "aes-128-cbc": 16, "aes-192-cbc": 24, "aes-256-cbc": 32,
           "aes-128-gcm": 20, "aes-192-gcm": 28, "aes-256-gcm": 36}
AUTHS = {"none": 0, "hmac-sha1-96": 20, "hmac-sha2-256-128": 32}

# The devices at the two ends of a virtual wire: the gateway's and the other. The ring of the first
# wire is shorter than the others: they have room for its packets when testpmd stops.
TRANSPORTS = {
    "virtio": ("net_virtio_user{n},path={path},server=1,queue_size={ring},mac={mac}",
               "net_vhost{n},iface={path},client=1"),
    "vhost": ("net_vhost{n},iface={path}",
              "net_virtio_user{n},path={path},queue_size={ring}"),
    "memif": ("net_memif{n},role=server,socket={path},socket-abstract=no",
              "net_memif{n},role=client,socket={path},socket-abstract=no,rsize={ring_log}"),
}


@dataclass
class Gateway:
    """A running culvertd, read through culvertctl, with its ingress and egress port."""
    instance: str
    port_in: str
    port_out: str

    def show(self, *what):
        r = subprocess.run([CULVERTCTL, "-i", self.instance, "--json", "show", *what],
                           capture_output=True, text=True, check=False)
        if r.returncode != 0:
            raise Failure(f"gateway {self.instance}: {r.stderr.strip()}")
        return json.loads(r.stdout)

    def port(self, name):
        for port in self.show("ports"):
            if port["name"] == name:
                return port
        raise Failure(f"gateway {self.instance} has no port named {name}; 'culvertctl -i "
                      f"{self.instance} show ports' lists them")

    def counters(self):
        """All counters that have to balance, as one flat dict."""
        totals = self.show("totals")[0]
        counters = {k: totals[k] for k in ("rx", "originated", "tx", "drops", "local", "held")}
        counters["in"] = self.port(self.port_in)["rx_packets"]
        counters["out"] = self.port(self.port_out)["tx_packets"]
        counters |= {"drop." + d["reason"]: d["packets"] for d in self.show("drops")}
        return counters


def config_text(options, letter, keys, lan, wan, neighbour_mac, cpu, vxlan):
    """Gateway a protects the sources, gateway b the destinations; in transport mode a VXLAN between two VTEPs."""
    here, there = ("1", "2") if letter == "a" else ("2", "1")
    mine, theirs = (SOURCES, DESTINATIONS) if letter == "a" else (DESTINATIONS, SOURCES)
    ends = f"192.0.2.{here}", f"192.0.2.{there}"
    selectors = f'local = "{mine}"; remote = "{theirs}";'
    if vxlan == "transport":
        ends = VTEPS if letter == "a" else VTEPS[::-1]
        selectors = f'proto = "udp"; {"remote" if letter == "a" else "local"}_port = {VXLAN_PORT};'

    def sa(name, direction):
        sender = letter if direction == "out" else {"a": "b", "b": "a"}[letter]
        cipher_key, auth_key = keys[sender]
        text = (f'{{ name = "{name}"; direction = "{direction}"; local = "{ends[0]}"; '
                f'remote = "{ends[1]}"; mode = "{"transport" if vxlan == "transport" else "tunnel"}"; '
                f'spi = "{0x1001 if sender == "a" else 0x1002:#x}"; '
                f'cipher = "{options.cipher}"; auth = "{options.auth}"; ')
        if direction == "in":
            # Recorded packets are repeated.
            text += f"replay_window = {0 if options.way == 'decap' else 1024}; "
        text += f'cipher_key = "{cipher_key}"; ' if cipher_key else ""
        text += f'auth_key = "{auth_key}"; ' if auth_key else ""
        return text + "}"

    wan_neighbour = f', {{ address = "192.0.2.{there}"; mac = "{neighbour_mac}"; }}'
    flows = max(1024, 2 * options.flows)
    return f"""
instance = "{options.name}-{letter}";
state_dir = "none";
cpus = {{ control = {options.generator_cpu}; workers = [ {cpu} ]; }};
idle = "{'sleep' if options.sleeps else 'poll'}";
engine = "{options.engine}";
memory = {{ size = {160 + flows // 1000}; hugepages = {str(options.hugepages).lower()}; }};
flows = {{ max = {flows}; }};
ports = (
  {{ name = "lan"; device = "{lan}"; addresses = [ "10.0.{here}.1/24" ]; }},
  {{ name = "wan"; device = "{wan}"; addresses = [ "192.0.2.{here}/24" ]; }}
);
routes = ( {{ to = "{theirs}"; via = "192.0.2.{there}"; }}, {{ to = "{mine}"; via = "10.0.{here}.2"; }} );
neighbours = ( {{ address = "10.0.{here}.2"; mac = "{HOST_MAC}"; }}{wan_neighbour if neighbour_mac else ""} );
sas = ( {sa("to-peer", "out")}, {sa("from-peer", "in")} );
policies = ( {{ name = "a-b"; {selectors} action = "protect"; out = "to-peer"; in = "from-peer"; }} );
"""


class Lab:
    """The objects measured: gateways, and the devices that testpmd opens to reach them."""

    def __init__(self, options, folder, vxlan):
        self.options, self.folder, self.vxlan = options, folder, vxlan
        self.children = []
        self.gateways = []
        self.keys = {letter: (secrets.token_hex(CIPHERS[options.cipher]),
                              secrets.token_hex(AUTHS[options.auth])) for letter in "ab"}

    def start(self, letter, lan, wan, way, neighbour_mac=None):
        """Starts a gateway. Its ports are in the order of way, a pair of names."""
        o = self.options
        text = config_text(o, letter, self.keys, lan, wan, neighbour_mac,
                           o.gateway_cpus["ab".index(letter) % len(o.gateway_cpus)], self.vxlan)
        path = os.path.join(self.folder, letter)
        with open(os.open(path + ".conf", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w",
                  encoding="utf-8") as f:
            f.write(text)
        child = Child("gateway " + letter, [CULVERTD, "-c", path + ".conf"], path + ".log")
        self.children.append(child)
        # On virtio-user it waits for its peer; others are waited for.
        if o.transport != "virtio":
            child.wait_for("culvertd: ready")
        return child, Gateway(f"{o.name}-{letter}", *way)

    def wire(self, n):
        """A virtual wire: the gateway's device, and the one at its other end."""
        fill = {"n": n, "path": os.path.join(self.folder, f"wire{n}"), "mac": WIRE_MAC % n,
                "ring": 512 if n == 1 else 1024, "ring_log": 9 if n == 1 else 10}
        return (end.format(**fill) for end in TRANSPORTS[self.options.transport])

    def build(self):
        """Starts own gateways, one after the other. Wire 1 leads from testpmd, wire 3 back to it."""
        way = self.options.way
        first, send = self.wire(1)
        last, receive = self.wire(3)
        started = []
        if way == "encap":
            started.append(self.start("a", first, last, ("lan", "wan"), HOST_MAC))
        elif way == "decap":
            started.append(self.start("b", last, first, ("wan", "lan"), HOST_MAC))
        else:
            middle = tuple(self.wire(2))
            started.append(self.start("a", first, middle[0], ("lan", "wan")))
            started.append(self.start("b", last, middle[1], ("wan", "lan")))
        self.gateways = [gateway for _, gateway in started]
        return send, receive

    def ready(self):
        for child in self.children:
            child.wait_for("culvertd: ready")

    def warm_up(self, send, _reconnect):
        """Neighbours and flows. send: a trial with few packets."""
        self.ready()
        send()

    def mac(self):
        """Destination of frames. A gateway on virtio-user answers only when testpmd is connected."""
        if self.children and self.options.transport == "virtio":
            return WIRE_MAC % 1
        return self.gateways[0].port(self.gateways[0].port_in)["mac"]

    def capture(self, size):
        """Writes the packets that testpmd sends to a file. Returns its name, and their number."""
        path, mac = os.path.join(self.folder, "clear.pcap"), self.mac()
        vteps = None if self.vxlan == "none" else VTEPS
        if self.options.way != "decap":
            return path, capture_write(path, frames(self.options, size, mac, vteps))
        count = capture_write(path, frames(self.options, size, PCAP_MAC, vteps))
        return self.seal(path, count, mac), count

    def seal(self, clear, count, mac):
        """A generator cannot encrypt: a gateway does, from one file into another."""
        sealed = os.path.join(self.folder, "sealed.pcap")
        child, gateway = self.start("a", f"net_pcap0,rx_pcap={clear}", f"net_pcap1,tx_pcap={sealed}",
                                    ("lan", "wan"), mac)
        child.wait_for("culvertd: ready")
        if not wait_until(lambda: gateway.counters()["out"] >= count, START_S):
            raise Failure(f"gateway a did not make ESP of {count} packets: {gateway.counters()}")
        child.stop()
        if child.failed:
            raise Failure(f"{child.name} failed at its end")
        self.children.remove(child)
        capture_write(clear, (f for f in capture_read(sealed) if f[12:14] == IPV4))  # no ARP
        return clear

    def stop(self):
        """Returns the names of gateways that ended with an error."""
        for child in self.children:
            child.stop()
        return [child.name for child in self.children if child.failed]
