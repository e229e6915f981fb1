// SPDX-License-Identifier: BSD-3-Clause
#include "text_list.h"

#include <stdio.h>
#include <string.h>

void text_list_add(char list[TEXT_LIST_SIZE], const char *between, const char *word)
{
	if (strlen(list) + strlen(between) + strlen(word) + 1 > TEXT_LIST_SIZE)
		return;
	if (list[0] != '\0')
		strcat(list, between);
	strcat(list, word);
}
