// SPDX-License-Identifier: BSD-3-Clause
#include "control_thread.h"

#include "address.h"
#include "arp.h"
#include "events.h"
#include "idle_ports.h"
#include "links.h"
#include "log.h"
#include "nd.h"
#include "originate.h"
#include "packet.h"
#include "path_mtu.h"
#include "peers.h"
#include "retire.h"
#include "test.h"

static struct control c;
static struct control_thread self;

void __wrap_log_line(enum log_level level, const char *fmt, ...);

void __wrap_log_line(enum log_level level, const char *fmt, ...)
{
	(void)level, (void)fmt;
}

// --- replaces the ports ---

// A packet sent about a neighbour can be parsed.
static void check_frame(const uint8_t *frame, uint16_t len)
{
	const struct rte_ether_hdr *eth = (const struct rte_ether_hdr *)frame;
	const struct rte_ipv6_hdr *ip = (const struct rte_ipv6_hdr *)(frame + ETH_LEN);
	struct nd_message m;

	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_ARP))
		assert_true(arp_check((const struct rte_arp_hdr *)ip, len - ETH_LEN));
	else if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV6) && ip->proto == IPPROTO_ICMPV6)
		assert_int_equal(nd_read(&m, ip), ND_GOOD);
}

static bool io_send(void *arg, uint16_t port, struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

	(void)arg;
	check_frame(frame, rte_pktmbuf_data_len(m));
	self.sent(port, frame, rte_pktmbuf_data_len(m));
	rte_pktmbuf_free(m);
	return true;
}

static void io_listen(void *arg, uint16_t port, const struct ip_addr group[], unsigned int n)
{
	(void)arg, (void)port, (void)group;
	assert_in_range(n, 1, LISTENER_GROUPS_MAX);
}

static struct counters io_counters(void *arg)
{
	(void)arg;
	return (struct counters){0};
}

static uint64_t io_now_ms(void)
{
	return 0;
}

static const struct control_io io = {.send = io_send,
	.listen = io_listen,
	.has_link = idle_has_link,
	.active = idle_active,
	.link = idle_link,
	.counters = io_counters,
	.now_ms = io_now_ms};

// --- for the test ---

void control_thread_solicit(
	uint16_t port, const struct ip_addr *addr, const struct rte_ether_addr *to)
{
	originate_solicitation(&c, port, addr, to);
}

struct dad *control_thread_init(const struct control_thread *t)
{
	self = *t;
	c = (struct control){.io = &io, .conf = t->conf, .pool = t->pool};
	for (uint16_t i = 0; i < c.conf->n_ports; i++)
		memcpy(&c.ports[i].mac, mac_of_port(i), sizeof(c.ports[i].mac));
	assert_int_equal(address_init(&c), 0);
	return c.dad;
}

void control_thread_start(struct snapshot *s, struct neigh_table *neigh,
	struct worker *const workers[], unsigned int n)
{
	size_t size = RTE_ALIGN_CEIL(rte_rcu_qsbr_get_memsize(1), RTE_CACHE_LINE_SIZE);

	c.snapshot = s;
	c.neigh = neigh;
	c.flows = workers[0]->flows;
	c.qsbr = aligned_alloc(RTE_CACHE_LINE_SIZE, size); // no worker runs meanwhile
	assert_int_equal(rte_rcu_qsbr_init(c.qsbr, 1), 0);
	for (unsigned int i = 0; i < n; i++)
		c.workers[i] = workers[i];
	address_start(&c);
	links_start(&c);
}

void control_thread_reloaded(struct conf *conf, struct snapshot *s)
{
	c.conf = conf;
	c.snapshot = s;
	address_apply(&c, s);
	peers_follow(&c, s);
	path_mtus_apply(&c);
}

void control_thread_link_up(uint16_t port)
{
	neigh_forget(c.neigh, port);
	address_restart(&c, port);
}

void control_thread_event(const struct event *e, uint64_t now)
{
	event_handle(&c, e, now);
}

void control_thread_tick(uint64_t now)
{
	events_tick(&c, now);
}

void control_thread_stop(void)
{
	listener_leave(c.listener);
	listener_free(c.listener);
	path_mtus_free(&c.path_mtus);
	retire_all(&c);
	free(c.qsbr);
}
