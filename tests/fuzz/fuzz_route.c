// SPDX-License-Identifier: BSD-3-Clause
// Any changes of a route table: adds, replaces and deletes, of both families, with a source or
// without, that share or cover each other's prefixes. Proves that look-ups and the list agree with
// a linear search after every change. Each change takes CHANGE octets of the input.
#include <errno.h>

#include "addrs.h"
#include "fuzz.h"
#include "route_change.h"

#define CHANGE     6
#define ROUTES_MAX 64

// The first octet of a change.
enum { DELETE = 1, IPV6 = 2, SOURCE = 4, RELEASE = 8 };

struct model {
	struct route route[ROUTES_MAX];
	unsigned int n;
};

// An address with the octets of the input in places where nodes of a trie begin, and within.
static struct ip_addr addr_from(const uint8_t b[4], enum ip_family family)
{
	if (family == IP_V4)
		return (struct ip_addr){.b = {[10] = 0xff, 0xff, b[0], b[1], b[2], b[3]}};
	return (struct ip_addr){.b = {0x20, b[0], [2] = b[1], [7] = b[2], [8] = b[2], [15] = b[3]}};
}

static struct ip_addr source_of(unsigned int flags)
{
	return (flags & SOURCE) != 0 ? addr_of("192.0.2.1") : (struct ip_addr){.q = {0, 0}};
}

static struct route route_from(const uint8_t b[CHANGE], uint16_t iface)
{
	enum ip_family family = (b[0] & IPV6) != 0 ? IP_V6 : IP_V4;
	unsigned int len = family == IP_V6 ? b[1] % 129 : IP_V4_BITS + b[1] % 33;

	return (struct route){.to = prefix_of(addr_from(b + 2, family), len),
		.from = source_of(b[0]),
		.nexthop.iface = iface};
}

static struct route *model_at(struct model *m, const struct route *r)
{
	for (unsigned int i = 0; i < m->n; i++)
		if (m->route[i].to.len == r->to.len &&
			ip_addr_equal(&m->route[i].to.addr, &r->to.addr) &&
			ip_addr_equal(&m->route[i].from, &r->from))
			return &m->route[i];
	return NULL;
}

// The longest prefix; of equal ones that with the source.
static const struct route *model_find(
	const struct model *m, const struct ip_addr *src, const struct ip_addr *dst)
{
	const struct route *best = NULL;

	for (unsigned int i = 0; i < m->n; i++) {
		const struct route *r = &m->route[i];
		bool any = ip_addr_is_none(&r->from);

		if (!naive_prefix(&r->to, ip_addr_family(&r->to.addr), dst) ||
			(!any && !ip_addr_equal(&r->from, src)))
			continue;
		if (best == NULL || r->to.len > best->to.len || (r->to.len == best->to.len && !any))
			best = r;
	}
	return best;
}

static void check(const struct route_table *t, const struct model *m, const struct ip_addr *dst)
{
	const struct ip_addr src[] = {source_of(0), source_of(SOURCE)};

	for (unsigned int i = 0; i < COUNT_OF(src); i++) {
		const struct nexthop *nh = route_find_from(t, &src[i], dst);
		const struct route *right = model_find(m, &src[i], dst);

		assert_true((nh == NULL) == (right == NULL));
		if (nh != NULL)
			assert_int_equal(nh->iface, right->nexthop.iface);
	}
}

static void change(struct route_table *t, struct model *m, const struct route *r, bool delete)
{
	struct route *known = model_at(m, r);

	if (delete) {
		assert_int_equal(
			route_delete(t, &r->to, &r->from, r->owner), known != NULL ? 0 : -ENOENT);
		if (known != NULL)
			*known = m->route[--m->n];
	} else if (known != NULL || m->n < ROUTES_MAX) {
		assert_int_equal(route_put(t, r), 0);
		*(known != NULL ? known : &m->route[m->n++]) = *r;
	}
	assert_int_equal(route_count(t), m->n);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct route_table *t = route_table_new();
	struct model m = {.n = 0};

	for (size_t at = 0; at + CHANGE <= size; at += CHANGE) {
		const uint8_t *b = data + at;
		struct route r = route_from(b, (uint16_t)at);

		change(t, &m, &r, (b[0] & DELETE) != 0);
		if ((b[0] & RELEASE) != 0)
			route_table_release(t, route_table_removed(t));
		for (size_t i = at % (4 * CHANGE); i <= at; i += 4 * CHANGE) {
			const struct ip_addr dst =
				addr_from(data + i + 2, (data[i] & IPV6) != 0 ? IP_V6 : IP_V4);

			check(t, &m, &dst);
		}
	}
	for (unsigned int i = 0; i < route_count(t); i++)
		assert_non_null(model_at(&m, route_at(t, i)));
	route_table_free(t);
	return 0;
}
