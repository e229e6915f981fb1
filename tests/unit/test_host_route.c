// SPDX-License-Identifier: BSD-3-Clause
// The kernel's routes by the hosts behind ports. Proves which there are, and that programs send
// from an address that the policy of a tunnel covers, and into nothing else.
#include "host_route.h"

#include "conf_dir.h"
#include "test.h"

#define PORTS                                                                                      \
	"ports = ("                                                                                \
	"  { name = \"dmz\"; device = \"net_null0\"; addresses = [ \"10.7.0.1/24\" ]; },"          \
	"  { name = \"lan\"; device = \"net_null1\"; host = \"lan0\";"                             \
	"    addresses = [ \"10.1.0.1/24\", \"2001:db8:1::1/64\" ]; },"                            \
	"  { name = \"wan\"; device = \"net_null2\"; host = \"wan0\";"                             \
	"    addresses = [ \"fe80::7/64\", \"192.0.2.1/24\", \"2001:db8:f::1/64\" ]; } );"
#define SA(name, direction, spi, digit)                                                            \
	"  { name = \"" name "\"; direction = \"" direction "\"; spi = \"" spi "\"; "              \
	"    local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"null\"; "                   \
	"    auth = \"hmac-sha1-96\"; "                                                            \
	"    auth_key = \"00112233445566778899aabbccddeeff0011223" digit "\"; }"
#define SAS "sas = (" SA("to", "out", "0x1001", "3") "," SA("from", "in", "0x1002", "4") ");"
#define TUNNEL(name, ends)                                                                         \
	"  { name = \"" name "\"; " ends " action = \"protect\"; out = \"to\"; in = \"from\"; }"

static char found[2048];

static void note(void *arg, const struct host_route *r)
{
	char to[IP_PREFIX_STRLEN], via[IP_ADDR_STRLEN], source[IP_ADDR_STRLEN];
	size_t len = strlen(found);

	(void)arg;
	snprintf(found + len, sizeof(found) - len, "%s%s%s dev %s%s%s\n",
		ip_prefix_format(to, &r->to), ip_addr_is_none(&r->via) ? "" : " via ",
		ip_addr_is_none(&r->via) ? "" : ip_addr_format(via, &r->via), r->dev,
		ip_addr_is_none(&r->source) ? "" : " src ",
		ip_addr_is_none(&r->source) ? "" : ip_addr_format(source, &r->source));
}

// The routes of a configuration with these settings.
static void expect_routes(const char *settings, const char *expected)
{
	char text[4096];
	struct conf *conf;

	snprintf(text, sizeof(text), "%s%s%s", PORTS, SAS, settings);
	conf_dir_write("host.conf", text, strlen(text));
	conf = conf_dir_load_good("host.conf");
	found[0] = '\0';
	host_routes_each(conf, note, conf);
	assert_string_equal(found, expected);
	conf_free(conf);
	conf_dir_unlink("host.conf");
}

static void test_without_tunnels(void **state)
{
	(void)state;
	expect_routes("routes = ( { to = \"10.8.0.0/16\"; via = \"10.7.0.9\"; },"
		      "  { to = \"0.0.0.0/0\"; via = \"192.0.2.254\"; },"
		      "  { to = \"2001:db8:9::/48\"; via = \"fe80::9\"; port = \"wan\"; },"
		      "  { to = \"10.9.0.0/16\"; via = \"fe80::9\"; port = \"wan\"; },"
		      "  { to = \"10.3.0.5/32\"; port = \"lan\"; },"
		      "  { to = \"10.4.0.0/16\"; type = \"blackhole\"; } );",
		"0.0.0.0/0 via 192.0.2.254 dev wan0\n"
		"2001:db8:9::/48 via fe80::9 dev wan0\n"
		"10.9.0.0/16 via fe80::9 dev wan0\n"
		"10.3.0.5/32 dev lan0\n");
}

// A route into a tunnel, whose policy may be about more.
static void test_covered(void **state)
{
	(void)state;
	expect_routes("routes = ( { to = \"10.2.0.0/24\"; via = \"192.0.2.2\"; },"
		      "  { to = \"10.3.7.0/24\"; via = \"192.0.2.2\"; },"
		      "  { to = \"2001:db8:2::/64\"; via = \"2001:db8:f::2\"; } );"
		      "policies = (" TUNNEL("no-address",
			      "local = \"10.9.0.0/24\"; remote = \"10.2.0.0/24\"; ") "," TUNNEL("a",
			      "local = \"10.1.0.0/24\"; remote = \"10.2.0.0/24\"; ") "," TUNNEL("b",
			      "local = \"10.1.0.0/24\"; remote = \"10.3.0.0/16\"; ") "," TUNNEL("c",
			      "local = \"::/0\"; remote = \"2001:db8:2::/64\"; ") ");",
		"10.2.0.0/24 via 192.0.2.2 dev wan0 src 10.1.0.1\n"
		"10.3.7.0/24 via 192.0.2.2 dev wan0 src 10.1.0.1\n"
		"2001:db8:2::/64 via 2001:db8:f::2 dev wan0 src 2001:db8:f::1\n");
}

// A default route is not into the tunnel, which has a route of its own, but for destinations on a
// link.
static void test_part(void **state)
{
	(void)state;
	expect_routes(
		"routes = ( { to = \"0.0.0.0/0\"; via = \"192.0.2.254\"; },"
		"  { to = \"10.2.0.0/16\"; via = \"192.0.2.2\"; } );"
		"policies = (" TUNNEL("a",
			"local = \"10.1.0.0/24\"; remote = \"10.2.5.0/24\"; ") "," TUNNEL("again",
			"local = \"192.0.2.1\"; remote = \"10.2.5.0/24\"; proto = 47; ") "," TUNNEL("b",
			"local = \"10.1.0.0/24\"; remote = \"203.0.113.0/24\"; ") "," TUNNEL("link",
			"local = \"192.0.2.1\"; remote = \"192.0.2.2\"; ") "," TUNNEL("no-host",
			"local = \"10.7.0.0/24\"; remote = \"198.51.100.0/24\"; ") "," TUNNEL("six",
			"local = \"2001:db8:1::/64\"; remote = \"2001:db8:2::/64\"; ") ");",
		"0.0.0.0/0 via 192.0.2.254 dev wan0\n"
		"10.2.0.0/16 via 192.0.2.2 dev wan0\n"
		"10.2.5.0/24 via 192.0.2.2 dev wan0 src 10.1.0.1\n"
		"203.0.113.0/24 via 192.0.2.254 dev wan0 src 10.1.0.1\n");
}

// Of one family alone; a policy for both has every address.
static void test_family(void **state)
{
	(void)state;
	expect_routes("routes = ( { to = \"0.0.0.0/0\"; via = \"192.0.2.254\"; },"
		      "  { to = \"::/0\"; via = \"2001:db8:f::9\"; } );"
		      "policies = (" TUNNEL("six", "local = \"2001:db8:1::/64\"; ") ");",
		"0.0.0.0/0 via 192.0.2.254 dev wan0\n"
		"::/0 via 2001:db8:f::9 dev wan0 src 2001:db8:1::1\n");
	expect_routes("routes = ( { to = \"0.0.0.0/0\"; via = \"192.0.2.254\"; } );"
		      "policies = (" TUNNEL("all", "proto = 47; ") "," TUNNEL(
			      "four", "local = \"10.1.0.0/24\"; ") ");",
		"0.0.0.0/0 via 192.0.2.254 dev wan0 src 10.1.0.1\n");
}

// By the tunnel's own interface if it has an address of the family; else from a protected port,
// since the peer may not know the addresses of others.
static void test_into_tunnels(void **state)
{
	(void)state;
	expect_routes("routes = ( { to = \"10.2.0.0/16\"; tunnel = \"t\"; },"
		      "  { to = \"2001:db8:2::/48\"; tunnel = \"t\"; } );"
		      "tunnels = ( { name = \"t\"; out = \"to\"; in = \"from\"; host = \"tun0\";"
		      "  addresses = [ \"169.254.10.1/30\", \"fe80::9/64\" ]; } );",
		"10.2.0.0/16 dev tun0\n"
		"2001:db8:2::/48 dev lan0 src 2001:db8:1::1\n");
	expect_routes("routes = ( { to = \"10.2.0.0/16\"; tunnel = \"t\"; } );"
		      "tunnels = ( { name = \"t\"; out = \"to\"; in = \"from\"; } );",
		"10.2.0.0/16 dev lan0 src 10.1.0.1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_tunnels),
		cmocka_unit_test(test_covered),
		cmocka_unit_test(test_part),
		cmocka_unit_test(test_family),
		cmocka_unit_test(test_into_tunnels),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
