// SPDX-License-Identifier: BSD-3-Clause
#include "device_capability.h"

#include <linux/capability.h>
#include <string.h>

// The last one for the memory of rings, which is locked.
#define NETWORK (1ull << CAP_NET_ADMIN | 1ull << CAP_NET_RAW | 1ull << CAP_IPC_LOCK)

// Whether the driver makes an interface of the kernel's: a TAP, also the one that vhost-net needs.
static bool makes_interface(const char *device)
{
	char path[16];

	return strncmp(device, "net_tap", 7) == 0 || strncmp(device, "net_tun", 7) == 0 ||
	       strncmp(device, "eth_tap", 7) == 0 ||
	       (conf_device_arg(path, sizeof(path), device, "path") &&
		       strcmp(path, "/dev/vhost-net") == 0);
}

static uint64_t of_device(const char *device)
{
	if (conf_device_is_xdp(device)) // is not opened again, see struct port
		return 0;
	return !conf_device_is_virtual(device) || conf_device_is_attached(device) ||
			       makes_interface(device)
		       ? NETWORK
		       : 0;
}

uint64_t devices_capabilities(const struct conf_port devices[], unsigned int n)
{
	uint64_t needed = 0;

	for (unsigned int i = 0; i < n; i++)
		needed |= of_device(devices[i].device);
	return needed;
}
