// SPDX-License-Identifier: BSD-3-Clause
#include "etcd_answer.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base64.h"

// A number of 64 bits, which is a string; absent: 0.
static int number_read(int64_t *n, const json_t *object, const char *name)
{
	const json_t *member = json_object_get(object, name);
	const char *text = json_string_value(member);
	char *end;

	*n = 0;
	if (member == NULL)
		return 0;
	if (text == NULL || !isdigit((unsigned char)text[0]))
		return -EBADMSG;
	errno = 0;
	*n = strtoll(text, &end, 10);
	return errno == 0 && *end == '\0' ? 0 : -EBADMSG;
}

static bool is_text(const char *octets, size_t len, bool lines)
{
	for (size_t i = 0; i < len; i++)
		if ((octets[i] < ' ' || octets[i] > '~') && !(lines && octets[i] == '\n'))
			return false;
	return len <= ETCD_VALUE_MAX;
}

// Absent, or no text: empty. So a key that a stranger has written makes no other one unreadable.
static int octets_read(char **octets, const json_t *object, const char *name, bool lines)
{
	const json_t *member = json_object_get(object, name);
	size_t len;

	if (member != NULL && !json_is_string(member))
		return -EBADMSG;
	*octets = base64_read(member != NULL ? json_string_value(member) : "", &len);
	if (*octets == NULL)
		return -errno;
	if (!is_text(*octets, len, lines))
		(*octets)[0] = '\0';
	return 0;
}

// As etcd has sent it; absent: empty.
static int coded_copy(char **coded, const json_t *member)
{
	*coded = strdup(member != NULL ? json_string_value(member) : "");
	return *coded != NULL ? 0 : -ENOMEM;
}

static int key_read(struct etcd_result *r, const json_t *object, unsigned int range)
{
	struct etcd_key *k = &r->keys[r->n_keys++];
	int rc = octets_read(&k->name, object, "key", false);

	k->range = range;
	if (rc == 0)
		rc = octets_read(&k->value, object, "value", true);
	if (rc == 0)
		rc = coded_copy(&k->coded, json_object_get(object, "value"));
	if (rc == 0)
		rc = number_read(&k->revision, object, "mod_revision");
	if (rc == 0)
		rc = number_read(&k->created, object, "create_revision");
	return rc == 0 ? number_read(&k->lease, object, "lease") : rc;
}

static int keys_read(struct etcd_result *r, const json_t *keys, unsigned int range)
{
	size_t n = json_array_size(keys);
	struct etcd_key *grown;
	int rc = 0;

	if (n > ETCD_KEYS_MAX)
		return -EBADMSG;
	grown = realloc(r->keys, (r->n_keys + n + 1) * sizeof(r->keys[0]));
	if (grown == NULL)
		return -ENOMEM;
	r->keys = grown;
	memset(&grown[r->n_keys], 0, n * sizeof(grown[0]));
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = key_read(r, json_array_get(keys, i), range);
	return rc;
}

static int ranges_read(struct etcd_result *r, const json_t *responses)
{
	unsigned int n = 0;
	int rc = 0;

	for (size_t i = 0; i < json_array_size(responses) && rc == 0; i++) {
		const json_t *range =
			json_object_get(json_array_get(responses, i), "response_range");

		if (range == NULL)
			continue;
		if (n == sizeof(r->counts) / sizeof(r->counts[0]))
			return -EBADMSG;
		rc = number_read(&r->counts[n], range, "count");
		if (rc == 0)
			rc = keys_read(r, json_object_get(range, "kvs"), n);
		n++;
	}
	return rc;
}

int etcd_result_read(struct etcd_result *r, const char *text)
{
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	int rc;

	*r = (struct etcd_result){.succeeded = json_is_true(json_object_get(root, "succeeded"))};
	rc = number_read(&r->revision, json_object_get(root, "header"), "revision");
	if (rc == 0)
		rc = r->revision > 0 ? ranges_read(r, json_object_get(root, "responses"))
				     : -EBADMSG;
	json_decref(root);
	return rc;
}

void etcd_result_free(struct etcd_result *r)
{
	for (unsigned int i = 0; i < r->n_keys; i++) {
		free(r->keys[i].name);
		free(r->keys[i].value);
		free(r->keys[i].coded);
	}
	free(r->keys);
}

// An answer about one that is kept alive is a message of a stream, in "result".
int etcd_lease_read(int64_t *lease, int64_t *seconds, const char *text)
{
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, NULL);
	const json_t *result = json_object_get(root, "result");
	const json_t *object = result != NULL ? result : root;
	int rc = object != NULL && json_object_get(object, "ID") != NULL ? 0 : -EBADMSG;

	if (rc == 0)
		rc = number_read(lease, object, "ID");
	if (rc == 0)
		rc = number_read(seconds, object, "TTL");
	json_decref(root);
	return rc;
}

bool etcd_refusal_read(const char *text, char *why, size_t size)
{
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	const json_t *error = json_object_get(root, "error");
	const char *message = json_string_value(error);

	if (message == NULL) // an error of a stream
		message = json_string_value(json_object_get(error, "message"));
	if (message != NULL)
		snprintf(why, size, "%s", message);
	json_decref(root);
	return message != NULL;
}
