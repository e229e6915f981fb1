// SPDX-License-Identifier: BSD-3-Clause
// Capabilities that opening and closing devices takes. Any thread.
#pragma once

#include <stdint.h>

#include "conf.h"

// Of n devices: a bit for each, as in capability.h. Of AF_XDP none: it is not opened again, see
// struct port.
uint64_t devices_capabilities(const struct conf_port devices[], unsigned int n);
