// SPDX-License-Identifier: BSD-3-Clause
#include "flow_site.h"

#define CONF_MAX 8192

static void conf_write(char *with, size_t size, const char *flows, struct site s)
{
	char text[CONF_MAX];

	site_a_conf(text, sizeof(text), s);
	assert_memory_equal(text, "flows = ", 8);
	snprintf(with, size, "flows = { %s };%s", flows, strchr(text, '\n'));
}

struct gateway *flow_gateway_new(const char *flows)
{
	char text[CONF_MAX + 256];

	conf_write(text, sizeof(text), flows, (struct site){0});
	return gateway_new(0, text);
}

void flow_gateway_reload(struct gateway *g, const char *flows, struct site s)
{
	char text[CONF_MAX + 256];
	struct conf *conf;

	conf_write(text, sizeof(text), flows, s);
	conf = harness_conf(text, strlen(text), stderr);
	assert_non_null(conf);
	gateway_reload(g, conf);
	conf_free(conf);
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
