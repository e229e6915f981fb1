// SPDX-License-Identifier: BSD-3-Clause
// What the files of the engine ipsec_mb share. Private to them.
//
// engine_ipsec_mb.c sorts the operations of a burst by algorithms and hands each lot to a family:
// ipsec_mb_gcm.c or ipsec_mb_hmac.c. docs/decisions/0008-ipsec-mb.md says what was measured.
#pragma once

#include <stdalign.h>

#define NO_COMPAT_IMB_API_053
#include <intel-ipsec-mb.h>

#include <rte_common.h>

#include "engine.h"
#include "hmac.h"

#define IMB_LOT_MAX    64 // operations handed to a family at once
#define ESP_HEADER_LEN 8  // SPI and sequence number
#define CBC_IV_LEN     16
#define GCM_SALT_LEN   4
#define GCM_IV_LEN     8
#define GCM_ICV_LEN    16

// What one worker needs for any session. Made by the control thread, then the worker's alone.
struct imb_worker {
	IMB_MGR *best; // for what takes packets one by one
	IMB_MGR *few;  // for what takes several at once: best for few packets, ...
	IMB_MGR *many; // ... and for many, or long ones
	struct gcm_context_data gcm;
	uint8_t icv[IMB_LOT_MAX][CRYPTO_ICV_MAX];
	IMB_JOB job[IMB_LOT_MAX];
};

// A lot: n operations, 1 to IMB_LOT_MAX, whose sessions have the same algorithms.
typedef void (*imb_run_t)(struct imb_worker *w, struct crypto_op *const lot[], unsigned int n);

// Only read once it is made.
struct imb_session {
	struct crypto_session base;
	imb_run_t run;    // seals or opens a lot
	uint32_t kind;    // the same for the same algorithms
	uint32_t key_len; // octets, of the cipher; 0 for the null cipher
	uint8_t icv_len;
	uint32_t salt; // GCM_SALT_LEN octets as they are in the key
	IMB_HASH_ALG hash;
	uint64_t mask[2]; // CBC: hides the sequence number
	union {
		alignas(RTE_CACHE_LINE_SIZE) struct gcm_key_data gcm;
		struct {
			alignas(RTE_CACHE_LINE_SIZE) struct hmac_key hmac_key;
			// Of AES, for the direction of the session: at most 15 keys.
			alignas(RTE_CACHE_LINE_SIZE) uint8_t round_keys[15][16];
		};
	};
};

// Fill in what packets need: run, and what hangs on the keys. False if there are no random numbers.
bool imb_gcm_init(struct imb_session *s, const struct crypto_key *key, enum crypto_dir dir,
	const struct imb_worker *w);
bool imb_hmac_init(struct imb_session *s, const struct crypto_key *key, enum crypto_dir dir,
	const struct imb_worker *w);

// Whether two ICVs are the same, in a time that does not tell where they differ. len is at least 8;
// the last eight octets may overlap the others.
static inline bool imb_icv_equal(const uint8_t *a, const uint8_t *b, size_t len)
{
	uint64_t differ = *(const unaligned_uint64_t *)(a + len - 8) ^
			  *(const unaligned_uint64_t *)(b + len - 8);

	for (size_t i = 0; i + 8 <= len; i += 8)
		differ |=
			*(const unaligned_uint64_t *)(a + i) ^ *(const unaligned_uint64_t *)(b + i);
	return differ == 0;
}
