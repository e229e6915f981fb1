#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Hosts of tests/e2e/mtu.
#   serve ADDRESS...             answers on all of them, until it is ended
#   ask FAMILY MTU FROM,TO,FITS,LARGE...   asks from and to these addresses, and prints failures
import hashlib
import os
import select
import socket
import sys
import threading

PORT = 5001
TRIES = 40  # of a quarter of a second: packets lost while sizes are learnt are sent again
IP_MTU_DISCOVER, IP_PMTUDISC_DONT, IP_PMTUDISC_DO, IP_MTU = 10, 0, 2, 14
IPV6_MTU_DISCOVER, IPV6_MTU = 23, 24
TEXT = os.urandom(100000)


def bound(address, kind, port=0):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    s = socket.socket(family, kind)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, port))
    return s


def discover(s, how):
    if s.family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER, how)
    else:
        s.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, how)


def path_mtu(s):
    if s.family == socket.AF_INET6:
        return s.getsockopt(socket.IPPROTO_IPV6, IPV6_MTU)
    return s.getsockopt(socket.IPPROTO_IP, IP_MTU)


def digest_back(s):
    with s, s.makefile("rb") as f:
        s.sendall(hashlib.sha256(f.read(len(TEXT))).digest() + TEXT)


def serve(addresses):
    sockets = []
    for a in addresses:
        udp, tcp = bound(a, socket.SOCK_DGRAM, PORT), bound(a, socket.SOCK_STREAM, PORT)
        discover(udp, IP_PMTUDISC_DONT)
        tcp.listen(16)
        sockets += [udp, tcp]
    print("ready", flush=True)
    while True:
        for s in select.select(sockets, [], [])[0]:
            if s.type == socket.SOCK_STREAM:
                threading.Thread(target=digest_back, args=(s.accept()[0],), daemon=True).start()
                continue
            try:
                text, peer = s.recvfrom(65536)
                s.sendto(text, peer)
            except OSError:  # an ICMP error about an answer
                pass


# Text goes there and other text comes back over TCP, unchanged.
def tcp(source, to):
    with bound(source, socket.SOCK_STREAM) as s:
        s.settimeout(60)
        s.connect((to, PORT))
        s.sendall(TEXT)
        with s.makefile("rb") as f:
            digest = f.read(32)
            back = f.read()
    return digest == hashlib.sha256(TEXT).digest() and len(back) == len(TEXT)


# Sends a datagram, of a size that is asked for each time, until one comes back; returns its size.
def echo(s, size):
    s.settimeout(0.25)
    for _ in range(TRIES):
        sent = size()
        try:
            s.send(bytes(sent))
            while True:
                if len(s.recv(65536)) == sent:
                    return sent
        except (OSError, socket.timeout):
            pass
    return None


# A datagram that is fragmented on most paths.
def udp(source, to, size):
    with bound(source, socket.SOCK_DGRAM) as s:
        discover(s, IP_PMTUDISC_DONT)
        s.connect((to, PORT))
        return echo(s, lambda: size) is not None


# The largest packet that gets through whole is as large as it should be.
def whole(source, to, fits):
    headers = 48 if ":" in to else 28
    with bound(source, socket.SOCK_DGRAM) as s:
        discover(s, IP_PMTUDISC_DO)
        s.connect((to, PORT))
        got = echo(s, lambda: path_mtu(s) - headers)
    return got is not None and got + headers == fits


def ask(ways):
    failed = 0
    for way in ways:
        source, to, fits, large = way.split(",")
        checks = {"tcp": tcp(source, to), "udp": udp(source, to, int(large)), "whole": whole(source, to, int(fits))}
        for name, good in checks.items():
            if not good:
                print(f"{name} from {source} to {to} failed, {fits} should fit")
                failed += 1
    print(f"{len(ways)} ways, {3 * len(ways) - failed} good, {failed} bad")
    sys.exit(failed != 0)


if sys.argv[1] == "serve":
    serve(sys.argv[2:])
else:
    ask(sys.argv[2:])
