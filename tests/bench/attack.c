// SPDX-License-Identifier: BSD-3-Clause
#include "attack.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "die.h"
#include "packet_v6.h"

#define GATEWAY     "198.18.0.1" // address seen from outside
#define GATEWAY6    "2001:db8:f::1"
#define INSIDE      "10.1.0.1" // the gateway's address on the link of the hosts
#define INSIDE6     "2001:db8:1::1"
#define HOST        "10.1.0.2"
#define HOST6       "2001:db8:1::2"
#define PEER6       "2001:db8:3::1"
#define IV_OFF      8
#define TEXT_OFF    16
#define ICV_LEN     16
#define LEGIT_FLOWS 1000
#define LEGIT_LEN   64
#define CHAIN_LEN   512 // the longest chain that the gateway accepts
#define QUOTED_LEN  1400

struct sealer sealer_new(enum peer peer)
{
	uint8_t key[CRYPTO_CIPHER_KEY_MAX];
	const struct crypto_key k = {.cipher = cipher_alg_find("aes-128-gcm"),
		.auth = auth_alg_find("none"),
		.cipher_key = key};

	attack_key(key, peer);

	struct sealer s = {.peer = peer, .session = crypto_session_new(&k, CRYPTO_SEAL, "auto", 1)};

	if (s.session == NULL)
		die("no memory for a peer");
	return s;
}

void sealer_free(struct sealer *s)
{
	crypto_session_free(s->session);
}

static struct frame seal(
	const struct sealer *s, const struct frame *inner, uint8_t next_header, uint32_t seq)
{
	uint16_t len = frame_packet_len(inner);
	uint16_t text_len = (uint16_t)RTE_ALIGN_CEIL(len + 2, 4);
	struct frame f =
		frame_ip(WAN, (struct ipv4)FROM_TO("198.18.0.2", GATEWAY, .proto = IPPROTO_ESP,
				      .len = (uint16_t)(IP_LEN + TEXT_OFF + text_len + ICV_LEN)));
	uint8_t *esp = f.b + ETH_LEN + IP_LEN, *text = esp + TEXT_OFF;
	struct crypto_op op = {.session = s->session, .esp = esp, .seq = seq, .text_len = text_len};

	put32(esp, PEER_SPI_IN + s->peer);
	put32(esp + 4, seq);
	memcpy(text, frame_packet(inner), len);
	for (uint16_t i = 0; len + i < text_len - 2; i++)
		text[len + i] = (uint8_t)(i + 1);
	text[text_len - 2] = (uint8_t)(text_len - 2 - len);
	text[text_len - 1] = next_header;
	crypto_seal(&op, 1, 0);
	if (!op.ok)
		die("a packet was not sealed");
	return f;
}

static uint8_t next_header_of(const struct frame *inner)
{
	return frame_packet(inner)[0] >> 4 == 4 ? IPPROTO_IPIP : IPPROTO_IPV6;
}

// Formats two numbers into one of four buffers, so each call overwrites the result of the fourth
// call before it.
static const char *text(const char *format, unsigned int high, unsigned int low)
{
	static char texts[4][64];
	static unsigned int next;
	char *to = texts[next++ % 4];

	snprintf(to, sizeof(texts[0]), format, high, low);
	return to;
}

// One of 62,500 hosts in a network of 16 bits.
static const char *host(const char *format, uint32_t i)
{
	return text(format, 1 + i / 250 % 250, 1 + i % 250);
}

// Addresses of hosts on the link, of hosts elsewhere, and of hosts of peer M.
static const char *on_link(uint32_t i)
{
	return host("198.18.%u.%u", i);
}

static const char *elsewhere(uint32_t i)
{
	return host("203.0.%u.%u", i);
}

static const char *of_peer(uint32_t i)
{
	return host("10.3.%u.%u", i);
}

static struct frame legit_clear(uint32_t i)
{
	return frame_ip(
		WAN, (struct ipv4)FROM_TO("10.2.0.1", HOST, .len = LEGIT_LEN,
			     .sport = (uint16_t)(1024 + i % LEGIT_FLOWS), .dport = LEGIT_PORT));
}

struct frame legit_packet(struct sealer *s, uint32_t i)
{
	struct frame inner = legit_clear(i);

	return seal(s, &inner, IPPROTO_IPIP, ++s->seq);
}

static struct frame arp(uint32_t i, const struct sealer *legit)
{
	(void)legit;
	return frame_arp(WAN, 1, on_link(i), GATEWAY);
}

static struct frame nd(uint32_t i, const struct sealer *legit)
{
	(void)legit;
	return frame_nd(WAN, 135, text("fe80::%x:%x", 1 + (i >> 16), i & 0xffff), "ff02::1:ff00:1",
		GATEWAY6, 0);
}

// A packet that was received long ago.
static struct frame replay(uint32_t i, const struct sealer *legit)
{
	struct frame inner = legit_clear(i);

	return seal(legit, &inner, IPPROTO_IPIP, 1);
}

static struct frame spi(uint32_t i, const struct sealer *legit)
{
	struct frame f = replay(i, legit);

	put32(f.b + ETH_LEN + IP_LEN, 0x10000 + i);
	return f;
}

// A number below the window.
static struct frame icv(uint32_t i, const struct sealer *legit)
{
	struct frame inner = legit_clear(i), f;

	f = seal(legit, &inner, IPPROTO_IPIP, legit->seq + 1000);
	f.b[f.len - 1] ^= 1;
	return f;
}

static struct frame udp_closed(uint32_t i, const struct sealer *legit)
{
	(void)legit;
	return frame_ip(WAN, (struct ipv4)FROM_TO(elsewhere(i), GATEWAY, .dport = 9));
}

// ESP in UDP with an unknown SPI.
static struct frame udp_spi(uint32_t i, const struct sealer *legit)
{
	struct frame f = frame_ip(
		WAN, (struct ipv4)FROM_TO(elsewhere(i), GATEWAY, .sport = 4500, .dport = 4500));

	(void)legit;
	put32(f.b + ETH_LEN + IP_LEN + 8, 0x10000 + i);
	return f;
}

static struct frame clear(uint32_t i, const struct sealer *legit)
{
	(void)legit;
	return frame_ip(WAN,
		(struct ipv4)FROM_TO(host("10.2.%u.%u", i), HOST, .len = LEGIT_LEN, .dport = 9));
}

static struct frame ping(uint32_t i, const struct sealer *legit)
{
	(void)legit;
	return frame_ip(WAN,
		(struct ipv4)FROM_TO(elsewhere(i), GATEWAY, .proto = IPPROTO_ICMP, .icmp_type = 8));
}

static struct frame ping_link(uint32_t i, const struct sealer *legit)
{
	(void)legit;
	return frame_ip(WAN,
		(struct ipv4)FROM_TO(on_link(i), GATEWAY, .proto = IPPROTO_ICMP, .icmp_type = 8));
}

// "Fragmentation needed" about a large packet claimed to be from the gateway. The quote has 8
// octets of the payload of the IP packet.
static struct frame too_big(uint32_t i, const char *to, uint8_t proto, const uint8_t head[8])
{
	uint8_t quoted[QUOTED_LEN], error[IP_LEN + 8 + IP_LEN + 8];

	ip_write(quoted, (struct ipv4)FROM_TO(GATEWAY, to, .proto = proto, .len = QUOTED_LEN,
				 .frag = DF, .id = (uint16_t)i));
	memcpy(quoted + IP_LEN, head, 8);
	error_write(error, elsewhere(i), GATEWAY, 3, 4, quoted);
	put16(error + IP_LEN + 6, 1000);
	put16(error + IP_LEN + 2, 0);
	put16(error + IP_LEN + 2, checksum(error + IP_LEN, sizeof(error) - IP_LEN));
	return frame_raw(WAN, error, sizeof(error));
}

static struct frame too_big_spi(uint32_t i, const struct sealer *legit)
{
	uint8_t head[8];

	(void)legit;
	put32(head, PEER_SPI_OUT + PEER_B);
	put32(head + 4, i);
	return too_big(i, "198.18.0.2", IPPROTO_ESP, head);
}

// The quote of a packet of ESP in UDP ends with the UDP header (RFC 792).
static struct frame too_big_minimal(uint32_t i, const struct sealer *legit)
{
	uint8_t head[8] = {0};

	(void)legit;
	upper_write(head, QUOTED_LEN - IP_LEN, IPPROTO_UDP, 4500, 4500);
	return too_big(i, "198.18.0.4", IPPROTO_UDP, head);
}

// The first 24 octets of a datagram that is never completed.
static struct frame incomplete(uint32_t i, const char *from, const char *to, uint8_t proto)
{
	return frame_ip(WAN, (struct ipv4)FROM_TO(from, to, .proto = proto, .len = IP_LEN + 24,
				     .frag = MF, .id = (uint16_t)i));
}

// Every second packet overlaps the one before it.
static struct frame overlap(uint32_t i, const char *from, const char *to, uint8_t proto)
{
	return frame_ip(WAN, (struct ipv4)FROM_TO(from, to, .proto = proto, .len = IP_LEN + 24,
				     .frag = (uint16_t)(MF | i % 2), .id = (uint16_t)(i / 2)));
}

static struct frame esp_incomplete(uint32_t i, const struct sealer *legit)
{
	(void)legit;
	return incomplete(i, elsewhere(i), GATEWAY, IPPROTO_ESP);
}

static struct frame esp_overlap(uint32_t i, const struct sealer *legit)
{
	(void)legit;
	return overlap(i, elsewhere(i / 2), GATEWAY, IPPROTO_ESP);
}

static struct frame inner_incomplete(uint32_t i, const struct sealer *legit)
{
	(void)legit;
	return incomplete(i, of_peer(i), HOST, IPPROTO_UDP);
}

static struct frame inner_overlap(uint32_t i, const struct sealer *legit)
{
	(void)legit;
	return overlap(i, of_peer(i / 2), HOST, IPPROTO_UDP);
}

// Each packet is from another host or port.
static struct frame flow_new(uint32_t i, uint8_t proto)
{
	return frame_ip(
		WAN, (struct ipv4)FROM_TO(of_peer(i), HOST, .len = LEGIT_LEN, .proto = proto,
			     .sport = (uint16_t)(1024 + i / 62500), .dport = 80));
}

static struct frame syn(uint32_t i, const struct sealer *legit)
{
	(void)legit;
	return flow_new(i, IPPROTO_TCP);
}

static struct frame udp_new(uint32_t i, const struct sealer *legit)
{
	(void)legit;
	return flow_new(i, IPPROTO_UDP);
}

// A TCP segment of a connection whose handshake the gateway did not see.
static struct frame unopened(uint32_t i, const struct sealer *legit)
{
	struct frame f = flow_new(i, IPPROTO_TCP);

	(void)legit;
	put16(f.b + ETH_LEN + IP_LEN + 12, 0x5010);
	return f;
}

// The length in the IP header exceeds the packet.
static struct frame malformed(uint32_t i, const struct sealer *legit)
{
	struct frame f = flow_new(i, IPPROTO_UDP);

	(void)legit;
	put16(f.b + ETH_LEN + 2, 1000);
	ip_checksum_update(f.b + ETH_LEN);
	return f;
}

// The source is a host of peer B.
static struct frame selector(uint32_t i, const struct sealer *legit)
{
	(void)legit;
	return frame_ip(WAN, (struct ipv4)FROM_TO(host("10.2.%u.%u", i), HOST, .len = LEGIT_LEN));
}

static struct frame ttl(uint32_t i, const struct sealer *legit)
{
	struct frame f = flow_new(i, IPPROTO_UDP);

	(void)legit;
	f.b[ETH_LEN + 8] = 1;
	ip_checksum_update(f.b + ETH_LEN);
	return f;
}

static struct frame inner_ping(uint32_t i, const struct sealer *legit)
{
	(void)legit;
	return frame_ip(WAN, (struct ipv4)FROM_TO(of_peer(i), INSIDE, .len = LEGIT_LEN,
				     .proto = IPPROTO_ICMP, .icmp_type = 8));
}

// Not an attack: alternating packets of two SAs, the cost of which does not depend on their
// contents.
static struct frame another_sa(uint32_t i, const struct sealer *legit)
{
	(void)legit;
	return frame_ip(WAN, (struct ipv4)FROM_TO("10.3.0.1", HOST, .len = LEGIT_LEN,
				     .sport = (uint16_t)(1024 + i % LEGIT_FLOWS), .dport = 9));
}

static struct frame inner_udp_closed(uint32_t i, const struct sealer *legit)
{
	(void)legit;
	return frame_ip(
		WAN, (struct ipv4)FROM_TO(of_peer(i), INSIDE, .len = LEGIT_LEN, .dport = 9));
}

// A packet of one flow with as many extension headers as the gateway accepts.
static struct frame extensions(uint32_t i, const struct sealer *legit)
{
	uint8_t packet[IP6_LEN + CHAIN_LEN + 16] = {0};
	const uint16_t each = CHAIN_LEN / 8;

	(void)i, (void)legit;
	ip6_write(packet, (struct ipv6)FROM_TO(
				  PEER6, HOST6, .len = sizeof(packet), .proto = IPPROTO_DSTOPTS));
	for (uint16_t k = 0; k < 8; k++) {
		uint8_t *ext = packet + IP6_LEN + k * each;

		memset(ext, 0, each); // options of one octet, which are skipped
		ext[0] = k < 7 ? IPPROTO_DSTOPTS : IPPROTO_UDP;
		ext[1] = (uint8_t)(each / 8 - 1);
	}
	upper_write(packet + IP6_LEN + CHAIN_LEN, 16, IPPROTO_UDP, 1024, 9);
	return frame_raw6(WAN, packet, sizeof(packet));
}

// The same packet, addressed to the gateway, which processes the options.
static struct frame options(uint32_t i, const struct sealer *legit)
{
	struct frame f = extensions(i, legit);

	memcpy(f.b + ETH_LEN + 24, ip6_octets(INSIDE6), 16);
	return f;
}

const struct attack attacks[] = {
	{.kind = "arp", .packet = arp},
	{.kind = "nd", .packet = nd},
	{.kind = "replay", .packet = replay, .limited = true},
	{.kind = "spi", .packet = spi},
	{.kind = "icv", .packet = icv},
	{.kind = "udp_spi", .packet = udp_spi},
	{.kind = "udp_closed", .packet = udp_closed, .limited = true},
	{.kind = "clear_text", .packet = clear},
	{.kind = "ping", .packet = ping, .limited = true},
	{.kind = "ping_link", .packet = ping_link, .limited = true},
	{.kind = "too_big_spi", .packet = too_big_spi},
	{.kind = "too_big_minimal", .packet = too_big_minimal},
	{.kind = "fragments_incomplete", .packet = esp_incomplete},
	{.kind = "fragments_overlap", .packet = esp_overlap},
	{.kind = "syn", .origin = PEER, .packet = syn, .makes_flows = true},
	{.kind = "udp_new", .origin = PEER, .packet = udp_new, .makes_flows = true},
	{.kind = "tcp_unopened", .origin = PEER, .packet = unopened, .makes_flows = true},
	{.kind = "malformed", .origin = PEER, .packet = malformed},
	{.kind = "dummy", .origin = PEER, .packet = malformed, .next_header = IPPROTO_NONE},
	{.kind = "selector", .origin = PEER, .packet = selector},
	{.kind = "ttl", .origin = PEER, .packet = ttl, .limited = true},
	{.kind = "another_sa", .origin = PEER, .packet = another_sa},
	{.kind = "inner_ping", .origin = PEER, .packet = inner_ping, .limited = true},
	{.kind = "inner_udp_closed", .origin = PEER, .packet = inner_udp_closed, .limited = true},
	{.kind = "inner_incomplete", .origin = PEER, .packet = inner_incomplete},
	{.kind = "inner_overlap", .origin = PEER, .packet = inner_overlap},
	{.kind = "extensions", .origin = PEER, .packet = extensions},
	{.kind = "options", .origin = PEER, .packet = options},
};

const unsigned int n_attacks = RTE_DIM(attacks);

struct frame attack_packet(
	const struct attack *a, uint32_t i, const struct sealer *legit, struct sealer *mallory)
{
	struct frame f = a->packet(i, legit);

	if (a->origin == OUTSIDE)
		return f;
	return seal(mallory, &f, a->next_header != 0 ? a->next_header : next_header_of(&f),
		++mallory->seq);
}

unsigned int attack_goal(const struct attack *a)
{
	if (a->limited)
		return 90;
	return a->origin == OUTSIDE ? 60 : 40;
}
