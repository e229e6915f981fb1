// SPDX-License-Identifier: BSD-3-Clause
#include "control.h"

#include <signal.h>
#include <time.h>

#include <rte_launch.h>

#include "arp.h"
#include "audit_log.h"
#include "configure.h"
#include "event_log.h"
#include "expiry.h"
#include "groups.h"
#include "health.h"
#include "links.h"
#include "log.h"
#include "metrics.h"
#include "nd.h"
#include "path_mtu.h"
#include "peer.h"
#include "retire.h"
#include "notify.h"
#include "request.h"
#include "tracing.h"
#include "tunnel.h"
#include "wall_clock.h"

#define TICK_MS        100
#define EVENTS_AT_ONCE 256 // from one worker, before the others get their turn
#define RULE_LINES     20
#define END_STRLEN     (IP_ADDR_STRLEN + 8) // an address and a port
#define WAIT           (&(struct timespec){.tv_nsec = 1000000})

static void wanted_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
}

void control_block_signals(void)
{
	sigset_t set;

	wanted_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

// Hands a frame to worker 0, which has a TX queue on every port.
static void send_frame(struct gateway *g, struct rte_mbuf *m, uint16_t port)
{
	m->port = port;
	g->counters.originated++;
	if (loop_send(g->loops[0], m))
		return;
	g->counters.drops[DROP_RING_FULL]++;
	rte_pktmbuf_free(m);
}

void control_send_packet(
	struct gateway *g, struct rte_mbuf *m, uint16_t port, const struct rte_ether_addr *to)
{
	bool v4 = ip_is_v4(rte_pktmbuf_mtod(m, const void *));
	struct rte_ether_hdr *eth =
		(struct rte_ether_hdr *)rte_pktmbuf_prepend(m, sizeof(struct rte_ether_hdr));

	eth->dst_addr = *to;
	eth->src_addr = g->ports[port].mac;
	eth->ether_type = v4 ? RTE_BE16(RTE_ETHER_TYPE_IPV4) : RTE_BE16(RTE_ETHER_TYPE_IPV6);
	send_frame(g, m, port);
}

static void arp_send(struct gateway *g, uint16_t port, rte_be32_t sender, rte_be32_t target,
	const struct rte_ether_addr *to)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(g->pool);

	if (m == NULL)
		return; // asked again in a second
	arp_request_build((uint8_t *)rte_pktmbuf_append(m, ARP_FRAME_LEN), &g->ports[port].mac,
		sender, target, to);
	send_frame(g, m, port);
}

// sender none (::): detects duplicates of target.
static void nd_send(struct gateway *g, uint16_t port, const struct ip_addr *sender,
	const struct ip_addr *target, const struct rte_ether_addr *to)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(g->pool);

	if (m == NULL)
		return; // asked again in a second
	rte_pktmbuf_append(m, nd_solicitation_build(rte_pktmbuf_mtod(m, uint8_t *),
				      &g->ports[port].mac, sender, target, to));
	send_frame(g, m, port);
}

// The own address to ask for addr from: on its network, or for IPv6 any (RFC 4861 7.2.2) that is
// known to be ours (RFC 4862 5.4). NULL if there is none.
static const struct ip_addr *sender_for(
	const struct gateway *g, uint16_t port, const struct ip_addr *addr)
{
	const struct conf_port *c = &g->conf->ports[port];
	const struct ip_addr *other = NULL;

	for (unsigned int i = 0; i < c->n_addrs; i++) {
		const struct ip_addr *own = &c->addrs[i].addr;

		if (ip_addr_family(own) != ip_addr_family(addr) ||
			dad_state(g->dad, port, own) != DAD_ASSIGNED)
			continue;
		if (ip_prefix_contains(&c->addrs[i].net, addr))
			return own;
		if (!ip_addr_is_v4(own))
			other = own;
	}
	return other;
}

void control_solicit(
	void *arg, uint16_t port, const struct ip_addr *addr, const struct rte_ether_addr *to)
{
	struct gateway *g = arg;
	const struct ip_addr *sender = sender_for(g, port, addr);

	if (sender == NULL)
		return;
	if (ip_addr_is_v4(addr))
		arp_send(g, port, ip_addr_v4(sender), ip_addr_v4(addr), to);
	else
		nd_send(g, port, sender, addr, to);
}

void control_dad_solicit(void *arg, uint16_t port, const struct ip_addr *addr)
{
	const struct ip_addr none = {0};

	nd_send(arg, port, &none, addr, NULL);
}

// RFC 4861 7.2.6: others may remember the address at a card that we have no more.
void control_announce_addr(struct gateway *g, uint16_t port, const struct ip_addr *addr)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(g->pool);

	if (m == NULL)
		return; // they will ask
	rte_pktmbuf_append(m,
		nd_announcement_build(rte_pktmbuf_mtod(m, uint8_t *), &g->ports[port].mac, addr));
	send_frame(g, m, port);
}

// RFC 5227 2.3, RFC 4861 7.2.6
void control_announce(struct gateway *g, uint16_t port)
{
	const struct snapshot_port *p = &g->snapshot->port[port];

	for (unsigned int i = 0; i < p->n_addrs; i++) {
		const struct ip_addr *own = &p->addrs[i];

		if (ip_addr_is_v4(own))
			arp_send(g, port, ip_addr_v4(own), ip_addr_v4(own), NULL);
		else if (dad_state(g->dad, port, own) == DAD_ASSIGNED)
			control_announce_addr(g, port, own);
	}
}

// At most one line a second: a conflict can come with every frame.
static void warn_conflict(const struct gateway *g, const struct event *e, uint64_t now)
{
	static uint64_t next;
	char addr[IP_ADDR_STRLEN], mac[RTE_ETHER_ADDR_FMT_SIZE];

	if (now < next || rte_is_same_ether_addr(&e->mac, &g->ports[e->port].mac))
		return;
	next = now + 1000;
	rte_ether_format_addr(mac, sizeof(mac), &e->mac);
	event_post(ADDRESS_CONFLICT, EVENT_TEXT(g->conf->ports[e->port].name),
		EVENT_TEXT(ip_addr_format(addr, &e->addr)), EVENT_TEXT(mac));
}

// Only neighbours on a network of the port are learnt, or link-local ones: others cannot be next
// hops.
static bool on_link(const struct gateway *g, const struct event *e)
{
	const struct conf_port *c = &g->conf->ports[e->port];

	for (unsigned int i = 0; i < c->n_addrs; i++)
		if (ip_addr_family(&c->addrs[i].addr) == ip_addr_family(&e->addr) &&
			(ip_prefix_contains(&c->addrs[i].net, &e->addr) ||
				ip_addr_is_link_local(&e->addr)))
			return true;
	return false;
}

// "192.0.2.1:80", "[2001:db8::1]:80", or the address alone if ICMP has no ports.
static const char *end_format(
	char buf[END_STRLEN], const struct event *e, const struct ip_addr *addr, rte_be16_t port)
{
	char text[IP_ADDR_STRLEN];

	ip_addr_format(text, addr);
	if (e->has_icmp_type)
		snprintf(buf, END_STRLEN, "%s", text);
	else
		snprintf(buf, END_STRLEN, ip_addr_is_v4(addr) ? "%s:%u" : "[%s]:%u", text,
			rte_be_to_cpu_16(port));
	return buf;
}

// At most RULE_LINES a second.
static void log_rule(const struct gateway *g, const struct event *e, uint64_t now)
{
	static const char *const verb[] = {
		[RULE_ACCEPT] = "accepts", [RULE_DROP] = "drops", [RULE_REJECT] = "rejects"};
	static uint64_t second;
	static unsigned int lines;
	const struct snapshot *s = g->snapshot;
	char from[END_STRLEN], to[END_STRLEN], type[16] = "";

	if (e->generation != s->generation)
		return;
	if (now / 1000 != second) {
		if (lines > RULE_LINES)
			log_info("%u lines about rules suppressed", lines - RULE_LINES);
		second = now / 1000;
		lines = 0;
	}
	if (++lines > RULE_LINES)
		return;

	const struct rule *rule = rule_set_at(s->rules, e->rule);

	if (e->has_icmp_type)
		snprintf(type, sizeof(type), " type %u", e->icmp_type);
	log_info("rule \"%s\" %s: port \"%s\", protocol %u%s, %s to %s", rule->name,
		verb[rule->action], s->port[e->port].name, e->proto, type,
		end_format(from, e, &e->addr, e->addr_port),
		end_format(to, e, &e->peer, e->peer_port));
}

// RFC 4861 7.2.3, 6.2.6
static void nd_solicited(struct gateway *g, const struct event *e, uint64_t now)
{
	if (on_link(g, e))
		neigh_hear(g->neigh, e->port, &e->addr, &e->mac, e->for_us, now);
}

// RFC 4861 7.2.5
static void nd_advertised(struct gateway *g, const struct event *e, uint64_t now)
{
	const struct neigh_advert advert = {.mac = e->has_mac ? &e->mac : NULL,
		.solicited = e->solicited,
		.override = e->override};

	if (on_link(g, e))
		neigh_advertised(g->neigh, e->port, &e->addr, advert, now);
}

// RFC 4862 5.4.3, 5.4.4
static void dad_event(struct gateway *g, const struct event *e, uint64_t now)
{
	if (dad_state(g->dad, e->port, &e->addr) == DAD_ASSIGNED)
		warn_conflict(g, e, now);
	else
		dad_heard(g->dad, e->port, &e->addr, now);
}

static void handle(struct gateway *g, const struct event *e, uint64_t now)
{
	switch ((enum event_kind)e->kind) {
	case EVENT_NEIGH_NEEDED:
		neigh_resolve(g->neigh, e->port, &e->addr, now);
		break;
	case EVENT_NEIGH_HEARD:
		if (on_link(g, e))
			neigh_learn(g->neigh, e->port, &e->addr, &e->mac, e->for_us, now);
		break;
	case EVENT_ADDR_CONFLICT:
		warn_conflict(g, e, now);
		break;
	case EVENT_ND_SOLICITED:
		nd_solicited(g, e, now);
		break;
	case EVENT_ND_ADVERTISED:
		nd_advertised(g, e, now);
		break;
	case EVENT_DAD_HEARD:
		dad_event(g, e, now);
		break;
	case EVENT_MLD_QUERY:
		groups_asked(g, e, now);
		break;
	case EVENT_PMTU:
		path_mtu_learn(g, e, now);
		break;
	case EVENT_PEER_HEARD:
		peer_heard(g, e, now);
		break;
	case EVENT_RULE:
		log_rule(g, e, now);
		break;
	case EVENT_AUDIT:
		audit_event(g, e, now);
		break;
	}
}

static void drain_events(struct gateway *g, uint64_t now)
{
	struct event e;

	for (unsigned int i = 0; i < g->conf->n_workers; i++) {
		struct worker *w = g->loops[i]->worker;

		for (unsigned int n = 0; n < EVENTS_AT_ONCE && worker_event_take(w, &e); n++)
			handle(g, &e, now);
	}
}

void control_run(struct gateway *g)
{
	uint64_t next_tick = 0;
	sigset_t set;
	int sig;

	wanted_signals(&set);
	for (unsigned int p = 0; p < g->conf->n_ports; p++)
		control_announce(g, (uint16_t)p);
	do {
		bool over = configure_over(g);
		uint64_t now;

		pthread_mutex_lock(&g->lock);
		now = gateway_now_ms(); // no earlier than what other threads have noted
		drain_events(g, now);
		reserve_collect(g->reserve, g->snapshot, now);
		if (now >= next_tick) {
			health_tick(g, now);
			links_tick(g, now);
			neigh_tick(g->neigh, now);
			listener_tick(g->listener, now); // before anyone is asked to answer there
			dad_tick(g->dad, now);
			expiry_tick(g, now);
			tunnels_tick(g, now);
			path_mtu_tick(g, now);
			reserve_tick(g->reserve, g->snapshot, now);
			audit_tick(g, now);
			peer_tick(g, now);
			retire_tick(g);
			tracing_tick(g, now);
			wall_clock_tick(now);
			next_tick = now + TICK_MS;
		}
		pthread_mutex_unlock(&g->lock);
		if (over)
			configure_retire(g);
		sig = sigtimedwait(&set, NULL, WAIT);
		if (sig == SIGHUP)
			g->requests.hup = true;
		requests_tick(g, now);
		metrics_tick(now);
		flow_table_fill(g->flows);
	} while (sig < 0 || sig == SIGHUP);
	notify_stopping();
	listener_leave(g->listener);
	log_info("stopping on %s", sig == SIGTERM ? "SIGTERM" : "SIGINT");
}

static void enter_phase(struct gateway *g, enum loop_phase phase)
{
	for (unsigned int i = 0; i < g->conf->n_workers; i++)
		atomic_store_explicit(&g->loops[i]->phase, phase, memory_order_release);
	for (unsigned int i = 0; i < g->conf->n_workers; i++)
		while (atomic_load_explicit(&g->loops[i]->reached, memory_order_acquire) != phase)
			nanosleep(WAIT, NULL);
}

void control_stop_workers(struct gateway *g)
{
	// While they drain, a worker may still hand frames to one that has none left: twice.
	enter_phase(g, LOOP_DRAIN);
	enter_phase(g, LOOP_STOP);
	rte_eal_mp_wait_lcore();
	for (unsigned int i = 0; i < g->conf->n_workers; i++)
		loop_stop(g->loops[i]);
}
