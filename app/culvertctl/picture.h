// SPDX-License-Identifier: BSD-3-Clause
// A picture of a daemon for the views that are repeated, top and status: the objects of some lists
// at one time, of ten thousand SAs or tunnels only the first by a ranking. A failure
// ends the program. One thread.
#pragma once

#include <stdbool.h>

#include "rates.h"

enum picture_list {
	PICTURE_INFO,
	PICTURE_TOTALS,
	PICTURE_PORTS,
	PICTURE_WORKERS,
	PICTURE_TUNNELS, // not up, the worst first
	PICTURE_SAS,     // the busiest
	PICTURE_DROPS,
	PICTURE_LISTS
};

struct picture {
	struct sample sample[PICTURE_LISTS];
};

// The first object of a list; NULL: there is none.
const json_t *picture_first(const struct picture *p, enum picture_list list);

// Rows with rates between two pictures, an array for each list, in order: ports, workers, tunnels,
// sas, drops. A new reference.
json_t *picture_tables(const struct picture *before, const struct picture *now);

typedef void picture_fn(void *arg, const struct picture *before, const struct picture *now);

// Takes two pictures a second apart, and then one after each interval of that many seconds, until
// the user quits; calls show for each but the first. seconds 0: the first two alone.
void picture_repeat(const char *instance, unsigned int seconds, picture_fn *show, void *arg);
