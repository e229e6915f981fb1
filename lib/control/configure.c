// SPDX-License-Identifier: BSD-3-Clause
#include "configure.h"

#include <errno.h>

#include "address.h"
#include "audit_log.h"
#include "build_flow.h"
#include "frozen.h"
#include "group.h"
#include "ike.h"
#include "ike_tables.h"
#include "ipv6.h"
#include "kernel_routes.h"
#include "log.h"
#include "path_mtu.h"
#include "peers.h"
#include "policy_find.h"
#include "tunnel.h"

struct snapshot *configure_build(
	const struct control *c, const struct conf *conf, char *why, size_t size)
{
	struct build_port ports[PORTS_MAX];
	struct snapshot *s;

	for (unsigned int i = 0; i < conf->n_ports; i++)
		ports[i] = c->ports[conf->ports[i].vlan != 0 ? conf->ports[i].parent : i];

	if (conf->n_nat > 0 && flow_table_translate(c->flows) < 0) {
		snprintf(why, size, "out of memory for nat");
		return NULL;
	}
	s = build_snapshot(conf, ports, c->snapshot, why, size);
	if (s == NULL || !ike_collides(c, s, why, size))
		return s;
	build_snapshot_free(s);
	return NULL;
}

// RFC 8200 5: every host may send IPv6 packets of that size. They take two ESP packets.
static void sizes_warn(const struct snapshot *s)
{
	for (unsigned int i = 0; i < spd_count(s->spd); i++) {
		const struct spd_policy *p = spd_at(s->spd, i);
		const struct ip_addr source = policy_source(s, p, IP_V6);
		bool v6 = spd_policy_has_family(p, IP_V6) && !ip_addr_is_none(&source);

		const struct sa_path *path = p->out != NULL ? sa_out_path(p->out) : NULL;

		if (path != NULL && path->nexthop != NULL && v6 && path->mtu < IPV6_MIN_MTU &&
			path->mtu != p->mtu)
			log_warn("policy \"%s\": inner MTU %u of SA \"%s\" is below IPv6's %u: "
				 "ESP packets are fragmented, raise mtu of port \"%s\"",
				p->name, path->mtu, p->out->sa.live.name, IPV6_MIN_MTU,
				s->iface[path->nexthop->iface].name);
	}
}

// Workers process several packets of an SA at once, and those of a peer do.
void configure_warn_sas(const struct conf *conf, unsigned int first)
{
	unsigned int usual = conf_replay_window(conf);

	for (unsigned int i = first; i < conf->n_sas; i++) {
		const struct conf_sa *sa = &conf->sas[i];

		if (sa->opt.replay_window > 0 && sa->opt.replay_window < usual &&
			conf->n_workers > 1)
			log_warn(
				"%s:%u: sa \"%s\": replay_window is %u, but packets may be late by "
				"%u where %u workers share an SA: set that or more",
				sa->where.file, sa->where.line, sa->live.name,
				sa->opt.replay_window, usual, conf->n_workers);
	}
}

void configure_warn(const struct conf *conf, const struct snapshot *s)
{
	sizes_warn(s);
	configure_warn_sas(conf, 0);
}

static int neighbours_set(struct control *c, const struct conf *conf)
{
	int rc = 0;

	for (unsigned int i = 0; i < conf->n_neighbours && rc == 0; i++) {
		const struct conf_neighbour *n = &conf->neighbours[i];

		rc = neigh_set_static(c->neigh, (uint16_t)n->port, &n->addr, &n->mac);
	}
	return rc;
}

// Addresses that are not set again are confirmed when they are used.
static void neighbours_unset(struct control *c, const struct conf *conf, uint64_t now_ms)
{
	for (unsigned int i = 0; i < conf->n_neighbours; i++)
		neigh_unset_static(c->neigh, (uint16_t)conf->neighbours[i].port,
			&conf->neighbours[i].addr, now_ms);
}

int configure_start(struct control *c, struct snapshot *s)
{
	struct tunnels tunnels;
	int rc;

	atomic_store_explicit(&c->snapshot, s, memory_order_release);
	kernel_routes_watch(c);
	rc = build_commit(s, c->conf);
	if (rc < 0) {
		log_error("out of memory for SAs: raise memory.size");
		return rc;
	}
	build_link(s, NULL);
	build_link_end(s);
	c->ike.redecide = c->routes_changed = false; // there are no flows
	c->redecide = (struct flow_regions){.any = false};
	configure_warn(c->conf, s);
	if (neighbours_set(c, c->conf) < 0) {
		log_error("out of memory for neighbours: raise memory.size");
		return -ENOMEM;
	}
	if (!tunnels_new(&tunnels, s)) {
		log_error("out of memory for the state of tunnels");
		return -ENOMEM;
	}
	tunnels_set(c, &tunnels, s, NULL);
	groups_sas_follow(c);
	return 0;
}

bool configure_prepare(struct control *c, const struct conf *conf, FILE *errors)
{
	const int rc = flow_table_prepare(c->flows, conf->flows_max);

	if (rc == -EBUSY)
		fprintf(errors,
			"flows.max: the table just grows to %u flows: try again in some "
			"seconds\n",
			c->conf->flows_max);
	else if (rc < 0)
		fprintf(errors, "flows.max: out of memory for %u flows\n", conf->flows_max);
	return rc == 0;
}

static void flows_resize(struct control *c, const struct conf *conf)
{
	flow_table_resize(c->flows, conf->flows_max);
	for (unsigned int i = 0; i < conf->n_workers; i++)
		worker_flow_slice_set(c->workers[i], flow_table_slice(c->flows));
}

// Applies the settings of objects that outlive a snapshot.
static void settings_apply(struct control *c, const struct conf *conf)
{
	const struct flow_config flows = build_flow_config(conf);
	unsigned int n_ports;

	flow_table_configure(c->flows, &flows);
	if (conf->flows_max != c->conf->flows_max)
		flows_resize(c, conf);
	neigh_reachable_set(c->neigh, conf->neighbour_reachable_s);
	conf_items(conf, CONF_PORT, &n_ports);
	neigh_ports_set(c->neigh, n_ports);
	for (unsigned int i = 0; i < conf->n_workers; i++)
		worker_limits_set(c->workers[i], conf->icmp_errors_per_second,
			conf->icmp_echoes_per_second, conf->host_packets_per_second);
}

// All flows are decided again if policies of IKE have changed, or groups.
static void decisions_end(struct control *c, struct snapshot *s)
{
	if (c->ike.redecide)
		s->carried = 0;
	c->ike.redecide = false;
}

// Flows that a change of routes concerns, also an earlier one, are decided again.
static void regions_end(struct control *c, struct snapshot *s)
{
	if (s->carried != 0) {
		s->carry->regions = c->redecide_soon;
		flow_regions_join(&s->carry->regions, &c->redecide);
	}
	c->redecide = (struct flow_regions){.any = false};
}

static void publish(struct control *c, struct conf *conf, struct snapshot *s,
	struct tunnels *tunnels, uint64_t now_ms)
{
	address_add(c, conf, s, c->snapshot);
	address_apply(c, s);
	c->retired = c->snapshot;
	tunnels_set(c, tunnels, s, c->retired);
	decisions_end(c, s); // if none holds, numbers of routes may be used again
	build_link(s, c->retired);
	frozen_renew(c);
	regions_end(c, s);
	atomic_store_explicit(&c->snapshot, s, memory_order_release);
	tunnels_keep_down(c, now_ms);
	c->retired_token = rte_rcu_qsbr_start(c->qsbr);
	settings_apply(c, conf);
	neighbours_unset(c, c->conf, now_ms);
	neighbours_set(c, conf); // conf_load() has counted them
	c->conf = conf;
	address_follow(c, c->retired);
	peers_follow(c, c->retired);
	path_mtus_apply(c);
	groups_sas_follow(c);
}

// Nothing fails after something was changed.
int configure_replace(struct control *c, struct conf *conf, struct snapshot *s, uint64_t now_ms)
{
	struct tunnels tunnels;
	int rc;

	if (!tunnels_new(&tunnels, s))
		return -ENOMEM;
	rc = build_commit(s, conf);
	if (rc < 0) {
		tunnels_free(&tunnels);
		c->routes_changed = true; // frees the nodes of the plan
		return rc;
	}
	frozen_renew(c); // with many SAs each part takes some time
	s->mss_clamped |= c->ike.mss_clamped;
	publish(c, conf, s, &tunnels, now_ms);
	return 0;
}

bool configure_grace_over(const struct control *c)
{
	return c->retired != NULL && rte_rcu_qsbr_check(c->qsbr, c->retired_token, false) == 1;
}

void configure_retire(struct control *c)
{
	audit_retire(c);
	build_link_end(c->snapshot);
	c->routes_changed = true; // SAs follow them
	build_retire(c->snapshot, c->retired);
	c->retired = NULL;
	c->oldest_generation = c->snapshot->generation;
}

void configure_stop(struct control *c)
{
	if (c->retired != NULL)
		build_retire(c->snapshot, c->retired);
	ike_stop(c);
	build_snapshot_free(c->snapshot);
	tunnels_free(&c->tunnels);
}
