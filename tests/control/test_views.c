// SPDX-License-Identifier: BSD-3-Clause
// Contents of lists, and metrics.
#include "collect.h"
#include "desk.h"
#include "metrics_text.h"
#include "ranking.h"

// The text of a field of a list's view.
static const char *shown(const char *list, const void *view, const char *name)
{
	static char text[VIEW_TEXT_MAX];
	unsigned int n;
	const struct view_field *f = view_fields(list, &n);

	for (unsigned int i = 0; i < n; i++)
		if (f[i].name != NULL && strcmp(f[i].name, name) == 0)
			return view_text(text, &f[i], view);
	fail_msg("no field %s of %s", name, list);
	return NULL;
}

static void expect(const char *list, const void *view, const char *name, const char *text)
{
	if (strcmp(shown(list, view, name), text) != 0)
		fail_msg("%s %s: %s, not %s", list, name, shown(list, view, name), text);
}

static void test_sas(void **state)
{
	struct sas_view v;
	unsigned int i = 0, n = 0;

	(void)state;
	desk_sa_counted("out-4")->packets = 7;
	desk_sa_counted("out-4")->drops[DROP_OF_SA_REPLAY] = 2;
	while (collect_sas(&v, &desk, n) && strcmp(v.name, "out-4") != 0)
		n++;
	expect("sas", &v, "direction", "out");
	expect("sas", &v, "spi", "0x00001003");
	expect("sas", &v, "remote", "192.0.2.2");
	expect("sas", &v, "packets", "7");
	expect("sas", &v, "cipher", "aes-128-gcm");
	assert_int_equal(v.errors, 2);
	assert_int_equal(v.path_mtu, 1500);
	while (collect_sas(&v, &desk, i))
		i++;
	assert_int_equal(i, 6);
	for (i = 0; i < 3; i++) {
		assert_true(collect_sas(&v, &desk, i));
		if (strcmp(v.name, "out-nat") == 0)
			expect("sas", &v, "remote", "any");
	}
}

// Whether the field of a list's view has the value of a filter.
static bool has(const char *list, const void *view, const char *name, const char *value)
{
	unsigned int n;
	const struct view_field *f = view_fields(list, &n);

	while (f->name == NULL || strcmp(f->name, name) != 0)
		f++;
	return view_matches(f, view, value);
}

static void test_filters(void **state)
{
	const struct policies_view policy = {.in = "west-in,west-in-2",
		.action = "protect",
		.out = "",
		.local = {.family = IP_ANY},
		.remote = {.family = IP_V4}};
	struct policies_view p = policy;
	struct sas_view v;
	struct drops_view drop = {.name = "auth", .packets = 3};

	(void)state;
	desk_sa_counted("out-4")->drops[DROP_OF_SA_REPLAY] = 2;
	for (unsigned int i = 0; collect_sas(&v, &desk, i) && strcmp(v.name, "out-4") != 0; i++)
		;
	assert_true(has("sas", &v, "spi", "0x00001003"));
	assert_false(has("sas", &v, "spi", "0x0000100"));
	assert_true(has("sas", &v, "esn", "no") || has("sas", &v, "esn", "yes"));
	assert_true(has("sas", &v, "remote", "192.0.2.2"));
	assert_true(has("sas", &v, "remote", "192.0.2.0/24"));
	assert_false(has("sas", &v, "remote", "192.0.2.3"));
	assert_true(has("sas", &v, "drops", "replay"));
	assert_false(has("sas", &v, "drops", "auth"));
	assert_true(has("drops", &drop, "reason", "auth"));
	p.remote.prefix = net_of("10.2.0.0/16");
	assert_true(has("policies", &p, "remote", "10.2.3.4"));
	assert_true(has("policies", &p, "remote", "10.0.0.0/8"));
	assert_false(has("policies", &p, "remote", "10.3.0.0/16"));
	assert_true(has("policies", &p, "local", "10.3.0.0/16"));
	assert_true(has("policies", &p, "local", "any"));
	assert_true(has("policies", &p, "in", "west-in-2"));
	assert_true(has("policies", &p, "in", "west-in"));
	assert_false(has("policies", &p, "in", "west"));
	assert_true(has("policies", &p, "out", "-"));
	assert_false(has("policies", &p, "action", "-"));
}

static void expect_headers(const struct sas_view *v, const char *df, const char *dscp,
	const char *ecn, const char *tfc, const char *dummies)
{
	expect("sas", v, "df", df);
	expect("sas", v, "dscp", dscp);
	expect("sas", v, "ecn", ecn);
	expect("sas", v, "tfc", tfc);
	expect("sas", v, "tfc_dummies", dummies);
}

// Options in the words of the configuration; "-" where there is no such option.
static void test_sa_options(void **state)
{
	struct sa_options *opt = &desk_sa_out("out-4")->sa.opt;
	struct sas_view v;
	unsigned int n = 0;

	(void)state;
	while (collect_sas(&v, &desk, n) && strcmp(v.name, "out-4") != 0)
		n++;
	expect_headers(&v, "copy", "copy", "yes", "-", "0");
	opt->df = SA_DF_SET;
	opt->dscp = 46;
	opt->tfc_pad = SA_TFC_MTU;
	opt->tfc_dummies = 9;
	opt->ecn = false;
	assert_true(collect_sas(&v, &desk, n));
	expect_headers(&v, "set", "ef", "no", "mtu", "9");
	opt->dscp = 45;
	opt->tfc_pad = 500;
	assert_true(collect_sas(&v, &desk, n));
	expect_headers(&v, "set", "45", "no", "500", "9");
	opt->mode = SA_TRANSPORT;
	opt->tfc_pad = 0;
	assert_true(collect_sas(&v, &desk, n));
	expect_headers(&v, "-", "-", "no", "-", "9");
	for (n = 0; v.direction != sa_direction_names[SA_IN]; n++)
		assert_true(collect_sas(&v, &desk, n));
	expect_headers(&v, "-", "keep", "yes", "-", "0");
	expect("sas", &v, "window", "64");
}

static void test_busiest(void **state)
{
	struct ranking r;
	struct sas_view v;

	(void)state;
	desk_sa_in("in-6")->sa.rate = 1000;
	desk_sa_out("out-4")->sa.rate = 2000;
	ranking_busiest_sas(&r, &desk);
	assert_int_equal(r.n, 6);
	assert_true(collect_sas(&v, &desk, r.number[0]));
	assert_string_equal(v.name, "out-4");
	assert_true(collect_sas(&v, &desk, r.number[1]));
	assert_string_equal(v.name, "in-6");
}

static const char *tunnel_at(unsigned int number)
{
	const struct spd_policy *p;

	assert_non_null(collect_tunnel(&desk, number, &p));
	return p->name;
}

// A tunnel is as busy as its two SAs together.
static void test_busiest_tunnels(void **state)
{
	struct ranking r;

	(void)state;
	desk_sa_out("out-4")->sa.rate = 700;
	desk_sa_in("in-4")->sa.rate = 600;
	desk_sa_out("out-6")->sa.rate = 0;
	desk_sa_in("in-6")->sa.rate = 1000;
	ranking_busiest_tunnels(&r, &desk);
	assert_true(r.n >= 2);
	assert_string_equal(tunnel_at(r.number[0]), "four");
	assert_string_equal(tunnel_at(r.number[1]), "six");
	desk_sa_out("out-4")->sa.rate = 300;
	ranking_busiest_tunnels(&r, &desk);
	assert_string_equal(tunnel_at(r.number[0]), "six");
}

static void test_worst_tunnels(void **state)
{
	struct tunnels tunnels = desk.tunnels;
	struct tunnel item[40] = {};
	uint64_t count[TUNNEL_STATES];
	struct ranking r;

	(void)state;
	desk.tunnels = (struct tunnels){.item = item, .n = 40};
	for (unsigned int i = 0; i < 40; i++) {
		item[i].policy = tunnels.item[0].policy;
		item[i].state = i < 20 ? TUNNEL_UP : TUNNEL_SILENT;
		item[i].life.unanswered_ms = desk_now - 20000 - 1000 * (i % 30);
	}
	item[3].state = TUNNEL_NEVER;
	item[21].state = TUNNEL_STOPPED;
	item[30].state = TUNNEL_FAILING;
	ranking_worst_tunnels(&r, &desk);
	assert_int_equal(r.n, RANKING_MAX);
	assert_int_equal(r.number[0], 21);
	assert_int_equal(r.number[1], 30);
	assert_int_equal(r.number[2], 29); // silent for the longest time
	assert_int_equal(r.number[3], 28);
	assert_int_equal(collect_tunnel_states(count, &desk), 40);
	assert_int_equal(count[TUNNEL_UP], 19);
	assert_int_equal(count[TUNNEL_NEVER], 1);
	assert_int_equal(count[TUNNEL_SILENT], 18);
	desk.tunnels = tunnels;
}

static void test_policies(void **state)
{
	struct policies_view p;
	struct rules_view r;
	struct tunnels_view t;

	(void)state;
	desk_reload(
		"rules = ( { name = \"ping\"; action = \"accept\"; proto = \"icmp\";"
		" icmp = \"8\"; source = \"10.1.0.0/24\"; },"
		" { name = \"web\"; action = \"reject\"; proto = \"tcp\";"
		" destination_port = \"80-81\"; in = \"lan\"; },"
		" { name = \"many\"; action = \"drop\"; proto = [ \"udp\", \"tcp\" ];"
		" source = [ \"10.1.0.0/24\", \"@far\" ]; destination_port = [ \"90\", \"85-87\" ];"
		" destination = [ \"10.2.0.0/24\", \"10.2.1.0/24\", \"10.2.2.0/24\", "
		"\"10.2.3.0/24\", \"10.2.4.0/24\", \"10.2.5.0/24\", \"10.2.6.0/24\", "
		"\"10.2.7.0/24\", \"10.2.8.0/24\", \"10.2.9.0/24\", \"10.2.10.0/24\" ]; } );"
		"aliases = ( { name = \"far\"; prefixes = \"10.9.0.0/24\"; } );",
		"");
	assert_true(collect_policies(&p, &desk, 1));
	expect("policies", &p, "name", "four");
	expect("policies", &p, "local", "10.1.0.0/24");
	expect("policies", &p, "remote", "10.2.0.0/24");
	expect("policies", &p, "proto", "any");
	expect("policies", &p, "local_port", "any");
	expect("policies", &p, "in", "in-4");
	assert_false(collect_policies(&p, &desk, 3));
	assert_true(collect_rules(&r, &desk, 0));
	expect("rules", &r, "icmp", "8");
	expect("rules", &r, "proto", "icmp");
	expect("rules", &r, "source", "10.1.0.0/24");
	expect("rules", &r, "source_port", "any");
	assert_true(collect_rules(&r, &desk, 1));
	expect("rules", &r, "icmp", "any");
	expect("rules", &r, "destination_port", "80-81");
	expect("rules", &r, "in", "lan");
	assert_true(collect_rules(&r, &desk, 2));
	expect("rules", &r, "proto", "udp,tcp");
	expect("rules", &r, "source", "10.1.0.0/24,@far");
	expect("rules", &r, "destination_port", "90,85-87");
	expect("rules", &r, "destination",
		"10.2.0.0/24,10.2.1.0/24,10.2.2.0/24,10.2.3.0/24,10.2.4.0/24,10.2.5.0/24,"
		"10.2.6.0/24,10.2.7.0/24,10.2.8.0/24,10.2.9.0/24,+1");
	assert_true(has("rules", &r, "source", "10.9.0.7"));
	assert_true(has("rules", &r, "destination", "10.2.10.0/24"));
	assert_false(has("rules", &r, "source", "10.8.0.0/24"));
	assert_true(has("rules", &r, "proto", "tcp"));
	assert_true(collect_rules(&r, &desk, 3)); // the fallback
	expect("rules", &r, "proto", "any");
	expect("rules", &r, "source", "any");
	assert_false(collect_rules(&r, &desk, 4));
	assert_true(collect_tunnels(&t, &desk, 0));
	expect("tunnels", &t, "state", "never");
	expect("tunnels", &t, "reason", "-");
	expect("tunnels", &t, "probe", "2001:db8:2::1");
}

static void test_tables(void **state)
{
	struct routes_view r;
	struct neighbours_view n;
	struct drops_view d;
	unsigned int connected = 0;

	(void)state;
	for (unsigned int i = 0; collect_routes(&r, &desk, i); i++)
		connected += strcmp(shown("routes", &r, "to"), "192.0.2.0/24") == 0;
	assert_int_equal(connected, 1);
	assert_true(collect_neighbours(&n, &desk, 0));
	expect("neighbours", &n, "state", "static");
	desk.counters.drops[DROP_RING_FULL] = 3;
	desk.workers[0]->counters.drops[DROP_RING_FULL] = 4;
	for (unsigned int i = 0; collect_drops(&d, &desk, i); i++)
		assert_int_equal(d.packets, i + 1 == DROP_RING_FULL ? 7 : 0);
	assert_int_equal(counters_drops(&(struct counters){.drops = {[DROP_TTL] = 2}}), 2);
}

static void test_metrics(void **state)
{
	static const struct view_list lists[] = {
		{"sas", "", sizeof(struct sas_view), collect_sas},
		{"neighbours", "", sizeof(struct neighbours_view), NULL}, // without metrics
		{"tunnels", "", sizeof(struct tunnels_view), collect_tunnels},
	};
	size_t len;
	char *text;

	(void)state;
	desk_sa_counted("out-4")->packets = 7;
	text = metrics_text_new(&desk, lists, COUNT_OF(lists), &len);
	assert_non_null(text);
	assert_int_equal(strlen(text), len);
	assert_non_null(strstr(text, "# TYPE culvert_sa_packets counter\n"));
	assert_non_null(strstr(text, "culvert_sa_packets_total{gateway=\""));
	assert_non_null(strstr(text, "sa=\"out-4\",direction=\"out\"} 7\n"));
	assert_string_equal(text + len - 6, "# EOF\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		desk_test(test_sas),
		desk_test(test_filters),
		desk_test(test_sa_options),
		desk_test(test_busiest),
		desk_test(test_busiest_tunnels),
		desk_test(test_worst_tunnels),
		desk_test(test_policies),
		desk_test(test_tables),
		desk_test(test_metrics),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
