// SPDX-License-Identifier: BSD-3-Clause
// For each line that it reads: the share of the core that a thread gets on its CPU (core.h), also
// of a CPU on which another program is measured.
#include <stdio.h>

#include "core.h"

int main(void)
{
	char line[8];

	while (fgets(line, sizeof(line), stdin) != NULL) {
		printf("%.3f\n", core_measure().share);
		fflush(stdout);
	}
	return 0;
}
