// SPDX-License-Identifier: BSD-3-Clause
// Workers that share the work of one tunnel, in one thread and in every order of their steps that
// chance comes up with: packets of a flow leave in the order in which they came, ESP packets in the
// order of their numbers, none is lost, and none is accepted twice.
#include <netinet/in.h>

#include "conf.h"
#include "datagram.h"
#include "fan_site.h"
#include "fanout.h"

// Every worker processes the frames that were handed over to it.
static void all_pass(struct workers *s)
{
	for (unsigned int i = 0; i < WORKERS; i++) {
		struct rte_mbuf *m[RX_BURST_MAX];
		unsigned int n =
			rte_ring_dequeue_burst(s->w[i]->frames, (void **)m, RX_BURST_MAX, NULL);

		gateway_pass_mbufs(s->g[i], m, n);
	}
}

// The window is far smaller than the number of packets in flight.
static void run(bool out)
{
	for (uint64_t seed = 1; seed <= rounds(10); seed++) {
		struct workers s = workers_new(SITE(.window = 32), seed);
		unsigned int n = 0;

		gateways_share(s.g, s.w, WORKERS);
		for (unsigned int i = 0; i < 60; i++) {
			struct frame f[RX_BURST_MAX];
			struct gateway *reader = s.g[0]; // the only one with a queue

			if (fanout_has_room(reader->w)) {
				unsigned int in = burst(&s, f, out);

				gateway_receive(reader, f, in);
				check_sent(&s, reader);
				n += in;
			}
			for (unsigned int k = random_below(&s.seed, 30); k > 0; k--)
				step(&s);
		}
		settle(&s);
		assert_int_equal(s.n_sent, n);
		assert_int_equal(dropped_all(&s), 0);
		workers_free(&s);
	}
}

static void test_out(void **state)
{
	(void)state;
	run(true);
}

static void test_in(void **state)
{
	(void)state;
	run(false);
}

// Packets are repeated while the first copies are still in a lane, others are forged or are
// dummies: each is counted once, under its reason.
static void test_each_drop_counts_once(void **state)
{
	struct workers s = workers_new(SITE(.window = 64), 5);
	struct frame f[RX_BURST_MAX];
	uint64_t octets = 0, packets = 0;
	unsigned int n = 0;

	(void)state;
	gateways_share(s.g, s.w, WORKERS);
	for (unsigned int i = 0; i < 12; i += 3) {
		f[i] = peer_seal_ip(&s.b, ++s.seq, packet_of(&s, 0, false));
		f[i + 1] = f[i];
		f[i + 2] = peer_seal(
			&s.b, (struct esp){.seq = ++s.seq,
				      .text_len = peer_trailer(&s.b, f[50].b, 40, IPPROTO_NONE),
				      .text = f[50].b});
		n += 3;
	}
	f[n] = f[0];
	f[n].b[f[n].len - 1] ^= 1;
	gateway_receive(s.g[0], f, n + 1);
	gateway_receive(s.g[1], f, n); // the other copy, by another queue
	while (gateway_help(s.g[2]) || gateway_help(s.g[3]))
		;
	settle(&s);
	assert_int_equal(s.n_sent, 4);
	assert_int_equal(dropped(&s, DROP_REPLAY), 4 + 8 + 4);
	assert_int_equal(dropped(&s, DROP_DUMMY), 4);
	assert_int_equal(dropped(&s, DROP_AUTH), 1);
	for (unsigned int i = 0; i < WORKERS; i++) {
		packets += gateway_sa_counted(s.g[i], "from-b")->packets;
		octets += gateway_sa_counted(s.g[i], "from-b")->bytes;
	}
	assert_int_equal(packets, 4);
	assert_int_equal(octets, 400);
	workers_free(&s);
}

// The configuration is replaced while packets are in lanes and rings: SAs that stay are found
// again.
static void test_reload(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct workers s = workers_new(SITE(), seed);
		struct conf *conf;
		char text[8192];
		unsigned int n = 0;

		(void)state;
		site_a_conf(text, sizeof(text), SITE());
		gateways_share(s.g, s.w, WORKERS);
		for (unsigned int i = 0; i < 60; i++) {
			struct frame f[RX_BURST_MAX];

			if (fanout_has_room(s.w[0])) {
				unsigned int in = burst(&s, f, seed % 2 == 0);

				gateway_receive(s.g[0], f, in);
				check_sent(&s, s.g[0]);
				n += in;
			}
			for (unsigned int k = random_below(&s.seed, 10); k > 0; k--)
				step(&s);
			if (i % 7 == 0) {
				conf = harness_conf(text, strlen(text), stderr);
				gateway_reload(s.g[0], conf);
				conf_free(conf);
			}
		}
		settle(&s);
		assert_int_equal(s.n_sent, n);
		workers_free(&s);
	}
}

static void without_sas(struct gateway *g)
{
	char text[8192];
	struct conf *conf;

	site_a_conf(text, sizeof(text), SITE());
	for (unsigned int i = 0; i < 2; i++) {
		static const char *const lists[] = {"sas = (", "policies = ("};
		char *at = strchr(strstr(text, lists[i]), '(') + 1, *end = strstr(at, ");");

		memmove(at, end, strlen(end) + 1);
	}
	conf = harness_conf(text, strlen(text), stderr);
	assert_non_null(conf);
	gateway_reload(g, conf);
	conf_free(conf);
}

// SAs are removed while their packets wait to be numbered, to be sealed, to enter the window, or
// for the worker of their flow.
static void test_sa_removed_in_flight(void **state)
{
	(void)state;
	for (unsigned int stage = 0; stage < 4; stage++) {
		struct workers s = workers_new(SITE(), 7);
		struct frame f[RX_BURST_MAX];
		unsigned int n = burst(&s, f, stage < 2);

		gateways_share(s.g, s.w, WORKERS);
		gateway_receive(s.g[0], f, n);
		if (stage < 2)
			all_pass(&s);
		else
			gateway_help(s.g[1]);
		for (unsigned int i = 0; (stage == 1 || stage == 3) && i < WORKERS; i++)
			gateway_keep(s.g[i]);
		without_sas(s.g[0]);
		settle(&s);
		assert_int_equal(s.n_sent, 0);
		assert_int_equal(dropped(&s, stage < 2 ? DROP_SA_REMOVED : DROP_NO_SA), n);
		workers_free(&s);
	}
}

// Inner packets whose ESP packets have to be fragmented, among others: the fragments take their
// turn.
static void test_large(void **state)
{
	struct workers s = workers_new(SITE(.sa_out = "fragment = \"after\";"), 9);
	struct frame f[3];

	(void)state;
	gateways_share(s.g, s.w, WORKERS);
	for (unsigned int i = 0; i < 40; i++) {
		struct ipv4 ip = packet_of(&s, 1, true);
		unsigned int fragments = 0;
		uint32_t last_seq = 0;

		f[0] = frame_ip(LAN, ip);
		ip.len = 1480;
		ip.id = (uint16_t)++s.number[1];
		f[1] = frame_ip(LAN, ip);
		f[2] = frame_ip(LAN, packet_of(&s, 1, true));
		gateway_receive(s.g[0], f, 3);
		for (unsigned int k = 0; k < 100000 && pending(&s); k++) {
			struct gateway *g = any(&s);
			struct rte_mbuf *m[RX_BURST_MAX];
			unsigned int taken =
				rte_ring_dequeue_burst(g->w->frames, (void **)m, 8, NULL);

			gateway_pass_mbufs(g, m, taken);
			gateway_help(g);
			gateway_keep(g);
			for (unsigned int k2 = 0; k2 < g->n_sent; k2++) {
				const uint8_t *p = frame_packet(&g->sent[k2]);

				if ((be16(p + 6) & 0x1fff) != 0) {
					fragments++;
					continue;
				}
				assert_int_equal(be32(p + IP_LEN + 4), 3 * i + ++last_seq);
			}
		}
		assert_int_equal(last_seq, 3);
		assert_int_equal(fragments, 1);
	}
	assert_int_equal(dropped_all(&s), 0);
	workers_free(&s);
}

// More packets for one tunnel than its worker has numbered: nobody receives more until that has
// changed, and none is dropped.
static void test_behind(void **state)
{
	struct workers s = workers_new(SITE(), 11);
	struct worker *owner = NULL;
	unsigned int n = 0;

	(void)state;
	gateways_share(s.g, s.w, WORKERS);
	while (owner == NULL) {
		struct frame f[RX_BURST_MAX];

		assert_in_range(n, 0, 3000);
		assert_true(fanout_has_room(s.w[0]));
		for (unsigned int i = 0; i < RX_BURST_MAX; i++)
			f[i] = frame_ip(LAN, packet_of(&s, i % FLOWS, true));
		gateway_receive(s.g[0], f, RX_BURST_MAX);
		n += RX_BURST_MAX;
		all_pass(&s);
		for (unsigned int i = 0; i < WORKERS; i++) {
			gateway_keep(s.g[i]);
			if (owner == NULL && fanout_is_behind(s.w[0]))
				owner = s.w[i];
		}
	}
	assert_false(rte_ring_empty(owner->departing));
	for (unsigned int i = 0; i < WORKERS; i++)
		assert_false(fanout_has_room(s.w[i]));
	settle(&s);
	for (unsigned int i = 0; i < WORKERS; i++)
		assert_true(fanout_has_room(s.w[i]));
	assert_int_equal(s.n_sent, n);
	assert_int_equal(dropped_all(&s), 0);
	workers_free(&s);
}

// A worker receives more bursts at once as long as the others have less than some of its bursts to
// process each, and helps others only when its own packets do not wait.
static void test_short(void **state)
{
	struct workers s = workers_new(SITE(), 12);
	struct frame f[RX_BURST_MAX];
	unsigned int bursts;

	(void)state;
	gateways_share(s.g, s.w, WORKERS);
	for (bursts = 0; fanout_is_short(s.w[0], 1); bursts++) {
		assert_true(fanout_has_room(s.w[0]));
		gateway_receive(s.g[0], f, burst(&s, f, false));
	}
	assert_in_range(bursts, WORKERS, 4 * WORKERS - 1);
	assert_false(fanout_is_short(s.w[1], 100));
	assert_true(fanout_is_short(s.w[1], 1)); // its own lane is empty
	assert_true(fanout_can_help(s.w[1]));
	for (unsigned int i = 0; i < RX_BURST_MAX; i++) {
		f[0] = frame_ip(LAN, packet_of(&s, 0, true));

		struct rte_mbuf *m = frame_mbuf(&f[0]);

		assert_int_equal(rte_ring_enqueue(s.w[1]->frames, m), 0);
	}
	assert_false(fanout_can_help(s.w[1]));
	assert_true(fanout_can_help(s.w[2]));
	workers_free(&s);
}

// A worker that stops drops packets that are still in flight, and counts them.
static void test_stop_drops_what_is_in_flight(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct workers s = workers_new(SITE(), seed);
		struct frame f[RX_BURST_MAX];

		gateways_share(s.g, s.w, WORKERS);
		for (unsigned int i = 0; i < 10; i++) {
			gateway_receive(s.g[i % 2], f, burst(&s, f, i % 3 == 0));
			for (unsigned int k = random_below(&s.seed, 5); k > 0; k--)
				gateway_help(any(&s));
			for (unsigned int k = random_below(&s.seed, 3); k > 0; k--)
				gateway_keep(any(&s));
		}
		workers_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_out),
		pipeline_test(test_in),
		pipeline_test(test_each_drop_counts_once),
		pipeline_test(test_reload),
		pipeline_test(test_sa_removed_in_flight),
		pipeline_test(test_large),
		pipeline_test(test_behind),
		pipeline_test(test_short),
		pipeline_test(test_stop_drops_what_is_in_flight),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
