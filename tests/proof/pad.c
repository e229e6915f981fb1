// SPDX-License-Identifier: BSD-3-Clause
// padding_ok() of lib/esp/esp_padding.h (RFC 4303 2.4), for every text that has room for a trailer.
// Proves that it accepts exactly if the octets before the trailer are 1, 2, 3, ..., as many as the
// trailer declares, and all of them are in the text.
#include <stdint.h>

// Definition of the operators for octet k of a word.
// clang-format off
/*@ axiomatic octet_same {
	axiom octet_same: \forall integer x, y; 0 <= x <= 0xff && 0 <= y <= 0xff ==>
		((uint8_t)(x ^ y) == 0 <==> x == y);
} */

/*@ axiomatic octets {
	logic integer octet(integer word, integer k);
	axiom octets_differ: \forall uint64_t x, y, m;
		(\forall integer k; 0 <= k < 8 ==> octet(m, k) == 0 || octet(m, k) == 0xff) ==>
		(((x ^ y) & m) == 0 <==> (\forall integer k; 0 <= k < 8 ==>
			octet(m, k) == 0 || octet(x, k) == octet(y, k)));
} */

/*@ predicate ascending{L}(uint8_t *end, integer n, integer to) =
	\forall integer i; -n <= i < to ==> end[i] == n + i + 1;
*/
// clang-format on

// Written out for eight octets: provers cannot instantiate the quantifier.
#define EIGHT(is, i)                                                                               \
	(is(i) && is((i) + 1) && is((i) + 2) && is((i) + 3) && is((i) + 4) && is((i) + 5) &&       \
		is((i) + 6) && is((i) + 7))
#define SAME(i)  (counts[i] == 0 || at[i] == right[i])
#define RIGHT(i) ((i) < -pad_len || end[i] == pad_len + (i) + 1)

// A word as it is in memory. Assumed: the provers do not model memcpy().
/*@ requires \valid_read(at + (0 .. 7));
    assigns \nothing;
    ensures octets: \forall integer k; 0 <= k < 8 ==> octet(\result, k) == at[k]; */
static inline uint64_t padding_load(const uint8_t *at);

/*@ requires \valid_read(at + (0 .. 7)) && \valid_read(right + (0 .. 7));
    requires \valid_read(counts + (0 .. 7));
    requires \forall integer k; 0 <= k < 8 ==> counts[k] == 0 || counts[k] == 0xff;
    assigns \nothing;
    ensures right: \result == 0 <==> EIGHT(SAME, 0); */
static inline uint64_t padding_wrong(
	const uint8_t *at, const uint8_t *right, const uint8_t *counts);

/*@ requires \valid_read(end + (-pad_len .. -1));
    assigns \nothing;
    ensures right: \result != 0 <==> ascending(end, pad_len, 0); */
static inline _Bool padding_long_ok(const uint8_t *end, uint8_t pad_len);

/*@ requires \valid_read(end + (-16 .. -1)) && pad_len <= 16;
    assigns \nothing;
    ensures right: \result != 0 <==> ascending(end, pad_len, 0); */
static inline _Bool padding_usual_ok(const uint8_t *end, uint8_t pad_len);

/*@ requires 2 <= len <= 65535 && \valid_read(text + (-16 .. len - 1));
    assigns \nothing;
    ensures right: \result != 0 <==> text[len - 2] <= len - 2 &&
	ascending(text + len - 2, text[len - 2], 0); */
static inline _Bool padding_ok(const uint8_t *text, uint32_t len);

#include "esp_padding.h"
