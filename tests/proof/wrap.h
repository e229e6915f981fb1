// SPDX-License-Identifier: BSD-3-Clause
// The rules of C for conversions to unsigned types (C11 6.3.1.3) and for two operators, for numbers
// of the sizes that occur: the provers do not know all of them.
#pragma once

#include <stdint.h>

// clang-format off
/*@ axiomatic wrap {
	axiom u16_over: \forall integer x; 0x10000 <= x < 0x20000 ==> (uint16_t)x == x - 0x10000;
	axiom u16_not: \forall integer x; 0 <= x < 0x10000 ==> (uint16_t)(~x) == 0xffff - x;
	axiom u32_under:
		\forall integer x; -0x100000000 <= x < 0 ==> (uint32_t)x == x + 0x100000000;
	axiom u32_rest:
		\forall integer x; 0 <= x ==> (uint32_t)x == x - 0x100000000 * (x / 0x100000000);
	axiom u64_under: \forall integer x;
		-0x10000000000000000 <= x < 0 ==> (uint64_t)x == x + 0x10000000000000000;
	axiom u64_over: \forall integer x; 0x10000000000000000 <= x < 0x20000000000000000 ==>
		(uint64_t)x == x - 0x10000000000000000;
	axiom low_half: \forall integer x; 0 <= x ==> (x & 0xffff) == x - 0x10000 * (x / 0x10000);
	axiom high_half: \forall integer x; 0 <= x ==> (x >> 16) == x / 0x10000;
} */
// clang-format on
