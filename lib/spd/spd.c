// SPDX-License-Identifier: BSD-3-Clause
// The list is compiled by librte_acl, so that the time of a look-up hardly depends on its length.
#include "spd.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_acl.h>

#define LOOKUP_MAX 64 // keys in one call of rte_acl

enum field { F_PROTO, F_LOCAL, F_REMOTE, F_LOCAL_PORT, F_REMOTE_PORT, F_COUNT };

RTE_ACL_RULE_DEF(acl_rule, F_COUNT);

static const struct rte_acl_field_def fields[F_COUNT] = {
	{RTE_ACL_FIELD_TYPE_BITMASK, 1, F_PROTO, 0, offsetof(struct spd_key, proto)},
	{RTE_ACL_FIELD_TYPE_MASK, 4, F_LOCAL, 1, offsetof(struct spd_key, local)},
	{RTE_ACL_FIELD_TYPE_MASK, 4, F_REMOTE, 2, offsetof(struct spd_key, remote)},
	{RTE_ACL_FIELD_TYPE_RANGE, 4, F_LOCAL_PORT, 3, offsetof(struct spd_key, local_port)},
	{RTE_ACL_FIELD_TYPE_RANGE, 4, F_REMOTE_PORT, 4, offsetof(struct spd_key, remote_port)},
};

struct spd {
	struct rte_acl_ctx *acl; // NULL if no policy speaks of IPv4
	unsigned int n;
	struct spd_policy policy[];
};

static bool speaks_v4(const struct spd_policy *p)
{
	return acl_prefix_speaks_v4(&p->local) && acl_prefix_speaks_v4(&p->remote);
}

static struct acl_rule acl_rule_of(const struct spd_policy *p, unsigned int i)
{
	return (struct acl_rule){
		// userdata 0 means "no match" to rte_acl
		.data = {.category_mask = 1,
			.priority = (int32_t)(RTE_ACL_MAX_PRIORITY - i),
			.userdata = i + 1},
		.field =
			{
				[F_PROTO] = acl_octet(p->proto == SPD_PROTO_ANY, (uint8_t)p->proto),
				[F_LOCAL] = acl_prefix_v4(&p->local),
				[F_REMOTE] = acl_prefix_v4(&p->remote),
				[F_LOCAL_PORT] = acl_ports(&p->local_port),
				[F_REMOTE_PORT] = acl_ports(&p->remote_port),
			},
	};
}

static int compile(struct spd *spd)
{
	static atomic_uint serial; // contexts of rte_acl have unique names
	char name[RTE_ACL_NAMESIZE];
	struct rte_acl_param param = {
		.name = name,
		.socket_id = SOCKET_ID_ANY,
		.rule_size = RTE_ACL_RULE_SZ(F_COUNT),
		.max_rule_num = spd->n,
	};
	struct rte_acl_config config = {.num_categories = 1, .num_fields = F_COUNT};
	unsigned int added = 0;

	snprintf(name, sizeof(name), "spd-%u", atomic_fetch_add(&serial, 1));
	memcpy(config.defs, fields, sizeof(fields));
	if (spd->n == 0)
		return 0;
	spd->acl = rte_acl_create(&param);
	if (spd->acl == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; i < spd->n; i++) {
		struct acl_rule rule = acl_rule_of(&spd->policy[i], i);
		int rc = 0;

		if (speaks_v4(&spd->policy[i]))
			rc = rte_acl_add_rules(spd->acl, (struct rte_acl_rule *)&rule, 1);
		if (rc < 0)
			return rc;
		added += speaks_v4(&spd->policy[i]);
	}
	if (added > 0)
		return rte_acl_build(spd->acl, &config);
	rte_acl_free(spd->acl);
	spd->acl = NULL;
	return 0;
}

struct spd *spd_new(const struct spd_policy policies[], unsigned int n)
{
	struct spd *spd = calloc(1, sizeof(*spd) + n * sizeof(spd->policy[0]));

	if (spd == NULL)
		return NULL;
	spd->n = n;
	memcpy(spd->policy, policies, n * sizeof(spd->policy[0]));

	int rc = compile(spd);

	if (rc < 0) {
		spd_free(spd);
		errno = -rc;
		return NULL;
	}
	return spd;
}

void spd_free(struct spd *spd)
{
	if (spd == NULL)
		return;
	rte_acl_free(spd->acl);
	free(spd);
}

unsigned int spd_count(const struct spd *spd)
{
	return spd->n;
}

const struct spd_policy *spd_at(const struct spd *spd, unsigned int i)
{
	return &spd->policy[i];
}

void spd_lookup(const struct spd *spd, const struct spd_key *keys[],
	const struct spd_policy *found[], uint16_t n)
{
	uint32_t result[LOOKUP_MAX];

	for (uint16_t done = 0; done < n;) {
		uint16_t part = n - done < LOOKUP_MAX ? (uint16_t)(n - done) : LOOKUP_MAX;

		memset(result, 0, part * sizeof(result[0]));
		if (spd->acl != NULL)
			rte_acl_classify(spd->acl, (const uint8_t **)&keys[done], result, part, 1);
		for (uint16_t i = 0; i < part; i++)
			found[done + i] = result[i] != 0 ? &spd->policy[result[i] - 1] : NULL;
		done = (uint16_t)(done + part);
	}
}
