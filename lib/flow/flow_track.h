// SPDX-License-Identifier: BSD-3-Clause
// Connection tracking of the packets of a flow: packets that change no state are tracked inline,
// others in ct.c. Workers; as in flow.h.
#pragma once

#include <netinet/in.h>

#include <rte_branch_prediction.h>
#include <rte_tcp.h>

#include "flow.h"

// Whether a segment lies in the window that the other end has offered, and acknowledges octets that
// the other end has sent. For a direction whose handshake is complete.
static inline bool ct_tcp_fits(
	const struct flow_tcp *own, const struct flow_tcp *other, const struct flow_pkt *p)
{
	uint32_t end = atomic_load_explicit(&own->end, memory_order_relaxed);
	uint32_t own_window = atomic_load_explicit(&own->max_window, memory_order_relaxed);
	uint32_t max_ack = atomic_load_explicit(&own->max_ack, memory_order_relaxed);
	uint32_t edge = atomic_load_explicit(&other->edge, memory_order_relaxed);
	uint32_t window = atomic_load_explicit(&other->max_window, memory_order_relaxed);
	uint32_t other_end = atomic_load_explicit(&other->end, memory_order_relaxed);

	// Text begins in the window, or on its edge: a probe of a closed window. An acknowledgement
	// that follows the probe is one beyond. It is at most one window old. It acknowledges
	// octets that were sent, and not long ago (RFC 5961 5.2).
	return ((int32_t)(p->seq - edge) <= 0 || (p->seq_len == 0 && p->seq == end)) &&
	       (int32_t)(p->seq + p->seq_len - (end - window)) >= 0 &&
	       (int32_t)(p->ack - other_end) <= 0 &&
	       (int32_t)(p->ack - (max_ack - own_window)) >= 0;
}

// Raises a sequence number if this one is ahead. Without a branch: it would be taken at random.
static inline void ct_tcp_raise(_Atomic uint32_t *field, uint32_t seq)
{
	uint32_t old = atomic_load_explicit(field, memory_order_relaxed);

	atomic_store_explicit(field, (int32_t)(seq - old) > 0 ? seq : old, memory_order_relaxed);
}

// Adds a segment that fits to the state of its direction. window is scaled.
static inline void ct_tcp_advance(struct flow_tcp *own, const struct flow_pkt *p, uint32_t window)
{
	uint32_t max_window = atomic_load_explicit(&own->max_window, memory_order_relaxed);

	ct_tcp_raise(&own->end, p->seq + p->seq_len);
	ct_tcp_raise(&own->max_ack, p->ack);
	ct_tcp_raise(&own->edge, p->ack + window);
	atomic_store_explicit(&own->max_window, RTE_MAX(max_window, window), memory_order_relaxed);
}

// The window that a segment without SYN offers.
static inline uint32_t ct_tcp_window(
	const struct flow *f, unsigned int dir, const struct flow_pkt *p)
{
	return (uint32_t)p->window << atomic_load_explicit(&f->scale[dir], memory_order_relaxed);
}

static inline void flow_counter_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
		memory_order_relaxed);
}

static inline void flow_count_packet(struct flow_dir *own, uint64_t octets, uint32_t now)
{
	atomic_store_explicit(&own->seen, now, memory_order_relaxed);
	flow_counter_add(&own->packets, 1);
	flow_counter_add(&own->octets, octets);
}

// Only ACK and data in both directions of an open connection: nothing but the windows moves.
static __rte_always_inline bool ct_tcp_track_ordinary(
	struct flow *f, unsigned int dir, const struct flow_pkt *p)
{
	const uint8_t turning = RTE_TCP_SYN_FLAG | RTE_TCP_FIN_FLAG | RTE_TCP_RST_FLAG;
	struct flow_tcp *own = &f->tcp[dir];

	if ((p->tcp_flags & turning) != 0 || !ct_tcp_fits(own, &f->tcp[!dir], p))
		return false;
	ct_tcp_advance(own, p, ct_tcp_window(f, dir, p));
	return true;
}

// For a direction that is settled: tracks a packet that is no ICMP error if it is an ordinary one.
// False, and nothing has changed: it is flow_track_unusual() that tracks it.
static __rte_always_inline bool flow_track_settled(
	struct flow_dir *own, const struct flow_pkt *p, uint32_t now)
{
	const uint64_t octets = p->ip_len;

	if (p->key.proto == IPPROTO_TCP &&
		unlikely(!ct_tcp_track_ordinary(flow_of_dir(own), flow_dir_number(own), p)))
		return false;
	flow_count_packet(own, octets, now);
	return true;
}

// Tracks a packet, which is no ICMP error, if it is an ordinary one, which leaves the state as it
// is, of a flow that is not translated. own: its direction; shown: flow_word_shown(), which
// flow_decision_get() reads as well. False, and nothing has changed: it is flow_track_unusual()
// that tracks it.
static __rte_always_inline bool flow_track_ordinary(
	struct flow_dir *own, const struct flow_pkt *p, uint16_t shown, uint32_t now)
{
	return likely((shown & FLOW_SETTLED) != 0) && flow_track_settled(own, p, now);
}

// Brings the state of the flow up to date with any packet of it. A SYN that reopens a closed
// connection invalidates its decisions. Returns DROP_NONE, or why the packet is refused and
// changes nothing: DROP_CT_INVALID, DROP_TCP_WINDOW, DROP_TCP_RESET (both only if strict),
// DROP_ICMP_UNRELATED.
enum drop flow_track_unusual(struct flow_table *t, unsigned int worker, struct flow *f,
	const struct flow_pkt *p, uint32_t now);

// The same, faster for ordinary packets.
static inline enum drop flow_track(struct flow_table *t, unsigned int worker, struct flow *f,
	const struct flow_pkt *p, uint32_t now)
{
	if (!p->icmp_error &&
		flow_track_ordinary(&f->dir[p->dir], p, flow_word_shown(f, p->dir), now))
		return DROP_NONE;
	return flow_track_unusual(t, worker, f, p, now);
}
