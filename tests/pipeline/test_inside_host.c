// SPDX-License-Identifier: BSD-3-Clause
// The host of a tunnel. Proves which packets out of the tunnel it gets, and that everything which
// it sends goes into the tunnel, from own addresses alone.
#include <netinet/in.h>

#include "match.h"
#include "packet_v6.h"
#include "site.h"
#include "site_inside.h"

#define OSPF 89
#define HOST PORTS_MAX // number of the only host of a tunnel

static const char rules[] =
	"rules = ("
	" { name = \"bgp\"; host = true; action = \"accept\"; in = \"b\"; proto = \"tcp\"; "
	"destination_port = \"179\"; },"
	" { name = \"lan\"; host = true; action = \"accept\"; in = \"lan\"; proto = \"tcp\"; "
	"destination_port = \"22\"; },"
	" { name = \"c\"; host = true; action = \"accept\"; in = \"c\"; proto = \"tcp\"; "
	"destination_port = \"22\"; },"
	" { name = \"ospf\"; host = true; action = \"accept\"; proto = \"ospf\"; } );";

static struct gateway *gateway_with_host(void)
{
	struct gateway *g = inside_gateway("host = \"tb\";", rules);

	gateway_host_add(g, HOST);
	return g;
}

static struct ipv4 tcp4(const char *src, const char *dst, uint16_t sport, uint16_t dport)
{
	return (struct ipv4)FROM_TO(src, dst, .proto = IPPROTO_TCP, .sport = sport, .dport = dport);
}

// The last pass has given the host these octets alone.
static void expect_punted(const struct gateway *g, const uint8_t *packet, uint16_t len)
{
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->n_punted, 1);
	assert_int_equal(g->n_sent, 0);
	assert_int_equal(g->punted[0].len, len);
	assert_memory_equal(g->punted[0].b, packet, len);
}

static void receive(struct gateway *g, const char *sa, const uint8_t *packet, uint16_t len)
{
	static unsigned int seq;
	struct frame f = inside_out_of(g, sa, ++seq, packet, len);

	gateway_pass(g, &f, 1);
}

static void host_sends(struct gateway *g, const uint8_t *packet, uint16_t len)
{
	struct frame f = {.port = HOST, .len = len};

	memcpy(f.b, packet, len);
	gateway_host_sends(g, &f);
	gateway_pass(g, NULL, 0);
}

static void expect_into(struct gateway *g, const uint8_t *packet, uint16_t len)
{
	uint8_t inner[FRAME_MAX];

	host_sends(g, packet, len);
	assert_int_equal(inside_sent(g, "to-b", inner), len);
	assert_memory_equal(inner, packet, len);
}

static void test_connection(void **state)
{
	struct gateway *g = gateway_with_host();
	uint8_t packet[FRAME_MAX];
	uint16_t len;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) { // the first packet of a flow, and the next one
		len = ip_write(packet, tcp4("169.254.10.2", "169.254.10.1", 1024, 179));
		receive(g, "from-b", packet, len);
		expect_punted(g, packet, len);
		len = ip_write(packet, tcp4("169.254.10.1", "169.254.10.2", 179, 1024));
		expect_into(g, packet, len);
	}
	gateway_free(g);
}

// By no rule, for it has begun them.
static void test_replies(void **state)
{
	struct gateway *g = gateway_with_host();
	uint8_t packet[FRAME_MAX];
	uint16_t len = ip_write(packet, (struct ipv4)FROM_TO("169.254.10.1", "10.2.7.7",
						.sport = 1024, .dport = 53, .ttl = 1));

	(void)state;
	expect_into(g, packet, len);
	len = ip_write(packet,
		(struct ipv4)FROM_TO("10.2.7.7", "169.254.10.1", .sport = 53, .dport = 1024));
	receive(g, "from-b", packet, len);
	expect_punted(g, packet, len);
	gateway_free(g);
}

// Whatever the gateway's own routes are: those of the kernel have decided.
static void test_sends_into_the_tunnel_alone(void **state)
{
	static const char *const to[] = {"8.8.8.8", "10.3.7.7", "10.1.0.5", "169.254.20.2"};
	struct gateway *g = gateway_with_host();
	uint8_t packet[FRAME_MAX];

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(to); i++)
		expect_into(
			g, packet, ip_write(packet, (struct ipv4)FROM_TO("169.254.10.1", to[i])));
	expect_into(g, packet, ip_write(packet, (struct ipv4)FROM_TO("10.1.0.1", "10.2.7.7")));
	gateway_free(g);
}

// Packets that keep the tunnel up do not depend on it, whatever their source.
static void test_outer_packets(void **state)
{
	static const struct {
		const char *src, *dst;
		uint8_t proto;
		uint16_t sport, dport;
		bool into;
	} rows[] = {
		{"169.254.10.1", "192.0.2.2", IPPROTO_UDP, 500, 500, false},
		{"192.0.2.1", "192.0.2.2", IPPROTO_UDP, 1024, 4500, false},
		{"192.0.2.1", "192.0.2.2", IPPROTO_UDP, 4500, 1024, false},
		{"192.0.2.1", "192.0.2.2", IPPROTO_ESP, 0, 0, false},
		{"192.0.2.1", "192.0.2.2", IPPROTO_UDP, 1024, 53, true},
		{"192.0.2.1", "192.0.2.2", IPPROTO_TCP, 1024, 500, true},
		{"192.0.2.1", "192.0.2.9", IPPROTO_UDP, 500, 500, true},
	};
	struct gateway *g = gateway_with_host();
	uint8_t packet[FRAME_MAX], inner[FRAME_MAX];
	uint16_t len;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		len = ip_write(packet,
			(struct ipv4)FROM_TO(rows[i].src, rows[i].dst, .proto = rows[i].proto,
				.sport = rows[i].sport, .dport = rows[i].dport));
		host_sends(g, packet, len);
		if (rows[i].into)
			assert_int_equal(inside_sent(g, "to-b", inner), len);
		else
			expect_drops(g, DROP_HOST_OUTER, 1);
	}
	gateway_free(g);
}

// The peer of a tunnel without an SA is not known. IKE is not asked for an SA by its own packets.
static void test_outer_packets_without_sa(void **state)
{
	static const char conf[] = "flows = { max = 1024; };\n"
				   "ports = ( { name = \"lan\"; device = \"net_null0\"; addresses "
				   "= [ \"10.1.0.1/24\" ]; } "
				   ");\n"
				   "tunnels = ( { name = \"t\"; if_id = 1; host = \"tt\"; "
				   "addresses = [ \"169.254.10.1/30\" ]; } );\n";
	struct gateway *g = gateway_new(0, conf);
	uint8_t packet[FRAME_MAX];

	(void)state;
	gateway_host_add(g, HOST);
	host_sends(g, packet,
		ip_write(packet, (struct ipv4)FROM_TO(
					 "169.254.10.1", "192.0.2.2", .sport = 500, .dport = 500)));
	expect_drops(g, DROP_HOST_OUTER, 1);
	expect_no_event(g);
	host_sends(g, packet, ip_write(packet, (struct ipv4)FROM_TO("169.254.10.1", "8.8.8.8")));
	expect_drops(g, DROP_TUNNEL_DOWN, 1);
	expect_event(g, EVENT_SA_NEEDED, LAN, "169.254.10.1");
	gateway_free(g);
}

static void test_forged_by_the_host(void **state)
{
	static const char *const from[] = {"10.1.0.5", "10.2.7.7", "169.254.10.2", "8.8.8.8"};
	static const char *const from6[] = {"fe80::c", "fd00:b::2", "fe80::2"};
	struct gateway *g = gateway_with_host();
	uint8_t packet[FRAME_MAX];

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(from); i++) {
		host_sends(
			g, packet, ip_write(packet, (struct ipv4)FROM_TO(from[i], "169.254.10.2")));
		expect_drops(g, DROP_HOST_SOURCE, 1);
	}
	for (unsigned int i = 0; i < RTE_DIM(from6); i++) {
		host_sends(g, packet,
			ip6_write(packet, (struct ipv6){.src = from6[i], .dst = "fd00:b::9"}));
		expect_drops(g, DROP_HOST_SOURCE, 1);
	}
	gateway_free(g);
}

static void test_no_packet_of_the_host(void **state)
{
	static const uint8_t version_5[IP_LEN] = {0x55};
	struct gateway *g = gateway_with_host();
	uint8_t packet[FRAME_MAX];

	(void)state;
	host_sends(g, version_5, sizeof(version_5));
	expect_drops(g, DROP_HOST_FRAME, 1);
	host_sends(g, packet, // neighbour solicitation
		ip6_write(packet, (struct ipv6){.src = "fe80::1",
					  .dst = "ff02::1",
					  .proto = 58,
					  .icmp_type = 135,
					  .hops = 255}));
	expect_drops(g, DROP_HOST_FRAME, 1);
	gateway_free(g);
}

static void test_down(void **state)
{
	struct gateway *g = gateway_with_host();
	uint8_t packet[FRAME_MAX];

	(void)state;
	sa_stop(&gateway_sa_out(g, "to-b")->sa, LIFETIME_PACKETS);
	host_sends(
		g, packet, ip_write(packet, (struct ipv4)FROM_TO("169.254.10.1", "169.254.10.2")));
	expect_drops(g, DROP_TUNNEL_DOWN, 1);
	assert_int_equal(g->n_sent, 0);
	gateway_free(g);
}

static void test_groups(void **state)
{
	static const struct {
		const char *sa, *src, *dst;
		uint8_t proto, ttl;
		enum drop drop;
	} rows[] = {
		{"from-b", "169.254.10.2", "224.0.0.5", OSPF, 1, DROP_NONE},
		{"from-b", "fe80::2", "ff02::5", OSPF, 1, DROP_NONE},
		{"from-b", "169.254.10.2", "224.0.0.5", OSPF, 2, DROP_NOT_UNICAST},
		{"from-b", "169.254.10.2", "224.0.0.18", 112, 1, DROP_NOT_UNICAST}, // by no rule
		{"from-b", "169.254.10.2", "239.1.1.1", OSPF, 1, DROP_NOT_UNICAST}, // of no link
		{"from-b", "fe80::2", "ff05::5", OSPF, 1, DROP_NOT_UNICAST},
		{"from-b", "169.254.20.2", "224.0.0.5", OSPF, 1, DROP_TUNNEL_SOURCE},
		{"from-b", "169.254.10.1", "224.0.0.5", OSPF, 1, DROP_IP_SOURCE},
		{"from-b", "fe80::1", "ff02::5", OSPF, 1, DROP_IP_SOURCE},
		{"from-c", "169.254.20.2", "224.0.0.5", OSPF, 1, DROP_NOT_UNICAST}, // no host
	};
	uint8_t packet[FRAME_MAX];

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		struct gateway *g = gateway_with_host();
		bool v6 = strchr(rows[i].dst, ':') != NULL;
		uint16_t len =
			v6 ? ip6_write(packet, (struct ipv6){.src = rows[i].src,
						       .dst = rows[i].dst,
						       .proto = rows[i].proto,
						       .hops = rows[i].ttl})
			   : ip_write(packet, (struct ipv4)FROM_TO(rows[i].src, rows[i].dst,
						      .proto = rows[i].proto, .ttl = rows[i].ttl));

		print_message("%s to %s\n", rows[i].src, rows[i].dst);
		receive(g, rows[i].sa, packet, len);
		if (rows[i].drop == DROP_NONE)
			expect_punted(g, packet, len);
		else
			expect_drops(g, rows[i].drop, 1);
		gateway_free(g);
	}
}

// Those of routing protocols; reports of groups have nobody to read them.
static void test_groups_of_the_host(void **state)
{
	struct gateway *g = gateway_with_host();
	uint8_t packet[FRAME_MAX];

	(void)state;
	expect_into(g, packet,
		ip_write(packet, (struct ipv4)FROM_TO(
					 "169.254.10.1", "224.0.0.5", .proto = OSPF, .ttl = 1)));
	expect_into(g, packet,
		ip6_write(packet,
			(struct ipv6){
				.src = "fe80::1", .dst = "ff02::5", .proto = OSPF, .hops = 1}));
	expect_into(g, packet,
		ip6_write(
			packet, (struct ipv6){.src = "fe80::1", .dst = "fe80::2", .proto = OSPF}));
	host_sends(g, packet,
		ip_write(packet, (struct ipv4)FROM_TO("169.254.10.1", "224.0.0.22",
					 .proto = IPPROTO_IGMP, .ttl = 1)));
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->n_sent, 0);
	gateway_free(g);
}

static void test_not_for_the_host(void **state)
{
	struct gateway *g = gateway_with_host();
	uint8_t packet[FRAME_MAX];

	(void)state;
	// Of a rule for it, but for an address that is not the tunnel's.
	receive(g, "from-b", packet, ip_write(packet, tcp4("169.254.10.2", "10.1.0.1", 1024, 179)));
	expect_drops(g, DROP_LOCAL_UNSERVED, 1);
	// The gateway answers pings.
	receive(g, "from-b", packet,
		ip_write(packet, (struct ipv4)FROM_TO("169.254.10.2", "169.254.10.1", .proto = 1,
					 .icmp_type = 8)));
	expect_all_sent(g, 1, WAN);
	// By no rule.
	receive(g, "from-b", packet,
		ip_write(packet, tcp4("169.254.10.2", "169.254.10.1", 1024, 22)));
	expect_drops(g, DROP_LOCAL_UNSERVED, 1);
	assert_int_equal(g->n_punted, 0);
	gateway_free(g);
}

static void test_from_the_lan(void **state)
{
	struct gateway *g = gateway_with_host();
	struct frame f = frame_ip(LAN, tcp4("10.1.0.5", "169.254.10.1", 1024, 22));

	(void)state;
	gateway_pass(g, &f, 1);
	expect_punted(g, frame_packet(&f), frame_packet_len(&f));
	gateway_free(g);
}

// The kernel sends answers by its routes, of which a default route may lead into the tunnel. The
// stations are on the link of the port by which their packets came.
static void test_answers_to_ports(void **state)
{
	struct gateway *g = gateway_with_host();
	struct frame f = frame_ip(LAN, tcp4("10.1.0.5", "169.254.10.1", 1024, 22));
	uint8_t packet[FRAME_MAX];
	uint16_t len;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) { // the first packets of the flow, and the next ones
		gateway_pass(g, &f, 1);
		expect_punted(g, frame_packet(&f), frame_packet_len(&f));
		len = ip_write(packet, tcp4("169.254.10.1", "10.1.0.5", 22, 1024));
		host_sends(g, packet, len);
		expect_all_sent(g, 1, LAN);
		assert_memory_equal(frame_packet(&g->sent[0]), packet, len);
	}
	gateway_generation_next(g); // decisions of the flow are old
	host_sends(g, packet, len);
	expect_all_sent(g, 1, LAN);
	// A connection that the host begins goes into the tunnel.
	expect_into(g, packet, ip_write(packet, tcp4("169.254.10.1", "10.1.0.5", 1025, 22)));
	gateway_free(g);
}

static void test_answers_to_another_tunnel(void **state)
{
	struct gateway *g = gateway_with_host();
	uint8_t packet[FRAME_MAX], inner[FRAME_MAX];
	uint16_t len = ip_write(packet, tcp4("169.254.20.2", "169.254.10.1", 1024, 22));

	(void)state;
	receive(g, "from-c", packet, len);
	expect_punted(g, packet, len);
	len = ip_write(packet, tcp4("169.254.10.1", "169.254.20.2", 22, 1024));
	host_sends(g, packet, len);
	assert_int_equal(inside_sent(g, "to-c", inner), len);
	gateway_free(g);
}

static void test_too_big(void **state)
{
	struct gateway *g = gateway_with_host();
	uint8_t packet[FRAME_MAX];
	uint16_t len = ip_write(packet,
		(struct ipv4)FROM_TO("169.254.10.1", "169.254.10.2", .len = 1500, .frag = DF));

	(void)state;
	host_sends(g, packet, len);
	expect_drops(g, DROP_TOO_BIG, 1);
	assert_int_equal(g->n_punted, 1);
	assert_int_equal(g->punted[0].b[9], 1);
	assert_memory_equal(g->punted[0].b + 16, packet + 12, 4);
	gateway_free(g);
}

static void reload(struct gateway *g, const char *b, const char *c)
{
	struct conf *conf = inside_conf(b, c);

	assert_non_null(conf);
	gateway_reload(g, conf);
	conf_free(conf);
}

// A tunnel keeps the number of its host, whose packets may still be in a ring; no other tunnel gets
// it at once.
static void test_numbers(void **state)
{
	static const struct {
		const char *b, *c;
		uint16_t number[2];
	} rows[] = {
		{"host = \"tb\";", "host = \"tc\";", {IFACE_HOST(HOST), IFACE_HOST(HOST + 1)}},
		{"", "host = \"tc\";", {0, IFACE_HOST(HOST + 1)}},
		{"host = \"tb\";", "", {IFACE_HOST(HOST), 0}},
		{"", "host = \"tc\";", {0, IFACE_HOST(HOST + 1)}},
	};
	struct gateway *g = gateway_with_host();

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		reload(g, rows[i].b, rows[i].c);
		for (unsigned int t = 0; t < 2; t++)
			assert_int_equal(g->snapshot->tunnel[t].host.iface, rows[i].number[t]);
	}
	gateway_free(g);
}

// Packets of programs for a tunnel go into no other one that has its number while its device is
// still there.
static void test_former_tunnel(void **state)
{
	struct gateway *g = gateway_with_host();
	const uint32_t since = g->snapshot->host_since[HOST];
	struct frame f = {.port = HOST};

	(void)state;
	reload(g, "", "");
	reload(g, "", "host = \"tc\";");
	assert_int_equal(g->snapshot->tunnel[1].host.iface, IFACE_HOST(HOST));
	f.len = ip_write(f.b, (struct ipv4)FROM_TO("169.254.20.1", "169.254.20.2"));
	gateway_host_sends_since(g, &f, since);
	gateway_pass(g, NULL, 0);
	expect_drops(g, DROP_HOST_DOWN, 1);
	gateway_host_sends(g, &f);
	gateway_pass(g, NULL, 0);
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->n_sent, 1);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_connection),
		pipeline_test(test_replies),
		pipeline_test(test_sends_into_the_tunnel_alone),
		pipeline_test(test_outer_packets),
		pipeline_test(test_outer_packets_without_sa),
		pipeline_test(test_forged_by_the_host),
		pipeline_test(test_no_packet_of_the_host),
		pipeline_test(test_down),
		pipeline_test(test_groups),
		pipeline_test(test_groups_of_the_host),
		pipeline_test(test_not_for_the_host),
		pipeline_test(test_from_the_lan),
		pipeline_test(test_answers_to_ports),
		pipeline_test(test_answers_to_another_tunnel),
		pipeline_test(test_too_big),
		pipeline_test(test_numbers),
		pipeline_test(test_former_tunnel),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
