// SPDX-License-Identifier: BSD-3-Clause
// From the rules of a configuration to the rule set.
#include "build_parts.h"
#include "conf_dir.h"
#include "eal.h"
#include "test.h"

static int start(void **state)
{
	eal_start();
	return conf_dir_make(state);
}

static int stop(void **state)
{
	int rc = conf_dir_remove(state);

	eal_stop();
	return rc;
}

// Policies 1, 2, ...
static struct spd *policies_numbered(unsigned int n)
{
	struct spd_policy policy[8] = {0};
	struct spd *spd;

	assert_in_range(n, 0, COUNT_OF(policy));
	for (unsigned int i = 0; i < n; i++)
		policy[i] = (struct spd_policy){.family = IP_V4, .number = (uint16_t)(1 + i)};
	spd = spd_new(policy, n, 0);
	assert_non_null(spd);
	return spd;
}

static struct rule_set *build(const char *name)
{
	struct conf *c = conf_dir_load_good(name);
	struct spd *policies = policies_numbered(c->n_policies);
	struct rule_set *s = build_rules(c, policies, NULL);

	assert_non_null(s);
	spd_free(policies);
	conf_free(c);
	return s;
}

#define V4(number)                                                                                 \
	{                                                                                          \
		.w = { 0, 0, RTE_BE32(0xffff), RTE_BE32(number) }                                  \
	}

// The first packet of a connection, which rule "one" of full.conf matches.
static const struct classifier_key one = {
	.proto = 6,
	.source = V4(0x0a010005),
	.destination = V4(0x0a020007),
	.source_port = RTE_BE32(1024),
	.destination_port = RTE_BE32(22),
	.in = RTE_BE32(0),
	.out = RTE_BE32(1),
	.tunnel_out = RTE_BE32(2),
};

static void test_rules(void **state)
{
	struct rule_set *s = build("full.conf");
	struct classifier_key key = one;

	(void)state;
	assert_int_equal(rule_set_count(s), 5);
	assert_string_equal(rule_set_at(s, 0)->name, "one");
	assert_int_equal(rule_set_at(s, 0)->action, RULE_ACCEPT);
	assert_true(rule_set_at(s, 0)->log);
	assert_int_equal(rule_set_at(s, 1)->action, RULE_DROP);
	assert_false(rule_set_at(s, 1)->log);
	assert_int_equal(rule_set_at(s, 3)->action, RULE_REJECT);

	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &key, RULE_NEW), 0);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &key, RULE_RELATED), 0);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &key, RULE_ESTABLISHED), 2);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &key, RULE_INVALID), 3);
	key.tunnel_out = RTE_BE32(3); // of another policy
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &key, RULE_NEW), 2);
	key = one;
	key.in = RTE_BE32(1);
	key.out = RTE_BE32(0);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &key, RULE_NEW), 2);
	key = one;
	key.source_port = RTE_BE32(1023);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &key, RULE_NEW), 2);

	key = (struct classifier_key){.proto = 1, .source = V4(0x0a030001), .destination = V4(0)};
	key.destination_port = RTE_BE32(ACL_PORT_RECEIVER);
	key.tunnel_in = RTE_BE32(3); // of the policy that uses the SA
	key.source_port = RTE_BE32(0x304);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &key, RULE_INVALID), 1);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &key, RULE_NEW), 1);
	key.source_port = RTE_BE32(0x305); // another code
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &key, RULE_NEW), 2);
	key.source_port = RTE_BE32(ACL_PORT_OPAQUE);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &key, RULE_NEW), 2);
	rule_set_free(s);
}

static void check_default(const char *action, enum rule_action expected)
{
	char text[128];
	struct rule_set *s;

	snprintf(text, sizeof(text), "@include \"ports.inc\"\ndefault_action = \"%s\";\n", action);
	conf_dir_write("default.conf", text, strlen(text));
	s = build("default.conf");
	conf_dir_unlink("default.conf");
	assert_int_equal(rule_set_count(s), 1);
	assert_int_equal(rule_set_decide(s, RULE_FORWARD, &one, RULE_NEW), 0);
	assert_string_equal(rule_set_at(s, 0)->name, "(default)");
	assert_int_equal(rule_set_at(s, 0)->action, expected);
	rule_set_free(s);
}

static void test_default_action(void **state)
{
	(void)state;
	check_default("accept", RULE_ACCEPT);
	check_default("drop", RULE_DROP);
	check_default("reject", RULE_REJECT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_default_action),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
