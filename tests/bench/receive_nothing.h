// SPDX-License-Identifier: BSD-3-Clause
// In the place of a driver's function that receives: a port of a benchmark that gets no packets.
#pragma once

#include <rte_mbuf.h>

static inline uint16_t receive_nothing(void *queue, struct rte_mbuf **m, uint16_t n)
{
	(void)queue;
	(void)m;
	(void)n;
	return 0;
}
