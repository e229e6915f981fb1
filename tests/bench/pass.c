// SPDX-License-Identifier: BSD-3-Clause
// What a whole pass costs: two gateways in one process, on one core. Every packet goes out through
// the first one's tunnel and in through the second one's, with policies, flows, connection state,
// replay window and neighbours as in the daemon. Only the passes are timed: ports cost nothing
// here.
//
//   bench_pass [--alg NAME] [--size OCTETS] [--sas N] [--flows N] [--rounds N] [--json]
//
// Prints TSC cycles per packet (medians of several rounds), and of the same ciphers alone (floor).
// --alg may be null, aes-128-cbc, aes-128-gcm, ...; HMAC-SHA1 goes with those that need it. --size
// is that of the inner IP packet.

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_eal.h>

#include "build.h"
#include "build_flow.h"
#include "ipv4.h"
#include "pipeline.h"

#define BURST     32
#define ROUNDS    99   // at most
#define PER_ROUND 2000 // bursts
#define BUFFERS   4096
#define FRAME_MAX 2048

enum { LAN, WAN };
enum dir { OUT, IN, DIRS };

struct options {
	const char *alg;
	unsigned int size, sas, flows, rounds;
	bool json;
};

struct site {
	struct snapshot *_Atomic published;
	struct worker *w;
};

struct result {
	double cycles[ROUNDS], floor[ROUNDS];
};

static struct rte_mempool *pool;
static struct rte_rcu_qsbr *qsbr;
static struct neigh_table *neigh;
static const char *const dir_names[] = {[OUT] = "out", [IN] = "in"};

static void die(const char *what)
{
	fprintf(stderr, "bench_pass: %s\n", what);
	exit(EXIT_FAILURE);
}

static void ask_nobody(
	void *arg, uint16_t port, const struct ip_addr *addr, const struct rte_ether_addr *to)
{
	(void)arg;
	(void)port;
	(void)addr;
	(void)to;
}

static void start(void)
{
	char prefix[64];
	char *args[] = {"bench_pass", "--no-huge", "-m", "1024", "--no-pci", "--no-telemetry",
		"--no-shconf", "--iova-mode=va", "--lcores=0@0", "--log-level=*:error", prefix};

	snprintf(prefix, sizeof(prefix), "--file-prefix=culvert-bench-%d", getpid());
	if (rte_eal_init(RTE_DIM(args), args) < 0)
		die("DPDK did not start");
	rmdir(rte_eal_get_runtime_dir());
	qsbr = aligned_alloc(RTE_CACHE_LINE_SIZE,
		RTE_ALIGN_CEIL(rte_rcu_qsbr_get_memsize(3), RTE_CACHE_LINE_SIZE));
	rte_rcu_qsbr_init(qsbr, 3);
	for (unsigned int i = 0; i < 3; i++)
		rte_rcu_qsbr_thread_register(qsbr, i);
	pool = rte_pktmbuf_pool_create("packets", BUFFERS, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	neigh = neigh_table_new(&(struct neigh_params){
		.max = 16384, .reachable_s = 30, .qsbr = qsbr, .solicit = ask_nobody});
	if (pool == NULL || neigh == NULL)
		die("no memory");
}

// Gateway 1 has hosts in 10.1.0.0/16, gateway 2 in 10.2.0.0/16; each SA serves one host of 10.2.
static void conf_write(FILE *f, const struct options *o, unsigned int me)
{
	const struct cipher_alg *cipher = cipher_alg_find(o->alg);
	unsigned int peer = 3 - me;

	if (cipher == NULL)
		die("no such cipher");
	fprintf(f,
		"ports = ({ name = \"lan\"; device = \"x\"; addresses = [ \"10.%u.255.1/16\" ]; },"
		"{ name = \"wan\"; device = \"y\"; addresses = [ \"192.0.2.%u/24\" ]; });\n"
		"memory = { size = 16384; };\nflows = { max = %u; };\nsas = (",
		me, me, RTE_MAX(2 * o->flows, 1024u));
	for (unsigned int i = 0; i < 2 * o->sas; i++) {
		bool ours = (i & 1) == (me & 1); // sealed by me

		fprintf(f,
			"%s{ name = \"s%u\"; direction = \"%s\"; spi = \"%u\";"
			"local = \"192.0.2.%u\"; remote = \"192.0.2.%u\"; cipher = \"%s\";",
			i > 0 ? "," : "", i, ours ? "out" : "in", 4096 + i, me, peer, o->alg);
		if (cipher->key_len > 0)
			fprintf(f, "cipher_key = \"%0*x\";",
				2 * (cipher->key_len + cipher->salt_len), i + 1);
		if (cipher->icv_len == 0)
			fprintf(f, "auth = \"hmac-sha1-96\"; auth_key = \"%040x\";", i + 1);
		fprintf(f, "}\n");
	}
	fprintf(f, ");\npolicies = (");
	for (unsigned int i = 0; i < o->sas; i++) {
		unsigned int out = 2 * i + (me & 1), in = 2 * i + 1 - (me & 1);

		fprintf(f,
			"%s{ name = \"p%u\"; %s = \"10.1.0.0/16\"; %s = \"10.2.%u.%u/32\";"
			"action = \"protect\"; out = \"s%u\"; in = \"s%u\"; }\n",
			i > 0 ? "," : "", i, me == 1 ? "local" : "remote",
			me == 1 ? "remote" : "local", 1 + i / 250, 1 + i % 250, out, in);
	}
	fprintf(f, ");\n");
}

static struct conf *conf_of(const struct options *o, unsigned int me)
{
	int fd = memfd_create("bench", MFD_CLOEXEC);
	FILE *f = fdopen(fd, "w");
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fchmod(fd, 0600);
	conf_write(f, o, me);
	fflush(f);

	struct conf *conf = conf_load(path, stderr);

	fclose(f);
	if (conf == NULL)
		die("configuration");
	return conf;
}

static void set_neigh(uint16_t port, uint32_t addr)
{
	struct ip_addr a = ip_addr_from_v4(rte_cpu_to_be_32(addr));
	struct rte_ether_addr mac = {{2}};

	if (neigh_set_static(neigh, port, &a, &mac) < 0)
		die("neighbours");
}

static struct site *site_new(const struct options *o, unsigned int me)
{
	struct site *s = calloc(1, sizeof(*s));
	struct conf *conf = conf_of(o, me);
	struct build_port ports[2] = {{{{2}}}, {{{2}}}};
	struct flow_config config = build_flow_config(conf);
	struct flow_params fp = {
		.capacity = conf->flows_max, .workers = 2, .qsbr = qsbr, .reader = 2};
	char why[256];

	conf->n_workers = 2; // the two gateways are workers 0 and 1
	s->published = build_snapshot(conf, ports, 1, why, sizeof(why));
	if (s->published == NULL)
		die(why);
	s->w = worker_new(&(struct worker_params){
		.id = me - 1,
		.pool = pool,
		.large_pool = pool,
		.neigh = neigh,
		.flows = flow_table_new(&fp, &config),
		.flow_slice = conf->flows_max / 4000 + 1,
		.published = &s->published,
		.tsc_hz = rte_get_tsc_hz(),
		.errors_per_second = 1,
		.held_max = 16,
		.reassembly_max = 16,
		.reassembly_s = 1,
	});
	if (s->w == NULL || s->w->flows == NULL)
		die("no memory for a worker");
	conf_free(conf);
	return s;
}

// A UDP frame of flow i.
static void frame_write(uint8_t *to, const struct options *o, unsigned int i)
{
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)to;
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(eth + 1);
	rte_be16_t *ports = (rte_be16_t *)(ip + 1);
	unsigned int sa = i % o->sas, host = i / 50000;

	memset(to, 0, FRAME_MAX);
	eth->dst_addr.addr_bytes[0] = 2;
	eth->src_addr.addr_bytes[0] = 2;
	eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->total_length = rte_cpu_to_be_16((uint16_t)o->size);
	ip->fragment_offset = IPV4_OFFSET_DF;
	ip->time_to_live = 64;
	ip->next_proto_id = IPPROTO_UDP;
	ip->src_addr = rte_cpu_to_be_32(RTE_IPV4(10, 1, 1, 1) + host);
	ip->dst_addr =
		rte_cpu_to_be_32(RTE_IPV4(10, 2, 0, 0) + (1 + sa / 250) * 256 + 1 + sa % 250);
	ports[0] = rte_cpu_to_be_16((uint16_t)(1024 + i % 50000));
	ports[1] = RTE_BE16(4500 + 1);
	ports[2] = rte_cpu_to_be_16((uint16_t)(o->size - sizeof(*ip)));
	ipv4_checksum_set(ip);
}

// A pass; returns its cycles. What it sends replaces what it was given.
static uint64_t pass(struct site *s, struct rte_mbuf *m[], uint16_t n, uint16_t in, uint16_t out)
{
	struct tx_buffer *tx = &s->w->tx[out];

	for (uint16_t i = 0; i < n; i++)
		m[i]->port = in;

	uint64_t from = rte_rdtsc_precise();

	pipeline_pass(s->w, m, n, from);

	uint64_t to = rte_rdtsc_precise();

	if (tx->n != n)
		die("packets were lost");
	memcpy(m, tx->m, n * sizeof(m[0]));
	tx->n = 0;
	rte_rcu_qsbr_quiescent(qsbr, s->w->id);
	return to - from;
}

static unsigned int next_flow(const struct options *o)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned int)(state % o->flows);
}

static void round_run(uint64_t cycles[DIRS], struct site *site[DIRS], const struct options *o,
	unsigned int bursts)
{
	static unsigned int made;
	struct rte_mbuf *m[BURST];

	cycles[OUT] = cycles[IN] = 0;
	for (unsigned int b = 0; b < bursts; b++) {
		if (rte_pktmbuf_alloc_bulk(pool, m, BURST) < 0)
			die("no packet buffers");
		for (unsigned int i = 0; i < BURST; i++) {
			unsigned int flow = made < o->flows ? made++ : next_flow(o);
			uint16_t len = (uint16_t)(o->size + RTE_ETHER_HDR_LEN);

			frame_write((uint8_t *)rte_pktmbuf_append(m[i], len), o, flow);
		}
		cycles[OUT] += pass(site[OUT], m, BURST, LAN, WAN);
		cycles[IN] += pass(site[IN], m, BURST, WAN, LAN);
		rte_pktmbuf_free_bulk(m, BURST);
	}
}

// The cryptography of the same packets and nothing else.
static double floor_run(const struct options *o, enum dir dir, unsigned int bursts)
{
	static uint8_t key[64] = {1}, buffer[BURST][FRAME_MAX], sealed[FRAME_MAX];
	const struct cipher_alg *cipher = cipher_alg_find(o->alg);
	struct crypto_key k = {
		cipher, auth_alg_find(cipher->icv_len > 0 ? "none" : "hmac-sha1-96"), key, key};
	struct crypto_session *seal = crypto_session_new(&k, CRYPTO_SEAL, "auto", 1);
	struct crypto_session *open = crypto_session_new(&k, CRYPTO_OPEN, "auto", 1);
	uint16_t text_len = (uint16_t)RTE_ALIGN_CEIL(o->size + 2, cipher->block);
	struct crypto_op op[BURST];
	uint64_t cycles = 0;

	if (seal == NULL || open == NULL)
		die("no crypto session");
	op[0] = (struct crypto_op){.session = seal, .esp = sealed, .seq = 1, .text_len = text_len};
	crypto_seal(op, 1, 0);
	for (unsigned int b = 0; b < bursts; b++) {
		for (unsigned int i = 0; i < BURST; i++) {
			memcpy(buffer[i], sealed, sizeof(sealed));
			op[i] = (struct crypto_op){.session = dir == OUT ? seal : open,
				.esp = buffer[i],
				.seq = 1,
				.text_len = text_len};
		}

		uint64_t from = rte_rdtsc_precise();

		if (dir == OUT)
			crypto_seal(op, BURST, 0);
		else
			crypto_open(op, BURST, 0);
		cycles += rte_rdtsc_precise() - from;
		if (!op[BURST - 1].ok)
			die("the cipher failed");
	}
	crypto_session_free(seal);
	crypto_session_free(open);
	return (double)cycles / bursts / BURST;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double v[], unsigned int n)
{
	qsort(v, n, sizeof(v[0]), compare);
	return v[n / 2];
}

static void print(const struct options *o, enum dir dir, struct result *r)
{
	double cycles = median(r->cycles, o->rounds), floor = median(r->floor, o->rounds);
	const char *format = o->json ? "{\"alg\":\"%s\",\"engine\":\"openssl\",\"dir\":\"%s\","
				       "\"size\":%u,\"sas\":%u,"
				       "\"flows\":%u,\"cycles\":%.0f,\"ports\":0,\"floor\":%.0f,"
				       "\"overhead\":%.0f,"
				       "\"mpps\":%.3f}\n"
				     : "%-12s openssl  %-3s %5u octets %6u SAs %8u flows: %6.0f "
				       "cycles, floor %6.0f, "
				       "overhead %5.0f, %7.3f Mpps\n";

	printf(format, o->alg, dir_names[dir], o->size, o->sas, o->flows, cycles, floor,
		cycles - floor, (double)rte_get_tsc_hz() / cycles / 1e6);
}

static void print_stages(struct site *site[DIRS])
{
	for (enum dir dir = OUT; dir < DIRS; dir++)
		for (unsigned int i = 0; i < STAGE_COUNT; i++) {
			const struct stage_counters *c = &site[dir]->w->stages.stage[i];

			if (c->packets > 0)
				printf("  %-3s %-10s %7.1f cycles per packet, %4.1f packets a "
				       "call\n",
					dir_names[dir], stage_info[i].name,
					(double)c->cycles / (double)c->packets,
					(double)c->packets / (double)c->calls);
		}
}

static void run(const struct options *o)
{
	struct site *site[DIRS] = {site_new(o, 1), site_new(o, 2)};
	struct result r[DIRS];
	uint64_t cycles[DIRS];

	round_run(cycles, site, o, o->flows / BURST + PER_ROUND); // all flows are made, caches warm
	for (enum dir dir = OUT; dir < DIRS; dir++)
		site[dir]->w->stages.every = 16;
	for (unsigned int i = 0; i < o->rounds; i++) {
		round_run(cycles, site, o, PER_ROUND);
		for (enum dir dir = OUT; dir < DIRS; dir++) {
			r[dir].cycles[i] = (double)cycles[dir] / PER_ROUND / BURST;
			r[dir].floor[i] = floor_run(o, dir, PER_ROUND);
		}
	}
	for (enum dir dir = OUT; dir < DIRS; dir++)
		print(o, dir, &r[dir]);
	if (!o->json)
		print_stages(site);
}

static unsigned int number(const char *text, unsigned int least, unsigned int most)
{
	unsigned long v = strtoul(text, NULL, 10);

	if (v < least || v > most)
		die("a number is out of range");
	return (unsigned int)v;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {{"alg", required_argument, NULL, 'a'},
		{"size", required_argument, NULL, 's'}, {"sas", required_argument, NULL, 'n'},
		{"flows", required_argument, NULL, 'f'}, {"rounds", required_argument, NULL, 'r'},
		{"json", no_argument, NULL, 'j'}, {0}};
	struct options o = {
		.alg = "aes-128-gcm", .size = 64, .sas = 1, .flows = 1000, .rounds = 15};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'a')
			o.alg = optarg;
		else if (c == 's')
			o.size = number(optarg, 28, 1400);
		else if (c == 'n')
			o.sas = number(optarg, 1, 10000);
		else if (c == 'f')
			o.flows = number(optarg, 1, 1000000);
		else if (c == 'r')
			o.rounds = number(optarg, 1, ROUNDS);
		else if (c == 'j')
			o.json = true;
		else
			return 2;
	}
	start();
	// The hosts' side of gateway 2 and the peer of gateway 1.
	set_neigh(WAN, RTE_IPV4(192, 0, 2, 2));
	for (unsigned int i = 0; i < o.sas; i++)
		set_neigh(LAN, RTE_IPV4(10, 2, 0, 0) + (1 + i / 250) * 256 + 1 + i % 250);
	run(&o);
	rte_eal_cleanup();
	return EXIT_SUCCESS;
}
