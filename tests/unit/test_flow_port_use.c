// SPDX-License-Identifier: BSD-3-Clause
// Ports of translated connections: how many a source has, and that a full table leaves them.
#include "flow_nat.h"
#include "flow_port.h"
#include "flows.h"

#define PUBLIC 0xc6336401 // 198.51.100.1

static struct ip_ends ends(uint32_t src, uint16_t sport, uint32_t dst, uint16_t dport)
{
	return (struct ip_ends){ip_addr_from_v4(rte_cpu_to_be_32(src)),
		ip_addr_from_v4(rte_cpu_to_be_32(dst)), rte_cpu_to_be_16(sport),
		rte_cpu_to_be_16(dport)};
}

static void init(struct flows *s, uint32_t capacity)
{
	flows_init(s, capacity, 1, NULL);
	assert_int_equal(flow_table_translate(s->t), 0);
}

// A server reopens a connection, which ends then: its port counts no more for the client, and never
// did for the server.
static void test_ports_of_a_reopened_flow(void **state)
{
	struct flow_pkt syn = pkt_tcp(HOST_A, 1000, HOST_B, 80, SYN, 100, 0);
	const struct flow_pkt reset = pkt_tcp(HOST_B, 80, PUBLIC, 2000, RST | ACK, 0, 101),
			      again = pkt_tcp(HOST_B, 80, PUBLIC, 2000, SYN, 500, 0);
	struct flow_translation translation = {.to = ends(PUBLIC, 2000, HOST_B, 80), .rule = {7}};
	const struct ip_addr *client, *server;
	struct flows s;
	struct flow *f, *same;

	(void)state;
	init(&s, 10000);
	flow_lookup_start(s.t, &syn);
	translation.towards = flow_towards(s.t, &syn, &translation.to);
	client = &syn.key.addr[syn.dir];
	server = &syn.key.addr[!syn.dir];
	assert_int_equal(flow_insert(s.t, 0, &syn, &translation, 0, 0, NULL, &f), DROP_NONE);
	assert_int_equal(flows_pass(&s, 0, &syn, 0, &same), DROP_NONE);
	assert_int_equal(flows_pass(&s, 0, &reset, 1, &same), DROP_NONE);
	assert_int_equal(flows_pass(&s, 0, &again, 2, &same), DROP_NONE);
	assert_int_equal(flows_count(&s).reopened, 1);
	flow_remove(s.t, 0, f, 0);
	assert_int_equal(flow_ports_of_source(s.t, translation.towards, client), 0);
	assert_int_equal(flow_ports_of_source(s.t, translation.towards, server), 0);
	flows_fini(&s);
}

// How the connections that fill a table are translated.
enum kind {
	OWN_PORT,  // of a source, whose port stays
	FORWARDED, // of a destination
	CHOSEN     // of a source, whose port is chosen
};

// Fills the table with established connections at time 0.
static uint32_t fill(struct flows *s, uint32_t n, enum kind kind)
{
	uint32_t made = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct flow_pkt p = pkt_udp(HOST_A + i, 1000, HOST_B, 53);
		const struct flow_pkt reply =
			pkt_udp(HOST_B, 53, PUBLIC + i / 50000, (uint16_t)(1024 + i % 50000));
		struct flow_translation translation = {
			.to = ends(PUBLIC + i / 50000, (uint16_t)(1024 + i % 50000), HOST_B, 53)};
		struct flow *f;

		translation.rule[kind != FORWARDED] = 7;
		flow_lookup_start(s->t, &p);
		if (kind != OWN_PORT)
			translation.towards = flow_towards(s->t, &p, &translation.to);
		if (flow_insert(s->t, 0, &p, &translation, s->holder, 0, NULL, &f) != DROP_NONE)
			continue;
		made++;
		assert_int_equal(flows_pass(s, 0, &p, 0, &f), DROP_NONE);
		assert_int_equal(flows_pass(s, 0, &reply, 0, &f), DROP_NONE);
	}
	return made;
}

// Opens connections without translation at a time.
static void open_others(struct flows *s, uint32_t first, uint32_t n, uint32_t now)
{
	for (uint32_t i = first; i < first + n; i++) {
		const struct flow_pkt p = pkt_udp(HOST_A + i, 1000, HOST_B, 53);
		struct flow *f;

		if (flows_pass(s, 0, &p, now, &f) == DROP_NONE)
			flows_establish(s, i, now);
		rte_rcu_qsbr_quiescent(s->qsbr, 0);
	}
}

#define CAPACITY 4096

// Fills the table, and opens others at a time, of a holder that has some. Returns how many of the
// first ones are gone then.
static uint32_t gone(enum kind kind, uint32_t holder, uint32_t has, uint32_t now)
{
	const uint32_t tried = CAPACITY + CAPACITY / 2;
	uint32_t left = 0, made;
	struct flows s;

	init(&s, CAPACITY);
	s.holder = holder;
	open_others(&s, 100000, has, now);
	s.holder = 0;
	made = fill(&s, tried, kind);
	assert_true(made + has >= CAPACITY);
	s.holder = holder;
	open_others(&s, 200000, 2000, now);
	for (uint32_t i = 0; i < tried; i++)
		left += flows_has(&s, i);
	flows_fini(&s);
	return made - left;
}

// For others of its holder, an established connection keeps the port that was chosen for its
// source, unless it was idle for hours; any other leaves a full table.
static void test_full_table(void **state)
{
	(void)state;
	assert_int_equal(gone(CHOSEN, 0, 0, FLOW_SPARED_MS - 1000), 0);
	assert_true(gone(CHOSEN, 0, 0, FLOW_SPARED_MS + 1000) > 500);
	assert_true(gone(OWN_PORT, 0, 0, FLOW_SPARED_MS - 1000) > 500);
	assert_true(gone(FORWARDED, 0, 0, FLOW_SPARED_MS - 1000) > 500);
}

// For another holder they leave until that has half as many, and no further.
static void test_full_table_is_shared(void **state)
{
	(void)state;
	assert_in_range(gone(CHOSEN, 3, 0, FLOW_SPARED_MS - 1000), CAPACITY / 4, CAPACITY * 3 / 8);
	assert_int_equal(gone(CHOSEN, 3, CAPACITY / 2, FLOW_SPARED_MS - 1000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ports_of_a_reopened_flow),
		cmocka_unit_test(test_full_table),
		cmocka_unit_test(test_full_table_is_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
