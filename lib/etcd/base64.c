// SPDX-License-Identifier: BSD-3-Clause
#include "base64.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Three octets as four digits; less than three are padded.
static void part_write(char text[4], const uint8_t *octets, size_t len)
{
	uint32_t bits = (uint32_t)octets[0] << 16;

	if (len > 1)
		bits |= (uint32_t)octets[1] << 8;
	if (len > 2)
		bits |= octets[2];
	text[0] = digits[bits >> 18];
	text[1] = digits[bits >> 12 & 63];
	text[2] = '=';
	text[3] = '=';
	if (len > 1)
		text[2] = digits[bits >> 6 & 63];
	if (len > 2)
		text[3] = digits[bits & 63];
}

char *base64_write(const char *octets, size_t len)
{
	char *text = malloc((len + 2) / 3 * 4 + 1), *to = text;

	if (text == NULL)
		return NULL;
	for (size_t i = 0; i < len; i += 3, to += 4)
		part_write(to, (const uint8_t *)octets + i, len - i);
	*to = '\0';
	return text;
}

// The digits in front of the padding; 0: it is no such text, or empty.
static size_t digits_of(const char *text)
{
	size_t len = strlen(text), n = strspn(text, digits);

	if (len % 4 != 0 || len - n > 2 || strspn(text + n, "=") != len - n)
		return 0;
	return n;
}

char *base64_read(const char *text, size_t *len)
{
	size_t n = digits_of(text);
	uint32_t bits = 0;
	char *octets;

	if (n == 0 && text[0] != '\0') {
		errno = EBADMSG;
		return NULL;
	}
	octets = malloc(n * 3 / 4 + 1);
	if (octets == NULL)
		return NULL;
	*len = 0;
	for (size_t i = 0; i < n; i++) {
		bits = bits << 6 | (uint32_t)(strchr(digits, text[i]) - digits);
		if (i % 4 != 0) // the digit completes an octet
			octets[(*len)++] = (char)(bits >> (6 - 2 * (i % 4)) & 0xff);
	}
	octets[*len] = '\0';
	return octets;
}
