// SPDX-License-Identifier: BSD-3-Clause
#include "output.h"

#include <err.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "table.h"

size_t output_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return 0;
	return size.ws_col != 0 ? size.ws_col : 80; // a serial line does not know
}

void output_rows(FILE *out, json_t *rows)
{
	table_print(out, rows, output_width());
}

enum exit_code output_json(const json_t *value)
{
	if (json_dumpf(value, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII) == 0) {
		putchar('\n');
		return EXIT_OK;
	}
	warn("cannot write JSON");
	return EXIT_FAILED;
}
