// SPDX-License-Identifier: BSD-3-Clause
// A row of bench_routing.
#pragma once

#include <stdbool.h>

// Lets the tunnel of n flows go down, and prints how long it takes under full load until all of
// them go by another one, and how many packets of other flows pass meanwhile.
void routing_down(unsigned int n, bool json);
