// SPDX-License-Identifier: BSD-3-Clause
#include "announced.h"

#include <stdlib.h>

#include "ike_tables.h"
#include "peers.h"

#define COMPARE_MS 1000
#define REPEAT_MS  10000 // somebody may have removed routes

// A network, and the group that it is announced for.
struct network {
	struct ip_prefix to;
	unsigned int group;
};

struct networks {
	const struct control *c;
	struct network *of;
	unsigned int n, room;
	bool no_memory;
};

bool group_is_announced(const struct control *c, const struct owned_group *g)
{
	return c->conf->announce_metric != 0 &&
	       (g->role == CONF_ACTIVE ? !g->leaving : g->expected);
}

// --- the networks of groups ---

static bool is_default(const struct ip_prefix *to)
{
	return to->len == (ip_addr_is_v4(&to->addr) ? IP_V4_BITS : 0);
}

static void network_add(struct networks *all, const struct ip_prefix *to, unsigned int group)
{
	if (is_default(to))
		return;
	if (all->n == all->room) {
		unsigned int room = 2 * all->room + 64;
		struct network *of = realloc(all->of, room * sizeof(of[0]));

		all->no_memory |= of == NULL;
		if (of == NULL)
			return;
		all->of = of;
		all->room = room;
	}
	all->of[all->n++] = (struct network){*to, group};
}

// The announced group that has the own end of an SA. -1: none has.
static int group_of_sa(const struct control *c, const struct sa_out *sa)
{
	const struct conf_group *g = sa != NULL ? conf_group_of(c->conf, &sa->sa.opt.local) : NULL;

	if (g == NULL || !group_is_announced(c, &c->groups.item[g - c->conf->groups]))
		return -1;
	return (int)(g - c->conf->groups);
}

// Networks that are reached through a tunnel. Not one with its peer, as it is now: ESP would come
// back, and IKE of this machine would not leave.
static void tunnel_add(struct networks *all, const struct spd_policy *p,
	const struct ip_prefix remote[], unsigned int n)
{
	const struct sa_out *sa = p->action == SPD_PROTECT ? p->out : NULL;
	int group = group_of_sa(all->c, sa);

	for (unsigned int i = 0; group >= 0 && i < n; i++) {
		const struct ip_addr peer = peer_endpoint(&sa->sa).addr;

		if (!ip_prefix_contains(&remote[i], &peer))
			network_add(all, &remote[i], (unsigned int)group);
	}
}

static void addresses_add(struct networks *all)
{
	const struct control *c = all->c;

	for (unsigned int i = 0; i < c->groups.n; i++)
		for (unsigned int k = 0; k < c->conf->groups[i].n_addrs; k++)
			if (group_is_announced(c, &c->groups.item[i]))
				network_add(all,
					&(struct ip_prefix){c->conf->groups[i].addrs[k], 128}, i);
}

static void policies_add(struct networks *all)
{
	const struct control *c = all->c;

	for (unsigned int i = 0; i < c->conf->n_policies; i++)
		tunnel_add(all, spd_at(c->snapshot->spd, i), c->conf->policies[i].remote.at,
			c->conf->policies[i].remote.n);
}

static void links_add(struct networks *own, const struct conf_iface_addr *a, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		network_add(own, &a[i].net, 0);
}

static void host_add(struct networks *own, const struct ip_addr *addr)
{
	if (!ip_addr_is_none(addr))
		network_add(own, &(struct ip_prefix){*addr, 128}, 0);
}

// Networks that this machine needs itself, as far as the configuration has them: of its interfaces,
// and addresses that its kernel sends to.
static void own_add(struct networks *own)
{
	const struct conf *conf = own->c->conf;
	struct ip_addr addr;

	for (unsigned int i = 0; i < conf->n_ports; i++)
		links_add(own, conf->ports[i].addrs, conf->ports[i].n_addrs);
	for (unsigned int i = 0; i < conf->n_tunnels; i++)
		if (conf->tunnels[i].host != NULL)
			links_add(own, conf->tunnels[i].addrs, conf->tunnels[i].n_addrs);
	for (unsigned int i = 0; i < conf->n_fleet_endpoints; i++)
		if (conf_endpoint_addr(&addr, conf->fleet_endpoints[i]))
			host_add(own, &addr);
	host_add(own, &conf->pair_peer);
	host_add(own, &conf->export_collector);
}

// Whether a network that a peer of IKE has chosen may be announced.
static bool peer_may_have(const struct networks *own, const struct ip_prefix *to)
{
	const struct conf *conf = own->c->conf;
	bool may = false;

	for (unsigned int i = 0; i < conf->n_announce_networks; i++)
		may |= ip_prefix_covers(&conf->announce_networks[i], to);
	for (unsigned int i = 0; may && i < own->n; i++)
		may = !ip_prefix_overlaps(&own->of[i].to, to);
	return may && !ip_addr_is_link_local(&to->addr);
}

static void ike_add(struct networks *all)
{
	struct networks own = {.c = all->c};
	const struct spd_policy *p;

	own_add(&own);
	all->no_memory |= own.no_memory;
	for (unsigned int i = 0; ike_tunnel(all->c, i, &p) != NULL; i++)
		if (peer_may_have(&own, &p->remote))
			tunnel_add(all, p, &p->remote, 1);
	free(own.of);
}

// But not those of routes for packets of the gateway itself.
static void routes_add(struct networks *all)
{
	const struct spd *spd = all->c->snapshot->spd;

	for (unsigned int i = 0; i < all->c->conf->n_routes; i++) {
		const struct conf_route *r = &all->c->conf->routes[i];
		struct conf_hop one;
		unsigned int n;
		const struct conf_hop *hop = conf_route_hops(r, &one, &n);

		for (unsigned int k = 0; k < n && ip_addr_is_none(&r->source); k++)
			if (hop[k].tunnel != 0)
				tunnel_add(all,
					spd_at(spd, spd_count_policies(spd) + hop[k].tunnel - 1),
					&r->to, 1);
	}
}

// --- the routes that the kernel gets ---

static int compare(const void *a, const void *b)
{
	const struct network *x = a, *y = b;
	int by_prefix = ip_prefix_compare(&x->to, &y->to);

	return by_prefix != 0 ? by_prefix : (x->group > y->group) - (x->group < y->group);
}

// Each network once, in order; counts those of each group.
static unsigned int list_make(struct control *c, const struct networks *all, struct ip_prefix *to)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < c->groups.n; i++)
		c->groups.item[i].announced = 0;
	for (unsigned int i = 0; i < all->n; i++) {
		if (i > 0 && compare(&all->of[i], &all->of[i - 1]) == 0)
			continue;
		c->groups.item[all->of[i].group].announced++;
		if (n == 0 || ip_prefix_compare(&all->of[i].to, &to[n - 1]) != 0)
			to[n++] = all->of[i].to;
	}
	return n;
}

static bool is_same(const struct announced *a, const struct ip_prefix *to, unsigned int n)
{
	bool same = a->n == n;

	for (unsigned int i = 0; same && i < n; i++)
		same = ip_prefix_compare(&a->to[i], &to[i]) == 0;
	return same;
}

static void give(struct control *c, struct ip_prefix *to, unsigned int n, uint64_t now_ms)
{
	struct announced *a = &c->announced;

	if (!is_same(a, to, n) || now_ms >= a->repeat_ms) {
		c->io->announce(c->io_arg, to, n);
		a->repeat_ms = now_ms + REPEAT_MS;
	}
	free(a->to);
	a->to = to;
	a->n = n;
}

// Without memory all stays as it is for a second.
static void follow(struct control *c, uint64_t now_ms)
{
	struct networks all = {.c = c};
	struct ip_prefix *to;

	c->announced.compare_ms = now_ms + COMPARE_MS;
	addresses_add(&all);
	policies_add(&all);
	ike_add(&all);
	routes_add(&all);
	to = malloc((all.n + 1) * sizeof(to[0]));
	if (all.no_memory || to == NULL) {
		free(to);
	} else {
		if (all.n > 0)
			qsort(all.of, all.n, sizeof(all.of[0]), compare);
		give(c, to, list_make(c, &all, to), now_ms);
	}
	free(all.of);
}

void announced_change(struct control *c)
{
	if (c->conf->announce_metric != 0)
		follow(c, c->io->now_ms());
}

void announced_tick(struct control *c, uint64_t now_ms)
{
	if (c->conf->announce_metric != 0 && now_ms >= c->announced.compare_ms)
		follow(c, now_ms);
}

void announced_stop(struct control *c)
{
	if (c->conf->announce_metric != 0)
		c->io->announce(c->io_arg, NULL, 0);
	free(c->announced.to);
	c->announced = (struct announced){.n = 0};
}
