// SPDX-License-Identifier: BSD-3-Clause
#include "conf_digest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf_reader.h"
#include "hex.h"

#define DIGEST_LEN 16u // octets of an identifier that are written

// Ports are those of one machine.
static bool is_of_all(enum conf_kind kind)
{
	return kind != CONF_PORT;
}

// A kind without items has no digest: the other gateway may run a version without that kind.
static bool has_items(const struct conf *c, enum conf_kind kind)
{
	unsigned int n;

	conf_items(c, kind, &n);
	return n > 0;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct key_id));
}

static void key_write(FILE *out, const struct key_id *id)
{
	char digits[2 * sizeof(id->octets) + 1];

	hex_format(digits, id->octets, sizeof(id->octets));
	fprintf(out, " %s", digits);
}

static void item_write(FILE *out, const struct conf *c, enum conf_kind kind, unsigned int i)
{
	conf_print_shared(out, conf_tree_item(c->tree, kind, i));
	if (kind == CONF_SA) {
		key_write(out, &c->sas[i].opt.cipher_key_id);
		key_write(out, &c->sas[i].opt.auth_key_id);
	}
}

// The identifier of each item.
static bool items_digest(
	struct key_id ids[], const struct conf *c, enum conf_kind kind, unsigned int n)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return false;
	for (unsigned int i = 0; i < n; i++) {
		rewind(out);
		item_write(out, c, kind, i);
		if (fflush(out) == 0)
			ids[i] = key_id_of((const uint8_t *)text, len);
	}

	bool ok = ferror(out) == 0;

	ok &= fclose(out) == 0;
	free(text);
	return ok;
}

static int kind_digest(struct key_id *digest, const struct conf *c, enum conf_kind kind)
{
	unsigned int n;
	struct key_id *ids;

	conf_items(c, kind, &n);
	ids = calloc(n + 1u, sizeof(ids[0]));
	if (ids == NULL || !items_digest(ids, c, kind, n)) {
		free(ids);
		return -ENOMEM;
	}
	if (!conf_kinds[kind].ordered)
		qsort(ids, n, sizeof(ids[0]), compare);
	*digest = key_id_of((const uint8_t *)ids, n * sizeof(ids[0]));
	free(ids);
	return 0;
}

int conf_digests_write(char text[CONF_DIGESTS_MAX], const struct conf *c)
{
	char digits[2 * DIGEST_LEN + 1];
	struct key_id digest;
	int len = 0, rc;

	text[0] = '\0';
	for (enum conf_kind kind = 0; kind < CONF_KINDS; kind++) {
		if (!is_of_all(kind) || !has_items(c, kind))
			continue;
		rc = kind_digest(&digest, c, kind);
		if (rc < 0)
			return rc;
		hex_format(digits, digest.octets, DIGEST_LEN);
		len += snprintf(text + len, CONF_DIGESTS_MAX - (size_t)len, "%s%s=%s",
			len > 0 ? " " : "", conf_kinds[kind].list, digits);
	}
	return 0;
}
