// SPDX-License-Identifier: BSD-3-Clause
// Tunnels that routes lead into.
#include "match.h"
#include "peer.h"
#include "site_routed.h"

static void test_route_chooses_tunnel(void **state)
{
	struct gateway *g = site_routed("", "");
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "8.8.8.8"));

	(void)state;
	for (unsigned int i = 0; i < 2; i++) { // the first packet of a flow, and the next one
		site_routed_expect_into(g, "10.2.7.7", "to-b");
		site_routed_expect_into(g, "172.16.9.9", "to-b");
		site_routed_expect_into(g, "10.3.7.7", "to-c");
	}
	gateway_expect_sent(g, &f, WAN); // in clear, by the policy
	assert_int_equal(gateway_policy_decided(g, "clear").asked, 1);
	gateway_free(g);
}

// Packets of known flows that go different paths, in one burst.
static void test_burst_of_known_flows(void **state)
{
	static const char *const dst[] = {
		"10.2.7.7", "10.3.7.7", "8.8.8.8", "172.16.9.9", "172.16.9.9", "10.3.7.7"};
	struct gateway *g = site_routed("", "");
	struct peer b = peer_new(g, "to-b"), c = peer_new(g, "to-c");
	struct peer *const to[] = {&b, &c, &b, &b, &c}; // packets in clear are sent last
	const struct frame *in[] = {NULL, NULL, NULL, NULL, NULL};
	uint8_t inner[FRAME_MAX];
	struct frame f[COUNT_OF(dst)];

	(void)state;
	for (unsigned int i = 0, k = 0; i < COUNT_OF(dst); i++) {
		f[i] = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", dst[i]));
		if (i != 2)
			in[k++] = &f[i];
	}
	for (unsigned int pass = 0; pass < 2; pass++) {
		gateway_pass(g, f, COUNT_OF(f));
		expect_all_sent(g, COUNT_OF(f), WAN);
		for (unsigned int i = 0; i < COUNT_OF(to); i++) {
			const struct frame right = frame_after_hops(in[i], 1);

			assert_int_equal(
				peer_open(to[i], &g->sent[i], inner), frame_packet_len(&right));
			assert_memory_equal(inner, frame_packet(&right), frame_packet_len(&right));
		}
		assert_int_equal(frame_packet(&g->sent[5])[16], 8);
	}
	assert_int_equal(gateway_policy_decided(g, "clear").packets, 2);
	peer_free(&b);
	peer_free(&c);
	gateway_free(g);
}

// A wrong source is audited, as a packet that no policy allows out of its SA is.
static void test_source_is_audited(void **state)
{
	struct gateway *g = site_routed("", "");
	struct frame f = site_routed_out_of(g, "from-b", 1, "10.3.7.7");
	struct event e;

	(void)state;
	g->now = 1000;
	site_routed_expect_dropped(g, &f, DROP_TUNNEL_SOURCE);
	assert_true(worker_event_dequeue(g->w, &e));
	assert_int_equal(e.kind, EVENT_AUDIT);
	assert_int_equal(e.reason, DROP_TUNNEL_SOURCE);
	assert_true(e.inner);
	gateway_free(g);
}

static void test_source_check(void **state)
{
	static const struct {
		const char *check, *sa, *src;
		enum drop drop;
	} rows[] = {
		{"strict", "from-b", "10.2.7.7", DROP_NONE},
		{"strict", "from-b", "172.16.9.9", DROP_NONE},
		{"strict", "from-b", "10.3.7.7", DROP_TUNNEL_SOURCE},
		{"strict", "from-b", "8.8.8.8", DROP_TUNNEL_SOURCE},
		{"strict", "from-b", "10.1.0.9", DROP_TUNNEL_SOURCE},
		{"strict", "from-b", "10.9.7.7", DROP_TUNNEL_SOURCE},
		{"loose", "from-b", "10.9.7.7", DROP_TUNNEL_SOURCE},
		{"off", "from-b", "10.9.7.7", DROP_NONE},
		{"strict", "from-b", "10.1.0.1", DROP_IP_SOURCE},
		{"strict", "from-c", "10.2.7.7", DROP_TUNNEL_SOURCE},
		{"loose", "from-b", "10.3.7.7", DROP_NONE},
		{"loose", "from-b", "10.1.0.1", DROP_IP_SOURCE},
		{"off", "from-b", "8.8.8.8", DROP_NONE},
		{"off", "from-b", "10.1.0.1", DROP_IP_SOURCE},
	};
	char check[64];

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		struct gateway *g;
		struct frame f;

		print_message("%s: %s out of %s\n", rows[i].check, rows[i].src, rows[i].sa);
		snprintf(check, sizeof(check), "source_check = \"%s\";", rows[i].check);
		g = site_routed(check, "");
		f = site_routed_out_of(g, rows[i].sa, 1, rows[i].src);
		if (rows[i].drop != DROP_NONE) {
			site_routed_expect_dropped(g, &f, rows[i].drop);
		} else {
			gateway_pass(g, &f, 1);
			expect_all_sent(g, 1, LAN);
		}
		gateway_free(g);
	}
}

// With loose there must be a route.
static void test_loose_needs_a_route(void **state)
{
	static const char default_route[] = "  { to = \"0.0.0.0/0\"; via = \"192.0.2.254\"; },\n";
	char text[4096], *at;
	struct gateway *g;
	struct frame f;

	(void)state;
	site_routed_conf(text, sizeof(text), "source_check = \"loose\";", "");
	at = strstr(text, default_route);
	memset(at, ' ', strlen(default_route));
	g = gateway_new(0, text);
	f = site_routed_out_of(g, "from-b", 1, "8.8.8.8");
	site_routed_expect_dropped(g, &f, DROP_TUNNEL_SOURCE);
	gateway_free(g);
}

static void test_clear_text_from_tunnels_source(void **state)
{
	struct gateway *g = site_routed("", "");
	struct frame f = frame_ip(WAN, (struct ipv4)FROM_TO("10.2.7.7", "10.1.0.5"));

	(void)state;
	site_routed_expect_dropped(g, &f, DROP_IP_SOURCE);
	gateway_free(g);
}

// The default route and the policy would let the packet out.
static void test_down_sends_nothing_in_clear(void **state)
{
	struct gateway *g = site_routed("", "");
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.7.7"));

	(void)state;
	sa_stop(&gateway_sa_out(g, "to-b")->sa, LIFETIME_PACKETS);
	site_routed_expect_dropped(g, &f, DROP_TUNNEL_DOWN);
	site_routed_expect_into(g, "10.3.7.7", "to-c");
	gateway_free(g);
}

// The control thread takes it down by one store, which known flows see, too.
static void test_one_store_takes_it_down(void **state)
{
	struct gateway *g = site_routed("", "");
	struct objects *o = g->snapshot->objects;
	const struct frame known = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.7.7")),
			   new = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.8.8"));
	const uint16_t b = spd_at(g->snapshot->spd, spd_count_policies(g->snapshot->spd))->number;

	(void)state;
	site_routed_expect_into(g, "10.2.7.7", "to-b");
	objects_out_set(o, b, NULL);
	site_routed_expect_dropped(g, &known, DROP_TUNNEL_DOWN);
	site_routed_expect_dropped(g, &new, DROP_TUNNEL_DOWN);
	site_routed_expect_into(g, "10.3.7.7", "to-c");
	objects_out_set(o, b, gateway_sa_out(g, "to-b"));
	site_routed_expect_into(g, "10.2.7.7", "to-b");
	site_routed_expect_into(g, "10.2.8.8", "to-b");
	gateway_free(g);
}

// Each packet that finds no SA may ask for one, also that of a known flow.
static void test_tunnel_without_sa_asks(void **state)
{
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.7.7"));
	struct gateway *g = site_routed("", "");
	struct spd *spd = g->snapshot->spd;
	const struct spd_policy *b = spd_at(spd, spd_count_policies(spd));
	struct event e;

	(void)state;
	site_routed_expect_into(g, "10.2.7.7", "to-b");
	objects_out_set(g->snapshot->objects, b->number, NULL);
	site_routed_expect_dropped(g, &f, DROP_TUNNEL_DOWN); // by command
	assert_false(worker_event_dequeue(g->w, &e));
	spd_set_out(spd, b, NULL);
	site_routed_expect_dropped(g, &f, DROP_TUNNEL_DOWN);
	assert_true(worker_event_dequeue(g->w, &e));
	assert_int_equal(e.kind, EVENT_SA_NEEDED);
	assert_int_equal(e.policy, b->number);
	site_routed_expect_dropped(g, &f, DROP_TUNNEL_DOWN);
	assert_false(worker_event_dequeue(g->w, &e));
	gateway_free(g);
}

// The next packet of a flow goes by another route, and then into the tunnel again.
static void test_skip(void **state)
{
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.6.7.7"));
	struct gateway *g = site_routed("", "");
	const struct spd_policy *b = spd_at(g->snapshot->spd, spd_count_policies(g->snapshot->spd));

	(void)state;
	site_routed_expect_into(g, "10.6.7.7", "to-b");
	objects_out_set(g->snapshot->objects, b->number, NULL);
	site_routed_expect_dropped(g, &f, DROP_TUNNEL_DOWN);
	build_routes_skip(g->snapshot);
	gateway_expect_sent(g, &f, WAN);
	gateway_expect_sent(g, &f, WAN);
	objects_out_set(g->snapshot->objects, b->number, b->out);
	build_routes_skip(g->snapshot);
	site_routed_expect_into(g, "10.6.7.7", "to-b");
	gateway_free(g);
}

static void test_from_one_tunnel_into_another(void **state)
{
	struct gateway *g = site_routed("", "");
	struct peer b = peer_new(g, "from-b"), c = peer_new(g, "to-c");
	struct frame f = peer_seal_ip(&b, 1, (struct ipv4)FROM_TO("10.2.7.7", "10.3.7.7"));
	uint8_t inner[FRAME_MAX];

	(void)state;
	gateway_pass(g, &f, 1);
	expect_all_sent(g, 1, WAN);
	peer_open(&c, &g->sent[0], inner);
	peer_free(&b);
	peer_free(&c);
	gateway_free(g);
}

// A ping to an own address is answered through the tunnel, and so is an error.
static void test_replies_go_back(void **state)
{
	struct gateway *g = site_routed("", "");
	struct peer from = peer_new(g, "from-b"), to = peer_new(g, "to-b");
	struct frame f[] = {
		peer_seal_ip(&from, 1,
			(struct ipv4)FROM_TO("10.2.7.7", "10.1.0.1", .proto = 1, .icmp_type = 8)),
		peer_seal_ip(&from, 2, (struct ipv4)FROM_TO("10.2.7.7", "10.1.0.5", .ttl = 1)),
	};
	uint8_t inner[FRAME_MAX];

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(f); i++) {
		gateway_pass(g, &f[i], 1);
		assert_int_equal(g->n_sent, 1);
		peer_open(&to, &g->sent[0], inner);
		assert_memory_equal(inner + 16, ((const uint8_t[]){10, 2, 7, 7}), 4);
		assert_memory_equal(inner + 12, ((const uint8_t[]){10, 1, 0, 1}), 4);
	}
	peer_free(&from);
	peer_free(&to);
	gateway_free(g);
}

static void test_rules_match_tunnels(void **state)
{
	static const char rules[] =
		"default_action = \"drop\"; rules = (\n"
		"  { name = \"out-b\"; action = \"accept\"; in = \"lan\"; out = \"b\"; },\n"
		"  { name = \"in-c\"; action = \"accept\"; in = \"c\"; out = \"lan\"; } );";
	struct gateway *g = site_routed("", rules);
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.3.7.7"));

	(void)state;
	site_routed_expect_into(g, "10.2.7.7", "to-b");
	site_routed_expect_dropped(g, &f, DROP_RULE_DROP);
	f = site_routed_out_of(g, "from-c", 1, "10.3.8.8");
	gateway_pass(g, &f, 1);
	expect_all_sent(g, 1, LAN);
	f = site_routed_out_of(g, "from-b", 1, "10.2.8.8");
	site_routed_expect_dropped(g, &f, DROP_RULE_DROP);
	gateway_free(g);
}

static void test_rules_by_tunnel(void **state)
{
	struct gateway *g = site_routed("", "default_action = \"drop\"; rules = ( { name = \"b\"; "
					    "action = \"accept\"; tunnel = \"b\"; } );");
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.3.7.7"));

	(void)state;
	site_routed_expect_into(g, "10.2.7.7", "to-b");
	site_routed_expect_dropped(g, &f, DROP_RULE_DROP);
	gateway_free(g);
}

// Any router on the path may send an error, but a peer cannot pretend that it is from inside,
// unless the tunnel may have such sources.
static void test_error_out_of_tunnel(void **state)
{
	static const struct {
		const char *check, *src;
		enum drop drop;
	} rows[] = {
		{"strict", "9.9.9.9", DROP_NONE},
		{"strict", "10.2.0.1", DROP_NONE},
		{"strict", "10.1.0.9", DROP_IP_SOURCE},
		{"strict", "10.3.0.9", DROP_IP_SOURCE},
		{"loose", "10.3.0.9", DROP_NONE},
		{"off", "10.1.0.9", DROP_NONE},
	};
	char check[64];

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		struct frame sent = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.7.7")), f;
		uint8_t error[FRAME_MAX];
		struct gateway *g;
		struct peer peer;
		uint16_t len;

		print_message("%s: an error from %s\n", rows[i].check, rows[i].src);
		snprintf(check, sizeof(check), "source_check = \"%s\";", rows[i].check);
		g = site_routed(check, "");
		peer = peer_new(g, "from-b");
		site_routed_expect_into(g, "10.2.7.7", "to-b");
		len = error_write(error, rows[i].src, "10.1.0.5", 3, 1, frame_packet(&sent));
		f = peer_seal_packet(&peer, 1, error, len);
		if (rows[i].drop != DROP_NONE) {
			site_routed_expect_dropped(g, &f, rows[i].drop);
		} else {
			gateway_pass(g, &f, 1);
			expect_all_sent(g, 1, LAN);
		}
		peer_free(&peer);
		gateway_free(g);
	}
}

// Nobody outside is believed about packets that only ESP shows there.
static void test_error_in_clear(void **state)
{
	struct gateway *g = site_routed("", "");
	struct frame sent = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.7.7")), f;
	uint8_t error[FRAME_MAX];
	uint16_t len;

	(void)state;
	site_routed_expect_into(g, "10.2.7.7", "to-b");
	len = error_write(error, "8.8.8.8", "10.1.0.5", 3, 1, frame_packet(&sent));
	f = frame_raw(WAN, error, len);
	site_routed_expect_dropped(g, &f, DROP_CLEAR_TEXT);
	gateway_free(g);
}

static void test_match(void **state)
{
	struct gateway *g = site_routed("", "");
	struct match_query q = {.proto = 17, .source_port = 1000, .destination_port = 7};
	struct match m;

	(void)state;
	ip_addr_parse(&q.source, "10.1.0.5");
	ip_addr_parse(&q.destination, "10.2.7.7");
	assert_int_equal(match_run(&m, g->w, g->snapshot, &q), 0);
	assert_int_equal(m.reason, DROP_NONE);
	assert_string_equal(m.sa_out->sa.live.name, "to-b");
	assert_string_equal(g->snapshot->iface[m.nexthop->iface].name, "b");
	assert_string_equal(m.out_by->name, "b");
	ip_addr_parse(&q.source, "10.3.7.7");
	ip_addr_parse(&q.destination, "10.1.0.5");
	assert_int_equal(match_run(&m, g->w, g->snapshot, &q), 0);
	assert_int_equal(m.reason, DROP_NONE);
	assert_string_equal(m.sa_in->sa.live.name, "from-c");
	assert_string_equal(g->snapshot->iface[m.iface].name, "c");
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_route_chooses_tunnel),
		pipeline_test(test_burst_of_known_flows),
		pipeline_test(test_source_check),
		pipeline_test(test_source_is_audited),
		pipeline_test(test_loose_needs_a_route),
		pipeline_test(test_clear_text_from_tunnels_source),
		pipeline_test(test_down_sends_nothing_in_clear),
		pipeline_test(test_one_store_takes_it_down),
		pipeline_test(test_tunnel_without_sa_asks),
		pipeline_test(test_skip),
		pipeline_test(test_from_one_tunnel_into_another),
		pipeline_test(test_replies_go_back),
		pipeline_test(test_rules_match_tunnels),
		pipeline_test(test_rules_by_tunnel),
		pipeline_test(test_error_out_of_tunnel),
		pipeline_test(test_error_in_clear),
		pipeline_test(test_match),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
