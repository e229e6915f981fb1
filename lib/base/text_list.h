// SPDX-License-Identifier: BSD-3-Clause
// Lists of words in messages. Any thread.
#pragma once

#define TEXT_LIST_SIZE 256 // octets of a list in a message

// Adds a word to a list, with between in front unless it is the first, as far as there is room.
void text_list_add(char list[TEXT_LIST_SIZE], const char *between, const char *word);
