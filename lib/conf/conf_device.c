// SPDX-License-Identifier: BSD-3-Clause
// The devices of ports, as far as their names describe them: an address on a bus, or a driver of
// DPDK with a number, and arguments. Whether this machine has them is the daemon's to check.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <rte_pci.h>
#include <rte_uuid.h>

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
	size_t len;

	if (strncmp(device, "pci:", 4) == 0)
		device += 4;
	len = strcspn(device, ",");
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

// Buses whose name DPDK writes in front of that of a device.
static const char *const buses[] = {"auxiliary", "vmbus"};

const char *conf_device_bus(char name[CONF_BUS_NAME_MAX], const char *device)
{
	if (conf_device_pci(name, device))
		return "pci";
	for (unsigned int i = 0; i < RTE_DIM(buses); i++) {
		size_t prefix = strlen(buses[i]), len;

		if (strncmp(device, buses[i], prefix) != 0 || device[prefix] != ':')
			continue;
		device += prefix + 1;
		len = RTE_MIN(strcspn(device, ","), (size_t)CONF_BUS_NAME_MAX - 1);
		memcpy(name, device, len);
		name[len] = '\0';
		return buses[i];
	}
	return NULL;
}

bool conf_device_is_virtual(const char *device)
{
	char name[CONF_BUS_NAME_MAX];

	return conf_device_bus(name, device) == NULL;
}

bool conf_device_arg(char *value, size_t size, const char *device, const char *name)
{
	const size_t n = strlen(name);

	while ((device = strchr(device, ',')) != NULL) {
		device++;
		if (strncmp(device, name, n) != 0 || device[n] != '=')
			continue;
		device += n + 1;

		size_t len = strcspn(device, ",");

		if (len >= size)
			return false;
		memcpy(value, device, len);
		value[len] = '\0';
		return true;
	}
	return false;
}

static const char *representor_of(const char *device)
{
	static const char argument[] = ",representor=";
	const char *at = strstr(device, argument);

	return at != NULL ? at + strlen(argument) : NULL;
}

bool conf_device_is_representor(const char *device)
{
	const char *which = representor_of(device);

	return which != NULL && strchr(which, '[') == NULL;
}

bool conf_device_is_xdp(const char *device)
{
	return strncmp(device, "net_af_xdp", 10) == 0;
}

bool conf_device_is_attached(const char *device)
{
	return strncmp(device, "net_af_packet", 13) == 0 || conf_device_is_xdp(device);
}

static bool has_prefix(const char *device, const char *const prefixes[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (strncmp(device, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static bool has_driver(const char *device)
{
	return has_prefix(device, drivers, RTE_DIM(drivers));
}

// The driver most like the one in a device's name; NULL if none is. *rest: the text after its name.
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

// The port with the card that has the representors; -1: there is none.
static int card_of(const struct conf *c, const char *pci)
{
	char name[CONF_PCI_NAME_MAX];

	for (unsigned int i = 0; i < c->n_ports; i++) {
		const char *device = c->ports[i].device;

		if (device != NULL && representor_of(device) != NULL &&
			!conf_device_is_representor(device) && conf_device_pci(name, device) &&
			strcmp(name, pci) == 0)
			return (int)i;
	}
	return -1;
}

static void check_representor(struct conf_reader *r, config_setting_t *s, const char *device)
{
	char pci[CONF_PCI_NAME_MAX];

	if (!conf_device_pci(pci, device))
		conf_err(r, s, "%s: representors are of a PCI device", conf_quote(device));
	else if (card_of(r->c, pci) < 0)
		conf_err(r, s,
			"%s: a port must have the device itself, with all its representors in "
			"brackets: device = \"%s,representor=[%s]\"",
			conf_quote(device), pci, conf_show(representor_of(device)));
	else if (strchr(strchr(device, ',') + 1, ',') != NULL)
		conf_err(r, s,
			"%s: a representor has no other arguments: give them to the port that has "
			"the device itself",
			conf_quote(device));
}

// A device that DPDK finds on a bus.
static void check_on_bus(
	struct conf_reader *r, config_setting_t *s, const char *bus, const char *name)
{
	rte_uuid_t uuid;

	if (strcmp(bus, "vmbus") == 0 && rte_uuid_parse(name, uuid) != 0)
		conf_err(r, s, "%s is not the UUID of a device in /sys/bus/vmbus/devices",
			conf_quote(name));
	else if (strcmp(bus, "auxiliary") == 0 && strchr(name, '.') == NULL)
		conf_err(r, s,
			"%s is not the name of a device in /sys/bus/auxiliary/devices, such as "
			"mlx5_core.sf.4",
			conf_quote(name));
}

// A driver that DPDK does not come with.
static bool has_plugin(const struct conf *c)
{
	for (unsigned int i = 0; i < c->n_eal_args; i++)
		if (c->eal_args[i] != NULL && strncmp(c->eal_args[i], "-d", 2) == 0)
			return true;
	return false;
}

static bool is_vhost(const char *device)
{
	return strstr(device, "_vhost") != NULL;
}

// Whether an argument of vhost's is on. Any number but 0 is, as the driver reads it.
static bool vhost_has(const char *device, const char *argument)
{
	const char *at = strstr(device, argument);

	return is_vhost(device) && at != NULL && strtoul(at + strlen(argument), NULL, 0) != 0;
}

// Whether a device shares an interface with the kernel, from which nothing hides its frames, or
// makes other devices that may. Those of AF_XDP would not be hidden when the interface was made
// again, as the port stays closed then.
static bool shares_interface(const char *device)
{
	static const char *const makers[] = {"net_failsafe", "net_vdev_netvsc"};

	return ((strstr(device, "pcap") != NULL || strncmp(device, "eth_af_packet", 13) == 0) &&
		       strstr(device, "iface") != NULL) ||
	       strstr(device, ",remote=") != NULL || conf_device_is_xdp(device) ||
	       has_prefix(device, makers, RTE_DIM(makers));
}

bool conf_device_is_composed(const char *device)
{
	static const char *const others[] = {"net_failsafe", "net_softnic", "net_vdev_netvsc"};

	return has_prefix(device, others, RTE_DIM(others));
}

void conf_check_device(
	struct conf_reader *r, config_setting_t *s, const char *device, unsigned int port)
{
	static const char *const bonds[] = {"net_bonding", "eth_bond"};
	char name[CONF_BUS_NAME_MAX];
	const char *bus = conf_device_bus(name, device);

	if (conf_device_is_representor(device))
		check_representor(r, s, device);
	else if (bus != NULL)
		check_on_bus(r, s, bus, name);
	else if (has_prefix(device, bonds, RTE_DIM(bonds)))
		conf_err(r, s,
			"%s: name its devices instead: members = [ \"0000:3b:00.0\", "
			"\"0000:3b:00.1\" ]",
			conf_quote(device));
	else if (!has_driver(device) && !has_plugin(r->c))
		reject_device(r, s, device, port);
	else if (vhost_has(device, ",legacy-ol-flags="))
		conf_err(r, s, "%s: legacy-ol-flags leaves checksums incomplete, remove it",
			conf_quote(device));
	else if (vhost_has(device, ",tso="))
		conf_err(r, s, "%s: remove tso, and write tso = true in the port",
			conf_quote(device));
	else if (r->c->ports[port].tso && bus == NULL && !is_vhost(device) &&
		 strstr(device, "virtio_user") == NULL)
		conf_err(r, s,
			"%s: tso is for virtual machines, must be net_vhost, net_virtio_user or a "
			"virtio card",
			conf_quote(device));
	else if (conf_has_host(r->c) && shares_interface(device))
		conf_err(r, s,
			"%s: the kernel would accept the interface's frames past all policies, "
			"because it has the gateway's addresses by host, must be net_af_packet",
			conf_quote(device));
	else if (conf_device_is_attached(device) && strstr(device, ",iface=") == NULL)
		conf_err(r, s, "%s has no interface argument, write device = \"%s,iface=eth1\"",
			conf_quote(device), conf_show(device));
}

// The link address of a member is that of its port, so its driver must be able to set it. One of
// virtio_user can if it was given one before.
void conf_check_member(
	struct conf_reader *r, config_setting_t *s, const char *device, unsigned int port)
{
	static const char *const taps[] = {"net_tap", "eth_tap"};
	static const char *const virtio_users[] = {"net_virtio_user", "virtio_user"};

	if (!has_driver(device) && is_interface(device))
		conf_err(r, s,
			"%s is neither a PCI address nor a DPDK driver: write the card's PCI "
			"address ('culvertctl devices'); to keep interfaces with the kernel, make "
			"a bond there, and write device = \"net_af_packet%u,iface=bond0\"",
			conf_quote(device), port);
	else if (conf_device_is_attached(device))
		conf_err(r, s,
			"%s is an interface of the kernel: make a bond there, and write device = "
			"\"net_af_packet%u,iface=bond0\" instead of members",
			conf_quote(device), port);
	else if (representor_of(device) != NULL)
		conf_err(r, s, "%s: a device with representors cannot be a member",
			conf_quote(device));
	else if (!conf_device_is_virtual(device) || has_prefix(device, taps, RTE_DIM(taps)))
		conf_check_device(r, s, device, port);
	else if (!has_prefix(device, virtio_users, RTE_DIM(virtio_users)))
		conf_err(r, s,
			"%s cannot be a member: must be a card, net_tap or net_virtio_user, whose "
			"link address can be set",
			conf_quote(device));
	else if (strstr(device, ",mac=") == NULL)
		conf_err(r, s,
			"%s: its link address can be set only if it has one, write "
			"\"%s,mac=02:00:00:00:00:01\"",
			conf_quote(device), conf_show(device));
}
