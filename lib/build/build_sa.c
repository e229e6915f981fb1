// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "build.h"
#include "build_parts.h"
#include "hop.h"
#include "line_memory.h"

#define IKE_NAT_PORT 4500

// NULL: the endpoint of the peer is not known, or there is no route to it any more.
static const struct nexthop *nexthop_to(const struct snapshot *s, const struct ip_addr *local,
	const struct ip_addr *peer, const struct nexthop *former)
{
	const struct nexthop *nh =
		hop_find(s, ip_addr_is_none(peer) ? NULL : route_find_outer(s->routes, local, peer),
			local, peer, 0, former);

	return nh != NULL && nh->kind <= NEXTHOP_GATEWAY ? nh : NULL;
}

// The MTU of the link to the next hop, or without a next hop of the link that the SA's own address
// is on.
static uint16_t mtu_of(
	const struct snapshot *s, const struct nexthop *nexthop, const struct ip_addr *local)
{
	return s->iface[nexthop != NULL ? nexthop->iface : build_port_of(s, local)].mtu;
}

static struct sa *take(const struct snapshot *s, const struct conf *conf, const struct conf_sa *c,
	const struct nexthop *nexthop)
{
	// SAs of IKE have keys that no other member of a fleet has.
	const bool fleet = conf->fleet_member != 0 && sa_options_group(&c->opt) == 0;
	struct sa_params p = {
		.opt = c->opt,
		.live = c->live,
		.cipher_key = c->cipher_key,
		.auth_key = c->auth_key,
		.engine = conf->engine,
		.n_workers = conf->n_workers,
		.member = conf->pair_member,
		.follows = c->local.port[0] != '\0',
		.fleet_member = fleet ? conf->fleet_member : 0,
		.by_grant = fleet && conf_group_of(conf, &c->opt.local) != NULL,
	};

	if (c->opt.direction == SA_OUT) {
		p.nexthop = nexthop;
		p.mtu = mtu_of(s, nexthop, &p.opt.local);
		if (getrandom(&p.iv_mask, sizeof(p.iv_mask), 0) < 0)
			return NULL;
	}
	return sa_ledger_take(s->objects->ledger, &p);
}

struct sa *build_sa(const struct snapshot *s, const struct conf *conf, const struct conf_sa *c)
{
	return take(s, conf, c, nexthop_to(s, &c->opt.local, &c->opt.remote, NULL));
}

static int udp_end_add(
	struct snapshot *s, const struct conf *conf, const struct ip_addr *local, uint16_t port)
{
	if (s->udp_ports == NULL) {
		s->udp_ports = calloc((UINT16_MAX + 1) / 8, 1);
		s->udp_ends = calloc(
			conf->n_sas + (size_t)PORTS_MAX * PORT_ADDRS_MAX, sizeof(s->udp_ends[0]));
	}
	if (s->udp_ports == NULL || s->udp_ends == NULL)
		return -ENOMEM;
	s->udp_ports[port / 8] |= (uint8_t)(1u << port % 8);
	s->udp_ends[s->n_udp_ends++] = *local;
	return 0;
}

// IKE adds SAs at any time, whose packets share its port for NATs (RFC 7296 2.23).
static int ike_ends_add(struct snapshot *s, const struct conf *conf)
{
	int rc = 0;

	for (unsigned int i = 0; i < s->n_ports; i++)
		for (unsigned int a = 0;
			rc == 0 && s->iface[i].unprotected && a < s->port[i].n_addrs; a++)
			rc = udp_end_add(s, conf, &s->port[i].addrs[a], IKE_NAT_PORT);
	return rc;
}

// The local ends of ESP in UDP (RFC 3948), if any SA is in UDP.
static int udp_build(struct snapshot *s, const struct conf *conf)
{
	for (unsigned int i = 0; i < conf->n_sas; i++) {
		const struct conf_sa *c = &conf->sas[i];

		if (c->opt.in_udp && c->opt.direction == SA_IN &&
			udp_end_add(s, conf, &c->opt.local, c->opt.udp_local_port) < 0)
			return -ENOMEM;
	}
	if (conf_may_have_ike(conf) && ike_ends_add(s, conf) < 0)
		return -ENOMEM;
	if (s->n_udp_ends > 0)
		qsort(s->udp_ends, s->n_udp_ends, sizeof(s->udp_ends[0]), snapshot_compare_ends);
	return 0;
}

int build_sas(struct snapshot *s, const struct conf *conf, char *why, size_t size)
{
	struct snapshot_control *c = s->control;

	c->sa = calloc(conf->n_sas + 1, sizeof(c->sa[0]));
	s->dummies = calloc(conf->n_sas + 1, sizeof(s->dummies[0]));
	if (c->sa == NULL || s->dummies == NULL || udp_build(s, conf) < 0)
		return build_fail(why, size, "SAs", ENOMEM);
	for (unsigned int i = 0; i < conf->n_sas; i++) {
		struct sa *sa = take(s, conf, &conf->sas[i], NULL); // routes: build_commit()

		if (sa == NULL)
			return build_fail(why, size, conf->sas[i].live.name, errno);
		c->sa[c->n_sa++] = sa;
		if (sa->opt.direction == SA_OUT && sa->opt.tfc_dummies > 0)
			s->dummies[s->n_dummies++] = sa_out_of(sa);
	}
	return 0;
}

// --- steps that may fail, before the snapshot is published ---

// A new path for an SA that is in use. Without a route to the peer mtu is that of the link.
static struct sa_path *path_again(const struct snapshot *s, const struct sa_out *sa,
	const struct ip_addr *local, const struct sa_peer *peer, uint16_t mtu)
{
	const struct nexthop *nexthop = nexthop_to(s, local, &peer->addr, sa_out_path(sa)->nexthop);

	return sa_path_new(&sa->sa, local, peer, nexthop,
		nexthop != NULL ? s->iface[nexthop->iface].mtu : mtu);
}

// The same of one of the configuration. The endpoint of a peer that is followed stays as it is.
static struct sa_path *path_configured(
	const struct snapshot *s, const struct sa_out *sa, const struct conf_sa *c)
{
	const struct sa_peer configured = sa_peer_configured(&c->opt);
	const struct ip_addr *local = &c->opt.local;

	return path_again(
		s, sa, local, c->live.follow ? &sa->peer : &configured, mtu_of(s, NULL, local));
}

// Lists the SAs of the configuration, and after them those of IKE.
static bool list_make(struct sa_list *next, const struct snapshot *s)
{
	const struct sa_list *l = &s->objects->sas;
	const struct snapshot_control *c = s->control;
	const unsigned int *n = l->n_configured;

	if (!sa_list_reserve(next, c->n_sa + l->n_in, c->n_sa + l->n_out))
		return false;
	for (unsigned int i = 0; i < c->n_sa; i++)
		sa_list_add(next, c->sa[i]);
	next->n_configured[SA_IN] = next->n_in;
	next->n_configured[SA_OUT] = next->n_out;
	for (unsigned int i = n[SA_IN]; i < l->n_in; i++)
		sa_list_add(next, &l->in[i]->sa);
	for (unsigned int i = n[SA_OUT]; i < l->n_out; i++)
		sa_list_add(next, &l->out[i]->sa);
	return true;
}

// Replacements of objects in use: paths by place of outbound SAs, then the tables of SAs if these
// are full, and the index of peers in UDP. NULL: none.
enum { SAD_IN, SAD_OUT, BY_UDP, TABLES };

static bool paths_make(
	void **path, const struct snapshot *s, const struct conf *conf, const struct sa_list *next)
{
	unsigned int at = 0;

	for (unsigned int i = 0; i < conf->n_sas; i++) {
		const struct conf_sa *c = &conf->sas[i];

		if (c->opt.direction == SA_IN)
			continue;
		path[at] = path_configured(s, next->out[at], c);
		if (path[at++] == NULL)
			return false;
	}
	for (; at < next->n_out; at++) {
		const struct sa_out *sa = next->out[at];

		path[at] =
			path_again(s, sa, &sa->sa.opt.local, &sa->peer, sa_out_path(sa)->link_mtu);
		if (path[at] == NULL)
			return false;
	}
	return true;
}

static bool tables_make(void **table, const struct snapshot *s, const struct sa_list *next)
{
	unsigned int n_new[2] = {0};

	for (unsigned int i = 0; i < s->control->n_sa; i++)
		n_new[s->control->sa[i]->opt.direction] += !s->control->sa[i]->begun;
	table[BY_UDP] = sa_udp_index_new(next->n_out);
	return objects_sad_grow(s->objects, SA_IN, n_new[SA_IN], (struct sad **)&table[SAD_IN]) &&
	       objects_sad_grow(
		       s->objects, SA_OUT, n_new[SA_OUT], (struct sad **)&table[SAD_OUT]) &&
	       table[BY_UDP] != NULL;
}

static bool prepare(struct snapshot *s, const struct conf *conf, struct sa_list *next)
{
	struct snapshot_control *c = s->control;

	for (unsigned int i = 0; i < c->n_sa; i++)
		if (sa_ledger_add(s->objects->ledger, c->sa[i]) < 0)
			return false;
	if (!list_make(next, s))
		return false;
	c->replaced = calloc(next->n_out + TABLES, sizeof(c->replaced[0]));
	if (c->replaced == NULL)
		return false;
	c->n_replaced = next->n_out + TABLES;
	return paths_make(c->replaced, s, conf, next) &&
	       tables_make(c->replaced + next->n_out, s, next);
}

// --- steps that cannot fail ---

// An SA that takes the place of another one with its SPI is found once that is removed.
static void sas_begin(struct snapshot *s, const struct conf *conf)
{
	for (unsigned int i = 0; i < s->control->n_sa; i++) {
		struct sa *sa = s->control->sa[i];
		bool is_new = !sa->begun;

		sa_ledger_begin(sa);
		sa_change(sa, &conf->sas[i].live);
		if (!ip_addr_equal(&sa->opt.local, &conf->sas[i].opt.local))
			sa_local_move(sa, &conf->sas[i].opt.local);
		if (is_new)
			sad_add(*objects_sad(s->objects, sa->opt.direction), sa);
	}
}

// A tunnel limits the packets of its SAs.
static void limits_set(const struct spd *spd, const struct sa_list *next)
{
	for (unsigned int i = 0; i < next->n_out; i++) {
		const uint64_t group = sa_options_group(&next->out[i]->sa.opt);
		const struct spd_policy *p = group != 0 ? spd_find_group(spd, group) : NULL;

		sa_out_limit(next->out[i], p != NULL ? p->mtu : 0);
	}
	for (unsigned int i = spd_count_policies(spd); i < spd_count(spd); i++)
		if (spd_at(spd, i)->group == 0)
			sa_out_limit(spd_at(spd, i)->out, spd_at(spd, i)->mtu);
}

int build_commit(struct snapshot *s, const struct conf *conf)
{
	struct objects *o = s->objects;
	struct sa_list next = {0};
	void **replaced, **table;
	int rc = build_route_groups(s, conf) ? 0 : -ENOMEM;

	if (rc == 0)
		rc = route_plan(o->routes, s->control->routes, s->control->n_routes);
	build_route_groups_release(s, conf);
	if (rc < 0)
		return rc;
	if (!prepare(s, conf, &next)) {
		route_plan_drop(o->routes);
		sa_list_free(&next);
		return -ENOMEM;
	}
	build_carry_routes(s);
	replaced = s->control->replaced;
	table = replaced + next.n_out;
	table[SAD_IN] = objects_sad_replace(o, SA_IN, table[SAD_IN]);
	table[SAD_OUT] = objects_sad_replace(o, SA_OUT, table[SAD_OUT]);
	limits_set(s->spd, &next);
	sas_begin(s, conf);
	for (unsigned int i = 0; i < next.n_out; i++)
		if (replaced[i] != NULL)
			replaced[i] = sa_out_path_set(next.out[i], replaced[i]);
	sa_udp_index_fill(table[BY_UDP], next.out, next.n_out);
	table[BY_UDP] = atomic_exchange_explicit(
		&o->sa_out_by_udp, (struct sa_udp_index *)table[BY_UDP], memory_order_release);
	sa_list_free(&o->sas);
	o->sas = next;
	return 0;
}

// SAs of the configuration with equal options are one object, with a reference for each.
void build_sas_unlink(const struct snapshot *old)
{
	const struct snapshot_control *c = old->control;

	for (unsigned int i = 0; i < c->n_sa; i++)
		if (--c->sa[i]->refs == 0)
			sad_remove(*objects_sad(old->objects, c->sa[i]->opt.direction), c->sa[i]);
	for (unsigned int i = 0; i < c->n_sa; i++)
		c->sa[i]->refs++; // until it is retired
}
