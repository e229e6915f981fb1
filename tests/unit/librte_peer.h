// SPDX-License-Identifier: BSD-3-Clause
// DPDK's librte_ipsec on a cryptodev as the other end of an SA: its own framing, sequence numbers
// and window; its cryptography is that of the PMD aesni_mb (intel-ipsec-mb) or, what that lacks,
// openssl. Failures that are no verdict fail the running cmocka test.
#pragma once

#include <rte_ipsec.h>

#include "sa.h"

// What is in what.
struct mix {
	const char *name;
	enum sa_mode mode;
	bool v6, inner_v6;
};

// One direction of an SA at the other end.
struct peer {
	struct rte_ipsec_sa *sa;
	struct rte_ipsec_session ipsec;
	struct rte_crypto_sym_xform xform[2];
	uint8_t dev;
};

// What becomes of a packet: of numbers that have been seen or are left of the window nobody
// computes the ICV.
enum verdict { PACKET_GOOD, PACKET_REPLAYED, PACKET_FORGED };

// The devices, once. Returns 0 or -1.
int peer_devices_start(void);
void peer_devices_stop(void);

// False if no device has the algorithms. like: our end, with the outer header. window: packets.
// first: the number that it seals with next, or the highest that it has opened.
bool peer_init(struct peer *p, const struct crypto_key *key, const struct sa_out *like,
	const struct mix *mix, uint32_t window, bool seal, uint64_t first);
void peer_fini(struct peer *p);

// Seals or opens a packet in place, whatever its direction. It leaves IPv4's checksum to the port.
enum verdict peer_process(struct peer *p, struct rte_mbuf *m);
