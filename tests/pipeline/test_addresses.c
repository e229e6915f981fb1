// SPDX-License-Identifier: BSD-3-Clause
// Special addresses as source and as destination of packets from every side (RFC 1122 3.2.1.3, RFC
// 1812 5.3.7, RFC 4291 2.5, 2.7): the table of docs/configuration.md. Everything that reaches
// policy is bypassed, so that no other check drops a packet.
#include <netinet/in.h>

#include "packet_v6.h"
#include "peer.h"
#include "site.h"

#define NTP 123

// %s: policies, and more settings.
static const char form[] =
	"flows = { max = 4096; };\n"
	"ports = ( { name = \"lan\"; device = \"net_null0\"; host = \"gw0\";\n"
	"    addresses = [ \"10.1.0.1/24\", \"2001:db8:1::1/64\" ]; },\n"
	"  { name = \"wan\"; device = \"net_null1\"; side = \"unprotected\"; host = \"gw1\";\n"
	"    addresses = [ \"192.0.2.1/24\", \"2001:db8:f::1/64\" ]; } );\n"
	"routes = ( { to = \"0.0.0.0/0\"; via = \"192.0.2.2\"; },\n"
	"  { to = \"::/0\"; via = \"2001:db8:f::2\"; } );\n"
	"neighbours = ( { address = \"10.1.0.5\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"2001:db8:1::5\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"192.0.2.2\"; mac = \"02:00:00:00:02:01\"; },\n"
	"  { address = \"2001:db8:f::2\"; mac = \"02:00:00:00:02:01\"; } );\n"
	"rules = ( { name = \"ntp\"; host = true; action = \"accept\"; proto = \"udp\";\n"
	"    destination_port = \"123\"; },\n"
	"  { name = \"all\"; action = \"accept\"; } );\n"
	"policies = ( %s );\n";

static const char bypass[] = "{ name = \"all\"; action = \"bypass\"; }";

static const char protect[] =
	"{ name = \"all\"; action = \"protect\"; out = \"to-b\"; in = \"from-b\"; } );\n"
	"sas = ( { name = \"to-b\"; direction = \"out\"; spi = \"0x1001\"; local = \"192.0.2.1\";\n"
	"    remote = \"192.0.2.2\"; cipher = \"null\"; auth = \"hmac-sha1-96\";\n"
	"    auth_key = \"000102030405060708090a0b0c0d0e0f10111213\"; },\n"
	"  { name = \"from-b\"; direction = \"in\"; spi = \"0x1002\"; local = \"192.0.2.1\";\n"
	"    remote = \"192.0.2.2\"; cipher = \"null\"; auth = \"hmac-sha1-96\";\n"
	"    auth_key = \"100102030405060708090a0b0c0d0e0f10111213\"; }";

static struct gateway *gateway_with(unsigned int id, const char *policies)
{
	char text[4096];

	snprintf(text, sizeof(text), form, policies);
	return gateway_new(id, text);
}

static bool is_v4(const char *addr)
{
	return strchr(addr, '.') != NULL && strchr(addr, ':') == NULL;
}

static uint16_t packet_write(uint8_t *packet, const char *src, const char *dst)
{
	return is_v4(src) ? ip_write(packet, (struct ipv4)FROM_TO(src, dst, .dport = NTP))
			  : ip6_write(packet, (struct ipv6)FROM_TO(src, dst, .dport = NTP));
}

static struct frame frame_of(uint16_t port, const char *src, const char *dst)
{
	uint8_t packet[FRAME_MAX];
	uint16_t len = packet_write(packet, src, dst);

	return (is_v4(src) ? frame_raw : frame_raw6)(port, packet, len);
}

// No error is sent about a packet that is dropped for an address.
static void expect_answer(
	const struct gateway *g, const char *src, const char *dst, enum drop reason)
{
	print_message("  %s to %s\n", src, dst);
	expect_drops(g, reason, reason != DROP_NONE);
	if (reason != DROP_NONE) {
		assert_int_equal(g->n_sent, 0);
		assert_int_equal(g->n_punted, 0);
	}
}

static void check_clear(
	struct gateway *g, uint16_t port, const char *src, const char *dst, enum drop reason)
{
	struct frame f = frame_of(port, src, dst);

	gateway_pass(g, &f, 1);
	expect_answer(g, src, dst, reason);
}

static void check_tunnel(struct gateway *g, const char *src, const char *dst, enum drop reason)
{
	static uint32_t seq;
	struct peer b = peer_new(g, "from-b");
	uint8_t packet[FRAME_MAX];
	uint16_t len = packet_write(packet, src, dst);
	struct frame f = peer_seal_packet(&b, ++seq, packet, len);

	gateway_pass(g, &f, 1);
	expect_answer(g, src, dst, reason);
	peer_free(&b);
}

static void check_from_host(struct gateway *g, const char *src, const char *dst, enum drop reason)
{
	struct frame f = frame_of(LAN, src, dst);

	gateway_host_sends(g, &f);
	gateway_pass(g, NULL, 0);
	expect_answer(g, src, dst, reason);
}

// Reasons for drops of packets from each side.
struct row {
	const char *addr;
	enum drop lan, wan, tunnel, host;
};

#define NOWHERE(d) d, d, d, d

static const struct row sources[] = {
	{"0.0.0.0", NOWHERE(DROP_IP_SOURCE)},
	{"0.1.2.3", NOWHERE(DROP_IP_SOURCE)},
	{"127.0.0.1", NOWHERE(DROP_IP_SOURCE)},
	{"224.0.0.1", NOWHERE(DROP_IP_SOURCE)},
	{"239.255.255.255", NOWHERE(DROP_IP_SOURCE)},
	{"255.255.255.255", NOWHERE(DROP_IP_SOURCE)},
	// Broadcast and network addresses of the ports' networks.
	{"10.1.0.255", DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_HOST_SOURCE},
	{"10.1.0.0", DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_HOST_SOURCE},
	{"192.0.2.255", DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_HOST_SOURCE},
	{"192.0.2.0", DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_HOST_SOURCE},
	// Own ones.
	{"10.1.0.1", DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_NONE},
	{"192.0.2.1", DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_NONE},
	// Others of the networks.
	{"10.1.0.6", DROP_NONE, DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_HOST_SOURCE},
	{"192.0.2.7", DROP_NONE, DROP_NONE, DROP_NONE, DROP_HOST_SOURCE},
	// Ordinary ones.
	{"169.254.1.1", DROP_NONE, DROP_NONE, DROP_NONE, DROP_HOST_SOURCE},
	{"240.0.0.1", DROP_NONE, DROP_NONE, DROP_NONE, DROP_HOST_SOURCE},
	{"255.255.255.254", DROP_NONE, DROP_NONE, DROP_NONE, DROP_HOST_SOURCE},
	{"::", DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_HOST_SOURCE},
	{"::1", DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_HOST_SOURCE},
	{"ff02::1", DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_HOST_SOURCE},
	{"::ffff:10.1.0.6", DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_INNER_HEADER, DROP_IP_SOURCE},
	{"fe80::5", DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_HOST_SOURCE},
	{"2001:db8:1::", DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_HOST_SOURCE},
	{"2001:db8:1::1", DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_NONE},
	{"2001:db8:f::1", DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_NONE},
	{"2001:db8:1::6", DROP_NONE, DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_HOST_SOURCE},
	{"2001:db8:1:0:ffff:ffff:ffff:ffff", DROP_NONE, DROP_IP_SOURCE, DROP_IP_SOURCE,
		DROP_HOST_SOURCE},
	{"fec0::5", DROP_NONE, DROP_NONE, DROP_NONE, DROP_HOST_SOURCE},
	{"fc00::5", DROP_NONE, DROP_NONE, DROP_NONE, DROP_HOST_SOURCE},
	{"::10.1.0.6", DROP_NONE, DROP_NONE, DROP_NONE, DROP_HOST_SOURCE},
};

static const struct row destinations[] = {
	{"0.0.0.0", NOWHERE(DROP_NOT_UNICAST)},
	{"0.1.2.3", NOWHERE(DROP_NOT_UNICAST)},
	{"127.0.0.1", NOWHERE(DROP_NOT_UNICAST)},
	// The host behind port LAN sends these there.
	{"224.0.0.1", DROP_NOT_UNICAST, DROP_NOT_UNICAST, DROP_NOT_UNICAST, DROP_NONE},
	{"255.255.255.255", DROP_NOT_UNICAST, DROP_NOT_UNICAST, DROP_NOT_UNICAST, DROP_NONE},
	{"10.1.0.255", DROP_NOT_UNICAST, DROP_NOT_UNICAST, DROP_NOT_UNICAST, DROP_NONE},
	{"10.1.0.0", DROP_NOT_UNICAST, DROP_NOT_UNICAST, DROP_NOT_UNICAST, DROP_NONE},
	{"192.0.2.255", NOWHERE(DROP_NOT_UNICAST)},
	{"192.0.2.0", NOWHERE(DROP_NOT_UNICAST)},
	{"169.254.1.1", NOWHERE(DROP_NONE)},
	{"240.0.0.1", NOWHERE(DROP_NONE)},
	{"255.255.255.254", NOWHERE(DROP_NONE)},
	{"::", NOWHERE(DROP_NOT_UNICAST)},
	{"::1", NOWHERE(DROP_NOT_UNICAST)},
	{"ff0e::1", DROP_NOT_UNICAST, DROP_NOT_UNICAST, DROP_NOT_UNICAST, DROP_NONE},
	{"fe80::9", DROP_NOT_UNICAST, DROP_NOT_UNICAST, DROP_NOT_UNICAST, DROP_NONE},
	{"::ffff:198.51.100.5", DROP_IP_SOURCE, DROP_IP_SOURCE, DROP_INNER_HEADER, DROP_IP_SOURCE},
	{"fec0::5", NOWHERE(DROP_NONE)},
	{"fc00::5", NOWHERE(DROP_NONE)},
};

static void test_source(void **state)
{
	struct gateway *clear = gateway_with(0, bypass), *tunnel = gateway_with(1, protect);

	(void)state;
	gateway_host_add(clear, LAN);
	for (size_t i = 0; i < COUNT_OF(sources); i++) {
		const struct row *r = &sources[i];
		bool v4 = is_v4(r->addr);
		const char *inside = v4 ? "10.1.0.5" : "2001:db8:1::5";
		const char *outside = v4 ? "198.51.100.5" : "2001:db8:9::5";

		check_clear(clear, LAN, r->addr, outside, r->lan);
		check_clear(clear, WAN, r->addr, inside, r->wan);
		check_tunnel(tunnel, r->addr, inside, r->tunnel);
		check_from_host(clear, r->addr, outside, r->host);
	}
	gateway_free(clear);
	gateway_free(tunnel);
}

static void test_destination(void **state)
{
	struct gateway *clear = gateway_with(0, bypass), *tunnel = gateway_with(1, protect);

	(void)state;
	gateway_host_add(clear, LAN);
	for (size_t i = 0; i < COUNT_OF(destinations); i++) {
		const struct row *r = &destinations[i];
		bool v4 = is_v4(r->addr);
		const char *outside = v4 ? "198.51.100.5" : "2001:db8:9::5";

		check_clear(clear, LAN, v4 ? "10.1.0.5" : "2001:db8:1::5", r->addr, r->lan);
		check_clear(clear, WAN, outside, r->addr, r->wan);
		check_tunnel(tunnel, outside, r->addr, r->tunnel);
		check_from_host(clear, v4 ? "10.1.0.1" : "2001:db8:1::1", r->addr, r->host);
	}
	gateway_free(clear);
	gateway_free(tunnel);
}

// Neither a service of the host, which would answer with a broadcast, nor the gateway itself serves
// such a source, and of a group neither.
static void test_served(void **state)
{
	static const char *const from[] = {"10.1.0.255", "10.1.0.0", "192.0.2.255", "192.0.2.1"};
	struct gateway *g = gateway_with(0, bypass);

	(void)state;
	gateway_host_add(g, WAN);
	for (size_t i = 0; i < COUNT_OF(from); i++) {
		struct frame f = frame_ip(WAN,
			(struct ipv4)FROM_TO(from[i], "192.0.2.1", .proto = 1, .icmp_type = 8));

		gateway_pass(g, &f, 1);
		expect_answer(g, from[i], "192.0.2.1", DROP_IP_SOURCE);
		check_clear(g, WAN, from[i], "192.0.2.1", DROP_IP_SOURCE);
		f = frame_of(WAN, from[i], "192.0.2.255");
		memset(f.b, 0xff, 6);
		gateway_pass(g, &f, 1);
		expect_answer(g, from[i], "192.0.2.255", DROP_IP_SOURCE);
	}
	gateway_free(g);
}

// A fragment from such a source uses no room.
static void test_fragment_of_such_source_uses_no_room(void **state)
{
	struct gateway *g = gateway_with(0, bypass);
	struct frame f = frame_ip(
		LAN, (struct ipv4)FROM_TO("10.1.0.255", "198.51.100.5", .frag = MF, .len = 60));

	(void)state;
	gateway_expect_drop(g, &f, DROP_IP_SOURCE);
	assert_int_equal(worker_held(g->w), 0);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_source),
		pipeline_test(test_destination),
		pipeline_test(test_served),
		pipeline_test(test_fragment_of_such_source_uses_no_room),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
