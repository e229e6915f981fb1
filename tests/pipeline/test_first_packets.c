// SPDX-License-Identifier: BSD-3-Clause
// Several packets of new flows in one burst, whose look-ups all found none. Proves that the later
// ones belong to the flow that the first one of theirs, or another worker, has begun: rules do not
// take them for new.
#include <netinet/in.h>

#include "flow_table.h"
#include "site.h"

#define CONF_MAX 8192

// Hosts inside may open connections.
static struct gateway *gateway_from_inside(void)
{
	char text[2 * CONF_MAX];

	site_a_conf(text, CONF_MAX, (struct site){0});
	snprintf(text + strlen(text), CONF_MAX,
		"default_action = \"drop\";\n"
		"rules = ( { name = \"new\"; action = \"accept\"; state = [ \"new\" ]; in = "
		"\"lan\"; },\n"
		"  { name = \"error\"; action = \"accept\"; state = [ \"related\" ]; } );\n");
	return gateway_new(0, text);
}

static struct frame question(uint8_t proto, uint16_t port)
{
	return frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "198.51.100.9", .proto = proto,
				     .sport = port, .dport = 80));
}

static struct frame answer(uint16_t port)
{
	return frame_ip(
		WAN, (struct ipv4)FROM_TO("198.51.100.9", "10.1.0.5", .sport = 80, .dport = port));
}

// "Port unreachable" about a request, from its destination.
static struct frame unreachable(const struct frame *about)
{
	uint8_t text[FRAME_MAX];
	const uint16_t len =
		error_write(text, "198.51.100.9", "10.1.0.5", 3, 3, frame_packet(about));

	return frame_raw(WAN, text, len);
}

// The number of look-ups that the rule has decided, and of the packets that it has admitted.
static void check_rule(const struct gateway *g, const char *rule, uint64_t asked, uint64_t packets)
{
	const struct decided d = gateway_rule_decided(g, rule);

	assert_int_equal(d.asked, asked);
	assert_int_equal(d.packets, packets);
}

static void test_answer(void **state)
{
	struct gateway *g = gateway_from_inside();
	const struct frame f[] = {question(IPPROTO_UDP, 1), answer(1), question(IPPROTO_UDP, 1)};

	(void)state;
	gateway_pass(g, f, COUNT_OF(f));
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->n_sent, COUNT_OF(f));
	check_rule(g, "new", 1, COUNT_OF(f));
	assert_int_equal(flow_count(g->flows), 1);
	gateway_free(g);
}

// Answers to nothing stay answers to nothing, whatever begins later in their burst.
static void test_answer_before(void **state)
{
	struct gateway *g = gateway_from_inside();
	const struct frame f[] = {answer(1), question(IPPROTO_UDP, 1), answer(1)};

	(void)state;
	gateway_pass(g, f, COUNT_OF(f));
	expect_drops(g, DROP_RULE_DROP, 1);
	assert_int_equal(g->n_sent, COUNT_OF(f) - 1);
	check_rule(g, "new", 1, COUNT_OF(f) - 1);
	gateway_free(g);
}

// Half of the flows of a burst begin before its first error, and half after it.
static void test_errors_between(void **state)
{
	struct gateway *g = gateway_from_inside();
	const struct frame q[] = {question(IPPROTO_UDP, 1), question(IPPROTO_UDP, 2)};
	const struct frame f[] = {q[0], unreachable(&q[0]), answer(1), q[1], answer(2), q[0],
		unreachable(&q[1]), answer(2), q[1]};

	(void)state;
	gateway_pass(g, f, COUNT_OF(f));
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->n_sent, COUNT_OF(f));
	check_rule(g, "new", 2, COUNT_OF(f) - 2);
	check_rule(g, "error", 2, 2);
	assert_int_equal(flow_count(g->flows), 2);
	gateway_free(g);
}

// An error about a packet that comes after it.
static void test_error_before(void **state)
{
	struct gateway *g = gateway_from_inside();
	const struct frame q = question(IPPROTO_UDP, 1), f[] = {unreachable(&q), q, answer(1)};

	(void)state;
	gateway_pass(g, f, COUNT_OF(f));
	expect_drops(g, DROP_ICMP_UNRELATED, 1);
	assert_int_equal(g->n_sent, COUNT_OF(f) - 1);
	check_rule(g, "new", 1, COUNT_OF(f) - 1);
	gateway_free(g);
}

// A SYN and its repeat open one connection.
static void test_repeated_syn(void **state)
{
	struct gateway *g = gateway_from_inside();
	const struct frame syn = question(IPPROTO_TCP, 1), f[] = {syn, syn};

	(void)state;
	gateway_pass(g, f, COUNT_OF(f));
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, COUNT_OF(f), WAN);
	check_rule(g, "new", 1, COUNT_OF(f));
	assert_int_equal(flow_count(g->flows), 1);
	gateway_free(g);
}

// Each flow of a full burst has its two packets, far from each other.
static void test_full_burst(void **state)
{
	static struct frame f[RX_BURST_MAX];
	struct gateway *g = gateway_from_inside();
	const uint16_t half = RX_BURST_MAX / 2;

	(void)state;
	for (uint16_t i = 0; i < half; i++) {
		f[i] = question(IPPROTO_UDP, (uint16_t)(1 + i));
		f[half + i] = answer((uint16_t)(1 + i));
	}
	gateway_pass(g, f, RX_BURST_MAX);
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->n_sent, RX_BURST_MAX);
	check_rule(g, "new", half, RX_BURST_MAX);
	assert_int_equal(flow_count(g->flows), half);
	gateway_free(g);
}

// Where another worker begins a flow while a burst with an answer is looked up.
static struct gateway *begins_at;

void __real_flow_find_burst(const struct flow_table *t, struct flow_index *x,
	const struct flow_pkt p[], union flow_place place[], unsigned int n);
void __wrap_flow_find_burst(const struct flow_table *t, struct flow_index *x,
	const struct flow_pkt p[], union flow_place place[], unsigned int n);

void __wrap_flow_find_burst(const struct flow_table *t, struct flow_index *x,
	const struct flow_pkt p[], union flow_place place[], unsigned int n)
{
	struct flow_pkt q;
	struct flow *f;

	__real_flow_find_burst(t, x, p, place, n);
	if (begins_at == NULL || n == 0)
		return;
	q = p[0];
	q.dir = !q.dir;
	assert_int_equal(
		flow_insert(begins_at->flows, 0, &q, NULL, LAN, begins_at->w->now_ms, NULL, &f),
		DROP_NONE);
	begins_at = NULL;
}

// The host has asked by another worker.
static void test_answer_to_the_host(void **state)
{
	struct gateway *g = site_a_host(LAN, (struct site){0});
	const struct frame f = frame_ip(
		LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.1.0.1", .sport = 53, .dport = 5000));

	(void)state;
	gateway_expect_drop(g, &f, DROP_LOCAL_UNSERVED);
	begins_at = g;
	gateway_expect_punted(g, f);
	assert_null(begins_at);
	assert_int_equal(flow_count(g->flows), 1);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_answer),
		pipeline_test(test_answer_before),
		pipeline_test(test_errors_between),
		pipeline_test(test_error_before),
		pipeline_test(test_repeated_syn),
		pipeline_test(test_full_burst),
		pipeline_test(test_answer_to_the_host),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
