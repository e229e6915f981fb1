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
#include "host_route.h"
#include "ipv6.h"
#include "log.h"

#define RING_TO   512 // packets for one host
#define RING_FROM 512 // for one worker
// Calls of host_thread_tick() until the kernel is asked again after a refusal: twice as many after
// each other one.
#define PATIENCE_MIN 10
#define PATIENCE_MAX 3000

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

static struct host_thread *thread_new(struct control *c)
{
	struct host_thread *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->control = c;
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
		worker_host_add(h->control->workers[i], host, p->to);
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
	p->n_to = p->n_from = 0;
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

	// The lock is for the control thread, which uses the file, too.
	pthread_mutex_lock(&h->control->lock);
	atomic_store_explicit(&p->state, LEAVING, memory_order_release);
	pthread_mutex_unlock(&h->control->lock);
	wake(h);
	while (atomic_load_explicit(&p->state, memory_order_acquire) != NONE)
		usleep(1000);
	close(fd);
	host_iface_closed(host);
}

static void host_leave_other(struct host_thread *h, unsigned int host, const struct host_iface *i)
{
	struct host *p = &h->host[host];
	bool other = i->name == NULL || p->since != i->since || strcmp(p->name, i->name) != 0;

	// One that was deleted is reported before it is made again.
	if (p->state == REPORTED || (p->state != NONE && other))
		host_leave(h, host);
	else if (is_serving(p) && !host_iface_exists(host))
		state_change(p, SERVING, LOST);
}

// Without an SA it stays as it is.
static uint16_t mtu_of(const struct host *p, const struct host_iface *i)
{
	uint16_t mtu = i->mtu != 0 ? i->mtu : p->mtu;

	return mtu == 0 || i->has_ipv6 ? (uint16_t)RTE_MAX(mtu, IPV6_MIN_MTU) : mtu;
}

// A refusal that was logged is not logged again.
static void host_change(struct host_thread *h, unsigned int host, const struct host_iface *i)
{
	struct host *p = &h->host[host];
	struct host_iface wanted = *i;

	if (p->since != i->since) { // another tunnel has the number
		p->since = i->since;
		p->refused = false;
		p->mtu = 0;
	}
	if (i->name == NULL)
		return;
	p->mtu = wanted.mtu = mtu_of(p, i);
	log_mute(p->refused);
	p->refused = p->state == NONE && host_open(h, host, &wanted) < 0;
	if (is_serving(p))
		p->refused = host_iface_set(host, &wanted) < 0;
	log_mute(false);
}

static void each_wanted(struct host_thread *h,
	void (*change)(struct host_thread *h, unsigned int host, const struct host_iface *i))
{
	const struct control *c = h->control;

	for (unsigned int i = 0; i < HOSTS_MAX; i++) {
		struct host_iface wanted;

		// Both are replaced together, at any time.
		pthread_mutex_lock(&h->control->lock);
		wanted = host_iface_wanted(c->conf, c->snapshot, i);
		pthread_mutex_unlock(&h->control->lock);
		change(h, i, &wanted);
	}
}

void host_thread_change(struct host_thread *h)
{
	if (h == NULL)
		return;
	// First of all hosts: another one may have the name of an interface now.
	each_wanted(h, host_leave_other);
	each_wanted(h, host_change);
}

int host_thread_open(struct host_thread **thread, struct control *c)
{
	struct host_thread *h;
	int rc = 0;

	if (!conf_has_host(c->conf))
		return 0;
	*thread = h = thread_new(c);
	if (h == NULL)
		return no_memory();
	// All of them, so that all mistakes are logged at once.
	each_wanted(h, host_change);
	for (unsigned int i = 0; i < HOSTS_MAX; i++)
		if (h->host[i].refused)
			rc = -EIO;
	if (rc == 0)
		host_routes_set(c->conf);
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

// Whether the kernel is to be asked again for an interface or addresses that it has refused.
static bool is_to_be_tried(struct host *p, const struct host_iface *wanted)
{
	if (!p->refused) {
		p->patience = 0;
		return false;
	}
	if (p->patience == 0) {
		event_post(HOST_REFUSED, EVENT_TEXT(wanted->owner), EVENT_TEXT(wanted->name));
		p->waited = 0;
		p->patience = PATIENCE_MIN;
	}
	if (++p->waited < p->patience)
		return false;
	p->waited = 0;
	p->patience = RTE_MIN(2 * p->patience, PATIENCE_MAX + 0u);
	return true;
}

static void lost_report(struct host *p, const struct host_iface *wanted)
{
	event_post(HOST_LOST, EVENT_TEXT(wanted->owner), EVENT_TEXT(p->name));
	state_change(p, LOST, REPORTED);
}

// Returns whether the interface is to be changed.
static bool host_check(struct host *p, const struct host_iface *wanted)
{
	const enum host_state state = p->state;

	if (wanted->is_tunnel)
		p->up = !wanted->is_down;
	if (state == LOST)
		lost_report(p, wanted);
	if (state == SERVING && p->carrier != p->up) {
		p->carrier = p->up;
		host_iface_carrier(p->fd, p->carrier);
	}
	return is_to_be_tried(p, wanted) || state == LOST ||
	       (state == SERVING && p->mtu != mtu_of(p, wanted));
}

static void host_show(struct control_host *v, const struct host *p, const struct host_iface *wanted)
{
	snprintf(v->name, sizeof(v->name), "%s", wanted->name);
	v->state = p->refused ? "refused" : p->state == SERVING ? "ready" : "missing";
	v->to = p->n_to;
	v->from = p->n_from;
}

bool host_thread_tick(struct host_thread *h, struct control *c)
{
	bool changed = false;

	for (unsigned int i = 0; h != NULL && i < HOSTS_MAX; i++) {
		const struct host_iface wanted = host_iface_wanted(c->conf, c->snapshot, i);

		c->hosts[i] = (struct control_host){0};
		if (wanted.name == NULL) {
			h->host[i].patience = 0;
			continue;
		}
		changed |= host_check(&h->host[i], &wanted);
		host_show(&c->hosts[i], &h->host[i], &wanted);
	}
	return changed;
}

struct counters host_thread_counters(const struct host_thread *h)
{
	return h != NULL ? h->counters : (struct counters){0};
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
