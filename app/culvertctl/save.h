// SPDX-License-Identifier: BSD-3-Clause
// culvertctl save --write. One thread.
#pragma once

#include "command.h"

// Puts the changes at run time into the files of the configuration, and has the daemon load them.
enum exit_code save_write(const struct options *options);
