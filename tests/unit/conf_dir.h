// SPDX-License-Identifier: BSD-3-Clause
// For the tests of lib/conf: a folder with copies of the files in CONF_DIR and of the samples,
// inaccessible to others (git keeps no modes), and functions that load them.
#pragma once

#include "conf.h"

#define SOURCE_DIR CONF_DIR "/../../.."

// Group fixtures: make and remove the folder.
int conf_dir_make(void **state);
int conf_dir_remove(void **state);

const char *conf_dir(void);

// The path of a file in the folder, valid until the next call.
const char *conf_dir_path(const char *name);

// The contents of any file, to be freed.
char *conf_dir_read(const char *path);

void conf_dir_write(const char *name, const char *text, size_t len);
void conf_dir_unlink(const char *name);

// Calls use() with the name of each file of any folder that has this ending. Returns their number.
unsigned int conf_dir_each(const char *path, const char *end, void (*use)(const char *name));

// Loads a file of the folder; *errors has the messages, without the folder's name, to be freed.
struct conf *conf_dir_load(char **errors, const char *name);

// Loads a file that must be valid, or must be refused with these messages.
struct conf *conf_dir_load_good(const char *name);
void conf_dir_load_bad(const char *name, const char *errors);

// For each file NAME.err of CONF_DIR: NAME.conf must be refused with these messages.
void conf_dir_check_mistakes(const char *err_name);

// The first sample of the documentation. Group fixtures make the folder, too, and load it; edited:
// with the first occurrence of a text replaced.
extern struct conf *conf_sample;
int conf_sample_start(void **state);
int conf_sample_stop(void **state);
struct conf *conf_sample_edited(const char *old, const char *new);

bool ends_with(const char *text, const char *end);

// Whether the heap contains these octets.
bool in_heap(const uint8_t *octets, size_t len);

// Fail if an address or prefix is not the one of the text.
void check_addr(const struct ip_addr *a, const char *expected);
void check_prefix(const struct ip_prefix *p, const char *expected);

// The settings of a configuration as `show config` prints them, to be freed with free().
char *conf_dir_printed(const struct conf *c);

// Makes NAME.key and NAME.crt, a key and its certificate.
void conf_dir_pem_make(const char *name);

// Group fixture: makes the folder, with a.key, a.crt, b.key and b.crt: keys and their certificates.
int conf_dir_pems_make(void **state);
