// SPDX-License-Identifier: BSD-3-Clause
#include "ike_group.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tunnel_state.h"

int ike_compare_names(const void *a, const void *b)
{
	const struct object *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int compare_ingress(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return (x->ingress > y->ingress) - (x->ingress < y->ingress);
}

void *ike_find(void *const *root, const void *key, int (*compare)(const void *, const void *))
{
	void *const *node = tfind(key, root, compare);

	return node != NULL ? *node : NULL;
}

struct ike_sa *ike_sa_find(const struct control *c, const char *name)
{
	return ike_find(&c->ike.sas, &(struct object){.name = name}, ike_compare_names);
}

struct sa *ike_sa_get(const struct ike_sa *o)
{
	return o->sa;
}

static struct group *group_of(const struct control *c, uint64_t id)
{
	return ike_find(&c->ike.groups, &(struct group){.id = id}, compare_groups);
}

static struct sa *sa_of(const struct object *o)
{
	return ((const struct ike_sa *)o)->sa;
}

// For outbound SAs that are not late.
static bool is_newer(const struct object *o, const struct ike_sa *than)
{
	return !sa_of(o)->live.late && ((const struct ike_sa *)o)->number > than->number;
}

static bool is_out(const struct sa *sa)
{
	return sa->opt.direction == SA_OUT;
}

// Sets the outbound SA of the group's policies, or of its tunnel, to the newest. Returns whether
// flows have to be decided again, because there is none any more.
static bool sender_set(struct control *c, struct group *g)
{
	struct objects *all = c->snapshot->objects;
	struct sa_out *sa = g->out != NULL ? sa_out_of(sa_of(g->out)) : NULL;

	for (struct object *o = g->policies; o != NULL; o = o->next) {
		unsigned int slot = ((struct ike_policy *)o)->slot;

		// Packets of flows read the first, the others the second: it is never there alone.
		if (sa != NULL)
			atomic_store_explicit(
				&all->policy_out[spd_table_number(slot)], sa, memory_order_release);
		spd_table_set_out(all->policies, slot, sa);
	}
	tunnel_state_sender(c, g->id, sa);
	return sa == NULL && g->policies != NULL;
}

// --- groups ---

// The group with the id; a new one if there is none. NULL: there is no memory.
struct group *ike_group_get(struct control *c, uint64_t id)
{
	struct group *g = group_of(c, id);

	if (g != NULL)
		return g;
	g = calloc(1, sizeof(*g));
	if (g == NULL)
		return NULL;
	g->id = id;
	if (tsearch(g, &c->ike.groups, compare_groups) != NULL)
		return g;
	free(g);
	return NULL;
}

void ike_group_drop_empty(struct control *c, struct group *g)
{
	if (g == NULL || g->in != NULL || g->out != NULL || g->policies != NULL)
		return;
	if (g->ingress != 0)
		tdelete(g, &c->ike.ingresses, compare_ingress);
	tdelete(g, &c->ike.groups, compare_groups);
	free(g);
}

void ike_chain_add(struct object **chain, struct object *o)
{
	o->chain = chain;
	o->next = *chain;
	*chain = o;
}

void ike_chain_remove(struct object *o)
{
	struct object **at = o->chain;

	while (at != NULL && *at != NULL && *at != o)
		at = &(*at)->next;
	if (at != NULL && *at == o)
		*at = o->next;
	o->next = NULL;
}

// Gives a new inbound SA the ingress of its group. False: there is no memory.
static bool ingress_set(struct control *c, struct group *g, struct sa_in *sa)
{
	if (g->ingress == 0) {
		g->ingress = sa->sa.per_packet.ingress;
		if (tsearch(g, &c->ike.ingresses, compare_ingress) == NULL) {
			g->ingress = 0;
			return false;
		}
	}
	sa_in_ingress_set(sa, g->ingress);
	return true;
}

// --- SAs ---

bool ike_has_spi(const struct control *c, const struct sa_options *o)
{
	const struct group key = {.ingress = o->spi};
	const struct group *g = ike_find(&c->ike.ingresses, &key, compare_ingress);

	return snapshot_find_in(c->snapshot, rte_cpu_to_be_32(o->spi)) != NULL ||
	       (g != NULL && g->id != sa_options_group(o));
}

// Also by one with another SPI, and by one that is deleted but not freed: nonces would repeat.
static bool keys_are_used(const struct control *c, const struct sa_options *o)
{
	const struct key_id id = sa_numbers_id(o);
	const struct sa_record *record = sa_ledger_find(c->snapshot->objects->ledger, &id);

	return record != NULL && record->first != NULL;
}

// No worker uses it. Its SA may not have been made.
static void sa_free_unused(struct control *c, struct ike_sa *o)
{
	ike_peer_drop_empty(c, o->object.peer);
	if (o->sa != NULL)
		sa_table_release(c, o->sa);
	free(o);
}

static void sa_release(struct control *c, void *arg)
{
	struct ike_sa *o = arg;

	c->ike.n_sas--;
	if (o->object.peer != NULL)
		o->object.peer->sas--;
	sa_free_unused(c, o);
}

// Everything that may fail before workers find the SA.
static bool sa_prepare(struct control *c, struct ike_sa *o)
{
	struct sa *sa = o->sa;

	if (!sa_table_prepare(c, sa))
		return false;
	if (is_out(sa) && sa->opt.if_id != 0)
		sa_out_limit(sa_out_of(sa),
			spd_find_group(c->snapshot->spd, sa_options_group(&sa->opt))->mtu);
	o->object.name = sa->live.name;
	o->object.group = ike_group_get(c, sa_options_group(&sa->opt));
	return o->object.group != NULL && sa_table_reserve(c, !is_out(sa), is_out(sa)) &&
	       (is_out(sa) || ingress_set(c, o->object.group, sa_in_of(sa))) &&
	       tsearch(o, &c->ike.sas, ike_compare_names) != NULL;
}

void ike_sa_order(struct control *c, struct ike_sa *o, bool late)
{
	struct group *g = o->object.group;
	struct object **at = &g->out;

	ike_chain_remove(&o->object);
	o->sa->live.late = late;
	while (*at != NULL && (late || is_newer(*at, o)))
		at = &(*at)->next;
	o->object.next = *at;
	o->object.chain = &g->out;
	*at = &o->object;
	sender_set(c, g);
}

// Makes it visible to workers; its policies send by a new outbound one.
static void sa_publish(struct control *c, struct ike_sa *o)
{
	struct objects *all = c->snapshot->objects;
	struct sa_list *sas = &all->sas;
	struct group *g = o->object.group;
	enum sa_direction direction = o->sa->opt.direction;

	c->ike.n_sas++;
	o->number = c->ike.n_added++;
	if (o->object.peer != NULL)
		o->object.peer->sas++;
	o->place = (is_out(o->sa) ? sas->n_out : sas->n_in) - sas->n_configured[direction];
	sa_list_add(sas, o->sa);
	sa_table_add(c, o->sa);
	if (is_out(o->sa)) {
		ike_sa_order(c, o, o->sa->live.late);
	} else {
		ike_chain_add(&g->in, &o->object);
		spi_set_remove(&all->awaited, o->sa->spi); // workers find the SA by now
	}
}

static bool is_of_another(const struct object *o, uint32_t peer_id)
{
	return o != NULL && (o->peer != NULL ? o->peer->id : 0) != peer_id;
}

// Whether the tunnel has SAs of another peer, whose packets a new one would take.
static bool tunnel_is_taken(const struct control *c, const struct sa_options *o)
{
	const struct group *g = group_of(c, sa_options_group(o));

	return g != NULL && (is_of_another(g->in, o->peer_id) || is_of_another(g->out, o->peer_id));
}

// Checks an SA before anything is allocated for it: 0 or as ike_sa_add().
static int sa_check(const struct control *c, const struct conf_sa *conf)
{
	if (ike_sa_find(c, conf->live.name) != NULL)
		return -EEXIST;
	if (conf->opt.if_id != 0 &&
		spd_find_group(c->snapshot->spd, sa_options_group(&conf->opt)) == NULL)
		return -ENXIO;
	if (conf->opt.if_id != 0 && tunnel_is_taken(c, &conf->opt))
		return -EBUSY;
	if (conf->opt.direction == SA_IN && ike_has_spi(c, &conf->opt))
		return -EADDRINUSE;
	if (keys_are_used(c, &conf->opt))
		return -EKEYREJECTED;
	if (!sa_table_takes_udp(c, &conf->opt))
		return -EADDRNOTAVAIL;
	if (conf->opt.tfc_dummies > 0)
		return -EINVAL;
	return c->ike.n_sas < IKE_SAS_MAX ? 0 : -ENOSPC;
}

static int sa_make(
	struct control *c, struct ike_sa *o, const struct conf *conf, const struct conf_sa *conf_sa)
{
	if (!ike_peer_get(c, conf_sa->opt.peer_id, &o->object.peer))
		return -ENOMEM;
	if (!ike_peer_has_room(c, o->object.peer))
		return -EDQUOT;
	o->sa = build_sa(c->snapshot, conf, conf_sa);
	if (o->sa == NULL)
		return -errno;
	return sa_prepare(c, o) ? 0 : -ENOMEM;
}

int ike_sa_add(struct control *c, const struct conf *conf, const struct conf_sa *conf_sa,
	struct ike_sa **added)
{
	int rc = sa_check(c, conf_sa);
	struct ike_sa *o;

	if (rc < 0)
		return rc;
	o = calloc(1, sizeof(*o));
	if (o == NULL)
		return -ENOMEM;
	rc = sa_make(c, o, conf, conf_sa);
	if (rc < 0) {
		ike_group_drop_empty(c, o->object.group);
		sa_free_unused(c, o);
		return rc;
	}
	sa_publish(c, o);
	*added = o;
	return 0;
}

// The last SA of the list takes its place.
static void sa_unlist(struct control *c, const struct ike_sa *o)
{
	struct sa_list *sas = &c->snapshot->objects->sas;
	enum sa_direction direction = o->sa->opt.direction;
	unsigned int at = sas->n_configured[direction] + o->place;
	const struct sa *last;
	struct ike_sa *moved;

	if (direction == SA_OUT) {
		sas->out[at] = sas->out[--sas->n_out];
		last = &sas->out[at]->sa;
	} else {
		sas->in[at] = sas->in[--sas->n_in];
		last = &sas->in[at]->sa;
	}
	moved = ike_sa_find(c, last->live.name);
	if (moved != NULL)
		moved->place = o->place;
}

void ike_sa_delete(struct control *c, struct ike_sa *o)
{
	struct group *g = o->object.group;
	bool redecide = false;

	sa_unlist(c, o);
	tdelete(o, &c->ike.sas, ike_compare_names);
	ike_chain_remove(&o->object);
	if (is_out(o->sa))
		redecide = sender_set(c, g);
	sa_table_remove(c, o->sa);
	object_unlink(c, &o->object, sa_release, redecide);
	ike_group_drop_empty(c, g);
}

struct sa_out *ike_sender(const struct control *c, uint64_t group, unsigned int i)
{
	const struct group *g = group_of(c, group);
	const struct object *o = g != NULL ? g->out : NULL;

	for (; o != NULL && i > 0; i--)
		o = o->next;
	return o != NULL ? sa_out_of(sa_of(o)) : NULL;
}

struct sa_in *ike_receiver(const struct control *c, uint64_t group, unsigned int i)
{
	const struct group *g = group_of(c, group);
	const struct object *o = g != NULL ? g->in : NULL;

	for (; o != NULL && i > 0; i--)
		o = o->next;
	return o != NULL ? sa_in_of(sa_of(o)) : NULL;
}

bool ike_collides(const struct control *c, const struct snapshot *s, char *why, size_t size)
{
	for (unsigned int i = 0; i < s->control->n_sa; i++) {
		const struct sa *sa = s->control->sa[i];
		const struct group key = {.ingress = rte_be_to_cpu_32(sa->spi)};
		const struct sa_in *found = snapshot_find_in(s, sa->spi);

		if (sa->opt.direction == SA_IN &&
			((found != NULL && sa_options_group(&found->sa.opt) != 0) ||
				ike_find(&c->ike.ingresses, &key, compare_ingress) != NULL)) {
			snprintf(why, size, "sa \"%s\": IKE uses its SPI 0x%08" PRIx32,
				sa->live.name, rte_be_to_cpu_32(sa->spi));
			return true;
		}
	}
	return false;
}
