// SPDX-License-Identifier: BSD-3-Clause
#include "stack_wipe.h"

#include <string.h>

// A function that is inlined would wipe a place of its own, beside what its caller has used.
__attribute__((noinline)) void stack_wipe(void)
{
	char below[STACK_WIPE_LEN];

	explicit_bzero(below, sizeof(below));
}
