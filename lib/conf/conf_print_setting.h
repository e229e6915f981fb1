// SPDX-License-Identifier: BSD-3-Clause
// Settings as text, for conf_print*.c. Private to lib/conf.
#pragma once

#include "conf_reader.h"

void conf_print_value(FILE *out, const config_setting_t *s);

// A group in braces, on one line. key_file: to write in the place of keys; may be NULL.
void conf_print_item(FILE *out, const config_setting_t *item, const char *key_file);

// A list of groups, one on each line. key_files: of each, or NULL.
void conf_print_list(FILE *out, const config_setting_t *list, const char *const *key_files);
