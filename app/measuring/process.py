# SPDX-License-Identifier: BSD-3-Clause
"""Processes that a measurement starts, and waiting for them."""
import subprocess
import sys
import time

START_S = 30
STOP_S = 10


class Failure(Exception):
    """Ends the measurement with a message."""


def note(text):
    print(text, file=sys.stderr, flush=True)


def wait_until(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class Child:
    """A process that we started, with its output in a file."""

    def __init__(self, name, command, log, stdin=subprocess.DEVNULL):
        self.name, self.log, self.failed = name, log, False
        with open(log, "w", encoding="utf-8") as output:
            # In another session: Ctrl-C reaches this process only, which stops the others in order.
            self.process = subprocess.Popen(command, stdin=stdin, stdout=output,
                                            stderr=subprocess.STDOUT, start_new_session=True)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def tail(self):
        return self.said()[-4000:]

    def wait_for(self, text):
        """Until the text is in the output."""
        found = wait_until(lambda: text in self.said() or self.process.poll() is not None, START_S)
        if not found or text not in self.said():
            raise Failure(f"{self.name} did not start. It said:\n{self.tail()}")

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.failed = self.process.returncode != 0
        if self.failed:
            note(f"{self.name} ended with status {self.process.returncode}. It said:\n{self.tail()}")
