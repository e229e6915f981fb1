// SPDX-License-Identifier: BSD-3-Clause
// Ports that are VLANs: their parents, and fields that they have from these.
#include "conf_dir.h"
#include "test.h"

static void test_vlans(void **state)
{
	static const char text[] =
		"ports = ("
		"{ name = \"guests\"; parent = \"trunk\"; vlan = 4094; mtu = 1400;"
		"  addresses = [ \"10.1.0.1/24\" ]; side = \"unprotected\"; },"
		"{ name = \"trunk\"; device = \"net_null0\"; mtu = 9000; },"
		"{ name = \"office\"; parent = \"trunk\"; vlan = 1; addresses = [ \"10.2.0.1/24\" "
		"]; },"
		"{ name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; },"
		"{ name = \"other\"; parent = \"wan\"; vlan = 1; addresses = [ \"10.3.0.1/24\" ]; "
		"});"
		"memory = { size = 128; }; flows = { max = 10000; };";
	struct conf *c;

	(void)state;
	conf_dir_write("vlans.conf", text, strlen(text));
	c = conf_dir_load_good("vlans.conf");
	assert_null(c->ports[0].device);
	assert_int_equal(c->ports[0].parent, 1);
	assert_int_equal(c->ports[0].vlan, 4094);
	assert_int_equal(c->ports[0].mtu, 1400);
	assert_true(c->ports[0].unprotected);
	assert_int_equal(c->ports[1].vlan, 0);
	assert_int_equal(c->ports[1].n_addrs, 0);
	assert_int_equal(c->ports[2].mtu, 9000); // its parent's
	assert_int_equal(c->ports[3].mtu, 1500);
	assert_int_equal(c->ports[4].parent, 3);
	// Of two devices with two queues, and of the worker: VLANs have none.
	assert_int_equal(c->packet_buffers, 8192);
	conf_free(c);
	conf_dir_unlink("vlans.conf");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vlans),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
