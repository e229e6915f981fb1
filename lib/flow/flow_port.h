// SPDX-License-Identifier: BSD-3-Clause
// Ports of translated sources. A port is in use towards a destination as long as a slot of the flow
// table has both: see flow_nat.h. Beside the slots, ports are counted towards each destination, in
// bounded memory: by block of ports, to find the last free ones; by source and by holder of the
// flow, to limit how many each has (RFC 6888 REQ-4). Workers, any number at once.
#pragma once

#include "flow.h"

#define FLOW_PORT_BLOCK    64 // ports, of which the first one is a multiple of this
#define FLOW_PORTS_AT_ONCE 4

// Begins the choice of a port for the first packet of a flow: returns a number, not 0, that names
// all that shares the ports: the address of the source, the destination with its port, and the
// protocol, with the type and code of an ICMP query. Prefetches the counts of its source.
uint64_t flow_towards(
	const struct flow_table *t, const struct flow_pkt *p, const struct ip_ends *to);

// Ports towards it that a source has, and a holder: at least the true numbers.
uint32_t flow_ports_of_source(
	const struct flow_table *t, uint64_t towards, const struct ip_addr *source);
uint32_t flow_ports_of_holder(const struct flow_table *t, uint64_t towards, uint32_t holder);

// Whether all ports of the block are counted. The count may be too high: towards another
// destination.
bool flow_port_block_is_full(const struct flow_table *t, uint64_t towards, uint32_t block);

// Begins the look-up of n ports, FLOW_PORTS_AT_ONCE at most, that the packet may get: prefetches
// the first of the two buckets of each. hash: of the replies' keys. Memory is read one step after
// it was asked for, if the calls for the packets of a burst take turns.
void flow_ports_begin(const struct flow_table *t, const struct flow_pkt *p,
	const struct ip_ends *to, const rte_be16_t port[], unsigned int n, uint32_t hash[]);

// The next step for the port that the sender has: prefetches the lines that flow_port_is_free()
// reads. Returns whether the port is free as far as its first bucket shows.
bool flow_port_look(const struct flow_table *t, uint32_t hash);

// The same for others: prefetches the second bucket of the first one that is free as far as its
// first bucket shows.
void flow_ports_look(const struct flow_table *t, const uint32_t hash[], unsigned int n);

// Which of them is the first that no flow, translated or not, has towards the destination; n: each
// is in use, or seems so, as one of some thousands that are free: tags are compared, and no keys.
// Only flow_insert() makes sure that it is free.
unsigned int flow_ports_find(const struct flow_table *t, const uint32_t hash[], unsigned int n);

// Whether no flow has that port: compares keys, and so reads an entry if the port seems in use.
bool flow_port_is_free(const struct flow_table *t, const struct flow_pkt *p,
	const struct ip_ends *to, rte_be16_t port, uint32_t hash);
