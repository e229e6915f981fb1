// SPDX-License-Identifier: BSD-3-Clause
// A network card of the test, under rte_flow: it validates rules by an explicit table of the rules
// that a driver of DPDK accepts, keeps the created ones, and returns the queue of a frame. The
// program is linked with --wrap for rte_flow_validate, _create, _destroy and _flush.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The drivers, by the rules that their sources in DPDK accept.
enum card_kind {
	CARD_PLAIN,      // no rules at all: igb, ENA, virtio
	CARD_ICE,        // hash of the SPI without a list of queues; ESP in UDP; rules for one SA
	CARD_CONNECTX_7, // mlx5: a list of queues; rules for one SA, none for ESP in UDP
	CARD_CONNECTX_5, // the same, but it finds no SPI
	CARD_IXGBE,      // rules about UDP ports, none about ESP
};

#define CARD_RULES_MAX 2000

struct card {
	enum card_kind kind;
	unsigned int room;    // rules that it can have
	unsigned int n;       // that it has
	unsigned int asked;   // validations, and creations
	unsigned int n_wrong; // creations without a validation, destructions of no rule
	bool guarded; // rules are made by threads with CAP_NET_RAW in effect alone, as by mlx5_ib
};

extern struct card card;

void card_reset(enum card_kind kind, unsigned int room);

#define CARD_MISS    (-1) // no rule is about the frame
#define CARD_HASH    (-2) // to a queue by the hash of its SPI
#define CARD_HASH_IP (-3) // to a queue by the hash of addresses, and of ports of UDP

// The queue of a frame, or one of the above.
int card_queue(const uint8_t *frame, size_t len);
