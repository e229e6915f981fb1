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
	SERVING,
	LOST,     // the thread has seen that somebody has deleted the interface
	REPORTED, // the control thread has posted that
};

// A host behind a port. The thread alone writes its counters.
struct host_port {
	uint16_t port;
	int fd;
	_Atomic enum host_state state;
	struct rte_ring *to; // from all workers
	unsigned int worker; // that takes its packets
	struct host_packets packets;
};

struct host_thread {
	bool runs;
	struct host_thread_io io;
	unsigned int n_ports, n_workers;
	struct host_port port[PORTS_MAX];
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
	log_error("out of memory for the host behind ports");
	return -ENOMEM;
}

static int watch(const struct host_thread *h, int fd, uint32_t events)
{
	struct epoll_event e = {.events = events};

	return epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &e);
}

static struct host_thread *thread_new(const struct control *c)
{
	struct host_thread *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->pool = c->pool;
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	h->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->epoll >= 0 && h->event >= 0 && watch(h, h->event, EPOLLIN | EPOLLET) == 0)
		return h;
	host_thread_close(h);
	return NULL;
}

static int port_add(struct host_thread *h, const struct control *c, uint16_t number)
{
	struct host_port *p = &h->port[h->n_ports];
	char name[RTE_RING_NAMESIZE];
	int fd = host_iface_open(number, &c->conf->ports[number], &c->snapshot->port[number]);

	if (fd < 0)
		return -EIO;
	p->port = number;
	p->fd = fd;
	h->n_ports++;
	snprintf(name, sizeof(name), "host-%u", number);
	p->to = rte_ring_create(name, RING_TO, SOCKET_ID_ANY, RING_F_SC_DEQ);
	return p->to != NULL && watch(h, fd, EPOLLIN) == 0 ? 0 : no_memory();
}

int host_thread_open(struct host_thread **thread, const struct control *c)
{
	const struct conf *conf = c->conf;
	struct host_thread *h = NULL;
	int rc = 0;

	// All of them, so that all mistakes are logged at once.
	for (unsigned int i = 0; i < conf->n_ports; i++) {
		if (conf->ports[i].host == NULL)
			continue;
		if (h == NULL)
			*thread = h = thread_new(c);
		if (h == NULL)
			return no_memory();
		rc |= port_add(h, c, (uint16_t)i);
	}
	if (h != NULL && rc == 0)
		host_iface_routes(conf);
	return rc;
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

// --- the thread ---

static void write_packet(struct host_thread *h, struct host_port *p, struct rte_mbuf *m)
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

static unsigned int write_packets(struct host_thread *h, struct host_port *p)
{
	struct rte_mbuf *m[BURST];
	unsigned int n = rte_ring_dequeue_burst(p->to, (void **)m, BURST, NULL);

	for (unsigned int i = 0; i < n; i++)
		write_packet(h, p, m[i]);
	rte_pktmbuf_free_bulk(m, n);
	return n;
}

// Hands a frame to the worker.
static enum drop frame_hand(struct host_thread *h, struct host_port *p, uint16_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(h->pool);

	if (m == NULL)
		return DROP_NO_BUFFER;
	if (len > rte_pktmbuf_tailroom(m)) {
		rte_pktmbuf_free(m);
		return DROP_FRAME_SCATTERED;
	}
	memcpy(rte_pktmbuf_append(m, len), h->frame, len);
	m->port = p->port;
	if (rte_ring_enqueue(h->from[p->worker], m) == 0)
		return DROP_NONE;
	rte_pktmbuf_free(m);
	return DROP_RING_FULL;
}

static bool is_serving(const struct host_port *p)
{
	return atomic_load_explicit(&p->state, memory_order_relaxed) == SERVING;
}

// Nothing more will come, and epoll would report the error for ever.
static void lose(struct host_thread *h, struct host_port *p)
{
	atomic_store_explicit(&p->state, LOST, memory_order_relaxed);
	epoll_ctl(h->epoll, EPOLL_CTL_DEL, p->fd, NULL);
}

static unsigned int read_packets(struct host_thread *h, struct host_port *p)
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

static bool has_packets(const struct host_thread *h)
{
	for (unsigned int i = 0; i < h->n_ports; i++)
		if (!rte_ring_empty(h->port[i].to))
			return true;
	return false;
}

static void wait(struct host_thread *h)
{
	struct epoll_event events[PORTS_MAX + 1];

	atomic_store_explicit(&h->waiting, true, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	if (!has_packets(h) && !atomic_load_explicit(&h->stop, memory_order_relaxed))
		epoll_wait(h->epoll, events, RTE_DIM(events), -1);
	atomic_store_explicit(&h->waiting, false, memory_order_relaxed);
}

static void *run(void *thread)
{
	struct host_thread *h = thread;

	h->confined = h->io.confine(h->io.arg);
	atomic_store_explicit(&h->ready, true, memory_order_release);
	while (!atomic_load_explicit(&h->stop, memory_order_relaxed)) {
		unsigned int work = 0;

		for (unsigned int i = 0; i < h->n_ports; i++)
			work += write_packets(h, &h->port[i]) + read_packets(h, &h->port[i]);
		if (work == 0)
			wait(h);
	}
	return NULL;
}

// --- its start and end ---

static int workers_connect(struct host_thread *h, const struct control *c)
{
	struct rte_ring *to[PORTS_MAX] = {0};
	char name[RTE_RING_NAMESIZE];

	h->n_workers = c->conf->n_workers;
	for (unsigned int i = 0; i < h->n_ports; i++) {
		to[h->port[i].port] = h->port[i].to;
		h->port[i].worker = h->port[i].port % h->n_workers;
	}
	for (unsigned int i = 0; i < h->n_workers; i++) {
		snprintf(name, sizeof(name), "from-host-%u", i);
		h->from[i] = rte_ring_create(
			name, RING_FROM, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (h->from[i] == NULL)
			return no_memory();
		worker_host_set(c->workers[i], h->from[i], to, wake, h);
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
		log_error("cannot start the thread of the host behind ports: %s", strerror(-rc));
	return rc;
}

void host_thread_link(const struct host_thread *h, uint16_t port, bool up)
{
	for (unsigned int i = 0; h != NULL && i < h->n_ports; i++)
		if (h->port[i].port == port)
			host_iface_carrier(h->port[i].fd, up);
}

void host_thread_tick(struct host_thread *h, const struct conf *conf)
{
	for (unsigned int i = 0; h != NULL && i < h->n_ports; i++) {
		struct host_port *p = &h->port[i];
		const struct conf_port *c = &conf->ports[p->port];

		if (atomic_load_explicit(&p->state, memory_order_relaxed) != LOST)
			continue;
		event_post(HOST_LOST, EVENT_TEXT(c->name), EVENT_TEXT(c->host));
		atomic_store_explicit(&p->state, REPORTED, memory_order_relaxed);
	}
}

struct counters host_thread_counters(const struct host_thread *h)
{
	return h != NULL ? h->counters : (struct counters){0};
}

struct host_packets host_thread_packets(const struct host_thread *h, uint16_t port)
{
	for (unsigned int i = 0; h != NULL && i < h->n_ports; i++)
		if (h->port[i].port == port)
			return h->port[i].packets;
	return (struct host_packets){0};
}

uint64_t host_thread_held(const struct host_thread *h)
{
	uint64_t n = 0;

	for (unsigned int i = 0; h != NULL && i < h->n_ports; i++)
		n += rte_ring_count(h->port[i].to);
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

	for (unsigned int i = 0; h != NULL && i < h->n_ports; i++)
		while (rte_ring_dequeue(h->port[i].to, (void **)&m) == 0) {
			h->counters.drops[DROP_SHUTDOWN]++;
			rte_pktmbuf_free(m);
		}
}

void host_thread_close(struct host_thread *h)
{
	if (h == NULL)
		return;
	host_thread_stop(h);
	for (unsigned int i = 0; i < h->n_ports; i++) {
		rte_ring_free(h->port[i].to);
		close(h->port[i].fd);
	}
	for (unsigned int i = 0; i < h->n_workers; i++)
		rte_ring_free(h->from[i]);
	if (h->epoll >= 0)
		close(h->epoll);
	if (h->event >= 0)
		close(h->event);
	free(h);
}
