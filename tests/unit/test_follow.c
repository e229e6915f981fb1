// SPDX-License-Identifier: BSD-3-Clause
// Memory runs out when SAs are given other paths: they get them at the next tick that finds some.
// Or when the tunnels of a snapshot are listed: then there is no list.
#include "addrs.h"
#include "eal.h"
#include "event_log.h"
#include "failing_alloc.h"
#include "line_memory.h"
#include "path_mtu.h"
#include "peers.h"
#include "retire.h"
#include "sas.h"
#include "test.h"
#include "tunnel.h"

#define PEERS 2

static const struct nexthop next = {.kind = NEXTHOP_CONNECTED, .iface = 0};
static struct conf conf = {.pmtu_learn = true};
static struct iface link_iface = {.mtu = 1500};
static struct objects objects;
static struct snapshot snapshot = {.n_ports = 1, .iface = &link_iface, .objects = &objects};
static struct control c = {.conf = &conf};
static struct sa_out *sa[PEERS];
static struct sa_in *in;
static struct spd_policy policy[PEERS];

// --- replacement of the rest of the daemon ---

unsigned int __wrap_spd_count(const struct spd *spd);
const struct spd_policy *__wrap_spd_at(const struct spd *spd, unsigned int i);
const struct nexthop *__wrap_route_find_outer(
	const struct route_table *t, const struct ip_addr *src, const struct ip_addr *dst);

unsigned int __wrap_spd_count(const struct spd *spd)
{
	(void)spd;
	return PEERS;
}

const struct spd_policy *__wrap_spd_at(const struct spd *spd, unsigned int i)
{
	(void)spd;
	return &policy[i];
}

const struct nexthop *__wrap_route_find_outer(
	const struct route_table *t, const struct ip_addr *src, const struct ip_addr *dst)
{
	(void)t, (void)src, (void)dst;
	return &next;
}

void __wrap_retire(struct control *control, void *memory);

void __wrap_retire(struct control *control, void *memory)
{
	(void)control;
	line_free(memory);
}

// --- the tests ---

static struct sa_peer peer_at(const char *addr, uint16_t port)
{
	struct sa_peer p = {.port = rte_cpu_to_be_16(port)};

	p.addr = addr_of(addr);
	return p;
}

static int begin(void **state)
{
	struct sa_params p = sas_params(cipher_alg_find("aes-128-gcm"), auth_alg_find("none"));

	(void)state;
	p.opt.in_udp = true;
	p.opt.udp_local_port = p.opt.udp_remote_port = 4500;
	p.live.follow = true;
	p.nexthop = &next;
	p.mtu = 1500;
	in = sa_in_new(&p);
	for (unsigned int i = 0; i < PEERS; i++) {
		sa[i] = sa_out_new(&p);
		policy[i] = (struct spd_policy){
			.action = SPD_PROTECT, .out = sa[i], .in = {in}, .n_in = 1};
	}
	objects.sas = (struct sa_list){.out = sa, .n_out = PEERS};
	objects.sa_out_by_udp = sa_udp_index_new(PEERS);
	c.snapshot = &snapshot;
	return 0;
}

static int end(void **state)
{
	(void)state;
	sa_free(&in->sa);
	for (unsigned int i = 0; i < PEERS; i++)
		sa_free(&sa[i]->sa);
	line_free(objects.sa_out_by_udp);
	path_mtus_free(&c.path_mtus);
	c = (struct control){.conf = &conf};
	return 0;
}

// Without allocation n of the first call, with the memory of the others.
static void test_move(void **state)
{
	const struct sa_peer at = peer_at("198.51.100.7", 1025);

	(void)state;
	for (unsigned int n = 1; n <= PEERS + 1; n++) {
		struct sa_peer *endpoint = line_calloc(1, sizeof(*endpoint));

		*endpoint = at;
		endpoint->port = rte_cpu_to_be_16((uint16_t)(1024 + n));
		line_free(sa_in_endpoint_set(in, endpoint, n));
		alloc_fail(n, true);
		peers_follow(&c, &snapshot);
		peers_tick(&c, 0);
		alloc_fail_end();
		assert_int_equal(c.moves_pending, n <= PEERS);
		peers_tick(&c, 100);
		assert_false(c.moves_pending);
		for (unsigned int i = 0; i < PEERS; i++) {
			assert_int_equal(sa[i]->peer.port, endpoint->port);
			assert_true(ip_addr_equal(&sa[i]->peer.addr, &at.addr));
			assert_true(ip_addr_is_none(&sa[i]->pending.addr));
		}
	}
}

static void expect_mtu(uint16_t mtu)
{
	for (unsigned int i = 0; i < PEERS; i++)
		assert_int_equal(sa_out_path(sa[i])->link_mtu, mtu);
}

static void test_path_mtu(void **state)
{
	(void)state;
	c.path_mtus.of = calloc(1, sizeof(c.path_mtus.of[0]));
	c.path_mtus.n = c.path_mtus.room = 1;
	c.path_mtus.of[0] = (struct path_mtu){
		.peer = sa[0]->peer.addr, .search = {.mtu = 1400, .due_ms = UINT64_MAX}};
	for (unsigned int n = 1; n <= PEERS; n++) {
		c.path_mtus.of[0].search.mtu = (uint16_t)(1400 - n);
		alloc_fail(n, true);
		path_mtus_apply(&c);
		path_mtu_tick(&c, 0);
		assert_true(alloc_fail_end());
		path_mtu_tick(&c, 100);
		expect_mtu((uint16_t)(1400 - n));
	}
	// An entry is removed only when all SAs have paths of their link's size again.
	c.path_mtus.of[0].search = (struct path_search){.mtu = UINT16_MAX};
	alloc_fail(2, true);
	path_mtu_tick(&c, 200);
	assert_true(alloc_fail_end());
	path_mtu_tick(&c, 300);
	expect_mtu(1500);
	assert_int_equal(c.path_mtus.n, 0);
}

static void test_tunnels(void **state)
{
	struct tunnels t;

	(void)state;
	for (unsigned int n = 1; n <= 2; n++) {
		long live = alloc_live();

		alloc_fail(n, false);
		assert_false(tunnels_new(&t, &snapshot));
		assert_true(alloc_fail_end());
		assert_null(t.item);
		assert_int_equal(t.n, 0);
		assert_int_equal(alloc_live(), live);
	}
	assert_true(tunnels_new(&t, &snapshot));
	assert_int_equal(t.n, PEERS);
	tunnels_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_move, begin, end),
		cmocka_unit_test_setup_teardown(test_path_mtu, begin, end),
		cmocka_unit_test_setup_teardown(test_tunnels, begin, end),
	};

	return cmocka_run_group_tests(tests, eal_group_start, eal_group_stop);
}
