// SPDX-License-Identifier: BSD-3-Clause
// Any octets as text that a peer has sealed in transport mode with the right key: for the IP packet
// rebuilt from it, and with NATs its checksums; or as a packet from a host, which is sealed. The
// first octet of the input determines how it is received, the second is the TOS, the protocol of
// the octets, and the size of fragments; the rest is encrypted. Proves that the books balance and
// no sanitizer reports an error.
#include <netinet/in.h>

#include "fuzz.h"
#include "fuzz_gateway.h"
#include "packet_v6.h"
#include "site_transport.h"
#include "udp.h"

enum {
	BARE = 1,          // else in UDP, to the other gateway
	RIGHT_TRAILER = 2, // padding and next header are appended
	RIGHT_LENGTH = 4,  // of UDP
	IS_UDP = 8,        // the octets are
	IN_FRAGMENTS = 16, // it is in fragments
	OPTIONS = 32,      // of IP, before ESP
	OUTWARD = 64,      // from a host behind the gateway
	IPV6 = 128,
};

#define TEXT_MAX 1400

static struct gateway *in_udp, *bare;
static struct peer to_in_udp[2], to_bare[2]; // of IPv4, of IPv6

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_gateway_start();
	in_udp = fuzz_gateway_add(site_transport(1, (struct site){.sa = IN_UDP}));
	bare = fuzz_gateway_add(site_transport(2, (struct site){0}));
	for (unsigned int v6 = 0; v6 < 2; v6++) {
		to_in_udp[v6] = peer_new(in_udp, v6 ? "i2" : "i1");
		to_bare[v6] = peer_new(bare, v6 ? "i2" : "i1");
	}
	return 0;
}

static uint8_t protocol_at(const uint8_t *how)
{
	return (how[0] & IS_UDP) != 0 ? IPPROTO_UDP : how[1];
}

static struct frame outward(const uint8_t *text, uint16_t len, const uint8_t *how)
{
	bool is_bare = (how[0] & BARE) != 0;
	struct ipv4 ip = {.src = is_bare ? "10.2.0.5" : "10.1.0.5",
		.dst = is_bare ? "10.1.0.5" : "10.2.0.5",
		.proto = protocol_at(how),
		.tos = how[1],
		.len = (uint16_t)(IP_LEN + len)};
	struct frame f = frame_ip(LAN, ip);

	memcpy(f.b + ETH_LEN + IP_LEN, text, len);
	return f;
}

static struct frame outward_v6(const uint8_t *text, uint16_t len, const uint8_t *how)
{
	bool is_bare = (how[0] & BARE) != 0;
	struct ipv6 ip = {.src = is_bare ? "2001:db8:2::5" : "2001:db8:1::5",
		.dst = is_bare ? "2001:db8:1::5" : "2001:db8:2::5",
		.tos = how[1],
		.len = (uint16_t)(IP6_LEN + len)};
	struct frame f = frame_ip6(LAN, ip);

	f.b[ETH_LEN + 6] = protocol_at(how);
	memcpy(f.b + ETH_LEN + IP6_LEN, text, len);
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
		len = peer_trailer(peer, text, len, protocol_at(how));
	while (len % peer->sa->opt.cipher->block != 0 || len == 0)
		len++;
	f = peer_seal(peer, (struct esp){.seq = ++seq,
				    .text = text,
				    .text_len = len,
				    .tos = how[1],
				    .options = (how[0] & OPTIONS) != 0 ? 8 : 0});
	return peer->sa->opt.in_udp ? udp_insert(&f, NATT, NATT) : f;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	static struct frame piece[FUZZ_FRAGMENTS_MAX];
	struct rte_mbuf *m[FUZZ_FRAGMENTS_MAX];
	uint8_t text[TEXT_MAX];
	unsigned int n = 1;

	if (len < 2)
		return 0;

	bool is_bare = (input[0] & BARE) != 0, v6 = (input[0] & IPV6) != 0;
	struct gateway *g = is_bare ? bare : in_udp;
	uint16_t text_len = (uint16_t)RTE_MIN(len - 2, (size_t)TEXT_MAX);

	memcpy(text, input + 2, text_len);
	if ((input[0] & RIGHT_LENGTH) != 0 && text_len >= 8)
		put16(text + 4, text_len);
	piece[0] = (input[0] & OUTWARD) != 0
			   ? (v6 ? outward_v6 : outward)(text, text_len, input)
			   : inward(is_bare ? &to_bare[v6] : &to_in_udp[v6], text, text_len, input);
	if ((input[0] & IN_FRAGMENTS) != 0)
		n = fuzz_fragment(piece, input[1]);
	for (unsigned int i = 0; i < n; i++)
		m[i] = frame_mbuf(&piece[i]);
	fuzz_gateway_pass(g, m, n);
	assert_int_equal(g->last.drops[DROP_AUTH], 0);
	return 0;
}
