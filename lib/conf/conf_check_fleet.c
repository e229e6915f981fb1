// SPDX-License-Identifier: BSD-3-Clause
#include <inttypes.h>
#include <string.h>

#include "conf_check.h"
#include "number_block.h"
#include "pem.h"

// Of a group: a request to etcd has the old value and the new one, and may have 1.5 MiB.
#define SAS_MAX 8192

static unsigned int https_endpoints(const struct conf *c)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < c->n_fleet_endpoints; i++)
		n += strncmp(c->fleet_endpoints[i], "https:", 6) == 0;
	return n;
}

static void check_files(struct conf_reader *r, config_setting_t *fleet, config_setting_t *endpoints)
{
	config_setting_t *ca = conf_given(fleet, "ca"), *key = conf_given(fleet, "private_key");
	config_setting_t *certificate = conf_given(fleet, "certificate");
	const unsigned int n_https = https_endpoints(r->c);

	if (n_https > 0 && conf_member(fleet, "ca") == NULL)
		conf_err(r, endpoints, "has https, which needs the setting ca");
	if (ca != NULL && n_https < r->c->n_fleet_endpoints)
		conf_err(r, ca, "is for https, which an endpoint does not have");
	if (certificate != NULL && n_https < r->c->n_fleet_endpoints)
		conf_err(r, certificate, "is for https, which an endpoint does not have");
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

// Each member has a part of the numbers alone, and leaves out those of all others. Inbound numbers
// are compared with their bound if they have 64 bits.
static void check_sas(struct conf_reader *r)
{
	const uint64_t least = 16 * NUMBER_FLEET_TURN;

	for (unsigned int i = 0; i < r->c->n_sas; i++) {
		const struct conf_sa *sa = &r->c->sas[i];
		config_setting_t *item = conf_item(r, CONF_SA, i);
		config_setting_t *life = conf_given(item, "lifetime");

		if (!sa->opt.esn)
			conf_err(r, item, "is of a fleet, and needs esn = true");
		if (sa->opt.direction != SA_OUT)
			continue;
		if (conf_given(life, "hard_packets") != NULL && sa->live.hard_packets < least)
			conf_err(r, conf_given(life, "hard_packets"),
				"is less than %" PRIu64
				", of which the members of a fleet have a part each, must be at "
				"least that",
				least);
	}
}

static void check_sizes(struct conf_reader *r)
{
	for (unsigned int i = 0; i < r->c->n_groups; i++) {
		unsigned int n = 0;

		for (unsigned int k = 0; k < r->c->n_sas; k++)
			n += conf_group_has(&r->c->groups[i], &r->c->sas[k].opt.local);
		if (n > SAS_MAX)
			conf_err(r, conf_item(r, CONF_OWNED_GROUP, i),
				"has %u SAs, must have at most %u, as etcd takes no larger value",
				n, SAS_MAX);
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
	if (conf_member(fleet, "member") == NULL)
		conf_err(r, fleet, "needs member");
	check_files(r, fleet, endpoints);
	check_sas(r);
	check_sizes(r);
	check_roles(r);
}
