// SPDX-License-Identifier: BSD-3-Clause
#include "configure.h"

#include <errno.h>

#include "address.h"
#include "audit_log.h"
#include "build_flow.h"
#include "gateway.h"
#include "ipv6.h"
#include "log.h"
#include "path_mtu.h"
#include "peer.h"
#include "stack_wipe.h"
#include "tunnel.h"

// RFC 8200 5: whoever sends IPv6 may send that much. It gets through in two ESP packets.
static void warn_small_tunnels(const struct snapshot *s)
{
	for (unsigned int i = 0; i < spd_count(s->spd); i++) {
		const struct spd_policy *p = spd_at(s->spd, i);
		bool v6 = p->family != IP_V4 && acl_prefix_speaks(&p->local, IP_V6) &&
			  acl_prefix_speaks(&p->remote, IP_V6) &&
			  !ip_addr_is_none(&s->policy_source[i][SOURCE_V6]);

		const struct sa_path *path = p->out != NULL ? sa_out_path(p->out) : NULL;

		if (path != NULL && path->nexthop != NULL && v6 && path->mtu < IPV6_MIN_MTU)
			log_warn("policy \"%s\": inner MTU %u of SA \"%s\" is below IPv6's %u: "
				 "ESP packets are fragmented, raise mtu of port \"%s\"",
				p->name, path->mtu, p->out->sa.name, IPV6_MIN_MTU,
				s->port[path->nexthop->port].name);
	}
}

static void warn_unkept(const struct gateway *g, const struct snapshot *s)
{
	for (unsigned int i = 0; g->reserve == NULL && i < s->n_sa_out; i++)
		if (cipher_alg_counts(s->sa_out[i]->sa.cipher)) {
			log_warn("state_dir is \"none\": every start begins with sequence number 1 "
				 "and repeats nonces; never start twice with the same keys");
			return;
		}
}

static struct snapshot *build(
	const struct gateway *g, const struct conf *conf, char *why, size_t size)
{
	struct build_port ports[PORTS_MAX];

	for (unsigned int i = 0; i < conf->n_ports; i++)
		ports[i].mac = g->ports[i].mac;
	return build_snapshot(conf, ports, g->snapshot, why, size);
}

static int neighbours_set(struct gateway *g, const struct conf *conf)
{
	int rc = 0;

	for (unsigned int i = 0; i < conf->n_neighbours && rc == 0; i++) {
		const struct conf_neighbour *n = &conf->neighbours[i];

		rc = neigh_set_static(g->neigh, (uint16_t)n->port, &n->addr, &n->mac);
	}
	return rc;
}

// Those that are not set again are to be confirmed when they are used.
static void neighbours_unset(struct gateway *g, const struct conf *conf)
{
	for (unsigned int i = 0; i < conf->n_neighbours; i++)
		neigh_unset_static(g->neigh, (uint16_t)conf->neighbours[i].port,
			&conf->neighbours[i].addr, gateway_now_ms());
}

int configure_start(struct gateway *g)
{
	char why[256];
	struct snapshot *s = build(g, g->conf, why, sizeof(why));
	struct tunnels tunnels;

	if (s == NULL) {
		log_error("cannot apply the configuration: %s", why);
		return -EIO;
	}
	if (reserve_open(&g->reserve, g->conf) < 0 ||
		reserve_keys_check(g->reserve, g->conf, false, stderr) < 0 ||
		reserve_begin(g->reserve, s) < 0) {
		build_snapshot_free(s);
		return -EIO;
	}
	warn_unkept(g, s);
	build_commit(s, g->conf); // makes no ways, so it cannot fail
	atomic_store_explicit(&g->snapshot, s, memory_order_release);
	warn_small_tunnels(s);
	if (neighbours_set(g, g->conf) < 0) {
		log_error("out of memory for neighbours: raise memory.size");
		return -ENOMEM;
	}
	if (!tunnels_new(&tunnels, s)) {
		log_error("out of memory for the state of tunnels");
		return -ENOMEM;
	}
	tunnels_set(g, &tunnels, NULL);
	return 0;
}

// What is not in the snapshot, because it belongs to what outlives it.
static void apply_settings(struct gateway *g, const struct conf *conf)
{
	const struct flow_config flows = build_flow_config(conf);

	flow_table_configure(g->flows, &flows);
	neigh_reachable_set(g->neigh, conf->neighbour_reachable_s);
	for (unsigned int i = 0; i < conf->n_workers; i++)
		worker_limits_set(g->loops[i]->worker, conf->icmp_errors_per_second,
			conf->icmp_echoes_per_second);
}

// From here on the new configuration is the one that runs.
static void publish(
	struct gateway *g, struct conf *conf, struct snapshot *s, struct tunnels *tunnels)
{
	address_apply(g, s);
	g->retired = g->snapshot;
	atomic_store_explicit(&g->snapshot, s, memory_order_release);
	g->retired_token = rte_rcu_qsbr_start(g->qsbr);
	apply_settings(g, conf);
	neighbours_unset(g, g->conf);
	neighbours_set(g, conf); // conf_load() has counted them
	for (unsigned int i = 0; i < conf->n_ports; i++)
		g->ports[i].conf = &conf->ports[i];
	g->conf = conf;
	peers_follow(g, g->retired);
	tunnels_set(g, tunnels, g->retired);
	path_mtus_apply(g);
}

static void *discard(void *conf)
{
	conf_free(conf);
	return NULL;
}

// With many SAs that, too, takes longer than neighbours can wait.
static void discard_aside(struct conf *conf)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, discard, conf) == 0)
		pthread_detach(thread);
	else
		conf_free(conf);
}

// Nothing in here fails after something was changed.
static int replace(struct gateway *g, struct conf *conf, struct snapshot *s)
{
	struct conf *old = g->conf;
	struct tunnels tunnels;
	int rc;

	if (!tunnels_new(&tunnels, s))
		return -ENOMEM;
	pthread_mutex_lock(&g->lock);
	rc = build_commit(s, conf);
	if (rc == 0)
		publish(g, conf, s, &tunnels);
	pthread_mutex_unlock(&g->lock);
	if (rc < 0) {
		tunnels_free(&tunnels);
		return rc;
	}
	discard_aside(old);
	warn_small_tunnels(s);
	return 0;
}

static void *load(void *arg)
{
	struct gateway *g = arg;
	struct load *l = &g->load;
	char why[256];

	l->conf = l->make(l->make_arg, g->conf, l->errors);
	if (l->conf != NULL)
		l->snapshot = build(g, l->conf, why, sizeof(why));
	if (l->conf != NULL && l->snapshot == NULL)
		fprintf(l->errors, "cannot apply the configuration: %s\n", why);
	stack_wipe(); // which the C library keeps for the next thread
	atomic_store_explicit(&l->ready, true, memory_order_release);
	return NULL;
}

int configure_load(struct gateway *g, configure_make *make, void *arg, bool new_keys, FILE *errors)
{
	g->load = (struct load){
		.make = make, .make_arg = arg, .new_keys = new_keys, .errors = errors};
	if (pthread_create(&g->load.thread, NULL, load, g) != 0) {
		fputs("out of memory for the thread that loads the configuration\n", errors);
		g->load.errors = NULL;
		return -EAGAIN;
	}
	pthread_setname_np(g->load.thread, "culvert-load");
	return 0;
}

static int put_to_work(struct gateway *g, const struct load *l)
{
	int rc;

	if (l->snapshot == NULL)
		return -EINVAL;
	if (reserve_keys_check(g->reserve, l->conf, l->new_keys, l->errors) < 0)
		return -EINVAL;
	rc = reserve_begin(g->reserve, l->snapshot);
	if (rc == -ENOMEM)
		fputs("out of memory for the sequence numbers of new SAs\n", l->errors);
	else if (rc < 0)
		fputs("cannot reserve sequence numbers for new SAs, see the log\n", l->errors);
	if (rc < 0)
		return -EINVAL;
	if (replace(g, l->conf, l->snapshot) < 0) {
		fputs("out of memory for the paths of SAs\n", l->errors);
		return -EINVAL;
	}
	return 0;
}

static void load_drop(struct load *l)
{
	build_snapshot_free(l->snapshot);
	conf_free(l->conf);
}

int configure_loaded(struct gateway *g)
{
	struct load *l = &g->load;
	int rc;

	if (!atomic_load_explicit(&l->ready, memory_order_acquire))
		return -EINPROGRESS;
	pthread_join(l->thread, NULL);
	rc = put_to_work(g, l);
	if (rc < 0)
		load_drop(l);
	l->errors = NULL;
	return rc;
}

bool configure_over(const struct gateway *g)
{
	return g->retired != NULL && rte_rcu_qsbr_check(g->qsbr, g->retired_token, false) == 1;
}

void configure_retire(struct gateway *g)
{
	pthread_mutex_lock(&g->lock);
	audit_retire(g);
	build_retire(g->snapshot, g->retired);
	g->retired = NULL;
	pthread_mutex_unlock(&g->lock);
}

void configure_stop(struct gateway *g)
{
	if (g->load.errors != NULL) {
		pthread_join(g->load.thread, NULL);
		load_drop(&g->load);
	}
	if (g->retired != NULL)
		build_retire(g->snapshot, g->retired);
	build_snapshot_free(g->snapshot);
	tunnels_free(&g->tunnels);
}
