// SPDX-License-Identifier: BSD-3-Clause
#include "requests.h"

#include "frozen.h"
#include "request_load.h"

#define AT_ONCE_MAX 64   // requests that are served without waiting in between
#define READ_MS     1000 // from one load for readers to the next

static struct {
	struct request_desk at;
	const struct request_kind *due; // without a client; NULL: nothing
	struct control_request next;    // is begun when the load is over; text NULL: none
	uint64_t read_ms;               // when something may be loaded again for who may only look
} requests;

// Whether something is loaded for who may only look, which others do not wait for.
static bool is_reading(void)
{
	return request_load_is_busy() && request_load_reads();
}

// Returns whether a further request may be served at once.
static bool load(const struct request_kind *kind, struct control_request *asked,
	const struct request_terms *terms, uint64_t now_ms)
{
	if (request_load_is_busy()) {
		requests.next = *asked;
		return false;
	}
	request_load_begin(kind, asked, terms, now_ms);
	if (!is_reading())
		return false;
	requests.read_ms = now_ms + READ_MS;
	return true;
}

// Returns whether a further request may be served at once.
static bool serve_next(struct control_request *asked, uint64_t now_ms)
{
	const struct request_terms terms = request_terms_read(asked->text);
	const struct request_kind *kind = request_load_find(terms.text);

	if (kind != NULL &&
		(!request_load_changes(kind) ||
			request_may_change(&requests.at, asked, request_load_name(kind), now_ms)))
		return load(kind, asked, &terms, now_ms);
	if (kind == NULL)
		request_serve(&requests.at, asked, terms.text, now_ms);
	control_request_free(asked);
	return true;
}

static bool is_at_once(const char *text)
{
	return request_at_once(&requests.at, text) != NULL;
}

// While something is loaded, the requests that need no loading, such as those for roles of groups;
// and, if that is for who may only look, others up to the first that waits for the end.
static bool take(struct control_request *asked, uint64_t now_ms)
{
	bool loads = request_load_is_busy();
	bool any = !loads || (is_reading() && requests.due == NULL && requests.next.text == NULL);

	return requests.at.io->take(requests.at.arg, asked, !loads && now_ms >= requests.read_ms,
		any ? NULL : is_at_once);
}

// Work without a client. NULL: there is none.
static const struct request_kind *due_take(uint64_t now_ms)
{
	const struct request_kind *due = request_load_due(now_ms);

	if (due == NULL) {
		due = requests.due;
		requests.due = NULL;
	}
	return due;
}

// Returns whether a request was served to its end, or others do not wait for it.
static bool begin_next(uint64_t now_ms)
{
	const struct request_kind *due = request_load_is_busy() ? NULL : due_take(now_ms);
	struct control_request asked = {0};

	if (due != NULL) {
		request_load_begin(due, &asked, &(struct request_terms){0}, now_ms);
		return false;
	}
	if (!request_load_is_busy()) {
		asked = requests.next;
		requests.next.text = NULL;
	}
	if (asked.text == NULL && !take(&asked, now_ms))
		return false;
	return serve_next(&asked, now_ms);
}

void requests_start(
	struct control *c, const char *conf_path, const struct request_io *io, void *arg)
{
	requests.at = (struct request_desk){c, io, arg};
	request_load_start(&requests.at, conf_path);
}

bool requests_tick(bool reload, uint64_t now_ms)
{
	if (reload)
		requests.due = request_load_find("reload"); // takes over the guests as well
	request_load_continue(now_ms);
	// The grace period of the one before is over.
	if (requests.at.c->retired == NULL && requests.at.c->sas_leaving == 0)
		for (unsigned int i = 0; i < AT_ONCE_MAX && begin_next(now_ms); i++)
			frozen_renew(requests.at.c);
	return request_load_is_busy() || requests.due != NULL;
}

void requests_guests(void)
{
	if (requests.due == NULL)
		requests.due = &request_load_guests;
}

void requests_stop(void)
{
	control_request_free(&requests.next);
	request_load_stop();
}
