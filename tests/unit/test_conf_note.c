// SPDX-License-Identifier: BSD-3-Clause
// Notes about good configurations: rules that no new connection gets to, rules meant for the host,
// SAs and policies with which no packet comes through, and translations that take packets away from
// others or find no address.
#include "conf_dir.h"
#include "test.h"

#define PORTS                                                                                      \
	"ports = ("                                                                                \
	"{ name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; },"            \
	"{ name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ];"              \
	"  side = \"unprotected\"; host = \"gw-wan\"; },"                                          \
	"{ name = \"wan2\"; device = \"net_null2\"; addresses = [ \"198.51.100.1/24\" ];"          \
	"  side = \"unprotected\"; } );\n"

#define SAS_TO(peer)                                                                               \
	"sas = ("                                                                                  \
	"{ name = \"to-b\"; direction = \"out\"; spi = \"0x1001\"; local = \"192.0.2.1\";"         \
	"  remote = \"" peer "\"; cipher = \"null\"; auth = \"hmac-sha1-96\";"                     \
	"  auth_key = \"00112233445566778899aabbccddeeff00112233\"; },"                            \
	"{ name = \"from-b\"; direction = \"in\"; spi = \"0x1002\"; local = \"192.0.2.1\";"        \
	"  remote = \"" peer "\"; cipher = \"null\"; auth = \"hmac-sha1-96\";"                     \
	"  auth_key = \"ff112233445566778899aabbccddeeff00112233\"; } );"
#define SAS SAS_TO("192.0.2.2")

#define POLICY(name, ends)                                                                         \
	"{ name = \"" name "\"; action = \"protect\"; out = \"to-b\"; in = \"from-b\"; " ends " }"
#define ENDS(local, remote) "local = \"" local "\"; remote = \"" remote "\";"
#define PROTECT(ends)       "policies = ( " POLICY("b", ends) " );"
#define SPOKES(l, r, other_l, other_r)                                                             \
	"policies = ( " POLICY("b", ENDS(l, r)) ", " POLICY("c", ENDS(other_l, other_r)) " );"
#define TUNNEL            SAS PROTECT(ENDS("10.1.0.0/24", "10.2.0.0/24"))
#define ROUTE(to, via)    "routes = ( { to = \"" to "\"; via = \"" via "\"; } );"
#define BYPASS(selectors) "policies = ( { name = \"p\"; action = \"bypass\"; " selectors " } );"
#define IKE_RULE                                                                                   \
	"host = true; action = \"accept\"; in = \"wan\"; proto = \"udp\"; "                        \
	"destination_port = \"500\";"
#define PING_RULE                                                                                  \
	"action = \"accept\"; in = \"wan\"; proto = \"icmp\"; icmp = \"8\"; "                      \
	"source = \"203.0.113.0/24\";"

#define FAR SAS_TO("203.0.113.9") PROTECT(ENDS("10.1.0.0/24", "10.2.0.0/24"))
#define NO_POLICY                                                                                  \
	"note.conf:3: rule \"r\": accepts nothing unless an IKE daemon adds a policy: port "       \
	"\"wan\" faces the unprotected side, where packets in clear need a policy with "           \
	"action \"bypass\"\n"
#define OWN                                                                                        \
	"note.conf:3: rule \"r\": destination is an own address of port \"wan\": packets to it "   \
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

struct policy_row {
	const char *what, *rest;
	const char *note; // NULL: none
};

#define LOCAL_NOWHERE                                                                              \
	"note.conf:2: policy \"b\": no protected port or route leads to local 10.9.0.0/24: "       \
	"packets out of the tunnel have no destination\n"

#define NETMAP(prefix)                                                                             \
	"nat = ( { name = \"n\"; action = \"netmap\"; destination = \"" prefix                     \
	"\"; to = \"10.1.0.0/24\"; } );"

static const struct policy_row policy_rows[] = {
	{"tunnel", TUNNEL, NULL},
	{"SAs alone", SAS, "note.conf:2: sa \"from-b\": no policy uses it\n"},
	{"local without a route", SAS PROTECT(ENDS("10.9.0.0/24", "10.2.0.0/24")), LOCAL_NOWHERE},
	{"local behind the route to everywhere",
		SAS PROTECT(ENDS("10.9.0.0/24", "10.2.0.0/24")) ROUTE("0.0.0.0/0", "192.0.2.254"),
		LOCAL_NOWHERE},
	{"local behind a route",
		SAS PROTECT(ENDS("10.9.0.0/24", "10.2.0.0/24")) ROUTE("10.9.0.0/16", "10.1.0.254"),
		NULL},
	{"local that netmap replaces",
		SAS PROTECT(ENDS("10.9.0.0/24", "10.2.0.0/24")) NETMAP("10.9.0.0/24"), NULL},
	{"local beside what netmap replaces",
		SAS PROTECT(ENDS("10.9.0.0/24", "10.2.0.0/24")) NETMAP("10.8.0.0/24"),
		LOCAL_NOWHERE},
	{"local is an own address", SAS PROTECT(ENDS("192.0.2.1/32", "10.2.0.0/24")), NULL},
	{"local is the remote of another tunnel",
		SAS SPOKES("10.9.0.0/24", "10.2.0.0/24", "10.1.0.0/24", "10.9.0.0/16"), NULL},
	{"all in the tunnel", SAS PROTECT(""), NULL},
	{"multicast", SAS PROTECT(ENDS("10.1.0.0/24", "239.0.0.0/8")),
		"note.conf:2: policy \"b\": remote 239.0.0.0/8 is multicast: such packets are not "
		"forwarded into tunnels\n"},
	{"multicast of IPv6", SAS PROTECT(ENDS("ff00::/8", "2001:db8:2::/64")),
		"note.conf:2: policy \"b\": local ff00::/8 is multicast: such packets are not "
		"forwarded into tunnels\n"},
	{"route back", TUNNEL ROUTE("10.2.0.0/25", "10.1.0.254"),
		"note.conf:2: policy \"b\": route 10.2.0.0/25 leads to the protected port \"lan\", "
		"but is in remote: packets out of the tunnel with a source there are dropped as "
		"ip_source\n"},
	{"wider route back", TUNNEL ROUTE("10.0.0.0/8", "10.1.0.254"), NULL},
	{"route of the unprotected side", TUNNEL ROUTE("10.2.0.0/24", "192.0.2.254"), NULL},
	{"route back with all in the tunnel",
		SAS PROTECT("remote = \"0.0.0.0/0\";") ROUTE("10.3.0.0/24", "10.1.0.254"), NULL},
	{"route to the local of another tunnel",
		SAS SPOKES("10.1.0.0/24", "10.0.0.0/8", "10.3.0.0/24", "10.4.0.0/24")
			ROUTE("10.3.0.0/24", "10.1.0.254"),
		NULL},
	{"SA by the WAN of its address", FAR ROUTE("0.0.0.0/0", "192.0.2.254"), NULL},
	{"SA by another WAN", FAR ROUTE("0.0.0.0/0", "198.51.100.254"),
		"note.conf:2: sa \"to-b\": local 192.0.2.1 is an address of port \"wan\", but the "
		"route to 203.0.113.9 leads to port \"wan2\": a route with source = \"192.0.2.1\" "
		"is "
		"missing?\n"},
	{"tunnel without a route", "tunnels = ( { name = \"t\"; if_id = 7; } );",
		"note.conf:2: tunnel \"t\": no route leads into it\n"},
	{"route of an own address into a tunnel",
		"tunnels = ( { name = \"t\"; if_id = 7; } ); "
		"routes = ( { to = \"10.1.0.1/32\"; tunnel = \"t\"; } );",
		"note.conf:2: route \"10.1.0.1/32\": is an own address: no packet to it goes into "
		"a "
		"tunnel\n"},
	{"addresses that a policy discards",
		"policies = ( { name = \"own\"; local = \"192.0.2.1\"; action = \"bypass\"; }, "
		"{ name = \"rest\"; action = \"discard\"; } ); nat = ( { name = \"n\"; action = "
		"\"source\"; source = \"10.1.0.0/24\"; to = \"172.16.1.9\"; } );",
		"note.conf:2: nat \"n\": no policy has the new addresses as local: unless an IKE "
		"daemon adds one, packets are dropped\n"},
	{"SA with a route of its source",
		FAR "routes = ( { to = \"0.0.0.0/0\"; via = \"198.51.100.254\"; },"
		    "{ to = \"0.0.0.0/0\"; via = \"192.0.2.254\"; source = \"192.0.2.1\"; } );",
		NULL},
};

// The notes of a configuration are this one, which begins with "note: ", or none.
static void check(const char *what, const char *rest, const char *note)
{
	char text[4096], *out = NULL;
	size_t size;
	int len = snprintf(text, sizeof(text), PORTS "%s\n", rest);
	FILE *stream = open_memstream(&out, &size);
	struct conf *c;

	conf_dir_write("note.conf", text, (size_t)len);
	c = conf_dir_load_good("note.conf");
	conf_notes_print(c, stream);
	fclose(stream);
	if (note != NULL ? strncmp(out, "note: ", 6) != 0 || !ends_with(out, note) : out[0] != '\0')
		fail_msg("%s: %s", what, out);
	free(out);
	conf_free(c);
}

static void test_rules(void **state)
{
	char text[4096];

	(void)state;
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), "%s\nrules = ( { name = \"r\"; %s } );",
			rows[i].policies, rows[i].rule);
		check(rows[i].what, text, rows[i].note);
	}
}

#define LOSES                                                                                      \
	"note.conf:3: nat \"n\": policy \"b\" protects packets of these sources, but not with "    \
	"their "                                                                                   \
	"new ones: exclude them by a rule with action \"accept\" before it, or give the policy "   \
	"the "                                                                                     \
	"new ones as local\n"
#define UNCOVERED                                                                                  \
	"note.conf:3: nat \"n\": no policy has the new addresses as local: unless an IKE daemon "  \
	"adds "                                                                                    \
	"one, packets are dropped\n"
#define SAME                                                                                       \
	"note.conf:3: nat \"n\": nat \"first\" exchanges another prefix for the same addresses: "  \
	"of "                                                                                      \
	"two hosts with one new address, one may find it in use\n"

#define NO_ADDRESS                                                                                 \
	"note.conf:3: nat \"n\": port \"lan\" has no address of the packets' family: unless "      \
	"their route has a source, they are dropped as nat_ports\n"
#define SERVICE(ports)                                                                             \
	"note.conf:3: nat \"n\": rule \"r\" admits packets to ports " ports " of the host, which " \
	"connections of clients may get as their source: set to_port to ports without these\n"

// The rules before rule n, and its settings.
static const struct row nat_rows[] = {
	{"masquerade of a tunnel's packets", "",
		"action = \"source\"; out = \"wan\"; to = \"port\";", LOSES},
	{"excluded",
		"{ name = \"x\"; action = \"accept\"; source = \"10.1.0.0/24\"; destination = "
		"\"10.2.0.0/24\"; },",
		"action = \"source\"; out = \"wan\"; to = \"port\";", NULL},
	{"other destinations", "",
		"action = \"source\"; out = \"wan\"; to = \"port\"; destination = "
		"\"203.0.113.0/24\";",
		NULL},
	{"addresses of no policy", "",
		"action = \"source\"; to = \"192.0.2.1\"; destination = \"203.0.113.0/24\";",
		UNCOVERED},
	{"addresses of the policy", "",
		"action = \"source\"; to = \"10.1.0.9\"; destination = \"10.2.0.0/24\";", NULL},
	{"two prefixes for one",
		"{ name = \"first\"; action = \"netmap\"; source = \"10.7.0.0/24\"; to = "
		"\"10.1.0.0/24\"; },",
		"action = \"netmap\"; source = \"10.8.0.0/24\"; to = \"10.1.0.0/24\";", SAME},
	{"destination of the host", "",
		"action = \"destination\"; destination = \"192.0.2.9\"; to = \"10.1.0.1\";",
		"note.conf:3: nat \"n\": to is an own address of port \"lan\": the gateway answers "
		"pings, but packets to programs of the host are not translated\n"},
	{"destination inside", "",
		"action = \"destination\"; destination = \"192.0.2.9\"; to = \"10.1.0.5\";", NULL},
	{"port without IPv6", "",
		"action = \"source\"; out = \"lan\"; to = \"port\"; source = \"2001:db8::/64\";",
		NO_ADDRESS},
	{"port with IPv4", "",
		"action = \"source\"; out = \"lan\"; to = \"port\"; source = \"10.7.0.0/24\";",
		NULL},
};

#define HOST            "host = true; action = \"accept\"; "
#define TO              "action = \"source\"; out = \"wan\"; destination = \"203.0.113.0/24\"; to = "
#define VPN             HOST "proto = \"udp\"; destination_port = \"51820\";"
#define PORTS_OF(ports) TO "\"port\"; to_port = \"" ports "\";"

// A rule for the host, and the settings of a rule of nat for clients.
static const struct row service_rows[] = {
	{"service", VPN, TO "\"port\";", SERVICE("51820-51820")},
	{"of the same protocol", VPN, TO "\"port\"; proto = \"udp\";", SERVICE("51820-51820")},
	{"of another protocol", VPN, TO "\"port\"; proto = \"tcp\";", NULL},
	{"among the new ports", VPN, PORTS_OF("1024-65535"), SERVICE("51820-51820")},
	{"not among them", VPN, PORTS_OF("1024-51819"), NULL},
	{"at the port", VPN "in = \"wan\";", TO "\"port\";", SERVICE("51820-51820")},
	{"at another port", VPN "in = \"lan\";", TO "\"port\";", NULL},
	{"own address", VPN, TO "\"192.0.2.1\";", SERVICE("51820-51820")},
	{"own address among others", VPN, TO "\"192.0.2.0-192.0.2.9\";", SERVICE("51820-51820")},
	{"other addresses", VPN, TO "\"192.0.2.2-192.0.2.9\";", NULL},
	{"another own address", VPN "destination = \"10.1.0.1\";", TO "\"port\";", NULL},
	{"ports", HOST "proto = \"tcp\"; destination_port = \"22-23\";", TO "\"port\";",
		SERVICE("22-23")},
	{"IKE", HOST "proto = \"udp\"; destination_port = \"4500\";", TO "\"port\";", NULL},
	{"all packets", HOST, TO "\"port\";", NULL},
	{"dropped", "host = true; action = \"drop\"; proto = \"tcp\"; destination_port = \"22\";",
		TO "\"port\";", NULL},
	{"for others", "action = \"accept\"; proto = \"tcp\"; destination_port = \"22\";",
		TO "\"port\";", NULL},
};

static void test_services(void **state)
{
	char text[4096];

	(void)state;
	for (unsigned int i = 0; i < sizeof(service_rows) / sizeof(service_rows[0]); i++) {
		snprintf(text, sizeof(text),
			"%s\nnat = ( { name = \"n\"; %s } ); rules = ( { name = \"r\"; %s } );",
			BYPASS(""), service_rows[i].rule, service_rows[i].policies);
		check(service_rows[i].what, text, service_rows[i].note);
	}
}

static void test_nat(void **state)
{
	char text[4096];

	(void)state;
	for (unsigned int i = 0; i < sizeof(nat_rows) / sizeof(nat_rows[0]); i++) {
		snprintf(text, sizeof(text), "%s\nnat = ( %s { name = \"n\"; %s } );", TUNNEL,
			nat_rows[i].policies, nat_rows[i].rule);
		check(nat_rows[i].what, text, nat_rows[i].note);
	}
}

static void test_policies(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < sizeof(policy_rows) / sizeof(policy_rows[0]); i++)
		check(policy_rows[i].what, policy_rows[i].rest, policy_rows[i].note);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rules), cmocka_unit_test(test_nat),
		cmocka_unit_test(test_services), cmocka_unit_test(test_policies)};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
