#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ten clients of the telemetry socket that ask nothing: SOCKET. Prints how many get a place, and ends when the
daemon has disconnected them all; but not one that asks now and then, as collectors of metrics do."""
import socket
import sys
import time

clients = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(10)]
greeted = []
for client in clients:
    client.settimeout(120)
    client.connect(sys.argv[1])
    try:
        if client.recv(4096):
            greeted.append(client)
    except ConnectionResetError:
        pass
print(len(greeted), flush=True)
time.sleep(15)
greeted[0].send(b"/culvert/ports,0")
assert b"lan" in greeted[0].recv(65536)
for client in greeted:
    assert client.recv(4096) == b""
