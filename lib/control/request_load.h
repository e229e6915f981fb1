// SPDX-License-Identifier: BSD-3-Clause
// The request that is loaded: a configuration is made on the loading thread, and then replaces the
// running one or is compared with it. One at a time; requests.h has the order. Control
// thread.
#pragma once

#include "request_serve.h"

struct request_kind;

extern const struct request_kind request_load_guests; // the addresses of hosts have changed

// at must stay. conf_path: of the configuration file.
void request_load_start(const struct request_desk *at, const char *conf_path);

// The kind of a request, without its terms. NULL: it is none that is loaded.
const struct request_kind *request_load_find(const char *text);
bool request_load_changes(const struct request_kind *kind);
const char *request_load_name(const struct request_kind *kind);

bool request_load_is_busy(void);

// Whether it is for a client who may only look, which others do not wait for.
bool request_load_reads(void);

// The kind that the daemon itself has to load now. NULL: there is none.
const struct request_kind *request_load_due(uint64_t now_ms);

// Begins with a request while none is loaded; some end at once. Takes over the text of asked, which
// is NULL if nobody waits for an answer.
void request_load_begin(const struct request_kind *kind, struct control_request *asked,
	const struct request_terms *terms, uint64_t now_ms);

// Finishes it when it is loaded. Call it often.
void request_load_continue(uint64_t now_ms);

// When nothing is loaded any more.
void request_load_stop(void);
