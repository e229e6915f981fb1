#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A service manager's ear: writes what comes to a NOTIFY_SOCKET, behind the milliseconds: PATH."""
import socket
import sys
import time

with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
    s.bind(sys.argv[1])
    while True:
        message = s.recv(4096).decode()
        print(int(time.monotonic() * 1000), *message.splitlines(), flush=True)
