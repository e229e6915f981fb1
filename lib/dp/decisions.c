// SPDX-License-Identifier: BSD-3-Clause
#include "decisions.h"

#include <stdbool.h>
#include <stdlib.h>

#include "line_memory.h"

struct decisions *decisions_new(unsigned int n, unsigned int n_workers)
{
	struct decisions *d = calloc(1, sizeof(*d));
	bool good;

	if (d == NULL)
		return NULL;
	d->before = calloc(n + 1, sizeof(d->before[0]));
	good = d->before != NULL;
	for (unsigned int i = 0; good && i < n_workers; i++) {
		d->worker[i] = line_calloc(n + 1, sizeof(d->before[0]));
		good = d->worker[i] != NULL;
	}
	if (good)
		return d;
	decisions_free(d);
	return NULL;
}

void decisions_free(struct decisions *d)
{
	if (d == NULL)
		return;
	for (unsigned int i = 0; i < SA_WORKERS_MAX; i++)
		line_free(d->worker[i]);
	free(d->before);
	free(d);
}

struct decided decisions_sum(const struct decisions *d, unsigned int i)
{
	struct decided sum = d->before[i];

	for (unsigned int w = 0; w < SA_WORKERS_MAX && d->worker[w] != NULL; w++) {
		sum.asked += d->worker[w][i].asked;
		sum.packets += d->worker[w][i].packets;
		sum.octets += d->worker[w][i].octets;
	}
	return sum;
}
