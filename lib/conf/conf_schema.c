// SPDX-License-Identifier: BSD-3-Clause
#include "conf_schema.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define CPU_MAX   1023  // CPUs that Linux numbers in a cpu_set_t
#define ITEMS_MAX 65536 // far more than anyone writes by hand
#define RULES_MAX 4096  // the last ones take long to get to

static const char *const idles[] = {"poll", "pause", "sleep", "interrupt", NULL}; // enum conf_idle
static const char *const levels[] = {"error", "warning", "info", "debug", NULL};  // enum log_level
static const char *const audits[] = {"none", "esp", "policy", NULL};              // enum conf_audit
static const char *const engines[] = {"auto", "ipsec_mb", "openssl", NULL};
static const char *const sides[] = {"protected", "unprotected", NULL}; // bool unprotected
static const char *const icmp_errors[] = {
	"unreachable", "too_big", "time_exceeded", "parameter_problem", NULL}; // enum conf_error
static const char *const socket_modes[] = {"0600", "0660", "0666", NULL};      // conf_socket_mode
static const char *const mss_clamps[] = {"auto", NULL};                        // CONF_MSS_AUTO
static const char *const error_checks[] = {"check", "trust", NULL}; // bool errors_trusted

static const struct conf_option cpu_options[] = {
	{.name = "control",
		.restart = true,
		.type = &conf_type_uint,
		.max = CPU_MAX,
		.def = "0",
		FIELD(struct conf, control_cpu)},
	{.name = "workers",
		.restart = true,
		.shape = CONF_ARRAY,
		.type = &conf_type_uint,
		.max = CPU_MAX,
		.def = "1",
		.n_min = 1,
		.n_max = CONF_WORKERS_MAX,
		FIELD(struct conf, worker_cpus[0]),
		.count_offset = offsetof(struct conf, n_workers)},
	{0},
};

static const struct conf_option memory_options[] = {
	{.name = "size",
		.restart = true,
		.type = &conf_type_megabytes,
		.min = 64,
		.max = 1048576,
		.def = "1024",
		FIELD(struct conf, memory_mb)},
	{.name = "hugepages",
		.restart = true,
		.type = &conf_type_bool,
		.def = "true",
		FIELD(struct conf, hugepages)},
	{.name = "packet_buffers",
		.restart = true,
		.type = &conf_type_count,
		.min = 1024,
		.max = 16777216,
		FIELD(struct conf, packet_buffers)},
	{0},
};

static const struct conf_option icmp_options[] = {
	{.name = "errors_per_second",
		.type = &conf_type_count,
		.max = 1000000,
		.def = "1000",
		FIELD(struct conf, icmp_errors_per_second)},
	{.name = "echo_replies_per_second",
		.type = &conf_type_count,
		.max = 1000000,
		.def = "1000",
		FIELD(struct conf, icmp_echoes_per_second)},
	{.name = "errors_in_clear",
		.shape = CONF_ARRAY,
		.type = &conf_type_choice,
		.choices = icmp_errors,
		.n_max = CONF_ERRORS,
		FIELD(struct conf, errors_in_clear[0]),
		.count_offset = offsetof(struct conf, n_errors_in_clear)},
	{0},
};

static const struct conf_option ike_options[] = {
	{.name = "via",
		.shape = CONF_ARRAY,
		.type = &conf_type_address,
		.n_min = 1,
		.n_max = CONF_IKE_VIA_MAX,
		FIELD(struct conf, ike_via[0]),
		.count_offset = offsetof(struct conf, n_ike_via)},
	{0},
};

static const struct conf_option pmtu_options[] = {
	{.name = "learn", .type = &conf_type_bool, .def = "true", FIELD(struct conf, pmtu_learn)},
	{.name = "min",
		.type = &conf_type_uint,
		.min = 296,
		.max = 9600,
		.def = "576",
		FIELD(struct conf, pmtu_min)},
	{.name = "age",
		.type = &conf_type_seconds,
		.min = 1,
		.max = 86400,
		.def = "600",
		FIELD(struct conf, pmtu_age_s)},
	{0},
};

static const struct conf_option neighbour_table_options[] = {
	{.name = "max",
		.restart = true,
		.type = &conf_type_count,
		.min = 16,
		.max = 1048576,
		.def = "4096",
		FIELD(struct conf, neighbours_max)},
	{.name = "hold",
		.restart = true,
		.type = &conf_type_count,
		.min = 1,
		.max = 65536,
		.def = "256",
		FIELD(struct conf, neighbour_hold)},
	{.name = "reachable",
		.type = &conf_type_seconds,
		.min = 1,
		.max = 86400,
		.def = "30",
		FIELD(struct conf, neighbour_reachable_s)},
	{0},
};

static const struct conf_option metrics_options[] = {
	{.name = "address",
		.restart = true,
		.type = &conf_type_loopback,
		.def = "127.0.0.1",
		FIELD(struct conf, metrics_addr)},
	{.name = "port",
		.restart = true,
		.type = &conf_type_uint,
		.max = 65535,
		.def = "0",
		FIELD(struct conf, metrics_port)},
	{.name = "socket",
		.restart = true,
		.type = &conf_type_socket,
		.def = "none",
		FIELD(struct conf, metrics_socket)},
	{.name = "mode",
		.restart = true,
		.type = &conf_type_choice,
		.choices = socket_modes,
		.def = "0600",
		FIELD(struct conf, metrics_mode)},
	{0},
};

static const struct conf_option port_options[] = {
	{.name = "name",
		.restart = true,
		.type = &conf_type_name,
		.required = true,
		FIELD(struct conf_port, name)},
	{.name = "device",
		.restart = true,
		.type = &conf_type_text,
		.required = true,
		FIELD(struct conf_port, device)},
	{.name = "addresses",
		.restart = true,
		.shape = CONF_ARRAY,
		.type = &conf_type_interface,
		.required = true,
		.n_min = 1,
		.n_max = CONF_ADDRS_MAX,
		FIELD(struct conf_port, addrs[0]),
		.count_offset = offsetof(struct conf_port, n_addrs)},
	{.name = "mtu",
		.restart = true,
		.type = &conf_type_uint,
		.min = 576,
		.max = 9600,
		.def = "1500",
		FIELD(struct conf_port, mtu)},
	{.name = "rx_queues",
		.restart = true,
		.type = &conf_type_uint,
		.min = 1,
		.max = 16,
		FIELD(struct conf_port, rx_queues)},
	{.name = "mac", .restart = true, .type = &conf_type_mac, FIELD(struct conf_port, mac)},
	{.name = "side",
		.type = &conf_type_choice,
		.choices = sides,
		FIELD(struct conf_port, unprotected)},
	{0},
};

static const struct conf_option route_options[] = {
	{.name = "to", .type = &conf_type_prefix, .required = true, FIELD(struct conf_route, to)},
	{.name = "via",
		.type = &conf_type_address,
		.required = true,
		FIELD(struct conf_route, via)},
	{.name = "port", .type = &conf_type_string},
	{0},
};

static const struct conf_option neighbour_options[] = {
	{.name = "address",
		.type = &conf_type_address,
		.required = true,
		FIELD(struct conf_neighbour, addr)},
	{.name = "mac",
		.type = &conf_type_mac,
		.required = true,
		FIELD(struct conf_neighbour, mac)},
	{.name = "port", .type = &conf_type_string},
	{0},
};

// What conf_type_ports fills in.
static_assert(offsetof(struct conf_policy, local_port_max) ==
		      offsetof(struct conf_policy, local_port_min) + 2,
	"not a pair");
static_assert(offsetof(struct conf_policy, remote_port_max) ==
		      offsetof(struct conf_policy, remote_port_min) + 2,
	"not a pair");

static const struct conf_option probe_options[] = {
	{.name = "address", .type = &conf_type_address, FIELD(struct conf_policy, probe_addr)},
	{.name = "interval",
		.type = &conf_type_seconds,
		.min = 1,
		.max = 3600,
		.def = "10",
		FIELD(struct conf_policy, probe_interval_s)},
	{0},
};

static const struct conf_schema probe = {.options = probe_options};

static const struct conf_option policy_options[] = {
	{.name = "name",
		.type = &conf_type_name,
		.required = true,
		FIELD(struct conf_policy, name)},
	{.name = "local", .type = &conf_type_prefix, FIELD(struct conf_policy, local)},
	{.name = "remote", .type = &conf_type_prefix, FIELD(struct conf_policy, remote)},
	{.name = "proto", .type = &conf_type_proto, .def = "any", FIELD(struct conf_policy, proto)},
	{.name = "local_port",
		.type = &conf_type_ports,
		.def = "0-65535",
		FIELD(struct conf_policy, local_port_min)},
	{.name = "remote_port",
		.type = &conf_type_ports,
		.def = "0-65535",
		FIELD(struct conf_policy, remote_port_min)},
	{.name = "local_icmp", .type = &conf_type_icmp, FIELD(struct conf_policy, local_port_min)},
	{.name = "remote_icmp",
		.type = &conf_type_icmp,
		FIELD(struct conf_policy, remote_port_min)},
	{.name = "action",
		.type = &conf_type_choice,
		.choices = spd_action_names,
		.required = true,
		FIELD(struct conf_policy, action)},
	{.name = "out", .type = &conf_type_string},
	{.name = "in", .type = &conf_type_sas},
	{.name = "icmp_errors",
		.type = &conf_type_choice,
		.choices = error_checks,
		.def = "check",
		FIELD(struct conf_policy, errors_trusted)},
	{.name = "mss_clamp",
		.type = &conf_type_mss,
		.choices = mss_clamps,
		.min = 88,
		.max = 9560,
		FIELD(struct conf_policy, mss_clamp)},
	{.name = "probe", .shape = CONF_GROUP, .schema = &probe},
	{0},
};

static_assert(offsetof(struct conf_rule, source_port_max) ==
		      offsetof(struct conf_rule, source_port_min) + 2,
	"not a pair");
static_assert(offsetof(struct conf_rule, destination_port_max) ==
		      offsetof(struct conf_rule, destination_port_min) + 2,
	"not a pair");

static const struct conf_option rule_options[] = {
	{.name = "name", .type = &conf_type_name, .required = true, FIELD(struct conf_rule, name)},
	{.name = "action",
		.type = &conf_type_choice,
		.choices = rule_action_names,
		.required = true,
		FIELD(struct conf_rule, action)},
	{.name = "source", .type = &conf_type_prefix, FIELD(struct conf_rule, source)},
	{.name = "destination", .type = &conf_type_prefix, FIELD(struct conf_rule, destination)},
	{.name = "proto", .type = &conf_type_proto, .def = "any", FIELD(struct conf_rule, proto)},
	{.name = "source_port",
		.type = &conf_type_ports,
		.def = "0-65535",
		FIELD(struct conf_rule, source_port_min)},
	{.name = "destination_port",
		.type = &conf_type_ports,
		.def = "0-65535",
		FIELD(struct conf_rule, destination_port_min)},
	{.name = "icmp", .type = &conf_type_icmp, FIELD(struct conf_rule, source_port_min)},
	{.name = "in", .type = &conf_type_string},
	{.name = "out", .type = &conf_type_string},
	{.name = "tunnel", .type = &conf_type_name, FIELD(struct conf_rule, tunnel)},
	{.name = "state",
		.shape = CONF_ARRAY,
		.type = &conf_type_choice,
		.choices = rule_state_names,
		.n_min = 1,
		.n_max = RULE_STATES,
		FIELD(struct conf_rule, states[0]),
		.count_offset = offsetof(struct conf_rule, n_states)},
	{.name = "log", .type = &conf_type_bool, .def = "false", FIELD(struct conf_rule, log)},
	{0},
};

static const struct conf_option key_options[] = {
	{.name = "cipher_key", .type = &conf_type_key},
	{.name = "auth_key", .type = &conf_type_key},
	{.name = "key", .type = &conf_type_key},
	{0},
};

static const struct conf_schema cpus = {.options = cpu_options};
static const struct conf_schema memory = {.options = memory_options};
static const struct conf_schema icmp = {.options = icmp_options};
static const struct conf_schema ike = {.options = ike_options};
static const struct conf_schema pmtu = {.options = pmtu_options};
static const struct conf_schema neighbour_table = {.options = neighbour_table_options};
static const struct conf_schema metrics = {.options = metrics_options};
static const struct conf_schema port = {
	.noun = "port",
	.identity = "name",
	.options = port_options,
	.item_size = sizeof(struct conf_port),
	.ordered = true,
};
static const struct conf_schema route = {
	.noun = "route",
	.identity = "to",
	.options = route_options,
	.item_size = sizeof(struct conf_route),
};
static const struct conf_schema neighbour = {
	.noun = "neighbour",
	.identity = "address",
	.scope = "port",
	.options = neighbour_options,
	.item_size = sizeof(struct conf_neighbour),
};
static const struct conf_schema policy = {
	.noun = "policy",
	.identity = "name",
	.options = policy_options,
	.item_size = sizeof(struct conf_policy),
	.ordered = true,
};
static const struct conf_schema rule = {
	.noun = "rule",
	.identity = "name",
	.options = rule_options,
	.item_size = sizeof(struct conf_rule),
	.ordered = true,
};

#define LIST(member, most)                                                                         \
	.shape = CONF_LIST, .n_max = (most), FIELD(struct conf, member),                           \
	.count_offset = offsetof(struct conf, n_##member)

static const struct conf_option options[] = {
	{.name = "instance",
		.restart = true,
		.type = &conf_type_name,
		.def = "culvert",
		FIELD(struct conf, instance)},
	{.name = "state_dir",
		.type = &conf_type_state_dir,
		.restart = true,
		.def = "/var/lib/culvert",
		FIELD(struct conf, state_dir)},
	{.name = "user", .restart = true, .type = &conf_type_text, FIELD(struct conf, user)},
	{.name = "control_group",
		.restart = true,
		.type = &conf_type_text,
		FIELD(struct conf, control_group)},
	{.name = "show_group",
		.restart = true,
		.type = &conf_type_text,
		FIELD(struct conf, show_group)},
	{.name = "sandbox",
		.restart = true,
		.type = &conf_type_bool,
		.def = "true",
		FIELD(struct conf, sandbox)},
	{.name = "capture",
		.restart = true,
		.type = &conf_type_bool,
		.def = "false",
		FIELD(struct conf, capture)},
	{.name = "log_level",
		.restart = true,
		.type = &conf_type_choice,
		.choices = levels,
		.def = "info",
		FIELD(struct conf, log_level)},
	{.name = "audit",
		.type = &conf_type_choice,
		.choices = audits,
		.def = "esp",
		FIELD(struct conf, audit)},
	{.name = "cpus", .shape = CONF_GROUP, .schema = &cpus},
	{.name = "idle",
		.restart = true,
		.type = &conf_type_choice,
		.choices = idles,
		.def = "poll",
		FIELD(struct conf, idle)},
	{.name = "memory", .shape = CONF_GROUP, .schema = &memory},
	{.name = "engine",
		.restart = true,
		.type = &conf_type_engine,
		.choices = engines,
		.def = "auto",
		FIELD(struct conf, engine)},
	{.name = "eal_args",
		.restart = true,
		.shape = CONF_ARRAY,
		.type = &conf_type_eal_arg,
		.n_max = CONF_EAL_ARGS_MAX,
		FIELD(struct conf, eal_args[0]),
		.count_offset = offsetof(struct conf, n_eal_args)},
	{.name = "icmp", .shape = CONF_GROUP, .schema = &icmp},
	{.name = "ike", .shape = CONF_GROUP, .schema = &ike},
	{.name = "pmtu", .shape = CONF_GROUP, .schema = &pmtu},
	{.name = "neighbour_table", .shape = CONF_GROUP, .schema = &neighbour_table},
	{.name = "flows", .shape = CONF_GROUP, .schema = &conf_schema_flows},
	{.name = "metrics", .shape = CONF_GROUP, .schema = &metrics},
	{.name = "ports",
		.schema = &port,
		.required = true,
		.n_min = 1,
		LIST(ports, CONF_PORTS_MAX)},
	{.name = "routes", .schema = &route, LIST(routes, ITEMS_MAX)},
	{.name = "neighbours", .schema = &neighbour, LIST(neighbours, ITEMS_MAX)},
	{.name = "sas", .schema = &conf_schema_sa, LIST(sas, ITEMS_MAX)},
	{.name = "policies", .schema = &policy, LIST(policies, 16384)},
	{.name = "rules", .schema = &rule, LIST(rules, RULES_MAX)},
	{.name = "default_action",
		.type = &conf_type_choice,
		.choices = rule_action_names,
		.def = "accept",
		FIELD(struct conf, default_action)},
	{.name = "default_log",
		.type = &conf_type_bool,
		.def = "false",
		FIELD(struct conf, default_log)},
	{0},
};

const struct conf_schema conf_schema = {.options = options};
const struct conf_schema conf_key_schema = {.options = key_options};

const struct conf_option *conf_schema_find(const struct conf_schema *schema, const char *name)
{
	for (const struct conf_option *o = schema->options; o->name != NULL; o++)
		if (strcmp(o->name, name) == 0)
			return o;
	return NULL;
}
