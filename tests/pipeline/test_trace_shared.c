// SPDX-License-Identifier: BSD-3-Clause
// Traces of packets that pass between workers which share the work of tunnels.
#include <netinet/in.h>

#include "site.h"
#include "steps.h"

static const struct ipv4 outward = {.src = "10.1.0.5", .dst = "10.2.0.5", .dport = 53};

struct sharing {
	struct gateway *g[HARNESS_WORKERS];
	struct worker *w[HARNESS_WORKERS];
};

// They point into s.
static void sharing_start(struct sharing *s)
{
	s->g[0] = site_a((struct site){.more = "cpus = { workers = [ 0, 1, 2, 3 ]; };"});
	for (unsigned int i = 1; i < HARNESS_WORKERS; i++)
		s->g[i] = gateway_second(s->g[0], i);
	gateways_share(s->g, s->w, HARNESS_WORKERS);
}

static void sharing_stop(struct sharing *s)
{
	for (unsigned int i = HARNESS_WORKERS; i > 0; i--)
		gateway_free(s->g[i - 1]);
}

static void sharing_trace(struct sharing *s, const struct trace_filter *f, uint32_t packets)
{
	gateway_trace(s->g[0], f, packets);
	for (unsigned int i = 1; i < HARNESS_WORKERS; i++)
		s->w[i]->trace = s->w[i]->tracing = s->g[0]->trace;
}

// Receives a frame for the tunnel, which then waits for a worker that seals it.
static void sharing_receive(struct sharing *s, const struct frame *f)
{
	gateway_receive(s->g[0], f, 1);
	for (unsigned int i = 0; i < HARNESS_WORKERS; i++) {
		struct rte_mbuf *m[1];

		gateway_pass_mbufs(
			s->g[i], m, rte_ring_dequeue_burst(s->w[i]->frames, (void **)m, 1, NULL));
	}
	for (unsigned int i = 0; i < HARNESS_WORKERS; i++)
		gateway_keep(s->g[i]);
}

// A packet is the same one with all workers that it is with, whichever of them finds that it
// matches, and only the last of them ends it.
static void test_shared(void **state)
{
	static const struct trace_filter filters[] = {
		{.proto = PROTO_ANY},
		{TRACE_KEY_IN, .in = LAN, .proto = PROTO_ANY},
	};
	struct trace_filter both = {
		TRACE_KEY_IN | TRACE_KEY_OUT, .in = LAN, .out = WAN, .proto = PROTO_ANY};
	struct sharing s;
	struct frame f = frame_ip(LAN, outward);

	(void)state;
	sharing_start(&s);
	for (unsigned int i = 0; i < 3; i++) {
		sharing_trace(&s, i < 2 ? &filters[i] : &both, 1);
		sharing_receive(&s, &f);
		assert_int_equal(trace_packets(s.g[0]->trace), i < 2 ? 1 : 0);
		assert_false(trace_done(s.g[0]->trace));
		assert_true(gateway_help(s.g[3]));
		assert_true(trace_done(s.g[0]->trace));
		if (i == 0)
			EXPECT_STEPS(s.g[0], 1, TRACE_INPUT, TRACE_FLOW_NONE, TRACE_POLICY_PROTECT,
				TRACE_RULE_ACCEPT, TRACE_HANDED, TRACE_CONTINUED, TRACE_SEALED,
				TRACE_SENT);
		else if (i == 1)
			EXPECT_STEPS(s.g[0], 1, TRACE_INPUT, TRACE_FLOW_KNOWN, TRACE_POLICY_PROTECT,
				TRACE_HANDED, TRACE_CONTINUED, TRACE_SEALED, TRACE_SENT);
		else
			EXPECT_STEPS(s.g[0], 1, TRACE_CONTINUED, TRACE_SEALED, TRACE_SENT);
		assert_int_equal(find_step(s.g[0], TRACE_SEALED)->worker, 3);
		for (unsigned int k = 0; k < HARNESS_WORKERS; k++)
			gateway_keep(s.g[k]);
	}
	sharing_stop(&s);
}

// The worker that continues does not trace yet, or traces something else by then.
static void test_shared_change(void **state)
{
	struct sharing s;
	struct frame f = frame_ip(LAN, outward);

	(void)state;
	sharing_start(&s);
	for (unsigned int i = 0; i < 2; i++) {
		sharing_trace(&s, NULL, i + 1);
		sharing_receive(&s, &f);
		if (i == 0)
			s.w[3]->tracing = NULL;
		else
			sharing_trace(&s, NULL, 1);
		assert_true(gateway_help(s.g[3]));
		assert_true(trace_done(s.g[0]->trace));
		if (i == 0)
			assert_int_equal(trace_packets(s.g[0]->trace), 1);
		else
			EXPECT_STEPS(s.g[0], 1, TRACE_CONTINUED, TRACE_SEALED, TRACE_SENT);
		for (unsigned int k = 0; k < HARNESS_WORKERS; k++)
			gateway_keep(s.g[k]);
	}
	sharing_stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_shared),
		pipeline_test(test_shared_change),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
