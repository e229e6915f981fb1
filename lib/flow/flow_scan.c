// SPDX-License-Identifier: BSD-3-Clause
#include "flow_scan.h"

#include <netinet/in.h>

#include "flow_table.h"

#define LOOKS      16384 // entries in one call,
#define TAKEN      1024  // of which at most that many are copied
#define AGE_MIN_MS 2000

// Without an answer, only flows that hold a port. The handshake of TCP can be repeated with another
// one.
static bool is_worth_it(uint32_t word, uint8_t proto)
{
	return flow_word_class(word) != FLOW_CLASS_NEW ||
	       ((word & FLOW_TRANSLATED) != 0 && proto != IPPROTO_TCP);
}

static bool is_due(const struct flow_scan *s, const struct flow *f, uint32_t number, uint32_t now)
{
	const uint32_t word = flow_word(f);

	return flow_word_live(word) &&
	       (f->reported != s->receiver || number % FLOW_SCANS == s->number % FLOW_SCANS) &&
	       is_worth_it(word, f->key.proto) && elapsed(now, load(&f->created)) >= AGE_MIN_MS;
}

// One that was not agreed on, before the connection was reset, does not matter.
static uint8_t scale_of(const struct flow *f, unsigned int dir)
{
	const uint8_t scale = atomic_load_explicit(&f->scale[dir], memory_order_relaxed);

	return scale != FLOW_NO_SCALE ? scale : 0;
}

static struct flow_copy copy_of(const struct flow_table *t, const struct flow *f, uint32_t now)
{
	const uint32_t word = flow_word(f);
	const bool translated = (word & FLOW_TRANSLATED) != 0;
	const struct flow_nat *nat = translated ? flow_nat(t, f) : NULL;
	const unsigned int first = translated ? nat->first : flow_word_initiator(word);
	struct flow_copy c = {
		.from = flow_key_ends(&f->key, first),
		.proto = f->key.proto,
		.icmp_type = f->key.icmp_type,
		.icmp_code = f->key.icmp_code,
		.query = f->key.asker != 0,
		.translated = translated,
		.word = (first == 0 ? word : flow_word_turned(word)) & FLOW_COPIED,
		.age_ms = elapsed(now, load(&f->created)),
	};

	c.to = translated ? flow_key_ends(&nat->key, !nat->sender) : c.from;
	if (translated)
		memcpy(c.rule, nat->rule, sizeof(c.rule));
	for (unsigned int i = 0; i < 2; i++) {
		const unsigned int dir = first ^ i;

		c.scale[i] = scale_of(f, dir);
		c.idle_ms[i] =
			elapsed(now, atomic_load_explicit(&f->dir[dir].seen, memory_order_relaxed));
	}
	return c;
}

// Looks at entries until one is not taken. Returns whether all have been looked at.
static bool scan_part(
	struct flow_table *t, struct flow_scan *s, uint32_t now, flow_take_fn *take, void *arg)
{
	const uint32_t end = load(&t->n_filled), stop = RTE_MIN(end, s->position + LOOKS);

	for (unsigned int n = 0; s->position < stop && n < TAKEN; s->position++) {
		struct flow *f = &t->entry[s->position + 1];

		if (!is_due(s, f, s->position, now))
			continue;

		const struct flow_copy copy = copy_of(t, f, now);

		if (!take(arg, &copy))
			return false;
		f->reported = s->receiver;
		n++;
	}
	return s->position == end;
}

bool flow_scan(
	struct flow_table *t, struct flow_scan *s, uint32_t now, flow_take_fn *take, void *arg)
{
	bool over;

	if (pthread_mutex_trylock(&t->reading) != 0)
		return false; // a list has a part of the table
	// An entry that is live from here on is not used again before the end.
	rte_rcu_qsbr_thread_online(t->qsbr, t->reader);
	over = scan_part(t, s, now, take, arg);
	rte_rcu_qsbr_thread_offline(t->qsbr, t->reader);
	pthread_mutex_unlock(&t->reading);
	if (over) {
		s->position = 0;
		s->number++;
	}
	return over;
}
