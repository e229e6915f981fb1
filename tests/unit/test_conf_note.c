// SPDX-License-Identifier: BSD-3-Clause
// Notes about good configurations: rules that no new connection gets to.
#include "conf_dir.h"
#include "test.h"

#define PORTS                                                                                      \
	"ports = ("                                                                                \
	"{ name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; },"            \
	"{ name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ];"              \
	"  side = \"unprotected\"; host = \"gw-wan\"; } );\n"                                      \
	"sas = ("                                                                                  \
	"{ name = \"to-b\"; direction = \"out\"; spi = \"0x1001\"; local = \"192.0.2.1\";"         \
	"  remote = \"192.0.2.2\"; cipher = \"null\"; auth = \"hmac-sha1-96\";"                    \
	"  auth_key = \"00112233445566778899aabbccddeeff00112233\"; },"                            \
	"{ name = \"from-b\"; direction = \"in\"; spi = \"0x1002\"; local = \"192.0.2.1\";"        \
	"  remote = \"192.0.2.2\"; cipher = \"null\"; auth = \"hmac-sha1-96\";"                    \
	"  auth_key = \"ff112233445566778899aabbccddeeff00112233\"; } );\n"

#define TUNNEL                                                                                     \
	"policies = ( { name = \"b\"; action = \"protect\"; local = \"10.1.0.0/24\";"              \
	"  remote = \"10.2.0.0/24\"; out = \"to-b\"; in = \"from-b\"; } );"
#define BYPASS(selectors) "policies = ( { name = \"p\"; action = \"bypass\"; " selectors " } );"
#define IKE_RULE                                                                                   \
	"host = true; action = \"accept\"; in = \"wan\"; proto = \"udp\"; "                        \
	"destination_port = \"500\";"
#define PING_RULE                                                                                  \
	"action = \"accept\"; in = \"wan\"; proto = \"icmp\"; icmp = \"8\"; "                      \
	"source = \"203.0.113.0/24\";"

struct row {
	const char *what, *policies, *rule;
	bool noted;
};

static const struct row rows[] = {
	{"no policy", "", IKE_RULE, true},
	{"bypass", BYPASS("proto = \"udp\"; local = \"192.0.2.1\"; local_port = \"500\";"),
		IKE_RULE, false},
	{"bypass of all", BYPASS(""), IKE_RULE, false},
	{"bypass of another port", BYPASS("proto = \"udp\"; local_port = \"501\";"), IKE_RULE,
		true},
	{"bypass of the other end's port", BYPASS("proto = \"udp\"; remote_port = \"500\";"),
		IKE_RULE, false},
	{"bypass of another protocol", BYPASS("proto = \"tcp\"; local_port = \"500\";"), IKE_RULE,
		true},
	{"discard", "policies = ( { name = \"p\"; action = \"discard\"; } );", IKE_RULE, true},
	{"tunnel", TUNNEL, IKE_RULE, false},
	{"tunnel of other addresses", TUNNEL, IKE_RULE " destination = \"192.0.2.1\";", true},
	{"tunnel of another family", TUNNEL,
		"action = \"accept\"; in = \"wan\"; source = \"::/0\";", true},
	{"named tunnel", TUNNEL,
		"action = \"accept\"; in = \"wan\"; tunnel = \"b\"; source = \"10.9.0.0/24\";",
		false},
	{"bypass of pings", BYPASS("proto = \"icmp\"; remote_icmp = \"8\";"), PING_RULE, false},
	{"bypass of replies", BYPASS("proto = \"icmp\"; local_icmp = \"8\"; remote_icmp = \"0\";"),
		PING_RULE, true},
	{"protected port", "", "action = \"accept\"; in = \"lan\";", false},
	{"every port", "", "action = \"accept\";", false},
	{"drop", "", "action = \"drop\"; in = \"wan\";", false},
	{"errors", "", "action = \"accept\"; in = \"wan\"; state = [ \"related\" ];", false},
};

static void check(const struct row *row)
{
	static const char note[] =
		"note.conf:4: rule \"r\": accepts nothing unless an IKE daemon adds a policy: port "
		"\"wan\" faces the unprotected side, where packets in clear need a policy with "
		"action \"bypass\"\n";
	char text[4096], *out = NULL;
	size_t size;
	int len = snprintf(text, sizeof(text), PORTS "%s\nrules = ( { name = \"r\"; %s } );\n",
		row->policies, row->rule);
	FILE *stream = open_memstream(&out, &size);
	struct conf *c;

	conf_dir_write("note.conf", text, (size_t)len);
	c = conf_dir_load_good("note.conf");
	conf_notes_print(c, stream);
	fclose(stream);
	if (row->noted ? !ends_with(out, note) : out[0] != '\0')
		fail_msg("%s: %s", row->what, out);
	free(out);
	conf_free(c);
}

static void test_notes(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_notes)};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
