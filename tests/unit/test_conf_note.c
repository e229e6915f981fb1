// SPDX-License-Identifier: BSD-3-Clause
// Notes about good configurations: rules that no new connection gets to, and rules meant for the
// host.
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

#define NO_POLICY                                                                                  \
	"note.conf:4: rule \"r\": accepts nothing unless an IKE daemon adds a policy: port "       \
	"\"wan\" faces the unprotected side, where packets in clear need a policy with "           \
	"action \"bypass\"\n"
#define OWN                                                                                        \
	"note.conf:4: rule \"r\": destination is an own address of port \"wan\": packets to it "   \
	"are not forwarded; host = true is missing?\n"

struct row {
	const char *what, *policies, *rule;
	const char *note; // NULL: none
};

static const struct row rows[] = {
	{"no policy", "", IKE_RULE, NO_POLICY},
	{"bypass", BYPASS("proto = \"udp\"; local = \"192.0.2.1\"; local_port = \"500\";"),
		IKE_RULE, NULL},
	{"bypass of all", BYPASS(""), IKE_RULE, NULL},
	{"bypass of another port", BYPASS("proto = \"udp\"; local_port = \"501\";"), IKE_RULE,
		NO_POLICY},
	{"bypass of the other end's port", BYPASS("proto = \"udp\"; remote_port = \"500\";"),
		IKE_RULE, NULL},
	{"bypass of another protocol", BYPASS("proto = \"tcp\"; local_port = \"500\";"), IKE_RULE,
		NO_POLICY},
	{"discard", "policies = ( { name = \"p\"; action = \"discard\"; } );", IKE_RULE, NO_POLICY},
	{"tunnel", TUNNEL, IKE_RULE, NULL},
	{"tunnel of other addresses", TUNNEL, IKE_RULE " destination = \"192.0.2.1\";", NO_POLICY},
	{"tunnel of another family", TUNNEL,
		"action = \"accept\"; in = \"wan\"; source = \"::/0\";", NO_POLICY},
	{"named tunnel", TUNNEL,
		"action = \"accept\"; in = \"wan\"; tunnel = \"b\"; source = \"10.9.0.0/24\";",
		NULL},
	{"bypass of pings", BYPASS("proto = \"icmp\"; remote_icmp = \"8\";"), PING_RULE, NULL},
	{"bypass of replies", BYPASS("proto = \"icmp\"; local_icmp = \"8\"; remote_icmp = \"0\";"),
		PING_RULE, NO_POLICY},
	{"protected port", "", "action = \"accept\"; in = \"lan\";", NULL},
	{"every port", "", "action = \"accept\";", NULL},
	{"drop", "", "action = \"drop\"; in = \"wan\";", NULL},
	{"errors", "", "action = \"accept\"; in = \"wan\"; state = [ \"related\" ];", NULL},
	{"own address", BYPASS(""),
		"action = \"accept\"; destination = \"192.0.2.1\"; proto = \"tcp\";", OWN},
	{"own address and no policy", "",
		"action = \"accept\"; in = \"wan\"; destination = \"192.0.2.1\";", OWN},
	{"own address, for the host", BYPASS(""),
		"action = \"accept\"; host = true; destination = \"192.0.2.1\";", NULL},
	{"network of an own address", BYPASS(""),
		"action = \"accept\"; destination = \"192.0.2.0/31\";", NULL},
	{"another address", BYPASS(""), "action = \"accept\"; destination = \"192.0.2.3\";", NULL},
};

static void check(const struct row *row)
{
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
	if (row->note != NULL ? strncmp(out, "note: ", 6) != 0 || !ends_with(out, row->note)
			      : out[0] != '\0')
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
