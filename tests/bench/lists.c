// SPDX-License-Identifier: BSD-3-Clause
#include "lists.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crypto.h"
#include "die.h"

#define VALUE_MAX 64

enum { OPTION_JSON = DIMS };

const char *const dim_names[DIMS] = {
	[DIM_ALG] = "alg",
	[DIM_ENGINE] = "engine",
	[DIM_SAS] = "sas",
	[DIM_FLOWS] = "flows",
	[DIM_WORKERS] = "workers",
	[DIM_BURST] = "burst",
	[DIM_DIR] = "dir",
	[DIM_SIZE] = "size",
};

static unsigned int number(enum dim dim, const char *text, unsigned int min, unsigned int max)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (*end != '\0' || v < min || v > max)
		die("%s: '%s' is not a number from %u to %u", dim_names[dim], text, min, max);
	return (unsigned int)v;
}

static enum dir dir_of(const char *text)
{
	for (enum dir dir = 0; dir < DIRS; dir++)
		if (strcmp(text, dir_names[dir]) == 0)
			return dir;
	die("dir: '%s' is not out, in or loop", text);
}

static void alg_set(struct point *p, const char *text)
{
	char cipher[VALUE_MAX];
	const char *auth = strchr(text, '+');

	snprintf(cipher, sizeof(cipher), "%.*s", (int)strcspn(text, "+"), text);
	p->cipher = cipher_alg_find(cipher);
	if (p->cipher == NULL)
		die("alg: there is no cipher '%s'", cipher);
	if (auth != NULL)
		p->auth = auth_alg_find(auth + 1);
	else
		p->auth = auth_alg_find(p->cipher->icv_len > 0 ? "none" : "hmac-sha1-96");
	if (p->auth == NULL || !alg_pair_ok(p->cipher, p->auth))
		die("alg: '%s' makes no SA", text);
}

static void set(struct point *p, enum dim dim, const char *text)
{
	switch (dim) {
	case DIM_ALG:
		alg_set(p, text);
		break;
	case DIM_ENGINE:
		p->engine = strdup(text);
		break;
	case DIM_SAS:
		p->sas = number(dim, text, 1, POINT_SAS_MAX);
		break;
	case DIM_FLOWS:
		p->flows = number(dim, text, 1, POINT_FLOWS_MAX);
		break;
	case DIM_WORKERS:
		p->workers = number(dim, text, 1, POINT_WORKERS_MAX);
		break;
	case DIM_BURST:
		p->burst = number(dim, text, 1, POINT_BURST_MAX);
		break;
	case DIM_DIR:
		p->dir = dir_of(text);
		break;
	case DIM_SIZE:
		p->size = strcmp(text, "imix") == 0
				  ? POINT_IMIX
				  : number(dim, text, POINT_SIZE_MIN, POINT_SIZE_MAX);
		break;
	case DIMS:
		break;
	}
}

static bool engine_has_alg(const struct point *p)
{
	static const uint8_t octets[CRYPTO_CIPHER_KEY_MAX];
	struct crypto_key key = {p->cipher, p->auth, octets, octets, false, 0};
	struct crypto_session *s = crypto_session_new(&key, CRYPTO_SEAL, p->engine, 1);
	bool has = s != NULL;

	crypto_session_free(s);
	return has;
}

// Whether a point with the values up to this one can be measured.
static bool possible(struct points *points, const struct point *p, enum dim dim)
{
	bool engine = dim != DIM_ENGINE || engine_has_alg(p);
	bool flows = (dim != DIM_FLOWS || p->flows >= p->sas) &&
		     (dim != DIM_WORKERS || p->flows >= p->workers);

	points->engine_lacks |= !engine;
	points->flows_lack |= !flows;
	return engine && flows;
}

// Adds the combinations of the values from dim on; p has those before it.
static void add_from(
	struct points *points, struct point *p, const struct lists *lists, enum dim dim)
{
	const char *next = lists->of[dim];
	char value[VALUE_MAX];

	if (dim == DIMS) {
		points->p = realloc(points->p, (points->n + 1) * sizeof(*p));
		if (points->p == NULL)
			die("no memory");
		points->p[points->n++] = *p;
		return;
	}
	do {
		size_t len = strcspn(next, ",");

		snprintf(value, sizeof(value), "%.*s", (int)len, next);
		set(p, dim, value);
		if (possible(points, p, dim))
			add_from(points, p, lists, dim + 1);
		next += len;
	} while (*next++ == ',');
}

void points_add(struct points *points, const struct lists *lists)
{
	struct point p = {0};

	add_from(points, &p, lists, 0);
}

bool lists_read(struct lists *lists, int argc, char **argv)
{
	struct option longs[] = {[OPTION_JSON] = {"json", no_argument, NULL, OPTION_JSON}, {0}};
	bool json = false;
	int c;

	for (int dim = 0; dim < DIMS; dim++)
		longs[dim] = (struct option){dim_names[dim], required_argument, NULL, dim};
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c < DIMS)
			lists->of[c] = optarg;
		else if (c == OPTION_JSON)
			json = true;
		else
			exit(2);
	}
	if (optind != argc)
		die("what is '%s'?", argv[optind]);
	return json;
}
