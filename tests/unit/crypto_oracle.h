// SPDX-License-Identifier: BSD-3-Clause
// For tests of the crypto engines: SAs of all algorithms, packets, and an oracle that seals and
// opens them. It uses libcrypto as its manual describes: HMAC() in one call, and a cipher context
// of its own for every packet. Failures fail the running cmocka test.
#pragma once

#include "crypto.h"

#define PACKET_MAX 2048
#define TEXT_MAX   1520
#define SA_WORKERS 3

// A pair of algorithms with keys, and a session of SA_WORKERS workers for each direction.
struct sa {
	const char *engine; // as requested
	struct crypto_key key;
	uint8_t cipher_key[CRYPTO_CIPHER_KEY_MAX];
	uint8_t auth_key[CRYPTO_AUTH_KEY_MAX];
	struct crypto_session *seal, *open;
};

// New keys, the same in every run. engine as in crypto_session_new().
void sa_init(struct sa *sa, const struct cipher_alg *cipher, const struct auth_alg *auth, bool esn,
	const char *engine);
void sa_fini(struct sa *sa);

// Whether the engine has the algorithms, and ESN if requested. All have all, but ipsec_mb has
// ChaCha20 on some processors only.
bool engine_has(
	const char *engine, const struct cipher_alg *cipher, const struct auth_alg *auth, bool esn);

// Calls check with an SA for every engine and pair of algorithms that it has, without and with ESN.
void for_each_sa(void (*check)(struct sa *sa));

struct packet {
	const struct sa *sa;
	uint64_t seq;
	uint16_t text_len;
	uint8_t text[TEXT_MAX];  // the packet in the clear
	uint8_t esp[PACKET_MAX]; // the packet, clear or sealed
};

// An ESP packet in the clear; room for IV and ICV holds zeros. With ESN the number gets an upper
// half if it has none.
void packet_init(struct packet *p, const struct sa *sa, uint64_t seq, uint16_t text_len);

struct crypto_op packet_op(struct packet *p, struct crypto_session *s);

// Offsets of IV, text and ICV.
uint8_t *packet_iv(struct packet *p);
uint8_t *packet_text(struct packet *p);
uint8_t *packet_icv(struct packet *p);

// Length of the packet in octets.
size_t packet_len(const struct packet *p);

// Whether the packet, opened, has the text.
bool packet_text_ok(struct packet *p);

// Seals the packet under an IV of its own choice.
void oracle_seal(struct packet *p);

// Encrypts one block of AES under the key of a CBC cipher.
void oracle_block_encrypt(uint8_t out[16], const struct sa *sa, const uint8_t in[16]);

// Whether the sealed packet has a right ICV and the text. Does not change it.
bool oracle_open(struct packet *p);
