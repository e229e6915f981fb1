// SPDX-License-Identifier: BSD-3-Clause
#include "fleet_desk.h"

#include <inttypes.h>

#include <jansson.h>

#include "base64.h"
#include "member_sa.h"

#define FLEET                                                                                      \
	"fleet = { member = 1; endpoints = [ \"http://10.9.0.1:2379\" ]; lease = 4; };\n"          \
	"groups = ( { name = \"main\"; addresses = [ \"2001:db8:f::1\" ]; } );\n"

static int client;
enum etcd_call asked;
char *body;
bool has_failed;
int64_t revision;
char *taken;
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

void lose_lease(int64_t next, bool is_twice)
{
	char text[256];

	while (body == NULL || asked != ETCD_LEASE_KEEPALIVE) {
		has_failed = body != NULL;
		tick();
	}
	reply("{\"result\":{\"ID\":\"7\"}}");
	wait_for(ETCD_LEASE_GRANT);
	snprintf(text, sizeof(text), "{\"header\":{},\"ID\":\"%" PRId64 "\",\"TTL\":\"4\"}", next);
	reply(text);
	wait_for(ETCD_TXN);
	assert_non_null(strstr(body, "CREATE"));
	reply(is_twice ? "{\"header\":{\"revision\":\"1\"},\"responses\":[{\"response_range\":{"
			 "\"kvs\":[{\"key\":\"YQ==\",\"mod_revision\":\"1\",\"lease\":\"99\"}]}}]}"
		       : "{\"header\":{\"revision\":\"1\"},\"succeeded\":true}");
}

void fail_for(unsigned int ms)
{
	for (unsigned int i = 0; i < ms / 10; i++) {
		has_failed = body != NULL;
		tick();
	}
}

bool is_replaced_in(unsigned int ms, unsigned int members, const char *value)
{
	uint64_t end = desk_now + ms;
	bool changed = true;

	while (desk_now < end) {
		tick();
		keep();
		if (is_replacing())
			return true;
		if (body == NULL)
			continue;
		if (value != NULL && !changed)
			revision--;
		reply_keys(members, value);
		changed = false;
	}
	return false;
}

void fleet_reload(const char *more, const char *sa)
{
	static const char cipher[] = "cipher = \"aes-128-gcm\";";
	char *text, *with, *at;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	desk_conf_write(f, more, sa);
	fclose(f);
	f = open_memstream(&with, &len);
	at = text;
	for (char *next; (next = strstr(at, cipher)) != NULL; at = next + strlen(cipher))
		fprintf(f, "%.*s%s esn = true;", (int)(next - at), at, cipher);
	fputs(at, f);
	fclose(f);
	desk_replace(harness_conf(with, len, stderr));
	free(text);
	free(with);
}

const struct owned_group *group(void)
{
	return &desk.groups.item[0];
}

char *value_of(
	const char *owner, int64_t lease, uint64_t turn, uint64_t out, uint64_t in, uint64_t used)
{
	char name[MEMBER_SA_STRLEN], *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fprintf(f, "culvert 1 %" PRIu64 " %s %" PRId64 "\n", turn, owner, lease);
	member_sa_write(name, &desk_sa_out("out-6")->sa);
	fprintf(f, "out %s %" PRIu64 " %" PRIu64 "\n", name, out, used);
	member_sa_write(name, &desk_sa_in("in-6")->sa);
	fprintf(f, "in %s %" PRIu64 " %" PRIu64 "\n", name, in, used);
	fclose(f);
	return text;
}

void take(void)
{
	join();
	reply_keys(ME | THEM, NULL);
	assert_true(is_replaced_in(3000, ME | THEM, NULL));
	taken = value_asked();
	reply_replaced(true, taken);
	assert_int_equal(group()->role, CONF_ACTIVE);
}

char *value_with(const char *head, uint64_t used)
{
	char *value = value_of("-", 0, 1, 3 * NUMBER_BLOCK_FLEET, NUMBER_LEAP_ESN / 4, used), *text;

	assert_true(asprintf(&text, "%s%s", head, strchr(value, '\n') + 1) > 0);
	free(value);
	return text;
}

void reply_keys_with(unsigned int members, const char *head, uint64_t used)
{
	char *value = value_with(head, used);

	reply_keys(members, value);
	free(value);
}

void check_asked(const char *head)
{
	char *value = value_asked();

	if (strstr(value, head) == NULL)
		fail_msg("not \"%s\": %s", head, value);
	free(value);
}

void etcd_does_it(void)
{
	char *value = value_asked();

	reply_replaced(true, value);
	free(value);
}

char *answered(const char *line)
{
	char *value = value_asked(), *lines = strchr(strchr(value, '\n') + 1, '\n') + 1, *text;

	assert_true(asprintf(&text, "culvert 1 3 culvert 7\n%s%s", line, lines) > 0);
	free(value);
	return text;
}

void move_ask(void)
{
	const char *why;

	take();
	while (is_replacing())
		reply_replaced(true, taken);
	assert_true(fleet_drain_group(&desk, "main", &why));
	assert_true(is_replaced_in(1000, ME | THEM, taken));
	check_asked("culvert 1 2 culvert 7\nnext other 9\nout");
}

char *move_leave(void)
{
	char *ready;

	move_ask();
	ready = answered("ready other 9\n");
	etcd_does_it();
	reply_keys(ME | THEM, ready);
	assert_true(group()->leaving);
	return ready;
}

char *description_asked(void)
{
	while (body == NULL || strstr(body, "requestPut") == NULL || is_replacing()) {
		if (body != NULL && is_replacing())
			etcd_does_it();
		else if (body != NULL && strstr(body, "requestRange") != NULL)
			reply_keys(ME | THEM, taken);
		keep();
		tick();
	}
	return value_asked();
}

int fleet_desk_begin(void **state)
{
	desk_begin(state);
	fleet_reload(FLEET, "");
	assert_int_equal(fleet_start(&desk), 0);
	assert_int_equal(fleet_connect(&desk, NULL, NULL), 0);
	revision = 10;
	their_text = "culvert 1 0.1 other 100 serves groups=0";
	created = their_created = 0;
	memset(listed, 0, sizeof(listed));
	their_lease = OTHER;
	third_text = "culvert 2 more";
	their_group = NULL;
	etcd_answer = NULL;
	has_failed = false;
	desk_forget();
	return 0;
}

int fleet_desk_end(void **state)
{
	free(body);
	free(taken);
	body = taken = NULL;
	desk.fleet->is_up = false; // nothing to give up
	fleet_stop(&desk);
	return desk_end(state);
}
