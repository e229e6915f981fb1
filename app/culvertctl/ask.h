// SPDX-License-Identifier: BSD-3-Clause
// Queries of a daemon. A failure is printed on standard error, and ends the program. One thread.
#pragma once

#include <jansson.h>
#include <sys/un.h>

#include "output.h"

// The running instances, as of instances_find(): a new array.
json_t *ask_find(void);

// Says that no daemon runs, and how to start one.
void ask_none_running(void);

// The instance of that name, or if it is NULL the only one that runs.
const char *ask_instance(const char *name);

// The address of a socket of an instance, as of instance_address().
void ask_address(struct sockaddr_un *addr, const char *instance, const char *file);

// Asks for the list of a command of the daemon ("sas"), with a filter as of client_list(), and
// appends to the array objects what is behind the objects that it has.
void ask_more(json_t *objects, const char *instance, const char *command, const char *filter);

// Asks for the whole list: a new array.
json_t *ask_list(const char *instance, const char *command, const char *filter);
