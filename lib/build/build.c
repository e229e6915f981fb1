// SPDX-License-Identifier: BSD-3-Clause
#include "build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "build_counts.h"
#include "build_route.h"
#include "build_rule.h"
#include "icmp.h"
#include "nd.h"

static_assert(CONF_PORTS_MAX <= PORTS_MAX && CONF_ADDRS_MAX < PORT_ADDRS_MAX, "room for all");
static_assert(CONF_WORKERS_MAX <= SA_WORKERS_MAX, "room for all");
static_assert(CONF_NAME_MAX <= SPD_NAME_MAX && CONF_POLICY_IN_MAX <= SPD_IN_MAX, "room for all");
static_assert(CONF_MSS_AUTO == SPD_MSS_AUTO, "taken as it is");

static int fail(char *why, size_t size, const char *what, int error)
{
	if (error == ENOMEM)
		snprintf(why, size, "out of memory for %s", what);
	else
		snprintf(why, size, "%s: %s", what, strerror(error));
	return -error;
}

// Every port with IPv6 has a link-local address (RFC 4291 2.1): if none is given, the one that
// follows from its link address.
static void link_local_build(struct snapshot_port *p, uint16_t number)
{
	struct ip_addr link_local = nd_link_local(&p->mac);
	bool v6 = false, given = false;

	for (unsigned int i = 0; i < p->n_addrs; i++) {
		v6 |= !ip_addr_is_v4(&p->addrs[i]);
		if (!given && ip_addr_is_link_local(&p->addrs[i])) {
			given = true;
			link_local = p->addrs[i];
		}
	}
	if (v6 && !given)
		p->addrs[p->n_addrs++] = link_local;
	p->on_link =
		(struct nexthop){.kind = NEXTHOP_CONNECTED, .port = number, .source = link_local};
	p->own_link_local =
		(struct nexthop){.kind = NEXTHOP_LOCAL, .port = number, .source = link_local};
}

static void ports_build(
	struct snapshot *s, const struct conf *conf, const struct build_port ports[])
{
	s->n_ports = (uint16_t)conf->n_ports;
	for (unsigned int i = 0; i < conf->n_ports; i++) {
		const struct conf_port *c = &conf->ports[i];
		struct snapshot_port *p = &s->port[i];

		p->mac = ports[i].mac;
		p->mtu = c->mtu;
		p->unprotected = c->unprotected;
		p->n_addrs = (uint8_t)c->n_addrs;
		for (unsigned int a = 0; a < c->n_addrs; a++) {
			p->addrs[a] = c->addrs[a].addr;
			if (build_has_anycast(&c->addrs[a]))
				p->anycast[p->n_anycast++] = c->addrs[a].net.addr;
		}
		memcpy(p->name, c->name, sizeof(c->name));
		link_local_build(p, (uint16_t)i);
	}
}

// NULL: the endpoint of the peer is not known, or there is no route to it any more.
static const struct nexthop *nexthop_to(const struct snapshot *s, const struct ip_addr *peer)
{
	const struct nexthop *nh = ip_addr_is_none(peer) ? NULL : route_find(s->routes, peer);

	return nh != NULL && nh->kind <= NEXTHOP_GATEWAY ? nh : NULL;
}

// Of the link to the next hop, or without one of the link that the SA's own address is on.
static uint16_t mtu_of(
	const struct snapshot *s, const struct nexthop *nexthop, const struct ip_addr *local)
{
	return s->port[nexthop != NULL ? nexthop->port : route_find(s->routes, local)->port].mtu;
}

static int sa_out_add(struct snapshot *s, struct sa_params *p)
{
	struct sa *sa;

	p->nexthop = nexthop_to(s, &p->opt.remote);
	p->mtu = mtu_of(s, p->nexthop, &p->opt.local);
	if (getrandom(&p->iv_mask, sizeof(p->iv_mask), 0) < 0)
		return -errno;
	sa = sa_ledger_take(s->control->ledger, p);
	if (sa == NULL)
		return -errno;
	s->sa_out[s->n_sa_out++] = sa_out_of(sa);
	if (p->opt.tfc_dummies > 0)
		s->dummies[s->n_dummies++] = sa_out_of(sa);
	return 0;
}

static int sa_in_add(struct snapshot *s, const struct sa_params *p)
{
	struct sa *sa = sa_ledger_take(s->control->ledger, p);

	if (sa == NULL)
		return -errno;
	s->sa_in[s->n_sa_in++] = sa_in_of(sa);
	return 0;
}

static int compare_spis(const void *a, const void *b)
{
	const struct sa_out *x = *(struct sa_out *const *)a, *y = *(struct sa_out *const *)b;

	return (x->sa.spi > y->sa.spi) - (x->sa.spi < y->sa.spi);
}

// The local ends of ESP in UDP (RFC 3948), if any SA is in UDP.
static int udp_build(struct snapshot *s, const struct conf *conf)
{
	for (unsigned int i = 0; i < conf->n_sas; i++) {
		const struct conf_sa *c = &conf->sas[i];

		if (!c->opt.in_udp || c->opt.direction != SA_IN)
			continue;
		if (s->udp_ports == NULL) {
			s->udp_ports = calloc((UINT16_MAX + 1) / 8, 1);
			s->udp_ends = calloc(conf->n_sas, sizeof(s->udp_ends[0]));
		}
		if (s->udp_ports == NULL || s->udp_ends == NULL)
			return -ENOMEM;
		s->udp_ports[c->opt.udp_local_port / 8] |=
			(uint8_t)(1u << c->opt.udp_local_port % 8);
		s->udp_ends[s->n_udp_ends++] = c->opt.local;
	}
	if (s->n_udp_ends > 0)
		qsort(s->udp_ends, s->n_udp_ends, sizeof(s->udp_ends[0]), snapshot_compare_ends);
	return 0;
}

// Makes the SAs; at[i] is the place in s->sa_in or s->sa_out that conf->sas[i] got.
static int sas_build(
	unsigned int at[], struct snapshot *s, const struct conf *conf, char *why, size_t size)
{
	s->sa_in = calloc(conf->n_sas + 1, sizeof(s->sa_in[0]));
	s->sa_out = calloc(conf->n_sas + 1, sizeof(s->sa_out[0]));
	s->control->path = calloc(conf->n_sas + 1, sizeof(s->control->path[0]));
	s->dummies = calloc(conf->n_sas + 1, sizeof(s->dummies[0]));
	if (s->sa_in == NULL || s->sa_out == NULL || s->control->path == NULL || s->dummies == NULL)
		return fail(why, size, "SAs", ENOMEM);
	for (unsigned int i = 0; i < conf->n_sas; i++) {
		const struct conf_sa *c = &conf->sas[i];
		struct sa_params p = {
			.opt = c->opt,
			.live = c->live,
			.cipher_key = c->cipher_key,
			.auth_key = c->auth_key,
			.engine = conf->engine,
			.n_workers = conf->n_workers,
		};
		bool out = c->opt.direction == SA_OUT;

		at[i] = out ? s->n_sa_out : s->n_sa_in;

		int rc = out ? sa_out_add(s, &p) : sa_in_add(s, &p);

		if (rc < 0)
			return fail(why, size, c->live.name, -rc);
	}
	s->sad = sad_new(s->sa_in, s->n_sa_in);
	s->sa_out_by_spi = calloc(s->n_sa_out + 1, sizeof(s->sa_out_by_spi[0]));
	s->sa_out_by_udp = sa_udp_index_new(s->n_sa_out);
	if (s->sad == NULL || s->sa_out_by_spi == NULL || s->sa_out_by_udp == NULL ||
		udp_build(s, conf) < 0)
		return fail(why, size, "SAs", ENOMEM);
	memcpy(s->sa_out_by_spi, s->sa_out, s->n_sa_out * sizeof(s->sa_out_by_spi[0]));
	qsort(s->sa_out_by_spi, s->n_sa_out, sizeof(s->sa_out_by_spi[0]), compare_spis);
	return 0;
}

static struct spd_policy policy_of(
	const struct snapshot *s, const struct conf_policy *c, const unsigned int sa_at[])
{
	struct spd_policy p = {
		.action = c->action,
		.local = c->local,
		.remote = c->remote,
		.family = c->family,
		.proto = c->proto,
		.local_port = acl_port_range(c->local_port_min, c->local_port_max),
		.remote_port = acl_port_range(c->remote_port_min, c->remote_port_max),
	};

	memcpy(p.name, c->name, sizeof(c->name));
	if (c->action == SPD_PROTECT) {
		p.out = s->sa_out[sa_at[c->sa_out]];
		p.n_in = c->n_sa_in;
		for (unsigned int i = 0; i < c->n_sa_in; i++)
			p.in[i] = s->sa_in[sa_at[c->sa_in[i]]];
		p.errors_trusted = c->errors_trusted;
		p.mss_clamp = c->mss_clamp;
	}
	return p;
}

// An own address of the family, for what we say through a policy's tunnel. Every peer lets one in
// that the policy covers; any other only peers that look at what errors quote (RFC 4301 6.2). Then
// rather one of the protected side. In transport mode the source is part of the SA: no peer takes
// another.
static struct ip_addr source_in(
	const struct snapshot *s, const struct spd_policy *policy, enum ip_family family)
{
	bool transport = policy->action == SPD_PROTECT && policy->out->sa.opt.mode == SA_TRANSPORT;
	const struct ip_prefix *local = &policy->local;
	struct ip_addr source = {0};
	unsigned int best = transport ? 2 : 0;

	for (unsigned int i = 0; i < s->n_ports; i++)
		for (unsigned int a = 0; a < s->port[i].n_addrs; a++) {
			const struct ip_addr *own = &s->port[i].addrs[a];
			unsigned int rank = ip_prefix_contains(local, own) ? 3
					    : s->port[i].unprotected       ? 1
									   : 2;

			if (ip_addr_family(own) != family || ip_addr_is_link_local(own) ||
				rank <= best)
				continue;
			best = rank;
			source = *own;
		}
	return source;
}

static int policies_build(struct snapshot *s, const struct conf *conf, const unsigned int sa_at[],
	char *why, size_t size)
{
	struct spd_policy *policies = calloc(conf->n_policies + 1, sizeof(*policies));

	s->policy_source = calloc(conf->n_policies + 1, sizeof(s->policy_source[0]));
	if (policies == NULL || s->policy_source == NULL) {
		free(policies);
		return fail(why, size, "policies", ENOMEM);
	}
	for (unsigned int i = 0; i < conf->n_policies; i++) {
		policies[i] = policy_of(s, &conf->policies[i], sa_at);
		s->mss_clamped |= policies[i].mss_clamp != 0;
		s->policy_source[i][SOURCE_V4] = source_in(s, &policies[i], IP_V4);
		s->policy_source[i][SOURCE_V6] = source_in(s, &policies[i], IP_V6);
	}
	s->spd = spd_new(policies, conf->n_policies);
	free(policies);
	if (s->spd == NULL)
		return fail(why, size, "policies", errno);
	s->policies = spd_at(s->spd, 0);
	s->policy_decisions = decisions_new(conf->n_policies, conf->n_workers);
	if (s->policy_decisions == NULL)
		return fail(why, size, "policies", ENOMEM);
	return 0;
}

static int rules_build(struct snapshot *s, const struct conf *conf, char *why, size_t size)
{
	s->rules = build_rules(conf);
	if (s->rules == NULL)
		return fail(why, size, "rules", errno);
	s->rule_decisions = decisions_new(rule_set_count(s->rules), conf->n_workers);
	if (s->rule_decisions == NULL)
		return fail(why, size, "rules", ENOMEM);
	return 0;
}

static void ike_build(struct snapshot *s, const struct conf *conf)
{
	for (unsigned int i = 0; i < conf->n_ike_via; i++) {
		const struct ip_addr *via = &conf->ike_via[i];

		s->ike_via[ip_addr_is_v4(via) ? SOURCE_V4 : SOURCE_V6] = (struct nexthop){
			.kind = NEXTHOP_GATEWAY,
			.port = (uint16_t)conf->ike_port[i],
			.gateway = *via,
			.source = route_find(s->routes, via)->source,
		};
	}
}

static uint32_t errors_in_clear(const struct conf *conf)
{
	static const enum icmp_kind kind[] = {
		[CONF_UNREACHABLE] = ICMP_KIND_UNREACHABLE,
		[CONF_TOO_BIG] = ICMP_KIND_TOO_BIG,
		[CONF_TIME_EXCEEDED] = ICMP_KIND_TIME_EXCEEDED,
		[CONF_PARAMETER_PROBLEM] = ICMP_KIND_PARAMETER_PROBLEM,
	};
	uint32_t kinds = 0;

	for (unsigned int i = 0; i < conf->n_errors_in_clear; i++)
		kinds |= UINT32_C(1) << kind[conf->errors_in_clear[i]];
	return kinds;
}

static const enum audit audit[] = {
	[CONF_AUDIT_NONE] = AUDIT_NONE,
	[CONF_AUDIT_ESP] = AUDIT_ESP,
	[CONF_AUDIT_POLICY] = AUDIT_POLICY,
};

struct snapshot *build_snapshot(const struct conf *conf, const struct build_port ports[],
	const struct snapshot *running, char *why, size_t size)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	unsigned int *sa_at = calloc(conf->n_sas + 1, sizeof(*sa_at));
	int rc;

	if (s != NULL)
		s->control = calloc(1, sizeof(*s->control));
	rc = s != NULL && s->control != NULL && sa_at != NULL ? 0
							      : fail(why, size, "snapshot", ENOMEM);
	if (rc == 0) {
		s->control->ledger = running != NULL ? sa_ledger_share(running->control->ledger)
						     : sa_ledger_new();
		if (s->control->ledger == NULL)
			rc = fail(why, size, "SAs", ENOMEM);
	}
	if (rc == 0) {
		s->generation = running != NULL ? running->generation + 1 : 1;
		s->errors_in_clear = errors_in_clear(conf);
		s->audit = audit[conf->audit];
		s->pmtu_min = conf->pmtu_learn ? (uint16_t)conf->pmtu_min : 0;
		ports_build(s, conf, ports);
		s->routes = build_routes(conf);
		if (s->routes == NULL)
			rc = fail(why, size, "routes", errno);
	}
	if (rc == 0)
		rc = sas_build(sa_at, s, conf, why, size);
	if (rc == 0)
		ike_build(s, conf);
	if (rc == 0)
		rc = policies_build(s, conf, sa_at, why, size);
	if (rc == 0)
		rc = rules_build(s, conf, why, size);
	if (rc == 0 && running != NULL && build_counts_prepare(s, running) < 0)
		rc = fail(why, size, "counters", ENOMEM);
	free(sa_at);
	if (rc == 0)
		return s;
	build_snapshot_free(s);
	return NULL;
}

// The SA of conf->sas[i], where at counts those before by direction: SA_IN, SA_OUT.
static struct sa *sa_at(
	const struct snapshot *s, const struct conf *conf, unsigned int i, unsigned int at[2])
{
	if (conf->sas[i].opt.direction == SA_OUT)
		return &s->sa_out[at[SA_OUT]++]->sa;
	return &s->sa_in[at[SA_IN]++]->sa;
}

// Adds SAs to the ledger, and makes new paths for those that are in use already.
static int sas_prepare(struct snapshot *s, const struct conf *conf)
{
	unsigned int at[2] = {0};

	for (unsigned int i = 0; i < conf->n_sas; i++) {
		const struct conf_sa *c = &conf->sas[i];
		struct sa *sa = sa_at(s, conf, i, at);

		if (sa_ledger_add(s->control->ledger, sa) < 0)
			return -ENOMEM;
		if (c->opt.direction == SA_IN || !sa->begun)
			continue;

		// The endpoint of a peer that is followed stays as it is.
		const struct sa_peer configured = sa_peer_configured(&c->opt);
		const struct sa_peer *peer = c->live.follow ? &sa_out_of(sa)->peer : &configured;
		const struct nexthop *nexthop = nexthop_to(s, &peer->addr);
		struct sa_path *path =
			sa_path_new(sa, peer, nexthop, mtu_of(s, nexthop, &c->opt.local));

		if (path == NULL)
			return -ENOMEM;
		s->control->path[at[SA_OUT] - 1] = path;
	}
	return 0;
}

int build_commit(struct snapshot *s, const struct conf *conf)
{
	unsigned int at[2] = {0};

	if (sas_prepare(s, conf) < 0)
		return -ENOMEM;
	for (unsigned int i = 0; i < conf->n_sas; i++) {
		struct sa *sa = sa_at(s, conf, i, at);

		sa_ledger_begin(sa);
		sa_change(sa, &conf->sas[i].live);
	}
	for (unsigned int i = 0; i < s->n_sa_out; i++)
		if (s->control->path[i] != NULL)
			s->control->path[i] = sa_out_path_set(s->sa_out[i], s->control->path[i]);
	sa_udp_index_fill(s->sa_out_by_udp, s->sa_out, s->n_sa_out);
	return 0;
}

void build_retire(struct snapshot *s, struct snapshot *old)
{
	build_counts_carry(s, old);
	for (unsigned int i = 0; i < s->n_sa_out; i++) {
		free(s->control->path[i]);
		s->control->path[i] = NULL;
	}
	build_snapshot_free(old);
}

static void control_free(struct snapshot_control *c, unsigned int n_sa_out)
{
	if (c == NULL)
		return;
	for (unsigned int i = 0; c->path != NULL && i < n_sa_out; i++)
		free(c->path[i]);
	sa_ledger_free(c->ledger);
	free(c->path);
	free(c->carry_room);
	free(c);
}

void build_snapshot_free(struct snapshot *s)
{
	if (s == NULL)
		return;
	spd_free(s->spd);
	sad_free(s->sad);
	for (unsigned int i = 0; i < s->n_sa_out; i++)
		sa_ledger_give(s->control->ledger, &s->sa_out[i]->sa);
	for (unsigned int i = 0; i < s->n_sa_in; i++)
		sa_ledger_give(s->control->ledger, &s->sa_in[i]->sa);
	control_free(s->control, s->n_sa_out);
	decisions_free(s->policy_decisions);
	decisions_free(s->rule_decisions);
	rule_set_free(s->rules);
	free(s->sa_out_by_spi);
	free(s->sa_out_by_udp);
	free(s->sa_out);
	free(s->dummies);
	free(s->sa_in);
	free(s->udp_ports);
	free(s->udp_ends);
	free(s->policy_source);
	route_table_free(s->routes);
	free(s);
}
