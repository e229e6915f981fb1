// SPDX-License-Identifier: BSD-3-Clause
// Records of flows: the sum of all of a flow is its traffic, whenever they are made; none is made
// while nobody wants them, and a full ring loses further ones.
#include "flow_record.h"
#include "flow_track.h"
#include "flows.h"

#define PUBLIC 0xc6336401 // 198.51.100.1
#define ACTIVE 60000      // ms

struct taken {
	unsigned int n, room;
	struct flow_record r[8];
};

static bool take(void *arg, const struct flow_record *r)
{
	struct taken *t = arg;

	if (t->n == t->room)
		return false;
	t->r[t->n++] = *r;
	return true;
}

// Scans the whole table once.
static struct taken scan(struct flows *s, uint32_t now)
{
	struct taken t = {.room = COUNT_OF(t.r)};
	uint32_t position = 0;

	do
		flow_records_scan(s->t, &position, now, ACTIVE, take, &t);
	while (position != 0);
	return t;
}

static void init(struct flows *s, unsigned int workers)
{
	flows_init(s, 10000, workers, NULL);
	assert_int_equal(flow_records_start(s->t), 0);
	while (flow_table_fill(s->t))
		;
}

static struct flow_pkt reply(void)
{
	return pkt_udp(HOST_B, 53, HOST_A, 1000);
}

// Sends n packets of 28 octets by each end.
static struct flow *talk(struct flows *s, unsigned int n, uint32_t now)
{
	const struct flow_pkt ask = pkt_udp(HOST_A, 1000, HOST_B, 53), answer = reply();
	struct flow *f = NULL;

	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(flows_pass(s, 0, &ask, now, &f), DROP_NONE);
		assert_int_equal(flows_pass(s, 0, &answer, now, &f), DROP_NONE);
	}
	return f;
}

// A flow that ends has one record, with the packets of each end.
static void test_end(void **state)
{
	struct flow_record r;
	struct flows s;

	(void)state;
	init(&s, 1);
	talk(&s, 3, 100);
	assert_false(flow_record_next(s.t, 0, &r));
	flows_round(&s, 500 * 1000);
	assert_true(flow_record_next(s.t, 0, &r));
	assert_int_equal(r.end, FLOW_END_IDLE);
	assert_int_equal(r.proto, IPPROTO_UDP);
	assert_int_equal(r.from.src_port, rte_cpu_to_be_16(1000));
	assert_int_equal(ip_addr_v4(&r.from.dst), rte_cpu_to_be_32(HOST_B));
	assert_false(r.translated);
	assert_memory_equal(&r.from, &r.to, sizeof(r.from));
	assert_int_equal(r.begun_ms, 100);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(r.dir[i].packets, 3);
		assert_int_equal(r.dir[i].octets, 3 * 28);
		assert_int_equal(r.dir[i].seen_ms, 100);
		assert_int_equal(r.dir[i].dropped, 0);
	}
	assert_false(flow_record_next(s.t, 0, &r));
	flows_fini(&s);
}

// Records of a long flow have the packets since the one before, and the last one the rest.
static void test_long(void **state)
{
	struct flow_record r;
	struct taken t;
	struct flows s;
	struct flow *f;

	(void)state;
	init(&s, 1);
	talk(&s, 3, 1000);
	assert_int_equal(scan(&s, 1000 + ACTIVE - 1).n, 0);
	t = scan(&s, 1000 + ACTIVE);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.r[0].end, FLOW_END_ACTIVE);
	assert_int_equal(t.r[0].dir[0].packets, 3);
	assert_int_equal(t.r[0].begun_ms, 1000);
	assert_int_equal(scan(&s, 1000 + ACTIVE).n, 0);
	assert_int_equal(scan(&s, 1000 + 3 * ACTIVE).n, 0); // no packet since

	f = talk(&s, 2, 1000 + 3 * ACTIVE);
	flow_count_drop(s.t, f, 0);
	t = scan(&s, 1000 + 4 * ACTIVE);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.r[0].dir[1].packets, 2);
	assert_int_equal(t.r[0].dir[1].octets, 2 * 28);
	assert_int_equal(t.r[0].dir[0].dropped + t.r[0].dir[1].dropped, 1);

	f = talk(&s, 1, 1000 + 4 * ACTIVE);
	flow_remove(s.t, 0, f, 0);
	assert_true(flow_record_next(s.t, 0, &r));
	assert_int_equal(r.end, FLOW_END_FORCED);
	assert_int_equal(r.dir[0].packets, 1);
	assert_int_equal(r.dir[0].dropped + r.dir[1].dropped, 0);
	assert_int_equal(r.begun_ms, 1000 + 4 * ACTIVE);
	flows_fini(&s);
}

// A record that cannot be taken is offered again, with all packets.
static void test_refused(void **state)
{
	struct taken none = {.room = 0};
	uint32_t position = 0;
	struct taken t;
	struct flows s;

	(void)state;
	init(&s, 1);
	talk(&s, 3, 0);
	flow_records_scan(s.t, &position, ACTIVE, ACTIVE, take, &none);
	flow_records_scan(s.t, &position, ACTIVE, ACTIVE, take, &none);
	t = scan(&s, ACTIVE);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.r[0].dir[0].packets, 3);
	flows_fini(&s);
}

// Another flow in the same entry begins at 0.
static void test_entry_of_another(void **state)
{
	struct flow_record r;
	struct flows s;
	struct flow *f, *again;

	(void)state;
	init(&s, 1);
	f = talk(&s, 9, 0);
	flow_count_drop(s.t, f, 0);
	assert_int_equal(scan(&s, ACTIVE).n, 1);
	flow_remove(s.t, 0, f, 0);
	assert_true(flow_record_next(s.t, 0, &r));
	assert_int_equal(r.dir[0].packets, 0);
	flows_round(&s, ACTIVE);
	flows_round(&s, ACTIVE);
	again = talk(&s, 2, ACTIVE + 1);
	for (unsigned int i = 0; again != f && i < 100; i++) {
		flow_remove(s.t, 0, again, 0);
		assert_true(flow_record_next(s.t, 0, &r));
		flows_round(&s, ACTIVE);
		flows_round(&s, ACTIVE);
		again = talk(&s, 2, ACTIVE + 1);
	}
	assert_ptr_equal(again, f);
	flow_remove(s.t, 0, again, 0);
	assert_true(flow_record_next(s.t, 0, &r));
	assert_int_equal(r.dir[0].packets, 2);
	assert_int_equal(r.dir[0].dropped + r.dir[1].dropped, 0);
	flows_fini(&s);
}

// A connection in the entry of a closed one: each has its own record.
static void test_reopened(void **state)
{
	const struct flow_pkt syn = pkt_tcp(HOST_A, 1000, HOST_B, 80, SYN, 100, 0),
			      reset = pkt_tcp(HOST_B, 80, HOST_A, 1000, RST | ACK, 0, 101),
			      again = pkt_tcp(HOST_B, 80, HOST_A, 1000, SYN, 500, 0);
	struct flow_record r;
	struct flows s;
	struct flow *f;

	(void)state;
	init(&s, 1);
	assert_int_equal(flows_pass(&s, 0, &syn, 0, &f), DROP_NONE);
	assert_int_equal(flows_pass(&s, 0, &reset, 1, &f), DROP_NONE);
	assert_int_equal(flows_pass(&s, 0, &again, 2, &f), DROP_NONE);
	assert_true(flow_record_next(s.t, 0, &r));
	assert_int_equal(r.end, FLOW_END_CLOSED);
	assert_int_equal(ip_addr_v4(&r.from.src), rte_cpu_to_be_32(HOST_A));
	assert_int_equal(r.dir[0].packets, 1);
	assert_int_equal(r.dir[1].packets, 1);
	flow_remove(s.t, 0, f, 3);
	assert_true(flow_record_next(s.t, 0, &r));
	assert_int_equal(ip_addr_v4(&r.from.src), rte_cpu_to_be_32(HOST_B));
	assert_int_equal(r.begun_ms, 2);
	assert_int_equal(r.dir[0].packets, 1);
	assert_int_equal(r.dir[1].packets, 0);
	flows_fini(&s);
}

// The ends of a translated flow, as received and as sent.
static void test_translated(void **state)
{
	const struct flow_translation translation = {
		.to = {ip_addr_from_v4(rte_cpu_to_be_32(PUBLIC)),
			ip_addr_from_v4(rte_cpu_to_be_32(HOST_B)), rte_cpu_to_be_16(2000),
			rte_cpu_to_be_16(53)},
		.rule = {7}};
	struct flow_pkt p = pkt_udp(HOST_A, 1000, HOST_B, 53);
	struct flow_record r;
	struct flows s;
	struct flow *f;

	(void)state;
	init(&s, 1);
	assert_int_equal(flow_table_translate(s.t), 0);
	flow_lookup_start(s.t, &p);
	assert_int_equal(flow_insert(s.t, 0, &p, &translation, 0, 0, NULL, &f), DROP_NONE);
	flow_remove(s.t, 0, f, 0);
	assert_true(flow_record_next(s.t, 0, &r));
	assert_true(r.translated);
	assert_int_equal(ip_addr_v4(&r.from.src), rte_cpu_to_be_32(HOST_A));
	assert_int_equal(ip_addr_v4(&r.to.src), rte_cpu_to_be_32(PUBLIC));
	assert_int_equal(r.to.src_port, rte_cpu_to_be_16(2000));
	flows_fini(&s);
}

// A full ring loses records and counts them; nothing is kept after they were stopped.
static void test_bounds(void **state)
{
	struct flow_record r;
	struct flows s;

	(void)state;
	init(&s, 2);
	for (unsigned int i = 0; i < FLOW_RECORDS + 5; i++) {
		flow_remove(s.t, 1, talk(&s, 1, i), i);
		flows_round(&s, i);
	}
	assert_int_equal(flows_count(&s).records_lost, 5);
	assert_false(flow_record_next(s.t, 0, &r));
	for (unsigned int i = 0; i < FLOW_RECORDS; i++) {
		assert_true(flow_record_next(s.t, 1, &r));
		assert_int_equal(r.created_ms, i);
	}
	flow_remove(s.t, 1, talk(&s, 1, 0), 0);
	flow_records_stop(s.t);
	flow_remove(s.t, 1, talk(&s, 1, 0), 0);
	assert_false(flow_record_next(s.t, 1, &r));
	assert_int_equal(flow_records_start(s.t), 0);
	assert_false(flow_record_next(s.t, 1, &r));
	assert_int_equal(flows_count(&s).records_lost, 5);
	flows_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_end), cmocka_unit_test(test_long),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_entry_of_another),
		cmocka_unit_test(test_reopened), cmocka_unit_test(test_translated),
		cmocka_unit_test(test_bounds)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
