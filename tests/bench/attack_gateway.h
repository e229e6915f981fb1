// SPDX-License-Identifier: BSD-3-Clause
// The gateway that is attacked:
//
//   10.1.0.0/16, 2001:db8:1::/64 --[LAN] gateway [WAN]-- 198.18.0.0/16, 2001:db8:f::/64
//
// Networks of the tunnels: of peer B (198.18.0.2) 10.2.0.0/16, of peer M (198.18.0.3) 10.3.0.0/16
// and 2001:db8:3::/64, by ESP in UDP of peer N (198.18.0.4) 10.4.0.0/16.
#pragma once

#include "single_gateway.h"

enum peer { PEER_B, PEER_M, PEER_N, PEERS };

#define PEER_SPI_IN  0x1000 // of peer B; those of the others follow
#define PEER_SPI_OUT 0x2000

// Its configuration, with room for flows_max flows, 0: the default. Ends the program on failure.
struct conf *attack_conf(unsigned int flows_max);

// Keying material of the SA from a peer.
void attack_key(uint8_t key[CRYPTO_CIPHER_KEY_MAX], enum peer peer);
