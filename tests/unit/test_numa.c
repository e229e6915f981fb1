// SPDX-License-Identifier: BSD-3-Clause
// NUMA nodes: the one of a gateway, and devices reported to be on another, in a sysfs of the test.
#include <stdarg.h>
#include <stdlib.h>

#include "log.h"
#include "numa.h"
#include "sys_folder.h"
#include "test.h"

static char said[2048];

void __wrap_log_line(enum log_level level, const char *fmt, ...);

void __wrap_log_line(enum log_level level, const char *fmt, ...)
{
	size_t n = strlen(said);
	va_list args;

	assert_int_equal(level, LOG_LEVEL_WARN);
	va_start(args, fmt);
	n += (size_t)vsnprintf(said + n, sizeof(said) - n, fmt, args);
	va_end(args);
	assert_true(n < sizeof(said) - 1);
	strcpy(said + n, "\n");
}

// Nodes 0 and 2, with CPUs 0 and 1, and 2 and 3; two cards on node 2, and one on node 0.
static int begin(void **state)
{
	if (sys_begin(state) < 0)
		return -1;
	for (int i = 0; i < 4; i++)
		sys_file("", "devices/system/cpu/cpu%d/node%d/cpulist", i, i / 2 * 2);
	sys_file("", "devices/system/node/node0/cpulist");
	sys_file("", "devices/system/node/node2/cpulist");
	for (int i = 0; i < 3; i++) {
		char card[] = "0000:05:00.0";

		card[11] = (char)('0' + i);
		sys_card(card, "0x020000\n", NULL, NULL);
		sys_file(i < 2 ? "2\n" : "0\n", "bus/pci/devices/%s/numa_node", card);
	}
	sys_file("0\n", "class/net/eth0/device/numa_node");
	sys_file("-1\n", "class/net/eth1/device/numa_node");
	said[0] = '\0';
	return 0;
}

struct setup {
	struct conf conf;
	struct conf_port port[3];
};

static struct conf *setup(
	struct setup *s, char *devices[3], unsigned int worker0, unsigned int worker1)
{
	struct conf *c = &s->conf;

	*s = (struct setup){0};
	c->devices = s->port;
	for (unsigned int i = 0; i < 3 && devices[i] != NULL; i++) {
		struct conf_port *p = &c->devices[c->n_devices++];

		*p = (struct conf_port){.device = devices[i], .where = {"gw.conf", 10 + i}};
		snprintf(p->name, sizeof(p->name), "p%u", i);
	}
	c->control_cpu = 0;
	c->control_cpu_where = (struct conf_where){"gw.conf", 1};
	c->n_workers = 2;
	c->worker_cpus[0] = worker0;
	c->worker_cpus[1] = worker1;
	c->worker_cpus_where = (struct conf_where){"gw.conf", 2};
	return c;
}

static void test_cards_decide(void **state)
{
	char *devices[3] = {"0000:05:00.2", "05:00.0,mprq_en=1", "pci:0000:05:00.1"};
	struct setup s;
	struct conf *c = setup(&s, devices, 1, 3);

	(void)state;
	assert_int_equal(numa_node(c, sys), 2);
	numa_check(c, sys);
	assert_string_equal(said,
		"gw.conf:10: port \"p0\": its card is on NUMA node 0, memory and most cards are on "
		"node 2: use a card of that node, or a gateway for each node\n"
		"gw.conf:1: cpus.control: CPU 0 is on NUMA node 0, memory and most cards are on "
		"node 2: use a CPU of that node, see 'lscpu -e=cpu,node'\n"
		"gw.conf:2: cpus.workers: CPU 1 is on NUMA node 0, memory and most cards are on "
		"node 2: use a CPU of that node, see 'lscpu -e=cpu,node'\n");
}

static void test_interfaces(void **state)
{
	char *devices[3] = {"net_af_packet0,iface=eth0", "net_af_packet1,iface=eth1"};
	struct setup s;
	struct conf *c = setup(&s, devices, 0, 1);

	(void)state;
	assert_int_equal(numa_node(c, sys), 0);
	numa_check(c, sys);
	assert_string_equal(said, "");
}

static void test_other_buses(void **state)
{
	char *vmbus[3] = {"vmbus:7a08391f-f5a0-4ac0-9802-d13fd964f8df,latency=30"};
	char *auxiliary[3] = {"auxiliary:mlx5_core.sf.4"};
	struct setup s;

	(void)state;
	sys_file("0\n", "bus/vmbus/devices/7a08391f-f5a0-4ac0-9802-d13fd964f8df/numa_node");
	assert_int_equal(numa_node(setup(&s, vmbus, 2, 3), sys), 0);
	sys_file("4\n", "bus/auxiliary/devices/mlx5_core.sf.4/sfnum");
	sys_file("0\n", "bus/auxiliary/devices/numa_node"); // stands for that of the card
	assert_int_equal(numa_node(setup(&s, auxiliary, 2, 3), sys), 0);
}

static void test_no_cards(void **state)
{
	char *devices[3] = {"net_memif0", "net_tap0,iface=t0"};
	struct setup s;

	(void)state;
	assert_int_equal(numa_node(setup(&s, devices, 2, 3), sys), 2);
	assert_int_equal(numa_node(setup(&s, devices, 3, 1), sys), 0); // as many on each
}

static void test_one_node(void **state)
{
	char *devices[3] = {"0000:05:00.0"};
	struct setup s;
	struct conf *c = setup(&s, devices, 2, 3);
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/devices/system/node/node2/cpulist", sys);
	assert_int_equal(remove(path), 0);
	*strrchr(path, '/') = '\0';
	assert_int_equal(remove(path), 0);
	assert_int_equal(numa_node(c, sys), -1);
	numa_check(c, sys);
	assert_string_equal(said, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_cards_decide, begin, sys_end),
		cmocka_unit_test_setup_teardown(test_interfaces, begin, sys_end),
		cmocka_unit_test_setup_teardown(test_other_buses, begin, sys_end),
		cmocka_unit_test_setup_teardown(test_no_cards, begin, sys_end),
		cmocka_unit_test_setup_teardown(test_one_node, begin, sys_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
