// SPDX-License-Identifier: BSD-3-Clause
#include "trace_print.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "output.h"

#define NS 1000000000

static long long number(const json_t *step, const char *name)
{
	return json_integer_value(json_object_get(step, name));
}

static bool has(const json_t *step, const char *name)
{
	return json_object_get(step, name) != NULL;
}

static const char *text(const json_t *step, const char *name)
{
	const char *value = json_string_value(json_object_get(step, name));

	return value != NULL ? value : "";
}

// Addresses, with ports, of the header.
static void ends_put(FILE *out, const json_t *step)
{
	const char *source = text(step, "source"), *destination = text(step, "destination");
	bool v6 = strchr(source, ':') != NULL;

	if (has(step, "source_port"))
		fprintf(out, v6 ? "[%s]:%lld > [%s]:%lld" : "%s:%lld > %s:%lld", source,
			number(step, "source_port"), destination, number(step, "destination_port"));
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
		if (number(step, "icmp_type") == names[i].type &&
			strcmp(text(step, "proto"), names[i].proto) == 0)
			return names[i].name;
	return "";
}

static void proto_put(FILE *out, const json_t *step)
{
	fprintf(out, " %s", text(step, "proto"));
	if (has(step, "tcp_flags"))
		fprintf(out, " %s", text(step, "tcp_flags"));
	if (has(step, "icmp_type"))
		fprintf(out, "%s (%lld,%lld)", icmp_name(step), number(step, "icmp_type"),
			number(step, "icmp_code"));
	if (has(step, "mtu_told"))
		fprintf(out, " mtu %lld", number(step, "mtu_told"));
	if (has(step, "spi"))
		fprintf(out, " spi %s seq %lld", text(step, "spi"), number(step, "sequence"));
	fprintf(out, " ttl %lld%s", number(step, "ttl"), has(step, "df") ? " df" : "");
	if (has(step, "fragment_offset"))
		fprintf(out, " fragment at %lld%s", number(step, "fragment_offset"),
			strcmp(text(step, "more_fragments"), "yes") == 0 ? "" : ", the last");
}

// The header of the packet; nothing if the step has none.
static void header_format(char *buf, size_t size, const json_t *step)
{
	FILE *out = fmemopen(buf, size, "w");

	buf[0] = '\0';
	if (out == NULL)
		return;
	if (has(step, "source"))
		ends_put(out, step);
	if (has(step, "proto"))
		proto_put(out, step);
	else if (has(step, "source"))
		fputs(" arp", out);
	else if (has(step, "ether_type"))
		fprintf(out, "ethernet type %s", text(step, "ether_type"));
	fclose(out);
	buf[size - 1] = '\0';
}

static const char *name_of(const json_t *step)
{
	static const char *const names[] = {"sa", "policy", "rule", "state", "reason"};

	for (size_t i = sizeof(names) / sizeof(names[0]); i > 0; i--)
		if (has(step, names[i - 1]))
			return text(step, names[i - 1]);
	return text(step, "port");
}

static void details_put(FILE *out, const json_t *step, bool resized)
{
	if (has(step, "help"))
		fprintf(out, ": %s", text(step, "help"));
	if (has(step, "pieces"))
		fprintf(out, " into %lld fragments of at most %lld", number(step, "pieces"),
			number(step, "mtu"));
	if (has(step, "sequence_64"))
		fprintf(out, ", number %lld", number(step, "sequence_64"));
	if (has(step, "octets_before"))
		fprintf(out, ", %lld to %lld octets", number(step, "octets_before"),
			number(step, "octets"));
	else if (resized)
		fprintf(out, ", %lld octets", number(step, "octets"));
	if (has(step, "next_hop"))
		fprintf(out, ", next hop %s", text(step, "next_hop"));
	if (has(step, "mac"))
		fprintf(out, ", to %s", text(step, "mac"));
}

static void packet_begin(struct trace_printer *p, const json_t *step)
{
	json_int_t ns = number(step, "ns");
	struct timespec at = {p->begin.tv_sec + ns / NS, p->begin.tv_nsec + ns % NS};
	struct tm tm;

	at.tv_sec += at.tv_nsec / NS;
	at.tv_nsec %= NS;
	localtime_r(&at.tv_sec, &tm);
	printf("%spacket %lld, %02d:%02d:%02d.%06ld, worker %lld\n", p->packet != 0 ? "\n" : "",
		number(step, "packet"), tm.tm_hour, tm.tm_min, tm.tm_sec, at.tv_nsec / 1000,
		number(step, "worker"));
	p->packet = number(step, "packet");
	p->first_ns = ns;
	p->octets = 0;
	p->header[0] = '\0';
}

void trace_step_print(struct trace_printer *p, const json_t *step)
{
	char header[sizeof(p->header)];
	FILE *out;
	char line[1024] = "";

	if (number(step, "packet") != p->packet)
		packet_begin(p, step);
	out = fmemopen(line, sizeof(line) - 1, "w");
	if (out == NULL)
		return;
	fprintf(out, "%8.1f us  %-10s  ", (double)(number(step, "ns") - p->first_ns) / 1000,
		text(step, "stage"));
	if (name_of(step)[0] != '\0')
		fprintf(out, "%s: ", name_of(step));
	fputs(has(step, "help") ? "dropped" : text(step, "decision"), out);
	details_put(out, step, number(step, "octets") != p->octets);
	p->octets = number(step, "octets");
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
