// SPDX-License-Identifier: BSD-3-Clause
// What the daemon is asked to do, by its control sockets or SIGHUP: one request at a time, in the
// order in which they came. Members of show_group have a socket of their own, and may ask for what
// changes nothing. A request is one of
//
//   reload          read the file again
//   diff            say what that would change
//   config          print what runs, as a file without keys
//   save            print the changes that lead to it from the file
//   subscribe       send events from now on
//   flush FILTER    remove the flows that match: KEY=VALUE,... as of telemetry_filter.h
//   trace FILTER    trace packets: count=NUMBER and filters; then /culvert/trace_steps has them
//   trace-stop trace=NUMBER
//   change NAME     and in the next line and behind it, changes as of conf_change(); messages call
//                   them NAME
//
// with "new-keys " in front of it if keys that are not recorded are declared new (state.h),
// and its answer a line "STATUS OCTETS" and so many octets of text: with the status
//
//   ok          what was asked for is done: "generation NUMBER"; (trace) "trace NUMBER"
//   refused     nothing has changed: what is wrong, in lines
//   text        (config, save) the text
//   events      (subscribe) no text; then, as long as the connection lasts, a packet for each
//   event:
//               event_log_read()
//   same        (diff) nothing is different: no text
//   different   (diff) in lines, their fields with tabs between: added, removed, changed or moved;
//               noun; name; setting; old value; new value; "key" if the value is a secret;
//               "restart" if a reload is not enough; file; line. Fields that mean nothing are
//               empty.
//
// Control thread.
#pragma once

#include "control_socket.h"

struct gateway;
struct request_kind;

struct requests {
	struct control_socket socket; // of control_group
	struct control_socket show;   // of show_group: for requests that change nothing
	struct control_socket *asker; // the one of asked
	bool hup;                     // SIGHUP has asked for a reload

	// The one that is worked at; the loading thread writes what is behind text.
	const struct request_kind *kind; // NULL: there is none
	struct control_request asked;    // text NULL: by SIGHUP
	char *text;                      // of that, without the declaration
	bool new_keys;                   // there was one
	FILE *out, *log; // what is wrong or different; what was changed, for the log
	char *out_text, *log_text;
	size_t out_len, log_len;
	unsigned int n_different;
	bool refused;    // (diff) the file is
	bool incomplete; // there was no memory for out
};

// Opens the socket. Returns 0, or -EIO after logging why not. Before privileges are given up.
int requests_start(struct gateway *g);

// Goes on with what was asked for. To be called often.
void requests_tick(struct gateway *g, uint64_t now_ms);

// When nothing is loaded any more.
void requests_stop(struct gateway *g);
