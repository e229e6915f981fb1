// SPDX-License-Identifier: BSD-3-Clause
// Any lines about flows from the other gateway of a pair. Proves that a line that is read can be
// written and read again; that a gateway adopts no more flows than there is room for, and replaces
// none of its own; and that it can report all that it has adopted, and would adopt them again.
#include <string.h>
#include <unistd.h>

#include "flow_adopt.h"
#include "flow_line.h"
#include "flow_track.h"
#include "fuzz.h"
#include "group.h"
#include "line.h"
#include "member_flows.h"
#include "site_nat.h"

#define ACK      RTE_TCP_ACK_FLAG
#define ROOM     65536
#define OWN_PORT 4999

static const char more[] =
	"pair = { member = 1; };\n"
	"groups = ( { name = \"main\"; addresses = [ \"192.0.2.1\", \"10.1.0.1\" ]; } );\n"
	"nat = (\n"
	"  { name = \"web\"; action = \"destination\"; destination = \"192.0.2.1\"; proto = "
	"\"tcp\";\n"
	"    destination_port = \"80-89\"; to = \"10.1.0.5\"; to_port = \"8080-8089\"; },\n"
	"  { name = \"map\"; action = \"netmap\"; source = \"10.1.0.0/24\";\n"
	"    destination = \"198.51.100.128/25\"; to = \"172.16.1.0/24\"; replaces = \"source\"; "
	"},\n"
	"  { name = \"out\"; action = \"source\"; source = \"10.1.0.0/24\"; to = \"port\"; } );";

static struct gateway *g;
static struct control c;
static uint32_t now_ms = 1000000;

static uint64_t now(void)
{
	return now_ms;
}

static const struct control_io io = {.now_ms = now};

static void stop(void)
{
	gateway_free(g);
	if (harness_test_end(NULL) < 0)
		_exit(1);
	harness_stop(NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char conf[8192];

	(void)argc;
	(void)argv;
	if (harness_start(NULL) < 0 || harness_test_begin(NULL) < 0)
		return -1;
	site_a_conf(conf, sizeof(conf), (struct site){.policies = POLICIES, .more = more});
	g = gateway_new(0, conf);
	atexit(stop);
	c = (struct control){
		.io = &io, .conf = g->conf, .snapshot = g->snapshot, .flows = g->flows};
	groups_follow(&c, c.conf);
	return flow_inbox_new(g->flows);
}

static void role_set_to(enum conf_role own, enum conf_role other)
{
	struct owned_group *group = &c.groups.item[0];

	group->role = own;
	group->other_known = true;
	group->other = other;
}

// Of that many entries each.
static void workers_tick(unsigned int n, unsigned int entries)
{
	for (unsigned int i = 0; i < n * g->conf->n_workers; i++)
		flow_tick(g->flows, i % g->conf->n_workers, now_ms, entries);
}

// Segments of the connection, if it was adopted.
static void segments_track(const struct flow_copy *copy)
{
	const struct ip_ends e[] = {
		copy->from, {copy->to.dst, copy->to.src, copy->to.dst_port, copy->to.src_port}};

	for (unsigned int i = 0; copy->proto == IPPROTO_TCP && i < 4; i++) {
		struct flow_pkt p = {.key.proto = IPPROTO_TCP,
			.v4 = ip_addr_is_v4(&e[0].src),
			.seq = copy->age_ms + i,
			.ack = copy->idle_ms[0] + i,
			.tcp_flags = ACK};
		struct flow *f;

		flow_pkt_set_ends(
			&p, e[i % 2].src, e[i % 2].src_port, e[i % 2].dst, e[i % 2].dst_port);
		flow_lookup_start(g->flows, &p);
		f = flow_find(g->flows, &p);
		if (f != NULL)
			flow_track(g->flows, 0, f, &p, now_ms);
	}
}

static void line_learn(const char *line)
{
	struct flow_line f;

	member_flows_learn(&c, line);
	workers_tick(1, 1);
	if (strncmp(line, "flow ", 5) == 0 && flow_line_read(&f, line))
		segments_track(&f.copy);
}

static void check_again(const char *line)
{
	struct flow_line f, again;
	char text[FLOW_LINE_MAX];

	if (strncmp(line, "flow ", 5) != 0 || !flow_line_read(&f, line))
		return;
	assert_true(flow_line_write(text, &f) == strlen(text) && strlen(text) < sizeof(text));
	assert_true(flow_line_read(&again, text));
	assert_memory_equal(&again, &f, sizeof(f));
}

// A report of an adopted flow, as the other one would get it.
static bool check_report(void *arg, const char *line, size_t len)
{
	const uint64_t ignored = c.member.flows_ignored;

	(void)arg;
	assert_true(len == strlen(line));
	role_set_to(CONF_STANDBY, CONF_ACTIVE);
	assert_true(member_flows_learn(&c, line));
	role_set_to(CONF_ACTIVE, CONF_STANDBY);
	assert_true(c.member.flows_ignored == ignored);
	return true;
}

// A flow that this gateway has itself.
static struct flow *own_flow(void)
{
	struct flow_pkt p = {.key.proto = IPPROTO_UDP, .v4 = true};
	struct flow *f;
	struct ip_addr a, b;

	ip_addr_parse(&a, CLIENT);
	ip_addr_parse(&b, SERVER);
	flow_pkt_set_ends(&p, a, RTE_BE16(OWN_PORT), b, RTE_BE16(53));
	flow_lookup_start(g->flows, &p);
	assert_true(flow_insert(g->flows, 0, &p, NULL, 0, now_ms, NULL, &f) == DROP_NONE);
	return f;
}

static void lines_learn(const uint8_t *input, size_t len)
{
	struct line_reader r = {.len = 0};
	size_t used;

	for (; len > 0; input += used, len -= used) {
		enum line_result result = line_read(&r, (const char *)input, len, &used);

		if (result == LINE_TOO_LONG || result == LINE_NOT_TEXT)
			return; // the connection ends
		if (result == LINE_PART)
			continue;
		check_again(r.text);
		line_learn(r.text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct flow *own = own_flow();
	uint32_t word = flow_word(own);

	role_set_to(CONF_STANDBY, CONF_ACTIVE);
	lines_learn(input, len);
	workers_tick(2, 1);
	assert_true(flow_word(own) == word && flow_word_live(word));
	role_set_to(CONF_ACTIVE, CONF_STANDBY);
	member_flows_begin(&c);
	do
		member_flows_send(&c, now_ms, ROOM, check_report, NULL);
	while (c.member.scan.position != 0);
	workers_tick(10, 1);
	assert_true(flow_flush(g->flows, &(struct flow_filter){0}) == 0);
	workers_tick(3, 16384);
	assert_true(flow_count(g->flows) == 0);
	now_ms += 60000;
	return 0;
}
