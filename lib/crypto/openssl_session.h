// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of the engine on libcrypto: the session, and the integrity check of ciphers
// that do not authenticate. engine_openssl.c makes sessions; each family of algorithms has a file
// openssl_<family>.c with functions that prepare a session and seal or open one packet. Private to
// this engine.
#pragma once

#include <assert.h>
#include <stdalign.h>
#include <stddef.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "engine.h"
#include "hmac.h"

#define AAD_MAX 12 // SPI and a sequence number of 64 bits

// State that one worker carries from packet to packet.
struct cipher {
	EVP_CIPHER_CTX *ctx; // keyed; NULL for the null cipher
} __rte_cache_aligned;

struct session {
	struct crypto_session base;
	// Seals or opens one packet.
	bool (*run)(const struct session *s, struct crypto_op *op, unsigned int worker);
	// XORed to the sequence number to make the IV. CBC: hides it, see openssl_cbc_seal(); else
	// mask[0] alone, which is the key's iv_mask.
	uint64_t mask[2];
	uint8_t salt[SALT_LEN];
	uint8_t icv_len;
	uint8_t esn_len; // octets of the sequence number's upper half that are authenticated: 4 or
			 // 0
	unsigned int n_workers;
	void (*hmac)(uint8_t *icv, const struct hmac_key *k, const uint8_t *data, size_t len);
	alignas(RTE_CACHE_LINE_SIZE) struct hmac_key hmac_key;
	struct cipher cipher[]; // one for each worker
};

static_assert(offsetof(struct session, hmac_key) == RTE_CACHE_LINE_SIZE, "one line for AEAD");

// Gives every worker a cipher context, keyed, with this IV. format makes the name of libcrypto's
// algorithm from the length of the key in bits. False if that fails; contexts made until then are
// freed with the session.
bool openssl_ciphers_init(struct session *s, const char *format, const struct crypto_key *key,
	enum crypto_dir dir, const uint8_t *iv);

// Prepare a session that has its ICV. False if that fails.
#define CIPHER_MODE(mode, openssl, ...)                                                            \
	bool openssl_##openssl##_init(                                                             \
		struct session *s, const struct crypto_key *key, enum crypto_dir dir);
#include "cipher_mode.def"

// Writes the IV that counts, and the nonce of salt and IV.
static inline void openssl_nonce_begin(
	uint8_t nonce[NONCE_LEN], const struct session *s, const struct crypto_op *op)
{
	rte_be64_t counter = rte_cpu_to_be_64(op->seq ^ s->mask[0]);

	memcpy(op->esp + ESP_HEADER_LEN, &counter, sizeof(counter));
	memcpy(nonce, s->salt, SALT_LEN);
	memcpy(nonce + SALT_LEN, &counter, sizeof(counter));
}

// The nonce of a packet that has its IV.
static inline void openssl_nonce_read(
	uint8_t nonce[NONCE_LEN], const struct session *s, const struct crypto_op *op)
{
	memcpy(nonce, s->salt, SALT_LEN);
	memcpy(nonce + SALT_LEN, op->esp + ESP_HEADER_LEN, COUNTER_IV_LEN);
}

// The octets that an AEAD authenticates before the IV. With ESN they are not as in the packet, and
// are written to buf.
static inline const uint8_t *openssl_aad(
	uint8_t buf[AAD_MAX], const struct session *s, const struct crypto_op *op)
{
	rte_be32_t upper = rte_cpu_to_be_32((uint32_t)(op->seq >> 32));

	if (s->esn_len == 0)
		return op->esp;
	memcpy(buf, op->esp, 4); // SPI
	memcpy(buf + 4, &upper, 4);
	memcpy(buf + 8, op->esp + 4, 4);
	return buf;
}

static inline int openssl_aad_len(const struct session *s)
{
	return ESP_HEADER_LEN + s->esn_len;
}

// Writes the upper half of the sequence number after the len octets of a packet, where the ICV is
// or will be. Returns how many octets the HMAC covers.
static inline size_t openssl_esn_append(
	const struct session *s, const struct crypto_op *op, size_t len)
{
	rte_be32_t upper = rte_cpu_to_be_32((uint32_t)(op->seq >> 32));

	memcpy(op->esp + len, &upper, sizeof(upper));
	return len + s->esn_len;
}

// Puts the ICV after the len octets of a packet.
static inline void openssl_icv_put(const struct session *s, const struct crypto_op *op, size_t len)
{
	s->hmac(op->esp + len, &s->hmac_key, op->esp, openssl_esn_append(s, op, len));
}

// CRYPTO_memcmp() is 50 cycles faster for 16 octets than for other lengths: an ICV is filled up
// with zeros and compared in halves.
static inline bool openssl_icv_ok(const struct session *s, const struct crypto_op *op, size_t len)
{
	uint8_t right[CRYPTO_ICV_MAX] = {0}, received[CRYPTO_ICV_MAX] = {0};

	memcpy(received, op->esp + len, s->icv_len);
	s->hmac(right, &s->hmac_key, op->esp, openssl_esn_append(s, op, len));
	return (CRYPTO_memcmp(right, received, 16) |
		       CRYPTO_memcmp(right + 16, received + 16, 16)) == 0;
}
