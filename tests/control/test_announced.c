// SPDX-License-Identifier: BSD-3-Clause
// The networks that are announced: which they are, and when. The groups are "main", whose tunnels
// lead to 10.2.0.0/24 and others, and "other", whose lead to 10.2.0.0/24 as well.
#include "announced.h"
#include "collect.h"
#include "ike_desk.h"
#include "ike_tables.h"
#include "role.h"

#define SA(name, direction, spi, local, remote, more)                                              \
	"{ name = \"" name "\"; direction = \"" direction "\"; spi = \"" spi                       \
	"\"; local = \"" local "\"; remote = \"" remote                                            \
	"\"; cipher = \"aes-128-gcm\"; cipher_key = "                                              \
	"\"000102030405060708090a0b0c0d0e0f0000" spi "\"; " more " }"
#define PAIR(name, out, in, local, remote, more)                                                   \
	SA(name, "out", out, local, remote, more)                                                  \
	", " SA(name "-in", "in", in, local, remote, more)
#define PROTECT(name, ends, sa)                                                                    \
	"{ name = \"" name "\"; " ends " action = \"protect\"; out = \"" sa "\"; in = \"" sa       \
	"-in\"; }"
#define ANNOUNCE "announce = { metric = 100; };"
// Networks of IKE are announced where these are.
#define ANNOUNCE_IKE                                                                               \
	"announce = { metric = 100; networks = [ \"10.0.0.0/8\", \"192.0.2.0/24\", "               \
	"\"198.51.100.0/24\", \"::/0\" ]; };"
#define MAIN  "{ name = \"main\"; addresses = [ \"192.0.2.1\", \"2001:db8:f::1\" ]; }"
#define OTHER "{ name = \"other\"; role = \"standby\"; addresses = [ \"192.0.2.9\" ]; }"

static const char form[] =
	"flows = { max = 1024; }; ports = (\n"
	"  { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; },\n"
	"  { name = \"wan\"; members = [ \"net_tap1\", \"net_tap2\" ];\n"
	"    addresses = [ \"192.0.2.1/24\", \"192.0.2.9/24\", \"192.0.2.10/24\",\n"
	"                  \"2001:db8:f::1/64\" ]; } );\n"
	"routes = (\n"
	"  { to = \"0.0.0.0/0\"; via = \"192.0.2.254\"; },\n"
	"  { to = \"::/0\"; tunnel = \"t\"; },\n"
	"  { to = \"10.5.0.0/24\"; tunnel = \"t\"; },\n"
	"  { to = \"10.6.0.0/24\"; hops = ( { tunnel = \"t\"; }, { tunnel = \"u\"; } ); },\n"
	"  { to = \"10.7.0.0/24\"; tunnel = \"u\"; },\n"
	"  { to = \"10.8.0.0/24\"; tunnel = \"t\"; source = \"10.1.0.1\"; },\n"
	"  { to = \"10.9.0.0/24\"; tunnel = \"ike\"; },\n"
	"  { to = \"10.10.0.0/24\"; type = \"blackhole\"; } );\n"
	"sas = (" PAIR("a", "1001", "1002", "192.0.2.1", "192.0.2.2", "") ", " PAIR(
		"b", "1003", "1004", "192.0.2.9", "192.0.2.3", "") ", " PAIR("own", "1005", "1006",
		"192.0.2.10", "192.0.2.4", "") ", " PAIR("host", "1007", "1008", "192.0.2.1",
		"192.0.2.5", "mode = \"transport\";") ", " PAIR("t", "1009", "1010", "192.0.2.1",
		"192.0.2.6", "") ", " PAIR("u", "1011", "1012", "192.0.2.9", "192.0.2.7",
		"") " );\n"
		    "tunnels = ( { name = \"t\"; out = \"t\"; in = \"t-in\"; },\n"
		    "  { name = \"u\"; out = \"u\"; in = \"u-in\"; }, { name = \"ike\"; if_id = 7; "
		    "} );\n"
		    "policies = (\n" PROTECT("port",
			    "local = \"10.1.0.0/24\"; remote = \"10.2.0.0/24\"; proto = 47;",
			    "a") ",\n" PROTECT("a",
			    "local = \"10.1.0.0/24\"; remote = [ \"10.2.0.0/24\", \"10.3.0.0/24\" "
			    "];",
			    "a") ",\n" PROTECT("six",
			    "local = \"2001:db8:1::/64\"; remote = \"2001:db8:2::/64\";",
			    "a") ",\n" PROTECT("peer",
			    "local = \"192.0.2.1\"; remote = \"192.0.2.2\"; proto = 17;",
			    "a") ",\n" PROTECT("b",
			    "local = \"10.1.1.0/24\"; remote = \"10.2.0.0/24\";",
			    "b") ",\n" PROTECT("all",
			    "local = \"10.1.2.0/24\"; remote = \"0.0.0.0/0\";",
			    "b") ",\n" PROTECT("around",
			    "local = \"10.1.3.0/24\"; remote = [ \"192.0.2.0/24\", \"10.3.0.0/24\" "
			    "];",
			    "a") ",\n" PROTECT("own",
			    "local = \"10.1.0.0/24\"; remote = \"10.4.0.0/24\";",
			    "own") ",\n" PROTECT("host", "proto = 47;",
			    "host") ",\n"
				    "  { name = \"clear\"; local = \"10.1.0.0/24\"; remote = "
				    "\"10.11.0.0/24\"; action = \"bypass\"; } );\n"
				    "%s\n";

#define OF_MAIN   "10.2.0.0/24\n10.3.0.0/24\n10.5.0.0/24\n10.6.0.0/24\n192.0.2.1/32\n"
#define OF_MAIN_6 "2001:db8:2::/64\n2001:db8:f::1/128\n"

static void load(const char *more)
{
	char text[8192];
	struct conf *conf;

	snprintf(text, sizeof(text), form, more);
	conf = harness_conf(text, strlen(text), stderr);
	assert_non_null(conf);
	desk_replace(conf);
}

// Of both families, in any order.
static void expect_announced(const char *v4, const char *v6)
{
	char one[1024], other[1024];

	snprintf(one, sizeof(one), "%s%s", v4, v6);
	snprintf(other, sizeof(other), "%s%s", v6, v4);
	if (strcmp(desk_announced, one) != 0)
		assert_string_equal(desk_announced, other);
}

static void pass(unsigned int ms)
{
	for (unsigned int passed = 0; passed < ms; passed += 100) {
		desk_wait(100);
		announced_tick(&desk, desk_now);
	}
}

static int end(void **state)
{
	announced_stop(&desk);
	return ike_desk_end(state);
}

#define announced_test(f) cmocka_unit_test_setup_teardown(f, desk_begin, end)

static uint64_t count_of(unsigned int group)
{
	struct groups_view v;

	assert_true(collect_groups(&v, &desk, group));
	return v.announced;
}

static void test_not_without_the_setting(void **state)
{
	(void)state;
	load("groups = ( " MAIN ", " OTHER " );");
	pass(2000);
	assert_true(role_set(&desk, "main", CONF_STANDBY, desk_now));
	assert_true(role_set(&desk, "main", CONF_ACTIVE, desk_now));
	pass(2000);
	assert_int_equal(desk_announcements, 0);
}

// Neither default routes, nor peers, nor networks of SAs that no group has.
static void test_networks(void **state)
{
	(void)state;
	load(ANNOUNCE "groups = ( " MAIN ", " OTHER " );");
	pass(1100);
	expect_announced(OF_MAIN, OF_MAIN_6);
	assert_int_equal(count_of(0), 7);
	assert_int_equal(count_of(1), 0);
}

static void test_shared_network_while_one_is_active(void **state)
{
	(void)state;
	load(ANNOUNCE "groups = ( " MAIN ", " OTHER " );");
	assert_true(role_set(&desk, "other", CONF_ACTIVE, desk_now));
	pass(1100);
	expect_announced("10.2.0.0/24\n10.3.0.0/24\n10.5.0.0/24\n10.6.0.0/24\n10.7.0.0/24\n"
			 "192.0.2.1/32\n192.0.2.9/32\n",
		OF_MAIN_6);
	assert_int_equal(count_of(0), 7);
	assert_int_equal(count_of(1), 4);
	assert_true(role_set(&desk, "main", CONF_STANDBY, desk_now));
	expect_announced("10.2.0.0/24\n10.6.0.0/24\n10.7.0.0/24\n192.0.2.9/32\n", "");
	assert_true(role_set(&desk, "other", CONF_STANDBY, desk_now));
	assert_string_equal(desk_announced, "");
}

static enum drop stopped;

static void note_stop(void)
{
	stopped = sa_stop_reason(&desk_sa_out("a")->sa);
}

// Routes leave before packets do, and come after they can.
static void test_order(void **state)
{
	(void)state;
	load(ANNOUNCE "groups = ( " MAIN ", " OTHER " );");
	pass(1100);
	desk_at_announcement = note_stop;
	stopped = DROP_STANDBY;
	assert_true(role_set(&desk, "main", CONF_STANDBY, desk_now));
	assert_string_equal(desk_announced, "");
	assert_int_equal(stopped, DROP_NONE);
	assert_true(role_set(&desk, "main", CONF_ACTIVE, desk_now));
	stopped = DROP_STANDBY;
	pass(100);
	expect_announced(OF_MAIN, OF_MAIN_6);
	assert_int_equal(stopped, DROP_NONE);
	roles_give_up(&desk, desk_now);
	assert_string_equal(desk_announced, "");
}

// A group that is about to leave is not announced any more, one that is about to come is already.
static void test_between_roles(void **state)
{
	(void)state;
	load(ANNOUNCE "groups = ( " MAIN ", " OTHER " );");
	pass(1100);
	desk.groups.item[0].leaving = true;
	announced_change(&desk);
	assert_string_equal(desk_announced, "");
	assert_true(role_set(&desk, "main", CONF_ACTIVE, desk_now)); // it stays
	pass(100);
	expect_announced(OF_MAIN, OF_MAIN_6);
	assert_true(role_set(&desk, "main", CONF_STANDBY, desk_now));
	assert_true(role_expect(&desk, "main", desk_now + 5000));
	pass(100);
	expect_announced(OF_MAIN, OF_MAIN_6);
	assert_true(role_set(&desk, "main", CONF_STANDBY, desk_now));
	pass(100);
	assert_string_equal(desk_announced, "");
}

// An SA with a setting that policies or a tunnel find it by.
static void ask_sa_to(const char *name, const char *direction, unsigned int spi,
	const char *found_by, const char *remote)
{
	ask_add("sa add { name = \"ike.%s.%s\"; direction = \"%s\"; spi = \"0x%x\"; %s; "
		"cipher = \"aes-128-gcm\"; "
		"cipher_key = \"%08x101112131415161718191a1b1c1d1e1f\"; "
		"local = \"192.0.2.1\"; remote = \"%s\"; }\n",
		name, direction, direction, spi, found_by, spi, remote);
}

// An SA of the tunnel that routes lead into.
static void ask_routed(const char *direction, unsigned int spi)
{
	ask_sa_to("t", direction, spi, "if_id = 7", "192.0.2.2");
}

// A policy of IKE between networks of the same family, by the SAs with reqid 1.
static void ask_choice(const char *name, const char *remote)
{
	ask_add("policy add { name = \"ike.%s\"; local = \"%s\"; remote = \"%s\"; "
		"action = \"protect\"; reqid = 1; }\n",
		name, strchr(remote, ':') != NULL ? "2001:db8:1::/64" : "10.1.0.0/24", remote);
}

// An SA to a peer that is in no network of a port.
static void ask_away(const char *direction, unsigned int spi)
{
	ask_sa_to("away", direction, spi, "reqid = 1", "198.51.100.2");
}

// Those of IKE come and go with the SAs: of a policy, and of a tunnel that routes lead into.
static void test_ike(void **state)
{
	(void)state;
	load(ANNOUNCE_IKE "groups = ( " MAIN ", " OTHER " );");
	ask_policy("p", "10.20.0.0/24", 1, "");
	ask_policy("trap", "10.21.0.0/16", 1, "trap = true;");
	ask_done();
	pass(1100);
	expect_announced(OF_MAIN, OF_MAIN_6);
	ask_pair("p", 0x20000, 1);
	ask_routed("in", 0x20010);
	ask_routed("out", 0x20011);
	ask_done();
	pass(1000);
	expect_announced("10.2.0.0/24\n10.3.0.0/24\n10.5.0.0/24\n10.6.0.0/24\n10.9.0.0/24\n"
			 "10.20.0.0/24\n192.0.2.1/32\n",
		OF_MAIN_6);
	ask_now("flush");
	pass(1000);
	expect_announced(OF_MAIN, OF_MAIN_6);
}

// Peers choose networks of policies of IKE, but not those of routes into tunnels.
static void test_ike_needs_networks(void **state)
{
	(void)state;
	load(ANNOUNCE "groups = ( " MAIN ", " OTHER " );");
	ask_policy("p", "10.20.0.0/24", 1, "");
	ask_pair("p", 0x20000, 1);
	ask_routed("in", 0x20010);
	ask_routed("out", 0x20011);
	ask_done();
	pass(1100);
	expect_announced("10.2.0.0/24\n10.3.0.0/24\n10.5.0.0/24\n10.6.0.0/24\n10.9.0.0/24\n"
			 "192.0.2.1/32\n",
		OF_MAIN_6);
}

// Nor networks that this machine needs, whatever the setting has.
static void test_ike_within_networks(void **state)
{
	static const char *const refused[] = {"172.16.0.0/24", "10.1.0.77", "10.0.0.0/8",
		"10.0.0.0/15", "192.0.2.0/24", "192.0.2.254", "198.51.100.7", "198.51.100.8",
		"198.51.100.8/30", "10.99.0.2", "2001:db8:f::77", "fe80::7", "0.0.0.0/1"};
	struct conf_tunnel *tunnel;
	char name[32], host[] = "tun0";

	(void)state;
	load(ANNOUNCE_IKE "flow_export = { collector = \"198.51.100.7\"; };"
			  "groups = ( " MAIN ", " OTHER " );");
	desk.conf->pair_peer = addr_of("198.51.100.8");
	tunnel = &desk.conf->tunnels[0];
	tunnel->host = host;
	tunnel->n_addrs = 1;
	assert_int_equal(
		ip_interface_parse(&tunnel->addrs[0].addr, &tunnel->addrs[0].net, "10.99.0.1/30"),
		0);
	for (unsigned int i = 0; i < COUNT_OF(refused); i++) {
		snprintf(name, sizeof(name), "no%u", i);
		ask_choice(name, refused[i]);
	}
	ask_choice("yes", "10.20.0.0/24");
	ask_choice("one", "198.51.100.6");
	ask_choice("six", "2001:db8:20::/48");
	ask_pair("p", 0x20000, 1);
	ask_done();
	pass(1100);
	tunnel->host = NULL;
	expect_announced("10.2.0.0/24\n10.3.0.0/24\n10.5.0.0/24\n10.6.0.0/24\n10.20.0.0/24\n"
			 "192.0.2.1/32\n198.51.100.6/32\n",
		OF_MAIN_6 "2001:db8:20::/48\n");
}

static void test_servers_of_the_fleet(void **state)
{
	char v4[] = "https://198.51.100.8:2379", v6[] = "http://[2001:db8:20::8]:2379";

	(void)state;
	load(ANNOUNCE_IKE "groups = ( " MAIN ", " OTHER " );");
	ask_choice("four", "198.51.100.8");
	ask_choice("six", "2001:db8:20::/48");
	ask_pair("p", 0x20000, 1);
	ask_done();
	desk.conf->fleet_endpoints[0] = v4;
	desk.conf->fleet_endpoints[1] = v6;
	desk.conf->n_fleet_endpoints = 2;
	announced_change(&desk);
	desk.conf->n_fleet_endpoints = 0;
	expect_announced(OF_MAIN, OF_MAIN_6);
}

// A network with the peer in it, where that is now: IKE of this machine has to reach it.
static void test_peer_within_its_network(void **state)
{
	(void)state;
	load(ANNOUNCE_IKE "groups = ( " MAIN ", " OTHER " );");
	ask_policy("p", "198.51.100.0/25", 1, "");
	ask_policy("q", "198.51.100.128/25", 1, "");
	ask_away("in", 0x20000);
	ask_away("out", 0x20001);
	ask_done();
	pass(1100);
	expect_announced("10.2.0.0/24\n10.3.0.0/24\n10.5.0.0/24\n10.6.0.0/24\n192.0.2.1/32\n"
			 "198.51.100.128/25\n",
		OF_MAIN_6);
	desk_sa_out("a")->peer.addr = addr_of("10.3.0.7");
	pass(1000);
	expect_announced("10.2.0.0/24\n10.5.0.0/24\n10.6.0.0/24\n192.0.2.0/24\n192.0.2.1/32\n"
			 "192.0.2.2/32\n198.51.100.128/25\n",
		OF_MAIN_6);
}

// The kernel gets them when they change, and every ten seconds: somebody may have removed routes.
static void test_given_again(void **state)
{
	(void)state;
	load(ANNOUNCE "groups = ( " MAIN ", " OTHER " );");
	pass(2000);
	assert_int_equal(desk_announcements, 1);
	pass(9000);
	assert_int_equal(desk_announcements, 2);
	load(ANNOUNCE "groups = ( { name = \"main\"; addresses = [ \"192.0.2.1\" ]; }, " OTHER
		      " );");
	pass(1000);
	expect_announced(OF_MAIN, "2001:db8:2::/64\n");
	assert_int_equal(desk_announcements, 3);
	announced_stop(&desk);
	assert_string_equal(desk_announced, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		announced_test(test_not_without_the_setting),
		announced_test(test_networks),
		announced_test(test_shared_network_while_one_is_active),
		announced_test(test_order),
		announced_test(test_between_roles),
		announced_test(test_ike),
		announced_test(test_ike_needs_networks),
		announced_test(test_ike_within_networks),
		announced_test(test_servers_of_the_fleet),
		announced_test(test_peer_within_its_network),
		announced_test(test_given_again),
	};

	return cmocka_run_group_tests_name("announced", tests, harness_start, harness_stop);
}
