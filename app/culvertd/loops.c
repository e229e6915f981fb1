// SPDX-License-Identifier: BSD-3-Clause
// The loops as the control thread sets them up: which queues each polls, whether they share the
// work of tunnels, and how they wait.
#include "loop.h"

#include <errno.h>
#include <string.h>

#include "bond_queue.h"
#include "fanout.h"
#include "log.h"

// With as many inbound SAs for each worker, a hash of the device distributes them about evenly.
#define SAS_PER_WORKER 4

// Whether tunnels are shared: see loops_assign().
static bool tunnels_shared(
	unsigned int n, const struct port ports[], unsigned int n_ports, unsigned int n_sas)
{
	bool shared = n_sas < SAS_PER_WORKER * n;

	for (unsigned int p = 0; p < n_ports; p++)
		shared |= ports[p].n_rx > 0 && ports[p].n_rx < n; // a VLAN has none
	return shared && n > 1;
}

static int tunnels_share(struct loop *const loops[], unsigned int n)
{
	struct worker *workers[CONF_WORKERS_MAX];

	for (unsigned int i = 0; i < n; i++)
		workers[i] = loops[i]->worker;
	return fanout_start(workers, n);
}

// Whether senders may leave checksums to the receiver, and the driver does not complete them: with
// tso, and where the kernel passes frames on.
static bool lacks_checksums(const struct port *p)
{
	return p->is_attached || (p->offloads.mbuf_flags & RTE_MBUF_F_RX_LRO) != 0;
}

// Some devices remove tags without being asked.
static uint64_t mbuf_flags(const struct port *p)
{
	return p->offloads.mbuf_flags |
	       (p->vlans != NULL ? RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED : 0);
}

unsigned int loop_queues(const struct loop *l)
{
	unsigned int queues = 0;

	for (unsigned int i = 0; i < loop_n_rx(l); i++)
		queues += loop_queue_port(&l->rx[i]) != LOOP_NO_PORT;
	return queues;
}

bool loops_have_room(struct loop *const loops[], unsigned int n, unsigned int n_queues)
{
	for (unsigned int i = 0; i < n; i++)
		n_queues += loop_queues(loops[i]);
	return n_queues <= n * LOOP_QUEUES_MAX;
}

static struct loop *loop_with_fewest(struct loop *const loops[], unsigned int n)
{
	struct loop *fewest = loops[0];

	for (unsigned int i = 1; i < n; i++)
		if (loop_queues(loops[i]) < loop_queues(fewest))
			fewest = loops[i];
	return fewest;
}

// A place without a port, or a new one, which the worker does not look at yet.
static struct loop_queue *place_find(struct loop *l)
{
	unsigned int i = 0;

	while (i < loop_n_rx(l) && loop_queue_port(&l->rx[i]) != LOOP_NO_PORT)
		i++;
	return &l->rx[i];
}

void loops_queues_assign(
	struct loop *const loops[], unsigned int n, const struct port ports[], uint16_t port)
{
	const struct port *p = &ports[port];

	for (uint16_t i = 0; i < p->n_rx; i++) {
		struct loop *l = loop_with_fewest(loops, n);
		struct loop_queue *q = place_find(l);
		const unsigned int place = (unsigned int)(q - l->rx);

		q->queue = i;
		q->spread = p->n_rx < n;
		q->has_inactive = port_has_members(p, CONF_ACTIVE_BACKUP);
		q->lacks_checksums = lacks_checksums(p);
		atomic_store_explicit(&q->mbuf_flags, mbuf_flags(p), memory_order_relaxed);
		atomic_store_explicit(&q->vlans, p->vlans, memory_order_relaxed);
		memset(q->bursts, 0, sizeof(q->bursts));
		atomic_store_explicit(&q->port, port, memory_order_relaxed);
		if (place == loop_n_rx(l))
			atomic_store_explicit(&l->n_rx, place + 1, memory_order_release);
	}
}

void loop_queues_forget(struct loop *l, uint16_t port)
{
	for (unsigned int i = 0; i < loop_n_rx(l); i++)
		if (loop_queue_port(&l->rx[i]) == port)
			atomic_store_explicit(&l->rx[i].port, LOOP_NO_PORT, memory_order_relaxed);
}

int loops_assign(struct loop *const loops[], unsigned int n, const struct port ports[],
	unsigned int n_ports, unsigned int n_sas, struct rte_rcu_qsbr *qsbr)
{
	for (unsigned int p = 0; p < n_ports; p++) {
		if (port_has_members(&ports[p], CONF_LACP))
			loops[0]->lacp[loops[0]->n_lacp++] = (uint16_t)p;
		if (!loops_have_room(loops, n, ports[p].n_rx))
			return -E2BIG;
		loops_queues_assign(loops, n, ports, (uint16_t)p);
	}
	for (unsigned int i = 0; i < n; i++) {
		loops[i]->qsbr = qsbr;
		loops[i]->peers = loops;
		loops[i]->n_workers = n;
		loops[i]->ports = ports;
	}
	return tunnels_shared(n, ports, n_ports, n_sas) ? tunnels_share(loops, n) : 0;
}

// With interrupts: arms the receive interrupt of every queue for the worker.
static int queues_add(struct loop *l)
{
	for (unsigned int i = 0; i < loop_n_rx(l); i++) {
		const struct port *p = &l->ports[loop_queue_port(&l->rx[i])];
		const struct conf_port *c = p->conf;
		int rc;

		if (!port_is_open(p))
			continue;
		rc = idle_queue_add(&l->idle, p->id, l->rx[i].queue);
		if (rc == 0)
			continue;
		log_warn("port \"%s\": device \"%s\" has no receive interrupts: worker "
			 "%u uses idle = \"sleep\" instead",
			c->name, c->device, l->worker->id);
		return rc;
	}
	return 0;
}

static void wait_by_interrupt(struct loop *l)
{
	if (idle_init(&l->idle, CONF_IDLE_INTERRUPT) == 0 && queues_add(l) == 0)
		return;
	idle_fini(&l->idle);
	idle_init(&l->idle, CONF_IDLE_SLEEP);
}

void loops_idle(struct loop *const loops[], unsigned int n, enum conf_idle way)
{
	for (unsigned int i = 0; i < n; i++)
		if (way == CONF_IDLE_INTERRUPT)
			wait_by_interrupt(loops[i]);
		else
			idle_init(&loops[i]->idle, way);
}

void loop_queues_add(struct loop *l, uint16_t port)
{
	const struct port *p = &l->ports[port];

	for (unsigned int i = 0; i < loop_n_rx(l); i++) {
		if (loop_queue_port(&l->rx[i]) != port)
			continue;
		atomic_store_explicit(&l->rx[i].mbuf_flags, mbuf_flags(p), memory_order_relaxed);
		l->rx[i].lacks_checksums = lacks_checksums(p);
		if (l->idle.way == CONF_IDLE_INTERRUPT)
			idle_queue_add(&l->idle, p->id, l->rx[i].queue);
	}
}

void loop_queues_remove(struct loop *l, uint16_t port)
{
	for (unsigned int i = 0; i < loop_n_rx(l); i++)
		if (l->idle.way == CONF_IDLE_INTERRUPT && loop_queue_port(&l->rx[i]) == port)
			rte_eth_dev_rx_intr_ctl_q(l->ports[port].id, l->rx[i].queue, l->idle.epoll,
				RTE_INTR_EVENT_DEL, NULL);
}

void loop_vlans_follow(struct loop *l)
{
	for (unsigned int i = 0; i < loop_n_rx(l); i++) {
		const struct port *p = &l->ports[loop_queue_port(&l->rx[i])];

		// In this order: who sees the VLANs keeps the flags.
		atomic_store_explicit(&l->rx[i].mbuf_flags, mbuf_flags(p), memory_order_relaxed);
		atomic_store_explicit(&l->rx[i].vlans, p->vlans, memory_order_release);
	}
}
