// SPDX-License-Identifier: BSD-3-Clause
#include "hex.h"

#include <errno.h>
#include <string.h>

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int hex_parse(uint8_t *out, size_t size, const char *text)
{
	int n = 0;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		text += 2;
	while (*text != '\0') {
		if (strchr(" \t\r\n:_", *text) != NULL) {
			text++;
			continue;
		}
		int high = digit(text[0]);
		int low = high < 0 ? -1 : digit(text[1]);

		if (low < 0)
			return -EINVAL;
		if ((size_t)n < size)
			out[n] = (uint8_t)(high << 4 | low);
		n++;
		text += 2;
	}
	return n;
}

void hex_format(char *text, const uint8_t *octets, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		*text++ = digits[octets[i] >> 4];
		*text++ = digits[octets[i] & 15];
	}
	*text = '\0';
}
