# SPDX-License-Identifier: BSD-3-Clause
"""A vhost backend that accepts one gateway, answers nothing, and hangs up: SOCKET SECONDS."""
import os
import socket
import sys
import time

path, seconds = sys.argv[1], float(sys.argv[2])
with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
    listener.bind(path)
    os.chmod(path, 0o777)
    listener.listen()
    connection, _ = listener.accept()
    print("accepted", flush=True)
    time.sleep(seconds)
    connection.close()
