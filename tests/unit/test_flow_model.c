// SPDX-License-Identifier: BSD-3-Clause
// The flow table against a plain list of keys, with random operations; and over long times, with
// many flows.
#include "flows.h"

#define KEYS 3000

// The expected contents of the table: for each of a fixed set of keys, the time of its insertion.
struct model {
	struct flow_pkt p[KEYS];
	bool present[KEYS];
	uint32_t seen[KEYS];
	uint32_t n;
};

static void model_init(struct model *m, uint64_t *seed)
{
	uint8_t buf[PACKET_MAX];

	*m = (struct model){0};
	for (uint32_t i = 0; i < KEYS; i++) // few addresses and ports: keys that differ little
		m->p[i] = flow_pkt_of(packet_udp(buf, 0x0a000000 + i % 50, 0x0a000100 + i / 50,
			(uint16_t)(random_below(seed, 3)), (uint16_t)(random_below(seed, 3))));
}

static void model_expire(struct model *m, uint32_t now)
{
	for (uint32_t i = 0; i < KEYS; i++)
		if (m->present[i] && now - m->seen[i] >= 30 * 1000) {
			m->present[i] = false;
			m->n--;
		}
}

static void check_burst(struct flows *s, const struct model *m, uint64_t *seed)
{
	struct flow_pkt p[FLOW_BURST_MAX];
	struct flow *f[FLOW_BURST_MAX];
	uint32_t key[FLOW_BURST_MAX];

	for (unsigned int i = 0; i < FLOW_BURST_MAX; i++) {
		key[i] = random_below(seed, KEYS);
		p[i] = m->p[key[i]];
	}
	flows_find(s->t, p, f, FLOW_BURST_MAX);
	for (unsigned int i = 0; i < FLOW_BURST_MAX; i++) {
		if ((f[i] != NULL) != m->present[key[i]])
			fail_msg("key %u: %s in the table", key[i],
				m->present[key[i]] ? "should be" : "should not be");
		if (f[i] != NULL)
			assert_true(flow_key_equal(&f[i]->key, &p[i].key));
		assert_ptr_equal(f[i], flows_find_one(s->t, &p[i]));
	}
}

static void step(struct flows *s, struct model *m, uint32_t *now, uint64_t *seed)
{
	uint32_t i = random_below(seed, KEYS);
	struct flow *f = flows_find_one(s->t, &m->p[i]);

	switch (random_below(seed, 64)) {
	case 0:
		*now += random_below(seed, 1000);
		flows_round(s, *now);
		model_expire(m, *now);
		break;
	case 1:
		check_burst(s, m, seed);
		break;
	case 2:
	case 3:
	case 4:
	case 5:
		assert_int_equal(f != NULL, m->present[i]);
		if (f != NULL) {
			flow_remove(s->t, random_below(seed, s->workers), f, 0);
			m->present[i] = false;
			m->n--;
		}
		break;
	default:
		assert_int_equal(flows_pass(s, random_below(seed, s->workers), &m->p[i], *now, &f),
			DROP_NONE);
		m->n += !m->present[i];
		m->present[i] = true;
		m->seen[i] = *now;
		break;
	}
	assert_int_equal(flow_count(s->t), m->n);
}

static void test_model(void **state)
{
	static struct model m;
	uint64_t seed = 5;

	(void)state;
	for (unsigned int workers = 1; workers <= 3; workers++) {
		uint32_t now = UINT32_MAX - 200000;
		struct flows s;

		model_init(&m, &seed);
		flows_init(&s, KEYS, workers, NULL);
		for (unsigned long i = 0; i < rounds(40000); i++)
			step(&s, &m, &now, &seed);
		assert_true(m.n > KEYS / 4); // it was not empty all the time
		flows_fini(&s);
	}
}

// Every entry of the table can be used, repeatedly.
static uint32_t fill(struct flows *s, uint32_t salt)
{
	uint8_t buf[PACKET_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->capacity; i++) {
		struct flow_pkt p = flow_pkt_of(
			packet_udp(buf, salt + i, 0xc0000201, (uint16_t)i, (uint16_t)salt));
		struct flow *f;

		n += flows_pass(s, i % s->workers, &p, 0, &f) == DROP_NONE;
	}
	return n;
}

static void test_no_leaks(void **state)
{
	const uint32_t capacity = 20000;
	struct flows s;

	(void)state;
	flows_init(&s, capacity, 3, NULL);
	for (uint32_t i = 1; i <= 20; i++) {
		assert_int_equal(fill(&s, i << 20), capacity);
		assert_int_equal(flow_count(s.t), capacity);
		flows_round(&s, 31 * 1000);
		assert_int_equal(flow_count(s.t), 0);
		assert_int_equal(flows_count(&s).expired, i * capacity);
	}
	assert_int_equal(flows_count(&s).evicted, 0);
	flows_fini(&s);
}

// A day: connections open, send, are answered or not, close or time out. In the end the table is
// empty again, and the counts agree.

#define DAY_MS      (24u * 3600 * 1000)
#define DAY_STEP_MS 500

static enum drop day_packet(struct flows *s, uint32_t now, uint64_t *seed)
{
	static const uint8_t flags[] = {
		SYN, SYN | ACK, ACK, ACK, ACK | FIN, RST, ACK | PSH, RST | ACK};
	uint32_t a = 0x0a000000 + random_below(seed, 16), b = 0xc0000200 + random_below(seed, 2);
	uint16_t port = (uint16_t)random_below(seed, 4);
	bool back = random_below(seed, 2) == 1;
	uint8_t buf[PACKET_MAX];
	struct flow_pkt p;
	struct flow *f;

	switch (random_below(seed, 4)) {
	case 0:
		p = flow_pkt_of(
			back ? packet_udp(buf, b, a, 53, port) : packet_udp(buf, a, b, port, 53));
		break;
	case 1:
		p = flow_pkt_of(
			back ? packet_icmp(buf, b, a, 0, port) : packet_icmp(buf, a, b, 8, port));
		break;
	default: // sequence numbers that are usually valid
		p = flow_pkt_of(
			packet_tcp(buf, &(struct segment){.src = back ? b : a,
						.dst = back ? a : b,
						.sport = back ? 80 : port,
						.dport = back ? port : 80,
						.flags = flags[random_below(seed, COUNT_OF(flags))],
						.seq = random_below(seed, 2),
						.ack = random_below(seed, 2),
						.window = 1000,
						.scale = -1}));
		break;
	}
	return flows_pass(s, random_below(seed, s->workers), &p, now, &f);
}

// No counter of this source is left: it may open as many flows as the limit allows.
static void check_unaccounted(struct flows *s, uint32_t addr, uint32_t limit, uint32_t now)
{
	for (uint16_t i = 0; i < limit; i++) {
		uint8_t buf[PACKET_MAX];
		struct flow_pkt p = flow_pkt_of(packet_udp(buf, addr, 0xc0000201, i, 99));
		struct flow *f;

		assert_int_equal(flows_pass(s, 0, &p, now, &f), DROP_NONE);
	}
	flows_round(s, now + 31 * 1000);
	assert_int_equal(flow_count(s->t), 0);
}

static void test_day(void **state)
{
	uint32_t now = UINT32_MAX - DAY_MS / 3; // the clock wraps meanwhile
	uint64_t seed = 11, packets = 0, passed = 0, refused = 0;
	struct flow_config config;
	struct flow_counters c;
	struct flows s;

	(void)state;
	flow_config_init(&config);
	config.pick_up = true;
	config.source_limit = 6;
	flows_init(&s, 1000, 2, &config);
	for (uint32_t t = 0; t < DAY_MS; t += DAY_STEP_MS, now += DAY_STEP_MS) {
		for (unsigned int i = random_below(&seed, 8); i > 0; i--) {
			packets++;
			passed += day_packet(&s, now, &seed) == DROP_NONE;
		}
		flows_tick(&s, now, 400);
	}
	c = flows_count(&s);
	for (unsigned int d = 0; d < DROP_COUNT; d++)
		refused += c.refused[d];
	assert_int_equal(packets, passed + refused);
	assert_int_equal(c.created - c.expired - c.evicted - c.flushed, flow_count(s.t));
	assert_true(c.created > 10000 && c.reopened > 500 && c.expired > 10000);
	assert_true(c.refused[DROP_FLOW_SOURCE_LIMIT] > 100);
	assert_true(flow_count(s.t) > 0);
	flows_round(&s, now + 432001u * 1000);
	assert_int_equal(flow_count(s.t), 0);
	// No entry is lost, and no counter of a source is left.
	assert_int_equal(fill(&s, 1u << 20), 1000);
	flows_round(&s, now + 432001u * 1000 + 31 * 1000);
	for (uint32_t host = 0; host < 16; host++)
		check_unaccounted(&s, 0x0a000000 + host, config.source_limit, now);
	flows_fini(&s);
}

// A million at once, found again by number and by burst.
static void test_million(void **state)
{
	const uint32_t capacity = 1000000;
	struct flow_filter any = {0};
	struct flow_view v[64];
	uint32_t position = FLOW_LIST_START, listed = 0;
	uint8_t buf[PACKET_MAX];
	struct flows s;

	(void)state;
	flows_init(&s, capacity, 4, NULL);
	while (flow_table_fill(s.t))
		;
	assert_int_equal(fill(&s, 1 << 24), capacity);
	assert_int_equal(flow_count(s.t), capacity);
	for (uint32_t i = 0; i < capacity; i++) {
		struct flow_pkt p =
			flow_pkt_of(packet_udp(buf, (1 << 24) + i, 0xc0000201, (uint16_t)i, 0));

		assert_non_null(flows_find_one(s.t, &p));
	}
	while (position != FLOW_LIST_END)
		listed += flow_list(s.t, &any, 0, &position, v, COUNT_OF(v));
	assert_int_equal(listed, capacity);
	flows_round(&s, 31 * 1000);
	assert_int_equal(flow_count(s.t), 0);
	flows_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_no_leaks),
		cmocka_unit_test(test_day),
		cmocka_unit_test(test_million),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
