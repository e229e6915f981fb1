// SPDX-License-Identifier: BSD-3-Clause
#include "conf_schema.h"

#include <stddef.h>
#include <string.h>

#define CPU_MAX     1023  // CPUs that Linux numbers in a cpu_set_t
#define ITEMS_MAX   65536 // far more than anyone writes by hand
#define FLOWS_MAX   67108864
#define TIMEOUT_MAX 2000000 // seconds, of which milliseconds still fit 31 bits

// Kinds of values.
#define TYPE(kind)                  .type = &conf_type_##kind
#define BOOL                        TYPE(bool)
#define RANGE(kind, lo, hi)         TYPE(kind), .min = (lo), .max = (hi)
#define UINT(lo, hi)                RANGE(uint, lo, hi)
#define CHOICE(words)               TYPE(choice), .choices = (words)
#define WORDS(kind, ...)            TYPE(kind), .choices = LITERAL(__VA_ARGS__)
#define ONE_OF(...)                 WORDS(choice, __VA_ARGS__)
#define WORD_OR(kind, lo, hi, word) RANGE(kind, lo, hi), .choices = LITERAL(word)
#define HOPS                        TYPE(hops), .options = conf_hop_options
#define AKA(words, value)           .aka = (words), value
#define ARRAY(lo, hi, value)        .shape = CONF_ARRAY, .n_min = (lo), .n_max = (hi), value
#define MANY(value)                 .shape = CONF_MANY, .n_min = 1, .n_max = CONF_VALUES_MAX, value
#define MANY_OF(value, list)        MANY(value), .alias = offsetof(struct conf_alias, list)

#define DEFAULT(text) .def = (text)
#define REQUIRED      .required = true
#define ABSENT(text)  .absent = (text)

#define RESTART     .restart = true
#define RELOAD      .restart = false
#define PROTECT     .only = CONF_ONLY_PROTECT
#define IKE         .only = CONF_ONLY_IKE
#define IKE_PROTECT .only = CONF_ONLY_IKE | CONF_ONLY_PROTECT

#define SAME(owner, member)     FIELD(struct owner, member)
#define AT(owner, type, member) SAME(owner, member)
// Differences compare its text: it has names that are resolved later.
#define UNCOMPARED(owner, type, member) .offset = offsetof(struct owner, member)
#define PORTS_AT(owner, member)         SAME(owner, member)
#define ELEMENTS(owner, type, member, max, count)                                                  \
	SAME(owner, member[0]), .count_offset = offsetof(struct owner, count)
#define SAME_VALUES(owner, member)                                                                 \
	.offset = offsetof(struct owner, member), .size = sizeof(((struct owner *)0)->member.at[0])
#define VALUES_AT(owner, type, member) SAME_VALUES(owner, member)
#define NO_FIELD                       .size = 0
#define DERIVED(...)

#define OPTION(name_, value, def_, change, at, help_)                                              \
	{.name = #name_, value, def_, change, at, .help = (help_)},
#define TIMEOUT(state, def_, help_)                                                                \
	OPTION(state, RANGE(seconds, 1, TIMEOUT_MAX), DEFAULT(def_), RELOAD,                       \
		SAME(conf, flow_timeouts.state), help_)
#define SUBGROUP(name_, change, help_)                                                             \
	{.name = #name_,                                                                           \
		.shape = CONF_GROUP,                                                               \
		.options = conf_##name_##_options,                                                 \
		change,                                                                            \
		.help = (help_)},
#define PART(owner, name_, change, help_)                                                          \
	{.name = #name_,                                                                           \
		.shape = CONF_GROUP,                                                               \
		.options = conf_##name_##_options,                                                 \
		change,                                                                            \
		.part = offsetof(struct owner, name_),                                             \
		.help = (help_)},
#define KIND(id, noun, list, identity, scope, ordered, lo, hi, def_, help_)                        \
	{.name = #list,                                                                            \
		.shape = CONF_LIST,                                                                \
		.options = conf_##noun##_options,                                                  \
		.kind = CONF_##id,                                                                 \
		.n_min = (lo),                                                                     \
		.n_max = (hi),                                                                     \
		def_,                                                                              \
		.help = (help_)},

// clang-format off
#define LITERAL(...) (const char *const[]){__VA_ARGS__, NULL}
#define GROUP(name) const struct conf_option conf_##name##_options[] = {
#define ITEM        GROUP
#define TOP         GROUP(top)
#define END         {0}};
// clang-format on

extern const struct conf_option conf_lifetime_options[], conf_tfc_options[];

#include "conf_item.def"
#include "conf_option.def"

// --- the settings of SAs ---

#define ROW(member, name_, only_, kind, ...)                                                       \
	{.name = (name_),                                                                          \
		.only = (only_),                                                                   \
		.type = &(kind),                                                                   \
		FIELD(struct conf_sa, member),                                                     \
		__VA_ARGS__},

#define SA_GROUP                          GROUP
#define SA_GROUP_END                      END
#define SA_OPTION(type, field, ...)       ROW(opt.field, __VA_ARGS__)
#define SA_LOCAL_OPTION(type, field, ...) ROW(field, __VA_ARGS__)
#define SA_LIVE_OPTION(type, field, ...)  ROW(live.field, __VA_ARGS__)
#define SA_KEY_OPTION(name_, kind, ...)   {.name = (name_), .type = &(kind), __VA_ARGS__},
#define ALIKE                             .size = 0
#define GIVEN(field)                      FIELD(struct conf_sa, opt.field)
#define SA_SUBGROUP(group, only_, given, help_)                                                    \
	{.name = #group,                                                                           \
		.only = (only_),                                                                   \
		.shape = CONF_GROUP,                                                               \
		.options = conf_##group##_options,                                                 \
		given,                                                                             \
		.help = (help_)},
#include "sa_option.def"

// --- items of lists ---

const struct conf_kind_info conf_kinds[CONF_KINDS] = {
#define KIND(id, noun, list, identity, scope, ordered, ...)                                        \
	{#noun, #list, identity, scope, ordered, offsetof(struct conf, list),                      \
		offsetof(struct conf, n_##list), sizeof(struct conf_##noun),                       \
		conf_##noun##_options},
#include "conf_kind.def"
};

const void *conf_items(const struct conf *c, enum conf_kind kind, unsigned int *n)
{
	const void *items;

	if (kind == CONF_PORT && c->listed_ports != NULL) {
		*n = c->n_listed_ports;
		return c->listed_ports;
	}
	memcpy(&items, (const char *)c + conf_kinds[kind].offset, sizeof(items));
	memcpy(n, (const char *)c + conf_kinds[kind].n_offset, sizeof(*n));
	return items;
}

const struct conf_option *conf_option_find(const struct conf_option *options, const char *name)
{
	for (const struct conf_option *o = options; o->name != NULL; o++)
		if (strcmp(o->name, name) == 0)
			return o;
	return NULL;
}

bool conf_kind_needs_restart(enum conf_kind kind)
{
	const struct conf_option *o = conf_kinds[kind].options;

	while (o->name != NULL && !o->restart)
		o++;
	return o->name != NULL;
}

const char *conf_identity_plain(enum conf_kind kind, const char *text)
{
	const struct conf_kind_info *k = &conf_kinds[kind];
	const struct conf_option *o = conf_option_find(k->options, k->identity);
	char buf[IP_PREFIX_STRLEN];
	struct ip_prefix prefix;
	struct ip_addr addr;

	if (o->type == &conf_type_address && ip_addr_parse(&addr, text) == 0)
		return conf_strdup(ip_addr_format(buf, &addr));
	if (o->type == &conf_type_prefix && ip_prefix_parse(&prefix, text) == 0)
		return conf_strdup(ip_prefix_format(buf, &prefix));
	return text;
}

const char *conf_text_in(const config_setting_t *item, const char *name)
{
	const config_setting_t *s = conf_member(item, name);
	const char *text = s != NULL ? config_setting_get_string(s) : NULL;

	return text != NULL ? text : "";
}

const char *conf_identity(enum conf_kind kind, const config_setting_t *item)
{
	const struct conf_kind_info *k = &conf_kinds[kind];
	const char *text = conf_identity_plain(kind, conf_text_in(item, k->identity));
	const char *scope = k->scope != NULL ? conf_text_in(item, k->scope) : "";

	return scope[0] == '\0' ? text : conf_format("%s %s %s", text, k->scope, scope);
}

// --- values ---

bool conf_texts_equal(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool conf_equal_text(const void *a, const void *b)
{
	return conf_texts_equal(*(const char *const *)a, *(const char *const *)b);
}

// Member by member: there is padding in between.
bool conf_equal_prefix(const void *a, const void *b)
{
	const struct ip_prefix *x = a, *y = b;

	return ip_addr_equal(&x->addr, &y->addr) && x->len == y->len;
}

bool conf_equal_addrs(const void *a, const void *b)
{
	const struct conf_addrs *x = a, *y = b;

	return x->port == y->port && x->len == y->len && ip_addr_equal(&x->first, &y->first) &&
	       ip_addr_equal(&x->last, &y->last);
}

bool conf_equal_interface(const void *a, const void *b)
{
	const struct conf_iface_addr *x = a, *y = b;

	return ip_addr_equal(&x->addr, &y->addr) && conf_equal_prefix(&x->net, &y->net);
}

bool conf_option_equal(const struct conf_option *o, const void *base_a, const void *base_b)
{
	const char *a = base_a, *b = base_b;
	unsigned int n = 1, m = 1;

	if (o->shape == CONF_MANY)
		return conf_values_equal(o, a, b);
	if (o->shape == CONF_ARRAY) {
		memcpy(&n, a + o->count_offset, sizeof(n));
		memcpy(&m, b + o->count_offset, sizeof(m));
	}
	for (unsigned int i = 0; n == m && i < n; i++) {
		size_t at = o->offset + i * o->size;

		if (o->type != NULL && o->type->equal != NULL
				? !o->type->equal(a + at, b + at)
				: memcmp(a + at, b + at, o->size) != 0)
			return false;
	}
	return n == m;
}
