// SPDX-License-Identifier: BSD-3-Clause
#include "build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_parts.h"
#include "icmp.h"
#include "ipv6.h"
#include "line_memory.h"
#include "nd.h"

static_assert(CONF_PORTS_MAX <= PORTS_MAX, "room for all");
static_assert(CONF_ADDRS_MAX + 1 + CONF_GUESTS_MAX <= PORT_ADDRS_MAX, "room for all");
static_assert(2 * CONF_TUNNEL_HOSTS_MAX <= HOSTS_MAX - PORTS_MAX, "numbers for the next ones, too");
static_assert(CONF_ADDRS_MAX + 1 <= TUNNEL_ADDRS_MAX, "room for all");
static_assert(CONF_WORKERS_MAX <= SA_WORKERS_MAX, "room for all");

int build_fail(char *why, size_t size, const char *part, int error)
{
	if (error == ENOMEM)
		snprintf(why, size, "out of memory for %s", part);
	else
		snprintf(why, size, "%s: %s", part, strerror(error));
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
// follows from its link address. v6: it has one although there is no other address of IPv6 yet.
static void link_local_build(struct snapshot_port *p, uint16_t number, bool v6)
{
	struct ip_addr link_local = nd_link_local(&p->mac);
	bool given = false;

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
		(struct nexthop){.kind = NEXTHOP_CONNECTED, .iface = number, .source = link_local};
	p->own_link_local =
		(struct nexthop){.kind = NEXTHOP_LOCAL, .iface = number, .source = link_local};
}

// Another port may have had the number of a host.
static uint32_t host_since(const struct snapshot *s, const struct snapshot *running, unsigned int i)
{
	if (running == NULL)
		return 0;
	return i < running->n_ports && running->port[i].name[0] != '\0' ? running->host_since[i]
									: s->generation;
}

static void ports_build(struct snapshot *s, const struct conf *conf,
	const struct build_port ports[], const struct snapshot *running)
{
	s->n_ports = (uint16_t)conf->n_ports;
	for (unsigned int i = 0; i < conf->n_ports; i++) {
		const struct conf_port *c = &conf->ports[i];
		struct snapshot_port *p = &s->port[i];

		if (!conf_port_is_free(c)) // else it takes no frames in flight
			p->mac = ports[i].mac;
		p->host = (struct nexthop){.kind = NEXTHOP_LOCAL, .iface = (uint16_t)IFACE_HOST(i)};
		for (unsigned int a = 0; a < c->n_addrs; a++) {
			addr_add(p, &c->addrs[a].addr, &p->mac);
			if (build_has_anycast(&c->addrs[a]))
				p->anycast[p->n_anycast++] = c->addrs[a].net.addr;
		}
		memcpy(p->name, c->name, sizeof(c->name));
		// The host needs one to ask for others (RFC 4861 6.3.7, RFC 8415 13.1).
		link_local_build(p, (uint16_t)i, c->follows_host && c->mtu >= IPV6_MIN_MTU);
		for (unsigned int a = 0; a < c->guests.n; a++)
			addr_add(p, &c->guests.addr[a], &c->guests.mac[a]);
		s->iface[i] = (struct iface){.name = p->name,
			.addrs = p->addrs,
			.on_link = &p->on_link,
			.own_link_local = &p->own_link_local,
			.host = &p->host,
			.n_addrs = p->n_addrs,
			.mtu = c->mtu,
			.port = (uint16_t)i,
			.unprotected = c->unprotected,
			.follows_host = c->follows_host};
		s->iface[IFACE_HOST(i)] = s->iface[i];
		s->iface[IFACE_HOST(i)].is_host = true;
		s->host_since[i] = host_since(s, running, i);
	}
}

// The interface identifier of the tunnel's link-local address, which has to differ from that at the
// other end: the one of the address if both ends are in its network of 64 bits. In longer networks
// ends may have the same one, or 0, so that the rest of the address counts as well.
static uint64_t identifier_of(const struct conf_iface_addr *c)
{
	return c->net.len <= 64 ? c->addr.q[1] : c->addr.q[0] ^ c->addr.q[1];
}

// As of a port. A tunnel has no link address: its link-local address follows from its first IPv6
// address.
static uint16_t tunnel_addrs_build(struct snapshot_tunnel *t, const struct conf_tunnel *c)
{
	const struct conf_iface_addr *v6 = NULL;
	bool given = false;
	uint16_t n = 0;

	for (unsigned int i = c->n_addrs; i-- > 0;)
		if (!ip_addr_is_v4(&c->addrs[i].addr))
			v6 = &c->addrs[i];
	for (; n < c->n_addrs; n++) {
		t->addrs[n] = c->addrs[n].addr;
		if (!given && ip_addr_is_link_local(&t->addrs[n])) {
			given = true;
			v6 = &c->addrs[n];
		}
	}
	if (v6 == NULL)
		return n;
	t->own_link_local.source = v6->addr;
	if (given)
		return n;
	t->own_link_local.source.q[0] = RTE_BE64(UINT64_C(0xfe80) << 48);
	t->own_link_local.source.q[1] = identifier_of(v6);
	t->addrs[n] = t->own_link_local.source;
	return n + 1;
}

// A number that no host has in either. There are twice as many as hosts of tunnels.
static uint16_t free_host(const struct snapshot *s, const struct snapshot *running)
{
	uint16_t n = IFACE_HOST(PORTS_MAX);

	while (s->iface[n].only != NULL || (running != NULL && running->iface[n].only != NULL))
		n++;
	return n;
}

static void tunnel_host_build(struct snapshot *s, const struct snapshot *running,
	struct iface *tunnel, struct snapshot_tunnel *t)
{
	const struct nexthop *had = running != NULL ? running->iface[t->into.iface].host : NULL;
	const uint16_t n = had != NULL ? had->iface : free_host(s, running);

	s->host_since[n - IFACE_HOST(0)] =
		had != NULL ? running->host_since[n - IFACE_HOST(0)] : s->generation;
	t->host = (struct nexthop){.kind = NEXTHOP_LOCAL, .iface = n};
	tunnel->host = &t->host;
	s->iface[n] = *tunnel;
	s->iface[n].is_host = true;
	s->iface[n].only = &t->into;
}

// The port in front of the SAs of a tunnel; of IKE, that may be any unprotected one.
static uint16_t port_of(
	const struct snapshot *s, const struct conf *conf, const struct conf_tunnel *tunnel)
{
	uint16_t i = 0;

	if (tunnel->n_sa_in > 0)
		return build_port_of(s, &conf->sas[tunnel->sa_in[0]].opt.local);
	while (i + 1 < s->n_ports && (!s->iface[i].unprotected || s->iface[i].n_addrs == 0))
		i++;
	return i;
}

// After the policies, which have the names of tunnels.
static void tunnels_build(
	struct snapshot *s, const struct conf *conf, const struct snapshot *running)
{
	for (unsigned int i = 0; i < conf->n_tunnels; i++) {
		const struct spd_policy *p = spd_at(s->spd, conf->n_policies + i);
		struct snapshot_tunnel *t = &s->tunnel[i];

		t->into = (struct nexthop){.kind = NEXTHOP_TUNNEL, .iface = p->iface};
		t->own_link_local = (struct nexthop){.kind = NEXTHOP_LOCAL, .iface = p->iface};
		s->iface[p->iface] = (struct iface){.name = p->name,
			.addrs = t->addrs,
			.on_link = &t->into,
			.own_link_local = &t->own_link_local,
			.n_addrs = tunnel_addrs_build(t, &conf->tunnels[i]),
			.port = port_of(s, conf, &conf->tunnels[i]),
			.tunnel = p};
		if (conf->tunnels[i].host != NULL)
			tunnel_host_build(s, running, &s->iface[p->iface], t);
	}
}

static void ike_build(struct snapshot *s, const struct conf *conf)
{
	for (unsigned int i = 0; i < conf->n_ike_via; i++) {
		const struct ip_addr *via = &conf->ike_via[i];

		s->ike_via[ip_addr_is_v4(via) ? SOURCE_V4 : SOURCE_V6] = (struct nexthop){
			.kind = NEXTHOP_GATEWAY,
			.iface = (uint16_t)conf->ike_port[i],
			.gateway = *via,
			.source = build_source_towards(&conf->ports[conf->ike_port[i]], via),
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

static void settings_build(struct snapshot *s, const struct conf *conf)
{
	static const enum audit audit[] = {
		[CONF_AUDIT_NONE] = AUDIT_NONE,
		[CONF_AUDIT_ESP] = AUDIT_ESP,
		[CONF_AUDIT_POLICY] = AUDIT_POLICY,
	};

	s->errors_in_clear = errors_in_clear(conf);
	s->audit = audit[conf->audit];
	s->pmtu_min = conf->pmtu_learn ? (uint16_t)conf->pmtu_min : 0;
	s->ike_before = conf->ike_before;
	for (unsigned int i = 0; i < conf->n_policies; i++)
		s->mss_clamped |= conf->policies[i].mss_clamp != 0;
	for (unsigned int i = 0; i < conf->n_tunnels; i++)
		s->mss_clamped |= conf->tunnels[i].mss_clamp != 0;
}

static struct snapshot *snapshot_new(const struct conf *conf)
{
	struct snapshot *s = line_calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->control = calloc(1, sizeof(*s->control));
	s->port = line_calloc(PORTS_MAX, sizeof(s->port[0]));
	s->iface = line_calloc(IFACES, sizeof(s->iface[0]));
	s->tunnel = calloc(conf->n_tunnels + 1, sizeof(s->tunnel[0]));
	s->ike_via = calloc(SOURCES, sizeof(s->ike_via[0]));
	if (s->control != NULL && s->port != NULL && s->iface != NULL && s->tunnel != NULL &&
		s->ike_via != NULL)
		return s;
	build_snapshot_free(s);
	return NULL;
}

struct snapshot *build_snapshot(const struct conf *conf, const struct build_port ports[],
	const struct snapshot *running, char *why, size_t size)
{
	struct snapshot *s = snapshot_new(conf);
	int rc = s != NULL ? 0 : build_fail(why, size, "snapshot", ENOMEM);

	if (rc == 0) {
		s->objects = running != NULL ? objects_share(running->objects)
					     : objects_new(conf->n_workers);
		if (s->objects == NULL)
			rc = build_fail(why, size, "SAs", errno);
	}
	if (rc == 0) {
		s->generation = running != NULL ? snapshot_generation_next(running->generation) : 1;
		s->flow_generation = s->generation;
		settings_build(s, conf);
		ports_build(s, conf, ports, running);
		s->routes = s->objects->routes;
		rc = build_sas(s, conf, why, size);
	}
	if (rc == 0) {
		ike_build(s, conf);
		s->spd = build_policies(s, conf, running);
		if (s->spd == NULL)
			rc = build_fail(why, size, "policies", errno);
	}
	if (rc == 0) {
		tunnels_build(s, conf, running);
		if (!build_routes(s, conf))
			rc = build_fail(why, size, "routes", ENOMEM);
	}
	if (rc == 0) {
		s->rules = build_rules(conf, s->spd, running != NULL ? running->rules : NULL);
		if (s->rules == NULL)
			rc = build_fail(why, size, "rules", errno);
	}
	if (rc == 0 && conf->n_nat > 0) {
		s->nat = build_nat(conf, s->spd, running != NULL ? running->nat : NULL);
		if (s->nat == NULL)
			rc = build_fail(why, size, "nat", errno);
	}
	if (rc == 0) {
		build_carry(s, running);
		return s;
	}
	build_snapshot_free(s);
	return NULL;
}

uint16_t build_port_of(const struct snapshot *s, const struct ip_addr *addr)
{
	return (uint16_t)RTE_MIN(snapshot_port_of(s, addr), s->n_ports - 1);
}

void build_link(const struct snapshot *s, const struct snapshot *old)
{
	for (unsigned int i = 0; i < spd_count(s->spd); i++)
		objects_policy_set(s->objects, spd_at(s->spd, i)->number, spd_at(s->spd, i));
	build_routes_skip(s);
	route_plan_begin(s->routes);
	if (s->carried == 0)
		route_table_forget(s->routes);
	s->control->routes_replaced = route_table_removed(s->routes);
	if (old != NULL)
		build_sas_unlink(old);
}

void build_link_end(const struct snapshot *s)
{
	route_plan_end(s->routes);
}

static void nat_numbers_free(
	struct objects *o, const struct nat_set *rules, const struct nat_set *old)
{
	for (unsigned int i = 0; i < nat_set_count(old); i++)
		if (nat_set_numbered(rules, nat_set_at(old, i)->number) == NULL)
			decisions_reset(o->decisions[DECIDER_NAT], nat_set_at(old, i)->number);
}

// The policies and rules that the new snapshot lacks: their numbers are free.
static void numbers_free(struct objects *o, const struct snapshot *s, const struct snapshot *old)
{
	bool rule_is_used[RULE_NUMBERS] = {false};

	for (unsigned int i = 0; i < spd_count(old->spd); i++) {
		const struct spd_policy *p = spd_at(old->spd, i);

		if (o->policy[p->number] == p)
			objects_policy_set(o, p->number, NULL);
	}
	for (unsigned int i = 0; i < rule_set_count(s->rules); i++)
		rule_is_used[rule_set_at(s->rules, i)->number] = true;
	for (unsigned int i = 0; i < rule_set_count(old->rules); i++)
		if (!rule_is_used[rule_set_at(old->rules, i)->number])
			decisions_reset(
				o->decisions[DECIDER_RULE], rule_set_at(old->rules, i)->number);
	nat_numbers_free(o, s->nat, old->nat);
}

static void replaced_free(struct snapshot_control *c, struct route_table *routes)
{
	route_table_release(routes, c->routes_replaced);
	c->routes_replaced = (struct route_removed){0};
	for (unsigned int i = 0; i < c->n_replaced; i++)
		line_free(c->replaced[i]);
	free(c->replaced);
	c->replaced = NULL;
	c->n_replaced = 0;
}

void build_retire(struct snapshot *s, struct snapshot *old)
{
	numbers_free(s->objects, s, old);
	replaced_free(s->control, s->routes);
	build_snapshot_free(old);
}

static void control_free(struct snapshot_control *c, struct objects *o)
{
	if (c == NULL)
		return;
	for (unsigned int i = 0; i < c->n_sa; i++)
		sa_ledger_release(o->ledger, c->sa[i]);
	if (o != NULL)
		replaced_free(c, o->routes);
	free(c->routes);
	free(c->sa);
	free(c);
}

void build_snapshot_free(struct snapshot *s)
{
	if (s == NULL)
		return;
	spd_free(s->spd);
	control_free(s->control, s->objects);
	objects_free(s->objects);
	rule_set_free(s->rules);
	nat_set_free(s->nat);
	free(s->carry);
	free(s->dummies);
	free(s->udp_ports);
	free(s->udp_ends);
	line_free(s->port);
	line_free(s->iface);
	free(s->tunnel);
	free(s->ike_via);
	line_free(s);
}
