// SPDX-License-Identifier: BSD-3-Clause
// For the tests of conf_rewrite(): applies its result to the files in the folder of conf_dir.h.
#pragma once

#include "conf.h"

// Applies the patches of a result to its files, whose digests have to be the ones that it has.
// Returns the number of files.
unsigned int rewritten_apply(const char *result);
