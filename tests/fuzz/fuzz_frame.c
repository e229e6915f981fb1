// SPDX-License-Identifier: BSD-3-Clause
// Any octets as frames. The input is a burst of records: an octet that determines how the frame is
// received, its length in two octets, the frame. Few random frames would pass the first checks, so
// the first octet also determines which fields are made valid. The length is taken modulo LEN_MAX;
// an odd quotient marks the frame as one to be cut (segment.h), the rest of it determines the size
// of its parts. Proves that the books balance and no
// sanitizer reports an error. The LAN's device has a VLAN 7, which is the WAN.
#include <netinet/in.h>

#include "fuzz.h"
#include "fuzz_gateway.h"
#include "rx_checksum.h"
#include "site_v6.h"
#include "udp.h"
#include "vlan.h"

enum {
	BY_WAN = 1,       // else by LAN
	RIGHT_MAC = 2,    // the destination of the frame is the port
	RIGHT_SUM = 4,    // of the IP header
	RIGHT_LENGTH = 8, // of the IP packet
	AT_END = 16,      // of its buffer: reads beyond it are detected
	IPV6 = 32, // the valid fields are those of IPv6, and of the first: addressed to the gateway
		   // that has IPv6
	RIGHT_ICMP = 64, // of IPv6: the checksum of ICMP directly after the header
	IN_TWO = 128,    // buffers
};

#define FRAMES_MAX 16
#define LEN_MAX    2040
#define SIZE_UNIT  37               // octets of a part
#define FRONT      (ETH_LEN + 1280) // in the first buffer of a frame to be cut

static struct gateway *site, *site_v6;
static struct vlan_map vlans;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_gateway_start();
	for (unsigned int i = 0; i < VLAN_IDS; i++)
		vlans.port[i] = VLAN_NONE;
	vlans.port[0] = LAN;
	vlans.port[7] = WAN;
	// Between A and B in UDP, not between A and C; to both, large packets are fragmented after
	// encapsulation.
	site = fuzz_gateway_add(site_a((struct site){.sa = IN_UDP,
		.sa_out = "df = \"clear\"; fragment = \"after\";",
		.mtu = 1000,
		.tunnel = "mss_clamp = \"auto\";",
		.more = "ike = { via = [ \"10.7.0.5\" ]; };",
		.policies = ", { name = \"ike\"; local = \"192.0.2.1\"; proto = \"udp\";"
			    "    local_port = \"500\"; action = \"bypass\"; }",
		.icmp = "errors_in_clear = [ \"unreachable\", \"time_exceeded\" ];"}));
	site_v6 = fuzz_gateway_add(site_v6_b(OVER_V4, (struct site){0}));
	return 0;
}

static void make_right_v6(struct frame *f, uint8_t how)
{
	uint8_t *ip = f->b + ETH_LEN;
	uint16_t len = (uint16_t)(f->len - ETH_LEN);

	if (f->len < ETH_LEN + IP6_LEN + 4)
		return;
	if ((how & RIGHT_LENGTH) != 0)
		put16(ip + 4, len - IP6_LEN);
	if ((how & RIGHT_ICMP) != 0) {
		put16(ip + IP6_LEN + 2, 0);
		put16(ip + IP6_LEN + 2, ip6_checksum(ip, IP6_LEN, len, IPPROTO_ICMPV6));
	}
}

static void make_right_v4(struct frame *f, uint8_t how)
{
	uint8_t *ip = f->b + ETH_LEN;

	if (f->len < ETH_LEN + IP_LEN)
		return;
	if ((how & RIGHT_LENGTH) != 0)
		put16(ip + 2, f->len - ETH_LEN);
	if ((how & RIGHT_SUM) != 0 && f->len >= ETH_LEN + (ip[0] & 15) * 4)
		ip_checksum_update(ip);
}

static void make_right(struct frame *f, uint8_t how)
{
	if ((how & RIGHT_MAC) != 0 && f->len >= 6)
		memcpy(f->b, mac_of_port(f->port), 6);
	if ((how & IPV6) != 0)
		make_right_v6(f, how);
	else
		make_right_v4(f, how);
}

static struct rte_mbuf *in_two(const struct frame *f, uint16_t first)
{
	struct frame head = *f, tail = *f;
	struct rte_mbuf *m;

	head.len = first;
	tail.len = (uint16_t)(f->len - head.len);
	memcpy(tail.b, f->b + head.len, tail.len);
	m = frame_mbuf(&head);
	if (rte_pktmbuf_chain(m, frame_mbuf_at_end(&tail)) != 0)
		abort();
	return m;
}

static struct rte_mbuf *buffer_of(const struct frame *f, uint8_t how, bool cut)
{
	if ((how & IN_TWO) != 0 && f->len >= 3)
		return in_two(f, cut && f->len > FRONT ? FRONT : (uint16_t)(f->len / 3));
	return (how & AT_END) != 0 ? frame_mbuf_at_end(f) : frame_mbuf(f);
}

// As a worker's loop does. Returns how many frames are left.
static unsigned int receive(struct gateway *g, struct rte_mbuf *m[], unsigned int n)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < n; i++) {
		m[kept] = m[i];
		kept += m[i]->port == LAN ? vlan_receive(g->w, &vlans, &m[kept], 1) : 1;
	}
	rx_checksum_complete(g->w, m, (uint16_t)kept);
	return kept;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	bool v6 = len > 0 && (input[0] & IPV6) != 0;
	struct rte_mbuf *m[FRAMES_MAX] = {0};
	unsigned int n = 0;

	while (len >= 3 && n < FRAMES_MAX) {
		const unsigned int quotient = be16(input + 1) / LEN_MAX;
		size_t frame_len = RTE_MIN((size_t)be16(input + 1) % LEN_MAX + 1, len - 3);

		if (frame_len == 0)
			break;

		struct frame f = {
			.port = (input[0] & BY_WAN) != 0 ? WAN : LAN, .len = (uint16_t)frame_len};

		memcpy(f.b, input + 3, frame_len);
		make_right(&f, input[0]);
		m[n] = buffer_of(&f, input[0], quotient % 2 != 0);
		if (quotient % 2 != 0) {
			m[n]->ol_flags |= RTE_MBUF_F_RX_LRO;
			m[n]->tso_segsz = (uint16_t)(quotient / 2 * SIZE_UNIT);
		}
		n++;
		input += 3 + frame_len;
		len -= 3 + frame_len;
	}
	fuzz_gateway_pass(v6 ? site_v6 : site, m, receive(v6 ? site_v6 : site, m, n));
	return 0;
}
