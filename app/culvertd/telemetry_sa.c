// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry_sa.h"

#include <inttypes.h>
#include <stdio.h>

#include "collect.h"

// Lifetimes that nobody gets to see the end of have nothing left to show.
static void add_lifetimes(struct rte_tel_data *d, const struct sa_view *v)
{
	for (enum lifetime_unit u = 0; u < LIFETIME_UNITS; u++) {
		char used[32], left[32];

		snprintf(used, sizeof(used), "%s_used", lifetime_unit_names[u]);
		add_u64(d, used, v->used[u]);
		snprintf(left, sizeof(left), "%s_left", lifetime_unit_names[u]);
		add_maybe(d, left, v->left[u] <= INT64_MAX, v->left[u]);
	}
}

// By reason, those that there were.
static void add_drops(struct rte_tel_data *d, const struct sa_view *v)
{
	struct rte_tel_data *drops = item_new();

	if (drops == NULL)
		return;
	for (enum drop r = 1; r < DROP_COUNT; r++)
		if (v->drops[r] > 0)
			add_u64(drops, drop_info[r].name, v->drops[r]);
	rte_tel_data_add_dict_container(d, "drops", drops, 0);
}

bool sa_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	struct sa_view v;
	char spi[16];

	if (!collect_sa(&v, g, i))
		return false;
	snprintf(spi, sizeof(spi), "0x%08" PRIx32, rte_be_to_cpu_32(v.spi));
	add_string(d, "name", v.name);
	add_string(d, "direction", v.out ? "out" : "in");
	add_string(d, "mode", v.transport ? "transport" : "tunnel");
	add_string(d, "spi", spi);
	add_addr(d, "local", &v.local);
	if (ip_addr_is_none(&v.remote))
		add_string(d, "remote", "any");
	else
		add_addr(d, "remote", &v.remote);
	add_u64(d, "local_port", v.local_port);
	add_u64(d, "remote_port", v.remote_port);
	add_string(d, "cipher", v.cipher->name);
	add_string(d, "auth", v.auth->name);
	add_string(d, "esn", v.esn ? "yes" : "no");
	add_string(d, "engine", v.engine);
	add_u64(d, "sequence", v.sequence);
	add_u64(d, "window", v.window);
	add_u64(d, "mtu", v.mtu);
	add_u64(d, "path_mtu", v.path_mtu);
	add_u64(d, "packets", v.packets);
	add_u64(d, "bytes", v.bytes);
	add_u64(d, "dummies", v.dummies);
	add_u64(d, "errors", v.errors);
	add_drops(d, &v);
	add_maybe(d, "last_seen_s", v.seen_ms != UINT64_MAX, v.seen_ms / 1000);
	add_lifetimes(d, &v);
	return true;
}

static uint64_t rate_of(const struct snapshot *s, unsigned int i)
{
	return i < s->n_sa_out ? s->sa_out[i]->sa.rate : s->sa_in[i - s->n_sa_out]->sa.rate;
}

// Numbers of the busiest, in order. Returns how many.
static unsigned int busiest(unsigned int number[SA_BUSIEST], const struct snapshot *s)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->n_sa_out + s->n_sa_in; i++) {
		uint64_t rate = rate_of(s, i);
		unsigned int at = n;

		if (n == SA_BUSIEST && rate <= rate_of(s, number[n - 1]))
			continue;
		if (n < SA_BUSIEST)
			n++;
		else
			at--;
		for (; at > 0 && rate > rate_of(s, number[at - 1]); at--)
			number[at] = number[at - 1];
		number[at] = i;
	}
	return n;
}

void sa_busiest_page(
	struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter)
{
	unsigned int number[SA_BUSIEST], n;

	(void)filter;
	pthread_mutex_lock(&g->lock);
	n = busiest(number, g->snapshot);
	for (unsigned int i = offset; i < n; i++) {
		struct rte_tel_data *o = item_new();

		if (o == NULL)
			break;
		sa_item(o, g, number[i]);
		add_item(d, i, o);
	}
	pthread_mutex_unlock(&g->lock);
}
