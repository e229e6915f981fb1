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

#define ROW(setting, state)                                                                        \
	{                                                                                          \
		offsetof(struct conf_timeouts, setting), FLOW_##state                              \
	}

// Each state by its setting in docs/configuration.md.
static void test_each(void **state)
{
	static const struct {
		size_t setting;
		enum flow_state state;
	} rows[] = {ROW(tcp_syn_sent, TCP_SYN_SENT), ROW(tcp_syn_recv, TCP_SYN_RECV),
		ROW(tcp_picked_up, TCP_PICKED_UP), ROW(tcp_established, TCP_ESTABLISHED),
		ROW(tcp_fin_wait, TCP_FIN_WAIT), ROW(tcp_close_wait, TCP_CLOSE_WAIT),
		ROW(tcp_last_ack, TCP_LAST_ACK), ROW(tcp_time_wait, TCP_TIME_WAIT),
		ROW(tcp_close, TCP_CLOSE), ROW(udp, UDP_NEW), ROW(udp, UDP_REPLIED),
		ROW(udp_stream, UDP_STREAM), ROW(icmp, ICMP_NEW), ROW(icmp, ICMP_REPLIED),
		ROW(generic, OTHER_NEW), ROW(generic, OTHER_REPLIED)};

	(void)state;
	assert_int_equal(COUNT_OF(rows), FLOW_STATE_COUNT - 1);
	for (unsigned int i = 0; i < COUNT_OF(rows); i++) {
		struct conf conf = {0};

		*(unsigned int *)((char *)&conf.flow_timeouts + rows[i].setting) = 77;
		assert_int_equal(build_flow_config(&conf).timeout_s[rows[i].state], 77);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timeouts),
		cmocka_unit_test(test_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
