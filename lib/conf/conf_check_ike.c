// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "conf_check.h"

// So no name of an IKE daemon is one of the configuration.
static void check_name(struct conf_reader *r, config_setting_t *item)
{
	config_setting_t *s = conf_given(item, "name");
	bool of_ike = s != NULL && strncmp(config_setting_get_string(s), CONF_IKE_PREFIX,
					   strlen(CONF_IKE_PREFIX)) == 0;

	if (s != NULL && r->ike && !of_ike)
		conf_err(r, s, "must begin with \"" CONF_IKE_PREFIX "\"");
	if (s != NULL && !r->ike && of_ike)
		conf_err(r, s,
			"\"" CONF_IKE_PREFIX
			"\" begins names of an IKE daemon only, must be another name");
}

#define REFUSED "is not for requests of an IKE daemon, must be "

// An SA belongs to policies or to a tunnel.
static void check_group(struct conf_reader *r, config_setting_t *item, const struct conf_sa *sa)
{
	if (conf_member(item, "if_id") == NULL)
		conf_require(r, CONF_SA, item, "reqid");
	else
		conf_refuse_given(r, item, "reqid", "is for SAs without if_id");
	if (sa->opt.mode != SA_TUNNEL)
		conf_refuse_given(r, item, "if_id", "is for mode tunnel only");
}

// Its policies are of one family, and it has the keys in memory only.
static void check_item(struct conf_reader *r, config_setting_t *item, const struct conf_sa *sa,
	const struct conf_policy *p)
{
	if (sa != NULL) {
		check_group(r, item, sa);
		conf_refuse_given(r, item, "key_file", REFUSED "cipher_key or auth_key");
		return;
	}
	if (p->action == SPD_PROTECT && conf_given(item, "action") != NULL)
		conf_require(r, CONF_POLICY, item, "reqid");
	conf_require(r, CONF_POLICY, item, "local");
	conf_require(r, CONF_POLICY, item, "remote");
	conf_refuse_given(r, item, "out", REFUSED "reqid");
	conf_refuse_given(r, item, "in", REFUSED "reqid");
}

void conf_check_ike(struct conf_reader *r, enum conf_kind kind)
{
	const struct conf_option *options = conf_kinds[kind].options;
	const struct conf_policy *policies = kind == CONF_POLICY ? r->c->policies : NULL;
	const struct conf_sa *sas = kind == CONF_SA ? r->c->sas : NULL;
	unsigned int n;

	conf_items(r->c, kind, &n);
	for (unsigned int i = 0; i < n; i++) {
		config_setting_t *item = conf_item(r, kind, i);

		check_name(r, item);
		if (r->ike)
			check_item(r, item, sas != NULL ? &sas[i] : NULL,
				policies != NULL ? &policies[i] : NULL);
		else
			conf_refuse(r, options, item, CONF_ONLY_IKE,
				"is for requests of an IKE daemon only");
	}
}
