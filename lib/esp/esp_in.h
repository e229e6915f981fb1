// SPDX-License-Identifier: BSD-3-Clause
// Inbound ESP (RFC 4303 3.4, RFC 4301 5.2), IPv4 and IPv6: from an ESP packet to the IP packet in
// it or, in transport mode, the one that it was made of, in two steps around the cryptography,
// which the caller does for a whole burst. Workers.
#pragma once

#include <rte_mbuf.h>

#include "ip_layout.h"
#include "sa.h"

// Before: m holds a checked, whole IP packet with ESP, contiguous, data starting at the outer IP
// header, esp_off octets in front of the ESP header. Fills *op for crypto_open(). Returns
// DROP_NONE, DROP_LIFETIME or DROP_SEQUENCE_END (the SA has been stopped), DROP_ESP_SHORT or
// DROP_REPLAY.
enum drop esp_in_check(
	struct crypto_op *op, struct sa_in *sa, struct rte_mbuf *m, uint16_t esp_off);

// After, if op->ok and replay_commit_burst() has accepted op->seq: checks and strips what surrounds
// the inner packet; m then holds that alone, its header checked. In transport mode that is the IP
// header that m started with and what ESP carried; if that was in UDP, its checksum has been
// recomputed. outer is the layout of the ESP packet. Returns DROP_NONE, DROP_PADDING,
// DROP_NEXT_HEADER, DROP_DUMMY, DROP_INNER_HEADER or DROP_ECN.
enum drop esp_in_finish(const struct crypto_op *op, struct sa_in *sa, struct rte_mbuf *m,
	const struct ip_layout *outer, unsigned int worker);
