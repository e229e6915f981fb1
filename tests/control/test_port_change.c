// SPDX-License-Identifier: BSD-3-Clause
// Ports that a configuration adds to the running one and removes from it: their link and addresses,
// and when the number of a removed one is free.
#include "configure.h"
#include "desk.h"
#include "port_change.h"
#include "test.h"

#define VLAN 2

static struct conf_port ports[VLAN + 1];
static struct conf *former;

// The configuration of the desk with the VLAN, or with an entry that is free in its place.
static struct conf *conf_with(bool vlan)
{
	struct conf *conf = desk_conf("", "");

	memcpy(ports, conf->ports, VLAN * sizeof(ports[0]));
	ports[VLAN] = (struct conf_port){.unprotected = true};
	if (vlan)
		ports[VLAN] = (struct conf_port){.name = "v30",
			.parent_name = "lan",
			.parent = LAN,
			.vlan = 30,
			.mtu = 1500,
			.addrs = {{addr_of("2001:db8:30::1"), {addr_of("2001:db8:30::"), 64}}},
			.n_addrs = 1};
	conf->ports = calloc(VLAN + 1, sizeof(ports[0]));
	memcpy(conf->ports, ports, sizeof(ports));
	conf->n_ports = VLAN + 1;
	return conf;
}

static void replace(struct conf *conf)
{
	char why[256];
	struct snapshot *s;

	former = desk.conf;
	if (desk.retired != NULL)
		configure_retire(&desk);
	port_change_prepare(&desk, conf);
	s = configure_build(&desk, conf, why, sizeof(why));
	assert_non_null(s);
	assert_int_equal(configure_replace(&desk, conf, s, desk_now), 0);
	port_change_follow(&desk, former);
}

static void former_free(bool own_ports)
{
	if (own_ports)
		free(former->ports);
	conf_free(former);
}

static void test_added_and_removed(void **state)
{
	const struct ip_addr station = addr_of("2001:db8:30::5");
	const struct rte_ether_addr mac = {{2, 9, 9, 9, 9, 9}};
	struct conf *with = conf_with(true), *without;

	(void)state;
	desk_link[VLAN] = true;
	replace(with);
	former_free(false);
	desk_expect_log("port \"v30\": added, VLAN 30 of port \"lan\"");
	desk_expect_log("port \"v30\": address 2001:db8:30::1 was added");
	assert_true(desk.links[VLAN].up);
	assert_true(desk_link_told[VLAN]);
	assert_memory_equal(&desk.ports[VLAN].mac, mac_of_port(LAN), sizeof(desk.ports[0].mac));
	assert_memory_equal(&desk.snapshot->port[VLAN].mac, mac_of_port(LAN), sizeof(mac));
	configure_retire(&desk);
	desk_wait(2000);
	assert_int_equal(
		dad_state(desk.dad, VLAN, &desk.snapshot->port[VLAN].addrs[0]), DAD_ASSIGNED);
	neigh_learn(desk.neigh, VLAN, &station, &mac, true, desk_now);
	assert_true(neigh_has(desk.neigh, VLAN, &station));

	without = conf_with(false);
	without->ports_leaving = 1u << VLAN;
	desk_forget();
	replace(without);
	former_free(true);
	desk_expect_log("port \"v30\": removed");
	desk_expect_log("port \"v30\": address 2001:db8:30::1 was removed");
	port_change_tick(&desk, desk_now);
	assert_int_equal(desk.leaving[VLAN].free_ms, 0); // workers may have the former snapshot
	configure_retire(&desk);
	port_change_tick(&desk, desk_now);
	assert_true(desk.leaving[VLAN].is_flushed);
	for (unsigned int i = 0; i < 2048; i++)
		flow_tick(desk.flows, 0, 0, 64);
	port_change_tick(&desk, desk_now + CONF_PORT_LEAVES_S * 1000 - 1);
	assert_int_equal(without->ports_leaving, 1u << VLAN);
	desk.leaving[VLAN].has_device = true;
	port_change_tick(&desk, desk_now + CONF_PORT_LEAVES_S * 1000);
	assert_int_equal(without->ports_leaving, 1u << VLAN); // until its device is closed
	desk.leaving[VLAN].has_device = false;
	port_change_tick(&desk, desk_now + CONF_PORT_LEAVES_S * 1000);
	assert_int_equal(without->ports_leaving, 0);
	assert_false(neigh_has(desk.neigh, VLAN, &station));

	// The link of a number that is free is nobody's.
	desk_link[VLAN] = false;
	desk_forget();
	desk_wait(2000);
	desk_expect_no_event();
	replace(desk_conf("", ""));
	former_free(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		desk_test(test_added_and_removed),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
