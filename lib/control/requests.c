// SPDX-License-Identifier: BSD-3-Clause
#include "requests.h"

#include "frozen.h"
#include "request_load.h"
#include "revisions.h"

#define AT_ONCE_MAX 64   // requests that are served without waiting in between
#define READ_MS     1000 // from one load for readers to the next

static struct {
	struct request_desk at;
	const struct request_kind *due; // without a client; NULL: nothing
	struct control_request next;    // is begun when the load is over; text NULL: none
	struct control_request confirm; // the same, before everything: it has arrived in time
	uint64_t read_ms;               // when something may be loaded again for who may only look
} requests;

// Whether something is loaded for who may only look, which others do not wait for.
static bool is_reading(void)
{
	return request_load_is_busy() && request_load_reads();
}

// A confirmation that arrives during a load is not too late if the change would return before
// the load is over.
static bool confirms_in_time(const char *text)
{
	const struct control *c = requests.at.c;

	return requests.confirm.text == NULL && request_is_named(text, "confirm") &&
	       revisions_may_confirm(c, c->io->now_ms());
}

// Beside another one that waits, take() accepts nothing else than a confirmation in time, which may
// end meanwhile.
static void wait_for_load(const struct control_request *asked)
{
	if (requests.next.text != NULL || confirms_in_time(asked->text))
		requests.confirm = *asked;
	else
		requests.next = *asked;
}

// Returns whether a further request may be served at once.
static bool load(const struct request_kind *kind, struct control_request *asked,
	const struct request_terms *terms, uint64_t now_ms)
{
	if (request_load_is_busy()) {
		wait_for_load(asked);
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

static bool waits_for_no_load(const char *text)
{
	return request_at_once(&requests.at, text) != NULL || confirms_in_time(text);
}

// While something is loaded, the requests that need no loading, such as those for roles of groups,
// and a confirmation; and, if that is for who may only look, others up to the first that waits for
// the end.
static bool take(struct control_request *asked, uint64_t now_ms)
{
	bool loads = request_load_is_busy();
	bool any = !loads || (is_reading() && requests.due == NULL && requests.next.text == NULL &&
				     requests.confirm.text == NULL);

	return requests.at.io->take(requests.at.arg, asked, !loads && now_ms >= requests.read_ms,
		any ? NULL : waits_for_no_load);
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

// A request that has waited for the end of a load. text NULL: there is none.
static struct control_request waiting_take(struct control_request *waiting)
{
	struct control_request taken = *waiting;

	waiting->text = NULL;
	return taken;
}

// Returns whether a request was served to its end, or others do not wait for it.
static bool begin_next(uint64_t now_ms)
{
	bool loads = request_load_is_busy();
	const struct request_kind *due;
	struct control_request asked = {0};

	if (!loads)
		asked = waiting_take(&requests.confirm);
	if (asked.text != NULL)
		return serve_next(&asked, now_ms);
	due = loads ? NULL : due_take(now_ms);
	if (due != NULL) {
		request_load_begin(due, &asked, &(struct request_terms){0}, now_ms);
		return false;
	}
	if (!loads)
		asked = waiting_take(&requests.next);
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
	control_request_free(&requests.confirm);
	request_load_stop();
}
