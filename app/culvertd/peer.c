// SPDX-License-Identifier: BSD-3-Clause
#include "peer.h"

#include <stdlib.h>
#include <string.h>

#include "esp_out.h"
#include "event_log.h"
#include "log.h"
#include "path_mtu.h"
#include "retire.h"
#include "sa_send.h"

// A peer moves once in so long at most: two who both send genuine packets do not make it jump.
#define MOVE_MS    1000
#define END_STRLEN (IP_ADDR_STRLEN + 8) // an address and a port

static bool same(const struct sa_peer *a, const struct sa_peer *b)
{
	return a->port == b->port && ip_addr_equal(&a->addr, &b->addr);
}

static const char *end_format(char buf[END_STRLEN], const struct sa_peer *peer)
{
	char addr[IP_ADDR_STRLEN];

	if (ip_addr_is_none(&peer->addr))
		return "any";
	snprintf(buf, END_STRLEN, ip_addr_is_v4(&peer->addr) ? "%s:%u" : "[%s]:%u",
		ip_addr_format(addr, &peer->addr), rte_be_to_cpu_16(peer->port));
	return buf;
}

// False if there is no memory.
static bool move_now(struct gateway *g, struct sa_out *sa, const struct sa_peer *peer)
{
	const struct snapshot *s = g->snapshot;
	const struct nexthop *nh = route_find(s->routes, &peer->addr);
	char from[END_STRLEN], to[END_STRLEN];
	struct sa_path *path;
	uint16_t mtu;

	if (same(&sa->peer, peer))
		return true;
	// In transport mode the address is that of the packets, which policy has decided about.
	if (sa->sa.mode == SA_TRANSPORT && !ip_addr_equal(&sa->peer.addr, &peer->addr))
		return true;
	if (nh == NULL || nh->kind > NEXTHOP_GATEWAY) {
		event_post(PEER_NOT_FOLLOWED, EVENT_TEXT(sa->sa.name),
			EVENT_TEXT(end_format(from, &sa->peer)), EVENT_TEXT(end_format(to, peer)));
		return true;
	}
	mtu = (uint16_t)RTE_MIN(s->port[nh->port].mtu, path_mtu_known(g, &peer->addr));
	path = sa_path_new(&sa->sa, peer, nh, mtu);
	if (path == NULL)
		return false;
	event_post(PEER_MOVED, EVENT_TEXT(sa->sa.name), EVENT_TEXT(end_format(from, &sa->peer)),
		EVENT_TEXT(end_format(to, peer)));
	sa->peer = *peer;
	retire(g, sa_out_path_set(sa, path));
	g->udp_ends_moved = true;
	return true;
}

// The same; without memory peer_tick() tries again.
static bool move(struct gateway *g, struct sa_out *sa, const struct sa_peer *peer)
{
	bool done = move_now(g, sa, peer);

	sa->pending = done ? (struct sa_peer){0} : *peer;
	if (!done && !g->moves_pending)
		log_warn("out of memory to follow peers that moved: retried until there is memory");
	g->moves_pending |= !done;
	return done;
}

// Has the SAs that answer an inbound one follow its peer. False if there is no memory.
static bool follow(struct gateway *g, const struct sa_in *sa, const struct sa_peer *peer)
{
	const struct snapshot *s = g->snapshot;
	bool done = true;

	for (unsigned int i = 0; i < spd_count(s->spd); i++) {
		const struct spd_policy *p = spd_at(s->spd, i);

		if (p->action == SPD_PROTECT && spd_receives(p, sa) && p->out->follow)
			done &= move(g, p->out, peer);
	}
	return done;
}

static bool note(struct gateway *g, struct sa_in *sa, const struct sa_peer *peer, uint64_t now_ms)
{
	struct sa_peer *heard = malloc(sizeof(*heard));

	if (heard == NULL)
		return false;
	*heard = *peer;
	retire(g, sa_in_heard_set(sa, heard, now_ms));
	return true;
}

// While keys are changed, several SAs are heard. Where the others were heard last is news again:
// who has kept a packet of an old one must not draw the answers away from a peer that speaks by a
// new one, and has not moved.
static void note_others(struct gateway *g, const struct sa_peer *peer, uint64_t now_ms)
{
	const struct snapshot *s = g->snapshot;

	for (unsigned int i = 0; i < spd_count(s->spd); i++) {
		const struct spd_policy *p = spd_at(s->spd, i);

		if (p->action != SPD_PROTECT || !p->out->follow || !same(&p->out->peer, peer))
			continue;
		for (unsigned int k = 0; k < p->n_in; k++) {
			const struct sa_peer *heard = sa_in_heard(p->in[k]);

			if (heard != NULL && !same(heard, peer))
				note(g, p->in[k], peer, now_ms);
		}
	}
}

// Of several that receive, the one that heard something new last.
static const struct sa_in *newest(const struct spd_policy *p)
{
	const struct sa_in *found = NULL;

	for (unsigned int i = 0; i < p->n_in; i++)
		if (sa_in_heard(p->in[i]) != NULL &&
			(found == NULL || p->in[i]->heard_ms > found->heard_ms))
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

static bool is_where_asked(const struct sa_out *sa)
{
	const struct sa_peer asked = sa_peer_asked(&sa->sa.asked);

	return same(&sa->peer, &asked);
}

static bool is_asked_the_same(const struct sa_out *a, const struct sa_out *b)
{
	const struct sa_peer x = sa_peer_asked(&a->sa.asked), y = sa_peer_asked(&b->sa.asked);

	return same(&x, &y) && a->sa.udp_port == b->sa.udp_port &&
	       ip_addr_equal(&a->sa.local, &b->sa.local);
}

// Where the SA before it had found the peer, if all SAs of the policy are new: it is the same one
// as long as it is asked for in the same way, as with IKE, whose new SAs begin where the old ones
// were (RFC 7296 2.23). A guess that the first genuine packet corrects. NULL: nothing was learnt.
static const struct sa_peer *inherited(const struct spd_policy *p, const struct spd_policy *before)
{
	if (before == NULL || before->action != SPD_PROTECT || !before->out->follow ||
		!is_where_asked(p->out) || !is_asked_the_same(p->out, before->out))
		return NULL;
	return ip_addr_is_none(&before->out->pending.addr) ? &before->out->peer
							   : &before->out->pending;
}

void peers_follow(struct gateway *g, const struct snapshot *before)
{
	const struct snapshot *s = g->snapshot;

	for (unsigned int i = 0; i < spd_count(s->spd); i++) {
		const struct spd_policy *p = spd_at(s->spd, i);
		const struct sa_peer *peer;
		const struct sa_in *in;

		if (p->action != SPD_PROTECT || !p->out->follow)
			continue;
		in = newest(p);
		peer = in != NULL ? sa_in_heard(in)
				  : inherited(p, policy_namesake(before->spd, p, i));
		if (peer != NULL)
			move(g, p->out, peer);
	}
}

void peer_heard(struct gateway *g, const struct event *e, uint64_t now_ms)
{
	struct sa_in *sa = sad_find(g->snapshot->sad, e->spi);
	const struct sa_peer *before = sa != NULL ? sa_in_heard(sa) : NULL;
	const struct sa_peer peer = {e->addr, e->addr_port};

	if (sa == NULL || sa->sa.udp_port == 0)
		return;
	if (before != NULL && (same(before, &peer) || now_ms < sa->heard_ms + MOVE_MS))
		return;
	// Without memory it stays news, and the next packet is more lucky.
	if (follow(g, sa, &peer) && note(g, sa, &peer, now_ms))
		note_others(g, &peer, now_ms);
}

// False if the next hop's link address is still being resolved.
static bool keepalive_send(struct gateway *g, const struct sa_out *sa, uint64_t now_ms)
{
	struct rte_ether_addr mac;
	struct rte_mbuf *m;

	if (!sa_send_ready(g, sa, &mac, now_ms))
		return false;
	m = rte_pktmbuf_alloc(g->pool);
	if (m == NULL)
		return false;
	esp_out_keepalive(m, sa_out_path(sa));
	sa_send(g, sa, m, &mac);
	g->counters.keepalives_out++;
	return true;
}

// RFC 3948 4: only where nothing has been sent for the time.
static void keep_alive(struct gateway *g, struct sa_out *sa, uint64_t now_ms)
{
	uint64_t seq = atomic_load_explicit(&sa->seq, memory_order_relaxed);

	if (sa->keepalive_ms == 0 || sa_out_path(sa)->nexthop == NULL || sa->sa.stop != DROP_NONE)
		return;
	if (seq != sa->sent_seq) {
		sa->sent_seq = seq;
		sa->sent_ms = now_ms;
	} else if (now_ms >= sa->sent_ms + sa->keepalive_ms && keepalive_send(g, sa, now_ms)) {
		sa->sent_ms = now_ms;
	}
}

// Until then ICMP errors about packets to where a peer has moved are not looked at.
static void reindex(struct gateway *g)
{
	struct snapshot *s = g->snapshot;
	struct sa_udp_index *index = sa_udp_index_new(s->n_sa_out);

	if (index == NULL)
		return;
	sa_udp_index_fill(index, s->sa_out, s->n_sa_out);
	retire(g, atomic_exchange_explicit(&s->sa_out_by_udp, index, memory_order_release));
	g->udp_ends_moved = false;
}

// Of SAs that have not followed for want of memory.
static void move_pending(struct gateway *g)
{
	const struct snapshot *s = g->snapshot;
	bool done = true;

	for (unsigned int i = 0; i < s->n_sa_out; i++) {
		const struct sa_peer peer = s->sa_out[i]->pending;

		if (!ip_addr_is_none(&peer.addr) && s->sa_out[i]->follow)
			done &= move(g, s->sa_out[i], &peer);
	}
	g->moves_pending = !done;
}

void peer_tick(struct gateway *g, uint64_t now_ms)
{
	const struct snapshot *s = g->snapshot;

	if (g->moves_pending)
		move_pending(g);
	if (g->udp_ends_moved)
		reindex(g);
	for (unsigned int i = 0; i < RTE_MIN(s->n_sa_out, PEERS_AT_ONCE); i++)
		keep_alive(g, s->sa_out[g->peer_next++ % s->n_sa_out], now_ms);
}
