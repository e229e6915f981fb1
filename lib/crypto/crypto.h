// SPDX-License-Identifier: BSD-3-Clause
// The seam between ESP and the crypto engines: an array of operations in, the same array out, in
// packet order, SAs mixed as they come.
//
// An operation is one ESP packet in contiguous memory (RFC 4303 2):
//
//   esp          esp + 8      + iv_len          + text_len
//   | SPI | seq  | IV         | text            | ICV      |
//   |<------------- authenticated ------------->|   AEAD: without the IV, which is in the nonce
//                             |<- encrypted --->|   GMAC: nothing
//
// where text is payload, padding, pad length and next header. With ESN the upper half of the
// sequence number is authenticated, too: after the text (RFC 4303 2.8), or of an AEAD between SPI
// and seq (RFC 4106 5, RFC 4543 3.3, RFC 7634 2.1).
//
// Sessions are made and freed by the control thread; each belongs to one SA and serves all workers.
// State that an engine carries from packet to packet is separate for each worker, on cache lines of
// its own; the rest of a session is only read.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "alg.h"

enum crypto_dir { CRYPTO_SEAL, CRYPTO_OPEN };

// Keying material for one SA. The caller keeps ownership of the octets, and wipes them.
struct crypto_key {
	const struct cipher_alg *cipher;
	const struct auth_alg *auth;
	const uint8_t *cipher_key; // cipher->key_len octets of key, then cipher->salt_len of salt
	const uint8_t *auth_key;   // auth->key_len octets
	bool esn; // sequence numbers have 64 bits, of which a packet has the lower half
	// To seal with a cipher that cipher_alg_counts(): the IV is the sequence number XOR this.
	// Random, so that numbers that are used twice do not make IVs that are.
	uint64_t iv_mask;
};

#define CRYPTO_WORKERS_MAX 17 // and the control thread, which seals as the last

// All engines there are, fastest first; ends with NULL. Not every build has all of them.
extern const char *const crypto_engine_names[];

bool crypto_engine_built_in(const char *name);

struct crypto_session;

struct crypto_op {
	struct crypto_session *session;
	uint8_t *esp;      // the ESP header, SPI and sequence number in place
	uint64_t seq;      // the whole sequence number, host byte order; less than 2^32 without ESN
	uint16_t text_len; // octets; a multiple of the cipher's block
	bool ok;           // out; if false, the packet must be dropped
};

// Makes a session of the best engine for the algorithms ("auto") or of the engine named, for the
// workers 0 to n_workers - 1, at most CRYPTO_WORKERS_MAX. Returns NULL with errno ENOTSUP (no such
// engine, or it lacks the algorithms, or they are no pair for alg_pair_ok()) or ENOMEM.
struct crypto_session *crypto_session_new(const struct crypto_key *key, enum crypto_dir dir,
	const char *engine, unsigned int n_workers);

// Wipes all keying material. NULL is allowed.
void crypto_session_free(struct crypto_session *s);

// The name of the engine that serves the session.
const char *crypto_session_engine(const struct crypto_session *s);

// Both are called by the worker with this number.

// Writes IV and ICV and encrypts text in place. IVs are unpredictable for CBC (RFC 3602 3). For the
// other ciphers that have one it is the sequence number XOR iv_mask of the key: it never repeats in
// a session, as they demand (RFC 3686 2.1, RFC 4106 3.1, RFC 4543 3.2, RFC 7634 2). Sets ok in
// every operation: false means that the crypto library failed, and that text may still be clear.
void crypto_seal(struct crypto_op ops[], uint16_t n, unsigned int worker);

// Checks the ICV in constant time and decrypts text in place, leaving the octets of IV and ICV
// undefined. Sets ok in every operation: false means a wrong ICV, and text is undefined. It does
// not disturb the other packets.
void crypto_open(struct crypto_op ops[], uint16_t n, unsigned int worker);
