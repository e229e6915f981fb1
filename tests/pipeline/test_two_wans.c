// SPDX-License-Identifier: BSD-3-Clause
// Two network providers: packets of the gateway and its host from an address of either leave by
// that provider, by a route with a source.
#include <netinet/in.h>

#include "site.h"

enum { WAN2 = DMZ };

#define PEER "203.0.113.9"

static const char conf[] =
	"flows = { max = 1024; };\n"
	"ports = (\n"
	"  { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; },\n"
	"  { name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; host = "
	"\"gw0\";\n"
	"    side = \"unprotected\"; },\n"
	"  { name = \"wan2\"; device = \"net_null2\"; addresses = [ \"198.51.100.1/24\" ]; } );\n"
	"routes = (\n"
	"  { to = \"0.0.0.0/0\"; via = \"192.0.2.254\"; },\n"
	"  { to = \"0.0.0.0/0\"; via = \"198.51.100.254\"; source = \"198.51.100.1\"; } );\n"
	"neighbours = (\n"
	"  { address = \"10.1.0.5\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"192.0.2.254\"; mac = \"02:00:00:00:02:01\"; },\n"
	"  { address = \"198.51.100.254\"; mac = \"02:00:00:00:02:02\"; } );\n"
	"sas = (\n"
	"  { name = \"out\"; direction = \"out\"; spi = \"0x1001\"; local = \"198.51.100.1\";\n"
	"    remote = \"" PEER "\"; cipher = \"null\"; auth = \"hmac-sha1-96\";\n"
	"    auth_key = \"00112233445566778899aabbccddeeff00112233\"; },\n"
	"  { name = \"in\"; direction = \"in\"; spi = \"0x1002\"; local = \"198.51.100.1\";\n"
	"    remote = \"" PEER "\"; cipher = \"null\"; auth = \"hmac-sha1-96\";\n"
	"    auth_key = \"00112233445566778899aabbccddeeff00112234\"; } );\n"
	"policies = (\n"
	"  { name = \"b\"; local = \"10.1.0.0/24\"; remote = \"10.2.0.0/24\"; action = "
	"\"protect\";\n"
	"    out = \"out\"; in = \"in\"; },\n"
	"  { name = \"rest\"; action = \"bypass\"; } );\n";

static void expect_sent_from(
	struct gateway *g, const struct frame *f, uint16_t port, const char *source)
{
	gateway_expect_sent(g, f, port);
	assert_memory_equal(g->sent[0].b, mac_of_neighbour(port), 6);
	assert_int_equal(be32(frame_packet(&g->sent[0]) + 12), ip_number(source));
}

static void test_esp(void **state)
{
	struct gateway *g = gateway_new(0, conf);
	struct frame inside = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5"));
	struct frame clear = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", PEER));

	(void)state;
	expect_sent_from(g, &inside, WAN2, "198.51.100.1");
	expect_sent_from(g, &clear, WAN, "10.1.0.5"); // forwarded packets take the other
	gateway_reload(g, g->conf);
	expect_sent_from(g, &inside, WAN2, "198.51.100.1");
	gateway_free(g);
}

// The station that sent the frame is another one, so that the route decides.
static void test_route_decides_reply(void **state)
{
	struct gateway *g = gateway_new(0, conf);
	struct ipv4 ping = FROM_TO(PEER, "198.51.100.1", .proto = IPPROTO_ICMP, .icmp_type = 8);
	struct frame f = frame_ip(WAN, ping);

	(void)state;
	expect_sent_from(g, &f, WAN2, "198.51.100.1");
	ping.dst = "192.0.2.1";
	f = frame_ip(WAN2, ping);
	expect_sent_from(g, &f, WAN, "192.0.2.1");
	gateway_free(g);
}

// IKE of a program of the host, whose kernel has sent it by the other interface.
static void test_host(void **state)
{
	struct gateway *g = gateway_new(0, conf);
	struct ipv4 ike = FROM_TO("198.51.100.1", PEER, .sport = 500, .dport = 500);
	struct frame f = frame_ip(WAN, ike);

	(void)state;
	gateway_host_add(g, WAN);
	gateway_host_sends(g, &f);
	gateway_pass(g, NULL, 0);
	expect_all_sent(g, 1, WAN2);
	ike.src = "192.0.2.1";
	f = frame_ip(WAN, ike);
	gateway_host_sends(g, &f);
	gateway_pass(g, NULL, 0);
	expect_all_sent(g, 1, WAN);
	gateway_free(g);
}

// Each packet of a burst goes by the route with its own source.
static void test_burst(void **state)
{
	static const char *const from[] = {"192.0.2.1", "198.51.100.1"};
	struct gateway *g = gateway_new(0, conf);

	(void)state;
	gateway_host_add(g, WAN);
	for (unsigned int i = 0; i < COUNT_OF(from); i++) {
		struct frame f = frame_ip(
			WAN, (struct ipv4)FROM_TO(from[i], PEER, .sport = 500, .dport = 500));

		gateway_host_sends(g, &f);
	}
	gateway_pass(g, NULL, 0);
	assert_int_equal(g->n_sent, COUNT_OF(from));
	for (unsigned int i = 0; i < COUNT_OF(from); i++) {
		const struct frame *sent = &g->sent[i];
		bool first = be32(frame_packet(sent) + 12) == ip_number(from[0]);

		assert_int_equal(sent->port, first ? WAN : WAN2);
	}
	gateway_free(g);
}

#define PATHS(via, side)                                                                           \
	"ports = (\n"                                                                              \
	"  { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; },\n"        \
	"  { name = \"wan1\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ];\n"         \
	"    side = \"unprotected\"; },\n"                                                         \
	"  { name = \"wan2\"; device = \"net_null2\"; addresses = [ \"203.0.113.1/24\" ];\n"       \
	"    side = \"" side "\"; } );\n"                                                          \
	"routes = ( { to = \"198.51.100.2/32\"; via = \"" via "\"; },\n"                           \
	"  { to = \"10.2.0.0/24\"; via = \"192.0.2.254\"; } );\n"                                  \
	"neighbours = (\n"                                                                         \
	"  { address = \"192.0.2.254\"; mac = \"02:00:00:00:02:01\"; },\n"                         \
	"  { address = \"203.0.113.254\"; mac = \"02:00:00:00:02:02\"; } );\n"                     \
	"sas = (\n"                                                                                \
	"  { name = \"out\"; direction = \"out\"; spi = \"0x1001\"; local = \"192.0.2.1\";\n"      \
	"    remote = \"198.51.100.2\"; cipher = \"null\"; auth = \"hmac-sha1-96\";\n"             \
	"    auth_key = \"00112233445566778899aabbccddeeff00112233\"; },\n"                        \
	"  { name = \"in\"; direction = \"in\"; spi = \"0x1002\"; local = \"192.0.2.1\";\n"        \
	"    remote = \"198.51.100.2\"; cipher = \"null\"; auth = \"hmac-sha1-96\";\n"             \
	"    auth_key = \"00112233445566778899aabbccddeeff00112234\"; } );\n"                      \
	"policies = ( { name = \"b\"; local = \"10.1.0.0/24\"; remote = \"10.2.0.0/24\";\n"        \
	"  action = \"protect\"; out = \"out\"; in = \"in\"; } );\n"                               \
	"rules = ( { name = \"first\"; action = \"accept\"; out = \"wan1\"; } );\n"                \
	"default_action = \"drop\";\n"

// The route to the peer leads to another port after a reload, which no rule accepts: packets of the
// flow are not sent there, although nothing has changed between its ends.
static void path_moves(const char *before, const char *after)
{
	struct gateway *g = gateway_new(0, before);
	const struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5"));
	struct conf *conf_after = harness_conf(after, strlen(after), stderr);

	gateway_expect_sent(g, &f, WAN);
	gateway_reload(g, conf_after);
	gateway_expect_drop(g, &f, DROP_RULE_DROP);
	conf_free(conf_after);
	gateway_free(g);
}

static void test_rule_names_a_port(void **state)
{
	(void)state;
	path_moves(PATHS("192.0.2.254", "unprotected"), PATHS("203.0.113.254", "unprotected"));
	path_moves(PATHS("192.0.2.254", "protected"), PATHS("203.0.113.254", "protected"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_esp),
		pipeline_test(test_route_decides_reply),
		pipeline_test(test_host),
		pipeline_test(test_burst),
		pipeline_test(test_rule_names_a_port),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
