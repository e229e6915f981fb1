// SPDX-License-Identifier: BSD-3-Clause
#include "flow_adopt.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "flow_port.h"
#include "flow_scan.h"
#include "flow_table.h"

#define INBOX    4096 // copies, a power of two: as many as the channel gives in two ticks
#define AT_ONCE  16   // that a worker takes in a millisecond
#define KEPT     (2 * FLOW_SCANS + 1)
#define LATER_MS 1000 // a packet is later than those of the copy: clocks and reports differ

struct flow_inbox {
	struct flow_copy copy[INBOX];
	_Atomic uint32_t written, read;
	uint32_t scan; // of the control thread: the number of that which is being received, from 1
	// Numbers of scans: adopted flows from the first one on, in the upper half, to below the
	// second are not repeated any more.
	_Atomic uint64_t gone;
	_Atomic uint64_t taken, refused; // of the worker
};

#define GONE(from, to) ((uint64_t)(from) << 32 | (to))

// --- control thread ---

int flow_inbox_new(struct flow_table *t)
{
	t->inbox = calloc(1, sizeof(*t->inbox));
	if (t->inbox == NULL)
		return -ENOMEM;
	t->inbox->scan = 1;
	t->inbox->gone = GONE(1, 1);
	return 0;
}

static bool state_is_possible(const struct flow_copy *c)
{
	const enum flow_state state = flow_word_state(c->word);
	const uint32_t facts = c->word & ~FLOW_STATE_MASK;

	switch (c->proto) {
	case IPPROTO_TCP:
		return (facts & FLOW_REPLIED) != 0 && ct_tcp_is_possible(c->word);
	case IPPROTO_UDP:
		return facts == 0 ? state == FLOW_UDP_NEW
				  : facts == FLOW_REPLIED &&
					    (state == FLOW_UDP_REPLIED || state == FLOW_UDP_STREAM);
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return facts == 0 ? state == FLOW_ICMP_NEW
				  : facts == FLOW_REPLIED && state == FLOW_ICMP_REPLIED;
	default:
		return facts == 0 ? state == FLOW_OTHER_NEW
				  : facts == FLOW_REPLIED && state == FLOW_OTHER_REPLIED;
	}
}

static bool ends_are_possible(const struct flow_copy *c, const struct ip_ends *e)
{
	const bool v4 = ip_addr_is_v4(&c->from.src);

	return ip_addr_is_v4(&e->src) == v4 && ip_addr_is_v4(&e->dst) == v4 &&
	       (!c->query || e->src_port == e->dst_port) &&
	       (c->query || ip_proto_has_ports(c->proto) || (e->src_port == 0 && e->dst_port == 0));
}

bool flow_copy_is_possible(const struct flow_copy *c)
{
	const bool v4 = ip_addr_is_v4(&c->from.src);
	const bool icmp = c->proto == (v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);

	return (c->word & ~FLOW_COPIED) == 0 && state_is_possible(c) &&
	       (icmp || (!c->query && c->icmp_type == 0 && c->icmp_code == 0)) &&
	       (!icmp || c->query == flow_icmp_is_query(c->icmp_type, v4)) &&
	       ends_are_possible(c, &c->from) && ends_are_possible(c, &c->to) &&
	       c->scale[0] <= FLOW_SCALE_MAX && c->scale[1] <= FLOW_SCALE_MAX;
}

bool flow_adopt(struct flow_table *t, const struct flow_copy *c)
{
	struct flow_inbox *in = t->inbox;
	struct flow_copy *copy;
	uint32_t at;

	if (in == NULL)
		return false;
	at = load(&in->written);
	copy = &in->copy[at % INBOX];
	if (at - atomic_load_explicit(&in->read, memory_order_acquire) == INBOX)
		return false;
	*copy = *c;
	copy->scan = in->scan;
	atomic_store_explicit(&in->written, at + 1, memory_order_release);
	return true;
}

void flow_adopt_scanned(struct flow_table *t)
{
	struct flow_inbox *in = t->inbox;
	uint32_t from;

	if (in == NULL)
		return;
	from = (uint32_t)(in->gone >> 32);
	in->scan++;
	if (in->scan > from + KEPT)
		atomic_store_explicit(&in->gone, GONE(from, in->scan - KEPT), memory_order_relaxed);
}

void flow_adopted_keep(struct flow_table *t)
{
	struct flow_inbox *in = t->inbox;

	if (in == NULL)
		return;
	in->scan++;
	atomic_store_explicit(&in->gone, GONE(in->scan, in->scan), memory_order_relaxed);
}

struct flow_adopted flow_adopted_count(const struct flow_table *t)
{
	const struct flow_inbox *in = t->inbox;

	if (in == NULL)
		return (struct flow_adopted){0};
	return (struct flow_adopted){atomic_load_explicit(&in->taken, memory_order_relaxed),
		atomic_load_explicit(&in->refused, memory_order_relaxed)};
}

// --- workers ---

static uint64_t gone_of(const struct flow_table *t)
{
	return atomic_load_explicit(&t->inbox->gone, memory_order_relaxed);
}

bool flow_adopted_may_be_gone(const struct flow_table *t)
{
	return t->inbox != NULL && gone_of(t) >> 32 != (gone_of(t) & UINT32_MAX);
}

bool flow_adopted_is_gone(const struct flow_table *t, const struct flow *f, uint32_t now)
{
	uint64_t gone;
	uint32_t from;

	if (t->inbox == NULL)
		return false;
	gone = gone_of(t);
	from = (uint32_t)(gone >> 32);
	// Packets that come here show that it is in use, whatever the other one reports.
	return load(&f->repeated) - from < (uint32_t)gone - from &&
	       flow_idle(f, now) >= FLOW_ACTIVE_MS;
}

// Whether the flow is the other gateway's: it was adopted since the last takeover.
static bool is_others(const struct flow_table *t, const struct flow *f)
{
	return load(&f->repeated) >= gone_of(t) >> 32;
}

// A packet of the end that began first.
static struct flow_pkt first_packet(const struct flow_table *t, const struct flow_copy *c)
{
	struct flow_pkt p = {.key.proto = c->proto, .v4 = ip_addr_is_v4(&c->from.src)};

	flow_pkt_set_ends(&p, c->from.src, c->from.src_port, c->from.dst, c->from.dst_port);
	p.key.icmp_type = c->icmp_type;
	p.key.icmp_code = c->icmp_code;
	p.key.asker = c->query ? (uint8_t)(1 + p.dir) : 0;
	flow_lookup_start(t, &p);
	return p;
}

static struct flow_pkt reply_to(
	const struct flow_table *t, const struct flow_pkt *p, const struct ip_ends *to)
{
	struct flow_pkt reply = flow_reply_to(p, to);

	flow_lookup_start(t, &reply);
	return reply;
}

static struct flow *find(const struct flow_table *t, struct flow_pkt p)
{
	return flow_find(t, &p);
}

// Whether the flow has the keys of the copy, in which p is the first packet.
static bool is_of_copy(const struct flow_table *t, const struct flow *f, const struct flow_pkt *p,
	const struct flow_copy *c)
{
	struct flow_pkt reply;

	if (!flow_key_equal(&f->key, &p->key) ||
		((flow_word(f) & FLOW_TRANSLATED) != 0) != c->translated)
		return false;
	if (!c->translated)
		return true;
	reply = flow_reply_to(p, &c->to);
	return flow_nat(t, f)->first == p->dir && flow_key_equal(&flow_nat(t, f)->key, &reply.key);
}

static uint32_t word_of(const struct flow_copy *c, unsigned int first)
{
	const uint32_t word = first == 0 ? c->word : flow_word_turned(c->word);

	return c->proto == IPPROTO_TCP ? word | FLOW_LEARNING : word;
}

// Gives the flow the state of the copy; first: the direction in it of the end that began first.
static void state_set(struct flow_table *t, struct flow *f, const struct flow_copy *c,
	unsigned int first, uint32_t now)
{
	const uint32_t kept = FLOW_REMOVED | FLOW_OF_SOURCE | FLOW_TRANSLATED | FLOW_LIFE_MASK;
	uint32_t word = flow_word(f), next;

	store(&f->created, now - c->age_ms);
	store(&f->repeated, c->scan);
	for (unsigned int i = 0; i < 2; i++) {
		store(&f->dir[first ^ i].seen, now - c->idle_ms[i]);
		atomic_store_explicit(&f->scale[first ^ i], c->scale[i], memory_order_relaxed);
	}
	do {
		next = (word & kept) | word_of(c, first);
		if (flow_word_class(next) == FLOW_CLASS_NEW)
			next |= FLOW_COUNTED;
	} while (next != word && !ct_word_change(t, f, &word, next));
}

static int insert(struct flow_table *t, struct flow_worker *w, const struct flow_pkt *p,
	const struct flow_copy *c, uint32_t now)
{
	const struct flow_translation translation = {
		.to = c->to,
		.rule = {c->rule[0], c->rule[1]},
		.logged = c->logged,
		.of_port = c->of_port,
		.towards = c->chosen ? flow_towards(t, p, &c->to) : 0,
	};
	const struct flow_translation *to = c->translated ? &translation : NULL;
	struct flow_port_cells cells = {.block = NULL};
	struct flow *f;
	uint32_t place;
	int rc;

	if (!flow_may_grow(t, c->holder) || (to != NULL && !flow_table_translates(t)))
		return -ENOSPC;
	if (to != NULL)
		cells = flow_port_cells(t, p, to, c->holder);
	rc = flow_entry_add(
		t, w, p, to, &cells, word_of(c, p->dir), c->holder, 0, NULL, now, &place);
	if (rc < 0)
		return rc;
	count(&w->counters.created);
	f = flow_at_place(t, place);
	if (to != NULL)
		flow_binding_add(t, w, f, false, now);
	state_set(t, f, c, p->dir, now);
	return 0;
}

// Removes a flow whose ends another one has got at the other gateway, where both are.
static bool give_way(struct flow_table *t, struct flow_worker *w, struct flow *f, uint32_t now)
{
	if (f == NULL || !is_others(t, f))
		return false;
	if (flow_unlink(t, w, f, FLOW_END_FORCED, now))
		count(&w->counters.expired);
	return true;
}

static bool adopt(
	struct flow_table *t, struct flow_worker *w, const struct flow_copy *c, uint32_t now)
{
	const struct flow_pkt p = first_packet(t, c);
	struct flow *f = find(t, p);
	int rc;

	if (f != NULL && is_of_copy(t, f, &p, c)) {
		if (flow_idle(f, now) + LATER_MS >= RTE_MIN(c->idle_ms[0], c->idle_ms[1]))
			state_set(t, f, c, p.dir, now);
		return true;
	}
	if (f != NULL && !give_way(t, w, f, now))
		return false;
	rc = insert(t, w, &p, c, now);
	if (rc == -EADDRINUSE && give_way(t, w, find(t, reply_to(t, &p, &c->to)), now))
		rc = insert(t, w, &p, c, now);
	return rc == 0;
}

void flow_inbox_take(struct flow_table *t, struct flow_worker *w, uint32_t now)
{
	struct flow_inbox *in = t->inbox;
	uint32_t at = load(&in->read);
	const uint32_t written = atomic_load_explicit(&in->written, memory_order_acquire);

	for (unsigned int i = 0; i < AT_ONCE && at != written; i++, at++)
		count(adopt(t, w, &in->copy[at % INBOX], now) ? &in->taken : &in->refused);
	atomic_store_explicit(&in->read, at, memory_order_release);
}
