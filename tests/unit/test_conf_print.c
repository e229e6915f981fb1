// SPDX-License-Identifier: BSD-3-Clause
// Configurations as text. Proves that printed text can be read again, and has no keys.
#include <errno.h>
#include <unistd.h>

#include "conf_apply.h"
#include "conf_dir.h"
#include "conf_print.h"
#include "conf_reader.h"
#include "test.h"

#define CIPHER "000102030405060708090a0b0c0d0e0f"
#define AUTH   "101112131415161718191a1b1c1d1e1f20212223"
#define OTHER  "303132333435363738393a3b3c3d3e3f40414243"

static const char text[] =
	"ports = ( { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; },"
	"{ name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; } );"
	"memory = { size = \"1.5G\"; }; eal_args = ( \"--no-pci\" );"
	"routes = ( { to = \"10.2.0.0/24\"; via = \"192.0.2.2\"; } );"
	"sas = ( { name = \"a-b\"; direction = \"out\"; spi = 0x1001; local = \"192.0.2.1\";"
	"remote = \"192.0.2.2\"; cipher = \"aes-128-cbc\"; auth = \"hmac-sha1-96\";"
	"key_file = \"ab.key\"; ttl = 9; udp = { remote_port = 4501; keepalive = 5; }; },"
	"{ name = \"b-a\"; direction = \"in\"; spi = 0x1002; local = \"192.0.2.1\";"
	"remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\"; key_file = \"ba.key\";"
	"replay_window = 128; udp = { }; } );"
	"aliases = ( { name = \"spare\"; protos = \"udp\"; }, { name = \"dns\"; ports = [ \"53\" "
	"]; } );"
	"policies = ( { name = \"dns\"; local = \"10.1.0.0/24\"; remote = \"10.2.0.0/24\";"
	"proto = \"udp\"; remote_port = [ \"@dns\", \"853\" ]; action = \"protect\"; out = \"a-b\";"
	"in = [ \"b-a\" ]; }, { name = \"rest\"; action = \"discard\"; } );";

static void write_files(void)
{
	conf_dir_write("ab.key", CIPHER "\n" AUTH "\n", sizeof(CIPHER AUTH "\n\n") - 1);
	conf_dir_write("ba.key", OTHER "\n", sizeof(OTHER "\n") - 1);
	conf_dir_write("n.key", "key = \"" AUTH "\";\n", sizeof("key = \"" AUTH "\";\n") - 1);
	conf_dir_write("print.conf", text, sizeof(text) - 1);
}

typedef void printer(const struct conf *c, FILE *out);

static void print_peer(const struct conf *c, FILE *out)
{
	assert_int_equal(conf_print_peer(c, NULL, out, stderr), 0);
}

// To be freed.
static char *printed(printer *print, const struct conf *c)
{
	char *out;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	print(c, f);
	fclose(f);
	assert_null(strstr(out, "30313233"));
	assert_null(strstr(out, "10111213"));
	return out;
}

static struct conf *reread(const char *printed_text)
{
	struct conf *c;

	conf_dir_write("again.conf", printed_text, strlen(printed_text));
	c = conf_dir_load_good("again.conf");
	conf_dir_unlink("again.conf");
	return c;
}

static unsigned int n_different(const struct conf *from, const struct conf *to)
{
	struct conf_changes *list = conf_diff(from, to);
	unsigned int n = list->n;

	conf_changes_free(list);
	return n;
}

static void test_digits(void **state)
{
	struct conf *c;

	(void)state;
	write_files();
	c = conf_dir_load_good("print.conf");
	assert_int_equal(c->sas[0].cipher_key[15], 0x0f);
	assert_int_equal(c->sas[0].auth_key[0], 0x10);
	assert_int_equal(c->sas[0].auth_key[19], 0x23);
	assert_int_equal(c->sas[1].cipher_key[19], 0x43);
	conf_free(c);
	conf_dir_write("ba.key", OTHER "00", sizeof(OTHER "00") - 1);
	conf_dir_load_bad("print.conf",
		"ba.key:1: sa \"b-a\": key: is 21 octets, aes-128-gcm with auth none needs 20 (20 "
		"for the cipher, then 0)\n");
	write_files();
}

// Whichever file a key comes from, it has the same identifiers, by which its SA keeps its state and
// its file.
static void test_same_key(void **state)
{
	static const char request[] = "rule add { name = \"r\"; action = \"drop\"; }";
	struct conf *c, *changed;

	(void)state;
	write_files();
	c = conf_dir_load_good("print.conf");
	changed = conf_change(c, "argument", request, strlen(request), stderr);
	assert_non_null(changed);
	assert_true(sa_options_equal(&c->sas[1].opt, &changed->sas[1].opt));
	assert_string_equal(changed->tree->key_files[1], "ba.key");
	conf_free(changed);
	conf_free(c);
}

static void test_print(void **state)
{
	struct conf *c, *again;
	char *out;

	(void)state;
	write_files();
	c = conf_dir_load_good("print.conf");
	out = printed(conf_print, c);
	again = reread(out);
	assert_int_equal(n_different(c, again), 0);
	conf_free(again);
	conf_free(c);
	free(out);
}

// A port is in no record: the operator edits the file.
static void test_port_in_record(void **state)
{
	static const char ports[] = "ports = ( { name = \"lan\"; device = \"net_null0\"; addresses "
				    "= [ \"10.1.0.1/24\" ]; } );";
	static const char more[] =
		"ports = ( { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" "
		"]; },"
		"{ name = \"dmz\"; device = \"net_null1\"; addresses = [ \"10.3.0.1/24\" ]; } );";
	struct conf *from, *to;
	struct conf_changes *list;
	char *out;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	(void)state;
	conf_dir_write("from.conf", ports, sizeof(ports) - 1);
	conf_dir_write("to.conf", more, sizeof(more) - 1);
	from = conf_dir_load_good("from.conf");
	to = conf_dir_load_good("to.conf");
	list = conf_diff(from, to);
	conf_changes_write(list, f);
	fclose(f);
	assert_string_equal(out, "# port \"dmz\": edit the file by hand\n");
	free(out);
	conf_changes_free(list);
	conf_free(from);
	conf_free(to);
	conf_dir_unlink("from.conf");
	conf_dir_unlink("to.conf");
}

#define SA(name, direction, remote, key)                                                           \
	"{ name = \"" name "\"; direction = \"" direction "\"; spi = 0x1" key                      \
	"; local = \"192.0.2.1\"; remote = \"" remote "\"; cipher = \"aes-128-gcm\";"              \
	"cipher_key = \"30313233343536373839414243444546474849" key "\"; }"
#define POLICY(name, remote, sa)                                                                   \
	"{ name = \"" name "\"; local = \"10.1.0.0/24\"; remote = \"" remote                       \
	"\"; action = \"protect\"; out = \"" sa "-out\"; in = \"" sa "-in\"; }"

// A hub: two policies to one peer, one to another.
static const char hub[] =
	"ports = ( { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; },"
	"{ name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; } );"
	"routes = ( { to = \"0.0.0.0/0\"; via = \"192.0.2.9\"; } );"
	"sas = (" SA("b-out", "out", "192.0.2.2", "01") "," SA("b-in", "in", "192.0.2.2",
		"02") "," SA("c-out", "out", "192.0.2.3", "03") "," SA("c-in", "in", "192.0.2.3",
		"04") ");"
		      "policies = ( { name = \"rest\"; local = \"10.1.0.9/32\"; action = "
		      "\"discard\"; }," POLICY("b", "10.2.0.0/24", "b") "," POLICY(
			      "c", "10.3.0.0/24", "c") "," POLICY("b2", "10.4.0.0/24", "b") ");";

// Output for a peer of the hub; rc: of conf_print_peer().
static char *peer_of_hub(const char *peer, int rc)
{
	struct conf *c;
	char *out;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	conf_dir_write("hub.conf", hub, sizeof(hub) - 1);
	c = conf_dir_load_good("hub.conf");
	assert_int_equal(conf_print_peer(c, peer, f, f), rc);
	fclose(f);
	conf_free(c);
	return out;
}

static void assert_lines(const char *peer, const char *const lines[], unsigned int n)
{
	char *out = peer_of_hub(peer, 0);

	for (unsigned int i = 0; i < n; i++)
		if (strstr(out, lines[i]) == NULL)
			fail_msg("%s: no %s in %s", peer, lines[i], out);
	assert_null(strstr(out, "192.0.2.3"));
	assert_null(strstr(out, "name = \"c"));
	free(out);
}

// Each of several peers gets the tunnels to it alone.
static void test_one_of_several_peers(void **state)
{
	static const char *const lines[] = {"name = \"b-out\"; direction = \"in\"",
		"name = \"b-in\"; direction = \"out\"", "name = \"b\"; remote = \"10.1.0.0/24\"",
		"name = \"b2\"", "# policy \"rest\" is left out: it has no peer\n"};
	char *refusal;

	(void)state;
	assert_lines("192.0.2.2", lines, 5);
	assert_lines("b", lines, 5);
	assert_lines("b2", lines, 5);
	refusal = peer_of_hub(NULL, -EINVAL);
	assert_string_equal(
		refusal, "the tunnels lead to several peers, name one: 192.0.2.2, 192.0.2.3\n");
	free(refusal);
	refusal = peer_of_hub("192.0.2.4", -EINVAL);
	assert_string_equal(
		refusal, "no tunnel leads to \"192.0.2.4\", peers: 192.0.2.2, 192.0.2.3\n");
	free(refusal);
}

// A tunnel that routes lead into, and which routes the other end needs.
static void test_tunnel_of_peer(void **state)
{
	static const char own[] =
		"ports = ( { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" "
		"]; },"
		"{ name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; } );"
		"routes = ( { to = \"10.2.0.0/24\"; tunnel = \"t\"; },"
		"{ to = \"10.9.0.0/16\"; via = \"10.1.0.9\"; } );"
		"sas = (" SA("b-out", "out", "192.0.2.2", "01") "," SA("b-in", "in", "192.0.2.2",
			"02") ");"
			      "tunnels = ( { name = \"t\"; out = \"b-out\"; in = \"b-in\"; } );";
	static const char *const lines[] = {"name = \"b-out\"; direction = \"in\"",
		"{ name = \"t\"; in = \"b-out\"; out = \"b-in\"",
		"# routes needs { to = \"10.1.0.0/24\"; tunnel = \"t\"; }\n",
		"# routes needs { to = \"10.9.0.0/16\"; tunnel = \"t\"; }\n"};
	struct conf *c;
	char *out;

	(void)state;
	conf_dir_write("tunnel.conf", own, sizeof(own) - 1);
	c = conf_dir_load_good("tunnel.conf");
	out = printed(print_peer, c);
	for (unsigned int i = 0; i < COUNT_OF(lines); i++)
		if (strstr(out, lines[i]) == NULL)
			fail_msg("no %s in %s", lines[i], out);
	free(out);
	conf_free(c);
}

// The settings printed for the peer print those of the first end again.
static void test_peer(void **state)
{
	static const char ports[] =
		"ports = ( { name = \"lan\"; device = \"net_null0\"; addresses = "
		"[ \"10.2.0.1/24\" ]; },"
		"{ name = \"wan\"; device = \"net_null1\"; addresses = [ "
		"\"192.0.2.2/24\" ]; } );"
		"routes = ( { to = \"10.1.0.0/24\"; via = \"192.0.2.1\"; } );";
	struct conf *c, *peer;
	char *out, *whole;

	(void)state;
	write_files();
	c = conf_dir_load_good("print.conf");
	out = printed(print_peer, c);
	assert_true(asprintf(&whole, "%s%s", ports, out) > 0);
	peer = reread(whole);
	assert_int_equal(peer->sas[0].opt.direction, SA_IN);
	assert_int_equal(peer->sas[0].opt.udp_local_port, 4501);
	assert_memory_equal(peer->sas[0].auth_key, c->sas[0].auth_key, 20);
	assert_int_equal(peer->sas[1].opt.direction, SA_OUT);
	assert_int_equal(peer->sas[1].opt.udp_local_port, 4501);
	assert_int_equal(peer->sas[1].opt.udp_remote_port, 4500);
	assert_int_equal(peer->policies[0].local_port.at[0].min, 53);
	assert_string_equal(peer->policies[0].local_port.text, "@dns,853");
	assert_int_equal(peer->n_aliases, 1); // the values that its policies use
	assert_int_equal(peer->policies[0].sa_out, 1);
	assert_int_equal(peer->policies[0].sa_in[0], 0);
	assert_int_equal(peer->policies[1].action, SPD_DISCARD);
	conf_free(peer);
	conf_free(c);
	free(whole);
	free(out);
}

static struct conf *changed(const struct conf *c, const char *changes)
{
	char *errors;
	size_t len;
	FILE *f = open_memstream(&errors, &len);
	struct conf *now = conf_change(c, "test", changes, strlen(changes), f);

	fclose(f);
	assert_string_equal(errors, "");
	assert_non_null(now);
	free(errors);
	return now;
}

// The difference as text, to be freed.
static char *record(const struct conf *from, const struct conf *to,
	void (*print)(const struct conf_changes *list, FILE *out))
{
	struct conf_changes *list = conf_diff(from, to);
	char *out;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	print(list, f);
	fclose(f);
	conf_changes_free(list);
	return out;
}

static void test_changes(void **state)
{
	static const char changes[] =
		"sa add { name = \"a-b-2\"; direction = \"out\"; spi = 0x1003; local = "
		"\"192.0.2.1\";"
		"remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\"; key_file = \"n.key\";"
		"udp = { remote_port = 4501; }; }\n"
		"policy set dns { out = \"a-b-2\"; }\n"
		"sa del a-b\n"
		"policy add first { name = \"bypass\"; remote = \"198.51.100.1\"; action = "
		"\"bypass\"; }\n"
		"rule add { name = \"r\"; action = \"drop\"; }\n";
	struct conf *file, *running, *again;
	char *out;

	(void)state;
	write_files();
	file = conf_dir_load_good("print.conf");
	running = changed(file, changes);
	out = record(file, running, conf_print_changes);
	assert_non_null(strstr(out, "key_file = \"n.key\""));
	again = changed(file, out);
	assert_int_equal(n_different(running, again), 0);
	conf_free(again);
	free(out);
	out = record(running, running, conf_print_changes);
	assert_string_equal(out, "");
	free(out);
	conf_free(running);
	conf_free(file);
}

static void print(FILE *out, const struct conf_change *d)
{
	fprintf(out, "%s: %s -> %s\n", d->setting, d->from != NULL ? d->from : "-",
		d->to != NULL ? d->to : "-");
}

// A setting that is not written may follow from another one: the values that are in effect.
static void test_effective(void **state)
{
	struct conf *before = conf_dir_load_good("gateway-a.conf");
	struct conf *after = changed(before, "sa set to-b { tfc = { dummies = 10; }; }\n");
	struct conf_changes *list;
	size_t len;
	char *out;
	FILE *f = open_memstream(&out, &len);

	(void)state;
	list = conf_diff(before, after);
	for (unsigned int i = 0; i < list->n; i++)
		print(f, &list->change[i]);
	conf_changes_free(list);
	fclose(f);
	assert_string_equal(out, "df: \"copy\" -> \"set\"\n"
				 "dscp: \"copy\" -> \"cs0\"\n"
				 "ecn: true -> false\n"
				 "tfc: - -> { }\n"
				 "tfc.pad: - -> \"mtu\"\n"
				 "tfc.dummies: - -> 10\n");
	free(out);
	conf_free(after);
	conf_free(before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_digits),
		cmocka_unit_test(test_same_key),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_port_in_record),
		cmocka_unit_test(test_peer),
		cmocka_unit_test(test_tunnel_of_peer),
		cmocka_unit_test(test_one_of_several_peers),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_effective),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
