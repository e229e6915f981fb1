// SPDX-License-Identifier: BSD-3-Clause
// Peers of ESP in UDP (RFC 3948) that move, or whose endpoint is unknown.
#include "addrs.h"
#include "line_memory.h"
#include "peer.h"
#include "site.h"
#include "udp.h"

static const struct ipv4 to_b = FROM_TO("10.1.0.5", "10.2.0.5"),
			 to_a = FROM_TO("10.2.0.5", "10.1.0.5");

// Other events, for example of the audit log, may be queued.
static void expect_not_moved(struct gateway *g)
{
	struct event e;

	while (worker_event_dequeue(g->w, &e))
		assert_int_not_equal(e.kind, EVENT_PEER_ENDPOINT);
}

static void expect_moved(struct gateway *g, const char *addr, uint16_t port)
{
	struct event e;

	if (!worker_event_dequeue(g->w, &e))
		fail_msg("no peer moved to %s", addr);
	assert_int_equal(e.kind, EVENT_PEER_ENDPOINT);
	assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&e.addr)), ip_number(addr));
	assert_int_equal(rte_be_to_cpu_16(e.addr_port), port);
	assert_int_equal(rte_be_to_cpu_32(e.spi), 0x1002);
	expect_not_moved(g);
}

static struct frame from(const struct peer *b, uint64_t seq, const char *addr, uint16_t port)
{
	struct frame f = peer_seal_ip(b, seq, to_a);

	put32(f.b + ETH_LEN + 12, ip_number(addr));
	return udp_insert(&f, port, NATT);
}

static struct sa_peer *peer_at(const char *addr, uint16_t port)
{
	struct sa_peer *p = line_calloc(1, sizeof(*p));

	assert_non_null(p);
	p->addr = addr_of(addr);
	p->port = rte_cpu_to_be_16(port);
	return p;
}

// Only an authenticated packet with the highest number changes the endpoint of the peer, and an
// event is posted only if it differs.
static void test_authentic_newest_packet_moves_peer(void **state)
{
	struct gateway *a = site_a((struct site){.sa = IN_UDP});
	struct sa_in *sa = gateway_sa_in(a, "from-b");
	struct peer b = peer_new(a, "from-b");
	struct frame f, burst[3];

	(void)state;
	f = from(&b, 10, "192.0.2.2", 1025);
	gateway_expect_sent(a, &f, LAN);
	expect_moved(a, "192.0.2.2", 1025);
	assert_null(sa_in_endpoint_set(sa, peer_at("192.0.2.2", 1025), 0));

	f = from(&b, 11, "192.0.2.2", 1025);
	gateway_expect_sent(a, &f, LAN);
	expect_not_moved(a);
	f = from(&b, 5, "192.0.2.2", 1026); // late
	gateway_expect_sent(a, &f, LAN);
	expect_not_moved(a);
	f = from(&b, 11, "192.0.2.2", 1026); // again
	gateway_expect_drop(a, &f, DROP_REPLAY);
	expect_not_moved(a);
	f = from(&b, 12, "192.0.2.2", 1026); // forged
	f.b[f.len - 1] ^= 1;
	gateway_expect_drop(a, &f, DROP_AUTH);
	expect_not_moved(a);
	f = from(&b, 12, "192.0.2.2", 0); // packets could not be sent there
	gateway_expect_sent(a, &f, LAN);
	expect_not_moved(a);
	f = from(&b, 13, "192.0.2.2", 1026);
	gateway_expect_sent(a, &f, LAN);
	expect_moved(a, "192.0.2.2", 1026);
	f = from(&b, 14, "198.51.100.7", 1025);
	gateway_expect_sent(a, &f, LAN);
	expect_moved(a, "198.51.100.7", 1025);
	for (unsigned int i = 0; i < 3; i++) // one event for all
		burst[i] = from(&b, 20 + i, "192.0.2.2", (uint16_t)(2000 + i));
	gateway_pass(a, burst, 3);
	expect_drops(a, DROP_NONE, 0);
	expect_moved(a, "192.0.2.2", 2002);
	peer_free(&b);
	gateway_free(a);
}

// Replaces the first occurrence of a text. False if there is none.
static bool replace(char *text, const char *from, const char *to)
{
	char *at = strstr(text, from);

	if (at == NULL)
		return false;
	memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
	memcpy(at, to, strlen(to));
	return true;
}

// Gateway A, whose peers may have any address.
static struct gateway *waiting(void)
{
	char text[8192];

	site_a_conf(text, sizeof(text), (struct site){.sa = IN_UDP});
	assert_true(replace(text, IN_UDP, " udp = { follow = true; };")); // of to-b
	while (replace(text, "remote = \"192.0.2.2\"", "remote = \"any\""))
		;
	assert_true(replace(text, "remote = \"192.0.2.3\"",
		"remote = \"any\"; udp = { follow = true; }")); // of to-c
	assert_true(replace(text, "remote = \"192.0.2.3\"", "remote = \"any\"; udp = { }"));
	return gateway_new(0, text);
}

// Nothing can be sent to a peer before a packet of it was received, and everything to its endpoint
// after that.
static void test_unknown_peer_gets_nothing(void **state)
{
	static const struct nexthop nh = {.kind = NEXTHOP_CONNECTED, .iface = WAN};
	struct gateway *a = waiting();
	struct sa_out *sa = gateway_sa_out(a, "to-b");
	struct peer b = peer_new(a, "to-b");
	struct frame f = frame_ip(LAN, to_b), wire;
	struct sa_peer *at = peer_at("192.0.2.3", 1025);
	uint8_t inner[FRAME_MAX];

	(void)state;
	gateway_expect_drop(a, &f, DROP_PEER_UNKNOWN);
	assert_int_equal(sa_dropped(&sa->sa.per_worker[0], DROP_PEER_UNKNOWN), 1);
	line_free(sa_out_path_set(sa, sa_path_new(&sa->sa, &sa->sa.opt.local, at, &nh, 1500)));
	wire = *gateway_expect_sent(a, &f, WAN);
	wire = udp_remove(&wire, NATT, 1025);
	assert_int_equal(be32(frame_packet(&wire) + 16), ip_number("192.0.2.3"));
	put32(wire.b + ETH_LEN + 16, 0); // values of the configuration
	ip_checksum_update(wire.b + ETH_LEN);
	assert_int_equal(peer_open(&b, &wire, inner), 60);
	line_free(at);
	peer_free(&b);
	gateway_free(a);
}

// Peers with any address are separate: none affects another's traffic.
static void test_unknown_are_different(void **state)
{
	static const struct {
		const char *to;
		enum drop drop;
	} rows[] = {{"10.2.0.5", DROP_NONE}, {"10.3.0.5", DROP_SELECTOR}};
	struct gateway *a = waiting();
	struct peer b = peer_new(a, "from-b");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ipv4 ip = FROM_TO("10.1.0.5", rows[i].to, .sport = 1, .dport = 2);
		struct frame f = frame_ip(LAN, ip);
		uint8_t text[FRAME_MAX];
		uint16_t len;

		gateway_expect_drop(a, &f, DROP_PEER_UNKNOWN);
		len = error_write(text, "10.2.0.9", ip.src, 3, 1, frame_packet(&f));
		len = peer_trailer(&b, text, len, IPPROTO_IPIP);
		f = peer_seal(&b, (struct esp){.seq = i + 1, .text = text, .text_len = len});
		put32(f.b + ETH_LEN + 12, ip_number("192.0.2.2"));
		f = udp_insert(&f, NATT, NATT);
		gateway_pass(a, &f, 1);
		expect_drops(a, rows[i].drop, rows[i].drop != DROP_NONE);
	}
	peer_free(&b);
	gateway_free(a);
}

// Workers share a tunnel: a copy of a packet, sent from elsewhere and opened in the same burst,
// moves nobody; the next packets do, also of another peer in the same burst.
static void test_copies_move_nobody(void **state)
{
	struct gateway *g[2] = {
		site_a((struct site){.sa = IN_UDP, .more = "cpus = { workers = [ 0, 1 ]; };"})};
	struct worker *w[2];
	struct peer b = peer_new(g[0], "from-b");
	static struct frame f[40];

	(void)state;
	g[1] = gateway_second(g[0], 1);
	gateways_share(g, w, 2);
	f[0] = from(&b, 10, "192.0.2.2", 1025);
	gateway_receive(g[0], f, 1);
	gateway_help(g[1]);
	gateway_keep(g[0]);
	expect_moved(g[0], "192.0.2.2", 1025);
	assert_null(
		sa_in_endpoint_set(gateway_sa_in(g[0], "from-b"), peer_at("192.0.2.2", 1025), 0));

	f[0] = from(&b, 11, "192.0.2.2", 1025);
	f[1] = from(&b, 11, "192.0.2.9", 4000); // the copy
	gateway_receive(g[0], f, 2);
	gateway_help(g[1]);
	gateway_keep(g[0]);
	expect_not_moved(g[0]);

	f[0] = from(&b, 12, "192.0.2.2", 1026);
	f[1] = from(&b, 12, "192.0.2.9", 4000);
	gateway_receive(g[0], f, 2);
	gateway_help(g[1]);
	gateway_keep(g[0]);
	expect_moved(g[0], "192.0.2.2", 1026);

	// Neither are those in front of the newest too many, nor copies of them from elsewhere.
	for (unsigned int i = 0; i < COUNT_OF(f); i++)
		f[i] = from(&b, 20 + i / 2, i % 2 == 0 ? "192.0.2.2" : "192.0.2.9", 1027);
	gateway_receive(g[0], f, COUNT_OF(f));
	gateway_help(g[1]);
	gateway_keep(g[0]);
	expect_moved(g[0], "192.0.2.2", 1027);
	for (unsigned int i = 0; i < 2; i++)
		gateway_pass(g[i], NULL, 0);
	peer_free(&b);
	gateway_free(g[1]);
	gateway_free(g[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_authentic_newest_packet_moves_peer),
		pipeline_test(test_copies_move_nobody),
		pipeline_test(test_unknown_peer_gets_nothing),
		pipeline_test(test_unknown_are_different),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
