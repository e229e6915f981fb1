// SPDX-License-Identifier: BSD-3-Clause
#include "conf_schema.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define CPU_MAX      1023  // CPUs that Linux numbers in a cpu_set_t
#define ITEMS_MAX    65536 // far more than anyone writes by hand
#define POLICIES_MAX 16384
#define RULES_MAX    4096 // the last ones take long to get to
#define FLOWS_MAX    67108864
#define TIMEOUT_MAX  2000000 // seconds, of which milliseconds still fit 31 bits

static const char *const idles[] = {"poll", "pause", "sleep", "interrupt", NULL}; // enum conf_idle
static const char *const bonds[] = {"active-backup", "lacp", NULL};               // enum conf_bond
static const char *const levels[] = {"error", "warning", "info", "debug", NULL};  // enum log_level
static const char *const audits[] = {"none", "esp", "policy", NULL};              // enum conf_audit
static const char *const engines[] = {"auto", "ipsec_mb", "openssl", NULL};
static const char *const sides[] = {"protected", "unprotected", NULL}; // bool unprotected
static const char *const icmp_errors[] = {
	"unreachable", "too_big", "time_exceeded", "parameter_problem", NULL}; // enum conf_error
static const char *const socket_modes[] = {"0600", "0660", "0666", NULL};      // conf_socket_mode
static const char *const mss_clamps[] = {"auto", NULL};                        // CONF_MSS_AUTO
static const char *const error_checks[] = {"check", "trust", NULL};  // bool errors_trusted
static const char *const tcp_checks[] = {"strict", "liberal", NULL}; // bool tcp_liberal

// What conf_type_ports fills in.
#define CHECK_PAIR(type, member)                                                                   \
	static_assert(                                                                             \
		offsetof(type, member##_max) == offsetof(type, member##_min) + 2, "not a pair")
CHECK_PAIR(struct conf_policy, local_port);
CHECK_PAIR(struct conf_policy, remote_port);
CHECK_PAIR(struct conf_rule, source_port);
CHECK_PAIR(struct conf_rule, destination_port);

// Kinds of values.
#define TYPE(kind)                   .type = &conf_type_##kind
#define BOOL                         TYPE(bool)
#define RANGE(kind, lo, hi)          TYPE(kind), .min = (lo), .max = (hi)
#define UINT(lo, hi)                 RANGE(uint, lo, hi)
#define WORDS(kind, words)           TYPE(kind), .choices = (words)
#define CHOICE(words)                WORDS(choice, words)
#define WORD_OR(kind, words, lo, hi) RANGE(kind, lo, hi), .choices = (words)
#define AKA(words, value)            .aka = (words), value
#define ARRAY(lo, hi, value)         .shape = CONF_ARRAY, .n_min = (lo), .n_max = (hi), value

#define DEFAULT(text) .def = (text)
#define REQUIRED      .required = true
#define ABSENT(text)  .absent = (text)

#define RESTART     .restart = true
#define RELOAD      .restart = false
#define PROTECT     .only = CONF_ONLY_PROTECT
#define IKE         .only = CONF_ONLY_IKE
#define IKE_PROTECT .only = CONF_ONLY_IKE | CONF_ONLY_PROTECT

#define AT(owner, member) FIELD(struct owner, member)
#define ELEMENTS(owner, member, count)                                                             \
	AT(owner, member[0]), .count_offset = offsetof(struct owner, count)
#define NO_FIELD .size = 0

#define OPTION(name_, value, def_, change, at, help_)                                              \
	{.name = #name_, value, def_, change, at, .help = (help_)},
#define TIMEOUT(state, def_, help_)                                                                \
	OPTION(state, RANGE(seconds, 1, TIMEOUT_MAX), DEFAULT(def_), RELOAD,                       \
		AT(conf, flow_timeouts.state), help_)
#define SUBGROUP(name_, change, help_)                                                             \
	{.name = #name_, .shape = CONF_GROUP, .schema = &name_##_schema, change, .help = (help_)},
#define LIST(name_, item, lo, hi, def_, help_)                                                     \
	{.name = #name_,                                                                           \
		.shape = CONF_LIST,                                                                \
		.schema = &item##_schema,                                                          \
		.n_min = (lo),                                                                     \
		.n_max = (hi),                                                                     \
		def_,                                                                              \
		AT(conf, name_),                                                                   \
		.count_offset = offsetof(struct conf, n_##name_),                                  \
		.help = (help_)},

#define ORDERED   true
#define UNORDERED false

// clang-format off
#define GROUP(name) static const struct conf_option name##_options[] = {
#define ITEM(name)  GROUP(name)
#define END         {0}};
// clang-format on
#define END_GROUP(name)                                                                            \
	END static const struct conf_schema name##_schema = {.options = name##_options};
#define END_ITEM(name, identity_, scope_, ordered_)                                                \
	END static const struct conf_schema name##_schema = {                                      \
		.noun = #name,                                                                     \
		.identity = (identity_),                                                           \
		.scope = (scope_),                                                                 \
		.options = name##_options,                                                         \
		.item_size = sizeof(struct conf_##name),                                           \
		.ordered = (ordered_),                                                             \
	};
#define sa_schema conf_schema_sa

#include "conf_option.def"

const struct conf_schema conf_schema = {.options = top_options};
const struct conf_schema conf_key_schema = {.options = key_file_options};

// --- the settings of SAs ---

#define ROW(member, name_, only_, kind, ...)                                                       \
	{.name = (name_),                                                                          \
		.only = (only_),                                                                   \
		.type = &(kind),                                                                   \
		FIELD(struct conf_sa, member),                                                     \
		__VA_ARGS__},

static const struct conf_schema group_lifetime, group_tfc, group_udp;

// clang-format off
#define SA_GROUP(group) static const struct conf_option group##_options[] = {
#define SA_GROUP_END    {0}};
// clang-format on
#define SA_OPTION(type, field, ...)      ROW(opt.field, __VA_ARGS__)
#define SA_LIVE_OPTION(type, field, ...) ROW(live.field, __VA_ARGS__)
#define SA_KEY_OPTION(name_, kind, ...)  {.name = (name_), .type = &(kind), __VA_ARGS__},
#define ALIKE                            .size = 0
#define GIVEN(field)                     FIELD(struct conf_sa, opt.field)
#define SA_SUBGROUP(group, only_, given, help_)                                                    \
	{.name = #group,                                                                           \
		.only = (only_),                                                                   \
		.shape = CONF_GROUP,                                                               \
		.schema = &group_##group,                                                          \
		given,                                                                             \
		.help = (help_)},
#include "sa_option.def"

static const struct conf_schema group_lifetime = {.options = lifetime_options};
static const struct conf_schema group_tfc = {.options = tfc_options};
static const struct conf_schema group_udp = {.options = udp_options};

const struct conf_schema conf_schema_sa = {
	.noun = "sa",
	.identity = "name",
	.options = sa_options,
	.item_size = sizeof(struct conf_sa),
};

// --- items of lists ---

const struct conf_option *conf_schema_find(const struct conf_schema *schema, const char *name)
{
	for (const struct conf_option *o = schema->options; o->name != NULL; o++)
		if (strcmp(o->name, name) == 0)
			return o;
	return NULL;
}

bool conf_list_needs_restart(const struct conf_schema *schema)
{
	const struct conf_option *o = schema->options;

	while (o->name != NULL && !o->restart)
		o++;
	return o->name != NULL;
}

const char *conf_identity_plain(const struct conf_schema *schema, const char *text)
{
	const struct conf_option *o = conf_schema_find(schema, schema->identity);
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

const char *conf_identity(const struct conf_schema *schema, const config_setting_t *item)
{
	const char *text = conf_identity_plain(schema, conf_text_in(item, schema->identity));
	const char *scope = schema->scope != NULL ? conf_text_in(item, schema->scope) : "";

	return scope[0] == '\0' ? text : conf_format("%s %s %s", text, schema->scope, scope);
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

bool conf_equal_interface(const void *a, const void *b)
{
	const struct conf_iface_addr *x = a, *y = b;

	return ip_addr_equal(&x->addr, &y->addr) && conf_equal_prefix(&x->net, &y->net);
}

bool conf_option_equal(const struct conf_option *o, const void *base_a, const void *base_b)
{
	const char *a = base_a, *b = base_b;
	unsigned int n = 1, m = 1;

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
