// SPDX-License-Identifier: BSD-3-Clause
// Outbound SAs found by the addresses and ports of their packets.
#include "sa_udp.h"

#include <stdlib.h>

#include "addrs.h"
#include "line_memory.h"
#include "sas.h"
#include "test.h"

#define MANY 100

static struct sa_out *sa_to(const char *remote, uint16_t port)
{
	static const char nexthop; // only its address counts
	struct sa_params p = sas_params(cipher_alg_find("aes-128-gcm"), auth_alg_find("none"));
	struct sa_out *sa;

	p.opt.remote = addr_of(remote);
	if (strchr(remote, ':') != NULL)
		p.opt.local = addr_of("2001:db8::1");
	p.opt.in_udp = port != 0;
	p.opt.udp_local_port = 4500;
	p.opt.udp_remote_port = port;
	p.nexthop = (const void *)&nexthop;
	p.mtu = 1500;
	sa = sa_out_new(&p);
	assert_non_null(sa);
	return sa;
}

static struct sa_udp_ends ends(const char *remote, uint16_t port)
{
	struct ip_addr src = addr_of("192.0.2.1"), dst = addr_of(remote);

	return (struct sa_udp_ends){
		ip_addr_v4(&src), ip_addr_v4(&dst), rte_cpu_to_be_16(4500), rte_cpu_to_be_16(port)};
}

static struct sa_out *find(const struct sa_udp_index *index, const char *remote, uint16_t port)
{
	const struct sa_udp_ends e = ends(remote, port);

	return sa_udp_find(index, &e);
}

static void test_find(void **state)
{
	struct sa_udp_index *index = sa_udp_index_new(MANY + 3);
	struct sa_out *sa[MANY + 3];
	struct sa_udp_ends e;

	(void)state;
	assert_null(find(index, "192.0.2.2", 4500));
	for (uint16_t i = 0; i < MANY; i++)
		sa[i] = sa_to("192.0.2.2", (uint16_t)(1000 + i * 7 % MANY));
	sa[MANY] = sa_to("192.0.2.3", 0);
	sa[MANY + 1] = sa_to("2001:db8::2", 4500);
	sa[MANY + 2] = sa_to("192.0.2.3", 4500);
	sa_udp_index_fill(index, sa, MANY + 3);
	assert_int_equal(index->n, MANY + 1);
	for (uint16_t i = 0; i < MANY; i++)
		assert_ptr_equal(find(index, "192.0.2.2", (uint16_t)(1000 + i * 7 % MANY)), sa[i]);
	assert_ptr_equal(find(index, "192.0.2.3", 4500), sa[MANY + 2]);
	assert_null(find(index, "192.0.2.2", 999));
	assert_null(find(index, "192.0.2.2", 1000 + MANY));
	assert_null(find(index, "192.0.2.4", 4500));
	e = ends("192.0.2.3", 4500);
	e.src_port ^= 1;
	assert_null(sa_udp_find(index, &e));
	e.src_port ^= 1;
	e.src ^= 1;
	assert_null(sa_udp_find(index, &e));
	for (unsigned int i = 0; i < MANY + 3; i++)
		sa_free(&sa[i]->sa);
	line_free(index);
}

// During a rekey, an old SA and a new one have the same ends.
static void test_stopped(void **state)
{
	struct sa_udp_index *index = sa_udp_index_new(3);
	struct sa_out *sa[3];

	(void)state;
	for (unsigned int i = 0; i < 3; i++)
		sa[i] = sa_to("192.0.2.2", 4500);
	sa_udp_index_fill(index, sa, 3);
	for (unsigned int i = 0; i < 3; i++) {
		struct sa_out *found = find(index, "192.0.2.2", 4500);

		assert_int_equal(found->sa.per_packet.stop, DROP_NONE);
		sa_stop(&found->sa, LIFETIME_SECONDS);
	}
	assert_non_null(find(index, "192.0.2.2", 4500));
	for (unsigned int i = 0; i < 3; i++)
		sa_free(&sa[i]->sa);
	line_free(index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
