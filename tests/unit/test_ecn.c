// SPDX-License-Identifier: BSD-3-Clause
// The decapsulation table of RFC 6040 4.2, figure 4, written out.
#include "ecn.h"
#include "test.h"

#define DROPPED 0xff

static void test_table(void **state)
{
	// By inner, then by outer: Not-ECT, ECT(1), ECT(0), CE.
	static const uint8_t right[4][4] = {
		[ECN_NOT_ECT] = {ECN_NOT_ECT, ECN_NOT_ECT, ECN_NOT_ECT, DROPPED},
		[ECN_ECT_1] = {ECN_ECT_1, ECN_ECT_1, ECN_ECT_1, ECN_CE},
		[ECN_ECT_0] = {ECN_ECT_0, ECN_ECT_1, ECN_ECT_0, ECN_CE},
		[ECN_CE] = {ECN_CE, ECN_CE, ECN_CE, ECN_CE},
	};

	(void)state;
	for (uint8_t inner = 0; inner < 4; inner++)
		for (uint8_t outer = 0; outer < 4; outer++) {
			uint8_t ecn = 0x55;
			bool ok = ecn_decapsulate(&ecn, inner, outer);

			if (ok != (right[inner][outer] != DROPPED) ||
				(ok && ecn != right[inner][outer]))
				fail_msg("inner %u, outer %u: %s %u", inner, outer,
					ok ? "takes" : "drops", ecn);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
