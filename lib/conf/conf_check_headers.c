// SPDX-License-Identifier: BSD-3-Clause
// What an SA does with the fields of IP headers: which settings go with its direction and family.
#include "conf_check.h"

static void check_dscp(struct conf_reader *r, config_setting_t *item, struct conf_sa *sa)
{
	config_setting_t *s = conf_given(item, "dscp");
	bool out = sa->opt.direction == SA_OUT;

	if (s == NULL)
		sa->opt.dscp = !out ? SA_DSCP_KEEP : sa->opt.tfc_pad != 0 ? 0 : SA_DSCP_COPY;
	else if (conf_given(item, "direction") == NULL)
		return;
	else if (out && sa->opt.dscp == SA_DSCP_KEEP)
		conf_err(r, s, "\"keep\" is for direction \"in\" only");
	else if (!out && sa->opt.dscp <= SA_DSCP_MAX)
		conf_err(r, s,
			"a fixed value is for direction \"out\" only, must be \"keep\" or "
			"\"copy\"");
}

static void check_flow_label(
	struct conf_reader *r, config_setting_t *item, const struct conf_sa *sa)
{
	config_setting_t *s = conf_given(item, "flow_label");

	if (s != NULL && sa->opt.direction == SA_OUT && sa->opt.mode == SA_TUNNEL &&
		conf_given(item, "remote") != NULL && ip_addr_is_v4(&sa->opt.remote))
		conf_err(r, s, "is for tunnels over IPv6 only");
}

void conf_check_headers(struct conf_reader *r, config_setting_t *item, struct conf_sa *sa)
{
	check_dscp(r, item, sa);
	check_flow_label(r, item, sa);
}
