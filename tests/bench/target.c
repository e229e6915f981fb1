// SPDX-License-Identifier: BSD-3-Clause
#include "target.h"

#include <string.h>

#include <rte_common.h>

#define SIZES 3

// At any point with one direction.
#define DAEMON 12

// With 1 SA and 1000 flows, packets of 64 octets out, AES-128-GCM by ipsec_mb.
#define INSTRUCTIONS 1000

// Share of the ideal throughput of as many cores.
#define SPEEDUP_PER_WORKER 0.95

static const unsigned int sizes[SIZES] = {64, 512, 1400};

// Set on a machine whose core runs 1.6 cycles in a TSC cycle. With 1 SA and 1000 flows.
static const struct {
	const char *cipher, *engine;
	enum dir dir;
	unsigned int cycles[SIZES];
} passes[] = {
	{"aes-128-gcm", "ipsec_mb", DIR_OUT, {264, 336, 544}},
	{"aes-128-gcm", "ipsec_mb", DIR_IN, {264, 336, 544}},
	{"aes-128-cbc", "ipsec_mb", DIR_OUT, {480, 872, 1488}},
	{"aes-128-cbc", "ipsec_mb", DIR_IN, {448, 768, 1344}},
	{"null", "ipsec_mb", DIR_OUT, {392, 600, 1008}},
	{"null", "ipsec_mb", DIR_IN, {392, 600, 1008}},
	{"aes-128-gcm", "openssl", DIR_OUT, {848, 1088, 1584}},
	{"aes-128-gcm", "openssl", DIR_IN, {848, 1088, 1584}},
	{"aes-128-cbc", "openssl", DIR_OUT, {912, 2800, 6720}},
};

// With packets of 64 octets, any algorithm.
static const struct {
	unsigned int sas, flows, cycles;
} overheads[] = {
	{1, 1000, 160},
	{1000, 10000, 240},
	{10000, 100000, 352},
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

static unsigned int instructions_of(const struct point *p, const char *engine)
{
	bool has = p->sas == 1 && p->flows == 1000 && p->size == sizes[0] && p->dir == DIR_OUT &&
		   strcmp(p->cipher->name, "aes-128-gcm") == 0 && strcmp(engine, "ipsec_mb") == 0;

	return has ? INSTRUCTIONS : 0;
}

struct target target_of(const struct point *p, const char *engine)
{
	if (p->burst != 32)
		return (struct target){0};
	if (p->workers > 1)
		return (struct target){.speedup = SPEEDUP_PER_WORKER * p->workers};
	return (struct target){
		.cycles = cycles_of(p, engine),
		.overhead = overhead_of(p),
		.daemon = p->dir == DIR_LOOP ? 0 : DAEMON,
		.instructions = instructions_of(p, engine),
	};
}
