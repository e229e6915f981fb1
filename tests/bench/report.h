// SPDX-License-Identifier: BSD-3-Clause
// The rows of the report, on standard output: a table, or JSON with one object on each line.
#pragma once

#include "measure.h"
#include "point.h"

void report_table_head(void);
void report_table_row(const struct point *p, const struct result *r);
void report_table_stages(const struct result *r);

void report_json_row(const struct point *p, const struct result *r, bool stages);
