#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Looks for keys in cores and other files, or in the memory of running processes.

cores.py FILE|PID,... KEY...: keys as hexadecimal digits, without salts. Prints, for each key that is there
in some form, its number and the forms, and counts them at the end.
"""
import array
import mmap
import os
import sys

PAGE = mmap.PAGESIZE


def times2(a):
    return (a << 1) ^ (0x11B if a & 0x80 else 0)


def s_box():
    """FIPS 197 5.1.1: inverse, then affine; by powers of the generator 3."""
    box, p, q = [0x63] * 256, 1, 1
    for _ in range(255):
        p ^= times2(p)
        for shift in (1, 2, 4):
            q ^= q << shift & 0xFF
        q ^= 0x09 if q & 0x80 else 0
        box[p] = q ^ 0x63
        for shift in range(1, 5):
            box[p] ^= (q << shift | q >> 8 - shift) & 0xFF
    return box


def round_keys(key, n, box=s_box()):
    """The first n round keys behind the key itself, FIPS 197 5.2."""
    words = [key[i : i + 4] for i in range(0, len(key), 4)]
    nk, rcon = len(words), 1
    while len(words) < nk + 4 * n:
        t = words[-1]
        if len(words) % nk == 0:
            t = bytes(box[b] for b in t[1:] + t[:1])
            t = bytes([t[0] ^ rcon]) + t[1:]
            rcon = times2(rcon)
        elif nk > 6 and len(words) % nk == 4:
            t = bytes(box[b] for b in t)
        words.append(bytes(a ^ b for a, b in zip(words[-nk], t)))
    return [b"".join(words[i : i + 4]) for i in range(nk, nk + 4 * n, 4)]


def forms(key):
    yield "raw", key
    yield "digits", key.hex().encode()
    yield "upper-case digits", key.hex().upper().encode()
    yield "reversed", key[::-1]
    for size in 4, 8:
        yield f"swapped by {size}", b"".join(key[i : i + size][::-1] for i in range(0, len(key), size))
    if len(key) in (16, 24, 32):
        for i, k in enumerate(round_keys(key, 3)):
            yield f"round key {i + 1}", k
    for name, pad in ("ipad", 0x36), ("opad", 0x5C):
        yield name, bytes(b ^ pad for b in key)


def used(pagemap, start, end):
    """Ranges of pages that are in memory or swapped: tables reserve gigabytes. See proc_pid_pagemap(5)."""
    pagemap.seek(start // PAGE * 8)
    entries = array.array("Q", pagemap.read((end - start) // PAGE * 8) + bytes(8))
    first = None
    for at, entry in zip(range(start, end + PAGE, PAGE), entries):
        if entry >> 62 and first is None:
            first = at
        elif not entry >> 62 and first is not None:
            yield first, at
            first = None


def memory(pid):
    files = [open(f"/proc/{pid}/{name}", "rb") for name in ("mem", "pagemap")]
    with files[0] as mem, files[1] as pagemap, open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        for line in maps:
            start, end = (int(x, 16) for x in line.split()[0].split("-"))
            if line.split()[1] == "rw-p" or "memfd" in line:  # DPDK's memory, without hugepages
                for first, last in used(pagemap, start, end):
                    mem.seek(first)
                    yield mem.read(last - first)


def blocks(what):
    if what.isdigit():
        yield from memory(what)
    else:
        yield from data(what)


def pieces(octets):
    """What is there between pages of zeros, which are most of it."""
    start, zeros = 0, bytes(PAGE)
    for at in range(0, len(octets), PAGE):
        if octets.startswith(zeros, at):
            if start < at:
                yield octets[start:at]
            start = at + PAGE
    if start < len(octets):
        yield octets[start:]


def data(path):
    """What a file has between its holes: a replay file is 1 GB of them."""
    with open(path, "rb") as f:
        end = os.fstat(f.fileno()).st_size
        start = 0
        while start < end:
            try:
                start = os.lseek(f.fileno(), start, os.SEEK_DATA)
            except OSError:  # no data any more
                return
            hole = os.lseek(f.fileno(), start, os.SEEK_HOLE)
            yield os.pread(f.fileno(), hole - start, start)
            start = hole


# FIPS 197, A.1: the first round key of its example.
assert round_keys(bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c"), 1)[0].hex() == "a0fafe1788542cb123a339392a6c7605"

octets = [o for what in sys.argv[1].split(",") for b in blocks(what) for o in pieces(b)]
keys = [bytes.fromhex(k) for k in sys.argv[2:]]
for number, key in enumerate(keys):
    found = [name for name, form in forms(key) if any(form in o for o in octets)]
    print(f"key {number}:", ", ".join(found) or "none")
