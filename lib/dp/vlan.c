// SPDX-License-Identifier: BSD-3-Clause
#include "vlan.h"

#include "buffer.h"
#include "pkt_drop.h"

// The VLAN in a tag: the other bits are its priority, and whether the frame may be dropped first.
#define VLAN_ID_MASK 0xfff

// The VLAN of a frame whose tag was removed. A driver that passes buffers on as they are must not
// find it again.
static uint16_t tag_of(struct rte_mbuf *m)
{
	m->ol_flags &= ~(RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED);
	return m->vlan_tci & VLAN_ID_MASK;
}

// Finds the VLAN of a frame, 0 without a tag, and removes the tag. A frame that ends inside its
// Ethernet header is left to the pipeline, as one without a tag.
static enum drop tag_remove(struct worker *w, struct rte_mbuf **m, uint16_t *vlan)
{
	const struct rte_ether_hdr *eth;
	uint32_t len;

	*vlan = 0;
	if (((*m)->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0) {
		*vlan = tag_of(*m);
		return DROP_NONE;
	}
	if (unlikely(!buffer_is_ours(*m))) { // not to be written, or the tag is in two buffers
		enum drop d = buffer_flatten(w, m);

		if (d != DROP_NONE)
			return d;
	}
	eth = rte_pktmbuf_mtod(*m, const struct rte_ether_hdr *);
	len = rte_pktmbuf_data_len(*m);
	if (len < sizeof(*eth) || eth->ether_type != RTE_BE16(RTE_ETHER_TYPE_VLAN))
		return DROP_NONE;
	if (len < sizeof(*eth) + sizeof(struct rte_vlan_hdr))
		return DROP_FRAME_SHORT;
	rte_vlan_strip(*m);
	*vlan = tag_of(*m);
	return DROP_NONE;
}

static enum drop receive(struct worker *w, const struct vlan_map *map, struct rte_mbuf **m)
{
	uint16_t vlan, port;
	enum drop d = tag_remove(w, m, &vlan);

	if (d != DROP_NONE)
		return d;
	port = atomic_load_explicit(&map->port[vlan], memory_order_acquire);
	if (port == VLAN_NONE)
		return DROP_VLAN_UNKNOWN;
	(*m)->port = port;
	w->vlan[port].rx_packets++;
	w->vlan[port].rx_bytes += rte_pktmbuf_pkt_len(*m);
	return DROP_NONE;
}

uint16_t vlan_receive(
	struct worker *w, const struct vlan_map *map, struct rte_mbuf *m[], uint16_t n)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < n; i++) {
		enum drop d = receive(w, map, &m[i]);

		if (likely(d == DROP_NONE)) {
			m[kept++] = m[i];
			continue;
		}
		w->counters.rx++;
		pkt_drop(w, &(struct pkt){.m = m[i]}, d);
	}
	return kept;
}

void vlan_remove_priority(struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const struct rte_vlan_hdr *tag = (const struct rte_vlan_hdr *)(eth + 1);

	if (rte_pktmbuf_data_len(m) < sizeof(*eth) + sizeof(*tag) ||
		eth->ether_type != RTE_BE16(RTE_ETHER_TYPE_VLAN) ||
		(tag->vlan_tci & RTE_BE16(VLAN_ID_MASK)) != 0)
		return;
	rte_vlan_strip(m);
	tag_of(m);
}

static enum drop tag_insert(struct worker *w, struct rte_mbuf **m, uint16_t vlan, bool by_device)
{
	enum drop d;

	// Buffers of this gateway have headroom, unless their driver has used it. Some drivers need
	// it as well.
	if (unlikely(rte_pktmbuf_headroom(*m) < sizeof(struct rte_vlan_hdr))) {
		d = buffer_flatten(w, m);
		if (d != DROP_NONE)
			return d;
	}
	(*m)->vlan_tci = vlan;
	if (by_device)
		(*m)->ol_flags |= RTE_MBUF_F_TX_VLAN;
	else
		rte_vlan_insert(m);
	return DROP_NONE;
}

uint16_t vlan_insert(struct worker *w, uint16_t port, uint16_t vlan, bool by_device,
	struct rte_mbuf *m[], uint16_t n)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < n; i++) {
		uint32_t len = rte_pktmbuf_pkt_len(m[i]);
		enum drop d = tag_insert(w, &m[i], vlan, by_device);

		if (unlikely(d != DROP_NONE)) {
			pkt_drop(w, &(struct pkt){.m = m[i]}, d);
			continue;
		}
		w->vlan[port].tx_packets++;
		w->vlan[port].tx_bytes += len;
		m[kept++] = m[i];
	}
	return kept;
}

void vlan_unsent(struct worker *w, uint16_t port, struct rte_mbuf *const m[], uint16_t n)
{
	w->vlan[port].tx_packets -= n;
	for (uint16_t i = 0; i < n; i++) {
		bool tagged = (m[i]->ol_flags & RTE_MBUF_F_TX_VLAN) == 0;

		w->vlan[port].tx_bytes -=
			rte_pktmbuf_pkt_len(m[i]) - (tagged ? sizeof(struct rte_vlan_hdr) : 0);
	}
}
