# SPDX-License-Identifier: BSD-3-Clause
"""How long packets take, by the program latency in the place of testpmd."""
import json
import os
import subprocess

from .gateways import BUILD
from .process import Failure
from .testpmd import eal_arguments, names_of, run_dir_remove

LATENCY = os.path.join(BUILD, "app/latency")
SHARES = (0.1, 0.5, 0.9)  # of the rate with the most loss allowed, as CSIT measures at shares of PDR


def latency(options, capture, count, send, receive, mpps):
    """capture: a file of count packets. Returns, for each share of the rate, a dict of the share, the rate in Mpps
    and the numbers that the program prints."""
    prefix, buffers = options.name + "-latency", count + 8192
    devices = (f"net_pcap8,rx_pcap={capture},infinite_rx=1", send, receive)
    program = [LATENCY, *eal_arguments(options, prefix, devices, buffers), "--", *names_of(devices), str(buffers)]
    try:
        return [{"share": share, "mpps": round(share * mpps, 4), **run(program, share * mpps * 1e6, options.seconds)}
                for share in SHARES]
    finally:
        run_dir_remove(prefix)


def run(program, rate, seconds):
    # In another session, as testpmd: Ctrl-C reaches this process only.
    result = subprocess.run([*program, str(rate), str(seconds)], capture_output=True, text=True, check=False,
                            start_new_session=True)
    if result.returncode != 0:
        raise Failure(f"latency ended with status {result.returncode}: {result.stderr.strip()}")
    return json.loads(result.stdout.splitlines()[-1])
