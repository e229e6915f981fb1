// SPDX-License-Identifier: BSD-3-Clause
// Policies that never match. Ten thousand of them have only a few shapes: what they restrict and
// by how many bits. A policy is covered by one of another shape only if that has its prefixes cut
// to the shape's lengths, which a hash table tells.
#include <stdlib.h>
#include <string.h>

#include "conf_check.h"
#include "dpdk_compat.h"

// Everything that has to be compared by more and less. Padding zero.
struct shape {
	uint8_t local_len, remote_len;
	uint16_t proto;
	uint16_t local_port_min, local_port_max, remote_port_min, remote_port_max;
	uint32_t family; // enum ip_family
};

// A shape and its prefixes. Padding zero.
struct key {
	struct ip_addr local, remote;
	uint64_t shape; // number
};

struct cell {
	struct key key;
	unsigned int first; // 1 + index of the first policy that has it; 0: empty
};

struct cover {
	const struct conf *c;
	struct shape *shape;
	unsigned int n_shapes;
	struct cell *cell;
	uint32_t mask;
};

static struct shape shape_of(const struct conf_policy *p)
{
	struct shape s;

	memset(&s, 0, sizeof(s));
	s.local_len = p->local.len;
	s.remote_len = p->remote.len;
	s.proto = p->proto;
	s.local_port_min = p->local_port_min;
	s.local_port_max = p->local_port_max;
	s.remote_port_min = p->remote_port_min;
	s.remote_port_max = p->remote_port_max;
	s.family = p->family;
	return s;
}

static bool shape_covers(const struct shape *a, const struct shape *b)
{
	return a->local_len <= b->local_len && a->remote_len <= b->remote_len &&
	       (a->family == IP_ANY || a->family == b->family) &&
	       (a->proto == CONF_PROTO_ANY || a->proto == b->proto) &&
	       a->local_port_min <= b->local_port_min && a->local_port_max >= b->local_port_max &&
	       a->remote_port_min <= b->remote_port_min && a->remote_port_max >= b->remote_port_max;
}

static struct ip_addr cut(const struct ip_addr *a, unsigned int len)
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
		.local = cut(&p->local.addr, s->local_len),
		.remote = cut(&p->remote.addr, s->remote_len),
		.shape = shape,
	};
}

static struct cell *cell_of(const struct cover *v, const struct key *key)
{
	uint64_t word[sizeof(*key) / sizeof(uint64_t)], hash = 0;

	memcpy(word, key, sizeof(word));
	for (unsigned int i = 0; i < RTE_DIM(word); i++)
		hash = (hash ^ word[i] ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);

	uint32_t at = (uint32_t)(hash >> 32) & v->mask;

	while (v->cell[at].first != 0 && memcmp(&v->cell[at].key, key, sizeof(*key)) != 0)
		at = (at + 1) & v->mask;
	return &v->cell[at];
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

// 1 + index of the first policy added that matches all that p does; 0 if there is none.
static unsigned int cover_find(const struct cover *v, const struct conf_policy *p)
{
	const struct shape s = shape_of(p);
	unsigned int first = 0;

	for (unsigned int i = 0; i < v->n_shapes; i++) {
		if (!shape_covers(&v->shape[i], &s))
			continue;

		const struct key key = key_of(v, i, p);
		unsigned int found = cell_of(v, &key)->first;

		if (found != 0 && (first == 0 || found < first))
			first = found;
	}
	return first;
}

static void cover_add(struct cover *v, unsigned int policy)
{
	const struct conf_policy *p = &v->c->policies[policy];
	const struct shape s = shape_of(p);
	const struct key key = key_of(v, number_of(v, &s), p);
	struct cell *cell = cell_of(v, &key);

	if (cell->first != 0)
		return;
	cell->key = key;
	cell->first = policy + 1;
}

void conf_check_covered_policies(struct conf_reader *r, const struct conf_set *set)
{
	uint32_t size = rte_align32pow2(2 * set->n + 1);
	struct cover v = {
		.c = r->c,
		.shape = conf_alloc(set->n, sizeof(v.shape[0])),
		.cell = conf_alloc(size, sizeof(v.cell[0])),
		.mask = size - 1,
	};

	for (unsigned int i = 0; i < set->n; i++) {
		unsigned int policy = set->index[i];
		unsigned int first = cover_find(&v, &r->c->policies[policy]);

		if (first != 0)
			conf_err(r, conf_item(r, "policies", policy),
				"never matches, %s comes first and matches all of it",
				conf_ref(conf_item(r, "policies", first - 1)));
		cover_add(&v, policy);
	}
}
