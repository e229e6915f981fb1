// SPDX-License-Identifier: BSD-3-Clause
// Combinations of the lists of policies, rules and nat, and policies that never match. Ten thousand
// of them have only a few shapes: the restricted fields, and the lengths of prefixes. One is
// covered by one of another shape only if that has its prefixes shortened to the shape's lengths,
// which is looked up among all. A policy with lists is as many as its combinations.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "conf_check.h"

// Everything that has to be compared by more and less. Padding zero.
struct shape {
	uint8_t local_len, remote_len;
	uint16_t proto;
	struct proto_ports local_port, remote_port;
	uint32_t family; // enum ip_family
};

// A shape and its prefixes. Padding zero.
struct key {
	struct ip_addr local, remote;
	uint64_t shape; // number
};

struct entry {
	struct key key;
	unsigned int policy; // the first that has it
};

struct cover {
	struct shape *shape;
	unsigned int n_shapes;
	struct entry *entry; // in order of their keys
	unsigned int n_entries;
};

// --- combinations ---

static unsigned int pairs_count(const struct conf_match *m)
{
	unsigned int n[2] = {0}, v6 = 0;

	for (unsigned int i = 0; i < m->source.n; i++)
		n[ip_addr_family(&m->source.at[i].addr) == IP_V6]++;
	for (unsigned int i = 0; i < m->destination.n; i++)
		v6 += ip_addr_family(&m->destination.at[i].addr) == IP_V6;
	return n[0] * (m->destination.n - v6) + n[1] * v6;
}

static uint64_t combinations_count(const struct conf_match *m)
{
	return (uint64_t)pairs_count(m) * m->proto.n * m->source_port.n * m->destination_port.n;
}

// Prefixes of one family combine.
static enum ip_family family_of(const struct conf_match *m, const struct ip_prefix *source,
	const struct ip_prefix *destination)
{
	if (m->family != IP_ANY || m->source.n == 1)
		return m->family;
	return ip_addr_family(&source->addr) == ip_addr_family(&destination->addr)
		       ? ip_addr_family(&source->addr)
		       : IP_ANY;
}

struct conf_combination *conf_combinations(const struct conf_match *m, unsigned int *n)
{
	struct conf_combination *all = conf_alloc(combinations_count(m) + 1, sizeof(all[0]));
	const unsigned int pairs = m->source.n * m->destination.n;

	*n = 0;
	for (unsigned int i = 0; i < pairs * m->proto.n * m->source_port.n * m->destination_port.n;
		i++) {
		const unsigned int rest = i / pairs;
		const struct ip_prefix *s = &m->source.at[i % m->source.n];
		const struct ip_prefix *d = &m->destination.at[i % pairs / m->source.n];
		const enum ip_family family = family_of(m, s, d);

		if (family == IP_ANY && m->source.n > 1)
			continue;
		all[(*n)++] =
			(struct conf_combination){*s, *d, family, m->proto.at[rest % m->proto.n],
				m->source_port.at[rest / m->proto.n % m->source_port.n],
				m->destination_port.at[rest / m->proto.n / m->source_port.n]};
	}
	return all;
}

bool conf_check_combinations(struct conf_reader *r, enum conf_kind kind,
	struct conf_match (*match)(const struct conf *c, unsigned int i))
{
	const unsigned int max = conf_option_find(conf_top_options, conf_kinds[kind].list)->n_max;
	uint64_t all = 0, own;
	unsigned int n;

	conf_items(r->c, kind, &n);
	for (unsigned int i = 0; i < n; i++) {
		const struct conf_match m = match(r->c, i);

		own = combinations_count(&m);
		all += own;
		if (all > max) {
			conf_err(r, conf_item(r, kind, i),
				"has %" PRIu64 " of %" PRIu64
				" combinations of lists up to here, must be %u at most",
				own, all, max);
			return false;
		}
	}
	return true;
}

// --- shapes ---

static struct shape shape_of(const struct conf_combination *p)
{
	struct shape s;

	memset(&s, 0, sizeof(s));
	s.local_len = p->local.len;
	s.remote_len = p->remote.len;
	s.proto = p->proto;
	s.local_port = p->local_port;
	s.remote_port = p->remote_port;
	s.family = p->family;
	return s;
}

static bool shape_covers(const struct shape *a, const struct shape *b)
{
	return a->local_len <= b->local_len && a->remote_len <= b->remote_len &&
	       (a->family == IP_ANY || a->family == b->family) &&
	       (a->proto == PROTO_ANY || a->proto == b->proto) &&
	       proto_ports_cover(&a->local_port, &b->local_port) &&
	       proto_ports_cover(&a->remote_port, &b->remote_port);
}

static struct ip_addr addr_mask(const struct ip_addr *a, unsigned int len)
{
	struct ip_addr to = {0};

	memcpy(&to, a, len / 8);
	if (len % 8 != 0)
		to.b[len / 8] = (uint8_t)(a->b[len / 8] & (0xff00u >> len % 8));
	return to;
}

static struct key key_of(
	const struct cover *v, unsigned int shape, const struct conf_combination *p)
{
	const struct shape *s = &v->shape[shape];

	return (struct key){
		.local = addr_mask(&p->local.addr, s->local_len),
		.remote = addr_mask(&p->remote.addr, s->remote_len),
		.shape = shape,
	};
}

static int compare_keys(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct key));
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int by_key = compare_keys(x, y);

	return by_key != 0 ? by_key : (x->policy > y->policy) - (x->policy < y->policy);
}

// The number of a shape, which is new or not.
static unsigned int number_of(struct cover *v, const struct shape *s)
{
	unsigned int i = 0;

	while (i < v->n_shapes && memcmp(&v->shape[i], s, sizeof(*s)) != 0)
		i++;
	if (i == v->n_shapes)
		v->shape[v->n_shapes++] = *s;
	return i;
}

static unsigned int combinations_of(
	const struct conf *c, unsigned int policy, struct conf_combination **all)
{
	const struct conf_match m = conf_policy_match(&c->policies[policy]);
	unsigned int n;

	*all = conf_combinations(&m, &n);
	return n;
}

static void entries_add(struct cover *v, const struct conf *c, unsigned int policy)
{
	struct conf_combination *all;
	const unsigned int n = combinations_of(c, policy, &all);

	for (unsigned int i = 0; i < n; i++) {
		const struct shape s = shape_of(&all[i]);

		v->entry[v->n_entries++] =
			(struct entry){key_of(v, number_of(v, &s), &all[i]), policy};
	}
	conf_dealloc(all);
}

static struct cover cover_of(const struct conf *c, const struct conf_set *set)
{
	struct cover v = {
		.shape = conf_alloc(CONF_POLICIES_MAX, sizeof(v.shape[0])),
		.entry = conf_alloc(CONF_POLICIES_MAX, sizeof(v.entry[0])),
	};
	unsigned int n;

	for (unsigned int i = 0; i < set->n; i++)
		entries_add(&v, c, set->index[i]);
	n = v.n_entries;
	v.n_entries = 0;
	qsort(v.entry, n, sizeof(v.entry[0]), compare_entries);
	for (unsigned int i = 0; i < n; i++)
		if (i == 0 || compare_keys(&v.entry[v.n_entries - 1], &v.entry[i]) != 0)
			v.entry[v.n_entries++] = v.entry[i];
	return v;
}

// The first policy that matches all of a combination of p, at the latest that itself.
static unsigned int cover_find(
	const struct cover *v, const struct conf_combination *combination, unsigned int p)
{
	const struct shape s = shape_of(combination);
	unsigned int first = p;

	for (unsigned int i = 0; i < v->n_shapes; i++) {
		if (!shape_covers(&v->shape[i], &s))
			continue;

		const struct key key = key_of(v, i, combination);
		const struct entry *found =
			bsearch(&key, v->entry, v->n_entries, sizeof(v->entry[0]), compare_keys);

		if (found != NULL && found->policy < first)
			first = found->policy;
	}
	return first;
}

// The policies that match all of a policy: the first of them, and whether there are others. False:
// it matches something.
static bool is_covered(const struct cover *v, const struct conf *c, unsigned int policy,
	unsigned int *first, bool *several)
{
	struct conf_combination *all;
	const unsigned int n = combinations_of(c, policy, &all);
	bool covered = true;

	*several = false;
	for (unsigned int i = 0; covered && i < n; i++) {
		unsigned int found = cover_find(v, &all[i], policy);

		covered = found != policy;
		*several |= i > 0 && found != *first;
		*first = i == 0 ? found : RTE_MIN(*first, found);
	}
	conf_dealloc(all);
	return covered;
}

void conf_check_covered_policies(struct conf_reader *r, const struct conf_set *set)
{
	const struct cover v = cover_of(r->c, set);
	unsigned int first = 0;
	bool several;

	for (unsigned int i = 0; i < set->n; i++)
		if (is_covered(&v, r->c, set->index[i], &first, &several))
			conf_err(r, conf_item(r, CONF_POLICY, set->index[i]), "never matches, %s%s",
				conf_ref(conf_item(r, CONF_POLICY, first)),
				several ? " and others come first, which match all of it"
					: " comes first and matches all of it");
}
