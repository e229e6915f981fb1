// SPDX-License-Identifier: BSD-3-Clause
// The meaning of each setting, from the rows of conf_option.def and sa_option.def: for culvertctl
// explain, its JSON Schema, and the tables of docs/configuration.md. Any thread.
#pragma once

#include "conf.h"

// Kinds of values that a setting may have in JSON. With CONF_JSON_ARRAY they are its elements.
#define CONF_JSON_STRING  (1u << 0)
#define CONF_JSON_INTEGER (1u << 1)
#define CONF_JSON_BOOLEAN (1u << 2)
#define CONF_JSON_OBJECT  (1u << 3)
#define CONF_JSON_ARRAY   (1u << 4)
#define CONF_JSON_ALONE   (1u << 5) // one value may be written without the array

// The constraints of a setting in JSON. All that they refuse is a mistake; culvertd finds more.
struct conf_json {
	unsigned int kinds;        // CONF_JSON_*
	unsigned int n_min, n_max; // elements of an array; n_max is 0: any number
	uint32_t min, max;         // of an integer; max is 0: no limit
	const char *const *words;  // that a string may be; NULL: it has none
	const char *pattern;       // regular expression of other strings; NULL: they are not empty
	const char *def;           // default, as in the file; NULL: none
	bool required;
};

// A setting as text of Markdown. Valid until the callback returns.
struct conf_explanation {
	const char *setting; // "sas.udp.keepalive"
	const char *value;   // its possible values
	const char *absent;  // default, or "required"; "" for a group
	const char *change;  // needed for a change: "reload" or "restart"; "" for a group
	const char *only;    // "direction `out`": the SAs or policies that it is for; "": all
	const char *help;
	struct conf_json json;
};

typedef void conf_explain_fn(void *arg, const struct conf_explanation *e);

struct conf_option;

// Of one setting, for a caller inside lib/conf, or its test, that runs in an arena. path: of the
// settings around it, "sas.udp.".
struct conf_explanation conf_option_explain(const struct conf_option *o, const char *path);

// Calls back for every setting, in the order of the rows. Returns 0 or -ENOMEM.
int conf_explain(conf_explain_fn *explain, void *arg);
