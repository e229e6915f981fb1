// SPDX-License-Identifier: BSD-3-Clause
#include "expected_group.h"

#include "addrs.h"

void group_address_set(uint16_t port, const char *addr, enum dad_state state)
{
	const struct ip_addr own = addr_of(addr);

	dad_group_set(harness_dad, port, &own, state);
}

void group_sas_set(struct gateway *g, const char *out, const char *in, bool standby)
{
	sa_local_set(&gateway_sa_out(g, out)->sa, standby ? DROP_STANDBY : DROP_NONE);
	sa_local_set(&gateway_sa_in(g, in)->sa, standby ? DROP_STANDBY : DROP_NONE);
}

void group_set(struct gateway *g, enum dad_state state)
{
	dad_roles_begin(harness_dad);
	group_address_set(WAN, GROUP_ADDRESS, state);
	group_sas_set(g, "to-b", "from-b", state != DAD_ASSIGNED);
	g->snapshot->flow_generation = snapshot_generation_next(g->snapshot->flow_generation);
	dad_roles_end(harness_dad);
}

void group_addresses_end(const char *const own[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		for (uint16_t p = 0; p < 2; p++) {
			const struct ip_addr a = addr_of(own[i]);

			dad_group_unset(harness_dad, p, &a);
			dad_remove(harness_dad, p, &a);
		}
}

struct ipv4 numbered(unsigned int i, const char *src, const char *dst)
{
	return (struct ipv4)FROM_TO(
		src, dst, .id = (uint16_t)i, .sport = (uint16_t)(3000 + i % 3), .dport = 9);
}

unsigned int number_of(const uint8_t *packet)
{
	return be16(packet + 4);
}

void expect_held(struct gateway *g, const struct frame *f, unsigned int n)
{
	const uint64_t before = worker_held(g->w);

	for (unsigned int i = 0; i < n; i += 16) {
		gateway_pass(g, f + i, RTE_MIN(16u, n - i));
		expect_drops(g, DROP_NONE, 0);
		assert_int_equal(g->n_sent, 0);
	}
	assert_int_equal(worker_held(g->w), before + n);
}

void expect_idle(struct gateway *g)
{
	for (unsigned int i = 0; i < 3; i++) {
		g->now += 1000;
		gateway_pass(g, NULL, 0);
		expect_drops(g, DROP_NONE, 0);
		assert_int_equal(g->n_sent, 0);
	}
}

void esp_in(struct frame f[], const struct peer *b, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		f[i] = peer_seal_ip(b, i + 1, numbered(i, "10.2.0.5", "10.1.0.5"));
}

void esp_out(struct frame f[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		f[i] = frame_ip(LAN, numbered(i, "10.1.0.5", "10.2.0.5"));
}

int group_test_end(void **state)
{
	static const char *const own[] = {GROUP_ADDRESS, "10.1.0.1", "2001:db8:1::1"};

	group_addresses_end(own, COUNT_OF(own));
	return harness_test_end(state);
}
