// SPDX-License-Identifier: BSD-3-Clause
// Declarations that the files of the engine ipsec_mb share. Private to them.
//
// engine.c sorts the operations of a burst by algorithms, and engine_ipsec_mb.c gives each lot to a
// family: ipsec_mb_gcm.c, ipsec_mb_chacha20.c, or ipsec_mb_hmac.c, which calls the cipher in
// ipsec_mb_cbc.c or ipsec_mb_ctr.c. docs/decisions/0008-ipsec-mb.md has the measurements.
#pragma once

#include <assert.h>
#include <immintrin.h>
#include <stdalign.h>
#include <stddef.h>
#include <string.h>

#define NO_COMPAT_IMB_API_053
#include <intel-ipsec-mb.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "engine.h"
#include "hmac.h"

#define AEAD_ICV_MAX 16

// Fewer packets are many only if they are long: wide vectors take as long for one lane as for 16.
#define LANES       16
#define MANY_OCTETS 4096

// The library's state of one worker, for any session. Made by the control thread, then used by the
// worker alone.
struct imb_worker {
	IMB_MGR *best; // for functions that take packets one by one
	IMB_MGR *few;  // for functions that take several at once: best for few packets, ...
	IMB_MGR *many; // ... and for many, or long ones
	bool vaes_gcm; // AES-GCM is that of vaes_gcm.h
	struct gcm_context_data gcm;
	__m128i counter_block[CRYPTO_LOT_MAX];
	uint8_t icv[CRYPTO_LOT_MAX][CRYPTO_ICV_MAX], received[CRYPTO_LOT_MAX][CRYPTO_ICV_MAX];
	IMB_JOB job[CRYPTO_LOT_MAX];
};

// A lot: n operations, 1 to CRYPTO_LOT_MAX, whose sessions have the same algorithms.
typedef void (*imb_run_t)(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n);

// octets is the number of authenticated octets of the whole lot. Packets that are not ok are left
// alone.
typedef void (*imb_crypt_t)(
	struct imb_worker *w, struct crypto_op *const lot[], unsigned int n, size_t octets);

// Only read once it is made. AES-GCM needs few octets besides the keys, and these share a line with
// the first keys. The library aligns none of its loads of them to more than SSE needs.
struct imb_session {
	struct crypto_session base;
	uint32_t salt; // SALT_LEN octets as they are in the key
	// XORed to the sequence number to make the IV: the key's iv_mask. CBC: hides it.
	uint64_t mask;
	union {
		struct gcm_key_data gcm;
		struct {                    // of all other algorithms
			uint64_t mask_high; // CBC: the same for the upper half of the IV
			imb_run_t run;      // seals or opens a lot
			// With HMAC: encrypts or decrypts a lot; NULL for the null cipher.
			imb_crypt_t crypt;
			uint8_t key_len; // octets, of the cipher; 0 for the null cipher
			uint8_t iv_len, icv_len;
			// Octets of the sequence number's upper half that are authenticated:
			// ESN_LEN or 0.
			uint8_t esn_len;
			uint8_t auth;       // an enum auth_mode
			uint8_t unused[19]; // keys begin with a line
			union {
				uint8_t chacha20_key[32];
				struct hmac_key hmac_key;
			};
			// Of AES, for the direction of the session: at most 15 keys.
			uint8_t round_keys[15][16];
		};
	};
} __rte_cache_aligned;

static_assert(offsetof(struct imb_session, gcm) == 16, "11 round keys end with a line");
static_assert(offsetof(struct imb_session, hmac_key) == RTE_CACHE_LINE_SIZE &&
		      offsetof(struct imb_session, round_keys) % RTE_CACHE_LINE_SIZE == 0,
	"no line has parts of both");

// Seals or opens a lot of AES-GCM or AES-GMAC.
void imb_gcm_run(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n);

// Fill in the fields for packets: run, except with AES-GCM and AES-GMAC, and the fields that depend
// on the keys. False if there are no random numbers.
#define CIPHER_MODE(mode, openssl, ipsec_mb, ...)                                                  \
	bool imb_##ipsec_mb##_init(struct imb_session *s, const struct crypto_key *key,            \
		enum crypto_dir dir, const struct imb_worker *w);
#include "cipher_mode.def"

// Expands the key of AES for encryption and for decryption; both have the size of round_keys.
void imb_keys_expand(const struct imb_session *s, const struct crypto_key *key,
	const struct imb_worker *w, void *encrypt, void *decrypt);

// The manager that takes n packets at once the fastest, which are many from this number on.
static inline IMB_MGR *imb_manager(
	const struct imb_worker *w, unsigned int n, size_t octets, unsigned int many)
{
	return n >= LANES || (n >= many && octets >= MANY_OCTETS) ? w->many : w->few;
}

static inline const struct imb_session *imb_session_of(const struct crypto_op *op)
{
	return (const struct imb_session *)op->session;
}

// Whether the first and the last packet of a lot are of one session. Then most likely all are, and
// its keys are in the caches once the first packet is done: prefetching would gain little.
static inline bool imb_lot_has_one_session(struct crypto_op *const lot[], unsigned int n)
{
	return lot[0]->session == lot[n - 1]->session;
}

// Salt and IV, the NONCE_LEN octets in front; 0 after them. In one store, for the library reads
// them in one load: a load that has to wait for two stores is slow.
static inline __m128i imb_nonce(const struct imb_session *s, uint64_t iv)
{
	return _mm_insert_epi32(
		_mm_slli_si128(_mm_cvtsi64_si128((int64_t)iv), SALT_LEN), (int32_t)s->salt, 0);
}

// The IV to seal a packet with, where it counts.
static inline rte_be64_t imb_counter_iv(const struct imb_session *s, const struct crypto_op *op)
{
	return rte_cpu_to_be_64(op->seq ^ s->mask);
}

// The upper half of the sequence number in network byte order.
static inline rte_be32_t imb_esn_upper(const struct crypto_op *op)
{
	return rte_cpu_to_be_32((uint32_t)(op->seq >> 32));
}

// The octets that an AEAD authenticates before the IV, ESP_HEADER_LEN + esn_len of them. With ESN
// they are not as in the packet, and are written to *buf.
static inline const uint8_t *imb_aad(__m128i *buf, uint8_t esn_len, const struct crypto_op *op)
{
	__m128i header; // SPI, lower half, 0, 0

	if (esn_len == 0)
		return op->esp;
	header = _mm_loadl_epi64((const __m128i *)op->esp);
	*buf = _mm_or_si128(_mm_shuffle_epi32(header, _MM_SHUFFLE(2, 1, 2, 0)),
		_mm_set_epi32(0, 0, (int32_t)imb_esn_upper(op), 0));
	return (const uint8_t *)buf;
}

// Not 0 if the eight octets at a and at b differ.
static inline uint64_t imb_differ(const uint8_t *a, const uint8_t *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x ^ y;
}

// Whether two ICVs are the same, in a time that does not tell where they differ. len is 8 to 32;
// eights from the front and eights from the end may overlap.
static inline bool imb_icv_equal(const uint8_t *a, const uint8_t *b, size_t len)
{
	uint64_t differ = imb_differ(a, b) | imb_differ(a + len - 8, b + len - 8);

	if (len > 16)
		differ |= imb_differ(a + 8, b + 8) | imb_differ(a + len - 16, b + len - 16);
	return differ == 0;
}
