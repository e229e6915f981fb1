// SPDX-License-Identifier: BSD-3-Clause
// Access of the control thread to the table: lists and requests.
#include "flow_table.h"

#include <errno.h>

#define LIST_LOOKS 65536 // entries in one call

const struct flow_state_info flow_state_info[FLOW_STATE_COUNT] = {
#define FLOW_STATE(id, text, seconds, kind)                                                        \
	[FLOW_##id] = {.name = #text, .timeout_s = seconds, .class = FLOW_CLASS_##kind},
#include "flow_state.def"
#undef FLOW_STATE
};

void flow_config_init(struct flow_config *c)
{
	*c = (struct flow_config){.strict = true};
	for (unsigned int i = 0; i < FLOW_STATE_COUNT; i++)
		c->timeout_s[i] = flow_state_info[i].timeout_s;
}

// A round takes a quarter of the shortest timeout, as far as the quotient is an integer.
static uint32_t rounds_of(const struct flow_config *c)
{
	uint32_t shortest = c->timeout_s[FLOW_FREE + 1];

	for (unsigned int i = FLOW_FREE + 1; i < FLOW_STATE_COUNT; i++)
		shortest = RTE_MIN(shortest, c->timeout_s[i]);
	return RTE_MAX(4 * FLOW_ROUND_MS / 1000 / RTE_MAX(shortest, 1u), 1u);
}

void flow_table_configure(struct flow_table *t, const struct flow_config *c)
{
	atomic_store_explicit(&t->rounds, rounds_of(c), memory_order_relaxed);
	atomic_store_explicit(&t->source_limit, c->source_limit, memory_order_relaxed);
	atomic_store_explicit(&t->strict, c->strict, memory_order_relaxed);
	atomic_store_explicit(&t->pick_up, c->pick_up, memory_order_relaxed);
	for (unsigned int i = 0; i < FLOW_STATE_COUNT; i++)
		atomic_store_explicit(&t->timeout[i], c->timeout_s[i] * 1000, memory_order_relaxed);
}

void flow_table_take_over(struct flow_table *t, bool on)
{
	atomic_store_explicit(&t->taken_over, on, memory_order_relaxed);
}

static uint64_t read_counter(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void flow_counters_sum(const struct flow_table *t, struct flow_counters *sum)
{
	*sum = (struct flow_counters){0};
	for (unsigned int i = 0; i < t->n_workers; i++) {
		const struct flow_worker *w = &t->worker[i];

		sum->created += read_counter(&w->counters.created);
		sum->expired += read_counter(&w->counters.expired);
		sum->evicted += read_counter(&w->counters.evicted);
		sum->flushed += read_counter(&w->counters.flushed);
		sum->reopened += read_counter(&w->counters.reopened);
		sum->bindings += read_counter(&w->counters.bindings);
		sum->bindings_ended += read_counter(&w->counters.bindings_ended);
		sum->bindings_lost += read_counter(&w->counters.bindings_lost);
		sum->records_lost += read_counter(&w->counters.records_lost);
		for (unsigned int d = 0; d < DROP_COUNT; d++)
			sum->refused[d] += read_counter(&w->counters.refused[d]);
	}
}

uint64_t flow_count(const struct flow_table *t)
{
	struct flow_counters sum;

	flow_counters_sum(t, &sum);
	// Read while they move, a removal may show before its creation.
	uint64_t gone = sum.expired + sum.evicted + sum.flushed;

	return sum.created > gone ? sum.created - gone : 0;
}

// Where an SA of another generation was there may be another one now.
static bool has_sa(const struct flow *f, const struct flow_filter *filter)
{
	struct flow_decision d;

	for (unsigned int dir = 0; dir < 2; dir++)
		if (flow_decision_get(f, dir, filter->generation, &d) &&
			((filter->sa_out != NULL &&
				 flow_decision_sa(&d, filter->outs) == filter->sa_out) ||
				(filter->ingress != 0 && d.ingress == filter->ingress)))
			return true;
	return false;
}

// A decision may be of an earlier snapshot: the number of the interface is the same in all.
static bool has_iface(const struct flow *f, const uint32_t iface[2])
{
	for (unsigned int dir = 0; dir < 2; dir++) {
		uint32_t ingress =
			1 + atomic_load_explicit(&f->dir[dir].ingress, memory_order_relaxed);

		if (flow_decision_generation(f, dir) != 0 &&
			(ingress == iface[0] || ingress == iface[1]))
			return true;
	}
	return f->holder + 1 == iface[0] || f->holder + 1 == iface[1];
}

static bool has_rule(const struct flow_nat *nat, uint16_t number)
{
	return nat->rule[0] == number || nat->rule[1] == number;
}

static bool key_matches(const struct flow_key *k, const struct flow_filter *filter)
{
	return (filter->port == 0 || filter->port == k->port[0] || filter->port == k->port[1]) &&
	       (ip_prefix_contains(&filter->addr, &k->addr[0]) ||
		       ip_prefix_contains(&filter->addr, &k->addr[1]));
}

bool flow_matches(const struct flow_table *t, const struct flow *f, uint32_t word,
	const struct flow_filter *filter)
{
	return (filter->proto == 0 || filter->proto == f->key.proto) &&
	       (filter->state == FLOW_FREE || filter->state == flow_word_state(word)) &&
	       (key_matches(&f->key, filter) ||
		       ((word & FLOW_TRANSLATED) != 0 &&
			       key_matches(&flow_nat(t, f)->key, filter))) &&
	       (filter->nat == 0 ||
		       ((word & FLOW_TRANSLATED) != 0 && has_rule(flow_nat(t, f), filter->nat))) &&
	       ((filter->sa_out == NULL && filter->ingress == 0) || has_sa(f, filter)) &&
	       (filter->iface[0] == 0 || has_iface(f, filter->iface));
}

// The ends after translation of packets from the end that began; as received if there is none.
static void view_translate(
	struct flow_view *v, const struct flow_table *t, const struct flow *f, uint32_t word)
{
	const struct flow_nat *nat = flow_nat(t, f);

	v->translated = (word & FLOW_TRANSLATED) != 0;
	if (!v->translated)
		return;
	v->initiator = nat->first; // its ends as they were first, whichever end began last
	v->translation.to = flow_key_ends(&nat->key, !nat->sender);
	memcpy(v->translation.rule, nat->rule, sizeof(nat->rule));
}

static void view_fill(struct flow_view *v, const struct flow_table *t, const struct flow *f,
	uint32_t word, uint32_t now)
{
	*v = (struct flow_view){
		.key = f->key,
		.state = flow_word_state(word),
		.initiator = flow_word_initiator(word),
		.replied = (word & FLOW_REPLIED) != 0,
		.age_ms = elapsed(now, atomic_load_explicit(&f->created, memory_order_relaxed)),
		.idle_ms = flow_idle(f, now),
	};
	view_translate(v, t, f, word);
	for (unsigned int dir = 0; dir < 2; dir++) {
		const struct flow_dir *d = &f->dir[dir];
		uint32_t generation = flow_decision_generation(f, dir);

		v->packets[dir] = read_counter(&d->packets);
		v->octets[dir] = read_counter(&d->octets);
		if (generation != FLOW_DECIDING &&
			flow_decision_get(f, dir, generation, &v->decision[dir]))
			v->generation[dir] = generation;
	}
}

unsigned int flow_list(struct flow_table *t, const struct flow_filter *filter, uint32_t now,
	uint32_t *position, struct flow_view out[], unsigned int n)
{
	unsigned int found = 0;
	uint32_t i = *position, last = load(&t->n_filled);

	// A flow that is live from here on is not reused before the end.
	pthread_mutex_lock(&t->reading);
	rte_rcu_qsbr_thread_online(t->qsbr, t->reader);
	for (unsigned int looks = 0; i < last && looks < LIST_LOOKS && found < n; looks++) {
		const struct flow *f = &t->entry[++i];
		uint32_t word = flow_word(f);

		if (flow_word_live(word) && flow_matches(t, f, word, filter))
			view_fill(&out[found++], t, f, word, now);
	}
	rte_rcu_qsbr_thread_offline(t->qsbr, t->reader);
	pthread_mutex_unlock(&t->reading);
	*position = i < last ? i : FLOW_LIST_END;
	return found;
}

int flow_flush(struct flow_table *t, const struct flow_filter *filter)
{
	if (atomic_load_explicit(&t->flush_workers, memory_order_acquire) != 0)
		return -EBUSY;
	t->flush = *filter;
	atomic_store_explicit(&t->flush_workers, t->n_workers, memory_order_relaxed);
	atomic_fetch_add_explicit(&t->flush_serial, 1, memory_order_release);
	return 0;
}

bool flow_flush_is_over(const struct flow_table *t)
{
	return atomic_load_explicit(&t->flush_workers, memory_order_acquire) == 0;
}
