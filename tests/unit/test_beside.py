#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Comparisons with other gateways: pairs of runs, and what tests/bench/beside_vpp reads of VPP."""
import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bench")
sys.path.insert(0, BENCH)
import beside  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("beside_vpp", os.path.join(BENCH, "beside_vpp"))
beside_vpp = importlib.util.module_from_spec(importlib.util.spec_from_loader("beside_vpp", LOADER))
LOADER.exec_module(beside_vpp)

RUNTIME = """\
Thread 0 vpp_main (lcore 0)
             Name                 State         Calls          Vectors        Suspends      Packet-Clocks   Vectors/Call
api-rx-from-ring              event wait                0               0               1          1.00e3            0.00
ip4-lookup                       active                 1               7               0          1.00e1            7.00
---------------
Thread 1 vpp_wk_0 (lcore 1)
Time 0.0, 10.000000 sec internal node vector rate 256.00 loops/sec 9884.57
             Name                 State         Calls          Vectors        Suspends      Packet-Clocks   Vectors/Call
esp4-decrypt-tun                 active                 28            7168               0          1.61e2          256.00
ip4-lookup                       active                 56           14336               0          2.25e1          256.00
pg-input                         polling                28            7168               0          8.08e1          256.00
unix-epoll-input                 polling                 3               0               0          1.00e3            0.00
"""


def row(cycles, spread=0.0):
    return {"cycles": cycles, "ports": 10, "cycles_q1": cycles - spread, "cycles_q3": cycles + spread, "core_clock": 1.2,
            "hugepages": True}


class Pairs(unittest.TestCase):
    def compare(self, ours, theirs, rounds):
        order = []

        def side(name, rows):
            rows = iter(rows)
            return lambda: order.append(name) or next(rows)
        return *beside.compare(side("c", ours), side("v", theirs), "vpp", rounds), "".join(order)

    def test_medians_over_pairs(self):
        common, theirs, order = self.compare([row(110), row(60), row(210)], [row(210), row(110), row(110)], 3)
        self.assertEqual(order, "vccvvc")
        self.assertEqual((common["ratio"], common["culvert"], common["vpp"]), (0.5, 100, 100))
        self.assertEqual((common["pairs"], common["disturbed"], len(theirs)), (3, 0, 3))

    def test_disturbed_pairs_are_measured_again(self):
        common, _, _ = self.compare([row(110), row(110), row(110)], [row(910, 100), row(210), row(210)], 2)
        self.assertEqual((common["ratio"], common["pairs"], common["disturbed"]), (0.5, 2, 0))

    def test_disturbed_pairs_count_if_there_are_no_others(self):
        common, _, _ = self.compare([row(110)] * 3, [row(210, 100)] * 3, 1)
        self.assertEqual((common["ratio"], common["pairs"], common["disturbed"]), (0.5, 1, 1))


class Vpp(unittest.TestCase):
    def test_nodes_of_the_worker(self):
        self.assertEqual(beside_vpp.nodes_of(RUNTIME), {
            "esp4-decrypt-tun": (7168, 161, 256), "ip4-lookup": (14336, 22.5, 256), "pg-input": (7168, 80.8, 256)})

    def test_packets_are_checked(self):
        for alg in beside_vpp.ALGS:
            with tempfile.TemporaryDirectory() as folder:
                packets = beside_vpp.Packets(pathlib.Path(folder), alg, 64, 1)
                packets.check("in", packets.clear)
                sealer, = beside_vpp.associations(alg, 1, outbound=True)
                sent = [bytes(14) + bytes(sealer.encrypt(beside_vpp.IP(frame[14:]))) for frame in packets.clear]
                packets.check("out", sent)
                for wrong in (sent[1:], [*sent[1:], sent[1]]):
                    with self.assertRaises(SystemExit):
                        packets.check("out", wrong)
                with self.assertRaises(SystemExit):
                    packets.check("in", [packets.clear[0][:-1] + b"x", *packets.clear[1:]])


if __name__ == "__main__":
    unittest.main()
