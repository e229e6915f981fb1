// SPDX-License-Identifier: BSD-3-Clause
// One configuration replaces another. Proves that unchanged SAs keep numbers, window and counters,
// and that no number is used twice with a key, however the key returns.
#include "build_parts.h"
#include "peer.h"
#include "site.h"
#include "site_routed.h"

static const struct ipv4 inward = {.src = "10.2.0.5", .dst = "10.1.0.5"};
static const struct ipv4 outward = {.src = "10.1.0.5", .dst = "10.2.0.5"};

static struct conf *conf_of(const char *text)
{
	struct conf *conf = harness_conf(text, strlen(text), stderr);

	assert_non_null(conf);
	return conf;
}

static void reload_text(struct gateway *g, const char *text)
{
	struct conf *conf = conf_of(text);

	gateway_reload(g, conf);
	conf_free(conf);
}

// Applies A's configuration with other settings.
static void reload(struct gateway *g, struct site s)
{
	char text[8192];

	site_a_conf(text, sizeof(text), s);
	reload_text(g, text);
}

static void send_out(struct gateway *g, unsigned int n)
{
	static struct frame f[RX_BURST_MAX];

	for (unsigned int i = 0; i < n; i++)
		f[i] = frame_ip(LAN, outward);
	gateway_pass(g, f, n);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, n, WAN);
}

// The number of the ESP packet that was sent last.
static uint32_t sent_seq(const struct gateway *g)
{
	return be32(frame_packet(&g->sent[g->n_sent - 1]) + IP_LEN + 4);
}

static void test_unchanged_sa_is_kept(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	const struct sa_out *out = gateway_sa_out(g, "to-b");
	const struct sa_in *in = gateway_sa_in(g, "from-b");
	struct frame f = peer_seal_ip(&b, 7, inward);

	(void)state;
	send_out(g, 5);
	gateway_expect_sent(g, &f, LAN);
	for (unsigned int i = 1; i <= 3; i++) {
		reload(g, (struct site){0});
		assert_int_equal(gateway_generation(g), 1 + i);
		assert_ptr_equal(gateway_sa_out(g, "to-b"), out);
		assert_ptr_equal(gateway_sa_in(g, "from-b"), in);
		assert_int_equal(out->sa.refs, 1);
		send_out(g, 1);
		assert_int_equal(sent_seq(g), 5 + i);
		gateway_expect_drop(g, &f, DROP_REPLAY);
	}
	assert_int_equal(out->sa.per_worker[0].packets, 8);
	assert_int_equal(sa_dropped(&in->sa.per_worker[0], DROP_REPLAY), 3);
	peer_free(&b);
	gateway_free(g);
}

// A link with a smaller MTU: the same SA, another path.
static void test_smaller_mtu_keeps_sa(void **state)
{
	struct gateway *g = site_a((struct site){0});
	const struct sa_out *out = gateway_sa_out(g, "to-b");
	unsigned int mtu = sa_out_path(out)->mtu;

	(void)state;
	send_out(g, 2);
	reload(g, (struct site){.mtu = 1400});
	assert_ptr_equal(gateway_sa_out(g, "to-b"), out);
	assert_int_equal(sa_out_path(out)->mtu, mtu - 100);
	assert_ptr_equal(sa_out_path(out)->nexthop, gateway_route(g, &out->sa.opt.remote));
	send_out(g, 1);
	assert_int_equal(sent_seq(g), 3);
	gateway_free(g);
}

// Lifetimes belong to the SA, and earlier use counts.
static void test_earlier_use_counts(void **state)
{
	struct gateway *g = site_a((struct site){0});
	const struct sa_out *out = gateway_sa_out(g, "to-b");
	struct frame f = frame_ip(LAN, outward);

	(void)state;
	send_out(g, 5);
	reload(g, (struct site){.sa = " lifetime = { hard_packets = 6; };"});
	assert_ptr_equal(gateway_sa_out(g, "to-b"), out);
	send_out(g, 1);
	gateway_expect_drop(g, &f, DROP_LIFETIME);
	gateway_expect_drop(g, &f, DROP_LIFETIME);
	sa_stop(&gateway_sa_out(g, "to-b")->sa, LIFETIME_PACKETS);
	gateway_expect_drop(g, &f, DROP_LIFETIME);
	reload(g, (struct site){0});
	send_out(g, 1);
	assert_in_range(sent_seq(g), 7, 10);
	gateway_free(g);
}

// Other settings with the same keys make another SA, whose numbers continue.
static void test_other_settings(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct frame f[2] = {peer_seal_ip(&b, 900, inward), peer_seal_ip(&b, 899, inward)};

	(void)state;
	gateway_expect_sent(g, &f[0], LAN);
	reload(g, (struct site){.window = 1024});
	assert_int_equal(gateway_sa_in(g, "from-b")->sa.per_packet.replay.size, 1024);
	assert_int_equal(gateway_sa_counted(g, "from-b")->packets, 1);
	gateway_expect_drop(g, &f[0], DROP_REPLAY);
	gateway_expect_drop(g, &f[1], DROP_REPLAY); // might have been received before
	f[0] = peer_seal_ip(&b, 901, inward);
	gateway_expect_sent(g, &f[0], LAN);

	send_out(g, 9);
	reload(g, (struct site){.window = 1024, .sa = " esn = true;"});
	send_out(g, 1);
	assert_in_range(sent_seq(g), 10, 9 + SA_LEDGER_AHEAD + 1);
	peer_free(&b);
	gateway_free(g);
}

// Without its tunnel to B, then with it again.
static void test_returning_key_continues(void **state)
{
	static const char sas[] = "sas = (", policies[] = "policies = (";
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct frame f = peer_seal_ip(&b, 77, inward);
	char text[8192];
	char *at, *end;

	(void)state;
	send_out(g, 12);
	gateway_expect_sent(g, &f, LAN);
	site_a_conf(text, sizeof(text), (struct site){0});
	for (unsigned int i = 0; i < 2; i++) { // empty both lists
		at = strstr(text, i == 0 ? sas : policies);
		assert_non_null(at);
		at = strchr(at, '(') + 1;
		end = strstr(at, ");");
		assert_non_null(end);
		memmove(at, end, strlen(end) + 1);
	}
	reload_text(g, text);
	assert_int_equal(running_sas(g->snapshot), 0);
	reload(g, (struct site){0});
	send_out(g, 1);
	assert_int_equal(sent_seq(g), 13);
	gateway_expect_drop(g, &f, DROP_REPLAY);
	f = peer_seal_ip(&b, 78, inward);
	gateway_expect_sent(g, &f, LAN);
	peer_free(&b);
	gateway_free(g);
}

// A build that is not applied has no effect.
static void test_not_applied(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct sa_out *out = gateway_sa_out(g, "to-b");
	const struct sa_path *path = sa_out_path(out);
	struct build_port ports[PORTS_MAX] = {0};
	char text[8192], why[256];
	struct conf *conf;
	struct snapshot *s;

	(void)state;
	send_out(g, 3);
	site_a_conf(text, sizeof(text), (struct site){.mtu = 1300, .window = 512});
	conf = conf_of(text);
	conf->n_workers = g->conf->n_workers;
	s = build_snapshot(conf, ports, g->snapshot, why, sizeof(why));
	assert_non_null(s);
	assert_ptr_equal(running_sa_out(s, "to-b"), out);
	assert_int_equal(out->sa.refs, 2);
	build_snapshot_free(s);
	conf_free(conf);
	assert_int_equal(out->sa.refs, 1);
	assert_ptr_equal(sa_out_path(out), path);
	send_out(g, 1);
	assert_int_equal(sent_seq(g), 4);
	gateway_free(g);
}

// By policy "b", also before reloads.
static uint64_t policy_lookups(const struct gateway *g)
{
	return running_policy_sum(g->snapshot, "b").asked;
}

static void expect_lookups(const struct gateway *g, uint64_t n)
{
	assert_int_equal(policy_lookups(g), n);
	assert_int_equal(running_rule_sum(g->snapshot, BUILD_RULE_DEFAULT).asked, n);
}

static void test_counters_outlive_reload(void **state)
{
	struct gateway *g = site_a((struct site){0});

	(void)state;
	for (unsigned int i = 1; i <= 3; i++) {
		send_out(g, 2);
		expect_lookups(g, i);
		reload(g, (struct site){0});
		g->snapshot->carried = 0; // so that the flow is evaluated again
		expect_lookups(g, i);
	}
	gateway_free(g);
}

#define POLICY(ends)                                                                               \
	", { name = \"new\"; " ends " action = \"protect\"; out = \"to-b\"; in = \"from-b\"; }"
#define FAR "local = \"10.1.0.0/24\"; remote = \"10.9.0.0/24\";"

// A change between other ends lets a flow be as it is; a change between its own, or any, does not.
static void test_decisions_are_carried(void **state)
{
	static const struct {
		struct site site;
		unsigned int lookups; // by then
	} rows[] = {
		{{0}, 1},
		{{.mtu = 1400}, 1},
		{{.policies = POLICY(FAR)}, 1},
		{{.errors_per_second = 7}, 1}, // without it
		{{.policies = POLICY("local = \"10.1.0.5/32\"; remote = \"10.2.0.0/16\";")}, 2},
		{{.more = "rules = ( { name = \"far\"; source = \"10.1.0.0/24\"; destination = "
			  "\"10.9.0.0/24\"; action = \"drop\"; } );"},
			2}, // without that policy
		{{.more = "default_action = \"accept\";"}, 2},
		{{.sa_out = " df = \"set\";"}, 3},
		{{0}, 4},
		{{.more = "rules = ( { name = \"all\"; action = \"accept\"; } );"}, 5},
		{{.more = "rules = ( { name = \"all\"; action = \"accept\"; log = true; } );"}, 6},
		{{.more = "ike = { before = \"c\"; };"}, 7}, // as the rule is gone
		{{.more = "ike = { before = \"b\"; };"}, 8},
	};
	struct gateway *g = site_a((struct site){0});

	(void)state;
	send_out(g, 1);
	for (unsigned int i = 0; i < COUNT_OF(rows); i++) {
		reload(g, rows[i].site);
		send_out(g, 3);
		if (policy_lookups(g) != rows[i].lookups)
			fail_msg("row %u: %lu", i, (unsigned long)policy_lookups(g));
	}
	gateway_free(g);
}

#define BETWEEN(name, ends, out, in)                                                               \
	", { name = \"" name "\"; " ends " action = \"protect\"; "                                 \
	"out = \"" out "\"; in = " in "; }"
#define OF_HOST "local = \"10.1.0.5/32\"; remote = \"10.9.0.0/24\";"
#define TO_HOST "local = \"10.1.0.0/24\"; remote = \"10.9.0.5/32\";"
#define ONE(in) BETWEEN("one", OF_HOST, "to-b", in)
#define ONE_C   BETWEEN("one", OF_HOST, "to-c", "\"from-c\"")
#define TWO     BETWEEN("two", TO_HOST, "to-c", "\"from-c\"")
#define BY_B    "\"from-b\""
#define BY_B2   "\"from-b2\""
#define BOTH    "[ " BY_B2 ", " BY_B " ]"
// Ends the SA that it is appended to.
#define B2                                                                                         \
	" }, { name = \"from-b2\"; direction = \"in\"; spi = \"0x1003\"; local = \"192.0.2.1\"; "  \
	"remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\"; "                                       \
	"cipher_key = \"909192939495969798999a9b9c9d9e9fa0a1a2a3\";"

#define RULES(rules) .policies = ONE(BY_B), .more = "rules = ( " rules " );"
#define ALONE(rule)  RULES(rule) "default_action = \"drop\";"
#define ACCEPT       "{ name = \"a\"; action = \"accept\"; source = \"10.1.0.5/32\"; }"
#define REFUSE       "{ name = \"r\"; action = \"drop\"; destination = \"10.9.0.0/24\"; }"
#define REFUSE_LIST                                                                                \
	"{ name = \"r\"; action = \"drop\"; source = [ \"10.0.7.0/24\", \"10.1.0.0/24\" ]; }"
#define REFUSE_BY(t) "{ name = \"r\"; action = \"drop\"; tunnel = \"" t "\"; }"
#define ACCEPT_BY(t) "{ name = \"a\"; action = \"accept\"; tunnel = \"" t "\"; }"
#define ESTABLISHED  "{ name = \"e\"; action = \"drop\"; state = [ \"established\" ]; }"
#define NEW          "{ name = \"n\"; action = \"accept\"; state = [ \"new\" ]; }"

static const struct {
	const char *change;
	struct site before, after;
	uint32_t spi;    // of the next packet; 0: a rule drops it
	enum drop reply; // the next one is dropped for this reason
} otherwise[] = {
	{"policies are moved", {.policies = ONE(BY_B) TWO}, {.policies = TWO ONE(BY_B)}, 0x2001,
		DROP_SELECTOR},
	{"other SAs", {.policies = ONE(BY_B)}, {.policies = ONE_C}, 0x2001, DROP_SELECTOR},
	{"received by another SA", {.sa_in = B2, .policies = ONE(BY_B)},
		{.sa_in = B2, .policies = ONE(BY_B2)}, 0x1001, DROP_SELECTOR},
	{"received by fewer SAs", {.sa_in = B2, .policies = ONE(BOTH)},
		{.sa_in = B2, .policies = ONE(BY_B2)}, 0x1001, DROP_SELECTOR},
	{"rules are moved", {RULES(ACCEPT ", " REFUSE)}, {RULES(REFUSE ", " ACCEPT)}, 0,
		DROP_RULE_DROP},
	{"a list", {RULES("")}, {RULES(REFUSE_LIST)}, 0, DROP_RULE_DROP},
	{"another tunnel", {RULES(REFUSE_BY("b"))}, {RULES(REFUSE_BY("one"))}, 0, DROP_RULE_DROP},
	{"fewer tunnels", {ALONE(ACCEPT_BY("to-b"))}, {ALONE(ACCEPT_BY("b"))}, 0, DROP_RULE_DROP},
	{"established by now", {RULES(ESTABLISHED)}, {RULES(ESTABLISHED)}, 0, DROP_RULE_DROP},
	{"new no more", {ALONE(NEW)}, {ALONE(NEW)}, 0, DROP_RULE_DROP},
};

// spi: of the SA that it leaves by; 0: a rule drops it.
static void expect_next(struct gateway *g, uint32_t spi)
{
	const struct frame out = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.9.0.5"));

	if (spi == 0)
		gateway_expect_drop(g, &out, DROP_RULE_DROP);
	else
		assert_int_equal(
			be32(frame_packet(gateway_expect_sent(g, &out, WAN)) + IP_LEN), spi);
}

// A flow with replies is decided otherwise after the reload, in both directions.
static void test_decided_otherwise(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(otherwise); i++) {
		struct gateway *g = site_a(otherwise[i].before);
		struct peer b = peer_new(g, "from-b");
		struct frame reply[2];

		print_message("%s\n", otherwise[i].change);
		for (unsigned int k = 0; k < 2; k++)
			reply[k] = peer_seal_ip(
				&b, 1 + k, (struct ipv4)FROM_TO("10.9.0.5", "10.1.0.5"));
		expect_next(g, 0x1001);
		gateway_expect_sent(g, &reply[0], LAN);
		reload(g, otherwise[i].after);
		gateway_expect_drop(g, &reply[1], otherwise[i].reply);
		expect_next(g, otherwise[i].spi);
		peer_free(&b);
		gateway_free(g);
	}
}

// A tunnel that routes lead into, and by how many evaluations its flow is decided by then.
static void test_tunnel_changes(void **state)
{
	static const struct {
		const char *tunnel;
		enum drop drop;
		unsigned int evaluations;
	} rows[] = {
		{"source_check = \"loose\";", DROP_NONE, 1},
		{"source_check = \"loose\";", DROP_NONE, 1},
		{"source_check = \"loose\"; addresses = [ \"169.254.10.1/30\" ];", DROP_NONE, 2},
		{"addresses = [ \"169.254.10.1/30\" ];", DROP_TUNNEL_SOURCE, 2},
	};
	struct gateway *g = site_routed(rows[0].tunnel, "");
	char text[4096];

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(rows); i++) {
		const struct frame f = site_routed_out_of(g, "from-b", 1 + i, "10.3.7.7");

		site_routed_conf(text, sizeof(text), rows[i].tunnel, "");
		reload_text(g, text);
		if (rows[i].drop != DROP_NONE)
			gateway_expect_drop(g, &f, rows[i].drop);
		else
			gateway_expect_sent(g, &f, LAN);
		assert_int_equal(running_rule_sum(g->snapshot, BUILD_RULE_DEFAULT).asked,
			rows[i].evaluations);
	}
	gateway_free(g);
}

// A policy with two inbound SAs: its flows continue whichever SA packets use.
static void test_two_in(void **state)
{
	struct gateway *g;
	struct peer by[2];
	uint32_t seq = 0;

	(void)state;
	g = site_a_two_in();
	by[0] = peer_new(g, "from-b");
	by[1] = peer_new(g, "from-b2");
	send_out(g, 1);
	for (unsigned int i = 0; i < 6; i++) {
		uint64_t before = policy_lookups(g);

		for (unsigned int k = 0; k < 3; k++) {
			struct frame f = peer_seal_ip(&by[i % 2], ++seq, inward);

			gateway_expect_sent(g, &f, LAN);
		}
		assert_int_equal(policy_lookups(g), before + 1); // and not for every packet
	}
	assert_int_equal(flow_count(g->flows), 1);
	peer_free(&by[0]);
	peer_free(&by[1]);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_unchanged_sa_is_kept),
		pipeline_test(test_smaller_mtu_keeps_sa),
		pipeline_test(test_earlier_use_counts),
		pipeline_test(test_other_settings),
		pipeline_test(test_returning_key_continues),
		pipeline_test(test_not_applied),
		pipeline_test(test_counters_outlive_reload),
		pipeline_test(test_decisions_are_carried),
		pipeline_test(test_decided_otherwise),
		pipeline_test(test_tunnel_changes),
		pipeline_test(test_two_in),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
