// SPDX-License-Identifier: BSD-3-Clause
// A flow table with its workers' QSBR, and packets for it: for the tests of lib/flow.
#pragma once

#include <netinet/in.h>

#include <rte_tcp.h>

#include "flow.h"
#include "test.h"

#define FIN RTE_TCP_FIN_FLAG
#define SYN RTE_TCP_SYN_FLAG
#define RST RTE_TCP_RST_FLAG
#define PSH RTE_TCP_PSH_FLAG
#define ACK RTE_TCP_ACK_FLAG
#define URG RTE_TCP_URG_FLAG

struct flows {
	struct flow_table *t;
	struct rte_rcu_qsbr *qsbr;
	unsigned int workers;
	uint32_t capacity;
	struct flow_config config;
	uint32_t holder; // of new flows: 0
};

// The workers are registered and online; config NULL: the defaults.
void flows_init(
	struct flows *s, uint32_t capacity, unsigned int workers, const struct flow_config *config);
void flows_fini(struct flows *s);

// All workers report quiescent states, and age n entries each.
void flows_tick(struct flows *s, uint32_t now, unsigned int n);

// Ticks until all entries were aged, and removed ones are free again.
void flows_round(struct flows *s, uint32_t now);

struct segment {
	uint32_t src, dst; // addresses and ports in host byte order
	uint16_t sport, dport;
	uint8_t flags;
	uint32_t seq, ack;
	uint16_t window;
	uint16_t len; // of text
	int scale;    // -1: no option
};

#define HOST_A 0x0a000001
#define HOST_B 0xc0000201

// Reads a packet as the packet path does; with malformed extension headers, or a fragment:
// DROP_CT_INVALID.
static inline enum drop flow_pkt_of_ip(struct flow_pkt *p, const void *ip)
{
	struct ip_layout at;

	return ip_layout_read(&at, ip) && !at.fragment ? flow_pkt_read(p, ip, &at)
						       : DROP_CT_INVALID;
}

#define PACKET_MAX 128 // headers; the text is only counted

// Each writes an IPv4 packet to buf and returns it. Checksums are not set.
struct rte_ipv4_hdr *packet_tcp(uint8_t buf[PACKET_MAX], const struct segment *s);
struct rte_ipv4_hdr *packet_udp(
	uint8_t buf[PACKET_MAX], uint32_t src, uint32_t dst, uint16_t sport, uint16_t dport);
struct rte_ipv4_hdr *packet_icmp(
	uint8_t buf[PACKET_MAX], uint32_t src, uint32_t dst, uint8_t type, uint16_t id);
// Protocol without ports.
struct rte_ipv4_hdr *packet_other(
	uint8_t buf[PACKET_MAX], uint32_t src, uint32_t dst, uint8_t proto);
// An ICMP error from src to dst that quotes len octets of a packet.
struct rte_ipv4_hdr *packet_error(uint8_t buf[PACKET_MAX], uint32_t src, uint32_t dst,
	const struct rte_ipv4_hdr *about, uint16_t len);

// Parses a valid packet.
struct flow_pkt flow_pkt_of(const struct rte_ipv4_hdr *ip);

// The work of a worker on a packet: finds or makes its flow, tracks it.
enum drop flows_pass(struct flows *s, unsigned int worker, const struct flow_pkt *p, uint32_t now,
	struct flow **flow);

// The sum of all workers' counters.
struct flow_counters flows_count(const struct flows *s);

// Packets parsed at once.
struct flow_pkt pkt_tcp(uint32_t src, uint16_t sport, uint32_t dst, uint16_t dport, uint8_t flags,
	uint32_t seq, uint32_t ack);
struct flow_pkt pkt_udp(uint32_t src, uint16_t sport, uint32_t dst, uint16_t dport);
struct flow_pkt pkt_icmp(uint32_t src, uint32_t dst, uint8_t type, uint16_t id);
struct flow_pkt pkt_other(uint32_t src, uint32_t dst, uint8_t proto);

#define same_flow(a, b)                                                                            \
	flow_key_equal(                                                                            \
		&(struct flow_pkt[]) { a } -> key, &(struct flow_pkt[]) { b } -> key)

// Finds the flows of n packets, as a pass does.
void flows_find(
	const struct flow_table *t, struct flow_pkt p[], struct flow *flows[], unsigned int n);

// The flow of one packet, or NULL.
struct flow *flows_find_one(const struct flow_table *t, const struct flow_pkt *p);

// Tracks a packet that must be accepted, and checks the state of its flow after it.
#define flows_pass_to(s, p, now, state, ct)                                                        \
	flows_pass_ptr_to(s, (struct flow_pkt[]){p}, now, state, ct)
void flows_pass_ptr_to(struct flows *s, const struct flow_pkt *p, uint32_t now,
	enum flow_state state, enum flow_ct ct);

// UDP flow number i, from HOST_A + i to HOST_B: establishes it; returns whether it is in the table.
void flows_establish(struct flows *s, uint32_t i, uint32_t now);
bool flows_has(struct flows *s, uint32_t i);
