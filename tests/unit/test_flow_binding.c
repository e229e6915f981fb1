// SPDX-License-Identifier: BSD-3-Clause
// Records of translated connections: each begin and end has one, with the right ends and number.
#include "flow_binding.h"
#include "flows.h"

#define PUBLIC 0xc6336401 // 198.51.100.1

static struct ip_ends ends(uint32_t src, uint16_t sport, uint32_t dst, uint16_t dport)
{
	return (struct ip_ends){ip_addr_from_v4(rte_cpu_to_be_32(src)),
		ip_addr_from_v4(rte_cpu_to_be_32(dst)), rte_cpu_to_be_16(sport),
		rte_cpu_to_be_16(dport)};
}

static void init(struct flows *s, unsigned int workers)
{
	flows_init(s, 10000, workers, NULL);
	assert_int_equal(flow_table_translate(s->t), 0);
	assert_int_equal(flow_bindings_new(s->t), 0);
}

// Each binding that is to be logged has a record of its begin and one of its end; a full ring loses
// further ones, and counts them.
static void test_records(void **state)
{
	struct flow_pkt p = pkt_udp(HOST_A, 1000, HOST_B, 53);
	struct flow_translation translation = {.to = ends(PUBLIC, 2000, HOST_B, 53), .rule = {7}};
	struct flow_counters sum;
	struct flow_binding b;
	struct flows s;
	struct flow *f;

	(void)state;
	init(&s, 1);
	for (unsigned int i = 0; i < FLOW_BINDINGS / 2 + 2; i++) {
		translation.logged = i > 0;
		flow_lookup_start(s.t, &p);
		assert_int_equal(flow_insert(s.t, 0, &p, &translation, 0, i, NULL, &f), DROP_NONE);
		flow_remove(s.t, 0, f, i + 1);
		flows_round(&s, i);
	}
	for (unsigned int i = 0; i < FLOW_BINDINGS; i++) {
		assert_true(flow_binding_next(s.t, 0, &b));
		assert_int_equal(b.ended, i % 2);
		assert_int_equal(b.at_ms, 1 + i / 2 + b.ended);
		assert_int_equal(b.proto, IPPROTO_UDP);
		assert_int_equal(b.from.src_port, rte_cpu_to_be_16(1000));
		assert_true(ip_addr_equal(&b.to.src, &translation.to.src));
		assert_int_equal(b.to.src_port, translation.to.src_port);
	}
	assert_false(flow_binding_next(s.t, 0, &b));
	flow_counters_sum(s.t, &sum);
	assert_int_equal(sum.bindings, FLOW_BINDINGS / 2 + 2);
	assert_int_equal(sum.bindings_ended, sum.bindings);
	assert_int_equal(sum.bindings_lost, 2);
	flows_fini(&s);
}

// Begin and end of a binding have the same number, whichever workers record them, and no other
// binding has it.
static void test_numbers_of_bindings(void **state)
{
	struct flow_binding begin[2][2], end;
	struct flow *f[2][2];
	struct flows s;

	(void)state;
	init(&s, 2);
	for (unsigned int i = 0; i < 4; i++) {
		const struct flow_translation translation = {
			.to = ends(PUBLIC, (uint16_t)(2000 + i), HOST_B, 53),
			.rule = {7},
			.logged = true};
		struct flow_pkt p = pkt_udp(HOST_A, (uint16_t)(1000 + i), HOST_B, 53);

		flow_lookup_start(s.t, &p);
		assert_int_equal(
			flow_insert(s.t, i / 2, &p, &translation, 0, 0, NULL, &f[i / 2][i % 2]),
			DROP_NONE);
		assert_true(flow_binding_next(s.t, i / 2, &begin[i / 2][i % 2]));
	}
	for (unsigned int i = 0; i < 4; i++) {
		const unsigned int worker = i / 2;

		for (unsigned int k = 0; k < i; k++)
			assert_int_not_equal(
				begin[worker][i % 2].number, begin[k / 2][k % 2].number);
		flow_remove(s.t, !worker, f[worker][i % 2], 0);
		assert_true(flow_binding_next(s.t, !worker, &end));
		assert_true(end.ended);
		assert_int_equal(end.number, begin[worker][i % 2].number);
	}
	flows_fini(&s);
}

// A connection that the server begins in the flow of a closed one ends with the ends of the
// binding.
static void test_record_of_a_reopened_flow(void **state)
{
	struct flow_pkt syn = pkt_tcp(HOST_A, 1000, HOST_B, 80, SYN, 100, 0);
	const struct flow_pkt reset = pkt_tcp(HOST_B, 80, PUBLIC, 2000, RST | ACK, 0, 101),
			      again = pkt_tcp(HOST_B, 80, PUBLIC, 2000, SYN, 500, 0);
	const struct flow_translation translation = {
		.to = ends(PUBLIC, 2000, HOST_B, 80), .rule = {7}, .logged = true};
	struct flow_binding begin, end;
	struct flows s;
	struct flow *f, *same;

	(void)state;
	init(&s, 1);
	flow_lookup_start(s.t, &syn);
	assert_int_equal(flow_insert(s.t, 0, &syn, &translation, 0, 0, NULL, &f), DROP_NONE);
	assert_int_equal(flows_pass(&s, 0, &syn, 0, &same), DROP_NONE);
	assert_int_equal(flows_pass(&s, 0, &reset, 1, &same), DROP_NONE);
	assert_int_equal(flows_pass(&s, 0, &again, 2, &same), DROP_NONE);
	assert_ptr_equal(same, f);
	assert_int_equal(flows_count(&s).reopened, 1);
	flow_remove(s.t, 0, f, 0);
	assert_true(flow_binding_next(s.t, 0, &begin));
	assert_true(flow_binding_next(s.t, 0, &end));
	assert_true(end.ended);
	assert_true(ip_addr_equal(&end.from.src, &begin.from.src));
	assert_int_equal(end.from.src_port, begin.from.src_port);
	assert_true(ip_addr_equal(&end.from.dst, &begin.from.dst));
	assert_true(ip_addr_equal(&end.to.src, &begin.to.src));
	assert_int_equal(end.to.src_port, begin.to.src_port);
	flows_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_records),
		cmocka_unit_test(test_numbers_of_bindings),
		cmocka_unit_test(test_record_of_a_reopened_flow)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
