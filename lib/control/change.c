// SPDX-License-Identifier: BSD-3-Clause
#include "change.h"

#include <stdlib.h>
#include <string.h>

#include "ike_tables.h"
#include "sa_table.h"

// An SA of the configuration that leaves.
struct deleted {
	struct object object;
	struct sa *sa;
};

struct changing {
	struct control *c;
	const struct conf_edit *e;
	struct sa **sa; // those added
	unsigned int n;
	struct deleted *deleted;
};

// --- steps that may fail ---

static bool may_add(const struct control *c, const struct sa_options *o)
{
	return o->tfc_dummies == 0 && sa_table_takes_udp(c, o) &&
	       (o->direction == SA_OUT || !ike_has_spi(c, o));
}

// Takes a new SA from the ledger. False if there is no memory, or one with the same key and
// options.
static bool sa_make(struct changing *g, const struct conf_sa *conf)
{
	struct control *c = g->c;
	struct sa *sa = may_add(c, &conf->opt) ? build_sa(c->snapshot, c->conf, conf) : NULL;

	if (sa == NULL)
		return false;
	g->sa[g->n++] = sa;
	return sa->refs == 1 && sa_table_prepare(c, sa);
}

static bool room_make(struct changing *g)
{
	struct snapshot_control *all = g->c->snapshot->control;
	unsigned int n_out = 0;
	void *more = realloc(all->sa, LIST_ROOM(all->n_sa + g->n) * sizeof(all->sa[0]));

	if (more == NULL)
		return false;
	all->sa = more;
	for (unsigned int i = 0; i < g->n; i++)
		n_out += g->sa[i]->opt.direction == SA_OUT;
	return sa_table_reserve(g->c, g->n - n_out, n_out);
}

static bool add_prepare(struct changing *g)
{
	g->sa = calloc(g->e->n_sas, sizeof(g->sa[0]));
	for (unsigned int i = 0; g->sa != NULL && i < g->e->n_sas; i++)
		if (!sa_make(g, &g->e->sas[i]))
			return false;
	return g->sa != NULL && room_make(g);
}

static bool delete_prepare(struct changing *g)
{
	struct sa *sa = g->c->snapshot->control->sa[g->e->deleted];

	if (sa->refs > 1 || sa->opt.tfc_dummies > 0)
		return false;
	g->deleted = calloc(1, sizeof(*g->deleted));
	if (g->deleted != NULL)
		g->deleted->sa = sa;
	return g->deleted != NULL;
}

static void cancel(struct changing *g)
{
	for (unsigned int i = 0; i < g->n; i++)
		sa_ledger_release(g->c->snapshot->objects->ledger, g->sa[i]);
	free(g->sa);
}

// --- steps that cannot fail ---

static void added_commit(struct changing *g)
{
	struct snapshot *s = g->c->snapshot;

	for (unsigned int i = 0; i < g->n; i++) {
		s->control->sa[s->control->n_sa++] = g->sa[i];
		sa_list_add_configured(&s->objects->sas, g->sa[i]);
		sa_table_add(g->c, g->sa[i]);
	}
	g->c->ike.renew = true;
	free(g->sa);
}

static void deleted_release(struct control *c, void *arg)
{
	struct deleted *d = arg;

	sa_table_release(c, d->sa);
	c->sas_leaving--;
	free(d);
}

static void deleted_commit(struct changing *g, unsigned int i)
{
	struct snapshot *s = g->c->snapshot;
	struct snapshot_control *all = s->control;
	struct sa *sa = g->deleted->sa;

	memmove(&all->sa[i], &all->sa[i + 1], (--all->n_sa - i) * sizeof(all->sa[0]));
	sa_list_remove_configured(&s->objects->sas, sa);
	sa_table_remove(g->c, sa);
	g->c->sas_leaving++;
	object_unlink(g->c, &g->deleted->object, deleted_release, false);
}

static bool make(struct changing *g, bool new_keys, change_sa_begin *begin, void *arg)
{
	bool good =
		objects_reserve(g->c) && (g->e->deleted < 0 ? add_prepare(g) : delete_prepare(g));

	for (unsigned int i = 0; good && i < g->n; i++)
		good = begin(arg, g->sa[i], new_keys) == 0;
	if (!good)
		cancel(g);
	else if (g->e->deleted < 0)
		added_commit(g);
	else
		deleted_commit(g, (unsigned int)g->e->deleted);
	return good;
}

struct conf_edit *change_in_place(struct control *c, const char *name, const char *text, size_t len,
	bool new_keys, change_sa_begin *begin, void *arg)
{
	struct conf_edit *e;

	pthread_mutex_lock(&c->lock);
	e = conf_edit_new(c->conf, name, text, len);
	if (e != NULL && make(&(struct changing){.c = c, .e = e}, new_keys, begin, arg)) {
		conf_edit_commit(e);
		objects_commit(c);
	} else if (e != NULL) {
		conf_edit_cancel(e);
		e = NULL;
	}
	pthread_mutex_unlock(&c->lock);
	return e;
}
