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

int group_test_end(void **state)
{
	static const char *const own[] = {GROUP_ADDRESS, "10.1.0.1", "2001:db8:1::1"};

	group_addresses_end(own, COUNT_OF(own));
	return harness_test_end(state);
}
