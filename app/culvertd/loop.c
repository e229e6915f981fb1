// SPDX-License-Identifier: BSD-3-Clause
#include "loop.h"

#include <errno.h>
#include <stdio.h>

#include <rte_cycles.h>

#include "bond_queue.h"
#include "fanout.h"
#include "handover.h"
#include "host.h"
#include "line_memory.h"
#include "pipeline.h"
#include "pkt_drop.h"
#include "rx_checksum.h"
#include "stack_wipe.h"
#include "vlan.h"

#define RING_FRAMES 2048

static void drop_all(struct loop *l, struct rte_mbuf *const m[], unsigned int n, enum drop reason)
{
	for (unsigned int i = 0; i < n; i++)
		pkt_drop(l->worker, &(struct pkt){.m = m[i]}, reason);
}

// Returns how many of n frames were sent, which become fewer if there are no buffers for them.
static uint16_t send_vlan(struct loop *l, uint16_t port, struct rte_mbuf *m[], uint16_t *n)
{
	const struct port *p = &l->ports[port], *device = p->parent;
	uint16_t queue = (uint16_t)l->worker->id, sent;

	*n = vlan_insert(l->worker, port, p->vlan, device->inserts_vlan, m, *n);
	// Some drivers insert the tag here.
	sent = device->inserts_vlan ? rte_eth_tx_prepare(device->id, queue, m, *n) : *n;
	sent = rte_eth_tx_burst(device->id, queue, m, sent);
	vlan_unsent(l->worker, port, m + sent, (uint16_t)(*n - sent));
	return sent;
}

static void send_frames(struct loop *l, uint16_t port, struct rte_mbuf *m[], uint16_t n)
{
	const struct port *p = port_device(&l->ports[port]);
	unsigned int id = l->worker->id, sent;
	struct loop *sender;

	if (unlikely(!port_is_open(p))) {
		drop_all(l, m, n, DROP_PORT_CLOSED);
		return;
	}
	if (id < p->n_tx) {
		sent = likely(p == &l->ports[port]) ? rte_eth_tx_burst(p->id, (uint16_t)id, m, n)
						    : send_vlan(l, port, m, &n);
		l->worker->counters.tx += sent;
		if (unlikely(sent < n))
			l->refused[p - l->ports] += n - sent;
		drop_all(l, m + sent, n - sent, DROP_TX_FULL);
		return;
	}
	// No TX queue of our own: worker 0, 1, ... has one.
	for (uint16_t i = 0; i < n; i++)
		m[i]->hash.usr = port; // m->port is the ingress port
	sender = l->peers[id % p->n_tx];
	sent = rte_ring_enqueue_burst(sender->out, (void **)m, n, NULL);
	idle_wake(&sender->idle);
	drop_all(l, m + sent, n - sent, DROP_RING_FULL);
}

static void send_buffer(void *loop, uint16_t port)
{
	struct loop *l = loop;
	struct tx_buffer *tx = &l->worker->tx[port];

	if (tx->n == 0)
		return;
	send_frames(l, port, tx->m, tx->n);
	tx->n = 0;
}

struct loop *loop_new(struct worker *w)
{
	struct loop *l = line_calloc(1, sizeof(*l));
	char name[RTE_RING_NAMESIZE];

	if (l == NULL)
		return NULL;
	l->worker = w;
	worker_sender_set(w, send_buffer, l);
	idle_init(&l->idle, CONF_IDLE_POLL);
	snprintf(name, sizeof(name), "out-%u", w->id);
	l->out = rte_ring_create(name, RING_FRAMES, SOCKET_ID_ANY, RING_F_SC_DEQ);
	if (l->out != NULL)
		return l;
	l->worker = NULL; // still the caller's
	loop_free(l);
	errno = ENOMEM;
	return NULL;
}

void loop_free(struct loop *l)
{
	if (l == NULL)
		return;
	idle_fini(&l->idle);
	worker_free(l->worker);
	rte_ring_free(l->out);
	line_free(l);
}

bool loop_send(struct loop *l, uint16_t port, struct rte_mbuf *m)
{
	m->hash.usr = port; // as send_frames() does
	if (rte_ring_enqueue(l->out, m) < 0)
		return false;
	idle_wake(&l->idle);
	return true;
}

uint64_t loop_held(const struct loop *l)
{
	return worker_held(l->worker) + rte_ring_count(l->out);
}

// Wakes the workers to which something was handed over.
static void wake_peers(struct loop *l)
{
	uint32_t to_wake = l->worker->to_wake;

	l->worker->to_wake = 0;
	for (; to_wake != 0; to_wake &= to_wake - 1)
		idle_wake(&l->peers[rte_bsf32(to_wake)]->idle);
}

static void flush(struct loop *l)
{
	for (unsigned int p = 0; p < l->worker->snapshot->n_ports; p++)
		send_buffer(l, (uint16_t)p);
	worker_mbufs_free(l->worker);
	if (unlikely(l->worker->to_wake != 0))
		wake_peers(l);
}

// Advances the heartbeat, which also has the phase of the worker.
static inline void beat(struct loop *l, unsigned int place)
{
	uint64_t last = atomic_load_explicit(&l->heartbeat, memory_order_relaxed);

	atomic_store_explicit(
		&l->heartbeat, (last | LOOP_PLACE_MASK) + 1 + place, memory_order_relaxed);
}

static void wait(struct loop *l, unsigned int rounds)
{
	if (idle_sleeps(&l->idle))
		l->last_pass = 0;
	beat(l, LOOP_AT_REST);
	rte_rcu_qsbr_thread_offline(l->qsbr, l->worker->id);
	idle_wait(&l->idle, rounds);
	rte_rcu_qsbr_thread_online(l->qsbr, l->worker->id);
}

// Engines leave keys of SAs on the stack: wiped before the worker reports that it no longer uses
// the previous snapshot. The snapshot of its last pass may be freed: the worker may have slept
// since.
static void keys_wipe(struct loop *l)
{
	const struct snapshot *s = atomic_load_explicit(l->worker->published, memory_order_acquire);

	if (s->generation == l->generation)
		return;
	l->generation = s->generation;
	stack_wipe();
}

// Drops all that the worker and its rings hold.
static void drop_held(void *loop)
{
	struct loop *l = loop;

	loop_stop(l);
	if (l->worker->fanout != NULL)
		fanout_update(l->worker);
}

// Waits past the deadline, and returns the TSC when there is another one. The worker has no
// pointers of a pass, so that it can report that it uses nothing.
static __rte_cold __rte_noinline uint64_t wait_for_deadline(struct loop *l)
{
	uint64_t now;

	while (deadline_is_past(&l->worker->deadline, now = rte_rdtsc())) {
		deadline_obey(&l->worker->deadline, drop_held, l);
		keys_wipe(l);
		wait(l, 0);
	}
	return now;
}

// Waits past the deadline. Time counts as idle from a pass without work to the next pass, of either
// kind. Returns the TSC.
static uint64_t pass_time(struct loop *l, bool works)
{
	uint64_t now = rte_rdtsc();

	if (unlikely(deadline_is_past(&l->worker->deadline, now)))
		now = wait_for_deadline(l);
	if (l->last_pass != 0 && now - l->last_pass > l->longest_round)
		l->longest_round = now - l->last_pass;
	l->last_pass = now;
	if (l->idle_since != 0)
		l->idle_cycles += now - l->idle_since;
	l->idle_since = works ? 0 : now;
	return now;
}

static void loop_pass(struct loop *l, struct rte_mbuf *m[], uint16_t n)
{
	pipeline_pass(l->worker, m, n, pass_time(l, n > 0));
	flush(l);
}

// Work of tunnels that workers share. Returns not 0 as long as the worker must not rest.
static unsigned int share_tunnels(struct loop *l)
{
	struct worker *w = l->worker;
	unsigned int work = 0;

	if (handover_pending(w)) {
		pipeline_pass(w, NULL, 0, pass_time(l, true));
		flush(l);
		work++;
	}
	if (fanout_can_help(w)) {
		work += pipeline_help(w, pass_time(l, true));
		flush(l);
	}
	if (fanout_pending(w)) {
		pipeline_keep(w, pass_time(l, true));
		flush(l);
		work++;
	}
	if (work > 0 && rte_rdtsc() >= w->next_tick)
		loop_pass(l, NULL, 0);
	return work;
}

// Leaves those of n frames that are processed here, and returns how many.
static uint16_t keep_owned(
	struct loop *l, const struct loop_queue *q, struct rte_mbuf *m[], uint16_t n)
{
	n = fanout_distribute(l->worker, m, n, q->spread);
	if (l->worker->to_wake != 0)
		wake_peers(l);
	return n;
}

// Takes a burst from a queue. Returns how many frames; *kept: those not given to other workers.
static uint16_t poll_queue(
	struct loop *l, struct loop_queue *q, const struct port *p, uint16_t *kept)
{
	struct rte_mbuf *m[LOOP_BURST];
	const uint16_t port = loop_queue_port(q); // stays while it is open
	const uint16_t taken = rte_eth_rx_burst(p->id, q->queue, m, LOOP_BURST);
	const struct vlan_map *vlans;
	uint64_t flags;
	uint16_t n = taken;

	if (n == 0)
		return 0;
	vlans = atomic_load_explicit(&q->vlans, memory_order_acquire);
	flags = atomic_load_explicit(&q->mbuf_flags, memory_order_relaxed);
	q->bursts[rte_fls_u32(n) - 1]++;
	// Compared first: a store to a location that the driver has just written takes some ten
	// cycles.
	for (uint16_t f = 0; f < n; f++) {
		if (unlikely(m[f]->port != port))
			m[f]->port = port;
		if (unlikely((m[f]->ol_flags & ~flags) != 0))
			m[f]->ol_flags &= flags;
	}
	if (unlikely(vlans != NULL))
		n = vlan_receive(l->worker, vlans, m, n);
	if (unlikely(q->lacks_checksums))
		rx_checksum_complete(l->worker, m, n);
	if (unlikely(l->worker->fanout != NULL))
		n = keep_owned(l, q, m, n);
	if (likely(n > 0))
		loop_pass(l, m, n);
	*kept = n;
	return taken;
}

// Where workers share its received packets, it takes as many bursts as keep them busy. Frames for
// which there is no room stay with the device.
static unsigned int poll_shared(struct loop *l, struct loop_queue *q)
{
	unsigned int work = 0, bursts = 0;
	const struct port *p;
	uint16_t n, kept;

	do {
		// A pass may have waited, and the port been closed or removed meanwhile.
		p = &l->ports[loop_queue_port(q)];
		if (!fanout_has_room(l->worker) || !port_is_open(p))
			break;
		n = poll_queue(l, q, p, &kept);
		work += n;
		bursts++;
	} while (n == LOOP_BURST && kept < n && fanout_is_short(l->worker, bursts));
	return work;
}

static unsigned int poll_ports(struct loop *l)
{
	const unsigned int n = loop_n_rx(l);
	unsigned int work = 0;
	uint16_t kept;

	for (unsigned int i = 0; i < n; i++) {
		struct loop_queue *q = &l->rx[i];
		const struct port *p = &l->ports[loop_queue_port(q)];

		beat(l, i);
		if (unlikely(!port_is_open(p)))
			continue;
		if (unlikely(q->has_inactive))
			bond_discard_inactive(p, loop_queue_port(q), q->queue, l->worker);
		if (unlikely(l->worker->fanout != NULL))
			work += poll_shared(l, q);
		else
			work += poll_queue(l, q, p, &kept);
	}
	return work;
}

// Frames that other threads have given to this worker to be sent.
static unsigned int send_given(struct loop *l)
{
	struct rte_mbuf *m[LOOP_BURST];
	unsigned int n;

	if (rte_ring_empty(l->out))
		return 0;
	if (unlikely(deadline_is_past(&l->worker->deadline, rte_rdtsc())))
		wait_for_deadline(l);
	n = rte_ring_dequeue_burst(l->out, (void **)m, LOOP_BURST, NULL);
	for (unsigned int i = 0; i < n; i++)
		send_frames(l, (uint16_t)m[i]->hash.usr, &m[i], 1);
	return n;
}

static unsigned int poll_rings(struct loop *l)
{
	struct rte_mbuf *m[LOOP_BURST];
	unsigned int work = 0;

	beat(l, LOOP_AT_RINGS);
	if (likely(l->worker->fanout == NULL) || !fanout_is_behind(l->worker))
		work = rte_ring_dequeue_burst(l->worker->frames, (void **)m, LOOP_BURST, NULL);
	if (work > 0)
		loop_pass(l, m, (uint16_t)work);
	if (host_pending(l->worker)) {
		loop_pass(l, NULL, 0);
		work++;
	}
	work += send_given(l);
	worker_mbufs_free(l->worker);
	if (unlikely(l->worker->fanout != NULL))
		work += share_tunnels(l);
	return work;
}

// Of the queues of all open ports.
static void interrupts_set(const struct loop *l, int (*set)(uint16_t ethdev, uint16_t queue))
{
	for (unsigned int i = 0; i < loop_n_rx(l); i++) {
		const struct port *p = &l->ports[loop_queue_port(&l->rx[i])];

		if (port_is_open(p))
			set(p->id, l->rx[i].queue);
	}
}

// Frames received before interrupts were armed raise none: polls once more. Returns how many.
static unsigned int wait_for_interrupts(struct loop *l, unsigned int rounds)
{
	unsigned int work;

	interrupts_set(l, rte_eth_dev_rx_intr_enable);
	idle_announce(&l->idle);
	work = poll_ports(l) + poll_rings(l);
	rte_rcu_qsbr_quiescent(l->qsbr, l->worker->id);
	if (work == 0)
		wait(l, rounds);
	idle_renounce(&l->idle);
	interrupts_set(l, rte_eth_dev_rx_intr_disable);
	return work;
}

int loop_run(void *arg)
{
	struct loop *l = arg;
	unsigned int idle = 0;

	l->tid = rte_sys_gettid();
	rte_rcu_qsbr_thread_register(l->qsbr, l->worker->id);
	rte_rcu_qsbr_thread_online(l->qsbr, l->worker->id);
	for (;;) {
		enum loop_phase phase = atomic_load_explicit(&l->phase, memory_order_acquire);
		unsigned int work = phase == LOOP_RUN ? poll_ports(l) : 0;

		work += poll_rings(l);
		bonds_send_lacp(l->ports, l->lacp, l->n_lacp);
		keys_wipe(l);
		rte_rcu_qsbr_quiescent(l->qsbr, l->worker->id);
		if (work > 0) {
			idle = 0;
			continue;
		}
		loop_pass(l, NULL, 0); // timers only
		if (phase == LOOP_STOP)
			break;
		atomic_store_explicit(&l->reached, phase, memory_order_release);
		if (++idle < l->idle.patience)
			continue;
		if (l->idle.way != CONF_IDLE_INTERRUPT || phase != LOOP_RUN)
			wait(l, idle);
		else if (wait_for_interrupts(l, idle) > 0)
			idle = 0;
	}
	rte_rcu_qsbr_thread_offline(l->qsbr, l->worker->id);
	rte_rcu_qsbr_thread_unregister(l->qsbr, l->worker->id);
	atomic_store_explicit(&l->reached, LOOP_STOP, memory_order_release);
	return 0;
}

void loop_stop(struct loop *l)
{
	struct rte_mbuf *m;

	while (rte_ring_dequeue(l->out, (void **)&m) == 0)
		pkt_drop_left(l->worker, m);
	pipeline_stop(l->worker);
}
