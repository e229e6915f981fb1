// SPDX-License-Identifier: BSD-3-Clause
#include "report.h"

#include <stdio.h>

#include <rte_eal.h>

#include "target.h"

static double gbps(const struct result *r, double octets)
{
	return r->mpps * octets * 8 / 1000;
}

// The whole pass, without ports.
static double pass_cycles(const struct result *r)
{
	return r->cycles.median - r->ports.median;
}

// The remainder, so that the row adds up; the median of the differences is about the same.
static double overhead(const struct result *r)
{
	return r->cycles.median - r->ports.median - r->floor.median;
}

// The spread of the rounds, in per cent of the median on either side: caused by other work of the
// machine.
static double spread(const struct result *r)
{
	return (r->cycles.q3 - r->cycles.q1) / 2 / r->cycles.median * 100;
}

void report_table_head(void)
{
	printf("TSC cycles per packet, medians; size: octets of the inner IP packets\n"
	       "  pass       all that the worker does, without ports\n"
	       "  floor      its bare cryptography\n"
	       "  overhead   pass - floor\n"
	       "  daemon     what the daemon's loop adds to the pass: polling ports and rings\n"
	       "  +-         half the distance of the quartiles of all, per cent\n"
	       "  core       own, or shared with something that runs beside us: measure again;\n"
	       "             or threads: workers are hyperthreads of the same core\n"
	       "  clock      core cycles in a TSC cycle\n"
	       "  Mpps       of all, ports included, the sum of all workers\n"
	       "  clear      Gbit/s: octets of the inner IP packets\n"
	       "  wire       Gbit/s: Ethernet frames of the ESP packets, preamble, FCS and gap\n"
	       "  target     in core cycles: the figure, and what is to be reached; !: it is not\n"
	       "  speed-up   the rate, to that of one worker; it means nothing if core is not own\n"
	       "%-28s %-8s %-4s %4s %5s %7s %5s %7s %6s %5s %6s %6s %8s %6s %6s %7s %5s %7s %6s "
	       "%6s  "
	       "%s\n",
		"alg", "engine", "dir", "size", "SAs", "flows", "burst", "workers", "all", "ports",
		"pass", "floor", "overhead", "daemon", "+-", "core", "clock", "Mpps", "clear",
		"wire", "target");
}

static const char *core_name(const struct result *r)
{
	if (r->same_core)
		return "threads";
	return core_is_shared(r->core.share) ? "shared" : "own";
}

static void target_print(const char *what, double is, unsigned int most)
{
	if (most > 0)
		printf(" %s %.0f of %u%s", what, is, most, is <= most ? "" : "!");
}

void report_table_row(const struct point *p, const struct result *r)
{
	struct target target = target_of(p, r->engine);
	char size[POINT_SIZE_TEXT], alg[POINT_ALG_MAX];

	printf("%-28s %-8s %-4s %4s %5u %7u %5u %7u %6.0f %5.0f %6.0f %6.0f %8.0f %6.1f %6.1f %7s "
	       "%5.2f "
	       "%7.3f %6.2f"
	       " %6.2f ",
		point_alg(alg, p), r->engine, dir_names[p->dir], point_size(size, p), p->sas,
		p->flows, p->burst, p->workers, r->cycles.median, r->ports.median, pass_cycles(r),
		r->floor.median, overhead(r), r->daemon.median, spread(r), core_name(r),
		r->core.clock, r->mpps, gbps(r, point_octets_clear(p)),
		gbps(r, point_octets_wire(p)));
	target_print("pass", pass_cycles(r) * r->core.clock, target.cycles);
	target_print("overhead", overhead(r) * r->core.clock, target.overhead);
	target_print("daemon", r->daemon.median * r->core.clock, target.daemon);
	if (r->speedup > 0)
		printf(" speed-up %.2f of %.2f%s", r->speedup, target.speedup,
			r->speedup >= target.speedup ? "" : "!");
	printf("\n");
	fflush(stdout);
}

static double stage_cycles(const struct stage_counters *c)
{
	return (double)c->cycles / (double)c->packets;
}

void report_table_stages(const struct result *r)
{
	for (unsigned int i = 0; i < STAGE_COUNT; i++) {
		const struct stage_counters *c = &r->stages.stage[i];

		if (c->packets > 0)
			printf("  %-10s %7.1f cycles per packet, %4.1f packets a call\n",
				stage_info[i].name, stage_cycles(c),
				(double)c->packets / (double)c->calls);
	}
}

static void json_figure(const char *name, const struct figure *f)
{
	printf(",\"%s_q1\":%.1f,\"%s_q3\":%.1f", name, f->q1, name, f->q3);
}

static void json_stages(const struct result *r)
{
	const char *separator = "";

	printf(",\"stages\":{");
	for (unsigned int i = 0; i < STAGE_COUNT; i++)
		if (r->stages.stage[i].packets > 0) {
			printf("%s\"%s\":%.1f", separator, stage_info[i].name,
				stage_cycles(&r->stages.stage[i]));
			separator = ",";
		}
	printf("}");
}

void report_json_row(const struct point *p, const struct result *r, bool stages)
{
	struct target target = target_of(p, r->engine);
	char alg[POINT_ALG_MAX], size[POINT_SIZE_TEXT];

	printf("{\"alg\":\"%s\",\"engine\":\"%s\",\"dir\":\"%s\",", point_alg(alg, p), r->engine,
		dir_names[p->dir]);
	printf(p->size == POINT_IMIX ? "\"size\":\"%s\"" : "\"size\":%s", point_size(size, p));
	printf(",\"sas\":%u,\"flows\":%u,\"cycles\":%.1f,\"ports\":%.1f,\"floor\":%.1f,"
	       "\"overhead\":%.1f,\"mpps\":%.3f",
		p->sas, p->flows, r->cycles.median, r->ports.median, r->floor.median, overhead(r),
		r->mpps);
	printf(",\"burst\":%u,\"workers\":%u,\"gbps_clear\":%.3f,\"gbps_wire\":%.3f", p->burst,
		p->workers, gbps(r, point_octets_clear(p)), gbps(r, point_octets_wire(p)));
	printf(",\"sent\":%lu,\"received\":%lu", r->sent, r->received);
	printf(",\"core\":%.3f,\"core_shared\":%s,\"core_clock\":%.3f,\"hugepages\":%s",
		r->core.share, core_is_shared(r->core.share) ? "true" : "false", r->core.clock,
		rte_eal_has_hugepages() ? "true" : "false");
	if (p->workers > 1)
		printf(",\"same_core\":%s", r->same_core ? "true" : "false");
	if (r->speedup > 0)
		printf(",\"speedup\":%.3f", r->speedup);
	json_figure("cycles", &r->cycles);
	json_figure("ports", &r->ports);
	json_figure("floor", &r->floor);
	json_figure("overhead", &r->overhead);
	if (p->dir != DIR_LOOP) {
		printf(",\"daemon\":%.2f", r->daemon.median);
		json_figure("daemon", &r->daemon);
	}
	if (target.cycles > 0)
		printf(",\"target\":%u", target.cycles);
	if (target.overhead > 0)
		printf(",\"target_overhead\":%u", target.overhead);
	if (target.daemon > 0)
		printf(",\"target_daemon\":%u", target.daemon);
	if (stages)
		json_stages(r);
	printf("}\n");
	fflush(stdout);
}
