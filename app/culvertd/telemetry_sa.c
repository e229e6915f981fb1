// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry_sa.h"

#include "view.h"

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
	struct sa_view view;

	(void)filter;
	pthread_mutex_lock(&g->lock);
	n = busiest(number, g->control.snapshot);
	for (unsigned int i = offset; i < n; i++) {
		struct rte_tel_data *o = item_new();

		if (o == NULL)
			break;
		collect_sa(&view, g, number[i]);
		view_add(o, "sas", &view);
		add_item(d, i, o);
	}
	pthread_mutex_unlock(&g->lock);
}
