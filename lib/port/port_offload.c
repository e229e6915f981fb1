// SPDX-License-Identifier: BSD-3-Clause
#include "port_offload.h"

#include <sys/random.h>

#define RSS_KEY_MAX 128
#define RSS_FIELDS                                                                                 \
	(RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP | RTE_ETH_RSS_ESP)
#define VLAN_RX_OFFLOADS (RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_VLAN_FILTER)

// With tso, the driver marks large segments by the flag of LRO, and checksums that the other end
// has left to the receiver: rx_checksum.c completes those, segment.c cuts.
#define TSO_RX_OFFLOADS                                                                            \
	(RTE_ETH_RX_OFFLOAD_TCP_LRO | RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM)

// Otherwise checksums of TCP and UDP are not asked for: the gateway checks none, and the other end
// of a virtio or vhost device could then leave them to the receiver (VIRTIO_NET_F_GUEST_CSUM),
// while a packet in ESP leaves this machine as it is. A frame has room in one buffer, but some
// drivers use only whole kilobytes of it: a jumbo frame may then take two.
static uint64_t rx_offloads(const struct port_use *use, uint64_t rss)
{
	uint64_t rx = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM;

	if (use->jumbo)
		rx |= RTE_ETH_RX_OFFLOAD_SCATTER;
	if (use->has_vlans)
		rx |= VLAN_RX_OFFLOADS;
	if (use->tso)
		rx |= TSO_RX_OFFLOADS;
	if (rss != 0 && use->n_workers > use->n_rx)
		rx |= RTE_ETH_RX_OFFLOAD_RSS_HASH;
	return rx;
}

static uint64_t tx_offloads(const struct port_use *use)
{
	return RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE |
	       (use->has_vlans ? RTE_ETH_TX_OFFLOAD_VLAN_INSERT : 0);
}

static uint64_t mbuf_flags(const struct port_use *use, const struct port_offloads *o)
{
	uint64_t flags = RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL; // whose memory it is

	flags |= RTE_MBUF_F_RX_L4_CKSUM_MASK; // nobody reads it
	if (use->tso)
		flags |= RTE_MBUF_F_RX_LRO;
	if ((o->rx & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM) != 0)
		flags |= RTE_MBUF_F_RX_IP_CKSUM_MASK;
	// Read where workers outnumber queues. A hash of addresses alone would give all SAs of a
	// peer to one worker.
	if (use->n_rx >= use->n_workers ||
		((o->rx & RTE_ETH_RX_OFFLOAD_RSS_HASH) != 0 &&
			(!use->unprotected || port_offloads_spread_esp(o))))
		flags |= RTE_MBUF_F_RX_RSS_HASH;
	return flags;
}

struct port_offloads port_offloads_choose(
	const struct rte_eth_dev_info *info, const struct port_use *use)
{
	struct port_offloads o = {.tx = info->tx_offload_capa & tx_offloads(use)};

	// With one queue it is only for the hash, by which workers then distribute frames.
	if (use->n_rx > 1 ||
		(use->n_workers > 1 && (info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_RSS_HASH) != 0))
		o.rss = info->flow_type_rss_offloads & RSS_FIELDS;
	o.rx = info->rx_offload_capa & rx_offloads(use, o.rss);
	o.mbuf_flags = mbuf_flags(use, &o);
	return o;
}

uint8_t *port_rss_key(size_t size)
{
	static uint8_t key[RSS_KEY_MAX];
	static bool drawn;

	if (!drawn)
		drawn = getrandom(key, sizeof(key), 0) == (ssize_t)sizeof(key);
	return drawn && size > 0 && size <= sizeof(key) ? key : NULL;
}
