// SPDX-License-Identifier: BSD-3-Clause
// Ports from their configuration to started devices of DPDK: queues, link addresses, VLANs, groups,
// sockets, and the messages about everything that is wrong.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control.h"
#include "device_watch.h"
#include "port.h"
#include "ports.h"
#include "ports_start.h"
#include "reopen.h"

#define LAN_OF(device)                                                                             \
	"{ name = \"lan\"; device = \"" device                                                     \
	"\"; side = \"protected\"; addresses = [ \"10.1.0.1/24\" ]; "
#define LAN LAN_OF("net_ring0")

// A folder for sockets.
static char folder[] = "/tmp/culvert-ports.XXXXXX";

static int begin(void **state)
{
	if (mkdtemp(folder) == NULL || ports_group_start(state) < 0)
		return -1;
	reopen_listen();
	return 0;
}

static int end(void **state)
{
	rmdir(folder);
	return ports_group_stop(state);
}

// Opening the port of this device fails, with this line in the log.
static void refuse(const char *device, const char *more, const char *line)
{
	struct port p = {0};
	char text[512];
	struct conf *conf;

	snprintf(text, sizeof(text),
		"{ name = \"lan\"; device = \"%s\"; side = \"protected\"; "
		"addresses = [ \"10.1.0.1/24\" ]; %s }",
		device, more);
	conf = ports_conf(text);
	assert_int_equal(port_open(&p, conf, &conf->ports[0], ports_pool), -EIO);
	assert_logged(line);
	conf_free(conf);
}

static void test_frames(void **state)
{
	struct conf *conf = ports_conf(LAN "}");
	struct port p = {0};

	(void)state;
	port_open_ok(&p, conf, 0);
	assert_string_equal(p.driver, "net_ring");
	assert_int_equal(p.n_rx, 2); // one for each worker
	assert_int_equal(p.n_tx, 2);
	assert_true(port_has_link(&p));
	frame_send(p.id, 1); // the device receives its own frames
	assert_int_equal(frame_receive(p.id), 1);
	port_close(&p);
	conf_free(conf);
}

static void test_link_address_stays(void **state)
{
	const struct rte_ether_addr set = {{2, 0, 0, 0, 0, 1}};
	struct conf *conf = ports_conf(LAN_OF("net_null0") "mac = \"02:00:00:00:00:01\"; }");
	struct port p = {0};

	(void)state;
	for (unsigned int i = 0; i < 2; i++) { // also another device
		struct rte_ether_addr own;

		port_open_ok(&p, conf, 0);
		rte_eth_macaddr_get(p.id, &own);
		assert_memory_equal(&own, &set, sizeof(own));
		assert_memory_equal(&p.mac, &set, sizeof(p.mac));
		port_close(&p);
	}
	conf_free(conf);
}

static void test_queues_stay(void **state)
{
	struct conf *conf = ports_conf(LAN "rx_queues = 1; }");
	struct port p = {0};

	(void)state;
	port_open_ok(&p, conf, 0);
	assert_int_equal(p.n_rx, 1);
	port_close(&p);
	p.n_rx = 17; // as many as another device had
	assert_int_equal(port_open(&p, conf, &conf->ports[0], ports_pool), -EIO);
	assert_logged("device \"net_ring0\" has 16 RX and 16 TX queues, but the port has 17 and 2: "
		      "restart culvertd");
	conf_free(conf);
}

static void test_refused(void **state)
{
	(void)state;
	refuse("net_ring0", "mac = \"02:00:00:00:00:01\";",
		"device \"net_ring0\": mac: the device does not accept this address");
	refuse("net_null0,nonsense=1", "", "cannot open device \"net_null0,nonsense=1\"");
}

static void test_too_many_queues(void **state)
{
	struct conf *conf = ports_conf(LAN "}");
	struct port p = {0};

	(void)state;
	conf->ports[0].rx_queues = 17;
	assert_int_equal(port_open(&p, conf, &conf->ports[0], ports_pool), -EIO);
	assert_logged("rx_queues is 17, but device \"net_ring0\" has 16");
	conf_free(conf);
}

// --- VLANs, groups and guests ---

#define GUESTS                                                                                     \
	"{ name = \"guests\"; parent = \"lan\"; vlan = 7; side = \"protected\"; addresses = [ "    \
	"\"10.7.0.1/24\" ]; }"

static void test_vlans(void **state)
{
	struct conf *conf = ports_conf(LAN "}, " GUESTS);
	struct port ports[2] = {0};

	(void)state;
	port_open_ok(&ports[0], conf, 0);
	assert_int_equal(ports_add_vlans(ports, conf), 0);
	assert_ptr_equal(ports[1].parent, &ports[0]);
	assert_ptr_equal(ports[0].next_vlan, &ports[1]);
	assert_int_equal(ports[0].vlans->port[0], 0);
	assert_int_equal(ports[0].vlans->port[7], 1);
	assert_int_equal(ports[0].vlans->port[8], VLAN_NONE);
	assert_true(port_is_open(&ports[1]));
	assert_true(port_has_link(&ports[1]));
	port_close(&ports[0]);
	port_free(&ports[0]);
	conf_free(conf);
}

// VLANs that a reload adds and removes: workers look up the number of the port by the tag.
static void test_vlans_change(void **state)
{
	struct conf *conf =
		ports_conf(LAN "}, " GUESTS ", { name = \"office\"; parent = \"lan\"; vlan = 8; "
			       "side = \"protected\"; addresses = [ \"10.8.0.1/24\" ]; }");
	struct port ports[3] = {0};

	(void)state;
	conf->n_ports = 2;
	port_open_ok(&ports[0], conf, 0);
	assert_int_equal(ports_add_vlans(ports, conf), 0);
	conf->n_ports = 3;
	assert_int_equal(port_prepare_vlan(ports, &conf->ports[2], 2), 0);
	assert_int_equal(ports[0].vlans->port[8], VLAN_NONE);     // not before there is a snapshot
	conf->ports[1] = (struct conf_port){.unprotected = true}; // guests is removed
	ports_follow_vlans(ports, conf);
	assert_int_equal(ports[0].vlans->port[0], 0);
	assert_int_equal(ports[0].vlans->port[7], VLAN_NONE);
	assert_int_equal(ports[0].vlans->port[8], 2);
	assert_ptr_equal(ports[0].next_vlan, &ports[2]);
	assert_null(ports[2].next_vlan);
	assert_ptr_equal(ports[2].conf, &conf->ports[2]);
	assert_ptr_equal(port_device(&ports[1]), &ports[0]); // for frames in flight
	port_vlans_set(&ports[0], conf);
	port_close(&ports[0]);
	port_free(&ports[0]);
	conf_free(conf);
}

// The first VLAN of a device, and one whose configuration is discarded.
static void test_first_vlan(void **state)
{
	struct conf *conf = ports_conf(LAN "}, " GUESTS);
	struct port ports[2] = {0};

	(void)state;
	conf->n_ports = 1;
	conf->ports[0].takes_vlans = false;
	port_open_ok(&ports[0], conf, 0);
	assert_int_equal(ports_add_vlans(ports, conf), 0);
	assert_null(ports[0].vlans);
	assert_int_equal(port_prepare_vlan(ports, &conf->ports[1], 1), 0);
	ports_forget_vlans(ports, conf);
	assert_null(ports[0].vlans);
	assert_int_equal(port_prepare_vlan(ports, &conf->ports[1], 1), 0);
	assert_int_equal(ports[0].vlans->port[0], 0);
	assert_int_equal(ports[0].vlans->port[7], VLAN_NONE);
	conf->n_ports = 2;
	conf->ports[0].takes_vlans = true;
	ports_follow_vlans(ports, conf);
	assert_int_equal(ports[0].vlans->port[7], 1);
	port_vlans_set(&ports[0], conf);
	assert_false(ports_logged("VLANs"));
	ports_forget_vlans(ports, conf);
	assert_non_null(ports[0].vlans);
	port_close(&ports[0]);
	port_free(&ports[0]);
	conf_free(conf);
}

// The device has no list of groups: it receives the frames of all.
static void test_groups(void **state)
{
	const struct ip_addr group = {.b = {0xff, 2, [15] = 1}};
	struct conf *conf = ports_conf(LAN "}");
	struct port p = {0};

	(void)state;
	port_open_ok(&p, conf, 0);
	port_listen(&p, &group, 1);
	port_groups_set(&p);
	assert_int_equal(rte_eth_allmulticast_get(p.id), 1);
	assert_false(ports_logged("multicast"));
	port_close(&p);
	conf_free(conf);
}

static void test_guest_addresses(void **state)
{
	const struct rte_ether_addr mac = {{0, 0, 0x5e, 0, 1, 1}};
	struct conf *conf = ports_conf(LAN_OF("net_null0") "}");
	struct port p = {0};

	(void)state;
	port_open_ok(&p, conf, 0);
	conf->ports[0].guests.n = 2; // one has the link address of the port
	conf->ports[0].guests.mac[0] = mac;
	port_groups_set(&p);
	assert_int_equal(p.n_macs, 1);
	assert_memory_equal(&p.macs[0], &mac, sizeof(mac));
	conf->ports[0].guests.n = 0;
	port_groups_set(&p);
	assert_int_equal(p.n_macs, 0);
	port_close(&p);
	conf_free(conf);
}

// --- sockets ---

static int socket_listen(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void test_socket_in_use(void **state)
{
	char path[64], device[128], line[128];
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/vhost", folder);
	snprintf(device, sizeof(device), "net_vhost0,iface=%s", path);
	snprintf(line, sizeof(line), "another process listens on %s", path);
	fd = socket_listen(path);
	refuse(device, "", line);
	assert_int_equal(access(path, F_OK), 0);
	close(fd);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(line, sizeof(line), "%s exists and is no socket", path);
	refuse(device, "", line);
	assert_int_equal(rmdir(path), 0);
}

static void test_socket_of_earlier_process(void **state)
{
	char path[64], text[256];
	struct port p = {0};
	struct conf *conf;

	(void)state;
	snprintf(path, sizeof(path), "%s/vhost", folder);
	close(socket_listen(path));
	snprintf(text, sizeof(text),
		"{ name = \"lan\"; device = \"net_vhost0,iface=%s\"; side = \"protected\"; "
		"addresses = [ \"10.1.0.1/24\" ]; }",
		path);
	conf = ports_conf(text);
	port_open_ok(&p, conf, 0);
	assert_logged("the socket of an earlier process");
	assert_false(port_has_link(&p)); // without a peer
	port_close(&p);
	assert_int_equal(access(path, F_OK), -1);
	conf_free(conf);
}

// Buffers of frames that the peer has read do not wait until their ring is full.
static void assert_sent_are_freed(uint16_t from, uint16_t to)
{
	const unsigned int used = rte_mempool_in_use_count(ports_pool);

	for (unsigned int i = 0; i < 200; i++) { // of the 256 of the ring
		frame_send(from, 7);
		assert_int_equal(frame_receive(to), 7);
	}
	assert_true(rte_mempool_in_use_count(ports_pool) <= used + 65);
}

// Two ports of one process are each other's peers.
static void test_vhost_pair(void **state)
{
	char path[64], text[512];
	struct port vhost = {0}, virtio = {0};
	struct conf *conf;

	(void)state;
	snprintf(path, sizeof(path), "%s/vhost", folder);
	snprintf(text, sizeof(text),
		"{ name = \"lan\"; device = \"net_vhost0,iface=%s\"; side = \"protected\"; "
		"addresses = [ \"10.1.0.1/24\" ]; }, "
		"{ name = \"wan\"; device = \"net_virtio_user0,path=%s\"; side = \"unprotected\"; "
		"addresses = [ \"192.0.2.1/24\" ]; }",
		path, path);
	conf = ports_conf(text);
	port_open_ok(&vhost, conf, 0);
	port_open_ok(&virtio, conf, 1);
	while (!vhost_link_is_due(vhost.id)) // DPDK's thread reports the peer
		wait_a_moment();
	assert_false(port_has_link(&vhost)); // before its queues are switched on
	vhost_link_settle(vhost.id);
	assert_true(port_has_link(&vhost));
	assert_true(port_has_link(&virtio));
	frame_send(virtio.id, 5);
	assert_int_equal(frame_receive(vhost.id), 5);
	frame_send(vhost.id, 6);
	assert_int_equal(frame_receive(virtio.id), 6);
	assert_sent_are_freed(virtio.id, vhost.id);
	port_close(&virtio);
	while (port_has_link(&vhost))
		wait_a_moment();
	assert_false(vhost_link_is_taken_over(vhost.id));
	port_close(&vhost);
	conf_free(conf);
}

// --- the start ---

static void ports_close(struct port ports[], const struct conf *conf)
{
	for (unsigned int i = 0; i < conf->n_ports; i++)
		if (ports[i].open)
			port_close(&ports[i]);
}

// One waits for its peer while the others serve.
static void test_start(void **state)
{
	static struct port ports[PORTS_MAX];
	struct conf *conf;
	struct control c;

	(void)state;
	conf = ports_conf(
		LAN "}, { name = \"wan\"; device = \"net_memif0,socket=/nowhere\"; side = "
		    "\"unprotected\"; addresses = [ \"192.0.2.1/24\" ]; }");
	c = (struct control){.conf = conf, .pool = ports_pool};
	assert_int_equal(ports_start(&c, ports), 0);
	assert_true(port_is_open(&ports[0]));
	assert_false(port_is_open(&ports[1]));
	assert_logged("port \"wan\": no process listens on @/nowhere");
	assert_false(rte_is_zero_ether_addr(&ports[1].mac)); // that of the device to come
	assert_memory_equal(&c.ports[1].mac, &ports[1].mac, sizeof(ports[1].mac));
	ports_close(ports, conf);
	conf_free(conf);
}

static void test_start_reports_all(void **state)
{
	static struct port ports[PORTS_MAX];
	struct conf *conf;
	struct control c;

	(void)state;
	conf = ports_conf(LAN "}, { name = \"wan\"; device = \"net_null0,no=1\"; side = "
			      "\"unprotected\"; addresses = [ \"192.0.2.1/24\" ]; }");
	conf->ports[0].rx_queues = 17;
	c = (struct control){.conf = conf, .pool = ports_pool};
	assert_int_equal(ports_start(&c, ports), -EIO);
	assert_logged("port \"lan\": rx_queues is 17");
	assert_logged("port \"wan\": cannot open device");
	ports_close(ports, conf);
	conf_free(conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_link_address_stays),
		cmocka_unit_test(test_queues_stay),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_many_queues),
		cmocka_unit_test(test_vlans),
		cmocka_unit_test(test_vlans_change),
		cmocka_unit_test(test_first_vlan),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_guest_addresses),
		cmocka_unit_test(test_socket_in_use),
		cmocka_unit_test(test_socket_of_earlier_process),
		cmocka_unit_test(test_vhost_pair),
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_start_reports_all),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
