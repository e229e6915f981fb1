// SPDX-License-Identifier: BSD-3-Clause
#include "input.h"

#include <rte_prefetch.h>

#include "arp.h"
#include "buffer.h"
#include "host.h"
#include "input_check.h"
#include "output.h"
#include "pkt_drop.h"
#include "segment.h"
#include "sort.h"
#include "tracepoint.h"
#include "vlan.h"

#define PREFETCH_AHEAD 4
#define RARE_FLAGS     (BUFFER_FOREIGN | SEGMENT_MARK)

// The control thread needs an announcement that is addressed to the gateway, conflicts with its
// address or updates a known neighbour. A probe has no sender address yet (RFC 5227 1.1).
static bool must_be_posted(const struct worker *w, const struct event *announced)
{
	if (ip_addr_v4(&announced->addr) == 0)
		return false;
	return announced->for_us || announced->kind == EVENT_ADDR_CONFLICT ||
	       neigh_has(w->neigh, announced->port, &announced->addr);
}

// Packet reception of RFC 826. The frame becomes the reply, or is consumed.
static enum drop arp_input(struct worker *w, struct pkt *p)
{
	const struct snapshot_port *port = pkt_link(w, p);
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(p->m, struct rte_ether_hdr *);
	const struct rte_arp_hdr *arp = (const struct rte_arp_hdr *)(eth + 1);

	if (!arp_check(arp, rte_pktmbuf_data_len(p->m) - (uint32_t)sizeof(*eth)))
		return DROP_ARP_MALFORMED;

	const struct ip_addr target = ip_addr_from_v4(arp->arp_data.arp_tip);
	const struct rte_ether_addr *mac = snapshot_port_mac(port, &target);
	bool for_us = mac != NULL;

	if (unlikely(dad_is_standby(w->dad, &target)) && !dad_is_expected(w->dad, &target))
		return DROP_STANDBY;

	struct event announced = {
		.kind = EVENT_NEIGH_HEARD,
		.addr = ip_addr_from_v4(arp->arp_data.arp_sip),
		.mac = arp->arp_data.arp_sha,
		.port = pkt_port(w, p),
		.for_us = for_us,
	};

	if (dad_is_standby(w->dad, &announced.addr)) // the active member sends from it
		return pkt_consume(w, p);
	if (snapshot_port_has(port, &announced.addr))
		announced.kind = EVENT_ADDR_CONFLICT;
	if (must_be_posted(w, &announced))
		worker_event_post_share(w, &announced, SHARE_LINK);
	if (for_us && arp->arp_opcode == RTE_BE16(RTE_ARP_OP_REQUEST)) {
		arp_reply_build(eth, mac);
		rte_pktmbuf_trim(p->m, (uint16_t)(rte_pktmbuf_data_len(p->m) - ARP_FRAME_LEN));
		w->counters.local++;
		w->counters.originated++;
		output_frame(w, p->m, pkt_port(w, p));
		trace_note(w, p, TRACE_ANSWERED, (struct trace_fact){.port = pkt_port(w, p) + 1});
		return DROP_NONE;
	}
	return pkt_consume(w, p);
}

// Removes the Ethernet header, and the padding of short frames.
static __rte_always_inline void cut_to_ip(struct rte_mbuf *m, uint32_t len)
{
	m->data_off += sizeof(struct rte_ether_hdr);
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
}

static enum drop ip_input(
	struct worker *w, struct pkt *p, const struct rte_ether_hdr *eth, bool to_us)
{
	struct rte_mbuf *m = p->m;
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(eth + 1);
	uint32_t len = rte_pktmbuf_pkt_len(m) - (uint32_t)sizeof(*eth);
	bool sum_good = (m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_GOOD;

	enum drop d = input_check_v4(ip, len, sum_good);

	if (d != DROP_NONE)
		return d;
	if (!to_us && host_behind(w, pkt_port(w, p)) == NULL)
		return DROP_NOT_UNICAST;
	if (segment_is_marked(m)) {
		rte_pktmbuf_adj(m, sizeof(*eth));
		d = segment_input(w, p);
		ip = pkt_ip(p);
	} else {
		cut_to_ip(m, rte_be_to_cpu_16(ip->total_length));
	}
	if (d != DROP_NONE)
		return d;
	return to_us ? sort_v4(w, p, ip) : host_input_group(w, p);
}

static __rte_noinline enum drop frame_input(struct worker *w, struct pkt *p)
{
	const struct rte_ether_hdr *eth;

	// In several buffers, or in a shared or external one.
	if (unlikely(!buffer_is_ours(p->m)) && !segment_is_marked(p->m)) {
		enum drop d = buffer_flatten(w, &p->m);

		if (d != DROP_NONE)
			return d;
	}
	vlan_remove_priority(p->m);
	eth = rte_pktmbuf_mtod(p->m, const struct rte_ether_hdr *);
	if (unlikely(rte_pktmbuf_data_len(p->m) < sizeof(*eth)))
		return DROP_FRAME_SHORT;

	bool to_us = snapshot_port_is_at(pkt_link(w, p), &eth->dst_addr);

	if (unlikely(!to_us && !rte_is_multicast_ether_addr(&eth->dst_addr)))
		return DROP_MAC_OTHER;
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4))
		return ip_input(w, p, eth, to_us);
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_ARP))
		return segment_is_marked(p->m) ? DROP_SEGMENT_MALFORMED : arp_input(w, p);
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV6))
		return input_v6(w, p);
	return DROP_ETHERTYPE;
}

// The port that frames were received from, mostly one for all of a burst.
struct ingress {
	uint32_t port;
	bool follows_host; // a packet may be an answer to the host
	uint64_t mac; // one of its link addresses, as the first octets of a frame: see MAC_SHIFT
};

#define NO_PORT   UINT32_MAX
#define MAC_SHIFT 16 // the word that a frame begins with has two octets of the source, too

static_assert(RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN, "the first octet is the lowest");

static struct ingress ingress_begin(const struct worker *w, uint16_t port)
{
	uint64_t mac = 0;

	memcpy(&mac, &w->snapshot->port[port].mac, sizeof(struct rte_ether_addr));
	return (struct ingress){.port = port,
		.follows_host = w->snapshot->iface[port].follows_host,
		.mac = mac << MAC_SHIFT};
}

// Which of its link addresses the next frames are compared with, after one that begins with front.
static __rte_noinline uint64_t ingress_mac(
	const struct worker *w, const struct ingress *in, uint64_t front)
{
	const uint64_t addr = front >> MAC_SHIFT;
	struct rte_ether_addr mac;

	memcpy(&mac, &addr, sizeof(mac));
	return snapshot_port_is_at(&w->snapshot->port[in->port], &mac) ? front : in->mac;
}

// frame_input_usual() for a frame that is not IPv4, of len octets.
static __rte_always_inline bool frame_input_usual_v6(struct worker *w, struct pkt *p,
	struct rte_mbuf *m, const struct ingress *in, const struct rte_ether_hdr *eth, uint32_t len)
{
	const struct rte_ipv6_hdr *ip = (const struct rte_ipv6_hdr *)(eth + 1);

	if (unlikely(eth->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV6)))
		return false;
	len = ipv6_plain_len(ip, len - (uint32_t)sizeof(*eth));
	if (unlikely(len == 0) || unlikely(*(const uint8_t *)&ip->src_addr == 0xff) ||
		unlikely((m->ol_flags & RARE_FLAGS) != 0) || unlikely(in->follows_host))
		return false;
	cut_to_ip(m, len);
	sort_v6_plain(w, p, ip, len, true);
	return true;
}

// frame_input() for most frames: in one buffer, addressed to the port, with a plain packet that no
// check drops. False: the frame is another one, and unchanged.
static __rte_always_inline bool frame_input_usual(
	struct worker *w, struct pkt *p, struct rte_mbuf *m, struct ingress *in)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(eth + 1);
	const uint64_t flags = m->ol_flags & (RARE_FLAGS | RTE_MBUF_F_RX_IP_CKSUM_MASK);
	uint32_t len = rte_pktmbuf_data_len(m);
	uint64_t front;

	if (unlikely(!buffer_is_single(m)) || unlikely(len < sizeof(*eth) + IPV4_PLAIN_MIN))
		return false;
	memcpy(&front, eth, sizeof(front));
	front <<= MAC_SHIFT;
	if (unlikely(front != in->mac)) {
		in->mac = ingress_mac(w, in, front);
		if (front != in->mac)
			return false;
	}
	if (unlikely(eth->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV4)))
		return frame_input_usual_v6(w, p, m, in, eth, len);
	len = ipv4_plain_len(ip, len - (uint32_t)sizeof(*eth));
	if (unlikely(len == 0) || unlikely(!ipv4_is_host_address(ip->src_addr)))
		return false;
	if (flags != RTE_MBUF_F_RX_IP_CKSUM_GOOD) {
		if (unlikely((flags & RARE_FLAGS) != 0) ||
			unlikely(!ipv4_checksum_is_good(ipv4_header_words_plain(ip))))
			return false;
	}
	cut_to_ip(m, len);
	sort_v4_plain(w, p, ip, len, true);
	return true;
}

void input_burst(struct worker *w, struct rte_mbuf *const m[], uint16_t n)
{
	struct rte_mbuf *const *const end = m + n;
	struct pkt *p = pkts_new(w, n);
	struct ingress in = {.port = NO_PORT};

	w->counters.rx += n;
	for (struct rte_mbuf *const *ahead = m; ahead < RTE_MIN(end, m + PREFETCH_AHEAD); ahead++)
		rte_prefetch0(rte_pktmbuf_mtod(*ahead, void *));
	for (; m < end; m++, p++) {
		struct rte_mbuf *const frame = *m;
		const uint16_t port = frame->port;

		if (m + PREFETCH_AHEAD < end)
			rte_prefetch0(rte_pktmbuf_mtod(m[PREFETCH_AHEAD], void *));
		*p = (struct pkt){.m = frame, .iface = port, .framed = true};
		if (TRACED)
			trace_received(w, p);
		if (unlikely(port != in.port))
			in = ingress_begin(w, port);
		if (likely(frame_input_usual(w, p, frame, &in)))
			continue;

		enum drop d = frame_input(w, p);

		if (unlikely(d != DROP_NONE))
			pkt_drop(w, p, d);
	}
}
