// SPDX-License-Identifier: BSD-3-Clause
// From the settings of the group flows to the flow table: proves that every state has its timeout.
#include "build_flow.h"
#include "test.h"

// Every state of the table has a setting, and every setting a state.
static void test_timeouts(void **state)
{
	struct conf conf = {0};
	unsigned int *setting = (unsigned int *)&conf.flow_timeouts;
	const unsigned int n = sizeof(conf.flow_timeouts) / sizeof(*setting);
	unsigned int read = 0;
	struct flow_config c;

	(void)state;
	for (unsigned int i = 0; i < n; i++)
		setting[i] = 1000 + i;
	c = build_flow_config(&conf);
	for (unsigned int s = FLOW_FREE + 1; s < FLOW_STATE_COUNT; s++) {
		print_message("%s\n", flow_state_info[s].name);
		assert_in_range(c.timeout_s[s], 1000, 1000 + n - 1);
		read |= 1u << (c.timeout_s[s] - 1000);
	}
	assert_int_equal(read, (1u << n) - 1);
	assert_int_equal(c.timeout_s[FLOW_TCP_PICKED_UP], conf.flow_timeouts.tcp_picked_up);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timeouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
