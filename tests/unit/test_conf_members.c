// SPDX-License-Identifier: BSD-3-Clause
// Ports with members: the list of devices, and the memory that they take.
#include "conf_dir.h"
#include "test.h"

#define PORTS                                                                                      \
	"ports = ("                                                                                \
	"{ name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; },"            \
	"{ name = \"wan\"; members = [ \"0000:3b:00.0\", \"net_tap0,iface=x\" ];"                  \
	"  mtu = 9000; mac = \"02:00:00:00:00:01\"; },"                                            \
	"{ name = \"guests\"; parent = \"wan\"; vlan = 5; addresses = [ \"10.2.0.1/24\" ]; },"     \
	"{ name = \"dmz\"; members = [ \"net_virtio_user0,path=/run/s,mac=02:00:00:00:00:02\" ];"  \
	"  bond = \"%s\"; addresses = [ \"10.3.0.1/24\" ]; } );"                                   \
	"cpus = { control = 0; workers = [ 0, 1, 0, 1 ]; };"                                       \
	"flows = { max = 1024; }; memory = { size = %u; %s hugepages = false; };"

#define BUFFERS "packet_buffers = 8192;"

static struct conf *load(const char *bond, unsigned int mb, const char *buffers)
{
	char text[2048];
	int len = snprintf(text, sizeof(text), PORTS, bond, mb, buffers);

	conf_dir_write("members.conf", text, (size_t)len);
	return conf_dir_load_good("members.conf");
}

static void test_devices(void **state)
{
	struct conf *c = load("lacp", 1024, BUFFERS);
	const struct conf_port *wan = &c->ports[1];

	(void)state;
	assert_int_equal(c->ports[0].n_members, 0);
	assert_int_equal(conf_port_n_devices(&c->ports[0]), 1);
	assert_string_equal(wan->device, "net_bonding_wan");
	assert_int_equal(wan->bond, CONF_ACTIVE_BACKUP);
	assert_int_equal(conf_port_n_devices(wan), 2);
	assert_int_equal(conf_port_n_devices(&c->ports[2]), 0); // a VLAN
	assert_int_equal(conf_port_n_devices(&c->ports[3]), 1);
	assert_int_equal(c->ports[3].bond, CONF_LACP);
	assert_int_equal(c->n_devices, 4);
	assert_string_equal(c->devices[c->ports[0].devices].device, "net_null0");
	for (unsigned int i = 0; i < 2; i++) {
		const struct conf_port *d = &c->devices[wan->devices + i];

		assert_string_equal(d->device, wan->members[i]);
		assert_string_equal(d->name, "wan");
		assert_int_equal(d->where.line, wan->where.line);
		assert_int_equal(d->mtu, 9000);
		assert_true(d->mac_set);
		assert_int_equal(d->n_members, 0);
	}
	conf_free(c);
}

// A change of members needs a restart.
static void test_restart(void **state)
{
	struct conf *running = load("lacp", 1024, BUFFERS), *c;
	char *text = NULL;
	size_t size;
	FILE *errors = open_memstream(&text, &size);

	(void)state;
	conf_free(load("active-backup", 1024, BUFFERS));
	c = conf_load(conf_dir_path("members.conf"), running, errors);
	fclose(errors);
	assert_null(c);
	assert_non_null(strstr(text, "port \"dmz\": bond: differs from the running configuration"));
	free(text);
	conf_free(running);
}

// Each member has queues of its own.
static void test_buffers(void **state)
{
	struct conf *c = load("active-backup", 1024, "");

	(void)state;
	// Four devices, four RX and TX queues each; four workers with 1024 and held packets.
	assert_int_equal(c->packet_buffers, 65536);
	conf_free(c);
}

// LACP has pools of its own.
static void test_lacp_memory(void **state)
{
	char text[2048], *errors;
	unsigned int mb = 64;
	struct conf *c;

	(void)state;
	for (;; mb++) { // as little as is enough without
		snprintf(text, sizeof(text), PORTS, "active-backup", mb, BUFFERS);
		conf_dir_write("members.conf", text, strlen(text));
		c = conf_dir_load(&errors, "members.conf");
		free(errors);
		if (c != NULL)
			break;
	}
	conf_free(c);
	snprintf(text, sizeof(text), PORTS, "lacp", mb, BUFFERS);
	conf_dir_write("members.conf", text, strlen(text));
	c = conf_dir_load(&errors, "members.conf");
	assert_null(c);
	assert_non_null(strstr(errors, "memory.size must be at least"));
	free(errors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_lacp_memory),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
