// SPDX-License-Identifier: BSD-3-Clause
#include "fleet_desk.h"

#include <inttypes.h>

#include <jansson.h>

#include "base64.h"

static int client;
enum etcd_call asked;
char *body;
bool has_failed;
int64_t revision;
static char *answer;

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

static void key_write(FILE *out, const char *name, const char *value, int64_t lease)
{
	char *key = base64_write(name, strlen(name)), *text = base64_write(value, strlen(value));

	fprintf(out,
		"{\"key\":\"%s\",\"value\":\"%s\",\"mod_revision\":\"%" PRId64
		"\",\"lease\":\"%" PRId64 "\"}",
		key, text, revision, lease);
	free(key);
	free(text);
}

void reply_keys(unsigned int members, const char *value)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	fprintf(out,
		"{\"header\":{\"revision\":\"%" PRId64 "\"},\"succeeded\":true,\"responses\":["
		"{\"response_range\":{\"kvs\":[",
		++revision);
	if (members & ME)
		key_write(out, "/culvert/members/culvert", "culvert 1 0.1", LEASE);
	if (members & THEM)
		fputs(members & ME ? "," : "", out);
	if (members & THEM)
		key_write(out, "/culvert/members/other", "culvert 1 0.1", OTHER);
	fputs("]}},{\"response_range\":{\"kvs\":[", out);
	if (value != NULL)
		key_write(out, "/culvert/groups/main", value, 0);
	fprintf(out, "],\"count\":\"%d\"}}]}", value != NULL);
	fclose(out);
	wait_for(ETCD_TXN);
	reply(text);
	free(text);
}

void reply_replaced(bool done, const char *value)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	fprintf(out,
		"{\"header\":{\"revision\":\"%" PRId64 "\"},\"succeeded\":%s,\"responses\":["
		"{\"response_range\":{\"kvs\":[",
		++revision, done ? "true" : "false");
	key_write(out, "/culvert/groups/main", value, 0);
	fputs("],\"count\":\"1\"}}]}", out);
	fclose(out);
	reply(text);
	free(text);
}

char *value_asked(void)
{
	json_t *root = json_loads(body, 0, NULL);
	json_t *put =
		json_object_get(json_array_get(json_object_get(root, "success"), 0), "requestPut");
	size_t len;
	char *value = base64_read(json_string_value(json_object_get(put, "value")), &len);

	assert_non_null(value);
	json_decref(root);
	return value;
}

void join(void)
{
	wait_for(ETCD_LEASE_GRANT);
	reply("{\"header\":{},\"ID\":\"7\",\"TTL\":\"4\"}");
	wait_for(ETCD_TXN);
	reply("{\"header\":{\"revision\":\"1\"},\"succeeded\":true}");
}

void keep(void)
{
	if (body != NULL && asked == ETCD_LEASE_KEEPALIVE)
		reply("{\"result\":{\"ID\":\"7\",\"TTL\":\"4\"}}");
}

bool is_replaced_in(unsigned int ms, unsigned int members, const char *value)
{
	uint64_t end = desk_now + ms;

	while (desk_now < end) {
		tick();
		keep();
		if (is_replacing())
			return true;
		if (body != NULL && value != NULL)
			revision--; // nothing has changed
		if (body != NULL)
			reply_keys(members, value);
	}
	return false;
}
