// SPDX-License-Identifier: BSD-3-Clause
// Decides about requests to the daemon, by its control sockets or SIGHUP: one at a time, in the
// order in which they are received. A request that needs no loading does not wait for one that is
// loaded: a group may become active meanwhile. Clients that may only read get answers to requests
// that change nothing, and only one in a second that needs the file or the whole configuration;
// while that is loaded, requests of an IKE daemon are served as well. A request is one of
//
//   reload          read the file again; refused if changes at run time would be lost
//   reload discard  read it all the same
//   diff            print the changes that it would make
//   config          print the running configuration, as a file without keys
//   save            print the changes that lead to it from the file
//   rewrite         print the patches of conf_rewrite() that put them into the file; for clients
//                   that may change something, as comments of the file are among them
//   subscribe       send events from now on
//   flush FILTER    remove the flows that match: KEY=VALUE,... as of telemetry_filter.h
//   flush-neighbours FILTER  remove the learnt neighbours that match: "neighbours removed: NUMBER"
//   trace FILTER    trace packets: count=NUMBER and filters; then /culvert/trace_steps has them
//   trace-stop trace=NUMBER
//   ping tunnel=NAME  send a request by a tunnel, with to=ADDRESS and size=OCTETS: "ping NUMBER";
//                   then /culvert/ping has the result
//   tunnel-down NAME  take the tunnel down that routes lead into
//   tunnel-up NAME    let it be up again
//   group-active NAME   this gateway answers for the addresses of the group
//   group-standby NAME  another one does
//   group-drain NAME    another one is to do so, without loss
//   drain           other members of the fleet are to have all groups, without loss
//   drain-now       and at once, whatever is lost
//   drain-off       this one takes groups again
//   ike NAME        and from the next line on, changes of an IKE daemon: as of
//                   conf_ike_read(); messages call it NAME
//   change NAME     and from the next line on, changes as of conf_change(); messages call
//                   them NAME
//
// with "new-keys " in front of it if keys that are not recorded are declared new (state.h), and its
// answer a line "STATUS OCTETS" and that many octets of text: with the status
//
//   ok          the request is done: "generation NUMBER"; (trace) "trace NUMBER"
//   refused     nothing has changed: the mistakes, in lines
//   text        (config, save, rewrite) the text
//   events      (subscribe) no text; then, as long as the connection lasts, a packet for each
//   event:
//               event_log_read()
//   same        (diff) nothing is different: no text
//   different   (diff) a JSON array, see conf_print_diff()
//
// Control thread.
#pragma once

#include "request_serve.h"

void requests_start(
	struct control *c, const char *conf_path, const struct request_io *io, void *arg);

// Continues with requested work; reload: SIGHUP has requested a reload. Call it often. Returns
// whether a request is not finished.
bool requests_tick(bool reload, uint64_t now_ms);

// The guests of ports have changed: their addresses become own ones, or are none any more, as soon
// as no other request is served. Only while c->loading is false.
void requests_guests(void);

// When nothing is loaded any more.
void requests_stop(void);
