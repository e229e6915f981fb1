// SPDX-License-Identifier: BSD-3-Clause
#include "path_mtu.h"

#include <stdlib.h>

#include "gateway.h"
#include "log.h"
#include "retire.h"

// Gives the SAs to a peer paths of that size, or of their first link's if it is smaller.
static void resize(struct gateway *g, const struct ip_addr *peer, uint16_t mtu)
{
	struct snapshot *s = g->snapshot;

	for (unsigned int i = 0; i < s->n_sa_out; i++) {
		struct sa_out *sa = s->sa_out[i];
		const struct sa_path *path = sa_out_path(sa);
		struct sa_path *resized;
		uint16_t size;

		if (!ip_addr_equal(&sa->peer.addr, peer) || path->nexthop == NULL)
			continue;
		size = (uint16_t)RTE_MIN(mtu, s->port[path->nexthop->port].mtu);
		if (path->link_mtu == size)
			continue;
		resized = sa_path_resized(&sa->sa, path, size);
		if (resized != NULL)
			retire(g, sa_out_path_set(sa, resized));
	}
}

static struct path_mtu *find(struct path_mtus *m, const struct ip_addr *peer)
{
	for (unsigned int i = 0; i < m->n; i++)
		if (ip_addr_equal(&m->of[i].peer, peer))
			return &m->of[i];
	return NULL;
}

static struct path_mtu *add(struct path_mtus *m, const struct ip_addr *peer)
{
	if (m->n == m->room) {
		unsigned int room = 2 * m->room + 8;
		struct path_mtu *of = realloc(m->of, room * sizeof(of[0]));

		if (of == NULL)
			return NULL;
		m->of = of;
		m->room = room;
	}
	m->of[m->n] = (struct path_mtu){.peer = *peer, .mtu = UINT16_MAX};
	return &m->of[m->n++];
}

// At most one line a second.
static void tell(const struct gateway *g, const struct event *e, uint64_t now_ms)
{
	static uint64_t next_ms;
	char peer[IP_ADDR_STRLEN], router[IP_ADDR_STRLEN];

	if (now_ms < next_ms)
		return;
	next_ms = now_ms + 1000;
	log_info("path to %s takes %u octets, says %s by port \"%s\"",
		ip_addr_format(peer, &e->addr), e->mtu, ip_addr_format(router, &e->peer),
		g->conf->ports[e->port].name);
}

void path_mtu_learn(struct gateway *g, const struct event *e, uint64_t now_ms)
{
	struct path_mtu *known = find(&g->path_mtus, &e->addr);

	if (known == NULL)
		known = add(&g->path_mtus, &e->addr);
	if (known == NULL || known->mtu <= e->mtu) // told by several packets
		return;
	known->mtu = e->mtu;
	known->until_ms = now_ms + g->conf->pmtu_age_s * UINT64_C(1000);
	tell(g, e, now_ms);
	resize(g, &e->addr, e->mtu);
}

uint16_t path_mtu_known(struct gateway *g, const struct ip_addr *peer)
{
	const struct path_mtu *known = find(&g->path_mtus, peer);

	return known != NULL ? known->mtu : UINT16_MAX;
}

void path_mtu_tick(struct gateway *g, uint64_t now_ms)
{
	struct path_mtus *m = &g->path_mtus;

	for (unsigned int i = 0; i < m->n;) {
		struct ip_addr peer = m->of[i].peer;

		if (now_ms < m->of[i].until_ms) {
			i++;
			continue;
		}
		m->of[i] = m->of[--m->n];
		resize(g, &peer, UINT16_MAX);
	}
}

void path_mtus_apply(struct gateway *g)
{
	struct path_mtus *m = &g->path_mtus;

	if (!g->conf->pmtu_learn)
		m->n = 0;
	for (unsigned int i = 0; i < m->n; i++)
		resize(g, &m->of[i].peer, m->of[i].mtu);
}

void path_mtus_fini(struct path_mtus *m)
{
	free(m->of);
	*m = (struct path_mtus){0};
}
