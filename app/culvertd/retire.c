// SPDX-License-Identifier: BSD-3-Clause
#include "retire.h"

#include <stdlib.h>

struct retired {
	struct retired *next; // older
	void *memory;
	uint64_t token; // of the QSBR
};

void retire(struct gateway *g, void *memory)
{
	struct retired *r = memory != NULL ? malloc(sizeof(*r)) : NULL;

	if (memory == NULL)
		return;
	if (r == NULL) {
		rte_rcu_qsbr_synchronize(g->qsbr, RTE_QSBR_THRID_INVALID);
		free(memory);
		return;
	}
	*r = (struct retired){g->retired_memory, memory, rte_rcu_qsbr_start(g->qsbr)};
	g->retired_memory = r;
}

static void free_list(struct retired *r)
{
	while (r != NULL) {
		struct retired *next = r->next;

		free(r->memory);
		free(r);
		r = next;
	}
}

void retire_tick(struct gateway *g)
{
	struct retired **at = &g->retired_memory;

	// What is older than one that can go can go as well.
	while (*at != NULL && rte_rcu_qsbr_check(g->qsbr, (*at)->token, false) == 0)
		at = &(*at)->next;
	free_list(*at);
	*at = NULL;
}

void retire_all(struct gateway *g)
{
	free_list(g->retired_memory);
	g->retired_memory = NULL;
}
