// SPDX-License-Identifier: BSD-3-Clause
// The plugin for charon: IKE_SAs that ha has sent twice. The manager and the IKE_SAs are of this
// file; lists are strongSwan's own.
#include "kernel.h"

#include "test.h"

#define N 3

struct fake {
	ike_sa_t sa;
	ike_sa_id_t *id;
	ike_sa_state_t state;
	int children;
	uint32_t unique, next[2]; // of the peer, own
	bool destroyed;
};

static struct fake all[N];
static unsigned int n;
static daemon_t fake_charon;
static ike_sa_manager_t manager;
static bus_t bus;

static struct fake *fake(ike_sa_t *sa)
{
	return (struct fake *)sa;
}

static ike_sa_id_t *get_id(ike_sa_t *sa)
{
	return fake(sa)->id;
}

static uint32_t get_unique_id(ike_sa_t *sa)
{
	return fake(sa)->unique;
}

static ike_sa_state_t get_state(ike_sa_t *sa)
{
	return fake(sa)->state;
}

static void set_state(ike_sa_t *sa, ike_sa_state_t state)
{
	fake(sa)->state = state;
}

static int get_child_count(ike_sa_t *sa)
{
	return fake(sa)->children;
}

static char *get_name(ike_sa_t *sa)
{
	return "site";
}

static uint32_t get_message_id(ike_sa_t *sa, bool own)
{
	return fake(sa)->next[own];
}

static void set_message_id(ike_sa_t *sa, bool own, uint32_t next)
{
	fake(sa)->next[own] = next;
}

static enumerator_t *create_enumerator(ike_sa_manager_t *m, bool wait)
{
	linked_list_t *list = linked_list_create();
	enumerator_t *e;

	for (unsigned int i = 0; i < n; i++)
		if (!all[i].destroyed)
			list->insert_last(list, &all[i].sa);
	e = list->create_enumerator(list);
	return enumerator_create_cleaner(e, (void *)list->destroy, list);
}

static ike_sa_t *checkout_by_id(ike_sa_manager_t *m, uint32_t unique)
{
	for (unsigned int i = 0; i < n; i++)
		if (all[i].unique == unique && !all[i].destroyed)
			return &all[i].sa;
	return NULL;
}

static void checkin(ike_sa_manager_t *m, ike_sa_t *sa)
{
	assert_false(fake(sa)->destroyed);
}

static void checkin_and_destroy(ike_sa_manager_t *m, ike_sa_t *sa)
{
	assert_int_equal(fake(sa)->state, IKE_PASSIVE); // else ha passes it on
	fake(sa)->destroyed = true;
}

static void log_nothing(bus_t *this, debug_t group, level_t level, char *format, ...)
{
}

static int start(void **state)
{
	assert_true(library_init(NULL, "test"));
	manager = (ike_sa_manager_t){.create_enumerator = create_enumerator,
		.checkout_by_id = checkout_by_id,
		.checkin = checkin,
		.checkin_and_destroy = checkin_and_destroy};
	bus.log = log_nothing;
	fake_charon.ike_sa_manager = &manager;
	fake_charon.bus = &bus;
	charon = &fake_charon;
	return 0;
}

static int end(void **state)
{
	charon = NULL;
	library_deinit();
	return 0;
}

static void add(uint64_t spi, ike_sa_state_t state, int children, uint32_t theirs, uint32_t own)
{
	all[n] = (struct fake){.sa = {.get_id = get_id,
				       .get_unique_id = get_unique_id,
				       .get_state = get_state,
				       .set_state = set_state,
				       .get_child_count = get_child_count,
				       .get_name = get_name,
				       .get_message_id = get_message_id,
				       .set_message_id = set_message_id},
		.id = ike_sa_id_create(IKEV2_MAJOR_VERSION, spi, spi + 1, true),
		.state = state,
		.children = children,
		.unique = n + 1,
		.next = {theirs, own}};
	n++;
}

static int forget(void **state)
{
	for (unsigned int i = 0; i < n; i++)
		all[i].id->destroy(all[i].id);
	n = 0;
	return 0;
}

static void test_one(void **state)
{
	add(1, IKE_PASSIVE, 1, 2, 3);
	add(2, IKE_PASSIVE, 0, 4, 5);
	twice_end();
	assert_false(all[0].destroyed || all[1].destroyed);
	assert_int_equal(all[0].next[1], 3);
	assert_int_equal(all[1].next[0], 4);
}

// Whatever the order in which they are found.
static void with_children(unsigned int at)
{
	for (unsigned int i = 0; i < N; i++)
		add(1, IKE_PASSIVE, i == at, i == at ? 2 : i + 3, i == at ? 1 : 6 - i);
	twice_end();
	for (unsigned int i = 0; i < N; i++)
		assert_int_equal(all[i].destroyed, i != at);
}

static void test_children(void **state)
{
	for (unsigned int at = 0; at < N; at++) {
		with_children(at);
		forget(state);
	}
}

static void test_numbers_are_taken_over(void **state)
{
	for (unsigned int at = 0; at < N; at++) {
		with_children(at);
		assert_int_equal(all[at].next[0], at == 2 ? 4 : 5);
		assert_int_equal(all[at].next[1], at == 0 ? 5 : 6);
		forget(state);
	}
}

// It has sent a request, which ha reported with the number after it.
static void test_active_keeps_its_numbers(void **state)
{
	add(1, IKE_ESTABLISHED, 1, 2, 3);
	add(1, IKE_PASSIVE, 1, 2, 4);
	twice_end();
	assert_false(all[0].destroyed);
	assert_true(all[1].destroyed);
	assert_int_equal(all[0].next[1], 3);
}

static void test_newest_of_equal_ones(void **state)
{
	add(1, IKE_PASSIVE, 1, 7, 3);
	add(1, IKE_PASSIVE, 1, 2, 4);
	twice_end();
	assert_true(all[0].destroyed);
	assert_int_equal(all[1].next[0], 7);
	assert_int_equal(all[1].next[1], 4);
}

// The peer's SPI has to be unique for the peer alone (RFC 7296 2.6): another one may have chosen
// it.
static void test_same_spi_of_two_peers(void **state)
{
	add(1, IKE_ESTABLISHED, 1, 2, 3);
	add(1, IKE_ESTABLISHED, 1, 2, 3);
	all[1].id->set_responder_spi(all[1].id, 77);
	twice_end();
	assert_false(all[0].destroyed || all[1].destroyed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_same_spi_of_two_peers, forget),
		cmocka_unit_test_teardown(test_one, forget),
		cmocka_unit_test_teardown(test_children, forget),
		cmocka_unit_test_teardown(test_numbers_are_taken_over, forget),
		cmocka_unit_test_teardown(test_active_keeps_its_numbers, forget),
		cmocka_unit_test_teardown(test_newest_of_equal_ones, forget),
	};

	return cmocka_run_group_tests(tests, start, end);
}
