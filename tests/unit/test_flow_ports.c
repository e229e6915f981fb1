// SPDX-License-Identifier: BSD-3-Clause
// Two workers begin and end translated flows, half of the ports towards each server being in use:
// no port is given twice, and in the end all ports and entries are free, and uncounted.
#include <pthread.h>

#include "flow_port.h"
#include "flow_table.h"
#include "flows.h"

#define PUBLIC   0xc6336401 // 198.51.100.1
#define WORKERS  2
#define SERVERS  2
#define PORT_MIN 1024
#define PORTS    (UINT16_MAX + 1 - PORT_MIN) // towards each server
#define HELD     30000                       // flows of each worker
#define BINDINGS 100000                      // of each worker, for each round
#define TRIES    64

struct held {
	struct flow *f;
	unsigned int server;
	uint16_t port;
};

static struct side {
	pthread_t thread;
	unsigned int worker;
	uint64_t seed;
	uint32_t next; // client
	unsigned int n;
	struct held held[HELD];
	uint64_t begun;
} side[WORKERS];

static struct flows s;
static atomic_bool given[SERVERS][UINT16_MAX + 1];
static atomic_uint twice, refused;

static struct ip_ends ends_to(unsigned int server, uint16_t port)
{
	return (struct ip_ends){ip_addr_from_v4(RTE_BE32(PUBLIC)),
		ip_addr_from_v4(rte_cpu_to_be_32(HOST_B + server)), rte_cpu_to_be_16(port),
		RTE_BE16(53)};
}

// Finds a port that looks free from a random one on, as workers do. 0: none of some.
static uint16_t find_port(struct side *w, struct flow_pkt *p, unsigned int server)
{
	const struct ip_ends to = ends_to(server, 0);
	uint32_t hash[FLOW_PORTS_AT_ONCE];
	rte_be16_t port[FLOW_PORTS_AT_ONCE];
	unsigned int found;

	for (unsigned int i = 0; i < FLOW_PORTS_AT_ONCE; i++)
		port[i] = rte_cpu_to_be_16((uint16_t)(PORT_MIN + random_below(&w->seed, PORTS)));
	flow_ports_begin(s.t, p, &to, port, FLOW_PORTS_AT_ONCE, hash);
	found = flow_ports_find(s.t, hash, FLOW_PORTS_AT_ONCE);
	return found < FLOW_PORTS_AT_ONCE ? rte_be_to_cpu_16(port[found]) : 0;
}

// False: another flow has got the port meanwhile.
static bool begin_with(struct side *w, struct flow_pkt *p, unsigned int server, uint16_t port)
{
	struct flow_translation translation = {.to = ends_to(server, port), .rule = {0, 1}};
	struct held *h = &w->held[w->n];

	translation.towards = flow_towards(s.t, p, &translation.to);
	if (flow_insert(s.t, w->worker, p, &translation, 0, 0, NULL, &h->f) != DROP_NONE)
		return false;
	h->server = server;
	h->port = port;
	twice += atomic_exchange(&given[server][port], true);
	w->n++;
	w->begun++;
	return true;
}

static void begin(struct side *w)
{
	const unsigned int server = random_below(&w->seed, SERVERS);
	const uint32_t client = 0x0a000000 | w->worker << 22 | w->next++ % (1u << 22);
	struct flow_pkt p = pkt_udp(client, 1000, HOST_B + server, 53);

	flow_lookup_start(s.t, &p);
	for (unsigned int i = 0; i < TRIES; i++) {
		const uint16_t port = find_port(w, &p, server);

		if (port != 0 && begin_with(w, &p, server, port))
			return;
	}
	refused++;
}

static void end(struct side *w, unsigned int i)
{
	struct held *h = &w->held[i];

	atomic_store(&given[h->server][h->port], false); // its slot still has it
	flow_remove(s.t, w->worker, h->f, 0);
	*h = w->held[--w->n];
}

static void quiesce(struct side *w)
{
	rte_rcu_qsbr_quiescent(s.qsbr, w->worker);
	flow_tick(s.t, w->worker, 0, 0);
}

static void *work(void *of)
{
	struct side *w = of;

	for (unsigned long i = 0; i < rounds(BINDINGS); i++) {
		if (w->n == HELD)
			end(w, random_below(&w->seed, w->n));
		begin(w);
		if (i % 32 == 0)
			quiesce(w);
	}
	while (w->n > 0)
		end(w, w->n - 1);
	rte_rcu_qsbr_thread_offline(s.qsbr, w->worker);
	return NULL;
}

static void run(void)
{
	for (unsigned int i = 0; i < WORKERS; i++) {
		side[i].worker = i;
		side[i].seed = 20261127 + i;
		assert_int_equal(pthread_create(&side[i].thread, NULL, work, &side[i]), 0);
	}
	for (unsigned int i = 0; i < WORKERS; i++) {
		assert_int_equal(pthread_join(side[i].thread, NULL), 0);
		rte_rcu_qsbr_thread_online(s.qsbr, i);
	}
}

static void expect_uncounted(void)
{
	for (unsigned int server = 0; server < SERVERS; server++) {
		const struct flow_pkt p = pkt_udp(0x0a000000, 1000, HOST_B + server, 53);
		const struct ip_ends to = ends_to(server, 0);
		const uint64_t towards = flow_towards(s.t, &p, &to);

		assert_int_equal(flow_ports_of_holder(s.t, towards, 0), 0);
		for (unsigned int i = 0; i < PORTS; i++)
			assert_int_equal(
				flow_ports_of_source(s.t, towards, &(struct ip_addr){.q = {i, 1}}),
				0);
	}
}

// Each port towards a server can be given once.
static void give_all(unsigned int server)
{
	struct flow *f;

	for (unsigned int port = PORT_MIN; port <= UINT16_MAX; port++) {
		struct flow_pkt p = pkt_udp(0x0b000000 + port, 1000, HOST_B + server, 53);
		struct flow_translation translation = {.to = ends_to(server, (uint16_t)port)};

		flow_lookup_start(s.t, &p);
		assert_int_equal(flow_insert(s.t, 0, &p, &translation, 0, 0, NULL, &f), DROP_NONE);
	}
}

static void test_no_port_is_lost(void **state)
{
	uint32_t free_before;
	uint64_t begun = 0;

	(void)state;
	flows_init(&s, 4 * PORTS, WORKERS, NULL);
	while (flow_table_fill(s.t))
		;
	assert_int_equal(flow_table_translate(s.t), 0);
	free_before = flow_pool_free(s.t);
	run();
	flows_round(&s, 0);
	for (unsigned int i = 0; i < WORKERS; i++)
		begun += side[i].begun;
	assert_int_equal(begun, WORKERS * rounds(BINDINGS));
	assert_int_equal(refused, 0);
	assert_int_equal(twice, 0);
	assert_int_equal(flow_count(s.t), 0);
	// Each worker keeps some.
	assert_in_range(flow_pool_free(s.t), free_before - 2 * WORKERS * FLOW_CHAIN, free_before);
	expect_uncounted();
	for (unsigned int server = 0; server < SERVERS; server++)
		give_all(server);
	flows_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_port_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
