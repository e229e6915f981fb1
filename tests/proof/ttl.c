// SPDX-License-Identifier: BSD-3-Clause
// ipv4_ttl_decrement() and ipv4_sum_fold() of lib/net/ipv4.h (RFC 1624). Proves for every header
// that its sum, checksum included, stays the same modulo 65535, and that a checksum of 0 is never
// written as 0xffff. A folded sum is the same modulo 65535, and 0 only if the sum was 0.
#include "wrap.h"

#include "rte_ip.h"

// The time to live is the less significant octet of its word.
/*@ requires \valid(ip) && ip->time_to_live > 0;
    assigns ip->time_to_live, ip->hdr_checksum;
    ensures lower: ip->time_to_live == \old(ip->time_to_live) - 1;
    ensures sum: ip->time_to_live + ip->hdr_checksum ==
	\old(ip->time_to_live + ip->hdr_checksum) ||
	ip->time_to_live + ip->hdr_checksum ==
	\old(ip->time_to_live + ip->hdr_checksum) - 0xffff;
    ensures zero: ip->hdr_checksum != 0xffff; */
static inline void ipv4_ttl_decrement(struct rte_ipv4_hdr *ip);

/*@ assigns \nothing;
    ensures same: \exists integer k; 0 <= k <= 0x10000 && sum == \result + 0xffff * k;
    ensures zero: \result == 0 ==> sum == 0; */
static inline uint16_t ipv4_sum_fold(uint32_t sum);

#include "ipv4.h"
