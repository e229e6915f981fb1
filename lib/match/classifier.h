// SPDX-License-Identifier: BSD-3-Clause
// Classifier: an ordered list of rules about packets of both families, the first that matches
// decides. Policies (spd.h) and firewall rules (rule.h) are such lists. librte_acl compiles it, so
// that the time of a lookup hardly depends on its length. Immutable: built with a snapshot by the
// control thread, read by all workers.
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "classifier_match.h"
#include "ip_view.h"

#define CLASSIFIER_KEYS_MAX 128

// The port of the end that receives an ICMP message. The port of the end that sends it is its type
// and code, type in the upper octet (RFC 4301 4.4.1.1): a policy may allow one end types that it
// denies the other, a firewall rule checks the sender alone.
#define ACL_PORT_RECEIVER 0x10001

// Whether a port of a key is in the range.
static inline bool acl_port_matches(const struct acl_port_range *r, rte_be32_t port)
{
	uint32_t p = rte_be_to_cpu_32(port);

	return p >= r->min && (p <= r->max || r->max == ACL_PORT_OPAQUE);
}

struct classifier_rule {
	uint32_t index;     // that a lookup returns
	uint8_t categories; // bit mask of its classes
	struct classifier_match match;
	uint32_t tunnel_min, tunnel_max; // 0 to UINT32_MAX: any
};

// Fields of a packet of either family that rules compare. Laid out for librte_acl: network byte
// order.
struct classifier_key {
	uint8_t proto;
	uint8_t pad[3];
	struct ip_addr source, destination;
	rte_be32_t source_port, destination_port; // or ACL_PORT_*; of ICMP: type << 8 | code
	rte_be32_t in, out;                       // ports of the gateway, or CLASSIFIER_ANY
	rte_be32_t tunnel_in, tunnel_out;         // 1 + index of policy; 0: none
};

static inline bool acl_is_icmp(uint16_t proto)
{
	return proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6;
}

static inline rte_be32_t acl_port(const struct ip_view *packet, rte_be16_t port)
{
	return packet->has_ports ? rte_cpu_to_be_32(rte_be_to_cpu_16(port))
				 : RTE_BE32(ACL_PORT_OPAQUE);
}

static inline rte_be32_t acl_sender_port(const struct ip_view *packet)
{
	if (!acl_is_icmp(packet->proto))
		return acl_port(packet, packet->src_port);
	return packet->has_icmp_type
		       ? rte_cpu_to_be_32((uint32_t)packet->icmp_type << 8 | packet->icmp_code)
		       : RTE_BE32(ACL_PORT_OPAQUE);
}

static inline rte_be32_t acl_receiver_port(const struct ip_view *packet)
{
	return acl_is_icmp(packet->proto) ? RTE_BE32(ACL_PORT_RECEIVER)
					  : acl_port(packet, packet->dst_port);
}

// The key of a packet from its headers; ports of the gateway and tunnels are 0.
static inline struct classifier_key classifier_key_of(const struct ip_view *packet)
{
	return (struct classifier_key){
		.proto = packet->proto,
		.source = packet->src,
		.destination = packet->dst,
		.source_port = acl_sender_port(packet),
		.destination_port = acl_receiver_port(packet),
	};
}

// The key of the packet in the reverse direction.
static inline struct classifier_key classifier_key_reversed(const struct classifier_key *k)
{
	return (struct classifier_key){
		.proto = k->proto,
		.source = k->destination,
		.destination = k->source,
		.source_port = k->destination_port,
		.destination_port = k->source_port,
		.in = k->out,
		.out = k->in,
		.tunnel_in = k->tunnel_out,
		.tunnel_out = k->tunnel_in,
	};
}

// The same, directly, of a packet from its headers.
static inline struct classifier_key classifier_key_of_reverse(const struct ip_view *packet)
{
	return (struct classifier_key){
		.proto = packet->proto,
		.source = packet->dst,
		.destination = packet->src,
		.source_port = acl_receiver_port(packet),
		.destination_port = acl_sender_port(packet),
	};
}

struct classifier;

// Compiles n rules, in ascending order of their indexes, into parts of part rules each: rules that
// overlap multiply in librte_acl's tries, which gives up on too many of them. A rule with lists is
// as many as its combinations, which do not overlap and stay in one part. categories: 1, or a
// multiple of 4. Returns NULL with errno ENOMEM, or that of librte_acl.
struct classifier *classifier_new(const struct classifier_rule rules[], unsigned int n,
	unsigned int part, unsigned int categories);

// NULL is allowed.
void classifier_free(struct classifier *c);

// The first rule, in a classifier of one category and without rules about tunnels, that matches
// each of n keys, at most CLASSIFIER_KEYS_MAX: found[i] is its index + 1, or 0. 16 keys at once
// cost a fraction of 16 single ones. Workers.
void classifier_find_each(const struct classifier *c, const struct classifier_key key[],
	unsigned int n, uint32_t found[]);

// The first rule in the category that matches the key, with either of its tunnels as the one that
// rules are about. Returns its index + 1, or 0. Workers.
uint32_t classifier_find(
	const struct classifier *c, const struct classifier_key *key, unsigned int category);
