// SPDX-License-Identifier: BSD-3-Clause
// Tags of VLANs: the port of a received frame, whoever removes the tag, and the headers of sent
// frames.
#include "eal.h"
#include "packet_pool.h"
#include "test.h"
#include "vlan.h"

#define ROOM   512 // octets of a buffer, headroom included
#define WORKER 1

// Ports of the gateway.
enum { DEVICE, OFFICE, GUESTS };

static struct rte_mempool *pool;
static struct worker *w;

static const uint8_t addresses[12] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2};
static const uint8_t payload[] = "the quick brown fox";

static int start(void **state)
{
	(void)state;
	eal_start();
	pool = packet_pool_new("packets", 511, 0, ROOM, SOCKET_ID_ANY);
	return pool != NULL ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	rte_mempool_free(pool);
	eal_stop();
	return 0;
}

static int begin(void **state)
{
	(void)state;
	w = worker_new(&(struct worker_params){
		.id = WORKER,
		.pool = pool,
		.large_pool = pool,
		.tsc_hz = 1000,
		.held_max = 4,
		.reassembly_max = 8,
		.reassembly_s = 1,
	});
	return w != NULL ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	worker_mbufs_free(w);
	worker_free(w);
	return rte_mempool_in_use_count(pool) == 0 ? 0 : -1;
}

static const struct vlan_map *map(void)
{
	static struct vlan_map m;

	for (unsigned int i = 0; i < VLAN_IDS; i++)
		m.port[i] = VLAN_NONE;
	m.port[0] = DEVICE;
	m.port[10] = OFFICE;
	m.port[4094] = GUESTS;
	return &m;
}

static void append(struct rte_mbuf *m, const void *from, size_t len)
{
	void *to = rte_pktmbuf_append(m, (uint16_t)len);

	assert_non_null(to);
	memcpy(to, from, len);
}

static struct rte_mbuf *frame_begin(void)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	assert_non_null(m);
	append(m, addresses, sizeof(addresses));
	return m;
}

static struct rte_mbuf *untagged(void)
{
	struct rte_mbuf *m = frame_begin();

	append(m, "\x08\x00", 2);
	append(m, payload, sizeof(payload));
	return m;
}

static struct rte_mbuf *tagged(uint16_t tci)
{
	struct rte_mbuf *m = frame_begin();
	const uint8_t tag[] = {0x81, 0x00, (uint8_t)(tci >> 8), (uint8_t)tci};

	append(m, tag, sizeof(tag));
	append(m, "\x08\x00", 2);
	append(m, payload, sizeof(payload));
	return m;
}

static void expect_frame(const struct rte_mbuf *m, const void *middle, size_t len)
{
	const uint8_t *b = rte_pktmbuf_mtod(m, const uint8_t *);

	assert_int_equal(m->nb_segs, 1);
	assert_int_equal(m->pkt_len, m->data_len);
	assert_int_equal(m->pkt_len, sizeof(addresses) + len + sizeof(payload));
	assert_memory_equal(b, addresses, sizeof(addresses));
	assert_memory_equal(b + sizeof(addresses), middle, len);
	assert_memory_equal(b + sizeof(addresses) + len, payload, sizeof(payload));
}

static void expect_untagged(const struct rte_mbuf *m)
{
	expect_frame(m, "\x08\x00", 2);
}

// The frame is that of the port, without a tag; and is freed.
static void expect_of(struct rte_mbuf *m, uint16_t port)
{
	uint64_t before = w->vlan[port].rx_packets, octets = w->vlan[port].rx_bytes;

	assert_int_equal(vlan_receive(w, map(), &m, 1), 1);
	assert_int_equal(m->port, port);
	expect_untagged(m);
	assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED, 0);
	assert_int_equal(w->vlan[port].rx_packets, before + 1);
	assert_int_equal(w->vlan[port].rx_bytes, octets + rte_pktmbuf_pkt_len(m));
	assert_int_equal(w->counters.rx, 0); // the pipeline counts it
	rte_pktmbuf_free(m);
}

static void expect_dropped(struct rte_mbuf *m, const struct vlan_map *of, enum drop reason)
{
	uint64_t rx = w->counters.rx, before = w->counters.drops[reason];

	assert_int_equal(vlan_receive(w, of, &m, 1), 0);
	assert_int_equal(w->counters.rx, rx + 1);
	assert_int_equal(w->counters.drops[reason], before + 1);
}

static void test_tags(void **state)
{
	(void)state;
	expect_of(untagged(), DEVICE);
	expect_of(tagged(10), OFFICE);
	expect_of(tagged(4094), GUESTS);
	expect_of(tagged(0xf000 | 10), OFFICE); // with a priority
	expect_of(tagged(0), DEVICE);           // a priority tag names no VLAN
	expect_of(tagged(0xe000), DEVICE);
}

static void test_tags_removed_by_device(void **state)
{
	static const struct {
		uint16_t tci, port;
	} rows[] = {{10, OFFICE}, {0xb000 | 4094, GUESTS}, {0, DEVICE}, {0x7000, DEVICE}};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		struct rte_mbuf *m = untagged();

		m->vlan_tci = rows[i].tci;
		m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
		expect_of(m, rows[i].port);
	}
}

static void test_unknown(void **state)
{
	struct rte_mbuf *m = untagged();

	(void)state;
	m->vlan_tci = 12;
	m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	expect_dropped(m, map(), DROP_VLAN_UNKNOWN);
	expect_dropped(tagged(11), map(), DROP_VLAN_UNKNOWN);
	expect_dropped(tagged(4095), map(), DROP_VLAN_UNKNOWN);
	assert_int_equal(w->counters.drops[DROP_VLAN_UNKNOWN], 3);
}

// The port of the device has no address.
static void test_untagged_unknown(void **state)
{
	struct vlan_map tags_only = *map();

	(void)state;
	tags_only.port[0] = VLAN_NONE;
	expect_dropped(untagged(), &tags_only, DROP_VLAN_UNKNOWN);
	expect_dropped(tagged(0xe000), &tags_only, DROP_VLAN_UNKNOWN);
	assert_int_equal(w->counters.drops[DROP_VLAN_UNKNOWN], 2);
}

// Inside the tag, dropped. Inside the Ethernet header, for the pipeline, which drops it.
static void test_short(void **state)
{
	(void)state;
	for (uint16_t len = 0; len < 18; len++) {
		struct rte_mbuf *m = tagged(10);

		assert_int_equal(rte_pktmbuf_trim(m, (uint16_t)(m->data_len - len)), 0);
		if (len >= 14) {
			expect_dropped(m, map(), DROP_FRAME_SHORT);
			continue;
		}
		assert_int_equal(vlan_receive(w, map(), &m, 1), 1);
		assert_int_equal(m->port, DEVICE);
		assert_int_equal(m->pkt_len, len);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(w->counters.drops[DROP_FRAME_SHORT], 4);
}

// The tag is in one buffer or in two: a frame is split at every place.
static void test_two_buffers(void **state)
{
	(void)state;
	for (uint16_t first = 1; first < 30; first++) {
		struct rte_mbuf *m = tagged(10), *rest = tagged(10);

		assert_int_equal(rte_pktmbuf_trim(m, (uint16_t)(m->data_len - first)), 0);
		assert_non_null(rte_pktmbuf_adj(rest, first));
		assert_int_equal(rte_pktmbuf_chain(m, rest), 0);
		expect_of(m, OFFICE);
		worker_mbufs_free(w);
	}
}

// Somebody else may read a buffer that is shared.
static void test_shared(void **state)
{
	struct rte_mbuf *m = tagged(10);

	(void)state;
	rte_mbuf_refcnt_set(m, 2);
	expect_of(m, OFFICE);
	worker_mbufs_free(w);
	expect_frame(m, "\x81\x00\x00\x0a\x08\x00", 6);
	rte_mbuf_refcnt_set(m, 1);
	rte_pktmbuf_free(m);
}

static void test_larger_than_buffers(void **state)
{
	struct rte_mbuf *m = tagged(10);

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct rte_mbuf *more = rte_pktmbuf_alloc(pool);

		assert_non_null(rte_pktmbuf_append(more, ROOM - RTE_PKTMBUF_HEADROOM));
		assert_int_equal(rte_pktmbuf_chain(m, more), 0);
	}
	expect_dropped(m, map(), DROP_FRAME_SCATTERED);
}

// The remaining ones keep their order.
static void test_burst(void **state)
{
	struct rte_mbuf *m[] = {
		tagged(7), tagged(10), tagged(8), untagged(), tagged(4094), tagged(9)};
	struct rte_mbuf *wanted[] = {m[1], m[3], m[4]};
	uint16_t n = vlan_receive(w, map(), m, RTE_DIM(m));

	(void)state;
	assert_int_equal(n, 3);
	assert_memory_equal(m, wanted, sizeof(wanted));
	assert_int_equal(m[0]->port, OFFICE);
	assert_int_equal(m[1]->port, DEVICE);
	assert_int_equal(m[2]->port, GUESTS);
	rte_pktmbuf_free_bulk(m, n);
}

static void test_insert(void **state)
{
	struct rte_mbuf *m[] = {untagged(), untagged()};
	const struct vlan_counters *c = &w->vlan[GUESTS];
	uint32_t len = rte_pktmbuf_pkt_len(m[0]);

	(void)state;
	assert_int_equal(vlan_insert(w, GUESTS, 4094, false, m, 2), 2);
	for (unsigned int i = 0; i < 2; i++) {
		expect_frame(m[i], "\x81\x00\x0f\xfe\x08\x00", 6);
		assert_int_equal(m[i]->ol_flags & RTE_MBUF_F_TX_VLAN, 0);
	}
	assert_int_equal(c->tx_packets, 2);
	assert_int_equal(c->tx_bytes, 2 * len);
	vlan_unsent(w, GUESTS, &m[1], 1);
	assert_int_equal(c->tx_packets, 1);
	assert_int_equal(c->tx_bytes, len);
	rte_pktmbuf_free_bulk(m, 2);
}

static void test_inserted_by_device(void **state)
{
	struct rte_mbuf *m[] = {untagged(), untagged()};
	const struct vlan_counters *c = &w->vlan[OFFICE];
	uint32_t len = rte_pktmbuf_pkt_len(m[0]);

	(void)state;
	assert_int_equal(vlan_insert(w, OFFICE, 10, true, m, 2), 2);
	for (unsigned int i = 0; i < 2; i++) {
		expect_untagged(m[i]);
		assert_int_not_equal(m[i]->ol_flags & RTE_MBUF_F_TX_VLAN, 0);
		assert_int_equal(m[i]->vlan_tci, 10);
	}
	assert_int_equal(c->tx_bytes, 2 * len);
	vlan_unsent(w, OFFICE, m, 2);
	assert_int_equal(c->tx_packets, 0);
	assert_int_equal(c->tx_bytes, 0);
	rte_pktmbuf_free_bulk(m, 2);
}

static struct rte_mbuf *without_headroom(void)
{
	struct rte_mbuf *m = untagged();
	uint16_t shift = (uint16_t)(m->data_off - 3);

	memmove((uint8_t *)m->buf_addr + 3, rte_pktmbuf_mtod(m, void *), m->data_len);
	m->data_off = (uint16_t)(m->data_off - shift);
	return m;
}

static void test_no_headroom(void **state)
{
	struct rte_mbuf *m = without_headroom();

	(void)state;
	assert_int_equal(vlan_insert(w, OFFICE, 10, false, &m, 1), 1);
	expect_frame(m, "\x81\x00\x00\x0a\x08\x00", 6);
	rte_pktmbuf_free(m);
}

// Of three frames the second would need a buffer.
static void test_no_buffer(void **state)
{
	struct rte_mbuf *m[] = {untagged(), without_headroom(), untagged()}, *last = m[2];
	struct rte_mbuf *taken[511];
	unsigned int n = 0;

	(void)state;
	while (n < RTE_DIM(taken) && (taken[n] = rte_pktmbuf_alloc(pool)) != NULL)
		n++;
	assert_int_equal(vlan_insert(w, OFFICE, 10, false, m, 3), 2);
	rte_pktmbuf_free_bulk(taken, n);
	assert_ptr_equal(m[1], last);
	assert_int_equal(w->counters.drops[DROP_NO_BUFFER], 1);
	assert_int_equal(w->counters.rx, 0);
	assert_int_equal(w->vlan[OFFICE].tx_packets, 2);
	rte_pktmbuf_free_bulk(m, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tags, begin, end),
		cmocka_unit_test_setup_teardown(test_tags_removed_by_device, begin, end),
		cmocka_unit_test_setup_teardown(test_unknown, begin, end),
		cmocka_unit_test_setup_teardown(test_untagged_unknown, begin, end),
		cmocka_unit_test_setup_teardown(test_short, begin, end),
		cmocka_unit_test_setup_teardown(test_two_buffers, begin, end),
		cmocka_unit_test_setup_teardown(test_shared, begin, end),
		cmocka_unit_test_setup_teardown(test_larger_than_buffers, begin, end),
		cmocka_unit_test_setup_teardown(test_burst, begin, end),
		cmocka_unit_test_setup_teardown(test_insert, begin, end),
		cmocka_unit_test_setup_teardown(test_inserted_by_device, begin, end),
		cmocka_unit_test_setup_teardown(test_no_headroom, begin, end),
		cmocka_unit_test_setup_teardown(test_no_buffer, begin, end),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
