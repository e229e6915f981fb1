// SPDX-License-Identifier: BSD-3-Clause
#include "beacon.h"

#include <string.h>

size_t beacon_write(char datagram[BEACON_MAX], const struct tls *t, const struct pair_beacon *b)
{
	size_t line = pair_beacon_write(datagram, BEACON_LINE_MAX, b), signature;

	datagram[line++] = '\n';
	signature = tls_sign(t, (unsigned char *)datagram + line, datagram, line);
	return signature > 0 ? line + signature : 0;
}

bool beacon_read(struct pair_beacon *b, const struct tls *t, const char *datagram, size_t len)
{
	const char *end = memchr(datagram, '\n', len);
	size_t line_len = end != NULL ? (size_t)(end - datagram) : 0;
	char line[BEACON_LINE_MAX];

	if (end == NULL || line_len >= sizeof(line))
		return false;
	memcpy(line, datagram, line_len);
	line[line_len] = '\0';
	return pair_beacon_read(b, line) && tls_verify(t, (const unsigned char *)end + 1,
						    len - line_len - 1, datagram, line_len + 1);
}
