// SPDX-License-Identifier: BSD-3-Clause
// Tunnels that routes lead into, with SAs of IKE: one place has the SA that sends, or none while
// the tunnel is down. As policies, two peers cannot have the same selectors.
#include "collect.h"
#include "configure.h"
#include "ike_desk.h"
#include "role.h"
#include "tunnel_state.h"

#define TUNNEL  "tunnels = ( { name = \"cloud\"; if_id = 42; } );"
#define IS_DOWN "event=tunnel_down\tseverity=warning\ttunnel=cloud\tsa="

static const struct spd_policy *cloud(void)
{
	const struct spd *spd = desk.snapshot->spd;

	return spd_at(spd, spd_count_policies(spd));
}

// Workers send into the tunnel by this SA; NULL: it is down.
static void expect_sends_by(const char *sa)
{
	const struct sa_out *out = objects_out(desk.snapshot->objects, cloud()->number);

	if (sa == NULL)
		assert_null(out);
	else
		assert_string_equal(out->sa.live.name, sa);
}

static void ask_if_id(const char *name, const char *direction, unsigned int spi, unsigned int if_id)
{
	ask_add("sa add { name = \"ike.%s\"; direction = \"%s\"; spi = \"0x%x\"; if_id = %u; "
		"cipher = \"aes-128-gcm\"; "
		"cipher_key = \"%08x101112131415161718191a1b1c1d1e1f\"; local = \"192.0.2.1\"; "
		"remote = \"192.0.2.2\"; }\n",
		name, direction, spi, if_id, spi);
}

static void begin(void)
{
	desk_reload(TUNNEL, "");
	desk_wait(100);
	desk_forget();
	ask_if_id("a.in", "in", 0x10000, 42);
	ask_if_id("a.out", "out", 0x10001, 42);
	ask_done();
}

static void test_newest_sa_of_if_id_sends(void **state)
{
	uint32_t flows;

	(void)state;
	desk_reload(TUNNEL, "");
	desk_forget();
	desk_wait(100);
	desk_expect_event(IS_DOWN "\treason=no_sa");
	expect_sends_by(NULL);
	begin();
	desk_expect_event("event=tunnel_usable\tseverity=info\ttunnel=cloud\tsa=ike.a.out");
	expect_sends_by("ike.a.out");
	assert_ptr_equal(spd_find_tunnel(desk.snapshot->spd, desk_sa_in("ike.a.in")), cloud());
	flows = desk_flow_generation();
	ask_if_id("b.in", "in", 0x20000, 42);
	ask_if_id("b.out", "out", 0x20001, 42);
	ask_done();
	expect_sends_by("ike.b.out");
	assert_string_equal(listed_tunnel("cloud").in, "ike.b.in,ike.a.in");
	ask_now("sa del ike.a.in\nsa del ike.a.out");
	expect_sends_by("ike.b.out");
	desk_forget();
	ask_now("sa del ike.b.out");
	expect_sends_by(NULL);
	desk_expect_event(IS_DOWN "\treason=no_sa");
	assert_string_equal(listed_tunnel("cloud").state, "down");
	assert_int_equal(desk_flow_generation(), flows);
	ask_now("sa del ike.b.in");
}

static void test_reload_keeps_sas(void **state)
{
	(void)state;
	begin();
	desk_reload(TUNNEL " default_action = \"accept\";", "");
	expect_sends_by("ike.a.out");
	desk_reload("", "");
	assert_null(spd_find_tunnel(desk.snapshot->spd, desk_sa_in("ike.a.in")));
	desk_reload(TUNNEL, "");
	expect_sends_by("ike.a.out");
}

static void test_unknown_if_id(void **state)
{
	(void)state;
	desk_reload(TUNNEL, "");
	ask_if_id("a.in", "in", 0x10000, 43);
	ask_refused(
		"ike:1: sa \"ike.a.in\": no tunnel has its if_id: add one to the list tunnels of "
		"the configuration\n");
}

static void test_down_by_command(void **state)
{
	(void)state;
	begin();
	desk_forget();
	assert_false(tunnel_state_order(&desk, "four", true, desk_now)); // that of a policy
	assert_true(tunnel_state_order(&desk, "cloud", true, desk_now));
	expect_sends_by(NULL);
	desk_expect_event(IS_DOWN "ike.a.out\treason=command");
	ask_if_id("b.out", "out", 0x20001, 42);
	ask_done();
	expect_sends_by(NULL);
	desk_reload(TUNNEL, "");
	expect_sends_by(NULL);
	desk_wait(1000);
	expect_sends_by(NULL);
	assert_true(tunnel_state_order(&desk, "cloud", false, desk_now));
	expect_sends_by("ike.b.out");
	desk_expect_event("event=tunnel_usable\tseverity=info\ttunnel=cloud\tsa=ike.b.out");
}

// Also with another if_id, and so another number.
static void test_reload_keeps_down(void **state)
{
	(void)state;
	desk_reload("tunnels = ( { name = \"cloud\"; if_id = 42; }, { name = \"other\"; if_id = "
		    "43; } );",
		"");
	ask_if_id("a.out", "out", 0x10001, 42);
	ask_if_id("b.out", "out", 0x20001, 43);
	ask_done();
	assert_true(tunnel_state_order(&desk, "cloud", true, desk_now));
	desk_reload("tunnels = ( { name = \"cloud\"; if_id = 43; }, { name = \"other\"; if_id = "
		    "42; } );",
		"");
	expect_sends_by(NULL);
	assert_true(tunnel_state_order(&desk, "cloud", false, desk_now));
	expect_sends_by("ike.b.out");
}

// A tunnel gets no number that another one had just before: routes may still lead to that.
static void test_numbers_go_round(void **state)
{
	uint16_t before;

	(void)state;
	desk_reload(TUNNEL, "");
	before = cloud()->iface;
	desk_reload("", "");
	desk_reload("tunnels = ( { name = \"other\"; if_id = 43; } );", "");
	assert_int_not_equal(cloud()->iface, before);
}

static void test_down_with_link_or_sa(void **state)
{
	(void)state;
	begin();
	desk_link[WAN] = false;
	desk_wait(1100);
	expect_sends_by(NULL);
	assert_string_equal(listed_tunnel("cloud").reason, "link");
	desk_link[WAN] = true;
	desk_wait(1100);
	expect_sends_by("ike.a.out");
	sa_stop(&desk_sa_out("ike.a.out")->sa, LIFETIME_PACKETS);
	desk_wait(100);
	expect_sends_by(NULL);
	assert_string_equal(listed_tunnel("cloud").reason, "stopped");
}

// It is not down while the SA has another link to the peer.
static void test_next_link(void **state)
{
	unsigned int port;

	(void)state;
	desk_routes = ", { to = \"192.0.2.2/32\"; hops = ( { via = \"192.0.2.254\"; }, "
		      "{ via = \"10.1.0.254\"; } ); }";
	begin();
	desk_routes = "";
	desk_wait(1000);
	port = sa_out_path(desk_sa_out("ike.a.out"))->nexthop->iface;
	desk_forget();
	desk_link[port] = false;
	desk_wait(1100);
	assert_int_equal(sa_out_path(desk_sa_out("ike.a.out"))->nexthop->iface, !port);
	expect_sends_by("ike.a.out");
	desk_expect_event(port == WAN ? "event=link_down\tseverity=warning\tport=wan"
				      : "event=link_down\tseverity=warning\tport=lan");
	desk_expect_no_event();
	desk_link[port] = true;
}

// Also before the first answer.
static void test_down_without_answers(void **state)
{
	(void)state;
	desk_reload("tunnels = ( { name = \"cloud\"; if_id = 42; probe = { address = "
		    "\"10.9.0.1\"; interval = 2; }; } );",
		"");
	ask_if_id("a.in", "in", 0x10000, 42);
	ask_if_id("a.out", "out", 0x10001, 42);
	ask_done();
	desk_wait(5000);
	expect_sends_by("ike.a.out");
	assert_in_range(listed_tunnel("cloud").probes, 2, 3);
	assert_string_equal(listed_tunnel("cloud").probe, "10.9.0.1");
	desk_forget();
	for (unsigned int i = 0; i < 12; i++) { // frames of all of them are not kept
		desk_wait(1000);
		desk_forget();
	}
	expect_sends_by(NULL);
	assert_string_equal(listed_tunnel("cloud").reason, "probe");
	desk_sa_counted("ike.a.in")->bytes += 100;
	desk_sa_counted("ike.a.in")->packets++;
	desk_wait(1100);
	expect_sends_by("ike.a.out");
}

// The tunnel that the route to 10.9.0.0/16 leads into, or the port by which other routes go.
static void expect_by(const char *name, const char *unused)
{
	const struct ip_addr to = addr_of("10.9.0.1");
	struct routes_view r;

	assert_string_equal(desk.snapshot->iface[desk_route(&to)->iface].name, name);
	for (unsigned int i = 0; collect_routes(&r, &desk, i); i++)
		if (r.to.len == 96 + 16)
			assert_string_equal(r.unused, unused);
}

static void reload_with(const char *route)
{
	desk_routes = route;
	desk_reload(TUNNEL, "");
	desk_routes = "";
	desk_worker_passes();
	configure_retire(&desk);
}

#define GROUP "groups = ( { name = \"g\"; role = \"standby\"; addresses = [ \"192.0.2.1\" ]; } );"
#define ROUTE ", { to = \"10.9.0.0/16\"; tunnel = \"cloud\"; "

// It is not down, so that routes with skip do not lead elsewhere.
static void test_tunnel_of_standby_group(void **state)
{
	(void)state;
	desk_reload(TUNNEL GROUP, "");
	ask_if_id("a.in", "in", 0x10000, 42);
	ask_if_id("a.out", "out", 0x10001, 42);
	ask_done();
	assert_int_equal(sa_stop_reason(&desk_sa_out("ike.a.out")->sa), DROP_STANDBY);
	desk_wait(1000);
	expect_sends_by("ike.a.out");
	assert_int_equal(desk.tunnels.item[desk.tunnels.n - 1].state, TUNNEL_STANDBY);
	assert_true(role_set(&desk, "g", CONF_ACTIVE, desk_now));
	assert_int_equal(sa_stop_reason(&desk_sa_out("ike.a.out")->sa), DROP_NONE);
	desk_wait(1000);
	assert_int_equal(desk.tunnels.item[desk.tunnels.n - 1].state, TUNNEL_NEVER);
}

// Nor do they where the tunnel never had an SA, which charon cannot negotiate here.
static void test_tunnel_of_standby_without_sa(void **state)
{
	(void)state;
	desk_routes = ROUTE "down = \"skip\"; }";
	desk_reload(TUNNEL GROUP, "");
	desk_routes = "";
	desk_worker_passes();
	configure_retire(&desk);
	expect_by("cloud", "-");
	desk_wait(1000);
	assert_int_equal(desk.tunnels.item[desk.tunnels.n - 1].state, TUNNEL_STANDBY);
	assert_true(role_set(&desk, "g", CONF_ACTIVE, desk_now));
	desk_wait(1000);
	expect_by("wan", "tunnel_down");
	assert_true(role_set(&desk, "g", CONF_STANDBY, desk_now));
	desk_wait(1000);
	expect_by("cloud", "-");
}

static void test_skip(void **state)
{
	(void)state;
	reload_with(ROUTE "down = \"skip\"; }");
	expect_by("wan", "tunnel_down"); // from the first moment, as it has no SA
	ask_if_id("a.in", "in", 0x10000, 42);
	ask_if_id("a.out", "out", 0x10001, 42);
	ask_done();
	desk_wait(100);
	expect_by("cloud", "-");
	tunnel_state_order(&desk, "cloud", true, desk_now);
	desk_wait(100);
	expect_by("wan", "tunnel_down");
	reload_with(ROUTE "down = \"skip\"; }");
	expect_by("wan", "tunnel_down");
	reload_with(ROUTE "}");
	expect_by("cloud", "-");
	reload_with(ROUTE "down = \"skip\"; }");
	expect_by("wan", "tunnel_down");
	tunnel_state_order(&desk, "cloud", false, desk_now);
	desk_wait(100);
	expect_by("cloud", "-");
}

// IKE is asked less and less often, until there is an SA, and not while an operator holds the
// tunnel down.
static void test_acquire(void **state)
{
	static const char expected[] =
		"event=acquire\tseverity=info\tpolicy=cloud\treqid=0\tif_id=42\tsource=10.1.0.5\t"
		"destination=10.9.0.1\tproto=17\tsource_port=1000\tdestination_port=53";
	struct event needed = {.kind = EVENT_SA_NEEDED,
		.port = LAN,
		.addr = addr_of("10.1.0.5"),
		.peer = addr_of("10.9.0.1"),
		.proto = 17,
		.addr_port = RTE_BE16(1000),
		.peer_port = RTE_BE16(53)};

	(void)state;
	desk_reload(TUNNEL, "");
	desk_wait(100);
	needed.policy = cloud()->number;
	desk_forget();
	desk_event(needed);
	desk_expect_event(expected);
	desk_event(needed);
	desk_expect_no_event();
	for (unsigned int ms = 1000; ms < 60000; ms *= 2) {
		desk_wait(ms - 100);
		desk_event(needed);
		desk_expect_no_event();
		desk_wait(100);
		desk_event(needed);
		desk_expect_event(expected);
	}
	desk_wait(60000);
	tunnel_state_order(&desk, "cloud", true, desk_now);
	desk_forget();
	desk_event(needed);
	desk_expect_no_event();
	tunnel_state_order(&desk, "cloud", false, desk_now);
	begin();
	desk_wait(1000);
	desk_forget();
	desk_event(needed);
	desk_expect_no_event();
	ask_now("sa del ike.a.in\nsa del ike.a.out");
	desk_forget();
	desk_event(needed);
	desk_expect_event(expected);
}

static void test_mtu(void **state)
{
	uint16_t mtu;

	(void)state;
	begin();
	mtu = sa_out_path(desk_sa_out("ike.a.out"))->mtu;
	desk_reload("tunnels = ( { name = \"cloud\"; if_id = 42; mtu = 1000; } );", "");
	assert_int_equal(sa_out_path(desk_sa_out("ike.a.out"))->mtu, 1000);
	ask_if_id("b.out", "out", 0x20001, 42);
	ask_done();
	assert_int_equal(sa_out_path(desk_sa_out("ike.b.out"))->mtu, 1000);
	desk_reload(TUNNEL, "");
	assert_int_equal(sa_out_path(desk_sa_out("ike.a.out"))->mtu, mtu);
}

// --- equal selectors ---

#define TAKEN                                                                                      \
	"another peer has a policy with the same selectors, and packets cannot tell them apart: "  \
	"give the CHILD_SA of each peer an if_id, which a tunnel of the configuration has\n"

static void peer_adds(const char *name, unsigned int spi, uint32_t reqid, const char *more)
{
	ask_pair(name, spi, reqid);
	ask_policy(name, "10.4.0.0/24", reqid, more);
}

static void test_second_peer_is_refused(void **state)
{
	(void)state;
	peer_adds("a", 0x10000, 1, "peer_id = 1;");
	ask_done();
	peer_adds("b", 0x20000, 2, "peer_id = 2;");
	ask_refused("ike:3: policy \"ike.b\": " TAKEN);
	expect_sender("ike.a", "ike.a.out");
	assert_false(listed_sa("ike.b.out"));
	peer_adds("b", 0x40000, 2, "peer_id = 2; proto = 6;"); // others
	ask_done();
	ask_pair("c", 0x30000, 3);
	ask_policy("c", "10.4.0.0/25", 3, "peer_id = 3;"); // a part
	ask_done();
}

// As with equal selectors. The same peer may have several SAs, as for new keys.
static void test_tunnel_is_of_one_peer(void **state)
{
	static const char form[] =
		"sa add { name = \"ike.%u\"; direction = \"%s\"; spi = \"0x%x\"; if_id = 42; "
		"cipher = \"aes-128-gcm\"; "
		"cipher_key = \"%08x101112131415161718191a1b1c1d1e1f\"; local = \"192.0.2.1\"; "
		"remote = \"192.0.2.2\"; peer_id = %u; }\n";

	(void)state;
	desk_reload(TUNNEL, "");
	ask_add(form, 1, "in", 0x10000, 1, 1);
	ask_add(form, 2, "out", 0x10001, 2, 1);
	ask_add(form, 3, "out", 0x10002, 3, 1);
	ask_done();
	expect_sends_by("ike.3");
	for (unsigned int i = 0; i < 2; i++) {
		ask_add(form, 4, i == 0 ? "in" : "out", 0x20000, 4, 2);
		ask_refused("ike:1: sa \"ike.4\": another peer has SAs with its if_id: give each "
			    "peer its own tunnel\n");
	}
	expect_sends_by("ike.3");
	ask_now("sa del ike.1\nsa del ike.2\nsa del ike.3");
	ask_add(form, 4, "out", 0x20000, 4, 2);
	ask_done();
	expect_sends_by("ike.4");
}

// New keys have the same reqid, an IKE_SA that is made before the former one breaks has another
// one, and a trap is no peer's.
static void test_same_peer_is_accepted(void **state)
{
	(void)state;
	ask_policy("trap", "10.4.0.0/24", 1, "priority = 2; trap = true;");
	peer_adds("a", 0x10000, 1, "peer_id = 1;");
	ask_done();
	ask_pair("rekeyed", 0x20000, 1);
	ask_done();
	peer_adds("reauthenticated", 0x30000, 2, "peer_id = 1;");
	ask_done();
	ask_now("policy del ike.a\nsa del ike.a.in\nsa del ike.a.out\n"
		"sa del ike.rekeyed.in\nsa del ike.rekeyed.out");
	expect_sender("ike.reauthenticated", "ike.reauthenticated.out");
}

// At once: workers may still read the former policy.
static void test_next_peer_takes_its_place(void **state)
{
	(void)state;
	peer_adds("a", 0x10000, 1, "peer_id = 1;");
	ask_done();
	ask_now("policy del ike.a\nsa del ike.a.in\nsa del ike.a.out");
	peer_adds("b", 0x20000, 2, "peer_id = 2;");
	ask_done();
	expect_sender("ike.b", "ike.b.out");
}

static void test_road_warriors_have_addresses(void **state)
{
	char name[16], remote[32], id[32];

	(void)state;
	for (unsigned int i = 1; i <= 20; i++) {
		snprintf(name, sizeof(name), "r%u", i);
		snprintf(remote, sizeof(remote), "10.5.0.%u/32", i);
		snprintf(id, sizeof(id), "peer_id = %u;", i);
		ask_pair(name, 0x10000 * i, i);
		ask_policy(name, remote, i, id);
		ask_done();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ike_desk_test(test_newest_sa_of_if_id_sends),
		ike_desk_test(test_reload_keeps_sas),
		ike_desk_test(test_unknown_if_id),
		ike_desk_test(test_down_by_command),
		ike_desk_test(test_reload_keeps_down),
		ike_desk_test(test_numbers_go_round),
		ike_desk_test(test_down_with_link_or_sa),
		ike_desk_test(test_next_link),
		ike_desk_test(test_down_without_answers),
		ike_desk_test(test_tunnel_of_standby_group),
		ike_desk_test(test_tunnel_of_standby_without_sa),
		ike_desk_test(test_skip),
		ike_desk_test(test_acquire),
		ike_desk_test(test_mtu),
		ike_desk_test(test_second_peer_is_refused),
		ike_desk_test(test_tunnel_is_of_one_peer),
		ike_desk_test(test_same_peer_is_accepted),
		ike_desk_test(test_next_peer_takes_its_place),
		ike_desk_test(test_road_warriors_have_addresses),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
