// SPDX-License-Identifier: BSD-3-Clause
#include "sa_table.h"

#include "address.h"
#include "audit_log.h"
#include "line_memory.h"
#include "path_mtu.h"
#include "retire.h"

// --- generations ---

// Publishes the same snapshot in another generation, so that references to objects that are to be
// freed are not used any more. redecide: nor are cached decisions of flows.
static void snapshot_renew(struct control *c, bool redecide)
{
	struct snapshot *old = c->snapshot, *next = line_calloc(1, sizeof(*next));
	bool short_of_memory = next == NULL;

	if (short_of_memory)
		next = c->ike.spare;
	*next = *old;
	next->generation = snapshot_generation_next(old->generation);
	next->mss_clamped |= c->ike.mss_clamped;
	if (redecide) {
		next->flow_generation = next->generation;
		next->carried = 0;
		route_table_forget(next->routes); // freed with the next batch, after this
		c->routes_changed = true;
	}
	atomic_store_explicit(&c->snapshot, next, memory_order_release);
	if (short_of_memory) {
		rte_rcu_qsbr_synchronize(c->qsbr, RTE_QSBR_THRID_INVALID);
		c->ike.spare = old;
	} else {
		retire(c, old);
	}
}

void object_unlink(struct control *c, struct object *o,
	void (*release)(struct control *c, void *object), bool redecide)
{
	o->release = release;
	o->next = c->ike.leaving;
	c->ike.leaving = o;
	c->ike.redecide |= redecide;
}

void objects_commit(struct control *c)
{
	struct object *o = c->ike.leaving, *next;

	// Another snapshot that is being made has the next generation already.
	if (c->loading || (o == NULL && !c->ike.redecide && !c->ike.renew))
		return;
	snapshot_renew(c, c->ike.redecide);
	c->ike.leaving = NULL;
	c->ike.redecide = c->ike.renew = false;
	for (; o != NULL; o = next) {
		next = o->next;
		retire_call(c, o->release, o); // may make others leave at once
	}
}

bool objects_reserve(struct control *c)
{
	if (c->ike.spare == NULL)
		c->ike.spare = line_calloc(1, sizeof(*c->ike.spare));
	return c->ike.spare != NULL;
}

// --- SAs ---

bool sa_table_takes_udp(const struct control *c, const struct sa_options *o)
{
	const struct snapshot *s = c->snapshot;

	return !o->in_udp || o->direction == SA_OUT ||
	       (s->udp_ports != NULL &&
		       snapshot_has_udp_port(s, rte_cpu_to_be_16(o->udp_local_port)) &&
		       snapshot_has_udp_end(s, &o->local));
}

// A path MTU that is known for the peer holds for the new SA as well. False: there is no memory.
static bool path_mtu_take(struct control *c, struct sa_out *sa)
{
	const struct sa_path *path = sa_out_path(sa);
	uint16_t known = path_mtu_known(c, &sa->peer.addr);
	struct sa_path *resized;

	if (known >= path->link_mtu)
		return true;
	resized = sa_path_resized(&sa->sa, path, known);
	if (resized == NULL)
		return false;
	line_free(sa_out_path_set(sa, resized)); // no worker has seen it
	return true;
}

bool sa_table_prepare(struct control *c, struct sa *sa)
{
	if (sa_ledger_add(c->snapshot->objects->ledger, sa) < 0)
		return false;
	sa_local_set(sa, address_check(c, c->snapshot, sa));
	return sa->opt.direction == SA_IN || path_mtu_take(c, sa_out_of(sa));
}

bool sa_table_reserve(struct control *c, unsigned int n_in, unsigned int n_out)
{
	struct objects *all = c->snapshot->objects;
	const unsigned int n[] = {[SA_IN] = n_in, [SA_OUT] = n_out};
	struct sad *grown;

	if (!sa_list_reserve(&all->sas, all->sas.n_in + n_in, all->sas.n_out + n_out))
		return false;
	for (enum sa_direction d = SA_IN; d <= SA_OUT; d++) {
		if (!objects_sad_grow(all, d, n[d], &grown))
			return false;
		retire(c, objects_sad_replace(all, d, grown));
	}
	return true;
}

void sa_table_add(struct control *c, struct sa *sa)
{
	sa_ledger_begin(sa);
	sa_change(sa, &sa->live);
	c->udp_ends_moved |= sa->opt.direction == SA_OUT && sa->opt.in_udp;
	sad_add(*objects_sad(c->snapshot->objects, sa->opt.direction), sa);
}

void sa_table_remove(struct control *c, struct sa *sa)
{
	struct objects *all = c->snapshot->objects;

	if (sa->opt.direction == SA_OUT && sa->opt.in_udp)
		sa_udp_forget(all->sa_out_by_udp, sa_out_of(sa));
	sad_remove(*objects_sad(all, sa->opt.direction), sa);
}

void sa_table_release(struct control *c, struct sa *sa)
{
	audit_forget(c, sa);
	c->oldest_generation = c->snapshot->generation;
	sa_ledger_release(c->snapshot->objects->ledger, sa);
}
