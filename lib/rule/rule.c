// SPDX-License-Identifier: BSD-3-Clause
// The list is compiled by librte_acl, in parts: rules that overlap multiply in its tries, and it
// gives up on too many of them. Each family has contexts of its own, because it has fields of its
// own. Connection states are categories, so that a rule about several is still one.
#include "rule.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_acl.h>

#define PART 32 // rules

// Fields of IPv4. An address of IPv6 takes four, so that F_DESTINATION is behind F_SOURCE + 3, and
// what follows it has numbers larger by ACL_MORE_V6.
enum field {
	F_PROTO,
	F_SOURCE,
	F_DESTINATION,
	F_SOURCE_PORT,
	F_DESTINATION_PORT,
	F_IN,
	F_OUT,
	F_TUNNEL,
	F_COUNT
};

RTE_ACL_RULE_DEF(acl_rule, F_COUNT + ACL_MORE_V6);

#define FIELD(kind, field, member)                                                                 \
	{                                                                                          \
		RTE_ACL_FIELD_TYPE_##kind, sizeof(((struct rule_packet *)0)->member), field,       \
			field, offsetof(struct rule_packet, member)                                \
	}

#define FIELDS_V6(first, member)                                                                   \
	FIELD(MASK, first, member.w[0]), FIELD(MASK, (first) + 1, member.w[1]),                    \
		FIELD(MASK, (first) + 2, member.w[2]), FIELD(MASK, (first) + 3, member.w[3])

#define FIELDS_BEHIND(more)                                                                        \
	FIELD(RANGE, F_SOURCE_PORT + (more), source_port),                                         \
		FIELD(RANGE, F_DESTINATION_PORT + (more), destination_port),                       \
		FIELD(BITMASK, F_IN + (more), in), FIELD(BITMASK, F_OUT + (more), out),            \
		FIELD(RANGE, F_TUNNEL + (more),                                                    \
			tunnel_in) // and tunnel_out, see rule_set_decide()

static const struct rte_acl_config configs[ACL_FAMILIES] = {
	{
		.num_categories = RULE_STATES,
		.num_fields = F_COUNT,
		.defs = {FIELD(BITMASK, F_PROTO, proto), FIELD(MASK, F_SOURCE, source.w[3]),
			FIELD(MASK, F_DESTINATION, destination.w[3]), FIELDS_BEHIND(0)},
	},
	{
		.num_categories = RULE_STATES,
		.num_fields = F_COUNT + ACL_MORE_V6,
		.defs = {FIELD(BITMASK, F_PROTO, proto), FIELDS_V6(F_SOURCE, source),
			FIELDS_V6(F_SOURCE + 4, destination), FIELDS_BEHIND(ACL_MORE_V6)},
	},
};

static_assert(RULE_STATES == 4, "rte_acl wants 1 or a multiple of 4 categories");

struct rule_set {
	unsigned int n; // with the fallback
	struct rule *rule;
	unsigned int n_parts;
	// Of PART rules each; NULL if none of them speaks of the family.
	struct rte_acl_ctx *part[][ACL_FAMILIES];
};

static bool speaks(const struct rule *r, enum ip_family family)
{
	return acl_speaks(r->family, &r->source, &r->destination, family);
}

static struct acl_rule acl_rule_of(const struct rule *r, unsigned int i, enum ip_family family)
{
	// userdata 0 means "no match" to rte_acl.
	struct acl_rule acl = {.data = {.category_mask = r->states,
				       .priority = (int32_t)(RTE_ACL_MAX_PRIORITY - i),
				       .userdata = i + 1}};
	struct rte_acl_field *behind =
		acl_prefixes(acl.field, F_SOURCE, &r->source, &r->destination, family);

	acl.field[F_PROTO] = acl_octet(r->proto == RULE_PROTO_ANY, (uint8_t)r->proto);
	behind[F_SOURCE_PORT] = acl_ports(&r->source_port);
	behind[F_DESTINATION_PORT] = acl_ports(&r->destination_port);
	behind[F_IN] = acl_word(r->in == RULE_ANY, r->in);
	behind[F_OUT] = acl_word(r->out == RULE_ANY, r->out);
	behind[F_TUNNEL].mask_range.u32 = UINT32_MAX; // from 0: any
	return acl;
}

// The number of policies at the start of the list whose indexes follow on each other.
static unsigned int run(const uint32_t tunnels[], unsigned int n)
{
	unsigned int k = 1;

	while (k < n && tunnels[k] == tunnels[0] + k)
		k++;
	return k;
}

// Rules of rte_acl that a rule becomes: one for each run of policies.
static unsigned int count_runs(const struct rule *r)
{
	unsigned int n = 0;

	for (unsigned int t = 0; t < r->n_tunnels; n++)
		t += run(&r->tunnels[t], r->n_tunnels - t);
	return RTE_MAX(n, 1u);
}

static int add(struct rte_acl_ctx *acl, const struct acl_rule *rule)
{
	return rte_acl_add_rules(acl, (const struct rte_acl_rule *)rule, 1);
}

static int add_rule(
	struct rte_acl_ctx *acl, const struct rule *r, unsigned int i, enum ip_family family)
{
	struct acl_rule rule = acl_rule_of(r, i, family);
	struct rte_acl_field *tunnel = &rule.field[F_TUNNEL + (family == IP_V6 ? ACL_MORE_V6 : 0)];
	int rc = r->n_tunnels == 0 ? add(acl, &rule) : 0;

	for (unsigned int t = 0; rc == 0 && t < r->n_tunnels;) {
		unsigned int first = t;

		t += run(&r->tunnels[t], r->n_tunnels - t);
		tunnel->value.u32 = r->tunnels[first] + 1;
		tunnel->mask_range.u32 = r->tunnels[t - 1] + 1;
		rc = add(acl, &rule);
	}
	return rc;
}

static int compile(struct rule_set *s, unsigned int part, enum ip_family family)
{
	static atomic_uint serial; // contexts of rte_acl have unique names
	const struct rte_acl_config *config = &configs[acl_family(family)];
	struct rte_acl_ctx **acl = &s->part[part][acl_family(family)];
	unsigned int first = part * PART, end = RTE_MIN(first + PART, s->n - 1);
	char name[RTE_ACL_NAMESIZE];
	struct rte_acl_param param = {
		.name = name,
		.socket_id = SOCKET_ID_ANY,
		.rule_size = (uint32_t)RTE_ACL_RULE_SZ(config->num_fields),
	};
	int rc = 0;

	for (unsigned int i = first; i < end; i++)
		if (speaks(&s->rule[i], family))
			param.max_rule_num += count_runs(&s->rule[i]);
	if (param.max_rule_num == 0)
		return 0;
	snprintf(name, sizeof(name), "rules-%u", atomic_fetch_add(&serial, 1));
	*acl = rte_acl_create(&param);
	if (*acl == NULL)
		return -ENOMEM;
	for (unsigned int i = first; rc == 0 && i < end; i++)
		if (speaks(&s->rule[i], family))
			rc = add_rule(*acl, &s->rule[i], i, family);
	return rc == 0 ? rte_acl_build(*acl, config) : rc;
}

struct rule_set *rule_set_new(
	const struct rule rules[], unsigned int n, const struct rule *fallback)
{
	unsigned int n_parts = (n + PART - 1) / PART;
	struct rule_set *s = calloc(1, sizeof(*s) + n_parts * sizeof(s->part[0]));
	int rc = 0;

	if (s == NULL)
		return NULL;
	s->n = n + 1;
	s->n_parts = n_parts;
	s->rule = calloc(s->n, sizeof(s->rule[0]));
	if (s->rule == NULL)
		rc = -ENOMEM;
	if (rc == 0) {
		memcpy(s->rule, rules, n * sizeof(s->rule[0]));
		s->rule[n] = *fallback;
	}
	for (unsigned int p = 0; rc == 0 && p < n_parts; p++) {
		rc = compile(s, p, IP_V4);
		if (rc == 0)
			rc = compile(s, p, IP_V6);
	}
	if (rc < 0) {
		rule_set_free(s);
		errno = -rc;
		return NULL;
	}
	for (unsigned int i = 0; i < s->n; i++)
		s->rule[i].tunnels = NULL; // the caller's
	return s;
}

void rule_set_free(struct rule_set *s)
{
	if (s == NULL)
		return;
	for (unsigned int p = 0; p < s->n_parts; p++)
		for (unsigned int i = 0; i < ACL_FAMILIES; i++)
			rte_acl_free(s->part[p][i]);
	free(s->rule);
	free(s);
}

unsigned int rule_set_count(const struct rule_set *s)
{
	return s->n;
}

const struct rule *rule_set_at(const struct rule_set *s, unsigned int i)
{
	return &s->rule[i];
}

// A packet may come by one tunnel and go by another. A rule about a tunnel means either, so the
// packet is looked up with each, and the earlier rule decides.
unsigned int rule_set_decide(
	const struct rule_set *s, const struct rule_packet *packet, enum rule_state state)
{
	struct rule_packet other = *packet;
	const uint8_t *data[] = {(const uint8_t *)packet, (const uint8_t *)&other};
	uint32_t n = packet->tunnel_in == packet->tunnel_out ? 1 : RTE_DIM(data);
	unsigned int family = acl_family(ip_addr_family(&packet->source));
	unsigned int found = s->n - 1;

	other.tunnel_in = packet->tunnel_out;
	for (unsigned int p = 0; p < s->n_parts && found == s->n - 1; p++) {
		uint32_t result[RTE_DIM(data)][RULE_STATES];

		if (s->part[p][family] == NULL)
			continue;
		rte_acl_classify(s->part[p][family], data, result[0], n, RULE_STATES);
		for (uint32_t i = 0; i < n; i++)
			if (result[i][state] != 0)
				found = RTE_MIN(found, result[i][state] - 1);
	}
	return found;
}
