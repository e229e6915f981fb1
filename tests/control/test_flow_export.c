// SPDX-License-Identifier: BSD-3-Clause
// Export of flows: within its rate; a collector that is gone, and returns; flows are described with
// the names of their policies, or with none rather than a wrong one.
#include "desk.h"

#include <errno.h>

#include "flow_describe.h"
#include "flow_export.h"
#include "flow_track.h"
#include "flows.h"

#define EXPORT(more) "flow_export = { collector = \"127.0.0.1\"; " more " };\n"

static void export_begin(const char *settings)
{
	desk_collector = 0;
	desk_reload(settings, "");
	flow_export_tick(&desk, desk_now);
	desk_forget();
}

static void export_end(void)
{
	flow_export_free(&desk);
}

// Time passes in steps of the control thread.
static void wait_ms(unsigned int ms)
{
	for (unsigned int i = 0; i < ms; i += 5) {
		desk_now += 5;
		flow_export_tick(&desk, desk_now);
	}
}

// A flow of one packet begins, from host i of the LAN to the tunnel, and ends.
static void flow_ends(unsigned int i)
{
	struct flow_pkt p =
		pkt_udp(RTE_IPV4(10, 1, 0, 2), (uint16_t)(1000 + i), RTE_IPV4(10, 2, 0, 2), 53);
	struct flow *f;

	flow_lookup_start(desk.flows, &p);
	assert_int_equal(
		flow_insert(desk.flows, 0, &p, NULL, 0, (uint32_t)desk_now, NULL, &f), DROP_NONE);
	flow_count_drop(desk.flows, f, p.dir);
	assert_int_equal(flow_track_unusual(desk.flows, 0, f, &p, (uint32_t)desk_now), DROP_NONE);
	flow_remove(desk.flows, 0, f, (uint32_t)desk_now);
}

static uint64_t sent(void)
{
	return flow_export_counts(&desk).records;
}

static uint64_t not_sent(void)
{
	return flow_export_counts(&desk).not_sent;
}

// Records wait a moment for others, then all are sent in one message.
static void test_messages(void **state)
{
	unsigned int messages;

	(void)state;
	export_begin(EXPORT(""));
	messages = desk_messages;
	flow_ends(0);
	flow_ends(1);
	wait_ms(400);
	assert_int_equal(desk_messages, messages);
	wait_ms(200);
	assert_int_equal(desk_messages, messages + 1);
	assert_int_equal(sent(), 2);
	wait_ms(30000); // templates are sent again, without anything new
	assert_int_equal(desk_messages, messages + 2);
	export_end();
}

// More records than the rate allows in a second wait.
static void test_rate(void **state)
{
	(void)state;
	export_begin(EXPORT("rate = 20;"));
	wait_ms(1000);
	for (unsigned int i = 0; i < 100; i++)
		flow_ends(i);
	wait_ms(2000);
	assert_in_range(sent(), 25, 42);
	wait_ms(4000);
	assert_int_equal(sent(), 100);
	assert_int_equal(not_sent(), 0);
	export_end();
}

// A collector that is gone is reported once; flows wait for it, but those of the first message.
static void test_gone(void **state)
{
	(void)state;
	export_begin(EXPORT(""));
	desk_collector = -ECONNREFUSED;
	flow_ends(0);
	wait_ms(1000);
	desk_expect_event("event=collector_lost\tseverity=warning\tcollector=127.0.0.1:4739\t"
			  "reason=Connection refused");
	assert_int_equal(not_sent(), 1);
	flow_ends(1);
	wait_ms(20000);
	desk_expect_no_event();
	assert_int_equal(sent(), 0);

	desk_collector = 0;
	wait_ms(2000);
	desk_expect_no_event();
	wait_ms(4000);
	desk_expect_event("event=collector_back\tseverity=info\tcollector=127.0.0.1:4739");
	assert_int_equal(sent(), 1);
	assert_int_equal(not_sent(), 1);
	export_end();
}

// A socket that is full is no reason to believe that the collector is gone.
static void test_full(void **state)
{
	(void)state;
	export_begin(EXPORT(""));
	desk_collector = -EAGAIN;
	flow_ends(0);
	wait_ms(1000);
	desk_expect_no_event();
	assert_int_equal(not_sent(), 1);
	export_end();
}

// Without the setting, again, nothing is recorded nor sent.
static void test_off(void **state)
{
	unsigned int messages;

	(void)state;
	export_begin(EXPORT(""));
	desk_reload("", "");
	wait_ms(100);
	messages = desk_messages;
	flow_ends(0);
	wait_ms(60000);
	assert_int_equal(desk_messages, messages);
	desk_reload(EXPORT(""), "");
	wait_ms(1000);
	assert_int_equal(sent(), 0);
	export_end();
}

static uint16_t number_of(const char *policy)
{
	for (uint16_t i = 1; i < SPD_MAX; i++)
		if (snapshot_policy(desk.snapshot, i) != NULL &&
			strcmp(snapshot_policy(desk.snapshot, i)->name, policy) == 0)
			return i;
	fail();
	return 0;
}

static struct flow_record record_out(uint16_t policy, uint32_t generation)
{
	const struct ip_ends ends = {ip_addr_from_v4(RTE_BE32(RTE_IPV4(10, 1, 0, 2))),
		ip_addr_from_v4(RTE_BE32(RTE_IPV4(10, 2, 0, 2))), 0, 0};

	return (struct flow_record){.from = ends,
		.to = ends,
		.proto = IPPROTO_ICMP,
		.icmp_type = 8,
		.query = true,
		.end = FLOW_END_IDLE,
		.dir = {{.packets = 2,
				.octets = 168,
				.generation = generation,
				.ingress = LAN,
				.out = policy,
				.protected = true},
			{.dropped = 1, .generation = generation, .ingress = 0x1004, .in = policy}}};
}

// Tunnel, policy and direction of a flow; the wall clock is that of its last packet.
static void test_describe(void **state)
{
	struct flow_names *names = flow_names_new();
	struct ipfix_flow f[2];
	struct flow_record r = record_out(number_of("four"), desk_flow_generation());

	(void)state;
	r.dir[0].seen_ms = 5000;
	r.begun_ms = 4000;
	assert_int_equal(flow_describe(f, &desk, names, &r, 6000, 1000000), 2);
	assert_string_equal(f[0].policy, "four");
	assert_int_equal(f[0].ingress, LAN + 1);
	assert_string_equal(flow_names_interface(names, &desk, f[0].ingress), "lan");
	assert_string_equal(flow_names_interface(names, &desk, f[0].egress), "four");
	assert_null(flow_names_interface(names, &desk, f[0].egress)); // once
	assert_int_equal(f[0].direction, IPFIX_EGRESS);
	assert_int_equal(f[0].icmp, 8 << 8);
	assert_int_equal(f[0].start_ms, 1000000 - 2000);
	assert_int_equal(f[0].end_ms, 1000000 - 1000);
	assert_int_equal(f[1].ingress, f[0].egress);
	assert_int_equal(f[1].egress, LAN + 1);
	assert_int_equal(f[1].direction, IPFIX_INGRESS);
	assert_int_equal(f[1].icmp, 0); // the reply
	assert_int_equal(f[1].packets, 0);
	assert_int_equal(f[1].dropped, 1);
	free(names);
}

// After the number of a policy was given to another one, records of decisions of before have no
// name, unless it is known from a record of that time.
static void test_names(void **state)
{
	struct flow_names *names = flow_names_new();
	const uint32_t before = desk_flow_generation();
	const uint16_t number = number_of("four");
	struct flow_record r = record_out(number, before);
	struct ipfix_flow f[2];

	(void)state;
	desk_reload("", "");
	assert_int_not_equal(desk_flow_generation(), before);
	flow_describe(f, &desk, names, &r, 0, 1000000);
	assert_string_equal(f[0].policy, "");
	assert_int_equal(f[0].egress, 0);

	r = record_out(number, desk_flow_generation());
	flow_describe(f, &desk, names, &r, 0, 1000000);
	assert_string_equal(f[0].policy, "four");
	desk_reload("", "");
	flow_describe(f, &desk, names, &r, 0, 1000000); // of the last generation
	assert_string_equal(f[0].policy, "four");
	assert_string_equal(flow_names_interface(names, &desk, f[0].egress), "four");
	free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {desk_test(test_messages), desk_test(test_rate),
		desk_test(test_gone), desk_test(test_full), desk_test(test_off),
		desk_test(test_describe), desk_test(test_names)};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
