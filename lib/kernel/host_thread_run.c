// SPDX-License-Identifier: BSD-3-Clause
#include "host_thread_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "host.h"

#define BURST    32
#define SEGS_MAX 64 // buffers of one packet

static void write_packet(struct host_thread *h, struct host *p, struct rte_mbuf *m)
{
	const int fd = p->fd;
	struct iovec iov[SEGS_MAX];
	int n = 0;

	for (struct rte_mbuf *s = m; s != NULL && n < SEGS_MAX; s = s->next)
		iov[n++] = (struct iovec){rte_pktmbuf_mtod(s, void *), rte_pktmbuf_data_len(s)};
	if (m->hash.usr != p->since || writev(fd, iov, n) < 0) {
		h->counters.drops[DROP_HOST_DOWN]++;
	} else {
		h->counters.local++;
		p->n_to++;
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
	struct rte_mbuf *m = rte_pktmbuf_alloc(h->control->pool);

	if (m == NULL)
		return DROP_NO_BUFFER;
	if (len > rte_pktmbuf_tailroom(m)) {
		rte_pktmbuf_free(m);
		return DROP_FRAME_SCATTERED;
	}
	memcpy(rte_pktmbuf_append(m, len), h->frame, len);
	m->port = (uint16_t)(p - h->host);
	m->hash.usr = p->since;
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

	while (n < BURST && (len = read(p->fd, h->frame, FRAME_MAX)) > 0) {
		enum drop d;

		h->counters.originated++;
		p->n_from++;
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

static void leave(struct host_thread *h, struct host *p)
{
	epoll_ctl(h->epoll, EPOLL_CTL_DEL, p->fd, NULL);
	p->fd = -1;
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

void *host_thread_run(void *thread)
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
