// SPDX-License-Identifier: BSD-3-Clause
// Any text as the parameters of a telemetry command: a filter of flows, which is refused with a
// reason or selects flows.
#include "telemetry_filter.h"

#include "fuzz.h"
#include "site.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	char *text = strndup((const char *)input, len), why[128] = "";
	struct flow_view views[4];
	uint32_t position = FLOW_LIST_START;
	struct flow_filter filter;

	if (text == NULL)
		abort();
	text[strcspn(text, "\n")] = '\0'; // files end with a line
	if (filter_parse(&filter, gateway->snapshot, text, why, sizeof(why)))
		flow_list(gateway->flows, &filter, 0, &position, views, COUNT_OF(views));
	else
		assert_int_not_equal(why[0], '\0');
	free(text);
	return 0;
}
