// SPDX-License-Identifier: BSD-3-Clause
// Any octets as text that a peer has sealed with the right key: the code after the integrity check,
// which a packet of random octets never reaches. The first octet of the input determines the peer
// and the fields that are made valid, the second is the TOS of the outer header, and the size of
// fragments; the rest is encrypted. Proves that the books balance and no sanitizer reports an
// error.
#include <netinet/in.h>

#include "fuzz.h"
#include "fuzz_gateway.h"
#include "site_v6.h"
#include "udp.h"

enum {
	BY_C = 1,          // else by B
	RIGHT_TRAILER = 2, // padding and next header are appended
	RIGHT_SUM = 4,     // of the inner IP header
	RIGHT_LENGTH = 8,  // of the inner IP packet
	IPV6 = 16,         // it is IPv6, and from A to the gateway that has IPv6
	IN_FRAGMENTS = 32, // the inner packet is in fragments, with RIGHT_TRAILER
	ESP_CUT = 64,      // the ESP packets are in fragments
};

#define TEXT_MAX 1400

static struct gateway *site, *site_v6;
static struct peer a, b, c;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_gateway_start();
	site = fuzz_gateway_add(
		site_a((struct site){.sa = IN_UDP})); // between A and B, not A and C
	site_v6 = fuzz_gateway_add(site_v6_b(OVER_V4, (struct site){0}));
	b = peer_new(site, "from-b");
	c = peer_new(site, "from-c");
	a = peer_new(site_v6, "in");
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
		ip_checksum_update(text);
}

// The text is in a frame, as an IP packet, though it need not be one.
static struct frame seal(const struct peer *peer, const struct frame *inner, const uint8_t *how)
{
	static uint32_t seq;
	uint8_t text[TEXT_MAX + 64] = {0};
	uint16_t len = frame_packet_len(inner);
	struct frame f;

	memcpy(text, frame_packet(inner), len);
	if ((how[0] & RIGHT_TRAILER) != 0)
		len = peer_trailer(
			peer, text, len, (how[0] & IPV6) != 0 ? IPPROTO_IPV6 : IPPROTO_IPIP);
	while (len % peer->sa->opt.cipher->block != 0 || len == 0)
		len++;
	f = peer_seal(
		peer, (struct esp){.seq = ++seq, .text = text, .text_len = len, .tos = how[1]});
	return peer->sa->opt.in_udp ? udp_insert(&f, NATT, NATT) : f;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	static struct frame inner[FUZZ_FRAGMENTS_MAX], outer[FUZZ_FRAGMENTS_MAX];
	struct rte_mbuf *m[RX_BURST_MAX];
	unsigned int n = 0, n_inner = 1, n_outer = 1;
	uint8_t text[TEXT_MAX];

	if (len < 2)
		return 0;

	bool v6 = (input[0] & IPV6) != 0;
	const struct peer *peer = v6 ? &a : (input[0] & BY_C) != 0 ? &c : &b;
	struct gateway *g = v6 ? site_v6 : site;
	uint16_t text_len = (uint16_t)RTE_MIN(len - 2, (size_t)TEXT_MAX);

	memcpy(text, input + 2, text_len);
	make_right(text, text_len, input[0]);
	inner[0] = frame_raw(WAN, text, text_len);
	if ((input[0] & IN_FRAGMENTS) != 0 && text_len > 0)
		n_inner = fuzz_fragment(inner, input[1]);
	for (unsigned int i = 0; i < n_inner; i++) {
		outer[0] = seal(peer, &inner[i], input);
		if ((input[0] & ESP_CUT) != 0)
			n_outer = fuzz_fragment(outer, input[1]);
		for (unsigned int k = 0; k < n_outer; k++)
			m[n++] = frame_mbuf(&outer[k]);
	}
	fuzz_gateway_pass(g, m, n);
	assert_int_equal(g->last.drops[DROP_AUTH], 0);
	return 0;
}
