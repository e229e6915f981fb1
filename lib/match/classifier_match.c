// SPDX-License-Identifier: BSD-3-Clause
#include "classifier_match.h"

#include <stdlib.h>
#include <string.h>

// --- copies ---

// Copies an array to the end of the others, and moves that end.
static const void *array_move(char **end, const void *from, unsigned int n, size_t size)
{
	char *to = *end;

	if (n > 0)
		memcpy(to, from, n * size);
	*end += n * size;
	return to;
}

// In descending order of alignment.
struct classifier_lists *classifier_lists_copy(const struct classifier_lists *l)
{
	struct classifier_lists *copy =
		malloc(sizeof(*copy) + (l->n_source + l->n_destination) * sizeof(l->source[0]) +
			(l->n_source_port + l->n_destination_port) * sizeof(l->source_port[0]) +
			l->n_proto * sizeof(l->proto[0]));
	char *end = (char *)(copy + 1);

	if (copy == NULL)
		return NULL;
	*copy = *l;
	copy->source = array_move(&end, l->source, l->n_source, sizeof(l->source[0]));
	copy->destination =
		array_move(&end, l->destination, l->n_destination, sizeof(l->source[0]));
	copy->source_port =
		array_move(&end, l->source_port, l->n_source_port, sizeof(l->source_port[0]));
	copy->destination_port = array_move(
		&end, l->destination_port, l->n_destination_port, sizeof(l->source_port[0]));
	copy->proto = array_move(&end, l->proto, l->n_proto, sizeof(l->proto[0]));
	return copy;
}

static bool prefixes_equal(
	const struct ip_prefix *a, unsigned int n, const struct ip_prefix *b, unsigned int m)
{
	unsigned int i = 0;

	while (n == m && i < n && classifier_prefixes_equal(&a[i], &b[i]))
		i++;
	return n == m && i == n;
}

static bool arrays_equal(const void *a, unsigned int n, const void *b, unsigned int m, size_t size)
{
	return n == m && (n == 0 || memcmp(a, b, n * size) == 0);
}

bool classifier_lists_equal(const struct classifier_lists *a, const struct classifier_lists *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return prefixes_equal(a->source, a->n_source, b->source, b->n_source) &&
	       prefixes_equal(a->destination, a->n_destination, b->destination, b->n_destination) &&
	       arrays_equal(a->proto, a->n_proto, b->proto, b->n_proto, sizeof(a->proto[0])) &&
	       arrays_equal(a->source_port, a->n_source_port, b->source_port, b->n_source_port,
		       sizeof(a->source_port[0])) &&
	       arrays_equal(a->destination_port, a->n_destination_port, b->destination_port,
		       b->n_destination_port, sizeof(a->source_port[0]));
}

// --- combinations ---

// The number of a list in turn: *i is divided by its length.
static unsigned int digit(unsigned int *i, unsigned int n)
{
	const unsigned int number = *i % n;

	*i /= n;
	return number;
}

static const struct ip_prefix *prefix_at(
	const struct ip_prefix *first, const struct ip_prefix *more, unsigned int i)
{
	return i == 0 ? first : &more[i - 1];
}

static struct acl_port_range range_at(
	const struct acl_port_range *first, const struct proto_ports *more, unsigned int i)
{
	return i == 0 ? *first : acl_port_range(more[i - 1].min, more[i - 1].max);
}

static bool set_family(struct classifier_match *m, const struct classifier_lists *l)
{
	if (m->family != IP_ANY || l->n_source + l->n_destination == 0)
		return true;
	m->family = ip_addr_family(&m->source.addr);
	return m->family == ip_addr_family(&m->destination.addr);
}

static unsigned int numbers(const struct classifier_lists *l)
{
	return (1 + l->n_source) * (1 + l->n_destination) * (1 + l->n_proto) *
	       (1 + l->n_source_port) * (1 + l->n_destination_port);
}

// The combination with a number. False: its prefixes are of two families.
static bool combination(
	struct classifier_match *to, const struct classifier_match *m, unsigned int i)
{
	const struct classifier_lists *l = m->more;
	unsigned int proto;

	*to = *m;
	to->more = NULL;
	to->source = *prefix_at(&m->source, l->source, digit(&i, 1 + l->n_source));
	to->destination =
		*prefix_at(&m->destination, l->destination, digit(&i, 1 + l->n_destination));
	proto = digit(&i, 1 + l->n_proto);
	to->proto = proto == 0 ? m->proto : l->proto[proto - 1];
	to->source_port =
		range_at(&m->source_port, l->source_port, digit(&i, 1 + l->n_source_port));
	to->destination_port = range_at(
		&m->destination_port, l->destination_port, digit(&i, 1 + l->n_destination_port));
	return set_family(to, l);
}

bool classifier_next(
	struct classifier_match *one, const struct classifier_match *m, unsigned int *i)
{
	const unsigned int n = m->more != NULL ? numbers(m->more) : 1;

	if (m->more == NULL && *i == 0)
		*one = *m;
	while (m->more != NULL && *i < n && !combination(one, m, *i))
		++*i;
	return (*i)++ < n;
}

unsigned int classifier_combinations(const struct classifier_match *m)
{
	struct classifier_match ignored;
	unsigned int n = 0, i = 0;

	while (classifier_next(&ignored, m, &i))
		n++;
	return n;
}
