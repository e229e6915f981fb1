// SPDX-License-Identifier: BSD-3-Clause
// What is different between two configurations: what a reload would change. Control thread.
#pragma once

#include "conf.h"
#include "conf_difference.h"

typedef void conf_diff_fn(void *arg, const struct conf_difference *d);

// Reports every difference. Of a list whose order has changed, as few moved items as explain the
// new order.
// Returns their number, or -ENOMEM.
int conf_diff(const struct conf *from, const struct conf *to, conf_diff_fn *report, void *arg);

// The same for a caller inside lib/conf that runs in an arena. Returns their number.
unsigned int conf_differences(
	const struct conf *from, const struct conf *to, conf_diff_fn *report, void *arg);
