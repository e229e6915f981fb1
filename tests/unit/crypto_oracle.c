// SPDX-License-Identifier: BSD-3-Clause
#include "crypto_oracle.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#define SPI            0x11223344
#define ESP_HEADER_LEN 8

// Octets that look random and are the same in every run.
static void fill(uint8_t *out, size_t n)
{
	static uint64_t x = 4303;

	for (size_t i = 0; i < n; i++) {
		x = x * 6364136223846793005 + 1442695040888963407;
		out[i] = (uint8_t)(x >> 56);
	}
}

void sa_init(struct sa *sa, const struct cipher_alg *cipher, const struct auth_alg *auth, bool esn,
	const char *engine)
{
	sa->engine = engine;
	fill(sa->cipher_key, sizeof(sa->cipher_key));
	fill(sa->auth_key, sizeof(sa->auth_key));
	sa->key = (struct crypto_key){cipher, auth, sa->cipher_key, sa->auth_key, esn, 0};
	fill((uint8_t *)&sa->key.iv_mask, sizeof(sa->key.iv_mask));
	sa->seal = crypto_session_new(&sa->key, CRYPTO_SEAL, engine, SA_WORKERS);
	sa->open = crypto_session_new(&sa->key, CRYPTO_OPEN, engine, SA_WORKERS);
	assert_non_null(sa->seal);
	assert_non_null(sa->open);
}

void sa_fini(struct sa *sa)
{
	crypto_session_free(sa->seal);
	crypto_session_free(sa->open);
}

bool engine_has(
	const char *engine, const struct cipher_alg *cipher, const struct auth_alg *auth, bool esn)
{
	static const uint8_t octets[CRYPTO_AUTH_KEY_MAX];
	const struct crypto_key key = {cipher, auth, octets, octets, esn, 0};
	struct crypto_session *s = crypto_session_new(&key, CRYPTO_SEAL, engine, 1);

	if (s == NULL) {
		assert_int_equal(errno, ENOTSUP);
		assert_string_equal(engine, "ipsec_mb");
		assert_int_equal(cipher->mode, CIPHER_CHACHA20);
	}
	crypto_session_free(s);
	return s != NULL;
}

static void for_each_pair(void (*check)(struct sa *sa), bool esn, const char *engine)
{
	for (const struct cipher_alg *c = cipher_algs; c->name != NULL; c++) {
		for (const struct auth_alg *a = auth_algs; a->name != NULL; a++) {
			struct sa sa;

			if (!alg_pair_ok(c, a) || !engine_has(engine, c, a, esn))
				continue;
			sa_init(&sa, c, a, esn, engine);
			check(&sa);
			sa_fini(&sa);
		}
	}
}

void for_each_sa(void (*check)(struct sa *sa))
{
	for (unsigned int esn = 0; esn <= 1; esn++) {
		for_each_pair(check, esn, "auto");
		for (const char *const *e = crypto_engine_names; *e != NULL; e++)
			if (crypto_engine_built_in(*e))
				for_each_pair(check, esn, *e);
	}
}

void packet_init(struct packet *p, const struct sa *sa, uint64_t seq, uint16_t text_len)
{
	if (sa->key.esn && seq <= UINT32_MAX)
		seq |= UINT64_C(0x80000102) << 32;
	*p = (struct packet){.sa = sa, .seq = seq, .text_len = text_len};
	for (int i = 0; i < 4; i++) {
		p->esp[i] = (uint8_t)(SPI >> (24 - 8 * i));
		p->esp[4 + i] = (uint8_t)(seq >> (24 - 8 * i));
	}
	fill(p->text, text_len);
	memcpy(packet_text(p), p->text, text_len);
}

struct crypto_op packet_op(struct packet *p, struct crypto_session *s)
{
	return (struct crypto_op){
		.session = s, .esp = p->esp, .seq = p->seq, .text_len = p->text_len};
}

uint8_t *packet_iv(struct packet *p)
{
	return p->esp + ESP_HEADER_LEN;
}

uint8_t *packet_text(struct packet *p)
{
	return packet_iv(p) + p->sa->key.cipher->iv_len;
}

uint8_t *packet_icv(struct packet *p)
{
	return packet_text(p) + p->text_len;
}

size_t packet_len(const struct packet *p)
{
	const struct crypto_key *key = &p->sa->key;

	return ESP_HEADER_LEN + key->cipher->iv_len + p->text_len +
	       alg_pair_icv_len(key->cipher, key->auth);
}

bool packet_text_ok(struct packet *p)
{
	return memcmp(packet_text(p), p->text, p->text_len) == 0;
}

static const EVP_MD *oracle_hash(const struct auth_alg *auth)
{
	switch (auth->mode) {
	case AUTH_HMAC_SHA1:
		return EVP_sha1();
	case AUTH_HMAC_SHA256:
		return EVP_sha256();
	case AUTH_HMAC_SHA384:
		return EVP_sha384();
	case AUTH_HMAC_SHA512:
		return EVP_sha512();
	case AUTH_NONE:
		break;
	}
	fail_msg("%s has no hash", auth->name);
	return NULL;
}

// The upper half of the sequence number in network byte order.
static void esn_upper(uint8_t upper[4], const struct packet *p)
{
	for (int i = 0; i < 4; i++)
		upper[i] = (uint8_t)(p->seq >> (56 - 8 * i));
}

static void oracle_hmac(uint8_t mac[EVP_MAX_MD_SIZE], struct packet *p)
{
	const struct crypto_key *key = &p->sa->key;
	size_t len = packet_icv(p) - p->esp;
	uint8_t data[PACKET_MAX + 4];

	memcpy(data, p->esp, len);
	if (key->esn) { // RFC 4303 2.8
		esn_upper(data + len, p);
		len += 4;
	}

	assert_non_null(HMAC(
		oracle_hash(key->auth), key->auth_key, key->auth->key_len, data, len, mac, NULL));
}

static const EVP_CIPHER *oracle_alg(const struct cipher_alg *cipher)
{
	static const char *const modes[] = {[CIPHER_CBC] = "cbc",
		[CIPHER_CTR] = "ctr",
		[CIPHER_GCM] = "gcm",
		[CIPHER_GMAC] = "gcm"};
	char name[16];

	if (cipher->mode == CIPHER_CHACHA20)
		return EVP_chacha20_poly1305();
	snprintf(name, sizeof(name), "aes-%u-%s", 8 * cipher->key_len, modes[cipher->mode]);
	return EVP_get_cipherbyname(name);
}

// A fresh context with key and IV of the packet, after processing the AAD.
static EVP_CIPHER_CTX *oracle_cipher(struct packet *p, bool seal)
{
	const struct crypto_key *key = &p->sa->key;
	const struct cipher_alg *cipher = key->cipher;
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	uint8_t iv[16] = {0};
	int n;

	memcpy(iv, key->cipher_key + cipher->key_len, cipher->salt_len);
	memcpy(iv + cipher->salt_len, packet_iv(p), cipher->iv_len);
	if (cipher->mode == CIPHER_CTR)
		iv[15] = 1; // the block counter (RFC 3686 4)
	assert_non_null(c);
	assert_int_equal(
		EVP_CipherInit_ex(c, oracle_alg(cipher), NULL, key->cipher_key, iv, seal), 1);
	EVP_CIPHER_CTX_set_padding(c, 0);
	if (cipher->icv_len > 0) {
		uint8_t aad[12];
		int len = 0;

		memcpy(aad, p->esp, 4);
		if (key->esn) { // RFC 4106 5, RFC 7634 2.1
			esn_upper(aad + 4, p);
			len = 4;
		}
		memcpy(aad + 4 + len, p->esp + 4, 4);
		assert_int_equal(EVP_CipherUpdate(c, NULL, &n, aad, ESP_HEADER_LEN + len), 1);
	}
	if (cipher->mode == CIPHER_GMAC) // RFC 4543 3.3
		assert_int_equal(EVP_CipherUpdate(c, NULL, &n, packet_iv(p), cipher->iv_len), 1);
	return c;
}

// Encrypts or decrypts the text; GMAC only authenticates it.
static void oracle_text(EVP_CIPHER_CTX *c, const struct packet *p, uint8_t *to, const uint8_t *from)
{
	bool gmac = p->sa->key.cipher->mode == CIPHER_GMAC;
	int n;

	assert_int_equal(EVP_CipherUpdate(c, gmac ? NULL : to, &n, from, p->text_len), 1);
	assert_int_equal(n, p->text_len);
	if (gmac)
		memcpy(to, from, p->text_len);
}

static void oracle_encrypt(struct packet *p)
{
	EVP_CIPHER_CTX *c = oracle_cipher(p, true);
	uint8_t icv_len = p->sa->key.cipher->icv_len;
	uint8_t *icv = packet_icv(p);
	int n;

	oracle_text(c, p, packet_text(p), p->text);
	assert_int_equal(EVP_CipherFinal_ex(c, icv, &n), 1);
	if (icv_len > 0)
		assert_int_equal(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, icv_len, icv), 1);
	EVP_CIPHER_CTX_free(c);
}

// False if it is an AEAD and the ICV is wrong.
static bool oracle_decrypt(uint8_t text[TEXT_MAX], struct packet *p)
{
	EVP_CIPHER_CTX *c = oracle_cipher(p, false);
	uint8_t icv_len = p->sa->key.cipher->icv_len;
	uint8_t none[16];
	bool ok;
	int n;

	if (icv_len > 0)
		assert_int_equal(
			EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, icv_len, packet_icv(p)), 1);
	oracle_text(c, p, text, packet_text(p));
	ok = EVP_CipherFinal_ex(c, none, &n) == 1;
	EVP_CIPHER_CTX_free(c);
	return ok;
}

void oracle_seal(struct packet *p)
{
	const struct crypto_key *key = &p->sa->key;
	uint8_t mac[EVP_MAX_MD_SIZE];

	fill(packet_iv(p), key->cipher->iv_len);
	if (key->cipher->mode == CIPHER_NULL)
		memcpy(packet_text(p), p->text, p->text_len);
	else
		oracle_encrypt(p);
	if (key->auth->mode != AUTH_NONE) {
		oracle_hmac(mac, p);
		memcpy(packet_icv(p), mac, key->auth->icv_len);
	}
}

void oracle_block_encrypt(uint8_t out[16], const struct sa *sa, const uint8_t in[16])
{
	static const uint8_t iv[16];
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int n;

	assert_non_null(c);
	assert_int_equal(EVP_EncryptInit_ex(c, EVP_get_cipherbyname(sa->key.cipher->name), NULL,
				 sa->cipher_key, iv),
		1);
	assert_int_equal(EVP_EncryptUpdate(c, out, &n, in, 16), 1);
	EVP_CIPHER_CTX_free(c);
}

bool oracle_open(struct packet *p)
{
	const struct crypto_key *key = &p->sa->key;
	uint8_t mac[EVP_MAX_MD_SIZE], text[TEXT_MAX];

	if (key->auth->mode != AUTH_NONE) {
		oracle_hmac(mac, p);
		if (memcmp(mac, packet_icv(p), key->auth->icv_len) != 0)
			return false;
	}
	if (key->cipher->mode == CIPHER_NULL)
		memcpy(text, packet_text(p), p->text_len);
	else if (!oracle_decrypt(text, p))
		return false;
	return memcmp(text, p->text, p->text_len) == 0;
}
