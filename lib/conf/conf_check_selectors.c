// SPDX-License-Identifier: BSD-3-Clause
#include "conf_check.h"
#include "conf_schema.h"

void conf_check_proto_ports(
	struct conf_reader *r, config_setting_t *item, uint16_t proto, const char *const names[])
{
	if (conf_refused(item, "proto") || conf_proto_has_ports(proto))
		return;
	for (unsigned int i = 0; names[i] != NULL; i++) {
		config_setting_t *s = conf_given(item, names[i]);

		if (s != NULL)
			conf_err(r, s,
				"needs a proto with ports, must be tcp, udp, dccp, sctp or "
				"udplite");
	}
}

void conf_complete_prefixes(const config_setting_t *item, const char *a_name, struct ip_prefix *a,
	const char *b_name, struct ip_prefix *b)
{
	const struct ip_prefix all_v4 = {ip_addr_from_v4(0), IP_V4_BITS};
	bool a_there = config_setting_get_member(item, a_name) != NULL;
	bool b_there = config_setting_get_member(item, b_name) != NULL;

	if (a_there && !b_there)
		*b = all_v4;
	if (b_there && !a_there)
		*a = all_v4;
}

bool conf_prefix_covers(const struct ip_prefix *a, const struct ip_prefix *b)
{
	return a->len <= b->len && ip_prefix_contains(a, &b->addr);
}

static bool accepted(const config_setting_t *item, const char *const names[])
{
	for (unsigned int i = 0; names[i] != NULL; i++)
		if (conf_refused(item, names[i]))
			return false;
	return true;
}

void conf_check_order(struct conf_reader *r, const char *list, unsigned int n,
	const char *const names[], conf_covers covers)
{
	struct conf_set ok = {.index = conf_alloc(r, n, sizeof(ok.index[0]))};

	for (unsigned int i = 0; i < n; i++) {
		config_setting_t *item = conf_item(r, list, i);
		unsigned int k = 0;

		if (!accepted(item, names))
			continue;
		while (k < ok.n && !covers(r->c, ok.index[k], i))
			k++;
		if (k < ok.n)
			conf_err(r, item, "never matches, %s comes first and matches all of it",
				conf_ref(r, conf_item(r, list, ok.index[k])));
		ok.index[ok.n++] = i;
	}
}
