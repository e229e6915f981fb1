#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs commands in the virtual machine of tests/full/vm as if they ran here.

  vm_agent.py serve PORT                   in the machine
  vm_agent.py run PORT COMMAND [WORD...]   outside: prints what the command prints, ends with its status

SIGTERM and SIGINT are passed on. The command is killed when the one outside is.
A connection carries the words as a line of JSON, then one line per signal; back comes the output, a zero octet, and the status.
"""
import json
import signal
import socket
import subprocess
import sys
import threading


def pass_output(connection, process):
    while data := process.stdout.read1(65536):
        connection.sendall(data)
    status = process.wait()
    connection.sendall(b"\0%d" % (status if status >= 0 else 128 - status))
    connection.shutdown(socket.SHUT_WR)


def serve_command(connection):
    with connection, connection.makefile("r") as lines:
        words = json.loads(lines.readline())
        try:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT)
        except OSError as error:
            connection.sendall(f"{error}\n\0127".encode())
            return
        output = threading.Thread(target=pass_output, args=(connection, process))
        output.start()
        for line in lines:
            process.send_signal(int(line))
        process.kill()
        output.join()


def serve(port):
    with socket.create_server(("", port)) as server:
        print("agent: ready", flush=True)
        while True:
            connection, _ = server.accept()
            threading.Thread(target=serve_command, args=(connection,)).start()


def run(port, words):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for number in signal.SIGTERM, signal.SIGINT:
            signal.signal(number, lambda number, _: connection.sendall(b"%d\n" % number))
        connection.sendall(json.dumps(words).encode() + b"\n")
        status = b""
        ended = False
        while data := connection.recv(65536):
            output, zero, after = data.partition(b"\0") if not ended else (b"", b"", data)
            sys.stdout.buffer.write(output)
            sys.stdout.flush()
            ended = ended or zero != b""
            status += after
    if not status:
        sys.exit("the virtual machine does not answer")
    sys.exit(int(status))


if sys.argv[1] == "serve":
    serve(int(sys.argv[2]))
else:
    run(int(sys.argv[2]), sys.argv[3:])
