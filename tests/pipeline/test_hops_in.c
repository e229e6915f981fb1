// SPDX-License-Identifier: BSD-3-Clause
// Packets of a known flow that come by another one of several next hops: the flow is decided once,
// and not for each packet.
#include "peer.h"
#include "site_hops.h"

// Look-ups of policies and tunnels: one by each packet that took the slow path.
static uint64_t lookups(const struct gateway *g)
{
	const struct decided *of = g->snapshot->objects->decisions[DECIDER_POLICY]->worker[0];
	uint64_t n = 0;

	for (unsigned int i = 1; i < SPD_NUMBERS; i++)
		n += of[i].asked;
	return n;
}

// How many of three packets take the slow path.
static uint64_t slow_of_three(struct gateway *g, struct frame (*frame)(struct gateway *))
{
	const uint64_t before = lookups(g);

	for (unsigned int i = 0; i < 3; i++) {
		const struct frame f = frame(g);

		gateway_pass(g, &f, 1);
		expect_all_sent(g, 1, LAN);
	}
	return lookups(g) - before;
}

static struct frame out_of(struct gateway *g, const char *sa, const char *src)
{
	static unsigned int seq;
	struct peer peer = peer_new(g, sa);
	struct frame f = peer_seal_ip(&peer, ++seq, (struct ipv4)FROM_TO(src, "10.1.0.5"));

	peer_free(&peer);
	return f;
}

static struct frame by_b(struct gateway *g)
{
	return out_of(g, "from-b", "10.6.0.9");
}

static struct frame by_c(struct gateway *g)
{
	return out_of(g, "from-c", "10.6.0.9");
}

static struct frame by_wan(struct gateway *g)
{
	(void)g;
	return frame_ip(WAN, (struct ipv4)FROM_TO("10.5.0.9", "10.1.0.5"));
}

static struct frame by_wan2(struct gateway *g)
{
	(void)g;
	return frame_ip(WAN2, (struct ipv4)FROM_TO("10.5.0.9", "10.1.0.5"));
}

static void test_another_tunnel(void **state)
{
	struct gateway *g = gateway_new(0, site_hops);

	(void)state;
	assert_int_equal(slow_of_three(g, by_b), 1);
	assert_int_equal(slow_of_three(g, by_c), 1);
	assert_int_equal(slow_of_three(g, by_b), 1);
	gateway_free(g);
}

static void test_another_port(void **state)
{
	struct gateway *g = gateway_new(0, site_hops);

	(void)state;
	assert_int_equal(slow_of_three(g, by_wan), 1);
	assert_int_equal(slow_of_three(g, by_wan2), 1);
	gateway_free(g);
}

// Where routes do not lead to both, the decision stays that of the flow.
static void test_a_port_of_no_hop(void **state)
{
	struct gateway *g = gateway_new(0, site_hops);
	const struct frame right = frame_ip(WAN, (struct ipv4)FROM_TO("10.13.0.9", "10.1.0.5"));
	const struct frame other = frame_ip(WAN2, (struct ipv4)FROM_TO("10.13.0.9", "10.1.0.5"));
	uint64_t before;

	(void)state;
	gateway_pass(g, &right, 1);
	gateway_pass(g, &other, 1);
	before = lookups(g);
	gateway_pass(g, &right, 1);
	assert_int_equal(lookups(g), before);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_another_tunnel),
		pipeline_test(test_another_port),
		pipeline_test(test_a_port_of_no_hop),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
