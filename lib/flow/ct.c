// SPDX-License-Identifier: BSD-3-Clause
// Connection tracking: packets that begin a flow, and changes of its state.
#include "ct.h"

#include <netinet/in.h>

#include <rte_tcp.h>

#define UDP_STREAM_MS 2000 // a flow that is still answered after this is a stream

static bool picks_up(const struct flow_table *t)
{
	return atomic_load_explicit(&t->pick_up, memory_order_relaxed) ||
	       flow_table_has_taken_over(t);
}

static uint32_t begin_tcp(const struct flow_table *t, const struct flow_pkt *p)
{
	uint8_t flags = p->tcp_flags & (RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG | RTE_TCP_RST_FLAG);

	if (flags == RTE_TCP_SYN_FLAG)
		return FLOW_TCP_SYN_SENT | FLOW_SYN(p->dir);
	if (flags == RTE_TCP_ACK_FLAG && picks_up(t))
		return FLOW_TCP_PICKED_UP | FLOW_PICKED_UP;
	return 0;
}

uint32_t ct_begin(const struct flow_table *t, const struct flow_pkt *p, enum drop *reason)
{
	uint32_t initiator = p->dir == 1 ? FLOW_INITIATOR : 0;
	uint32_t word;

	if (p->icmp_error) {
		*reason = DROP_ICMP_UNRELATED;
		return 0;
	}
	switch (p->key.proto) {
	case IPPROTO_TCP:
		word = begin_tcp(t, p);
		*reason = DROP_TCP_UNOPENED;
		return word != 0 ? word | initiator : 0;
	case IPPROTO_UDP:
		return FLOW_UDP_NEW | initiator;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		*reason = DROP_CT_INVALID; // an answer to nothing
		// Before a takeover the other gateway may have seen the request. The flow counts
		// for the sender all the same: anybody can send a reply.
		return p->icmp_reply && !flow_table_has_taken_over(t) ? 0
								      : FLOW_ICMP_NEW | initiator;
	default:
		return FLOW_OTHER_NEW | initiator;
	}
}

// Whether a flow counts for the same source and holder with both words. Mostly it does, and then no
// counter is changed that other workers write, too.
static bool counts_alike(uint32_t a, uint32_t b)
{
	return ((a ^ b) & (FLOW_COUNTED | FLOW_OF_SOURCE | FLOW_INITIATOR)) == 0;
}

bool ct_word_change(struct flow_table *t, struct flow *f, uint32_t *old, uint32_t word)
{
	// From the change on that completes the handshake, the flow no longer counts.
	if (flow_word_class(word) == FLOW_CLASS_ESTABLISHED)
		word &= ~FLOW_COUNTED;
	if (!atomic_compare_exchange_strong_explicit(
		    &f->word, old, word, memory_order_acq_rel, memory_order_acquire))
		return false;
	flow_word_show(f);
	// A dead one was taken off the count when it died.
	if ((*old & FLOW_REMOVED) != 0 || counts_alike(*old, word))
		return true;
	if ((*old & FLOW_COUNTED) != 0) {
		flow_source_subtract(t, f, *old);
		flow_holder_subtract(&t->holders, f->holder, FLOW_UNESTABLISHED);
	}
	if ((word & FLOW_COUNTED) != 0) {
		flow_source_add(t, f, word);
		flow_holder_add(&t->holders, f->holder, FLOW_UNESTABLISHED);
	}
	return true;
}

static enum flow_state replied_state(enum flow_state state)
{
	switch (state) {
	case FLOW_UDP_NEW:
		return FLOW_UDP_REPLIED;
	case FLOW_ICMP_NEW:
		return FLOW_ICMP_REPLIED;
	case FLOW_OTHER_NEW:
		return FLOW_OTHER_REPLIED;
	default:
		return state;
	}
}

// All that is not TCP: whether the other end answers is all there is to know.
static void ct_other(struct flow_table *t, struct flow *f, const struct flow_pkt *p, uint32_t now)
{
	uint32_t word = flow_word(f), next;

	do {
		enum flow_state state = flow_word_state(word);

		next = word;
		if (p->dir != flow_word_initiator(word)) {
			next |= FLOW_REPLIED;
			state = replied_state(state);
		}
		if (state == FLOW_UDP_REPLIED &&
			elapsed(now, atomic_load_explicit(&f->created, memory_order_relaxed)) >
				UDP_STREAM_MS)
			state = FLOW_UDP_STREAM;
		next = (next & ~FLOW_STATE_MASK) | state;
	} while (next != word && !ct_word_change(t, f, &word, next));
}

static enum drop ct_icmp_error(const struct flow *f, const struct flow_pkt *p)
{
	if (p->key.proto == IPPROTO_TCP && !ct_tcp_quoted(f, p))
		return DROP_ICMP_UNRELATED;
	return DROP_NONE;
}

// Counts refused packets. A packet that does not fit, if only out of step, may have to pass all the
// same.
static enum drop ct_refuse(struct flow_table *t, struct flow_worker *w, enum drop reason)
{
	count(&w->counters.refused[reason]);
	if ((reason == DROP_TCP_WINDOW || reason == DROP_TCP_RESET) &&
		!atomic_load_explicit(&t->strict, memory_order_relaxed))
		return DROP_NONE;
	return reason;
}

enum drop flow_track_unusual(struct flow_table *t, unsigned int worker, struct flow *f,
	const struct flow_pkt *p, uint32_t now)
{
	enum drop reason = DROP_NONE;

	if (p->icmp_error)
		reason = ct_icmp_error(f, p);
	else if (p->key.proto == IPPROTO_TCP)
		reason = ct_tcp(t, &t->worker[worker], f, p, now);
	else
		ct_other(t, f, p, now);
	if (reason != DROP_NONE)
		reason = ct_refuse(t, &t->worker[worker], reason);
	if (reason == DROP_NONE && !p->icmp_error)
		flow_count_packet(&f->dir[p->dir], p->ip_len, now);
	return reason;
}
