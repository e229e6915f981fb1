// SPDX-License-Identifier: BSD-3-Clause
// Flows with two keys: packets with either find the flow, and no two flows have the same ends.
#include <sys/prctl.h>
#include <sys/resource.h>

#include "flow_port.h"
#include "flow_share.h"
#include "flows.h"

#define PUBLIC  0xc6336401 // 198.51.100.1
#define CLIENTS 40
#define SERVERS 3
#define PORTS   8 // of a client, and of the public address

static struct flow_pkt udp(uint32_t src, uint16_t sport, uint32_t dst, uint16_t dport)
{
	uint8_t buf[PACKET_MAX];

	return flow_pkt_of(packet_udp(buf, src, dst, sport, dport));
}

static struct ip_ends ends(uint32_t src, uint16_t sport, uint32_t dst, uint16_t dport)
{
	return (struct ip_ends){ip_addr_from_v4(rte_cpu_to_be_32(src)),
		ip_addr_from_v4(rte_cpu_to_be_32(dst)), rte_cpu_to_be_16(sport),
		rte_cpu_to_be_16(dport)};
}

static enum drop insert_by(struct flows *s, uint16_t source_rule, struct flow_pkt *p,
	const struct ip_ends *to, struct flow **f)
{
	const struct flow_translation translation = {
		.to = *to, .rule = {7, source_rule}, .towards = flow_towards(s->t, p, to)};

	flow_lookup_start(s->t, p);
	return flow_insert(s->t, 0, p, &translation, 0, 0, NULL, f);
}

static enum drop insert(
	struct flows *s, struct flow_pkt *p, const struct ip_ends *to, struct flow **f)
{
	return insert_by(s, 9, p, to, f);
}

static struct flow *find(const struct flows *s, struct flow_pkt *p)
{
	struct flow *f;

	flows_find(s->t, p, &f, 1);
	return f;
}

static void init(struct flows *s)
{
	flows_init(s, 10000, 1, NULL);
	assert_int_equal(flow_table_translate(s->t), 0);
}

// The lower address first, and the higher: the ends of both keys in each order.
static void test_keys(void **state)
{
	static const uint32_t server[] = {0x01010101, 0xdddddddd};
	static const uint32_t own_addr[] = {0x00000102, PUBLIC, 0xeeeeeeee};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(server) * RTE_DIM(own_addr); i++) {
		const uint32_t to = server[i % 2], from = own_addr[i / 2];
		struct flow_pkt p = udp(HOST_A, 1000, to, 53), reply = udp(to, 53, from, 2000),
				back = udp(to, 53, HOST_A, 1000), own = udp(from, 2000, to, 53);
		const struct ip_ends sent = ends(from, 2000, to, 53);
		struct flows s;
		struct flow *f, *g;

		init(&s);
		assert_int_equal(insert(&s, &p, &sent, &f), DROP_NONE);
		assert_ptr_equal(find(&s, &p), f);
		assert_ptr_equal(find(&s, &reply), f);
		assert_int_equal(reply.dir, !p.dir);
		assert_int_equal(flow_word_initiator(flow_word(f)), p.dir);
		assert_ptr_equal(flows_find_one(s.t, &reply), f);
		// Untranslated, neither reply nor translated packet are of the flow, and may begin
		// none.
		assert_null(find(&s, &back));
		assert_null(find(&s, &own));
		flow_lookup_start(s.t, &back);
		assert_int_equal(flow_insert(s.t, 0, &back, NULL, 0, 0, NULL, &g), DROP_CT_INVALID);
		flow_lookup_start(s.t, &own);
		assert_int_equal(flow_insert(s.t, 0, &own, NULL, 0, 0, NULL, &g), DROP_CT_INVALID);
		flow_remove(s.t, 0, f, 0);
		assert_null(find(&s, &p));
		assert_null(find(&s, &reply));
		flows_round(&s, 0);
		flows_fini(&s);
	}
}

// A packet whose flow has ended has its own direction again, in which it may begin one.
static void test_direction_after_the_end(void **state)
{
	struct flow_pkt p = udp(HOST_A, 1000, HOST_B, 53), reply = udp(HOST_B, 53, PUBLIC, 2000);
	const struct ip_ends sent = ends(PUBLIC, 2000, HOST_B, 53);
	const uint8_t dir = reply.dir;
	struct flows s;
	struct flow *f;

	(void)state;
	init(&s);
	assert_int_equal(insert(&s, &p, &sent, &f), DROP_NONE);
	flow_lookup_start(s.t, &reply);
	assert_ptr_equal(flow_find(s.t, &reply), f);
	assert_true(reply.reversed);
	assert_int_equal(reply.dir, !dir);
	assert_ptr_equal(flow_find(s.t, &reply), f);
	flow_remove(s.t, 0, f, 0);
	assert_null(flow_find(s.t, &reply));
	assert_false(reply.reversed);
	assert_int_equal(reply.dir, dir);
	assert_int_equal(flow_insert(s.t, 0, &reply, NULL, 0, 0, NULL, &f), DROP_NONE);
	assert_int_equal(flow_word_initiator(flow_word(f)), dir);
	flows_fini(&s);
}

static void test_ends_are_used_once(void **state)
{
	struct flow_pkt a = udp(HOST_A, 1000, HOST_B, 53), b = udp(HOST_A + 1, 1000, HOST_B, 53),
			c = udp(PUBLIC, 3000, HOST_B, 53);
	const struct ip_ends to = ends(PUBLIC, 1000, HOST_B, 53),
			     of_c = ends(PUBLIC, 3000, HOST_B, 53);
	struct flows s;
	struct flow *f, *g;

	(void)state;
	init(&s);
	assert_int_equal(insert(&s, &a, &to, &f), DROP_NONE);
	assert_int_equal(insert(&s, &b, &to, &g), FLOW_PORT_TAKEN);
	assert_int_equal(flow_count(s.t), 1);
	// An untranslated flow has them already.
	flow_lookup_start(s.t, &c);
	assert_int_equal(flow_insert(s.t, 0, &c, NULL, 0, 0, NULL, &g), DROP_NONE);
	assert_int_equal(insert(&s, &b, &of_c, &g), FLOW_PORT_TAKEN);
	// Of two first packets of one flow the second finds the flow of the first.
	assert_int_equal(insert(&s, &a, &of_c, &g), FLOW_EXISTS);
	assert_ptr_equal(g, f);
	flow_remove(s.t, 0, f, 0);
	assert_int_equal(insert(&s, &b, &to, &g), DROP_NONE);
	flows_fini(&s);
}

static void expect_redecided(struct flows *s, struct flow *f, uint32_t addr, bool forgotten)
{
	const struct ip_prefix prefix = {ip_addr_from_v4(rte_cpu_to_be_32(addr)), 128};
	const struct flow_decision d = {.egress = flow_egress_clear((void *)32), .ingress = 1};
	static struct flow_regions set;
	struct flow_decision found;

	for (unsigned int dir = 0; dir < 2; dir++)
		flow_decision_set(f, dir, 1, &d);
	set = (struct flow_regions){.any = false};
	flow_regions_add(&set, &prefix);
	flow_redecide(s->t, &set);
	for (unsigned int i = 0; i < 3; i++) // a flow that was visited before is visited again
		flows_round(s, 1);
	for (unsigned int dir = 0; dir < 2; dir++)
		assert_int_equal(flow_decision_get(f, dir, 1, &found), !forgotten);
}

// A changed route to an end concerns the flow, whether that end is before or after translation.
static void test_redecided_by_either_key(void **state)
{
	const uint32_t before = 0xcb007107, after = 0x0a090005; // of the destination
	struct flow_pkt p = udp(HOST_A, 1000, before, 80);
	const struct ip_ends to = ends(PUBLIC, 2000, after, 8080);
	struct flow *f;
	struct flows s;

	(void)state;
	init(&s);
	assert_int_equal(insert(&s, &p, &to, &f), DROP_NONE);
	expect_redecided(&s, f, HOST_A, true);
	expect_redecided(&s, f, before, true);
	expect_redecided(&s, f, PUBLIC, true);
	expect_redecided(&s, f, after, true);
	expect_redecided(&s, f, 0x0b000001, false);
	flows_fini(&s);
}

static void test_view(void **state)
{
	struct flow_filter filter = {.addr = {ip_addr_from_v4(RTE_BE32(PUBLIC)), 128}};
	struct flow_pkt p = udp(HOST_A, 1000, HOST_B, 53);
	const struct ip_ends to = ends(PUBLIC, 2000, HOST_B, 53);
	uint32_t position = FLOW_LIST_START;
	struct flow_view view;
	struct flows s;
	struct flow *f;

	(void)state;
	init(&s);
	assert_int_equal(insert(&s, &p, &to, &f), DROP_NONE);
	assert_int_equal(flow_list(s.t, &filter, 0, &position, &view, 1), 1);
	assert_true(view.translated);
	assert_true(ip_addr_equal(&view.translation.to.src, &to.src));
	assert_true(ip_addr_equal(&view.translation.to.dst, &to.dst));
	assert_int_equal(view.translation.to.src_port, to.src_port);
	assert_int_equal(view.translation.to.dst_port, to.dst_port);
	assert_int_equal(view.translation.rule[1], 9);
	// By the rule of either end.
	for (uint16_t rule = 7; rule <= 9; rule++) {
		filter.nat = rule;
		position = FLOW_LIST_START;
		assert_int_equal(flow_list(s.t, &filter, 0, &position, &view, 1), rule != 8);
	}
	flows_fini(&s);
}

// A scan in steps; its results stay until the next one is complete.
static void shares_scan(struct flows *s, uint64_t *now)
{
	*now += 5000;
	for (unsigned int i = 0; i < 10; i++)
		flow_shares_tick(s->t, *now);
}

static const struct flow_share *share_of(const struct flows *s, uint32_t addr)
{
	const struct ip_addr a = ip_addr_from_v4(rte_cpu_to_be_32(addr));
	const struct flow_share *share;

	for (unsigned int i = 0; (share = flow_share_at(s->t, i)) != NULL; i++)
		if (ip_addr_equal(&share->addr, &a))
			return share;
	return NULL;
}

// A connection of a client to a server, by a port of an address.
static struct flow *binding(
	struct flows *s, uint32_t client, uint32_t server, uint32_t addr, uint16_t port)
{
	struct flow_pkt p = udp(client, port, server, 53);
	const struct ip_ends to = ends(addr, port, server, 53);
	struct flow *f;

	assert_int_equal(insert(s, &p, &to, &f), DROP_NONE);
	return f;
}

// Ports in use, the destination and the client with most of them, by address.
static void test_shares(void **state)
{
	const struct flow_share *share;
	struct flow *first[30];
	uint64_t now = 0;
	struct flows s;

	(void)state;
	init(&s);
	shares_scan(&s, &now);
	assert_null(flow_share_at(s.t, 0));
	for (uint16_t i = 0; i < 30; i++) // of 3 clients: 15, 10 and 5
		first[i] = binding(&s, HOST_A + (i >= 15) + (i >= 25), HOST_B, PUBLIC, 2000 + i);
	for (uint16_t i = 0; i < 12; i++) // by ports that are in use towards the other server
		binding(&s, HOST_A + 1, HOST_B + 1, PUBLIC, 2010 + i);
	for (uint16_t i = 0; i < 5; i++)
		binding(&s, HOST_A, HOST_B, PUBLIC + 1, 3000 + i);
	flow_shares_tick(s.t, now + 1);
	assert_null(flow_share_at(s.t, 0)); // it is not yet time
	shares_scan(&s, &now);
	share = flow_share_at(s.t, 0); // the one with most
	assert_ptr_equal(share, share_of(&s, PUBLIC));
	assert_int_equal(share->proto, IPPROTO_UDP);
	assert_int_equal(share->bindings, 42);
	assert_int_equal(share->ports, 30);
	assert_int_equal(share->to_ports, 30);
	assert_int_equal(ip_addr_v4(&share->to), RTE_BE32(HOST_B));
	assert_int_equal(share->to_port, RTE_BE16(53));
	assert_int_equal(share->rule, 9);
	assert_int_equal(share->client_bindings, 22); // 10 and 12
	assert_int_equal(ip_addr_v4(&share->client), RTE_BE32(HOST_A + 1));
	share = share_of(&s, PUBLIC + 1);
	assert_int_equal(share->bindings, 5);
	assert_int_equal(share->ports, 5);
	assert_int_equal(share->client_bindings, 5);
	assert_null(flow_share_at(s.t, 2));
	for (unsigned int i = 0; i < 30; i++)
		flow_remove(s.t, 0, first[i], 0);
	shares_scan(&s, &now);
	share = share_of(&s, PUBLIC);
	assert_int_equal(share->bindings, 12);
	assert_int_equal(share->ports, 12);
	assert_int_equal(ip_addr_v4(&share->to), RTE_BE32(HOST_B + 1));
	flows_fini(&s);
}

// Connections from outside whose destination alone is translated: their sources are no addresses of
// the gateway.
static void test_shares_of_sources(void **state)
{
	uint64_t now = 0;
	struct flows s;

	(void)state;
	init(&s);
	for (uint16_t i = 0; i < 10; i++) {
		struct flow_pkt p = udp(HOST_B + i, 4000, PUBLIC, 443);
		const struct ip_ends to = ends(HOST_B + i, 4000, HOST_A, 443);
		struct flow *f;

		assert_int_equal(insert_by(&s, 0, &p, &to, &f), DROP_NONE);
	}
	shares_scan(&s, &now);
	assert_null(flow_share_at(s.t, 0));
	flows_fini(&s);
}

// Beyond the room for addresses others are still counted.
static void test_shares_bounded(void **state)
{
	uint64_t now = 0;
	unsigned int n = 0;
	struct flows s;

	(void)state;
	init(&s);
	for (uint16_t i = 0; i < FLOW_SHARES_MAX + 100; i++)
		binding(&s, HOST_A + i, HOST_B, PUBLIC + i, 2000);
	shares_scan(&s, &now);
	while (flow_share_at(s.t, n) != NULL)
		assert_int_equal(flow_share_at(s.t, n++)->ports, 1);
	assert_int_equal(n, FLOW_SHARES_MAX);
	flows_fini(&s);
}

// The flow of each client's port, by a plain list.
struct model {
	struct flow_pkt p[CLIENTS * PORTS * SERVERS];
	struct ip_ends to[CLIENTS * PORTS * SERVERS];
	struct flow *f[CLIENTS * PORTS * SERVERS];
};

static bool is_used(const struct model *m, const struct ip_ends *to)
{
	for (unsigned int i = 0; i < RTE_DIM(m->f); i++)
		if (m->f[i] != NULL && memcmp(&m->to[i], to, sizeof(*to)) == 0)
			return true;
	return false;
}

static void check_flow(struct flows *s, const struct model *m, unsigned int i)
{
	const struct ip_ends *to = &m->to[i];
	struct flow_pkt p = m->p[i], reply;

	assert_ptr_equal(find(s, &p), m->f[i]);
	if (m->f[i] == NULL)
		return;
	reply = udp(rte_be_to_cpu_32(ip_addr_v4(&to->dst)), rte_be_to_cpu_16(to->dst_port),
		rte_be_to_cpu_32(ip_addr_v4(&to->src)), rte_be_to_cpu_16(to->src_port));
	assert_ptr_equal(find(s, &reply), m->f[i]);
	assert_int_not_equal(reply.dir, p.dir);
}

static void test_model(void **state)
{
	static struct model m;
	uint64_t seed = 20261127;
	unsigned int refused = 0;
	struct flows s;

	(void)state;
	init(&s);
	for (unsigned int i = 0; i < RTE_DIM(m.f); i++)
		m.p[i] = udp(HOST_A + i / PORTS % CLIENTS, (uint16_t)(1000 + i % PORTS),
			HOST_B + i / PORTS / CLIENTS, 53);
	for (unsigned int step = 0; step < 200000; step++) {
		const unsigned int i = random_below(&seed, RTE_DIM(m.f));
		const struct ip_ends to =
			ends(PUBLIC, (uint16_t)(2000 + random_below(&seed, PORTS * 20)),
				HOST_B + i / PORTS / CLIENTS, 53);
		struct flow *f;
		enum drop d;

		check_flow(&s, &m, i);
		if (m.f[i] != NULL) {
			flow_remove(s.t, 0, m.f[i], 0);
			m.f[i] = NULL;
			flows_tick(&s, 0, 0);
			continue;
		}
		d = insert(&s, &m.p[i], &to, &f);
		assert_int_equal(d, is_used(&m, &to) ? FLOW_PORT_TAKEN : DROP_NONE);
		refused += d != DROP_NONE;
		if (d == DROP_NONE) {
			m.f[i] = f;
			m.to[i] = to;
		}
	}
	assert_true(refused > 1000);
	for (unsigned int i = 0; i < RTE_DIM(m.f); i++)
		check_flow(&s, &m, i);
	flows_fini(&s);
}

static long page_faults(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_minflt;
}

// A table has room for as many translated flows as for others. The kernel clears their memory step
// by step, for the thread that fills the table, and flows that exist by then stay as they are.
static void test_full_of_translated_flows(void **state)
{
	const uint32_t n = 100000;
	struct flow *first = NULL, *f;
	struct flows s;
	long before;

	(void)state;
	assert_int_equal(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
	flows_init(&s, n, 1, NULL);
	before = page_faults();
	assert_int_equal(flow_table_translate(s.t), 0);
	assert_in_range(page_faults() - before, 0, 100);
	for (uint32_t i = 0; i < n; i++) {
		struct flow_pkt p = udp(HOST_A + i / 50000, (uint16_t)(1 + i % 50000), HOST_B, 53);
		const struct ip_ends to =
			ends(PUBLIC + i / 50000, (uint16_t)(1 + i % 50000), HOST_B, 53);

		assert_int_equal(insert(&s, &p, &to, &f), DROP_NONE);
		if (i > 0)
			continue;
		first = f;
		while (flow_table_fill(s.t))
			;
		before = page_faults();
	}
#ifndef __SANITIZE_ADDRESS__ // its own memory
	assert_in_range(page_faults() - before, 0, 100);
#endif
	assert_int_equal(flow_count(s.t), n);
	assert_int_equal(flow_nat_of(s.t, first)->rule[1], 9);
	flows_fini(&s);
	assert_int_equal(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_direction_after_the_end),
		cmocka_unit_test(test_ends_are_used_once),
		cmocka_unit_test(test_redecided_by_either_key),
		cmocka_unit_test(test_view),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_shares_of_sources),
		cmocka_unit_test(test_shares_bounded),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_full_of_translated_flows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
