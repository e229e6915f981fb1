// SPDX-License-Identifier: BSD-3-Clause
// Connection tracking of the packets of a flow: those that change no state are tracked inline, the
// others in ct.c. Workers; as in flow.h.
#pragma once

#include <netinet/in.h>

#include <rte_branch_prediction.h>
#include <rte_tcp.h>

#include "flow.h"

// Whether a segment lies in the window that the other end has offered and acknowledges what that
// has sent. Of a direction whose handshake is complete.
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
	// that follows the probe is one beyond. It is at most one window old. What it acknowledges
	// was sent, and not long ago (RFC 5961 5.2).
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

// Notes what a segment that fits says about its direction. window is scaled.
static inline void ct_tcp_advance(struct flow_tcp *own, const struct flow_pkt *p, uint32_t window)
{
	uint32_t max_window = atomic_load_explicit(&own->max_window, memory_order_relaxed);

	ct_tcp_raise(&own->end, p->seq + p->seq_len);
	ct_tcp_raise(&own->max_ack, p->ack);
	ct_tcp_raise(&own->edge, p->ack + window);
	atomic_store_explicit(&own->max_window, RTE_MAX(max_window, window), memory_order_relaxed);
}

// The window that a segment without SYN offers.
static inline uint32_t ct_tcp_window(const struct flow *f, const struct flow_pkt *p)
{
	return (uint32_t)p->window << atomic_load_explicit(&f->scale[p->dir], memory_order_relaxed);
}

// Whether a packet of this direction leaves the word as it is: only an answer, and the time after
// it, change that.
static inline bool flow_is_settled(uint32_t word, unsigned int dir)
{
	enum flow_state state = flow_word_state(word);

	return (dir == flow_word_initiator(word) && state != FLOW_UDP_REPLIED) ||
	       state == FLOW_UDP_STREAM || state == FLOW_ICMP_REPLIED ||
	       state == FLOW_OTHER_REPLIED;
}

static inline void flow_counter_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
		memory_order_relaxed);
}

static inline enum drop flow_count_packet(struct flow *f, const struct flow_pkt *p, uint32_t now)
{
	struct flow_dir *own = &f->dir[p->dir];

	atomic_store_explicit(&own->seen, now, memory_order_relaxed);
	flow_counter_add(&own->packets, 1);
	flow_counter_add(&own->octets, p->ip_len);
	return DROP_NONE;
}

// For flow_track() alone: a packet that may change the state, or none that the flow has.
enum drop flow_track_unusual(struct flow_table *t, unsigned int worker, struct flow *f,
	const struct flow_pkt *p, uint32_t now);

// Brings the state of the flow up to date with a packet of it. A SYN that reopens a
// closed connection invalidates its decisions. Returns DROP_NONE, or why the packet is refused and
// changes nothing: DROP_CT_INVALID, DROP_TCP_WINDOW, DROP_TCP_RESET (both only if strict),
// DROP_ICMP_UNRELATED.
static __rte_always_inline enum drop flow_track(struct flow_table *t, unsigned int worker,
	struct flow *f, const struct flow_pkt *p, uint32_t now)
{
	const uint8_t turning = RTE_TCP_SYN_FLAG | RTE_TCP_FIN_FLAG | RTE_TCP_RST_FLAG;
	struct flow_tcp *own = &f->tcp[p->dir];
	uint32_t word = flow_word_shown(f, p->dir);

	if (unlikely(p->icmp_error))
		return flow_track_unusual(t, worker, f, p, now);
	if (likely(p->key.proto == IPPROTO_TCP)) {
		// Only ACK and data in both directions: nothing but the windows moves.
		if (unlikely((word & (FLOW_STATE_MASK | FLOW_PICKED_UP)) != FLOW_TCP_ESTABLISHED ||
			     (p->tcp_flags & turning) != 0 ||
			     !ct_tcp_fits(own, &f->tcp[!p->dir], p)))
			return flow_track_unusual(t, worker, f, p, now);
		ct_tcp_advance(own, p, ct_tcp_window(f, p));
	} else if (unlikely(!flow_is_settled(word, p->dir))) {
		return flow_track_unusual(t, worker, f, p, now);
	}
	return flow_count_packet(f, p, now);
}
