// SPDX-License-Identifier: BSD-3-Clause
#include "host_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "event_log.h"
#include "host.h"
#include "host_iface.h"
#include "log.h"

#define RING_TO   512 // packets for one host
#define RING_FROM 512 // for one worker
#define BURST     32
#define FRAME_MAX (UINT16_MAX + RTE_ETHER_HDR_LEN)
#define SEGS_MAX  64 // buffers of one packet

enum host_state {
	NONE, // there is no interface
	SERVING,
	LOST,     // the thread has seen that somebody has deleted the interface
	REPORTED, // the control thread has posted that
	LEAVING,  // the thread is to use it no more
};

// A host. The thread alone writes its counters.
struct host {
	_Atomic int fd;
	_Atomic enum host_state state;
	struct rte_ring *to; // from all workers; stays
	unsigned int worker; // that takes its packets
	struct host_packets packets;
	char name[CONF_NAME_MAX]; // of the interface
	atomic_bool up, carrier;  // of the port's link or the tunnel, and of the interface
	_Atomic uint16_t mtu;     // of the interface
};

struct host_thread {
	bool runs;
	struct host_thread_io io;
	struct worker *const *workers;
	unsigned int n_workers; // 0: not connected yet
	struct host host[HOSTS_MAX];
	struct rte_ring *from[CONF_WORKERS_MAX]; // by worker
	struct rte_mempool *pool;
	pthread_t thread;
	int epoll, event;     // an event for every wake
	_Atomic bool waiting; // or about to
	_Atomic bool stop;
	int confined; // of the thread: 0 or -errno, valid after ready
	_Atomic bool ready;
	struct counters counters; // the thread's
	uint8_t frame[FRAME_MAX];
};

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
	p->mtu = i->mtu;
	p->carrier = false;
	p->fd = fd;
	atomic_store_explicit(&p->state, SERVING, memory_order_release);
	return watch(h, fd, EPOLLIN, host) == 0 ? 0 : no_memory();
}

// Unless another thread has changed it.
static void state_change(struct host *p, enum host_state from, enum host_state to)
{
	atomic_compare_exchange_strong(&p->state, &from, to);
}

static bool is_serving(const struct host *p)
{
	return atomic_load_explicit(&p->state, memory_order_acquire) == SERVING;
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

static void host_change(struct host_thread *h, unsigned int host, const struct host_iface *i)
{
	struct host *p = &h->host[host];

	if (p->state != NONE &&
		(i->name == NULL || !is_serving(p) || strcmp(p->name, i->name) != 0))
		host_leave(h, host);
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

void host_thread_change(struct host_thread *h, struct control *c)
{
	for (unsigned int i = 0; h != NULL && i < HOSTS_MAX; i++) {
		struct host_iface wanted;

		// Both are replaced together, at any time.
		pthread_mutex_lock(&c->lock);
		wanted = host_iface_wanted(c->conf, c->snapshot, i);
		pthread_mutex_unlock(&c->lock);
		host_change(h, i, &wanted);
	}
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

// --- the thread ---

static void write_packet(struct host_thread *h, struct host *p, struct rte_mbuf *m)
{
	struct iovec iov[SEGS_MAX];
	int n = 0;

	for (struct rte_mbuf *s = m; s != NULL && n < SEGS_MAX; s = s->next)
		iov[n++] = (struct iovec){rte_pktmbuf_mtod(s, void *), rte_pktmbuf_data_len(s)};
	if (writev(p->fd, iov, n) < 0) {
		h->counters.drops[DROP_HOST_DOWN]++;
	} else {
		h->counters.local++;
		p->packets.to++;
	}
}

static unsigned int write_packets(struct host_thread *h, struct host *p)
{
	struct rte_mbuf *m[BURST];
	unsigned int n = rte_ring_dequeue_burst(p->to, (void **)m, BURST, NULL);

	for (unsigned int i = 0; i < n; i++)
		write_packet(h, p, m[i]);
	rte_pktmbuf_free_bulk(m, n);
	return n;
}

// Hands a frame to the worker.
static enum drop frame_hand(struct host_thread *h, struct host *p, uint16_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(h->pool);

	if (m == NULL)
		return DROP_NO_BUFFER;
	if (len > rte_pktmbuf_tailroom(m)) {
		rte_pktmbuf_free(m);
		return DROP_FRAME_SCATTERED;
	}
	memcpy(rte_pktmbuf_append(m, len), h->frame, len);
	m->port = (uint16_t)(p - h->host);
	if (rte_ring_enqueue(h->from[p->worker], m) == 0)
		return DROP_NONE;
	rte_pktmbuf_free(m);
	return DROP_RING_FULL;
}

// Nothing more will come, and epoll would report the error for ever.
static void lose(struct host_thread *h, struct host *p)
{
	state_change(p, SERVING, LOST);
	epoll_ctl(h->epoll, EPOLL_CTL_DEL, p->fd, NULL);
}

static unsigned int read_packets(struct host_thread *h, struct host *p)
{
	unsigned int n = 0;
	ssize_t len = 0;

	if (!is_serving(p))
		return 0;
	while (n < BURST && (len = read(p->fd, h->frame, FRAME_MAX)) > 0) {
		enum drop d;

		h->counters.originated++;
		p->packets.from++;
		d = len <= UINT16_MAX ? frame_hand(h, p, (uint16_t)len) : DROP_FRAME_SCATTERED;
		if (d != DROP_NONE)
			h->counters.drops[d]++;
		n++;
	}
	if (len < 0 && errno == EBADFD)
		lose(h, p);
	if (n > 0)
		h->io.wake(h->io.arg, p->worker);
	return n;
}

static bool is_leaving(const struct host *p)
{
	return atomic_load_explicit(&p->state, memory_order_acquire) == LEAVING;
}

static bool has_work(const struct host_thread *h)
{
	for (const struct host *p = h->host; p < h->host + HOSTS_MAX; p++)
		if ((p->to != NULL && !rte_ring_empty(p->to)) || is_leaving(p))
			return true;
	return false;
}

// Drops packets that were for the interface, too: the next one is another's.
static void leave(struct host_thread *h, struct host *p)
{
	epoll_ctl(h->epoll, EPOLL_CTL_DEL, p->fd, NULL);
	p->fd = -1;
	while (write_packets(h, p) > 0)
		;
	atomic_store_explicit(&p->state, NONE, memory_order_release);
}

static void wait(struct host_thread *h)
{
	struct epoll_event event;

	atomic_store_explicit(&h->waiting, true, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	if (!has_work(h) && !atomic_load_explicit(&h->stop, memory_order_relaxed))
		epoll_wait(h->epoll, &event, 1, -1);
	atomic_store_explicit(&h->waiting, false, memory_order_relaxed);
}

// Interfaces that have packets, a few at a time: more have their turn next.
static unsigned int read_ready(struct host_thread *h)
{
	struct epoll_event events[BURST];
	int n = epoll_wait(h->epoll, events, BURST, 0);
	unsigned int work = 0;

	for (int i = 0; i < n; i++)
		if (events[i].data.u32 < HOSTS_MAX)
			work += read_packets(h, &h->host[events[i].data.u32]);
	return work;
}

static void *run(void *thread)
{
	struct host_thread *h = thread;

	h->confined = h->io.confine(h->io.arg);
	atomic_store_explicit(&h->ready, true, memory_order_release);
	while (!atomic_load_explicit(&h->stop, memory_order_relaxed)) {
		unsigned int work = read_ready(h);

		for (struct host *p = h->host; p < h->host + HOSTS_MAX; p++) {
			if (p->to != NULL)
				work += write_packets(h, p);
			if (is_leaving(p))
				leave(h, p);
		}
		if (work == 0)
			wait(h);
	}
	return NULL;
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
	rc = -pthread_create(&h->thread, NULL, run, h);
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

bool host_thread_tick(struct host_thread *h, const struct control *c)
{
	bool changed = false;

	for (unsigned int i = 0; h != NULL && i < HOSTS_MAX; i++) {
		struct host *p = &h->host[i];
		struct host_iface wanted;

		if (p->state != SERVING && p->state != LOST)
			continue;
		wanted = host_iface_wanted(c->conf, c->snapshot, i);
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
