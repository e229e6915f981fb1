// SPDX-License-Identifier: BSD-3-Clause
// Each family has contexts of its own, because an address of IPv6 takes four fields, and one of
// IPv4 a single one.
#include "classifier.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_acl.h>

#define CATEGORIES_MAX 4

// Numbers of the fields of a rule. Source and destination come last, with four or one for each.
enum field { F_PROTO, F_SOURCE_PORT, F_DESTINATION_PORT, F_IN, F_OUT, F_TUNNEL, F_ADDRESSES };

RTE_ACL_RULE_DEF(acl_rule, F_ADDRESSES + 8);

#define FIELD(kind, field, member)                                                                 \
	{                                                                                          \
		RTE_ACL_FIELD_TYPE_##kind, sizeof(((struct classifier_key *)0)->member), field,    \
			field, offsetof(struct classifier_key, member)                             \
	}

#define FIELDS_V6(first, member)                                                                   \
	FIELD(MASK, first, member.w[0]), FIELD(MASK, (first) + 1, member.w[1]),                    \
		FIELD(MASK, (first) + 2, member.w[2]), FIELD(MASK, (first) + 3, member.w[3])

#define FIELDS_OF_BOTH                                                                             \
	FIELD(RANGE, F_SOURCE_PORT, source_port),                                                  \
		FIELD(RANGE, F_DESTINATION_PORT, destination_port), FIELD(BITMASK, F_IN, in),      \
		FIELD(BITMASK, F_OUT, out), FIELD(RANGE, F_TUNNEL, tunnel_in)

// In the order in which the tries branch. A field that no rule of a context restricts costs
// nothing.
static const struct rte_acl_config configs[] = {
	[IP_V4] = {.num_fields = F_ADDRESSES + 2,
		.defs = {FIELD(BITMASK, F_PROTO, proto), FIELD(MASK, F_ADDRESSES, source.w[3]),
			FIELD(MASK, F_ADDRESSES + 1, destination.w[3]), FIELDS_OF_BOTH}},
	[IP_V6] = {.num_fields = F_ADDRESSES + 8,
		.defs = {FIELD(BITMASK, F_PROTO, proto), FIELDS_V6(F_ADDRESSES, source),
			FIELDS_V6(F_ADDRESSES + 4, destination), FIELDS_OF_BOTH}},
};

struct classifier {
	unsigned int categories, n_parts;
	struct rte_acl_ctx *part[][RTE_DIM(configs)]; // by family; NULL without rules for it
};

static bool has_family(const struct classifier_rule *r, enum ip_family family)
{
	return classifier_has_family(
		r->match.family, &r->match.source, &r->match.destination, family);
}

// librte_acl ignores a field that no rule restricts only if its range ends at the last number.
static struct rte_acl_field range_field(const struct acl_port_range *r)
{
	return (struct rte_acl_field){.value.u32 = r->min,
		.mask_range.u32 = r->max == ACL_PORT_OPAQUE ? UINT32_MAX : r->max};
}

// This value, or any.
static struct rte_acl_field word_field(bool any, uint32_t value)
{
	return (struct rte_acl_field){
		.value.u32 = any ? 0 : value, .mask_range.u32 = any ? 0 : UINT32_MAX};
}

// Writes four fields, or for IPv4 only the last. Returns the place for the next field.
static struct rte_acl_field *prefix_fields(
	struct rte_acl_field *field, const struct ip_prefix *p, enum ip_family family)
{
	for (int i = family == IP_V4 ? 3 : 0; i < 4; i++)
		*field++ = (struct rte_acl_field){
			.value.u32 = rte_be_to_cpu_32(p->addr.w[i]),
			.mask_range.u32 = (uint32_t)RTE_MIN(RTE_MAX(p->len - 32 * i, 0), 32),
		};
	return field;
}

static struct acl_rule acl_rule_of(const struct classifier_rule *r, enum ip_family family)
{
	const struct classifier_match *m = &r->match;
	bool any_proto = m->proto == PROTO_ANY;
	struct acl_rule acl = {
		// librte_acl returns userdata; 0 is no match.
		.data = {.category_mask = r->categories,
			.priority = (int32_t)(RTE_ACL_MAX_PRIORITY - r->index),
			.userdata = r->index + 1},
		.field =
			{
				[F_PROTO] = {.value.u8 = any_proto ? 0 : (uint8_t)m->proto,
					.mask_range.u8 = any_proto ? 0 : 0xff},
				[F_SOURCE_PORT] = range_field(&m->source_port),
				[F_DESTINATION_PORT] = range_field(&m->destination_port),
				[F_IN] = word_field(m->in == CLASSIFIER_ANY, m->in),
				[F_OUT] = word_field(m->out == CLASSIFIER_ANY, m->out),
				[F_TUNNEL] = {.value.u32 = r->tunnel_min,
					.mask_range.u32 = r->tunnel_max},
			},
	};

	prefix_fields(prefix_fields(&acl.field[F_ADDRESSES], &m->source, family), &m->destination,
		family);
	return acl;
}

// Makes the context of a family for n rules, if any of them matches it. Returns 0 or -errno.
static int family_compile(struct rte_acl_ctx **acl, enum ip_family family,
	const struct classifier_rule rules[], unsigned int n, unsigned int categories)
{
	static atomic_uint serial; // contexts have unique names
	struct rte_acl_config config = configs[family];
	char name[RTE_ACL_NAMESIZE];
	struct rte_acl_param param = {
		.name = name,
		.socket_id = SOCKET_ID_ANY,
		.rule_size = (uint32_t)RTE_ACL_RULE_SZ(config.num_fields),
	};
	int rc = 0;

	for (unsigned int i = 0; i < n; i++)
		param.max_rule_num += has_family(&rules[i], family);
	if (param.max_rule_num == 0)
		return 0;
	snprintf(name, sizeof(name), "classifier-%u", atomic_fetch_add(&serial, 1));
	*acl = rte_acl_create(&param);
	if (*acl == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; rc == 0 && i < n; i++)
		if (has_family(&rules[i], family)) {
			struct acl_rule rule = acl_rule_of(&rules[i], family);

			rc = rte_acl_add_rules(*acl, (struct rte_acl_rule *)&rule, 1);
		}
	config.num_categories = categories;
	return rc == 0 ? rte_acl_build(*acl, &config) : rc;
}

// Rules of the same index beyond the first differ in their tunnels: these do not overlap.
static unsigned int weight_of(const struct classifier_rule rules[], unsigned int i)
{
	return i > 0 && rules[i - 1].index == rules[i].index
		       ? 0
		       : classifier_combinations(&rules[i].match);
}

// The end of the part that begins with a rule: the next one would be too many.
static unsigned int part_end(
	const struct classifier_rule rules[], unsigned int n, unsigned int first, unsigned int part)
{
	unsigned int end = first + 1;
	uint64_t weight = weight_of(rules, first);

	while (end < n && (weight += weight_of(rules, end)) <= part)
		end++;
	return end;
}

// Writes the rules without lists that stand for a rule, and returns their number.
static unsigned int expand(struct classifier_rule to[], const struct classifier_rule *r)
{
	struct classifier_match one;
	unsigned int n = 0, i = 0;

	while (classifier_next(&one, &r->match, &i)) {
		to[n] = *r;
		to[n++].match = one;
	}
	return n;
}

// Compiles the rules of a part, without their lists.
static int part_compile(struct rte_acl_ctx *part[], const struct classifier_rule rules[],
	unsigned int n, unsigned int categories)
{
	struct classifier_rule *all;
	size_t n_all = 0;
	int rc = 0;

	for (unsigned int i = 0; i < n; i++)
		n_all += classifier_combinations(&rules[i].match);
	all = calloc(n_all, sizeof(*all));
	if (all == NULL)
		return -ENOMEM;
	n_all = 0;
	for (unsigned int i = 0; i < n; i++)
		n_all += expand(&all[n_all], &rules[i]);
	for (enum ip_family f = IP_V4; rc == 0 && f <= IP_V6; f++)
		rc = family_compile(&part[f], f, all, (unsigned int)n_all, categories);
	free(all);
	return rc;
}

struct classifier *classifier_new(const struct classifier_rule rules[], unsigned int n,
	unsigned int part, unsigned int categories)
{
	unsigned int n_parts = 0, end = 0;
	struct classifier *c;
	int rc = 0;

	for (unsigned int first = 0; first < n; first = part_end(rules, n, first, part))
		n_parts++;
	c = calloc(1, sizeof(*c) + n_parts * sizeof(c->part[0]));
	if (c == NULL)
		return NULL;
	c->categories = categories;
	c->n_parts = n_parts;
	for (unsigned int p = 0, first = 0; rc == 0 && p < n_parts; p++, first = end) {
		end = part_end(rules, n, first, part);
		rc = part_compile(c->part[p], &rules[first], end - first, categories);
	}
	if (rc == 0)
		return c;
	classifier_free(c);
	errno = -rc;
	return NULL;
}

void classifier_free(struct classifier *c)
{
	for (unsigned int p = 0; c != NULL && p < c->n_parts; p++)
		for (enum ip_family f = IP_V4; f <= IP_V6; f++)
			rte_acl_free(c->part[p][f]);
	free(c);
}

static void find_family(const struct rte_acl_ctx *acl, enum ip_family family,
	const struct classifier_key key[], unsigned int n, uint32_t found[])
{
	const uint8_t *data[CLASSIFIER_KEYS_MAX];
	uint32_t result[CLASSIFIER_KEYS_MAX];
	uint8_t at[CLASSIFIER_KEYS_MAX];
	unsigned int k = 0;

	for (unsigned int i = 0; acl != NULL && i < n; i++)
		if (found[i] == 0 && ip_addr_family(&key[i].source) == family) {
			at[k] = (uint8_t)i;
			data[k++] = (const uint8_t *)&key[i];
		}
	if (k == 0)
		return;
	rte_acl_classify(acl, data, result, k, 1);
	for (unsigned int i = 0; i < k; i++)
		found[at[i]] = result[i];
}

void classifier_find_each(const struct classifier *c, const struct classifier_key key[],
	unsigned int n, uint32_t found[])
{
	memset(found, 0, n * sizeof(found[0]));
	for (unsigned int p = 0; p < c->n_parts; p++)
		for (enum ip_family f = IP_V4; f <= IP_V6; f++)
			find_family(c->part[p][f], f, key, n, found);
}

uint32_t classifier_find(
	const struct classifier *c, const struct classifier_key *key, unsigned int category)
{
	struct classifier_key other = *key;
	const uint8_t *data[] = {(const uint8_t *)key, (const uint8_t *)&other};
	uint32_t n = key->tunnel_in == key->tunnel_out ? 1 : RTE_DIM(data);
	enum ip_family family = ip_addr_family(&key->source);
	uint32_t found = 0;

	other.tunnel_in = key->tunnel_out;
	for (unsigned int p = 0; p < c->n_parts && found == 0; p++) {
		uint32_t result[RTE_DIM(data)][CATEGORIES_MAX] = {0};

		if (c->part[p][family] == NULL)
			continue;
		rte_acl_classify(c->part[p][family], data, result[0], n, c->categories);
		// The earlier of two rules; 0, which is none, becomes the largest number.
		found = RTE_MIN(result[0][category] - 1, result[1][category] - 1) + 1;
	}
	return found;
}
