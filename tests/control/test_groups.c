// SPDX-License-Identifier: BSD-3-Clause
// Groups of addresses: roles at the start, by command and after a reload; the silence of a
// standby group, and the announcements of an active one.
#include <pthread.h>
#include <stdatomic.h>

#include <rte_cycles.h>
#include <rte_pause.h>

#include "arp.h"
#include "collect.h"
#include "desk.h"
#include "flows.h"
#include "group.h"
#include "nd.h"
#include "role.h"

#define GROUP(role)                                                                                \
	"groups = ( { name = \"main\"; role = \"" role "\"; addresses = [ \"192.0.2.1\", "         \
	"\"2001:db8:f::1\" ]; } );"

#define NEXT(role)                                                                                 \
	"groups = ( { name = \"next\"; role = \"" role "\"; addresses = [ \"192.0.2.1\", "         \
	"\"2001:db8:f::1\" ]; } );"

static void set(const char *name, enum conf_role role)
{
	assert_true(role_set(&desk, name, role, desk_now));
}

static enum drop stop_of(const char *out)
{
	return sa_stop_reason(&desk_sa_out(out)->sa);
}

static enum dad_state state_of(uint16_t port, const char *addr)
{
	struct ip_addr a = addr_of(addr);

	return dad_state(desk.dad, port, &a);
}

// Frames about the group's addresses: ARP from or for that of IPv4, neighbour discovery about that
// of IPv6.
static unsigned int sent_about_group(void)
{
	const uint8_t own[4] = {192, 0, 2, 1};
	struct ip_addr own6 = addr_of("2001:db8:f::1");
	struct nd_message m;
	unsigned int n = 0;

	for (unsigned int i = 0; i < desk_n_sent; i++) {
		const struct frame *f = &desk_sent[i];

		if (f->b[12] == 0x08 && f->b[13] == 0x06)
			n += memcmp(f->b + ETH_LEN + 14, own, sizeof(own)) == 0;
		else if (f->b[12] == 0x86 &&
			 nd_read(&m, (const struct rte_ipv6_hdr *)(f->b + ETH_LEN)) == ND_GOOD)
			n += ip_addr_equal(&m.target, &own6) || ip_addr_equal(&m.source, &own6);
	}
	return n;
}

static void test_default_is_active(void **state)
{
	(void)state;
	desk_wait(2000);
	desk_reload("groups = ( { name = \"main\"; addresses = [ \"192.0.2.1\" ]; } );", "");
	assert_int_equal(stop_of("out-4"), DROP_NONE);
	assert_int_equal(state_of(WAN, "192.0.2.1"), DAD_ASSIGNED);
	desk_reload("", "");
	assert_int_equal(stop_of("out-4"), DROP_NONE);
}

// Its SAs neither send nor receive, and nothing is sent in its name: no announcement, no detection
// of duplicates, no probe.
static void test_standby_is_silent(void **state)
{
	uint64_t probes;

	(void)state;
	desk_wait(2000);
	desk_reload(GROUP("standby"), "");
	assert_int_equal(stop_of("out-4"), DROP_STANDBY);
	assert_int_equal(stop_of("out-6"), DROP_STANDBY);
	assert_int_equal(stop_of("out-nat"), DROP_STANDBY);
	assert_int_equal(sa_stop_reason(&desk_sa_in("in-4")->sa), DROP_STANDBY);
	assert_int_equal(state_of(WAN, "192.0.2.1"), DAD_STANDBY);
	assert_int_equal(state_of(WAN, "2001:db8:f::1"), DAD_STANDBY);
	assert_int_equal(state_of(LAN, "2001:db8:1::1"), DAD_ASSIGNED);
	desk_forget();
	probes = desk_tunnel("six")->probes;
	for (unsigned int i = 0; i < 30; i++) {
		desk_n_sent = 0;
		desk_wait(1000);
		assert_int_equal(sent_about_group(), 0);
		assert_int_equal(desk_tunnel("six")->probes, probes);
	}
	assert_int_equal(desk_tunnel("four")->state, TUNNEL_STANDBY);
	desk_expect_no_event();
	// A link that comes up changes nothing, nor does a neighbour that is sought.
	desk_link[WAN] = false;
	desk_wait(2000);
	desk_link[WAN] = true;
	desk_forget();
	desk_wait(2000);
	assert_int_equal(sent_about_group(), 0);
	assert_int_equal(state_of(WAN, "2001:db8:f::1"), DAD_STANDBY);
}

static void test_keepalives(void **state)
{
	(void)state;
	desk_wait(2000);
	desk_event((struct event){.kind = EVENT_PEER_ENDPOINT,
		.spi = RTE_BE32(0x1006),
		.addr = addr_of("198.51.100.7"),
		.addr_port = RTE_BE16(1024)});
	assert_non_null(sa_out_path(desk_sa_out("out-nat"))->nexthop);
	desk_reload(GROUP("standby"), "");
	desk_wait(20000);
	assert_int_equal(desk.counters.keepalives_out, 0);
	set("main", CONF_ACTIVE);
	desk_wait(20000);
	assert_int_not_equal(desk.counters.keepalives_out, 0);
}

static void test_activation(void **state)
{
	uint32_t generation;

	(void)state;
	desk_wait(2000);
	desk_reload(GROUP("standby"), "");
	desk_wait(1000);
	desk_forget();
	generation = desk_flow_generation();
	set("main", CONF_ACTIVE);
	assert_int_equal(stop_of("out-4"), DROP_NONE); // at once
	assert_int_equal(stop_of("out-6"), DROP_NONE);
	assert_int_equal(state_of(WAN, "2001:db8:f::1"), DAD_ASSIGNED);
	assert_int_not_equal(desk_flow_generation(), generation);
	assert_int_equal(sent_about_group(), 2);
	desk_expect_event("event=group_role\tseverity=info\tgroup=main\trole=active");
	desk_wait(1000);
	assert_int_equal(sent_about_group(), 8); // each four times
	desk_wait(1000);
	assert_int_equal(sent_about_group(), 10);
	desk_forget();
	set("main", CONF_ACTIVE); // again
	assert_int_equal(sent_about_group(), 2);
	desk_expect_no_event();
	desk_forget();
	generation = desk_flow_generation();
	set("main", CONF_STANDBY);
	assert_int_equal(stop_of("out-4"), DROP_STANDBY);
	assert_int_not_equal(desk_flow_generation(), generation);
	desk_expect_event("event=group_role\tseverity=info\tgroup=main\trole=standby");
	assert_int_equal(desk_n_sent, 0);
	assert_false(role_set(&desk, "other", CONF_ACTIVE, desk_now));
}

static enum drop begins_with_ack(uint16_t port)
{
	struct flow_pkt p = pkt_tcp(HOST_A, port, HOST_B, 80, ACK, 1, 1);
	struct flow *f;

	flow_lookup_start(desk.flows, &p);
	return flow_insert(desk.flows, 0, &p, NULL, 0, (uint32_t)desk_now, NULL, &f);
}

// TCP connections without a flow are picked up, for some seconds.
static void test_takeover_picks_up(void **state)
{
	struct flow_config config;

	(void)state;
	desk_wait(2000);
	desk_reload(GROUP("standby"), "");
	assert_int_equal(desk.conf->takeover_s, 30);
	desk.conf->takeover_s = 5;
	flow_config_init(&config);
	flow_table_configure(desk.flows, &config); // without pickup
	assert_int_equal(begins_with_ack(1), DROP_TCP_UNOPENED);
	set("main", CONF_ACTIVE);
	assert_int_equal(begins_with_ack(2), DROP_NONE);
	desk_wait(4900);
	assert_int_equal(begins_with_ack(3), DROP_NONE);
	desk_wait(200);
	assert_int_equal(begins_with_ack(4), DROP_TCP_UNOPENED);
	set("main", CONF_STANDBY);
	assert_int_equal(begins_with_ack(5), DROP_TCP_UNOPENED);
}

static void claim(const char *addr)
{
	desk_event((struct event){.kind = EVENT_ADDR_CONFLICT,
		.port = WAN,
		.addr = addr_of(addr),
		.mac = {{0x02, 0, 0, 0, 0x99, 0x01}}});
}

// Another station announces the address of an active group, as a gateway that was active by mistake
// has done: the group is announced once more, but not with every frame that a stranger sends.
static void test_active_group_is_defended(void **state)
{
	(void)state;
	desk_wait(2000);
	desk_reload(GROUP("active"), "");
	desk_wait(12000);
	desk_forget();
	claim("192.0.2.1");
	assert_int_equal(sent_about_group(), 2);
	claim("2001:db8:f::1");
	assert_int_equal(sent_about_group(), 2);
	desk_wait(2000);
	assert_int_equal(sent_about_group(), 10);
	claim("192.0.2.1");
	desk_wait(2000);
	assert_int_equal(sent_about_group(), 10);
	desk_wait(8000);
	desk_forget();
	claim("192.0.2.1");
	assert_int_equal(sent_about_group(), 2);
	set("main", CONF_STANDBY);
	desk_forget();
	desk_wait(12000);
	claim("192.0.2.1");
	desk_wait(2000);
	assert_int_equal(sent_about_group(), 0);
}

// It announces nothing more.
static void test_standby_again_at_once(void **state)
{
	(void)state;
	desk_wait(2000);
	desk_reload(GROUP("standby"), "");
	set("main", CONF_ACTIVE);
	set("main", CONF_STANDBY);
	desk_forget();
	desk_wait(3000);
	assert_int_equal(sent_about_group(), 0);
}

static void expect(uint64_t ms)
{
	assert_true(role_expect(&desk, "main", desk_now + ms));
}

// It announces its addresses, and answers for them, but no SA is used.
static void test_expected_group(void **state)
{
	(void)state;
	desk_wait(2000);
	desk_reload(GROUP("standby"), "");
	desk_forget();
	expect(2000);
	assert_int_equal(sent_about_group(), 2); // at once
	assert_int_equal(state_of(WAN, "192.0.2.1"), DAD_EXPECTED);
	assert_int_equal(state_of(WAN, "2001:db8:f::1"), DAD_EXPECTED);
	assert_int_equal(stop_of("out-4"), DROP_STANDBY);
	desk_reload(GROUP("standby"), "");
	assert_int_equal(state_of(WAN, "192.0.2.1"), DAD_EXPECTED);
	desk_wait(1000);
	assert_int_equal(sent_about_group(), 8);
	set("main", CONF_ACTIVE);
	assert_false(desk.groups.item[0].expected);
	assert_int_equal(state_of(WAN, "192.0.2.1"), DAD_ASSIGNED);
	assert_int_equal(stop_of("out-4"), DROP_NONE);
	desk_wait(3000);
	assert_int_equal(state_of(WAN, "192.0.2.1"), DAD_ASSIGNED);
	assert_false(role_expect(&desk, "main", desk_now + 1000)); // it is active
	assert_false(role_expect(&desk, "other", desk_now + 1000));
}

// A group that does not become active in time, or is to be standby, is silent again.
static void test_expectation_ends(void **state)
{
	(void)state;
	desk_wait(2000);
	desk_reload(GROUP("standby"), "");
	expect(500);
	desk_wait(400);
	expect(500);
	desk_wait(400);
	assert_int_equal(state_of(WAN, "192.0.2.1"), DAD_EXPECTED);
	desk_wait(200);
	assert_int_equal(state_of(WAN, "192.0.2.1"), DAD_STANDBY);
	assert_false(desk.groups.item[0].expected);
	expect(2000);
	set("main", CONF_STANDBY);
	assert_int_equal(state_of(WAN, "192.0.2.1"), DAD_STANDBY);
	expect(2000);
	roles_give_up(&desk, desk_now);
	assert_int_equal(state_of(WAN, "2001:db8:f::1"), DAD_STANDBY);
	desk_forget();
	desk_wait(3000);
	assert_int_equal(sent_about_group(), 0);
}

// Another gateway announces it from now on.
static void test_leaving_group_is_not_defended(void **state)
{
	(void)state;
	desk_wait(2000);
	desk_reload(GROUP("active"), "");
	desk_wait(12000);
	desk.groups.item[0].leaving = true;
	desk_forget();
	claim("192.0.2.1");
	assert_int_equal(sent_about_group(), 0);
	set("main", CONF_ACTIVE); // it stays
	desk_wait(12000);
	desk_forget();
	claim("192.0.2.1");
	assert_int_equal(sent_about_group(), 2);
}

static atomic_bool pass_has_begun;

// A worker's pass, in which it accepts a packet of the SA after some time.
static void *pass(void *sa)
{
	desk_worker_begins();
	atomic_store(&pass_has_begun, true);
	rte_delay_us_sleep(50000);
	assert_true(replay_commit(&((struct sa *)sa)->per_packet.replay, 7));
	rte_rcu_qsbr_thread_offline(desk.qsbr, 0);
	return NULL;
}

// The report to the other member afterwards has all packets that are accepted.
static void test_standby_waits_for_passes(void **state)
{
	struct sa *sa;
	pthread_t worker;

	(void)state;
	desk_reload(GROUP("active"), "");
	sa = &desk_sa_in("in-4")->sa;
	pass_has_begun = false;
	assert_int_equal(pthread_create(&worker, NULL, pass, sa), 0);
	while (!pass_has_begun)
		rte_pause();
	set("main", CONF_STANDBY);
	assert_int_equal(replay_top(&sa->per_packet.replay), 7);
	assert_int_equal(pthread_join(worker, NULL), 0);
}

static void test_reload_keeps_the_role(void **state)
{
	(void)state;
	desk_wait(2000);
	desk_reload(GROUP("standby"), "");
	set("main", CONF_ACTIVE);
	desk_reload(GROUP("standby"), "");
	assert_int_equal(stop_of("out-4"), DROP_NONE);
	set("main", CONF_STANDBY);
	desk_reload(GROUP("active"), "");
	assert_int_equal(stop_of("out-4"), DROP_STANDBY);
	// Another group begins with its own role, and one that was removed is forgotten.
	set("main", CONF_ACTIVE);
	desk_reload("groups = ( { name = \"next\"; addresses = [ \"192.0.2.1\" ]; } );", "");
	assert_int_equal(stop_of("out-4"), DROP_NONE);
	assert_int_equal(state_of(WAN, "2001:db8:f::1"), DAD_ASSIGNED);
}

// Whether a configuration with these groups would keep the roles of addresses; if not, the message.
static void check_roles(const char *groups, const char *refusal)
{
	struct conf *conf = desk_conf(groups, "");
	char *said;
	size_t len;
	FILE *errors = open_memstream(&said, &len);
	bool good = groups_keep_roles(&desk, conf, errors);

	fclose(errors);
	assert_int_equal(good, refusal == NULL);
	if (refusal != NULL && strstr(said, refusal) == NULL)
		fail_msg("no \"%s\" in: %s", refusal, said);
	if (refusal == NULL)
		assert_string_equal(said, "");
	free(said);
	conf_free(conf);
}

// The addresses of a standby group do not become active because the group is renamed or removed, or
// they are moved, nor those of an active one standby.
static void test_reload_changes_no_roles(void **state)
{
	(void)state;
	desk_wait(2000);
	desk_reload(GROUP("standby"), "");
	check_roles(GROUP("active"), NULL);
	check_roles("", "192.0.2.1 is of the group \"main\", which is standby, and would become "
			"active: make it active first (culvertctl group main active)\n");
	check_roles("", "2001:db8:f::1 is of the group \"main\"");
	check_roles("groups = ( { name = \"main\"; addresses = [ \"2001:db8:f::1\" ]; } );",
		"192.0.2.1 is of");
	check_roles(NEXT("active"), "192.0.2.1 is of");
	check_roles(NEXT("standby"), NULL);
	set("main", CONF_ACTIVE);
	check_roles("", NULL);
	check_roles(NEXT("active"), NULL);
	check_roles(NEXT("standby"),
		"192.0.2.1 is of the group \"main\", which is active, and "
		"would become standby: make it standby first (culvertctl group "
		"main standby)\n");
}

// An address that was of a group, and is of none, is an ordinary one.
static void test_address_leaves_its_group(void **state)
{
	(void)state;
	desk_wait(2000);
	desk_reload(GROUP("standby"), "");
	desk_reload("groups = ( { name = \"next\"; addresses = [ \"192.0.2.1\" ]; } );", "");
	assert_int_equal(stop_of("out-6"), DROP_ADDR_UNUSABLE); // is checked now
	assert_int_equal(state_of(WAN, "2001:db8:f::1"), DAD_TENTATIVE);
	desk_wait(2000);
	assert_int_equal(state_of(WAN, "2001:db8:f::1"), DAD_ASSIGNED);
	desk_reload(GROUP("active"), "");
	assert_int_equal(stop_of("out-6"), DROP_NONE);
}

// The tunnel of an active group is judged by packets that it receives from then on.
static void test_tunnel_state(void **state)
{
	(void)state;
	desk_wait(2000);
	desk_reload(GROUP("standby"), "");
	desk_sa_counted("out-4")->packets++; // before
	desk_wait(1000);
	assert_int_equal(desk_tunnel("four")->state, TUNNEL_STANDBY);
	set("main", CONF_ACTIVE);
	desk_wait(1000);
	assert_int_equal(desk_tunnel("four")->state, TUNNEL_NEVER);
	desk_sa_counted("in-4")->packets++;
	desk_sa_counted("in-4")->bytes += 100;
	desk_wait(2000);
	assert_int_equal(desk_tunnel("four")->state, TUNNEL_UP);
}

static void test_list(void **state)
{
	struct groups_view v;

	(void)state;
	assert_false(collect_groups(&v, &desk, 0));
	desk_wait(2000);
	desk_reload(GROUP("standby"), "");
	desk_wait(1000);
	assert_true(collect_groups(&v, &desk, 0));
	assert_string_equal(v.name, "main");
	assert_string_equal(v.role, "standby");
	assert_int_equal(v.active, 0);
	assert_int_equal(v.role_ms, 1000);
	assert_int_equal(v.changes, 0);
	assert_int_equal(v.tunnels, 3);
	assert_string_equal(v.addresses, "192.0.2.1,2001:db8:f::1");
	set("main", CONF_ACTIVE);
	assert_true(collect_groups(&v, &desk, 0));
	assert_int_equal(v.active, 1);
	assert_int_equal(v.role_ms, 0);
	assert_int_equal(v.changes, 1);
	assert_false(collect_groups(&v, &desk, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		desk_test(test_default_is_active),
		desk_test(test_standby_is_silent),
		desk_test(test_keepalives),
		desk_test(test_activation),
		desk_test(test_takeover_picks_up),
		desk_test(test_active_group_is_defended),
		desk_test(test_standby_again_at_once),
		desk_test(test_expected_group),
		desk_test(test_expectation_ends),
		desk_test(test_leaving_group_is_not_defended),
		desk_test(test_standby_waits_for_passes),
		desk_test(test_reload_keeps_the_role),
		desk_test(test_reload_changes_no_roles),
		desk_test(test_address_leaves_its_group),
		desk_test(test_tunnel_state),
		desk_test(test_list),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
