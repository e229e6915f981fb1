// SPDX-License-Identifier: BSD-3-Clause
#include "pem.h"

#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

#define X509_V3     2
#define SERIAL_BITS 127 // at most 20 octets, and positive (RFC 5280 4.1.2.2)

// Nobody is asked for a passphrase.
static int no_passphrase(char *buf, int size, int writes, void *arg)
{
	(void)buf;
	(void)size;
	(void)writes;
	(void)arg;
	return -1;
}

static X509 *certificate_read(const char *text)
{
	BIO *bio = BIO_new_mem_buf(text, -1);
	X509 *x = bio != NULL ? PEM_read_bio_X509(bio, NULL, no_passphrase, NULL) : NULL;

	BIO_free(bio);
	ERR_clear_error();
	return x;
}

static EVP_PKEY *key_read(const char *text)
{
	BIO *bio = BIO_new_mem_buf(text, -1);
	EVP_PKEY *key =
		bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;

	BIO_free(bio);
	ERR_clear_error();
	return key;
}

bool pem_is_certificate(const char *text)
{
	X509 *x = certificate_read(text);

	X509_free(x);
	return x != NULL;
}

bool pem_is_key(const char *text)
{
	EVP_PKEY *key = key_read(text);

	EVP_PKEY_free(key);
	return key != NULL;
}

bool pem_key_fits(const char *key, const char *certificate)
{
	EVP_PKEY *k = key_read(key);
	X509 *x = certificate_read(certificate);
	bool fits = k != NULL && x != NULL && X509_check_private_key(x, k) == 1;

	EVP_PKEY_free(k);
	X509_free(x);
	ERR_clear_error();
	return fits;
}

bool pem_same_certificate(const char *a, const char *b)
{
	X509 *x = certificate_read(a), *y = certificate_read(b);
	bool same = x != NULL && y != NULL && X509_cmp(x, y) == 0;

	X509_free(x);
	X509_free(y);
	return same;
}

static bool serial_set(X509 *x)
{
	BIGNUM *n = BN_new();
	bool ok = n != NULL && BN_rand(n, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
		  BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x)) != NULL;

	BN_free(n);
	return ok;
}

// For all time: who pins a certificate looks at no date, whose clock may be wrong.
static bool certificate_fill(X509 *x, EVP_PKEY *key, const char *name)
{
	X509_NAME *subject = X509_get_subject_name(x);

	return X509_set_version(x, X509_V3) == 1 && serial_set(x) &&
	       ASN1_TIME_set_string(X509_getm_notBefore(x), "19700101000000Z") == 1 &&
	       ASN1_TIME_set_string(X509_getm_notAfter(x), "99991231235959Z") == 1 &&
	       X509_NAME_add_entry_by_txt(
		       subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1, 0) == 1 &&
	       X509_set_issuer_name(x, subject) == 1 && X509_set_pubkey(x, key) == 1 &&
	       X509_sign(x, key, NULL) > 0;
}

bool pem_make(FILE *key, FILE *certificate, const char *name)
{
	EVP_PKEY *k = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	X509 *x = X509_new();
	bool ok = k != NULL && x != NULL && certificate_fill(x, k, name) &&
		  PEM_write_PKCS8PrivateKey(key, k, NULL, NULL, 0, NULL, NULL) == 1 &&
		  PEM_write_X509(certificate, x) == 1;

	EVP_PKEY_free(k);
	X509_free(x);
	ERR_clear_error();
	return ok;
}
