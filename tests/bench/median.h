// SPDX-License-Identifier: BSD-3-Clause
// The order of figures, for qsort(): of a round's figures, the median counts.
#pragma once

static inline int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}
