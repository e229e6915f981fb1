// SPDX-License-Identifier: BSD-3-Clause
#include "build_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "build_parts.h"

static_assert(CONF_NAME_MAX <= SPD_NAME_MAX, "room for all");
static_assert(CONF_MSS_AUTO == SPD_MSS_AUTO, "taken as it is");
static_assert(CONF_POLICY_IN_MAX <= SPD_IN_MAX, "room for all");
static_assert(
	IFACES - IFACE_TUNNEL_MIN >= 2 * CONF_TUNNELS_MAX, "numbers for the next ones as well");
static_assert(2 * CONF_POLICIES_MAX <= SPD_MAX, "numbers for the next ones as well");

struct spd_policy build_policy(const struct conf_policy *c)
{
	struct spd_policy p = {
		.action = c->action,
		.group = c->reqid,
		.peer_id = c->peer_id,
		.priority = c->priority,
		.errors_trusted = c->errors_trusted,
		.mss_clamp = c->mss_clamp,
		.local = c->local.at[0],
		.remote = c->remote.at[0],
		.family = c->family,
		.proto = c->proto.at[0],
		.local_port = build_range(&c->local_port),
		.remote_port = build_range(&c->remote_port),
	};

	memcpy(p.name, c->name, sizeof(c->name));
	return p;
}

// Routes lead everything into a tunnel that they may lead there.
static struct spd_policy tunnel(const struct conf_tunnel *c)
{
	struct spd_policy p = {
		.action = SPD_PROTECT,
		.iface = IFACE_TUNNEL_MIN, // until it has its own
		.group = c->if_id != 0 ? SA_GROUP_IF_ID(c->if_id) : 0,
		.source_check = c->source_check,
		.mss_clamp = c->mss_clamp,
		.mtu = c->mtu,
		.family = IP_ANY,
		.proto = PROTO_ANY,
		.local_port = acl_port_range(0, UINT16_MAX),
		.remote_port = acl_port_range(0, UINT16_MAX),
	};

	memcpy(p.name, c->name, sizeof(c->name));
	return p;
}

static void sas_set(struct spd_policy *p, struct sa *const sa[], unsigned int out,
	const unsigned int in[], unsigned int n_in)
{
	if (p->action != SPD_PROTECT || p->group != 0)
		return;
	p->out = sa_out_of(sa[out]);
	p->n_in = n_in;
	for (unsigned int i = 0; i < n_in; i++)
		p->in[i] = sa_in_of(sa[in[i]]);
	p->peer = p->in[0]->sa.opt.remote;
}

static bool equal(const void *x, const void *y)
{
	const struct spd_policy *a = x, *b = y;

	return a->action == b->action && spd_policy_is_routed(a) == spd_policy_is_routed(b) &&
	       a->group == b->group && spd_policy_same_selectors(a, b);
}

static const struct build_kind kind = {
	.size = sizeof(struct spd_policy),
	.name = offsetof(struct spd_policy, name),
	.number = offsetof(struct spd_policy, number),
	.first = 1,
	.numbers = 1 + SPD_MAX,
	.equal = equal,
};

static bool always(const void *x, const void *y)
{
	(void)x, (void)y;
	return true;
}

// Of tunnels as interfaces.
static const struct build_kind iface_kind = {
	.size = sizeof(struct spd_policy),
	.name = offsetof(struct spd_policy, name),
	.number = offsetof(struct spd_policy, iface),
	.first = IFACE_TUNNEL_MIN,
	.numbers = IFACES,
	.equal = always,
};

// Gives all policies numbers, and the tunnels among them, from n on, numbers of interfaces. Returns
// 0 or -ENOMEM.
static int numbers_set(struct spd_policy *policies, unsigned int n, unsigned int all,
	const struct snapshot *running, uint16_t *last_iface)
{
	uint16_t last = 0;
	const struct spd *spd = running != NULL ? running->spd : NULL;
	unsigned int old_all = spd != NULL ? spd_count(spd) : 0;
	unsigned int old_n = spd != NULL ? spd_count_policies(spd) : 0;
	const struct spd_policy *old = old_all > 0 ? spd_at(spd, 0) : NULL;
	int rc = build_numbers(&kind, policies, all, old, old_all, &last);

	if (rc == 0 && all > n)
		rc = build_numbers(&iface_kind, policies + n, all - n,
			old_all > old_n ? old + old_n : NULL, old_all - old_n, last_iface);
	return rc;
}

struct spd *build_policies(
	const struct snapshot *s, const struct conf *conf, const struct snapshot *running)
{
	const unsigned int n = conf->n_policies, all = n + conf->n_tunnels;
	struct spd_policy *policies = calloc(all + 1, sizeof(*policies));
	struct classifier_lists *lists = calloc(n + 1, sizeof(*lists));
	struct spd *spd = NULL;

	if (policies == NULL || lists == NULL) {
		free(policies);
		free(lists);
		return NULL;
	}
	for (unsigned int i = 0; i < n; i++) {
		const struct conf_policy *c = &conf->policies[i];
		const struct conf_match match = conf_policy_match(c);

		policies[i] = build_policy(c);
		policies[i].more = build_lists(&lists[i], &match);
		sas_set(&policies[i], s->control->sa, c->sa_out, c->sa_in, c->n_sa_in);
	}
	for (unsigned int i = 0; i < conf->n_tunnels; i++) {
		const struct conf_tunnel *c = &conf->tunnels[i];

		policies[n + i] = tunnel(c);
		sas_set(&policies[n + i], s->control->sa, c->sa_out, c->sa_in, c->n_sa_in);
	}
	errno = -numbers_set(policies, n, all, running, &s->objects->last_iface);
	if (errno == 0)
		spd = spd_new(policies, n, conf->n_tunnels);
	free(policies);
	free(lists);
	return spd;
}
