// SPDX-License-Identifier: BSD-3-Clause
// Puts configurations to work: the first one, and others in its place while workers run. One that
// is refused changes nothing; one that is taken is in force for every packet that comes in after
// it has been published. Control thread.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

struct conf;
struct gateway;
struct snapshot;

// Makes a configuration out of whatever arg has; running is the one that runs. What is wrong is
// written to errors, one line each. NULL: there is none to put to work. On the loading thread.
typedef struct conf *configure_make(void *arg, const struct conf *running, FILE *errors);

// A configuration on its way.
struct load {
	pthread_t thread;
	configure_make *make;
	void *make_arg;
	FILE *errors;  // NULL: none is on its way
	bool new_keys; // the operator declares keys new that are not known
	struct conf *conf;
	struct snapshot *snapshot; // NULL: it was refused
	atomic_bool ready;         // set by the thread when it is done with the above
};

// Builds what g->conf describes and publishes it, before workers run. Failures are logged. Returns
// 0, -EIO or -ENOMEM.
int configure_start(struct gateway *g);

// Begins to make a configuration and to build what it describes, on a thread of its own: with many
// SAs that takes longer than neighbours and keepalives can wait. What is wrong with it is written
// to errors, one line each, until configure_loaded() has said what came of it. new_keys: see
// state_keys_check(). Only while nothing
// is loaded and nothing retired. Returns 0 or -EAGAIN.
int configure_load(struct gateway *g, configure_make *make, void *arg, bool new_keys, FILE *errors);

// What came of it: 0 once it is in the place of g->conf, -EINVAL if it was refused. -EINPROGRESS
// until then: call it often.
int configure_loaded(struct gateway *g);

// Whether there is something that was replaced and that no worker can see any more. What workers
// had to tell of it they have told. Call it often.
bool configure_over(const struct gateway *g);

// Frees it, once their events have been taken.
void configure_retire(struct gateway *g);

// When workers have ended. Waits for a load, of which nothing comes.
void configure_stop(struct gateway *g);
