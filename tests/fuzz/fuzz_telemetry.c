// SPDX-License-Identifier: BSD-3-Clause
// Any text as the parameters of a telemetry command: after "trace " a filter of packets to trace,
// after "match " a packet to evaluate, after "policies " a filter of that list, else a filter of
// flows. Proves that it is refused with a reason, or is executed.
#include "filter.h"

#include <errno.h>
#include <netinet/in.h>

#include "fuzz.h"
#include "site.h"
#include "trace.h"

static struct gateway *gateway;

static void stop(void)
{
	gateway_free(gateway);
	harness_test_end(NULL);
	harness_stop(NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (harness_start(NULL) < 0 || harness_test_begin(NULL) < 0)
		exit(2);
	gateway = site_a((struct site){0});
	atexit(stop);
	return 0;
}

static bool list(const char *text, char *why, size_t size)
{
	struct flow_view views[4];
	uint32_t position = FLOW_LIST_START;
	struct flow_filter filter;

	if (!filter_parse(&filter, gateway->snapshot, text, why, size))
		return false;
	flow_list(gateway->flows, &filter, 0, &position, views, COUNT_OF(views));
	return true;
}

static bool trace(const char *text, char *why, size_t size)
{
	const struct frame f[] = {
		frame_ip(LAN, (struct ipv4){.src = "10.1.0.5", .dst = "10.2.0.5", .dport = 53}),
		frame_ip(WAN, (struct ipv4)FROM_TO("192.0.2.2", "192.0.2.1")),
	};
	struct trace_request r;

	if (!filter_trace_parse(&r, gateway->snapshot, text, why, size))
		return false;
	assert_in_range(r.count, 1, TRACE_PACKETS_MAX);
	gateway_trace(gateway, &r.filter, r.count);
	gateway_pass(gateway, f, COUNT_OF(f));
	return true;
}

static bool match(const char *text, char *why, size_t size)
{
	struct match_query q;
	struct match m;
	int rc;

	if (!filter_match_parse(&q, gateway->snapshot, text, why, size))
		return false;
	rc = match_run(&m, gateway->w, gateway->snapshot, &q);
	assert_true(rc == 0 || rc == -EINVAL || rc == -EHOSTUNREACH || rc == -EADDRINUSE);
	return true;
}

static bool policies(const char *text, char *why, size_t size)
{
	const struct policies_view v = {.name = "a-b",
		.action = "protect",
		.out = "to-b",
		.in = "from-b,from-b-2",
		.local = {.family = IP_ANY, .proto = IPPROTO_ICMP},
		.remote = {.family = IP_V4, .proto = PROTO_ANY, .ports = {80, 90}}};
	struct view_filter f;

	if (!filter_view_parse(&f, "policies", text, why, size))
		return false;
	filter_view_matches(&f, &v);
	return true;
}

static const struct {
	const char *start;
	bool (*use)(const char *text, char *why, size_t size);
} kinds[] = {{"trace ", trace}, {"match ", match}, {"policies ", policies}, {"", list}};

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	char *text = strndup((const char *)input, len), why[128] = "";
	size_t kind = 0;

	if (text == NULL)
		abort();
	text[strcspn(text, "\n")] = '\0'; // files end with a line
	while (strncmp(text, kinds[kind].start, strlen(kinds[kind].start)) != 0)
		kind++;
	if (!kinds[kind].use(text + strlen(kinds[kind].start), why, sizeof(why)))
		assert_int_not_equal(why[0], '\0');
	free(text);
	return 0;
}
