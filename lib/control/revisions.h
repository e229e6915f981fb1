// SPDX-License-Identifier: BSD-3-Clause
// Revisions of the running configuration: each change by the file, an operator or the other gateway
// of a pair makes one, which history.h keeps. A change with a confirmation returns by itself unless
// it is confirmed: the revision before becomes the running one again. Until then there is no other
// change, which would be lost; and the other gateway of a pair does not get this one.
//
// Changes of SAs in place (change.h) are written together if they follow fast: writing takes a
// thousandth of the time at most.
//
// Control thread; functions with "loading thread" run there, and have the history alone.
#pragma once

#include "conf_change.h"
#include "control.h"

struct control_request;

// The revision that a request makes.
struct revision_draft {
	struct revision revision; // number 0: none
	unsigned int confirm_s;   // seconds until it returns; 0: it stays
	bool of_file;             // it is the configuration of the file
	bool discards;            // it discards changes at run time
	bool ends_wait;           // it is one from before the change that waits
	bool compared;            // with the running configuration
	const char *conf_path;
	bool saved;            // on the disk
	uint32_t mark, former; // of the history before
};

// --- start ---

// The configuration to begin with: that of the file, or the revision before if the file was not
// confirmed after a reload. Takes over conf, and reads the history. Before there are other threads.
struct conf *revisions_begin(struct control *c, struct conf *conf);

// The running configuration is a revision, if it is another one than the last. When privileges have
// been dropped.
void revisions_start(struct control *c);

// --- a request: draft, prepare (loading thread), finish ---

// source: a word. The number is set by revisions_describe(), or revisions_join().
void revisions_draft(
	const struct control *c, struct revision_draft *d, const char *source, uint32_t user);

// Loading thread: the differences to the running configuration, without which there is no revision.
void revisions_describe(
	const struct control *c, struct revision_draft *d, const struct conf_changes *list);

// Loading thread: writes the revision to the disk, and with a confirmation makes sure that the
// configuration can return. False after writing to errors why it must not be changed.
bool revisions_prepare(
	struct control *c, struct revision_draft *d, const struct conf *conf, FILE *errors);

// The request was done, or not.
void revisions_finish(struct control *c, struct revision_draft *d, bool done, uint64_t now_ms);

// Gives the other gateway of a pair a change that was made, or the fact that the configuration is
// that of the file again; with the confirmation if there must be one.
void revisions_share(struct control *c, const struct revision_draft *d,
	const struct control_request *asked, bool new_keys, const char *name, const char *changes);
void revisions_share_file(struct control *c, const struct revision_draft *d);

// --- changes in place ---

// Whether this request may change in place: it needs no confirmation, and changes of others are on
// the disk.
bool revisions_may_join(const struct control *c, const struct revision_draft *d);

// It has changed that.
void revisions_join(struct control *c, struct revision_draft *d, const struct conf_change change[],
	unsigned int n);

// Whether such changes should be written now.
bool revisions_must_write(const struct control *c, uint64_t now_ms);

// Loading thread: writes them if there are any. conf: the running configuration.
void revisions_write(struct control *c, const struct conf *conf);

// The number of the running revision. 0: none is kept.
uint32_t revisions_last(const struct control *c);

// --- confirmation ---

// Sets the mark of the history, or with 0 removes it. Returns 0 or -errno.
int revisions_mark(struct control *c, uint32_t unconfirmed, uint32_t former);

// Whether a change waits for its confirmation; writes that to out.
bool revisions_wait(const struct control *c, uint64_t now_ms, FILE *out);

// Whether one waits that may still be confirmed.
bool revisions_may_confirm(const struct control *c, uint64_t now_ms);

// Whether it was not confirmed in time.
bool revisions_must_return(const struct control *c, uint64_t now_ms);

// It could not return: tries again later.
void revisions_return_later(struct control *c, uint64_t now_ms);

// Confirms the change that waits. False after writing to out that there is none, or the error of
// the disk.
bool revisions_confirm(struct control *c, FILE *out);

// Loading thread: reads a revision; running, unsaved: as of conf_revision_read(). NULL after
// writing to errors why it cannot be had.
struct conf *revisions_read(struct control *c, uint32_t number, const char *conf_path,
	const struct conf *running, bool unsaved, FILE *errors);

// --- for lists: with the gateway's lock ---

// The revision that waits for its confirmation, or without whose confirmation a start does not use
// the file. 0: there is none.
uint64_t revisions_unconfirmed(const struct control *c);

// Milliseconds until the change that waits is undone; UINT64_MAX: none waits.
uint64_t revisions_left_ms(const struct control *c);

// Why the last revision could not be written; NULL: it is on the disk.
const char *revisions_error(const struct control *c);

// Frees the change that waits for a confirmation.
void revisions_stop(struct control *c);
