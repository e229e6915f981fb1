// SPDX-License-Identifier: BSD-3-Clause
#include "route_model.h"

#include <stddef.h>
#include <stdio.h>

const struct route_protocol route_protocols[] = {
	{"redirect", 1},
	{"kernel", 2},
	{"boot", 3},
	{"static", 4},
	{"gated", 8},
	{"ra", 9},
	{"mrt", 10},
	{"zebra", 11},
	{"bird", 12},
	{"dhcp", 16},
	{"keepalived", 18},
	{"babel", 42},
	{"openr", 99},
	{"bgp", 186},
	{"isis", 187},
	{"ospf", 188},
	{"rip", 189},
	{"ripng", 190},
	{"nhrp", 191},
	{"eigrp", 192},
	{"ldp", 193},
	{"sharp", 194},
	{"pbr", 195},
	{"zstatic", 196},
	{NULL, 0},
};

const char *route_protocol_format(char text[ROUTE_PROTOCOL_TEXT_MAX], uint8_t number)
{
	for (const struct route_protocol *p = route_protocols; p->name != NULL; p++)
		if (p->number == number)
			return p->name;
	snprintf(text, ROUTE_PROTOCOL_TEXT_MAX, "%u", number);
	return text;
}
