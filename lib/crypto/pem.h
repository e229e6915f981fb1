// SPDX-License-Identifier: BSD-3-Clause
// Keys and certificates in PEM (RFC 7468): checks of texts, and new ones for a pair of gateways.
// The texts end with NUL. Any thread.
#pragma once

#include <stdbool.h>
#include <stdio.h>

// Whether the text begins with a certificate, or a private key without a passphrase. Text before
// them is skipped.
bool pem_is_certificate(const char *text);
bool pem_is_key(const char *text);

// Whether this is the private key of that certificate.
bool pem_key_fits(const char *key, const char *certificate);

// Whether two texts have the same certificate.
bool pem_same_certificate(const char *a, const char *b);

// Makes a key for Ed25519 and a certificate for it, which it has signed itself, for a holder of
// that name. Writes both. False if that is not possible.
bool pem_make(FILE *key, FILE *certificate, const char *name);
