// SPDX-License-Identifier: BSD-3-Clause
// Configurations with IPv6, and the snapshot built from them. CONF_DIR has files with mistakes, and
// in .err all messages about them.
#include "addrs.h"
#include "build.h"
#include "conf_dir.h"
#include "eal.h"
#include "running.h"
#include "test.h"

static int start(void **state)
{
	eal_start();
	return conf_dir_make(state);
}

static int stop(void **state)
{
	int rc = conf_dir_remove(state);

	eal_stop();
	return rc;
}

static void test_mistakes(void **state)
{
	(void)state;
	assert_int_equal(conf_dir_each(CONF_DIR, ".err", conf_dir_check_mistakes), 2);
}

static struct snapshot *build(void)
{
	static const struct build_port ports[CONF_PORTS_MAX];
	struct conf *c = conf_dir_load_good("good.conf");
	char why[256];
	struct snapshot *s = build_snapshot(c, ports, NULL, why, sizeof(why));

	assert_non_null(s);
	assert_int_equal(build_commit(s, c), 0);
	build_link(s, NULL);
	build_link_end(s);
	conf_free(c);
	return s;
}

static void test_neighbours(void **state)
{
	struct conf *c = conf_dir_load_good("good.conf");

	(void)state;
	assert_int_equal(c->neighbours[0].port, 1);
	assert_int_equal(c->neighbours[1].port, 0);
	assert_int_equal(c->neighbours[2].port, 0);
	conf_free(c);
}

static void test_routes(void **state)
{
	static const struct {
		const char *dst;
		enum nexthop_kind kind;
		uint16_t port;
		const char *gateway, *source; // MTU of its own packets on that path
	} rows[] = {
		{"2001:db8:1::1", NEXTHOP_LOCAL, 0, "::", "2001:db8:1::1"},
		{"2001:db8:1::", NEXTHOP_LOCAL, 0, "::", "2001:db8:1::1"}, // RFC 4291 2.6.1
		{"2001:db8:1::2", NEXTHOP_CONNECTED, 0, "::", "2001:db8:1::1"},
		{"2001:db8:f::1", NEXTHOP_LOCAL, 1, "::", "2001:db8:f::1"},
		{"2001:db8:f::", NEXTHOP_CONNECTED, 1, "::", "2001:db8:f::1"}, // RFC 6164
		{"2001:db8:2::1", NEXTHOP_GATEWAY, 1, "2001:db8:f::", "2001:db8:f::1"},
		{"2001:db8:3::1", NEXTHOP_GATEWAY, 0, "2001:db8:1:0:ffff:ffff:ffff:ffff",
			"2001:db8:1::1"},
		{"2001:db8:4::1", NEXTHOP_GATEWAY, 2, "fe80::9", "fe80::1"},
		{"2001:db8:9::1", NEXTHOP_GATEWAY, 1, "fe80::2", "2001:db8:f::1"},
		{"10.9.0.1", NEXTHOP_GATEWAY, 1, "192.0.2.2", "192.0.2.1"},
		{"fe80::1", NEXTHOP_NOT_UNICAST, 0, NULL, NULL},
		{"fe80::2", NEXTHOP_NOT_UNICAST, 0, NULL, NULL},
		{"ff02::1", NEXTHOP_NOT_UNICAST, 0, NULL, NULL},
		{"ff0e::1", NEXTHOP_NOT_UNICAST, 0, NULL, NULL},
		{"::1", NEXTHOP_NOT_UNICAST, 0, NULL, NULL},
		{"::", NEXTHOP_NOT_UNICAST, 0, NULL, NULL},
	};
	struct snapshot *s = build();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ip_addr dst = addr_of(rows[i].dst);
		const struct nexthop *nh = running_route(s, &dst);

		if (nh == NULL || nh->kind != rows[i].kind)
			fail_msg("%s", rows[i].dst);
		if (rows[i].source == NULL)
			continue;

		struct ip_addr gateway = addr_of(rows[i].gateway), source = addr_of(rows[i].source);

		assert_int_equal(nh->iface, rows[i].port);
		assert_true(ip_addr_equal(&nh->gateway, &gateway));
		assert_true(ip_addr_equal(&nh->source, &source));
	}
	build_snapshot_free(s);
}

static void test_policies(void **state)
{
	static const struct {
		const char *src, *dst, *policy;
		uint16_t dport;
	} rows[] = {
		{"2001:db8:1::5", "2001:db8:2::5", "six", 80},
		{"10.1.0.5", "10.2.0.5", "four-in-six", 80},
		{"2001:db8:1::5", "2001:db8:7::5", "six-in-four", 80},
		{"2001:db8:7::5", "2001:db8:7::6", "dns", 53},
		{"10.9.0.5", "10.8.0.5", "dns", 53},
		{"2001:db8:7::5", "2001:db8:7::6", "rest-of-six", 80},
		{"10.9.0.5", "10.8.0.5", "rest-of-four", 80},
	};
	struct snapshot *s = build();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct ip_view packet = {.proto = 17,
			.src = addr_of(rows[i].src),
			.dst = addr_of(rows[i].dst),
			.has_ports = true,
			.dst_port = rte_cpu_to_be_16(rows[i].dport)};
		const struct spd_policy *p = running_policy_for(s, &packet);

		assert_non_null(p);
		assert_string_equal(p->name, rows[i].policy);
	}
	// Both inner families in one SA.
	assert_ptr_equal(running_policy(s, "four-in-six")->out, running_policy(s, "six")->out);
	build_snapshot_free(s);
}

static void test_rules(void **state)
{
	static const struct {
		const char *src, *dst;
		uint8_t proto;
		uint32_t source_port; // of ICMP type << 8 | code
		const char *rule;
	} rows[] = {
		{"2001:db8:1::5", "2001:db8:2::5", 58, 0x8000, "ping6"},
		{"2001:db8:1::5", "2001:db8:2::5", 58, 0x8100, "all-of-six"},
		{"2001:db8:2::5", "2001:db8:1::5", 6, 80, "to-six"},
		{"10.1.0.1", "10.2.0.1", 6, 80, "all-of-four"},
	};
	struct snapshot *s = build();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct classifier_key packet = {.proto = rows[i].proto,
			.source = addr_of(rows[i].src),
			.destination = addr_of(rows[i].dst),
			.source_port = rte_cpu_to_be_32(rows[i].source_port)};

		assert_string_equal(running_rule_for(s, &packet)->name, rows[i].rule);
	}
	build_snapshot_free(s);
}

// RFC 4301 5.1.2.2
static void test_outer_header(void **state)
{
	struct snapshot *s = build();
	const struct sa_path *path = sa_out_path(running_sa_out(s, "out6"));
	struct ip_addr local = addr_of("2001:db8:f::1"), remote = addr_of("2001:db8:9::1");
	const uint8_t head[] = {0x60, 0, 0, 0, 0, 0, 50, 64};

	(void)state;
	assert_int_equal(path->outer_len, 40);
	assert_memory_equal(path->outer, head, sizeof(head));
	assert_memory_equal(path->outer + 8, &local, 16);
	assert_memory_equal(path->outer + 24, &remote, 16);
	// RFC 4303 2: header 8, ICV 12; text of whole words with two octets of trailer.
	assert_int_equal(path->mtu, 1500 - 40 - 8 - 12 - 2);
	assert_int_equal(sa_out_path(running_sa_out(s, "out4"))->outer_len, 20);
	assert_true(s->iface[1].unprotected);
	build_snapshot_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_outer_header),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
