// SPDX-License-Identifier: BSD-3-Clause
// ESP packets that arrive before IKE has added their SA. Proves that they wait for it, in order,
// and that nobody fills the gateway with them.
#include "ike_gates.h"

static struct frame sealed_by_b(void)
{
	struct frame in = frame_ip(LAN, ike_back);

	return frame_carry(gateway_expect_sent(ike_b.g, &in, WAN));
}

// ESP to A that nobody has sealed.
static struct frame esp_of(uint32_t spi, const char *src)
{
	struct frame f = frame_ip(
		WAN, (struct ipv4){.src = src, .dst = "192.0.2.1", .proto = 50, .len = 100});
	const rte_be32_t octets = rte_cpu_to_be_32(spi);

	memcpy(f.b + ETH_LEN + IP_LEN, &octets, sizeof(octets));
	return f;
}

static void expect_held(const struct frame in[], unsigned int n, unsigned int held)
{
	gateway_pass(ike_a.g, in, n);
	assert_int_equal(ike_a.g->n_sent, 0);
	assert_int_equal(worker_held(ike_a.g->w), held);
}

// The peer sends in the new SA at once, as RFC 7296 2.8 allows: nothing is lost, and the order
// stays.
static void early_released(const char *more)
{
	struct frame esp[3], in = frame_ip(LAN, ike_back);

	ike_gate_ask(&ike_a, "spi add 0x5001");
	ike_gate_sa_with(&ike_b, "out", 0x5001, 1, more);
	for (unsigned int i = 0; i < 3; i++)
		esp[i] = sealed_by_b();
	expect_held(esp, 1, 1);
	ike_a.g->now += 99000;
	expect_held(&esp[1], 1, 2);
	ike_gate_sa_with(&ike_a, "in", 0x5001, 1, more);
	ike_a.g->now += 1000;
	gateway_pass(ike_a.g, &esp[2], 1);
	expect_drops(ike_a.g, DROP_NONE, 0);
	expect_all_sent(ike_a.g, 3, LAN);
	for (unsigned int i = 0; i < 3; i++)
		expect_arrived(&ike_a.g->sent[i], &in);
	assert_int_equal(worker_held(ike_a.g->w), 0);
	ike_gate_ask(&ike_a, "sa del ike.in.5001"); // no SA is to come any more
	gateway_expect_drop(ike_a.g, &esp[0], DROP_NO_SA);
}

static void test_early(void **state)
{
	(void)state;
	ike_gate_tunnel("p", 1, 0x1000, "");
	early_released("");
}

static void test_early_in_udp(void **state)
{
	(void)state;
	ike_gate_tunnel("p", 1, 0x1000, "");
	early_released("udp = { };");
}

static void test_early_alone(void **state)
{
	struct frame esp;

	(void)state;
	ike_gate_tunnel("p", 1, 0x1000, "");
	ike_gate_ask(&ike_a, "spi add 0x5001");
	ike_gate_sa(&ike_b, "out", 0x5001, 1);
	esp = sealed_by_b();
	expect_held(&esp, 1, 1);
	ike_gate_sa(&ike_a, "in", 0x5001, 1);
	ike_a.g->now += 1000;
	gateway_pass(ike_a.g, NULL, 0);
	expect_all_sent(ike_a.g, 1, LAN);
}

static void test_early_expires(void **state)
{
	struct frame esp = esp_of(0x5001, "192.0.2.2"), reserved;

	(void)state;
	gateway_expect_drop(ike_a.g, &esp, DROP_NO_SA);
	reserved = esp_of(0, "192.0.2.2");
	gateway_expect_drop(ike_a.g, &reserved, DROP_NO_SA);
	ike_gate_ask(&ike_a, "spi add 0x5001");
	expect_held(&esp, 1, 1);
	ike_a.g->now += 100000;
	gateway_pass(ike_a.g, NULL, 0);
	expect_drops(ike_a.g, DROP_NO_SA, 1);
	expect_held(&esp, 1, 1);
	ike_gate_ask(&ike_a, "spi del 0x5001");
	gateway_expect_drop(ike_a.g, &esp, DROP_NO_SA);
	ike_gate_ask(&ike_a, "spi add 0x5001");
	ike_gate_ask(&ike_a, "flush");
	gateway_expect_drop(ike_a.g, &esp, DROP_NO_SA);
	for (uint32_t i = 0; i <= SPI_SET_PLACES; i++) // all in one bucket
		ike_gate_ask(&ike_a, "spi add 0x%x", 0x5001 + i * SPI_SET_BUCKETS);
	gateway_expect_drop(ike_a.g, &esp, DROP_NO_SA);
	esp = esp_of(0x5001 + SPI_SET_BUCKETS, "192.0.2.2");
	expect_held(&esp, 1, 2);
}

// The SA has another address: its SPI alone holds nothing.
static void test_early_elsewhere(void **state)
{
	struct frame esp;

	(void)state;
	ike_gate_ask(&ike_a, "spi add 0x1001");
	ike_gate_tunnel("p", 1, 0x1000, "");
	esp = frame_ip(
		WAN, (struct ipv4){.src = "192.0.2.2", .dst = "10.1.0.1", .proto = 50, .len = 100});
	memcpy(esp.b + ETH_LEN + IP_LEN, (const uint8_t[]){0, 0, 0x10, 0x01}, 4);
	gateway_expect_drop(ike_a.g, &esp, DROP_NO_SA);
}

// A peer that knows SPIs holds neither all of another peer's room, nor that of packets for next
// hops.
static void test_early_limits(void **state)
{
	struct frame esp = esp_of(0x5000, "192.0.2.2"),
		     in = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "192.0.2.77",
						.proto = IPPROTO_UDP, .dport = 9));
	unsigned int max = ike_a.g->w->held_max / 2;
	char src[32];

	(void)state;
	for (uint32_t spi = 0x5000; spi < 0x5100; spi++)
		ike_gate_ask(&ike_a, "spi add 0x%x", spi);
	for (unsigned int i = 0; i < 40; i++)
		expect_held(&esp, 1, RTE_MIN(i + 1, 32u));
	esp = esp_of(0x5000, "192.0.2.3");
	gateway_expect_drop(ike_a.g, &esp, DROP_NO_SA);
	esp = esp_of(0x5001, "192.0.2.2");
	gateway_expect_drop(ike_a.g, &esp, DROP_NO_SA);
	for (unsigned int i = 33; i < 200; i++) {
		snprintf(src, sizeof(src), "192.0.2.%u", i);
		esp = esp_of(0x5000 + i, src);
		expect_held(&esp, 1, RTE_MIN(i, max));
	}
	gateway_pass(ike_a.g, &in, 1);
	expect_drops(ike_a.g, DROP_NONE, 0);
	assert_int_equal(worker_held(ike_a.g->w), max + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ike_gate_test(test_early),
		ike_gate_test(test_early_in_udp),
		ike_gate_test(test_early_alone),
		ike_gate_test(test_early_expires),
		ike_gate_test(test_early_elsewhere),
		ike_gate_test(test_early_limits),
	};

	return cmocka_run_group_tests_name("ike_early", tests, harness_start, harness_stop);
}
