// SPDX-License-Identifier: BSD-3-Clause
// The kinds of requests that load something, and the state of the one that is served. Private to
// request_load.c and the files of its kinds. The control thread; between begin() and finish(), the
// loading thread runs make() and has the state alone.
#pragma once

#include "conf_change.h"
#include "request_serve.h"
#include "revisions.h"

struct loading {
	const struct request_desk *at;
	const char *conf_path;

	const struct request_kind *kind; // NULL: nothing is loaded
	struct control_request asked;    // text NULL: by SIGHUP, or by the daemon itself
	struct request_terms terms;
	const char *name, *changes; // of a change; NULL: incomplete
	FILE *out, *log;            // errors or differences; changes, for the log
	char *out_text, *log_text;
	size_t out_len, log_len;
	unsigned int n_different;
	bool refused;               // (diff, config, save) a file or revision is
	bool incomplete;            // there was no memory for out
	struct revision_draft made; // the revision that the request makes
	char *record;               // (rollback) the changes that lead there
	size_t record_len;
};

struct request_kind {
	const char *name;
	bool changes;
	const char *source; // word for the revision that it makes; NULL: it makes none
	bool waits;         // for a confirmation of another change, also without a revision
	bool ends_wait;     // for a confirmation: goes back to a configuration that ran
	struct conf *(*make)(struct loading *l, const struct conf *running, FILE *errors);
	bool (*begin)(struct loading *l); // NULL: nothing. True: the request is done
	// rc: of load_finish(). Returns the status of the answer.
	const char *(*finish)(struct loading *l, int rc);
};

// request_load.c

// Messages about the request.
const char *loading_written(const struct loading *l);

// The status of a request that changes something, after the event about it.
const char *loading_status(struct loading *l, int rc);

// Writes one change to those for the log; after the last one, how many there were more.
void loading_note(struct loading *l, const struct conf_change *c);
void loading_notes_end(struct loading *l);

// The same with all differences, which the revision gets as well; unsaved: only those of changes at
// run time are for the log. list: NULL if memory is short.
void loading_changes(struct loading *l, const struct conf_changes *list, bool unsaved);

// The same with the differences of two configurations.
void loading_compare(
	struct loading *l, const struct conf *running, const struct conf *conf, bool unsaved);

// Logs them. Without memory they are not listed.
void loading_log(const struct loading *l, enum log_level level, const char *before);

// Writes the differences of two configurations in that form.
void loading_print(struct loading *l, const struct conf *from, const struct conf *to, FILE *out,
	void (*print)(const struct conf_changes *list, FILE *out));

// Kinds of requests: request_kinds.c has those about the file and changes, request_revisions.c
// those about revisions.
extern const struct request_kind request_reload, request_diff, request_config, request_save,
	request_rewrite, request_change, request_confirm, request_rollback, request_return,
	request_history;

// Writes the differences to a revision, or between two of them, whose numbers follow the name of
// the request.
void request_diff_revisions(struct loading *l, const struct conf *running, FILE *out);
