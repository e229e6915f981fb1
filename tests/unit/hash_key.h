// SPDX-License-Identifier: BSD-3-Clause
// A key that is the same in every run, for tests whose result must not depend on chance.
#pragma once

#include "keyed_hash.h"

static const struct hash_key test_hash_key = {
	{0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89,
		0x452821e638d01377, 0xbe5466cf34e90c6c, 0xc0ac29b7c97c50dd, 0x3f84d5b5b5470917}};
