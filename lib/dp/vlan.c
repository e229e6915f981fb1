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

// Both link addresses, which a tag follows: as two words, which are moved at once.
struct addrs {
	uint64_t front;
	uint32_t back;
};

static __rte_always_inline struct addrs addrs_read(const uint8_t *at)
{
	struct addrs a;

	memcpy(&a.front, at, sizeof(a.front));
	memcpy(&a.back, at + sizeof(a.front), sizeof(a.back));
	return a;
}

static __rte_always_inline void addrs_write(uint8_t *at, struct addrs a)
{
	memcpy(at, &a.front, sizeof(a.front));
	memcpy(at + sizeof(a.front), &a.back, sizeof(a.back));
}

// Removes the tag of a frame that has one, in one buffer. Returns its VLAN.
static __rte_always_inline uint32_t tag_strip(struct rte_mbuf *m)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	const struct rte_vlan_hdr *tag =
		(const struct rte_vlan_hdr *)(frame + sizeof(struct rte_ether_hdr));
	const uint32_t vlan = rte_be_to_cpu_16(tag->vlan_tci) & VLAN_ID_MASK;

	addrs_write(frame + sizeof(*tag), addrs_read(frame));
	m->data_off = (uint16_t)(m->data_off + sizeof(*tag));
	m->data_len = (uint16_t)(m->data_len - sizeof(*tag));
	m->pkt_len -= (uint32_t)sizeof(*tag);
	return vlan;
}

static __rte_always_inline bool has_tag(const struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod(m, const struct rte_ether_hdr *)->ether_type ==
	       RTE_BE16(RTE_ETHER_TYPE_VLAN);
}

// Whether a frame is as most are: whole and in a buffer of this gateway, with the tag in it.
static __rte_always_inline bool is_usual(const struct rte_mbuf *m)
{
	return buffer_is_single(m) &&
	       likely((m->ol_flags & (BUFFER_FOREIGN | RTE_MBUF_F_RX_VLAN_STRIPPED)) == 0) &&
	       likely(rte_pktmbuf_data_len(m) >=
		       sizeof(struct rte_ether_hdr) + sizeof(struct rte_vlan_hdr)) &&
	       likely(has_tag(m));
}

// Finds the VLAN of any other frame, 0 without a tag, and removes the tag. A frame that ends inside
// its Ethernet header is left to the pipeline, as one without a tag.
static __rte_noinline enum drop tag_remove(struct worker *w, struct rte_mbuf **m, uint16_t *vlan)
{
	uint32_t len;

	*vlan = 0;
	if (((*m)->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0) {
		*vlan = tag_of(*m);
		return DROP_NONE;
	}
	if (!buffer_is_ours(*m)) { // not to be written, or the tag is in two buffers
		enum drop d = buffer_flatten(w, m);

		if (d != DROP_NONE)
			return d;
	}
	len = rte_pktmbuf_data_len(*m);
	if (len < sizeof(struct rte_ether_hdr) || !has_tag(*m))
		return DROP_NONE;
	if (len < sizeof(struct rte_ether_hdr) + sizeof(struct rte_vlan_hdr))
		return DROP_FRAME_SHORT;
	*vlan = (uint16_t)tag_strip(*m);
	return DROP_NONE;
}

// Received frames of one port that follow each other: they are counted at once.
struct received {
	uint16_t port; // VLAN_NONE: none yet
	uint32_t packets;
	uint64_t bytes;
};

static __rte_always_inline void received_count(struct worker *w, const struct received *r)
{
	if (r->port == VLAN_NONE)
		return;
	w->vlan[r->port].rx_packets += r->packets;
	w->vlan[r->port].rx_bytes += r->bytes;
}

// A frame of this VLAN, whose tag was removed.
static __rte_always_inline enum drop receive(struct worker *w, const struct vlan_map *map,
	struct rte_mbuf *m, uint32_t vlan, struct received *r)
{
	const uint16_t port = atomic_load_explicit(&map->port[vlan], memory_order_acquire);

	if (unlikely(port == VLAN_NONE))
		return DROP_VLAN_UNKNOWN;
	if (unlikely(port != r->port)) {
		received_count(w, r);
		*r = (struct received){.port = port};
	}
	m->port = port;
	r->packets++;
	r->bytes += rte_pktmbuf_pkt_len(m);
	return DROP_NONE;
}

uint16_t vlan_receive(
	struct worker *w, const struct vlan_map *map, struct rte_mbuf *m[], uint16_t n)
{
	struct received r = {.port = VLAN_NONE};
	struct rte_mbuf **kept = m;

	for (struct rte_mbuf **at = m; at < m + n; at++) {
		struct rte_mbuf *frame = *at;
		enum drop d = DROP_NONE;
		uint32_t vlan;

		if (likely(is_usual(frame))) {
			vlan = tag_strip(frame);
		} else {
			uint16_t found; // of its own, so that the others stay in registers

			d = tag_remove(w, at, &found);
			vlan = found;
			frame = *at;
		}
		if (likely(d == DROP_NONE))
			d = receive(w, map, frame, vlan, &r);
		if (likely(d == DROP_NONE)) {
			*kept++ = frame;
			continue;
		}
		w->counters.rx++;
		pkt_drop(w, &(struct pkt){.m = frame}, d);
	}
	received_count(w, &r);
	return (uint16_t)(kept - m);
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

// Puts a tag into a frame in one buffer of this gateway, with headroom for it.
static __rte_always_inline void tag_put(struct rte_mbuf *m, uint16_t vlan)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *) - sizeof(struct rte_vlan_hdr);
	const uint32_t tag = RTE_BE16(RTE_ETHER_TYPE_VLAN) | (uint32_t)rte_cpu_to_be_16(vlan) << 16;

	static_assert(sizeof(tag) == sizeof(struct rte_vlan_hdr), "its type, and the VLAN");
	addrs_write(frame, addrs_read(frame + sizeof(tag)));
	memcpy(frame + 2 * sizeof(struct rte_ether_addr), &tag, sizeof(tag));
	m->ol_flags &= ~RTE_MBUF_F_TX_VLAN;
	m->data_off = (uint16_t)(m->data_off - sizeof(tag));
	m->data_len = (uint16_t)(m->data_len + sizeof(tag));
	m->pkt_len += (uint32_t)sizeof(tag);
}

// Whether the tag can be inserted into a frame, or sent with it, as it is. Buffers of this gateway
// have headroom, unless their driver has used it. Some drivers need it as well.
static __rte_always_inline bool is_insertable(const struct rte_mbuf *m, bool by_device)
{
	return likely(rte_pktmbuf_headroom(m) >= sizeof(struct rte_vlan_hdr)) &&
	       (by_device || likely(buffer_is_ours(m)));
}

static __rte_always_inline void tag_insert(struct rte_mbuf *m, uint16_t vlan, bool by_device)
{
	if (by_device) {
		m->vlan_tci = vlan;
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	} else {
		tag_put(m, vlan);
	}
}

uint16_t vlan_insert(struct worker *w, uint16_t port, uint16_t vlan, bool by_device,
	struct rte_mbuf *m[], uint16_t n)
{
	struct rte_mbuf **kept = m;
	uint64_t bytes = 0;

	for (struct rte_mbuf **at = m; at < m + n; at++) {
		struct rte_mbuf *frame = *at;

		if (unlikely(!is_insertable(frame, by_device))) {
			enum drop d = buffer_flatten(w, at);

			frame = *at;
			if (d != DROP_NONE) {
				pkt_drop(w, &(struct pkt){.m = frame}, d);
				continue;
			}
		}
		tag_insert(frame, vlan, by_device);
		bytes += rte_pktmbuf_pkt_len(frame);
		*kept++ = frame;
	}
	n = (uint16_t)(kept - m);
	if (!by_device)
		bytes -= n * sizeof(struct rte_vlan_hdr);
	w->vlan[port].tx_packets += n;
	w->vlan[port].tx_bytes += bytes;
	return n;
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
