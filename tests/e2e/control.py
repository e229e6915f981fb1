#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Clients of the control socket that culvertctl is not: SOCKET CLIENT. Each ends with status 0 if
the daemon did what it should."""
import random
import signal
import socket
import sys
import time

CLIENTS_MAX = 16
REQUEST_MAX = 64 * 1024
PATH = sys.argv[1]


def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(PATH)  # waits while the daemon's queue is full
    s.settimeout(60)
    return s


def answer(s):
    """Up to the end."""
    text = b""
    while True:
        piece = s.recv(1 << 20)
        if not piece:
            return text.decode()
        text += piece


def ask(request):
    s = connect()
    s.send(request)
    return answer(s)


def allowed():
    said = ask(b"diff")
    assert said.startswith(("same 0\n", "different ")), said


def refused():
    """Also if the request is there before the daemon has looked who asks."""
    said = answer(connect())
    assert said.startswith("refused "), said
    assert "only root and members of control_group have access" in said, said


def wrong():
    """Requests that are none."""
    for request in (b"x", b"\n", b"\0", b"reloadx", b"change", b"change argument", b"change \n",
                    b"change x\nsa del \0", b"\xff" * 100, b"diff" + b"x" * (REQUEST_MAX - 4)):
        said = ask(request)
        assert said.startswith("refused "), (request[:20], said)
    said = ask(b"change x\n" + b"#" * REQUEST_MAX)
    assert f"must have at most {REQUEST_MAX}" in said, said
    said = ask(b"change x\n" + b"#" * (REQUEST_MAX - 10) + b"\n")
    assert "x:1: no change is given" in said, said
    # A packet of nothing is the end of a client.
    assert ask(b"") == ""


def silent():
    """All places are taken by clients that ask for nothing: others wait, then are served."""
    start = time.monotonic()
    clients = [connect() for _ in range(CLIENTS_MAX)]
    allowed()
    assert time.monotonic() - start > 1
    for s in clients:
        assert answer(s) == ""


def deaf():
    """Clients that never take their answer, which is more than a socket holds."""
    request = b"change x\n" + b"sa x\n" * 13000
    start = time.monotonic()
    clients = [connect() for _ in range(CLIENTS_MAX)]
    for s in clients:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.send(request)
    allowed()
    assert time.monotonic() - start > 1
    for s in clients:
        s.close()


def flood():
    """Requests, good and bad, whose clients stay, go at once or go halfway."""
    random.seed(1)
    requests = (b"diff", b"x", b"change x\nsa del nothing\n", b"change x\nsa add { }\n",
                b"change x\npolicy set rest { proto = \"any\"; }\n")
    for _ in range(40):
        clients = [connect() for _ in range(random.randint(1, CLIENTS_MAX))]
        for s in clients:
            sent = random.randint(0, 2)
            for _ in range(sent):
                try:
                    s.send(random.choice(requests))
                except (BrokenPipeError, ConnectionResetError):
                    pass
            if sent > 0 and random.random() < 0.2:
                try:
                    answer(s)
                except ConnectionResetError:
                    pass
            s.close()
    allowed()


signal.alarm(120)
globals()[sys.argv[2]]()
