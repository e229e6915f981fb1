// SPDX-License-Identifier: BSD-3-Clause
// The order of figures, for qsort(): of a round's figures, the median counts.
#pragma once

#include <stdlib.h>

static inline int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

// Sorts the n figures.
static inline double median(double v[], unsigned int n)
{
	qsort(v, n, sizeof(v[0]), compare_doubles);
	return v[n / 2];
}
