// SPDX-License-Identifier: BSD-3-Clause
// Rules of network cards: rules for each kind of card, the queues of frames, and updates when SAs
// change.
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_card.h"
#include "port_rules.h"
#include "sa.h"
#include "test.h"

#define QUEUES 4

static const struct flow_device device = {.id = 3, .n_rx = QUEUES, .rss_key_len = 40};
static const uint16_t udp_ports[] = {4500, 14500};

static struct port_rules *start(enum card_kind kind, struct port_rules_use use)
{
	struct port_rules *r;

	card_reset(kind, CARD_RULES_MAX);
	use.udp_ports = udp_ports;
	use.n_udp_ports = COUNT_OF(udp_ports);
	r = port_rules_new(&device, &use);
	assert_non_null(r);
	return r;
}

static void stop(struct port_rules *r)
{
	port_rules_free(r);
	assert_int_equal(card.n, 0);
	assert_int_equal(card.n_wrong, 0);
}

// Where the card puts a frame: ESP of an SPI, in IP or in UDP to a port.
static int queue_of(bool v4, uint16_t port, uint32_t spi)
{
	uint8_t f[100] = {0};
	size_t l4 = v4 ? 34 : 54;
	const rte_be32_t wire = rte_cpu_to_be_32(spi);
	uint8_t proto = port != 0 ? IPPROTO_UDP : IPPROTO_ESP;

	f[12] = v4 ? 0x08 : 0x86;
	f[13] = v4 ? 0x00 : 0xdd;
	f[v4 ? 23 : 20] = proto;
	f[l4 + 2] = (uint8_t)(port >> 8);
	f[l4 + 3] = (uint8_t)port;
	memcpy(f + l4 + (port != 0 ? 8 : 0), &wire, sizeof(wire));
	return card_queue(f, sizeof(f));
}

static void expect_queues(bool v4, int in_ip, int in_udp, int other_udp, int dns)
{
	assert_int_equal(queue_of(v4, 0, 0x1001), in_ip);
	assert_int_equal(queue_of(v4, 4500, 0x1001), in_udp);
	assert_int_equal(queue_of(v4, 14500, 0x1001), other_udp);
	assert_int_equal(queue_of(v4, 53, 0x1001), dns);
}

static void test_hash(void **state)
{
	const struct {
		enum card_kind kind;
		bool esp, udp;
	} cards[] = {
		{CARD_PLAIN, false, false},
		{CARD_ICE, true, true},
		{CARD_CONNECTX_7, true, false},
		{CARD_CONNECTX_5, false, false},
		{CARD_IXGBE, false, false},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(cards); i++) {
		struct port_rules *r =
			start(cards[i].kind, (struct port_rules_use){.hash_esp = true});
		int in_ip = cards[i].esp ? CARD_HASH : CARD_MISS;
		int in_udp = cards[i].udp ? CARD_HASH : CARD_MISS;

		assert_int_equal(r->esp_hashed, cards[i].esp);
		assert_int_equal(r->udp_hashed, cards[i].udp);
		assert_string_equal(r->what, cards[i].esp ? "" : "ESP over IPv4");
		assert_int_equal(r->why[0] != '\0', !cards[i].udp);
		for (unsigned int v4 = 0; v4 < 2; v4++)
			expect_queues(v4, in_ip, in_udp, CARD_MISS, CARD_MISS);
		stop(r);
	}
}

// RSS has ESP in IP already.
static void test_hash_by_rss(void **state)
{
	struct port_rules *r = start(CARD_ICE, (struct port_rules_use){0});

	(void)state;
	assert_true(r->esp_hashed && r->udp_hashed);
	assert_int_equal(queue_of(true, 0, 0x1001), CARD_MISS);
	assert_int_equal(queue_of(true, 4500, 0x1001), CARD_HASH);
	stop(r);
}

// With one queue there is nothing to distribute.
static void test_one_queue(void **state)
{
	const struct flow_device one = {.n_rx = 1};
	const struct port_rules_use use = {.hash_esp = true, .steer = true};

	(void)state;
	card_reset(CARD_ICE, CARD_RULES_MAX);

	struct port_rules *r = port_rules_new(&one, &use);

	assert_non_null(r);
	assert_false(r->steer);
	assert_int_equal(card.asked, 0);
	stop(r);
}

static void test_isolated(void **state)
{
	const struct {
		enum card_kind kind;
		int in_ip; // where ESP goes; CARD_MISS: the port must not run
		const char *refused;
	} cards[] = {
		{CARD_PLAIN, CARD_MISS, "ESP over IPv4"},
		{CARD_ICE, CARD_MISS, "ESP over IPv4"},
		{CARD_CONNECTX_7, CARD_HASH, ""},
		{CARD_CONNECTX_5, CARD_HASH_IP, ""},
		{CARD_IXGBE, CARD_MISS, "ESP over IPv4"},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(cards); i++) {
		struct port_rules *r =
			start(cards[i].kind, (struct port_rules_use){.isolated = true});

		assert_string_equal(r->what, cards[i].refused);
		if (cards[i].in_ip != CARD_MISS)
			for (unsigned int v4 = 0; v4 < 2; v4++)
				expect_queues(
					v4, cards[i].in_ip, CARD_HASH_IP, CARD_HASH_IP, CARD_MISS);
		stop(r);
	}
}

static void test_isolated_full(void **state)
{
	const struct port_rules_use use = {
		.isolated = true, .udp_ports = udp_ports, .n_udp_ports = COUNT_OF(udp_ports)};
	struct port_rules *r;

	(void)state;
	card_reset(CARD_CONNECTX_7, 3);
	r = port_rules_new(&device, &use);
	assert_non_null(r);
	assert_string_equal(r->what, "UDP over IPv6");
	assert_string_not_equal(r->why, "");
	stop(r);
}

// --- SAs ---

#define SAS_MAX (PORT_RULES_MAX + 100)

struct sas {
	struct sa_in sa[SAS_MAX], *at[SAS_MAX];
	struct objects objects;
	struct snapshot s;
};

static struct sas *sas_new(void)
{
	struct sas *s = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*s));

	assert_non_null(s);
	memset(s, 0, sizeof(*s));
	s->s.objects = &s->objects;
	s->objects.sas.in = s->at;
	return s;
}

static void sa_add(struct sas *s, uint32_t spi, bool v4, bool udp)
{
	struct sa_in *sa = &s->sa[s->objects.sas.n_in];

	sa->sa.spi = rte_cpu_to_be_32(spi);
	sa->sa.udp_port = udp ? RTE_BE16(4500) : 0;
	sa->sa.opt.local = ip_addr_from_v4(RTE_BE32(0xc0000201));
	if (!v4)
		sa->sa.opt.local.b[0] = 0x20;
	s->at[s->objects.sas.n_in++] = sa;
}

static bool steer(struct port_rules *r, const struct sas *s)
{
	return port_rules_plan(r, &s->s) && port_rules_change(r);
}

static void steer_all(struct port_rules *r, const struct sas *s)
{
	unsigned int before;

	do {
		before = r->n;
		steer(r, s);
		assert_in_range(r->n, 0, before + PORT_RULES_STEP);
	} while (r->n != before);
}

// Four SAs of each kind: every queue has one, and the remaining ones keep theirs when others go.
static void test_steer(void **state)
{
	struct port_rules *r =
		start(CARD_ICE, (struct port_rules_use){.hash_esp = true, .steer = true});
	struct sas *s = sas_new();
	unsigned int at_start = card.n, count[QUEUES] = {0};
	int queue[16];

	(void)state;
	for (uint32_t i = 0; i < 16; i++)
		sa_add(s, 0x1000 + i * 0x01010101, i < 8, i % 8 >= 4);
	steer_all(r, s);
	assert_int_equal(r->n, 16);
	assert_int_equal(card.n, at_start + 16);
	for (uint32_t i = 0; i < 16; i++) {
		queue[i] = queue_of(i < 8, i % 8 >= 4 ? 4500 : 0, 0x1000 + i * 0x01010101);
		assert_in_range(queue[i], 0, QUEUES - 1);
		count[queue[i]]++;
	}
	for (unsigned int q = 0; q < QUEUES; q++)
		assert_int_equal(count[q], 4);
	assert_int_equal(queue_of(true, 0, 0x0fff), CARD_HASH);
	s->at[3] = s->at[--s->objects.sas.n_in];
	steer_all(r, s);
	assert_int_equal(card.n, at_start + 15);
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(queue_of(i < 8, i % 8 >= 4 ? 4500 : 0, 0x1000 + i * 0x01010101),
			i == 3 ? CARD_HASH : queue[i]);
	// Rules that are up to date are not requested again.
	card.asked = 0;
	assert_false(steer(r, s));
	assert_int_equal(card.asked, 0);
	s->objects.sas.n_in = 0;
	steer_all(r, s);
	assert_int_equal(card.n, at_start);
	free(s);
	stop(r);
}

// More SAs than rules: the others are distributed by the hash.
static void test_steer_many(void **state)
{
	struct port_rules *r =
		start(CARD_ICE, (struct port_rules_use){.hash_esp = true, .steer = true});
	struct sas *s = sas_new();

	(void)state;
	for (uint32_t i = 0; i < SAS_MAX; i++)
		sa_add(s, i + 256, true, false);
	steer_all(r, s);
	assert_int_equal(r->n, PORT_RULES_MAX);
	assert_int_equal(queue_of(true, 0, 256 + SAS_MAX - 1), CARD_HASH);
	free(s);
	stop(r);
}

// The card has room for fewer: it is asked once, and again when a rule was removed.
static void test_steer_full(void **state)
{
	struct port_rules *r =
		start(CARD_ICE, (struct port_rules_use){.hash_esp = true, .steer = true});
	struct sas *s = sas_new();

	(void)state;
	card.room = card.n + 5;
	for (uint32_t i = 0; i < 8; i++)
		sa_add(s, i + 256, true, false);
	assert_true(steer(r, s));
	assert_string_not_equal(r->why, "");
	assert_int_equal(r->n, 5);
	card.asked = 0;
	assert_false(steer(r, s));
	assert_int_equal(card.asked, 0);
	s->at[0] = s->at[--s->objects.sas.n_in]; // the last one has no rule
	assert_false(steer(r, s));               // nor is that reported again at each rekey
	assert_int_not_equal(card.asked, 0);
	assert_int_equal(r->n, 5);
	card.room += 2;
	s->at[1] = s->at[--s->objects.sas.n_in];
	steer(r, s);
	assert_int_equal(r->n, 6);
	card.room = card.n - 1;
	s->at[2]->sa.spi = RTE_BE32(1000);
	assert_true(steer(r, s)); // all had one meanwhile
	free(s);
	stop(r);
}

static void test_steer_refused(void **state)
{
	struct port_rules *r = start(CARD_PLAIN, (struct port_rules_use){.steer = true});
	struct sas *s = sas_new();

	(void)state;
	sa_add(s, 256, true, false);
	assert_true(steer(r, s));
	assert_false(steer(r, s));
	assert_int_equal(r->n, 0);
	free(s);
	stop(r);
}

// Two SAs of one SPI, of which one is about to go.
static void test_steer_twice(void **state)
{
	struct port_rules *r =
		start(CARD_CONNECTX_7, (struct port_rules_use){.isolated = true, .steer = true});
	struct sas *s = sas_new();

	(void)state;
	for (unsigned int i = 0; i < 3; i++)
		sa_add(s, 4096 + i / 2, true, false);
	steer_all(r, s);
	assert_int_equal(r->n, 2);
	assert_in_range(queue_of(true, 0, 4096), 0, QUEUES - 1);
	assert_int_not_equal(queue_of(true, 0, 4096), queue_of(true, 0, 4097));
	assert_int_equal(queue_of(true, 0, 4098), CARD_HASH);
	steer_all(r, s);
	assert_int_equal(r->n, 2);
	free(s);
	stop(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_hash_by_rss),
		cmocka_unit_test(test_one_queue),
		cmocka_unit_test(test_isolated),
		cmocka_unit_test(test_isolated_full),
		cmocka_unit_test(test_steer),
		cmocka_unit_test(test_steer_many),
		cmocka_unit_test(test_steer_full),
		cmocka_unit_test(test_steer_refused),
		cmocka_unit_test(test_steer_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
