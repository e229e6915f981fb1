#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Asks a daemon one question over DPDK's telemetry socket, like DPDK's own client: INSTANCE COMMAND."""
import json
import sys

from peer import Telemetry

instance, question = sys.argv[1:]
command, _, parameters = question.partition(",")
print(json.dumps(Telemetry(instance).ask(command, parameters)))
