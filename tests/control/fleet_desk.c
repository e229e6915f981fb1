// SPDX-License-Identifier: BSD-3-Clause
#include "fleet_desk.h"

#include <inttypes.h>

#include "member_sa.h"

#define FLEET                                                                                      \
	"fleet = { member = 1; endpoints = [ \"http://10.9.0.1:2379\" ]; lease = 4; };\n"          \
	"groups = ( { name = \"main\"; addresses = [ \"2001:db8:f::1\" ]; } );\n"

char *taken;

void join(void)
{
	wait_for(ETCD_LEASE_GRANT);
	reply("{\"header\":{},\"ID\":\"7\",\"TTL\":\"4\"}");
	wait_for(ETCD_TXN);
	reply("{\"header\":{\"revision\":\"1\"},\"succeeded\":true}");
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

void no_writes(void)
{
	while (is_replacing()) {
		free(taken);
		taken = value_asked();
		reply_replaced(true, taken);
	}
}

char *description_written(void)
{
	char *value = description_asked();

	reply("{\"header\":{\"revision\":\"99\"},\"succeeded\":true}");
	return value;
}

int fleet_desk_begin(void **state)
{
	desk_begin(state);
	fleet_reload(FLEET, "");
	assert_int_equal(fleet_start(&desk), 0);
	assert_int_equal(fleet_connect(&desk, NULL, NULL), 0);
	fleet_etcd_begin();
	desk_forget();
	return 0;
}

int fleet_desk_end(void **state)
{
	fleet_etcd_end();
	free(taken);
	taken = NULL;
	desk.fleet->is_up = false; // nothing to give up
	fleet_stop(&desk);
	return desk_end(state);
}
