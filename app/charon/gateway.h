// SPDX-License-Identifier: BSD-3-Clause
// Requests of the plugin to culvertd: changes, and the state of SAs. Does not depend on strongSwan.
// Any thread.
#pragma once

#include <stdbool.h>

#include "client.h"

// The names of all objects of an IKE daemon begin with it.
#define GATEWAY_OWN "ike."

// Claims the gateway for this process, as long as both run and this one has the returned descriptor
// open. Returns -1 with errno: EWOULDBLOCK if another process has claimed it.
int gateway_claim(const char *instance);

// Applies changes of the request ike (docs/ike.md), which may have keys: all or none. errors: NULL,
// or why nothing has changed, to be freed. True if they were applied.
bool gateway_change(const char *instance, const char *changes, char **errors);

// An SA as culvertctl shows it: an object for json_decref(); NULL if there is none, or no gateway.
json_t *gateway_sa(const char *instance, const char *name);

// Its groups as culvertctl shows them: an array for json_decref(); NULL if it does not answer.
json_t *gateway_groups(const char *instance);

#define GATEWAY_EVENT_MAX 1024 // octets of an event with its NUL

// Subscribes to the gateway's events. Returns a descriptor, or -1 if it does not run.
int gateway_subscribe(const char *instance);

// Waits for an event: fields NAME=VALUE with tabs between them. False when the gateway has stopped.
bool gateway_event(int fd, char event[GATEWAY_EVENT_MAX]);

// The value of a field of an event, "NAME=", in value: "" if it has none that fits.
void gateway_event_value(const char *event, const char *name, char *value, size_t size);

// Whether a field of an event, "NAME=", has that value.
bool gateway_event_has(const char *event, const char *name, const char *value);

// A number of an object, 0 if it has none of that name.
double gateway_number(const json_t *object, const char *name);
