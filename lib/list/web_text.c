// SPDX-License-Identifier: BSD-3-Clause
#include "web_text.h"

#include <string.h>

void web_octets(FILE *out, const char *octets, size_t len)
{
	fputc('"', out);
	for (size_t i = 0; i < len; i++) {
		unsigned char octet = (unsigned char)octets[i];

		if (octet < 0x20 || octet == 0x7f || strchr("\"\\<>&", octet) != NULL)
			fprintf(out, "\\u%04x", octet);
		else
			fputc(octet, out);
	}
	fputc('"', out);
}

void web_string(FILE *out, const char *text)
{
	web_octets(out, text, strlen(text));
}

void web_name(FILE *out, const char *name)
{
	web_string(out, name);
	fputc(':', out);
}
