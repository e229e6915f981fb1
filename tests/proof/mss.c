// SPDX-License-Identifier: BSD-3-Clause
// checksum_update() of lib/net/tcp_option.c (RFC 1624 3, equation 3). Proves that when an aligned
// word of a segment changes, the checksum changes so that the sum of all words stays the same
// modulo 65535.
#include "wrap.h"

#include "rte_ip.h"

/*@ assigns \nothing;
    ensures same: \exists integer k; 0 <= k <= 0x10000 && sum == \result + 0xffff * k; */
static inline uint16_t ipv4_sum_fold(uint32_t sum);

// ~HC' = ~HC + ~m + m', either of the words or of the words with their octets swapped.
/*@ requires \valid(tcp) && at != \null;
    assigns tcp->cksum;
    ensures same: \exists integer k; 0 <= k <= 0x10000 &&
	(0xffff - \old(tcp->cksum)) + (0xffff - before) + now ==
	(0xffff - tcp->cksum) + 0xffff * k ||
	(0xffff - \old(tcp->cksum)) + (0xffff - (uint16_t)(before / 256 + before % 256 * 256)) +
	(uint16_t)(now / 256 + now % 256 * 256) == (0xffff - tcp->cksum) + 0xffff * k; */
static void checksum_update(
	struct rte_tcp_hdr *tcp, const void *at, rte_be16_t before, rte_be16_t now);

#include "tcp_option.c"
