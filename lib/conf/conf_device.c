// SPDX-License-Identifier: BSD-3-Clause
// The devices of ports, as far as their names say: a PCI address, or a driver of DPDK with a number
// and arguments. Whether this machine has them is the daemon's to check.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <rte_pci.h>

#include "conf_check.h"
#include "conf_schema.h"

// Drivers of virtual devices. DPDK takes any name that starts like one of them.
static const char *const drivers[] = {"net_af_packet", "net_af_xdp", "net_bonding", "net_failsafe",
	"net_memif", "net_null", "net_pcap", "net_ring", "net_softnic", "net_tap", "net_tun",
	"net_vdev_netvsc", "net_vhost", "net_virtio_user", "virtio_user", "eth_af_packet",
	"eth_bond", "eth_null", "eth_pcap", "eth_ring", "eth_tap", "eth_vhost"};

bool conf_device_pci(char name[CONF_PCI_NAME_MAX], const char *device)
{
	struct rte_pci_addr addr;
	size_t len = strcspn(device, ",");

	if (!isxdigit((unsigned char)device[0]) || len >= CONF_PCI_NAME_MAX)
		return false;
	memcpy(name, device, len);
	name[len] = '\0';
	if (rte_pci_addr_parse(name, &addr) != 0)
		return false;
	rte_pci_device_name(&addr, name, CONF_PCI_NAME_MAX);
	return true;
}

bool conf_device_is_pci(const char *device)
{
	char name[CONF_PCI_NAME_MAX];

	return conf_device_pci(name, device);
}

bool conf_device_is_xdp(const char *device)
{
	return strncmp(device, "net_af_xdp", 10) == 0;
}

bool conf_device_is_attached(const char *device)
{
	return strncmp(device, "net_af_packet", 13) == 0 || conf_device_is_xdp(device);
}

static bool has_driver(const char *device)
{
	for (unsigned int i = 0; i < RTE_DIM(drivers); i++)
		if (strncmp(device, drivers[i], strlen(drivers[i])) == 0)
			return true;
	return false;
}

// The driver most like the one in a device's name; NULL if none is. *rest: what follows its name.
static const char *nearest_driver(const char *device, const char **rest)
{
	size_t len = strcspn(device, ",");

	while (len > 0 && isdigit((unsigned char)device[len - 1]))
		len--;

	struct nearest near = {.text = conf_format("%.*s", (int)len, device)};

	for (unsigned int i = 0; i < RTE_DIM(drivers); i++)
		nearest_try(&near, drivers[i]);
	*rest = device + len;
	return near.best;
}

// Whether a name can be that of an interface of the kernel.
static bool is_interface(const char *device)
{
	return strlen(device) <= 15 && strpbrk(device, "/,:") == NULL &&
	       strncmp(device, "net_", 4) != 0;
}

static void reject_device(
	struct conf_reader *r, config_setting_t *s, const char *device, unsigned int port)
{
	const char *rest, *driver = nearest_driver(device, &rest);

	if (driver != NULL)
		conf_err(r, s, "%s names no DPDK driver, did you mean device = \"%s%s\"?",
			conf_quote(device), driver, conf_show(rest));
	else if (is_interface(device))
		conf_err(r, s,
			"%s is neither a PCI address nor a DPDK driver; for a kernel interface "
			"write device = \"net_af_packet%u,iface=%s\"",
			conf_quote(device), port, conf_show(device));
	else
		conf_err(r, s,
			"%s is neither a PCI address, such as \"0000:00:05.0\", nor a DPDK "
			"driver, such as \"net_af_packet%u,iface=eth1\"",
			conf_quote(device), port);
}

// A driver that DPDK does not come with.
static bool has_plugin(const struct conf *c)
{
	for (unsigned int i = 0; i < c->n_eal_args; i++)
		if (c->eal_args[i] != NULL && strncmp(c->eal_args[i], "-d", 2) == 0)
			return true;
	return false;
}

// Whether an argument of vhost's makes it leave checksums to the receiver. Any number but 0 does,
// as the driver reads it.
static bool leaves_checksums(const char *device)
{
	static const char argument[] = ",legacy-ol-flags=";
	const char *at = strstr(device, argument);

	return at != NULL && strtoul(at + strlen(argument), NULL, 0) != 0;
}

void conf_check_device(struct conf_reader *r, config_setting_t *s, unsigned int port)
{
	const char *device = r->c->ports[port].device;

	if (conf_device_is_pci(device))
		return;
	if (!has_driver(device) && !has_plugin(r->c))
		reject_device(r, s, device, port);
	else if (leaves_checksums(device))
		conf_err(r, s, "%s: legacy-ol-flags leaves checksums incomplete, remove it",
			conf_quote(device));
	else if (conf_device_is_attached(device) && strstr(device, ",iface=") == NULL)
		conf_err(r, s, "%s has no interface argument, write device = \"%s,iface=eth1\"",
			conf_quote(device), conf_show(device));
}
