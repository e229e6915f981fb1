// SPDX-License-Identifier: BSD-3-Clause
#include "member_sa.h"

#include <string.h>

#include "hex.h"
#include "line.h"

void member_sa_write(char name[MEMBER_SA_STRLEN], const struct sa *sa)
{
	hex_format(name, sa->record->id.octets, SA_SHORT_ID);
}

bool member_sa_read(
	struct control *c, const char **rest, enum sa_direction direction, struct sa **sa)
{
	char name[MEMBER_SA_STRLEN];
	uint8_t octets[SA_SHORT_ID];
	const struct sa_record *r;

	*sa = NULL;
	if (!line_word(rest, name, sizeof(name)) || strlen(name) != MEMBER_SA_STRLEN - 1 ||
		hex_parse(octets, sizeof(octets), name) != SA_SHORT_ID)
		return false;
	r = sa_ledger_find_short(c->snapshot->objects->ledger, octets);
	if (r != NULL && r->first != NULL && r->first->opt.direction == direction)
		*sa = r->first;
	return true;
}
