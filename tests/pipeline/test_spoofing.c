// SPDX-License-Identifier: BSD-3-Clause
// A peer that uses source addresses of hosts behind the gateway (RFC 4301 5.2). Proves that its
// packets are dropped where they would be routed back to a protected port, unless the policy is
// more specific.
//
// LAN has 10.1.0.0/24 and 2001:db8:1::/64, and the router .254 to 10.2.0.0/16 and 2001:db8:2::/48.
#include <netinet/in.h>

#include "packet_v6.h"
#include "peer.h"
#include "site.h"

// %1$s: remote of the policy. %2$s: more routes. %3$s: more settings.
static const char form[] =
	"flows = { max = 4096; };\n"
	"ports = ( { name = \"lan\"; device = \"net_null0\";\n"
	"            addresses = [ \"10.1.0.1/24\", \"2001:db8:1::1/64\" ]; },\n"
	"  { name = \"wan\"; device = \"net_null1\";\n"
	"    addresses = [ \"192.0.2.1/24\", \"2001:db8:f::1/64\" ]; } );\n"
	"routes = ( { to = \"10.2.0.0/16\"; via = \"10.1.0.254\"; },\n"
	"  { to = \"2001:db8:2::/48\"; via = \"2001:db8:1::fe\"; },\n"
	"  { to = \"10.0.0.0/8\"; via = \"192.0.2.2\"; }%2$s );\n"
	"neighbours = ( { address = \"10.1.0.5\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"2001:db8:1::5\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"192.0.2.2\"; mac = \"02:00:00:00:02:01\"; } );\n"
	"sas = ( { name = \"to-b\"; direction = \"out\"; spi = \"0x1001\"; local = \"192.0.2.1\";\n"
	"    remote = \"192.0.2.2\"; cipher = \"null\"; auth = \"hmac-sha1-96\";\n"
	"    auth_key = \"000102030405060708090a0b0c0d0e0f10111213\"; },\n"
	"  { name = \"from-b\"; direction = \"in\"; spi = \"0x1002\"; local = \"192.0.2.1\";\n"
	"    remote = \"192.0.2.2\"; cipher = \"null\"; auth = \"hmac-sha1-96\";\n"
	"    auth_key = \"100102030405060708090a0b0c0d0e0f10111213\"; } );\n"
	"policies = ( { name = \"b\"; %1$s action = \"protect\"; out = \"to-b\"; in = \"from-b\"; "
	"} );\n%3$s";

// Packets of no test are translated, but all take the path of a gateway that translates.
#define NAT                                                                                        \
	"nat = ( { name = \"out\"; action = \"source\"; out = \"wan\"; to = \"port\"; "            \
	"destination = \"203.0.113.0/24\"; } );\n"

#define NO_REMOTE     ""
#define REMOTE(to)    "remote = \"" to "\";"
#define ROUTE(to, by) ", { to = \"" to "\"; via = \"" by "\"; }"

struct tunnel {
	struct gateway *g;
	struct peer b;
	uint32_t seq;
};

static struct tunnel tunnel_new(const char *remote, const char *routes, const char *more)
{
	char text[4096];
	struct tunnel t = {0};

	snprintf(text, sizeof(text), form, remote, routes, more);
	t.g = gateway_new(0, text);
	t.b = peer_new(t.g, "from-b");
	return t;
}

static void tunnel_free(struct tunnel *t)
{
	peer_free(&t->b);
	gateway_free(t->g);
}

// A packet out of the tunnel to the host on LAN of the source's family.
static struct frame from_peer(struct tunnel *t, const char *src)
{
	uint8_t packet[FRAME_MAX];
	uint16_t len;

	if (strchr(src, ':') == NULL)
		len = ip_write(packet, (struct ipv4)FROM_TO(src, "10.1.0.5"));
	else
		len = ip6_write(packet, (struct ipv6)FROM_TO(src, "2001:db8:1::5"));
	return peer_seal_packet(&t->b, ++t->seq, packet, len);
}

static void expect(struct tunnel *t, const char *src, bool forged)
{
	struct frame f = from_peer(t, src);

	print_message("  from %s\n", src);
	if (forged)
		gateway_expect_drop(t->g, &f, DROP_IP_SOURCE);
	else
		gateway_expect_sent(t->g, &f, LAN);
}

struct row {
	const char *name, *remote, *routes;
	const char *forged[5], *honest[4]; // sources; none: the end
};

static void check_with(const struct row rows[], size_t n, const char *more)
{
	for (size_t i = 0; i < n; i++) {
		struct tunnel t = tunnel_new(rows[i].remote, rows[i].routes, more);

		print_message("%s%s\n", rows[i].name, more[0] != '\0' ? ", NAT" : "");
		for (unsigned int k = 0; rows[i].forged[k] != NULL; k++)
			expect(&t, rows[i].forged[k], true);
		for (unsigned int k = 0; rows[i].honest[k] != NULL; k++)
			expect(&t, rows[i].honest[k], false);
		tunnel_free(&t);
	}
}

static void check(const struct row rows[], size_t n)
{
	check_with(rows, n, "");
	check_with(rows, n, NAT);
}

static void test_v4(void **state)
{
	static const struct row rows[] = {
		{"no remote", NO_REMOTE, "", {"10.1.0.6", "10.1.0.1", "10.1.0.255", "10.2.0.5"},
			{"10.3.0.5", "198.51.100.5", "192.0.2.77"}},
		{"all of IPv4", REMOTE("0.0.0.0/0"), "",
			{"10.1.0.6", "10.1.0.1", "10.2.0.5", "192.0.2.1"},
			{"10.3.0.5", "198.51.100.5"}},
		{"a network around the LAN's", REMOTE("10.0.0.0/8"), "",
			{"10.1.0.6", "10.1.0.1", "10.2.0.5"}, {"10.3.0.5"}},
		{"that of the route", REMOTE("10.2.0.0/16"), "", {"10.2.0.5"}, {NULL}},
		{"more specific than the route", REMOTE("10.2.3.0/24"), "", {NULL}, {"10.2.3.5"}},
		{"part of the LAN", REMOTE("10.1.0.128/25"), "", {NULL}, {"10.1.0.200"}},
		{"default route to the LAN", NO_REMOTE, ROUTE("0.0.0.0/0", "10.1.0.254"),
			{"198.51.100.5"}, {"10.3.0.5"}},
		{"more specific than the default route", REMOTE("128.0.0.0/1"),
			ROUTE("0.0.0.0/0", "10.1.0.254"), {NULL}, {"198.51.100.5"}},
	};

	(void)state;
	check(rows, COUNT_OF(rows));
}

static void test_v6(void **state)
{
	static const struct row rows[] = {
		{"no remote", NO_REMOTE, "",
			{"2001:db8:1::6", "2001:db8:1::1", "2001:db8:2::5", "2001:db8:f::1"},
			{"2001:db8:3::5", "2001:db8:f::7"}},
		{"all of IPv6", REMOTE("::/0"), "",
			{"2001:db8:1::6", "2001:db8:1::1", "2001:db8:2::5"}, {"2001:db8:3::5"}},
		{"a network around the LAN's", REMOTE("2001:db8::/32"), "",
			{"2001:db8:1::6", "2001:db8:2::5"}, {"2001:db8:3::5"}},
		{"that of the route", REMOTE("2001:db8:2::/48"), "", {"2001:db8:2::5"}, {NULL}},
		{"more specific than the route", REMOTE("2001:db8:2:3::/64"), "", {NULL},
			{"2001:db8:2:3::5"}},
		{"part of the LAN", REMOTE("2001:db8:1::8000:0:0:0/65"), "", {NULL},
			{"2001:db8:1:0:8000::5"}},
		{"default route to the LAN", NO_REMOTE, ROUTE("::/0", "2001:db8:1::fe"),
			{"2001:db8:3::5"}, {NULL}},
	};

	(void)state;
	check(rows, COUNT_OF(rows));
}

// Each packet of a burst is judged by its own source, also after one that has left the burst.
static void test_burst(void **state)
{
	static const char *const sources[][3] = {
		{"10.1.0.1", "10.1.0.6", "10.3.0.5"}, {"10.1.0.1", "10.3.0.5", "10.1.0.6"}};

	(void)state;
	for (unsigned int i = 0; i < 2 * COUNT_OF(sources); i++) {
		struct tunnel t = tunnel_new(NO_REMOTE, "", i < COUNT_OF(sources) ? "" : NAT);
		struct frame f[3];

		for (unsigned int k = 0; k < COUNT_OF(f); k++)
			f[k] = from_peer(&t, sources[i % COUNT_OF(sources)][k]);
		gateway_pass(t.g, f, COUNT_OF(f));
		expect_drops(t.g, DROP_IP_SOURCE, 2);
		expect_all_sent(t.g, 1, LAN);
		assert_int_equal(be32(frame_packet(&t.g->sent[0]) + 12), ip_number("10.3.0.5"));
		tunnel_free(&t);
	}
}

// The cached decision of a host's own connection does not apply to packets out of the tunnel.
static void test_cached_decision_is_not_for_tunnel(void **state)
{
	struct tunnel t = tunnel_new(NO_REMOTE, "", "");
	struct frame open = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.6", "10.3.0.5"));
	uint8_t forged[FRAME_MAX], reply[FRAME_MAX];
	uint16_t len = ip_write(forged, (struct ipv4)FROM_TO("10.1.0.6", "10.3.0.5"));
	uint16_t reply_len = ip_write(reply, (struct ipv4)FROM_TO("10.3.0.5", "10.1.0.6"));
	struct frame f;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		gateway_expect_sent(t.g, &open, WAN);
		f = peer_seal_packet(&t.b, ++t.seq, forged, len);
		gateway_expect_drop(t.g, &f, DROP_IP_SOURCE);
		f = peer_seal_packet(&t.b, ++t.seq, reply, reply_len);
		gateway_pass(t.g, &f, 1); // held: the host's address is unresolved
		expect_drops(t.g, DROP_NONE, 0);
	}
	tunnel_free(&t);
}

// An error about traffic of the tunnel may have any router behind the peer as its source, not a
// local host.
static void test_error(void **state)
{
	struct tunnel t = tunnel_new(REMOTE("10.3.0.0/24"), "", "");
	struct frame open = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.3.0.5"));
	static const char *const from[] = {"10.1.0.6", "172.16.0.9"};

	(void)state;
	gateway_expect_sent(t.g, &open, WAN);
	for (unsigned int i = 0; i < COUNT_OF(from); i++) {
		uint8_t error[FRAME_MAX];
		uint16_t len = error_write(error, from[i], "10.1.0.5", 3, 1, frame_packet(&open));
		struct frame f = peer_seal_packet(&t.b, ++t.seq, error, len);

		if (i == 0)
			gateway_expect_drop(t.g, &f, DROP_IP_SOURCE);
		else
			gateway_expect_sent(t.g, &f, LAN);
	}
	tunnel_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_v4),
		pipeline_test(test_v6),
		pipeline_test(test_burst),
		pipeline_test(test_cached_decision_is_not_for_tunnel),
		pipeline_test(test_error),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
