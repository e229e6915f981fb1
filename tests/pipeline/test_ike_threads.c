// SPDX-License-Identifier: BSD-3-Clause
// A worker passes packets while requests of an IKE daemon add and delete objects that it uses.
// Proves, with a sanitizer, that nothing is freed too early; and that no packet is sent in clear.
#include <netinet/in.h>
#include <pthread.h>

#include <rte_rcu_qsbr.h>

#include "ike.h"
#include "ike_gates.h"
#include "retire.h"

#define ROUNDS 3000
#define BURST  16

static atomic_bool over;
static uint64_t sent; // ESP packets, by the worker

static void pass(struct gateway *g, struct peer *peer, uint64_t n)
{
	struct frame in[BURST];

	for (unsigned int i = 0; i < BURST - 1; i++) {
		struct ipv4 ip = ike_there;

		ip.sport = (uint16_t)(1000 + n * (i % 2) % 50000);
		in[i] = frame_ip(LAN, ip);
	}
	in[BURST - 1] = peer_seal_ip(peer, n, ike_back);
	g->now += 100;
	gateway_pass(g, in, BURST);
	for (unsigned int i = 0; i < g->n_sent; i++)
		if (g->sent[i].port == WAN) {
			assert_int_equal(frame_packet(&g->sent[i])[9], IPPROTO_ESP);
			sent++;
		}
}

static void *work(void *arg)
{
	struct daemon *d = arg;
	struct conf_ike *ike;
	struct peer peer = ike_gate_peer(0x1001, 1, &ike);

	rte_rcu_qsbr_thread_register(d->c.qsbr, 0);
	rte_rcu_qsbr_thread_online(d->c.qsbr, 0);
	for (uint64_t n = 1; !over; n++) {
		d->g->snapshot = d->c.snapshot;
		pass(d->g, &peer, n);
		rte_rcu_qsbr_quiescent(d->c.qsbr, 0);
	}
	rte_rcu_qsbr_thread_offline(d->c.qsbr, 0);
	rte_rcu_qsbr_thread_unregister(d->c.qsbr, 0);
	peer_free(&peer);
	conf_ike_free(ike);
	return NULL;
}

static void ask(struct daemon *d, const char *text)
{
	if (!ike_request(&d->c, "ike", text, strlen(text), stderr))
		fail_msg("%s", text);
	ike_gate_tick(d);
}

#define POLICY                                                                                     \
	"policy add { name = \"ike.p%u\"; local = \"10.1.0.0/24\"; remote = \"10.2.0.0/24\"; "     \
	"action = \"protect\"; reqid = %u; }\n"

static void test_threads(void **state)
{
	struct daemon *d = &ike_a;
	char text[4096];
	pthread_t thread;

	(void)state;
	ike_gate_sa(d, "in", 0x1001, 1);
	ike_gate_policy(d, "first", 1, "");
	d->g->w->published = &d->c.snapshot;
	assert_int_equal(pthread_create(&thread, NULL, work, d), 0);
	for (unsigned int i = 1; i <= ROUNDS; i++) {
		uint32_t reqid = i % 3 == 0 ? 1 : i;

		ike_gate_sa_ask(text, sizeof(text), "out", 0x10000 + i, reqid);
		ask(d, text);
		ike_gate_sa_ask(text, sizeof(text), "in", 0x20000 + i, reqid);
		ask(d, text);
		snprintf(text, sizeof(text), POLICY, i, reqid);
		ask(d, text);
		while (i % 16 == 0 && d->c.retired_memory != NULL) // the worker may have to wait
			ike_gate_tick(d);
		if (i == 1)
			continue;
		snprintf(text, sizeof(text),
			"policy del ike.p%u\nsa del ike.in.%x\nsa del ike.out.%x", i - 1,
			0x20000 + i - 1, 0x10000 + i - 1);
		ask(d, text);
	}
	over = true;
	pthread_join(thread, NULL);
	assert_in_range(sent, 1, UINT64_MAX);
	d->g->w->published = &d->g->published;
	ike_gate_settle(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {ike_gate_test(test_threads)};

	return cmocka_run_group_tests_name("ike_threads", tests, harness_start, harness_stop);
}
