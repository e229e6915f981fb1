// SPDX-License-Identifier: BSD-3-Clause
// Headers that lie, through translation: packets of a client, replies to sent packets, and ICMP
// errors about either, in both families. The input is a list of steps: an octet for its kind, one
// for a port or the size of a quote, one for the number of edits, then the edits, each an offset in
// the packet and the octet to write there. Checksums are made right after the edits, or are left
// wrong. Proves that a packet is translated or dropped: none leaves longer than it was, with a
// wrong checksum if it had a right one, or with an end that the other side must not see.
#include <netinet/in.h>

#include "fuzz.h"
#include "fuzz_gateway.h"
#include "packet_v6.h"
#include "site_v6.h"

enum step { FIRST, REPLY, ERROR_BACK, ERROR_OUT, TIME, STEPS };

// Part of the first octet of a step, above enum step.
enum { RIGHT_SUMS = 8, IPV6 = 16, PROTO = 32 /* two bits */ };

// Ports change.
#define RULE(name, to)                                                                             \
	"{ name = \"" name "\"; action = \"source\"; out = \"wan\"; to = \"port\"; "               \
	"to_port = \"20000-20999\"; destination = \"" to "\"; }"

#define CLIENT      "10.1.0.5"
#define SERVER      "198.51.100.7"
#define ROUTER      "198.51.100.99"
#define OWN         "192.0.2.1"
#define CLIENT6     "2001:db8:1::5"
#define SERVER6     "2001:db8:9::7"
#define ROUTER6     "2001:db8:9::99"
#define OWN6        "2001:db8:f::1"
#define ICMP_LEN    8
#define PACKET_MAX  600
#define UNREACHABLE 3
#define UNREACHED6  1

static struct gateway *g;
static struct frame last_sent[2]; // by LAN and by WAN

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_gateway_start();
	g = fuzz_gateway_add(site_v6_a(OVER_V4,
		(struct site){.policies = ", { name = \"own\"; local = \"192.0.2.1\"; remote = "
					  "\"198.51.100.0/24\"; action = \"bypass\"; },"
					  "{ name = \"own6\"; local = \"2001:db8:f::1\"; remote = "
					  "\"2001:db8:9::/48\"; action = \"bypass\"; }",
			.more = "nat = (" RULE("out", "198.51.100.0/24") "," RULE(
				"out6", "2001:db8:9::/48") ");"}));
	return 0;
}

static bool is_v6(const uint8_t *packet)
{
	return packet[0] >> 4 == 6;
}

static uint16_t head_len(const uint8_t *packet)
{
	return is_v6(packet) ? IP6_LEN : (uint16_t)((packet[0] & 15) * 4);
}

static uint8_t packet_proto(const uint8_t *packet)
{
	return packet[is_v6(packet) ? 6 : 9];
}

// --- checksums ---

// The offset of the checksum in the message; 0: the protocol has none.
static unsigned int checksum_at(const uint8_t *packet)
{
	switch (packet_proto(packet)) {
	case IPPROTO_TCP:
		return 16;
	case IPPROTO_UDP:
		return 6;
	case IPPROTO_ICMP:
		return is_v6(packet) ? 0 : 2;
	case IPPROTO_ICMPV6:
		return is_v6(packet) ? 2 : 0;
	default:
		return 0;
	}
}

// Over the message, as long as the packet is; 0: the checksum is right.
static unsigned int upper_sum(const uint8_t *packet, uint16_t len)
{
	const uint16_t head = head_len(packet);
	uint8_t all[12 + PACKET_MAX] = {0};

	if (is_v6(packet))
		return ip6_checksum(packet, head, len, packet_proto(packet));
	if (packet_proto(packet) == IPPROTO_ICMP)
		return checksum(packet + head, len - head);
	memcpy(all, packet + 12, 8);
	put16(all + 8, packet_proto(packet));
	put16(all + 10, len - head);
	memcpy(all + 12, packet + head, len - head);
	return checksum(all, 12u + len - head);
}

// The packet is whole, has a header that fits, and a checksum in its message.
static bool has_sum(const uint8_t *packet, uint16_t len)
{
	const uint16_t head = head_len(packet);
	const uint16_t said = is_v6(packet) ? IP6_LEN + be16(packet + 4) : be16(packet + 2);

	if (head < IP_LEN || said != len || checksum_at(packet) == 0 ||
		head + checksum_at(packet) + 2 > len)
		return false;
	return is_v6(packet) || (be16(packet + 6) & 0x3fff) == 0;
}

static bool sum_is_right(const uint8_t *packet, uint16_t len)
{
	return has_sum(packet, len) && upper_sum(packet, len) == 0;
}

static void make_right(uint8_t *packet, uint16_t len)
{
	const uint16_t head = head_len(packet);

	if (!is_v6(packet) && head >= IP_LEN && head <= len)
		ip_checksum_update(packet);
	if (!has_sum(packet, len))
		return;
	put16(packet + head + checksum_at(packet), 0);
	put16(packet + head + checksum_at(packet), upper_sum(packet, len));
}

// --- packets ---

static uint16_t first_packet(uint8_t *out, uint8_t how, uint8_t port)
{
	static const uint8_t protos[] = {IPPROTO_UDP, IPPROTO_TCP, IPPROTO_ICMP, IPPROTO_UDP};
	const uint8_t proto = protos[how / PROTO % 4];

	if ((how & IPV6) != 0)
		return ip6_write(out,
			(struct ipv6)FROM_TO(CLIENT6, SERVER6, .sport = (uint16_t)(4000 + port),
				.proto = proto == IPPROTO_ICMP ? IPPROTO_ICMPV6 : proto,
				.dport = 53, .icmp_type = 128));
	return ip_write(out, (struct ipv4)FROM_TO(CLIENT, SERVER, .sport = (uint16_t)(4000 + port),
				     .proto = proto, .dport = 53, .icmp_type = 8));
}

static void exchange(uint8_t *a, uint8_t *b, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		const uint8_t octet = a[i];

		a[i] = b[i];
		b[i] = octet;
	}
}

// The answer to the last packet sent by WAN.
static uint16_t reply_packet(uint8_t *out)
{
	const uint16_t len = (uint16_t)RTE_MIN(frame_packet_len(&last_sent[WAN]), PACKET_MAX);
	const uint8_t *about = frame_packet(&last_sent[WAN]);
	const bool v6 = is_v6(about);
	const uint16_t head = head_len(about);

	memcpy(out, about, len);
	exchange(out + (v6 ? 8 : 12), out + (v6 ? 24 : 16), v6 ? 16 : 4);
	if (head + 20 > len)
		return len;
	if (packet_proto(out) == IPPROTO_ICMP || packet_proto(out) == IPPROTO_ICMPV6)
		out[head] = v6 ? 129 : 0;
	else
		exchange(out + head, out + head + 2, 2);
	if (packet_proto(out) == IPPROTO_TCP) {
		memcpy(out + head + 8, out + head + 4, 4);
		out[head + 13] = 0x12;
	}
	return len;
}

// An error about the last packet sent by a port, which quotes some of it.
static uint16_t error_packet(uint8_t *out, uint16_t port, uint8_t quoted)
{
	const uint8_t *about = frame_packet(&last_sent[port]);
	const uint16_t n = (uint16_t)RTE_MIN(frame_packet_len(&last_sent[port]), quoted);
	const bool v6 = is_v6(about);
	const uint16_t head = v6 ? IP6_LEN : IP_LEN;
	const uint16_t len = (uint16_t)(head + ICMP_LEN + n);

	if (v6)
		ip6_write(out, (struct ipv6)FROM_TO(ROUTER6, OWN6, .proto = IPPROTO_ICMPV6,
				       .icmp_type = UNREACHED6, .len = len));
	else
		ip_write(out, (struct ipv4)FROM_TO(ROUTER, OWN, .proto = IPPROTO_ICMP,
				      .icmp_type = UNREACHABLE, .len = len));
	memset(out + head + 4, 0, 4);
	memcpy(out + head + ICMP_LEN, about, n);
	memcpy(out + (v6 ? 24 : 16), about + (v6 ? 8 : 12), v6 ? 16 : 4); // to its sender
	if (port == LAN)                                                  // from its receiver
		memcpy(out + (v6 ? 8 : 12), about + (v6 ? 24 : 16), v6 ? 16 : 4);
	return len;
}

// --- checks ---

static bool has_addr(
	const uint8_t *packet, bool dst, const char *v4, const char *v6, unsigned int n)
{
	return is_v6(packet) ? memcmp(packet + (dst ? 24 : 8), ip6_octets(v6), n == 4 ? 16 : 8) == 0
			     : be32(packet + (dst ? 16 : 12)) >> (32 - 8 * n) ==
				       ip_number(v4) >> (32 - 8 * n);
}

// The packet quoted by an error, if its addresses are there; else NULL.
static const uint8_t *quoted_by(const uint8_t *packet, uint16_t len)
{
	const uint16_t head = head_len(packet), at = (uint16_t)(head + ICMP_LEN);
	const bool v6 = is_v6(packet);

	if (at + (v6 ? IP6_LEN : IP_LEN) > len || (!v6 && (be16(packet + 6) & 0x1fff) != 0))
		return NULL;
	if (v6 ? packet_proto(packet) != IPPROTO_ICMPV6 || packet[head] >= 128
	       : packet_proto(packet) != IPPROTO_ICMP ||
				(packet[head] != 3 && packet[head] != 11 && packet[head] != 12))
		return NULL;
	return is_v6(packet + at) == v6 ? packet + at : NULL;
}

// Nobody on WAN sees an address of the LAN, nor a client the translated end of its own packets.
static void check_ends(const struct frame *f)
{
	const uint8_t *packet = frame_packet(f), *quoted = quoted_by(packet, frame_packet_len(f));

	if (f->port == WAN) {
		assert_false(has_addr(packet, false, CLIENT, CLIENT6, 3));
		assert_false(quoted != NULL && has_addr(quoted, true, CLIENT, CLIENT6, 3));
	} else {
		assert_false(has_addr(packet, true, OWN, OWN6, 4));
		assert_false(quoted != NULL && has_addr(quoted, false, OWN, OWN6, 4));
	}
}

static void check_sent(const struct frame *in, const struct frame *out)
{
	const uint8_t *packet = frame_packet(out);

	assert_true(out->len <= RTE_MAX(in->len, FRAME_MIN));
	if (!is_v6(packet))
		assert_int_equal(checksum(packet, head_len(packet)), 0);
	if (sum_is_right(frame_packet(in), frame_packet_len(in)))
		assert_true(sum_is_right(packet, frame_packet_len(in)));
	check_ends(out);
}

static bool is_ip(const struct frame *f)
{
	return be16(f->b + 12) == 0x0800 || be16(f->b + 12) == 0x86dd;
}

static void pass(const struct frame *f)
{
	struct rte_mbuf *m = frame_mbuf_at_end(f);

	gateway_pass_mbufs(g, &m, 1);
	for (unsigned int i = 0; i < g->n_sent; i++) {
		if (!is_ip(&g->sent[i]) || packet_proto(frame_packet(&g->sent[i])) == IPPROTO_ESP)
			continue;
		if (g->last.originated == 0)
			check_sent(f, &g->sent[i]);
		if (g->sent[i].len <= PACKET_MAX && g->sent[i].port <= WAN)
			last_sent[g->sent[i].port] = g->sent[i];
	}
}

// --- steps ---

static uint16_t write_packet(uint8_t *out, const uint8_t *input)
{
	switch ((enum step)(input[0] % 8)) {
	case REPLY:
		return reply_packet(out);
	case ERROR_BACK:
		return error_packet(out, WAN, input[1]);
	case ERROR_OUT:
		return error_packet(out, LAN, input[1]);
	default:
		return first_packet(out, input[0], input[1]);
	}
}

// Runs one step of the input; returns how many octets it has used.
static size_t take_step(const uint8_t *input, size_t len)
{
	const enum step step = (enum step)(input[0] % 8);
	const size_t edits = RTE_MIN((size_t)input[2] % 8, (len - 3) / 2);
	uint8_t packet[2 * PACKET_MAX];
	struct frame f;
	uint16_t n;

	if (step >= TIME) {
		g->now += (uint64_t)input[1] * TSC_HZ;
		return 3;
	}
	n = write_packet(packet, input);
	make_right(packet, n);
	for (size_t i = 0; i < edits; i++)
		packet[input[3 + 2 * i] % n] = input[4 + 2 * i];
	if ((input[0] & RIGHT_SUMS) != 0)
		make_right(packet, n);
	f = (is_v6(packet) ? frame_raw6 : frame_raw)(
		step == FIRST || step == ERROR_OUT ? LAN : WAN, packet, n);
	pass(&f);
	return 3 + 2 * edits;
}

static void flows_end(void)
{
	const struct flow_filter all = {0};

	flow_flush(g->flows, &all);
	for (unsigned int i = 0; i < 3; i++) {
		flow_tick(g->flows, g->w->id, g->w->now_ms, UINT16_MAX);
		fuzz_gateway_pass(g, NULL, 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	last_sent[LAN] = last_sent[WAN] = frame_ip(WAN, (struct ipv4)FROM_TO(SERVER, OWN));
	while (len >= 3) {
		const size_t used = take_step(input, len);

		input += used;
		len -= used;
	}
	flows_end();
	return 0;
}
