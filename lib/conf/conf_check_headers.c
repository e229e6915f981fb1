// SPDX-License-Identifier: BSD-3-Clause
// What an SA does with the fields of IP headers: which settings go with its direction and family.
#include "conf_check.h"

static void check_dscp(struct conf_reader *r, config_setting_t *item, struct conf_sa *sa)
{
	config_setting_t *s = conf_given(item, "dscp");
	bool out = sa->direction == CONF_OUT;

	if (s == NULL)
		sa->dscp = !out ? CONF_DSCP_KEEP : sa->tfc_pad != 0 ? 0 : CONF_DSCP_COPY;
	else if (conf_given(item, "direction") == NULL)
		return;
	else if (out && sa->dscp == CONF_DSCP_KEEP)
		conf_err(r, s, "\"keep\" is for direction \"in\" only");
	else if (!out && sa->dscp <= CONF_DSCP_MAX)
		conf_err(r, s,
			"a fixed value is for direction \"out\" only, must be \"keep\" or "
			"\"copy\"");
}

static void check_outbound_only(
	struct conf_reader *r, config_setting_t *item, const struct conf_sa *sa, const char *name)
{
	config_setting_t *s = conf_given(item, name);

	if (s != NULL && conf_given(item, "direction") != NULL && sa->direction == CONF_IN)
		conf_err(r, s, "is for direction \"out\" only");
}

static void check_flow_label(
	struct conf_reader *r, config_setting_t *item, const struct conf_sa *sa)
{
	config_setting_t *s = conf_given(item, "flow_label");

	if (s != NULL && sa->direction == CONF_OUT && sa->mode == CONF_TUNNEL &&
		conf_given(item, "remote") != NULL && ip_addr_is_v4(&sa->remote))
		conf_err(r, s, "is for tunnels over IPv6 only");
}

// In transport mode there is one header, which stays as it is.
static void check_tunnel_only(
	struct conf_reader *r, config_setting_t *item, const struct conf_sa *sa)
{
	static const char *const names[] = {
		"dscp", "ecn", "ttl", "flow_label", "df", "fragment", "tfc"};

	for (unsigned int i = 0; sa->mode == CONF_TRANSPORT && i < RTE_DIM(names); i++) {
		config_setting_t *s = conf_given(item, names[i]);

		if (s != NULL)
			conf_err(r, s, "is for mode \"tunnel\" only");
	}
}

void conf_check_headers(struct conf_reader *r, config_setting_t *item, struct conf_sa *sa)
{
	check_dscp(r, item, sa);
	check_outbound_only(r, item, sa, "ttl");
	check_outbound_only(r, item, sa, "flow_label");
	check_outbound_only(r, item, sa, "df");
	check_outbound_only(r, item, sa, "fragment");
	check_outbound_only(r, item, sa, "tfc");
	check_flow_label(r, item, sa);
	check_tunnel_only(r, item, sa);
}
