# SPDX-License-Identifier: BSD-3-Clause
"""Servers and clients of the test nat_reload: each connection waits for the answer before the next request, until SIGTERM."""
import asyncio
import signal
import sys

PATIENCE = 300 # seconds for an answer, also on a slow machine; nothing is repeated


class Echo(asyncio.DatagramProtocol):
    """Answers where the request came from."""

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        self.transport.sendto(data + b" %s:%d" % (addr[0].encode(), addr[1]), addr)


async def echo_stream(reader, writer):
    host, port = writer.get_extra_info("peername")
    while data := await reader.readline():
        writer.write(data.rstrip() + b" %s:%d\n" % (host.encode(), port))


async def serve(first, last):
    loop = asyncio.get_running_loop()
    for port in range(first, last + 1):
        await loop.create_datagram_endpoint(Echo, local_addr=("0.0.0.0", port))
    tcp = await asyncio.start_server(echo_stream, "0.0.0.0", first, backlog=1000)
    print("listening", flush=True)
    await tcp.serve_forever()


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self):
        self.received = asyncio.Queue()

    def datagram_received(self, data, addr):
        self.received.put_nowait(data)

    async def readline(self):
        return await self.received.get()


async def connect(proto, server, port):
    """Functions that send a line and receive one."""
    if proto == "tcp":
        reader, writer = await asyncio.open_connection(server, port)
        return writer.write, reader.readline
    transport, protocol = await asyncio.get_running_loop().create_datagram_endpoint(Datagrams, remote_addr=(server, port))
    return transport.sendto, protocol.readline


class Clients:
    def __init__(self):
        self.ending = False
        self.answers = self.connections = self.begun = 0

    async def go_on(self, name, proto, server, port):
        send, receive = await connect(proto, server, port)
        seen = None
        while not self.ending:
            self.answers += 1
            request = f"{name} {self.answers}".encode()
            send(request + b"\n")
            try:
                answer = await asyncio.wait_for(receive(), PATIENCE)
            except asyncio.TimeoutError:
                sys.exit(f"{name}: no answer to {request}")
            came_from = answer.split()[-1]
            if answer.split()[:-1] != request.split() or seen not in (None, came_from):
                sys.exit(f"{name}: {answer} for {request}, was {seen}")
            if seen is None:
                self.begun += 1
            seen = came_from
            await asyncio.sleep(0.5)

    async def run(self, targets):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: setattr(self, "ending", True))
        tasks = []
        for target in targets:
            server, port, number = target.split(":")
            for i in range(int(number)):
                # A range of ports is forwarded for UDP, one for TCP.
                tasks += [self.go_on(f"udp{i}", "udp", server, int(port) + (i if port == "8000" else 0)),
                          self.go_on(f"tcp{i}", "tcp", server, int(port))]
        tasks = [asyncio.ensure_future(task) for task in tasks]
        while self.begun < len(tasks) and not any(task.done() for task in tasks):
            await asyncio.sleep(0.1)
        print(f"{self.begun} connections: all answered" if self.begun == len(tasks) else "", flush=True)
        for task in tasks:
            await task
        print(f"{self.answers} requests of {len(tasks)} connections are answered, each from the same address and port", flush=True)


if sys.argv[1] == "server":
    asyncio.run(serve(int(sys.argv[2]), int(sys.argv[3])))
else:
    asyncio.run(Clients().run(sys.argv[2:]))
