// SPDX-License-Identifier: BSD-3-Clause
// ipv4_ttl_word_decrement() and ipv4_sum_fold() of lib/net/ipv4.h (RFC 1624). Proves for every
// header that its sum, checksum included, stays the same modulo 65535, and that a checksum of 0 is
// never written as 0xffff. A folded sum is the same modulo 65535, and 0 only if the sum was 0.
#include "wrap.h"

#include "rte_ip.h"

// The time to live is the less significant octet of the lower half, the checksum the upper one.
/*@ requires word % 0x100 > 0;
    assigns \nothing;
    ensures lower: \result % 0x10000 == word % 0x10000 - 1;
    ensures sum: \result % 0x10000 + \result / 0x10000 == word % 0x10000 + word / 0x10000 ||
	\result % 0x10000 + \result / 0x10000 ==
	word % 0x10000 + word / 0x10000 - 0xffff;
    ensures zero: \result / 0x10000 != 0xffff; */
static inline uint32_t ipv4_ttl_word_decrement(uint32_t word);

/*@ assigns \nothing;
    ensures same: \exists integer k; 0 <= k <= 0x10000 && sum == \result + 0xffff * k;
    ensures zero: \result == 0 ==> sum == 0; */
static inline uint16_t ipv4_sum_fold(uint32_t sum);

#include "ipv4.h"
