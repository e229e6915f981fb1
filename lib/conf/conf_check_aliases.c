// SPDX-License-Identifier: BSD-3-Clause
#include "conf_check.h"

// An alias is of one type, so that its use is no question of the place.
void conf_check_aliases(struct conf_reader *r)
{
	static const char *const lists[] = {"prefixes", "protos", "ports"};

	for (unsigned int i = 0; i < r->c->n_aliases; i++) {
		config_setting_t *item = conf_item(r, CONF_ALIAS, i);
		unsigned int n = 0;

		for (unsigned int k = 0; k < RTE_DIM(lists); k++)
			n += conf_member(item, lists[k]) != NULL;
		if (config_setting_is_group(item) && n != 1)
			conf_err(r, item, "has %u of prefixes, protos and ports, must have one", n);
	}
	conf_check_names(r, CONF_ALIAS);
}
