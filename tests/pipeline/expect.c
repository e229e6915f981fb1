// SPDX-License-Identifier: BSD-3-Clause
// Checks of the last pass of a gateway, see harness.h.
#include "harness.h"

const struct frame *gateway_expect_sent(struct gateway *g, const struct frame *in, uint16_t port)
{
	gateway_pass(g, in, 1);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, 1, port);
	return &g->sent[0];
}

void gateway_expect_drop(struct gateway *g, const struct frame *in, enum drop reason)
{
	struct rte_mbuf *m = frame_mbuf_at_end(in);

	gateway_pass_mbufs(g, &m, 1);
	expect_drops(g, reason, 1);
}

void gateway_expect_punted(struct gateway *g, struct frame in)
{
	gateway_pass(g, &in, 1);
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->n_punted, 1);
	assert_int_equal(g->n_sent, 0);
	assert_memory_equal(frame_packet(&g->punted[0]), frame_packet(&in), frame_packet_len(&in));
}

void expect_drops(const struct gateway *g, enum drop reason, unsigned int n)
{
	bool right = reason == DROP_NONE || g->last.drops[reason] == n;

	for (enum drop d = 1; d < DROP_COUNT; d++) {
		if (g->last.drops[d] != 0 && (d != reason || !right))
			print_error("%lu dropped for %s\n", g->last.drops[d], drop_info[d].name);
		right = right && (d == reason || g->last.drops[d] == 0);
	}
	if (!right)
		fail_msg("must be %u for %s", n, n > 0 ? drop_info[reason].name : "anything");
}

void expect_all_sent(const struct gateway *g, unsigned int n, uint16_t port)
{
	assert_int_equal(g->n_sent, n);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(g->sent[i].port, port);
}

void expect_error(const uint8_t *packet, uint16_t len, struct icmp_error error, const char *from,
	const char *to, const struct frame *about)
{
	const uint8_t *icmp = packet + IP_LEN, *quoted = icmp + 8;
	unsigned int quoted_len = RTE_MIN(frame_packet_len(about), 576 - 28);

	assert_int_equal(len, 28 + quoted_len);
	assert_int_equal(packet[0], 0x45);
	assert_int_equal(be16(packet + 2), len);
	assert_int_equal(packet[9], 1);
	assert_int_equal(checksum(packet, IP_LEN), 0);
	assert_int_equal(be32(packet + 12), ip_number(from));
	assert_int_equal(be32(packet + 16), ip_number(to));
	assert_int_equal(icmp[0], error.type);
	assert_int_equal(icmp[1], error.code);
	assert_int_equal(checksum(icmp, len - IP_LEN), 0);
	assert_int_equal(be32(icmp + 4), error.param);
	// The packet as it was received, or with its time to live already decremented.
	assert_memory_equal(quoted, frame_packet(about), 8);
	assert_in_range(frame_packet(about)[8] - quoted[8], 0, 1);
	assert_int_equal(checksum(quoted, (quoted[0] & 15) * 4u), 0);
	assert_memory_equal(quoted + 12, frame_packet(about) + 12, quoted_len - 12);
}

void expect_event(struct gateway *g, enum event_kind kind, uint16_t port, const char *addr)
{
	struct ip_addr about;
	struct event e;

	assert_int_equal(ip_addr_parse(&about, addr), 0);
	if (!worker_event_dequeue(g->w, &e))
		fail_msg("no event about %s", addr);
	assert_int_equal(e.kind, kind);
	assert_int_equal(e.port, port);
	assert_true(ip_addr_equal(&e.addr, &about));
}

void expect_no_event(struct gateway *g)
{
	assert_int_equal(rte_ring_count(g->w->events), 0);
}
