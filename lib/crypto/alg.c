// SPDX-License-Identifier: BSD-3-Clause
#include "alg.h"

#include <string.h>
#include <strings.h>

// Aliases: strongSwan's names, and the names of IANA's IKEv2 registry, with the key length in bits
// where they lack it; ENCR_AES_GCM_8 and its like as AES-GCM-8-128.

// 2^48 blocks: an observer of that many blocks under one key can tell CBC, CTR or GCM from
// randomness, because outputs of a block cipher do not repeat, with a chance of 2^-33 (2^96 pairs
// among 2^128 blocks, halved). NULL has no key, and ChaCha20 is no permutation.
#define AES_BYTES (UINT64_C(1) << 52)

const struct cipher_alg cipher_algs[] = {
	// name, aliases, mode, octets of: key, salt, IV, block, ICV; bytes_max
	{"null", "ENCR_NULL", CIPHER_NULL, 0, 0, 0, 4, 0, UINT64_MAX},
	{"aes-128-cbc", "aes128 AES-CBC-128", CIPHER_CBC, 16, 0, 16, 16, 0, AES_BYTES},
	{"aes-192-cbc", "aes192 AES-CBC-192", CIPHER_CBC, 24, 0, 16, 16, 0, AES_BYTES},
	{"aes-256-cbc", "aes256 AES-CBC-256", CIPHER_CBC, 32, 0, 16, 16, 0, AES_BYTES},
	{"aes-128-ctr", "aes128ctr AES-CTR-128", CIPHER_CTR, 16, 4, 8, 4, 0, AES_BYTES},
	{"aes-192-ctr", "aes192ctr AES-CTR-192", CIPHER_CTR, 24, 4, 8, 4, 0, AES_BYTES},
	{"aes-256-ctr", "aes256ctr AES-CTR-256", CIPHER_CTR, 32, 4, 8, 4, 0, AES_BYTES},
	{"aes-128-gcm", "aes-128-gcm-16 aes128gcm16 aes128gcm128 AES-GCM-128 AES-GCM-16-128",
		CIPHER_GCM, 16, 4, 8, 4, 16, AES_BYTES},
	{"aes-192-gcm", "aes-192-gcm-16 aes192gcm16 aes192gcm128 AES-GCM-192 AES-GCM-16-192",
		CIPHER_GCM, 24, 4, 8, 4, 16, AES_BYTES},
	{"aes-256-gcm", "aes-256-gcm-16 aes256gcm16 aes256gcm128 AES-GCM-256 AES-GCM-16-256",
		CIPHER_GCM, 32, 4, 8, 4, 16, AES_BYTES},
	{"aes-128-gcm-12", "aes128gcm12 aes128gcm96 AES-GCM-12-128", CIPHER_GCM, 16, 4, 8, 4, 12,
		AES_BYTES},
	{"aes-192-gcm-12", "aes192gcm12 aes192gcm96 AES-GCM-12-192", CIPHER_GCM, 24, 4, 8, 4, 12,
		AES_BYTES},
	{"aes-256-gcm-12", "aes256gcm12 aes256gcm96 AES-GCM-12-256", CIPHER_GCM, 32, 4, 8, 4, 12,
		AES_BYTES},
	{"aes-128-gcm-8", "aes128gcm8 aes128gcm64 AES-GCM-8-128", CIPHER_GCM, 16, 4, 8, 4, 8,
		AES_BYTES},
	{"aes-192-gcm-8", "aes192gcm8 aes192gcm64 AES-GCM-8-192", CIPHER_GCM, 24, 4, 8, 4, 8,
		AES_BYTES},
	{"aes-256-gcm-8", "aes256gcm8 aes256gcm64 AES-GCM-8-256", CIPHER_GCM, 32, 4, 8, 4, 8,
		AES_BYTES},
	{"aes-128-gmac", "aes128gmac NULL-AUTH-AES-GMAC-128", CIPHER_GMAC, 16, 4, 8, 4, 16,
		AES_BYTES},
	{"aes-192-gmac", "aes192gmac NULL-AUTH-AES-GMAC-192", CIPHER_GMAC, 24, 4, 8, 4, 16,
		AES_BYTES},
	{"aes-256-gmac", "aes256gmac NULL-AUTH-AES-GMAC-256", CIPHER_GMAC, 32, 4, 8, 4, 16,
		AES_BYTES},
	{"chacha20-poly1305", "chacha20poly1305 chacha20poly1305128 ENCR_CHACHA20_POLY1305",
		CIPHER_CHACHA20, 32, 4, 8, 4, 16, UINT64_MAX},
	{0},
};

const struct auth_alg auth_algs[] = {
	// name, aliases, mode, octets of: key, ICV
	{"none", "", AUTH_NONE, 0, 0},
	{"hmac-sha1-96", "sha1 sha AUTH_HMAC_SHA1_96", AUTH_HMAC_SHA1, 20, 12},
	{"hmac-sha2-256-128", "sha256 sha2_256 AUTH_HMAC_SHA2_256_128", AUTH_HMAC_SHA256, 32, 16},
	{"hmac-sha2-384-192", "sha384 sha2_384 AUTH_HMAC_SHA2_384_192", AUTH_HMAC_SHA384, 48, 24},
	{"hmac-sha2-512-256", "sha512 sha2_512 AUTH_HMAC_SHA2_512_256", AUTH_HMAC_SHA512, 64, 32},
	{0},
};

static bool is_called(const char *wanted, const char *name, const char *aliases)
{
	if (strcasecmp(wanted, name) == 0)
		return true;
	while (*aliases != '\0') {
		size_t len = strcspn(aliases, " ");

		if (strlen(wanted) == len && strncasecmp(wanted, aliases, len) == 0)
			return true;
		aliases += len;
		aliases += strspn(aliases, " ");
	}
	return false;
}

const struct cipher_alg *cipher_alg_find(const char *name)
{
	for (const struct cipher_alg *a = cipher_algs; a->name != NULL; a++)
		if (is_called(name, a->name, a->aliases))
			return a;
	return NULL;
}

const struct auth_alg *auth_alg_find(const char *name)
{
	for (const struct auth_alg *a = auth_algs; a->name != NULL; a++)
		if (is_called(name, a->name, a->aliases))
			return a;
	return NULL;
}
