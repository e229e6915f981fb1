// SPDX-License-Identifier: BSD-3-Clause
// Settings that take one value or a list of them. Values of a list are disjoint, so that each
// packet has at most one, and sorted, so that lists of the same values are equal.
#include <stdlib.h>
#include <string.h>

#include "conf_check.h"
#include "conf_schema.h"

// --- types ---

static int compare_prefixes(const void *a, const void *b)
{
	return ip_prefix_compare(a, b);
}

// ::/0 has no address of IPv4.
static bool prefixes_overlap(const void *a, const void *b)
{
	const struct ip_prefix *x = a, *y = b;

	return ip_addr_family(&x->addr) == ip_addr_family(&y->addr) && ip_prefix_overlaps(x, y);
}

static int compare_protos(const void *a, const void *b)
{
	const uint16_t *x = a, *y = b;

	return *x - *y;
}

static bool protos_overlap(const void *a, const void *b)
{
	const uint16_t *x = a, *y = b;

	return *x == *y || *x == PROTO_ANY || *y == PROTO_ANY;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct proto_ports *x = a, *y = b;

	return x->min != y->min ? x->min - y->min : x->max - y->max;
}

static bool is_none(const struct proto_ports *p)
{
	return p->min > p->max;
}

static bool ranges_overlap(const void *a, const void *b)
{
	const struct proto_ports *x = a, *y = b;

	return is_none(x) || is_none(y) || (x->min <= y->max && y->min <= x->max);
}

static const struct kind {
	const struct conf_type *type;
	int (*compare)(const void *a, const void *b);
	bool (*overlap)(const void *a, const void *b);
} kinds[] = {
	{&conf_type_prefix, compare_prefixes, prefixes_overlap},
	{&conf_type_proto, compare_protos, protos_overlap},
	{&conf_type_ports, compare_ranges, ranges_overlap},
	{&conf_type_icmp, compare_ranges, ranges_overlap},
};

static const struct kind *kind_of(const struct conf_option *o)
{
	const struct kind *k = kinds;

	while (k->type != o->type)
		k++;
	return k;
}

// --- reading ---

// A list that grows.
struct list {
	struct conf_reader *r;
	const struct conf_option *o;
	const struct kind *kind;
	config_setting_t *s;
	char *at;
	const char **written; // by value: the element that it comes from
	unsigned int n, room;
};

static void list_reserve(struct list *l, unsigned int n)
{
	if (l->n + n <= l->room)
		return;
	l->room = RTE_MAX(l->n + n, 2 * l->room);
	l->at = conf_resize(l->at, l->room * l->o->size);
	l->written = conf_resize(l->written, l->room * sizeof(l->written[0]));
}

// Adds values, which are disjoint, of one element: its text is written.
static void list_add(struct list *l, const char *values, unsigned int n, const char *written)
{
	const unsigned int before = l->n;
	const size_t size = l->o->size;

	list_reserve(l, n);
	for (unsigned int i = 0; i < n; i++) {
		const char *v = values + i * size;
		unsigned int k = 0;

		while (k < before && !l->kind->overlap(l->at + k * size, v))
			k++;
		if (k < before) {
			conf_err(l->r, l->s, "%s and %s overlap, elements must be disjoint",
				conf_quote(l->written[k]), conf_quote(written));
			return;
		}
		memcpy(l->at + l->n * size, v, size);
		l->written[l->n++] = written;
	}
}

// --- aliases ---

static bool is_reference(
	const struct conf_reader *r, const struct conf_option *o, const config_setting_t *s)
{
	return o->alias != 0 && r->ike == NULL && config_setting_type(s) == CONFIG_TYPE_STRING &&
	       config_setting_get_string(s)[0] == '@';
}

// The setting of an alias that has values for the option.
static const char *setting_of(const struct conf_option *o)
{
	const struct conf_option *of_alias = conf_kinds[CONF_ALIAS].options;

	while (of_alias->offset != o->alias)
		of_alias++;
	return of_alias->name;
}

static const struct conf_alias *alias_find(const struct conf *c, const char *name)
{
	for (const struct conf_alias *a = c->aliases; a < c->aliases + c->n_aliases; a++)
		if (strcmp(a->name, name) == 0)
			return a;
	return NULL;
}

// The mistake is that of an alias, which was reported.
static void reject_quietly(const struct list *l)
{
	config_setting_set_hook(l->s, l->r->messages);
}

static void alias_add(struct list *l, const char *text)
{
	const struct conf_alias *alias = alias_find(l->r->c, text + 1);
	struct conf_values values;

	if (alias == NULL) {
		const struct conf_names names = conf_names_sort(l->r, CONF_ALIAS);

		conf_names_reject(
			l->r, l->s, (const struct conf_names *[]){&names, NULL}, text + 1);
		reject_quietly(l);
		return;
	}

	config_setting_t *item =
		conf_item(l->r, CONF_ALIAS, (unsigned int)(alias - l->r->c->aliases));

	memcpy(&values, (const char *)alias + l->o->alias, sizeof(values));
	if (values.n == 0)
		reject_quietly(l);
	if (values.n == 0 && !conf_rejected(item, setting_of(l->o)))
		conf_err(l->r, l->s, "%s has no %s", conf_ref(item), setting_of(l->o));
	list_add(l, values.at, values.n, text);
}

// --- settings ---

static const char *text_of(const config_setting_t *s)
{
	return config_setting_type(s) == CONFIG_TYPE_STRING ? config_setting_get_string(s)
							    : conf_bare_text(s);
}

static void element_add(struct list *l, config_setting_t *s)
{
	const unsigned int before = l->r->n_messages;
	char *value;

	if (is_reference(l->r, l->o, s)) {
		alias_add(l, config_setting_get_string(s));
		return;
	}
	value = conf_alloc(1, l->o->size);
	conf_read_value(l->r, l->o, s, value);
	if (l->r->n_messages == before)
		list_add(l, value, 1, text_of(s));
	conf_dealloc(value);
}

// NULL: it is a single value, which is shown in its usual form.
static const char *written_text(
	const struct conf_reader *r, const struct conf_option *o, config_setting_t *s)
{
	const bool many = config_setting_is_aggregate(s);
	const int n = many ? config_setting_length(s) : 1;
	const char *text = "";

	if (n == 1 && !is_reference(r, o, many ? config_setting_get_elem(s, 0) : s))
		return NULL;
	for (int i = 0; i < n; i++)
		text = conf_format("%s%s%s", text, i > 0 ? "," : "",
			text_of(many ? config_setting_get_elem(s, (unsigned int)i) : s));
	return text;
}

static void elements_read(struct list *l, config_setting_t *s)
{
	const bool many =
		l->r->ike == NULL && (config_setting_is_array(s) || config_setting_is_list(s));
	const unsigned int n = many ? (unsigned int)config_setting_length(s) : 1;

	list_reserve(l, n);
	for (unsigned int i = 0; i < n; i++)
		element_add(l, many ? config_setting_get_elem(s, i) : s);
	if (many && (n == 0 || l->n > l->o->n_max))
		conf_err(l->r, s, "has %u values, must have %u to %u", l->n, l->o->n_min,
			l->o->n_max);
}

static struct conf_values default_of(struct conf_reader *r, const struct conf_option *o)
{
	char *value = conf_alloc(1, o->size);

	o->type->parse(&(struct conf_value){r, o, NULL, o->def, value});
	return (struct conf_values){value, 1, NULL};
}

void conf_read_values(
	struct conf_reader *r, const struct conf_option *o, config_setting_t *s, char *base)
{
	struct list l = {.r = r, .o = o, .kind = kind_of(o), .s = s};
	struct conf_values values;

	if (s == NULL) {
		values = default_of(r, o);
	} else {
		elements_read(&l, s);
		if (s->hook != NULL)
			return;
		qsort(l.at, l.n, o->size, l.kind->compare);
		values = (struct conf_values){l.at, l.n, written_text(r, o, s)};
		conf_dealloc(l.written);
	}
	memcpy(base + o->offset, &values, sizeof(values));
}

bool conf_values_equal(const struct conf_option *o, const char *base_a, const char *base_b)
{
	const struct kind *kind = kind_of(o);
	struct conf_values a, b;
	unsigned int i = 0;

	memcpy(&a, base_a + o->offset, sizeof(a));
	memcpy(&b, base_b + o->offset, sizeof(b));
	while (a.n == b.n && i < a.n &&
		kind->compare((const char *)a.at + i * o->size, (const char *)b.at + i * o->size) ==
			0)
		i++;
	return a.n == b.n && i == a.n;
}

// --- prefixes ---

bool conf_prefixes_contain(const struct conf_prefixes *p, const struct ip_addr *a)
{
	bool found = false;

	for (unsigned int i = 0; i < p->n && !found; i++)
		found = (p->n == 1 || ip_addr_family(&p->at[i].addr) == ip_addr_family(a)) &&
			ip_prefix_contains(&p->at[i], a);
	return found;
}

bool conf_prefixes_overlap(const struct conf_prefixes *p, const struct ip_prefix *other)
{
	bool found = false;

	for (unsigned int i = 0; i < p->n && !found; i++)
		found = ip_prefix_overlaps(&p->at[i], other);
	return found;
}

bool conf_prefixes_meet(const struct conf_prefixes *a, const struct conf_prefixes *b)
{
	bool found = false;

	for (unsigned int i = 0; i < a->n && !found; i++)
		found = conf_prefixes_overlap(b, &a->at[i]);
	return found;
}
