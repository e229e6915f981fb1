// SPDX-License-Identifier: BSD-3-Clause
// Proves that a query about a packet and the packet itself have the same result, for each row of a
// table.
#include "addrs.h"
#include "match.h"
#include "peer.h"
#include "site.h"

static const char rules[] = "rules = ( { name = \"no-ssh\"; action = \"reject\"; proto = \"tcp\";"
			    " destination_port = \"22\"; } );";

struct row {
	const char *src, *dst;
	uint8_t proto;
	uint16_t port;
	uint16_t in;
	const char *policy; // outbound, or inbound out of a tunnel
	const char *sa_out, *sa_in, *rule;
	enum drop reason;
	int egress; // -1: none
};

static const struct row rows[] = {
	{"10.1.0.5", "10.2.0.5", IPPROTO_UDP, 53, LAN, "b", "to-b", NULL, "(default)", DROP_NONE,
		WAN},
	{"10.1.0.5", "10.2.0.5", IPPROTO_TCP, 22, LAN, "b", "to-b", NULL, "no-ssh",
		DROP_RULE_REJECT, WAN},
	{"10.1.0.5", "10.3.0.5", IPPROTO_ICMP, 0, LAN, "c", "to-c", NULL, "(default)", DROP_NONE,
		WAN},
	{"10.2.0.5", "10.1.0.5", IPPROTO_UDP, 53, WAN, "b", NULL, "from-b", "(default)", DROP_NONE,
		LAN},
	{"10.1.0.5", "203.0.113.5", IPPROTO_UDP, 53, LAN, "bad", NULL, NULL, NULL,
		DROP_POLICY_DISCARD, WAN},
	{"10.1.0.5", "192.88.99.9", IPPROTO_UDP, 53, LAN, NULL, NULL, NULL, NULL, DROP_NO_POLICY,
		-1},
	{"10.1.0.5", "224.0.0.1", IPPROTO_UDP, 53, LAN, NULL, NULL, NULL, NULL, DROP_NOT_UNICAST,
		-1},
};

static struct match_query query_of(const struct row *r)
{
	return (struct match_query){.source = addr_of(r->src),
		.destination = addr_of(r->dst),
		.proto = r->proto,
		.source_port = 1000,
		.destination_port = r->port};
}

static void check_name(const char *got, const char *wanted)
{
	if (wanted == NULL)
		assert_null(got);
	else
		assert_string_equal(got, wanted);
}

static void check_row(const struct gateway *g, const struct row *r)
{
	const struct match_query q = query_of(r);
	const struct spd_policy *policy;
	struct match m;

	assert_int_equal(match_run(&m, g->w, g->snapshot, &q), 0);
	policy = r->sa_in != NULL ? m.in_by : m.out_by;
	assert_int_equal(m.reason, r->reason);
	assert_int_equal(m.iface, r->in);
	check_name(policy != NULL ? policy->name : NULL, r->policy);
	check_name(m.sa_out != NULL ? m.sa_out->sa.live.name : NULL, r->sa_out);
	check_name(m.sa_in != NULL ? m.sa_in->sa.live.name : NULL, r->sa_in);
	check_name(m.rule != NULL ? m.rule->name : NULL, r->rule);
	assert_int_equal(m.nexthop != NULL ? m.nexthop->iface : -1, r->egress);
	if (r->reason == DROP_NONE && m.sa_out != NULL)
		assert_int_equal(m.mtu, sa_out_path(m.sa_out)->mtu);
	else
		assert_int_equal(m.mtu, r->reason == DROP_NONE ? 1500 : 0);
}

// Nothing is counted, sent or stored for a query.
static void check_untouched(struct gateway *g)
{
	assert_int_equal(gateway_lookups(g), 0);
	assert_int_equal(flow_count(g->flows), 0);
	expect_no_event(g);
}

static void test_queries(void **state)
{
	struct gateway *g = site_a((struct site){.more = rules});

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(rows); i++)
		check_row(g, &rows[i]);
	check_untouched(g);
	gateway_free(g);
}

// Packets in clear of the same rows have the result of the query.
static void test_packets(void **state)
{
	struct gateway *g = site_a((struct site){.more = rules});

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(rows); i++) {
		const struct row *r = &rows[i];
		struct frame f = frame_ip(LAN,
			(struct ipv4){
				.src = r->src, .dst = r->dst, .sport = 1000, .dport = r->port});

		if (r->sa_in != NULL || r->proto != IPPROTO_UDP)
			continue;
		if (r->reason == DROP_NONE)
			gateway_expect_sent(g, &f, (uint16_t)r->egress);
		else
			gateway_expect_drop(g, &f, r->reason);
	}
	gateway_free(g);
}

// Rules of nat: the rules, the ends on the wire, the route and the policy of these.
static void test_translated(void **state)
{
	struct gateway *g = site_a((struct site){
		.policies =
			",{ name = \"own\"; local = \"192.0.2.1\"; remote = \"198.51.100.0/24\"; "
			"action = \"bypass\"; }",
		.more = "nat = ( { name = \"web\"; action = \"destination\"; destination = "
			"\"10.9.9.9\"; proto = "
			"\"udp\"; destination_port = \"80\"; to = \"198.51.100.7\"; to_port = "
			"\"8080\"; },"
			" { name = \"out\"; action = \"source\"; out = \"wan\"; to = "
			"\"192.0.2.1\"; "
			"proto = \"udp\"; to_port = \"5000\"; } );"});
	const struct match_query q = query_of(&(struct row){
		.src = "10.1.0.5", .dst = "10.9.9.9", .proto = IPPROTO_UDP, .port = 80});
	struct frame f = frame_ip(LAN,
		(struct ipv4){.src = "10.1.0.5", .dst = "10.9.9.9", .sport = 2000, .dport = 80});
	struct match m;

	(void)state;
	assert_int_equal(match_run(&m, g->w, g->snapshot, &q), 0);
	assert_int_equal(m.reason, DROP_NONE);
	assert_string_equal(m.nat[NAT_TO]->name, "web");
	assert_string_equal(m.nat[NAT_FROM]->name, "out");
	assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&m.to.src)), ip_number("192.0.2.1"));
	assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&m.to.dst)), ip_number("198.51.100.7"));
	assert_int_equal(rte_be_to_cpu_16(m.to.src_port), 5000);
	assert_int_equal(rte_be_to_cpu_16(m.to.dst_port), 8080);
	assert_string_equal(m.out_by->name, "own");
	assert_int_equal(m.nexthop->iface, WAN);
	check_untouched(g);
	// Once a flow has the only port, there is none for another.
	gateway_expect_sent(g, &f, WAN);
	assert_int_equal(match_run(&m, g->w, g->snapshot, &q), 0);
	assert_int_equal(m.reason, DROP_NAT_PORTS);
	gateway_free(g);
}

static void test_impossible(void **state)
{
	static const struct {
		const char *src, *dst;
		int rc;
	} bad[] = {
		{"10.1.0.5", "2001:db8::1", -EINVAL},
		{"10.1.0.1", "10.2.0.5", -EADDRINUSE},
		{"224.0.0.1", "10.2.0.5", -EHOSTUNREACH},
	};
	struct gateway *g = site_a((struct site){0});
	struct match m;

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(bad); i++) {
		const struct match_query q =
			query_of(&(struct row){.src = bad[i].src, .dst = bad[i].dst});

		assert_int_equal(match_run(&m, g->w, g->snapshot, &q), bad[i].rc);
	}
	gateway_free(g);
}

static const char host_rules[] =
	"rules = ("
	" { name = \"ssh\"; host = true; action = \"accept\"; proto = \"tcp\"; destination_port = "
	"\"22\"; },"
	" { name = \"no\"; host = true; action = \"reject\"; proto = \"tcp\"; destination_port = "
	"\"23\"; },"
	" { name = \"lan\"; host = true; action = \"accept\"; proto = \"udp\"; in = \"lan\"; "
	"destination_port = \"161\"; },"
	" { name = \"tunnel\"; host = true; action = \"accept\"; proto = \"udp\"; tunnel = \"b\"; "
	"destination_port = \"162\"; },"
	" { name = \"forwarded\"; action = \"drop\"; proto = \"udp\"; destination_port = \"163\"; "
	"} );";

// Packets to own addresses: for the host, answered, or dropped.
struct own_row {
	const char *what, *src, *dst;
	uint8_t proto;
	uint16_t port;
	const char *rule;
	enum drop reason;
	bool local, host;
};

static const struct own_row own_rows[] = {
	{"ping", "10.1.0.5", "10.1.0.1", IPPROTO_ICMP, 0, NULL, DROP_NONE, true, false},
	{"rule", "10.1.0.5", "10.1.0.1", IPPROTO_TCP, 22, "ssh", DROP_NONE, false, true},
	{"rule, address of another port", "10.1.0.5", "192.0.2.1", IPPROTO_TCP, 22, "ssh",
		DROP_NONE, false, true},
	{"rule that rejects", "10.1.0.5", "10.1.0.1", IPPROTO_TCP, 23, "no", DROP_RULE_REJECT,
		false, true},
	{"no rule", "10.1.0.5", "10.1.0.1", IPPROTO_TCP, 179, NULL, DROP_LOCAL_UNSERVED, true,
		false},
	{"rule of a port", "10.1.0.5", "10.1.0.1", IPPROTO_UDP, 161, "lan", DROP_NONE, false, true},
	{"rule about forwarded packets", "10.1.0.5", "10.1.0.1", IPPROTO_UDP, 163, NULL,
		DROP_LOCAL_UNSERVED, true, false},
	{"no host", "10.7.0.5", "10.7.0.1", IPPROTO_TCP, 22, NULL, DROP_LOCAL_UNSERVED, true,
		false},
	{"no policy", "192.0.2.2", "10.1.0.1", IPPROTO_TCP, 22, NULL, DROP_NO_POLICY, false, true},
	{"out of the tunnel", "10.2.0.5", "10.1.0.1", IPPROTO_UDP, 162, "tunnel", DROP_NONE, false,
		true},
	{"rule of the tunnel, beside it", "10.1.0.5", "10.1.0.1", IPPROTO_UDP, 162, NULL,
		DROP_LOCAL_UNSERVED, true, false},
};

static void check_own(const struct gateway *g, const struct own_row *r)
{
	const struct match_query q = query_of(
		&(struct row){.src = r->src, .dst = r->dst, .proto = r->proto, .port = r->port});
	struct match m;

	assert_int_equal(match_run(&m, g->w, g->snapshot, &q), 0);
	if (m.reason != r->reason || m.local != r->local || m.host != r->host)
		fail_msg("%s: reason %s local %d host %d", r->what, drop_info[m.reason].name,
			m.local, m.host);
	check_name(m.rule != NULL ? m.rule->name : NULL, r->rule);
}

// The same row as a packet: punted, answered or dropped, as in the answer to the query.
static void check_own_packet(struct gateway *g, struct peer *b, const struct own_row *r)
{
	const struct ipv4 ip = {.src = r->src,
		.dst = r->dst,
		.proto = r->proto,
		.sport = 1000,
		.dport = r->port,
		.icmp_type = 8};
	struct match_query q = query_of(&(struct row){.src = r->src, .dst = r->dst});
	const struct nexthop *back = gateway_route(g, &q.source);
	bool sealed = strcmp(r->src, "10.2.0.5") == 0;
	struct frame f = sealed ? peer_seal_ip(b, 1, ip) : frame_ip(back->iface, ip);

	gateway_pass(g, &f, 1);
	assert_int_equal(g->n_punted, r->host && r->reason == DROP_NONE);
	if (r->reason != DROP_NONE)
		expect_drops(g, r->reason, 1);
}

static void test_own(void **state)
{
	struct gateway *g = site_a_host(LAN, (struct site){.more = host_rules});
	struct peer b = peer_new(g, "from-b");

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(own_rows); i++)
		check_own(g, &own_rows[i]);
	check_untouched(g);
	for (unsigned int i = 0; i < COUNT_OF(own_rows); i++)
		check_own_packet(g, &b, &own_rows[i]);
	peer_free(&b);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_queries),
		pipeline_test(test_packets),
		pipeline_test(test_translated),
		pipeline_test(test_impossible),
		pipeline_test(test_own),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
