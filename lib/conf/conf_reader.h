// SPDX-License-Identifier: BSD-3-Clause
// State that the parts of lib/conf share while one configuration is read: the memory, the messages
// and the files. Private to lib/conf, control thread only.
#pragma once

#include <stdarg.h>
#include <sys/types.h>

#include <libconfig.h>

#include "conf_arena.h"
#include "conf.h"
#include "nearest.h"

struct conf_changes;
struct conf_ike;
struct conf_message;

// A file that was read into a configuration.
struct conf_seen {
	struct conf_seen *next; // read before it; NULL: it is the first
	const char *path;
	struct key_id digest; // of its octets
	dev_t dev;
	ino_t ino;
};

struct conf_reader {
	const char *name;              // of the file or the request that is read
	const char *text;              // of the request; NULL: there is none
	size_t len;                    // octets, without the NUL that ends it
	struct conf *c;                // being filled
	const char *dir;               // of the tree
	const struct conf *running;    // subject of a request; else NULL
	const struct conf *replaced;   // the configuration that a file is to replace, or NULL
	struct conf_ike *ike;          // being filled, by a request of an IKE daemon; else NULL
	config_setting_t *root;        // of the config file
	struct conf_seen *seen;        // files read into the one that is being read
	struct conf_message *messages; // newest first
	unsigned int n_messages;
	bool nets_known;   // every port's addresses were accepted
	bool routes_known; // every route was accepted
};

// conf_err.c: messages are collected, and never name the octets of a key.

// Adds a message about a setting, after its file, line and name. The setting counts as rejected
// from now on: see conf_given().
void conf_err(struct conf_reader *r, config_setting_t *s, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

// The same for a place that is not where the setting stands; s may be NULL.
void conf_err_at(struct conf_reader *r, struct conf_where where, config_setting_t *s,
	const char *fmt, ...) __attribute__((format(printf, 4, 5)));

// Writes all messages, sorted by file and line.
void conf_err_print(const struct conf_reader *r, FILE *out);

struct conf_where conf_where(const config_setting_t *s);

// How messages refer to an item of a list: 'sa "to-b" (gw.conf:12)'.
const char *conf_ref(const config_setting_t *item);

// A text from the file as it may be shown: unprintable octets escaped, shortened when long, and
// replaced when it could be a key in the wrong place.
const char *conf_show(const char *text);

// The same in quotation marks.
const char *conf_quote(const char *text);

// For a message about a word that is unknown: the word that was probably meant, else that text.
const char *conf_hint(const struct nearest *near, const char *otherwise);

// Appends a word to others, with a comma in between.
const char *conf_join(const char *words, const char *word);

// conf_file.c

// Reads a file, called shown in messages, and the files that it includes; rejects files that others
// can read. Problems with the file itself are reported at where, on setting s (may be NULL). The
// caller hands *file to config_destroy() in any case. True if the file could be parsed.
bool conf_file_read(struct conf_reader *r, config_t *file, const char *path, const char *shown,
	struct conf_where where, config_setting_t *s);

// Reads a text, which begins at where; nothing can be included. Otherwise the same.
bool conf_text_read(struct conf_reader *r, config_t *file, const char *octets, size_t len,
	struct conf_where where);

// Reads a file again. Returns its *len octets, with a NUL after them; NULL after a message, also if
// its octets have changed.
const char *conf_seen_read(struct conf_reader *r, const struct conf_seen *seen, size_t *len);

// Returns the text of a file that setting s names, with a NUL after it. Others must not read it
// unless it is public. NULL after a message.
const char *conf_pem_read(
	struct conf_reader *r, config_setting_t *s, const char *name, bool is_public);

// conf_load.c: the settings of a configuration outlive its reading, for conf_change() and
// conf_diff().

// Numbers of elements of a list.
struct conf_set {
	unsigned int *index;
	unsigned int n;
};

struct conf_tree {
	config_t file;
	const char *dir;              // folder of the config file with its slash, or ""
	const struct conf_seen *seen; // the config file and its included files that it was made of,
	// newest first; NULL: it was made of another text
	// Of each SA: the file that its keys were read from, as it was written; NULL: from none.
	const char **key_files;
	struct conf_changes *unsaved;                         // see conf_unsaved.h
	struct conf_set sas_by_name, sas_by_spi, sas_by_keys; // all SAs, see conf_edit.h
	const char *record; // name of the last record that added in place; NULL: none has
};

// For settings out of files in that folder: conf_file_read() or conf_tree_copy() has to fill it.
struct conf_tree *conf_tree_new(const char *dir);

// The settings of the i-th item of a kind.
config_setting_t *conf_tree_item(const struct conf_tree *tree, enum conf_kind kind, unsigned int i);

const struct conf_seen *conf_seen_copy(const struct conf_seen *from);

void conf_tree_copy(struct conf_tree *to, const struct conf_tree *from);

// Copies one setting with all that is in it into a group, list or array. file: the name of the file
// that it comes from, if that is in memory of the copy already, else NULL. Returns the copy.
config_setting_t *conf_tree_add(
	config_setting_t *to, const config_setting_t *from, const char *file);

// Prints a text in quotation marks, as in a file.
void conf_print_text(FILE *out, const char *text);

// In a revision: the names of the files that the keys of each SA were read from, "" for none.
#define CONF_KEY_FILES "key_files"

// Prints a value as in a file; keys in it are not shown.
void conf_print_value(FILE *out, const config_setting_t *s);

// Prints a list of groups, one on each line, without keys. key_files: of each to write in their
// place, NULL where it has none; or NULL.
void conf_print_list(FILE *out, const config_setting_t *list, const char *const *key_files);

// Prints the settings of an item, without keys and the role of a group, of which each gateway of a
// pair has its own.
void conf_print_shared(FILE *out, const config_setting_t *item);

// Shared by conf_load() and conf_change().

// Runs fill(r) in an arena of its own, which makes r->c. Returns that; or NULL after writing to
// errors all that was wrong with it, or that there was no memory for it.
struct conf *conf_make(struct conf_reader *r, void (*fill)(struct conf_reader *r), FILE *errors);

// The folder of a file with its slash, or "".
const char *conf_folder(const char *path);

// A configuration whose files are in that folder, without its settings.
void conf_begin(struct conf_reader *r, const char *dir);

// Makes the configuration out of the settings in its tree, and checks it. If it is good, the tree
// has all keys.
void conf_read(struct conf_reader *r);

// conf_read.c

// An integer or a boolean as it is written in a file; NULL of other kinds.
const char *conf_bare_text(const config_setting_t *s);

// The setting of this name, NULL if there is none, or if there is no group. libconfig's own
// function takes paths: it looks for their dots with every character, and takes several times as
// long.
config_setting_t *conf_member(const config_setting_t *group, const char *name);

// Elements for which an array of n items has room: at least one more. Arrays that grow are seldom
// moved.
size_t conf_room(unsigned int n);

// conf_scan.c

// Checks a text that begins at where before libconfig reads it: reports input that libconfig reads
// wrongly, and calls include() with each name that "@include" gives. False if libconfig must not
// see the text.
bool conf_scan(struct conf_reader *r, struct conf_where where, const char *text, size_t len,
	bool (*include)(struct conf_reader *r, const char *name, struct conf_where where));

// conf_key.c

// Reads the keys of an SA whose other settings were read. True if the cipher's key was accepted.
bool conf_key_read(struct conf_reader *r, config_setting_t *item, struct conf_sa *sa);

// Writes the keys of all SAs into their settings instead of the names of files, which may change,
// and keeps those names in the tree.
void conf_keys_keep(struct conf_reader *r);
