// SPDX-License-Identifier: BSD-3-Clause
// Any octets as frames. The input is a burst of records: an octet that says how the frame comes in,
// its length in two octets, the frame. Without help hardly a frame would get past the first checks,
// so the first octet also says which fields are made right.
#include "fuzz.h"
#include "fuzz_gateway.h"

enum {
	BY_WAN = 1,       // else by LAN
	RIGHT_MAC = 2,    // the frame's destination is the port
	RIGHT_SUM = 4,    // of the IP header
	RIGHT_LENGTH = 8, // of the IP packet
	AT_END = 16,      // of its buffer: what reads on is caught
};

#define FRAMES_MAX 16

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_gateway_start();
	return 0;
}

static void make_right(struct frame *f, uint8_t how)
{
	uint8_t *ip = f->b + ETH_LEN;

	if ((how & RIGHT_MAC) != 0 && f->len >= 6)
		memcpy(f->b, mac_of_port(f->port), 6);
	if (f->len < ETH_LEN + IP_LEN)
		return;
	if ((how & RIGHT_LENGTH) != 0)
		put16(ip + 2, f->len - ETH_LEN);
	if ((how & RIGHT_SUM) != 0 && f->len >= ETH_LEN + (ip[0] & 15) * 4)
		ip_checksum_mend(ip);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct rte_mbuf *m[FRAMES_MAX];
	unsigned int n = 0;

	while (len >= 3 && n < FRAMES_MAX) {
		size_t frame_len = RTE_MIN((size_t)be16(input + 1) % 2040 + 1, len - 3);

		if (frame_len == 0)
			break;

		struct frame f = {
			.port = (input[0] & BY_WAN) != 0 ? WAN : LAN, .len = (uint16_t)frame_len};

		memcpy(f.b, input + 3, frame_len);
		make_right(&f, input[0]);
		m[n++] = (input[0] & AT_END) != 0 ? frame_mbuf_at_end(&f) : frame_mbuf(&f);
		input += 3 + frame_len;
		len -= 3 + frame_len;
	}
	fuzz_gateway_pass(m, n);
	return 0;
}
