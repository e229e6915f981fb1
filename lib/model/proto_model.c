// SPDX-License-Identifier: BSD-3-Clause
#include "proto_model.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

const struct proto_info proto_infos[] = {
	{"any", PROTO_ANY, false},
	{"icmp", 1, false},
	{"igmp", 2, false},
	{"ipip", 4, false},
	{"tcp", 6, true},
	{"udp", 17, true},
	{"dccp", 33, true},
	{"gre", 47, false},
	{"esp", 50, false},
	{"ah", 51, false},
	{"icmpv6", 58, false},
	{"ospf", 89, false},
	{"sctp", 132, true},
	{"udplite", 136, true},
	{NULL, 0, false},
};

const struct proto_info *proto_find(const char *name)
{
	for (const struct proto_info *p = proto_infos; p->name != NULL; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

const struct proto_info *proto_of(uint16_t number)
{
	for (const struct proto_info *p = proto_infos; p->name != NULL; p++)
		if (p->number == number)
			return p;
	return NULL;
}

const char *proto_format(char text[PROTO_TEXT_MAX], uint16_t number)
{
	const struct proto_info *p = proto_of(number);

	if (p != NULL)
		return p->name;
	snprintf(text, PROTO_TEXT_MAX, "%u", number);
	return text;
}
