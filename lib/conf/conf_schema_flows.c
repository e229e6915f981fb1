// SPDX-License-Identifier: BSD-3-Clause
// The group flows.
#include <stddef.h>

#include "conf_schema.h"

#define FLOWS_MAX   67108864
#define TIMEOUT_MAX 2000000 // seconds, of which milliseconds still fit 31 bits

static const char *const tcp_checks[] = {"strict", "liberal", NULL}; // bool tcp_liberal

#define TIMEOUT(state, seconds)                                                                    \
	{                                                                                          \
		.name = #state, .type = &conf_type_seconds, .min = 1, .max = TIMEOUT_MAX,          \
		.def = seconds, FIELD(struct conf, flow_timeouts.state)                            \
	}

static const struct conf_option timeout_options[] = {
	TIMEOUT(tcp_syn_sent, "120"),
	TIMEOUT(tcp_syn_recv, "60"),
	TIMEOUT(tcp_picked_up, "300"),
	TIMEOUT(tcp_established, "432000"),
	TIMEOUT(tcp_fin_wait, "120"),
	TIMEOUT(tcp_close_wait, "60"),
	TIMEOUT(tcp_last_ack, "30"),
	TIMEOUT(tcp_time_wait, "120"),
	TIMEOUT(tcp_close, "10"),
	TIMEOUT(udp, "30"),
	TIMEOUT(udp_stream, "120"),
	TIMEOUT(icmp, "30"),
	TIMEOUT(generic, "600"),
	{0},
};

static const struct conf_schema timeouts = {.options = timeout_options};

static const struct conf_option flow_options[] = {
	{.name = "max",
		.restart = true,
		.type = &conf_type_count,
		.min = 1024,
		.max = FLOWS_MAX,
		.def = "1000000",
		FIELD(struct conf, flows_max)},
	{.name = "per_source",
		.type = &conf_type_count,
		.max = FLOWS_MAX,
		.def = "0",
		FIELD(struct conf, flows_per_source)},
	{.name = "tcp",
		.type = &conf_type_choice,
		.choices = tcp_checks,
		.def = "strict",
		FIELD(struct conf, tcp_liberal)},
	{.name = "pickup", .type = &conf_type_bool, .def = "true", FIELD(struct conf, tcp_pickup)},
	{.name = "timeouts", .shape = CONF_GROUP, .schema = &timeouts},
	{0},
};

const struct conf_schema conf_schema_flows = {.options = flow_options};
