// SPDX-License-Identifier: BSD-3-Clause
// Events that a worker posts to the control thread, through a ring of its own. It never waits for
// an answer; an event that finds the ring full is lost, and posted again if its cause persists.
#pragma once

#include <assert.h>
#include <stdbool.h>

#include <rte_ether.h>

#include "addr.h"
#include "sa.h"

enum event_kind {
	EVENT_NEIGH_NEEDED,  // a packet is held for the link address of addr
	EVENT_NEIGH_HEARD,   // sender of an ARP packet: addr is at mac
	EVENT_ADDR_CONFLICT, // another station, mac, uses our address addr (RFC 5227 2.4)
	EVENT_ND_SOLICITED,  // sender of a solicitation: addr is at mac
	EVENT_ND_ADVERTISED, // an advertisement of addr
	EVENT_DAD_HEARD,     // another station, mac, checks or uses our address addr
	EVENT_MLD_QUERY,     // a router queries listeners of the group addr; none (::): of all
	EVENT_PMTU,          // router peer reports the MTU of a link on the path to addr
	EVENT_PEER_ENDPOINT, // the peer of the inbound SA spi sends from addr and addr_port
	EVENT_RULE,          // a rule with log has decided about a packet from addr to peer
	EVENT_AUDIT,         // a packet from addr to peer was dropped for an audited reason
	EVENT_SA_NEEDED,     // a packet is to go by policy, or tunnel, which has no SA
	EVENT_NAT_EXHAUSTED, // a rule of nat found no port for a packet from addr to peer
	EVENT_PING,          // a reply to a request of an operator, from addr, or an error about it
};

// Shares of the ring, of which each port has its own part.
enum event_share {
	SHARE_NONE,
	SHARE_LINK,    // ARP, neighbour discovery and MLD of stations on its link
	SHARE_RESOLVE, // next hops on its link to be resolved
	SHARE_PMTU,    // ICMP errors about the size of ESP packets
	SHARE_ACQUIRE, // packets that need an SA
	SHARES
};

struct event {
	struct ip_addr addr;
	struct rte_ether_addr mac;
	uint16_t port;
	uint8_t kind; // enum event_kind
	bool for_us;  // of EVENT_NEIGH_HEARD and EVENT_ND_SOLICITED: it was for an own address
	bool has_mac, solicited, override; // of EVENT_ND_ADVERTISED
	uint8_t share;                     // enum event_share
	bool v1;                           // of EVENT_MLD_QUERY, as the next two:
	uint32_t delay_ms, interval_s;
	uint32_t holder; // of EVENT_NEIGH_NEEDED, as of neigh_resolve()
	// Of EVENT_RULE, EVENT_AUDIT, EVENT_SA_NEEDED and EVENT_NAT_EXHAUSTED:
	uint8_t proto;
	uint8_t icmp_type;               // if has_icmp_type
	bool has_icmp_type;              // of EVENT_PING: it is an error
	uint8_t icmp_code;               // of EVENT_PING
	rte_be16_t addr_port, peer_port; // addr_port also of EVENT_PEER_ENDPOINT
	struct ip_addr peer;
	// Of EVENT_PMTU: MTU of the link; length and identification of the quoted packet, which sa
	// sent. spi 0: the quote ends after the UDP header, and sa is a possible sender; else seq
	// is set, too.
	uint16_t mtu, quoted_len;
	rte_be16_t quoted_id; // of IPv4
	uint32_t rule;   // of EVENT_RULE: index in the snapshot's rules; of EVENT_NAT_EXHAUSTED:
			 // number
	uint16_t policy; // of EVENT_SA_NEEDED: its number
	uint32_t generation; // of the snapshot; with rule or policy its flow_generation
	// Of EVENT_AUDIT:
	uint8_t reason; // enum drop
	uint8_t worker; // that posted it
	bool inner;     // addr, peer and the others are of a packet that is not in ESP; none if
			// it was originated here
	// ESP header fields. spi is also set in EVENT_PEER_ENDPOINT, spi and seq in EVENT_PMTU.
	rte_be32_t spi, seq;
	uint32_t flow_label; // of IPv6
	const struct sa *sa; // of that snapshot; NULL: none is known
	uint64_t count;      // drops of the SA for the reason, by this worker
	// Of EVENT_PING: the request, as of ping_request(), and the TSC of the pass that received
	// the packet. mtu is that of the link, of an error that has one.
	uint64_t ping, tsc;
};

static_assert(sizeof(struct event) % 4 == 0, "rte_ring element size must be a multiple of 4");
