// SPDX-License-Identifier: BSD-3-Clause
// A port with the addresses of its host (addresses = [ "host" ]). Proves that the host gets
// addresses by DHCP and router discovery although no policy and no rule admits anything, that
// nothing else passes with these, and that the port answers for the addresses which the host has,
// and no longer.
#include <netinet/in.h>

#include "addrs.h"
#include "nd.h"
#include "packet_v6.h"
#include "peer.h"
#include "site.h"

#define SERVER "192.0.2.254"
#define ALL    "255.255.255.255"
#define ROUTER "fe80::254"

enum { REQUEST = 1, REPLY = 2 };

static char own_link_local[IP_ADDR_STRLEN];

// WAN follows its host, LAN does not. One of the two has an interface.
static struct gateway *gateway_with_host(uint16_t port)
{
	struct gateway *g = gateway_new(0,
		"ports = ( { name = \"lan\"; device = \"net_null0\"; host = \"gw0\";"
		" addresses = [ \"10.1.0.1/24\", \"2001:db8:1::1/64\" ]; side = \"protected\"; },"
		" { name = \"wan\"; device = \"net_null1\"; host = \"gw1\";"
		" addresses = [ \"host\" ]; side = \"unprotected\"; } );"
		"routes = ( { to = \"0.0.0.0/0\"; via = \"" SERVER "\"; port = \"wan\"; } );"
		"neighbours = ( { address = \"" SERVER "\"; mac = \"02:00:00:00:00:fe\";"
		" port = \"wan\"; },"
		" { address = \"10.1.0.5\"; mac = \"02:00:00:00:00:05\"; } );");
	const struct ip_addr own = nd_link_local((const struct rte_ether_addr *)mac_of_port(WAN));

	ip_addr_format(own_link_local, &own);
	gateway_host_add(g, port);
	return g;
}

// The host has these addresses now, with their prefix lengths.
static void host_has(struct gateway *g, const char *const text[], unsigned int n)
{
	struct conf_followed f = {.n = n};

	for (unsigned int i = 0; i < n; i++)
		ip_interface_parse(&f.addr[i].addr, &f.addr[i].net, text[i]);
	conf_follow_host(g->conf, WAN, &f, stderr);
	gateway_reload(g, g->conf);
}

struct dhcp {
	const char *src, *dst;
	uint16_t port; // of the gateway
	uint8_t op;
	uint16_t frag;
	uint8_t mac; // added to the last octet of the client's link address
	uint16_t sport, dport;
};

static struct frame dhcp(struct dhcp d)
{
	const bool asks = d.op == REQUEST;
	struct frame f =
		frame_ip(d.port, (struct ipv4)FROM_TO(d.src, d.dst, .len = 300, .frag = d.frag,
					 .sport = d.sport != 0 ? d.sport
						  : asks       ? 68
							       : 67,
					 .dport = d.dport != 0 ? d.dport
						  : asks       ? 67
							       : 68));
	uint8_t *message = f.b + ETH_LEN + IP_LEN + 8;

	message[0] = d.op;
	message[1] = 1;
	message[2] = 6;
	memcpy(message + 28, mac_of_port(d.port), 6);
	message[33] = (uint8_t)(message[33] + d.mac);
	if (strcmp(d.dst, ALL) == 0)
		memset(f.b, 0xff, 6);
	return f;
}

// The frame with an option of 4 octets, of that type and length.
static struct frame with_option(struct frame f, uint8_t type, uint8_t len)
{
	uint8_t *ip = f.b + ETH_LEN;

	memmove(ip + IP_LEN + 4, ip + IP_LEN, f.len - (size_t)(ETH_LEN + IP_LEN));
	memcpy(ip + IP_LEN, (uint8_t[]){type, len, 0, 0}, 4);
	f.len = (uint16_t)(f.len + 4);
	ip[0] = 0x46;
	put16(ip + 2, be16(ip + 2) + 4u);
	ip_checksum_update(ip);
	return f;
}

static void expect_host_drop(struct gateway *g, struct frame f, enum drop reason)
{
	gateway_host_pass(g, f);
	expect_drops(g, reason, 1);
	assert_int_equal(g->n_sent, 0);
}

static void expect_not_given(struct gateway *g, struct frame f, enum drop reason)
{
	gateway_expect_drop(g, &f, reason);
	assert_int_equal(g->n_punted, 0);
}

static void expect_leaves(struct gateway *g, struct frame f)
{
	gateway_host_pass(g, f);
	expect_all_sent(g, 1, WAN);
	assert_memory_equal(g->sent[0].b + 6, mac_of_port(WAN), 6);
	assert_memory_equal(frame_packet(&g->sent[0]), frame_packet(&f), frame_packet_len(&f));
}

#define DISCOVER .src = "0.0.0.0", .dst = ALL, .port = WAN, .op = REQUEST

static void test_dhcp_leaves_before_there_is_an_address(void **state)
{
	struct gateway *g = gateway_with_host(WAN);
	struct frame f = dhcp((struct dhcp){DISCOVER});

	(void)state;
	expect_leaves(g, f);
	assert_memory_equal(g->sent[0].b, f.b, 6); // to all
	expect_host_drop(g, dhcp((struct dhcp){DISCOVER, .mac = 1}), DROP_IP_SOURCE);
	expect_host_drop(g, dhcp((struct dhcp){DISCOVER, .dport = 69}), DROP_IP_SOURCE);
	expect_host_drop(g, dhcp((struct dhcp){DISCOVER, .sport = 69}), DROP_IP_SOURCE);
	expect_host_drop(g, dhcp((struct dhcp){DISCOVER, .frag = MF}), DROP_IP_SOURCE);
	f = dhcp((struct dhcp){DISCOVER});
	f.b[ETH_LEN + IP_LEN + 8] = REPLY;
	expect_host_drop(g, f, DROP_IP_SOURCE);
	f = dhcp((struct dhcp){.src = "0.0.0.0", .dst = SERVER, .port = WAN, .op = REQUEST});
	expect_host_drop(g, f, DROP_IP_SOURCE);
	gateway_free(g);
	g = gateway_with_host(LAN);
	f = dhcp((struct dhcp){.src = "0.0.0.0", .dst = ALL, .port = LAN, .op = REQUEST});
	expect_host_drop(g, f, DROP_IP_SOURCE);
	gateway_free(g);
}

#define OFFER(to) .src = SERVER, .dst = (to), .port = WAN, .op = REPLY

// To all, or to the address that the server offers.
static void test_dhcp_arrives_before_there_is_an_address(void **state)
{
	static const char *const to[] = {ALL, "192.0.2.5"};
	static const enum drop otherwise[] = {DROP_NOT_UNICAST, DROP_NO_POLICY};
	struct gateway *g = gateway_with_host(WAN);
	struct frame f;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		gateway_expect_punted(g, dhcp((struct dhcp){OFFER(to[i])}));
		f = dhcp((struct dhcp){OFFER(to[i]), .mac = 1});
		expect_not_given(g, f, otherwise[i]);
		f = dhcp((struct dhcp){OFFER(to[i]), .sport = 66});
		expect_not_given(g, f, otherwise[i]);
		f = dhcp((struct dhcp){OFFER(to[i]), .dport = 69});
		expect_not_given(g, f, otherwise[i]);
		f = dhcp((struct dhcp){OFFER(to[i])});
		f.b[ETH_LEN + IP_LEN + 8] = REQUEST;
		expect_not_given(g, f, otherwise[i]);
		f = dhcp((struct dhcp){OFFER(to[i])});
		put32(f.b + ETH_LEN + 12, ip_number("10.1.0.1"));
		ip_checksum_update(f.b + ETH_LEN);
		expect_not_given(g, f, DROP_IP_SOURCE);
	}
	f = dhcp((struct dhcp){OFFER("10.1.0.1")}); // of another port
	expect_not_given(g, f, DROP_NO_POLICY);
	gateway_free(g);
	g = gateway_with_host(LAN);
	f = dhcp((struct dhcp){.src = "10.1.0.5", .dst = ALL, .port = LAN, .op = REPLY});
	expect_not_given(g, f, DROP_NOT_UNICAST);
	gateway_free(g);
}

static struct frame ping_of(const char *addr)
{
	return frame_ip(WAN, (struct ipv4)FROM_TO(SERVER, addr, .proto = 1, .icmp_type = 8));
}

static void test_addresses_follow(void **state)
{
	static const char *const first[] = {"192.0.2.5/24"}, *const second[] = {"192.0.2.6/24"};
	struct gateway *g = gateway_with_host(WAN);
	struct frame f = ping_of("192.0.2.5");

	(void)state;
	gateway_expect_drop(g, &f, DROP_NO_POLICY);
	host_has(g, first, 1);
	gateway_expect_sent(g, &f, WAN);
	f = frame_arp(WAN, 1, SERVER, "192.0.2.5");
	gateway_expect_sent(g, &f, WAN);
	host_has(g, second, 1);
	f = ping_of("192.0.2.5");
	gateway_expect_drop(g, &f, DROP_NO_POLICY);
	f = ping_of("192.0.2.6");
	gateway_expect_sent(g, &f, WAN);
	host_has(g, NULL, 0);
	gateway_expect_drop(g, &f, DROP_NO_POLICY);
	gateway_free(g);
}

// A client renews its address at the server itself (RFC 2131 4.4.5).
static void test_renewal(void **state)
{
	static const char *const has[] = {"192.0.2.5/24"};
	struct gateway *g = gateway_with_host(WAN);
	struct frame f =
		dhcp((struct dhcp){.src = "192.0.2.5", .dst = SERVER, .port = WAN, .op = REQUEST});

	(void)state;
	expect_host_drop(g, f, DROP_HOST_SOURCE);
	host_has(g, has, 1);
	expect_leaves(g, f);
	assert_int_equal(g->sent[0].b[5], 0xfe);
	gateway_expect_punted(g, dhcp((struct dhcp){OFFER("192.0.2.5")}));
	expect_leaves(
		g, dhcp((struct dhcp){.src = "192.0.2.5", .dst = ALL, .port = WAN, .op = REQUEST}));
	// Options are checked as those of any packet.
	expect_host_drop(g, with_option(f, 7, 0), DROP_IP_HEADER);
	expect_host_drop(g, with_option(f, 0x87, 0xff), DROP_IP_HEADER);
	expect_leaves(g, with_option(f, 0x94, 4));
	// By no other port, and with no other protocol.
	f = dhcp((struct dhcp){.src = "192.0.2.5", .dst = "10.1.0.5", .port = WAN, .op = REQUEST});
	gateway_host_pass(g, f);
	assert_int_equal(g->n_sent, 1);
	assert_int_equal(g->sent[0].port, LAN); // as any packet: needs no policy there
	f = dhcp((struct dhcp){
		.src = "192.0.2.5", .dst = SERVER, .port = WAN, .op = REQUEST, .dport = 53});
	expect_host_drop(g, f, DROP_NO_POLICY);
	gateway_free(g);
}

static struct frame icmp6(const char *src, const char *dst, uint8_t type, uint8_t hops)
{
	struct frame f = frame_ip6(WAN, (struct ipv6)FROM_TO(src, dst, .proto = IPPROTO_ICMPV6,
						.hops = hops, .icmp_type = type));

	frame_nd_update(&f);
	return f;
}

static struct frame udp6(const char *src, const char *dst, uint16_t sport, uint16_t dport)
{
	struct frame f = frame_ip6(
		WAN, (struct ipv6)FROM_TO(src, dst, .sport = sport, .dport = dport, .hops = 1));

	if (dst[0] == 'f' && dst[1] == 'f') {
		memcpy(f.b, (uint8_t[]){0x33, 0x33}, 2);
		memcpy(f.b + 2, f.b + ETH_LEN + 36, 4);
	}
	return f;
}

static void test_router_discovery(void **state)
{
	struct gateway *g = gateway_with_host(WAN);

	(void)state;
	expect_leaves(g, icmp6(own_link_local, "ff02::2", 133, 255));
	expect_host_drop(g, icmp6(own_link_local, "ff02::2", 133, 64), DROP_HOST_FRAME);
	expect_host_drop(g, icmp6(own_link_local, "ff02::1", 137, 255), DROP_HOST_FRAME);
	gateway_expect_punted(g, icmp6(ROUTER, "ff02::1", 134, 255));
	gateway_expect_punted(g, icmp6(ROUTER, own_link_local, 134, 255));
	expect_not_given(g, icmp6(ROUTER, "ff02::1", 134, 64), DROP_NOT_UNICAST);
	expect_not_given(g, icmp6("2001:db8:f::1", "ff02::1", 134, 255), DROP_NOT_UNICAST);
	expect_not_given(g, icmp6(own_link_local, "ff02::1", 134, 255), DROP_IP_SOURCE);
	expect_not_given(g, icmp6(ROUTER, "ff02::1", 137, 255), DROP_NOT_UNICAST);
	gateway_free(g);
}

static void test_dhcpv6(void **state)
{
	struct gateway *g = gateway_with_host(WAN);

	(void)state;
	expect_leaves(g, udp6(own_link_local, "ff02::1:2", 546, 547));
	expect_host_drop(g, udp6(own_link_local, "ff02::1:2", 546, 53), DROP_NO_POLICY);
	gateway_expect_punted(g, udp6(ROUTER, own_link_local, 547, 546));
	expect_not_given(g, udp6(ROUTER, own_link_local, 547, 545), DROP_LOCAL_UNSERVED);
	expect_not_given(g, udp6(ROUTER, own_link_local, 53, 546), DROP_LOCAL_UNSERVED);
	gateway_free(g);
}

static struct gateway *gateway_with_sas(void)
{
	return gateway_new(0,
		"ports = ( { name = \"lan\"; device = \"net_null0\";"
		" addresses = [ \"10.1.0.1/24\" ]; },"
		" { name = \"wan\"; device = \"net_null1\"; host = \"gw1\";"
		" addresses = [ \"host\" ]; side = \"unprotected\"; } );"
		"routes = ( { to = \"0.0.0.0/0\"; via = \"" SERVER "\"; port = \"wan\"; } );"
		"neighbours = ( { address = \"" SERVER "\"; mac = \"02:00:00:00:00:fe\";"
		" port = \"wan\"; },"
		" { address = \"10.1.0.5\"; mac = \"02:00:00:00:00:05\"; } );"
		"sas = ( { name = \"out\"; direction = \"out\"; spi = \"0x1001\"; local = \"wan\";"
		" remote = \"198.51.100.2\"; cipher = \"null\"; auth = \"hmac-sha1-96\";"
		" auth_key = \"000102030405060708090a0b0c0d0e0f10111213\"; },"
		" { name = \"in\"; direction = \"in\"; spi = \"0x1002\"; local = \"wan\";"
		" remote = \"198.51.100.2\"; cipher = \"null\"; auth = \"hmac-sha1-96\";"
		" auth_key = \"100102030405060708090a0b0c0d0e0f10111213\"; } );"
		"policies = ( { name = \"b\"; local = \"10.1.0.0/24\"; remote = \"10.2.0.0/24\";"
		" action = \"protect\"; out = \"out\"; in = \"in\"; } );");
}

// Sends a packet through the tunnel; returns its sequence number.
static uint32_t seq_from(struct gateway *g, const char *local)
{
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5"));
	const uint8_t *packet;

	gateway_expect_sent(g, &f, WAN);
	packet = frame_packet(&g->sent[0]);
	assert_int_equal(be32(packet + 12), ip_number(local));
	return be32(packet + IP_LEN + 4);
}

// An SA follows its port with its sequence numbers and its replay window.
static void test_sas_follow(void **state)
{
	static const char *const first[] = {"192.0.2.5/24"}, *const second[] = {"192.0.2.6/24"};
	struct gateway *g = gateway_with_sas();
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5"));
	uint32_t seq;

	(void)state;
	sa_local_set(&gateway_sa_out(g, "out")->sa, DROP_ADDR_UNUSABLE); // by the control thread
	gateway_expect_drop(g, &f, DROP_ADDR_UNUSABLE);
	host_has(g, first, 1);
	sa_local_set(&gateway_sa_out(g, "out")->sa, DROP_NONE);
	seq = seq_from(g, "192.0.2.5");
	assert_int_equal(seq_from(g, "192.0.2.5"), seq + 1);
	peer_expect_once(g, "in", 7);
	host_has(g, second, 1);
	assert_int_equal(seq_from(g, "192.0.2.6"), seq + 2);
	peer_expect_once(g, "in", 6); // late
	host_has(g, NULL, 0);
	host_has(g, first, 1);
	seq_from(g, "192.0.2.5");
	peer_expect_once(g, "in", 9);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_dhcp_leaves_before_there_is_an_address),
		pipeline_test(test_dhcp_arrives_before_there_is_an_address),
		pipeline_test(test_addresses_follow),
		pipeline_test(test_renewal),
		pipeline_test(test_router_discovery),
		pipeline_test(test_dhcpv6),
		pipeline_test(test_sas_follow),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
