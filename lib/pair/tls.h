// SPDX-License-Identifier: BSD-3-Clause
// TLS between the two gateways of a pair: version 1.3 alone (RFC 8446), where either has exactly
// the certificate that the other expects. Also signatures with these keys. No tickets, no early
// data; ChaCha20-Poly1305, whose keys need no renewal (RFC 8446 5.5). The only user of libssl. The
// calling thread, one at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <openssl/ssl.h>

struct tls {
	SSL_CTX *ctx;
	EVP_PKEY *key, *peer_key;
	unsigned char *peer; // its certificate in DER
	int peer_len;
};

// Reads key and certificates, texts in PEM that end with NUL. Returns 0, -EINVAL if they cannot be
// used, or -ENOMEM. Either needs tls_fini().
int tls_init(struct tls *t, const char *certificate, const char *key, const char *peer);
void tls_fini(struct tls *t);

enum tls_result {
	TLS_DONE,
	TLS_AGAIN, // when the socket can be read or written
	TLS_ENDED, // by the other end
	TLS_FAILED,
};

// A session on a connected socket that does not block; accepts: the other end has connected. NULL
// if there is no memory. The caller closes the socket.
SSL *tls_new(const struct tls *t, int fd, bool accepts);

// Continues the handshake.
enum tls_result tls_handshake(SSL *ssl);

// Reads up to size octets, *n of them; writes len octets, all or none. A write that is to be done
// again has to be the same.
enum tls_result tls_read(SSL *ssl, char *octets, size_t size, size_t *n);
enum tls_result tls_write(SSL *ssl, const char *octets, size_t len);

// Right after TLS_FAILED: writes why, in up to size octets. Returns whether one end refuses the
// other's certificate.
bool tls_why(char *why, size_t size);

#define TLS_SIGNATURE_MAX 1024

// Signs a text with the own key. Returns the octets of the signature; 0: that has failed.
size_t tls_sign(const struct tls *t, unsigned char signature[TLS_SIGNATURE_MAX], const void *text,
	size_t len);

// Whether the key of the other's certificate has signed the text.
bool tls_verify(const struct tls *t, const unsigned char *signature, size_t signature_len,
	const void *text, size_t len);
