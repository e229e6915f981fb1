// SPDX-License-Identifier: BSD-3-Clause
#include "ports.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "eal.h"
#include "log.h"
#include "packet_pool.h"

#define BUFFERS   8191
#define FRAME_LEN 64
#define TYPE      RTE_BE16(0x88b5) // for experiments (IEEE 802)
#define FRAME_MS  2000             // until a frame must be there

struct rte_mempool *ports_pool;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char logged[65536];

int ports_group_start(void **state)
{
	(void)state;
	eal_start();
	ports_pool =
		packet_pool_new("packets", BUFFERS, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	return ports_pool != NULL ? 0 : -1;
}

int ports_group_stop(void **state)
{
	unsigned int lost = rte_mempool_in_use_count(ports_pool);

	(void)state;
	rte_mempool_free(ports_pool);
	eal_stop();
	return lost == 0 ? 0 : -1;
}

struct conf *ports_conf(const char *ports)
{
	char path[] = "/tmp/culvert-ports.XXXXXX"; // with mode 0600
	FILE *f = fdopen(mkstemp(path), "w");
	struct conf *conf;

	assert_non_null(f);
	fprintf(f,
		"memory = { size = 256; hugepages = false; }; flows = { max = 1024; };\n"
		"cpus = { workers = [ 0, 1 ]; };\nports = ( %s );\n",
		ports);
	fclose(f);
	ports_log_empty();
	conf = conf_load(path, NULL, stderr);
	unlink(path);
	assert_non_null(conf);
	return conf;
}

// --- the log ---

void __wrap_log_line(enum log_level level, const char *fmt, ...);

void __wrap_log_line(enum log_level level, const char *fmt, ...)
{
	va_list args;
	size_t n;

	(void)level;
	if (log_is_muted())
		return;
	pthread_mutex_lock(&lock);
	n = strlen(logged);
	va_start(args, fmt);
	vsnprintf(logged + n, sizeof(logged) - n, fmt, args);
	va_end(args);
	n = strlen(logged);
	snprintf(logged + n, sizeof(logged) - n, "\n");
	pthread_mutex_unlock(&lock);
}

void ports_log_empty(void)
{
	pthread_mutex_lock(&lock);
	logged[0] = '\0';
	pthread_mutex_unlock(&lock);
}

bool ports_logged(const char *text)
{
	bool found;

	pthread_mutex_lock(&lock);
	found = strstr(logged, text) != NULL;
	pthread_mutex_unlock(&lock);
	return found;
}

void assert_logged(const char *text)
{
	if (!ports_logged(text))
		fail_msg("\"%s\" is not in the log:\n%s", text, logged);
}

void port_open_ok(struct port *p, const struct conf *conf, unsigned int port)
{
	int rc = port_open(p, conf, &conf->ports[port], ports_pool);

	if (rc < 0)
		fail_msg("the port does not open:\n%s", logged);
	p->open = true;
}

// --- frames ---

void frame_send(uint16_t id, uint8_t mark)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(ports_pool);
	const struct rte_ether_hdr eth = {
		.dst_addr.addr_bytes = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		.src_addr.addr_bytes = {2},
		.ether_type = TYPE,
	};
	char *frame = m != NULL ? rte_pktmbuf_append(m, FRAME_LEN) : NULL;

	if (frame == NULL)
		fail_msg("no packet buffer");
	memset(frame, mark, FRAME_LEN);
	memcpy(frame, &eth, sizeof(eth));
	assert_int_equal(rte_eth_tx_burst(id, 0, &m, 1), 1);
}

// The mark of a frame, which is freed; -1: it is none of the test's.
static int frame_read(struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const uint8_t *end = rte_pktmbuf_mtod_offset(m, const uint8_t *, FRAME_LEN - 1);
	int mark = rte_pktmbuf_data_len(m) == FRAME_LEN && eth->ether_type == TYPE ? *end : -1;

	rte_pktmbuf_free(m);
	return mark;
}

int frame_receive(uint16_t id)
{
	struct rte_eth_dev_info info;
	struct rte_mbuf *m;

	assert_int_equal(rte_eth_dev_info_get(id, &info), 0);
	for (unsigned int ms = 0; ms < FRAME_MS; ms++) {
		for (uint16_t q = 0; q < info.nb_rx_queues; q++) {
			int mark = rte_eth_rx_burst(id, q, &m, 1) == 1 ? frame_read(m) : -1;

			if (mark >= 0)
				return mark;
		}
		wait_a_moment();
	}
	return -1;
}

void wait_a_moment(void)
{
	static unsigned int waits;

	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	assert_true(waits++ < 60000);
}
