// SPDX-License-Identifier: BSD-3-Clause
// The decision of policy about a fragment, which holds for later ones of its burst. Proves that it
// does not for one that differs in anything that it depends on, nor after the configuration has
// changed; and that a later one gets all that it would get by itself.
#include "datagram.h"
#include "frag_origin.h"
#include "site.h"

#define STEP 800

// A first fragment, of a datagram of its own.
static struct frame fragment(uint16_t port, struct ipv4 ip)
{
	static uint16_t id;

	ip.id = ++id;
	return piece(port, ip, 0, STEP);
}

// Two fragments of a burst: the second one is dropped, unless that is DROP_NONE, but not the first.
static void expect_second(struct gateway *g, const struct frame f[2], enum drop reason)
{
	const uint64_t held = worker_held(g->w);

	gateway_pass(g, f, 2);
	expect_drops(g, reason, reason == DROP_NONE ? 0 : 1);
	assert_int_equal(worker_held(g->w), held + (reason == DROP_NONE ? 2 : 1));
}

static void test_out_of_tunnels(void **state)
{
	static const struct {
		struct ipv4 first, second;
		bool by_c; // the second one
		enum drop reason;
	} rows[] = {
		{FROM_TO("10.2.0.5", "10.1.0.5"), FROM_TO("10.2.0.5", "10.1.0.5"), false,
			DROP_NONE},
		{FROM_TO("10.2.0.5", "10.1.0.5"), FROM_TO("10.2.0.5", "10.1.0.5"), true,
			DROP_SELECTOR},
		{FROM_TO("10.2.0.5", "10.1.0.5"), FROM_TO("10.5.0.5", "10.1.0.5"), false,
			DROP_SELECTOR},
		{FROM_TO("10.2.0.5", "10.1.0.5"), FROM_TO("10.2.0.5", "10.5.0.5"), false,
			DROP_SELECTOR},
		{FROM_TO("10.4.0.5", "10.1.0.5"), FROM_TO("10.4.0.5", "10.1.0.5"), false,
			DROP_NONE},
		{FROM_TO("10.4.0.5", "10.1.0.5"),
			FROM_TO("10.4.0.5", "10.1.0.5", .proto = IPPROTO_TCP), false,
			DROP_SELECTOR},
	};
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b"), c = peer_new(g, "from-c");

	(void)state;
	datagram_fill(2000, 5005);
	for (uint32_t i = 0; i < COUNT_OF(rows); i++) {
		struct frame first = fragment(WAN, rows[i].first),
			     second = fragment(WAN, rows[i].second);
		const struct frame esp[] = {sealed(&b, 2 * i + 1, &first),
			sealed(rows[i].by_c ? &c : &b, 2 * i + 2, &second)};

		expect_second(g, esp, rows[i].reason);
	}
	peer_free(&b);
	peer_free(&c);
	gateway_free(g);
}

static void test_in_clear(void **state)
{
	static const struct {
		uint16_t port[2];
		struct ipv4 first, second;
		enum drop reason;
	} rows[] = {
		{{LAN, LAN}, FROM_TO("10.1.0.5", "10.7.0.5"), FROM_TO("10.1.0.5", "10.7.0.5"),
			DROP_NONE},
		{{LAN, WAN}, FROM_TO("10.1.0.5", "10.7.0.5"), FROM_TO("10.1.0.5", "10.7.0.5"),
			DROP_IP_SOURCE},
		{{LAN, LAN}, FROM_TO("10.1.0.5", "10.7.0.5"), FROM_TO("10.1.0.5", "203.0.113.5"),
			DROP_POLICY_DISCARD},
		{{WAN, WAN}, FROM_TO("198.51.100.5", "10.1.0.5"),
			FROM_TO("198.51.100.5", "10.1.0.5"), DROP_NONE},
		{{WAN, WAN}, FROM_TO("198.51.100.5", "10.1.0.5"),
			FROM_TO("203.0.113.5", "10.1.0.5"), DROP_POLICY_DISCARD},
		{{WAN, WAN}, FROM_TO("198.51.100.5", "10.4.0.5", .proto = IPPROTO_ICMP),
			FROM_TO("198.51.100.5", "10.4.0.5"), DROP_NO_POLICY},
	};
	struct gateway *g = site_a((struct site){0});

	(void)state;
	datagram_fill(2000, 9);
	for (unsigned int i = 0; i < COUNT_OF(rows); i++) {
		const struct frame f[] = {fragment(rows[i].port[0], rows[i].first),
			fragment(rows[i].port[1], rows[i].second)};

		expect_second(g, f, rows[i].reason);
	}
	gateway_free(g);
}

// Fragments of a datagram and, before its first one in the same pass, of another one.
struct parts {
	struct frame other, first, last;
};

static struct parts parts_of(struct ipv4 ip)
{
	struct parts parts;

	datagram_fill(STEP + 400, 9);
	parts.other = fragment(WAN, ip);
	parts.first = fragment(WAN, ip);
	ip.id = be16(frame_packet(&parts.first) + 4);
	parts.last = piece(WAN, ip, STEP, STEP);
	return parts;
}

// The first fragment is joined with one of a later pass, which is decided by itself.
static void expect_joined(struct gateway *g, const struct frame pass[2], const struct frame *last)
{
	gateway_pass(g, pass, 2);
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->n_sent, 0);
	gateway_pass(g, last, 1);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, 1, LAN);
	collect_all(g, NULL);
	expect_complete();
}

static void test_joined_in_clear(void **state)
{
	struct gateway *g = site_a((struct site){0});
	const struct parts parts = parts_of((struct ipv4)FROM_TO("198.51.100.5", "10.1.0.5"));
	const struct frame pass[] = {parts.other, parts.first};

	(void)state;
	expect_joined(g, pass, &parts.last);
	gateway_free(g);
}

static void test_joined_out_of_tunnel(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	const struct parts parts = parts_of((struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5"));
	const struct frame pass[] = {sealed(&b, 1, &parts.other), sealed(&b, 2, &parts.first)};
	const struct frame last = sealed(&b, 3, &parts.last);

	(void)state;
	expect_joined(g, pass, &last);
	peer_free(&b);
	gateway_free(g);
}

// The fragment in f, out of the SA or in clear, is decided about twice in a pass: the second time
// with the same results.
static void expect_same_results(struct gateway *g, const struct frame *f, struct sa_in *sa)
{
	struct rte_mbuf *m = frame_mbuf(f);
	struct pkt p[2];
	uint64_t origin[2];

	gateway_pass(g, NULL, 0);
	rte_pktmbuf_adj(m, ETH_LEN);
	for (unsigned int i = 0; i < 2; i++) {
		struct ip_addr src, dst;

		p[i] = (struct pkt){.m = m,
			.sa_in = sa,
			.iface = f->port,
			.ip = {.proto = IPPROTO_UDP, .v4 = true, .fragment = true}};
		src = pkt_src(&p[i]);
		dst = pkt_dst(&p[i]);
		assert_int_equal(frag_origin_find(g->w, &p[i], &src, &dst, &origin[i]), DROP_NONE);
	}
	rte_pktmbuf_free(m);
	assert_int_equal(p[1].in_by, p[0].in_by);
	assert_ptr_equal(p[1].nexthop, p[0].nexthop);
	assert_int_equal(origin[1], origin[0]);
	assert_int_equal(p[0].in_by, sa != NULL ? gateway_policy(g, "b")->number : 0);
	assert_int_equal(p[0].nexthop != NULL, sa == NULL);
}

static void test_results(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f;

	(void)state;
	datagram_fill(2000, 9);
	f = fragment(WAN, (struct ipv4)FROM_TO("198.51.100.5", "10.1.0.5"));
	expect_same_results(g, &f, NULL);
	f = fragment(WAN, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5"));
	expect_same_results(g, &f, gateway_sa_in(g, "from-b"));
	gateway_free(g);
}

// The policy that has admitted the first fragment does not any more.
static void test_reload(void **state)
{
	static const char old[] = "remote = \"10.2.0.0/24\"", new[] = "remote = \"10.6.0.0/24\"";
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	const struct ipv4 ip = FROM_TO("10.2.0.5", "10.1.0.5");
	struct frame f[] = {fragment(WAN, ip), fragment(WAN, ip)};
	char text[8192], *at;
	struct conf *conf;
	struct frame esp;

	(void)state;
	datagram_fill(2000, 9);
	esp = sealed(&b, 1, &f[0]);
	gateway_pass(g, &esp, 1);
	expect_drops(g, DROP_NONE, 0);
	site_a_conf(text, sizeof(text), (struct site){0});
	at = strstr(text, old);
	assert_non_null(at);
	memcpy(at, new, sizeof(new) - 1);
	conf = harness_conf(text, strlen(text), stderr);
	assert_non_null(conf);
	gateway_reload(g, conf);
	esp = sealed(&b, 2, &f[1]);
	gateway_expect_drop(g, &esp, DROP_SELECTOR);
	conf_free(conf);
	peer_free(&b);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_out_of_tunnels),
		pipeline_test(test_in_clear),
		pipeline_test(test_joined_in_clear),
		pipeline_test(test_joined_out_of_tunnel),
		pipeline_test(test_results),
		pipeline_test(test_reload),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
