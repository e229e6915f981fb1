// SPDX-License-Identifier: BSD-3-Clause
// Policies that never match. Ten thousand of them have only a few shapes: the restricted fields,
// and the lengths of prefixes. A policy is covered by one of another shape only if that has its
// prefixes shortened to the shape's lengths, which is looked up among all policies.
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

static struct shape shape_of(const struct conf_policy *p)
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

static struct key key_of(const struct cover *v, unsigned int shape, const struct conf_policy *p)
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

static struct cover cover_of(const struct conf *c, const struct conf_set *set)
{
	struct cover v = {
		.shape = conf_alloc(set->n, sizeof(v.shape[0])),
		.entry = conf_alloc(set->n, sizeof(v.entry[0])),
	};

	for (unsigned int i = 0; i < set->n; i++) {
		const struct conf_policy *p = &c->policies[set->index[i]];
		const struct shape s = shape_of(p);

		v.entry[i] = (struct entry){key_of(&v, number_of(&v, &s), p), set->index[i]};
	}
	qsort(v.entry, set->n, sizeof(v.entry[0]), compare_entries);
	for (unsigned int i = 0; i < set->n; i++)
		if (i == 0 || compare_keys(&v.entry[v.n_entries - 1], &v.entry[i]) != 0)
			v.entry[v.n_entries++] = v.entry[i];
	return v;
}

// The first policy that matches all that p does, at the latest that itself.
static unsigned int cover_find(const struct cover *v, const struct conf *c, unsigned int p)
{
	const struct shape s = shape_of(&c->policies[p]);
	unsigned int first = p;

	for (unsigned int i = 0; i < v->n_shapes; i++) {
		if (!shape_covers(&v->shape[i], &s))
			continue;

		const struct key key = key_of(v, i, &c->policies[p]);
		const struct entry *found =
			bsearch(&key, v->entry, v->n_entries, sizeof(v->entry[0]), compare_keys);

		if (found != NULL && found->policy < first)
			first = found->policy;
	}
	return first;
}

void conf_check_covered_policies(struct conf_reader *r, const struct conf_set *set)
{
	const struct cover v = cover_of(r->c, set);

	for (unsigned int i = 0; i < set->n; i++) {
		unsigned int first = cover_find(&v, r->c, set->index[i]);

		if (first != set->index[i])
			conf_err(r, conf_item(r, CONF_POLICY, set->index[i]),
				"never matches, %s comes first and matches all of it",
				conf_ref(conf_item(r, CONF_POLICY, first)));
	}
}
