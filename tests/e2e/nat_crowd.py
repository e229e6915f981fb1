# SPDX-License-Identifier: BSD-3-Clause
"""Server and clients of the test nat_crowd. Each message says whose it is; the server answers which port it came from."""
import asyncio
import ipaddress
import resource
import socket
import struct
import sys

from nat_packets import checksum

CLIENTS = 10000
SERVERS = ("192.0.2.2", "192.0.2.3")
PORT = 9
AT_ONCE = 100  # requests without an answer
PATIENCE = 300 # seconds for one, also on a slow machine
COMMON = 5000  # the source port of half of the clients; the others have each its own
OWN = 20000
PING_ID = 7
PORTS_OF_GREED = 20000


def address(client):
    return str(ipaddress.IPv4Address("10.64.0.0") + 1 + client)


def source_port(client):
    return OWN + client if client < CLIENTS // 2 else COMMON


class Echo(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        self.transport.sendto(data + b" %d" % addr[1], addr)


async def echo_stream(reader, writer):
    port = writer.get_extra_info("peername")[1]
    while data := await reader.readline():
        writer.write(data.rstrip() + b" %d\n" % port)


async def serve():
    loop = asyncio.get_running_loop()
    for server in SERVERS:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        s.bind((server, PORT))
        await loop.create_datagram_endpoint(Echo, sock=s)
    tcp = await asyncio.start_server(echo_stream, SERVERS[0], PORT, backlog=4096)
    print("listening", flush=True)
    await tcp.serve_forever()


async def ask(s, message):
    """A datagram, repeated until an answer comes."""
    loop = asyncio.get_running_loop()
    # One for all repetitions: one that is cancelled in the moment in which it has received loses the answer.
    answer = asyncio.ensure_future(loop.sock_recv(s, 100))
    for _ in range(PATIENCE):
        await loop.sock_sendall(s, message)
        if (await asyncio.wait([answer], timeout=1))[0]:
            return answer.result()
    raise SystemExit(f"no answer to {message}")


def opened(kind, client, port, server):
    s = socket.socket(socket.AF_INET, kind)
    s.setblocking(False)
    s.bind((address(client), port))
    if kind == socket.SOCK_DGRAM:
        s.connect((server, PORT))
    return s


def port_of(answer, message):
    assert answer.startswith(message + b" "), f"{answer} for {message}: the answer to another client"
    return int(answer[len(message) + 1:])


async def udp(client, server):
    s = opened(socket.SOCK_DGRAM, client, source_port(client), server)
    message = b"udp %d %s" % (client, server.encode())
    with s: # the gateway keeps the connection
        return None, port_of(await ask(s, message), message)


async def tcp(client, server):
    s = opened(socket.SOCK_STREAM, client, source_port(client), server)
    loop = asyncio.get_running_loop()
    message = b"tcp %d" % client
    await asyncio.wait_for(loop.sock_connect(s, (server, PORT)), PATIENCE)
    await loop.sock_sendall(s, message + b"\n")
    return s, port_of((await asyncio.wait_for(loop.sock_recv(s, 100), PATIENCE)).rstrip(), message)


class Pings:
    """All clients' pings by one raw socket: one for each would receive those of others until it is bound."""

    def __init__(self):
        self.answers = {}  # future by client
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_HDRINCL, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.socket.setblocking(False)
        asyncio.get_running_loop().add_reader(self.socket, self.receive)

    def receive(self):
        packet = self.socket.recv(200)
        if packet[20] != 0:
            return
        identifier, client = struct.unpack_from("!HH", packet, 24)
        to = socket.inet_ntoa(packet[16:20])
        assert to == address(client) and identifier == PING_ID, f"ping of client {client}: the answer is for {to}"
        if not self.answers[client].done():
            self.answers[client].set_result(None)

    async def ping(self, client, server):
        self.answers[client] = asyncio.get_running_loop().create_future()
        rest = struct.pack("!HH", PING_ID, client)
        icmp = struct.pack("!BBH", 8, 0, checksum(b"\x08\0\0\0" + rest)) + rest
        header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(icmp), 0, 0, 64, socket.IPPROTO_ICMP, 0,
                             socket.inet_aton(address(client)), socket.inet_aton(server))
        for _ in range(PATIENCE):
            self.socket.sendto(header + icmp, (server, 0))
            if (await asyncio.wait([self.answers[client]], timeout=1))[0]:
                return None, client
        raise SystemExit(f"no answer to the ping of client {client}")


async def crowd(what, server):
    """All clients; returns their sockets and the ports that the server saw."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(client):
        async with gate:
            return await what(client, server)

    # Clients with a port of their own come first: no other client gets it by chance before.
    found = await asyncio.gather(*(one(client) for client in range(CLIENTS // 2)))
    found += await asyncio.gather(*(one(client) for client in range(CLIENTS // 2, CLIENTS)))
    return [s for s, _ in found], [port for _, port in found]


def check(name, ports):
    assert len(set(ports)) == CLIENTS, f"{name}: two clients have one port"
    if name != "ping": # the identifier that the server saw is not in its answer
        kept = sum(port == source_port(client) for client, port in enumerate(ports))
        assert kept == CLIENTS // 2 + 1, f"{name}: {kept} ports are as the clients chose them"
    print(f"{name}: {CLIENTS} clients, all ports differ", flush=True)


async def again(sockets):
    """Every TCP connection once more, now that all of them are there."""
    loop = asyncio.get_running_loop()
    for client, s in enumerate(sockets):
        message = b"more %d" % client
        await loop.sock_sendall(s, message + b"\n")
        port_of((await asyncio.wait_for(loop.sock_recv(s, 100), PATIENCE)).rstrip(), message)


async def clients():
    kept_open = {}
    for name, what, server in (("udp", udp, SERVERS[0]), ("udp to another server", udp, SERVERS[1]),
                               ("tcp", tcp, SERVERS[0]), ("ping", Pings().ping, SERVERS[0])):
        sockets, ports = await crowd(what, server)
        check(name, ports)
        kept_open[name] = sockets
    await again(kept_open["tcp"])
    print("tcp: every connection has a further answer", flush=True)


def greed():
    """One more client, from more ports than its share towards a server."""
    for port in range(PORTS_OF_GREED):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind((address(CLIENTS), 20000 + port))
            s.sendto(b"greedy", (SERVERS[1], PORT))


async def other():
    """A further client is served."""
    print(await udp(CLIENTS + 1, SERVERS[1]))


hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
if sys.argv[1] == "greed":
    greed()
else:
    asyncio.run({"server": serve, "clients": clients, "other": other}[sys.argv[1]]())
