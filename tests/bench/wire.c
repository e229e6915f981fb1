// SPDX-License-Identifier: BSD-3-Clause
#include "wire.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_bus_vdev.h>

#include "conf_text.h"
#include "die.h"

#define RING      1024   // descriptors of a peer, as many as a port has
#define LINK_MS   30000  // on a machine with other work
#define SETTLE_US 100000 // for threads of DPDK's
#define DEVICE    256

#define SOCKET "%3$s/s%2$u"

const struct wire_kind wire_kinds[] = {
	{.name = "memif",
		.port = "net_memif%1$u,role=server,socket=" SOCKET ",socket-abstract=no",
		.peer = "net_memif%1$u,role=client,socket=" SOCKET ",socket-abstract=no",
		.loses = true},
	{.name = "memif_client",
		.port = "net_memif%1$u,role=client,socket=" SOCKET ",socket-abstract=no",
		.peer = "net_memif%1$u,role=server,socket=" SOCKET ",socket-abstract=no",
		.peer_first = true,
		.loses = true},
	{.name = "virtio",
		.port = "net_virtio_user%1$u,path=" SOCKET ",server=1,queue_size=1024",
		.peer = "net_vhost%1$u,iface=" SOCKET ",client=1"},
	{.name = "virtio_client",
		.port = "net_virtio_user%1$u,path=" SOCKET ",queue_size=1024",
		.peer = "net_vhost%1$u,iface=" SOCKET,
		.peer_first = true},
	{.name = "vhost",
		.port = "net_vhost%1$u,iface=" SOCKET,
		.peer = "net_virtio_user%1$u,path=" SOCKET ",queue_size=1024",
		.loses = true},
	{.name = "tap",
		.port = "net_tap%1$u,iface=bench%2$u",
		.peer = "net_af_packet%1$u,iface=bench%2$u",
		.kernel = true},
	{.name = "af_packet",
		.port = "net_af_packet%1$u,iface=bench%2$u",
		.peer = "net_tap%1$u,iface=bench%2$u",
		.peer_first = true,
		.kernel = true},
	{.name = "af_xdp",
		.port = "net_af_xdp%1$u,iface=bench%2$u",
		.peer = "net_tap%1$u,iface=bench%2$u",
		.peer_first = true,
		.kernel = true},
	{0},
};

struct ports_text {
	const struct wires *wires;
	const char *args;
};

static void device_write(char text[DEVICE], const char *device, const struct wires *w,
	unsigned int number, unsigned int wire, const char *args)
{
	int len = snprintf(text, DEVICE, device, number, wire, w->folder);

	snprintf(text + len, DEVICE - (size_t)len, "%s", args);
}

static void conf_write(FILE *f, const void *arg)
{
	const struct ports_text *t = arg;

	fprintf(f, "flows = { max = 1024; };\nports = (");
	for (unsigned int i = 0; i < RTE_DIM(t->wires->port); i++) {
		char device[DEVICE];

		device_write(device, t->wires->kind->port, t->wires, 2 * i, i, t->args);
		fprintf(f,
			"%s{ name = \"%s\"; device = \"%s\"; addresses = [ \"192.0.%u.1/24\" ]; }",
			i > 0 ? "," : "", i > 0 ? "wan" : "lan", device, i);
	}
	fprintf(f, ");\n");
}

static void peer_open(struct wires *w, unsigned int i, const char *args, struct rte_mempool *pool)
{
	struct rte_eth_conf conf = {0};
	char device[DEVICE], *at;
	uint16_t id;

	device_write(device, w->kind->peer, w, 2 * i + 1, i, args);
	at = strchr(device, ',');
	*at = '\0';
	snprintf(w->name[i], sizeof(w->name[i]), "%.31s", device);
	if (rte_vdev_init(device, at + 1) < 0 || rte_eth_dev_get_port_by_name(device, &id) < 0 ||
		rte_eth_dev_configure(id, 1, 1, &conf) < 0 ||
		rte_eth_rx_queue_setup(id, 0, RING, SOCKET_ID_ANY, NULL, pool) < 0 ||
		rte_eth_tx_queue_setup(id, 0, RING, SOCKET_ID_ANY, NULL) < 0 ||
		rte_eth_dev_start(id) < 0)
		die("device %s,%s does not start", device, at + 1);
	w->peer[i] = id;
}

static void port_open_or_die(struct wires *w, unsigned int i, struct rte_mempool *pool)
{
	if (port_open(&w->port[i], w->conf, &w->conf->ports[i], pool) < 0)
		die("port \"%s\" does not open", w->conf->ports[i].name);
	w->port[i].open = true;
}

static bool has_link(uint16_t id)
{
	struct rte_eth_link link;

	return rte_eth_link_get_nowait(id, &link) == 0 && link.link_status;
}

static void link_await(const struct wires *w, unsigned int i)
{
	for (unsigned int ms = 0; !has_link(w->port[i].id) || !has_link(w->peer[i]); ms++) {
		if (ms > LINK_MS)
			die("wire %u has no link", i);
		usleep(1000);
	}
	usleep(SETTLE_US);
}

// The port has lost its peer, if it is of a kind that notices.
static void loss_await(const struct wires *w, unsigned int i)
{
	for (unsigned int ms = 0; w->kind->loses && has_link(w->port[i].id) && ms < LINK_MS; ms++)
		usleep(1000);
	usleep(SETTLE_US);
}

// Nobody else is to connect.
static void folder_remove(const struct wires *w)
{
	char path[64];

	for (unsigned int i = 0; i < RTE_DIM(w->port); i++) {
		snprintf(path, sizeof(path), "%s/s%u", w->folder, i);
		unlink(path);
	}
	rmdir(w->folder);
}

void wires_open(struct wires *w, const struct wire_kind *kind, const char *args,
	const char *peer_args, struct rte_mempool *pool, struct rte_mempool *peer_pool)
{
	signal(SIGPIPE, SIG_IGN); // at the end, drivers write to peers that have gone
	*w = (struct wires){.kind = kind, .folder = "/tmp/culvert-bench-XXXXXX"};
	if (mkdtemp(w->folder) == NULL)
		die("no folder");
	for (unsigned int i = 0; i < RTE_DIM(w->peer) && kind->peer_first; i++)
		peer_open(w, i, peer_args, peer_pool);
	w->conf = conf_written(conf_write, &(struct ports_text){w, args});
	for (unsigned int i = 0; i < RTE_DIM(w->port); i++)
		port_open_or_die(w, i, pool);
	for (unsigned int i = 0; i < RTE_DIM(w->peer) && !kind->peer_first; i++)
		peer_open(w, i, peer_args, peer_pool);
	for (unsigned int i = 0; i < RTE_DIM(w->port); i++)
		link_await(w, i);
	folder_remove(w);
}

// Drivers notice on a thread of DPDK's that their peer has left, and would free the same memory as
// the thread that closes them.
void wires_close(struct wires *w)
{
	for (unsigned int i = 0; i < RTE_DIM(w->peer); i++) {
		rte_eth_dev_stop(w->peer[i]);
		rte_vdev_uninit(w->name[i]);
	}
	for (unsigned int i = 0; i < RTE_DIM(w->port); i++)
		loss_await(w, i);
	for (unsigned int i = 0; i < RTE_DIM(w->port); i++)
		port_close(&w->port[i]);
	conf_free(w->conf);
}
