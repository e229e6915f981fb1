// SPDX-License-Identifier: BSD-3-Clause
#include "peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "esp_out.h"
#include "event_log.h"
#include "hop.h"
#include "hop_group.h"
#include "ike_tables.h"
#include "line_memory.h"
#include "log.h"
#include "originate.h"
#include "path_mtu.h"
#include "retire.h"

// A peer moves at most once in this time: two senders of authenticated packets do not make it jump.
#define MOVE_MS 1000
// So often at once, and once more each MOVE_EACH_MS: behind some NATs the port alternates for ever.
#define MOVES_MAX    8
#define MOVE_EACH_MS UINT64_C(10000)

static bool is_same_endpoint(const struct sa_peer *a, const struct sa_peer *b)
{
	return a->port == b->port && ip_addr_equal(&a->addr, &b->addr);
}

const char *endpoint_format(char buf[ENDPOINT_STRLEN], const struct ip_addr *addr, rte_be16_t port)
{
	char text[IP_ADDR_STRLEN];

	if (ip_addr_is_none(addr))
		return "any";
	snprintf(buf, ENDPOINT_STRLEN, ip_addr_is_v4(addr) ? "%s:%u" : "[%s]:%u",
		ip_addr_format(text, addr), rte_be_to_cpu_16(port));
	return buf;
}

struct sa_peer peer_endpoint(const struct sa *sa)
{
	const struct sa_peer *endpoint;

	if (sa->opt.direction == SA_OUT)
		return sa_out_of(sa)->peer;
	endpoint = sa_in_endpoint(sa_in_of(sa));
	return endpoint != NULL ? *endpoint : (struct sa_peer){.addr = sa->opt.remote};
}

// The next hop of packets to a peer, of several that of the SA's packets until now if it is up.
// NULL: there is none.
static const struct nexthop *nexthop_to(const struct control *c, const struct sa_out *sa,
	const struct ip_addr *local, const struct sa_peer *peer)
{
	const struct snapshot *s = c->snapshot;
	const struct nexthop *nh = hop_find(s, route_find_outer(s->routes, local, &peer->addr),
		local, &peer->addr, 0, sa_out_path(sa)->nexthop);

	return nh != NULL && nh->kind <= NEXTHOP_GATEWAY ? nh : NULL;
}

struct sa_path *peer_path(struct control *c, const struct sa_out *sa, const struct ip_addr *local,
	const struct sa_peer *peer)
{
	const struct snapshot *s = c->snapshot;
	const struct nexthop *nh = nexthop_to(c, sa, local, peer);

	if (nh == NULL) {
		errno = EHOSTUNREACH;
		return NULL;
	}
	return sa_path_new(&sa->sa, local, peer, nh,
		(uint16_t)RTE_MIN(s->iface[nh->iface].mtu, path_mtu_known(c, &peer->addr)));
}

void peer_path_set(
	struct control *c, struct sa_out *sa, const struct sa_peer *peer, struct sa_path *path)
{
	char from[ENDPOINT_STRLEN], to[ENDPOINT_STRLEN];

	if (!is_same_endpoint(&sa->peer, peer))
		event_post(PEER_MOVED, EVENT_TEXT(sa->sa.live.name),
			EVENT_TEXT(endpoint_format(from, &sa->peer.addr, sa->peer.port)),
			EVENT_TEXT(endpoint_format(to, &peer->addr, peer->port)));
	sa->peer = *peer;
	retire(c, sa_out_path_set(sa, path));
	c->udp_ends_moved = true;
}

// False if there is no memory.
static bool try_move(struct control *c, struct sa_out *sa, const struct sa_peer *peer)
{
	char from[ENDPOINT_STRLEN], to[ENDPOINT_STRLEN];
	struct sa_path *path;

	if (is_same_endpoint(&sa->peer, peer))
		return true;
	// In transport mode the address is that of the packets, which a policy has matched.
	if (sa->sa.opt.mode == SA_TRANSPORT && !ip_addr_equal(&sa->peer.addr, &peer->addr))
		return true;
	path = peer_path(c, sa, &sa->sa.opt.local, peer);
	if (path != NULL)
		peer_path_set(c, sa, peer, path);
	else if (errno == EHOSTUNREACH)
		event_post(PEER_NOT_FOLLOWED, EVENT_TEXT(sa->sa.live.name),
			EVENT_TEXT(endpoint_format(from, &sa->peer.addr, sa->peer.port)),
			EVENT_TEXT(endpoint_format(to, &peer->addr, peer->port)));
	return path != NULL || errno == EHOSTUNREACH;
}

bool peer_move(struct control *c, struct sa_out *sa, const struct sa_peer *peer)
{
	bool done = try_move(c, sa, peer);

	sa->pending = done ? (struct sa_peer){0} : *peer;
	if (!done && !c->moves_pending)
		log_warn("out of memory to follow peers that moved: retried until there is memory");
	c->moves_pending |= !done;
	return done;
}

// A route to the peer that leads into a tunnel is not used; that is posted once.
static void note_tunnel(const struct control *c, struct sa_out *sa)
{
	const struct nexthop *nh =
		route_find_from(c->snapshot->routes, &sa->sa.opt.local, &sa->peer.addr);
	bool into_tunnel = nh != NULL && nexthop_first_kind(nh) == NEXTHOP_TUNNEL;
	char to[IP_ADDR_STRLEN];

	if (into_tunnel && !sa->into_tunnel)
		event_post(PEER_IN_TUNNEL, EVENT_TEXT(sa->sa.live.name),
			EVENT_TEXT(ip_addr_format(to, &sa->peer.addr)),
			EVENT_TEXT(
				c->snapshot->iface[nexthop_hop(nh, nexthop_first_place(nh))->iface]
					.name));
	sa->into_tunnel = into_tunnel;
}

// False if there is no memory.
static bool reroute(struct control *c, struct sa_out *sa)
{
	const struct ip_addr *local = &sa->sa.opt.local;
	const struct nexthop *nh = nexthop_to(c, sa, local, &sa->peer);
	const struct sa_path *before = sa_out_path(sa);
	struct sa_path *path;

	if (nh == before->nexthop)
		return true;
	path = nh != NULL ? peer_path(c, sa, local, &sa->peer)
			  : sa_path_new(&sa->sa, local, &sa->peer, NULL, before->link_mtu);
	if (path == NULL)
		return false;
	peer_path_set(c, sa, &sa->peer, path);
	return true;
}

bool peers_reroute(struct control *c)
{
	const struct sa_list *sas = &c->snapshot->objects->sas;
	bool done = true;

	for (unsigned int i = 0; i < sas->n_out; i++) {
		if (ip_addr_is_none(&sas->out[i]->peer.addr))
			continue;
		done &= reroute(c, sas->out[i]);
		note_tunnel(c, sas->out[i]);
	}
	return done;
}

// Whether the SA of a policy of the configuration follows its peer.
static bool follows(const struct spd_policy *p)
{
	return p->action == SPD_PROTECT && p->group == 0 && p->out->sa.live.follow;
}

// Lets the outbound SAs of the policies of an inbound one follow its peer. False if there is no
// memory.
static bool follow(struct control *c, const struct sa_in *sa, const struct sa_peer *peer)
{
	const uint64_t group = sa_options_group(&sa->sa.opt);
	const struct snapshot *s = c->snapshot;
	struct sa_out *out;
	bool done = true;

	for (unsigned int i = 0; (out = ike_sender(c, group, i)) != NULL; i++)
		if (out->sa.live.follow)
			done &= peer_move(c, out, peer);
	if (group != 0)
		return done;
	for (unsigned int i = 0; i < spd_count(s->spd); i++) {
		const struct spd_policy *p = spd_at(s->spd, i);

		if (follows(p) && spd_receives(p, sa))
			done &= peer_move(c, p->out, peer);
	}
	return done;
}

static bool endpoint_note(
	struct control *c, struct sa_in *sa, const struct sa_peer *peer, uint64_t now_ms)
{
	struct sa_peer *endpoint = line_calloc(1, sizeof(*endpoint));

	if (endpoint == NULL)
		return false;
	*endpoint = *peer;
	retire(c, sa_in_endpoint_set(sa, endpoint, now_ms));
	return true;
}

static void endpoint_correct(
	struct control *c, struct sa_in *sa, const struct sa_peer *peer, uint64_t now_ms)
{
	const struct sa_peer *endpoint = sa_in_endpoint(sa);

	if (endpoint != NULL && !is_same_endpoint(endpoint, peer))
		endpoint_note(c, sa, peer, now_ms);
}

// During a rekey packets of several SAs are received. All of them note the new endpoint: a replayed
// packet of an old SA must not divert the answers from a peer that uses a new one.
static void endpoint_share(
	struct control *c, uint64_t group, const struct sa_peer *peer, uint64_t now_ms)
{
	const struct snapshot *s = c->snapshot;
	struct sa_in *in;

	for (unsigned int i = 0; (in = ike_receiver(c, group, i)) != NULL; i++)
		endpoint_correct(c, in, peer, now_ms);
	if (group != 0)
		return;
	for (unsigned int i = 0; i < spd_count(s->spd); i++) {
		const struct spd_policy *p = spd_at(s->spd, i);

		if (!follows(p) || !is_same_endpoint(&p->out->peer, peer))
			continue;
		for (unsigned int k = 0; k < p->n_in; k++)
			endpoint_correct(c, p->in[k], peer, now_ms);
	}
}

// The inbound SA of a policy whose endpoint was learnt last.
static const struct sa_in *newest(const struct spd_policy *p)
{
	const struct sa_in *found = NULL;

	for (unsigned int i = 0; i < p->n_in; i++)
		if (sa_in_endpoint(p->in[i]) != NULL &&
			(found == NULL || p->in[i]->endpoint_ms > found->endpoint_ms))
			found = p->in[i];
	return found;
}

const struct spd_policy *policy_namesake(
	const struct spd *other, const struct spd_policy *p, unsigned int i)
{
	unsigned int n = spd_count(other);

	for (unsigned int k = 0; k < n; k++) {
		const struct spd_policy *q = spd_at(other, (i + k) % n);

		if (q->name_hash == p->name_hash && strcmp(q->name, p->name) == 0)
			return q;
	}
	return NULL;
}

static bool is_configured_endpoint(const struct sa_out *sa)
{
	const struct sa_peer asked = sa_peer_configured(&sa->sa.opt);

	return is_same_endpoint(&sa->peer, &asked);
}

static bool is_configured_alike(const struct sa_out *a, const struct sa_out *b)
{
	const struct sa_peer x = sa_peer_configured(&a->sa.opt), y = sa_peer_configured(&b->sa.opt);

	return is_same_endpoint(&x, &y) && a->sa.udp_port == b->sa.udp_port &&
	       ip_addr_equal(&a->sa.opt.local, &b->sa.opt.local);
}

// The endpoint that the SA before it had learnt, if all SAs of the policy are new: it is the same
// peer if it is configured alike, as with IKE, whose new SAs start at the endpoint of the old ones
// (RFC 7296 2.23). The first authenticated packet corrects it. NULL: nothing was learnt.
static const struct sa_peer *inherited(const struct spd_policy *p, const struct spd_policy *before)
{
	if (before == NULL || !follows(before) || !is_configured_endpoint(p->out) ||
		!is_configured_alike(p->out, before->out))
		return NULL;
	return ip_addr_is_none(&before->out->pending.addr) ? &before->out->peer
							   : &before->out->pending;
}

void peers_follow(struct control *c, const struct snapshot *before)
{
	const struct snapshot *s = c->snapshot;

	for (unsigned int i = 0; i < spd_count(s->spd); i++) {
		const struct spd_policy *p = spd_at(s->spd, i);
		const struct sa_peer *peer;
		const struct sa_in *in;

		if (!follows(p))
			continue;
		in = newest(p);
		peer = in != NULL ? sa_in_endpoint(in)
				  : inherited(p, policy_namesake(before->spd, p, i));
		if (peer != NULL)
			peer_move(c, p->out, peer);
	}
}

static bool may_move(struct sa_in *sa, uint64_t now_ms)
{
	if (now_ms < sa->endpoint_ms + MOVE_MS ||
		sa->moves_ms > now_ms + (MOVES_MAX - 1) * MOVE_EACH_MS)
		return false;
	sa->moves_ms = RTE_MAX(sa->moves_ms, now_ms) + MOVE_EACH_MS;
	return true;
}

void peer_set(struct control *c, struct sa_in *sa, const struct sa_peer *peer, uint64_t now_ms)
{
	const struct sa_peer *before = sa_in_endpoint(sa);

	if (before != NULL && is_same_endpoint(before, peer))
		return;
	// Without memory the endpoint stays unknown, and is set when it is reported again.
	if (follow(c, sa, peer) && endpoint_note(c, sa, peer, now_ms))
		endpoint_share(c, sa_options_group(&sa->sa.opt), peer, now_ms);
}

void peer_moved(struct control *c, const struct event *e, uint64_t now_ms)
{
	struct sa_in *sa = snapshot_find_in(c->snapshot, e->spi);
	const struct sa_peer *before = sa != NULL ? sa_in_endpoint(sa) : NULL;
	const struct sa_peer peer = {e->addr, e->addr_port};

	if (sa == NULL || sa->sa.udp_port == 0)
		return;
	if (before == NULL || (!is_same_endpoint(before, &peer) && may_move(sa, now_ms)))
		peer_set(c, sa, &peer, now_ms);
}

static bool keepalive_make(struct sa_out *sa, struct rte_mbuf *m, void *arg)
{
	(void)arg;
	esp_out_keepalive(m, sa_out_path(sa));
	return true;
}

// False if the next hop's link address is still being resolved.
static bool keepalive_send(struct control *c, struct sa_out *sa, uint64_t now_ms)
{
	if (!originate_by_sa(c, sa, keepalive_make, NULL, now_ms))
		return false;
	c->counters.keepalives_out++;
	return true;
}

// RFC 3948 4: only if nothing has been sent for that time.
static void keep_alive(struct control *c, struct sa_out *sa, uint64_t now_ms)
{
	uint64_t seq = atomic_load_explicit(&sa->seq, memory_order_relaxed);
	uint64_t after_ms = sa->sa.live.keepalive_s * UINT64_C(1000);

	if (!sa->sa.opt.in_udp || after_ms == 0 || sa_out_path(sa)->nexthop == NULL ||
		sa->sa.per_packet.stop != DROP_NONE)
		return;
	if (seq != sa->sent_seq) {
		sa->sent_seq = seq;
		sa->sent_ms = now_ms;
	} else if (now_ms >= sa->sent_ms + after_ms && keepalive_send(c, sa, now_ms)) {
		sa->sent_ms = now_ms;
	}
}

// Until then ICMP errors about packets to the new endpoint are ignored.
static void reindex(struct control *c)
{
	struct snapshot *s = c->snapshot;
	const struct sa_list *sas = &s->objects->sas;
	struct sa_udp_index *index = sa_udp_index_new(sas->n_out);

	if (index == NULL)
		return;
	sa_udp_index_fill(index, sas->out, sas->n_out);
	retire(c,
		atomic_exchange_explicit(&s->objects->sa_out_by_udp, index, memory_order_release));
	c->udp_ends_moved = false;
}

// The moves of SAs that had no memory before.
static void move_pending(struct control *c)
{
	const struct sa_list *sas = &c->snapshot->objects->sas;
	bool done = true;

	for (unsigned int i = 0; i < sas->n_out; i++) {
		const struct sa_peer peer = sas->out[i]->pending;

		if (!ip_addr_is_none(&peer.addr) && sas->out[i]->sa.live.follow)
			done &= peer_move(c, sas->out[i], &peer);
	}
	c->moves_pending = !done;
}

void peers_tick(struct control *c, uint64_t now_ms)
{
	const struct sa_list *sas = &c->snapshot->objects->sas;

	if (c->moves_pending)
		move_pending(c);
	if (c->udp_ends_moved)
		reindex(c);
	for (unsigned int i = 0; i < RTE_MIN(sas->n_out, PEERS_AT_ONCE); i++)
		keep_alive(c, sas->out[c->peer_next++ % sas->n_out], now_ms);
}
