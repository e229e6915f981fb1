// SPDX-License-Identifier: BSD-3-Clause
// The connection of a fleet to etcd: one request at a time, in the order lease, key of this member,
// groups, reading.
#include "fleet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digests.h"
#include "etcd_text.h"
#include "event_log.h"
#include "fleet_parts.h"
#include "group.h"
#include "log.h"

#define RETRY_MS  250  // after a failure
#define KEEP_PART 3    // how often a lease is renewed in its time
#define STOP_MS   3000 // that the end may wait for etcd

void fleet_key(const struct control *c, char key[FLEET_KEY_MAX], const char *kind, const char *name)
{
	snprintf(key, FLEET_KEY_MAX, "%s%s/%s", c->conf->fleet_prefix, kind, name);
}

void fleet_group_key(const struct control *c, char key[FLEET_KEY_MAX], const char *name)
{
	fleet_key(c, key, "groups", name);
}

void fleet_member_key(const struct control *c, char key[FLEET_KEY_MAX])
{
	char number[16];

	snprintf(number, sizeof(number), "%u", c->conf->fleet_member);
	fleet_key(c, key, "members", number);
}

int fleet_start(struct control *c)
{
	const struct conf *conf = c->conf;

	if (conf->n_fleet_endpoints == 0)
		return 0;
	c->fleet = calloc(1, sizeof(*c->fleet));
	if (c->fleet != NULL)
		c->fleet->etcd = etcd_new(&(struct etcd_params){
			.endpoints = conf->fleet_endpoints,
			.n_endpoints = conf->n_fleet_endpoints,
			.ca = conf->fleet_ca,
			.certificate = conf->fleet_certificate,
			.key = conf->fleet_key,
		});
	if (c->fleet != NULL && c->fleet->etcd != NULL)
		return 0;
	log_error("cannot make the client of etcd: %s", strerror(ENOMEM));
	return -ENOMEM;
}

int fleet_connect(struct control *c, int (*confine)(void *arg), void *arg)
{
	int rc;

	if (c->fleet == NULL)
		return 0;
	snprintf(c->fleet->error, ETCD_ERROR_MAX, "etcd has not answered yet");
	rc = etcd_start(c->fleet->etcd, confine, arg);
	if (rc < 0)
		log_error("cannot start the thread for etcd: %s", strerror(-rc));
	return rc;
}

const char *fleet_error(const struct control *c)
{
	return c->fleet->error;
}

// --- questions ---

static void ask(struct fleet *f, enum fleet_question question, char *body, uint64_t now_ms)
{
	static const enum etcd_call calls[] = {
		[FLEET_GRANT] = ETCD_LEASE_GRANT,
		[FLEET_REGISTER] = ETCD_TXN,
		[FLEET_DESCRIBE] = ETCD_TXN,
		[FLEET_KEEP] = ETCD_LEASE_KEEPALIVE,
		[FLEET_POLL] = ETCD_TXN,
		[FLEET_READ] = ETCD_TXN,
		[FLEET_REPLACE] = ETCD_TXN,
		[FLEET_REVOKE] = ETCD_LEASE_REVOKE,
	};

	if (body == NULL) {
		f->try_ms = now_ms + RETRY_MS;
		return;
	}
	f->asked = question;
	f->asked_ms = now_ms;
	etcd_ask(f->etcd, calls[question], body);
}

// A group that has something to write, in turn; NULL: none has.
static struct owned_group *group_wanting(struct control *c, uint64_t now_ms)
{
	struct fleet *f = c->fleet;

	for (unsigned int i = 0; i < c->groups.n; i++) {
		struct owned_group *g = &c->groups.item[(f->next + i) % c->groups.n];

		if (fleet_group_wants(c, g, now_ms)) {
			f->next = (unsigned int)(g - c->groups.item) + 1;
			return g;
		}
	}
	return NULL;
}

static void read_ask(struct control *c, uint64_t now_ms)
{
	enum fleet_question question = fleet_read_question(c, now_ms);

	ask(c->fleet, question, fleet_read_text(c, question), now_ms);
}

static void ask_next(struct control *c, uint64_t now_ms)
{
	struct fleet *f = c->fleet;
	struct owned_group *g;

	if (now_ms < f->try_ms)
		return;
	if (f->lease == 0)
		ask(f, FLEET_GRANT, etcd_grant_text(c->conf->fleet_lease_s), now_ms);
	else if (now_ms >= f->keep_ms)
		ask(f, FLEET_KEEP, etcd_lease_text(f->lease), now_ms);
	else if (!f->registered && (!f->named_twice || now_ms < f->read_ms))
		ask(f, FLEET_REGISTER, fleet_member_text(c, FLEET_REGISTER), now_ms);
	else if (f->registered && !fleet_member_is_described(c))
		ask(f, FLEET_DESCRIBE, fleet_member_text(c, FLEET_DESCRIBE), now_ms);
	else if (now_ms >= f->read_ms)
		read_ask(c, now_ms);
	else if ((g = group_wanting(c, now_ms)) != NULL) {
		memcpy(f->writing, g->name, sizeof(g->name));
		ask(f, FLEET_REPLACE, fleet_group_request(c, g, false), now_ms);
	}
}

// --- answers ---

// Of the lease: its time counts from the question.
static int lease_take(struct control *c, const char *text)
{
	struct fleet *f = c->fleet;
	int64_t lease, seconds;
	int rc = etcd_lease_read(&lease, &seconds, text);

	if (rc < 0)
		return rc;
	if (seconds == 0 || lease == 0) { // it has ended: the next one is another
		f->lease = 0;
		f->registered = false;
		return 0;
	}
	f->lease = lease;
	f->kept_ms = f->asked_ms;
	f->keep_ms = f->asked_ms + UINT64_C(1000) * c->conf->fleet_lease_s / KEEP_PART;
	f->end_ms = f->asked_ms + UINT64_C(1000) * c->conf->fleet_lease_s;
	return 0;
}

static void registered(struct control *c, const struct etcd_result *r, uint64_t now_ms)
{
	struct fleet *f = c->fleet;

	f->registered = r->succeeded || (r->n_keys > 0 && r->keys[0].lease == f->lease);
	if (r->succeeded)
		fleet_member_described(f);
	f->named_twice = !f->registered;
	f->revision = 0; // all groups are read
	if (!f->registered)
		f->try_ms = now_ms + RETRY_MS;
}

static int result_take(
	struct control *c, enum fleet_question question, const char *text, uint64_t now_ms)
{
	struct etcd_result r;
	int rc = etcd_result_read(&r, text);

	if (rc == 0 && question == FLEET_REGISTER)
		registered(c, &r, now_ms);
	if (question == FLEET_DESCRIBE && rc == 0 && r.succeeded) {
		fleet_member_described(c->fleet);
	} else if (question == FLEET_DESCRIBE) {
		c->fleet->registered = rc < 0; // else its key has gone, or is another one's
		c->fleet->try_ms = now_ms + RETRY_MS;
	}
	if (rc == 0 && question == FLEET_POLL)
		fleet_poll_taken(c, &r, now_ms);
	if (rc == 0 && question == FLEET_READ)
		rc = fleet_read_taken(c, &r, now_ms);
	if (rc == 0 && question == FLEET_REPLACE)
		fleet_replace_taken(c, &r);
	etcd_result_free(&r);
	return rc;
}

static void note(struct control *c, bool is_up)
{
	struct fleet *f = c->fleet;

	if (is_up == f->is_up)
		return;
	f->is_up = is_up;
	if (is_up)
		event_post(FLEET_UP, EVENT_TEXT(c->conf->instance));
	else
		event_post(FLEET_DOWN, EVENT_TEXT(f->error));
}

// The last answer, or why there is none. text is freed.
static void answer_take(struct control *c, char *text, const char *error, uint64_t now_ms)
{
	struct fleet *f = c->fleet;
	enum fleet_question question = f->asked;
	int rc = 0;

	f->asked = FLEET_NOTHING;
	if (text != NULL)
		rc = question == FLEET_GRANT || question == FLEET_KEEP
			     ? lease_take(c, text)
			     : result_take(c, question, text, now_ms);
	free(text);
	if (text == NULL) {
		snprintf(f->error, sizeof(f->error), "%s", error);
	} else if (rc < 0) {
		snprintf(f->error, sizeof(f->error), "an answer of etcd cannot be read");
	} else if (f->named_twice) {
		snprintf(f->error, sizeof(f->error), "another gateway is member %u",
			c->conf->fleet_member);
	} else if (question == FLEET_READ || question == FLEET_POLL) {
		f->error[0] = '\0';
	}
	if (text == NULL || rc < 0) {
		f->try_ms = now_ms + RETRY_MS;
		fleet_read_all_soon(c, now_ms);
	}
}

static bool collect(struct control *c, uint64_t now_ms)
{
	char error[ETCD_ERROR_MAX] = "", *text;

	if (c->fleet->asked == FLEET_NOTHING)
		return true;
	if (!etcd_take(c->fleet->etcd, &text, error))
		return false;
	answer_take(c, text, error, now_ms);
	return true;
}

void fleet_tick(struct control *c, uint64_t now_ms)
{
	struct fleet *f = c->fleet;
	enum fleet_question asked;

	if (f == NULL)
		return;
	digests_follow(c, now_ms);
	asked = f->asked;
	for (unsigned int i = 0; i < c->groups.n; i++)
		fleet_group_yield(c, &c->groups.item[i], now_ms);
	if (!collect(c, now_ms))
		return;
	if (asked == FLEET_READ && f->error[0] == '\0')
		fleet_member_check(f);
	for (unsigned int i = 0; i < c->groups.n; i++)
		fleet_group_follow(c, &c->groups.item[i], now_ms);
	if (asked == FLEET_POLL || asked == FLEET_READ || asked == FLEET_REPLACE)
		fleet_moves_read(c, now_ms);
	fleet_moves_tick(c, now_ms);
	note(c, f->error[0] == '\0');
	ask_next(c, now_ms);
}

// Answers about keys would move groups: they are asked for again.
void fleet_keep(struct control *c, uint64_t now_ms)
{
	struct fleet *f = c->fleet;
	char error[ETCD_ERROR_MAX], *text = NULL;

	if (f == NULL)
		return;
	if (f->asked == FLEET_GRANT || f->asked == FLEET_KEEP) {
		collect(c, now_ms);
	} else if (f->asked != FLEET_NOTHING && etcd_take(f->etcd, &text, error)) {
		free(text);
		f->asked = FLEET_NOTHING;
		f->read_ms = 0;
	}
	if (f->asked == FLEET_NOTHING && f->lease != 0 && now_ms >= f->keep_ms &&
		now_ms >= f->try_ms)
		ask(f, FLEET_KEEP, etcd_lease_text(f->lease), now_ms);
}

// Waits for the answer to a question until end_ms. False: there was none.
static bool wait_for_answer(struct control *c, uint64_t end_ms)
{
	while (!collect(c, end_ms)) {
		if (c->io->now_ms() >= end_ms)
			return false;
		usleep(1000);
	}
	return c->io->now_ms() >= c->fleet->try_ms;
}

// Twice, as the next owner of a move may answer just then.
static bool give_one_up(struct control *c, struct owned_group *g, uint64_t end_ms)
{
	struct fleet *f = c->fleet;
	bool answers = true;

	for (unsigned int i = 0; i < 2 && answers && fleet_group_is_own(f, g); i++) {
		fleet_move_name_next(c, g);
		ask(f, FLEET_REPLACE, fleet_group_request(c, g, true), c->io->now_ms());
		answers = wait_for_answer(c, end_ms);
	}
	return answers;
}

static void give_all_up(struct control *c, uint64_t end_ms)
{
	struct fleet *f = c->fleet;
	bool answers;

	wait_for_answer(c, end_ms);
	f->try_ms = 0;
	answers = c->io->now_ms() < end_ms;
	for (unsigned int i = 0; i < c->groups.n && answers; i++)
		answers = give_one_up(c, &c->groups.item[i], end_ms);
	if (!answers || f->lease == 0)
		return;
	ask(f, FLEET_REVOKE, etcd_lease_text(f->lease), c->io->now_ms());
	wait_for_answer(c, end_ms);
}

void fleet_stop(struct control *c)
{
	if (c->fleet == NULL)
		return;
	if (c->fleet->is_up)
		give_all_up(c, c->io->now_ms() + STOP_MS);
	for (unsigned int i = 0; i < c->groups.n; i++) {
		free(c->groups.item[i].fleet.coded);
		c->groups.item[i].fleet.coded = NULL;
	}
	etcd_free(c->fleet->etcd);
	free(c->fleet);
	c->fleet = NULL;
}
