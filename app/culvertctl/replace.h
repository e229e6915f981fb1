// SPDX-License-Identifier: BSD-3-Clause
// Files of an operator that a command replaces, all or none of them; the former ones are kept. A
// power failure leaves each whole. One thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct replacement {
	char *path; // real
	char *text; // the new octets
	size_t len;
	char *fresh;  // the new file before it has the name; NULL: there is none
	char *former; // the link to the former file: "PATH.YYYYMMDD-HHMMSS", in UTC; NULL: there is
		      // none
};

// Replaces n files, with the owners and modes of the former ones. False after a message: all are as
// before.
bool replace_all(struct replacement *r, size_t n);

// Gives the names back to the former files.
void replace_undo(struct replacement *r, size_t n);

// Frees all texts.
void replace_free(struct replacement *r, size_t n);
