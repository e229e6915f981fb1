// SPDX-License-Identifier: BSD-3-Clause
// The settings of security associations: those of sa_option.def.
#include "conf_schema.h"

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
#define SA_SUBGROUP(group, only_, help_)                                                           \
	{.name = #group,                                                                           \
		.only = (only_),                                                                   \
		.shape = CONF_GROUP,                                                               \
		.schema = &group_##group,                                                          \
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
