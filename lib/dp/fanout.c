// SPDX-License-Identifier: BSD-3-Clause
#include "fanout.h"

#include <errno.h>
#include <string.h>

#include <rte_esp.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "hold.h"
#include "ipv4.h"
#include "line_memory.h"
#include "pkt_drop.h"
#include "spread.h"

// Bursts in a lane at once. More would let numbers of packets that overtake these get too far
// ahead; with fewer, workers would be idle while one is slow.
#define ROOM_PER_WORKER 4
// Bursts for each worker that wait for it, while the worker that receives them does other work.
#define BURSTS_AHEAD 2
// Packets that wait for sequence numbers, of which the ring holds four times as many: the other
// workers add packets that they are just processing.
#define BEHIND 512

int fanout_start(struct worker *const workers[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct fanout *f = line_calloc(1, sizeof(*f));

		if (f == NULL)
			return -ENOMEM;
		lane_init(&f->open, ROOM_PER_WORKER * n);
		lane_init(&f->seal, ROOM_PER_WORKER * n);
		workers[i]->fanout = f;
	}
	return 0;
}

void fanout_call(struct worker *w, const struct lane *l)
{
	if (lane_count(l) > 1)
		w->to_wake |= (1u << w->n_workers) - 1;
}

bool fanout_is_behind(const struct worker *w)
{
	for (unsigned int i = 0; i < w->n_workers; i++)
		if (atomic_load_explicit(&w->peers[i]->fanout->is_behind, memory_order_relaxed))
			return true;
	return false;
}

void fanout_update(struct worker *w)
{
	bool is_behind = rte_ring_count(w->departing) >= BEHIND;

	if (is_behind != atomic_load_explicit(&w->fanout->is_behind, memory_order_relaxed))
		atomic_store_explicit(&w->fanout->is_behind, is_behind, memory_order_relaxed);
}

// The SPI of an ESP packet, not fragmented, directly after the IP header or in UDP; 0: another
// packet, or one that needs more parsing.
static rte_be32_t spi_of(const struct snapshot *s, const struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const struct rte_ipv4_hdr *v4 = (const struct rte_ipv4_hdr *)(eth + 1);
	const struct rte_ipv6_hdr *v6 = (const struct rte_ipv6_hdr *)(eth + 1);
	uint32_t off = sizeof(*eth);
	const struct rte_udp_hdr *udp;
	uint8_t proto;
	rte_be32_t spi;

	// An IPv6 header, UDP and an SPI.
	if (rte_pktmbuf_data_len(m) < sizeof(*eth) + sizeof(*v6) + sizeof(*udp) + sizeof(spi))
		return 0;
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4) &&
		v4->version_ihl == RTE_IPV4_VHL_DEF && !ipv4_is_fragment(v4)) {
		proto = v4->next_proto_id;
		off += (uint32_t)sizeof(*v4);
	} else if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV6)) {
		proto = v6->proto;
		off += (uint32_t)sizeof(*v6);
	} else {
		return 0;
	}
	if (proto == IPPROTO_UDP) {
		udp = rte_pktmbuf_mtod_offset(m, const struct rte_udp_hdr *, off);
		if (s->udp_ports == NULL || !snapshot_has_udp_port(s, udp->dst_port))
			return 0;
		off += (uint32_t)sizeof(*udp);
	} else if (proto != IPPROTO_ESP) {
		return 0;
	}
	memcpy(&spi, rte_pktmbuf_mtod_offset(m, const void *, off), sizeof(spi));
	return spi;
}

uint16_t fanout_receive(struct worker *w, struct rte_mbuf *m[], uint16_t n)
{
	// Valid until this worker reports quiescence, as in a pass.
	const struct snapshot *s = atomic_load_explicit(w->published, memory_order_acquire);
	uint32_t index = lane_open(&w->fanout->open);
	struct fan_burst *b = &w->fanout->opening[index];
	rte_be32_t last = 0;
	bool found = false;
	uint16_t kept = 0;

	b->n = 0;
	for (uint16_t i = 0; i < n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(m[i], void *));
	for (uint16_t i = 0; i < n; i++) {
		rte_be32_t spi = spi_of(s, m[i]);

		if (spi != last) {
			found = spi != 0 && snapshot_find_in(s, spi) != NULL;
			last = spi;
		}
		if (found)
			b->frame[b->n++] = m[i];
		else
			m[kept++] = m[i];
	}
	if (b->n > 0) {
		lane_put(&w->fanout->open, true);
		fanout_call(w, &w->fanout->open);
	}
	return kept;
}

void fanout_group(
	uint8_t place[], uint8_t first[], const uint8_t owner[], uint16_t n, unsigned int n_owners)
{
	uint8_t next[FAN_WORKERS_MAX + 1] = {0};

	for (uint16_t i = 0; i < n; i++)
		next[owner[i]]++;
	for (unsigned int o = 0, at = 0; o < n_owners; o++) {
		first[o] = (uint8_t)at;
		at += next[o];
		next[o] = first[o];
	}
	for (uint16_t i = 0; i < n; i++)
		place[i] = next[owner[i]]++;
}

static void frames_enqueue(struct worker *w, unsigned int to, struct rte_mbuf *m[], unsigned int n)
{
	unsigned int taken = rte_ring_enqueue_burst(w->peers[to]->frames, (void **)m, n, NULL);

	w->to_wake |= 1u << to;
	w->counters.rx += n - taken;
	for (; unlikely(taken < n); taken++)
		pkt_drop(w, &(struct pkt){.m = m[taken]}, DROP_RING_FULL);
}

uint16_t fanout_spread(struct worker *w, struct rte_mbuf *m[], uint16_t n)
{
	uint8_t owner[RX_BURST_MAX] = {0}, place[RX_BURST_MAX], first[FAN_WORKERS_MAX + 1];
	struct rte_mbuf *grouped[RX_BURST_MAX];
	unsigned int own;

	for (uint16_t i = 0; i < n; i++)
		owner[i] = (uint8_t)spread_frame(m[i], w->n_workers, &w->hash_key);
	fanout_group(place, first, owner, n, w->n_workers);
	first[w->n_workers] = (uint8_t)n;
	for (uint16_t i = 0; i < n; i++)
		grouped[place[i]] = m[i];
	for (unsigned int to = 0; to < w->n_workers; to++)
		if (to != w->id && first[to] < first[to + 1])
			frames_enqueue(w, to, grouped + first[to],
				(unsigned int)(first[to + 1] - first[to]));
	own = (unsigned int)(first[w->id + 1] - first[w->id]);
	memcpy(m, grouped + first[w->id], own * sizeof(m[0]));
	return (uint16_t)own;
}

// Whether a packet of the SA is held, or has to wait for held ones: the SA may be used already, but
// not these. The order of the two loads matters.
static bool is_for_hold(const struct worker *w, const struct sa_in *sa)
{
	const bool standby = sa_stop_reason(&sa->sa) == DROP_STANDBY;

	atomic_thread_fence(memory_order_acquire);
	return standby || hold_may_pass(w);
}

// Takes these packets out of *n frames. Returns how many.
static uint16_t set_aside(
	struct worker *w, struct rte_mbuf *aside[], struct rte_mbuf *m[], uint16_t *n)
{
	const struct snapshot *s = atomic_load_explicit(w->published, memory_order_acquire);
	uint16_t kept = 0, n_aside = 0;

	if (likely(w->hold.n == 0 && !dad_may_hold(w->dad)))
		return 0;
	for (uint16_t i = 0; i < *n; i++) {
		const rte_be32_t spi = spi_of(s, m[i]);
		const struct sa_in *sa = spi != 0 ? snapshot_find_in(s, spi) : NULL;

		if (sa != NULL && is_for_hold(w, sa))
			aside[n_aside++] = m[i];
		else
			m[kept++] = m[i];
	}
	*n = kept;
	return n_aside;
}

uint16_t fanout_distribute(struct worker *w, struct rte_mbuf *m[], uint16_t n, bool spread)
{
	struct rte_mbuf *aside[RX_BURST_MAX];
	const uint16_t n_aside = set_aside(w, aside, m, &n);

	n = fanout_receive(w, m, n);
	if (spread)
		n = fanout_spread(w, m, n);
	memcpy(m + n, aside, n_aside * sizeof(m[0]));
	return (uint16_t)(n + n_aside);
}

bool fanout_is_short(const struct worker *w, unsigned int n)
{
	if (RTE_MAX(lane_unclaimed(&w->fanout->open), n) >= BURSTS_AHEAD * w->n_workers)
		return false;
	for (unsigned int i = 0; i < w->n_workers; i++)
		if (rte_ring_count(w->peers[i]->frames) >= BURSTS_AHEAD * RX_BURST_MAX)
			return false;
	return true;
}

bool fanout_pending(const struct worker *w)
{
	return lane_count(&w->fanout->open) + lane_count(&w->fanout->seal) > 0 ||
	       !rte_ring_empty(w->departing);
}

// Work that only this worker can do comes first. But while its lane is full, it receives no ESP,
// and others may have as much to do.
static bool has_own_work(const struct worker *w)
{
	return lane_open(&w->fanout->open) != LANE_NONE &&
	       (rte_ring_count(w->handed) >= RX_BURST_MAX ||
		       (rte_ring_count(w->frames) >= RX_BURST_MAX && !fanout_is_behind(w)));
}

bool fanout_can_help(const struct worker *w)
{
	if (has_own_work(w))
		return false;
	for (unsigned int i = 0; i < w->n_workers; i++) {
		const struct fanout *f = w->peers[i]->fanout;

		if (lane_has_unclaimed(&f->open) || lane_has_unclaimed(&f->seal))
			return true;
	}
	return false;
}

static void drop_frames(struct worker *w, struct fan_burst *b, uint16_t *n)
{
	for (uint16_t i = 0; i < *n; i++)
		pkt_drop_left(w, b->frame[i]);
	*n = 0;
}

static void drop_handed(struct worker *w, struct fan_burst *b)
{
	w->n_handed -= b->n;
	for (uint16_t i = 0; i < b->n; i++)
		pkt_drop_left(w, b->pkt[i]);
	b->n = 0;
}

static void open_stop(struct worker *w, struct fanout *f)
{
	for (uint32_t i = lane_claim(&f->open); i != LANE_NONE; i = lane_claim(&f->open)) {
		w->counters.rx += f->opening[i].n;
		drop_frames(w, &f->opening[i], &f->opening[i].n);
		lane_done(&f->open, i);
	}
	for (uint32_t i = lane_first(&f->open); i != LANE_NONE; i = lane_first(&f->open)) {
		drop_handed(w, &f->opening[i]);
		lane_remove(&f->open);
	}
}

static void seal_stop(struct worker *w, struct fanout *f)
{
	for (uint32_t i = lane_claim(&f->seal); i != LANE_NONE; i = lane_claim(&f->seal)) {
		drop_handed(w, &f->sealing[i]);
		f->sealing[i].n_frames = 0;
		lane_done(&f->seal, i);
	}
	for (uint32_t i = lane_first(&f->seal); i != LANE_NONE; i = lane_first(&f->seal)) {
		struct fan_burst *b = &f->sealing[i];

		if (b->large)
			drop_handed(w, b);
		w->n_handed -= b->n_frames;
		drop_frames(w, b, &b->n_frames);
		lane_remove(&f->seal);
	}
}

void fanout_stop(struct worker *w)
{
	open_stop(w, w->fanout);
	seal_stop(w, w->fanout);
}
