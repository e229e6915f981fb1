// SPDX-License-Identifier: BSD-3-Clause
// Whether the hugepages that the configuration asks for are there. Control thread.
#pragma once

#include "conf.h"

// For a configuration with hugepages. Returns 0, or -EIO after logging what is missing and how to
// mend it.
int hugepages_check(const struct conf *conf);
