// SPDX-License-Identifier: BSD-3-Clause
// Workers look policies up while the control thread adds and removes others, of the same networks
// and of networks around them: a policy that is there all the time is always found, unless a policy
// before it is. Pairs of prefix lengths run short, so that some are stored under shorter ones.
// Meant to be run under ThreadSanitizer as well.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <rte_rcu_qsbr.h>

#include "addrs.h"
#include "eal.h"
#include "spd_table.h"
#include "test.h"

#define READERS    2
#define NETWORKS   8
#define LASTING    8 // policies between each pair of networks
#define CHANGING   96
#define PAIRS      58 // in use, besides those of the others
#define PRIORITY   100
#define CHANGES    20000
#define BATCH_KEYS 16

struct shared {
	struct spd_table *t;
	pthread_barrier_t start;
	atomic_bool stop;
	uint32_t lasting[NETWORKS][LASTING]; // slot + 1
};

struct reader {
	struct shared *shared;
	unsigned int id;
	uint64_t seed;
	unsigned long found, others;
};

static struct ip_addr local_addr(void)
{
	return ip_addr_from_v4(RTE_BE32(0x0a000001));
}

static struct ip_addr remote_addr(unsigned int network)
{
	return ip_addr_from_v4(rte_cpu_to_be_32(0x0a010005 | network << 8));
}

// Between 10.0.0.0/8 and the network with a length.
static struct spd_policy policy_of(
	unsigned int network, unsigned int len, uint16_t proto, enum spd_action action)
{
	const struct acl_port_range all = {0, ACL_PORT_OPAQUE};

	return (struct spd_policy){.action = action,
		.family = IP_V4,
		.local = prefix_of(local_addr(), 104),
		.remote = prefix_of(remote_addr(network), len),
		.proto = proto,
		.local_port = all,
		.remote_port = all};
}

static struct classifier_key key_of(unsigned int network, unsigned int proto)
{
	return (struct classifier_key){.proto = (uint8_t)proto,
		.source = local_addr(),
		.destination = remote_addr(network),
		.source_port = RTE_BE32(ACL_PORT_OPAQUE),
		.destination_port = RTE_BE32(ACL_PORT_OPAQUE)};
}

static void look_up(struct reader *r)
{
	unsigned int network[BATCH_KEYS], proto[BATCH_KEYS];
	struct classifier_key key[BATCH_KEYS];
	uint32_t found[BATCH_KEYS];

	for (unsigned int i = 0; i < BATCH_KEYS; i++) {
		network[i] = random_below(&r->seed, NETWORKS);
		proto[i] = random_below(&r->seed, LASTING);
		key[i] = key_of(network[i], proto[i]);
	}
	spd_table_find(r->shared->t, key, BATCH_KEYS, found);
	for (unsigned int i = 0; i < BATCH_KEYS; i++) {
		const struct spd_policy *p;

		if (found[i] == r->shared->lasting[network[i]][proto[i]]) {
			r->found++;
			continue;
		}
		if (found[i] == 0)
			fail_msg("missed");
		p = spd_table_at(r->shared->t, found[i] - 1);
		if (p->action != SPD_BYPASS || (p->proto != PROTO_ANY && p->proto != proto[i]) ||
			!ip_prefix_contains(&p->remote, &key[i].destination))
			fail_msg("found what does not match, or ranks behind");
		r->others++;
	}
}

static void *read_policies(void *arg)
{
	struct reader *r = arg;

	rte_rcu_qsbr_thread_register(eal_qsbr, r->id);
	rte_rcu_qsbr_thread_online(eal_qsbr, r->id);
	pthread_barrier_wait(&r->shared->start);
	do {
		look_up(r);
		rte_rcu_qsbr_quiescent(eal_qsbr, r->id);
	} while (!atomic_load(&r->shared->stop));
	rte_rcu_qsbr_thread_offline(eal_qsbr, r->id);
	return NULL;
}

// Policies that rank before the lasting ones and match bypass, all others discard.
static int add_changing(struct spd_table *t, struct spd_holder *holder, uint64_t *seed)
{
	static const uint8_t len[] = {120, 120, 120, 119, 112, 128, 96};
	bool before = random_below(seed, 4) == 0;
	uint16_t proto = before ? (uint16_t)random_below(seed, LASTING) : PROTO_ANY;
	struct spd_policy p = policy_of(random_below(seed, NETWORKS),
		len[random_below(seed, COUNT_OF(len))], proto, before ? SPD_BYPASS : SPD_DISCARD);
	uint32_t priority = before ? PRIORITY - 1 - random_below(seed, 3) : PRIORITY + 1;

	if (!before && random_below(seed, 2) == 0) { // passed over by all
		p.proto = (uint16_t)(LASTING + random_below(seed, 8));
		priority = random_below(seed, 2 * PRIORITY);
	}
	p.priority = priority;
	return spd_table_add(t, &p, holder);
}

static void grace(void)
{
	uint64_t token = rte_rcu_qsbr_start(eal_qsbr);

	while (rte_rcu_qsbr_check(eal_qsbr, token, false) == 0)
		sched_yield();
}

static void change_policies(struct spd_table *t, uint64_t seed)
{
	unsigned int slot[CHANGING], n = 0, removed[CHANGING], n_removed = 0;
	struct spd_holder holder = {0};

	for (unsigned long i = 0; i < rounds(CHANGES); i++) {
		unsigned int k = random_below(&seed, CHANGING);
		int added;

		if (k < n) {
			spd_table_remove(t, slot[k]);
			removed[n_removed++] = slot[k];
			slot[k] = slot[--n];
		} else if ((added = add_changing(t, &holder, &seed)) >= 0) {
			slot[n++] = (unsigned int)added;
		}
		if (n_removed == CHANGING / 4) {
			grace();
			while (n_removed > 0)
				spd_table_release(t, removed[--n_removed]);
		}
	}
	assert_int_equal(holder.tuples[IP_V4], 4); // the fifth pair is stored under another
}

// Of other networks, a pair of lengths each.
static void add_pairs(struct spd_table *t)
{
	for (unsigned int i = 0; i < PAIRS; i++) {
		struct spd_policy p = policy_of(0, 121 + i % 7, PROTO_ANY, SPD_DISCARD);

		p.local = prefix_of(ip_addr_from_v4(RTE_BE32(0x14000001)), 105 + i / 7);
		assert_true(spd_table_add(t, &p, NULL) >= 0);
	}
}

static void add_lasting(struct shared *shared)
{
	for (unsigned int i = 0; i < NETWORKS; i++)
		for (unsigned int proto = 0; proto < LASTING; proto++) {
			struct spd_policy p = policy_of(i, 120, (uint16_t)proto, SPD_PROTECT);
			int slot;

			p.priority = PRIORITY;
			slot = spd_table_add(shared->t, &p, NULL);

			assert_true(slot >= 0);
			shared->lasting[i][proto] = (uint32_t)slot + 1;
		}
}

static void test_readers(void **state)
{
	struct shared shared = {.t = spd_table_new(NETWORKS * LASTING + PAIRS + 8 * CHANGING)};
	struct reader reader[READERS];
	pthread_t thread[READERS];

	(void)state;
	assert_non_null(shared.t);
	add_lasting(&shared);
	add_pairs(shared.t);
	assert_int_equal(pthread_barrier_init(&shared.start, NULL, READERS + 1), 0);
	for (unsigned int i = 0; i < READERS; i++) {
		reader[i] = (struct reader){.shared = &shared, .id = i, .seed = i + 1};
		assert_int_equal(pthread_create(&thread[i], NULL, read_policies, &reader[i]), 0);
	}
	pthread_barrier_wait(&shared.start);
	change_policies(shared.t, 9);
	atomic_store(&shared.stop, true);
	for (unsigned int i = 0; i < READERS; i++) {
		pthread_join(thread[i], NULL);
		print_message("seed %u: %lu found, %lu others before\n", i + 1, reader[i].found,
			reader[i].others);
		assert_true(reader[i].found > 0);
	}
	pthread_barrier_destroy(&shared.start);
	spd_table_free(shared.t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readers),
	};

	return cmocka_run_group_tests(tests, eal_qsbr_start, eal_qsbr_stop);
}
