// SPDX-License-Identifier: BSD-3-Clause
// Changes of a file while another configuration runs: proves that every setting that needs a
// restart is reported with its line.
#include "conf_apply.h"
#include "conf_dir.h"
#include "test.h"

#define PORT  "{ name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; }"
#define PORTS "ports = (\n" PORT " );\n"

static struct conf *load(const char *text, const struct conf *running, char **errors)
{
	size_t size;
	FILE *out = open_memstream(errors, &size);
	struct conf *c;

	conf_dir_write("gw.conf", text, strlen(text));
	c = conf_load(conf_dir_path("gw.conf"), running, out);
	fclose(out);
	conf_dir_unlink("gw.conf");
	return c;
}

// Loads text while running runs; expected has the messages.
static void check(const char *running_text, const char *text, const char *expected)
{
	char *errors, wanted[2048] = "";
	struct conf *running = load(running_text, NULL, &errors);
	struct conf *c;

	assert_string_equal(errors, "");
	assert_non_null(running);
	free(errors);
	for (const char *line = expected; *line != '\0';) {
		size_t len = strcspn(line, "\n");

		snprintf(wanted + strlen(wanted), sizeof(wanted) - strlen(wanted), "%s:%.*s\n",
			conf_dir_path("gw.conf"), (int)len, line);
		line += len + (line[len] == '\n');
	}
	c = load(text, running, &errors);
	assert_string_equal(errors, wanted);
	assert_true((c == NULL) == (expected[0] != '\0'));
	free(errors);
	conf_free(c);
	conf_free(running);
}

#define TEXTS                                                                                      \
	"user = \"root\"; control_group = \"root\"; show_group = \"root\"; state_dir = \"/tmp\"; " \
	"engine = \"openssl\";\n"                                                                  \
	"eal_args = [ \"--no-shconf\" ]; metrics = { socket = \"/m\"; };\n"

static void test_same(void **state)
{
	(void)state;
	check(PORTS TEXTS, PORTS TEXTS, "");
	check(PORTS, PORTS, "");
	check(PORTS, PORTS "cpus = { control = 0; workers = [ 1 ]; };\n", "");
}

#define SA(name, direction, digit)                                                                 \
	"{ name = \"" name "\"; direction = \"" direction "\"; spi = \"0x100" digit                \
	"\"; local = \"10.1.0.1\"; "                                                               \
	"remote = \"10.1.0.2\"; cipher = \"null\"; auth = \"hmac-sha1-96\"; "                      \
	"auth_key = \"00112233445566778899aabbccddeeff0011223" digit "\"; }"
#define TUNNEL(host)                                                                               \
	"sas = ( " SA("to", "out", "1") ", " SA("from", "in",                                      \
		"2") " );\n"                                                                       \
		     "tunnels = ( { name = \"t\"; out = \"to\"; in = \"from\"; addresses = [ "     \
		     "\"169.254.1.1/30\" ];\n" host " } );\n"

// Without any, the daemon has given up the privilege to make interfaces.
static void test_first_host(void **state)
{
	(void)state;
	check(PORTS TUNNEL(""), PORTS TUNNEL("host = \"tun0\";"),
		"5: tunnel \"t\": host: is the first host, needs a restart");
	check(PORTS TUNNEL("host = \"tun0\";"), PORTS TUNNEL("host = \"tun1\";"), "");
	check(PORTS TUNNEL("host = \"tun0\";"), PORTS TUNNEL(""), "");
}

// If the daemon has started with a host, it may make one again after a time without.
static void test_host_again(void **state)
{
	static const char *const texts[] = {PORTS TUNNEL("host = \"tun0\";"), PORTS TUNNEL(""),
		PORTS TUNNEL("host = \"tun0\";")};
	struct conf *running = NULL, *c;
	char *errors;

	(void)state;
	for (unsigned int i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		c = load(texts[i], running, &errors);
		assert_string_equal(errors, "");
		free(errors);
		conf_free(running);
		running = c;
	}
	conf_free(running);
}

static void test_first_host_by_command(void **state)
{
	static const char text[] = "tunnel set t { host = \"tun0\"; }";
	struct conf *running, *c;
	char *errors;
	size_t len;
	FILE *f;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		running = load(i == 0 ? PORTS TUNNEL("") : PORTS TUNNEL("host = \"tun1\";"), NULL,
			&errors);
		assert_non_null(running);
		free(errors);
		f = open_memstream(&errors, &len);
		c = conf_change(running, "argument", text, strlen(text), f);
		fclose(f);
		assert_string_equal(errors, i == 0 ? "argument:1: tunnel \"t\": host: is the first "
						     "host, needs a restart\n"
						   : "");
		free(errors);
		conf_free(c);
		conf_free(running);
	}
}

static void test_may(void **state)
{
	(void)state;
	check(PORTS,
		PORTS "flows = { max = 5000; per_source = 100; tcp = \"liberal\"; timeouts = { udp "
		      "= 5; }; };\n"
		      "icmp = { errors_per_second = 5; echo_replies_per_second = 5; };\n"
		      "neighbour_table = { reachable = 5; };\n"
		      "metrics = { address = \"127.0.0.2\"; port = 9469; socket = \"/m\"; "
		      "mode = \"0666\"; page = true; };\n"
		      "default_action = \"drop\";\n"
		      "routes = ( { to = \"10.9.0.0/24\"; via = \"10.1.0.2\"; } );\n"
		      "neighbours = ( { address = \"10.1.0.2\"; mac = \"02:00:00:00:00:02\"; } );\n"
		      "policies = ( { name = \"rest\"; action = \"discard\"; } );\n"
		      "rules = ( { name = \"all\"; action = \"accept\"; } );\n",
		"");
}

static void test_may_not(void **state)
{
	(void)state;
	check(PORTS,
		PORTS "instance = \"other\";\n"
		      "cpus = { control = 1;\n"
		      "  workers = [ 1, 1 ]; };\n"
		      "idle = \"sleep\";\n"
		      "memory = { size = 2048;\n"
		      "  hugepages = false; packet_buffers = 20000; };\n"
		      "engine = \"openssl\";\n"
		      "eal_args = [ \"--log-level=1\" ];\n"
		      "neighbour_table = { max = 64; hold = 5; };\n"
		      "nat_log = { size = 5; };\n"
		      "user = \"nobody\"; sandbox = false; log_level = \"error\";\n",
		"3: instance: differs from the running configuration, needs a restart\n"
		"4: cpus.control: differs from the running configuration, needs a restart\n"
		"5: cpus.workers: differs from the running configuration, needs a restart\n"
		"6: idle: differs from the running configuration, needs a restart\n"
		"7: memory.size: differs from the running configuration, needs a restart\n"
		"8: memory.hugepages: differs from the running configuration, needs a restart\n"
		"8: memory.packet_buffers: differs from the running configuration, needs a "
		"restart\n"
		"9: engine: differs from the running configuration, needs a restart\n"
		"10: eal_args: differs from the running configuration, needs a restart\n"
		"11: neighbour_table.max: differs from the running configuration, needs a restart\n"
		"11: neighbour_table.hold: differs from the running configuration, needs a "
		"restart\n"
		"12: nat_log.size: differs from the running configuration, needs a restart\n"
		"13: user: differs from the running configuration, needs a restart\n"
		"13: sandbox: differs from the running configuration, needs a restart\n");
	check(PORTS,
		PORTS "capture = true; state_dir = \"none\";\n"
		      "control_group = \"nogroup\"; show_group = \"nogroup\";\n",
		"3: state_dir: differs from the running configuration, needs a restart\n"
		"3: capture: differs from the running configuration, needs a restart\n"
		"4: control_group: differs from the running configuration, needs a restart\n"
		"4: show_group: differs from the running configuration, needs a restart\n");
}

// A value that is refused anyway, and the default in its place, have no second message.
static void test_refused_anyway(void **state)
{
	(void)state;
	check(PORTS "flows = { max = 5000; };\n", PORTS "flows = { max = \"5q\"; };\n",
		"3: flows.max: \"5q\" is not allowed, must be a number such as 20000 or \"20k\" "
		"from "
		"1024 to 67108864\n");
	check(PORTS, PORTS "metrics = { page = true; port = 94690; };\n",
		"3: metrics.port: 94690 is out of range, must be an integer from 0 to 65535\n");
}

static void test_back_to_default(void **state)
{
	(void)state;
	check(PORTS "memory = { size = 2048; };\nidle = \"sleep\";\n", PORTS "memory = { };\n",
		"1: idle differs from the running configuration, needs a restart\n"
		"3: memory: size differs from the running configuration, needs a restart\n");
	check(PORTS "idle = \"sleep\";\nnat_log = { size = 5; };\n", PORTS,
		"1: idle differs from the running configuration, needs a restart\n"
		"1: nat_log.size differs from the running configuration, needs a restart\n");
}

// Whether frames without a tag are received on a parent of VLANs is decided once.
#define PARENT(addresses)                                                                          \
	"ports = ( { name = \"trunk\"; device = \"net_null0\"; " addresses " },\n"                 \
	"{ name = \"lan\"; parent = \"trunk\"; vlan = 10; addresses = [ \"10.1.0.1/24\" ]; } );\n"

static void test_ports(void **state)
{
	(void)state;
	check(PORTS,
		"ports = (\n" PORT ",\n"
		"{ name = \"wan\"; device = \"net_null1\"; addresses = [ \"10.2.0.1/24\" ]; } );\n",
		"");
	check(PORTS,
		"ports = (\n"
		"{ name = \"wan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; } );\n",
		"2: port \"wan\": device: is that of port \"lan\", which another reload has to "
		"remove before\n");
	check(PARENT("addresses = [ \"10.9.0.1/24\" ];"),
		"ports = (\n"
		"{ name = \"trunk\"; parent = \"lan\"; vlan = 3; addresses = [ \"10.9.0.1/24\" ]; "
		"},\n"
		"{ name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; } );\n",
		"2: port \"trunk\": becomes a VLAN, or is none any more, needs a restart\n"
		"3: port \"lan\": becomes a VLAN, or is none any more, needs a restart\n");
	check(PORTS,
		"ports = (\n"
		"{ name = \"lan\";\n"
		"device = \"net_null1\";\n"
		"addresses = [ \"10.2.0.1/24\" ];\n"
		"mtu = 1400; rx_queues = 1; steer = true; mac = \"02:00:00:00:00:09\";\n"
		"side = \"unprotected\"; } );\n",
		"3: port \"lan\": device: differs from the running configuration, needs a restart\n"
		"5: port \"lan\": mtu: differs from the running configuration, needs a restart\n"
		"5: port \"lan\": rx_queues: differs from the running configuration, needs a "
		"restart\n"
		"5: port \"lan\": steer: differs from the running configuration, needs a restart\n"
		"5: port \"lan\": mac: differs from the running configuration, needs a restart\n");
}

#define NEW(settings)                                                                              \
	"ports = (\n" PORT ",\n{ name = \"wan\"; " settings                                        \
	" addresses = [ \"10.2.0.1/24\" ]; } );\n"
#define WITH(reason) "3: port \"wan\": is a new port " reason ", needs a restart\n"

// The needs of such ports are prepared at the start alone.
static void test_ports_that_stay(void **state)
{
	static const char card[] = NEW("device = \"0000:00:06.0\";");

	(void)state;
	check(PORTS, card, WITH("on a bus or with AF_XDP"));
	check(PORTS, NEW("device = \"net_af_xdp0,iface=x\";"), WITH("on a bus or with AF_XDP"));
	check(PORTS, NEW("device = \"net_failsafe0,dev(0000:3b:00.0)\";"),
		WITH("made of other devices"));
	check(PORTS, NEW("members = [ \"net_tap0\", \"net_tap1\" ];"), WITH("with members"));
	check(PORTS, NEW("device = \"net_null1\"; host = \"h\";"), WITH("with host"));
	check(PORTS, NEW("device = \"net_null1\"; steer = true;"), WITH("with isolated or steer"));
	check(PORTS, NEW("device = \"net_null1\"; mtu = 9000;"),
		WITH("with an mtu above those of the start"));
	check("idle = \"interrupt\"; " PORTS,
		"idle = \"interrupt\"; " NEW("device = \"net_null1\";"),
		WITH("while idle is \"interrupt\""));
	check(card, PORTS,
		"1: ports: port \"wan\" on a bus or with AF_XDP is missing, needs a restart\n");
}

// The pool of packet buffers is that of the start, and its room that of the largest mtu then.
static void test_packet_buffers(void **state)
{
	char *errors;
	struct conf *running = load(PORTS, NULL, &errors), *c;

	(void)state;
	assert_int_equal(running->packet_buffers, 8192);
	free(errors);
	c = load(NEW("device = \"net_null1\"; rx_queues = 8;"), running, &errors);
	assert_null(c);
	assert_non_null(strstr(errors, "is a new port, with the ports of this file "));
	assert_non_null(
		strstr(errors, " and there are 8192: set memory.packet_buffers, needs a restart"));
	free(errors);
	conf_free(running);
	check(PORTS "memory = { packet_buffers = 8192; };\n",
		NEW("device = \"net_null1\"; rx_queues = 8;") "memory = { packet_buffers = 8192; "
							      "};\n",
		"");
}

static void test_addresses(void **state)
{
	static const char more[] =
		"ports = ( { name = \"lan\"; device = \"net_null0\";"
		" addresses = [ \"10.1.7.1/24\", \"10.1.0.1/24\", \"2001:db8::1/64\" ]; } );\n";

	(void)state;
	check(PORTS, more, "");
	check(more, PORTS, "");
	check(PARENT(""), PARENT("addresses = [ \"10.9.0.1/24\" ];"),
		"1: port \"trunk\": addresses: a parent of VLANs gets its first, or loses its last "
		"one, needs a restart\n");
}

// Cards of isolated ports have rules for the UDP ports that SAs had before.
#define ISOLATED                                                                                   \
	"ports = ( { name = \"wan\"; device = \"0000:00:06.0\"; side = \"unprotected\"; "          \
	"isolated = true; addresses = [ \"192.0.2.1/24\" ]; } );\n"                                \
	"neighbours = ( { address = \"192.0.2.2\"; mac = \"02:00:00:00:00:02\"; } );\n"
#define SA_AT(name, spi, udp)                                                                      \
	"{ name = \"" name "\"; direction = \"in\"; spi = \"" spi "\"; local = \"192.0.2.1\"; "    \
	"remote = \"192.0.2.2\"; cipher = \"null\"; auth = \"hmac-sha1-96\"; auth_key = "          \
	"\"00112233445566778899aabbccddeeff0011" name "\"; " udp " }"

static void test_isolated(void **state)
{
	static const char before[] = ISOLATED
		"sas = ( " SA_AT("aaaa", "0x1001", "udp = { local_port = 5000; };") " );\n";

	(void)state;
	check(before,
		ISOLATED
		"sas = ( " SA_AT("bbbb", "0x1002", "udp = { };") ", " SA_AT("cccc", "0x1003",
			"udp = { local_port = 5000; };") ", " SA_AT("dddd", "0x1004", "") " );\n",
		"");
	check(before,
		ISOLATED
		"sas = (\n" SA_AT("bbbb", "0x1002", "udp = { local_port = 5001; };") " );\n",
		"4: sa \"bbbb\": udp.local_port: 5001 is the kernel's: port \"wan\" is isolated, "
		"and no SA "
		"of the running configuration has that UDP port, needs a restart\n");
	check(ISOLATED, ISOLATED "sas = ( " SA_AT("bbbb", "0x1002", "udp = { };") " );\n", "");
}

// The same by a change while it runs.
static void test_isolated_change(void **state)
{
	static const char change[] =
		"sa add " SA_AT("bbbb", "0x1002", "udp = { local_port = 5001; };") "\n";
	char *errors;
	struct conf *running = load(ISOLATED, NULL, &errors);
	size_t size;
	FILE *out;

	(void)state;
	free(errors);
	out = open_memstream(&errors, &size);
	assert_null(conf_change(running, "change", change, strlen(change), out));
	fclose(out);
	assert_non_null(strstr(errors, "5001 is the kernel's: port \"wan\" is isolated"));
	free(errors);
	conf_free(running);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_first_host),
		cmocka_unit_test(test_host_again),
		cmocka_unit_test(test_first_host_by_command),
		cmocka_unit_test(test_may),
		cmocka_unit_test(test_may_not),
		cmocka_unit_test(test_refused_anyway),
		cmocka_unit_test(test_back_to_default),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_ports_that_stay),
		cmocka_unit_test(test_packet_buffers),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_isolated),
		cmocka_unit_test(test_isolated_change),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
