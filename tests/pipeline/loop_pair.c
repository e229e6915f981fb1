// SPDX-License-Identifier: BSD-3-Clause
#include "loop_pair.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_ethdev.h>

#include "hash_key.h"

#define DEVICE "net_ring0"
#define MEMBER "net_ring1" // receives its own frames as well

uint16_t loop_device, loop_member;

static int device_start(uint16_t *id, const char *name)
{
	const struct rte_eth_conf conf = {0};

	if (rte_eal_hotplug_add("vdev", name, "") < 0 ||
		rte_eth_dev_get_port_by_name(name, id) < 0 ||
		rte_eth_dev_configure(*id, 1, 1, &conf) < 0 ||
		rte_eth_rx_queue_setup(*id, 0, 512, SOCKET_ID_ANY, NULL, harness_pool) < 0 ||
		rte_eth_tx_queue_setup(*id, 0, 512, SOCKET_ID_ANY, NULL) < 0)
		return -1;
	return rte_eth_dev_start(*id);
}

int loop_pair_begin(void **state)
{
	if (harness_start(state) < 0 || device_start(&loop_device, DEVICE) < 0)
		return -1;
	return device_start(&loop_member, MEMBER);
}

int loop_pair_end(void **state)
{
	const uint16_t ids[] = {loop_device, loop_member};

	for (unsigned int i = 0; i < COUNT_OF(ids); i++) {
		rte_eth_dev_stop(ids[i]);
		rte_eth_dev_close(ids[i]);
	}
	return harness_stop(state);
}

void pair_start(struct pair *p)
{
	size_t size = rte_rcu_qsbr_get_memsize(2);
	char text[8192];

	site_a_conf(text, sizeof(text), (struct site){0});
	*p = (struct pair){.g = {gateway_new(0, text), gateway_new(1, text)}};
	p->qsbr = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(size, RTE_CACHE_LINE_SIZE));
	assert_non_null(p->qsbr);
	assert_int_equal(rte_rcu_qsbr_init(p->qsbr, 2), 0);
	for (unsigned int i = LAN; i <= DMZ; i++)
		p->ports[i] = (struct port){
			.open = true, .id = loop_device, .n_rx = i == LAN ? 1 : 0, .n_tx = 1};
	for (unsigned int i = 0; i < 2; i++) {
		p->w[i] = p->g[i]->w;
		p->loop[i] = loop_new(p->g[i]->w);
		assert_non_null(p->loop[i]);
	}
	for (unsigned int i = 0; i < 2; i++)
		worker_peers_set(p->w[i], p->w, 2);
	assert_int_equal(loops_assign(p->loop, 2, p->ports, COUNT_OF(p->ports), 0, p->qsbr), 0);
	assert_int_equal(p->loop[0]->n_rx, 1);
	assert_int_equal(p->loop[1]->n_rx, 0);
}

static void *run(void *loop)
{
	loop_run(loop);
	return NULL;
}

void loop_start(struct pair *p, unsigned int i)
{
	atomic_store(&p->loop[i]->phase, LOOP_RUN);
	atomic_store(&p->loop[i]->reached, LOOP_RUN);
	assert_int_equal(pthread_create(&p->thread[i], NULL, run, p->loop[i]), 0);
}

void loop_end(struct pair *p, unsigned int i)
{
	atomic_store(&p->loop[i]->phase, LOOP_STOP);
	pthread_join(p->thread[i], NULL);
	assert_int_equal(atomic_load(&p->loop[i]->reached), LOOP_STOP);
}

void pair_stop(struct pair *p)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct rte_mbuf *m;

		while (rte_ring_dequeue(p->g[i]->w->frames, (void **)&m) == 0 ||
			rte_ring_dequeue(p->loop[i]->out, (void **)&m) == 0)
			rte_pktmbuf_free(m);
		p->loop[i]->worker = NULL; // the gateway's
		loop_free(p->loop[i]);
		gateway_free(p->g[i]);
	}
	free(p->qsbr);
}

void await_buffers_in_use(unsigned int n)
{
	time_t end = time(NULL) + LOOP_PAIR_DEADLINE_S;

	while (rte_mempool_in_use_count(harness_pool) != n) {
		if (time(NULL) > end)
			fail_msg("%u buffers are in use, must be %u",
				rte_mempool_in_use_count(harness_pool), n);
		usleep(1000);
	}
}

struct rte_mbuf *frame_of_flow(uint32_t flow)
{
	struct ipv4 ip = FROM_TO("10.1.0.5", "192.88.99.9", .sport = (uint16_t)flow, .dport = 9);
	struct frame f = frame_ip(LAN, ip);

	return frame_mbuf(&f);
}

void send_to(uint16_t id, struct rte_mbuf *m)
{
	time_t end = time(NULL) + LOOP_PAIR_DEADLINE_S;

	while (rte_eth_tx_burst(id, 0, &m, 1) == 0) {
		if (time(NULL) > end)
			fail_msg("the device takes nothing");
		usleep(100);
	}
}
