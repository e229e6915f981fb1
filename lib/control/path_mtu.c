// SPDX-License-Identifier: BSD-3-Clause
#include "path_mtu.h"

#include <stdlib.h>

#include <sys/random.h>

#include "esp_probe.h"
#include "log.h"
#include "originate.h"
#include "retire.h"

static uint16_t link_mtu(const struct control *c, const struct sa_path *path)
{
	return c->snapshot->iface[path->nexthop->iface].mtu;
}

// False if there is no memory.
static bool resize_one(struct control *c, struct sa_out *sa, uint16_t mtu)
{
	const struct sa_path *path = sa_out_path(sa);
	uint16_t size = (uint16_t)RTE_MIN(mtu, link_mtu(c, path));
	struct sa_path *resized;

	if (path->link_mtu == size)
		return true;
	resized = sa_path_resized(&sa->sa, path, size);
	if (resized == NULL)
		return false;
	retire(c, sa_out_path_set(sa, resized));
	return true;
}

// Gives the SAs to a peer paths of that size, or of the MTU of their first link if it is smaller.
// False if there is no memory for some of them: path_mtu_tick() tries again.
static bool resize(struct control *c, const struct ip_addr *peer, uint16_t mtu)
{
	struct path_mtus *m = &c->path_mtus;
	const struct sa_list *sas = &c->snapshot->objects->sas;
	bool done = true;

	for (unsigned int i = 0; i < sas->n_out; i++)
		if (ip_addr_equal(&sas->out[i]->peer.addr, peer) &&
			sa_out_path(sas->out[i])->nexthop != NULL)
			done &= resize_one(c, sas->out[i], mtu);
	if (!done && !m->unapplied)
		log_warn("out of memory to apply path MTUs: retried until there is memory");
	m->unapplied |= !done;
	return done;
}

static struct path_mtu *path_mtu_find(const struct path_mtus *m, const struct ip_addr *peer)
{
	for (unsigned int i = 0; i < m->n; i++)
		if (ip_addr_equal(&m->of[i].peer, peer))
			return &m->of[i];
	return NULL;
}

static struct path_mtu *path_mtu_add(struct path_mtus *m, const struct ip_addr *peer)
{
	if (m->n == m->room) {
		unsigned int room = 2 * m->room + 8;
		struct path_mtu *of = realloc(m->of, room * sizeof(of[0]));

		if (of == NULL)
			return NULL;
		m->of = of;
		m->room = room;
	}
	m->of[m->n] = (struct path_mtu){.peer = *peer, .search.mtu = UINT16_MAX};
	return &m->of[m->n++];
}

// Whether a probe can be sent by the SA.
static bool may_probe(const struct sa_out *sa)
{
	return sa_out_path(sa)->nexthop != NULL && sa->sa.per_packet.stop == DROP_NONE &&
	       sa_out_seq(sa) <
		       atomic_load_explicit(&sa->sa.per_packet.seq_limit, memory_order_relaxed);
}

static struct sa_out *sa_to(const struct control *c, const struct ip_addr *peer)
{
	const struct sa_list *sas = &c->snapshot->objects->sas;

	for (unsigned int i = 0; i < sas->n_out; i++)
		if (ip_addr_equal(&sas->out[i]->peer.addr, peer) && may_probe(sas->out[i]))
			return sas->out[i];
	return NULL;
}

static struct sa_out *sa_of(const struct control *c, const struct path_mtu *p)
{
	const struct sa_list *sas = &c->snapshot->objects->sas;

	for (unsigned int i = 0; i < sas->n_out; i++)
		if (sas->out[i]->sa.spi == p->search.spi &&
			ip_addr_equal(&sas->out[i]->peer.addr, &p->peer) && may_probe(sas->out[i]))
			return sas->out[i];
	return NULL;
}

// The SA that sent the packet which the error quotes, or one that may have; NULL if it may be gone,
// or until a former configuration is freed: paths may have had other sizes in it. The router
// repeats the error.
static const struct sa_out *sa_quoted(const struct control *c, const struct event *e)
{
	const struct sa_out *sa = (const struct sa_out *)e->sa;
	bool usable = c->retired == NULL ? retire_keeps_sas(c, e->generation)
					 : e->generation == c->snapshot->generation;

	return usable && may_probe(sa) ? sa : NULL;
}

// At most one line a second.
static void log_result(struct control *c, const struct path_mtu *p, enum path_result result,
	const struct event *e, uint64_t now_ms)
{
	char peer[IP_ADDR_STRLEN], router[IP_ADDR_STRLEN];

	if (result == PATH_KEPT || result == PATH_CONTINUES || now_ms < c->path_mtus.log_next_ms)
		return;
	c->path_mtus.log_next_ms = now_ms + 1000;
	ip_addr_format(peer, &p->peer);
	if (result == PATH_CONFIRMED)
		log_info("path MTU to %s is %u, reported by %s on port \"%s\"", peer, p->search.mtu,
			ip_addr_format(router, &e->peer), c->conf->ports[e->port].name);
	else if (result == PATH_RAISED && p->search.mtu == UINT16_MAX)
		log_info("path MTU to %s is the MTU of the port again", peer);
	else if (result == PATH_RAISED)
		log_info("path MTU to %s is %u", peer, p->search.mtu);
	else if (result == PATH_REFUTED)
		log_info("path MTU to %s is unchanged: no probe confirmed an ICMP error", peer);
}

// Begins a search with packets of the SA.
static void search_begin(
	struct path_mtu *p, const struct sa_out *sa, uint16_t size, uint64_t now_ms)
{
	path_search_begin(&p->search, size, sa->sa.spi, sa_out_seq(sa), now_ms);
}

struct probe {
	struct path_mtu *of;
	uint64_t now_ms;
};

static bool probe_make(struct sa_out *sa, struct rte_mbuf *m, void *arg)
{
	const struct probe *probe = arg;
	struct path_search *s = &probe->of->search;
	uint16_t id;

	// Unpredictable, so that only those on the path know the identification of the probe.
	if (getrandom(&id, sizeof(id), 0) < 0 || !esp_probe_make(sa, m, s->size, id))
		return false;
	path_search_probed(s, id, rte_pktmbuf_data_len(m), probe->now_ms);
	return true;
}

// One probe of the search, if the link address of the next hop is known by now.
static void probe(struct control *c, struct path_mtu *p, struct sa_out *sa, uint64_t now_ms)
{
	struct probe probe = {p, now_ms};

	if (!originate_by_sa(c, sa, probe_make, &probe, now_ms))
		p->search.due_ms = now_ms + PATH_ANSWER_MS;
}

static void conclude(struct control *c, struct path_mtu *p, enum path_result result,
	const struct event *e, uint64_t now_ms)
{
	log_result(c, p, result, e, now_ms);
	if (result == PATH_CONFIRMED || result == PATH_RAISED)
		resize(c, &p->peer, p->search.mtu);
}

static void answered(struct control *c, struct path_mtu *p, const struct event *e, uint64_t now_ms)
{
	const struct sa_out *sa = sa_of(c, p);
	uint32_t age_ms = c->conf->pmtu_age_s * UINT32_C(1000);
	enum path_result result = path_search_answered(
		&p->search, e->mtu, sa != NULL ? sa_out_seq(sa) : p->search.above, age_ms, now_ms);

	conclude(c, p, result, e, now_ms);
}

// Processes an error that is not confirmed yet: the largest packet that is sent now becomes a
// probe. For a while after wrong errors, errors that quote no recent number are ignored.
static void suspect(struct control *c, struct path_mtu *p, const struct event *e, uint64_t now_ms)
{
	const struct sa_out *sa;

	if (p != NULL && (p->search.size != 0 || (p->search.quiet && e->spi == 0) ||
				 e->mtu >= p->search.mtu))
		return;
	sa = sa_quoted(c, e);
	if (sa == NULL || e->mtu >= sa_out_path(sa)->link_mtu)
		return;
	if (p == NULL)
		p = path_mtu_add(&c->path_mtus, &e->addr);
	if (p != NULL)
		search_begin(p, sa, sa_out_path(sa)->link_mtu, now_ms);
}

uint16_t path_mtu_known(const struct control *c, const struct ip_addr *peer)
{
	const struct path_mtu *known = path_mtu_find(&c->path_mtus, peer);

	return known != NULL ? known->search.mtu : UINT16_MAX;
}

// Takes the step of a search that is due. False: nothing is known about the peer any more.
static bool search_continue(struct control *c, struct path_mtu *p, uint64_t now_ms)
{
	struct path_search *s = &p->search;
	struct sa_out *sa = s->size != 0 ? sa_of(c, p) : NULL;

	if (s->size == 0 && s->mtu == UINT16_MAX)
		return false;
	if (sa == NULL) { // the search begins, or with another SA once more
		sa = sa_to(c, &p->peer);
		if (sa == NULL)
			return false;
		search_begin(p, sa, link_mtu(c, sa_out_path(sa)), now_ms);
	}
	if (s->probes < PATH_PROBES)
		probe(c, p, sa, now_ms);
	else
		conclude(c, p, path_search_unanswered(s, link_mtu(c, sa_out_path(sa)), now_ms),
			NULL, now_ms);
	return true;
}

void path_mtu_learn(struct control *c, const struct event *e, uint64_t now_ms)
{
	struct path_mtu *p = path_mtu_find(&c->path_mtus, &e->addr);
	const struct path_quote q = {e->mtu, e->spi, rte_be_to_cpu_32(e->seq),
		rte_be_to_cpu_16(e->quoted_id), e->quoted_len};

	if (p != NULL && path_search_is_answer(&p->search, &q))
		answered(c, p, e, now_ms);
	else
		suspect(c, p, e, now_ms);
	p = path_mtu_find(&c->path_mtus, &e->addr);
	if (p != NULL && now_ms >= p->search.due_ms)
		search_continue(c, p, now_ms);
}

static void path_mtu_check(struct control *c, struct path_mtu *p, uint64_t now_ms)
{
	struct path_mtus *m = &c->path_mtus;

	if (search_continue(c, p, now_ms))
		return;
	p->search = (struct path_search){.mtu = UINT16_MAX};
	if (resize(c, &p->peer, UINT16_MAX))
		*p = m->of[--m->n];
}

void path_mtu_tick(struct control *c, uint64_t now_ms)
{
	struct path_mtus *m = &c->path_mtus;

	if (m->unapplied)
		path_mtus_apply(c);
	for (unsigned int i = m->n; i-- > 0;)
		if (now_ms >= m->of[i].search.due_ms)
			path_mtu_check(c, &m->of[i], now_ms);
}

void path_mtus_apply(struct control *c)
{
	struct path_mtus *m = &c->path_mtus;
	bool done = true;

	if (!c->conf->pmtu_learn)
		m->n = 0;
	for (unsigned int i = 0; i < m->n; i++)
		done &= resize(c, &m->of[i].peer, m->of[i].search.mtu);
	m->unapplied = !done;
}

void path_mtus_free(struct path_mtus *m)
{
	free(m->of);
	*m = (struct path_mtus){0};
}
