// SPDX-License-Identifier: BSD-3-Clause
// Traffic flow confidentiality in tunnel mode, outbound: padding that makes packets equally long
// (RFC 4303 2.7), and dummy packets between them (RFC 4303 2.6). Inbound, esp_in.h takes both away.
// Workers.
#pragma once

#include "sa.h"

struct rte_mbuf;

// Length of inner packets, in octets.
static inline uint16_t tfc_len(const struct sa_per_packet *sa, const struct sa_path *path)
{
	return (uint16_t)RTE_MIN(sa->tfc_pad, path->mtu);
}

// Makes a dummy of an empty buffer, to be framed like any packet. False if it has no room.
bool tfc_dummy_write(struct rte_mbuf *m, uint16_t len);
