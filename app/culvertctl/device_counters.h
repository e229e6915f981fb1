// SPDX-License-Identifier: BSD-3-Clause
// Counters that the driver of a port's device has by names of its own, behind the fields of a
// single port ("show ports NAME"). A failure is printed on standard error, and ends the program.
// One thread.
#pragma once

#include <jansson.h>
#include <stdio.h>

// Requests those of a port that are not 0: a new object of numbers.
json_t *device_counters_get(const char *instance, const char *port);

// Prints them as a table, if there are any.
void device_counters_print(json_t *counters, FILE *out);
