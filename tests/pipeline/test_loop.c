// SPDX-License-Identifier: BSD-3-Clause
// The daemon's loop around the pipeline, on a device that receives its own frames: distributing
// frames over workers, handing them over, waking workers, and workers that are too slow.
#include <netinet/in.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_ethdev.h>

#include "hash_key.h"
#include "loop_pair.h"
#include "packet_v6.h"
#include "spread.h"

#define DEADLINE_S LOOP_PAIR_DEADLINE_S
#define RING       2047 // frames that fit into a ring between workers

static void await_ring(const struct rte_ring *r)
{
	time_t end = time(NULL) + DEADLINE_S;

	while (rte_ring_empty(r)) {
		if (time(NULL) > end)
			fail_msg("no frame was handed over");
		usleep(1000);
	}
}

// Frames that an inactive member receives are dropped by the worker of its queue, and do not wait
// until the member is active.
static void test_member_inactive(void **state)
{
	const struct conf_port conf = {.bond = CONF_ACTIVE_BACKUP, .n_members = 2};
	struct pair p;

	(void)state;
	pair_start(&p);
	p.ports[LAN].conf = &conf;
	p.ports[LAN].member_id[0] = loop_member;
	p.ports[LAN].n_member_ids = 1;
	p.loop[0]->rx[0].has_inactive = true;
	for (uint32_t i = 0; i < 100; i++)
		send_to(loop_member, frame_of_flow(i));
	loop_start(&p, 0);
	await_buffers_in_use(0);
	loop_end(&p, 0);
	assert_int_equal(p.g[0]->w->counters.rx, 100);
	assert_int_equal(p.g[0]->w->counters.drops[DROP_MEMBER_INACTIVE], 100);
	pair_stop(&p);
}

// The second worker is stalled: its ring fills, then its frames are dropped. Those of the first one
// are not affected.
static void test_ring_in_full(void **state)
{
	struct pair p;
	unsigned int first = 0, second = 0;

	(void)state;
	pair_start(&p);
	loop_start(&p, 0);
	for (uint32_t i = 0; second < RING + 100; i++) {
		struct rte_mbuf *m = frame_of_flow(i);

		if (spread_frame(m, 2, &test_hash_key) == 0)
			first++;
		else
			second++;
		send_to(loop_device, m);
	}
	await_buffers_in_use(RING);
	loop_end(&p, 0);

	const struct counters *c = &p.g[0]->w->counters;

	assert_int_equal(c->drops[DROP_RING_FULL], 100);
	assert_int_equal(c->drops[DROP_NO_POLICY], first);
	assert_int_equal(c->rx, first + 100);
	assert_int_equal(rte_ring_count(p.g[1]->w->frames), RING);
	loop_start(&p, 1);
	await_buffers_in_use(0);
	loop_end(&p, 1);
	assert_int_equal(p.g[1]->w->counters.rx, RING);
	assert_int_equal(p.g[1]->w->counters.drops[DROP_NO_POLICY], RING);
	pair_stop(&p);
}

// The second worker has no TX queue, and the first, which has one, is stalled.
static void test_ring_out_full(void **state)
{
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.7.0.5"));
	struct pair p;

	(void)state;
	pair_start(&p);
	loop_start(&p, 1);
	for (unsigned int i = 0; i < 2 * RING; i++)
		while (true) {
			struct rte_mbuf *m = frame_mbuf(&f);

			if (rte_ring_enqueue(p.g[1]->w->frames, m) == 0)
				break;
			rte_pktmbuf_free(m);
			usleep(100);
		}
	await_buffers_in_use(RING);
	loop_end(&p, 1);
	assert_int_equal(p.g[1]->w->counters.rx, 2 * RING);
	assert_int_equal(p.g[1]->w->counters.drops[DROP_RING_FULL], RING);
	assert_int_equal(loop_held(p.loop[0]), RING);
	// Packets that another worker is to send count with that worker.
	p.g[1]->w->counters.tx += RING;
	pair_stop(&p);
}

// Both directions of a flow, and all fragments of a packet, are handed to the same worker; flows
// and SAs are distributed evenly.
static void test_spread(void **state)
{
	unsigned int count[4] = {0}, esp[4] = {0};
	uint64_t seed = 5;

	(void)state;
	for (unsigned int i = 0; i < 4000; i++) {
		struct ipv4 ip =
			FROM_TO("10.1.0.5", "10.2.0.5", .sport = (uint16_t)random_u64(&seed),
				.dport = (uint16_t)random_u64(&seed), .proto = i % 2 == 0 ? 6 : 17);
		struct ipv4 back = FROM_TO("10.2.0.5", "10.1.0.5", .sport = ip.dport,
			.dport = ip.sport, .proto = ip.proto, .options = i % 3 == 0 ? 8 : 0);
		struct frame f[3] = {frame_ip(LAN, ip), frame_ip(LAN, back), frame_ip(WAN, ip)};
		struct rte_mbuf *m[3];
		unsigned int owner[3];

		f[2].b[ETH_LEN + 9] = IPPROTO_ESP; // the ports are the SPI
		ip_checksum_update(f[2].b + ETH_LEN);
		for (unsigned int k = 0; k < 3; k++) {
			m[k] = frame_mbuf(&f[k]);
			owner[k] = spread_frame(m[k], 4, &test_hash_key);
			assert_in_range(owner[k], 0, 3);
			rte_pktmbuf_free(m[k]);
		}
		assert_int_equal(owner[0], owner[1]);
		count[owner[0]]++;
		esp[owner[2]]++;
	}
	for (unsigned int i = 0; i < 4; i++) {
		assert_in_range(count[i], 800, 1200);
		assert_in_range(esp[i], 800, 1200);
	}
}

static unsigned int owner_of(const struct frame *f)
{
	struct rte_mbuf *m = frame_mbuf(f);
	unsigned int owner = spread_frame(m, 4, &test_hash_key);

	rte_pktmbuf_free(m);
	assert_in_range(owner, 0, 3);
	return owner;
}

static void test_spread_v6(void **state)
{
	static const uint8_t first[8] = {IPPROTO_UDP, 0, 0, 1}, later[8] = {IPPROTO_UDP, 0, 1, 0};
	unsigned int count[4] = {0}, esp[4] = {0};
	uint64_t seed = 6;

	(void)state;
	for (unsigned int i = 0; i < 4000; i++) {
		struct ipv6 ip = FROM_TO("2001:db8:1::5", "2001:db8:2::5",
			.sport = (uint16_t)random_u64(&seed), .dport = (uint16_t)random_u64(&seed),
			.proto = i % 2 == 0 ? IPPROTO_TCP : IPPROTO_UDP);
		struct ipv6 back = FROM_TO("2001:db8:2::5", "2001:db8:1::5", .sport = ip.dport,
			.dport = ip.sport, .proto = ip.proto);
		struct frame f = frame_ip6(LAN, ip), b = frame_ip6(LAN, back);

		assert_int_equal(owner_of(&f), owner_of(&b));
		count[owner_of(&f)]++;
		f.b[ETH_LEN + 6] = IPPROTO_ESP; // the ports are the SPI
		esp[owner_of(&f)]++;
		ip.ext = first;
		ip.ext_len = 8;
		ip.ext_proto = IPPROTO_FRAGMENT;
		f = frame_ip6(LAN, ip);
		ip.ext = later;
		b = frame_ip6(LAN, ip);
		assert_int_equal(owner_of(&f), owner_of(&b));
	}
	for (unsigned int i = 0; i < 4; i++) {
		assert_in_range(count[i], 800, 1200);
		assert_in_range(esp[i], 800, 1200);
	}
}

static void test_spread_fragments(void **state)
{
	static const uint16_t frags[] = {MF, MF | 10, 20, 0x1fff};
	unsigned int owner, first = UINT_MAX;

	(void)state;
	for (uint8_t proto = 1; proto < 60; proto++) {
		for (size_t i = 0; i < COUNT_OF(frags); i++) {
			struct frame f = frame_ip(
				LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .proto = proto,
					     .frag = frags[i], .sport = 77, .id = proto));
			struct rte_mbuf *m = frame_mbuf(&f);

			owner = spread_frame(m, 16, &test_hash_key);
			rte_pktmbuf_free(m);
			if (first == UINT_MAX)
				first = owner;
			assert_int_equal(owner, first);
		}
	}
}

// Any frame is handed to some worker.
static void test_spread_anything(void **state)
{
	uint64_t seed = 77;

	(void)state;
	for (unsigned int i = 0; i < 20000; i++) {
		struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5"));
		struct rte_mbuf *m;

		f.len = (uint16_t)(1 + random_below(&seed, 74));
		for (unsigned int k = random_below(&seed, 4); k > 0; k--)
			f.b[12 + random_below(&seed, 62)] = (uint8_t)random_u64(&seed);
		m = frame_mbuf(&f);
		assert_in_range(spread_frame(m, 3, &test_hash_key), 0, 2);
		rte_pktmbuf_free(m);
	}
}

// The hash of a device decides in place of the headers.
static void test_spread_by_device(void **state)
{
	struct rte_mbuf *m = frame_of_flow(7);
	unsigned int count[3] = {0};

	(void)state;
	m->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
	for (uint32_t i = 0; i < 3000; i++) {
		m->hash.rss = i * (UINT32_MAX / 3000);
		count[spread_frame(m, 3, &test_hash_key)]++;
	}
	for (unsigned int i = 0; i < 3; i++)
		assert_in_range(count[i], 990, 1010);
	rte_pktmbuf_free(m);
}

// Offload flags that were not requested are ignored: another process that shares the memory may
// have written them. Frames of the flow are handed to the second worker, as they are received.
static void test_claims(void **state)
{
	static const uint64_t offered = RTE_MBUF_F_RX_IP_CKSUM_MASK;
	struct pair p;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct rte_mbuf *m, *received;
		uint32_t flow = 0;

		pair_start(&p);
		p.loop[0]->rx[0].mbuf_flags = i == 0 ? 0 : offered;
		m = frame_of_flow(flow);
		while (spread_frame(m, 2, &test_hash_key) != 1) {
			rte_pktmbuf_free(m);
			m = frame_of_flow(++flow);
		}
		m->hash.rss = 0; // the first worker's
		m->ol_flags = ~(RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT);
		send_to(loop_device, m);
		loop_start(&p, 0);
		await_ring(p.g[1]->w->frames);
		loop_end(&p, 0);
		assert_int_equal(rte_ring_dequeue(p.g[1]->w->frames, (void **)&received), 0);
		assert_ptr_equal(received, m);
		assert_int_equal(m->ol_flags, i == 0 ? 0 : offered);
		rte_pktmbuf_free(m);
		pair_stop(&p);
	}
}

// A device that removes tags without being asked: when the port gets its first VLAN, the running
// worker looks at them.
static void test_first_vlan(void **state)
{
	static struct vlan_map map;
	struct pair p;

	(void)state;
	memset(map.port, 0xff, sizeof(map.port)); // VLAN_NONE
	for (unsigned int i = 0; i < 2; i++) {
		struct rte_mbuf *m;
		uint32_t flow = 0;

		pair_start(&p);
		loop_start(&p, 0);
		p.ports[LAN].vlans = i == 0 ? NULL : &map;
		loop_vlans_follow(p.loop[0]);
		m = frame_of_flow(flow);
		while (spread_frame(m, 2, &test_hash_key) != 0) {
			rte_pktmbuf_free(m);
			m = frame_of_flow(++flow);
		}
		m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
		m->vlan_tci = 9;
		send_to(loop_device, m);
		await_buffers_in_use(0);
		loop_end(&p, 0);
		assert_int_equal(p.w[0]->counters.rx, 1);
		assert_int_equal(p.w[0]->counters.drops[DROP_VLAN_UNKNOWN], i);
		assert_int_equal(p.w[0]->counters.drops[DROP_NO_POLICY], 1 - i);
		pair_stop(&p);
	}
}

// Whether an event ends the wait of a worker. Every event counts once. A worker that sleeps does
// not delay a reload, and reads no object that was replaced meanwhile (which the address sanitizer
// sees).
static void test_reload_asleep(void **state)
{
	struct pair p;

	(void)state;
	pair_start(&p);
	p.g[1]->qsbr = p.qsbr;
	assert_int_equal(idle_init(&p.loop[1]->idle, CONF_IDLE_INTERRUPT), 0);
	loop_start(&p, 1);
	for (unsigned int i = 0; i < 200; i++) {
		time_t end = time(NULL) + DEADLINE_S;

		while ((atomic_load(&p.loop[1]->heartbeat) & LOOP_PLACE_MASK) != LOOP_AT_REST)
			if (time(NULL) > end)
				fail_msg("the worker does not sleep");
		gateway_reload(p.g[1], p.g[1]->conf);
	}
	loop_end(&p, 1);
	assert_int_equal(p.loop[1]->generation, gateway_generation(p.g[1]));
	pair_stop(&p);
}

static bool woken(const struct idle *idle)
{
	struct epoll_event event;

	return epoll_wait(idle->epoll, &event, 1, 0) == 1;
}

// Only a waiting worker is woken, and one that is notified between announcing its wait and waiting
// does not wait.
static void test_wake(void **state)
{
	struct idle idle;

	(void)state;
	assert_int_equal(idle_init(&idle, CONF_IDLE_INTERRUPT), 0);
	idle_wake(&idle);
	assert_false(woken(&idle));
	for (unsigned int i = 0; i < 3; i++) {
		idle_announce(&idle);
		idle_wake(&idle);
		assert_true(woken(&idle));
		assert_false(woken(&idle));
		idle_renounce(&idle);
		idle_wake(&idle);
		assert_false(woken(&idle));
	}
	idle_fini(&idle);
}

// Places of ports that were removed are given to others, which may have fewer queues.
static void test_queues_come_and_go(void **state)
{
	static struct port ports[] = {
		[LAN] = {.n_rx = 1}, [WAN] = {.n_rx = 1}, [DMZ] = {.n_rx = 3}};
	static struct loop first, second;
	struct loop *const loops[] = {&first, &second};

	(void)state;
	loops_queues_assign(loops, 2, ports, LAN);
	loops_queues_assign(loops, 2, ports, DMZ);
	assert_int_equal(loop_queues(&first), 2);
	assert_int_equal(loop_queues(&second), 2);
	assert_false(second.rx[0].spread);
	loop_queues_forget(&first, DMZ);
	loop_queues_forget(&second, DMZ);
	assert_int_equal(loop_queues(&first), 1);
	assert_int_equal(loop_queues(&second), 0);
	loops_queues_assign(loops, 2, ports, WAN);
	assert_int_equal(loop_queues(&first), 1);
	assert_int_equal(loop_queues(&second), 1);
	assert_int_equal(loop_n_rx(&second), 2);
	assert_int_equal(loop_queue_port(&second.rx[0]), WAN);
	assert_int_equal(second.rx[0].queue, 0);
	assert_true(second.rx[0].spread);
	assert_int_equal(loop_queue_port(&second.rx[1]), LOOP_NO_PORT);
	assert_true(loops_have_room(loops, 2, 2 * LOOP_QUEUES_MAX - 2));
	assert_false(loops_have_room(loops, 2, 2 * LOOP_QUEUES_MAX - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_member_inactive),
		pipeline_test(test_ring_in_full),
		pipeline_test(test_ring_out_full),
		pipeline_test(test_spread),
		pipeline_test(test_spread_v6),
		pipeline_test(test_spread_fragments),
		pipeline_test(test_spread_anything),
		pipeline_test(test_spread_by_device),
		pipeline_test(test_claims),
		pipeline_test(test_first_vlan),
		pipeline_test(test_reload_asleep),
		cmocka_unit_test(test_wake),
		cmocka_unit_test(test_queues_come_and_go),
	};

	return cmocka_run_group_tests(tests, loop_pair_begin, loop_pair_end);
}
