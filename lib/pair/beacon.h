// SPDX-License-Identifier: BSD-3-Clause
// Datagrams that each gateway of a pair sends the other while there is no connection: TCP needs
// both directions, so without them a direction that fails would look as if both did. A line and,
// after its end, a signature with the key of the certificate. Somebody may send an old one again:
// nothing follows from it but a word that is shown. The channel's thread.
#pragma once

#include "message.h"
#include "tls.h"

#define BEACON_LINE_MAX 64
#define BEACON_MAX      (BEACON_LINE_MAX + TLS_SIGNATURE_MAX) // octets

// Writes a datagram. Returns its octets; 0: it cannot be signed.
size_t beacon_write(char datagram[BEACON_MAX], const struct tls *t, const struct pair_beacon *b);

// Reads one. False: it is malformed, or not of the other gateway.
bool beacon_read(struct pair_beacon *b, const struct tls *t, const char *datagram, size_t len);
