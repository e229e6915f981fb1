// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "conf_check.h"
#include "pem.h"

static bool is_https(const struct conf *c)
{
	bool https = false;

	for (unsigned int i = 0; i < c->n_fleet_endpoints; i++)
		https |= strncmp(c->fleet_endpoints[i], "https:", 6) == 0;
	return https;
}

static void check_files(struct conf_reader *r, config_setting_t *fleet, config_setting_t *endpoints)
{
	config_setting_t *ca = conf_given(fleet, "ca"), *key = conf_given(fleet, "private_key");
	config_setting_t *certificate = conf_given(fleet, "certificate");

	if (is_https(r->c) && conf_member(fleet, "ca") == NULL)
		conf_err(r, endpoints, "has https, which needs the setting ca");
	if (ca != NULL && !is_https(r->c))
		conf_err(r, ca, "is for https, which no endpoint has");
	if (certificate != NULL && conf_member(fleet, "private_key") == NULL)
		conf_err(r, certificate, "needs private_key");
	if (key != NULL && conf_member(fleet, "certificate") == NULL)
		conf_err(r, key, "needs certificate");
	if (certificate != NULL && key != NULL &&
		!pem_key_fits(r->c->fleet_key, r->c->fleet_certificate))
		conf_err(r, key, "is not the key of certificate");
}

// etcd has the roles.
static void check_roles(struct conf_reader *r)
{
	for (unsigned int i = 0; i < r->c->n_groups; i++) {
		config_setting_t *role = conf_given(conf_item(r, CONF_OWNED_GROUP, i), "role");

		if (role != NULL && r->c->groups[i].role == CONF_ACTIVE)
			conf_err(r, role, "is decided by the fleet, must be left out");
		r->c->groups[i].role = CONF_STANDBY;
	}
}

void conf_check_fleet(struct conf_reader *r)
{
	config_setting_t *fleet = conf_given(r->root, "fleet");
	config_setting_t *endpoints = conf_given(fleet, "endpoints");

	if (fleet != NULL && conf_member(fleet, "endpoints") == NULL)
		conf_err(r, fleet, "needs endpoints");
	if (endpoints == NULL)
		return;
	if (r->c->pair_member != 0)
		conf_err(r, fleet, "is not for a gateway of a pair, as the setting pair makes it");
	if (r->c->state_dir == NULL)
		conf_err(r, fleet, "needs state_dir, which is \"none\"");
	check_files(r, fleet, endpoints);
	check_roles(r);
}
