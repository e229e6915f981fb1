// SPDX-License-Identifier: BSD-3-Clause
#include "retire.h"

#include <stdlib.h>

struct retired {
	struct retired *next; // older
	void *memory;
	uint64_t token; // of the QSBR
};

void retire(struct control *c, void *memory)
{
	struct retired *r = memory != NULL ? malloc(sizeof(*r)) : NULL;

	if (memory == NULL)
		return;
	if (r == NULL) {
		rte_rcu_qsbr_synchronize(c->qsbr, RTE_QSBR_THRID_INVALID);
		free(memory);
		return;
	}
	*r = (struct retired){c->retired_memory, memory, rte_rcu_qsbr_start(c->qsbr)};
	c->retired_memory = r;
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

void retire_tick(struct control *c)
{
	struct retired **at = &c->retired_memory;

	// All that is older than one that can be freed can be freed as well.
	while (*at != NULL && rte_rcu_qsbr_check(c->qsbr, (*at)->token, false) == 0)
		at = &(*at)->next;
	free_list(*at);
	*at = NULL;
}

void retire_all(struct control *c)
{
	free_list(c->retired_memory);
	c->retired_memory = NULL;
}
