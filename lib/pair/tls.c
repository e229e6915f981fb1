// SPDX-License-Identifier: BSD-3-Clause
#include "tls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#define CIPHER "TLS_CHACHA20_POLY1305_SHA256"

static X509 *certificate_read(const char *text)
{
	BIO *bio = BIO_new_mem_buf(text, -1);
	X509 *x = bio != NULL ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;

	BIO_free(bio);
	return x;
}

static EVP_PKEY *key_read(const char *text)
{
	BIO *bio = BIO_new_mem_buf(text, -1);
	EVP_PKEY *key = bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;

	BIO_free(bio);
	return key;
}

// Replaces the search for an authority: the certificate is the expected one, octet by octet.
static int certificate_check(X509_STORE_CTX *store, void *tls)
{
	const struct tls *t = tls;
	X509 *x = X509_STORE_CTX_get0_cert(store);
	unsigned char *der = NULL;
	int len = x != NULL ? i2d_X509(x, &der) : -1;
	bool same = len == t->peer_len && len > 0 && memcmp(der, t->peer, (size_t)len) == 0;

	OPENSSL_free(der);
	X509_STORE_CTX_set_error(store, same ? X509_V_OK : X509_V_ERR_CERT_REJECTED);
	return same;
}

static bool ctx_init(struct tls *t, X509 *own)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_method());

	t->ctx = ctx;
	if (ctx == NULL)
		return false;
	SSL_CTX_set_options(
		ctx, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_CLEANSE_PLAINTEXT);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	SSL_CTX_set_cert_verify_callback(ctx, certificate_check, t);
	return SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1 &&
	       SSL_CTX_set_ciphersuites(ctx, CIPHER) == 1 && SSL_CTX_set_num_tickets(ctx, 0) == 1 &&
	       SSL_CTX_use_certificate(ctx, own) == 1 && SSL_CTX_use_PrivateKey(ctx, t->key) == 1;
}

int tls_init(struct tls *t, const char *certificate, const char *key, const char *peer)
{
	X509 *own = certificate_read(certificate), *other = certificate_read(peer);
	bool ok;

	*t = (struct tls){.key = key_read(key)};
	if (other != NULL) {
		t->peer_len = i2d_X509(other, &t->peer);
		t->peer_key = X509_get_pubkey(other);
	}
	ok = own != NULL && t->key != NULL && t->peer_key != NULL && t->peer_len > 0 &&
	     ctx_init(t, own);
	X509_free(own);
	X509_free(other);
	ERR_clear_error();
	return ok ? 0 : -EINVAL;
}

void tls_fini(struct tls *t)
{
	SSL_CTX_free(t->ctx);
	EVP_PKEY_free(t->key);
	EVP_PKEY_free(t->peer_key);
	OPENSSL_free(t->peer);
}

SSL *tls_new(const struct tls *t, int fd, bool accepts)
{
	SSL *ssl = SSL_new(t->ctx);

	if (ssl == NULL || SSL_set_fd(ssl, fd) != 1) {
		SSL_free(ssl);
		return NULL;
	}
	if (accepts)
		SSL_set_accept_state(ssl);
	else
		SSL_set_connect_state(ssl);
	return ssl;
}

static enum tls_result result_of(SSL *ssl, int rc)
{
	if (rc > 0)
		return TLS_DONE;
	switch (SSL_get_error(ssl, rc)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return TLS_AGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return TLS_ENDED;
	case SSL_ERROR_SYSCALL:
		return errno == 0 ? TLS_ENDED : TLS_FAILED;
	default:
		return ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING
			       ? TLS_ENDED
			       : TLS_FAILED;
	}
}

// An error of an earlier call is not that of this one.
static void begin(void)
{
	ERR_clear_error();
	errno = 0;
}

enum tls_result tls_handshake(SSL *ssl)
{
	begin();
	return result_of(ssl, SSL_do_handshake(ssl));
}

enum tls_result tls_read(SSL *ssl, char *octets, size_t size, size_t *n)
{
	begin();
	return result_of(ssl, SSL_read_ex(ssl, octets, size, n));
}

enum tls_result tls_write(SSL *ssl, const char *octets, size_t len)
{
	size_t written;

	begin();
	return result_of(ssl, SSL_write_ex(ssl, octets, len, &written));
}

static const char *alert_text(int reason)
{
	switch (reason) {
	case SSL_R_CERTIFICATE_VERIFY_FAILED:
		return "it has another certificate than peer_certificate here";
	case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
		return "it has no certificate";
	case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
		return "it refuses the certificate of this gateway: its peer_certificate is "
		       "another";
	default:
		return NULL;
	}
}

bool tls_why(char *why, size_t size)
{
	unsigned long error = ERR_peek_error();
	const char *text = alert_text(ERR_GET_REASON(error));
	int system = errno;

	if (text != NULL)
		snprintf(why, size, "%s", text);
	else if (error != 0 && ERR_reason_error_string(error) != NULL)
		snprintf(why, size, "TLS: %s", ERR_reason_error_string(error));
	else
		snprintf(why, size, "%s", strerror(system));
	ERR_clear_error();
	return text != NULL;
}

size_t tls_sign(const struct tls *t, unsigned char signature[TLS_SIGNATURE_MAX], const void *text,
	size_t len)
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	size_t n = TLS_SIGNATURE_MAX;
	bool ok = md != NULL && EVP_DigestSignInit(md, NULL, NULL, NULL, t->key) == 1 &&
		  EVP_DigestSign(md, signature, &n, text, len) == 1;

	EVP_MD_CTX_free(md);
	ERR_clear_error();
	return ok ? n : 0;
}

bool tls_verify(const struct tls *t, const unsigned char *signature, size_t signature_len,
	const void *text, size_t len)
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	bool ok = md != NULL && EVP_DigestVerifyInit(md, NULL, NULL, NULL, t->peer_key) == 1 &&
		  EVP_DigestVerify(md, signature, signature_len, text, len) == 1;

	EVP_MD_CTX_free(md);
	ERR_clear_error();
	return ok;
}
