// SPDX-License-Identifier: BSD-3-Clause
// Memory that the members of a fleet in bench_fleet share, each a process: orders for them, their
// counts, and the numbers of all SAs. It outlives a member that is killed.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FLEET_BENCH_MEMBERS 65 // by number, from 1
#define FLEET_BENCH_RUNS    4000000

// Counts of a member.
enum fleet_count {
	COUNT_LEASES, // requests to etcd: about a lease, or to join
	COUNT_POLLS,
	COUNT_READS, // of keys
	COUNT_WRITES,
	COUNT_WRITES_FAILED, // another member was first
	COUNT_SENT,          // octets of bodies
	COUNT_RECEIVED,
	COUNT_USED,    // numbers of packets sent,
	COUNT_UNSAVED, // and of packets dropped, outbound and inbound, because the bound is too low
	COUNT_ACCEPTED,
	COUNT_REPLAYED, // refused, or accepted by another member: the latter is a mistake
	COUNT_TWICE,
	COUNTS
};

struct fleet_member_shared {
	_Atomic bool stop;          // it is to give all groups up, and end
	_Atomic bool drain;         // others are to take its groups
	_Atomic unsigned int order; // the number of a group that it is to take, from 1; 0: none
	_Atomic uint64_t count[COUNTS];
};

// Numbers that a member has sent packets with, without a gap. Written by that member.
struct fleet_run {
	uint32_t sa;
	_Atomic uint64_t first, last;
};

// An SA at its peer. Written by the member that owns its group.
struct fleet_peer {
	_Atomic uint64_t sent;     // last number
	_Atomic uint64_t accepted; // the highest of those
};

struct fleet_shared {
	_Atomic bool go;          // members connect to etcd
	_Atomic uint32_t tick_ms; // between looks at all numbers, which take most time of CPUs
	// Packets a second of each SA: of one tunnel in `share` of each group, and of the others.
	_Atomic uint32_t fast, share, slow;
	struct fleet_member_shared member[FLEET_BENCH_MEMBERS];
	_Atomic uint32_t n_runs;
	struct fleet_run run[FLEET_BENCH_RUNS];
	struct fleet_peer peer[]; // by number of the inbound SA
};
