// SPDX-License-Identifier: BSD-3-Clause
// Requests of an IKE daemon. Proves the values read from them, the message for every mistake, and
// that keys are in the SAs alone; and that a configuration has neither their settings nor their
// names.
#include "conf_ike.h"

#include <malloc.h>

#include "conf_apply.h"
#include "conf_dir.h"
#include "test.h"

#define KEY  "c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3"
#define ALG  "cipher = \"aes-128-gcm\"; cipher_key = \"" KEY "\"; "
#define ENDS "local = \"192.0.2.1\"; remote = \"192.0.2.2\"; "
#define OUT  "name = \"ike.out\"; direction = \"out\"; spi = \"0x2001\"; reqid = 7; " ENDS
#define IN                                                                                         \
	"name = \"ike.in\"; direction = \"in\"; spi = \"0x2002\"; reqid = 0xffffffff; " ENDS       \
	"cipher = \"null\"; auth = \"hmac-sha1-96\"; "                                             \
	"auth_key = \"000102030405060708090a0b0c0d0e0f10111213\"; "
#define NETS   "local = \"10.1.0.0/24\"; remote = \"10.3.0.0/24\"; "
#define POLICY "name = \"ike.p\"; action = \"protect\"; "

static char *msgs; // the result of the last attempt

static struct conf_ike *read_octets(const char *request, size_t len)
{
	size_t size;
	FILE *errors;
	struct conf_ike *ike;

	free(msgs);
	errors = open_memstream(&msgs, &size);
	ike = conf_ike_read(conf_sample, "ike", request, len, errors);
	fclose(errors);
	assert_true((ike == NULL) == (msgs[0] != '\0'));
	return ike;
}

static struct conf_ike *read_good(const char *request)
{
	struct conf_ike *ike = read_octets(request, strlen(request));

	if (ike == NULL)
		fail_msg("%s", msgs);
	return ike;
}

static void refuse(const char *request, const char *errors)
{
	conf_ike_free(read_octets(request, strlen(request)));
	assert_string_equal(msgs, errors);
}

static int stop(void **state)
{
	free(msgs);
	return conf_sample_stop(state);
}

static void check_change(const struct conf_ike *ike, unsigned int i, enum conf_verb verb,
	enum conf_kind kind, const char *name, unsigned int line)
{
	const struct conf_change *c = &ike->changes[i].c;

	assert_in_range(i, 0, ike->n - 1);
	assert_int_equal(c->verb, verb);
	assert_int_equal(c->kind, kind);
	if (name != NULL)
		assert_string_equal(c->name, name);
	else
		assert_null(c->name);
	assert_string_equal(c->where.file, "ike");
	assert_int_equal(c->where.line, line);
}

static void test_changes(void **state)
{
	struct conf_ike *ike = read_good("# all of a tunnel\n"
					 "flush\n"
					 "sa add { " OUT ALG "}\n"
					 "sa add { " IN "}; policy add { " POLICY NETS
					 "reqid = 7; priority = 0xffffffff; mss_clamp = 1300; }\n"
					 "policy add { name = \"ike.q\"; action = \"bypass\"; "
					 "local = \"::/0\"; remote = \"2001:db8::/32\"; }\n"
					 "sa del ike.old\n"
					 "policy del ike.older");
	const struct conf_sa *sas = ike->conf->sas;
	const struct conf_policy *policies = ike->conf->policies;

	(void)state;
	assert_int_equal(ike->n, 7);
	check_change(ike, 0, CONF_FLUSH, CONF_KINDS, NULL, 2);
	check_change(ike, 1, CONF_ADD, CONF_SA, "ike.out", 3);
	check_change(ike, 2, CONF_ADD, CONF_SA, "ike.in", 4);
	check_change(ike, 3, CONF_ADD, CONF_POLICY, "ike.p", 4);
	check_change(ike, 4, CONF_ADD, CONF_POLICY, "ike.q", 5);
	check_change(ike, 5, CONF_DEL, CONF_SA, "ike.old", 6);
	check_change(ike, 6, CONF_DEL, CONF_POLICY, "ike.older", 7);

	assert_int_equal(ike->conf->n_sas, 2);
	assert_int_equal(ike->changes[2].index, 1);
	assert_int_equal(sas[0].opt.spi, 0x2001);
	assert_int_equal(sas[0].opt.reqid, 7);
	assert_int_equal(sas[0].cipher_key[19], 0xd3);
	assert_int_equal(sas[0].where.line, 3);
	assert_int_equal(sas[1].opt.reqid, UINT32_MAX);
	assert_int_equal(sas[1].opt.replay_window, 64);

	assert_int_equal(ike->conf->n_policies, 2);
	assert_int_equal(ike->changes[4].index, 1);
	assert_int_equal(policies[0].reqid, 7);
	assert_int_equal(policies[0].priority, UINT32_MAX);
	assert_int_equal(policies[0].mss_clamp, 1300);
	assert_int_equal(policies[0].family, IP_V4);
	assert_int_equal(policies[1].priority, 0);
	assert_int_equal(policies[1].family, IP_V6);
	assert_int_equal(ike->conf->n_ports, conf_sample->n_ports);
	conf_ike_free(ike);
	conf_ike_free(NULL);
}

static void test_moves(void **state)
{
	struct conf_ike *ike = read_good(
		"sa set ike.x { remote = \"192.0.2.3\"; udp = { remote_port = 1024; }; }\n"
		"sa set ike.x { local = \"192.0.2.1\"; udp = { local_port = 65535; }; }");
	const struct conf_ike_move *a = &ike->changes[0].move, *b = &ike->changes[1].move;

	(void)state;
	assert_int_equal(ike->n, 2);
	check_change(ike, 0, CONF_SET, CONF_SA, "ike.x", 1);
	assert_true(ip_addr_is_none(&a->local));
	assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&a->remote)), 0xc0000203);
	assert_int_equal(a->udp_local_port, 0);
	assert_int_equal(a->udp_remote_port, 1024);
	assert_int_equal(rte_be_to_cpu_32(ip_addr_v4(&b->local)), 0xc0000201);
	assert_true(ip_addr_is_none(&b->remote));
	assert_int_equal(b->udp_local_port, 65535);
	assert_int_equal(b->udp_remote_port, 0);
	conf_ike_free(ike);

	refuse("sa set ike.x { }",
		"ike:1: sa set: expected settings, must be some of local, remote, udp, late\n");
	refuse("sa set ike.x { remote = \"any\"; }",
		"ike:1: remote: \"any\" is not allowed, must be an address such as "
		"\"192.0.2.1\"\n");
	refuse("sa set ike.x {\n remte = \"192.0.2.3\"; }",
		"ike:2: remte: unknown setting, did you mean \"remote\"?\n");
	refuse("sa set ike.x { spi = 5; }",
		"ike:1: spi: unknown setting, must be one of local, remote, udp, late\n");
	refuse("sa set ike.x { udp = { remote_port = 0; keepalive = 5; }; }",
		"ike:1: udp.keepalive: unknown setting, must be one of local_port, remote_port\n"
		"ike:1: udp.remote_port: 0 is out of range, must be an integer from 1 to "
		"65535\n");
	refuse("sa set ike.x { local = \"192.0.2.1\"; remote = \"2001:db8::1\"; }",
		"ike:1: remote: is IPv6, must be IPv4 like local\n");
	refuse("sa set ike.x { local = \"192.0.2.9\"; }",
		"ike:1: local: 192.0.2.9 is not an address of a port, must be one\n");
	refuse("sa set ike.x { local = \"wan\"; }",
		"ike:1: local: \"wan\" is not allowed, must be an address such as \"192.0.2.1\"\n");
	refuse("sa set ike.x { local = \"10.1.0.1\"; }",
		"ike:1: local: packets of the SA arrive at port \"lan\", which must have side = "
		"\"unprotected\" in the configuration file\n");
	refuse("sa set ike.x { remote = \"192.0.2.1\"; }",
		"ike:1: remote: 192.0.2.1 is an address of this gateway, must be the peer's\n");
	refuse("sa set ike.x { remote = \"203.0.113.1\"; }",
		"ike:1: remote: no route to 203.0.113.1, must be in a port's network or behind a "
		"route\n");
}

static void test_grammar(void **state)
{
	static const char nul[] = "flush\n\0flush";

	(void)state;
	refuse("", "ike:1: no change is given\n");
	refuse("# flush", "ike:1: no change is given\n");
	conf_ike_free(read_octets(nul, sizeof(nul) - 1));
	assert_string_equal(msgs, "ike:1: NUL octet, must be text\n");
	refuse("flush all", "ike:1: flush: unexpected argument \"all\"\n");
	refuse("flush { }", "ike:1: flush: takes no settings { }\n");
	refuse("spi\nspi add\nspi set 0x1001\nspi add 0x1001 0x1002\nspi add 0x1001 { }",
		"ike:1: spi: must be \"spi add SPI\" or \"spi del SPI\"\n"
		"ike:2: spi: must be \"spi add SPI\" or \"spi del SPI\"\n"
		"ike:3: spi: must be \"spi add SPI\" or \"spi del SPI\"\n"
		"ike:4: spi: must be \"spi add SPI\" or \"spi del SPI\"\n"
		"ike:5: spi: must be \"spi add SPI\" or \"spi del SPI\"\n");
	refuse("spi add 0xff", "ike:1: spi add: \"0xff\" is not allowed, must be from 0x100 to "
			       "0xffffffff in a string such as \"0x00001001\"\n");
	refuse("rule del x", "ike:1: unknown object \"rule\", must be one of sa, policy\n");
	refuse("polcy del ike.x", "ike:1: unknown object \"polcy\", did you mean \"policy\"?\n");
	refuse("\nsa", "ike:2: sa: expected one of add, set, del\n");
	refuse("sa flush", "ike:1: unknown change \"flush\", must be one of add, set, del\n");
	refuse("sa add", "ike:1: sa add: settings { } are missing\n");
	refuse("sa del ike.x { }", "ike:1: sa del: takes no settings { }\n");
	refuse("sa del", "ike:1: sa del: its name is missing\n");
	refuse("sa add { name = ", "ike:1: settings are not closed, must end with }\n");
	refuse("sa add {\n name = ; }", "ike:2: syntax error\n");
	refuse("policy add before rest { " POLICY NETS "reqid = 1; }",
		"ike:1: policy add: unexpected argument \"before\", priority says which one "
		"decides\n");
	refuse("policy add last { " POLICY NETS "reqid = 1; }",
		"ike:1: policy add: unexpected argument \"last\", priority says which one "
		"decides\n");
	refuse("policy set ike.p { priority = 1; }",
		"ike:1: policy set: is for the configuration only, must be deleted and added\n");
	refuse("sa del to-b\nsa set to-b { remote = \"192.0.2.3\"; }\npolicy del rest",
		"ike:1: sa \"to-b\" is no sa of an IKE daemon, must begin with \"ike.\"\n"
		"ike:2: sa \"to-b\" is no sa of an IKE daemon, must begin with \"ike.\"\n"
		"ike:3: policy \"rest\" is no policy of an IKE daemon, must begin with \"ike.\"\n");
}

#define BARE "direction = \"out\"; spi = \"0x2001\"; "

static void test_sas(void **state)
{
	(void)state;
	refuse("sa add { name = \"ike.x\"; " BARE ENDS ALG "}",
		"ike:1: sa \"ike.x\": reqid is missing, must be an integer from 1 to "
		"4294967295\n");
	refuse("sa add { name = \"ike.x\"; reqid = 1; if_id = 1; mode = \"transport\"; " BARE ENDS
			ALG "}",
		"ike:1: sa \"ike.x\": reqid: is for SAs without if_id\n"
		"ike:1: sa \"ike.x\": if_id: is for mode tunnel only\n");
	refuse("sa add { name = \"x\"; reqid = 1; " BARE ENDS ALG "}",
		"ike:1: sa \"x\": name: must begin with \"ike.\"\n");
	refuse("sa add { name = \"ike.x\"; reqid = 0; " BARE ENDS ALG "}",
		"ike:1: sa \"ike.x\": reqid: 0 is out of range, must be an integer from 1 to "
		"4294967295\n");
	refuse("sa add { name = \"ike.x\"; reqid = 1; " BARE ENDS
	       "cipher = \"aes-128-gcm\"; key_file = \"some.key\"; }",
		"ike:1: sa \"ike.x\": key_file: is not for requests of an IKE daemon, must be "
		"cipher_key or auth_key\n");
	refuse("sa add { name = \"ike.x\"; reqid = 1; " BARE "local = \"10.1.0.1\"; "
	       "remote = \"192.0.2.2\"; " ALG "}",
		"ike:1: sa \"ike.x\": local: packets of the SA arrive at port \"lan\", which must "
		"have side = \"unprotected\" in the configuration file\n");
	refuse("sa add { name = \"ike.x\"; reqid = 1; " BARE
	       "local = \"192.0.2.9\"; remote = \"203.0.113.1\"; " ALG "}",
		"ike:1: sa \"ike.x\": local: 192.0.2.9 is not an address of a port, must be one\n"
		"ike:1: sa \"ike.x\": remote: no route to 203.0.113.1, must be in a port's "
		"network or behind a route\n");
	refuse("sa add { name = \"ike.x\"; reqid = 1; " BARE "local = \"wan\"; "
	       "remote = \"192.0.2.2\"; " ALG "}",
		"ike:1: sa \"ike.x\": local: the name of a port is not for requests of an IKE "
		"daemon, must be an address\n");
	// Transport mode for a host behind another port than the peer.
	refuse("sa add { name = \"ike.x\"; reqid = 1; mode = \"transport\"; " BARE
	       "local = \"192.0.2.9\"; remote = \"10.1.0.9\"; " ALG "}",
		"ike:1: sa \"ike.x\": local: packets of the SA arrive at port \"lan\", which must "
		"have side = \"unprotected\" in the configuration file\n");
	refuse("sa add { name = \"ike.x\"; requid = 1; reqid = 1; " BARE ENDS ALG "}",
		"ike:1: sa \"ike.x\": requid: unknown setting, did you mean \"reqid\"?\n");
	// Among themselves.
	refuse("sa add { " OUT ALG "}\nsa add { " OUT ALG "}",
		"ike:2: sa \"ike.out\": name: is already the name of sa \"ike.out\" (ike:1)\n"
		"ike:2: sa \"ike.out\": spi: is already the SPI of sa \"ike.out\" (ike:1)\n"
		"ike:2: sa \"ike.out\": cipher_key: key and salt must be unique, are also those "
		"of sa \"ike.out\" (ike:1)\n");
}

static void test_policies(void **state)
{
	(void)state;
	refuse("policy add { " POLICY "out = \"to-b\"; in = \"from-b\"; }",
		"ike:1: policy \"ike.p\": reqid is missing, must be an integer from 1 to "
		"4294967295\n"
		"ike:1: policy \"ike.p\": local is missing, must be a prefix such as "
		"\"10.1.0.0/24\"\n"
		"ike:1: policy \"ike.p\": remote is missing, must be a prefix such as "
		"\"10.1.0.0/24\"\n"
		"ike:1: policy \"ike.p\": out: is not for requests of an IKE daemon, must be "
		"reqid\n"
		"ike:1: policy \"ike.p\": in: is not for requests of an IKE daemon, must be "
		"reqid\n");
	refuse("policy add { name = \"p\"; action = \"discard\"; " NETS "}",
		"ike:1: policy \"p\": name: must begin with \"ike.\"\n");
	refuse("policy add { name = \"ike.p\"; action = \"discard\"; reqid = 1; " NETS "}",
		"ike:1: policy \"ike.p\": reqid: is for action \"protect\" only\n");
	refuse("policy add { " POLICY "reqid = 1; local = \"10.1.0.0/24\"; remote = \"::/0\"; }",
		"ike:1: policy \"ike.p\": remote: is IPv6, must be IPv4 like local\n");
	refuse("policy add { " POLICY NETS "reqid = 1; priority = 0x100000000L; }",
		"ike:1: policy \"ike.p\": priority: 4294967296 is out of range, must be an integer "
		"from 0 to 4294967295\n");
	// One that covers the other may decide after it.
	conf_ike_free(read_good(
		"policy add { " POLICY NETS "reqid = 1; priority = 9; }\n"
		"policy add { name = \"ike.q\"; action = \"bypass\"; " NETS "proto = 6; }"));
	refuse("policy add { " POLICY NETS "reqid = 1; }\npolicy add { " POLICY NETS "reqid = 1; }",
		"ike:2: policy \"ike.p\": name: is already the name of policy \"ike.p\" "
		"(ike:1)\n");
}

// --- settings that a configuration may not have ---

static void refuse_change(const char *request, const char *errors)
{
	size_t size;
	FILE *out;

	free(msgs);
	out = open_memstream(&msgs, &size);
	assert_null(conf_change(conf_sample, "change", request, strlen(request), out));
	fclose(out);
	assert_non_null(strstr(msgs, errors)); // after the folder
	assert_string_equal(strstr(msgs, errors), errors);
}

static void test_configuration(void **state)
{
	(void)state;
	refuse_change("sa add { name = \"ike.x\"; " BARE ENDS ALG "}",
		"change:1: sa \"ike.x\": name: \"ike.\" begins names of an IKE daemon only, must "
		"be another name\n");
	refuse_change("policy add first { name = \"ike.x\"; action = \"discard\"; proto = 6; }",
		"change:1: policy \"ike.x\": name: \"ike.\" begins names of an IKE daemon only, "
		"must be another name\n");
	refuse_change("sa set to-b { reqid = 1; }",
		"change:1: sa \"to-b\": reqid: is for requests of an IKE daemon only\n");
	refuse_change("policy set site-b { reqid = 1; priority = 2; }",
		"change:1: policy \"site-b\": priority: is for requests of an IKE daemon only\n"
		"change:1: policy \"site-b\": reqid: is for requests of an IKE daemon only\n");
	refuse_change("flush", "change:1: unknown object \"flush\", must be one of sa, policy, "
			       "tunnel, rule, nat, group, alias, neighbour, route\n");
}

// The group ike, without and with which the sample runs.
static void test_group(void **state)
{
	static const char with_group[] = "@include \"gateway-a.conf\"\n"
					 "ike = { via = [ \"10.1.0.9\" ]; before = \"rest\"; };\n";
	struct conf *without = conf_sample;

	(void)state;
	assert_int_equal(conf_sample->ike_before, 2);
	conf_dir_write("with_group.conf", with_group, strlen(with_group));
	conf_sample = conf_dir_load_good("with_group.conf");
	assert_int_equal(conf_sample->ike_before, 1);
	refuse("sa set ike.x { udp = { local_port = 500; }; }",
		"ike:1: udp.local_port: 500 is the port of IKE, used by ike.via or host, "
		"must be another\n");
	refuse_change("policy del rest",
		"with_group.conf:2: ike.before: uses policy \"rest\", so it cannot be removed\n");
	conf_free(conf_sample);
	conf_dir_unlink("with_group.conf");
	conf_sample = without;
}

// --- keys ---

// The address sanitizer has a heap of its own.
#ifndef __SANITIZE_ADDRESS__
static void test_keys(void **state)
{
	static const char request[] = "sa add { " OUT ALG "}";
	uint8_t key[20];
	struct conf_ike *ike;

	(void)state;
	assert_int_equal(mallopt(M_PERTURB, 0), 1); // free() does not clear memory
	ike = read_good(request);
	memcpy(key, ike->conf->sas[0].cipher_key, sizeof(key));
	assert_true(in_heap(key, sizeof(key)));
	assert_false(in_heap((const uint8_t *)KEY, strlen(KEY)));
	conf_ike_free(ike);
	assert_false(in_heap(key, sizeof(key)));

	refuse("sa add { " OUT ALG "}\nsa del x",
		"ike:2: sa \"x\" is no sa of an IKE daemon, must begin with \"ike.\"\n");
	assert_false(in_heap((const uint8_t *)KEY, strlen(KEY)));
	assert_false(in_heap(key, sizeof(key)));
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_grammar),
		cmocka_unit_test(test_sas),
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_configuration),
		cmocka_unit_test(test_group),
#ifndef __SANITIZE_ADDRESS__
		cmocka_unit_test(test_keys),
#endif
	};

	return cmocka_run_group_tests(tests, conf_sample_start, stop);
}
