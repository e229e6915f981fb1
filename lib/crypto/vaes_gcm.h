// SPDX-License-Identifier: BSD-3-Clause
// AES-GCM (NIST SP 800-38D) for processors with the vector instructions VAES and VPCLMULQDQ on
// which ipsec-mb does not use them: with 1.3 all processors without AVX-512, with 2.0 processors
// that lack another feature that it asks for, such as GFNI. Used by ipsec_mb_gcm.c. The functions
// have the types of the library's own, and the same threads call them.
#pragma once

#include <stdbool.h>

#include "ipsec_mb.h"

// Powers of the hash key that a key has.
#define VAES_GCM_POWERS 10

// Whether this is the fastest on a processor with these features (IMB_FEATURE_...).
bool vaes_gcm_fits(uint64_t features);

// Completes a key for the functions below, after the library has expanded it: key_len is 16, 24 or
// 32 octets. The library's functions have no use for it any more. It is at a multiple of 16 octets.
void vaes_gcm_key(struct gcm_key_data *key, uint32_t key_len);

// For keys of that many octets. Sealing and opening may be in place. Texts are of whole words of 4
// octets; of iv 16 octets are read, the last 4 are not used; aad_len is 8 or 12, icv_len 8, 12 or
// 16. Opening writes the right ICV, for the caller to compare.
aes_gcm_enc_dec_t vaes_gcm_seal(uint32_t key_len);
aes_gcm_enc_dec_t vaes_gcm_open(uint32_t key_len);
