// SPDX-License-Identifier: BSD-3-Clause
// Any octets as what a peer has sealed in transport mode with the right key: what becomes of the
// packet that ESP was in, and behind NATs of the checksums in it; or as what a host has sent, to be
// sealed. The first octet of the input says how it comes, the second is the TOS, the protocol that
// the trailer names, and the size of fragments; the rest is encrypted.
#include <netinet/in.h>

#include "fuzz.h"
#include "fuzz_gateway.h"
#include "site_transport.h"
#include "udp.h"

enum {
	BARE = 1,          // else in UDP, to the other gateway
	RIGHT_TRAILER = 2, // padding and next header follow the octets
	RIGHT_LENGTH = 4,  // of UDP
	IS_UDP = 8,        // the trailer says so
	CUT = 16,          // it comes in fragments
	OPTIONS = 32,      // of IP, in front of ESP
	OUTWARD = 64,      // by a host inside
};

#define TEXT_MAX 1400

static struct gateway *in_udp, *bare;
static struct peer to_in_udp, to_bare;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_gateway_start();
	in_udp = fuzz_gateway_add(site_transport(1, (struct site){.sa = IN_UDP}));
	bare = fuzz_gateway_add(site_transport(2, (struct site){0}));
	to_in_udp = peer_new(in_udp, "i1");
	to_bare = peer_new(bare, "i1");
	return 0;
}

static struct frame outward(bool is_bare, const uint8_t *text, uint16_t len, uint8_t tos)
{
	struct ipv4 ip = {.src = is_bare ? "10.2.0.5" : "10.1.0.5",
		.dst = is_bare ? "10.1.0.5" : "10.2.0.5",
		.tos = tos,
		.len = (uint16_t)(IP_LEN + len)};
	struct frame f = frame_ip(LAN, ip);

	memcpy(f.b + ETH_LEN + IP_LEN, text, len);
	return f;
}

static struct frame inward(
	const struct peer *peer, const uint8_t *octets, uint16_t len, const uint8_t *how)
{
	static uint32_t seq;
	uint8_t text[TEXT_MAX + 64] = {0};
	struct frame f;

	memcpy(text, octets, len);
	if ((how[0] & RIGHT_TRAILER) != 0)
		len = peer_trailer(peer, text, len, (how[0] & IS_UDP) != 0 ? IPPROTO_UDP : how[1]);
	while (len % peer->sa->cipher->block != 0 || len == 0)
		len++;
	f = peer_seal(peer, (struct esp){.seq = ++seq,
				    .text = text,
				    .text_len = len,
				    .tos = how[1],
				    .options = (how[0] & OPTIONS) != 0 ? 8 : 0});
	return peer->sa->in_udp ? into_udp(&f, NATT, NATT) : f;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	static struct frame piece[FUZZ_PIECES_MAX];
	struct rte_mbuf *m[FUZZ_PIECES_MAX];
	uint8_t text[TEXT_MAX];
	unsigned int n = 1;

	if (len < 2)
		return 0;

	bool is_bare = (input[0] & BARE) != 0;
	struct gateway *g = is_bare ? bare : in_udp;
	uint16_t text_len = (uint16_t)RTE_MIN(len - 2, (size_t)TEXT_MAX);

	memcpy(text, input + 2, text_len);
	if ((input[0] & RIGHT_LENGTH) != 0 && text_len >= 8)
		put16(text + 4, text_len);
	piece[0] = (input[0] & OUTWARD) != 0
			   ? outward(is_bare, text, text_len, input[1])
			   : inward(is_bare ? &to_bare : &to_in_udp, text, text_len, input);
	if ((input[0] & CUT) != 0)
		n = fuzz_cut(piece, input[1]);
	for (unsigned int i = 0; i < n; i++)
		m[i] = frame_mbuf(&piece[i]);
	fuzz_gateway_pass(g, m, n);
	assert_int_equal(g->last.drops[DROP_AUTH], 0);
	return 0;
}
