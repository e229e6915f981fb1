// SPDX-License-Identifier: BSD-3-Clause
#include "base64.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#define DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

char *base64_write(const char *octets, size_t len)
{
	char *text = len < INT_MAX / 2 ? malloc((len + 2) / 3 * 4 + 1) : NULL;

	if (text != NULL)
		EVP_EncodeBlock((unsigned char *)text, (const unsigned char *)octets, (int)len);
	return text;
}

// The padding at the end of a text that is whole; -1: it is no such text. OpenSSL would ignore
// blanks around it.
static int padding_of(const char *text, size_t len)
{
	size_t n = strspn(text, DIGITS);

	if (len % 4 != 0 || len > INT_MAX || len - n > 2 || strspn(text + n, "=") != len - n)
		return -1;
	return (int)(len - n);
}

char *base64_read(const char *text, size_t *len)
{
	const size_t n = strlen(text);
	const int padding = padding_of(text, n);
	char *octets;
	int rc;

	if (padding < 0) {
		errno = EBADMSG;
		return NULL;
	}
	octets = malloc(n / 4 * 3 + 1);
	if (octets == NULL)
		return NULL;
	rc = EVP_DecodeBlock((unsigned char *)octets, (const unsigned char *)text, (int)n);
	if (rc < padding) {
		free(octets);
		errno = EBADMSG;
		return NULL;
	}
	*len = (size_t)(rc - padding); // OpenSSL counts octets of the padding
	octets[*len] = '\0';
	return octets;
}
