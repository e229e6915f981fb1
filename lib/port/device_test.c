// SPDX-License-Identifier: BSD-3-Clause
#include "device_test.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_esp.h>
#include <rte_ip.h>
#include <rte_version.h>

#include "device_watch.h"
#include "dpdk.h"
#include "eal_log.h"
#include "log.h"
#include "machine.h"
#include "packet_pool.h"
#include "port.h"
#include "reopen.h"

#define DEVICES_MAX 2
#define BUFFERS     8191
#define FRAMES      64 // of as many SAs
#define QUEUES_MAX  16
#define SPI         0x10001
#define ID          0x7c56 // identification of the test's packets
#define LINK_MS     5000
// DPDK's interrupt thread notices at the other end of a wire that this one was closed (memif). It
// frees memory without a lock, and gives no sign at the end.
#define SETTLE_MS 200
#define FRAMES_MS 1000
#define VLAN      4000
#define MTU       1500

static bool failed;

// A line: device, check, result.
#define say(p, check, fmt, ...)                                                                    \
	printf("%-14.*s  %-12s  " fmt "\n", (int)strcspn((p)->conf->device, ","),                  \
		(p)->conf->device, check, ##__VA_ARGS__)

#define say_failed(p, check, fmt, ...)                                                             \
	do {                                                                                       \
		say(p, check, "FAILED: " fmt, ##__VA_ARGS__);                                      \
		failed = true;                                                                     \
	} while (0)

// --- the configuration ---

// One worker, or two for two queues.
static void write_cpus(FILE *f)
{
	const char *comma = "";
	cpu_set_t set;
	int n = 0;

	sched_getaffinity(0, sizeof(set), &set);
	fprintf(f, "cpus = { workers = [");
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &set)) {
			fprintf(f, "%s %d", comma, i);
			comma = ",";
			n++;
		}
	fprintf(f, " ]; };\n");
}

static void write_conf(FILE *f, char *const device[], unsigned int n)
{
	bool virtual = true;

	for (unsigned int i = 0; i < n; i++)
		virtual &= conf_device_is_virtual(device[i]);
	fprintf(f, "instance = \"test-%d\"; memory = { size = 256; hugepages = %s; };\n",
		(int)getpid(), virtual ? "false" : "true");
	fprintf(f, "flows = { max = 1024; };\n");
	write_cpus(f);
	fprintf(f, "ports = (");
	for (unsigned int i = 0; i < n; i++)
		fprintf(f,
			"%s\n{ name = \"%c\"; device = \"%s\"; side = \"unprotected\"; "
			"addresses = [ \"192.0.2.%u/30\" ]; },\n"
			"{ name = \"%c-vlan\"; parent = \"%c\"; vlan = %u; "
			"addresses = [ \"198.51.100.%u/30\" ]; }",
			i > 0 ? "," : "", 'a' + i, device[i], 4 * i + 1, 'a' + i, 'a' + i, VLAN,
			4 * i + 1);
	fprintf(f, ");\n");
}

// NULL after a message.
static struct conf *conf_make(char *const device[], unsigned int n)
{
	char path[] = "/tmp/culvert-test.XXXXXX"; // with mode 0600
	int fd = mkstemp(path);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
	struct conf *conf;

	if (f == NULL) {
		log_error("cannot write %s: %s", path, strerror(errno));
		return NULL;
	}
	write_conf(f, device, n);
	fclose(f);
	conf = conf_load(path, NULL, stderr);
	unlink(path);
	return conf;
}

// --- checks of one device ---

static void check_capabilities(const struct port *p, const struct rte_eth_dev_info *info)
{
	say(p, "open", "ok: %s, %u of %u RX queues, %u of %u TX queues, largest mtu %u", p->driver,
		p->n_rx, info->max_rx_queues, p->n_tx, info->max_tx_queues, info->max_mtu);
	say(p, "offers", "rx_offloads=%#" PRIx64 " tx_offloads=%#" PRIx64 " rss=%#" PRIx64,
		info->rx_offload_capa, info->tx_offload_capa, info->flow_type_rss_offloads);
}

static void check_distribution(const struct port *p)
{
	const struct port_rules *r = p->rules;

	if (p->n_rx == 1)
		say(p, "esp", "not needed: one RX queue");
	else if (port_offloads_spread_esp(&p->offloads))
		say(p, "esp", "ok: distributed by RSS");
	else if (r->esp_hashed)
		say(p, "esp", "ok: distributed by a rule");
	else
		say(p, "esp", "no: refused for %s: %s", r->what, r->why);
	if (p->n_rx > 1)
		say(p, "esp_udp", "%s", r->udp_hashed ? "ok: distributed by a rule" : "no");
}

// A rule for one SA, as steer makes them.
static void check_rule(const struct port *p, enum flow_match match, const char *check)
{
	const struct flow_rule rule = {.match = match,
		.v4 = true,
		.spi = rte_cpu_to_be_32(SPI),
		.action = FLOW_QUEUE,
		.queue = (uint16_t)(p->n_rx - 1)};
	const struct flow_device d = {.id = p->id, .n_rx = p->n_rx};
	struct rte_flow *made;
	char why[128] = "";

	eal_log_begin();
	made = flow_rule_create(&d, &rule, why, sizeof(why));
	eal_log_end(false);
	if (made == NULL) {
		say(p, check, "no: %s", why);
		return;
	}
	flow_rule_destroy(&d, made);
	say(p, check, "ok: accepted and removed");
}

// The filter for the port's VLAN was set when it was opened; another one is added and removed.
static void check_vlan(const struct port *p)
{
	bool strips = (p->offloads.rx & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0;
	int rc = -ENOTSUP;

	if ((p->offloads.rx & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) != 0) {
		rc = rte_eth_dev_vlan_filter(p->id, VLAN + 1, 1);
		if (rc == 0)
			rc = rte_eth_dev_vlan_filter(p->id, VLAN + 1, 0);
		if (rc < 0)
			say_failed(p, "vlan_filter", "%s", strerror(-rc));
	}
	if (rc == 0 || rc == -ENOTSUP)
		say(p, "vlan", "%s; tags removed by %s, inserted by %s",
			rc == 0 ? "ok: filter" : "no filter", strips ? "the device" : "workers",
			p->inserts_vlan ? "the device" : "workers");
}

static void check_mtu(const struct port *p, const struct rte_eth_dev_info *info)
{
	uint16_t largest = (uint16_t)RTE_MIN(info->max_mtu, 9000u);
	int rc = conf_device_is_attached(p->conf->device)
			 ? -ENOTSUP // would be that of the interface
			 : rte_eth_dev_set_mtu(p->id, largest);

	if (rc == 0)
		rc = rte_eth_dev_set_mtu(p->id, MTU);
	if (rc == 0)
		say(p, "mtu", "ok: %u and %u", largest, MTU);
	else if (rc == -ENOTSUP || rc == -EBUSY)
		say(p, "mtu", "no: not changed while the device runs");
	else
		say(p, "mtu", "no: %u refused: %s", largest, strerror(-rc));
}

// Waits for the link to be up or down. Returns how many milliseconds, LINK_MS if it did not change.
static unsigned int link_wait(const struct port *p, bool up)
{
	unsigned int ms = 0;

	while (port_has_link(p) != up && ms < LINK_MS) {
		vhost_link_settle(p->id);
		rte_delay_us_sleep(1000);
		ms++;
	}
	return ms;
}

static void check_link(const struct port *p, const struct rte_eth_dev_info *info)
{
	struct rte_eth_link link = {0};

	link_wait(p, true);
	if (rte_eth_link_get_nowait(p->id, &link) < 0)
		link.link_speed = 0;
	say(p, "link", "%s, %u Mb/s; events of the link: %s, of a removal: %s",
		port_has_link(p) ? "up" : "down", link.link_speed,
		(*info->dev_flags & RTE_ETH_DEV_INTR_LSC) != 0 ? "offered" : "no",
		(*info->dev_flags & RTE_ETH_DEV_INTR_RMV) != 0 ? "offered" : "no");
}

static void check_device(const struct port *p)
{
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(p->id, &info) < 0)
		return;
	check_capabilities(p, &info);
	check_distribution(p);
	check_rule(p, FLOW_ESP, "rule_esp");
	check_rule(p, FLOW_ESP_UDP, "rule_esp_udp");
	check_vlan(p);
	check_mtu(p, &info);
	check_link(p, &info);
}

// --- frames ---

struct frame {
	struct rte_ether_hdr eth;
	struct rte_ipv4_hdr ip;
	struct rte_esp_hdr esp;
	uint8_t rest[64];
} __rte_packed __rte_aligned(2);

// Result for FRAMES frames, of which every other one has a wrong header checksum.
struct received {
	unsigned int n, wrong;             // wrong: not as sent
	unsigned int good, bad, misjudged; // checksums, as reported by the device
	unsigned int queues;               // that received some
};

static bool is_broken(unsigned int i)
{
	return i % 2 != 0;
}

static void frame_fill(
	struct frame *f, unsigned int i, const struct port *from, const struct port *to)
{
	*f = (struct frame){
		.eth = {.dst_addr = to->mac,
			.src_addr = from->mac,
			.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4)},
		.ip = {.version_ihl = RTE_IPV4_VHL_DEF,
			.total_length = rte_cpu_to_be_16(sizeof(*f) - sizeof(f->eth)),
			.packet_id = RTE_BE16(ID),
			.time_to_live = 64,
			.next_proto_id = IPPROTO_ESP,
			.src_addr = RTE_BE32(0xc0000201),
			.dst_addr = RTE_BE32(0xc0000202)},
		.esp = {.spi = rte_cpu_to_be_32(SPI + i), .seq = RTE_BE32(1)},
	};
	memset(f->rest, (int)i, sizeof(f->rest));
	f->ip.hdr_checksum = rte_ipv4_cksum(&f->ip);
	f->ip.hdr_checksum ^= is_broken(i) ? 1 : 0;
}

static void frames_send(const struct port *from, const struct port *to, struct rte_mempool *pool)
{
	for (unsigned int i = 0; i < FRAMES; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

		if (m == NULL)
			return;
		frame_fill(
			(struct frame *)rte_pktmbuf_append(m, sizeof(struct frame)), i, from, to);
		if (rte_eth_tx_burst(from->id, 0, &m, 1) == 0)
			rte_pktmbuf_free(m);
	}
}

static void frame_judge(struct received *r, const struct rte_mbuf *m, const struct port *from,
	const struct port *to)
{
	const struct frame *f = rte_pktmbuf_mtod(m, const struct frame *);
	uint64_t sum = m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK;
	struct frame sent;
	unsigned int i;

	if (rte_pktmbuf_data_len(m) < sizeof(*f) || f->ip.packet_id != RTE_BE16(ID) ||
		f->ip.next_proto_id != IPPROTO_ESP)
		return; // somebody else's
	i = rte_be_to_cpu_32(f->esp.spi) - SPI;
	frame_fill(&sent, i, from, to);
	r->n++;
	r->wrong += memcmp(f, &sent, sizeof(sent)) != 0;
	r->good += sum == RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	r->bad += sum == RTE_MBUF_F_RX_IP_CKSUM_BAD;
	r->misjudged +=
		sum == (is_broken(i) ? RTE_MBUF_F_RX_IP_CKSUM_GOOD : RTE_MBUF_F_RX_IP_CKSUM_BAD);
}

static struct received frames_receive(const struct port *from, const struct port *to)
{
	struct received r = {0};
	bool used[QUEUES_MAX] = {false};
	struct rte_mbuf *m;

	for (unsigned int ms = 0; ms < FRAMES_MS && r.n < FRAMES; ms++) {
		for (uint16_t q = 0; q < RTE_MIN(to->n_rx, QUEUES_MAX); q++)
			while (rte_eth_rx_burst(to->id, q, &m, 1) == 1) {
				unsigned int before = r.n;

				frame_judge(&r, m, from, to);
				rte_pktmbuf_free(m);
				r.queues += r.n > before && !used[q];
				used[q] |= r.n > before;
			}
		rte_delay_us_sleep(1000);
	}
	return r;
}

// Discards frames received before.
static void frames_discard(const struct port *p)
{
	struct rte_mbuf *m;

	for (uint16_t q = 0; q < p->n_rx; q++)
		for (unsigned int i = 0; i < BUFFERS && rte_eth_rx_burst(p->id, q, &m, 1) == 1; i++)
			rte_pktmbuf_free(m);
}

// alone: one device, which need not receive its own frames.
static void check_frames(
	const struct port *from, const struct port *to, struct rte_mempool *pool, bool alone)
{
	struct received r;

	frames_discard(to);
	frames_send(from, to, pool);
	r = frames_receive(from, to);
	if (alone && r.n == 0) {
		say(to, "frames", "not tested: give a second device, connected to this one");
		return;
	}
	if (r.n == FRAMES && r.wrong == 0)
		say(to, "frames", "ok: %u of %u received, by %u of %u queues", r.n, FRAMES,
			r.queues, to->n_rx);
	else
		say_failed(to, "frames", "%u of %u received, %u of them changed", r.n, FRAMES,
			r.wrong);
	if (r.misjudged > 0)
		say_failed(to, "checksums", "%u misjudged", r.misjudged);
	else
		say(to, "checksums", "%s: %u judged good, %u bad, %u left to workers",
			r.good + r.bad > 0 ? "ok" : "no", r.good, r.bad, r.n - r.good - r.bad);
}

// The other end of the cable is switched off and on.
static void check_link_change(const struct port *from, const struct port *to)
{
	unsigned int down, up;
	int rc = rte_eth_dev_set_link_down(from->id);

	if (rc < 0) {
		say(to, "link_change", "not tested: %s cannot be switched off: %s", from->driver,
			strerror(-rc));
		return;
	}
	down = link_wait(to, false);
	rte_eth_dev_set_link_up(from->id);
	up = link_wait(to, true);
	if (down < LINK_MS && up < LINK_MS)
		say(to, "link_change", "ok: down after %u ms, up after %u ms", down, up);
	else
		say(to, "link_change", "no: %s when the other end was switched off and on",
			down < LINK_MS ? "stayed down" : "stayed up");
}

// --- all ---

static void check_all(struct port port[], unsigned int n, struct rte_mempool *pool)
{
	for (unsigned int i = 0; i < n; i++)
		check_device(&port[i]);
	check_frames(&port[0], &port[n - 1], pool, n == 1);
	if (n > 1)
		check_frames(&port[1], &port[0], pool, false);
	for (unsigned int i = 0; n > 1 && i < n; i++)
		check_link_change(&port[1 - i], &port[i]);
}

static int ports_test(const struct conf *conf)
{
	struct rte_mempool *pool =
		packet_pool_new("packets", BUFFERS, 256, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	static struct port port[DEVICES_MAX];
	unsigned int n = 0;
	int rc = 0;

	for (unsigned int i = 0; i < conf->n_ports && rc == 0 && pool != NULL; i++) {
		if (conf->ports[i].vlan != 0)
			continue;
		rc = port_open(&port[n], conf, &conf->ports[i], pool);
		port[n].open = rc == 0;
		n += rc == 0;
	}
	if (rc == 0 && pool != NULL)
		check_all(port, n, pool);
	for (unsigned int i = 0; i < n; i++) {
		port_close(&port[i]);
		rte_delay_us_sleep(1000 * SETTLE_MS);
		say(&port[i], "close", "ok");
	}
	rte_mempool_free(pool);
	return rc < 0 || pool == NULL || failed ? -EIO : 0;
}

int device_test(const char *version, char *const device[], unsigned int n)
{
	struct conf *conf;
	int rc;

	if (n == 0 || n > DEVICES_MAX) {
		log_error("one device or two");
		return -EIO;
	}
	conf = conf_make(device, n);
	if (conf == NULL)
		return -EIO;
	printf("culvertd %s, %s\n", version, rte_version());
	rc = machine_check(conf);
	if (rc == 0)
		rc = dpdk_start(conf, false);
	if (rc == 0) {
		reopen_listen();
		rc = ports_test(conf);
		dpdk_stop(conf);
	}
	conf_free(conf);
	return rc;
}
