// SPDX-License-Identifier: BSD-3-Clause
#include "build_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "build_parts.h"

static_assert(CONF_NAME_MAX <= SPD_NAME_MAX, "room for all");
static_assert(CONF_MSS_AUTO == SPD_MSS_AUTO, "taken as it is");
static_assert(CONF_POLICY_IN_MAX <= SPD_IN_MAX, "room for all");
static_assert(2 * CONF_POLICIES_MAX <= SPD_MAX, "numbers for the next ones as well");

struct spd_policy build_policy(const struct conf_policy *c)
{
	struct spd_policy p = {
		.action = c->action,
		.reqid = c->reqid,
		.peer_id = c->peer_id,
		.priority = c->priority,
		.errors_trusted = c->errors_trusted,
		.mss_clamp = c->mss_clamp,
		.local = c->local,
		.remote = c->remote,
		.family = c->family,
		.proto = c->proto,
		.local_port = acl_port_range(c->local_port.min, c->local_port.max),
		.remote_port = acl_port_range(c->remote_port.min, c->remote_port.max),
	};

	memcpy(p.name, c->name, sizeof(c->name));
	return p;
}

static void sas_set(struct spd_policy *p, struct sa *const sa[], const struct conf_policy *c)
{
	if (p->action != SPD_PROTECT)
		return;
	p->out = sa_out_of(sa[c->sa_out]);
	p->n_in = c->n_sa_in;
	for (unsigned int i = 0; i < c->n_sa_in; i++)
		p->in[i] = sa_in_of(sa[c->sa_in[i]]);
	p->peer = p->in[0]->sa.opt.remote;
}

static bool equal(const void *x, const void *y)
{
	const struct spd_policy *a = x, *b = y;

	return a->action == b->action && build_prefixes_equal(&a->local, &b->local) &&
	       build_prefixes_equal(&a->remote, &b->remote) && a->family == b->family &&
	       a->proto == b->proto && build_ports_equal(&a->local_port, &b->local_port) &&
	       build_ports_equal(&a->remote_port, &b->remote_port);
}

static const struct build_kind kind = {
	.size = sizeof(struct spd_policy),
	.name = offsetof(struct spd_policy, name),
	.number = offsetof(struct spd_policy, number),
	.numbers = 1 + SPD_MAX,
	.equal = equal,
};

struct spd *build_policies(
	const struct snapshot *s, const struct conf *conf, const struct snapshot *running)
{
	unsigned int n_running = running != NULL ? spd_count(running->spd) : 0;
	struct spd_policy *policies = calloc(conf->n_policies + 1, sizeof(*policies));
	struct spd *spd = NULL;

	if (policies == NULL)
		return NULL;
	for (unsigned int i = 0; i < conf->n_policies; i++) {
		policies[i] = build_policy(&conf->policies[i]);
		sas_set(&policies[i], s->control->sa, &conf->policies[i]);
	}
	errno = -build_numbers(&kind, policies, conf->n_policies,
		n_running > 0 ? spd_at(running->spd, 0) : NULL, n_running);
	if (errno == 0)
		spd = spd_new(policies, conf->n_policies);
	free(policies);
	return spd;
}
