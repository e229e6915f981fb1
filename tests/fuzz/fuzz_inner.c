// SPDX-License-Identifier: BSD-3-Clause
// Any octets as what a peer has sealed with the right key: the code behind the integrity check,
// which a packet of random octets never reaches. The first octet of the input says by which peer
// and what is made right, the second is the TOS of the outer header; the rest is encrypted.
#include <netinet/in.h>

#include "fuzz.h"
#include "fuzz_gateway.h"
#include "udp.h"

enum {
	BY_C = 1,          // else by B
	RIGHT_TRAILER = 2, // padding and next header follow the octets
	RIGHT_SUM = 4,     // of the inner IP header
	RIGHT_LENGTH = 8,  // of the inner IP packet
	IPV6 = 16,         // it is IPv6, and by A to the gateway that has it
};

#define TEXT_MAX 1400

static struct peer a, b, c;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_gateway_start();
	b = peer_new(fuzz_gateway, "from-b");
	c = peer_new(fuzz_gateway, "from-c");
	a = peer_new(fuzz_gateway_v6, "in");
	return 0;
}

static void make_right(uint8_t *text, uint16_t len, uint8_t how)
{
	if (len < IP_LEN)
		return;
	if ((how & IPV6) != 0) {
		if ((how & RIGHT_LENGTH) != 0 && len >= IP6_LEN)
			put16(text + 4, len - IP6_LEN);
		return;
	}
	if ((how & RIGHT_LENGTH) != 0)
		put16(text + 2, len);
	if ((how & RIGHT_SUM) != 0 && len >= (text[0] & 15) * 4)
		ip_checksum_mend(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	static uint32_t seq;
	uint8_t text[TEXT_MAX + 32] = {0};

	if (len < 2)
		return 0;

	bool v6 = (input[0] & IPV6) != 0;
	const struct peer *peer = v6 ? &a : (input[0] & BY_C) != 0 ? &c : &b;
	struct gateway *g = v6 ? fuzz_gateway_v6 : fuzz_gateway;
	uint16_t text_len = (uint16_t)RTE_MIN(len - 2, (size_t)TEXT_MAX);

	memcpy(text, input + 2, text_len);
	make_right(text, text_len, input[0]);
	if ((input[0] & RIGHT_TRAILER) != 0)
		text_len = peer_trailer(peer, text, text_len, v6 ? IPPROTO_IPV6 : IPPROTO_IPIP);
	while (text_len % peer->sa->cipher->block != 0 || text_len == 0)
		text_len++;

	struct frame f = peer_seal(peer,
		(struct esp){.seq = ++seq, .text = text, .text_len = text_len, .tos = input[1]});

	if (peer->sa->in_udp)
		f = into_udp(&f, NATT, NATT);

	struct rte_mbuf *m = frame_mbuf(&f);

	fuzz_gateway_pass(g, &m, 1);
	assert_int_equal(g->last.drops[DROP_AUTH], 0);
	return 0;
}
