// SPDX-License-Identifier: BSD-3-Clause
#include "device_kernel.h"

#include <linux/capability.h>
#include <stdatomic.h>

#include "announced_route.h"
#include "capability.h"
#include "host_route.h"

#define CHANGES (1ull << CAP_NET_ADMIN) // capability to change the kernel's network

static struct {
	struct host_thread *host; // NULL: there are no hosts
	atomic_bool hosts;        // their interfaces are to be changed
	atomic_bool announce;     // routes that are announced are to be changed, or compared
} kernel;

uint64_t device_kernel_capabilities(const struct conf *conf)
{
	return conf_has_host(conf) || conf->announce_metric != 0 ? CHANGES : 0;
}

void device_kernel_give(struct host_thread *h)
{
	kernel.host = h;
}

bool device_kernel_hosts_change(void)
{
	if (kernel.host == NULL)
		return false;
	atomic_store_explicit(&kernel.hosts, true, memory_order_release);
	return true;
}

void device_kernel_announce(void)
{
	atomic_store_explicit(&kernel.announce, true, memory_order_release);
}

void device_kernel_serve(uint64_t kept, const struct conf *(*current)(void))
{
	bool hosts = atomic_exchange_explicit(&kernel.hosts, false, memory_order_acquire);
	bool announce = atomic_exchange_explicit(&kernel.announce, false, memory_order_acquire);

	hosts &= kernel.host != NULL;
	if (!hosts && !announce)
		return;
	capabilities_set(kept, kept & CHANGES);
	// First: it needs no configuration, so it does not wait for the control thread, which may
	// be about to make a group standby.
	announced_routes_take();
	if (hosts) {
		host_thread_change(kernel.host);
		host_routes_set(current());
	}
	announced_routes_give(current());
	capabilities_set(kept, 0);
}
