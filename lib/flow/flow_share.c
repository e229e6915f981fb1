// SPDX-License-Identifier: BSD-3-Clause
#include "flow_share.h"

#include <stdlib.h>

#include "flow_table.h"

#define ROUND_MS 5000  // from the begin of a scan to that of the next, at least
#define LOOKS    16384 // entries in one call
#define SLOTS    (4 * FLOW_SHARES_MAX)
#define CELLS    65536        // of a row
#define WORDS    (65536 / 64) // of a bit for each port

struct flow_shares {
	struct flow_share last[FLOW_SHARES_MAX]; // of the last complete scan
	unsigned int n_last;
	// Of the scan that is on.
	struct flow_share share[FLOW_SHARES_MAX];
	unsigned int n;
	uint16_t slot[SLOTS]; // by hash of address and protocol: number of the share + 1; 0: none
	uint64_t ports[FLOW_SHARES_MAX][WORDS];
	struct flow_sources counts; // by destination, and by client
	_Atomic uint32_t cell[2 * CELLS];
	uint32_t position;
	uint64_t next_ms; // when the next scan begins
};

static struct flow_shares *shares_new(const struct flow_table *t)
{
	struct flow_shares *s = calloc(1, sizeof(*s));

	if (s != NULL)
		s->counts = (struct flow_sources){s->cell, CELLS - 1, t->sources.hash_key};
	return s;
}

static struct flow_share *share_add(
	struct flow_shares *s, const struct ip_addr *addr, uint8_t proto)
{
	struct flow_share *share = &s->share[s->n];

	*share = (struct flow_share){.addr = *addr, .proto = proto};
	memset(s->ports[s->n++], 0, sizeof(s->ports[0]));
	return share;
}

// NULL: there are too many.
static struct flow_share *share_find(
	struct flow_shares *s, const struct ip_addr *addr, uint8_t proto)
{
	uint64_t i =
		keyed_hash(&s->counts.hash_key, (uint64_t[]){addr->q[0], addr->q[1], proto}, 3);
	struct flow_share *share;

	for (; s->slot[i % SLOTS] != 0; i++) {
		share = &s->share[s->slot[i % SLOTS] - 1];
		if (share->proto == proto && ip_addr_equal(&share->addr, addr))
			return share;
	}
	if (s->n == FLOW_SHARES_MAX)
		return NULL;
	share = share_add(s, addr, proto);
	s->slot[i % SLOTS] = (uint16_t)s->n;
	return share;
}

static uint32_t count_one(struct flow_shares *s, uint64_t a, uint64_t b)
{
	const struct ip_addr counted = {.q = {a, b}};
	const struct flow_source_cells cells = flow_source_cells(&s->counts, &counted);

	flow_source_cells_add(cells);
	return flow_source_cells_count(cells);
}

static void port_count(struct flow_shares *s, struct flow_share *share, uint16_t port)
{
	uint64_t *word = &s->ports[share - s->share][port / 64];

	share->ports += (*word >> port % 64 & 1) == 0;
	*word |= UINT64_C(1) << port % 64;
}

static void flow_count_share(
	struct flow_shares *s, const struct flow *f, const struct flow_nat *nat)
{
	const struct ip_ends to = flow_key_ends(&nat->key, !nat->sender);
	const struct ip_addr *client = &f->key.addr[nat->first];
	struct flow_share *share = share_find(s, &to.src, f->key.proto);
	uint32_t n;

	if (share == NULL)
		return;
	share->bindings++;
	port_count(s, share, rte_be_to_cpu_16(to.src_port));
	n = count_one(s, nat->towards, 0);
	if (n > share->to_ports) {
		share->to_ports = n;
		share->to = to.dst;
		share->to_port = f->key.asker != 0 ? 0 : to.dst_port;
		share->rule = nat->rule[1];
	}
	n = count_one(s, client->q[0] ^ (uint64_t)(share - s->share + 1) << 48, client->q[1]);
	if (n > share->client_bindings) {
		share->client_bindings = n;
		share->client = *client;
	}
}

static int by_bindings(const void *a, const void *b)
{
	const struct flow_share *x = a, *y = b;

	return (y->bindings > x->bindings) - (y->bindings < x->bindings);
}

static void scan_begin(struct flow_shares *s, uint64_t now_ms)
{
	s->next_ms = now_ms + ROUND_MS;
	s->n = 0;
	memset(s->slot, 0, sizeof(s->slot));
	memset(s->cell, 0, sizeof(s->cell));
}

static void scan_end(struct flow_shares *s)
{
	s->position = FLOW_LIST_START;
	s->n_last = s->n;
	memcpy(s->last, s->share, s->n * sizeof(s->share[0]));
	qsort(s->last, s->n, sizeof(s->last[0]), by_bindings);
}

static void scan(struct flow_shares *s, const struct flow_table *t)
{
	const uint32_t end = load(&t->n_filled), stop = RTE_MIN(end, s->position + LOOKS);

	while (s->position < stop) {
		const struct flow *f = &t->entry[++s->position];
		const uint32_t word = flow_word(f);

		if (flow_word_live(word) && (word & FLOW_TRANSLATED) != 0 &&
			flow_nat_has_port(flow_nat(t, f)))
			flow_count_share(s, f, flow_nat(t, f));
	}
	if (s->position == end)
		scan_end(s);
}

void flow_shares_tick(struct flow_table *t, uint64_t now_ms)
{
	if (!flow_table_translates(t) || (t->shares == NULL && (t->shares = shares_new(t)) == NULL))
		return;

	struct flow_shares *s = t->shares;

	if (s->position == FLOW_LIST_START && now_ms < s->next_ms)
		return;
	if (pthread_mutex_trylock(&t->reading) != 0)
		return; // a list has a part of the table
	if (s->position == FLOW_LIST_START)
		scan_begin(s, now_ms);
	rte_rcu_qsbr_thread_online(t->qsbr, t->reader);
	scan(s, t);
	rte_rcu_qsbr_thread_offline(t->qsbr, t->reader);
	pthread_mutex_unlock(&t->reading);
}

const struct flow_share *flow_share_at(const struct flow_table *t, unsigned int i)
{
	return t->shares != NULL && i < t->shares->n_last ? &t->shares->last[i] : NULL;
}
