// SPDX-License-Identifier: BSD-3-Clause
// culvertctl trace: starts a trace, and prints its steps until all packets are traced, the time is
// over or the user quits.
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client.h"
#include "command.h"
#include "control.h"
#include "instances.h"
#include "query.h"
#include "screen.h"

#define POLL_MS 50
#define NS      1000000000

// Prints steps for people.
struct trace_printer {
	struct timespec begin; // of the trace, by the wall clock
	json_int_t packet;     // that was printed last; 0: none
	json_int_t worker;     // of its last step
	json_int_t first_ns;   // of its first step
	json_int_t octets;     // that it had then
	char header[512];      // that was printed last
};

struct session {
	const char *instance;
	char number[32]; // filter that names the trace
	json_t *steps;   // so far
	size_t printed;  // this many of them
	struct trace_printer printer;
	bool json;
};

// --- steps as text ---

static bool step_has(const json_t *step, const char *name)
{
	return json_object_get(step, name) != NULL;
}

static const char *step_text(const json_t *step, const char *name)
{
	const char *value = object_text(step, name);

	return value != NULL ? value : "";
}

// Addresses, with ports, of the header.
static void ends_put(FILE *out, const json_t *step)
{
	const char *source = step_text(step, "source"),
		   *destination = step_text(step, "destination");
	bool v6 = strchr(source, ':') != NULL;

	if (step_has(step, "source_port"))
		fprintf(out, v6 ? "[%s]:%lld > [%s]:%lld" : "%s:%lld > %s:%lld", source,
			object_number(step, "source_port"), destination,
			object_number(step, "destination_port"));
	else
		fprintf(out, "%s > %s", source, destination);
}

static const char *icmp_name(const json_t *step)
{
	static const struct {
		const char *proto;
		int type;
		const char *name;
	} names[] = {
		{"icmp", 0, " echo reply"},
		{"icmp", 3, " unreachable"},
		{"icmp", 8, " echo request"},
		{"icmp", 11, " time exceeded"},
		{"icmpv6", 1, " unreachable"},
		{"icmpv6", 2, " packet too big"},
		{"icmpv6", 3, " time exceeded"},
		{"icmpv6", 128, " echo request"},
		{"icmpv6", 129, " echo reply"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (object_number(step, "icmp_type") == names[i].type &&
			strcmp(step_text(step, "proto"), names[i].proto) == 0)
			return names[i].name;
	return "";
}

static void proto_put(FILE *out, const json_t *step)
{
	fprintf(out, " %s", step_text(step, "proto"));
	if (step_has(step, "tcp_flags"))
		fprintf(out, " %s", step_text(step, "tcp_flags"));
	if (step_has(step, "icmp_type"))
		fprintf(out, "%s (%lld,%lld)", icmp_name(step), object_number(step, "icmp_type"),
			object_number(step, "icmp_code"));
	if (step_has(step, "mtu_told"))
		fprintf(out, " mtu %lld", object_number(step, "mtu_told"));
	if (step_has(step, "spi"))
		fprintf(out, " spi %s seq %lld", step_text(step, "spi"),
			object_number(step, "sequence"));
	fprintf(out, " ttl %lld%s", object_number(step, "ttl"), step_has(step, "df") ? " df" : "");
	if (step_has(step, "fragment_offset"))
		fprintf(out, " fragment at %lld%s", object_number(step, "fragment_offset"),
			strcmp(step_text(step, "more_fragments"), "yes") == 0 ? "" : ", the last");
}

// The header of the packet; nothing if the step has none.
static void header_format(char *buf, size_t size, const json_t *step)
{
	FILE *out = fmemopen(buf, size, "w");

	buf[0] = '\0';
	if (out == NULL)
		return;
	if (step_has(step, "source"))
		ends_put(out, step);
	if (step_has(step, "proto"))
		proto_put(out, step);
	else if (step_has(step, "source"))
		fputs(" arp", out);
	else if (step_has(step, "ether_type"))
		fprintf(out, "ethernet type %s", step_text(step, "ether_type"));
	fclose(out);
	buf[size - 1] = '\0';
}

static const char *name_of(const json_t *step)
{
	static const char *const names[] = {"sa", "policy", "rule", "nat", "state", "reason"};

	for (size_t i = sizeof(names) / sizeof(names[0]); i > 0; i--)
		if (step_has(step, names[i - 1]))
			return step_text(step, names[i - 1]);
	return step_text(step, "port");
}

static void details_put(FILE *out, const json_t *step, bool resized)
{
	if (step_has(step, "help"))
		fprintf(out, ": %s", step_text(step, "help"));
	if (step_has(step, "pieces"))
		fprintf(out, " into %lld packets of at most %lld", object_number(step, "pieces"),
			object_number(step, "mtu"));
	if (step_has(step, "sequence_64"))
		fprintf(out, ", number %lld", object_number(step, "sequence_64"));
	if (step_has(step, "octets_before"))
		fprintf(out, ", %lld to %lld octets", object_number(step, "octets_before"),
			object_number(step, "octets"));
	else if (resized)
		fprintf(out, ", %lld octets", object_number(step, "octets"));
	if (step_has(step, "next_hop"))
		fprintf(out, ", next hop %s", step_text(step, "next_hop"));
	if (step_has(step, "mac"))
		fprintf(out, ", to %s", step_text(step, "mac"));
}

static void packet_begin(struct trace_printer *p, const json_t *step)
{
	json_int_t ns = object_number(step, "ns");
	struct timespec at = {p->begin.tv_sec + ns / NS, p->begin.tv_nsec + ns % NS};
	struct tm tm;

	at.tv_sec += at.tv_nsec / NS;
	at.tv_nsec %= NS;
	localtime_r(&at.tv_sec, &tm);
	printf("%spacket %lld, %02d:%02d:%02d.%06ld, worker %lld\n", p->packet != 0 ? "\n" : "",
		object_number(step, "packet"), tm.tm_hour, tm.tm_min, tm.tm_sec, at.tv_nsec / 1000,
		object_number(step, "worker"));
	p->packet = object_number(step, "packet");
	p->worker = object_number(step, "worker");
	p->first_ns = ns;
	p->octets = 0;
	p->header[0] = '\0';
}

static void trace_step_print(struct trace_printer *p, const json_t *step)
{
	char header[sizeof(p->header)];
	FILE *out;
	char line[1024] = "";

	if (object_number(step, "packet") != p->packet ||
		object_number(step, "worker") != p->worker)
		packet_begin(p, step);
	out = fmemopen(line, sizeof(line) - 1, "w");
	if (out == NULL)
		return;
	fprintf(out, "%8.1f us  %-10s  ", (double)(object_number(step, "ns") - p->first_ns) / 1000,
		step_text(step, "stage"));
	if (name_of(step)[0] != '\0')
		fprintf(out, "%s: ", name_of(step));
	fputs(step_has(step, "help") ? "dropped" : step_text(step, "decision"), out);
	details_put(out, step, object_number(step, "octets") != p->octets);
	p->octets = object_number(step, "octets");
	fclose(out);
	output_text(stdout, line);
	putchar('\n');
	header_format(header, sizeof(header), step);
	if (header[0] == '\0' || strcmp(header, p->header) == 0)
		return;
	printf("%25s", "");
	output_text(stdout, header);
	putchar('\n');
	strcpy(p->header, header);
}

// --- the trace ---

static void trace_begin(const struct options *options, struct session *s, const struct query *q)
{
	char text[CLIENT_FILTER_MAX + 32];
	struct answer answer;
	unsigned int number = 0;

	snprintf(text, sizeof(text), "trace count=%u%s", options->packets, q->filter);
	control_order(&answer, s->instance, text);
	sscanf(answer.text, "trace %u", &number);
	answer_fini(&answer);
	clock_gettime(CLOCK_REALTIME, &s->printer.begin);
	snprintf(s->number, sizeof(s->number), ",trace=%u", number);
}

static void trace_end(const struct session *s)
{
	char text[64];
	struct answer answer;

	snprintf(text, sizeof(text), "trace-stop %s", s->number + 1);
	control_order(&answer, s->instance, text);
	answer_fini(&answer);
}

static void steps_take(struct session *s)
{
	query_get_more(s->steps, s->instance, "trace_steps", s->number);
	if (s->json)
		return;
	for (; s->printed < json_array_size(s->steps); s->printed++)
		trace_step_print(&s->printer, json_array_get(s->steps, s->printed));
	fflush(stdout);
}

// Requests the state, a new reference, and then the steps.
static json_t *trace_step(struct session *s, bool *over)
{
	json_t *state = query_get(s->instance, "trace_state", s->number);

	*over = strcmp(step_text(json_array_get(state, 0), "state"), "on") != 0;
	steps_take(s);
	return state;
}

// Returns the last state, a new reference.
static json_t *trace_follow(const struct options *options, struct session *s)
{
	bool over = false;

	for (unsigned int ms = 0; ms < options->seconds * 1000 && screen_wait(POLL_MS, NULL, NULL);
		ms += POLL_MS) {
		json_t *state = trace_step(s, &over);

		if (over)
			return state;
		json_decref(state);
	}
	trace_end(s);
	return trace_step(s, &over);
}

// The packets in order of their numbers, each with its steps.
static json_t *packets_of(const json_t *steps)
{
	json_t *packets = json_array();
	json_t *step;
	size_t i;

	json_array_foreach(steps, i, step)
	{
		json_int_t number = object_number(step, "packet");
		json_t *packet;

		while ((json_int_t)json_array_size(packets) < number)
			json_array_append_new(packets,
				json_pack("{s:I, s:[]}", "packet",
					(json_int_t)json_array_size(packets) + 1, "steps"));
		packet = json_array_get(packets, (size_t)(number - 1));
		json_object_del(step, "packet");
		json_array_append(json_object_get(packet, "steps"), step);
	}
	return packets;
}

static enum exit_code end_print(const struct session *s, const json_t *state)
{
	long long packets = object_number(json_array_get(state, 0), "packets"),
		  lost = object_number(json_array_get(state, 0), "lost_steps");

	if (s->json)
		return output_json(json_pack(
			"{s:o, s:I}", "packets", packets_of(s->steps), "lost_steps", lost));
	printf("%s%lld packet%s", packets > 0 ? "\n" : "", packets, packets == 1 ? "" : "s");
	if (lost > 0)
		printf(", %lld steps lost", lost);
	putchar('\n');
	return EXIT_OK;
}

enum exit_code command_trace(const struct options *options, char **words)
{
	struct session s = {.json = options->json};
	enum exit_code code;
	struct query q;
	json_t *state;

	query_read_trace(&q, words);
	s.instance = instance_choose(options->instance);
	s.steps = json_array();
	trace_begin(options, &s, &q);
	screen_begin();
	state = trace_follow(options, &s);
	code = end_print(&s, state);
	json_decref(state);
	json_decref(s.steps);
	return code;
}
