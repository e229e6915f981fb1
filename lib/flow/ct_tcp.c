// SPDX-License-Identifier: BSD-3-Clause
// TCP as seen from between its ends (RFC 9293). The state is kept as facts that only accumulate:
// which end's sequence numbers are known, who has acknowledged whom, whose FIN was seen and
// acknowledged. The state follows from them, in any order and on any worker; simultaneous opening
// and closing need no states of their own.
#include "ct.h"

#include <rte_tcp.h>

#define BOTH(fact) (fact(0) | fact(1))
#define FACTS      (0xffu << 16)

// A repeat of data that was acknowledged is at most this old. So of forged segments, even of a long
// connection, less than one in 1000 passes as a repeat.
#define REPEAT_MAX (1u << 27)

// The state, by the facts.
static enum flow_state tcp_state(uint32_t word)
{
	uint32_t fins = word & BOTH(FLOW_FIN), acked = word & BOTH(FLOW_FIN_ACKED);

	if (acked == BOTH(FLOW_FIN_ACKED))
		return FLOW_TCP_TIME_WAIT; // which a reset does not end (RFC 1337)
	if ((word & FLOW_RESET) != 0)
		return FLOW_TCP_CLOSE;
	if (fins == BOTH(FLOW_FIN))
		return FLOW_TCP_LAST_ACK;
	if (fins != 0)
		return acked != 0 ? FLOW_TCP_CLOSE_WAIT : FLOW_TCP_FIN_WAIT;
	if ((word & BOTH(FLOW_ACK)) == BOTH(FLOW_ACK) || (word & FLOW_LEARNING) != 0)
		return FLOW_TCP_ESTABLISHED;
	if ((word & FLOW_PICKED_UP) != 0)
		return FLOW_TCP_PICKED_UP;
	return (word & BOTH(FLOW_ACK)) != 0 ? FLOW_TCP_SYN_RECV : FLOW_TCP_SYN_SENT;
}

bool ct_tcp_is_possible(uint32_t word)
{
	return flow_word_state(word) == tcp_state(word | FLOW_LEARNING);
}

// The word without FLOW_LEARNING, if both directions have been seen here and no packets that the
// other gateway has forwarded are acknowledged any more.
static uint32_t learning_end(const struct flow_table *t, uint32_t word)
{
	if ((word & BOTH(FLOW_ACK)) != BOTH(FLOW_ACK) || flow_table_has_taken_over(t))
		return word;
	return word & ~FLOW_LEARNING;
}

// Adds facts, unless the entry has meanwhile been taken over by another connection.
static void facts_add(struct flow_table *t, struct flow *f, const struct flow_pkt *p, uint32_t word,
	uint32_t facts)
{
	uint32_t life = word & FLOW_LIFE_MASK, next;

	if (p->dir != flow_word_initiator(word))
		facts |= FLOW_REPLIED;
	do {
		next = learning_end(t, word | facts);
		next = (next & ~FLOW_STATE_MASK) | tcp_state(next);
	} while (next != word && !ct_word_change(t, f, &word, next) &&
		 (word & FLOW_LIFE_MASK) == life);
}

static void set_scale(struct flow *f, unsigned int dir, uint8_t scale)
{
	atomic_store_explicit(&f->scale[dir], scale, memory_order_relaxed);
}

// Begins a direction with its SYN. The window of a SYN is never scaled (RFC 7323 2.2).
static void direction_begin(struct flow *f, unsigned int dir, uint32_t isn, uint32_t end,
	uint16_t window, uint8_t scale)
{
	struct flow_tcp *d = &f->tcp[dir];

	store(&f->isn[dir], isn);
	store(&d->end, end);
	store(&d->max_window, RTE_MAX(window, 1));
	set_scale(f, dir, scale);
}

static void own_begin(struct flow *f, const struct flow_pkt *p)
{
	direction_begin(f, p->dir, p->seq, p->seq + p->seq_len, p->window, p->scale);
}

static uint8_t scale_of_syn(const struct flow *f, unsigned int dir)
{
	return atomic_load_explicit(&f->syn[dir].scale, memory_order_relaxed);
}

static void syn_begin(struct flow *f, const struct flow_pkt *p)
{
	own_begin(f, p);
	atomic_store_explicit(&f->syn[p->dir].scale, p->scale, memory_order_relaxed);
}

// Windows are scaled only if both SYNs have the option (RFC 7323 2.2). Both have been received:
// that of a direction answers the other's, which may have been answered before.
static void agree_on_scale(struct flow *f, unsigned int dir)
{
	set_scale(f, !dir, scale_of_syn(f, !dir));
	if (atomic_load_explicit(&f->scale[0], memory_order_relaxed) == FLOW_NO_SCALE ||
		atomic_load_explicit(&f->scale[1], memory_order_relaxed) == FLOW_NO_SCALE) {
		set_scale(f, 0, 0);
		set_scale(f, 1, 0);
	}
}

// The first acknowledgement of a direction: from now on it offers a window.
static void acks_begin(struct flow_tcp *own, const struct flow_pkt *p, uint32_t window)
{
	store(&own->max_ack, p->ack);
	store(&own->edge, p->ack + window);
	if (window > load(&own->max_window))
		store(&own->max_window, window);
}

// Whether p acknowledges the other direction's SYN, and no octets beyond those sent with it.
static bool acks_syn(const struct flow *f, const struct flow_pkt *p)
{
	uint32_t isn = load(&f->isn[!p->dir]);

	return p->ack - isn - 1 < load(&f->tcp[!p->dir].end) - isn;
}

// A SYN-ACK is followed by one with another number: of a server that has forgotten its first, or of
// another server behind the same address. The client accepts one of them, so both are kept.
static void syn_ack_keep(struct flow *f, unsigned int dir)
{
	struct flow_syn *syn = &f->syn[dir];
	uint8_t scale = atomic_load_explicit(&f->scale[dir], memory_order_relaxed);
	uint8_t client = atomic_load_explicit(&f->scale[!dir], memory_order_relaxed);

	if (client != scale_of_syn(f, !dir)) // it had no option, see agree_on_scale()
		scale = FLOW_NO_SCALE;
	store(&syn->end, load(&f->isn[dir]) + 1);
	atomic_store_explicit(&syn->window,
		(uint16_t)RTE_MIN(load(&f->tcp[dir].max_window), UINT16_MAX), memory_order_relaxed);
	atomic_store_explicit(&syn->scale, scale, memory_order_relaxed);
	atomic_store_explicit(&syn->valid, true, memory_order_release);
}

// Whether the client acknowledges the earlier of two SYN-ACKs: the other direction begins with it.
static bool syn_ack_choose(struct flow *f, const struct flow_pkt *p)
{
	unsigned int server = !p->dir;
	struct flow_syn *syn = &f->syn[server];
	uint16_t window = atomic_load_explicit(&syn->window, memory_order_relaxed);

	if (!atomic_load_explicit(&syn->valid, memory_order_acquire) || p->ack != load(&syn->end))
		return false;
	direction_begin(f, server, p->ack - 1, p->ack, window, scale_of_syn(f, server));
	agree_on_scale(f, server);
	store(&f->tcp[server].edge, load(&f->tcp[server].max_ack) + window);
	return true;
}

// The word for the next connection in the same entry, begun by the end that is given.
static uint32_t next_life(uint32_t word, unsigned int initiator)
{
	return ((word + FLOW_LIFE) & FLOW_LIFE_MASK) |
	       (word & (FLOW_REMOVED | FLOW_OF_SOURCE | FLOW_TRANSLATED)) | FLOW_COUNTED |
	       (initiator == 1 ? FLOW_INITIATOR : 0);
}

// Reopens a closed connection and invalidates its cached decisions. False: the state word changed
// meanwhile.
static bool flow_reopen(struct flow_table *t, struct flow_worker *w, struct flow *f,
	const struct flow_pkt *p, uint32_t *word, uint32_t now)
{
	const uint32_t former = *word;
	uint32_t next = next_life(former, p->dir) | FLOW_TCP_SYN_SENT | FLOW_SYN(p->dir);

	if (!ct_word_change(t, f, word, next))
		return false;
	flow_record_add(t, w, f, former, FLOW_END_CLOSED);
	flow_dropped_reset(t, f);
	store(&f->created, now);
	for (unsigned int dir = 0; dir < 2; dir++) {
		flow_decision_forget(f, dir);
		atomic_store_explicit(&f->dir[dir].packets, 0, memory_order_relaxed);
		atomic_store_explicit(&f->dir[dir].octets, 0, memory_order_relaxed);
		atomic_store_explicit(&f->syn[dir].valid, false, memory_order_relaxed);
	}
	syn_begin(f, p);
	count(&w->counters.reopened);
	return true;
}

// RFC 5961 4.2: a SYN on an open connection does nothing, but may have to reach the other end: the
// one that sends it has forgotten the connection. If the other has too, it answers with SYN and
// ACK, and resynchronise() accepts them.
static enum drop keep_syn(struct flow *f, const struct flow_pkt *p, uint32_t word)
{
	struct flow_syn *syn = &f->syn[p->dir];

	if (p->dir != flow_word_initiator(word) && (word & FLOW_PICKED_UP) == 0)
		return DROP_CT_INVALID;
	store(&syn->end, p->seq + p->seq_len);
	atomic_store_explicit(&syn->window, p->window, memory_order_relaxed);
	atomic_store_explicit(&syn->scale, p->scale, memory_order_relaxed);
	atomic_store_explicit(&syn->valid, true, memory_order_release);
	return DROP_NONE;
}

static enum drop resynchronise(
	struct flow_table *t, struct flow *f, const struct flow_pkt *p, uint32_t word)
{
	unsigned int other = !p->dir;
	struct flow_syn *syn = &f->syn[other];
	uint32_t next = next_life(word, other) | FLOW_TCP_SYN_RECV | BOTH(FLOW_SYN) |
			FLOW_ACK(p->dir) | FLOW_REPLIED;

	if (!atomic_load_explicit(&syn->valid, memory_order_acquire) || p->ack != load(&syn->end))
		return p->dir == flow_word_initiator(word) ? DROP_CT_INVALID : DROP_TCP_WINDOW;
	if (!ct_word_change(t, f, &word, next))
		return DROP_TCP_WINDOW; // another worker has changed the flow
	direction_begin(f, other, p->ack - 1, p->ack,
		atomic_load_explicit(&syn->window, memory_order_relaxed),
		atomic_load_explicit(&syn->scale, memory_order_relaxed));
	atomic_store_explicit(&syn->valid, false, memory_order_relaxed);
	atomic_store_explicit(&f->syn[p->dir].valid, false, memory_order_relaxed);
	own_begin(f, p);
	agree_on_scale(f, p->dir);
	acks_begin(&f->tcp[p->dir], p, p->window);
	return DROP_NONE;
}

// Whether a sequence number lies between two others, and not long before the last.
static bool is_recent(uint32_t seq, uint32_t first, uint32_t last)
{
	return last - seq <= RTE_MIN(last - first, REPEAT_MAX);
}

// Whether a segment repeats acknowledged octets: late copies may be older than one window. Its own
// acknowledgement is as old.
static bool repeats(const struct flow *f, const struct flow_pkt *p)
{
	uint32_t first = load(&f->isn[p->dir]), acked = load(&f->tcp[!p->dir].max_ack);

	return p->seq_len > 0 && is_recent(p->seq, first, acked) &&
	       is_recent(p->seq + p->seq_len, first, acked) &&
	       is_recent(p->ack, load(&f->isn[!p->dir]), load(&f->tcp[!p->dir].end));
}

static enum drop on_syn(struct flow_table *t, struct flow_worker *w, struct flow *f,
	const struct flow_pkt *p, uint32_t word, uint32_t now)
{
	while (flow_word_state(word) == FLOW_TCP_TIME_WAIT ||
		flow_word_state(word) == FLOW_TCP_CLOSE)
		if (flow_reopen(t, w, f, p, &word, now))
			return DROP_NONE;

	bool begun = (word & FLOW_SYN(p->dir)) != 0, answers = (word & FLOW_SYN(!p->dir)) != 0;

	// The first, one more try, or that of the other end, which opens at the same time.
	if (flow_word_state(word) == FLOW_TCP_SYN_SENT && !(begun && answers)) {
		syn_begin(f, p);
		if (answers)
			agree_on_scale(f, p->dir);
		facts_add(t, f, p, word, FLOW_SYN(p->dir));
		return DROP_NONE;
	}
	if (begun && p->seq == load(&f->isn[p->dir]))
		return DROP_NONE; // repeated
	return keep_syn(f, p, word);
}

static enum drop on_syn_ack(
	struct flow_table *t, struct flow *f, const struct flow_pkt *p, uint32_t word)
{
	enum flow_state state = flow_word_state(word);
	bool opening = state == FLOW_TCP_SYN_SENT || state == FLOW_TCP_SYN_RECV;
	bool begun = (word & FLOW_SYN(p->dir)) != 0, answers = (word & FLOW_SYN(!p->dir)) != 0;
	bool repeated = begun && p->seq == load(&f->isn[p->dir]);

	if (opening && answers && acks_syn(f, p)) {
		// In a simultaneous opening also the one that began acknowledges the other's SYN,
		// and repeats its own with it.
		if (p->dir == flow_word_initiator(word) && !repeated)
			return DROP_CT_INVALID;
		if (!repeated) {
			if (begun)
				syn_ack_keep(f, p->dir);
			own_begin(f, p);
			agree_on_scale(f, p->dir);
		}
		if (!repeated || (word & FLOW_ACK(p->dir)) == 0)
			acks_begin(&f->tcp[p->dir], p, p->window);
		facts_add(t, f, p, word, FLOW_SYN(p->dir) | FLOW_ACK(p->dir));
		return DROP_NONE;
	}
	if (!opening && repeated)
		return ct_tcp_fits(&f->tcp[p->dir], &f->tcp[!p->dir], p) || repeats(f, p)
			       ? DROP_NONE
			       : DROP_TCP_WINDOW;
	return resynchronise(t, f, p, word);
}

// The next sequence number that the other end expects of a direction, and the end of its window.
struct window {
	uint32_t left, right;
};

static struct window window_of(const struct flow *f, unsigned int dir, uint32_t word)
{
	const struct flow_tcp *other = &f->tcp[!dir];
	uint32_t first = load(&f->isn[dir]) + 1;

	if ((word & FLOW_ACK(!dir)) != 0)
		return (struct window){load(&other->max_ack), load(&other->edge)};
	// The window of a SYN counts from the first octet after the other's SYN.
	return (struct window){first, first + load(&other->max_window)};
}

// RFC 9293 3.10.7.3, RFC 5961 3.2. A reset ends the connection if it is exactly where the other end
// waits; elsewhere in the window it may pass, and that end asks whether it was meant.
static enum drop on_rst(
	struct flow_table *t, struct flow *f, const struct flow_pkt *p, uint32_t word)
{
	struct window w = window_of(f, p->dir, word);
	bool known = (word & FLOW_SYN(p->dir)) != 0, other_known = (word & FLOW_SYN(!p->dir)) != 0;

	if (!known && (word & FLOW_UNCHECKED) == 0) { // the answer to a SYN
		if ((p->tcp_flags & RTE_TCP_ACK_FLAG) == 0 || !acks_syn(f, p))
			return DROP_TCP_RESET;
		facts_add(t, f, p, word, FLOW_RESET);
		return DROP_NONE;
	}
	if ((known && p->seq == load(&f->tcp[p->dir].end)) || (other_known && p->seq == w.left)) {
		facts_add(t, f, p, word, FLOW_RESET);
		return DROP_NONE;
	}
	// Nothing to compare with; or it answers an acknowledgement of an old connection
	// (RFC 9293 3.5.1).
	if (!other_known || (word & FLOW_UNCHECKED) != 0 || flow_table_has_taken_over(t))
		return DROP_NONE;
	return p->seq - w.left <= w.right - w.left ? DROP_NONE : DROP_TCP_RESET;
}

// Whether the sequence number fits before both ends have acknowledged each other.
static bool fits_handshake(const struct flow *f, const struct flow_pkt *p, uint32_t word)
{
	const struct flow_tcp *own = &f->tcp[p->dir], *other = &f->tcp[!p->dir];
	uint32_t isn = load(&f->isn[p->dir]); // where a keep-alive may be

	return p->seq - isn <= window_of(f, p->dir, word).right - isn &&
	       (int32_t)(p->seq + p->seq_len - (load(&own->end) - load(&other->max_window))) >= 0;
}

// A segment before both ends have acknowledged each other. False, and nothing has changed: it does
// not fit.
static bool handshake_continue(struct flow *f, const struct flow_pkt *p, uint32_t word)
{
	bool first = (word & FLOW_ACK(p->dir)) == 0;

	if (!fits_handshake(f, p, word) || (!acks_syn(f, p) && !(first && syn_ack_choose(f, p))))
		return false;
	if (first) {
		acks_begin(&f->tcp[p->dir], p, ct_tcp_window(f, p->dir, p));
		atomic_store_explicit(&f->syn[!p->dir].valid, false, memory_order_relaxed);
	}
	return true;
}

// Adds a segment without SYN and RST to the state, now that its direction is up to date.
static uint32_t facts_of(const struct flow *f, const struct flow_pkt *p, uint32_t word)
{
	uint32_t facts = FLOW_SYN(p->dir) | FLOW_ACK(p->dir);

	// A FIN before octets that were already sent is invalid.
	if ((p->tcp_flags & RTE_TCP_FIN_FLAG) != 0 &&
		p->seq + p->seq_len == load(&f->tcp[p->dir].end))
		facts |= FLOW_FIN(p->dir);
	if ((word & FLOW_FIN(!p->dir)) != 0 && p->ack == load(&f->tcp[!p->dir].end))
		facts |= FLOW_FIN_ACKED(!p->dir);
	return facts;
}

// A segment of a connection whose SYN was not seen here: windows are not checked, but noted. That
// of the first segment is scaled, if another gateway has seen the SYN. It may
// acknowledge octets that the other gateway has forwarded.
static void segment_note(struct flow *f, const struct flow_pkt *p, uint32_t word)
{
	struct flow_tcp *own = &f->tcp[p->dir];
	const uint8_t scale = atomic_load_explicit(&f->scale[p->dir], memory_order_relaxed);

	if ((word & FLOW_SYN(p->dir)) == 0)
		direction_begin(f, p->dir, p->seq, p->seq + p->seq_len, p->window, scale);
	if ((word & FLOW_ACK(p->dir)) == 0)
		acks_begin(own, p, ct_tcp_window(f, p->dir, p));
	if ((word & FLOW_LEARNING) != 0 && (word & FLOW_SYN(!p->dir)) != 0)
		ct_tcp_raise(&f->tcp[!p->dir].end, p->ack);
}

// After a takeover a segment that does not fit may follow others that the other gateway has
// forwarded: both directions begin again. False: another worker has changed the state.
static bool learning_begin(struct flow_table *t, struct flow *f, uint32_t *word)
{
	const uint32_t next =
		(*word & ~(BOTH(FLOW_SYN) | BOTH(FLOW_ACK))) | FLOW_LEARNING | FLOW_REPLIED;

	if (!flow_table_has_taken_over(t) || !ct_word_change(t, f, word, next))
		return false;
	*word = next;
	return true;
}

static enum drop on_segment(
	struct flow_table *t, struct flow *f, const struct flow_pkt *p, uint32_t word)
{
	struct flow_tcp *own = &f->tcp[p->dir];
	bool complete = (word & BOTH(FLOW_ACK)) == BOTH(FLOW_ACK);
	bool unchecked = (word & FLOW_UNCHECKED) != 0;

	if (!unchecked && complete && !ct_tcp_fits(own, &f->tcp[!p->dir], p)) {
		if (repeats(f, p))
			return DROP_NONE;
		unchecked = learning_begin(t, f, &word);
		if (!unchecked)
			return DROP_TCP_WINDOW;
	}
	if (unchecked) {
		segment_note(f, p, word);
	} else if ((word & BOTH(FLOW_SYN)) != BOTH(FLOW_SYN)) {
		// The other end has an older connection, and acknowledges it (RFC 5961 4.2); the
		// one that opens has nothing to acknowledge yet.
		bool answer = p->dir != flow_word_initiator(word) && p->seq_len == 0;

		return answer ? DROP_NONE : DROP_TCP_WINDOW;
	} else if (!complete && !handshake_continue(f, p, word)) {
		return DROP_TCP_WINDOW;
	}
	ct_tcp_advance(own, p, ct_tcp_window(f, p->dir, p));
	facts_add(t, f, p, word, facts_of(f, p, word));
	return DROP_NONE;
}

enum drop ct_tcp(struct flow_table *t, struct flow_worker *w, struct flow *f,
	const struct flow_pkt *p, uint32_t now)
{
	uint32_t word = flow_word(f);

	if ((p->tcp_flags & RTE_TCP_RST_FLAG) != 0)
		return on_rst(t, f, p, word);
	if ((p->tcp_flags & RTE_TCP_SYN_FLAG) == 0)
		return on_segment(t, f, p, word);
	if ((p->tcp_flags & RTE_TCP_ACK_FLAG) == 0)
		return on_syn(t, w, f, p, word, now);
	return on_syn_ack(t, f, p, word);
}

bool ct_tcp_quoted(const struct flow *f, const struct flow_pkt *p)
{
	unsigned int sender = !p->dir;
	uint32_t word = flow_word(f);
	uint32_t end = load(&f->tcp[sender].end);
	uint32_t from = (word & FLOW_ACK(p->dir)) != 0 ? load(&f->tcp[p->dir].max_ack)
						       : load(&f->isn[sender]);

	return (word & FLOW_SYN(sender)) != 0 && p->seq - from <= end - from;
}
