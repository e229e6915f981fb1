// SPDX-License-Identifier: BSD-3-Clause
// Routes of the kernel that come and go while SAs send by them.
#include "desk.h"
#include "kernel_routes.h"

static void put(const char *to, const struct nexthop *nexthop)
{
	const struct ip_prefix prefix = net_of(to);

	assert_int_equal(kernel_route_put(&desk, &prefix, nexthop), 0);
}

static void delete (const char *to)
{
	const struct ip_prefix prefix = net_of(to);

	assert_int_equal(kernel_route_delete(&desk, &prefix), 0);
}

static struct nexthop by(const char *gateway)
{
	return (struct nexthop){.kind = NEXTHOP_GATEWAY, .iface = WAN, .gateway = addr_of(gateway)};
}

static const struct nexthop *next_hop(void)
{
	return sa_out_path(desk_sa_out("out-4"))->nexthop;
}

static void test_sas_follow(void **state)
{
	const struct nexthop far = by("192.0.2.9"), other = by("192.0.2.10");
	const struct nexthop *before = next_hop();

	(void)state;
	assert_int_equal(before->kind, NEXTHOP_CONNECTED);
	put("192.0.2.2/32", &far);
	kernel_routes_end(&desk);
	assert_memory_equal(&next_hop()->gateway, &far.gateway, sizeof(far.gateway));
	put("192.0.2.2/32", &other);
	desk_worker_begins();
	kernel_routes_end(&desk);
	assert_memory_equal(&next_hop()->gateway, &other.gateway, sizeof(other.gateway));
	assert_true(desk_waits()); // with the former next hop
	desk_worker_passes();
	desk_wait(100);
	delete ("192.0.2.2/32");
	desk_wait(100);
	assert_ptr_equal(next_hop(), before);
	put("203.0.113.0/24", &far); // unrelated
	kernel_routes_end(&desk);
	assert_ptr_equal(next_hop(), before);
	desk_expect_no_event();
}

// An SA whose peer has no route any more stops sending.
static void test_peer_unreachable(void **state)
{
	const struct nexthop never = {.kind = NEXTHOP_NOT_UNICAST};

	(void)state;
	put("192.0.2.2/32", &never);
	kernel_routes_end(&desk);
	assert_null(next_hop());
	delete ("192.0.2.2/32");
	kernel_routes_end(&desk);
	assert_non_null(next_hop());
}

// ESP packets never go into a tunnel.
static void test_peer_in_tunnel(void **state)
{
	const struct nexthop into = {.kind = NEXTHOP_TUNNEL, .iface = IFACE_TUNNEL_MIN};
	const struct nexthop *before = next_hop();

	(void)state;
	desk.snapshot->iface[IFACE_TUNNEL_MIN].name = "t";
	put("192.0.2.2/32", &into);
	kernel_routes_end(&desk);
	assert_ptr_equal(next_hop(), before);
	desk_expect_event("event=peer_in_tunnel\tseverity=warning\tsa=out-4\tto=192.0.2.2\t"
			  "tunnel=t");
	put("192.0.2.2/32", &into); // posted once
	kernel_routes_end(&desk);
	delete ("192.0.2.2/32");
	kernel_routes_end(&desk);
	desk_expect_no_event();
}

static void test_reload_keeps_them(void **state)
{
	const struct nexthop far = by("192.0.2.9");
	const struct ip_addr there = addr_of("203.0.113.1"), two = addr_of("10.2.0.1");

	(void)state;
	put("203.0.113.0/24", &far);
	put("10.2.0.0/24", &far); // that of the file is used
	kernel_routes_end(&desk);
	desk_reload("audit = \"none\";", "");
	assert_memory_equal(&desk_route(&there)->gateway, &far.gateway, sizeof(far.gateway));
	assert_memory_not_equal(&desk_route(&two)->gateway, &far.gateway, sizeof(far.gateway));
}

static void test_never_a_destination(void **state)
{
	static const struct {
		const char *to, *addr;
	} rows[] = {{"127.1.0.0/16", "127.1.2.3"}, {"224.0.0.0/24", "224.0.0.5"},
		{"0.1.0.0/16", "0.1.2.3"}, {"fe80::/64", "fe80::7"}, {"ff02::/16", "ff02::5"}};
	const struct nexthop far = by("192.0.2.9");

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		const struct ip_addr addr = addr_of(rows[i].addr);

		put(rows[i].to, &far);
		assert_int_equal(desk_route(&addr)->kind, NEXTHOP_NOT_UNICAST);
	}
	kernel_routes_end(&desk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		desk_test(test_sas_follow),
		desk_test(test_peer_unreachable),
		desk_test(test_peer_in_tunnel),
		desk_test(test_reload_keeps_them),
		desk_test(test_never_a_destination),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
