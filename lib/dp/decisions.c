// SPDX-License-Identifier: BSD-3-Clause
#include "decisions.h"

#include <stdlib.h>

#include "line_memory.h"

struct decisions *decisions_new(unsigned int n, unsigned int n_workers)
{
	struct decided *all = line_calloc((size_t)n_workers * n, sizeof(*all));
	struct decisions *d = calloc(1, sizeof(*d));

	if (all == NULL || d == NULL) {
		line_free(all);
		free(d);
		return NULL;
	}
	for (unsigned int i = 0; i < n_workers; i++)
		d->worker[i] = all + (size_t)i * n;
	return d;
}

void decisions_free(struct decisions *d)
{
	if (d == NULL)
		return;
	line_free(d->worker[0]);
	free(d);
}

struct decided decisions_sum(const struct decisions *d, unsigned int number)
{
	struct decided sum = {0};

	for (unsigned int w = 0; w < SA_WORKERS_MAX && d->worker[w] != NULL; w++) {
		sum.asked += d->worker[w][number].asked;
		sum.packets += d->worker[w][number].packets;
		sum.octets += d->worker[w][number].octets;
	}
	return sum;
}

void decisions_reset(struct decisions *d, unsigned int number)
{
	for (unsigned int w = 0; w < SA_WORKERS_MAX && d->worker[w] != NULL; w++)
		d->worker[w][number] = (struct decided){0};
}
