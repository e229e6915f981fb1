// SPDX-License-Identifier: BSD-3-Clause
#include "request_serve.h"

#include <stdlib.h>
#include <string.h>

#include "event_log.h"
#include "ike.h"
#include "log.h"
#include "revisions.h"

#define REFUSALS_MAX 10 // at once in the log, and one more each second: of readers

void control_request_free(struct control_request *r)
{
	if (r->text != NULL)
		explicit_bzero(r->text, r->len); // keys
	free(r->text);
	r->text = NULL;
}

struct request_terms request_terms_read(char *text)
{
	static const char new_keys[] = "new-keys ", confirm[] = "confirm-in ";
	struct request_terms t = {.text = text};
	char *end;

	if (strncmp(t.text, new_keys, strlen(new_keys)) == 0) {
		t.new_keys = true;
		t.text += strlen(new_keys);
	}
	if (strncmp(t.text, confirm, strlen(confirm)) == 0) {
		unsigned long s = strtoul(t.text + strlen(confirm), &end, 10);

		if (*end == ' ' && s > 0 && s <= REQUEST_CONFIRM_MAX) {
			t.confirm_s = (unsigned int)s;
			t.text = end + 1;
		}
	}
	return t;
}

void request_post(const struct request_desk *at, const struct control_request *asked,
	const char *name, bool done)
{
	uint32_t generation = at->c->snapshot->generation;
	const struct event_value values[EVENT_REQUEST_DONE_FIELDS] = {EVENT_TEXT(name),
		EVENT_NUMBER(generation), EVENT_NUMBER(asked->uid), EVENT_NUMBER(asked->pid)};

	event_log_add(done ? EVENT_REQUEST_DONE : EVENT_REQUEST_REFUSED, values);
}

void request_answer(const struct request_desk *at, const struct control_request *asked,
	const char *status, bool done, const char *text, uint64_t now_ms)
{
	const uint32_t revision = revisions_last(at->c);
	char generation[64];

	int len = snprintf(
		generation, sizeof(generation), "generation %u\n", at->c->snapshot->generation);

	if (revision != 0)
		snprintf(generation + len - 1, sizeof(generation) - (size_t)len, " revision %u%s\n",
			revision, at->c->revisions.unconfirmed.revision != 0 ? " waits" : "");
	at->io->answer(at->arg, asked, status, done ? generation : text, now_ms);
}

static void refuse(const struct request_desk *at, const struct control_request *asked,
	const char *name, const char *why, uint64_t now_ms)
{
	if (name != NULL)
		request_post(at, asked, name, false);
	at->io->answer(at->arg, asked, "refused", why, now_ms);
}

bool request_may_change(const struct request_desk *at, const struct control_request *asked,
	const char *name, uint64_t now_ms)
{
	static uint64_t whole_ms; // when REFUSALS_MAX may be logged again

	if (asked->may_change)
		return true;
	if (whole_ms > now_ms + (REFUSALS_MAX - 1) * 1000)
		name = NULL; // who may only look does not fill the log
	else
		whole_ms = RTE_MAX(whole_ms, now_ms) + 1000;
	refuse(at, asked, name,
		"members of show_group may not change anything: ask root, or a member of "
		"control_group\n",
		now_ms);
	return false;
}

static void serve(const struct request_desk *at, const struct control_request *asked,
	const struct request_at_once *request, const char *filter, uint64_t now_ms)
{
	char text[REQUEST_TEXT_MAX] = "";
	bool done;

	if (!request_may_change(at, asked, request->name, now_ms))
		return;
	done = request->serve(at->c, filter, text, sizeof(text));
	if (!request->often)
		request_post(at, asked, request->name, done);
	at->io->answer(at->arg, asked, done ? "ok" : "refused", text, now_ms);
}

bool request_is_named(const char *text, const char *name)
{
	size_t len = strcspn(text, " \n");

	return strlen(name) == len && strncmp(name, text, len) == 0;
}

const struct request_at_once *request_at_once(const struct request_desk *at, const char *text)
{
	for (const struct request_at_once *r = at->io->at_once; r->name != NULL; r++)
		if (request_is_named(text, r->name))
			return r;
	return NULL;
}

static void serve_at_once(const struct request_desk *at, const struct control_request *asked,
	const char *text, uint64_t now_ms)
{
	const struct request_at_once *request = request_at_once(at, text);
	const char *filter = text + strcspn(text, " ");

	filter += *filter == ' ';
	if (request_is_named(text, "subscribe")) {
		if (!at->io->subscribe(asked, "events 0\n"))
			refuse(at, asked, NULL, "too many subscribers\n", now_ms);
	} else if (request != NULL) {
		serve(at, asked, request, filter, now_ms);
	} else {
		refuse(at, asked, NULL, "unknown request\n", now_ms);
	}
}

const char *request_changes(char *text, const char **name, FILE *errors)
{
	char *line_end = strchr(text, '\n'), *blank = strchr(text, ' ');

	if (line_end == NULL || blank == NULL || blank > line_end) {
		fputs("the request is incomplete\n", errors);
		return NULL;
	}
	*line_end = '\0';
	*name = blank + 1;
	return line_end + 1;
}

static bool ike_serve(
	const struct request_desk *at, const struct control_request *asked, char *text, FILE *out)
{
	const char *name, *changes = request_changes(text, &name, out);

	return changes != NULL &&
	       ike_request(at->c, name, changes, asked->len - (size_t)(changes - asked->text), out);
}

static void serve_ike(const struct request_desk *at, const struct control_request *asked,
	char *text, uint64_t now_ms)
{
	char *lines = NULL;
	size_t len;
	bool done = false;
	FILE *out;

	if (!request_may_change(at, asked, "ike", now_ms))
		return;
	out = open_memstream(&lines, &len);
	if (out != NULL)
		done = ike_serve(at, asked, text, out);
	if (out == NULL || fclose(out) != 0) {
		free(lines);
		lines = NULL;
	}
	if (!done)
		request_post(at, asked, "ike", false);
	request_answer(at, asked, done ? "ok" : "refused", done,
		lines != NULL ? lines : "out of memory for the request\n", now_ms);
	free(lines);
}

void request_serve(const struct request_desk *at, const struct control_request *asked, char *text,
	uint64_t now_ms)
{
	if (request_is_named(text, "ike"))
		serve_ike(at, asked, text, now_ms);
	else
		serve_at_once(at, asked, text, now_ms);
}
