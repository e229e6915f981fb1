// SPDX-License-Identifier: BSD-3-Clause
// DPDK's librte_ipsec on a cryptodev as the peer of an SA: with its own framing, sequence numbers
// and window; its cryptography is that of the PMD aesni_mb (intel-ipsec-mb) or, if that lacks an
// algorithm, openssl. Failures other than a verdict fail the running cmocka test.
#pragma once

#include <rte_ipsec.h>

#include "sa.h"

// Families and mode.
struct mix {
	const char *name;
	enum sa_mode mode;
	bool v6, inner_v6;
};

// One direction of an SA at the peer.
struct peer {
	struct rte_ipsec_sa *sa;
	struct rte_ipsec_session ipsec;
	struct rte_crypto_sym_xform xform[2];
	uint8_t dev;
};

// Verdicts about a packet: for numbers that have been received or are below the window no ICV is
// computed.
enum verdict { PACKET_GOOD, PACKET_REPLAYED, PACKET_FORGED };

// Makes the devices, once. Returns 0 or -1.
int peer_devices_start(void);
void peer_devices_stop(void);

// False if no device has the algorithms. like: our end, with the outer header. window: packets.
// first: the number that it seals with next, or the highest that it has opened.
bool peer_init(struct peer *p, const struct crypto_key *key, const struct sa_out *like,
	const struct mix *mix, uint32_t window, bool seal, uint64_t first);
void peer_fini(struct peer *p);

// Seals or opens a packet in place, by direction. It leaves IPv4's checksum to the port.
enum verdict peer_process(struct peer *p, struct rte_mbuf *m);
