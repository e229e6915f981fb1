// SPDX-License-Identifier: BSD-3-Clause
// Frames whose checksum the sender has left to its card. Proves that it is completed, counted and
// traced, and that all other frames stay as they are.
#include <netinet/in.h>

#include "rx_checksum.h"
#include "site.h"
#include "steps.h"

#define L4 (ETH_LEN + IP_LEN)

// The checksum has the sum of the pseudo header alone.
static struct frame incomplete(void)
{
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .dport = 9));
	uint8_t pseudo[12] = {[9] = IPPROTO_UDP};

	memcpy(pseudo, f.b + ETH_LEN + 12, 8);
	memcpy(pseudo + 10, f.b + L4 + 4, 2);
	put16(f.b + L4 + 6, 0xffffu - checksum(pseudo, sizeof(pseudo)));
	return f;
}

// Whether it is completed; *f becomes the result.
static bool completes(struct gateway *g, struct frame *f)
{
	const uint64_t before = g->w->counters.checksums_completed;
	struct rte_mbuf *m = frame_mbuf_at_end(f);
	bool marked;

	rx_checksum_complete(g->w, &m, 1);
	marked = (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_NONE;
	assert_int_equal(g->w->counters.checksums_completed - before, marked);
	memcpy(f->b, rte_pktmbuf_mtod(m, void *), f->len);
	rte_pktmbuf_free(m);
	return marked;
}

static void test_completed(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = incomplete(), before = f;
	uint8_t sum[2];

	(void)state;
	assert_true(completes(g, &f));
	memcpy(sum, f.b + L4 + 6, 2);
	memcpy(f.b + L4 + 6, before.b + L4 + 6, 2);
	assert_memory_equal(f.b, before.b, f.len); // nothing else has changed
	// The octets add up to the inverse of the checksum, with the pseudo header in its place.
	assert_int_equal(be16(sum), checksum(f.b + L4, (unsigned int)f.len - L4));
	memcpy(f.b + L4 + 6, sum, 2);
	assert_false(completes(g, &f)); // again
	gateway_free(g);
}

// Of a frame in two buffers as well, which becomes one in a single buffer, of the same port.
static void test_completed_in_two_buffers(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame head = incomplete(), tail = head;
	struct rte_mbuf *m;

	(void)state;
	head.len = L4;
	tail.len = (uint16_t)(tail.len - L4);
	memcpy(tail.b, head.b + L4, tail.len);
	m = frame_mbuf(&head);
	assert_int_equal(rte_pktmbuf_chain(m, frame_mbuf(&tail)), 0);
	rx_checksum_complete(g->w, &m, 1);
	assert_int_equal(m->nb_segs, 1);
	assert_int_equal(m->port, LAN);
	assert_int_equal(g->w->counters.checksums_completed, 1);
	gateway_pass_mbufs(g, &m, 1);
	expect_all_sent(g, 1, WAN);
	gateway_free(g);
}

static void test_untouched(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = incomplete(), before;

	(void)state;
	f.b[L4 + 6] ^= 1; // damaged
	before = f;
	assert_false(completes(g, &f));
	assert_memory_equal(f.b, before.b, f.len);
	f = incomplete();
	put16(f.b + 12, 0x88cc); // no IP
	assert_false(completes(g, &f));
	for (uint16_t len = 0; len < incomplete().len; len++) {
		f = incomplete();
		f.len = len;
		assert_false(completes(g, &f));
	}
	gateway_free(g);
}

static void test_traced(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f = incomplete();
	struct rte_mbuf *m = frame_mbuf(&f);

	(void)state;
	gateway_trace(g, NULL, 1);
	rx_checksum_complete(g->w, &m, 1);
	gateway_pass_mbufs(g, &m, 1);
	EXPECT_STEPS(g, 1, TRACE_INPUT, TRACE_COMPLETED, TRACE_FLOW_NONE, TRACE_POLICY_PROTECT,
		TRACE_RULE_ACCEPT, TRACE_SEALED, TRACE_SENT);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_completed),
		pipeline_test(test_completed_in_two_buffers),
		pipeline_test(test_untouched),
		pipeline_test(test_traced),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
