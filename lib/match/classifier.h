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
#include "ip_view.h"
#include "proto_model.h"

#define CLASSIFIER_ANY      UINT32_MAX // any port of the gateway
#define CLASSIFIER_KEYS_MAX 128

#define ACL_PORT_OPAQUE 0x10000 // no port, or not visible: fragments (RFC 4301 4.4.1.1)

// The port of the end that receives an ICMP message. The port of the end that sends it is its type
// and code, type in the upper octet (RFC 4301 4.4.1.1): a policy may allow one end types that it
// denies the other, a firewall rule checks the sender alone.
#define ACL_PORT_RECEIVER 0x10001

// Inclusive, host byte order. 0 to ACL_PORT_OPAQUE matches everything.
struct acl_port_range {
	uint32_t min, max;
};

// Without a restriction, packets that show no ports match as well.
static inline struct acl_port_range acl_port_range(uint16_t min, uint16_t max)
{
	bool any = min == 0 && max == UINT16_MAX;

	return (struct acl_port_range){min, any ? ACL_PORT_OPAQUE : max};
}

// Whether a port of a key is in the range.
static inline bool acl_port_matches(const struct acl_port_range *r, rte_be32_t port)
{
	uint32_t p = rte_be_to_cpu_32(port);

	return p >= r->min && (p <= r->max || r->max == ACL_PORT_OPAQUE);
}

// Packets that a rule is about.
struct classifier_match {
	enum ip_family family;                // of packets, further restricted by the prefixes
	struct ip_prefix source, destination; // of one family; ::/0 means IPv4 as well
	uint16_t proto;                       // or PROTO_ANY
	struct acl_port_range source_port, destination_port; // of ICMP: type << 8 | code, any
	uint32_t in, out; // numbers of interfaces, or CLASSIFIER_ANY
};

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

// The key of a packet from its headers; ports of the gateway and tunnels are 0.
static inline struct classifier_key classifier_key_of(const struct ip_view *packet)
{
	return (struct classifier_key){
		.proto = packet->proto,
		.source = packet->src,
		.destination = packet->dst,
		.source_port = acl_sender_port(packet),
		.destination_port = acl_is_icmp(packet->proto) ? RTE_BE32(ACL_PORT_RECEIVER)
							       : acl_port(packet, packet->dst_port),
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

// Whether two rules have the same addresses or ports at an end.
static inline bool classifier_prefixes_equal(const struct ip_prefix *a, const struct ip_prefix *b)
{
	return a->len == b->len && ip_addr_equal(&a->addr, &b->addr);
}

static inline bool classifier_ports_equal(
	const struct acl_port_range *a, const struct acl_port_range *b)
{
	return a->min == b->min && a->max == b->max;
}

// Whether a rule can match packets of this family: by its own family, and by both prefixes.
static inline bool classifier_has_family(enum ip_family own, const struct ip_prefix *source,
	const struct ip_prefix *destination, enum ip_family family)
{
	return (own == IP_ANY || own == family) &&
	       (source->len == 0 || ip_addr_family(&source->addr) == family) &&
	       (destination->len == 0 || ip_addr_family(&destination->addr) == family);
}

struct classifier;

// Compiles n rules, in ascending order of their indexes, into parts of part indexes each: rules
// that overlap multiply in librte_acl's tries, which gives up on too many of them. categories: 1,
// or a multiple of 4. Returns NULL with errno ENOMEM, or that of librte_acl.
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
