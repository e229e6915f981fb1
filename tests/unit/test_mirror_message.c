// SPDX-License-Identifier: BSD-3-Clause
// Messages of the kernel about routes: of all kinds, truncated, and unknown.
#include "mirror_made.h"
#include "test.h"

static void routes_of_all_kinds_are_read(void **state)
{
	static const struct {
		uint8_t type;
		enum mirror_path_kind kind;
	} rejecting[] = {{RTN_BLACKHOLE, MIRROR_BLACKHOLE}, {RTN_UNREACHABLE, MIRROR_UNREACHABLE},
		{RTN_PROHIBIT, MIRROR_PROHIBIT}, {RTN_THROW, MIRROR_THROW}};

	(void)state;
	made_add("192.0.2.0/24", "10.0.0.2", 0);
	made_assert_by("192.0.2.0/24", 1, "10.0.0.2");
	made_add("2001:db8:1::/48", "fe80::1", 1024);
	made_assert_by("2001:db8:1::/48", 1, "fe80::1");
	made_route(RTM_NEWROUTE, 0, "0.0.0.0/0");
	made_hop(NULL, LINK);
	made_apply();
	made_assert_by("0.0.0.0/0", 1, "::");
	for (size_t i = 0; i < COUNT_OF(rejecting); i++) {
		made_route(RTM_NEWROUTE, NLM_F_REPLACE, "192.0.3.0/24")->rtm_type =
			rejecting[i].type;
		made_apply();
		made_assert_kind("192.0.3.0/24", rejecting[i].kind);
	}
}

static void weights_and_onlink_are_read(void **state)
{
	const struct mirror_path *path;

	(void)state;
	made_route(RTM_NEWROUTE, 0, "192.0.2.0/24");
	made_several("10.0.0.2", "10.1.0.2");
	made_apply();
	path = made_path("192.0.2.0/24");
	made_assert_by("192.0.2.0/24", 2, "10.0.0.2");
	assert_int_equal(path->hop[0].weight + path->hop[1].weight, 4);
	made_route(RTM_NEWROUTE, 0, "192.0.3.0/24")->rtm_flags = RTNH_F_ONLINK;
	made_hop("172.16.0.1", LINK);
	made_apply();
	assert_true(made_path("192.0.3.0/24")->hop[0].onlink);
}

static void ipv4_by_an_ipv6_next_hop_is_read(void **state)
{
	struct {
		uint16_t family;
		uint8_t addr[16];
	} via = {AF_INET6, {0xfe, 0x80, [15] = 1}};

	(void)state;
	made_route(RTM_NEWROUTE, 0, "192.0.2.0/24");
	mnl_attr_put(&made_message.head, RTA_VIA, sizeof(via), &via);
	mnl_attr_put_u32(&made_message.head, RTA_OIF, LINK);
	made_apply();
	made_assert_by("192.0.2.0/24", 1, "fe80::1");
}

static void assert_unused(enum mirror_unused reason)
{
	unsigned int before = made_store.unused[reason];

	made_hop("10.0.0.2", LINK);
	made_apply();
	assert_int_equal(made_store.unused[reason], before + 1);
}

static void unsupported_routes_are_not_used_and_counted(void **state)
{
	static const struct {
		uint16_t attribute;
		enum mirror_unused reason;
	} unsupported[] = {{RTA_NH_ID + 7, MIRROR_ATTRIBUTE}, {RTA_ENCAP, MIRROR_ENCAP},
		{RTA_ENCAP_TYPE, MIRROR_ENCAP}, {RTA_NEWDST, MIRROR_ENCAP}};

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(unsupported); i++) {
		made_route(RTM_NEWROUTE, NLM_F_REPLACE, "192.0.2.0/24");
		mnl_attr_put_u16(&made_message.head, unsupported[i].attribute, 1);
		made_metric(i);
		assert_unused(unsupported[i].reason);
		made_assert_kind("192.0.2.0/24", MIRROR_UNUSED);
	}
	made_route(RTM_NEWROUTE, 0, "192.0.3.0/24")->rtm_type = RTN_NAT;
	assert_unused(MIRROR_TYPE);
	made_assert_kind("192.0.3.0/24", MIRROR_UNUSED);
	made_route(RTM_NEWROUTE, 0, "192.0.4.0/24")->rtm_tos = 16;
	assert_unused(MIRROR_TOS);
	assert_null(made_path("192.0.4.0/24")); // others go by a shorter prefix
	made_route(RTM_NEWROUTE, 0, "2001:db8::/32")->rtm_src_len = 48;
	made_hop("fe80::1", LINK);
	made_apply();
	assert_int_equal(made_store.unused[MIRROR_SOURCE], 1);
	assert_null(made_path("2001:db8::/32"));
}

static void a_route_with_too_many_next_hops_is_not_used(void **state)
{
	struct nlattr *nest;

	(void)state;
	made_route(RTM_NEWROUTE, 0, "192.0.2.0/24");
	nest = mnl_attr_nest_start(&made_message.head, RTA_MULTIPATH);
	for (unsigned int i = 0; i <= MIRROR_HOPS_MAX; i++)
		made_one_of_several("10.0.0.2", LINK, 1);
	mnl_attr_nest_end(&made_message.head, nest);
	made_apply();
	made_assert_kind("192.0.2.0/24", MIRROR_UNUSED);
	assert_int_equal(made_store.unused[MIRROR_MANY], 1);
}

// Of each length, in memory that ends with the message: only the whole one is complete, or one that
// lacks whole attributes.
static void truncated_messages_are_refused_or_read_no_further(void **state)
{
	static struct mirror_message m;
	unsigned int refused = 0;
	uint32_t whole;

	(void)state;
	made_route(RTM_NEWROUTE, 0, "192.0.2.0/24");
	made_several("10.0.0.2", "10.1.0.2");
	whole = made_message.head.nlmsg_len;
	for (uint32_t len = sizeof(made_message.head); len < whole; len++) {
		struct nlmsghdr *cut = malloc(len);

		memcpy(cut, &made_message, len);
		cut->nlmsg_len = len;
		refused += mirror_message_read(&m, cut) < 0;
		free(cut);
	}
	assert_in_range(refused, 50, whole);
}

static void other_messages_are_ignored(void **state)
{
	static struct mirror_message m;
	struct ifinfomsg *link = made_begin(RTM_DELLINK, 0, sizeof(*link));

	(void)state;
	link->ifi_family = AF_BRIDGE; // the link leaves a bridge
	link->ifi_index = LINK;
	assert_int_equal(mirror_message_read(&m, &made_message.head), 0);
	assert_int_equal(m.about, MIRROR_NOTHING);
	made_route(RTM_NEWROUTE, 0, "192.0.2.0/24")->rtm_flags = RTM_F_CLONED;
	assert_int_equal(mirror_message_read(&m, &made_message.head), 0);
	assert_int_equal(m.about, MIRROR_NOTHING);
	made_begin(RTM_NEWRULE, 0, sizeof(struct rtmsg));
	assert_int_equal(mirror_message_read(&m, &made_message.head), 0);
	assert_int_equal(m.about, MIRROR_NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MADE_TEST(routes_of_all_kinds_are_read),
		MADE_TEST(weights_and_onlink_are_read),
		MADE_TEST(ipv4_by_an_ipv6_next_hop_is_read),
		MADE_TEST(unsupported_routes_are_not_used_and_counted),
		MADE_TEST(a_route_with_too_many_next_hops_is_not_used),
		MADE_TEST(truncated_messages_are_refused_or_read_no_further),
		MADE_TEST(other_messages_are_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
