// SPDX-License-Identifier: BSD-3-Clause
// Endpoints of moved peers in the lines between the members of a pair.
#include "desk.h"
#include "member_peers.h"
#include "member_sa.h"
#include "peers.h"
#include "role.h"

#define PAIR                                                                                       \
	"pair = { member = 1; };\n"                                                                \
	"groups = ( { name = \"main\"; role = \"standby\"; addresses = [ \"192.0.2.1\" ]; } );\n"

static int begin(void **state)
{
	int rc = desk_begin(state);

	desk_reload(PAIR, "");
	desk_wait(2000);
	return rc;
}

#define pair_test(f) cmocka_unit_test_setup_teardown(f, begin, desk_end)

static void active(void)
{
	assert_true(role_set(&desk, "main", CONF_ACTIVE, desk_now));
}

static struct sa *receiver(void)
{
	return &desk_sa_in("in-nat")->sa;
}

// Where packets to the peer are sent; "any": nowhere yet.
static const char *sent_to(void)
{
	static char text[ENDPOINT_STRLEN];
	const struct sa_peer peer = peer_endpoint(&desk_sa_out("out-nat")->sa);

	return endpoint_format(text, &peer.addr, peer.port);
}

// Takes "peer", the name of the SA and the rest.
static bool learn(const char *rest)
{
	char name[MEMBER_SA_STRLEN], line[256];

	member_sa_write(name, receiver());
	snprintf(line, sizeof(line), "peer %s %s", name, rest);
	return member_peer_learn(&desk, line, desk_now);
}

static void packet_from(const char *addr, uint16_t port)
{
	desk_event((struct event){.kind = EVENT_PEER_ENDPOINT,
		.spi = receiver()->spi,
		.addr = addr_of(addr),
		.addr_port = rte_cpu_to_be_16(port)});
}

static void a_standby_follows(void **state)
{
	(void)state;
	assert_true(learn("198.51.100.7 1024"));
	assert_string_equal(sent_to(), "198.51.100.7:1024");
	assert_non_null(sa_out_path(desk_sa_out("out-nat"))->nexthop);
	assert_true(learn("198.51.100.8 1025")); // at once
	assert_string_equal(sent_to(), "198.51.100.8:1025");
	active();
	packet_from("198.51.100.8", 1025);
	assert_string_equal(sent_to(), "198.51.100.8:1025");
}

static void an_active_one_knows_better(void **state)
{
	(void)state;
	active();
	packet_from("198.51.100.7", 1024);
	assert_true(learn("198.51.100.8 1025"));
	assert_string_equal(sent_to(), "198.51.100.7:1024");
}

static void impossible_endpoints_have_no_effect(void **state)
{
	static const char *const impossible[] = {"224.0.0.1 1024", "127.0.0.1 1024",
		"255.255.255.255 1024", "0.0.0.0 1024", "2001:db8::1 1024", "198.51.100.7 0"};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(impossible); i++) {
		assert_true(learn(impossible[i]));
		assert_string_equal(sent_to(), "any");
	}
}

static void other_lines_are_not_taken(void **state)
{
	static const char *const rest[] = {"", "198.51.100.7", "198.51.100.7 ",
		"198.51.100.7 65536", "198.51.100.7 -1", "198.51.100.7 1024 ",
		"198.51.100.7 1024 1", "198.51.100.7  1024", "gw 1024"};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rest); i++)
		assert_false(learn(rest[i]));
	assert_false(member_peer_learn(&desk, "peer", desk_now));
	assert_false(member_peer_learn(&desk, "peer 12 198.51.100.7 1024", desk_now));
	assert_false(
		member_peer_learn(&desk, "peers 0123456789abcdef 198.51.100.7 1024", desk_now));
	assert_true(member_peer_learn(&desk, "peer 0123456789abcdef 198.51.100.7 1024", desk_now));
	assert_string_equal(sent_to(), "any");
}

static void changes_are_reported_once(void **state)
{
	char line[MEMBER_PEER_LINE_MAX], name[MEMBER_SA_STRLEN], expected[256];

	(void)state;
	assert_int_equal(member_peer_report(receiver(), true, 0, line), 0); // not known
	active();
	packet_from("198.51.100.7", 1024);
	member_sa_write(name, receiver());
	snprintf(expected, sizeof(expected), "peer %s 198.51.100.7 1024", name);
	assert_int_equal(member_peer_report(receiver(), false, desk_now, line), strlen(expected));
	assert_string_equal(line, expected);
	assert_int_equal(member_peer_report(receiver(), false, desk_now + 1, line), 0);
	assert_int_equal(
		member_peer_report(receiver(), true, desk_now + 1, line), strlen(expected));
	assert_int_equal(member_peer_report(&desk_sa_out("out-nat")->sa, true, 0, line), 0);
	assert_true(role_set(&desk, "main", CONF_STANDBY, desk_now));
	assert_int_equal(member_peer_report(receiver(), true, 0, line), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pair_test(a_standby_follows),
		pair_test(an_active_one_knows_better),
		pair_test(impossible_endpoints_have_no_effect),
		pair_test(other_lines_are_not_taken),
		pair_test(changes_are_reported_once),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
