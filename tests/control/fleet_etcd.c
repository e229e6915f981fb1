// SPDX-License-Identifier: BSD-3-Clause
#include "fleet_etcd.h"

#include <inttypes.h>

#include <jansson.h>

#include "base64.h"

static int client;
enum etcd_call asked;
char *body;
bool has_failed;
int64_t revision;
const char *their_text, *third_text, *their_group;
char *(*etcd_answer)(void);
int64_t their_lease;
static char *answer;
static struct listed { // as members were read last
	const char *value;
	int64_t lease;
} listed[3];
static int64_t created, their_created; // keys of groups; 0: there is none

struct etcd *__wrap_etcd_new(const struct etcd_params *p);
int __wrap_etcd_start(struct etcd *e, int (*confine)(void *arg), void *arg);
void __wrap_etcd_free(struct etcd *e);
void __wrap_etcd_ask(struct etcd *e, enum etcd_call call, char *text);
bool __wrap_etcd_take(struct etcd *e, char **text, char error[ETCD_ERROR_MAX]);

struct etcd *__wrap_etcd_new(const struct etcd_params *p)
{
	assert_int_equal(p->n_endpoints, 1);
	return (struct etcd *)&client;
}

int __wrap_etcd_start(struct etcd *e, int (*confine)(void *arg), void *arg)
{
	(void)e, (void)confine, (void)arg;
	return 0;
}

void __wrap_etcd_free(struct etcd *e)
{
	(void)e;
}

void __wrap_etcd_ask(struct etcd *e, enum etcd_call call, char *text)
{
	(void)e;
	assert_null(body);
	asked = call;
	body = text;
}

bool __wrap_etcd_take(struct etcd *e, char **text, char error[ETCD_ERROR_MAX])
{
	(void)e;
	if (answer == NULL && etcd_answer != NULL && body != NULL)
		answer = etcd_answer();
	if (answer == NULL && !has_failed)
		return false;
	*text = answer;
	snprintf(error, ETCD_ERROR_MAX, "etcd is away");
	free(body);
	answer = body = NULL;
	has_failed = false;
	return true;
}

void tick(void)
{
	desk_now += 10;
	fleet_tick(&desk, desk_now);
}

bool is_replacing(void)
{
	return body != NULL && strstr(body, "mod_revision\":\"") != NULL && strstr(body, "LEASE");
}

void wait_for(enum etcd_call call)
{
	for (unsigned int i = 0; i < 1000 && body == NULL; i++)
		tick();
	assert_non_null(body);
	assert_int_equal(asked, call);
}

void reply(const char *text)
{
	answer = strdup(text);
	tick();
}

void reply_meanwhile(const char *text)
{
	answer = strdup(text);
	desk_now += 10;
	fleet_keep(&desk, desk_now);
}

static void key_write(FILE *out, const char *name, const char *value, int64_t since, int64_t lease)
{
	char *key = base64_write(name, strlen(name)), *text = base64_write(value, strlen(value));

	fprintf(out,
		"{\"key\":\"%s\",\"value\":\"%s\",\"create_revision\":\"%" PRId64
		"\",\"mod_revision\":\"%" PRId64 "\",\"lease\":\"%" PRId64 "\"}",
		key, text, since, revision, lease);
	free(key);
	free(text);
}

// Returns the number of keys. Unchanged ones are left out of an answer about changes.
static unsigned int members_write(FILE *out, unsigned int members)
{
	const struct {
		unsigned int bit;
		const char *key, *value;
		int64_t lease;
	} all[] = {{ME, "/culvert/members/1", "culvert 1 0.1 culvert 100 serves groups=0", LEASE},
		{THEM, "/culvert/members/2", their_text, their_lease},
		{UNREADABLE, "/culvert/members/3", third_text, STRANGER}};
	const bool all_asked = strstr(body, "\"min_mod_revision\":\"1\"") != NULL;
	const char *comma = "";
	unsigned int n = 0;

	for (unsigned int i = 0; i < COUNT_OF(all); i++) {
		struct listed now = {all[i].value, all[i].lease};

		if ((members & all[i].bit) == 0)
			continue;
		n++;
		if (!all_asked && memcmp(&now, &listed[i], sizeof(now)) == 0)
			continue;
		listed[i] = now;
		fputs(comma, out);
		key_write(out, all[i].key, all[i].value, 1, all[i].lease);
		comma = ",";
	}
	return n;
}

// A key of a group is made when it has a value for the first time.
static void group_write(FILE *out, const char *key, const char *value, int64_t *since)
{
	if (*since == 0)
		*since = revision;
	key_write(out, key, value, *since, 0);
}

// Returns the number of keys.
static int groups_write(FILE *out, const char *value)
{
	if (value != NULL)
		group_write(out, "/culvert/groups/main", value, &created);
	else
		created = 0;
	if (value != NULL && their_group != NULL)
		fputs(",", out);
	if (their_group != NULL)
		group_write(out, "/culvert/groups/theirs", their_group, &their_created);
	return (value != NULL) + (their_group != NULL);
}

static void all_reply(unsigned int members, const char *value)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	fprintf(out,
		"{\"header\":{\"revision\":\"%" PRId64 "\"},\"succeeded\":true,\"responses\":["
		"{\"response_range\":{\"kvs\":[",
		revision);
	fprintf(out, "],\"count\":\"%u\"}},{\"response_range\":{\"kvs\":[",
		members_write(out, members));
	fprintf(out, "],\"count\":\"%d\"}}]}", groups_write(out, value));
	fclose(out);
	reply(text);
	free(text);
}

bool is_polling(void)
{
	return body != NULL && strstr(body, "count_only") != NULL;
}

bool is_reading(void)
{
	return body != NULL && strstr(body, "range_end") != NULL;
}

void keep(void)
{
	if (body != NULL && asked == ETCD_LEASE_KEEPALIVE)
		reply("{\"result\":{\"ID\":\"7\",\"TTL\":\"4\"}}");
}

void reply_revision(void)
{
	char text[64];

	snprintf(text, sizeof(text), "{\"header\":{\"revision\":\"%" PRId64 "\"}}", revision);
	reply(text);
}

void reply_keys(unsigned int members, const char *value)
{
	bool polls;

	revision++;
	wait_for(ETCD_TXN);
	polls = is_polling();
	if (polls)
		reply_revision();
	if (!polls || is_reading())
		all_reply(members, value);
	if (desk.fleet->all_members) { // they are asked for again
		keep();
		assert_true(is_reading());
		all_reply(members, value);
	}
}

char *replaced_text(bool done, const char *value)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	fprintf(out,
		"{\"header\":{\"revision\":\"%" PRId64 "\"},\"succeeded\":%s,\"responses\":["
		"{\"response_range\":{\"kvs\":[",
		++revision, done ? "true" : "false");
	group_write(out, "/culvert/groups/main", value, &created);
	fputs("],\"count\":\"1\"}}]}", out);
	fclose(out);
	return text;
}

void reply_replaced(bool done, const char *value)
{
	char *text = replaced_text(done, value);

	reply(text);
	free(text);
}

static char *value_in(const json_t *object)
{
	size_t len;
	char *value = base64_read(json_string_value(json_object_get(object, "value")), &len);

	assert_non_null(value);
	return value;
}

char *value_asked(void)
{
	json_t *root = json_loads(body, 0, NULL);
	char *value = value_in(
		json_object_get(json_array_get(json_object_get(root, "success"), 0), "requestPut"));

	json_decref(root);
	return value;
}

char *value_compared(void)
{
	json_t *root = json_loads(body, 0, NULL);
	char *value = value_in(json_array_get(json_object_get(root, "compare"), 1));

	json_decref(root);
	return value;
}

void fleet_etcd_begin(void)
{
	revision = 10;
	their_text = "culvert 1 0.1 other 100 serves groups=0";
	created = their_created = 0;
	memset(listed, 0, sizeof(listed));
	their_lease = OTHER;
	third_text = "culvert 2 more";
	their_group = NULL;
	etcd_answer = NULL;
	has_failed = false;
}

void fleet_etcd_end(void)
{
	free(body);
	body = NULL;
}
