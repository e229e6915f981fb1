// SPDX-License-Identifier: BSD-3-Clause
// Connection tracking of TCP. Workers; called by flow_track().
#pragma once

#include "flow_table.h"

// Whether a segment lies in the window that the other end has offered and acknowledges what that
// has sent. Of a direction whose handshake is complete.
static inline bool ct_tcp_fits(
	const struct flow_dir *own, const struct flow_dir *other, const struct flow_pkt *p)
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
static inline void ct_tcp_advance(struct flow_dir *own, const struct flow_pkt *p, uint32_t window)
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

// A segment of TCP, whatever the state. now: as of flow_track(). Returns like that, except that
// it refuses what does not fit even if not strict.
enum drop ct_tcp(struct flow_table *t, struct flow_worker *w, struct flow *f,
	const struct flow_pkt *p, uint32_t now);

// Whether the segment that an ICMP error quotes can have been sent lately (RFC 5927 4.1).
bool ct_tcp_quoted(const struct flow *f, const struct flow_pkt *p);
