// SPDX-License-Identifier: BSD-3-Clause
// All SAs in the order of lists. The control thread adds and removes them; others read them with
// its lock.
#pragma once

#include "sa.h"

// Elements for which there is room in a list of n SAs: always for another one.
#define LIST_ROOM(n) (((n) / 64 + 1) * 64)

// After those of the configuration, in its order, those of IKE.
struct sa_list {
	struct sa_in **in;
	struct sa_out **out;
	unsigned int n_in, n_out;
	unsigned int n_configured[2]; // by direction
};

// Room in the list for n_in and n_out SAs. False: there is no memory. Control thread.
bool sa_list_reserve(struct sa_list *l, unsigned int n_in, unsigned int n_out);

// Adds an SA at the end of its direction, where there is room.
void sa_list_add(struct sa_list *l, struct sa *sa);

// Adds an SA after the last one of the configuration; removes one of these. Others keep their
// order.
void sa_list_add_configured(struct sa_list *l, struct sa *sa);
void sa_list_remove_configured(struct sa_list *l, const struct sa *sa);

// SA i of all, the outbound ones first; NULL: there are no more.
static inline struct sa *sa_list_at(const struct sa_list *l, unsigned int i)
{
	if (i < l->n_out)
		return &l->out[i]->sa;
	return i - l->n_out < l->n_in ? &l->in[i - l->n_out]->sa : NULL;
}

// Frees the list, not the SAs.
void sa_list_free(struct sa_list *l);
