// SPDX-License-Identifier: BSD-3-Clause
// Outbound ESP in tunnel mode (RFC 4303 3.3, RFC 4301 5.1.2), IPv4 and IPv6 in either: puts an IP
// packet into an ESP packet, up to the cryptography, which the caller does for a whole burst.
// Workers.
#pragma once

#include <rte_mbuf.h>

#include "sa.h"

// m holds one IP packet, contiguous, its data starting at the IP header; afterwards it starts at
// the outer IP header. path is that of sa, seq comes from sa_out_take_seq(). Fills *op for
// crypto_seal(). Returns DROP_NONE, DROP_SEQUENCE_END, DROP_LIFETIME or DROP_NO_ROOM (m is
// unchanged).
enum drop esp_out_frame(struct crypto_op *op, struct sa_out *sa, const struct sa_path *path,
	struct rte_mbuf *m, uint64_t seq, unsigned int worker);
