// SPDX-License-Identifier: BSD-3-Clause
// Tunnels of an IKE daemon. Proves that a rekey drops nothing and lets no flow be decided again,
// and that no packet of a tunnel is ever sent in clear, or delivered from another tunnel.
#include <netinet/in.h>

#include "addrs.h"
#include "ike.h"
#include "ike_gates.h"
#include "match.h"
#include "trace.h"

// How often a policy was looked up.
static uint64_t asked(const struct daemon *d, const char *name)
{
	return running_policy_sum(d->c.snapshot, name).asked;
}

static uint64_t counted(const struct daemon *d, const char *name)
{
	return running_policy_sum(d->c.snapshot, name).packets;
}

static void test_traffic(void **state)
{
	(void)state;
	ike_gate_tunnel("p", 1, 0x1000, "");
	for (unsigned int i = 0; i < 3; i++) {
		ike_gate_through(&ike_a, ike_there, 0x1000);
		ike_gate_through(&ike_b, ike_back, 0x1001);
	}
	assert_int_equal(counted(&ike_a, "ike.p"), 6);
	assert_int_equal(asked(&ike_a, "ike.p"), 2);
}

static void test_rekey(void **state)
{
	struct frame in = frame_ip(LAN, ike_back), late;
	uint64_t asked_a, asked_b;

	(void)state;
	ike_gate_tunnel("p", 1, 0x1000, "");
	ike_gate_through(&ike_a, ike_there, 0x1000);
	ike_gate_through(&ike_b, ike_back, 0x1001);
	asked_a = asked(&ike_a, "ike.p");
	asked_b = asked(&ike_b, "ike.p");
	for (uint32_t spi = 0x1000; spi < 0x2000; spi += 0x100) {
		uint32_t next = spi + 0x100;

		late = frame_carry(gateway_expect_sent(ike_b.g, &in, WAN));
		// As RFC 7296 2.8 has it: both receive, then one sends, then the other.
		ike_gate_sa(&ike_b, "in", next, 1);
		ike_gate_through(&ike_a, ike_there, spi);
		ike_gate_sa(&ike_a, "in", next + 1, 1);
		ike_gate_sa(&ike_a, "out", next, 1);
		ike_gate_through(&ike_a, ike_there, next);
		ike_gate_through(&ike_b, ike_back, spi + 1);
		ike_gate_sa(&ike_b, "out", next + 1, 1);
		ike_gate_through(&ike_b, ike_back, next + 1);
		ike_gate_through(&ike_a, ike_there, next);
		gateway_expect_sent(ike_a.g, &late, LAN);
		ike_gate_sas_delete(spi);
		ike_gate_through(&ike_a, ike_there, next);
		ike_gate_through(&ike_b, ike_back, next + 1);
		gateway_pass(ike_a.g, &late, 1); // nobody has its SA
		assert_int_equal(ike_a.g->n_sent, 0);
	}
	assert_int_equal(asked(&ike_a, "ike.p"), asked_a);
	assert_int_equal(asked(&ike_b, "ike.p"), asked_b);
}

// Fragments of ESP are for a host while it has an SA in transport mode.
static void test_host_fragments(void **state)
{
	struct frame f = frame_ip(WAN,
		(struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5", .proto = IPPROTO_ESP, .frag = MF));

	(void)state;
	ike_gate_policy(&ike_a, "p", 1, "");
	gateway_expect_drop(ike_a.g, &f, DROP_CLEAR_TEXT);
	ike_gate_ask(&ike_a,
		"sa add { name = \"ike.host\"; direction = \"in\"; mode = \"transport\"; "
		"spi = \"0x1000\"; reqid = 1; cipher = \"aes-128-gcm\"; "
		"cipher_key = \"000102030405060708090a0b0c0d0e0f10111213\"; "
		"local = \"10.1.0.5\"; remote = \"10.2.0.5\"; }");
	gateway_pass(ike_a.g, &f, 1);
	expect_drops(ike_a.g, DROP_NONE, 0);
	assert_int_equal(worker_held(ike_a.g->w), 1);
	ike_gate_ask(&ike_a, "sa del ike.host");
	gateway_expect_drop(ike_a.g, &f, DROP_CLEAR_TEXT);
}

static void test_order(void **state)
{
	struct ipv4 first = ike_there, telnet = ike_there;

	(void)state;
	first.dport = 9;
	telnet.dport = 23;
	ike_gate_tunnel("low", 1, 0x1000, "priority = 20;");
	ike_gate_tunnel("high", 2, 0x2000, "priority = 10;");
	ike_gate_through(&ike_a, ike_there, 0x2000);
	ike_gate_tunnel("newest", 3, 0x3000, "priority = 10;");
	ike_gate_through(&ike_a, ike_there, 0x3000);
	ike_gate_tunnel("other", 4, 0x4000, "priority = 11;");
	ike_gate_through(&ike_a, ike_there, 0x3000);
	ike_gate_ask(&ike_a, "policy add { name = \"ike.telnet\"; local = \"10.1.0.0/24\"; "
			     "remote = \"10.2.0.0/24\"; proto = \"udp\"; remote_port = \"23\"; "
			     "action = \"discard\"; priority = 9; }");
	ike_gate_dropped(&ike_a, telnet, DROP_POLICY_DISCARD);
	ike_gate_through(&ike_a, ike_there, 0x3000);
	// In the order of the configuration: before, and after.
	gateway_pass(ike_a.g, (struct frame[]){frame_ip(LAN, first)}, 1);
	expect_all_sent(ike_a.g, 1, WAN);
	assert_int_equal(frame_packet(&ike_a.g->sent[0])[9], IPPROTO_UDP);
	ike_gate_dropped(
		&ike_a, (struct ipv4)FROM_TO("10.1.0.5", "192.0.2.2"), DROP_POLICY_DISCARD);
	// Each takes the place of the one before.
	ike_gate_ask(&ike_a, "policy del ike.newest\npolicy del ike.telnet");
	ike_gate_ask(&ike_b, "policy del ike.newest");
	ike_gate_through(&ike_a, ike_there, 0x2000);
	ike_gate_through(&ike_a, telnet, 0x2000);
	ike_gate_ask(&ike_a, "policy del ike.high");
	ike_gate_ask(&ike_b, "policy del ike.high");
	ike_gate_through(&ike_a, ike_there, 0x4000);
}

// Policies of IKE that do not protect; a host outside may answer in clear.
static void test_bypass(void **state)
{
	struct frame in = frame_ip(LAN, ike_there), out = frame_ip(WAN, ike_back);
	static const char form[] = "policy add { name = \"ike.%s\"; local = \"10.1.0.0/24\"; "
				   "remote = \"10.2.0.0/24\"; action = \"%s\"; priority = %u; }";

	(void)state;
	ike_gate_dropped(&ike_a, ike_there, DROP_POLICY_DISCARD);
	gateway_expect_drop(ike_a.g, &out, DROP_POLICY_DISCARD);
	ike_gate_ask(&ike_a, form, "pass", "bypass", 5);
	gateway_expect_sent(ike_a.g, &in, WAN);
	assert_int_equal(frame_packet(&ike_a.g->sent[0])[9], IPPROTO_UDP);
	gateway_expect_sent(ike_a.g, &out, LAN);
	ike_gate_ask(&ike_a, form, "drop", "discard", 4);
	gateway_expect_drop(ike_a.g, &in, DROP_POLICY_DISCARD);
	gateway_expect_drop(ike_a.g, &out, DROP_POLICY_DISCARD);
	ike_gate_ask(&ike_a, "policy del ike.drop");
	gateway_expect_sent(ike_a.g, &in, WAN);
	ike_gate_tunnel("p", 1, 0x1000, "priority = 3;");
	ike_gate_through(&ike_a, ike_there, 0x1000);
	gateway_expect_drop(ike_a.g, &out, DROP_CLEAR_TEXT);
	ike_gate_ask(&ike_a, "flush");
	gateway_expect_drop(ike_a.g, &in, DROP_POLICY_DISCARD);
}

// Until lookups that have begun are over, policies that were deleted, or added by a refused
// request, are in the table: no packet passes in clear by them.
static void test_bypass_leaves(void **state)
{
	static const char pass[] = "policy add { name = \"ike.%s\"; local = \"10.1.0.0/24\"; "
				   "remote = \"10.2.0.0/24\"; action = \"bypass\"; }";
	struct frame in = frame_ip(LAN, ike_there), out = frame_ip(WAN, ike_back);
	char text[256], messages[256];
	FILE *f = fmemopen(messages, sizeof(messages), "w");

	(void)state;
	snprintf(text, sizeof(text), pass, "refused");
	strcat(text, "\npolicy del ike.none");
	assert_false(ike_request(&ike_a.c, "ike", text, strlen(text), f));
	fclose(f);
	gateway_publish(ike_a.g, ike_a.c.snapshot);
	gateway_expect_drop(ike_a.g, &in, DROP_POLICY_DISCARD);
	gateway_expect_drop(ike_a.g, &out, DROP_POLICY_DISCARD);
	ike_gate_settle(&ike_a);
	ike_gate_ask(&ike_a, pass, "pass");
	gateway_expect_sent(ike_a.g, &in, WAN);
	assert_true(ike_request(&ike_a.c, "ike", "policy del ike.pass", 19, stderr));
	gateway_publish(ike_a.g, ike_a.c.snapshot);
	gateway_expect_drop(ike_a.g, &in, DROP_POLICY_DISCARD);
	gateway_expect_drop(ike_a.g, &out, DROP_POLICY_DISCARD);
}

static void test_acquire(void **state)
{
	struct ipv4 ping = {
		.src = "10.2.0.5", .dst = "10.1.0.1", .proto = IPPROTO_ICMP, .icmp_type = 8};
	struct ipv4 last_hop = {.src = "10.2.0.5", .dst = "10.1.0.5", .ttl = 2};
	struct frame in = frame_ip(LAN, ike_there), esp[2];

	(void)state;
	ike_gate_policy(&ike_a, "p", 1, "");
	ike_gate_policy(&ike_b, "p", 1, "");
	gateway_expect_drop(ike_a.g, &in, DROP_ACQUIRE);
	assert_int_equal(ike_a.g->n_sent, 0);
	expect_event(ike_a.g, EVENT_SA_NEEDED, LAN, "10.1.0.5");
	gateway_expect_drop(ike_a.g, &in, DROP_ACQUIRE);
	ike_gate_sas(1, 0x1000);
	ike_gate_through(&ike_a, ike_there, 0x1000);
	ike_gate_through(&ike_b, ike_back, 0x1001);

	// Replies to the peer need the SA as well.
	esp[0] = frame_ip(LAN, ping);
	esp[1] = frame_ip(LAN, last_hop);
	for (unsigned int i = 0; i < 2; i++)
		esp[i] = frame_carry(gateway_expect_sent(ike_b.g, &esp[i], WAN));
	ike_gate_ask(&ike_a, "sa del ike.out.1000");
	for (unsigned int i = 0; i < 2; i++) {
		gateway_pass(ike_a.g, &esp[i], 1);
		assert_int_equal(ike_a.g->n_sent, 0);
		assert_int_equal(ike_a.g->last.drops[DROP_ACQUIRE], 1);
		assert_int_equal(ike_a.g->last.originated, 1);
	}
	// A known flow, too.
	gateway_expect_drop(ike_a.g, &in, DROP_ACQUIRE);
	assert_int_equal(ike_a.g->n_sent, 0);
	ike_gate_through(&ike_b, ike_back, 0x1001); // this direction still works
	ike_gate_sa(&ike_b, "in", 0x5000, 1);
	ike_gate_sa(&ike_a, "out", 0x5000, 1);
	ike_gate_through(&ike_a, ike_there, 0x5000);
}

// A tunnel without traffic for any time is asked for again, and so is one whose traffic waits while
// the clock in ms of workers, of 32 bits, begins again.
static void test_acquire_after_weeks(void **state)
{
	const uint64_t wrap_ms = UINT64_C(1) << 32, day_ms = 24 * 60 * 60 * 1000;
	const uint64_t pause_ms[] = {200, 100, 25 * day_ms, 25 * day_ms, wrap_ms, 45 * day_ms};
	struct frame in = frame_ip(LAN, ike_there);

	(void)state;
	ike_gate_policy(&ike_a, "p", 1, "");
	ike_a.g->now = (wrap_ms - 150) * (TSC_HZ / 1000);
	for (unsigned int i = 0; i < RTE_DIM(pause_ms); i++) {
		for (unsigned int again = 0; again < 2; again++)
			gateway_expect_drop(ike_a.g, &in, DROP_ACQUIRE);
		expect_event(ike_a.g, EVENT_SA_NEEDED, LAN, "10.1.0.5");
		expect_no_event(ike_a.g);
		ike_a.g->now += pause_ms[i] * (TSC_HZ / 1000);
	}
}

// Packets that wait for the SA of one policy leave room to ask for those of others.
static void test_acquire_many(void **state)
{
	struct frame in = frame_ip(LAN, ike_there), other;
	struct ipv4 elsewhere = ike_there;
	unsigned int n = 0;
	bool found = false;
	struct event e;

	(void)state;
	elsewhere.dst = "10.9.0.5";
	other = frame_ip(LAN, elsewhere);
	ike_gate_policy(&ike_a, "p", 1, "");
	ike_gate_ask(&ike_a,
		"policy add { name = \"ike.q\"; local = \"10.1.0.0/24\"; remote = \"10.9.0.0/24\"; "
		"action = \"protect\"; reqid = 2; }");
	ike_gate_sa(&ike_a, "in", 0x1000, 3); // of another tunnel
	ike_gate_ask(&ike_a, "sa del ike.in.1000");
	for (unsigned int i = 0; i < 1000; i++)
		gateway_expect_drop(ike_a.g, &in, DROP_ACQUIRE);
	gateway_expect_drop(ike_a.g, &other, DROP_ACQUIRE);
	while (worker_event_dequeue(ike_a.g->w, &e)) {
		if (e.kind != EVENT_SA_NEEDED)
			continue;
		assert_int_equal(e.generation, gateway_flow_generation(ike_a.g));
		n++;
		found |= e.policy == running_policy(ike_a.c.snapshot, "ike.q")->number;
	}
	assert_true(found);
	assert_in_range(n, 2, 20);
}

static void test_policy_deleted(void **state)
{
	struct frame out = frame_ip(WAN, ike_back), late, in = frame_ip(LAN, ike_back);

	(void)state;
	ike_gate_tunnel("p", 1, 0x1000, "");
	ike_gate_through(&ike_a, ike_there, 0x1000);
	ike_gate_through(&ike_b, ike_back, 0x1001);
	late = frame_carry(gateway_expect_sent(ike_b.g, &in, WAN));
	ike_gate_ask(&ike_a, "policy del ike.p");
	ike_gate_dropped(&ike_a, ike_there, DROP_POLICY_DISCARD);
	gateway_expect_drop(ike_a.g, &late, DROP_SELECTOR);
	gateway_expect_drop(ike_a.g, &out, DROP_POLICY_DISCARD);
	ike_gate_policy(&ike_a, "q", 1, ""); // in the same slot
	ike_gate_through(&ike_a, ike_there, 0x1000);
	ike_gate_through(&ike_b, ike_back, 0x1001);
	ike_gate_sas_delete(0x1000);
	ike_gate_ask(&ike_a, "policy del ike.q");
	ike_gate_ask(&ike_b, "policy del ike.p");
	ike_gate_dropped(&ike_a, ike_there, DROP_POLICY_DISCARD);
}

// Before lookups that have begun are over, the policy is in the table, but nobody is sent by it.
static void test_policy_leaves(void **state)
{
	struct frame in = frame_ip(LAN, ike_there);

	(void)state;
	ike_gate_tunnel("p", 1, 0x1000, "");
	ike_gate_through(&ike_a, ike_there, 0x1000);
	assert_true(ike_request(&ike_a.c, "ike", "policy del ike.p", 16, stderr));
	gateway_publish(ike_a.g, ike_a.c.snapshot);
	gateway_expect_drop(ike_a.g, &in, DROP_ACQUIRE);
	assert_int_equal(ike_a.g->n_sent, 0);
	ike_gate_settle(&ike_a);
	gateway_expect_drop(ike_a.g, &in, DROP_POLICY_DISCARD);
}

// A tunnel delivers packets that its own policies cover, and none of another tunnel's flows.
static void test_other_tunnel(void **state)
{
	struct ipv4 other = ike_back;
	struct frame f;
	struct conf_ike *ike;
	struct peer mallory;

	(void)state;
	other.sport = 99;
	ike_gate_tunnel("p", 1, 0x1000, "");
	ike_gate_ask(&ike_a,
		"policy add { name = \"ike.m\"; local = \"10.1.0.0/24\"; remote = \"10.9.0.0/24\"; "
		"action = \"protect\"; reqid = 2; }");
	ike_gate_sa(&ike_a, "in", 0x2001, 2);
	ike_gate_sa(&ike_a, "out", 0x2000, 2);
	mallory = ike_gate_peer(0x2001, 2, &ike);
	ike_gate_through(&ike_a, ike_there, 0x1000);
	ike_gate_through(&ike_b, ike_back, 0x1001);
	f = peer_seal_ip(&mallory, 1, ike_back);
	gateway_expect_drop(ike_a.g, &f, DROP_SELECTOR);
	f = peer_seal_ip(&mallory, 2, other);
	gateway_expect_drop(ike_a.g, &f, DROP_SELECTOR);
	f = peer_seal_ip(&mallory, 3, (struct ipv4)FROM_TO("10.9.0.5", "10.1.0.5"));
	gateway_expect_sent(ike_a.g, &f, LAN);
	// Fragments, which do not show whose flow it is.
	other.frag = MF;
	f = peer_seal_ip(&mallory, 4, other);
	gateway_expect_drop(ike_a.g, &f, DROP_SELECTOR);
	// Without a policy it delivers nothing.
	ike_gate_ask(&ike_a, "policy del ike.m");
	f = peer_seal_ip(&mallory, 5, (struct ipv4)FROM_TO("10.9.0.5", "10.1.0.5"));
	gateway_expect_drop(ike_a.g, &f, DROP_SELECTOR);
	ike_gate_through(&ike_b, ike_back, 0x1001);
	peer_free(&mallory);
	conf_ike_free(ike);
}

static void test_fragments(void **state)
{
	// Not of UDP: the configuration's first policy depends on its ports.
	struct ipv4 first = {.src = "10.2.0.5",
		.dst = "10.1.0.5",
		.proto = IPPROTO_TCP,
		.id = 7,
		.len = 60,
		.frag = MF};
	struct ipv4 rest = first;
	struct frame f[2];
	struct conf_ike *ike;
	struct peer peer;

	(void)state;
	rest.frag = 5;
	ike_gate_tunnel("p", 1, 0x1000, "priority = 5;");
	peer = ike_gate_peer(0x1001, 1, &ike);
	f[0] = peer_seal_ip(&peer, 1, first);
	f[1] = peer_seal_ip(&peer, 2, rest);
	gateway_pass(ike_a.g, f, 2);
	expect_drops(ike_a.g, DROP_NONE, 0);
	assert_int_not_equal(ike_a.g->n_sent, 0);
	assert_int_equal(ike_a.g->sent[0].port, LAN);

	// In clear: one policy decides about all of the datagram, or more than the fragment shows.
	rest.id = first.id = 8;
	f[0] = frame_ip(WAN, rest);
	gateway_expect_drop(ike_a.g, &f[0], DROP_CLEAR_TEXT);
	ike_gate_policy(&ike_a, "port", 1, "proto = \"tcp\"; remote_port = \"80\"; priority = 1;");
	ike_gate_ask(&ike_a, "policy add { name = \"ike.pass\"; local = \"10.1.0.0/24\"; remote = "
			     "\"10.2.0.0/24\"; action = \"bypass\"; priority = 3; }");
	first.id = rest.id = 9;
	first.sport = 80;
	f[0] = frame_ip(WAN, first);
	f[1] = frame_ip(WAN, rest);
	gateway_pass(ike_a.g, &f[1], 1);
	expect_drops(ike_a.g, DROP_NONE, 0);
	assert_int_equal(ike_a.g->n_sent, 0);
	gateway_pass(ike_a.g, &f[0], 1);
	assert_int_equal(ike_a.g->n_sent, 0);
	assert_in_range(ike_a.g->last.drops[DROP_CLEAR_TEXT], 1, 2);
	peer_free(&peer);
	conf_ike_free(ike);
}

static void test_mss(void **state)
{
	struct frame in =
		frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .proto = IPPROTO_TCP,
				      .len = 44, .sport = 1000, .dport = 80));
	uint8_t *tcp = in.b + ETH_LEN + IP_LEN;
	struct frame esp;
	const struct frame *arrived;

	(void)state;
	tcp[12] = 0x60;
	tcp[13] = 2;
	memcpy(tcp + 20, (const uint8_t[]){2, 4, 0x05, 0xb4}, 4);
	ike_gate_tunnel("p", 1, 0x1000, "mss_clamp = 1000;");
	esp = frame_carry(gateway_expect_sent(ike_a.g, &in, WAN));
	arrived = gateway_expect_sent(ike_b.g, &esp, LAN);
	assert_int_equal(be16(frame_packet(arrived) + IP_LEN + 22), 1000);
}

static struct match query(const char *src, const char *dst)
{
	const struct match_query q = {.source = addr_of(src),
		.destination = addr_of(dst),
		.proto = IPPROTO_UDP,
		.source_port = 1000,
		.destination_port = 53};
	struct match m;

	assert_int_equal(match_run(&m, ike_a.g->w, ike_a.c.snapshot, &q), 0);
	return m;
}

static void test_match(void **state)
{
	struct match m;

	(void)state;
	ike_gate_policy(&ike_a, "p", 1, "");
	m = query("10.1.0.5", "10.2.0.5");
	assert_int_equal(m.reason, DROP_ACQUIRE);
	assert_string_equal(m.out_by->name, "ike.p");
	assert_null(m.sa_out);
	m = query("10.2.0.5", "10.1.0.5"); // as if there was one
	assert_null(m.sa_in);
	ike_gate_sas(1, 0x1000);
	m = query("10.1.0.5", "10.2.0.5");
	assert_int_equal(m.reason, DROP_NONE);
	assert_string_equal(m.out_by->name, "ike.p");
	assert_string_equal(m.sa_out->sa.live.name, "ike.out.1000");
	m = query("10.2.0.5", "10.1.0.5");
	assert_int_equal(m.reason, DROP_NONE);
	assert_string_equal(m.in_by->name, "ike.p");
	assert_string_equal(m.sa_in->sa.live.name, "ike.in.1001");
	assert_int_equal(asked(&ike_a, "ike.p"), 0);
}

static void test_trace(void **state)
{
	struct frame in = frame_ip(LAN, ike_there);
	const struct trace_step *s;
	bool found = false;

	(void)state;
	ike_gate_tunnel("p", 1, 0x1000, "");
	gateway_trace(ike_a.g, NULL, 2);
	gateway_expect_sent(ike_a.g, &in, WAN);
	for (uint32_t i = 0; (s = trace_step_at(ike_a.g->trace, i)) != NULL; i++)
		found |= memmem(s, sizeof(*s), "ike.p", 5) != NULL;
	assert_true(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ike_gate_test(test_traffic),
		ike_gate_test(test_rekey),
		ike_gate_test(test_host_fragments),
		ike_gate_test(test_order),
		ike_gate_test(test_bypass),
		ike_gate_test(test_bypass_leaves),
		ike_gate_test(test_acquire),
		ike_gate_test(test_acquire_after_weeks),
		ike_gate_test(test_acquire_many),
		ike_gate_test(test_policy_deleted),
		ike_gate_test(test_policy_leaves),
		ike_gate_test(test_other_tunnel),
		ike_gate_test(test_fragments),
		ike_gate_test(test_mss),
		ike_gate_test(test_match),
		ike_gate_test(test_trace),
	};

	return cmocka_run_group_tests_name("ike", tests, harness_start, harness_stop);
}
