// SPDX-License-Identifier: BSD-3-Clause
// Requests of an IKE daemon, whose SAs and policies are no part of the configuration. A request is
// a text with changes, as that of conf_change.h:
//
//   sa add { SETTINGS }           as in the file; reqid, and keys in the SA itself
//   sa set NAME { SETTINGS }      local, remote, udp.local_port, udp.remote_port: an end has moved;
//                                 late: whether another SA sends
//   sa del NAME
//   policy add { SETTINGS }       as in the file; reqid instead of out and in; priority
//   policy del NAME
//   spi add SPI                   an inbound SA with the SPI is to be added: packets wait for it
//   spi del SPI                   none is
//   flush                         all of them
//
// Names begin with CONF_IKE_PREFIX. An SA ends at a port that runs as unprotected already. The cost
// of a request does not depend on the number of SAs, policies and rules. Control thread.
#pragma once

#include "conf_change.h"

// New endpoints and `late` flag of an SA. Fields not given are 0.
struct conf_ike_move {
	struct ip_addr local, remote;
	uint16_t udp_local_port, udp_remote_port; // host byte order
	bool has_late, late;                      // late, if that was given
};

struct conf_ike_change {
	struct conf_change c; // with the name of the item; CONF_KINDS: about none
	uint32_t spi;         // that is awaited or no more, host byte order; 0: c is about an item
	unsigned int index;   // with CONF_ADD: into conf->sas, or conf->policies
	struct conf_ike_move move; // with CONF_SET
};

struct conf_ike {
	// Its sas and policies are those of the request; all else belongs to the running one, and
	// is valid as long as that. Never for conf_free().
	struct conf *conf;
	struct conf_ike_change *changes; // in the order of the request
	unsigned int n;                  // at least 1
};

// Reads a request and checks its SAs and policies as conf_load() does, among themselves and with
// the ports and routes of the running configuration: not with those of earlier requests, nor
// whether the set or deleted objects exist. The text has len octets and ends with NUL; name
// identifies it in messages. Returns NULL after writing every problem found to errors: "name:line:
// ...".
struct conf_ike *conf_ike_read(
	const struct conf *running, const char *name, const char *text, size_t len, FILE *errors);

// Wipes keys, which are nowhere else. NULL is allowed.
void conf_ike_free(struct conf_ike *ike);
