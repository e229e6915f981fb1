// SPDX-License-Identifier: BSD-3-Clause
// The settings of security associations.
#include "conf_schema.h"

static const char *const directions[] = {"in", "out", NULL};      // enum conf_direction
static const char *const fragments[] = {"before", "after", NULL}; // bool fragment_after
static const char *const pads[] = {"mtu", NULL};                  // CONF_TFC_MTU

#define LIFETIME(kind, unit, type_)                                                                \
	{                                                                                          \
		.name = #kind "_" #unit, .type = &(type_), FIELD(struct conf_sa, kind.unit)        \
	}

static const struct conf_option lifetime_options[] = {
	LIFETIME(soft, bytes, conf_type_amount),
	LIFETIME(hard, bytes, conf_type_amount),
	LIFETIME(soft, packets, conf_type_amount),
	LIFETIME(hard, packets, conf_type_amount),
	LIFETIME(soft, seconds, conf_type_period),
	LIFETIME(hard, seconds, conf_type_period),
	{0},
};

static const struct conf_schema lifetime = {.options = lifetime_options};

static const struct conf_option tfc_options[] = {
	{.name = "pad",
		.type = &conf_type_tfc_pad,
		.choices = pads,
		.min = 64,
		.max = 9600,
		.def = "mtu",
		FIELD(struct conf_sa, tfc_pad)},
	{.name = "dummies",
		.type = &conf_type_uint,
		.max = 50000,
		.def = "0",
		FIELD(struct conf_sa, tfc_dummies)},
	{0},
};

static const struct conf_schema tfc = {.options = tfc_options};

static const struct conf_option udp_options[] = {
	{.name = "local_port",
		.type = &conf_type_uint,
		.min = 1,
		.max = UINT16_MAX,
		.def = "4500",
		FIELD(struct conf_sa, udp_local_port)},
	{.name = "remote_port",
		.only = CONF_ONLY_OUT,
		.type = &conf_type_uint,
		.min = 1,
		.max = UINT16_MAX,
		.def = "4500",
		FIELD(struct conf_sa, udp_remote_port)},
	{.name = "keepalive",
		.only = CONF_ONLY_OUT,
		.type = &conf_type_seconds,
		.max = 3600,
		.def = "20",
		FIELD(struct conf_sa, keepalive_s)},
	{.name = "follow",
		.only = CONF_ONLY_OUT,
		.type = &conf_type_bool,
		.def = "false",
		FIELD(struct conf_sa, follow)},
	{0},
};

static const struct conf_schema udp = {.options = udp_options};

static const struct conf_option sa_options[] = {
	{.name = "name", .type = &conf_type_name, .required = true, FIELD(struct conf_sa, name)},
	{.name = "direction",
		.type = &conf_type_choice,
		.choices = directions,
		.required = true,
		FIELD(struct conf_sa, direction)},
	{.name = "mode",
		.type = &conf_type_choice,
		.choices = sa_mode_names,
		.def = "tunnel",
		FIELD(struct conf_sa, mode)},
	{.name = "spi", .type = &conf_type_spi, .required = true, FIELD(struct conf_sa, spi)},
	{.name = "local",
		.type = &conf_type_address,
		.required = true,
		FIELD(struct conf_sa, local)},
	{.name = "remote",
		.type = &conf_type_peer,
		.required = true,
		FIELD(struct conf_sa, remote)},
	{.name = "cipher",
		.type = &conf_type_cipher,
		.required = true,
		FIELD(struct conf_sa, cipher)},
	{.name = "auth", .type = &conf_type_auth, .def = "none", FIELD(struct conf_sa, auth)},
	{.name = "cipher_key", .type = &conf_type_key},
	{.name = "auth_key", .type = &conf_type_key},
	{.name = "key_file", .type = &conf_type_string},
	{.name = "replay_window",
		.only = CONF_ONLY_IN,
		.type = &conf_type_uint,
		.max = 65536,
		.def = "64",
		FIELD(struct conf_sa, replay_window)},
	{.name = "esn", .type = &conf_type_bool, .def = "false", FIELD(struct conf_sa, esn)},
	{.name = "df",
		.only = CONF_ONLY_OUT | CONF_ONLY_TUNNEL,
		.type = &conf_type_choice,
		.choices = sa_df_names,
		.def = "copy",
		FIELD(struct conf_sa, df)},
	{.name = "fragment",
		.only = CONF_ONLY_OUT | CONF_ONLY_TUNNEL,
		.type = &conf_type_choice,
		.choices = fragments,
		.def = "before",
		FIELD(struct conf_sa, fragment_after)},
	{.name = "lifetime", .shape = CONF_GROUP, .schema = &lifetime},
	{.name = "dscp",
		.only = CONF_ONLY_TUNNEL,
		.type = &conf_type_dscp,
		FIELD(struct conf_sa, dscp)},
	{.name = "ecn",
		.only = CONF_ONLY_TUNNEL,
		.type = &conf_type_bool,
		.def = "true",
		FIELD(struct conf_sa, ecn)},
	{.name = "ttl",
		.only = CONF_ONLY_OUT | CONF_ONLY_TUNNEL,
		.type = &conf_type_uint,
		.min = 1,
		.max = 255,
		.def = "64",
		FIELD(struct conf_sa, ttl)},
	{.name = "flow_label",
		.only = CONF_ONLY_OUT | CONF_ONLY_TUNNEL,
		.type = &conf_type_choice,
		.choices = sa_flow_label_names,
		.def = "zero",
		FIELD(struct conf_sa, flow_label)},
	{.name = "tfc",
		.only = CONF_ONLY_OUT | CONF_ONLY_TUNNEL,
		.shape = CONF_GROUP,
		.schema = &tfc},
	{.name = "udp", .shape = CONF_GROUP, .schema = &udp},
	{0},
};

const struct conf_schema conf_schema_sa = {
	.noun = "sa",
	.identity = "name",
	.options = sa_options,
	.item_size = sizeof(struct conf_sa),
};
