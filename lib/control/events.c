// SPDX-License-Identifier: BSD-3-Clause
#include "events.h"

#include <stdio.h>

#include "address.h"
#include "audit_log.h"
#include "event_log.h"
#include "expiry.h"
#include "fleet.h"
#include "flow_share.h"
#include "ike.h"
#include "ike_tables.h"
#include "sa_table.h"
#include "links.h"
#include "kernel_routes.h"
#include "log.h"
#include "originate.h"
#include "path_mtu.h"
#include "peers.h"
#include "ping.h"
#include "retire.h"
#include "role.h"
#include "tunnel.h"

#define EVENTS_AT_ONCE 256 // of one worker, before the next worker's
#define RULE_LINES     20  // in a second

// At most one line a second: every frame can show a conflict.
static void warn_conflict(struct control *c, const struct event *e, uint64_t now_ms)
{
	char addr[IP_ADDR_STRLEN], mac[RTE_ETHER_ADDR_FMT_SIZE];

	if (rte_is_same_ether_addr(&e->mac, &c->ports[e->port].mac))
		return;
	if (!fleet_yields(c, &e->addr, now_ms))
		role_defend(c, &e->addr, now_ms);
	if (now_ms < c->conflict_next_ms)
		return;
	c->conflict_next_ms = now_ms + 1000;
	rte_ether_format_addr(mac, sizeof(mac), &e->mac);
	event_post(ADDRESS_CONFLICT, EVENT_TEXT(c->conf->ports[e->port].name),
		EVENT_TEXT(ip_addr_format(addr, &e->addr)), EVENT_TEXT(mac));
}

// Only neighbours on a network of the port, link-local ones, and next hops of routes are learnt;
// never the broadcast or network address of a network.
static bool is_on_link(const struct control *c, const struct event *e)
{
	const struct nexthop *to = route_find(c->snapshot->routes, &e->addr);
	const struct conf_port *p = &c->conf->ports[e->port];

	if (to != NULL && to->kind == NEXTHOP_NOT_UNICAST && !ip_addr_is_link_local(&e->addr))
		return false;

	for (unsigned int i = 0; i < p->n_addrs; i++)
		if (ip_addr_family(&p->addrs[i].addr) == ip_addr_family(&e->addr) &&
			(ip_prefix_contains(&p->addrs[i].net, &e->addr) ||
				ip_addr_is_link_local(&e->addr)))
			return true;
	return neigh_has(c->neigh, e->port, &e->addr);
}

// An end of a packet: with its port, or without one for ICMP.
static const char *end_format(char buf[ENDPOINT_STRLEN], const struct event *e,
	const struct ip_addr *addr, rte_be16_t port)
{
	return e->has_icmp_type ? ip_addr_format(buf, addr) : endpoint_format(buf, addr, port);
}

// False: RULE_LINES have been written in this second.
static bool may_log_rule(struct control *c, uint64_t now_ms)
{
	if (now_ms / 1000 != c->rule_second) {
		if (c->rule_lines > RULE_LINES)
			log_info("%u lines about rules suppressed", c->rule_lines - RULE_LINES);
		c->rule_second = now_ms / 1000;
		c->rule_lines = 0;
	}
	return ++c->rule_lines <= RULE_LINES;
}

static void log_rule(struct control *c, const struct event *e, uint64_t now_ms)
{
	static const char *const verb[] = {
		[RULE_ACCEPT] = "accepts", [RULE_DROP] = "drops", [RULE_REJECT] = "rejects"};
	const struct snapshot *s = c->snapshot;
	char from[ENDPOINT_STRLEN], to[ENDPOINT_STRLEN], type[16] = "";
	char proto[PROTO_TEXT_MAX];
	const struct rule *rule;

	if (e->generation != s->flow_generation || !may_log_rule(c, now_ms))
		return;
	rule = rule_set_at(s->rules, e->rule);
	if (e->has_icmp_type)
		snprintf(type, sizeof(type), " type %u", e->icmp_type);
	log_info("rule \"%s\" %s: port \"%s\", protocol %s%s, %s to %s", rule->name,
		verb[rule->action], s->port[e->port].name, proto_format(proto, e->proto), type,
		end_format(from, e, &e->addr, e->addr_port),
		end_format(to, e, &e->peer, e->peer_port));
}

static void nat_exhausted(const struct control *c, const struct event *e)
{
	const struct nat_rule *rule = nat_set_numbered(c->snapshot->nat, (uint16_t)e->rule);
	char source[IP_ADDR_STRLEN], destination[IP_ADDR_STRLEN];

	if (rule != NULL)
		event_post(NAT_PORTS, EVENT_TEXT(rule->name),
			EVENT_TEXT(ip_addr_format(source, &e->addr)),
			EVENT_TEXT(ip_addr_format(destination, &e->peer)), EVENT_NUMBER(e->proto),
			EVENT_NUMBER(rte_be_to_cpu_16(e->peer_port)));
}

// RFC 4861 7.2.5
static void neighbour_advertised(struct control *c, const struct event *e, uint64_t now_ms)
{
	const struct neigh_advert advert = {.mac = e->has_mac ? &e->mac : NULL,
		.solicited = e->solicited,
		.override = e->override};

	neigh_advertised(c->neigh, e->port, &e->addr, advert, now_ms);
}

// RFC 4862 5.4.3, 5.4.4
static void duplicate_found(struct control *c, const struct event *e, uint64_t now_ms)
{
	if (dad_state(c->dad, e->port, &e->addr) == DAD_ASSIGNED)
		warn_conflict(c, e, now_ms);
	else
		dad_claimed(c->dad, e->port, &e->addr, now_ms);
}

void event_handle(struct control *c, const struct event *e, uint64_t now_ms)
{
	switch ((enum event_kind)e->kind) {
	case EVENT_NEIGH_NEEDED:
		return neigh_resolve(c->neigh, e->port, &e->addr, e->holder, now_ms);
	case EVENT_NEIGH_HEARD:
		if (is_on_link(c, e))
			neigh_learn(c->neigh, e->port, &e->addr, &e->mac, e->for_us, now_ms);
		return;
	case EVENT_ADDR_CONFLICT:
		return warn_conflict(c, e, now_ms);
	case EVENT_ND_SOLICITED: // RFC 4861 7.2.3, 6.2.6
		if (is_on_link(c, e))
			neigh_solicited(c->neigh, e->port, &e->addr, &e->mac, e->for_us, now_ms);
		return;
	case EVENT_ND_ADVERTISED:
		if (is_on_link(c, e))
			neighbour_advertised(c, e, now_ms);
		return;
	case EVENT_DAD_HEARD:
		return duplicate_found(c, e, now_ms);
	case EVENT_MLD_QUERY:
		return address_query(c, e, now_ms);
	case EVENT_PMTU:
		ping_refused(c, e);
		return path_mtu_learn(c, e, now_ms);
	case EVENT_PING:
		return ping_answered(c, e);
	case EVENT_PEER_ENDPOINT:
		return peer_moved(c, e, now_ms);
	case EVENT_RULE:
		return log_rule(c, e, now_ms);
	case EVENT_AUDIT:
		return audit_event(c, e, now_ms);
	case EVENT_SA_NEEDED:
		return ike_acquire(c, e, now_ms);
	case EVENT_NAT_EXHAUSTED:
		return nat_exhausted(c, e);
	}
}

void events_start(struct control *c)
{
	for (unsigned int p = 0; p < c->conf->n_ports; p++)
		originate_announcements(c, (uint16_t)p);
}

bool events_drain(struct control *c, uint64_t now_ms)
{
	struct event e;
	bool any = false;

	for (unsigned int i = 0; i < c->conf->n_workers; i++)
		for (unsigned int n = 0;
			n < EVENTS_AT_ONCE && worker_event_dequeue(c->workers[i], &e); n++) {
			event_handle(c, &e, now_ms);
			any = true;
		}
	return any;
}

void events_tick(struct control *c, uint64_t now_ms)
{
	links_tick(c, now_ms);
	kernel_routes_end(c); // SAs that have another link to the peer are not down
	neigh_tick(c->neigh, now_ms);
	listener_tick(c->listener, now_ms); // before solicitations, which are answered to groups
	dad_tick(c->dad, now_ms);
	roles_tick(c, now_ms);
	expiry_tick(c, now_ms);
	tunnels_tick(c, now_ms);
	path_mtu_tick(c, now_ms);
	pings_tick(c, now_ms);
	audit_tick(c, now_ms);
	kernel_routes_end(c);
	peers_tick(c, now_ms);
	retire_tick(c);
	flow_shares_tick(c->flows, now_ms);
	objects_commit(c);
}
