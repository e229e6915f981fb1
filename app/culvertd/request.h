// SPDX-License-Identifier: BSD-3-Clause
// Requests to the daemon, by its control sockets or SIGHUP: one at a time, in the order in which
// they are received. Members of show_group have a socket of their own, for requests that change
// nothing. A request is one of
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
//   different   (diff) a JSON array, see conf_print_diff()
//
// Control thread.
#pragma once

#include "gateway.h"

// Opens the sockets. Returns 0, or -EIO after logging why not. Before privileges are given up.
int requests_start(struct gateway *g);

// Continues with what was requested; reload: SIGHUP has requested a reload. Call it often.
void requests_tick(bool reload, uint64_t now_ms);

// When nothing is loaded any more.
void requests_stop(void);
