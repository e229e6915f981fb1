// SPDX-License-Identifier: BSD-3-Clause
#include "hmac.h"

#define OPENSSL_SUPPRESS_DEPRECATED

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#define BLOCK_LEN 64

static void sha1_start(uint32_t state[8], const uint8_t block[BLOCK_LEN])
{
	SHA_CTX c;

	SHA1_Init(&c);
	SHA1_Transform(&c, block);
	memcpy(state, &c, SHA_DIGEST_LENGTH); // h0 to h4, the first members
	OPENSSL_cleanse(&c, sizeof(c));
}

static void sha256_start(uint32_t state[8], const uint8_t block[BLOCK_LEN])
{
	SHA256_CTX c;

	SHA256_Init(&c);
	SHA256_Transform(&c, block);
	memcpy(state, c.h, SHA256_DIGEST_LENGTH);
	OPENSSL_cleanse(&c, sizeof(c));
}

static void key_init(struct hmac_key *k, const uint8_t *key, size_t len,
	void (*start)(uint32_t state[8], const uint8_t block[BLOCK_LEN]))
{
	uint8_t ipad[BLOCK_LEN], opad[BLOCK_LEN];

	memset(ipad, 0x36, sizeof(ipad));
	memset(opad, 0x5c, sizeof(opad));
	for (size_t i = 0; i < len; i++) {
		ipad[i] ^= key[i];
		opad[i] ^= key[i];
	}
	start(k->inner, ipad);
	start(k->outer, opad);
	OPENSSL_cleanse(ipad, sizeof(ipad));
	OPENSSL_cleanse(opad, sizeof(opad));
}

void hmac_sha1_key_init(struct hmac_key *k, const uint8_t *key, size_t len)
{
	key_init(k, key, len, sha1_start);
}

void hmac_sha256_key_init(struct hmac_key *k, const uint8_t *key, size_t len)
{
	key_init(k, key, len, sha256_start);
}

static void sha1_resume(SHA_CTX *c, const uint32_t state[8])
{
	memcpy(c, state, SHA_DIGEST_LENGTH); // h0 to h4
	c->Nl = BLOCK_LEN * 8;
	c->Nh = 0;
	c->num = 0;
}

void hmac_sha1_96(uint8_t *icv, const struct hmac_key *k, const uint8_t *data, size_t len)
{
	uint8_t digest[SHA_DIGEST_LENGTH];
	SHA_CTX c;

	sha1_resume(&c, k->inner);
	SHA1_Update(&c, data, len);
	SHA1_Final(digest, &c);
	sha1_resume(&c, k->outer);
	SHA1_Update(&c, digest, sizeof(digest));
	SHA1_Final(digest, &c);
	memcpy(icv, digest, 12);
}

static void sha256_resume(SHA256_CTX *c, const uint32_t state[8])
{
	memcpy(c->h, state, SHA256_DIGEST_LENGTH);
	c->Nl = BLOCK_LEN * 8;
	c->Nh = 0;
	c->num = 0;
	c->md_len = SHA256_DIGEST_LENGTH;
}

void hmac_sha256_128(uint8_t *icv, const struct hmac_key *k, const uint8_t *data, size_t len)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA256_CTX c;

	sha256_resume(&c, k->inner);
	SHA256_Update(&c, data, len);
	SHA256_Final(digest, &c);
	sha256_resume(&c, k->outer);
	SHA256_Update(&c, digest, sizeof(digest));
	SHA256_Final(digest, &c);
	memcpy(icv, digest, 16);
}
