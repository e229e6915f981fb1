// SPDX-License-Identifier: BSD-3-Clause
// Which worker writes which cache line: a line that two of them write goes from one's cache to the
// other's with each packet. Two workers of a gateway process packets in turn, and all memory of the
// program is compared before and after. Lines that both have changed must be among the lines that
// are shared on purpose; all others are shared by accident.
#include <sys/mman.h>

#include <rte_lcore.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "site.h"

#define LINE        64
#define PAGE        4096
#define REGIONS_MAX 1024
#define FLOWS       16 // of each worker

struct region {
	uint8_t *at, *copy, *by; // by: one octet for each line, a bit for each worker
	uint8_t *used;           // one octet for each page: 1 if it has been used
	size_t len;
};

static struct region region[REGIONS_MAX];
static unsigned int n_regions;

static void *pages(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

// The workers of this test share the stack and thread-local memory.
static bool is_of_thread(uintptr_t from, uintptr_t to, const char *name)
{
	uintptr_t local = (uintptr_t)__builtin_thread_pointer();

	return strcmp(name, "[stack]") == 0 || (from <= local && local < to);
}

// Finds all memory that can be written, and makes room for copies of it.
static void regions_find(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], name[256], rights[8];
	uintptr_t from, to;

	assert_non_null(maps);
	n_regions = 0;
	while (fgets(line, sizeof(line), maps) != NULL) {
		name[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &from, &to, rights, name) < 3 ||
			strncmp(rights, "rw", 2) != 0 || is_of_thread(from, to, name))
			continue;
		assert_true(n_regions < REGIONS_MAX);
		region[n_regions++] = (struct region){.at = (uint8_t *)from, .len = to - from};
	}
	fclose(maps);
	for (unsigned int i = 0; i < n_regions; i++) {
		region[i].copy = pages(region[i].len);
		region[i].by = pages(region[i].len / LINE);
		region[i].used = pages(region[i].len / PAGE);
	}
}

static void regions_free(void)
{
	for (unsigned int i = 0; i < n_regions; i++) {
		munmap(region[i].copy, region[i].len);
		munmap(region[i].by, region[i].len / LINE);
		munmap(region[i].used, region[i].len / PAGE);
	}
}

// Most of the memory is reserved for tables that grow. Pages never used are zero, as their
// copies are.
static const uint8_t *used_pages(const struct region *r)
{
	assert_int_equal(mincore(r->at, r->len, r->used), 0);
	return r->used;
}

static void before(void)
{
	for (const struct region *r = region; r < region + n_regions; r++) {
		const uint8_t *used = used_pages(r);

		for (size_t at = 0; at < r->len; at += PAGE)
			if (used[at / PAGE] & 1)
				memcpy(r->copy + at, r->at + at, PAGE);
	}
}

static void after(unsigned int worker)
{
	for (const struct region *r = region; r < region + n_regions; r++) {
		const uint8_t *used = used_pages(r);

		for (size_t at = 0; at < r->len; at += LINE)
			if ((used[at / PAGE] & 1) && memcmp(r->at + at, r->copy + at, LINE) != 0)
				r->by[at / LINE] |= (uint8_t)(1u << worker);
	}
}

// --- lines shared on purpose, and memory with a name ---

struct object {
	const char *name;
	const void *at;
	size_t len;
	bool shared; // between workers, on purpose
};

static struct object object[16384]; // chunks of packets are pages
static unsigned int n_objects;

static void add(const char *name, const void *at, size_t len, bool shared)
{
	assert_true(n_objects < RTE_DIM(object));
	object[n_objects++] = (struct object){name, at, len, shared};
}

static void add_chunk(
	struct rte_mempool *pool, void *name, struct rte_mempool_memhdr *chunk, unsigned int i)
{
	(void)pool, (void)i;
	add(name, chunk->addr, chunk->len, true);
}

static const struct object *object_of(const uint8_t *line)
{
	for (unsigned int i = 0; i < n_objects; i++) {
		const uint8_t *from = object[i].at;

		if (from < line + LINE && line < from + object[i].len)
			return &object[i];
	}
	return NULL;
}

// Lines that both workers have changed, but for lines that are shared on purpose.
static unsigned int accidents(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < n_regions; i++)
		for (size_t at = 0; at < region[i].len; at += LINE) {
			const struct object *o;

			if (region[i].by[at / LINE] != 3)
				continue;
			o = object_of(region[i].at + at);
			if (o != NULL && o->shared)
				continue;
			n++;
			print_message("two workers write %p: %s, octet %td\n",
				(void *)(region[i].at + at),
				o != NULL ? o->name : "no known object",
				o != NULL ? region[i].at + at - (const uint8_t *)o->at : 0);
		}
	return n;
}

// --- tests ---

// A line with two counters is found, and one with a counter and a constant is not.
static void test_shared_lines_are_found(void **state)
{
	static _Alignas(LINE) volatile uint64_t counter[LINE / sizeof(uint64_t) * 2];

	(void)state;
	n_objects = 0;
	add("counters", (const void *)counter, sizeof(counter), false);
	regions_find();
	before();
	counter[0]++;
	counter[8]++;
	after(0);
	before();
	counter[1]++;
	after(1);
	assert_int_equal(accidents(), 1);
	regions_free();
}

static struct frame sent[FLOWS];

// A worker sends a packet of each of some flows into the tunnel, for site B.
static void outward(struct gateway *g, unsigned int first)
{
	for (unsigned int i = 0; i < FLOWS; i++)
		sent[i] = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5",
						.sport = (uint16_t)(1000 + first + i), .dport = 7));
	gateway_pass(g, sent, FLOWS);
	expect_all_sent(g, FLOWS, WAN);
	for (unsigned int i = 0; i < FLOWS; i++)
		sent[i] = frame_carry(&g->sent[i]);
}

// Site B sends a packet of each of these flows.
static void reply(struct gateway *b, unsigned int first, struct frame to[FLOWS])
{
	for (unsigned int i = 0; i < FLOWS; i++)
		to[i] = frame_ip(LAN, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5", .sport = 7,
					      .dport = (uint16_t)(1000 + first + i)));
	gateway_pass(b, to, FLOWS);
	expect_all_sent(b, FLOWS, WAN);
	for (unsigned int i = 0; i < FLOWS; i++)
		to[i] = frame_carry(&b->sent[i]);
}

// The worker gets both directions of different flows: it sends packets of flows that the other
// receives.
static void work(struct gateway *g, unsigned int id, struct frame replies[2][FLOWS])
{
	RTE_PER_LCORE(_lcore_id) = id; // its cache of buffers
	outward(g, id * FLOWS);
	gateway_pass(g, replies[!id], FLOWS);
	expect_all_sent(g, FLOWS, LAN);
	RTE_PER_LCORE(_lcore_id) = 0;
}

static void flows_open(struct gateway *g, struct gateway *b, unsigned int first)
{
	outward(g, first);
	gateway_pass(b, sent, FLOWS);
	expect_all_sent(b, FLOWS, LAN);
}

static void objects_add(struct gateway *first, struct gateway *second)
{
	struct sa_out *out = gateway_sa_out(first, "to-b");
	struct sa_in *in = gateway_sa_in(first, "from-b");

	n_objects = 0;
	add("the test's", sent, sizeof(sent), true);
	add("the test's", first, sizeof(*first), true);
	add("the test's", second, sizeof(*second), true);
	rte_mempool_mem_iter(harness_pool, add_chunk, "packets");
	add("ring of the packets", harness_pool->pool_data,
		(size_t)rte_ring_get_memsize(harness_pool->size + 1), true);
	add("sequence number", &out->seq, sizeof(out->seq), true);
	add("replay window", in->sa.per_packet.replay.ring,
		replay_words(&in->sa.per_packet.replay) * sizeof(uint64_t), true);
	add("outbound SA", out, sizeof(*out), false);
	add("inbound SA", in, sizeof(*in), false);
	add("first worker", first->w, sizeof(*first->w), false);
	add("second worker", second->w, sizeof(*second->w), false);
}

static void test_workers(void **state)
{
	static struct frame replies[2][FLOWS];
	const struct site settings = {.window = 4096, .more = "cpus = { workers = [ 1, 1, 1 ]; };"};
	struct gateway *first = site_a(settings);
	struct gateway *b = site_b(settings);
	struct gateway *second = gateway_second(first, 2);

	(void)state;
	objects_add(first, second);
	for (int round = 0; round < 3; round++) {
		flows_open(first, b, 0);
		flows_open(second, b, FLOWS);
		reply(b, 0, replies[0]);
		reply(b, FLOWS, replies[1]);
		if (round < 2) { // flows are established, and caches are full
			work(first, 0, replies);
			work(second, 1, replies);
		}
	}
	regions_find();
	before();
	work(first, 0, replies);
	after(0);
	before();
	work(second, 1, replies);
	after(1);
	assert_int_equal(accidents(), 0);
	regions_free();
	gateway_free(second);
	gateway_free(b);
	gateway_free(first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared_lines_are_found),
		pipeline_test(test_workers),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
