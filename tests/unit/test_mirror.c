// SPDX-License-Identifier: BSD-3-Clause
// The mirror of the kernel's routes: which one it shows, after messages that are complete, lost, or
// out of order with a dump.
#include "mirror_made.h"
#include "test.h"

// --- which route is used ---

static void the_lowest_metric_is_used(void **state)
{
	(void)state;
	made_add("192.0.2.0/24", "10.0.0.20", 20);
	made_add("192.0.2.0/24", "10.0.0.10", 10);
	made_assert_by("192.0.2.0/24", 1, "10.0.0.10");
	made_add("192.0.2.0/24", "10.0.0.30", 30);
	assert_false(made_doubt);
	made_assert_by("192.0.2.0/24", 1, "10.0.0.10");
	made_route(RTM_DELROUTE, 0, "192.0.2.0/24");
	made_hop("10.0.0.10", LINK);
	made_metric(10);
	made_apply();
	made_assert_by("192.0.2.0/24", 1, "10.0.0.20");
}

static void a_replacement_is_one_change(void **state)
{
	uint64_t before;

	(void)state;
	made_add("192.0.2.0/24", "10.0.0.2", 0);
	before = made_known.changes;
	made_route(RTM_NEWROUTE, NLM_F_REPLACE, "192.0.2.0/24");
	made_hop("10.0.0.3", LINK);
	made_apply();
	made_assert_by("192.0.2.0/24", 1, "10.0.0.3");
	assert_int_equal(made_known.changes, before + 1);
	assert_int_equal(made_store.n, 1);
	assert_false(made_doubt);
}

static void ipv6_next_hops_join_and_leave(void **state)
{
	(void)state;
	made_add("2001:db8:1::/48", "fe80::1", 1024);
	made_route(RTM_NEWROUTE, NLM_F_APPEND, "2001:db8:1::/48");
	made_metric(1024);
	made_several("fe80::1", "fe80::2");
	made_apply();
	made_assert_by("2001:db8:1::/48", 2, "fe80::2");
	assert_int_equal(made_store.n, 1);
	made_route(RTM_DELROUTE, 0, "2001:db8:1::/48");
	made_metric(1024);
	made_hop("fe80::1", LINK);
	made_apply();
	made_assert_by("2001:db8:1::/48", 1, "fe80::2");
	assert_false(made_doubt);
}

static void another_protocol_takes_a_route_away(void **state)
{
	(void)state;
	made_add("192.0.2.0/24", "10.0.0.2", 0);
	made_route(RTM_NEWROUTE, NLM_F_REPLACE, "192.0.2.0/24")->rtm_protocol = RTPROT_KERNEL;
	made_hop("10.0.0.3", LINK);
	made_apply();
	assert_null(made_path("192.0.2.0/24"));
	assert_true(made_doubt);
}

static void a_removal_of_an_unknown_route_makes_a_dump_necessary(void **state)
{
	(void)state;
	made_add("192.0.2.0/24", "10.0.0.2", 0);
	assert_false(made_doubt);
	made_route(RTM_DELROUTE, 0, "192.0.2.0/24");
	made_hop("10.0.0.9", LINK);
	made_apply();
	assert_true(made_doubt);
	made_assert_by("192.0.2.0/24", 1, "10.0.0.2");
}

static void a_next_hop_that_is_dead_is_not_used(void **state)
{
	struct nlattr *nest;

	(void)state;
	made_route(RTM_NEWROUTE, 0, "192.0.2.0/24");
	nest = mnl_attr_nest_start(&made_message.head, RTA_MULTIPATH);
	made_one_of_several("10.0.0.2", LINK, 1);
	((struct rtnexthop *)mnl_attr_get_payload(nest))->rtnh_flags = RTNH_F_DEAD;
	made_one_of_several("10.1.0.2", OTHER_LINK, 1);
	mnl_attr_nest_end(&made_message.head, nest);
	made_apply();
	made_assert_by("192.0.2.0/24", 1, "10.1.0.2");
}

// --- links and objects ---

static void a_link_that_goes_down_takes_routes_with_it(void **state)
{
	(void)state;
	made_add("192.0.2.0/24", "10.0.0.2", 0);
	made_route(RTM_NEWROUTE, 0, "192.0.3.0/24");
	made_several("10.0.0.2", "10.1.0.2");
	made_apply();
	made_link(LINK, false, false);
	assert_true(made_doubt);
	assert_null(made_path("192.0.2.0/24"));
	made_assert_by("192.0.3.0/24", 1, "10.1.0.2");
	made_link(LINK, true, true); // they do not return with it
	assert_null(made_path("192.0.2.0/24"));
	made_add("192.0.2.0/24", "10.0.0.2", 0);
	made_assert_by("192.0.2.0/24", 1, "10.0.0.2");
}

static void a_higher_metric_is_used_when_a_link_goes_down(void **state)
{
	(void)state;
	made_add("192.0.2.0/24", "10.0.0.2", 0);
	made_route(RTM_NEWROUTE, 0, "192.0.2.0/24");
	made_hop("10.1.0.2", OTHER_LINK);
	made_metric(5);
	made_apply();
	made_assert_by("192.0.2.0/24", 1, "10.0.0.2");
	made_link(LINK, false, false);
	made_assert_by("192.0.2.0/24", 1, "10.1.0.2");
}

static void a_lost_carrier_takes_objects_alone(void **state)
{
	(void)state;
	made_add("192.0.2.0/24", "10.0.0.2", 0);
	made_object(RTM_NEWNEXTHOP, 1, "10.0.0.3");
	made_by_object("192.0.3.0/24", 1);
	made_assert_by("192.0.3.0/24", 1, "10.0.0.3");
	made_link(LINK, true, false);
	made_assert_by("192.0.2.0/24", 1, "10.0.0.2");
	assert_null(made_path("192.0.3.0/24"));
}

static void an_object_changes_all_its_routes(void **state)
{
	(void)state;
	made_object(RTM_NEWNEXTHOP, 1, "10.0.0.2");
	made_by_object("192.0.2.0/24", 1);
	made_by_object("192.0.3.0/24", 1);
	made_object(RTM_NEWNEXTHOP, 1, "10.0.0.3");
	made_assert_by("192.0.2.0/24", 1, "10.0.0.3");
	made_assert_by("192.0.3.0/24", 1, "10.0.0.3");
	made_object(RTM_DELNEXTHOP, 1, NULL);
	assert_null(made_path("192.0.2.0/24"));
	made_object(RTM_NEWNEXTHOP, 1, "10.0.0.2"); // its number is used again
	assert_null(made_path("192.0.2.0/24"));
	made_by_object("192.0.2.0/24", 1);
	made_assert_by("192.0.2.0/24", 1, "10.0.0.2");
	assert_null(made_path("192.0.3.0/24"));
}

static void a_group_has_the_weights_of_its_members(void **state)
{
	const struct nexthop_grp members[] = {{.id = 1, .weight = 2}, {.id = 2, .weight = 4}};

	(void)state;
	made_object(RTM_NEWNEXTHOP, 1, "10.0.0.2");
	made_object(RTM_NEWNEXTHOP, 2, "10.0.0.3");
	made_begin(RTM_NEWNEXTHOP, 0, sizeof(struct nhmsg));
	mnl_attr_put_u32(&made_message.head, NHA_ID, 10);
	mnl_attr_put(&made_message.head, NHA_GROUP, sizeof(members), members);
	made_apply();
	made_by_object("192.0.2.0/24", 10);
	made_assert_by("192.0.2.0/24", 2, "10.0.0.2");
	assert_int_equal(
		made_path("192.0.2.0/24")->hop[0].weight + made_path("192.0.2.0/24")->hop[1].weight,
		3 + 5);
	made_object(RTM_DELNEXTHOP, 1, NULL);
	made_assert_by("192.0.2.0/24", 1, "10.0.0.3");
}

static void a_member_without_a_next_hop_is_left_out(void **state)
{
	const struct nexthop_grp members[] = {{.id = 1}, {.id = 2}};

	(void)state;
	for (unsigned int i = 0; i < 2; i++) { // a group that replaces one looks at its members
		struct nhmsg *m = made_begin(RTM_NEWNEXTHOP, 0, sizeof(*m));

		m->nh_family = AF_INET;
		m->nh_flags = RTNH_F_DEAD;
		mnl_attr_put_u32(&made_message.head, NHA_ID, 1);
		mnl_attr_put_u32(&made_message.head, NHA_OIF, LINK);
		made_apply();
		made_object(RTM_NEWNEXTHOP, 2, "10.0.0.3");
		made_begin(RTM_NEWNEXTHOP, 0, sizeof(struct nhmsg));
		mnl_attr_put_u32(&made_message.head, NHA_ID, 10);
		mnl_attr_put(&made_message.head, NHA_GROUP, sizeof(members), members);
		made_apply();
	}
	made_by_object("192.0.2.0/24", 10);
	made_assert_by("192.0.2.0/24", 1, "10.0.0.3");
}

// --- dumps ---

static void dump_begin(void)
{
	while (mirror_store_work(&made_store, 100))
		;
	mirror_store_dump_begins(&made_store);
}

static void dump_end(void)
{
	mirror_store_dump_ended(&made_store);
	while (mirror_store_work(&made_store, 100))
		;
	mirror_known_check(&made_known, &made_store);
}

static void record(const char *to, const char *gateway)
{
	made_route(RTM_NEWROUTE, 0, to);
	made_hop(gateway, LINK);
	made_apply_as(true);
}

static void a_dump_corrects_what_was_lost(void **state)
{
	(void)state;
	made_add("192.0.2.0/24", "10.0.0.2", 0);
	made_add("192.0.3.0/24", "10.0.0.2", 0);
	dump_begin();
	record("192.0.3.0/24", "10.0.0.3");
	record("192.0.4.0/24", "10.0.0.2");
	dump_end();
	assert_null(made_path("192.0.2.0/24"));
	made_assert_by("192.0.3.0/24", 1, "10.0.0.3");
	made_assert_by("192.0.4.0/24", 1, "10.0.0.2");
	assert_int_equal(made_store.n, 2);
}

static void a_message_is_newer_than_a_dump_in_progress(void **state)
{
	(void)state;
	made_add("192.0.2.0/24", "10.0.0.2", 0);
	made_add("192.0.3.0/24", "10.0.0.2", 0);
	dump_begin();
	made_route(RTM_DELROUTE, 0, "192.0.2.0/24");
	made_hop("10.0.0.2", LINK);
	made_apply();
	made_route(RTM_NEWROUTE, NLM_F_REPLACE, "192.0.3.0/24");
	made_hop("10.0.0.3", LINK);
	made_apply();
	made_add("192.0.4.0/24", "10.0.0.2", 0); // is in no record
	record("192.0.2.0/24", "10.0.0.2");
	record("192.0.3.0/24", "10.0.0.2");
	dump_end();
	assert_null(made_path("192.0.2.0/24"));
	made_assert_by("192.0.3.0/24", 1, "10.0.0.3");
	made_assert_by("192.0.4.0/24", 1, "10.0.0.2");
	assert_int_equal(made_store.n, 2);
}

// --- bounds ---

static void add_many(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		char to[32];

		snprintf(to, sizeof(to), "10.%u.%u.0/24", i / 256, i % 256);
		made_route(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, to);
		made_hop("10.0.0.2", LINK);

		static struct mirror_message m;

		assert_int_equal(mirror_message_read(&m, &made_message.head), 0);
		mirror_store_apply(&made_store, &m, true, false);
	}
}

static void routes_beyond_the_limit_are_counted(void **state)
{
	(void)state;
	add_many(ROUTES_MAX + 100);
	assert_int_equal(made_store.n, ROUTES_MAX);
	assert_int_equal(made_store.over, 100);
	assert_int_equal(made_known.n, ROUTES_MAX);
	made_assert_by("10.0.0.0/24", 1, "10.0.0.2");
	made_route(RTM_NEWROUTE, NLM_F_REPLACE, "10.0.0.0/24"); // one that is there
	made_hop("10.0.0.3", LINK);
	made_apply();
	made_assert_by("10.0.0.0/24", 1, "10.0.0.3");
	dump_begin(); // the rest was withdrawn
	record("192.0.2.0/24", "10.0.0.2");
	record("10.0.0.0/24", "10.0.0.3");
	dump_end();
	assert_int_equal(made_store.over, 1);
	assert_int_equal(made_store.n, 1);
	made_add("192.0.2.0/24", "10.0.0.2", 0);
	assert_int_equal(made_store.n, 2);
}

static void work_is_bounded(void **state)
{
	unsigned int turns = 0;

	(void)state;
	add_many(ROUTES_MAX);
	made_begin(RTM_DELLINK, 0, sizeof(struct ifinfomsg));
	((struct ifinfomsg *)mnl_nlmsg_get_payload(&made_message.head))->ifi_index = LINK;

	static struct mirror_message m;

	assert_int_equal(mirror_message_read(&m, &made_message.head), 0);
	assert_true(mirror_link_apply(&made_store.nexthops, &m, false));
	assert_int_equal(made_known.n, ROUTES_MAX);
	for (bool more = true; more; turns++)
		more = mirror_store_work(&made_store, 100);
	assert_int_equal(made_known.n, 0);
	assert_in_range(turns, ROUTES_MAX / 2 / 100, 2 * ROUTES_MAX / 100);
}

static void nothing_is_left(void **state)
{
	(void)state;
	add_many(ROUTES_MAX);
	dump_begin();
	dump_end();
	assert_int_equal(made_known.n, 0);
	assert_int_equal(made_store.routes.n_nodes, 0);
	assert_int_equal(made_store.nexthops.paths.table.n_nodes, 0);
	assert_int_equal(made_store.nexthops.paths.n_hops, 0);
	assert_int_equal(made_store.routes.n_buckets, 1024); // as at the start
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MADE_TEST(the_lowest_metric_is_used),
		MADE_TEST(a_replacement_is_one_change),
		MADE_TEST(ipv6_next_hops_join_and_leave),
		MADE_TEST(another_protocol_takes_a_route_away),
		MADE_TEST(a_removal_of_an_unknown_route_makes_a_dump_necessary),
		MADE_TEST(a_next_hop_that_is_dead_is_not_used),
		MADE_TEST(a_link_that_goes_down_takes_routes_with_it),
		MADE_TEST(a_higher_metric_is_used_when_a_link_goes_down),
		MADE_TEST(a_lost_carrier_takes_objects_alone),
		MADE_TEST(an_object_changes_all_its_routes),
		MADE_TEST(a_group_has_the_weights_of_its_members),
		MADE_TEST(a_member_without_a_next_hop_is_left_out),
		MADE_TEST(a_dump_corrects_what_was_lost),
		MADE_TEST(a_message_is_newer_than_a_dump_in_progress),
		MADE_TEST(routes_beyond_the_limit_are_counted),
		MADE_TEST(work_is_bounded),
		MADE_TEST(nothing_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
