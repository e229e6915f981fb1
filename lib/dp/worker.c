// SPDX-License-Identifier: BSD-3-Clause
#include "worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "line_memory.h"

#define EVENTS 1024

#define DATAGRAMS_MAX 1024 // incomplete ones on one side

// Limits over all ports: together with worker_event_post() they never fill the ring.
static const uint16_t share_events[SHARES] = {[SHARE_LINK] = EVENTS / 4,
	[SHARE_RESOLVE] = EVENTS / 8,
	[SHARE_PMTU] = EVENTS / 16,
	[SHARE_ACQUIRE] = EVENTS / 32};

static int fragments_init(struct worker *w, const struct worker_params *p)
{
	int rc = 0;

	for (unsigned int i = 0; i < REASSEMBLY_SIDES && rc == 0; i++)
		rc = frag_table_init(&w->fragments[i],
			RTE_MIN(p->reassembly_max, (uint32_t)DATAGRAMS_MAX), p->reassembly_max,
			&p->hash_key);
	return rc;
}

static void fragments_fini(struct frag_table *t)
{
	const struct frag_datagram *d;
	const struct frag *f;

	TAILQ_FOREACH(d, &t->oldest, by_age)
	SLIST_FOREACH(f, &d->frags, next)
	rte_pktmbuf_free(f->m);
	frag_table_fini(t);
}

// Each buffer of a worker has room for struct handed.
static void check_pool(struct rte_mempool *pool)
{
	assert(rte_pktmbuf_priv_size(pool) >= sizeof(struct handed));
}

static struct rte_ring *ring_new(const char *of, unsigned int worker)
{
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "%s-%u", of, worker);
	return rte_ring_create(name, WORKER_HANDED_MAX, SOCKET_ID_ANY, RING_F_SC_DEQ);
}

static int rings_init(struct worker *w)
{
	w->frames = ring_new("frames", w->id);
	w->handed = ring_new("handed", w->id);
	w->departing = ring_new("departing", w->id);
	return w->frames != NULL && w->handed != NULL && w->departing != NULL ? 0 : -ENOMEM;
}

struct worker *worker_new(const struct worker_params *p)
{
	char name[RTE_RING_NAMESIZE];
	struct worker *w = line_calloc(1, sizeof(*w));

	check_pool(p->pool);
	check_pool(p->large_pool);
	if (w == NULL)
		return NULL;
	w->id = p->id;
	w->sa_place = SA_PLACE(p->id);
	w->pool = p->pool;
	w->large_pool = p->large_pool;
	w->neigh = p->neigh;
	w->dad = p->dad;
	w->flows = p->flows;
	w->flow_slice = p->flow_slice;
	w->published = p->published;
	w->tsc_hz = p->tsc_hz;
	w->reassembly_ttl = p->reassembly_s * p->tsc_hz;
	w->hash_key = p->hash_key;
	w->stages.every = WORKER_STAGES_EVERY;
	w->errors_per_second = p->errors_per_second;
	w->echoes_per_second = p->echoes_per_second;
	w->host_per_second = p->host_per_second;
	w->held_max = p->held_max;
	w->deadline.until = UINT64_MAX;
	w->released_max = p->released_max;
	w->held = calloc(p->held_max + p->released_max, sizeof(w->held[0]));
	w->hold.max = p->hold_max;
	w->hold.at = calloc(p->hold_max + 1, sizeof(w->hold.at[0]));
	snprintf(name, sizeof(name), "events-%u", p->id);
	w->events = rte_ring_create_elem(
		name, sizeof(struct event), EVENTS, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	// The first identification is unpredictable (RFC 7739 5.2).
	if (w->held == NULL || w->hold.at == NULL || w->events == NULL || rings_init(w) < 0 ||
		fragments_init(w, p) < 0 ||
		getrandom(&w->fragment_id, sizeof(w->fragment_id), 0) < 0) {
		worker_free(w);
		errno = ENOMEM;
		return NULL;
	}
	return w;
}

void worker_flow_slice_set(struct worker *w, uint32_t slice)
{
	atomic_store_explicit(&w->flow_slice, slice, memory_order_relaxed);
}

void worker_limits_set(struct worker *w, uint32_t errors, uint32_t echoes, uint32_t host)
{
	atomic_store_explicit(&w->errors_per_second, errors, memory_order_relaxed);
	atomic_store_explicit(&w->echoes_per_second, echoes, memory_order_relaxed);
	atomic_store_explicit(&w->host_per_second, host, memory_order_relaxed);
}

void worker_host_set(struct worker *w, struct rte_ring *from, void (*wake)(void *arg), void *arg)
{
	w->from_host = from;
	w->host_wake = wake;
	w->host_wake_arg = arg;
}

void worker_host_add(struct worker *w, unsigned int host, struct rte_ring *to)
{
	atomic_store_explicit(&w->to_host[host], to, memory_order_release);
}

void worker_peers_set(struct worker *w, struct worker *const peers[], unsigned int n)
{
	w->peers = peers;
	w->n_workers = n;
}

void worker_sender_set(struct worker *w, worker_send_fn send, void *sender)
{
	w->send = send;
	w->sender = sender;
}

uint64_t worker_held(const struct worker *w)
{
	uint64_t n =
		w->n_held + w->hold.n + rte_ring_count(w->handed) + rte_ring_count(w->departing);

	if (w->from_host != NULL)
		n += rte_ring_count(w->from_host);
	for (unsigned int i = 0; i < REASSEMBLY_SIDES; i++)
		n += w->fragments[i].n_frags;
	return n;
}

void worker_free(struct worker *w)
{
	if (w == NULL)
		return;
	for (uint32_t i = 0; i < w->n_held; i++)
		rte_pktmbuf_free(w->held[i].p.m);
	for (uint32_t i = 0; i < w->hold.n; i++)
		rte_pktmbuf_free(w->hold.at[(w->hold.first + i) % w->hold.max]);
	for (unsigned int i = 0; i < PORTS_MAX; i++)
		rte_pktmbuf_free_bulk(w->tx[i].m, w->tx[i].n);
	for (unsigned int i = 0; i < REASSEMBLY_SIDES; i++)
		fragments_fini(&w->fragments[i]);
	rte_ring_free(w->events);
	rte_ring_free(w->frames);
	rte_ring_free(w->handed);
	rte_ring_free(w->departing);
	line_free(w->fanout);
	free(w->held);
	free(w->hold.at);
	line_free(w);
}

void worker_release(struct worker *w, struct rte_mbuf *m)
{
	if (w->n_free_batch == FREE_BATCH_MAX)
		worker_mbufs_free(w);
	w->free_batch[w->n_free_batch++] = m;
}

struct event worker_event_about(
	const struct worker *w, const struct pkt *p, const struct ip_view *v, enum event_kind kind)
{
	return (struct event){.kind = (uint8_t)kind,
		.port = pkt_port(w, p),
		.addr = v->src,
		.peer = v->dst,
		.proto = v->proto,
		.addr_port = v->src_port,
		.peer_port = v->dst_port,
		.has_icmp_type = v->has_icmp_type,
		.icmp_type = v->icmp_type};
}

void worker_event_post(struct worker *w, struct event *e)
{
	if (rte_ring_count(w->events) < EVENTS / 2)
		rte_ring_enqueue_elem(w->events, e, sizeof(*e));
}

// Events that are in the ring.
static uint32_t queued(uint32_t posted, const _Atomic uint32_t *dequeued)
{
	return posted - atomic_load_explicit(dequeued, memory_order_relaxed);
}

void worker_event_post_answer(struct worker *w, struct event *e)
{
	rte_ring_enqueue_elem(w->events, e, sizeof(*e));
}

void worker_event_post_share(struct worker *w, struct event *e, enum event_share share)
{
	const uint32_t all = queued(w->posted[share][e->port], &w->dequeued[share][e->port]);
	const uint32_t max = (uint32_t)share_events[share] / w->snapshot->n_ports;
	const uint16_t of = worker_holder_cell(w, e->holder);

	if (w->events == NULL) // of match.h: nothing happens
		return;
	if (all >= max)
		return;
	if (share == SHARE_RESOLVE &&
		queued(w->posted_of[e->port][of], &w->dequeued_of[e->port][of]) >=
			(max - all) * NEIGH_HOLDER_SHARE)
		return;
	e->share = (uint8_t)share;
	if (rte_ring_enqueue_elem(w->events, e, sizeof(*e)) < 0)
		return;
	w->posted[share][e->port]++;
	if (share == SHARE_RESOLVE)
		w->posted_of[e->port][of]++;
}

bool worker_event_dequeue(struct worker *w, struct event *e)
{
	if (rte_ring_dequeue_elem(w->events, e, sizeof(*e)) < 0)
		return false;
	if (e->share != SHARE_NONE)
		atomic_fetch_add_explicit(&w->dequeued[e->share][e->port], 1, memory_order_relaxed);
	if (e->share == SHARE_RESOLVE)
		atomic_fetch_add_explicit(
			&w->dequeued_of[e->port][worker_holder_cell(w, e->holder)], 1,
			memory_order_relaxed);
	return true;
}

void worker_mbufs_free(struct worker *w)
{
	rte_pktmbuf_free_bulk(w->free_batch, w->n_free_batch);
	w->n_free_batch = 0;
}

bool worker_has_token(const struct worker *w, struct rate_bucket *b, uint32_t rate, uint32_t burst)
{
	uint64_t full = w->tsc_hz * burst;
	uint64_t elapsed = RTE_MIN(w->now - b->time, w->tsc_hz);

	b->time = w->now;
	b->tokens = RTE_MIN(b->tokens + elapsed * rate, full);
	return b->tokens >= w->tsc_hz;
}

bool worker_is_due(const struct worker *w, uint64_t *next, uint32_t ms)
{
	if (w->now < *next)
		return false;
	*next = w->now + ms * w->tsc_hz / 1000;
	return true;
}
