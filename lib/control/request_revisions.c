// SPDX-License-Identifier: BSD-3-Clause
// Requests about revisions: their differences, and how one becomes the running one again.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "conf_print.h"
#include "event_log.h"
#include "log.h"
#include "request_kind.h"

#define NUMBERS_MAX 2

// The numbers of revisions after the name of a request. Returns how many, -1 after a message if
// there is anything else.
static int numbers_read(const struct loading *l, uint32_t number[NUMBERS_MAX], FILE *errors)
{
	const char *text = l->terms.text + strlen(l->kind->name);
	unsigned long long value;
	char *end;
	int n = 0;

	for (; *text == ' '; text = end) {
		value = strtoull(text + 1, &end, 10);
		if (text[1] < '1' || text[1] > '9' || value > UINT32_MAX || n == NUMBERS_MAX)
			break;
		number[n++] = (uint32_t)value;
	}
	if (*text == '\0')
		return n;
	fprintf(errors, "%s: expected the number of a revision: culvertctl history lists them\n",
		l->kind->name);
	return -1;
}

// --- diff ---

void request_diff_revisions(struct loading *l, const struct conf *running, FILE *out)
{
	struct control *c = l->at->c;
	uint32_t number[NUMBERS_MAX];
	int n = numbers_read(l, number, out);
	struct conf *from = NULL, *to = NULL;

	if (n < 1)
		return;
	revisions_write(c, running);
	to = revisions_read(c, number[n - 1], l->conf_path, NULL, false, out);
	if (n == 2 && to != NULL)
		from = revisions_read(c, number[0], l->conf_path, NULL, false, out);
	l->refused = to == NULL || (n == 2 && from == NULL);
	if (!l->refused)
		loading_print(l, n == 2 ? from : running, to, out, conf_print_diff);
	conf_free(from);
	conf_free(to);
}

// --- rollback ---

// The changes that lead there are those of a record, for the other gateway of a pair.
static void record_write(struct loading *l, const struct conf_changes *list)
{
	FILE *f = open_memstream(&l->record, &l->record_len);

	if (f != NULL && list != NULL)
		conf_changes_write(list, f);
	if (f != NULL)
		fclose(f);
}

// Whether the change that waits would stay: the rollback would confirm it unnoticed.
static bool keeps_change(
	const struct loading *l, uint32_t number, const struct conf_changes *list, FILE *errors)
{
	const struct unconfirmed *u = &l->at->c->revisions.unconfirmed;

	if (u->revision == 0 || list == NULL || list->n > 0)
		return false;
	fprintf(errors,
		"revision %" PRIu32
		" is what waits for its confirmation: culvertctl confirm keeps it, "
		"culvertctl rollback %" PRIu32 " undoes it\n",
		number, u->former);
	return true;
}

static struct conf *rollback_make(struct loading *l, const struct conf *running, FILE *errors)
{
	uint32_t number[NUMBERS_MAX];
	struct conf_changes *list;
	struct conf *conf;
	int n = numbers_read(l, number, errors);

	if (n != 1) {
		if (n >= 0)
			fputs("rollback: expected the number of one revision\n", errors);
		return NULL;
	}
	conf = revisions_read(l->at->c, number[0], l->conf_path, running, true, errors);
	if (conf == NULL)
		return NULL;
	list = conf_diff(running, conf);
	if (keeps_change(l, number[0], list, errors)) {
		conf_free(conf);
		conf = NULL;
	} else {
		loading_changes(l, list, false);
		record_write(l, list);
	}
	conf_changes_free(list);
	return conf;
}

static const char *rollback_finish(struct loading *l, int rc)
{
	if (rc == 0) {
		loading_log(l, LOG_LEVEL_INFO, "rolled back: ");
		if (l->record != NULL)
			revisions_share(
				l->at->c, &l->made, &l->asked, false, "rollback", l->record);
	}
	free(l->record);
	l->record = NULL;
	return loading_status(l, rc);
}

const struct request_kind request_rollback = {.name = "rollback",
	.changes = true,
	.source = "rollback",
	.ends_wait = true,
	.make = rollback_make,
	.finish = rollback_finish};

// --- confirm ---

static bool confirm_begin(struct loading *l)
{
	return revisions_confirm(l->at->c, l->out);
}

// There was nothing to confirm.
static struct conf *nothing_make(struct loading *l, const struct conf *running, FILE *errors)
{
	(void)l, (void)running, (void)errors;
	return NULL;
}

const struct request_kind request_confirm = {.name = "confirm",
	.changes = true,
	.make = nothing_make,
	.begin = confirm_begin,
	.finish = loading_status};

// --- of the daemon itself: the change was not confirmed in time ---

static struct conf *return_make(struct loading *l, const struct conf *running, FILE *errors)
{
	const struct unconfirmed *u = &l->at->c->revisions.unconfirmed;
	struct conf *conf =
		revisions_read(l->at->c, u->former, l->conf_path, running, u->unsaved, errors);

	if (conf != NULL)
		loading_compare(l, running, conf, false);
	return conf;
}

static const char *return_finish(struct loading *l, int rc)
{
	struct control *c = l->at->c;
	const char *written = loading_written(l);

	if (rc == 0) {
		loading_log(l, LOG_LEVEL_WARN, "returned: ");
		event_post(CHANGE_UNDONE, EVENT_NUMBER(c->revisions.undone.revision),
			EVENT_NUMBER(c->revisions.undone.former));
	} else {
		log_error("a change that was not confirmed cannot be undone, it is tried again:");
		log_lines(LOG_LEVEL_ERROR, "", written, strlen(written));
		revisions_return_later(c, c->io->now_ms());
	}
	return NULL;
}

const struct request_kind request_return = {.name = "return",
	.changes = true,
	.source = "return",
	.ends_wait = true,
	.make = return_make,
	.finish = return_finish};

// --- of the daemon itself: changes in place are written ---

static struct conf *history_make(struct loading *l, const struct conf *running, FILE *errors)
{
	(void)errors;
	revisions_write(l->at->c, running);
	return NULL;
}

static const char *history_finish(struct loading *l, int rc)
{
	(void)l, (void)rc;
	return NULL;
}

const struct request_kind request_history = {
	.name = "history", .changes = true, .make = history_make, .finish = history_finish};
