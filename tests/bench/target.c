// SPDX-License-Identifier: BSD-3-Clause
#include "target.h"

#include <string.h>

#include <rte_common.h>

#define SIZES 3

static const unsigned int sizes[SIZES] = {64, 512, 1400};

// With 1 SA and 1000 flows.
static const struct {
	const char *cipher, *engine;
	enum dir dir;
	unsigned int cycles[SIZES];
} passes[] = {
	{"aes-128-gcm", "ipsec_mb", DIR_OUT, {165, 210, 340}},
	{"aes-128-gcm", "ipsec_mb", DIR_IN, {165, 210, 340}},
	{"aes-128-cbc", "ipsec_mb", DIR_OUT, {300, 545, 930}},
	{"aes-128-cbc", "ipsec_mb", DIR_IN, {280, 480, 840}},
	{"null", "ipsec_mb", DIR_OUT, {245, 375, 630}},
	{"null", "ipsec_mb", DIR_IN, {245, 375, 630}},
	{"aes-128-gcm", "openssl", DIR_OUT, {530, 680, 990}},
	{"aes-128-gcm", "openssl", DIR_IN, {530, 680, 990}},
	{"aes-128-cbc", "openssl", DIR_OUT, {570, 1750, 4200}},
};

// With packets of 64 octets, any algorithm.
static const struct {
	unsigned int sas, flows, cycles;
} overheads[] = {
	{1, 1000, 100},
	{1000, 10000, 150},
	{10000, 100000, 220},
};

static unsigned int cycles_of(const struct point *p, const char *engine)
{
	if (p->sas != 1 || p->flows != 1000 || strstr("none hmac-sha1-96", p->auth->name) == NULL)
		return 0;
	for (unsigned int i = 0; i < RTE_DIM(passes); i++)
		for (unsigned int s = 0; s < SIZES; s++)
			if (strcmp(passes[i].cipher, p->cipher->name) == 0 &&
				strcmp(passes[i].engine, engine) == 0 && passes[i].dir == p->dir &&
				sizes[s] == p->size)
				return passes[i].cycles[s];
	return 0;
}

static unsigned int overhead_of(const struct point *p)
{
	if (p->size != sizes[0] || p->dir == DIR_LOOP)
		return 0;
	for (unsigned int i = 0; i < RTE_DIM(overheads); i++)
		if (overheads[i].sas == p->sas && overheads[i].flows == p->flows)
			return overheads[i].cycles;
	return 0;
}

struct target target_of(const struct point *p, const char *engine)
{
	if (p->burst != 32 || p->workers != 1)
		return (struct target){0};
	return (struct target){cycles_of(p, engine), overhead_of(p)};
}
