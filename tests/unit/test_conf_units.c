// SPDX-License-Identifier: BSD-3-Clause
// Numbers with units, and the defaults of those not given.
#include "conf_dir.h"
#include "test.h"

static void test_units(void **state)
{
	static const char text[] =
		"memory = { size = \"1.5G\"; packet_buffers = \"20k\"; };"
		"neighbour_table = { max = \"1.25k\"; reachable = \"1.5m\"; };"
		"pmtu = { age = \"1d\"; };"
		"flows = { max = 0x10000; timeouts = { udp = \"45s\"; tcp_established = \"8h\"; };"
		"};"
		"ports = ( { name = \"a\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" "
		"]; },"
		"{ name = \"b\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; } );"
		"sas = ( { name = \"a\"; direction = \"in\"; spi = 256; local = \"192.0.2.1\";"
		"remote = \"192.0.2.2\"; cipher = \"null\"; auth = \"hmac-sha1-96\";"
		"auth_key = \"000102030405060708090a0b0c0d0e0f10111213\";"
		"lifetime = { hard_bytes = \"1.5G\"; hard_seconds = \"2.5d\"; }; } );";
	struct conf *c;

	(void)state;
	conf_dir_write("units.conf", text, sizeof(text) - 1);
	c = conf_dir_load_good("units.conf");
	conf_dir_unlink("units.conf");
	assert_int_equal(c->memory_mb, 1536);
	assert_int_equal(c->packet_buffers, 20000);
	assert_int_equal(c->neighbours_max, 1250);
	assert_int_equal(c->neighbour_reachable_s, 90);
	assert_int_equal(c->pmtu_age_s, 86400);
	assert_int_equal(c->flows_max, 65536);
	assert_int_equal(c->flow_timeouts.udp, 45);
	assert_int_equal(c->flow_timeouts.tcp_established, 28800);
	assert_int_equal(c->sas[0].live.hard_bytes, 1500000000);
	assert_int_equal(c->sas[0].live.hard_seconds, 216000);
	conf_free(c);
}

static void test_probe(void **state)
{
	static const struct {
		const char *given;
		unsigned int seconds;
	} rows[] = {{"", 10}, {"interval = 1;", 1}, {"interval = \"1h\";", 3600}};
	char text[512], address[IP_ADDR_STRLEN];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int len = snprintf(text, sizeof(text),
			"@include \"tunnel.inc\"\n"
			"policies = ( { name = \"a\"; action = \"protect\"; out = \"to-b\";\n"
			"  in = \"from-b\"; probe = { address = \"10.2.0.1\"; %s }; } );\n",
			rows[i].given);
		struct conf *c;

		conf_dir_write("probe.conf", text, (size_t)len);
		c = conf_dir_load_good("probe.conf");
		assert_string_equal(
			ip_addr_format(address, &c->policies[0].probe.addr), "10.2.0.1");
		assert_int_equal(c->policies[0].probe.interval_s, rows[i].seconds);
		conf_free(c);
		conf_dir_unlink("probe.conf");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_probe),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
