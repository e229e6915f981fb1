// SPDX-License-Identifier: BSD-3-Clause
#include "hmac.h"

#define OPENSSL_SUPPRESS_DEPRECATED

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

// Octets of a block of SHA-1 and SHA-256, and of SHA-384 and SHA-512.
#define BLOCK_LEN   64
#define BLOCK64_LEN 128

// The chaining values are the first members of every context.
#define START(name, context, init, transform, len)                                                 \
	static void name(void *state, const uint8_t *block)                                        \
	{                                                                                          \
		context c;                                                                         \
                                                                                                   \
		init(&c);                                                                          \
		transform(&c, block);                                                              \
		memcpy(state, &c, len);                                                            \
		OPENSSL_cleanse(&c, sizeof(c));                                                    \
	}

START(sha1_start, SHA_CTX, SHA1_Init, SHA1_Transform, SHA_DIGEST_LENGTH)
START(sha256_start, SHA256_CTX, SHA256_Init, SHA256_Transform, SHA256_DIGEST_LENGTH)
START(sha384_start, SHA512_CTX, SHA384_Init, SHA512_Transform, SHA512_DIGEST_LENGTH)
START(sha512_start, SHA512_CTX, SHA512_Init, SHA512_Transform, SHA512_DIGEST_LENGTH)

void hmac_key_init(enum auth_mode mode, struct hmac_key *k, const uint8_t *key, size_t len)
{
	const struct hmac_alg *alg = &hmac_algs[mode];
	uint8_t ipad[BLOCK64_LEN],
		opad[BLOCK64_LEN]; // of the smaller block the front alone is used

	memset(ipad, 0x36, sizeof(ipad));
	memset(opad, 0x5c, sizeof(opad));
	for (size_t i = 0; i < len; i++) {
		ipad[i] ^= key[i];
		opad[i] ^= key[i];
	}
	alg->start(k, ipad);
	alg->start((uint8_t *)k + alg->outer_off, opad);
	OPENSSL_cleanse(ipad, sizeof(ipad));
	OPENSSL_cleanse(opad, sizeof(opad));
}

static void sha1_resume(SHA_CTX *c, const uint32_t state[8])
{
	memcpy(c, state, SHA_DIGEST_LENGTH); // h0 to h4
	c->Nl = BLOCK_LEN * 8;
	c->Nh = 0;
	c->num = 0;
}

static void hmac_sha1_96(uint8_t *icv, const struct hmac_key *k, const uint8_t *data, size_t len)
{
	uint8_t digest[SHA_DIGEST_LENGTH];
	SHA_CTX c;

	sha1_resume(&c, k->of32.inner);
	SHA1_Update(&c, data, len);
	SHA1_Final(digest, &c);
	sha1_resume(&c, k->of32.outer);
	SHA1_Update(&c, digest, sizeof(digest));
	SHA1_Final(digest, &c);
	memcpy(icv, digest, 12);
}

static void sha256_resume(SHA256_CTX *c, const uint32_t state[8])
{
	memcpy(c->h, state, sizeof(c->h));
	c->Nl = BLOCK_LEN * 8;
	c->Nh = 0;
	c->num = 0;
	c->md_len = SHA256_DIGEST_LENGTH;
}

static void hmac_sha256_128(uint8_t *icv, const struct hmac_key *k, const uint8_t *data, size_t len)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA256_CTX c;

	sha256_resume(&c, k->of32.inner);
	SHA256_Update(&c, data, len);
	SHA256_Final(digest, &c);
	sha256_resume(&c, k->of32.outer);
	SHA256_Update(&c, digest, sizeof(digest));
	SHA256_Final(digest, &c);
	memcpy(icv, digest, 16);
}

// md_len: octets of the digest, 48 makes it SHA-384.
static void sha512_resume(SHA512_CTX *c, const uint64_t state[8], unsigned int md_len)
{
	memcpy(c->h, state, sizeof(c->h));
	c->Nl = BLOCK64_LEN * 8;
	c->Nh = 0;
	c->num = 0;
	c->md_len = md_len;
}

static void hmac_sha512(uint8_t digest[SHA512_DIGEST_LENGTH], unsigned int md_len,
	const struct hmac_key *k, const uint8_t *data, size_t len)
{
	SHA512_CTX c;

	sha512_resume(&c, k->of64.inner, md_len);
	SHA512_Update(&c, data, len);
	SHA512_Final(digest, &c);
	sha512_resume(&c, k->of64.outer, md_len);
	SHA512_Update(&c, digest, md_len);
	SHA512_Final(digest, &c);
}

static void hmac_sha384_192(uint8_t *icv, const struct hmac_key *k, const uint8_t *data, size_t len)
{
	uint8_t digest[SHA512_DIGEST_LENGTH];

	hmac_sha512(digest, SHA384_DIGEST_LENGTH, k, data, len);
	memcpy(icv, digest, 24);
}

static void hmac_sha512_256(uint8_t *icv, const struct hmac_key *k, const uint8_t *data, size_t len)
{
	uint8_t digest[SHA512_DIGEST_LENGTH];

	hmac_sha512(digest, SHA512_DIGEST_LENGTH, k, data, len);
	memcpy(icv, digest, 32);
}

const struct hmac_alg hmac_algs[] = {
	[AUTH_HMAC_SHA1] = {sha1_start, offsetof(struct hmac_key, of32.outer), hmac_sha1_96},
	[AUTH_HMAC_SHA256] = {sha256_start, offsetof(struct hmac_key, of32.outer), hmac_sha256_128},
	[AUTH_HMAC_SHA384] = {sha384_start, offsetof(struct hmac_key, of64.outer), hmac_sha384_192},
	[AUTH_HMAC_SHA512] = {sha512_start, offsetof(struct hmac_key, of64.outer), hmac_sha512_256},
};
