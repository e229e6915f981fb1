// SPDX-License-Identifier: BSD-3-Clause
#include "stack_wipe.h"

#include <string.h>

// If it were inlined, it would wipe an array of its own, not the one that the caller has used.
__attribute__((noinline)) void stack_wipe(void)
{
	char below[STACK_WIPE_LEN];

	explicit_bzero(below, sizeof(below));
}
