// SPDX-License-Identifier: BSD-3-Clause
// The values of rules, of the firewall and of network address translation.
#include "conf_dir.h"
#include "test.h"

static void test_rules(void **state)
{
	struct conf *c = conf_dir_load_good("full.conf");
	const struct conf_rule *r = c->rules;

	(void)state;
	assert_int_equal(c->default_action, RULE_REJECT);
	assert_int_equal(c->n_rules, 4);

	assert_true(ends_with(r[0].where.file, "/full.conf"));
	assert_int_equal(r[0].where.line, 52);
	assert_string_equal(r[0].name, "one");
	assert_int_equal(r[0].action, RULE_ACCEPT);
	check_prefix(&r[0].match.source.at[0], "10.1.0.0/24");
	check_prefix(&r[0].match.destination.at[0], "10.2.0.7/32");
	assert_int_equal(r[0].match.proto.at[0], 6);
	assert_int_equal(r[0].match.source_port.at[0].min, 1024);
	assert_int_equal(r[0].match.source_port.at[0].max, 65535);
	assert_int_equal(r[0].match.destination_port.at[0].min, 22);
	assert_int_equal(r[0].match.destination_port.at[0].max, 22);
	assert_int_equal(r[0].match.in, 0);
	assert_int_equal(r[0].match.out, 1);
	assert_string_equal(r[0].tunnel, "b");
	assert_int_equal(r[0].n_tunnels, 1);
	assert_int_equal(r[0].tunnels[0], 1);
	assert_int_equal(r[0].n_states, 2);
	assert_int_equal(r[0].states[0], RULE_RELATED);
	assert_int_equal(r[0].states[1], RULE_NEW);
	assert_true(r[0].log);

	assert_int_equal(r[1].action, RULE_DROP);
	check_prefix(&r[1].match.destination.at[0], "0.0.0.0/0");
	assert_int_equal(r[1].match.source_port.at[0].min, 0x300); // type 3, codes 0 to 4
	assert_int_equal(r[1].match.source_port.at[0].max, 0x304);
	assert_int_equal(r[1].match.destination_port.at[0].min, 0);
	assert_int_equal(r[1].match.destination_port.at[0].max, 65535);
	assert_int_equal(r[1].match.in, CONF_PORT_ANY);
	assert_int_equal(r[1].match.out, CONF_PORT_ANY);
	assert_int_equal(r[1].n_tunnels, 1); // by its SA
	assert_int_equal(r[1].tunnels[0], 2);
	assert_int_equal(r[1].n_states, 4);
	assert_false(r[1].log);

	check_prefix(&r[2].match.source.at[0], "::/0");
	check_prefix(&r[2].match.destination.at[0], "::/0");
	assert_int_equal(r[2].match.proto.at[0], PROTO_ANY);
	assert_string_equal(r[2].tunnel, "");
	assert_int_equal(r[2].n_tunnels, 0);
	assert_int_equal(r[2].n_states, 3); // to accept does not include invalid packets
	for (unsigned int i = 0; i < 3; i++)
		assert_int_not_equal(r[2].states[i], RULE_INVALID);

	assert_int_equal(r[3].action, RULE_REJECT);
	assert_int_equal(r[3].n_states, 1);
	assert_int_equal(r[3].states[0], RULE_INVALID);
	conf_free(c);
}

static void test_rule_of_sa(void **state)
{
	static const char text[] =
		"@include \"tunnel.inc\"\n"
		"policies = (\n"
		"{ name = \"a\"; remote = \"10.2.0.0/24\"; action = \"bypass\"; },\n"
		"{ name = \"b\"; remote = \"10.3.0.0/24\"; action = \"protect\";"
		" out = \"to-b\"; in = \"from-b\"; },\n"
		"{ name = \"c\"; remote = \"10.4.0.0/24\"; action = \"discard\"; },\n"
		"{ name = \"d\"; remote = \"10.5.0.0/24\"; action = \"protect\";"
		" out = \"to-b\"; in = \"from-b\"; } );\n"
		"rules = ( { name = \"r\"; action = \"drop\"; tunnel = \"from-b\"; } );\n";
	struct conf *c;

	(void)state;
	conf_dir_write("rule_of_sa.conf", text, strlen(text));
	c = conf_dir_load_good("rule_of_sa.conf");
	assert_int_equal(c->rules[0].n_tunnels, 2);
	assert_int_equal(c->rules[0].tunnels[0], 1);
	assert_int_equal(c->rules[0].tunnels[1], 3);
	conf_free(c);
	conf_dir_unlink("rule_of_sa.conf");
}

static void test_nat(void **state)
{
	struct conf *c = conf_dir_load_good("full.conf");
	const struct conf_nat *n = c->nat;

	(void)state;
	assert_int_equal(c->n_nat, 6);
	assert_string_equal(n[0].name, "one");
	assert_int_equal(n[0].action, NAT_SOURCE);
	assert_int_equal(n[0].end, NAT_FROM);
	check_prefix(&n[0].match.source.at[0], "10.1.0.0/24");
	assert_int_equal(n[0].match.in, 0);
	assert_int_equal(n[0].match.out, 1);
	check_addr(&n[0].to.first, "192.0.2.8");
	check_addr(&n[0].to.last, "192.0.2.9");
	assert_int_equal(n[0].to_port.min, 2000);
	assert_int_equal(n[0].to_port.max, 2999);
	assert_false(n[0].random);
	assert_int_equal(n[1].action, NAT_DESTINATION);
	assert_int_equal(n[1].end, NAT_TO);
	check_addr(&n[1].to.first, "10.1.0.5");
	assert_int_equal(n[1].to.len, 128);
	assert_int_equal(n[2].end, NAT_TO);
	check_addr(&n[2].to.last, "10.1.0.255");
	assert_int_equal(n[3].action, NAT_ACCEPT);
	assert_true(n[4].to.port);
	assert_true(n[4].random);
	assert_int_equal(n[4].to_port.min, 0);
	// Its packets are of the family of the new address, of protocols with ports or others.
	assert_int_equal(n[5].match.family, IP_V4);
	check_prefix(&n[5].match.source.at[0], "0.0.0.0/0");
	assert_int_equal(n[5].match.proto.at[0], PROTO_ANY);
	assert_int_equal(n[5].to_port.max, 3001);
	conf_free(c);
}

static void test_groups(void **state)
{
	struct conf *c = conf_dir_load_good("full.conf");

	(void)state;
	assert_int_equal(c->n_groups, 1);
	assert_string_equal(c->groups[0].name, "main");
	assert_int_equal(c->groups[0].role, CONF_STANDBY);
	assert_int_equal(c->groups[0].n_addrs, 1);
	check_addr(&c->groups[0].addrs[0], "192.0.2.1");
	conf_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_rule_of_sa),
		cmocka_unit_test(test_nat),
		cmocka_unit_test(test_groups),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
