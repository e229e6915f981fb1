// SPDX-License-Identifier: BSD-3-Clause
// Fields of a packet for the flow table and connection tracking, read from its headers once.
// Workers; pure functions on packet memory.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>
#include <rte_vect.h>

#include "addr.h"
#include "drop.h"
#include "ip_layout.h"

#define FLOW_KEY_WORDS 5

// Names a flow, the same in both directions: the end that is lower in memory order comes first.
// The ingress port is not part of it: the two directions have different ones. Every packet's
// ingress is compared with that of its flow.
struct flow_key {
	union {
		struct {
			struct ip_addr addr[2];
			// Of TCP, UDP, UDP-Lite, SCTP and DCCP; the identifier of an ICMP query,
			// of either family, twice; 0 for all else.
			rte_be16_t port[2];
			uint8_t proto;
			uint8_t icmp_type; // of a reply that of its request
			uint8_t asker;     // ICMP queries: 1 + the end that asks
			uint8_t icmp_code; // of all ICMP
		};
		uint64_t q[FLOW_KEY_WORDS];
	};
};

static_assert(sizeof(struct flow_key) == 40, "hashed and compared as whole words");

// The key of a flow of IPv4 in fewer octets.
struct flow_brief {
	uint64_t addrs; // both
	uint64_t rest;  // last word of the key
};

// In the place of one where the flow is of IPv6: no packet of IPv4 has it. The second is that of a
// direction whose packets have the flow's second key.
#define FLOW_BRIEF_V6        ((struct flow_brief){0, UINT64_MAX})
#define FLOW_BRIEF_V6_SECOND ((struct flow_brief){1, UINT64_MAX})

static __rte_always_inline struct flow_brief flow_brief_of(const struct flow_key *key)
{
	return (struct flow_brief){
		(uint64_t)key->addr[0].w[3] << 32 | key->addr[1].w[3], key->q[FLOW_KEY_WORDS - 1]};
}

#define FLOW_SCALE_MAX 14 // RFC 7323 2.3
#define FLOW_NO_SCALE  0xff

struct flow_pkt {
	struct flow_key key;
	uint32_t hash;       // of the key, by flow_lookup_start()
	uint32_t seq, ack;   // of TCP, here and below. Host byte order.
	uint16_t window;     // as sent, not scaled
	uint16_t seq_len;    // octets of sequence space: text, SYN and FIN
	uint16_t ip_len;     // octets of IP packet
	uint8_t tcp_flags;   // RTE_TCP_*_FLAG
	uint8_t scale;       // option of a SYN: 0 to 14 (RFC 7323 2.3), or FLOW_NO_SCALE
	uint8_t icmp_type;   // of the packet itself
	uint8_t dir;         // 0: from addr[0] to addr[1]; 1: from addr[1] to addr[0]; see reversed
	bool icmp_error : 1; // key and seq are those of the packet quoted, dir is the error's
	bool icmp_reply : 1; // answers a query
	bool v4 : 1;         // family
	bool plain : 1;      // of IPv4, neither an ICMP error nor a SYN
	bool plain_v6 : 1;   // the same of IPv6
	bool reversed : 1;   // dir is that of its flow, in which the ends have the other order
} __rte_cache_aligned;

static_assert(sizeof(struct flow_pkt) == 64, "one cache line");

static inline bool flow_key_equal(const struct flow_key *a, const struct flow_key *b)
{
#if defined(__AVX2__) // both ends at once
	const __m256i differ = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)a->q),
		_mm256_loadu_si256((const __m256i *)b->q));

	return _mm256_testz_si256(differ, differ) != 0 && a->q[4] == b->q[4];
#else
	return ((a->q[0] ^ b->q[0]) | (a->q[1] ^ b->q[1]) | (a->q[2] ^ b->q[2]) |
		       (a->q[3] ^ b->q[3]) | (a->q[4] ^ b->q[4])) == 0;
#endif
}

// A bit for each sane combination of FIN, SYN, RST, PSH, ACK and URG: after the handshake every
// segment has ACK; SYN, FIN and RST exclude each other (RFC 9293 3.10.7).
#define FLOW_FLAGS(combination) (UINT64_C(1) << (combination))
#define FLOW_FLAGS_PUSH_URGENT(combination)                                                        \
	(FLOW_FLAGS(combination) | FLOW_FLAGS((combination) | RTE_TCP_PSH_FLAG) |                  \
		FLOW_FLAGS((combination) | RTE_TCP_URG_FLAG) |                                     \
		FLOW_FLAGS((combination) | RTE_TCP_PSH_FLAG | RTE_TCP_URG_FLAG))
#define FLOW_FLAGS_SANE                                                                            \
	(FLOW_FLAGS_PUSH_URGENT(RTE_TCP_SYN_FLAG) |                                                \
		FLOW_FLAGS_PUSH_URGENT(RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG) |                      \
		FLOW_FLAGS_PUSH_URGENT(RTE_TCP_ACK_FLAG) |                                         \
		FLOW_FLAGS_PUSH_URGENT(RTE_TCP_FIN_FLAG | RTE_TCP_ACK_FLAG) |                      \
		FLOW_FLAGS_PUSH_URGENT(RTE_TCP_RST_FLAG) |                                         \
		FLOW_FLAGS_PUSH_URGENT(RTE_TCP_RST_FLAG | RTE_TCP_ACK_FLAG))

static __rte_always_inline bool flow_comes_first(
	const struct ip_addr *a, rte_be16_t a_port, const struct ip_addr *b, rte_be16_t b_port)
{
	if (a->q[0] != b->q[0])
		return a->q[0] < b->q[0];
	if (a->q[1] != b->q[1])
		return a->q[1] < b->q[1];
	return a_port <= b_port;
}

static __rte_always_inline void flow_pkt_set_ends(struct flow_pkt *p, struct ip_addr src,
	rte_be16_t src_port, struct ip_addr dst, rte_be16_t dst_port)
{
	unsigned int dir = !flow_comes_first(&src, src_port, &dst, dst_port);

	uint64_t low = dir ? dst_port : src_port;
	uint64_t high = dir ? src_port : dst_port;

	p->dir = (uint8_t)dir;
	p->key.addr[dir] = src;
	p->key.addr[!dir] = dst;
	// Ports and protocol in one piece: the hash would wait for pieces to come together.
	p->key.q[4] = low | high << 16 | (uint64_t)p->key.proto << 32;
}

static_assert(RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN &&
		      offsetof(struct flow_key, port) == 4 * sizeof(uint64_t) &&
		      offsetof(struct flow_key, proto) == 4 * sizeof(uint64_t) + 4,
	"ports and protocol as flow_pkt_set_ends() puts them together");

// For flow_pkt_read_tcp() alone: the window scale of a SYN.
uint8_t flow_pkt_scale(const struct rte_tcp_hdr *tcp);

static __rte_always_inline enum drop flow_pkt_read_tcp(
	struct flow_pkt *p, const struct rte_tcp_hdr *tcp, uint32_t len)
{
	if (len < sizeof(*tcp))
		return DROP_CT_INVALID;

	uint32_t hdr_len = (tcp->data_off >> 4) * 4u;
	uint8_t flags = tcp->tcp_flags & 0x3f; // without ECN (RFC 3168 6.1)

	if (hdr_len < sizeof(*tcp) || hdr_len > len || (FLOW_FLAGS_SANE >> flags & 1) == 0)
		return DROP_CT_INVALID;
	p->seq = rte_be_to_cpu_32(tcp->sent_seq);
	p->ack = rte_be_to_cpu_32(tcp->recv_ack);
	p->window = rte_be_to_cpu_16(tcp->rx_win);
	p->seq_len = (uint16_t)(len - hdr_len + (flags & RTE_TCP_FIN_FLAG) +
				((flags & RTE_TCP_SYN_FLAG) >> 1));
	p->tcp_flags = flags;
	if (unlikely((flags & RTE_TCP_SYN_FLAG) != 0)) {
		p->scale = flow_pkt_scale(tcp);
		p->plain = p->plain_v6 = false;
	}
	return DROP_NONE;
}

static inline bool flow_udp_is_whole(const struct rte_udp_hdr *udp, uint32_t len)
{
	const int32_t room = (int32_t)len - (int32_t)sizeof(*udp);

	// A length that is too small for the header wraps to a large one.
	return room >= 0 && rte_be_to_cpu_16(udp->dgram_len) - sizeof(*udp) <= (size_t)room;
}

// Fields that all plain packets of IPv4 share.
extern const struct flow_pkt flow_pkt_v4;

// Sets the ends of TCP or UDP over IPv4, as flow_pkt_set_ends(), in as few steps as there are.
// Returns them.
static __rte_always_inline struct flow_brief flow_pkt_set_ends_v4(struct flow_pkt *p,
	const struct rte_ipv4_hdr *ip, const struct ip_layout *at, uint8_t proto)
{
	struct flow_brief brief;
	uint64_t sent, back; // both addresses; the lower one comes first, which is the left one
	uint32_t ports;
	bool dir;

	memcpy(&sent, &ip->src_addr, sizeof(sent));
	memcpy(&ports, at->l4, sizeof(ports));
	back = sent << 32 | sent >> 32;
	dir = likely(sent != back) ? sent < back : (uint16_t)ports > ports >> 16;
	brief.addrs = RTE_MIN(sent, back);
	brief.rest = (__builtin_expect_with_probability(dir, 1, 0.5) ? ports << 16 | ports >> 16
								     : ports) |
		     (uint64_t)proto << 32;
	p->dir = dir;
	p->key.addr[0].w[3] = (uint32_t)(brief.addrs >> 32);
	p->key.addr[1].w[3] = (uint32_t)brief.addrs;
	p->key.q[FLOW_KEY_WORDS - 1] = brief.rest;
	return brief;
}

// TCP or UDP over IPv4 without options: compiled for each. *brief: of the key.
static __rte_always_inline enum drop flow_pkt_read_v4(struct flow_pkt *p,
	const struct rte_ipv4_hdr *ip, const struct ip_layout *at, const uint8_t proto,
	struct flow_brief *brief)
{
	const uint16_t all = rte_be_to_cpu_16(ip->total_length);
	const uint32_t len = all - (uint32_t)sizeof(*ip);

	*p = flow_pkt_v4;
	p->ip_len = all;
	if (proto == IPPROTO_TCP) {
		if (flow_pkt_read_tcp(p, (const void *)(ip + 1), len) != DROP_NONE)
			return DROP_CT_INVALID;
	} else if (!flow_udp_is_whole((const void *)(ip + 1), len)) {
		return DROP_CT_INVALID;
	}
	*brief = flow_pkt_set_ends_v4(p, ip, at, proto);
	return DROP_NONE;
}

// For flow_pkt_set_ends_v6() alone: the direction where the upper halves of both addresses agree.
unsigned int flow_pkt_dir_of_network(const struct rte_ipv6_hdr *ip, const struct ip_layout *at);

// Sets the ends of TCP or UDP over IPv6, as flow_pkt_set_ends(), from where the header has them.
static __rte_always_inline void flow_pkt_set_ends_v6(struct flow_pkt *p,
	const struct rte_ipv6_hdr *ip, const struct ip_layout *at, uint8_t proto)
{
	const uint8_t *ends = (const uint8_t *)&ip->src_addr; // the destination follows it
	unsigned int dir, first;
	uint64_t src, dst; // their upper halves
	uint32_t ports;

	memcpy(&src, ends, sizeof(src));
	memcpy(&dst, ends + sizeof(struct ip_addr), sizeof(dst));
	memcpy(&ports, at->l4, sizeof(ports));
	dir = likely(src != dst) ? src > dst : flow_pkt_dir_of_network(ip, at);
	first = dir * (unsigned int)sizeof(struct ip_addr);
	memcpy(&p->key.addr[0], ends + first, sizeof(struct ip_addr));
	memcpy(&p->key.addr[1], ends + (first ^ sizeof(struct ip_addr)), sizeof(struct ip_addr));
	p->key.q[FLOW_KEY_WORDS - 1] =
		(dir != 0 ? ports << 16 | ports >> 16 : ports) | (uint64_t)proto << 32;
	p->dir = (uint8_t)dir;
}

static_assert(offsetof(struct rte_ipv6_hdr, dst_addr) - offsetof(struct rte_ipv6_hdr, src_addr) ==
		      sizeof(struct ip_addr),
	"one behind the other");

// TCP or UDP over IPv6 without extension headers: compiled for each.
static __rte_always_inline enum drop flow_pkt_read_v6(struct flow_pkt *p,
	const struct rte_ipv6_hdr *ip, const struct ip_layout *at, const uint8_t proto)
{
	const uint32_t len = rte_be_to_cpu_16(ip->payload_len);

	memset(&p->key.q[FLOW_KEY_WORDS - 1], 0,
		sizeof(*p) - offsetof(struct flow_pkt, key.q[FLOW_KEY_WORDS - 1]));
	p->plain_v6 = true;
	p->ip_len = (uint16_t)RTE_MIN(len + (uint32_t)sizeof(*ip), (uint32_t)UINT16_MAX);
	if (proto == IPPROTO_TCP) {
		if (flow_pkt_read_tcp(p, (const void *)(ip + 1), len) != DROP_NONE)
			return DROP_CT_INVALID;
	} else if (!flow_udp_is_whole((const void *)(ip + 1), len)) {
		return DROP_CT_INVALID;
	}
	flow_pkt_set_ends_v6(p, ip, at, proto);
	return DROP_NONE;
}

// TCP or UDP of either family with any layout: compiled for each.
static __rte_always_inline enum drop flow_pkt_read_ports(struct flow_pkt *p, const void *ip,
	const struct ip_layout *at, const uint8_t proto, const bool v4)
{
	const void *l4 = RTE_PTR_ADD(ip, at->l4_off);
	const uint32_t all = ip_len(ip, v4), len = all - at->l4_off;

	*p = (struct flow_pkt){.key.proto = proto,
		.ip_len = (uint16_t)(v4 ? all : RTE_MIN(all, (uint32_t)UINT16_MAX)),
		.v4 = v4,
		.plain = v4,
		.plain_v6 = !v4};
	if (proto == IPPROTO_TCP) {
		if (flow_pkt_read_tcp(p, l4, len) != DROP_NONE)
			return DROP_CT_INVALID;
	} else if (!flow_udp_is_whole(l4, len)) {
		return DROP_CT_INVALID;
	}
	flow_pkt_set_ends(p, ip_src(ip, v4), at->src_port, ip_dst(ip, v4), at->dst_port);
	return DROP_NONE;
}

// Reads a whole packet with the layout: header checked, contiguous, not a fragment. Returns
// DROP_NONE; DROP_CT_INVALID if its TCP, UDP or ICMP header is cut off or contradictory;
// DROP_ICMP_UNRELATED for an ICMP error that does not go to the sender of the packet that it
// quotes.
enum drop flow_pkt_read(struct flow_pkt *p, const void *ip, const struct ip_layout *at);

// Whether an ICMP message of the type asks for an answer and has an identifier.
bool flow_icmp_is_query(uint8_t type, bool v4);

// Reads the packet that an ICMP error is to be sent about as such an error shows it: a whole one,
// or a first fragment. Returns as flow_pkt_read() of that error.
enum drop flow_pkt_read_quoted(struct flow_pkt *p, const void *about, bool v4);
