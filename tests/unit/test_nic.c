// SPDX-License-Identifier: BSD-3-Clause
// Network cards: values that culvertctl reads from sysfs and proc, here of folders made for the
// test, and binding, with a kernel played by the test in sysfs_write().
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "device_lock.h"
#include "nic.h"
#include "sys_folder.h"
#include "sysfs.h"
#include "test.h"

#define CARD "0000:00:05.0"

static char proc[64];

static int begin(void **state)
{
	if (sys_begin(state) < 0)
		return -1;
	snprintf(proc, sizeof(proc), "%s/proc", sys);
	sys_file("Iface\tDestination\tGateway\tFlags\n", "proc/net/route");
	sys_file("", "proc/net/ipv6_route");
	return 0;
}

// --- the kernel ---

static const char *kernel_driver; // takes the card if nothing else is asked for; NULL: none does
static bool vfio_refuses;
static int override_error;
static char override[32];

static bool ends(const char *path, const char *name)
{
	return strlen(path) > strlen(name) && strcmp(path + strlen(path) - strlen(name), name) == 0;
}

int __wrap_sysfs_write(const char *path, const char *text);

int __wrap_sysfs_write(const char *path, const char *text)
{
	char target[64], link[PATH_MAX];
	const char *driver;

	snprintf(link, sizeof(link), "%s/bus/pci/devices/" CARD "/driver", sys);
	if (ends(path, "/" CARD "/driver_override")) {
		snprintf(override, sizeof(override), "%s", text[0] != '\n' ? text : "");
		return override_error;
	}
	assert_string_equal(text, CARD);
	if (ends(path, "/" CARD "/driver/unbind"))
		return unlink(link) == 0 ? 0 : -errno;
	assert_true(ends(path, "/bus/pci/drivers_probe"));
	driver = override[0] != '\0' ? override : kernel_driver;
	if (driver == NULL || (vfio_refuses && strcmp(driver, "vfio-pci") == 0))
		return 0; // as the kernel does
	snprintf(target, sizeof(target), "../../drivers/%s", driver);
	return symlink(target, link) == 0 ? 0 : -errno;
}

// --- reading ---

static void test_read(void **state)
{
	struct pci_nic nic;

	(void)state;
	sys_card(CARD, "0x020000\n", "i40e", "7");
	sys_file("", "bus/pci/devices/" CARD "/net/eth1/mtu");
	sys_file("4\n", "bus/pci/devices/" CARD "/sriov_numvfs");
	assert_int_equal(pci_nic_read(&nic, sys, CARD), 0);
	assert_string_equal(nic.name, CARD);
	assert_string_equal(nic.id, "8086:1572");
	assert_string_equal(nic.driver, "i40e");
	assert_string_equal(nic.interface, "eth1");
	assert_string_equal(nic.iommu_group, "7");
	assert_int_equal(nic.numa_node, 1);
	assert_int_equal(nic.functions, 4);
}

static void test_virtio(void **state)
{
	struct pci_nic nic;

	(void)state;
	sys_card(CARD, "0x020000\n", "virtio-pci", NULL);
	sys_file("", "bus/pci/devices/" CARD "/virtio3/net/ens3/mtu");
	sys_file("-1\n", "bus/pci/devices/" CARD "/numa_node");
	assert_int_equal(pci_nic_read(&nic, sys, CARD), 0);
	assert_string_equal(nic.interface, "ens3");
	assert_string_equal(nic.iommu_group, "");
	assert_int_equal(nic.numa_node, -1);
}

static void test_others(void **state)
{
	struct pci_nic nic, *nics;

	(void)state;
	assert_int_equal(pci_nics_read(&nics, sys), 0); // no PCI bus
	free(nics);
	sys_card("0000:00:1f.0", "0x020000\n", NULL, NULL);
	sys_card("0000:00:02.0", "0x030000\n", "i915", NULL);
	sys_card(CARD, "0x020000\n", NULL, NULL);
	assert_int_equal(pci_nic_read(&nic, sys, "0000:00:02.0"), -ENODEV);
	assert_int_equal(pci_nic_read(&nic, sys, "0000:00:09.0"), -ENOENT);
	assert_int_equal(pci_nic_read(&nic, sys, "../devices/" CARD), -ENOENT);
	assert_int_equal(pci_nics_read(&nics, sys), 2);
	assert_string_equal(nics[0].name, CARD);
	assert_string_equal(nics[1].name, "0000:00:1f.0");
	free(nics);
}

// --- use ---

static void expect(enum nic_state state, const char *why)
{
	struct pci_nic nic;
	struct nic_use use;

	assert_int_equal(pci_nic_read(&nic, sys, CARD), 0);
	use = nic_use_read(&nic, sys, proc);
	assert_string_equal(use.why, why);
	assert_string_equal(nic_state_name(use.state), nic_state_name(state));
}

static void kernel_card(void)
{
	sys_card(CARD, "0x020000\n", "i40e", "7");
	sys_file("", "bus/pci/devices/" CARD "/net/eth1/mtu");
	sys_file("", "class/net/eth1/mtu");
}

static void test_free_card(void **state)
{
	(void)state;
	kernel_card();
	// Others have routes, and one whose name begins alike.
	sys_file("Iface\tDestination\n"
		 "eth0\t00000000\t0101A8C0\t0003\n"
		 "eth10\t00000000\t0101A8C0\t0003\n",
		"proc/net/route");
	sys_file("fe800000000000000000000000000000 40 00000000000000000000000000000000 00 "
		 "00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth1\n"
		 "ff000000000000000000000000000000 08 00000000000000000000000000000000 00 "
		 "00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth1\n",
		"proc/net/ipv6_route");
	expect(NIC_KERNEL, "culvertctl bind " CARD);
}

static void test_needed(void **state)
{
	static const char ipv6[] = "%s 00000000000000000000000000000000 00 "
				   "00000000000000000000000000000000 00000400 00000001 00000000 "
				   "00000003     eth1\n";
	char line[256];

	(void)state;
	kernel_card();
	sys_file("Iface\tDestination\neth1\t0001A8C0\t00000000\t0001\n", "proc/net/route");
	expect(NIC_NEEDED, "eth1 has routes");
	sys_file("Iface\tDestination\neth1\t0001A8C0\t0\t1\neth1\t00000000\t0101A8C0\t3\n",
		"proc/net/route");
	expect(NIC_NEEDED, "eth1 has the default route");
	sys_file("Iface\tDestination\n", "proc/net/route");
	snprintf(line, sizeof(line), ipv6, "20010db8000000000000000000000000 40");
	sys_file(line, "proc/net/ipv6_route");
	expect(NIC_NEEDED, "eth1 has routes");
	snprintf(line, sizeof(line), ipv6, "00000000000000000000000000000000 00");
	sys_file(line, "proc/net/ipv6_route");
	expect(NIC_NEEDED, "eth1 has the default route");
	sys_file("", "proc/net/ipv6_route");
	sys_file("", "class/net/eth1/upper_br0");
	expect(NIC_NEEDED, "eth1 is part of br0");
}

static void test_virtual_functions(void **state)
{
	(void)state;
	kernel_card();
	sys_file("4\n", "bus/pci/devices/" CARD "/sriov_numvfs");
	expect(NIC_NEEDED, "4 virtual functions are made of it");
}

static void test_no_iommu(void **state)
{
	(void)state;
	sys_card(CARD, "0x020000\n", "virtio-pci", NULL);
	expect(NIC_BLOCKED, "no IOMMU");
	sys_card(CARD, "0x020000\n", "vfio-pci", NULL);
	expect(NIC_BLOCKED, "no IOMMU");
	sys_file("Y\n", "module/vfio/parameters/enable_unsafe_noiommu_mode");
	expect(NIC_READY, "no IOMMU protects memory: memory.hugepages = true");
	sys_card(CARD, "0x020000\n", "virtio-pci", NULL);
	expect(NIC_KERNEL, "culvertctl bind " CARD);
	sys_file("N\n", "module/vfio/parameters/enable_unsafe_noiommu_mode");
	sys_card(CARD, "0x020000\n", "uio_pci_generic", NULL);
	expect(NIC_READY, "no IOMMU protects memory: memory.hugepages = true");
}

// In no-IOMMU mode vfio makes a group of a bound card, which confines nothing.
static void test_group_without_iommu(void **state)
{
	struct pci_nic nic;

	(void)state;
	sys_file("Y\n", "module/vfio/parameters/enable_unsafe_noiommu_mode");
	sys_card(CARD, "0x020000\n", "vfio-pci", "0");
	expect(NIC_READY, "");
	sys_file("vfio-noiommu\n", "kernel/iommu_groups/0/name");
	expect(NIC_READY, "no IOMMU protects memory: memory.hugepages = true");
	assert_int_equal(pci_nic_read(&nic, sys, CARD), 0);
	assert_string_equal(nic.iommu_group, "");
}

static void test_confined(void **state)
{
	static const struct {
		const char *driver, *group;
		bool is;
	} cards[] = {{"vfio-pci", "7", true}, {"vfio-pci", NULL, false},
		{"uio_pci_generic", NULL, false}, {"uio_pci_generic", "7", false},
		{"mlx5_core", NULL, true}};
	struct pci_nic nic;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cards); i++) {
		sys_end(state);
		sys_begin(state);
		sys_card(CARD, "0x020000\n", cards[i].driver, cards[i].group);
		assert_int_equal(pci_nic_read(&nic, sys, CARD), 0);
		assert_int_equal(pci_nic_is_confined(&nic), cards[i].is);
	}
}

static void test_group(void **state)
{
	(void)state;
	sys_card(CARD, "0x020000\n", "vfio-pci", "7");
	sys_card("0000:00:01.0", "0x060400\n", "pcieport", "7");
	expect(NIC_READY, "");
	sys_card("0000:00:05.1", "0x020000\n", "i40e", "7");
	expect(NIC_BLOCKED, "0000:00:05.1 is in the same IOMMU group: bind it, too");
	sys_card("0000:00:05.1", "0x020000\n", "vfio-pci", "7");
	expect(NIC_READY, "");
}

static void test_open(void **state)
{
	int fd = device_lock(DEVICE_LOCK_PCI, CARD);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(device_lock(DEVICE_LOCK_PCI, CARD), -EADDRINUSE);
	sys_card(CARD, "0x020000\n", "vfio-pci", "7");
	expect(NIC_OPEN, "a program uses it");
	sys_card(CARD, "0x020000\n", "mlx5_core", "7");
	expect(NIC_OPEN, "a program uses it");
	close(fd);
	expect(NIC_READY, "shared with the kernel");
}

// --- binding ---

static struct pci_nic bind_begin(const char *driver)
{
	struct pci_nic nic;

	vfio_refuses = false;
	override_error = 0;
	override[0] = '\0';
	kernel_driver = "i40e";
	sys_card(CARD, "0x020000\n", driver, "7");
	assert_int_equal(pci_nic_read(&nic, sys, CARD), 0);
	return nic;
}

static void test_bind(void **state)
{
	struct pci_nic nic = bind_begin("i40e");

	(void)state;
	assert_int_equal(nic_bind(&nic, sys, "vfio-pci"), 0);
	assert_string_equal(nic.driver, "vfio-pci");
	assert_string_equal(override, "vfio-pci");
	assert_int_equal(nic_bind(&nic, sys, NULL), 0);
	assert_string_equal(nic.driver, "i40e");
	assert_string_equal(override, "");
}

static void test_bind_without_driver(void **state)
{
	struct pci_nic nic = bind_begin(NULL);

	(void)state;
	assert_int_equal(nic_bind(&nic, sys, "vfio-pci"), 0);
	assert_string_equal(nic.driver, "vfio-pci");
	kernel_driver = NULL;
	assert_int_equal(nic_bind(&nic, sys, NULL), 0);
	assert_string_equal(nic.driver, "");
}

static void test_bind_refused(void **state)
{
	struct pci_nic nic = bind_begin("i40e");

	(void)state;
	vfio_refuses = true;
	assert_int_equal(nic_bind(&nic, sys, "vfio-pci"), -ENODEV);
	assert_string_equal(nic.driver, "i40e");
	assert_string_equal(override, "");
	override_error = -EACCES;
	assert_int_equal(nic_bind(&nic, sys, "vfio-pci"), -EACCES);
	assert_string_equal(nic.driver, "i40e");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_read, begin, sys_end),
		cmocka_unit_test_setup_teardown(test_virtio, begin, sys_end),
		cmocka_unit_test_setup_teardown(test_others, begin, sys_end),
		cmocka_unit_test_setup_teardown(test_free_card, begin, sys_end),
		cmocka_unit_test_setup_teardown(test_needed, begin, sys_end),
		cmocka_unit_test_setup_teardown(test_virtual_functions, begin, sys_end),
		cmocka_unit_test_setup_teardown(test_no_iommu, begin, sys_end),
		cmocka_unit_test_setup_teardown(test_group, begin, sys_end),
		cmocka_unit_test_setup_teardown(test_group_without_iommu, begin, sys_end),
		cmocka_unit_test_setup_teardown(test_confined, begin, sys_end),
		cmocka_unit_test_setup_teardown(test_open, begin, sys_end),
		cmocka_unit_test_setup_teardown(test_bind, begin, sys_end),
		cmocka_unit_test_setup_teardown(test_bind_without_driver, begin, sys_end),
		cmocka_unit_test_setup_teardown(test_bind_refused, begin, sys_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
