# SPDX-License-Identifier: BSD-3-Clause
"""Server and clients of the tests of a pair: TCP connections that all exchange a message, again and again, and a
datagram of each client. Every client has the same source ports: a translation has to choose others for all but one.
Prints "round N" when all have had an answer from the other end, as which the server sees the same port as before.

server ADDRESS
clients SERVER COUNT CLIENT..."""
import asyncio
import resource
import socket
import sys

PORT = 9
FIRST = 20000  # source port of the first connection of each client
AT_ONCE = 50   # connections that open
PATIENCE = 120 # seconds for an answer


class Echo(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        self.transport.sendto(data + b" %d\n" % addr[1], addr)


async def echo_stream(reader, writer):
    port = writer.get_extra_info("peername")[1]
    try:
        while data := await reader.readline():
            writer.write(data.rstrip() + b" %d\n" % port)
    except ConnectionResetError: # the client has ended
        pass


async def serve(address):
    await asyncio.get_running_loop().create_datagram_endpoint(Echo, local_addr=(address, PORT))
    tcp = await asyncio.start_server(echo_stream, address, PORT, backlog=4096)
    print("listening", flush=True)
    await tcp.serve_forever()


class Stream:
    def __init__(self, server, client, port):
        self.server = server
        self.local = (client, port)

    async def open(self, gate):
        async with gate:
            self.reader, self.writer = await asyncio.wait_for(
                asyncio.open_connection(self.server, PORT, local_addr=self.local), PATIENCE)

    async def ask(self, message):
        self.writer.write(message + b"\n")
        return await asyncio.wait_for(self.reader.readline(), PATIENCE)


class Datagram:
    """Repeats what is not answered."""

    def __init__(self, server, client, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.socket.bind((client, port))
        self.socket.connect((server, PORT))

    async def open(self, gate):
        pass

    async def ask(self, message):
        loop = asyncio.get_running_loop()
        received = None # a task that is cancelled in the moment in which it has received loses the answer
        for _ in range(PATIENCE):
            await loop.sock_sendall(self.socket, message)
            while True:
                received = received or asyncio.ensure_future(loop.sock_recv(self.socket, 100))
                if not (await asyncio.wait([received], timeout=1))[0]:
                    break
                answer, received = received.result(), None
                if answer.startswith(message + b" "): # no late one
                    return answer
        return b""


async def exchange(connection, number):
    """Returns the port that the server sees."""
    message = b"round %d" % number
    answer = await connection.ask(message)
    assert answer.startswith(message + b" "), f"{answer} for {message}"
    return int(answer[len(message) + 1:])


async def clients(server, count, addresses):
    gate = asyncio.Semaphore(AT_ONCE)
    each = count // len(addresses)
    all_of_them = [Stream(server, a, FIRST + i) for a in addresses for i in range(each)]
    all_of_them += [Datagram(server, a, FIRST) for a in addresses]
    await asyncio.gather(*(c.open(gate) for c in all_of_them))
    before = None
    number = 0
    while True:
        ports = await asyncio.gather(*(exchange(c, number) for c in all_of_them))
        changed = [] if before is None else [p for p in zip(before, ports) if p[0] != p[1]]
        assert not changed, f"ports before and now: {changed}"
        before = ports
        print(f"round {number}", flush=True)
        number += 1
        await asyncio.sleep(0.5)


def main():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if sys.argv[1] == "server":
        asyncio.run(serve(sys.argv[2]))
    else:
        asyncio.run(clients(sys.argv[2], int(sys.argv[3]), sys.argv[4:]))


main()
