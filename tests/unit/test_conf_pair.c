// SPDX-License-Identifier: BSD-3-Clause
// The group pair: the files of the channel, and the digests by which two gateways compare their
// configurations.
#include <sys/stat.h>

#include "conf_apply.h"
#include "conf_dir.h"
#include "conf_digest.h"
#include "message.h"
#include "pem.h"
#include "test.h"

#define PORT                                                                                       \
	"ports = ( { name = \"a\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; } "    \
	");\n"
#define PAIR(certificate, key, peer)                                                               \
	PORT "pair = { member = 1; address = \"10.9.0.1\"; peer = \"10.9.0.2\";\n"                 \
	     "certificate = \"" certificate "\";\nprivate_key = \"" key                            \
	     "\";\npeer_certificate = \"" peer "\"; };\n"

static void file_write(const char *text)
{
	conf_dir_write("pair.conf", text, strlen(text));
}

// Loads the text; expected has the only message.
static void check_bad(const char *text, const char *expected)
{
	file_write(text);
	conf_dir_load_bad("pair.conf", expected);
}

static void the_texts_of_the_files_are_read(void **state)
{
	struct conf *c;
	char *text;

	(void)state;
	file_write(PAIR("a.crt", "a.key", "b.crt"));
	c = conf_dir_load_good("pair.conf");
	text = conf_dir_read(conf_dir_path("b.crt"));
	assert_string_equal(c->pair_peer_certificate, text);
	assert_true(pem_key_fits(c->pair_key, c->pair_certificate));
	assert_int_equal(c->pair_port, 4520);
	free(text);
	conf_free(c);
}

static void mistakes_in_files_are_reported(void **state)
{
	(void)state;
	check_bad(PAIR("a.crt", "b.key", "b.crt"),
		"pair.conf:4: pair.private_key: is not the key of certificate\n");
	check_bad(PAIR("a.crt", "a.key", "a.crt"),
		"pair.conf:5: pair.peer_certificate: is the own certificate, must be that of the "
		"other gateway\n");
	check_bad(PAIR("a.key", "a.key", "b.crt"),
		"pair.conf:3: pair.certificate: \"a.key\" has no certificate in PEM\n");
	check_bad(PAIR("a.crt", "a.crt", "b.crt"),
		"pair.conf:4: pair.private_key: a.crt has mode 0644, others must not read it nor "
		"the group write it: chmod 640 a.crt\n");
	chmod(conf_dir_path("a.crt"), 0640);
	check_bad(PAIR("a.crt", "a.crt", "b.crt"),
		"pair.conf:4: pair.private_key: \"a.crt\" has no private key in PEM without a "
		"passphrase\n");
}

static void others_may_not_read_the_key(void **state)
{
	(void)state;
	chmod(conf_dir_path("a.key"), 0644);
	check_bad(PAIR("a.crt", "a.key", "b.crt"),
		"pair.conf:4: pair.private_key: a.key has mode 0644, others must not read it nor "
		"the group write it: chmod 640 a.key\n");
	chmod(conf_dir_path("a.key"), 0600);
	chmod(conf_dir_path("b.crt"), 0666);
	check_bad(PAIR("a.crt", "a.key", "b.crt"),
		"pair.conf:5: pair.peer_certificate: b.crt has mode 0666, others must not write it "
		"nor the group write it: chmod 644 b.crt\n");
	chmod(conf_dir_path("b.crt"), 0644);
}

static struct conf *changed(const struct conf *running, const char *record)
{
	char *errors;
	size_t len;
	FILE *out = open_memstream(&errors, &len);
	struct conf *c = conf_change(running, "test", record, strlen(record), out);

	fclose(out);
	assert_string_equal(errors, "");
	free(errors);
	return c;
}

// A change at run time keeps the texts, and files that have changed need a restart.
static void a_change_of_a_file_needs_a_restart(void **state)
{
	struct conf *running, *c, *reloaded;
	char *errors;
	size_t len;
	FILE *out;

	(void)state;
	file_write(PAIR("a.crt", "a.key", "b.crt"));
	running = conf_dir_load_good("pair.conf");
	c = changed(running, "route add { to = \"10.5.0.0/16\"; via = \"10.1.0.5\"; }");
	assert_non_null(c);
	assert_string_equal(c->pair_key, running->pair_key);
	out = open_memstream(&errors, &len);
	reloaded = conf_load(conf_dir_path("pair.conf"), c, out);
	assert_non_null(reloaded);
	conf_free(reloaded);
	conf_dir_pem_make("b");
	rewind(out);
	assert_null(conf_load(conf_dir_path("pair.conf"), c, out));
	fclose(out);
	assert_non_null(strstr(errors, "pair.conf:5: pair.peer_certificate: differs from the "
				       "running configuration, needs a restart"));
	free(errors);
	conf_free(c);
	conf_free(running);
}

#define SA(name, spi, key)                                                                         \
	"{ name = \"" name "\"; direction = \"out\"; spi = \"" spi                                 \
	"\"; local = \"10.1.0.1\"; remote = \"10.1.0.2\"; cipher = \"aes-128-gcm\"; cipher_key "   \
	"= \"00112233445566778899aabbccddeeff0011220" key "\"; }"
#define SAS(items)   PORT "sas = ( " items " );\n"
#define ROLE(text)   PORT "groups = ( { name = \"g\"; " text " addresses = [ \"10.1.0.1\" ]; } );\n"
#define RULES(items) PORT "rules = ( " items " );\n"
#define RULE(name)   "{ name = \"" name "\"; action = \"accept\"; source = \"10." name ".0.0/16\"; }"

static const char *written_of(const char *conf)
{
	static char text[CONF_DIGESTS_MAX];
	struct conf *c;

	file_write(conf);
	c = conf_dir_load_good("pair.conf");
	assert_int_equal(conf_digests_write(text, c), 0);
	assert_null(strstr(text, "0011223")); // keys are not in it
	conf_free(c);
	return text;
}

// The kinds of which two configurations have other items, as each gateway of a pair finds them.
static const char *differing(const char *a, const char *b)
{
	static char words[128];
	char first[CONF_DIGESTS_MAX];

	strcpy(first, written_of(a));
	pair_config_compare(words, sizeof(words), first, written_of(b));
	return words;
}

static void digests_show_what_differs(void **state)
{
	(void)state;
	assert_string_equal(differing(PORT, PORT), "");
	// Another version may have other kinds.
	assert_string_equal(written_of(PORT), "");
	assert_string_equal(differing(PORT, SAS(SA("a", "0x1001", "1"))), "sas");
	assert_string_equal(
		differing(SAS(SA("a", "0x1001", "1")), SAS(SA("a", "0x1001", "2"))), "sas");
	assert_string_equal(differing(SAS(SA("a", "0x1001", "1") ", " SA("b", "0x1002", "2")),
				    SAS(SA("b", "0x1002", "2") ", " SA("a", "0x1001", "1"))),
		"");
	assert_string_equal(
		differing(RULES(RULE("3") ", " RULE("4")), RULES(RULE("4") ", " RULE("3"))),
		"rules");
	assert_string_equal(differing(ROLE(""), ROLE("role = \"standby\";")), "");
	assert_string_equal(differing(ROLE(""), PORT), "groups");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_texts_of_the_files_are_read),
		cmocka_unit_test(mistakes_in_files_are_reported),
		cmocka_unit_test(others_may_not_read_the_key),
		cmocka_unit_test(a_change_of_a_file_needs_a_restart),
		cmocka_unit_test(digests_show_what_differs),
	};

	return cmocka_run_group_tests(tests, conf_dir_pems_make, conf_dir_remove);
}
