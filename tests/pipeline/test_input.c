// SPDX-License-Identifier: BSD-3-Clause
// Proves that frames with one mistake each are dropped for its reason; and ARP.
#include "site.h"

static const struct ipv4 good = {.src = "10.1.0.5", .dst = "198.51.100.9"};

struct row {
	const char *name;
	uint16_t at, value; // two octets of the frame to change
	uint16_t len;       // length of the frame, if not 0
	enum drop drop;
	bool right_sum; // of the IP header
};

static void check_rows(const struct row rows[], size_t n, struct frame whole)
{
	struct gateway *g = site_a((struct site){0});

	for (size_t i = 0; i < n; i++) {
		struct frame f = whole;

		print_message("%s\n", rows[i].name);
		if (rows[i].at != 0 || rows[i].value != 0)
			put16(f.b + rows[i].at, rows[i].value);
		if (rows[i].right_sum)
			ip_checksum_update(f.b + ETH_LEN);
		if (rows[i].len != 0)
			f.len = rows[i].len;
		gateway_pass(g, &f, 1);
		expect_drops(g, rows[i].drop, rows[i].drop != DROP_NONE ? 1 : 0);
		assert_int_equal(g->n_sent, rows[i].drop != DROP_NONE ? 0 : 1);
	}
	gateway_free(g);
}

static void test_frames(void **state)
{
	static const struct row rows[] = {
		{"right", .drop = DROP_NONE},
		{"one octet", .len = 1, .drop = DROP_FRAME_SHORT},
		{"no type", .len = 13, .drop = DROP_FRAME_SHORT},
		{"no IP", .len = 14, .drop = DROP_FRAME_SHORT},
		{"half an IP header", .len = 33, .drop = DROP_FRAME_SHORT},
		{"IP packet truncated", .len = 73, .drop = DROP_IP_TRUNCATED},
		{"padded", .len = 200, .drop = DROP_NONE},
		{"to another station", 4, 0x0101, .drop = DROP_MAC_OTHER},
		{"to a group", 0, 0x0100, .drop = DROP_NOT_UNICAST},
		{"IPv6, but it is IPv4", 12, 0x86dd, .drop = DROP_IP_HEADER},
		{"VLAN", 12, 0x8100, .drop = DROP_ETHERTYPE},
		{"length field", 12, 60, .drop = DROP_ETHERTYPE},
		{"version 6", 14, 0x6500, .right_sum = true, .drop = DROP_IP_HEADER},
		{"version 0", 14, 0x0500, .right_sum = true, .drop = DROP_IP_HEADER},
		{"header of 16 octets", 14, 0x4400, .right_sum = true, .drop = DROP_IP_HEADER},
		{"header longer than packet", 14, 0x4f00, .len = 50, .drop = DROP_IP_TRUNCATED},
		{"packet shorter than header", 16, 19, .right_sum = true, .drop = DROP_IP_HEADER},
		{"packet longer than frame", 16, 61, .right_sum = true, .drop = DROP_IP_TRUNCATED},
		{"a bit in the TOS", 14, 0x4501, .drop = DROP_IP_CHECKSUM},
		{"checksum 0", 24, 0, .drop = DROP_IP_CHECKSUM},
		{"checksum 0xffff", 24, 0xffff, .drop = DROP_IP_CHECKSUM},
		{"from 0.1.0.5", 26, 0x0001, .right_sum = true, .drop = DROP_IP_SOURCE},
		{"from 127.1.0.5", 26, 0x7f01, .right_sum = true, .drop = DROP_IP_SOURCE},
		{"from 224.1.0.5", 26, 0xe001, .right_sum = true, .drop = DROP_IP_SOURCE},
		{"from 239.1.0.5", 26, 0xef01, .right_sum = true, .drop = DROP_IP_SOURCE},
		{"to 0.51.100.9", 30, 0x0033, .right_sum = true, .drop = DROP_NOT_UNICAST},
		{"to 127.51.100.9", 30, 0x7f33, .right_sum = true, .drop = DROP_NOT_UNICAST},
		{"to 224.51.100.9", 30, 0xe033, .right_sum = true, .drop = DROP_NOT_UNICAST},
		{"to 239.51.100.9", 30, 0xef33, .right_sum = true, .drop = DROP_NOT_UNICAST},
	};

	(void)state;
	check_rows(rows, COUNT_OF(rows), frame_ip(LAN, good));
}

static void test_broadcast(void **state)
{
	static const char *const to[] = {"255.255.255.255", "10.1.0.255", "10.1.0.0", "10.7.0.255",
		"192.0.2.255", "192.0.2.0"};
	struct gateway *g = site_a((struct site){0});

	(void)state;
	for (size_t i = 0; i < COUNT_OF(to); i++) {
		struct frame f = frame_ip(LAN, (struct ipv4){.src = "10.1.0.5", .dst = to[i]});

		gateway_expect_drop(g, &f, DROP_NOT_UNICAST);
		memset(f.b, 0xff, 6);
		gateway_expect_drop(g, &f, DROP_NOT_UNICAST);
		assert_int_equal(g->n_sent, 0); // and no error is sent
	}
	gateway_free(g);
}

// The device has checked the checksum: its result is used.
static void test_checksum_offload(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = frame_ip(LAN, good);
	struct rte_mbuf *m;

	(void)state;
	put16(f.b + 24, be16(f.b + 24) ^ 1);
	m = frame_mbuf(&f);
	m->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	gateway_pass_mbufs(g, &m, 1);
	expect_all_sent(g, 1, WAN);
	m = frame_mbuf(&f);
	m->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_UNKNOWN;
	gateway_pass_mbufs(g, &m, 1);
	expect_drops(g, DROP_IP_CHECKSUM, 1);
	gateway_free(g);
}

// ARP

static void test_arp_request(void **state)
{
	static const uint8_t answer[] = {
		2,
		0,
		0,
		0,
		2,
		0,
		2,
		0,
		0,
		0,
		1,
		0,
		0x08,
		0x06,
		0,
		1,
		0x08,
		0x00,
		6,
		4,
		0,
		2,
		2,
		0,
		0,
		0,
		1,
		0,
		10,
		1,
		0,
		1,
		2,
		0,
		0,
		0,
		2,
		0,
		10,
		1,
		0,
		77,
	};
	struct gateway *g = site_a((struct site){0});
	struct frame f = frame_arp(LAN, 1, "10.1.0.77", "10.1.0.1");

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		const struct frame *sent = gateway_expect_sent(g, &f, LAN);

		assert_int_equal(sent->len, sizeof(answer));
		assert_memory_equal(sent->b, answer, sizeof(answer));
		assert_int_equal(g->last.local, 1);
		expect_event(g, EVENT_NEIGH_HEARD, LAN, "10.1.0.77");
		expect_no_event(g);
		if (i == 0)
			f.len = 60; // padded
		else
			memcpy(f.b, mac_of_port(LAN), 6); // unicast request: a refresh
	}
	gateway_free(g);
}

// Messages for other stations are dropped: processed, but not answered.
static void test_arp_of_others(void **state)
{
	static const struct {
		uint16_t port, operation;
		const char *sender, *target;
		enum { IGNORED, PROCESSED, FOR_US } as;
	} rows[] = {
		{LAN, 1, "10.1.0.5", "10.1.0.78", PROCESSED}, // of a neighbour in use
		{LAN, 1, "10.1.0.5", "192.0.2.1", PROCESSED}, // for another port
		{LAN, 1, "10.1.0.5", "10.1.0.5", PROCESSED},  // announces itself
		{LAN, 2, "10.1.0.5", "10.1.0.77", PROCESSED},
		{LAN, 2, "10.1.0.77", "10.1.0.1", FOR_US},
		{WAN, 2, "192.0.2.9", "192.0.2.1", FOR_US},
		{LAN, 1, "10.1.0.77", "10.1.0.78", IGNORED},
		{LAN, 1, "10.1.0.77", "10.1.0.77", IGNORED},
		{LAN, 2, "10.1.0.77", "10.1.0.5", IGNORED},
		{WAN, 1, "10.1.0.5", "10.1.0.77", IGNORED}, // from another port
	};
	struct gateway *g = site_a((struct site){0});

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct frame f =
			frame_arp(rows[i].port, rows[i].operation, rows[i].sender, rows[i].target);
		struct event e;

		gateway_pass(g, &f, 1);
		expect_drops(g, DROP_NONE, 0);
		assert_int_equal(g->n_sent, 0);
		assert_int_equal(g->last.local, 1);
		if (rows[i].as == IGNORED) {
			expect_no_event(g);
			continue;
		}
		assert_true(worker_event_dequeue(g->w, &e));
		assert_int_equal(e.kind, EVENT_NEIGH_HEARD);
		assert_int_equal(e.port, rows[i].port);
		assert_int_equal(e.for_us, rows[i].as == FOR_US);
		assert_memory_equal(&e.mac, mac_of_neighbour(rows[i].port), 6);
		expect_no_event(g);
	}
	gateway_free(g);
}

// RFC 5227: a probe is answered, but its sender is not learnt; an own address used by another
// station is a conflict.
static void test_arp_conflict(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame probe = frame_arp(LAN, 1, "0.0.0.0", "10.1.0.1");
	struct frame announcement = frame_arp(LAN, 1, "10.1.0.1", "10.1.0.1");
	struct frame reply = frame_arp(LAN, 2, "10.1.0.1", "10.1.0.77");

	(void)state;
	gateway_expect_sent(g, &probe, LAN);
	expect_no_event(g);
	gateway_pass(g, &announcement, 1);
	expect_drops(g, DROP_NONE, 0);
	expect_event(g, EVENT_ADDR_CONFLICT, LAN, "10.1.0.1");
	expect_no_event(g);
	gateway_pass(g, &reply, 1);
	expect_event(g, EVENT_ADDR_CONFLICT, LAN, "10.1.0.1");
	gateway_free(g);
}

static void test_arp_malformed(void **state)
{
	static const struct row rows[] = {
		{"truncated", .len = 41, .drop = DROP_ARP_MALFORMED},
		{"nothing", .len = 14, .drop = DROP_ARP_MALFORMED},
		{"hardware", 14, 6, .drop = DROP_ARP_MALFORMED},
		{"protocol", 16, 0x86dd, .drop = DROP_ARP_MALFORMED},
		{"lengths", 18, 0x0804, .drop = DROP_ARP_MALFORMED},
		{"lengths", 18, 0x0610, .drop = DROP_ARP_MALFORMED},
		{"operation", 20, 3, .drop = DROP_ARP_MALFORMED},
		{"sender is a group", 22, 0x0300, .drop = DROP_ARP_MALFORMED},
	};

	(void)state;
	check_rows(rows, COUNT_OF(rows), frame_arp(LAN, 1, "10.1.0.77", "10.1.0.1"));
}

// Routers of a virtual address send from their own link address, and claim the virtual one (RFC
// 5798 8.1.2). The frames are for a port with the link address of DMZ and the address of WAN.
static void test_arp_virtual_router(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame reply = frame_hex(WAN,
		"0200000001020200000055060806000108000604000200005e00010ac0000202020000000102c000"
		"0201");
	struct frame announcement = frame_hex(WAN,
		"ffffffffffff0200000055060806000108000604000100005e00010bc0000202000000000000c000"
		"0202");
	struct frame request = frame_arp(LAN, 1, "10.1.0.77", "10.1.0.1");
	struct event e;

	(void)state;
	gateway_pass(g, &reply, 1);
	expect_drops(g, DROP_NONE, 0);
	assert_true(worker_event_dequeue(g->w, &e));
	assert_int_equal(e.kind, EVENT_NEIGH_HEARD);
	assert_memory_equal(&e.mac, reply.b + 22, 6);
	gateway_pass(g, &announcement, 1);
	expect_drops(g, DROP_NONE, 0);
	assert_true(worker_event_dequeue(g->w, &e));
	assert_int_equal(e.kind, EVENT_NEIGH_HEARD);
	assert_memory_equal(&e.mac, announcement.b + 22, 6);
	request.b[11] = 0x99; // the frame is from another link address
	gateway_expect_sent(g, &request, LAN);
	assert_memory_equal(g->sent[0].b, mac_of_neighbour(LAN), 6); // to the sender (RFC 826)
	gateway_free(g);
}

// A tag with a priority alone is as none.
static void test_priority_tag(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame arp = frame_hex(WAN,
		"ffffffffffff0200000055098100e00008060001080006040001020000005509c0000209000000"
		"000000c0000201");
	struct frame plain = frame_ip(LAN, good), tagged = plain;

	(void)state;
	gateway_expect_sent(g, &arp, WAN);
	assert_int_equal(be16(g->sent[0].b + 12), 0x0806);
	assert_int_equal(be16(g->sent[0].b + ETH_LEN + 6), 2);
	memmove(tagged.b + 16, plain.b + 12, plain.len - 12u);
	put32(tagged.b + 12, 0x8100e000);
	tagged.len += 4;
	gateway_expect_sent(g, &plain, WAN);
	plain = g->sent[0];
	gateway_expect_sent(g, &tagged, WAN);
	assert_memory_equal(g->sent[0].b, plain.b, plain.len);
	put16(tagged.b + 14, 0xe001); // of a VLAN
	gateway_expect_drop(g, &tagged, DROP_ETHERTYPE);
	put16(tagged.b + 14, 0xe000);
	tagged.len = 16;
	gateway_expect_drop(g, &tagged, DROP_ETHERTYPE);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_frames),
		pipeline_test(test_broadcast),
		pipeline_test(test_checksum_offload),
		pipeline_test(test_arp_request),
		pipeline_test(test_arp_of_others),
		pipeline_test(test_arp_conflict),
		pipeline_test(test_arp_malformed),
		pipeline_test(test_arp_virtual_router),
		pipeline_test(test_priority_tag),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
