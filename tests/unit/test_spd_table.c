// SPDX-License-Identifier: BSD-3-Clause
// The table of policies against the database of a sorted list of the same policies, while they are
// added and removed; policies that the table refuses; slots.
#include <errno.h>
#include <netinet/in.h>

#include "eal.h"
#include "policies.h"
#include "spd.h"
#include "spd_table.h"
#include "test.h"

#define MAX     96
#define SAS     5
#define HOLDERS 3

enum state { UNUSED, ADDED, REMOVED };

// A policy as it was added.
struct row {
	struct spd_policy policy;
	uint32_t priority;
	uint64_t serial;
	unsigned int slot;
};

struct model {
	struct spd_table *t;
	struct row row[MAX]; // in order, after model_sort()
	unsigned int n;
	enum state state[MAX]; // of slots
	uint64_t serial, seed;
	struct sa_in sas[SAS];
	struct spd_holder holder[HOLDERS];
	unsigned long lookups, matched, fragments, decided, received, refused;
};

static struct acl_port_range random_types(uint64_t *seed)
{
	uint32_t a = random_below(seed, 4) << 8 | random_below(seed, 3);
	uint32_t b = random_below(seed, 4) << 8 | random_below(seed, 3);

	switch (random_below(seed, 4)) {
	case 0:
		return (struct acl_port_range){1, 0}; // none
	case 1:
		return (struct acl_port_range){0, ACL_PORT_OPAQUE};
	default:
		return (struct acl_port_range){RTE_MIN(a, b), RTE_MAX(a, b)};
	}
}

static struct spd_policy table_policy(struct model *m)
{
	struct spd_policy p = random_policy(&m->seed);

	if (p.family == IP_ANY && p.local.len == 0 && p.remote.len == 0)
		p.family = random_family(&m->seed);
	else if (p.family == IP_ANY)
		p.family = ip_addr_family(&p.local.addr);
	if (random_below(&m->seed, 4) == 0) {
		p.proto = p.family == IP_V4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
		p.local_port = random_types(&m->seed);
		p.remote_port = random_types(&m->seed);
	}
	if (random_below(&m->seed, 2) == 0)
		p.group = 1 + random_below(&m->seed, SAS);
	else
		p.in[p.n_in++] = &m->sas[random_below(&m->seed, SAS)];
	return p;
}

// Often of the networks of a policy.
static struct ip_view table_packet(struct model *m)
{
	struct ip_view v = random_packet(&m->seed);

	if (m->n > 0 && random_below(&m->seed, 4) > 0) {
		const struct spd_policy *p = &m->row[random_below(&m->seed, m->n)].policy;

		v.src = p->local.addr;
		v.dst = p->remote.addr;
		if (p->family == IP_V4 && p->local.len == 0)
			v.src = v.dst = ip_addr_from_v4(RTE_BE32(0x0a000001));
		if (p->local.len < 128)
			v.src.b[15] ^= (uint8_t)random_below(&m->seed, 2);
		if (p->proto != PROTO_ANY)
			v.proto = (uint8_t)p->proto;
	}
	if (acl_is_icmp(v.proto)) {
		v.has_icmp_type = v.has_ports;
		v.icmp_type = (uint8_t)random_below(&m->seed, 4);
		v.icmp_code = (uint8_t)random_below(&m->seed, 3);
		v.has_ports = false;
	}
	return v;
}

static void model_add(struct model *m)
{
	struct row *row = &m->row[m->n++];
	int slot;

	row->policy = table_policy(m);
	row->priority = random_below(&m->seed, 4);
	row->serial = m->serial++;
	snprintf(row->policy.name, sizeof(row->policy.name), "%lu", (unsigned long)row->serial);
	row->policy.priority = row->priority;
	slot = spd_table_add(m->t, &row->policy, &m->holder[random_below(&m->seed, HOLDERS)]);
	if (slot == -EDQUOT || slot == -E2BIG) {
		m->refused++;
		slot = spd_table_add(m->t, &row->policy, NULL);
	}
	assert_in_range(slot, 0, MAX - 1);
	row->slot = (unsigned int)slot;
	assert_int_equal(m->state[slot], UNUSED);
	m->state[slot] = ADDED;
}

// Also of a policy that was removed.
static void check_at(const struct model *m, const struct row *row)
{
	assert_string_equal(spd_table_at(m->t, row->slot)->name, row->policy.name);
}

static void model_remove(struct model *m)
{
	struct row *row = &m->row[random_below(&m->seed, m->n)];

	spd_table_remove(m->t, row->slot);
	m->state[row->slot] = REMOVED;
	check_at(m, row);
	*row = m->row[--m->n];
}

static void model_release(struct model *m)
{
	for (unsigned int slot = 0; slot < MAX; slot++)
		if (m->state[slot] == REMOVED && random_below(&m->seed, 2) == 0) {
			spd_table_release(m->t, slot);
			m->state[slot] = UNUSED;
		}
}

static unsigned int in_use(const struct model *m)
{
	unsigned int n = 0;

	for (unsigned int slot = 0; slot < MAX; slot++)
		n += m->state[slot] != UNUSED;
	return n;
}

static int row_compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->priority != y->priority)
		return x->priority < y->priority ? -1 : 1;
	return x->serial > y->serial ? -1 : 1;
}

static struct spd *model_sort(struct model *m)
{
	struct spd_policy policy[MAX + 1];
	struct spd *spd;

	qsort(m->row, m->n, sizeof(m->row[0]), row_compare);
	for (unsigned int i = 0; i < m->n; i++)
		policy[i] = m->row[i].policy;
	spd = spd_new(policy, m->n, 0);
	assert_non_null(spd);
	return spd;
}

static uint32_t right(const struct model *m, const struct spd *spd, const struct spd_policy *found)
{
	return found != NULL ? m->row[found - spd_at(spd, 0)].slot + 1 : 0;
}

static void check_packets(struct model *m, const struct spd *spd)
{
	const struct spd_policy *expected[CLASSIFIER_KEYS_MAX];
	struct classifier_key key[CLASSIFIER_KEYS_MAX];
	uint32_t found[CLASSIFIER_KEYS_MAX];
	unsigned int n = random_below(&m->seed, CLASSIFIER_KEYS_MAX + 1);

	for (unsigned int i = 0; i < n; i++) {
		struct ip_view packet = table_packet(m), back = reverse_of(&packet);

		key[i] = classifier_key_of(i % 2 == 0 ? &packet : &back);
		if (i % 2 != 0)
			key[i] = classifier_key_reversed(&key[i]);
	}
	spd_find(spd, key, n, expected);
	spd_table_find(m->t, key, n, found);
	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(found[i], right(m, spd, expected[i]));
		m->matched += found[i] != 0;
	}
	m->lookups += n;
}

// Of a fragment out of the SA: ports are not matched, nor in IPv6 the protocol.
static uint32_t naive_receiver(
	const struct model *m, const struct sa_in *sa, const struct ip_view *fragment)
{
	bool v6 = ip_addr_family(&fragment->src) == IP_V6;

	for (unsigned int i = 0; i < m->n; i++) {
		const struct spd_policy *p = &m->row[i].policy;
		bool receives = p->group != 0 ? p->group == sa->sa.opt.reqid : p->in[0] == sa;

		if (receives && (v6 || p->proto == PROTO_ANY || p->proto == fragment->proto) &&
			naive_prefix(&p->remote, p->family, &fragment->src) &&
			naive_prefix(&p->local, p->family, &fragment->dst))
			return m->row[i].slot + 1;
	}
	return 0;
}

static void check_receiver(struct model *m, const struct sa_in *sa, const struct ip_view *fragment)
{
	uint32_t found = spd_table_find_receiver(m->t, sa, fragment);

	assert_int_equal(found, naive_receiver(m, sa, fragment));
	m->received += found != 0;
}

static void check_fragments(struct model *m, const struct spd *spd)
{
	for (unsigned int i = 0; i < 20; i++) {
		const struct sa_in *sa = &m->sas[random_below(&m->seed, SAS)];
		bool inbound = i % 2 == 0, decided, expected_decided;
		struct ip_view fragment = table_packet(m);
		const struct spd_policy *expected = NULL;
		uint32_t found;

		fragment.has_ports = fragment.has_icmp_type = false;
		if (inbound)
			fragment = reverse_of(&fragment);
		check_receiver(m, sa, &fragment);
		if (m->n > 32) // decision of struct spd
			continue;
		decided = spd_table_decides_fragment(m->t, &fragment, inbound, &found);
		expected_decided = spd_decides_fragment(spd, &fragment, inbound, &expected);
		assert_int_equal(decided, expected_decided);
		if (decided)
			assert_int_equal(found, right(m, spd, expected));
		m->fragments++;
		m->decided += decided;
	}
}

static void check_list(const struct model *m)
{
	unsigned int listed = 0;

	for (unsigned int slot = 0; slot < spd_table_slots(m->t); slot++) {
		const struct spd_policy *p = spd_table_listed(m->t, slot);

		assert_int_equal(p != NULL, m->state[slot] == ADDED);
		listed += p != NULL;
	}
	assert_int_equal(listed, m->n);
	for (unsigned int i = 0; i < m->n; i++)
		check_at(m, &m->row[i]);
	assert_int_equal(spd_table_is_empty(m->t), m->n == 0);
}

static void model_change(struct model *m, unsigned int aim)
{
	model_release(m);
	while (m->n < aim && in_use(m) < MAX)
		model_add(m);
	while (m->n > aim)
		model_remove(m);
}

static void test_model(void **state)
{
	static const unsigned int sizes[] = {0, 1, 3, 10, 30, 60};
	struct model m = {.seed = 7};

	(void)state;
	print_message("seed %lu\n", (unsigned long)m.seed);
	m.t = spd_table_new(MAX);
	assert_non_null(m.t);
	for (uint32_t i = 0; i < SAS; i++)
		m.sas[i].sa.opt.reqid = i + 1;
	for (unsigned long round = 0; round < rounds(300); round++) {
		unsigned int size = sizes[random_below(&m.seed, COUNT_OF(sizes))];
		struct spd *spd;

		for (unsigned int i = random_below(&m.seed, size + 1); i > 0 && m.n > 0; i--)
			model_remove(&m);
		model_change(&m, size);
		spd = model_sort(&m);
		check_list(&m);
		for (unsigned int i = 0; i < 8; i++)
			check_packets(&m, spd);
		check_fragments(&m, spd);
		spd_free(spd);
	}
	print_message("%lu lookups, %lu matched; %lu fragments, %lu decided, %lu received; "
		      "%lu beyond a share\n",
		m.lookups, m.matched, m.fragments, m.decided, m.received, m.refused);
	assert_true(m.refused > 0);
	model_change(&m, 0);
	while (in_use(&m) > 0)
		model_release(&m);
	for (unsigned int i = 0; i < HOLDERS; i++)
		assert_memory_equal(&m.holder[i], &(struct spd_holder){0}, sizeof(m.holder[i]));
	assert_true(m.lookups >= 100000);
	assert_in_range(m.matched, m.lookups / 4, m.lookups - m.lookups / 20);
	assert_in_range(m.decided, m.fragments / 10, m.fragments - m.fragments / 10);
	spd_table_free(m.t);
}

// A slot is used again only after its release.
static void test_slots(void **state)
{
	struct spd_table *t = spd_table_new(2);
	struct spd_policy p = simple_policy(104, 0x0a010100);

	(void)state;
	assert_non_null(t);
	assert_true(spd_table_is_empty(t));
	assert_int_equal(spd_table_add(t, &p, NULL), 0);
	assert_int_equal(spd_table_add(t, &p, NULL), 1);
	assert_int_equal(spd_table_add(t, &p, NULL), -ENOSPC);
	spd_table_remove(t, 0);
	assert_int_equal(spd_table_add(t, &p, NULL), -ENOSPC);
	spd_table_remove(t, 1);
	assert_true(spd_table_is_empty(t));
	assert_int_equal(spd_table_slots(t), 2);
	assert_null(spd_table_listed(t, 1));
	assert_non_null(spd_table_at(t, 1));
	spd_table_release(t, 1);
	assert_null(spd_table_listed(t, 1));
	assert_int_equal(spd_table_add(t, &p, NULL), 1);
	assert_int_equal(spd_table_add(t, &p, NULL), -ENOSPC);
	spd_table_release(t, 0);
	assert_int_equal(spd_table_add(t, &p, NULL), 0);
	assert_int_equal(spd_table_slots(t), 2);
	spd_table_free(t);
	spd_table_free(NULL);
}

static void test_networks_full(void **state)
{
	struct spd_table *t = spd_table_new(2 * SPD_TABLE_NETWORKS_MAX);
	struct spd_policy p = simple_policy(104, 0x0a010100),
			  other = simple_policy(104, 0x0a010200);

	(void)state;
	assert_non_null(t);
	for (unsigned int i = 0; i < SPD_TABLE_NETWORKS_MAX; i++) {
		p.priority = i;
		assert_int_equal(spd_table_add(t, &p, NULL), i);
	}
	p.priority = 0;
	assert_int_equal(spd_table_add(t, &p, NULL), -E2BIG);
	assert_int_equal(spd_table_add(t, &other, NULL), SPD_TABLE_NETWORKS_MAX);
	spd_table_remove(t, 3);
	assert_int_equal(spd_table_add(t, &p, NULL), SPD_TABLE_NETWORKS_MAX + 1);
	spd_table_free(t);
}

// In the same place, by priority and then the newest.
static void test_order(void **state)
{
	static const uint32_t priority[] = {5, 3, 3, 9, 0, UINT32_MAX};
	static const unsigned int order[] = {4, 2, 1, 0, 3, 5};
	struct spd_table *t = spd_table_new(COUNT_OF(priority));
	struct classifier_key key = {.source = ip_addr_from_v4(RTE_BE32(0x0a000001)),
		.destination = ip_addr_from_v4(RTE_BE32(0x0a010105))};
	uint32_t found;

	(void)state;
	assert_non_null(t);
	for (unsigned int i = 0; i < COUNT_OF(priority); i++) {
		struct spd_policy p = simple_policy(104 + i % 2, 0x0a010100);

		p.priority = priority[i];
		assert_int_equal(spd_table_add(t, &p, NULL), i);
	}
	for (unsigned int i = 0; i < COUNT_OF(order); i++) {
		spd_table_find(t, &key, 1, &found);
		assert_int_equal(found, order[i] + 1);
		spd_table_remove(t, order[i]);
	}
	spd_table_find(t, &key, 1, &found);
	assert_int_equal(found, 0);
	spd_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_networks_full),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, eal_group_start, eal_group_stop);
}
