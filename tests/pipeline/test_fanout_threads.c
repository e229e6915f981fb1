// SPDX-License-Identifier: BSD-3-Clause
// Workers that share the work of one tunnel, each a thread: with a sanitizer, no memory has two
// owners; and every packet arrives, in the order of its flow, ESP packets in that of their numbers.
#include <pthread.h>

#include "fanout.h"
#include "peer.h"
#include "site.h"

#define WORKERS HARNESS_WORKERS
#define FLOWS   8
#define BURST   8
#define BURSTS                                                                                     \
	180 // of either direction: no packet buffer is used twice, whose path through the pool the
	    // sanitizer does not see

static struct gateway *g[WORKERS];
static struct worker *workers[WORKERS];
static struct frame in[2 * BURSTS][BURST];
static _Atomic unsigned int begun, arrived, wrong;

// By flow, or of ESP packets the last one: written by the worker that sends these.
static uint32_t last[FLOWS + 1];

static void check_sent(const struct gateway *by)
{
	for (unsigned int i = 0; i < by->n_sent; i++) {
		const uint8_t *ip = frame_packet(&by->sent[i]);
		bool esp = by->sent[i].port == WAN;
		uint32_t flow = esp ? FLOWS : be16(ip + IP_LEN) - 3000u;
		uint32_t number = esp ? esp_seq(&by->sent[i]) : be16(ip + 4);

		wrong += number != last[flow] + 1;
		last[flow] = number;
	}
	arrived += by->n_sent;
}

static void receive(struct gateway *by)
{
	static unsigned int next;

	if (by != g[0] || next == COUNT_OF(in) || !fanout_has_room(by->w))
		return;
	gateway_receive(by, in[next++], BURST);
	check_sent(by);
}

static void *run(void *arg)
{
	struct gateway *by = arg;

	begun++;
	while (begun < WORKERS)
		;
	while (arrived < COUNT_OF(in) * BURST && wrong == 0) {
		struct rte_mbuf *m[RX_BURST_MAX];

		receive(by);
		gateway_help(by);
		check_sent(by);
		if (fanout_pending(by->w)) {
			gateway_keep(by);
			check_sent(by);
		}
		gateway_pass_mbufs(
			by, m, rte_ring_dequeue_burst(by->w->frames, (void **)m, BURST, NULL));
		check_sent(by);
	}
	return NULL;
}

static void test_threads(void **state)
{
	uint32_t number[FLOWS] = {0};
	pthread_t thread[WORKERS];
	struct peer b;

	(void)state;
	g[0] = site_a((struct site){.window = 32, .more = "cpus = { workers = [ 0, 1, 2, 3 ]; };"});
	for (unsigned int i = 1; i < WORKERS; i++)
		g[i] = gateway_second(g[0], i);
	gateways_share(g, workers, WORKERS);
	b = peer_new(g[0], "from-b");
	for (unsigned int i = 0; i < COUNT_OF(in) * BURST; i++) {
		uint32_t flow = i % FLOWS;
		struct ipv4 ip = FROM_TO(
			"10.2.0.5", "10.1.0.5", .sport = (uint16_t)(3000 + flow), .dport = 9);
		struct frame *f = &in[i / BURST][i % BURST];

		if (i / BURST % 2 == 0) {
			ip.id = (uint16_t)++number[flow];
			*f = peer_seal_ip(&b, 8 * (i / 16) + i % 8 + 1, ip);
		} else {
			ip.src = "10.1.0.5";
			ip.dst = "10.2.0.5";
			*f = frame_ip(LAN, ip);
		}
	}
	for (unsigned int i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, run, g[i]), 0);
	for (unsigned int i = 0; i < WORKERS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(wrong, 0);
	assert_int_equal(arrived, COUNT_OF(in) * BURST);
	assert_int_equal(last[FLOWS], BURSTS * BURST);
	for (unsigned int i = WORKERS; i > 0; i--)
		gateway_free(g[i - 1]);
	peer_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_threads),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
