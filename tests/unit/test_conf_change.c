// SPDX-License-Identifier: BSD-3-Clause
// Changes without a file. Proves their result, compared with a file that has the same settings; the
// message for every mistake in a request; and the differences listed for two configurations.
#include "conf_apply.h"

#include "conf_dir.h"
#include "test.h"

#define KEY   "cipher = \"aes-128-gcm\"; cipher_key = \"202122232425262728292a2b2c2d2e2f30313233\";"
#define ENDS  "local = \"192.0.2.1\"; remote = \"192.0.2.2\"; "
#define NEXT  "name = \"to-b-2\"; direction = \"out\"; spi = \"0x1003\"; " ENDS KEY
#define OTHER "name = \"x\"; direction = \"in\"; spi = \"0x1004\"; " ENDS

static char *msgs; // the result of the last attempt

static void strip(char *text, const char *what)
{
	for (char *p; (p = strstr(text, what)) != NULL;)
		memmove(p, p + strlen(what), strlen(p + strlen(what)) + 1);
}

static struct conf *try(const struct conf *was, const char *request)
{
	size_t size;
	FILE *errors;
	struct conf *c;
	char dir[512];

	free(msgs);
	errors = open_memstream(&msgs, &size);
	c = conf_change(was, "argument", request, strlen(request), errors);
	fclose(errors);
	snprintf(dir, sizeof(dir), "%s/", conf_dir());
	strip(msgs, dir);
	assert_true((c == NULL) == (msgs[0] != '\0'));
	return c;
}

static void print(FILE *out, const struct conf_change *d)
{
	fprintf(out, "%s", conf_change_word(d));
	if (d->kind != CONF_KINDS)
		fprintf(out, " %s %s", conf_kinds[d->kind].noun, d->name);
	if (d->setting != NULL && d->secret)
		fprintf(out, " %s", d->setting);
	else if (d->setting != NULL)
		fprintf(out, " %s: %s -> %s", d->setting, d->from != NULL ? d->from : "-",
			d->to != NULL ? d->to : "-");
	fprintf(out, " (%u)%s\n", d->where.line, d->restart ? " restart" : "");
}

// The differences, to be freed.
static char *diff(const struct conf *from, const struct conf *to)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct conf_changes *list = conf_diff(from, to);

	for (unsigned int i = 0; i < list->n; i++)
		print(out, &list->change[i]);
	conf_changes_free(list);
	fclose(out);
	return text;
}

static void check_diff(const struct conf *from, const struct conf *to, const char *expected)
{
	char *text = diff(from, to);

	assert_string_equal(text, expected);
	free(text);
}

// The request changes a configuration so that it differs from another one, which may be the same.
static void check_change(
	const struct conf *from, const struct conf *was, const char *request, const char *expected)
{
	struct conf *c = try(was, request);

	assert_non_null(c);
	check_diff(from, c, expected);
	conf_free(c);
}

static int stop(void **state)
{
	free(msgs);
	return conf_sample_stop(state);
}

// A request does the same as an edit of the file, with these differences.
static void check(const char *request, const char *old, const char *new, const char *difference)
{
	struct conf *c = try(conf_sample, request), *wanted = conf_sample_edited(old, new);

	if (c == NULL)
		fail_msg("%s", msgs);
	check_diff(c, wanted, "");
	check_diff(wanted, c, "");
	check_diff(conf_sample, c, difference);
	conf_free(c);
	conf_free(wanted);
}

static void refuse(const char *request, const char *errors)
{
	struct conf *c = try(conf_sample, request);

	conf_free(c);
	assert_string_equal(msgs, errors);
}

static void test_add(void **state)
{
	(void)state;
	check("sa add {" NEXT "}", "\n);\n\npolicies", ",\n{" NEXT "}\n);\n\npolicies",
		"added sa to-b-2 (1)\n");
	check("policy add { name = \"last\"; remote = \"10.2.0.0/24\"; action = \"bypass\"; "
	      "proto = 47; local = \"10.9.0.0/24\"; }\npolicy del rest",
		"{ name = \"rest\"; action = \"discard\"; }",
		"{ name = \"last\"; remote = \"10.2.0.0/24\"; action = \"bypass\"; "
		"proto = \"gre\"; local = \"10.9.0.0/24\"; }",
		"added policy last (1)\nremoved policy rest (39)\n");
	check("rule add { name = \"a\"; action = \"drop\"; }", "policies = (",
		"rules = ( { name = \"a\"; action = \"drop\"; } );\npolicies = (",
		"added rule a (1)\n");
	check("neighbour add { address = \"192.0.2.2\"; mac = \"02:00:00:00:00:02\"; }",
		"policies = (",
		"neighbours = ( { mac = \"02:00:00:00:00:02\"; address = \"192.0.2.2\"; } );\n"
		"policies = (",
		"added neighbour 192.0.2.2 (1)\n");
	check("route add { to = \"10.3.0.0/24\"; via = \"192.0.2.3\"; }",
		"{ to = \"10.2.0.0/24\"; via = \"192.0.2.2\"; }",
		"{ to = \"10.2.0.0/24\"; via = \"192.0.2.2\"; },"
		"{ to = \"10.3.0.0/24\"; via = \"192.0.2.3\"; }",
		"added route 10.3.0.0/24 (1)\n");
}

#define ONE "{ name = \"one\"; remote = \"10.2.0.9\"; action = \"bypass\"; }"

static void check_place(const char *place, const char *old, const char *new)
{
	char request[256];

	snprintf(request, sizeof(request), "policy add %s " ONE, place);
	check(request, old, new, "added policy one (1)\n");
}

static void test_places(void **state)
{
	(void)state;
	check_place("first", "policies = (", "policies = ( " ONE ", ");
	check_place("before site-b", "policies = (", "policies = ( " ONE ", ");
	check_place("before rest", "{ name = \"rest\";", ONE ", { name = \"rest\";");
	check_place("after site-b", "{ name = \"rest\";", ONE ", { name = \"rest\";");
	refuse("policy add " ONE, "argument:1: policy \"one\": never matches, policy \"rest\" "
				  "(gateway-a.conf:39) comes first and matches all of it\n");
	refuse("policy add last " ONE, "argument:1: policy \"one\": never matches, policy \"rest\" "
				       "(gateway-a.conf:39) comes first and matches all of it\n");
	refuse("policy add after rest " ONE,
		"argument:1: policy \"one\": never matches, policy \"rest\" "
		"(gateway-a.conf:39) comes first and matches all of it\n");
}

static void test_set(void **state)
{
	(void)state;
	check("policy set site-b { local = \"10.1.0.0/16\"; }", "\"10.1.0.0/24\"; remote",
		"\"10.1.0.0/16\"; remote",
		"changed policy site-b local: \"10.1.0.0/24\" -> \"10.1.0.0/16\" (1)\n");
	check("sa set from-b { replay_window = 64; }", "replay_window = 128; ", "",
		"changed sa from-b replay_window: 128 -> 64 (1)\n");
	check("sa set from-b { lifetime = { soft_seconds = 5; }; }", "replay_window = 128; ",
		"replay_window = 128; lifetime = { soft_seconds = 5; }; ",
		"changed sa from-b lifetime.soft_seconds: - -> 5 (1)\n");
	check("sa set from-b { cipher_key = \""
	      "20 21222324 25262728292a2b2c2d2e2f30313233\"; }",
		"0x101112131415161718191a1b1c1d1e1f b0b1b2b3",
		"0x202122232425262728292A2B2C2D2E2F30313233", "changed sa from-b cipher_key (1)\n");
	check("route set 10.2.0.0/24 { via = \"192.0.2.3\"; }", "via = \"192.0.2.2\"",
		"via = \"192.0.2.3\"",
		"changed route 10.2.0.0/24 via: \"192.0.2.2\" -> \"192.0.2.3\" (1)\n");
	check("policy set site-b { in = [ \"from-b\" ]; }", "in = \"from-b\"", "in = \"from-b\"",
		"");
}

// A request is applied as a whole or not at all; its changes can use objects that earlier ones
// added.
static void test_several(void **state)
{
	const char *rekey = "# to a new key\n"
			    "sa add { " NEXT " }\n"
			    "policy set site-b {\n"
			    "  out = \"to-b-2\"; // at once\n"
			    "};\n"
			    "sa del to-b; rule add first { name = \"r\"; action = \"accept\"; }";
	struct conf *c = try(conf_sample, rekey);

	(void)state;
	assert_non_null(c);
	check_diff(conf_sample, c,
		"added sa to-b-2 (2)\n"
		"removed sa to-b (25)\n"
		"changed policy site-b out: \"to-b\" -> \"to-b-2\" (4)\n"
		"added rule r (6)\n");
	// And back to the file, as a reload does.
	check_diff(c, conf_sample,
		"added sa to-b (25)\n"
		"removed sa to-b-2 (2)\n"
		"changed policy site-b out: \"to-b-2\" -> \"to-b\" (38)\n"
		"removed rule r (6)\n");
	conf_free(c);
	refuse("sa add { " NEXT " }\nsa del nothing", "argument:2: there is no sa \"nothing\"\n");
}

// The file with the keys may have changed meanwhile.
static void test_key_file(void **state)
{
	static const char first[] = "cipher_key = \"000102030405060708090a0b0c0d0e0fa0a1a2a3\";",
			  second[] = "cipher_key = \"2222222222222222222222222222222222222222\";";
	struct conf *with_file;

	(void)state;
	conf_dir_write("some.key", first, strlen(first));
	with_file =
		conf_sample_edited("cipher_key = \"0x000102030405060708090a0b0c0d0e0f a0a1a2a3\"",
			"key_file = \"some.key\"");
	check_diff(conf_sample, with_file, "");
	conf_dir_write("some.key", second, strlen(second));
	check_change(conf_sample, with_file, "policy del rest", "removed policy rest (39)\n");
	check_change(conf_sample, with_file, "sa set to-b { key_file = \"some.key\"; }",
		"changed sa to-b cipher_key (1)\n");
	conf_free(with_file);
	conf_dir_unlink("some.key");
	refuse("sa set to-b { key_file = \"none.key\"; }",
		"argument:1: sa \"to-b\": key_file: none.key cannot be opened: No such file or "
		"directory\n");
}

// A change of the upper end of a range counts, and is reported once, though two settings have one
// field.
static void test_ranges(void **state)
{
	static const char *const rows[][3] = {
		{"proto = \"tcp\"; destination_port = \"1000-2000\";",
			"destination_port = \"1000-3000\";",
			"destination_port: \"1000-2000\" -> \"1000-3000\" (1)\n"},
		{"proto = \"udp\";", "source_port = \"0-80\";",
			"source_port: \"0-65535\" -> \"0-80\" (1)\n"},
		{"proto = \"icmp\"; icmp = \"8/0\";", "icmp = \"8/0-3\";",
			"icmp: \"8/0\" -> \"8/0-3\" (1)\n"},
	};
	char text[3][256];

	(void)state;
	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		struct conf *before, *after;

		snprintf(text[0], 256, "rule add { name = \"a\"; action = \"accept\"; %s }",
			rows[i][0]);
		snprintf(text[1], 256, "rule set a { %s }", rows[i][1]);
		snprintf(text[2], 256, "changed rule a %s", rows[i][2]);
		before = try(conf_sample, text[0]);
		after = try(before, text[1]);
		check_diff(before, after, text[2]);
		conf_free(after);
		conf_free(before);
	}
}

#define LOCAL "neighbour add { address = \"fe80::1\"; mac = \"02:00:00:00:00:01\"; port = "

// One address may be on every link.
static void test_link_local(void **state)
{
	struct conf *v6 = conf_sample_edited(
		"[ \"192.0.2.1/24\" ]", "[ \"192.0.2.1/24\", \"2001:db8::1/64\" ]");
	struct conf *one, *both, *c;

	(void)state;
	one = try(v6, LOCAL "\"wan\"; }");
	assert_non_null(one);
	check_diff(v6, one, "added neighbour fe80::1 port wan (1)\n");
	check_change(v6, one, "neighbour del fe80:0::1", "");
	c = try(one, "neighbour del fe80::1 port lan");
	assert_null(c);
	assert_string_equal(msgs, "argument:1: there is no neighbour \"fe80::1\" port \"lan\"\n");
	conf_free(one);
	conf_free(v6);

	v6 = conf_sample_edited("\"10.1.0.1/24\" ]; },\n  { name = \"wan\"; device = "
				"\"net_tap1,iface=wan0\"; addresses = [ \"192.0.2.1/24\" ]",
		"\"10.1.0.1/24\", \"2001:db8:1::1/64\" ]; }, { name = \"wan\"; device = "
		"\"net_tap1,iface=wan0\"; addresses = [ \"192.0.2.1/24\", "
		"\"2001:db8::1/64\" ]");
	both = try(v6, LOCAL "\"wan\"; }\n" LOCAL "\"lan\"; }");
	assert_non_null(both);
	c = try(both, "neighbour del fe80::1");
	assert_null(c);
	assert_string_equal(msgs,
		"argument:1: there are several neighbours \"fe80::1\", choose one with \"port "
		"NAME\"\n");
	check_change(both, both, "neighbour del fe80::1 port wan",
		"removed neighbour fe80::1 port wan (1)\n");
	conf_free(both);
	conf_free(v6);
}

static void test_refused(void **state)
{
	(void)state;
	refuse("", "argument:1: no change is given\n");
	refuse("# nothing\n\n ; ;", "argument:1: no change is given\n");
	refuse("sas add {}", "argument:1: unknown object \"sas\", did you mean \"sa\"?\n");
	refuse("port add {}",
		"argument:1: unknown object \"port\", must be "
		"one of sa, policy, tunnel, rule, nat, group, alias, neighbour, route\n");
	refuse("x", "argument:1: unknown object \"x\", must be one of sa, "
		    "policy, tunnel, rule, nat, group, alias, neighbour, route\n");
	refuse("sa", "argument:1: sa: expected one of add, set, del\n");
	refuse("sa delete x",
		"argument:1: unknown change \"delete\", must be one of add, set, del\n");
	refuse("sa ad { }", "argument:1: unknown change \"ad\", did you mean \"add\"?\n");
	refuse("sa add", "argument:1: sa add: settings { } are missing\n");
	refuse("sa add\n{ }",
		"argument:1: sa add: settings { } are missing\n"
		"argument:2: settings without a command, such as \"sa add\", before them\n");
	refuse("sa add first { }", "argument:1: sa add: unexpected argument \"first\"\n");
	refuse("policy add before { }",
		"argument:1: policy add before: expected the name of a policy\n");
	refuse("policy add behind rest { }", "argument:1: unknown place \"behind\", must be one of "
					     "last, first, before, after\n");
	refuse("policy add last rest { }",
		"argument:1: policy add: unexpected argument \"rest\"\n");
	refuse("policy add before no { }", "argument:1: there is no policy \"no\"\n");
	refuse("policy set { }", "argument:1: policy set: its name is missing\n");
	refuse("route del", "argument:1: route del: its to is missing\n");
	refuse("sa del to-b { }", "argument:1: sa del: takes no settings { }\n");
	refuse("sa del to-b from-b", "argument:1: sa del: unexpected argument \"from-b\"\n");
	refuse("sa del to-c", "argument:1: there is no sa \"to-c\", did you mean \"to-b\"?\n");
	refuse("rule del x", "argument:1: there is no rule \"x\"\n");
	refuse("sa add { name = \"x\";\n a = { ",
		"argument:1: settings are not closed, must end with }\n");
	refuse("sa add { name = \"x }", "argument:1: settings are not closed, must end with }\n");
	refuse("sa add { /* }", "argument:1: settings are not closed, must end with }\n");
	refuse("policy set rest {\n action = ; }", "argument:2: syntax error\n");
	refuse("\npolicy set rest {\n proto = 99999999999; }",
		"argument:3: number does not fit 32 bits, must be written as a string\n");
	refuse("policy set rest {\n@include \"x.conf\"\n}",
		"argument:2: \"x.conf\" cannot be included here, must be in the file\n");
	refuse("xx b c d e f g h i j",
		"argument:1: unknown object \"xx\", "
		"must be one of sa, policy, tunnel, rule, nat, group, alias, neighbour, route\n");
}

// The same checks as for a file, with the same messages.
static void test_checks(void **state)
{
	(void)state;
	refuse("sa del to-b", "gateway-a.conf:38: policy \"site-b\": out: uses sa \"to-b\", so it "
			      "cannot be removed\n");
	refuse("sa add {\n" NEXT "\n spi = 4; }", "argument:3: duplicate setting name\n");
	refuse("sa add {\n" OTHER "\n cipher = \"aes-128-gmc\"; }",
		"argument:3: sa \"x\": cipher: \"aes-128-gmc\" is not allowed, did you mean "
		"\"aes-128-gcm\"?\n");
	refuse("sa add { " OTHER " cipher = \"aes-128-gcm\"; }",
		"argument:1: sa \"x\": cipher_key is missing, aes-128-gcm needs 20 octets (16 and "
		"a salt of 4), here or in a key_file\n");
	refuse("sa add {\n" OTHER " cipher = \"aes-128-gcm\";\n"
	       "cipher_key = \"0x101112131415161718191a1b1c1d1e1f b0b1b2b3\"; }",
		"argument:3: sa \"x\": cipher_key: key and salt must be unique, are also "
		"those of sa \"from-b\" (gateway-a.conf:29)\n");
	refuse("sa set to-b { tll = 5; }", "argument:1: sa \"to-b\": tll: unknown setting, did you "
					   "mean \"ttl\"?\n");
	refuse("sa set to-b { name = \"from-b\"; }",
		"gateway-a.conf:29: sa \"from-b\": name: is already the name of sa \"from-b\" "
		"(gateway-a.conf:25)\n"
		"gateway-a.conf:38: policy \"site-b\": in: sa \"from-b\" (gateway-a.conf:25) has "
		"direction \"out\", must be \"in\"\n");
	refuse("route del 10.2.0.0/24\nroute add { to = \"10.2.0.0/24\"; }",
		"argument:2: route \"10.2.0.0/24\": via is missing, must be an address such as "
		"\"192.0.2.1\"\n");
	refuse("sa add { name = 5; }\nsa del nothing\nsa del to-b",
		"argument:2: there is no sa \"nothing\"\n");
}

// --- differences between files ---

static void check_edit(const char *old, const char *new, const char *difference)
{
	struct conf *c = conf_sample_edited(old, new);

	check_diff(conf_sample, c, difference);
	conf_free(c);
}

static void test_same(void **state)
{
	(void)state;
	check_diff(conf_sample, conf_sample, "");
	check_edit("spi = \"0x00001001\"", "spi = 4097", "");
	check_edit("workers = [ 1 ]", "workers = ( 1 )", "");
	check_edit("replay_window = 128; ",
		"replay_window = 0x80; esn = false; mode = \"tunnel\"; ", "");
	check_edit("0x000102030405060708090a0b0c0d0e0f a0a1a2a3",
		"00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:A0:A1:A2:A3", "");
}

static void test_settings(void **state)
{
	(void)state;
	check_edit(
		"size = 512;", "size = 1024;", "changed memory.size: 512 -> 1024 (13) restart\n");
	check_edit(
		"hugepages = false;", "", "changed memory.hugepages: false -> true (1) restart\n");
	check_edit("workers = [ 1 ]", "workers = [ 1, 2 ]",
		"changed cpus.workers: 1 -> [ 1, 2 ] (12) restart\n");
	check_edit("ports = (", "default_action = \"drop\"; ports = (",
		"changed default_action: \"accept\" -> \"drop\" (15)\n");
	check_edit("ports = (", "flows = { timeouts = { udp = 9; }; }; ports = (",
		"changed flows.timeouts.udp: 30 -> 9 (15)\n");
}

static void test_ports(void **state)
{
	(void)state;
	check_edit("\"lan\"; device", "\"lan\"; mtu = 9000; device",
		"changed port lan mtu: 1500 -> 9000 (16) restart\n");
	check_edit("\"lan\"; device", "\"lan\"; side = \"unprotected\"; device",
		"changed port lan side: \"protected\" -> \"unprotected\" (16)\n");
	check_edit("\"10.1.0.1/24\"", "\"10.1.0.1/24\", \"10.9.0.1/24\"",
		"changed port lan addresses: \"10.1.0.1/24\" -> [ \"10.1.0.1/24\", \"10.9.0.1/24\" "
		"] (16)\n");
	check_edit("\"lan\"; device", "\"inside\"; device",
		"added port inside (16)\nremoved port lan (16)\n");
}

// The fewest elements that explain the change of order.
static void test_moves(void **state)
{
	static const char five[] = "policies = ("
				   "{ name = \"a\"; proto = 1; action = \"bypass\"; },\n"
				   "{ name = \"b\"; proto = 2; action = \"bypass\"; },\n"
				   "{ name = \"c\"; proto = 3; action = \"bypass\"; },\n"
				   "{ name = \"d\"; proto = 4; action = \"bypass\"; },\n";
	static const char moved[] = "policies = ("
				    "{ name = \"d\"; proto = 4; action = \"bypass\"; },\n"
				    "{ name = \"a\"; proto = 1; action = \"bypass\"; },\n"
				    "{ name = \"e\"; proto = 5; action = \"bypass\"; },\n"
				    "{ name = \"b\"; proto = 2; action = \"bypass\"; },\n"
				    "{ name = \"c\"; proto = 9; action = \"bypass\"; },\n";
	struct conf *from = conf_sample_edited("policies = (", five),
		    *to = conf_sample_edited("policies = (", moved);

	(void)state;
	check_diff(from, to,
		"moved policy d (36)\n"
		"added policy e (38)\n"
		"changed policy c proto: 3 -> 9 (40)\n");
	check_diff(to, from,
		"changed policy c proto: 9 -> 3 (38)\n"
		"moved policy d (39)\n"
		"removed policy e (38)\n");
	conf_free(from);
	conf_free(to);
}

// Nothing that could be a key.
static void test_secrets(void **state)
{
	(void)state;
	check_edit("0x000102030405060708090a0b0c0d0e0f a0a1a2a3",
		"dead0203040506070809beef0c0d0e0fa0a1a2a3", "changed sa to-b cipher_key (28)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_key_file),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_link_local),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_checks),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_secrets),
	};

	return cmocka_run_group_tests(tests, conf_sample_start, stop);
}
