// SPDX-License-Identifier: BSD-3-Clause
// Requests of an IKE daemon are done entirely or not at all, and lists show the result. The newest
// SA of a tunnel sends, and its peer can be moved. A peer has its share, and no more.
#include "collect.h"
#include "ike_desk.h"
#include "peers.h"

static void test_lists(void **state)
{
	struct policies_view p;

	(void)state;
	ask_pair("a", 0x10000, 7);
	ask_policy("p", "10.4.0.0/24", 7, "");
	ask_add("policy add { name = \"ike.q\"; local = \"10.1.0.0/24\"; remote = \"10.5.0.0/24\"; "
		"action = \"bypass\"; }\n");
	ask_done();
	assert_int_equal(listed_sas(), CONFIGURED_SAS + 2);
	assert_int_equal(listed_policies(), CONFIGURED_POLICIES + 2);
	assert_int_equal(listed_tunnels(), CONFIGURED_POLICIES + 1);
	assert_true(listed_sa("ike.a.in"));
	assert_true(listed_sa("ike.a.out"));
	// After those of the configuration, the newest first.
	assert_true(collect_policies(&p, &desk, CONFIGURED_POLICIES));
	assert_string_equal(p.name, "ike.q");
	assert_string_equal(p.action, "bypass");
	assert_string_equal(p.in, "");
	assert_true(collect_policies(&p, &desk, CONFIGURED_POLICIES + 1));
	assert_string_equal(p.name, "ike.p");
	assert_string_equal(p.in, "ike.a.in");
	assert_string_equal(p.out, "ike.a.out");
	assert_string_equal(listed_tunnel("ike.p").in, "ike.a.in");
	assert_string_equal(listed_tunnel("ike.p").state, "never");
	assert_ptr_equal(desk_sa_by_spi(0x10000), desk_sa_in("ike.a.in"));
	ask_now("sa del ike.a.in\nsa del ike.a.out\npolicy del ike.p\npolicy del ike.q");
	expect_only_configured();
}

static void receive(const char *sa)
{
	desk_sa_counted(sa)->bytes += 100;
	desk_sa_counted(sa)->packets++;
	desk_wait(1100);
}

// A trap, and the tunnel that it brought up, are one tunnel.
static void test_trap_and_tunnel_are_one(void **state)
{
	(void)state;
	ask_policy("trap", "10.4.0.0/24", 7, "priority = 2; trap = true;");
	ask_done();
	assert_int_equal(listed_policies(), CONFIGURED_POLICIES + 1);
	assert_int_equal(listed_tunnels(), CONFIGURED_POLICIES);
	ask_pair("a", 0x10000, 7);
	ask_policy("p", "10.4.0.0/24", 7, "priority = 1;");
	ask_done();
	assert_int_equal(listed_policies(), CONFIGURED_POLICIES + 2);
	assert_int_equal(listed_tunnels(), CONFIGURED_POLICIES + 1);
	desk_forget();
	receive("ike.a.in");
	desk_expect_event(
		"event=tunnel_up\tseverity=info\ttunnel=ike.p\tsa=ike.a.out\tpeer=192.0.2.2");
	ask_now("policy del ike.trap");
	assert_int_equal(listed_tunnels(), CONFIGURED_POLICIES + 1);
	ask_now("sa del ike.a.in\nsa del ike.a.out\npolicy del ike.p");
	expect_only_configured();
}

static void test_tunnel_state(void **state)
{
	(void)state;
	ask_pair("a", 0x10000, 7);
	ask_policy("p", "10.4.0.0/24", 7, "");
	ask_policy("q", "10.5.0.0/24", 7, "");
	ask_done();
	desk_forget();
	receive("ike.a.in");
	desk_expect_event(
		"event=tunnel_up\tseverity=info\ttunnel=ike.p\tsa=ike.a.out\tpeer=192.0.2.2");
	desk_expect_no_event(); // for the other policy
	assert_string_equal(listed_tunnel("ike.p").state, "up");
	assert_string_equal(listed_tunnel("ike.q").state, "up");
	ask_pair("b", 0x20000, 7);
	ask_done();
	ask_now("sa del ike.a.in\nsa del ike.a.out");
	desk_forget();
	desk_wait(25000); // nothing is sent
	desk_expect_no_event();
	assert_string_equal(listed_tunnel("ike.p").state, "up");
	for (unsigned int i = 0; i < 130; i++) {
		desk_sa_counted("ike.b.out")->packets++;
		desk_wait(100);
	}
	assert_string_equal(listed_tunnel("ike.p").state, "silent");
	receive("ike.b.in");
	assert_string_equal(listed_tunnel("ike.p").state, "up");
	ask_now("sa del ike.b.out");
	desk_wait(100);
	assert_string_equal(listed_tunnel("ike.p").state, "never");
	assert_string_equal(listed_tunnel("ike.p").out, "");
	ask_now("policy del ike.p");
	assert_string_equal(listed_tunnel("ike.q").in, "ike.b.in");
}

// The newest outbound SA sends, and no flow is decided again as long as there is one.
static void test_newest_sa_sends(void **state)
{
	uint32_t flows;

	(void)state;
	ask_policy("p", "10.4.0.0/24", 7, "");
	ask_done();
	assert_null(listed_policy("ike.p")->out);
	ask_pair("a", 0x10000, 7);
	ask_done();
	ask_policy("q", "10.5.0.0/24", 7, "");
	ask_done();
	expect_sender("ike.p", "ike.a.out");
	expect_sender("ike.q", "ike.a.out");
	flows = desk_flow_generation();
	ask_pair("b", 0x20000, 7);
	ask_pair("other", 0x30000, 8);
	ask_done();
	expect_sender("ike.p", "ike.b.out");
	expect_sender("ike.q", "ike.b.out");
	assert_string_equal(listed_tunnel("ike.p").in, "ike.b.in,ike.a.in");
	assert_int_equal(desk_sa_in("ike.a.in")->sa.per_packet.ingress,
		desk_sa_in("ike.b.in")->sa.per_packet.ingress);
	assert_int_not_equal(desk_sa_in("ike.a.in")->sa.per_packet.ingress,
		desk_sa_in("ike.other.in")->sa.per_packet.ingress);
	ask_now("sa del ike.a.out\nsa del ike.a.in");
	expect_sender("ike.p", "ike.b.out");
	ask_pair("c", 0x40000, 7);
	ask_done();
	expect_sender("ike.p", "ike.c.out");
	ask_now("sa del ike.c.out"); // the newest one: back to the one before
	expect_sender("ike.p", "ike.b.out");
	assert_int_equal(desk_sa_in("ike.c.in")->sa.per_packet.ingress, 0x10000);
	assert_int_equal(desk_flow_generation(), flows);
	ask_now("sa del ike.b.out");
	assert_null(listed_policy("ike.p")->out);
	assert_null(listed_policy("ike.q")->out);
	assert_int_not_equal(desk_flow_generation(), flows);
	assert_int_equal(desk_flow_generation(), desk_generation());
}

static void expect_sends(const char *sa, const char *late, const char *sender)
{
	ask_now("sa set ike.%s.out { late = %s; }", sa, late);
	expect_sender("ike.p", sender);
}

// One that is late no more does not take the place of a newer one. If all are late, the one sends
// that has been so for longest.
static void test_newest_that_is_not_late_sends(void **state)
{
	(void)state;
	ask_policy("p", "10.4.0.0/24", 7, "");
	ask_pair("a", 0x10000, 7);
	ask_done();
	expect_sends("a", "true", "ike.a.out");
	ask_pair("b", 0x20000, 7);
	ask_pair("c", 0x30000, 7);
	ask_done();
	expect_sends("a", "false", "ike.c.out");
	expect_sends("c", "true", "ike.b.out");
	expect_sends("b", "true", "ike.a.out");
	expect_sends("a", "true", "ike.c.out");
	expect_sends("b", "false", "ike.b.out");
	expect_sends("c", "false", "ike.c.out");
}

static void test_refused(void **state)
{
	(void)state;
	ask_pair("a", 0x10000, 7);
	ask_policy("p", "10.4.0.0/24", 7, "");
	ask_done();
	ask_sa("a.out", "out", 0x50001, 7, "");
	ask_refused("ike:1: sa \"ike.a.out\": is there already\n");
	ask_sa("b.in", "in", 0x10000, 7, "");
	ask_refused("ike:1: sa \"ike.b.in\": its SPI is in use\n");
	ask_sa("b.in", "in", 0x1002, 7, ""); // the configuration's
	ask_refused("ike:1: sa \"ike.b.in\": its SPI is in use\n");
	ask_policy("p", "10.5.0.0/24", 7, "");
	ask_refused("ike:1: policy \"ike.p\": is there already\n");
	ask_add("sa del ike.b");
	ask_refused("ike:1: sa \"ike.b\": there is none\n");
	ask_add("\npolicy del ike.a.in");
	ask_refused("ike:2: policy \"ike.a.in\": there is none\n");
	ask_add("sa set ike.b { remote = \"192.0.2.3\"; }");
	ask_refused("ike:1: sa \"ike.b\": there is none\n");
	assert_int_equal(listed_sas(), CONFIGURED_SAS + 2);
	assert_int_equal(listed_policies(), CONFIGURED_POLICIES + 1);

	// The identity of a tunnel stays its own, also without the SA that had the SPI.
	ask_sa("b.in", "in", 0x20000, 7, "");
	ask_done();
	ask_now("sa del ike.a.in");
	desk_settle();
	ask_sa("c.in", "in", 0x10000, 8, "");
	ask_refused("ike:1: sa \"ike.c.in\": its SPI is in use\n");
	ask_sa("c.in", "in", 0x10000, 7, "");
	ask_done();
	assert_ptr_equal(desk_sa_by_spi(0x10000), desk_sa_in("ike.c.in"));
}

// A nonce is never used twice with a key: not even by SAs that differ otherwise.
static void test_key_is_never_used_twice(void **state)
{
	static const char form[] =
		"sa add { name = \"ike.%s\"; direction = \"out\"; spi = \"0x%x\"; reqid = 7; "
		"cipher = \"aes-128-gcm\"; cipher_key = \"%s\"; local = \"192.0.2.1\"; "
		"remote = \"192.0.2.2\"; %s }\n";
	static const char key[] = "c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3";

	(void)state;
	ask_now(form, "a", 0x10001, key, "");
	ask_add(form, "b", 0x10001, key, "");
	ask_refused("ike:1: sa \"ike.b\": its keys are in use\n");
	ask_add(form, "b", 0x10002, key, "");
	ask_refused("ike:1: sa \"ike.b\": its keys are in use\n");
	ask_add(form, "b", 0x10001, key, "esn = true;");
	ask_refused("ike:1: sa \"ike.b\": its keys are in use\n");
	ask_add(form, "b", 0x1003, "000102030405060708090a0b0c0d0e0fa0a1a2a3", ""); // of out-4
	ask_refused("ike:1: sa \"ike.b\": its keys are in use\n");
	assert_int_equal(listed_sas(), CONFIGURED_SAS + 1);
	assert_int_equal(desk_sa_out("ike.a")->sa.refs, 1);
}

// The last change is refused.
static void test_all_or_nothing(void **state)
{
	const struct spd_policy *p;

	(void)state;
	ask_pair("a", 0x10000, 7);
	ask_policy("p", "10.4.0.0/24", 7, "");
	ask_policy("waiting", "10.5.0.0/24", 9, "");
	ask_done();
	p = listed_policy("ike.p");
	for (unsigned int i = 0; i < 3; i++) {
		ask_add("sa del ike.a.in\nsa del ike.a.out\npolicy del ike.p\n");
		ask_add("sa set ike.a.out { remote = \"192.0.2.3\"; }\n");
		ask_pair("b", 0x20000, 7);
		ask_pair("c", 0x30000, 8);
		ask_pair("d", 0x40000, 9);
		ask_policy("r", "10.6.0.0/24", 8, "");
		ask_policy("s", "10.7.0.0/24", 7, "");
		ask_add("policy add { name = \"ike.t\"; local = \"0.0.0.0/0\"; remote = "
			"\"0.0.0.0/0\"; action = \"discard\"; }\n");
		ask_add("sa del ike.none\n");
		ask_refused("ike:14: sa \"ike.none\": there is none\n");
		assert_int_equal(listed_sas(), CONFIGURED_SAS + 2);
		assert_int_equal(listed_policies(), CONFIGURED_POLICIES + 2);
		assert_int_equal(listed_tunnels(), CONFIGURED_POLICIES + 2);
		assert_ptr_equal(listed_policy("ike.p"), p);
		expect_sender("ike.p", "ike.a.out");
		assert_null(listed_policy("ike.waiting")->out);
		assert_true(ip_addr_equal(&desk_sa_out("ike.a.out")->peer.addr,
			&desk_sa_out("ike.a.out")->sa.opt.remote));
		desk_settle();
	}
	// A refused request has removed nothing.
	ask_pair("b", 0x20000, 7);
	ask_pair("c", 0x30000, 8);
	ask_pair("d", 0x40000, 9);
	ask_done();
	expect_sender("ike.waiting", "ike.d.out");
}

static void test_delete_twice(void **state)
{
	(void)state;
	ask_pair("a", 0x10000, 7);
	ask_policy("p", "10.4.0.0/24", 7, "");
	ask_done();
	ask_now("sa del ike.a.in\nsa del ike.a.in\npolicy del ike.p\npolicy del ike.p\n"
		"sa del ike.a.out\nsa del ike.a.out");
	expect_only_configured();
	ask_now("flush");
	expect_only_configured();
}

static void test_flush(void **state)
{
	(void)state;
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < 70; i++) {
			char name[16], remote[32];

			snprintf(name, sizeof(name), "t%u", i);
			snprintf(remote, sizeof(remote), "10.4.%u.0/24", i);
			ask_pair(name, 0x10000 + (round * 100 + i) * 16, i / 2 + 1);
			ask_policy(name, remote, i / 2 + 1, "");
		}
		ask_done();
		assert_int_equal(listed_sas(), CONFIGURED_SAS + 140);
		assert_int_equal(listed_policies(), CONFIGURED_POLICIES + 70);
		ask_now("flush");
		expect_only_configured();
	}
	// Adds and deletes of the same request: in this order.
	ask_pair("a", 0x60000, 7);
	ask_add("sa del ike.a.in\nsa del ike.a.out\n");
	ask_done();
	expect_only_configured();
	ask_pair("b", 0x70000, 7);
	ask_add("flush\n");
	ask_refused("ike:3: flush: must be the only change\n");
	expect_only_configured();
}

// --- moves ---

static void test_move(void **state)
{
	struct ip_addr to = addr_of("192.0.2.254");
	struct sa_peer endpoint;
	struct sa_out *sa;

	(void)state;
	ask_sa("in", "in", 0x10000, 7, "udp = { };");
	ask_sa("out", "out", 0x10001, 7, "udp = { };");
	ask_sa("plain", "out", 0x10002, 7, "");
	ask_done();
	desk_settle();
	sa = desk_sa_out("ike.out");
	desk_forget();
	ask_now("sa set ike.out { remote = \"192.0.2.254\"; udp = { remote_port = 1024; }; }");
	assert_true(ip_addr_equal(&sa->peer.addr, &to));
	assert_int_equal(sa->peer.port, RTE_BE16(1024));
	desk_expect_event("event=peer_moved\tseverity=info\tsa=ike.out\tfrom=192.0.2.2:4500\t"
			  "to=192.0.2.254:1024");
	assert_memory_equal(sa_out_path(sa)->nexthop->source.b, addr_of("192.0.2.1").b, 16);
	ask_now("sa set ike.out { remote = \"192.0.2.2\"; }");
	assert_int_equal(sa->peer.port, RTE_BE16(1024));
	ask_now("sa set ike.in { remote = \"192.0.2.254\"; local = \"192.0.2.1\"; }");
	endpoint = peer_endpoint(&desk_sa_in("ike.in")->sa);
	assert_true(ip_addr_equal(&endpoint.addr, &to));
	ask_now("sa set ike.plain { remote = \"192.0.2.254\"; }");
	assert_true(ip_addr_equal(&desk_sa_out("ike.plain")->peer.addr, &to));

	ask_add("sa set ike.out { remote = \"2001:db8:f::2\"; }");
	ask_refused("ike:1: sa \"ike.out\": an end has another family, needs another SA\n");
	ask_add("sa set ike.plain { udp = { remote_port = 1024; }; }");
	ask_refused("ike:1: sa \"ike.plain\": is not in UDP, needs another SA\n");
	ask_add("sa set ike.out { local = \"2001:db8:f::1\"; }");
	ask_refused("ike:1: sa \"ike.out\": an end has another family, needs another SA\n");
	ask_add("sa set ike.out { udp = { local_port = 4501; }; }");
	ask_refused("ike:1: sa \"ike.out\": its own port cannot change, needs another SA\n");
	// Of two moves of one SA the last counts; and an SA that is added can be moved at once.
	ask_sa("new", "out", 0x10003, 7, "udp = { };");
	ask_add("sa set ike.new { remote = \"192.0.2.7\"; }\n"
		"sa set ike.new { remote = \"192.0.2.254\"; }\n");
	ask_done();
	assert_true(ip_addr_equal(&desk_sa_out("ike.new")->peer.addr, &to));
}

// Moves of one request add up.
static void test_moves_add_up(void **state)
{
	struct ip_addr to = addr_of("192.0.2.254");

	(void)state;
	ask_sa("out", "out", 0x10001, 7, "udp = { };");
	ask_done();
	ask_now("sa set ike.out { remote = \"192.0.2.254\"; }\n"
		"sa set ike.out { udp = { remote_port = 1024; }; }");
	assert_true(ip_addr_equal(&desk_sa_out("ike.out")->peer.addr, &to));
	assert_int_equal(desk_sa_out("ike.out")->peer.port, RTE_BE16(1024));
	assert_true(ip_addr_equal(&to, &desk_sa_out("ike.out")->peer.addr));
	// The own end, too.
	to = addr_of("192.0.2.9");
	sa_local_move(&desk_sa_out("ike.out")->sa, &to);
	ask_now("sa set ike.out { local = \"192.0.2.1\"; }\n"
		"sa set ike.out { remote = \"192.0.2.2\"; }");
	assert_memory_equal(
		sa_out_path(desk_sa_out("ike.out"))->outer + 12, &addr_of("192.0.2.1").b[12], 4);
	// Deleted in the same request, before or after.
	ask_now("sa del ike.out\nsa set ike.out { remote = \"192.0.2.2\"; }");
	desk_settle();
}

// --- shares of peers ---

#define SHARE "its peer has used up its share of the table, the rest is for other peers\n"

static void ask_network(unsigned int peer, unsigned int i)
{
	ask_add("policy add { name = \"ike.p%u.%u\"; local = \"10.1.0.0/24\"; "
		"remote = \"20.%u.%u.0/24\"; action = \"protect\"; reqid = %u; peer_id = %u; }\n",
		peer, i, i >> 8, i & 0xff, peer, peer);
}

// A peer that adds all policies that it can has a fifth of them, and the next one is not refused.
static void test_share_of_policies(void **state)
{
	unsigned int n = 0;

	(void)state;
	for (; n < SPD_TABLE_MAX / 5; n++) {
		ask_network(1, n);
		if (n % 256 == 0)
			ask_done();
	}
	ask_network(1, n++);
	ask_done();
	ask_network(1, n);
	ask_refused("ike:1: policy \"ike.p1.6554\": " SHARE);
	for (unsigned int i = 0; i < 200; i++)
		ask_network(2, i);
	ask_done();
	ask_now("policy del ike.p1.0"); // counts until no worker uses it
	ask_network(1, n);
	ask_refused("ike:1: policy \"ike.p1.6554\": " SHARE);
	ask_now("flush");
	desk_settle();
	expect_no_peers();
	ask_network(1, 0);
	ask_done();
}

// A CHILD_SA for 8 x 8 networks of different lengths: the next peer's networks find room.
static void test_share_of_pairs(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 64; i++)
		ask_add("policy add { name = \"ike.p%u\"; local = \"%u.0.0.0/%u\"; "
			"remote = \"%u.0.0.0/%u\"; action = \"protect\"; reqid = 1; peer_id = 1; "
			"}\n",
			i, 20 + i % 8, 24 - i % 8, 30 + i / 8, 24 - i / 8);
	ask_done();
	ask_add("policy add { name = \"ike.next\"; local = \"10.1.0.0/30\"; "
		"remote = \"10.4.0.0/31\"; action = \"protect\"; reqid = 2; peer_id = 2; }\n");
	ask_done();
	assert_int_equal(listed_policies(), CONFIGURED_POLICIES + 65);
	// Resources used by packets are charged to the peer, whatever their policy.
	assert_int_equal(listed_policy("ike.p1")->peer_hash, listed_policy("ike.p63")->peer_hash);
	assert_int_not_equal(
		listed_policy("ike.p1")->peer_hash, listed_policy("ike.next")->peer_hash);
}

// While so few are free that the peer has used up its share, another one is not refused.
static void test_share_of_sas(void **state)
{
	static const char more[] = "peer_id = 1;";

	(void)state;
	ike_sas_pretend(IKE_SAS_MAX - 10);
	ask_sa("a", "in", 0x10000, 1, more);
	ask_sa("b", "in", 0x10001, 1, more);
	ask_done();
	ask_sa("c", "in", 0x10002, 1, more);
	ask_refused("ike:1: sa \"ike.c\": " SHARE);
	ask_sa("next", "in", 0x10003, 2, "peer_id = 2;");
	ask_done();
	ask_now("sa del ike.a");
	desk_settle();
	ask_sa("c", "in", 0x10002, 1, more);
	ask_done();
	ike_sas_pretend(7);
	ask_sa("last", "in", 0x10004, 3, "");
	ask_refused("ike:1: sa \"ike.last\": the table is full\n");
	ike_sas_pretend(-(IKE_SAS_MAX - 3));
	ask_now("flush");
	desk_settle();
	expect_no_peers();
	assert_int_equal(ike_sas(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ike_desk_test(test_lists),
		ike_desk_test(test_trap_and_tunnel_are_one),
		ike_desk_test(test_tunnel_state),
		ike_desk_test(test_newest_sa_sends),
		ike_desk_test(test_newest_that_is_not_late_sends),
		ike_desk_test(test_refused),
		ike_desk_test(test_key_is_never_used_twice),
		ike_desk_test(test_all_or_nothing),
		ike_desk_test(test_delete_twice),
		ike_desk_test(test_flush),
		ike_desk_test(test_move),
		ike_desk_test(test_moves_add_up),
		ike_desk_test(test_share_of_policies),
		ike_desk_test(test_share_of_pairs),
		ike_desk_test(test_share_of_sas),
	};

	return cmocka_run_group_tests_name("ike", tests, harness_start, harness_stop);
}
