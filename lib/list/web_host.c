// SPDX-License-Identifier: BSD-3-Clause
#include "web_host.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_LEN 255 // octets of a name of DNS

static bool is_address(const char *name)
{
	unsigned char address[sizeof(struct in6_addr)];
	char inner[INET6_ADDRSTRLEN];
	size_t len = strlen(name);

	if (inet_pton(AF_INET, name, address) == 1)
		return true;
	if (len < 2 || len - 2 >= sizeof(inner) || name[0] != '[' || name[len - 1] != ']')
		return false;
	memcpy(inner, name + 1, len - 2);
	inner[len - 2] = '\0';
	return inet_pton(AF_INET6, inner, address) == 1;
}

bool web_host_is_own(const char *host, const char *machine)
{
	char name[NAME_MAX_LEN + 1];
	const char *port = host != NULL ? strrchr(host, ':') : NULL;
	size_t len;

	if (host == NULL)
		return true;
	len = port != NULL && strchr(port, ']') == NULL ? (size_t)(port - host) : strlen(host);
	if (len > NAME_MAX_LEN)
		return false;
	memcpy(name, host, len);
	name[len] = '\0';
	return is_address(name) || strcasecmp(name, "localhost") == 0 ||
	       (machine[0] != '\0' && strcasecmp(name, machine) == 0);
}
