// SPDX-License-Identifier: BSD-3-Clause
#include "ike_group.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "build_policy.h"
#include "retire.h"

#define ASK_AGAIN_MS 1000

struct ike_policy *ike_policy_find(const struct control *c, const char *name)
{
	return ike_find(&c->ike.policies, &(struct object){.name = name}, ike_compare_names);
}

// No lookup finds it any more, and no flow is decided by it.
static void policy_release(struct control *c, void *arg)
{
	struct objects *all = c->snapshot->objects;
	struct ike_policy *o = arg;

	objects_policy_set(all, o->policy->number, NULL);
	spd_table_release(all->policies, o->slot);
	ike_peer_drop_empty(c, o->object.peer);
	free(o);
}

// Lookups that began before others were added are over: later lookups find these, and none misses
// both the old and the new.
static void policy_take_out(struct control *c, void *arg)
{
	struct ike_policy *o = arg;

	spd_table_remove(c->snapshot->objects->policies, o->slot);
	object_unlink(c, &o->object, policy_release, true);
}

// The first place in the list whose policy does not come before one with this priority.
static unsigned int list_find(const struct objects *all, uint32_t priority)
{
	unsigned int from = 0, to = all->n_listed;

	while (from < to) {
		unsigned int middle = (from + to) / 2;

		if (all->listed[middle]->priority < priority)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static void policy_unlist(struct control *c, const struct ike_policy *o)
{
	struct objects *all = c->snapshot->objects;
	unsigned int at = list_find(all, o->policy->priority);

	while (all->listed[at] != o->policy)
		at++;
	memmove(&all->listed[at], &all->listed[at + 1],
		(--all->n_listed - at) * sizeof(all->listed[0]));
	if (!o->is_tunnel)
		return;
	c->ike.tunnels[o->tunnel_place] = c->ike.tunnels[--c->ike.n_tunnels];
	c->ike.tunnels[o->tunnel_place]->tunnel_place = o->tunnel_place;
}

void ike_policy_delete(struct control *c, struct ike_policy *o)
{
	policy_unlist(c, o);
	tdelete(o, &c->ike.policies, ike_compare_names);
	if (o->bypass)
		spd_table_set_action(c->snapshot->objects->policies, o->slot, SPD_DISCARD);
	if (o->object.group != NULL) {
		ike_chain_remove(&o->object);
		spd_table_set_out(c->snapshot->objects->policies, o->slot, NULL);
		ike_group_drop_empty(c, o->object.group);
	}
	object_unlink(c, &o->object, policy_take_out, true);
}

// Room in the list of tunnels for another one. False: there is no memory.
static bool tunnels_reserve(struct control *c)
{
	struct ike_state *ike = &c->ike;
	struct ike_policy **list;

	if (LIST_ROOM(ike->n_tunnels + 1) == LIST_ROOM(ike->n_tunnels) && ike->tunnels != NULL)
		return true;
	list = realloc(ike->tunnels, LIST_ROOM(ike->n_tunnels + 1) * sizeof(list[0]));
	if (list != NULL)
		ike->tunnels = list;
	return list != NULL;
}

// Behind a NAT there may be many peers with one address.
static struct ip_addr peer_of(const struct sa_out *sa)
{
	return sa == NULL || sa->sa.opt.in_udp ? (struct ip_addr){0} : sa->sa.opt.remote;
}

// Adds the policy to the table. Returns 0 or as spd_table_add().
static int policy_publish(struct control *c, struct ike_policy *o, const struct conf_policy *conf)
{
	struct objects *all = c->snapshot->objects;
	struct spd_policy p = build_policy(conf);
	int rc;

	o->bypass = p.action == SPD_BYPASS;
	if (o->bypass)
		p.action = SPD_DISCARD;
	p.out = ike_sender(c, p.group, 0);
	p.peer = peer_of(p.out);
	if (o->is_tunnel && spd_table_is_taken(all->policies, &p))
		return -ENOTUNIQ;
	o->slot = spd_table_next_slot(all->policies);
	atomic_store_explicit(
		&all->policy_out[spd_table_number(o->slot)], p.out, memory_order_release);
	rc = spd_table_add(
		all->policies, &p, o->object.peer != NULL ? &o->object.peer->policies : NULL);
	if (rc < 0)
		return rc;
	o->policy = spd_table_at(all->policies, o->slot);
	objects_policy_set(all, o->policy->number, o->policy);
	o->object.name = o->policy->name;
	return 0;
}

static void policy_list(struct control *c, struct ike_policy *o)
{
	struct objects *all = c->snapshot->objects;
	unsigned int at = list_find(all, o->policy->priority);

	memmove(&all->listed[at + 1], &all->listed[at],
		(all->n_listed++ - at) * sizeof(all->listed[0]));
	all->listed[at] = o->policy;
	if (o->object.group != NULL)
		ike_chain_add(&o->object.group->policies, &o->object);
	if (!o->is_tunnel)
		return;
	o->tunnel_place = c->ike.n_tunnels;
	c->ike.tunnels[c->ike.n_tunnels++] = o;
}

int ike_policy_add(struct control *c, const struct conf_policy *conf, struct ike_policy **added)
{
	bool protect = conf->action == SPD_PROTECT;
	struct ike_policy *o;
	int rc = -ENOMEM;

	if (ike_policy_find(c, conf->name) != NULL)
		return -EEXIST;
	o = calloc(1, sizeof(*o));
	if (o == NULL)
		return -ENOMEM;
	if (protect)
		o->object.group = ike_group_get(c, conf->reqid);
	o->is_tunnel = protect && !conf->trap;
	o->object.name = conf->name; // until it has its own
	if (ike_peer_get(c, conf->peer_id, &o->object.peer) && tunnels_reserve(c) &&
		(!protect || o->object.group != NULL) &&
		tsearch(o, &c->ike.policies, ike_compare_names) != NULL)
		rc = policy_publish(c, o, conf);
	if (rc < 0) {
		tdelete(o, &c->ike.policies, ike_compare_names);
		ike_group_drop_empty(c, o->object.group);
		ike_peer_drop_empty(c, o->object.peer);
		free(o);
		return rc;
	}
	policy_list(c, o);
	c->ike.mss_clamped |= conf->mss_clamp != 0;
	c->ike.redecide = true; // it decides about flows from now on, too
	*added = o;
	return 0;
}

void ike_policy_open(struct control *c, const struct ike_policy *o)
{
	if (o->bypass)
		spd_table_set_action(c->snapshot->objects->policies, o->slot, SPD_BYPASS);
}

bool ike_policy_asks(struct ike_policy *o, uint64_t now_ms)
{
	if (o->asked_ms != 0 && now_ms < o->asked_ms + ASK_AGAIN_MS)
		return false;
	o->asked_ms = now_ms;
	return true;
}

struct sa_in *policy_receiver(const struct control *c, const struct spd_policy *p, unsigned int i)
{
	if (p->group != 0)
		return ike_receiver(c, p->group, i);
	return i < p->n_in ? p->in[i] : NULL;
}

// Of the policies of a tunnel the first one posts events.
static bool is_first(const struct ike_policy *o)
{
	const struct object *older = o->object.next;

	while (older != NULL && !((const struct ike_policy *)older)->is_tunnel)
		older = older->next;
	return older == NULL;
}

struct tunnel *ike_tunnel(const struct control *c, unsigned int i, const struct spd_policy **policy)
{
	if (i >= c->ike.n_tunnels)
		return NULL;
	*policy = c->ike.tunnels[i]->policy;
	c->ike.tunnels[i]->tunnel.posts = is_first(c->ike.tunnels[i]);
	return &c->ike.tunnels[i]->tunnel;
}
