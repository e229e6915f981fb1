// SPDX-License-Identifier: BSD-3-Clause
// Ports of configurations that replace each other: a port keeps its number wherever it stands in
// the file, everything refers to ports by number, and the number of a port that was removed is not
// given to another one before it is free.
#include "conf_change.h"
#include "conf_dir.h"
#include "test.h"

#define TRUNK "{ name = \"trunk\"; device = \"net_null0\"; addresses = [ \"10.0.0.1/24\" ]; }"
#define SEGMENTS                                                                                   \
	"{ name = \"trunk\"; device = \"net_vhost0,iface=/tmp/x\"; tso = true; addresses = [ "     \
	"\"10.0.0.1/24\" ]; }"
#define MEMBERS                                                                                    \
	"{ name = \"trunk\"; members = [ \"net_tap0\", \"net_tap1\" ]; addresses = [ "             \
	"\"10.0.0.1/24\" ]; }"
#define VLAN(id, more)                                                                             \
	"{ name = \"v" #id "\"; parent = \"trunk\"; vlan = " #id "; addresses = [ \"10." #id       \
	".0.1/24\" ]; " more " }"
#define PLAIN(n)                                                                                   \
	"{ name = \"p" #n "\"; device = \"net_null" #n "\"; addresses = [ \"10.1." #n ".1/24\" "   \
	"]; }"
#define PORTS(list) "ports = (\n" list " );\n"

static char *errors;

// Loads the text for a gateway with the running configuration, which is freed. errors has the
// messages.
static struct conf *load(const char *text, const struct conf *running)
{
	size_t size;
	FILE *out;
	struct conf *c;

	free(errors);
	out = open_memstream(&errors, &size);
	conf_dir_write("gw.conf", text, strlen(text));
	c = conf_load(conf_dir_path("gw.conf"), running, out);
	fclose(out);
	conf_dir_unlink("gw.conf");
	return c;
}

static struct conf *replace(struct conf *running, const char *text)
{
	struct conf *c = load(text, running);

	assert_string_equal(errors, "");
	assert_non_null(c);
	conf_free(running);
	return c;
}

static void refuse(const struct conf *running, const char *text, const char *message)
{
	char wanted[512];

	assert_null(load(text, running));
	snprintf(wanted, sizeof(wanted), "%s:%s\n", conf_dir_path("gw.conf"), message);
	assert_string_equal(errors, wanted);
}

static void ports_are(const struct conf *c, const char *names)
{
	char all[256] = "";

	for (unsigned int i = 0; i < c->n_ports; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i > 0 ? " " : "",
			conf_port_is_free(&c->ports[i]) ? "-" : c->ports[i].name);
	assert_string_equal(all, names);
}

static void test_order(void **state)
{
	struct conf *c = replace(NULL, PORTS(TRUNK ", " VLAN(10, "") ", " VLAN(20, "")));

	(void)state;
	ports_are(c, "trunk v10 v20");
	c = replace(c, PORTS(VLAN(20, "") ", " VLAN(10, "") ", " TRUNK));
	ports_are(c, "trunk v10 v20");
	assert_int_equal(c->ports[1].parent, 0);
	assert_int_equal(c->ports_leaving, 0);
	c = replace(c, PORTS(VLAN(5, "") ", " TRUNK ", " VLAN(10, "") ", " VLAN(20, "")));
	ports_are(c, "trunk v10 v20 v5");
	assert_int_equal(c->ports[3].parent, 0);
	conf_free(c);
}

static void test_number_is_free_later(void **state)
{
	struct conf *c = replace(NULL, PORTS(TRUNK ", " VLAN(10, "") ", " VLAN(20, "")));

	(void)state;
	c = replace(c, PORTS(TRUNK ", " VLAN(20, "")));
	ports_are(c, "trunk - v20");
	assert_int_equal(c->ports_leaving, 1 << 1);
	assert_true(c->ports[1].unprotected); // of packets in flight
	assert_int_equal(conf_port_n_devices(&c->ports[1]), 0);
	c = replace(c, PORTS(TRUNK ", " VLAN(20, "") ", " VLAN(10, "")));
	ports_are(c, "trunk - v20 v10");
	assert_int_equal(c->ports_leaving, 1 << 1);
	c->ports_leaving = 0; // the control thread does so
	c = replace(c, PORTS(TRUNK ", " VLAN(20, "") ", " VLAN(10, "") ", " VLAN(30, "")));
	ports_are(c, "trunk v30 v20 v10");
	c = replace(c, PORTS(TRUNK));
	ports_are(c, "trunk - - -");
	conf_free(c);
}

#define OTHER "{ name = \"other\"; device = \"net_null1\"; addresses = [ \"10.9.0.1/24\" ]; }"

// The same of a port with a device.
static void test_devices(void **state)
{
	struct conf *c = replace(NULL, PORTS(TRUNK ", " VLAN(10, "")));

	(void)state;
	c = replace(c, PORTS(OTHER ", " TRUNK ", " VLAN(10, "")));
	ports_are(c, "trunk v10 other");
	assert_int_equal(conf_port_n_devices(&c->ports[2]), 1);
	assert_string_equal(c->devices[c->ports[2].devices].device, "net_null1");
	c = replace(c, PORTS(OTHER));
	ports_are(c, "- - other");
	assert_int_equal(c->ports_leaving, 0x3);
	c = replace(c, PORTS(OTHER ", " TRUNK ", " VLAN(10, ""))); // whose parent is new as well
	ports_are(c, "- - other trunk v10");
	assert_int_equal(c->ports[4].parent, 3);
	assert_true(c->ports[3].takes_vlans);
	conf_free(c);
}

// Anything else than addresses and the side makes another port of a VLAN.
static void test_changed(void **state)
{
	struct conf *c = replace(NULL, PORTS(TRUNK ", " VLAN(10, "host = \"h\";")));

	(void)state;
	c = replace(c, PORTS(TRUNK ", " VLAN(10, "host = \"h\"; side = \"unprotected\";")));
	ports_are(c, "trunk v10");
	c = replace(c, PORTS(TRUNK ", " VLAN(10, "host = \"i\";")));
	ports_are(c, "trunk - v10");
	c = replace(c, PORTS(TRUNK ", " VLAN(10, "host = \"i\"; mtu = 1400;")));
	ports_are(c, "trunk - - v10");
	c = replace(c, PORTS(TRUNK ", { name = \"v10\"; parent = \"trunk\"; vlan = 11; mtu = 1400;"
				   " host = \"i\"; addresses = [ \"10.10.0.1/24\" ]; }"));
	ports_are(c, "trunk - - - v10");
	assert_int_equal(c->ports_leaving, 0xe);
	conf_free(c);
}

#define REFERENCES                                                                                 \
	"routes = ( { to = \"10.99.0.0/24\"; via = \"10.20.0.2\"; }, "                             \
	"{ to = \"10.98.0.0/24\"; hops = ( { via = \"10.20.0.3\"; }, { via = \"10.0.0.3\"; } ); "  \
	"} );\n"                                                                                   \
	"neighbours = ( { address = \"10.20.0.2\"; mac = \"02:00:00:00:00:02\"; } );\n"            \
	"ike = { via = [ \"10.20.0.9\" ]; };\n"                                                    \
	"rules = ( { name = \"r\"; action = \"accept\"; in = \"v20\"; out = \"trunk\"; }, "        \
	"{ name = \"s\"; action = \"accept\"; } );\n"                                              \
	"nat = ( { name = \"n\"; action = \"source\"; out = \"v20\"; source = \"10.0.0.0/24\"; "   \
	"to = \"port\"; } );\n"

static void test_references(void **state)
{
	struct conf *c = replace(NULL,
		PORTS(TRUNK ", " VLAN(10, "") ", " VLAN(20, "side = \"unprotected\";")) REFERENCES);

	(void)state;
	for (unsigned int i = 0; i < 2; i++) { // as the file has them; then in another order
		assert_string_equal(c->ports[2].name, "v20");
		assert_int_equal(c->ports[2].parent, 0);
		assert_int_equal(c->routes[0].port, 2);
		assert_int_equal(c->routes[1].hops.hop[0].port, 2);
		assert_int_equal(c->routes[1].hops.hop[1].port, 0);
		assert_int_equal(c->neighbours[0].port, 2);
		assert_int_equal(c->ike_port[0], 2);
		assert_int_equal(c->rules[0].match.in, 2);
		assert_int_equal(c->rules[0].match.out, 0);
		assert_int_equal(c->rules[1].match.in, CONF_PORT_ANY);
		assert_int_equal(c->nat[0].match.out, 2);
		c = replace(c, PORTS(VLAN(20, "side = \"unprotected\";") ", " TRUNK) REFERENCES);
	}
	refuse(c,
		PORTS(TRUNK ", " VLAN(10, "")) "rules = ( { name = \"r\"; action = \"accept\"; in "
					       "= \"v20\"; } );\n",
		"3: rule \"r\": in: there is no port \"v20\", did you mean \"v10\"?");
	conf_free(c);
}

static void test_no_number(void **state)
{
	static const char first[] = PORTS(TRUNK ", " VLAN(1, "") ", " VLAN(2, "") ", " VLAN(
		3, "") ", " VLAN(4, "") ", " VLAN(5, "") ", " VLAN(6, "") ", " VLAN(7,
		"") ", " VLAN(8, "") ", " VLAN(9, "") ", " VLAN(10, "") ", " VLAN(11,
		"") ", " VLAN(12, "") ", " VLAN(13, "") ", " VLAN(14, "") ", " VLAN(15, ""));
	struct conf *c = replace(NULL, first);
	char *other = strdup(first);

	(void)state;
	memcpy(strstr(other, "\"v15\""), "\"v99\"", 5);
	refuse(c, other,
		"2: port \"v99\": no number is free for it: those of ports that were removed are "
		"free within 20 seconds");
	free(other);
	conf_free(c);
}

static void test_first_vlan(void **state)
{
	struct conf *c = replace(NULL, PORTS(TRUNK));

	(void)state;
	assert_false(c->ports[0].takes_vlans);
	c = replace(c, PORTS(TRUNK ", " VLAN(10, "")));
	assert_true(c->ports[0].takes_vlans);
	c = replace(c, PORTS(TRUNK)); // the device still receives tags
	assert_true(c->ports[0].takes_vlans);
	c->ports_leaving = 0;
	c = replace(c, PORTS(TRUNK ", " VLAN(20, "")));
	ports_are(c, "trunk v20");
	conf_free(c);
}

// Ports that get VLANs with the start alone.
// The next port with the number of a trunk is none.
static void test_number_of_a_trunk(void **state)
{
	struct conf *c = replace(NULL, PORTS(TRUNK ", " VLAN(10, "") ", " PLAIN(1)));

	(void)state;
	c = replace(c, PORTS(PLAIN(1)));
	ports_are(c, "- - p1");
	c->ports_leaving = 0;
	c = replace(c, PORTS(PLAIN(1) ", " PLAIN(2)));
	ports_are(c, "p2 - p1");
	assert_false(c->ports[0].takes_vlans);
	conf_free(c);
}

static void test_first_vlan_refused(void **state)
{
	struct conf *c = replace(NULL, PORTS(SEGMENTS));

	(void)state;
	refuse(c, PORTS(SEGMENTS ", " VLAN(10, "")),
		"2: port \"v10\": parent: port \"trunk\" with tso has not had a VLAN yet, needs a "
		"restart");
	conf_free(c);
	c = replace(NULL, PORTS(SEGMENTS ", " VLAN(10, "")));
	c = replace(c, PORTS(SEGMENTS ", " VLAN(10, "") ", " VLAN(20, "")));
	ports_are(c, "trunk v10 v20");
	conf_free(c);
	c = replace(NULL, PORTS(MEMBERS));
	refuse(c, PORTS(MEMBERS ", " VLAN(10, "")),
		"2: port \"v10\": parent: port \"trunk\" with members has not had a VLAN yet, "
		"needs a "
		"restart");
	conf_free(c);
}

// In the order of the file.
static void restarts_are(const char *from, const char *to, const char *wanted)
{
	struct conf *a = replace(NULL, from), *b = replace(NULL, to);
	struct conf_changes *list = conf_diff(a, b);
	char all[256] = "";

	for (unsigned int i = 0; i < list->n; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s%s%s ",
			list->change[i].name, list->change[i].setting != NULL ? "." : "",
			list->change[i].setting != NULL ? list->change[i].setting : "",
			list->change[i].restart ? "!" : "");
	assert_string_equal(all, wanted);
	conf_changes_free(list);
	conf_free(a);
	conf_free(b);
}

static void test_diff(void **state)
{
	(void)state;
	restarts_are(PORTS(TRUNK ", " VLAN(10, "") ", " VLAN(20, "")),
		PORTS(VLAN(30, "") ", " VLAN(20, "mtu = 1400;") ", " TRUNK), "v30 v20.mtu v10 ");
	restarts_are(PORTS(TRUNK), PORTS(TRUNK ", " VLAN(10, "")), "v10 ");
	restarts_are(PORTS(SEGMENTS), PORTS(SEGMENTS ", " VLAN(10, "")), "v10! ");
	restarts_are(PORTS(MEMBERS), PORTS(MEMBERS ", " VLAN(10, "")), "v10! ");
	restarts_are(PORTS(TRUNK ", " VLAN(10, "")),
		PORTS(TRUNK ", " VLAN(10, "") ", { name = \"lan\"; device = \"net_null1\"; "
					      "addresses = [ \"10.77.0.1/24\" ]; }"),
		"lan ");
	restarts_are(PORTS(TRUNK),
		PORTS(TRUNK ", " OTHER ", { name = \"v9\"; parent = \"other\"; vlan = 9; "
			    "addresses = [ \"10.77.0.1/24\" ]; }"),
		"other v9 ");
	restarts_are(PORTS(TRUNK ", " OTHER), PORTS(TRUNK), "other ");
	restarts_are(PORTS(TRUNK ", { name = \"wide\"; device = \"net_null1\"; rx_queues = 8; "
				 "addresses = [ \"10.9.0.1/24\" ]; }"),
		PORTS(TRUNK), "wide "); // with more packet buffers
	restarts_are(PORTS(MEMBERS ", " OTHER), PORTS(OTHER), "trunk! ");
}

static int errors_free(void **state)
{
	free(errors);
	return conf_dir_remove(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_number_is_free_later),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_no_number),
		cmocka_unit_test(test_first_vlan),
		cmocka_unit_test(test_number_of_a_trunk),
		cmocka_unit_test(test_first_vlan_refused),
		cmocka_unit_test(test_diff),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, errors_free);
}
