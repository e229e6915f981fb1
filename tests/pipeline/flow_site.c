// SPDX-License-Identifier: BSD-3-Clause
#include "flow_site.h"

#define CONF_MAX 8192

struct gateway *flow_gateway_new(const char *flows)
{
	char text[CONF_MAX], with[CONF_MAX + 256];

	site_a_conf(text, sizeof(text), (struct site){0});
	assert_memory_equal(text, "flows = ", 8);
	snprintf(with, sizeof(with), "flows = { %s };%s", flows, strchr(text, '\n'));
	return gateway_new(0, with);
}

uint64_t flow_asked(const struct gateway *g)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < spd_count(g->snapshot->spd); i++)
		sum += g->snapshot->policy_decided[0][i].asked;
	return sum;
}

struct flow_view flow_only(struct gateway *g)
{
	const struct flow_filter all = {0};
	uint32_t position = FLOW_LIST_START, now = (uint32_t)(g->now / (TSC_HZ / 1000));
	struct flow_view found[2];
	unsigned int n = 0;

	while (position != FLOW_LIST_END && n < 2)
		n += flow_list(g->flows, &all, now, &position, found + n, 2 - n);
	assert_int_equal(n, 1);
	assert_int_equal(flow_count(g->flows), 1);
	return found[0];
}
