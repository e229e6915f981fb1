// SPDX-License-Identifier: BSD-3-Clause
#include "spread.h"

#include <rte_esp.h>
#include <rte_ether.h>

#include "icmp.h"
#include "ip_view.h"
#include "ipv4.h"
#include "ipv6.h"

// Octets of a frame that are parsed: IPv6 with extension headers, then ports or an SPI.
#define HEADERS_MAX                                                                                \
	(sizeof(struct rte_ether_hdr) + sizeof(struct rte_ipv6_hdr) + IPV6_CHAIN_LEN_MAX + 8)

// A flow has two ends: addresses with ports. An SA has its SPI at one of them, and none at the
// other.
struct ends {
	struct ip_addr src, dst;
	uint32_t src_id, dst_id;
	uint8_t proto;
};

static uint64_t end_hash(
	const struct ip_addr *addr, uint32_t id, uint8_t proto, const struct hash_key *key)
{
	const uint64_t word[] = {addr->q[0], addr->q[1], (uint64_t)proto << 32 | id};

	return keyed_hash(key, word, RTE_DIM(word));
}

// The ends of a flow of IPv4 fill a word each, and are hashed at once, whatever its protocol is.
// The order of the words makes the two directions alike.
static unsigned int spread_ends_v4(
	const struct ends *e, unsigned int n_workers, const struct hash_key *key)
{
	const uint64_t src = (uint64_t)ip_addr_v4(&e->src) << 32 | e->src_id;
	const uint64_t dst = (uint64_t)ip_addr_v4(&e->dst) << 32 | e->dst_id;
	const uint64_t word[] = {RTE_MIN(src, dst), RTE_MAX(src, dst)};

	return spread_hash(keyed_hash(key, word, RTE_DIM(word)), n_workers);
}

// The sum of both ends makes the two directions alike.
static unsigned int spread_ends_v6(
	const struct ends *e, unsigned int n_workers, const struct hash_key *key)
{
	return spread_hash(end_hash(&e->src, e->src_id, e->proto, key) +
				   end_hash(&e->dst, e->dst_id, e->proto, key),
		n_workers);
}

// The ends of a packet of IPv4 that is like most. The header is not checked: who drops a bad packet
// does not matter.
static struct ends ends_of_plain(const struct rte_ipv4_hdr *ip)
{
	struct ends e = {.src = ip_addr_from_v4(ip->src_addr),
		.dst = ip_addr_from_v4(ip->dst_addr),
		.proto = ip->next_proto_id};
	struct ip_layout at;

	ip_layout_v4_plain(&at, ip);
	if (likely(ip_proto_has_ports(e.proto))) {
		e.src_id = at.src_port;
		e.dst_id = at.dst_port;
	} else if (e.proto == IPPROTO_ESP) {
		memcpy(&e.src_id, at.l4, sizeof(e.src_id));
	}
	return e;
}

// Messages of neighbour discovery come to one worker, in order. Not all fragments of IPv6 show
// their protocol.
static unsigned int spread_ip(
	const void *ip, uint32_t len, bool v4, unsigned int n_workers, const struct hash_key *key)
{
	struct ip_layout at;
	struct ip_view v;
	struct ends e;

	if (likely(v4 && ipv4_plain_len(ip, len) != 0)) {
		e = ends_of_plain(ip);
		return spread_ends_v4(&e, n_workers, key);
	}
	if ((v4 ? ipv4_check(ip, len, true) != IPV4_GOOD : ipv6_check(ip, len) != IPV6_GOOD) ||
		!ip_layout_read(&at, ip))
		return 0;
	v = ip_view_of(ip, &at);
	if (!v4 && v.has_icmp_type && v.icmp_type >= ND_ROUTER_SOLICIT &&
		v.icmp_type <= ND_REDIRECT)
		return 0;
	e = (struct ends){.src = v.src,
		.dst = v.dst,
		.src_id = v.src_port,
		.dst_id = v.dst_port,
		.proto = at.fragment ? 0 : v.proto};
	if (ip_layout_has(&at, ip, IPPROTO_ESP, sizeof(struct rte_esp_hdr)))
		memcpy(&e.src_id, (const uint8_t *)ip + at.l4_off, sizeof(e.src_id));
	return v4 ? spread_ends_v4(&e, n_workers, key) : spread_ends_v6(&e, n_workers, key);
}

unsigned int spread_sa(rte_be32_t spi, unsigned int n_workers, const struct hash_key *key)
{
	const uint64_t word[] = {spi};

	return spread_hash(keyed_hash(key, word, RTE_DIM(word)), n_workers);
}

unsigned int spread_inner(
	const struct rte_mbuf *m, unsigned int n_workers, const struct hash_key *key)
{
	const void *ip = rte_pktmbuf_mtod(m, const void *);

	return spread_ip(ip, rte_pktmbuf_data_len(m), ip_is_v4(ip), n_workers, key);
}

unsigned int spread_frame(
	const struct rte_mbuf *m, unsigned int n_workers, const struct hash_key *key)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	uint32_t len = rte_pktmbuf_pkt_len(m) - (uint32_t)sizeof(*eth);

	// By the upper bits: the device chooses its queue by the lower ones.
	if ((m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0)
		return spread_hash((uint64_t)m->hash.rss << 32, n_workers);

	// All headers of a frame in several buffers are in the first, which drivers fill.
	if (rte_pktmbuf_data_len(m) < (m->nb_segs > 1 ? HEADERS_MAX : sizeof(*eth)))
		return 0;
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4))
		return spread_ip(eth + 1, len, true, n_workers, key);
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV6))
		return spread_ip(eth + 1, len, false, n_workers, key);
	return 0;
}
