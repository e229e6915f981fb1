// SPDX-License-Identifier: BSD-3-Clause
// Outbound ESP (RFC 4303 3.3), IPv4 and IPv6: puts an IP packet, or its payload, into an ESP
// packet, up to the cryptography, which the caller does for a whole burst. Workers.
#pragma once

#include <rte_mbuf.h>

#include "sa.h"

// First octet of a dummy packet, which stands for no version of IP (RFC 4303 2.6).
#define ESP_DUMMY         0x20
#define ESP_UDP_KEEPALIVE 0xff // octet that a NAT-keepalive consists of (RFC 3948 2.3)

// Frames the packets of a run: n of one SA, with consecutive sequence numbers from seq on, which
// comes from sa_out_seq_alloc(). Each m[i] holds one IP packet or, in tunnel mode, a dummy,
// contiguous, its data starting at the IP header; afterwards it starts at the outer IP header,
// which in transport mode is its own. own is the worker's part of the SA, path that of the SA.
// Fills op[] for crypto_seal(). Returns the number of framed packets. If it is less than n, the
// next one cannot be framed: esp_out_drop_reason() returns why. It and the packets after it are
// unchanged.
typedef uint16_t (*esp_out_fn)(struct crypto_op op[], struct sa_per_worker *own,
	const struct sa_path *path, struct rte_mbuf *const m[], uint16_t n, uint64_t seq);

// Tunnel mode (RFC 4301 5.1.2), all four combinations of families.
uint16_t esp_out_tunnel(struct crypto_op op[], struct sa_per_worker *own,
	const struct sa_path *path, struct rte_mbuf *const m[], uint16_t n, uint64_t seq);

// The same in UDP (RFC 3948).
uint16_t esp_out_tunnel_udp(struct crypto_op op[], struct sa_per_worker *own,
	const struct sa_path *path, struct rte_mbuf *const m[], uint16_t n, uint64_t seq);

// The same two for SAs with tfc_len, which pad packets first (RFC 4303 2.7): tfc.c.
uint16_t esp_out_tunnel_tfc(struct crypto_op op[], struct sa_per_worker *own,
	const struct sa_path *path, struct rte_mbuf *const m[], uint16_t n, uint64_t seq);

// Transport mode (RFC 4303 3.1.1), in UDP or not. No m is a fragment (RFC 4303 3.3.4).
uint16_t esp_out_transport(struct crypto_op op[], struct sa_per_worker *own,
	const struct sa_path *path, struct rte_mbuf *const m[], uint16_t n, uint64_t seq);

// Frames no packet: the peer's endpoint is unknown.
uint16_t esp_out_none(struct crypto_op op[], struct sa_per_worker *own, const struct sa_path *path,
	struct rte_mbuf *const m[], uint16_t n, uint64_t seq);

// By enum sa_framing.
extern const esp_out_fn esp_out_fns[SA_FRAMINGS];

// The reason why a packet with this number was not framed: DROP_PEER_UNKNOWN, DROP_SEQUENCE_END,
// DROP_LIFETIME, DROP_ADDR_UNUSABLE, DROP_STANDBY, DROP_SEQUENCE_UNSAVED or DROP_NO_ROOM.
enum drop esp_out_drop_reason(
	struct sa_out *sa, const struct sa_path *path, uint64_t seq, unsigned int worker);

// Frames a single packet. Returns DROP_NONE, or a reason as above.
static inline enum drop esp_out_frame(struct crypto_op *op, struct sa_out *sa, struct rte_mbuf *m,
	uint64_t seq, unsigned int worker)
{
	const struct sa_path *path = sa_out_path(sa);

	return esp_out_fns[path->framing](op, &sa->per_worker[worker], path, &m, 1, seq) == 1
		       ? DROP_NONE
		       : esp_out_drop_reason(sa, path, seq, worker);
}

// Octets of the largest packet with the headers of that in m whose ESP packet fits the path; never
// less than path->mtu, and more only in transport mode.
uint16_t esp_out_mtu(const struct sa *sa, const struct sa_path *path, const struct rte_mbuf *m);

// After crypto_seal(): writes the UDP checksum, if packets of the SA have one: over IPv6 (RFC 8200
// 8.1). m holds the whole packet.
void esp_out_udp_sum(const struct sa *sa, struct rte_mbuf *m);

// Fills the empty m with the IP packet of a NAT-keepalive (RFC 3948 2.3) for the path of an SA in
// UDP. Control thread.
void esp_out_keepalive(struct rte_mbuf *m, const struct sa_path *path);
