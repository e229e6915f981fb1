// SPDX-License-Identifier: BSD-3-Clause
#include "build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "build_counts.h"
#include "build_policy.h"
#include "build_route.h"
#include "build_rule.h"
#include "icmp.h"
#include "line_memory.h"
#include "nd.h"

static_assert(CONF_PORTS_MAX <= PORTS_MAX, "room for all");
static_assert(CONF_ADDRS_MAX + 1 + CONF_GUESTS_MAX <= PORT_ADDRS_MAX, "room for all");
static_assert(CONF_WORKERS_MAX <= SA_WORKERS_MAX, "room for all");
static_assert(CONF_POLICY_IN_MAX <= SPD_IN_MAX, "room for all");

#define IKE_NAT_PORT 4500

static int fail(char *why, size_t size, const char *what, int error)
{
	if (error == ENOMEM)
		snprintf(why, size, "out of memory for %s", what);
	else
		snprintf(why, size, "%s: %s", what, strerror(error));
	return -error;
}

static void addr_add(
	struct snapshot_port *p, const struct ip_addr *addr, const struct rte_ether_addr *mac)
{
	bool own = !rte_is_zero_ether_addr(mac) && !rte_is_same_ether_addr(mac, &p->mac);

	p->addrs[p->n_addrs] = *addr;
	p->macs[p->n_addrs++] = own ? *mac : p->mac;
	p->has_macs |= own;
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
		addr_add(p, &link_local, &p->mac);
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
		for (unsigned int a = 0; a < c->n_addrs; a++) {
			addr_add(p, &c->addrs[a].addr, &p->mac);
			if (build_has_anycast(&c->addrs[a]))
				p->anycast[p->n_anycast++] = c->addrs[a].net.addr;
		}
		memcpy(p->name, c->name, sizeof(c->name));
		link_local_build(p, (uint16_t)i);
		for (unsigned int a = 0; a < c->guests.n; a++)
			addr_add(p, &c->guests.addr[a], &c->guests.mac[a]);
		p->host = (struct nexthop){.kind = NEXTHOP_HOST, .port = (uint16_t)i};
	}
}

// NULL: the endpoint of the peer is not known, or there is no route to it any more.
static const struct nexthop *nexthop_to(
	const struct snapshot *s, const struct ip_addr *local, const struct ip_addr *peer)
{
	const struct nexthop *nh =
		ip_addr_is_none(peer) ? NULL : route_find_from(s->routes, local, peer);

	return nh != NULL && nh->kind <= NEXTHOP_GATEWAY ? nh : NULL;
}

// Of the link to the next hop, or without one of the link that the SA's own address is on.
static uint16_t mtu_of(
	const struct snapshot *s, const struct nexthop *nexthop, const struct ip_addr *local)
{
	return s->port[nexthop != NULL ? nexthop->port : route_find(s->routes, local)->port].mtu;
}

struct sa *build_sa(const struct snapshot *s, const struct conf *conf, const struct conf_sa *c)
{
	struct sa_params p = {
		.opt = c->opt,
		.live = c->live,
		.cipher_key = c->cipher_key,
		.auth_key = c->auth_key,
		.engine = conf->engine,
		.n_workers = conf->n_workers,
	};

	if (c->opt.direction == SA_OUT) {
		p.nexthop = nexthop_to(s, &p.opt.local, &p.opt.remote);
		p.mtu = mtu_of(s, p.nexthop, &p.opt.local);
		if (getrandom(&p.iv_mask, sizeof(p.iv_mask), 0) < 0)
			return NULL;
	}
	return sa_ledger_take(s->control->ledger, &p);
}

static void sa_add(struct snapshot *s, struct sa *sa)
{
	s->control->n_configured[sa->opt.direction]++;
	if (sa->opt.direction == SA_IN) {
		s->sa_in[s->n_sa_in++] = sa_in_of(sa);
		sad_add(s->sad_in, sa);
		return;
	}
	s->sa_out[s->n_sa_out++] = sa_out_of(sa);
	sad_add(s->sad_out, sa);
	if (sa->opt.tfc_dummies > 0)
		s->dummies[s->n_dummies++] = sa_out_of(sa);
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
			rc == 0 && s->port[i].unprotected && a < s->port[i].n_addrs; a++)
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

static unsigned int n_of_ike(const struct snapshot *s, enum sa_direction direction)
{
	if (s == NULL)
		return 0;
	return (direction == SA_OUT ? s->n_sa_out : s->n_sa_in) -
	       s->control->n_configured[direction];
}

static void ike_sas_add(struct snapshot *s, const struct snapshot *running)
{
	unsigned int n_in = n_of_ike(running, SA_IN), n_out = n_of_ike(running, SA_OUT);

	for (unsigned int i = 0; i < n_in; i++)
		s->sa_in[s->n_sa_in++] = running->sa_in[running->n_sa_in - n_in + i];
	for (unsigned int i = 0; i < n_out; i++)
		s->sa_out[s->n_sa_out++] = running->sa_out[running->n_sa_out - n_out + i];
}

// Makes the SAs; at[i] is the place in s->sa_in or s->sa_out that conf->sas[i] got.
static int sas_build(unsigned int at[], struct snapshot *s, const struct conf *conf,
	const struct snapshot *running, char *why, size_t size)
{
	unsigned int n_in = conf->n_sas + n_of_ike(running, SA_IN);
	unsigned int n_out = conf->n_sas + n_of_ike(running, SA_OUT);

	s->sa_in = calloc(SNAPSHOT_LIST_ROOM(n_in), sizeof(s->sa_in[0]));
	s->sa_out = calloc(SNAPSHOT_LIST_ROOM(n_out), sizeof(s->sa_out[0]));
	s->control->path = calloc(n_out + 1, sizeof(s->control->path[0]));
	s->control->n_paths = s->control->path != NULL ? n_out : 0;
	s->dummies = calloc(conf->n_sas + 1, sizeof(s->dummies[0]));
	s->sad_in = sad_new(conf->n_sas);
	s->sad_out = sad_new(conf->n_sas);
	if (s->sa_in == NULL || s->sa_out == NULL || s->control->path == NULL ||
		s->dummies == NULL || s->sad_in == NULL || s->sad_out == NULL)
		return fail(why, size, "SAs", ENOMEM);
	for (unsigned int i = 0; i < conf->n_sas; i++) {
		const struct conf_sa *c = &conf->sas[i];
		struct sa *sa = build_sa(s, conf, c);

		if (sa == NULL)
			return fail(why, size, c->live.name, errno);
		at[i] = c->opt.direction == SA_OUT ? s->n_sa_out : s->n_sa_in;
		sa_add(s, sa);
	}
	ike_sas_add(s, running);
	s->sa_out_by_udp = sa_udp_index_new(s->n_sa_out);
	if (s->sa_out_by_udp == NULL || udp_build(s, conf) < 0)
		return fail(why, size, "SAs", ENOMEM);
	return 0;
}

static void policy_sas_set(struct spd_policy *p, const struct snapshot *s,
	const struct conf_policy *c, const unsigned int sa_at[])
{
	if (p->action != SPD_PROTECT)
		return;
	p->out = s->sa_out[sa_at[c->sa_out]];
	p->n_in = c->n_sa_in;
	for (unsigned int i = 0; i < c->n_sa_in; i++)
		p->in[i] = s->sa_in[sa_at[c->sa_in[i]]];
	p->peer = p->in[0]->sa.opt.remote;
}

static int policies_build(struct snapshot *s, const struct conf *conf, const unsigned int sa_at[],
	char *why, size_t size)
{
	struct spd_policy *policies = calloc(conf->n_policies + 1, sizeof(*policies));

	if (policies == NULL || !policy_set_init(&s->policies, conf->n_policies, conf->n_workers)) {
		free(policies);
		return fail(why, size, "policies", ENOMEM);
	}
	for (unsigned int i = 0; i < conf->n_policies; i++) {
		policies[i] = build_policy(&conf->policies[i]);
		policy_sas_set(&policies[i], s, &conf->policies[i], sa_at);
		s->policies.out[i] = policies[i].out;
		s->mss_clamped |= policies[i].mss_clamp != 0;
	}
	s->spd = spd_new(policies, conf->n_policies);
	free(policies);
	if (s->spd == NULL)
		return fail(why, size, "policies", errno);
	s->ike_before = conf->ike_before;
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

static struct snapshot *snapshot_new(void)
{
	struct snapshot *s = line_calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->control = calloc(1, sizeof(*s->control));
	s->port = line_calloc(PORTS_MAX, sizeof(s->port[0]));
	s->ike_via = calloc(SOURCES, sizeof(s->ike_via[0]));
	if (s->control != NULL && s->port != NULL && s->ike_via != NULL)
		return s;
	build_snapshot_free(s);
	return NULL;
}

struct snapshot *build_snapshot(const struct conf *conf, const struct build_port ports[],
	const struct snapshot *running, char *why, size_t size)
{
	struct snapshot *s = snapshot_new();
	unsigned int *sa_at = calloc(conf->n_sas + 1, sizeof(*sa_at));
	int rc = s != NULL && sa_at != NULL ? 0 : fail(why, size, "snapshot", ENOMEM);

	if (rc == 0) {
		s->control->ledger = running != NULL ? sa_ledger_share(running->control->ledger)
						     : sa_ledger_new();
		s->ike = running != NULL ? ike_objects_share(running->ike)
					 : ike_objects_new(conf->n_workers);
		if (s->control->ledger == NULL || s->ike == NULL)
			rc = fail(why, size, "SAs", ENOMEM);
	}
	if (rc == 0) {
		s->generation = running != NULL ? snapshot_generation_next(running->generation) : 1;
		s->flow_generation = s->generation;
		s->errors_in_clear = errors_in_clear(conf);
		s->audit = audit[conf->audit];
		s->pmtu_min = conf->pmtu_learn ? (uint16_t)conf->pmtu_min : 0;
		ports_build(s, conf, ports);
		s->routes = build_routes(conf);
		if (s->routes == NULL)
			rc = fail(why, size, "routes", errno);
	}
	if (rc == 0)
		rc = sas_build(sa_at, s, conf, running, why, size);
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

// Without a route to the peer the path keeps its MTU: the next hop says which link it is.
static int ike_paths_prepare(struct snapshot *s)
{
	for (unsigned int i = s->control->n_configured[SA_OUT]; i < s->n_sa_out; i++) {
		const struct sa_out *sa = s->sa_out[i];
		const struct nexthop *nexthop = nexthop_to(s, &sa->sa.opt.local, &sa->peer.addr);
		uint16_t mtu =
			nexthop != NULL ? s->port[nexthop->port].mtu : sa_out_path(sa)->link_mtu;

		s->control->path[i] = sa_path_new(&sa->sa, &sa->peer, nexthop, mtu);
		if (s->control->path[i] == NULL)
			return -ENOMEM;
	}
	return 0;
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
		const struct nexthop *nexthop = nexthop_to(s, &c->opt.local, &peer->addr);
		struct sa_path *path =
			sa_path_new(sa, peer, nexthop, mtu_of(s, nexthop, &c->opt.local));

		if (path == NULL)
			return -ENOMEM;
		s->control->path[at[SA_OUT] - 1] = path;
	}
	return ike_paths_prepare(s);
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

static void paths_free(struct snapshot_control *c)
{
	for (unsigned int i = 0; i < c->n_paths; i++) {
		line_free(c->path[i]);
		c->path[i] = NULL;
	}
}

void build_retire(struct snapshot *s, struct snapshot *old)
{
	build_counts_carry(s, old);
	paths_free(s->control);
	build_snapshot_free(old);
}

static void control_free(struct snapshot_control *c)
{
	if (c == NULL)
		return;
	paths_free(c);
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
	sad_free(s->sad_in);
	sad_free(s->sad_out);
	for (unsigned int i = 0; s->control != NULL && i < s->control->n_configured[SA_OUT]; i++)
		sa_ledger_give(s->control->ledger, &s->sa_out[i]->sa);
	for (unsigned int i = 0; s->control != NULL && i < s->control->n_configured[SA_IN]; i++)
		sa_ledger_give(s->control->ledger, &s->sa_in[i]->sa);
	control_free(s->control);
	policy_set_fini(&s->policies);
	ike_objects_free(s->ike);
	decisions_free(s->rule_decisions);
	rule_set_free(s->rules);
	line_free(s->sa_out_by_udp);
	free(s->sa_out);
	free(s->dummies);
	free(s->sa_in);
	free(s->udp_ports);
	free(s->udp_ends);
	route_table_free(s->routes);
	line_free(s->port);
	free(s->ike_via);
	line_free(s);
}
