// SPDX-License-Identifier: BSD-3-Clause
// The cost of a whole pass, from port to port, and how much of it is bare cryptography:
//
//   bench_pass [--alg CIPHER[+AUTH]] [--engine NAME] [--dir out|in|loop] [--size OCTETS|imix]
//              [--sas N] [--flows N] [--burst N] [--workers N] | --matrix | --targets
//              [--rounds N] [--stages] [--json]
//
// Values may be lists, --size 64,512,imix: then every combination is measured. Two gateways in one
// process, with policies, flows, connection state, replay window and neighbours as in the daemon:
// the near one seals (out), the far one opens (in), or both (loop). Every clear packet that is sent
// is checked. How to read the figures: docs/performance.md.
//
// main and options are here; lists: the points; target: their targets; gateway_pair, batch, nic,
// floor: the objects measured; measure: the measurement; report: the output.

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "die.h"
#include "lists.h"
#include "measure.h"
#include "nic.h"
#include "report.h"

enum { OPTION_MATRIX = DIMS, OPTION_TARGETS, OPTION_ROUNDS, OPTION_STAGES, OPTION_JSON };

// As many rounds as stable medians need.
#define ROUNDS 301

#define ALGS    "null,aes-128-cbc,aes-128-gcm"
#define ENGINES "openssl,ipsec_mb"

// All combinations that give new information: the number of flows and the size of bursts affect all
// sizes alike.
static const struct lists matrix[] = {
	// alg, engine, sas, flows, workers, burst, dir, size
	{{ALGS, ENGINES, "1,1000", "1000", "1", "32", "out,in,loop", "64,512,1400,imix"}},
	{{ALGS, ENGINES, "10000", "100000", "1", "32", "out,in", "64,512,1400,imix"}},
	{{ALGS, ENGINES, "1", "1,100000,1000000", "1", "32", "out,in", "64,imix"}},
	{{ALGS, ENGINES, "1000", "10000,1000000", "1", "32", "out,in", "64"}},
	{{ALGS, ENGINES, "1,1000", "1000", "1", "1,4,16,64", "out,in", "64"}},
};

// The points that have targets, and the same for the other algorithms.
static const struct lists targets[] = {
	{{ALGS, ENGINES, "1", "1000", "1", "32", "out,in", "64,512,1400"}},
	{{ALGS, ENGINES, "1000", "10000", "1", "32", "out,in", "64"}},
	{{ALGS, ENGINES, "10000", "100000", "1", "32", "out,in", "64"}},
};

struct options {
	struct lists lists;
	const struct lists *preset; // options instead of lists
	unsigned int n_preset;
	unsigned int rounds;
	bool stages, json;
};

static void options_read(struct options *o, int argc, char **argv)
{
	struct option longs[] = {[OPTION_MATRIX] = {"matrix", no_argument, NULL, OPTION_MATRIX},
		[OPTION_TARGETS] = {"targets", no_argument, NULL, OPTION_TARGETS},
		[OPTION_ROUNDS] = {"rounds", required_argument, NULL, OPTION_ROUNDS},
		[OPTION_STAGES] = {"stages", no_argument, NULL, OPTION_STAGES},
		[OPTION_JSON] = {"json", no_argument, NULL, OPTION_JSON},
		{0}};
	int c;

	for (int dim = 0; dim < DIMS; dim++)
		longs[dim] = (struct option){dim_names[dim], required_argument, NULL, dim};
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == OPTION_MATRIX) {
			o->preset = matrix;
			o->n_preset = RTE_DIM(matrix);
		} else if (c == OPTION_TARGETS) {
			o->preset = targets;
			o->n_preset = RTE_DIM(targets);
		} else if (c == OPTION_ROUNDS) {
			o->rounds = (unsigned int)strtoul(optarg, NULL, 10);
		} else if (c == OPTION_STAGES) {
			o->stages = true;
		} else if (c == OPTION_JSON) {
			o->json = true;
		} else if (c < DIMS) {
			o->lists.of[c] = optarg;
		} else {
			exit(2);
		}
	}
	if (optind != argc)
		die("what is '%s'?", argv[optind]);
	if (o->rounds < 1 || o->rounds > ROUNDS_MAX)
		die("rounds: not a number from 1 to %u", ROUNDS_MAX);
}

// Returns the largest number of workers.
static unsigned int points_of(struct points *points, const struct options *o)
{
	unsigned int lanes = 1;

	for (unsigned int i = 0; i < o->n_preset; i++)
		points_add(points, &o->preset[i]);
	for (size_t i = 0; i < points->n; i++)
		lanes = RTE_MAX(lanes, points->p[i].workers);
	if (points->engine_lacks)
		fprintf(stderr, "left out: engines that are not here or lack an algorithm\n");
	if (points->flows_lack)
		fprintf(stderr, "left out: fewer flows than SAs or workers\n");
	if (points->n == 0)
		die("nothing is left to be measured");
	if (lanes > nic_cpus())
		die("%u workers need as many CPUs, there are %u", lanes, nic_cpus());
	return lanes;
}

// The rate of the same with one worker; 0: it has not been measured.
static double rate_alone(const struct points *points, const double mpps[], size_t i)
{
	const struct point *p = &points->p[i];

	for (size_t before = 0; before < i; before++) {
		const struct point *q = &points->p[before];

		if (q->workers == 1 && p->workers > 1 && q->cipher == p->cipher &&
			q->auth == p->auth && strcmp(q->engine, p->engine) == 0 &&
			q->dir == p->dir && q->size == p->size && q->sas == p->sas &&
			q->flows == p->flows && q->burst == p->burst)
			return mpps[before];
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = {
		.lists = {{"aes-128-gcm", "auto", "1", "1000", "1", "32", "out,in", "64"}},
		.preset = &o.lists,
		.n_preset = 1,
		.rounds = ROUNDS,
	};
	struct points points = {0};
	bool lost = false;

	options_read(&o, argc, argv);

	struct measure_params params = {
		.rounds = o.rounds,
		.stages = o.stages,
		.pool = nic_start(points_of(&points, &o)),
	};

	double *mpps = calloc(points.n, sizeof(mpps[0]));

	if (mpps == NULL)
		die("no memory");
	if (!o.json)
		report_table_head();
	for (size_t i = 0; i < points.n; i++) {
		struct result r = measure(&points.p[i], &params);
		double alone = rate_alone(&points, mpps, i);

		mpps[i] = r.mpps;
		r.speedup = alone > 0 ? r.mpps / alone : 0;
		if (o.json)
			report_json_row(&points.p[i], &r, o.stages);
		else
			report_table_row(&points.p[i], &r);
		if (o.stages && !o.json)
			report_table_stages(&r);
		lost |= r.received != r.sent;
	}
	free(mpps);
	free(points.p);
	nic_stop();
	if (lost)
		die("packets were lost");
	return EXIT_SUCCESS;
}
