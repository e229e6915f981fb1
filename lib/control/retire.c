// SPDX-License-Identifier: BSD-3-Clause
#include "retire.h"

#include <stdlib.h>

#include "line_memory.h"

struct retired {
	struct retired *next; // older
	void (*release)(struct control *c, void *arg);
	void *arg;
	uint64_t token; // of the QSBR
};

void retire_call(struct control *c, void (*release)(struct control *c, void *arg), void *arg)
{
	struct retired *r = malloc(sizeof(*r));

	if (r == NULL) {
		rte_rcu_qsbr_synchronize(c->qsbr, RTE_QSBR_THRID_INVALID);
		release(c, arg);
		return;
	}
	*r = (struct retired){c->retired_memory, release, arg, rte_rcu_qsbr_start(c->qsbr)};
	c->retired_memory = r;
}

static void memory_free(struct control *c, void *memory)
{
	(void)c;
	line_free(memory);
}

void retire(struct control *c, void *memory)
{
	if (memory != NULL)
		retire_call(c, memory_free, memory);
}

// In the order in which they were retired.
static void release_list(struct control *c, struct retired *r)
{
	struct retired *oldest_first = NULL, *next;

	for (; r != NULL; r = next) {
		next = r->next;
		r->next = oldest_first;
		oldest_first = r;
	}
	for (r = oldest_first; r != NULL; r = next) {
		next = r->next;
		r->release(c, r->arg);
		free(r);
	}
}

void retire_tick(struct control *c)
{
	struct retired **at = &c->retired_memory, *over;

	if (c->loading)
		return;
	// All that is older than one that can be freed can be freed as well.
	while (*at != NULL && rte_rcu_qsbr_check(c->qsbr, (*at)->token, false) == 0)
		at = &(*at)->next;
	over = *at;
	*at = NULL;
	release_list(c, over);
}

void retire_all(struct control *c)
{
	while (c->retired_memory != NULL) {
		struct retired *all = c->retired_memory;

		c->retired_memory = NULL;
		release_list(c, all);
	}
}

bool retire_keeps_sas(const struct control *c, uint32_t generation)
{
	// Differences, because generations begin at 1 again.
	return generation - c->oldest_generation <= c->snapshot->generation - c->oldest_generation;
}
