// SPDX-License-Identifier: BSD-3-Clause
#include "alg.h"

#include <string.h>
#include <strings.h>

// Aliases: what strongSwan says, and the names of IANA's IKEv2 registry, with the key length in
// bits where they lack it.

const struct cipher_alg cipher_algs[] = {
	// name, aliases, mode, octets of: key, salt, IV, block, ICV
	{"null", "ENCR_NULL", CIPHER_NULL, 0, 0, 0, 4, 0},
	{"aes-128-cbc", "aes128 AES-CBC-128", CIPHER_CBC, 16, 0, 16, 16, 0},
	{"aes-192-cbc", "aes192 AES-CBC-192", CIPHER_CBC, 24, 0, 16, 16, 0},
	{"aes-256-cbc", "aes256 AES-CBC-256", CIPHER_CBC, 32, 0, 16, 16, 0},
	{"aes-128-gcm", "aes128gcm16 aes128gcm128 AES-GCM-128", CIPHER_GCM, 16, 4, 8, 4, 16},
	{"aes-192-gcm", "aes192gcm16 aes192gcm128 AES-GCM-192", CIPHER_GCM, 24, 4, 8, 4, 16},
	{"aes-256-gcm", "aes256gcm16 aes256gcm128 AES-GCM-256", CIPHER_GCM, 32, 4, 8, 4, 16},
	{0},
};

const struct auth_alg auth_algs[] = {
	// name, aliases, mode, octets of: key, ICV
	{"none", "", AUTH_NONE, 0, 0},
	{"hmac-sha1-96", "sha1 sha AUTH_HMAC_SHA1_96", AUTH_HMAC_SHA1, 20, 12},
	{"hmac-sha2-256-128", "sha256 sha2_256 AUTH_HMAC_SHA2_256_128", AUTH_HMAC_SHA256, 32, 16},
	{0},
};

static bool is_called(const char *wanted, const char *name, const char *aliases)
{
	if (strcasecmp(wanted, name) == 0)
		return true;
	while (*aliases != '\0') {
		size_t len = strcspn(aliases, " ");

		if (strlen(wanted) == len && strncasecmp(wanted, aliases, len) == 0)
			return true;
		aliases += len;
		aliases += strspn(aliases, " ");
	}
	return false;
}

const struct cipher_alg *cipher_alg_find(const char *name)
{
	for (const struct cipher_alg *a = cipher_algs; a->name != NULL; a++)
		if (is_called(name, a->name, a->aliases))
			return a;
	return NULL;
}

const struct auth_alg *auth_alg_find(const char *name)
{
	for (const struct auth_alg *a = auth_algs; a->name != NULL; a++)
		if (is_called(name, a->name, a->aliases))
			return a;
	return NULL;
}
