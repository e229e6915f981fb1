// SPDX-License-Identifier: BSD-3-Clause
// Peers of ESP in UDP that move, NAT-keepalives, and path MTUs.
#include "desk.h"
#include "path_mtu.h"
#include "peers.h"

static struct event from(const char *addr, uint16_t port)
{
	return (struct event){.kind = EVENT_PEER_ENDPOINT,
		.spi = RTE_BE32(0x1006),
		.addr = addr_of(addr),
		.addr_port = rte_cpu_to_be_16(port)};
}

static bool is_at(const char *addr, uint16_t port)
{
	struct sa_peer at = peer_endpoint(&desk_sa_out("out-nat")->sa);
	struct ip_addr a = addr_of(addr);

	return ip_addr_equal(&at.addr, &a) && at.port == rte_cpu_to_be_16(port);
}

static void test_moves(void **state)
{
	const struct sa_out *sa = desk_sa_out("out-nat");

	(void)state;
	assert_null(sa_out_path(sa)->nexthop);
	desk_event(from("198.51.100.7", 1024));
	desk_expect_event("event=peer_moved\tseverity=info\tsa=out-nat\tfrom=any\t"
			  "to=198.51.100.7:1024");
	assert_true(is_at("198.51.100.7", 1024));
	assert_non_null(sa_out_path(sa)->nexthop);
	desk_event(from("198.51.100.7", 1025)); // too soon
	assert_true(is_at("198.51.100.7", 1024));
	desk_wait(1000);
	desk_event(from("198.51.100.7", 1025));
	assert_true(is_at("198.51.100.7", 1025));
	desk_expect_event("event=peer_moved\tseverity=info\tsa=out-nat\t"
			  "from=198.51.100.7:1024\tto=198.51.100.7:1025");
	desk_expect_no_event();
}

// A NAT that gives the peer another port again and again: it is followed a few times, then rarely,
// and so is the log.
static void test_alternates(void **state)
{
	unsigned int n = 0;

	(void)state;
	for (uint16_t i = 0; i < 100; i++) {
		uint16_t port = 1024 + i % 2;
		bool was_there = is_at("198.51.100.7", port);

		desk_event(from("198.51.100.7", port));
		n += !was_there && is_at("198.51.100.7", port);
		desk_wait(1000);
	}
	assert_in_range(n, 1 + 8, 1 + 8 + 100 / 10);
	desk_wait(20000); // then it moves for good
	desk_event(from("198.51.100.8", 4500));
	assert_true(is_at("198.51.100.8", 4500));
}

static void test_no_route(void **state)
{
	(void)state;
	desk_event(from("10.1.0.1", 1024)); // an own address
	desk_expect_event("event=peer_not_followed\tseverity=warning\tsa=out-nat\tfrom=any\t"
			  "to=10.1.0.1:1024");
	assert_null(sa_out_path(desk_sa_out("out-nat"))->nexthop);
}

// The SAs of a reload know where the peer is.
static void test_reload_knows_moved_peer(void **state)
{
	(void)state;
	desk_event(from("198.51.100.7", 1024));
	desk_reload("audit = \"none\";", "");
	assert_true(is_at("198.51.100.7", 1024));
	assert_ptr_equal(sa_out_path(desk_sa_out("out-nat"))->nexthop,
		desk_route(&desk_sa_out("out-nat")->peer.addr));
}

static unsigned int sent_to(const char *addr)
{
	struct ip_addr a = addr_of(addr);
	rte_be32_t to = ip_addr_v4(&a);
	unsigned int n = 0;

	for (unsigned int i = 0; i < desk_n_sent; i++)
		n += desk_sent[i].b[12] == 8 && desk_sent[i].b[13] == 0 &&
		     memcmp(frame_packet(&desk_sent[i]) + 16, &to, sizeof(to)) == 0;
	return n;
}

static void test_keepalive(void **state)
{
	(void)state;
	desk_event(from("198.51.100.7", 1024));
	desk_forget();
	desk_wait(20000);
	assert_in_range(sent_to("198.51.100.7"), 3, 4);
	assert_int_equal(desk.counters.keepalives_out, sent_to("198.51.100.7"));
	desk_forget();
	for (unsigned int i = 0; i < 20; i++) { // with traffic there are none
		atomic_fetch_add(&desk_sa_out("out-nat")->seq, 1);
		desk_wait(1000);
	}
	assert_int_equal(sent_to("198.51.100.7"), 0);
}

// --- path MTUs ---

static struct event too_big(uint16_t mtu)
{
	const struct sa_out *sa = desk_sa_out("out-4");

	return (struct event){.kind = EVENT_PMTU,
		.port = WAN,
		.addr = addr_of("192.0.2.2"),
		.peer = addr_of("192.0.2.254"),
		.mtu = mtu,
		.spi = sa->sa.spi,
		.seq = rte_cpu_to_be_32((uint32_t)atomic_load(&sa->seq)),
		.sa = &sa->sa};
}

static uint16_t path_mtu(void)
{
	return sa_out_path(desk_sa_out("out-4"))->link_mtu;
}

static void test_confirmed(void **state)
{
	(void)state;
	desk_wait(1000);
	desk_forget();
	desk_event(too_big(1400));
	assert_int_equal(sent_to("192.0.2.2"), 1); // a probe
	assert_int_equal(desk_sent[desk_n_sent - 1].len, ETH_LEN + 1500);
	assert_int_equal(path_mtu(), 1500);
	desk_event(too_big(1400)); // about it
	assert_int_equal(path_mtu(), 1400);
	desk_expect_log("path MTU to 192.0.2.2 is 1400, reported by 192.0.2.254 on port \"wan\"");
	desk_reload("audit = \"none\";", "");
	assert_int_equal(path_mtu(), 1400);
	desk_forget();
	desk_wait(20000); // the next search draws no error
	assert_int_equal(path_mtu(), 1500);
	desk_expect_log("path MTU to 192.0.2.2 is the MTU of the port again");
	assert_int_equal(desk.path_mtus.n, 0);
}

// A search that confirms the known MTU logs nothing, and keeps no line back.
static void test_kept(void **state)
{
	(void)state;
	desk_wait(1000);
	desk_event(too_big(1400));
	desk_event(too_big(1400));
	assert_int_equal(path_mtu(), 1400);
	desk_wait(1000);
	desk_forget();
	while (sent_to("192.0.2.2") == 0)
		desk_wait(100);
	desk_event(too_big(1400));
	desk_expect_no_log();
	desk_event(too_big(1300));
	desk_event(too_big(1300));
	assert_int_equal(path_mtu(), 1300);
	desk_expect_log("path MTU to 192.0.2.2 is 1300");
}

static void test_refuted(void **state)
{
	(void)state;
	desk_wait(1000);
	desk_forget();
	desk_event(too_big(1400));
	desk_wait(10000); // no error about the probes
	assert_int_equal(path_mtu(), 1500);
	desk_expect_log("path MTU to 192.0.2.2 is unchanged");
}

static void test_learning_off(void **state)
{
	(void)state;
	desk_wait(1000);
	desk_event(too_big(1400));
	desk_event(too_big(1400));
	assert_int_equal(path_mtu(), 1400);
	assert_int_equal(path_mtu_known(&desk, &desk_sa_out("out-4")->peer.addr), 1400);
	desk.conf->pmtu_learn = false;
	path_mtus_apply(&desk);
	assert_int_equal(path_mtu_known(&desk, &desk_sa_out("out-4")->peer.addr), UINT16_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		desk_test(test_moves),
		desk_test(test_alternates),
		desk_test(test_no_route),
		desk_test(test_reload_knows_moved_peer),
		desk_test(test_keepalive),
		desk_test(test_confirmed),
		desk_test(test_kept),
		desk_test(test_refuted),
		desk_test(test_learning_off),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
