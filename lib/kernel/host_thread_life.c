// SPDX-License-Identifier: BSD-3-Clause
#include "host_thread_parts.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "event_log.h"
#include "host.h"
#include "log.h"

#define RING_TO   512 // packets for one host
#define RING_FROM 512 // for one worker
#define TRY_AGAIN 100 // calls of host_thread_tick()

static int no_memory(void)
{
	log_error("out of memory for hosts");
	return -ENOMEM;
}

static int watch(const struct host_thread *h, int fd, uint32_t events, unsigned int host)
{
	struct epoll_event e = {.events = events, .data.u32 = host};

	return epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &e);
}

static struct host_thread *thread_new(const struct control *c)
{
	struct host_thread *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->pool = c->pool;
	h->workers = c->workers;
	for (unsigned int i = 0; i < HOSTS_MAX; i++)
		h->host[i].fd = -1;
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	h->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->epoll >= 0 && h->event >= 0 && watch(h, h->event, EPOLLIN | EPOLLET, HOSTS_MAX) == 0)
		return h;
	host_thread_close(h);
	return NULL;
}

// Any thread. Either the thread sees the packets, or we see that it waits.
static void wake(void *thread)
{
	struct host_thread *h = thread;
	const uint64_t one = 1;

	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&h->waiting, memory_order_relaxed) &&
		write(h->event, &one, sizeof(one)) < 0)
		log_debug("cannot wake the host's thread: %s", strerror(errno));
}

// --- interfaces come and go ---

static int ring_make(struct host_thread *h, unsigned int host)
{
	struct host *p = &h->host[host];
	char name[RTE_RING_NAMESIZE];

	if (p->to != NULL)
		return 0;
	snprintf(name, sizeof(name), "host-%u", host);
	p->to = rte_ring_create(name, RING_TO, SOCKET_ID_ANY, RING_F_SC_DEQ);
	for (unsigned int i = 0; i < h->n_workers && p->to != NULL; i++)
		worker_host_add(h->workers[i], host, p->to);
	return p->to != NULL ? 0 : no_memory();
}

static int host_open(struct host_thread *h, unsigned int host, const struct host_iface *i)
{
	struct host *p = &h->host[host];
	int fd = ring_make(h, host) == 0 ? host_iface_open(host, i) : -1;

	if (fd < 0)
		return -EIO;
	snprintf(p->name, sizeof(p->name), "%s", i->name);
	p->worker = h->n_workers > 0 ? host % h->n_workers : 0;
	p->packets = (struct host_packets){0};
	p->since = i->since;
	p->mtu = i->mtu;
	p->carrier = false;
	p->fd = fd;
	atomic_store_explicit(&p->state, SERVING, memory_order_release);
	return watch(h, fd, EPOLLIN, host) == 0 ? 0 : no_memory();
}

// The file is closed when the thread does not use it any more: no other may have its number before.
static void host_leave(struct host_thread *h, unsigned int host)
{
	struct host *p = &h->host[host];
	const int fd = p->fd;

	atomic_store_explicit(&p->state, LEAVING, memory_order_release);
	wake(h);
	while (atomic_load_explicit(&p->state, memory_order_acquire) != NONE)
		usleep(1000);
	close(fd);
	host_iface_closed(host);
}

static void host_leave_other(struct host_thread *h, unsigned int host, const struct host_iface *i)
{
	const struct host *p = &h->host[host];

	if (p->state != NONE && (i->name == NULL || !is_serving(p) || p->since != i->since ||
					strcmp(p->name, i->name) != 0))
		host_leave(h, host);
}

static void host_change(struct host_thread *h, unsigned int host, const struct host_iface *i)
{
	struct host *p = &h->host[host];

	host_leave_other(h, host, i);
	if (i->name == NULL)
		return;
	if (p->state == NONE) {
		host_open(h, host, i);
		return;
	}
	host_iface_set(host, i);
	if (p->mtu != i->mtu)
		host_iface_mtu(host, i);
	p->mtu = i->mtu;
}

static void each_wanted(struct host_thread *h, struct control *c,
	void (*change)(struct host_thread *h, unsigned int host, const struct host_iface *i))
{
	for (unsigned int i = 0; i < HOSTS_MAX; i++) {
		struct host_iface wanted;

		// Both are replaced together, at any time.
		pthread_mutex_lock(&c->lock);
		wanted = host_iface_wanted(c->conf, c->snapshot, i);
		pthread_mutex_unlock(&c->lock);
		change(h, i, &wanted);
	}
}

void host_thread_change(struct host_thread *h, struct control *c)
{
	if (h == NULL)
		return;
	// First of all hosts: another one may have the name of an interface now.
	each_wanted(h, c, host_leave_other);
	each_wanted(h, c, host_change);
}

int host_thread_open(struct host_thread **thread, const struct control *c)
{
	struct host_thread *h;
	int rc = 0;

	if (!conf_has_host(c->conf))
		return 0;
	*thread = h = thread_new(c);
	if (h == NULL)
		return no_memory();
	// All of them, so that all mistakes are logged at once.
	for (unsigned int i = 0; i < HOSTS_MAX; i++) {
		const struct host_iface wanted = host_iface_wanted(c->conf, c->snapshot, i);

		if (wanted.name != NULL)
			rc |= host_open(h, i, &wanted);
	}
	if (rc == 0)
		host_iface_routes(c->conf);
	return rc;
}

// --- its start and end ---

static int workers_connect(struct host_thread *h, const struct control *c)
{
	char name[RTE_RING_NAMESIZE];

	h->n_workers = c->conf->n_workers;
	for (unsigned int i = 0; i < HOSTS_MAX; i++)
		h->host[i].worker = i % h->n_workers;
	for (unsigned int i = 0; i < h->n_workers; i++) {
		snprintf(name, sizeof(name), "from-host-%u", i);
		h->from[i] = rte_ring_create(
			name, RING_FROM, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (h->from[i] == NULL)
			return no_memory();
		worker_host_set(c->workers[i], h->from[i], wake, h);
		for (unsigned int k = 0; k < HOSTS_MAX; k++)
			worker_host_add(c->workers[i], k, h->host[k].to);
	}
	return 0;
}

int host_thread_start(
	struct host_thread *h, const struct control *c, const struct host_thread_io *io)
{
	int rc = h != NULL ? workers_connect(h, c) : 0;

	if (h == NULL || rc < 0)
		return rc;
	h->io = *io;
	rc = -pthread_create(&h->thread, NULL, host_thread_run, h);
	if (rc == 0) {
		h->runs = true;
		pthread_setname_np(h->thread, "culvert-host");
		while (!atomic_load_explicit(&h->ready, memory_order_acquire))
			sched_yield();
		rc = h->confined;
	}
	if (rc < 0)
		log_error("cannot start the thread of hosts: %s", strerror(-rc));
	return rc;
}

void host_thread_link(struct host_thread *h, uint16_t port, bool up)
{
	if (h != NULL)
		h->host[port].up = up;
}

static void lost_report(struct host *p, const struct host_iface *i)
{
	event_post(HOST_LOST, EVENT_TEXT(i->owner), EVENT_TEXT(p->name));
	state_change(p, LOST, REPORTED);
}

// An interface that could not be made: another one had its name, for example.
static bool is_to_be_tried(struct host *p, const struct host_iface *wanted)
{
	if (wanted->name == NULL || ++p->missing < TRY_AGAIN)
		return false;
	p->missing = 0;
	return true;
}

bool host_thread_tick(struct host_thread *h, const struct control *c)
{
	bool changed = false;

	for (unsigned int i = 0; h != NULL && i < HOSTS_MAX; i++) {
		struct host *p = &h->host[i];
		struct host_iface wanted;

		if (p->state != SERVING && p->state != LOST && p->state != NONE)
			continue;
		wanted = host_iface_wanted(c->conf, c->snapshot, i);
		if (p->state == NONE) {
			changed |= is_to_be_tried(p, &wanted);
			continue;
		}
		if (wanted.is_tunnel)
			p->up = !wanted.is_down;
		changed |= wanted.name != NULL && (p->state == LOST || p->mtu != wanted.mtu);
		if (p->state == LOST && wanted.name != NULL)
			lost_report(p, &wanted);
		else if (p->carrier != p->up)
			host_iface_carrier(p->fd, p->carrier = p->up);
	}
	return changed;
}

struct counters host_thread_counters(const struct host_thread *h)
{
	return h != NULL ? h->counters : (struct counters){0};
}

struct host_packets host_thread_packets(const struct host_thread *h, unsigned int host)
{
	return h != NULL ? h->host[host].packets : (struct host_packets){0};
}

uint64_t host_thread_held(const struct host_thread *h)
{
	uint64_t n = 0;

	for (unsigned int i = 0; h != NULL && i < HOSTS_MAX; i++)
		n += h->host[i].to != NULL ? rte_ring_count(h->host[i].to) : 0;
	return n;
}

void host_thread_stop(struct host_thread *h)
{
	if (h == NULL || !h->runs)
		return;
	atomic_store_explicit(&h->stop, true, memory_order_relaxed);
	wake(h);
	pthread_join(h->thread, NULL);
	h->runs = false;
}

void host_thread_drop(struct host_thread *h)
{
	struct rte_mbuf *m;

	for (unsigned int i = 0; h != NULL && i < HOSTS_MAX; i++)
		while (h->host[i].to != NULL && rte_ring_dequeue(h->host[i].to, (void **)&m) == 0) {
			h->counters.drops[DROP_SHUTDOWN]++;
			rte_pktmbuf_free(m);
		}
}

void host_thread_close(struct host_thread *h)
{
	if (h == NULL)
		return;
	host_thread_stop(h);
	for (unsigned int i = 0; i < HOSTS_MAX; i++) {
		rte_ring_free(h->host[i].to);
		if (h->host[i].fd >= 0)
			close(h->host[i].fd);
	}
	for (unsigned int i = 0; i < h->n_workers; i++)
		rte_ring_free(h->from[i]);
	if (h->epoll >= 0)
		close(h->epoll);
	if (h->event >= 0)
		close(h->event);
	free(h);
}
