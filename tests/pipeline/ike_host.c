// SPDX-License-Identifier: BSD-3-Clause
#include "ike_host.h"

#define BYPASS6(port)                                                                              \
	", { name = \"ike" #port "\"; local = \"2001:db8:f::1\"; proto = \"udp\";"                 \
	"    local_port = \"" #port "\"; action = \"bypass\"; }"

const struct site ike_in_dmz = {
	.sa = IN_UDP,
	.more = "ike = { via = [ \"10.7.0.5\" ]; };",
	.policies = BYPASS(500) BYPASS(4500),
};

const struct site ike_in_lan = {
	.sa = IN_UDP,
	.more = "ike = { via = [ \"2001:db8:1::5\" ]; };",
	.policies = BYPASS6(500) BYPASS6(4500),
};

void expect_handed_over(struct gateway *g, struct frame f, uint16_t port)
{
	struct frame right = frame_after_hops(&f, 1);

	gateway_expect_sent(g, &f, port);
	assert_memory_equal(g->sent[0].b, mac_of_neighbour(port), 6);
	assert_int_equal(g->sent[0].len, f.len);
	assert_memory_equal(frame_packet(&g->sent[0]), frame_packet(&right), f.len - ETH_LEN);
}
