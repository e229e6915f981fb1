// SPDX-License-Identifier: BSD-3-Clause
// The values of an accepted configuration.
#include <unistd.h>

#include "conf_change.h"
#include "conf_dir.h"
#include "test.h"

static void test_defaults(void **state)
{
	struct conf *c = conf_dir_load_good("minimal.conf");

	(void)state;
	assert_string_equal(c->instance, "culvert");
	assert_null(c->user);
	assert_true(c->sandbox);
	assert_false(c->capture);
	assert_int_equal(c->log_level, LOG_LEVEL_INFO);
	assert_int_equal(c->audit, CONF_AUDIT_ESP);
	assert_int_equal(c->control_cpu, 0);
	assert_int_equal(c->n_workers, 1);
	assert_int_equal(c->worker_cpus[0], 1);
	assert_int_equal(c->idle, CONF_IDLE_POLL);
	assert_int_equal(c->memory_mb, 1024);
	assert_true(c->hugepages);
	assert_int_equal(c->packet_buffers, 8192);
	assert_string_equal(c->engine, "auto");
	assert_int_equal(c->n_eal_args, 0);
	assert_int_equal(c->icmp_errors_per_second, 1000);
	assert_int_equal(c->n_errors_in_clear, 0);
	assert_true(c->pmtu_learn);
	assert_int_equal(c->pmtu_min, 576);
	assert_int_equal(c->pmtu_age_s, 600);
	assert_int_equal(c->neighbours_max, 4096);
	assert_int_equal(c->neighbour_hold, 256);
	assert_int_equal(c->neighbour_reachable_s, 30);
	assert_int_equal(c->n_ports, 1);
	assert_int_equal(c->ports[0].mtu, 1500);
	assert_int_equal(c->ports[0].rx_queues, 0);
	assert_false(c->ports[0].mac_set);
	assert_false(c->ports[0].unprotected);
	assert_int_equal(c->n_routes, 0);
	assert_int_equal(c->n_neighbours, 0);
	assert_int_equal(c->n_sas, 0);
	assert_int_equal(c->n_policies, 0);
	assert_int_equal(c->n_rules, 0);
	assert_int_equal(c->default_action, RULE_ACCEPT);
	check_addr(&c->metrics_addr, "127.0.0.1");
	assert_int_equal(c->metrics_port, 0);
	conf_free(c);
}

static void check_timeouts(const struct conf_timeouts *t, const struct conf_timeouts *e)
{
	assert_int_equal(t->tcp_syn_sent, e->tcp_syn_sent);
	assert_int_equal(t->tcp_syn_recv, e->tcp_syn_recv);
	assert_int_equal(t->tcp_picked_up, e->tcp_picked_up);
	assert_int_equal(t->tcp_established, e->tcp_established);
	assert_int_equal(t->tcp_fin_wait, e->tcp_fin_wait);
	assert_int_equal(t->tcp_close_wait, e->tcp_close_wait);
	assert_int_equal(t->tcp_last_ack, e->tcp_last_ack);
	assert_int_equal(t->tcp_time_wait, e->tcp_time_wait);
	assert_int_equal(t->tcp_close, e->tcp_close);
	assert_int_equal(t->udp, e->udp);
	assert_int_equal(t->udp_stream, e->udp_stream);
	assert_int_equal(t->icmp, e->icmp);
	assert_int_equal(t->generic, e->generic);
}

// The timeouts are those of nf_conntrack in Linux.
static void test_flow_defaults(void **state)
{
	static const struct conf_timeouts linux_timeouts = {
		.tcp_syn_sent = 120,
		.tcp_syn_recv = 60,
		.tcp_picked_up = 300,
		.tcp_established = 432000,
		.tcp_fin_wait = 120,
		.tcp_close_wait = 60,
		.tcp_last_ack = 30,
		.tcp_time_wait = 120,
		.tcp_close = 10,
		.udp = 30,
		.udp_stream = 120,
		.icmp = 30,
		.generic = 600,
	};
	struct conf *c = conf_dir_load_good("minimal.conf");

	(void)state;
	assert_int_equal(c->flows_max, 1000000);
	assert_int_equal(c->flow_memory_mb, 304);
	assert_int_equal(c->flows_per_source, 0);
	assert_false(c->tcp_liberal);
	assert_true(c->tcp_pickup);
	check_timeouts(&c->flow_timeouts, &linux_timeouts);
	conf_free(c);
}

static void test_flows(void **state)
{
	static const struct conf_timeouts timeouts = {
		.tcp_syn_sent = 1,
		.tcp_syn_recv = 2,
		.tcp_picked_up = 3,
		.tcp_established = 2000000,
		.tcp_fin_wait = 5,
		.tcp_close_wait = 6,
		.tcp_last_ack = 7,
		.tcp_time_wait = 8,
		.tcp_close = 9,
		.udp = 11,
		.udp_stream = 12,
		.icmp = 13,
		.generic = 14,
	};
	struct conf *c = conf_dir_load_good("full.conf");

	(void)state;
	assert_int_equal(c->flows_max, 2000000);
	assert_int_equal(c->flow_memory_mb, 771);
	assert_int_equal(c->flows_per_source, 100);
	assert_true(c->tcp_liberal);
	assert_false(c->tcp_pickup);
	check_timeouts(&c->flow_timeouts, &timeouts);
	conf_free(c);
}

static void test_top_level(void **state)
{
	struct conf *c = conf_dir_load_good("full.conf");

	(void)state;
	assert_string_equal(c->instance, "gw_1.a-b");
	assert_string_equal(c->user, "_culvert");
	assert_false(c->sandbox);
	assert_int_equal(c->log_level, LOG_LEVEL_DEBUG);
	assert_int_equal(c->audit, CONF_AUDIT_POLICY);
	assert_int_equal(c->control_cpu, 2);
	assert_int_equal(c->n_workers, 3);
	assert_int_equal(c->worker_cpus[0], 3);
	assert_int_equal(c->worker_cpus[1], 3);
	assert_int_equal(c->worker_cpus[2], 5);
	assert_int_equal(c->idle, CONF_IDLE_SLEEP);
	assert_int_equal(c->memory_mb, 1024);
	assert_false(c->hugepages);
	assert_int_equal(c->packet_buffers, 20000);
	assert_string_equal(c->engine, "openssl");
	assert_int_equal(c->n_eal_args, 3);
	assert_string_equal(c->eal_args[0], "--log-level=lib.eal:debug");
	assert_string_equal(c->eal_args[2], "x.so");
	assert_int_equal(10 * c->icmp_errors_per_second + c->icmp_echoes_per_second, 7);
	assert_int_equal(c->n_errors_in_clear, 2);
	assert_int_equal(c->errors_in_clear[0], CONF_TOO_BIG);
	assert_int_equal(c->errors_in_clear[1], CONF_PARAMETER_PROBLEM);
	assert_false(c->pmtu_learn);
	assert_int_equal(c->n_ike_via, 1);
	assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&c->ike_via[0])), 0x0a010009);
	assert_int_equal(10 * c->ike_port[0] + c->ike_before, 2);
	assert_int_equal(c->pmtu_min, 1000);
	assert_int_equal(c->pmtu_age_s, 1);
	assert_int_equal(c->neighbours_max, 16);
	assert_int_equal(c->neighbour_hold, 1);
	assert_int_equal(c->neighbour_reachable_s, 86400);
	check_addr(&c->metrics_addr, "::1");
	assert_int_equal(c->metrics_port, 65535);
	assert_string_equal(c->metrics_socket, "/run/culvert/metrics");
	assert_int_equal(c->metrics_mode, CONF_MODE_0660);
	conf_free(c);
}

static void test_ports(void **state)
{
	static const struct rte_ether_addr wan_mac = {{0x02, 0, 0, 0, 0, 0x02}};
	struct conf *c = conf_dir_load_good("full.conf");
	const struct conf_port *lan = &c->ports[0], *wan = &c->ports[1], *dmz = &c->ports[2];

	(void)state;
	assert_int_equal(c->n_ports, 3);
	assert_true(ends_with(lan->where.file, "/full_ports.inc"));
	assert_int_equal(lan->where.line, 2);
	assert_string_equal(lan->name, "lan");
	assert_string_equal(lan->device, "0000:00:05.0");
	assert_int_equal(lan->n_addrs, 2);
	check_addr(&lan->addrs[0].addr, "10.1.0.1");
	check_prefix(&lan->addrs[0].net, "10.1.0.0/24");
	check_addr(&lan->addrs[1].addr, "10.1.1.1");
	check_prefix(&lan->addrs[1].net, "10.1.1.0/24");
	assert_int_equal(lan->mtu, 9000);
	assert_int_equal(lan->rx_queues, 4);
	assert_true(lan->mac_set && lan->steer && !lan->isolated);
	assert_true(lan->unprotected); // as configured, although no SA ends there
	assert_string_equal(wan->device, "net_af_packet0,iface=wan0");
	assert_int_equal(wan->mtu, 576);
	assert_int_equal(wan->rx_queues, 16);
	assert_memory_equal(&wan->mac, &wan_mac, sizeof(wan_mac));
	assert_false(wan->unprotected); // as configured, although SAs end there
	check_prefix(&dmz->addrs[0].net, "10.4.0.0/31");
	assert_false(dmz->mac_set);
	conf_free(c);
}

static void test_routes_and_neighbours(void **state)
{
	static const struct rte_ether_addr mac = {{0x02, 0, 0, 0, 0, 0x07}};
	struct conf *c = conf_dir_load_good("full.conf");

	(void)state;
	assert_int_equal(c->n_routes, 2);
	assert_true(ends_with(c->routes[0].where.file, "/full.conf"));
	assert_int_equal(c->routes[0].where.line, 12);
	check_prefix(&c->routes[0].to, "0.0.0.0/0");
	check_addr(&c->routes[0].via, "192.0.2.254");
	assert_int_equal(c->routes[0].port, 1);
	check_prefix(&c->routes[1].to, "10.9.0.0/16");
	assert_int_equal(c->routes[1].port, 0);
	assert_int_equal(c->n_neighbours, 1);
	check_addr(&c->neighbours[0].addr, "10.1.1.7");
	assert_int_equal(c->neighbours[0].port, 0);
	assert_memory_equal(&c->neighbours[0].mac, &mac, sizeof(mac));
	conf_free(c);
}

static void test_sas(void **state)
{
	struct conf *c = conf_dir_load_good("full.conf");
	const struct conf_sa *sa = c->sas;
	uint8_t counting[32];

	(void)state;
	for (unsigned int i = 0; i < sizeof(counting); i++)
		counting[i] = (uint8_t)i;
	assert_int_equal(c->n_sas, 5);

	assert_string_equal(sa[0].live.name, "to-b");
	assert_int_equal(sa[0].opt.direction, SA_OUT);
	assert_int_equal(sa[0].opt.spi, 0xffffffff);
	check_addr(&sa[0].opt.local, "192.0.2.1");
	check_addr(&sa[0].opt.remote, "198.51.100.2");
	assert_string_equal(sa[0].opt.cipher->name, "aes-256-gcm");
	assert_string_equal(sa[0].opt.auth->name, "none");
	assert_memory_equal(sa[0].cipher_key + 32, "\xb0\xb1\xb2\xb3", 4);
	assert_int_equal(sa[0].opt.replay_window, 0);

	assert_int_equal(sa[0].opt.dscp, 46);
	assert_false(sa[0].opt.ecn);
	assert_int_equal(sa[0].opt.ttl, 255);
	assert_int_equal(sa[0].opt.flow_label, SA_FLOW_LABEL_ZERO);
	assert_int_equal(sa[0].opt.tfc_pad, 1000);
	assert_int_equal(sa[0].opt.tfc_dummies, 50000);

	assert_int_equal(sa[1].opt.direction, SA_IN);
	assert_int_equal(sa[1].opt.spi, 256);
	assert_int_equal(sa[1].opt.dscp, SA_DSCP_COPY);
	assert_memory_equal(sa[1].cipher_key, "\x3b\x2b\x1b\x0b", 4);
	assert_int_equal(sa[1].opt.replay_window, 65536);
	assert_false(sa[0].opt.esn);
	assert_true(sa[1].opt.esn);
	assert_int_equal(sa[0].live.hard_bytes, 0);
	assert_int_equal(sa[0].live.soft_seconds, 0);
	assert_int_equal(sa[1].live.hard_packets, UINT64_C(5000000000));
	assert_int_equal(sa[1].live.soft_packets, UINT64_C(4000000000));
	assert_int_equal(sa[1].live.hard_bytes, UINT64_C(10000000000000000));
	assert_int_equal(sa[1].live.soft_bytes, UINT64_C(9007199254740993));
	assert_int_equal(sa[1].live.hard_seconds, 3600);
	assert_int_equal(sa[1].live.soft_seconds, 1000);

	assert_int_equal(sa[2].opt.spi, 0xc0001003);
	assert_int_equal(sa[2].opt.tfc_pad, 0);
	assert_int_equal(sa[2].opt.dscp, SA_DSCP_COPY);
	assert_true(sa[2].opt.ecn);
	assert_int_equal(sa[2].opt.ttl, 64);
	assert_string_equal(sa[2].opt.cipher->name, "aes-128-cbc");
	assert_string_equal(sa[2].opt.auth->name, "hmac-sha2-256-128");
	assert_memory_equal(sa[2].cipher_key, counting, 16);
	assert_memory_equal(sa[2].auth_key, counting, 32);

	assert_int_equal(sa[0].opt.df, SA_DF_SET);
	assert_true(sa[0].opt.fragment_after);
	assert_int_equal(sa[2].opt.df, SA_DF_CLEAR);
	assert_false(sa[2].opt.fragment_after);
	assert_int_equal(sa[3].opt.spi, 4100);
	assert_memory_equal(sa[3].auth_key, counting + 16, 16);
	assert_int_equal(sa[3].opt.replay_window, 32);
	assert_int_equal(sa[3].opt.dscp, SA_DSCP_KEEP);
	assert_true(sa[3].opt.ecn);
	assert_int_equal(sa[4].opt.replay_window, 0);
	conf_free(c);
}

static void test_policies(void **state)
{
	struct conf *c = conf_dir_load_good("full.conf");
	const struct conf_policy *p = c->policies;

	(void)state;
	assert_int_equal(c->n_policies, 4);

	assert_string_equal(p[0].name, "dns");
	assert_int_equal(p[0].action, SPD_BYPASS);
	check_prefix(&p[0].local.at[0], "10.1.0.7/32");
	check_prefix(&p[0].remote.at[0], "10.2.0.0/16");
	assert_int_equal(p[0].proto.at[0], 17);
	assert_int_equal(p[0].local_port.at[0].min, 53);
	assert_int_equal(p[0].local_port.at[0].max, 53);
	assert_int_equal(p[0].remote_port.at[0].min, 1024);
	assert_int_equal(p[0].remote_port.at[0].max, 65535);

	assert_int_equal(p[1].action, SPD_PROTECT);
	check_prefix(&p[1].remote.at[0], "0.0.0.0/0");
	assert_int_equal(p[1].proto.at[0], PROTO_ANY);
	assert_int_equal(p[1].local_port.at[0].min, 0);
	assert_int_equal(p[1].local_port.at[0].max, 65535);
	assert_int_equal(p[1].sa_out, 0);
	assert_int_equal(p[1].sa_in[0], 1);
	assert_false(p[1].errors_trusted);
	assert_int_equal(p[1].mss_clamp, CONF_MSS_AUTO);

	check_prefix(&p[2].local.at[0], "0.0.0.0/0");
	assert_int_equal(p[2].proto.at[0], 6);
	assert_int_equal(p[2].sa_out, 2);
	assert_int_equal(p[2].sa_in[0], 3);
	assert_true(p[2].errors_trusted);
	assert_int_equal(p[2].mss_clamp, 9560);

	assert_int_equal(p[3].action, SPD_DISCARD);
	assert_int_equal(p[3].mss_clamp, 0);
	check_prefix(&p[3].local.at[0], "::/0");
	check_prefix(&p[3].remote.at[0], "::/0");
	conf_free(c);
}

// An SA stands for every policy that sends or receives by it.
// Values are sorted with those of aliases (prefixes, protos, ports); the text is as it was written.
static void test_lists(void **state)
{
	struct conf *c = conf_dir_load_good("many.conf");
	const struct conf_policy *p = c->policies;

	(void)state;
	assert_int_equal(p[0].family, IP_ANY);
	assert_int_equal(p[0].local.n, 2);
	assert_int_equal(p[0].remote.n, 3);
	check_prefix(&p[0].remote.at[0], "10.8.0.0/24");
	check_prefix(&p[0].remote.at[1], "10.9.0.0/24");
	check_prefix(&p[0].remote.at[2], "2001:db8:9::/48");
	assert_string_equal(p[0].remote.text, "@branches,10.8.0.0/24");
	assert_int_equal(p[0].proto.n, 2);
	assert_int_equal(p[0].proto.at[0], 6);
	assert_string_equal(p[0].proto.text, "@both");
	assert_int_equal(p[0].local_port.n, 3);
	assert_int_equal(p[0].local_port.at[1].max, 443);
	assert_string_equal(p[0].local_port.text, "@web,1000-1999");

	assert_int_equal(p[1].family, IP_V4);
	assert_int_equal(p[1].remote.n, 1);
	assert_null(p[1].remote.text);
	check_prefix(&p[1].local.at[0], "0.0.0.0/0");

	assert_int_equal(p[2].remote.n, 2); // everything of both families
	check_prefix(&p[2].remote.at[0], "::/0");
	check_prefix(&p[2].remote.at[1], "0.0.0.0/0");
	assert_int_equal(p[3].local_port.n, 2);
	conf_free(c);
}

// The order of values means nothing; a change of an alias is one of all that uses it.
static void test_changed_lists(void **state)
{
	struct conf *c = conf_dir_load_good("many.conf");
	struct conf *order = conf_dir_load_good("many_order.inc");
	struct conf *changed = conf_dir_load_good("many_changed.inc");
	struct conf_changes *none = conf_diff(c, order), *all = conf_diff(c, changed);

	(void)state;
	assert_int_equal(none->n, 0);
	assert_int_equal(all->n, 3);
	assert_int_equal(all->change[0].kind, CONF_ALIAS);
	assert_string_equal(all->change[0].setting, "prefixes");
	assert_string_equal(all->change[1].name, "a");
	assert_string_equal(all->change[1].setting, "remote");
	assert_null(all->change[1].from);
	assert_null(all->change[1].to);
	assert_string_equal(all->change[2].name, "c");
	conf_changes_free(none);
	conf_changes_free(all);
	conf_free(c);
	conf_free(order);
	conf_free(changed);
}

static void check_sample(const char *name)
{
	struct conf *c = conf_dir_load_good(name);

	assert_int_equal(c->n_ports, 2);
	assert_false(c->ports[0].unprotected);
	assert_true(c->ports[1].unprotected);
	conf_free(c);
}

static void test_samples(void **state)
{
	struct conf *a, *b;

	(void)state;
	assert_true(conf_dir_each(SOURCE_DIR "/conf", ".conf", check_sample) >= 2);
	a = conf_dir_load_good("gateway-a.conf");
	b = conf_dir_load_good("gateway-b.conf");
	for (unsigned int i = 0; i < 2; i++) {
		const struct conf_sa *x = &a->sas[i], *y = &b->sas[1 - i];

		assert_int_equal(x->opt.spi, y->opt.spi);
		assert_int_not_equal(x->opt.direction, y->opt.direction);
		assert_true(ip_addr_equal(&x->opt.local, &y->opt.remote));
		assert_true(ip_addr_equal(&x->opt.remote, &y->opt.local));
		assert_memory_equal(x->cipher_key, y->cipher_key, sizeof(x->cipher_key));
	}
	conf_free(a);
	conf_free(b);
}

static void test_current_folder(void **state)
{
	char *errors;
	size_t size;
	FILE *out = open_memstream(&errors, &size);
	struct conf *c;

	(void)state;
	assert_int_equal(chdir(conf_dir()), 0);
	c = conf_load("full.conf", NULL, out);
	assert_null(conf_load("included.conf", NULL, out));
	assert_int_equal(chdir("/"), 0);
	fclose(out);
	assert_non_null(c);
	assert_string_equal(c->ports[0].where.file, "full_ports.inc");
	assert_string_equal(errors,
		"included.conf:2: ports: has 0 elements, must have 1 to 16\n"
		"included.inc:1: idle: \"pole\" is not allowed, did you mean \"poll\"?\n");
	conf_free(c);
	free(errors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_flow_defaults),
		cmocka_unit_test(test_top_level),
		cmocka_unit_test(test_flows),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_routes_and_neighbours),
		cmocka_unit_test(test_sas),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_changed_lists),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_current_folder),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
