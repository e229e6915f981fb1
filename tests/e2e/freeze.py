#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Holds one thread still, as a debugger does, until standard input ends: THREAD."""
import ctypes
import os
import sys

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
WALL = 0x40000000  # waits for threads, too
libc = ctypes.CDLL(None, use_errno=True)


def ptrace(request, thread):
    if libc.ptrace(request, thread, None, None) != 0:
        sys.exit("ptrace: " + os.strerror(ctypes.get_errno()))


thread = int(sys.argv[1])
ptrace(SEIZE, thread)
ptrace(INTERRUPT, thread)
os.waitpid(thread, WALL)
print("frozen", flush=True)
sys.stdin.read()
ptrace(DETACH, thread)
