// SPDX-License-Identifier: BSD-3-Clause
// The settings as JSON Schema, draft 7: for editors of the same settings in YAML or JSON, which the
// examples for Ansible write as a configuration (docs/remote.md). One thread.
#pragma once

#include <jansson.h>

// To be freed with json_decref(). Ends the program if memory is exhausted.
json_t *schema_new(void);
