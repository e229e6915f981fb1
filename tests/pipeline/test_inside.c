// SPDX-License-Identifier: BSD-3-Clause
// Addresses of tunnels that routes lead into: packets for them are answered there, packets for
// their networks go into the tunnels, and nobody else sends from them.
#include "packet_v6.h"
#include "site.h"
#include "site_inside.h"

static uint16_t ping4(uint8_t *packet, const char *src, const char *dst)
{
	return ip_write(packet, (struct ipv4)FROM_TO(src, dst, .proto = 1, .icmp_type = 8));
}

static uint16_t ping6(uint8_t *packet, const char *src, const char *dst)
{
	return ip6_write(
		packet, (struct ipv6){.src = src, .dst = dst, .proto = 58, .icmp_type = 128});
}

static bool is_v6(const char *address)
{
	return strchr(address, ':') != NULL;
}

static uint16_t ping(uint8_t *packet, const char *src, const char *dst)
{
	return is_v6(dst) ? ping6(packet, src, dst) : ping4(packet, src, dst);
}

// The route to 169.254.10.1 into the other tunnel does not matter.
static void test_pings_are_answered(void **state)
{
	static const struct {
		const char *from, *to, *src, *dst;
	} rows[] = {
		{"from-b", "to-b", "169.254.10.2", "169.254.10.1"},
		{"from-b", "to-b", "10.2.7.7", "169.254.10.1"},
		{"from-b", "to-b", "fd00:b::2", "fd00:b::1"},
		{"from-b", "to-b", "fe80::2", "fd00:b::1"},
		{"from-b", "to-b", "fe80::2", "fe80::1"}, // that of fd00:b::1
		{"from-c", "to-c", "fe80::2", "fe80::c"}, // the one that is set
		{"from-b", "to-b", "169.254.10.2", "169.254.20.1"},
		{"from-b", "to-b", "169.254.10.2", "10.1.0.1"},
	};
	uint8_t packet[FRAME_MAX], inner[FRAME_MAX];

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		struct gateway *g = inside_gateway("", "");
		unsigned int at = is_v6(rows[i].dst) ? 8 : 12, size = is_v6(rows[i].dst) ? 16 : 4;
		uint16_t len = ping(packet, rows[i].src, rows[i].dst);
		struct frame f = inside_out_of(g, rows[i].from, 1, packet, len);

		print_message("%s to %s\n", rows[i].src, rows[i].dst);
		gateway_pass(g, &f, 1);
		assert_int_equal(inside_sent(g, rows[i].to, inner), len);
		assert_memory_equal(inner + at, packet + at + size, size);
		assert_memory_equal(inner + at + size, packet + at, size);
		gateway_free(g);
	}
}

static void test_ping_from_the_lan(void **state)
{
	struct gateway *g = inside_gateway("", "");
	uint8_t packet[FRAME_MAX];
	struct frame f = frame_raw(LAN, packet, ping4(packet, "10.1.0.5", "169.254.10.1"));

	(void)state;
	gateway_expect_sent(g, &f, LAN);
	gateway_free(g);
}

// Only packets for own addresses may have a link-local source.
static void test_forged_sources(void **state)
{
	static const struct {
		const char *sa, *src, *dst;
		enum drop drop;
	} rows[] = {
		{"from-b", "169.254.10.1", "169.254.10.1", DROP_IP_SOURCE}, // ours
		{"from-b", "169.254.20.1", "169.254.10.1", DROP_IP_SOURCE},
		{"from-b", "fe80::1", "fd00:b::1", DROP_IP_SOURCE},
		{"from-b", "169.254.10.3", "169.254.10.1", DROP_IP_SOURCE}, // broadcast
		{"from-b", "169.254.20.2", "169.254.10.1", DROP_TUNNEL_SOURCE},
		{"from-c", "fd00:b::2", "fe80::c", DROP_TUNNEL_SOURCE},
		{"from-b", "fe80::2", "fe80::c", DROP_NOT_UNICAST}, // of the other tunnel
		{"from-b", "fe80::2", "2001:db8::1", DROP_IP_SOURCE},
		{"from-b", "fe80::2", "2001:db8:1::1", DROP_TUNNEL_SOURCE}, // of a port
		{"from-b", "169.254.10.2", "169.254.10.3", DROP_NOT_UNICAST},
	};
	uint8_t packet[FRAME_MAX];

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		struct gateway *g = inside_gateway("", "");
		struct frame f = inside_out_of(
			g, rows[i].sa, 1, packet, ping(packet, rows[i].src, rows[i].dst));

		print_message("%s to %s\n", rows[i].src, rows[i].dst);
		gateway_expect_drop(g, &f, rows[i].drop);
		gateway_free(g);
	}
}

static void test_clear_text_from_the_network(void **state)
{
	struct gateway *g = inside_gateway("", "");
	struct frame f = frame_ip(WAN, (struct ipv4)FROM_TO("169.254.10.2", "10.1.0.5"));

	(void)state;
	gateway_expect_drop(g, &f, DROP_IP_SOURCE);
	gateway_free(g);
}

static void test_network_leads_into_the_tunnel(void **state)
{
	struct gateway *g = inside_gateway("", "");
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "169.254.20.2")), right;
	uint8_t inner[FRAME_MAX];

	(void)state;
	right = frame_after_hops(&f, 1);
	for (unsigned int i = 0; i < 2; i++) {
		gateway_pass(g, &f, 1);
		assert_int_equal(inside_sent(g, "to-c", inner), frame_packet_len(&f));
		assert_memory_equal(inner, frame_packet(&right), frame_packet_len(&f));
	}
	sa_stop(&gateway_sa_out(g, "to-b")->sa, LIFETIME_PACKETS);
	f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "169.254.10.2"));
	gateway_expect_drop(g, &f, DROP_TUNNEL_DOWN);
	gateway_free(g);
}

// Peers know the address inside their tunnel, and not those of ports.
static void test_errors_have_the_address(void **state)
{
	struct gateway *g = inside_gateway("", "");
	uint8_t packet[FRAME_MAX], inner[FRAME_MAX];
	uint16_t len = ip_write(packet, (struct ipv4)FROM_TO("10.2.7.7", "10.1.0.5", .ttl = 1));
	struct frame f = inside_out_of(g, "from-b", 1, packet, len);

	(void)state;
	gateway_pass(g, &f, 1);
	expect_drops(g, DROP_TTL, 1);
	inside_sent(g, "to-b", inner);
	assert_int_equal(be32(inner + 12), ip_number("169.254.10.1"));
	gateway_free(g);
}

// Both ends of a tunnel may have addresses that differ in the network alone, or the first one of a
// network.
static void test_link_local_addresses_differ(void **state)
{
	static const char conf[] =
		"flows = { max = 1024; };\n"
		"ports = ( { name = \"a\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/16\" "
		"]; } "
		");\n"
		"tunnels = (\n"
		"  { name = \"t\"; if_id = 1; addresses = [ \"fd00:1::1/128\" ]; },\n"
		"  { name = \"u\"; if_id = 2; addresses = [ \"fd00:2::1/128\" ]; },\n"
		"  { name = \"v\"; if_id = 3; addresses = [ \"fd00:3::/127\" ]; },\n"
		"  { name = \"w\"; if_id = 4; addresses = [ \"fd00:4::1/64\" ]; } );\n";
	static const char *const right[] = {
		"fe80::fd00:1:0:1", "fe80::fd00:2:0:1", "fe80::fd00:3:0:0", "fe80::1"};
	struct gateway *g = gateway_new(0, conf);
	char text[IP_ADDR_STRLEN];

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(right); i++) {
		const struct iface *tunnel =
			&g->snapshot->iface[spd_at(g->snapshot->spd, i)->iface];

		assert_string_equal(
			ip_addr_format(text, &tunnel->own_link_local->source), right[i]);
	}
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_link_local_addresses_differ),
		pipeline_test(test_pings_are_answered),
		pipeline_test(test_ping_from_the_lan),
		pipeline_test(test_forged_sources),
		pipeline_test(test_clear_text_from_the_network),
		pipeline_test(test_network_leads_into_the_tunnel),
		pipeline_test(test_errors_have_the_address),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
