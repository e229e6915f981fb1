// SPDX-License-Identifier: BSD-3-Clause
// The meaning of each setting, from the rows of conf_option.def and sa_option.def: for culvertctl
// explain and the tables of docs/configuration.md. Any thread.
#pragma once

#include "conf.h"

// A setting as text of Markdown. Valid until the callback returns.
struct conf_explanation {
	const char *setting; // "sas.udp.keepalive"
	const char *value;   // its possible values
	const char *absent;  // default, or "required"; "" for a group
	const char *change;  // needed for a change: "reload" or "restart"; "" for a group
	const char *only;    // "direction `out`": the SAs or policies that it is for; "": all
	const char *help;
};

typedef void conf_explain_fn(void *arg, const struct conf_explanation *e);

struct conf_option;

// Of one setting, for a caller inside lib/conf, or its test, that runs in an arena. path: of the
// settings around it, "sas.udp.".
struct conf_explanation conf_option_explain(const struct conf_option *o, const char *path);

// Calls back for every setting, in the order of the rows. Returns 0 or -ENOMEM.
int conf_explain(conf_explain_fn *explain, void *arg);
