// SPDX-License-Identifier: BSD-3-Clause
#include "etcd_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base64.h"

// Takes an object, which may be NULL.
static char *text_of(json_t *object)
{
	char *text = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;

	json_decref(object);
	return text;
}

// Numbers of 64 bits are strings, as the gateway writes them.
static json_t *number(int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, n);
	return json_string(text);
}

static json_t *octets(const char *text)
{
	char *coded = base64_write(text, strlen(text));
	json_t *string = coded != NULL ? json_string(coded) : NULL;

	free(coded);
	return string;
}

char *etcd_grant_text(unsigned int seconds)
{
	return text_of(json_pack("{s:o}", "TTL", number(seconds)));
}

char *etcd_lease_text(int64_t lease)
{
	return text_of(json_pack("{s:o}", "ID", number(lease)));
}

// A condition: the key has this in the field.
static json_t *equal(const char *key, const char *target, const char *field, json_t *is)
{
	return json_pack("{s:o, s:s, s:s, s:o}", "key", octets(key), "target", target, "result",
		"EQUAL", field, is);
}

static json_t *put(const char *key, const char *value, int64_t lease)
{
	return json_pack("{s:{s:o, s:o, s:o}}", "requestPut", "key", octets(key), "value",
		octets(value), "lease", number(lease));
}

static json_t *range(const char *key)
{
	return json_pack("{s:{s:o}}", "requestRange", "key", octets(key));
}

// All keys that begin with a prefix, which ends with a character that is not the last one.
static json_t *range_of(const char *prefix, int64_t since)
{
	char end[256];

	snprintf(end, sizeof(end), "%s", prefix);
	end[strlen(end) - 1]++;
	return json_pack("{s:{s:o, s:o, s:o}}", "requestRange", "key", octets(prefix), "range_end",
		octets(end), "min_mod_revision", number(since));
}

char *etcd_make_text(const char *key, const char *value, int64_t lease)
{
	return text_of(json_pack("{s:[o], s:[o], s:[o]}", "compare",
		equal(key, "CREATE", "create_revision", number(0)), "success",
		put(key, value, lease), "failure", range(key)));
}

char *etcd_change_text(const char *key, const char *value, int64_t lease)
{
	return text_of(json_pack("{s:[o], s:[o]}", "compare",
		equal(key, "LEASE", "lease", number(lease)), "success", put(key, value, lease)));
}

char *etcd_poll_text(const char *key)
{
	return text_of(json_pack("{s:[{s:{s:o, s:b}}]}", "success", "requestRange", "key",
		octets(key), "count_only", 1));
}

char *etcd_read_text(
	const char *members, int64_t members_since, const char *groups, int64_t groups_since)
{
	return text_of(json_pack("{s:[o, o]}", "success", range_of(members, members_since),
		range_of(groups, groups_since)));
}

// Of etcd_replace_text(). A key that does not exist has no value to compare.
static json_t *unchanged(const char *key, int64_t revision, const char *coded)
{
	json_t *mod = equal(key, "MOD", "mod_revision", number(revision));

	if (revision == 0)
		return json_pack("[o]", mod);
	return json_pack("[o, o]", mod, equal(key, "VALUE", "value", json_string(coded)));
}

char *etcd_replace_text(const char *key, const char *value, int64_t revision, const char *coded,
	const char *member, int64_t lease)
{
	json_t *compare = unchanged(key, revision, coded);

	if (json_array_append_new(compare, equal(member, "LEASE", "lease", number(lease))) < 0) {
		json_decref(compare);
		return NULL;
	}
	return text_of(json_pack("{s:o, s:[o, o], s:[o]}", "compare", compare, "success",
		put(key, value, 0), range(key), "failure", range(key)));
}
