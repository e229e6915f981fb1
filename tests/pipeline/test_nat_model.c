// SPDX-License-Identifier: BSD-3-Clause
// Random packets through translation by two workers, held against a plain list of bindings: clients
// and servers that begin and answer, time, flushes, and reloads with other rules or none. Each
// packet leaves with the ends of its binding, or is dropped for the predicted reason; no two
// bindings have one port towards a destination, and in the end as many ports are free as before.
// CULVERT_TEST_SEED begins with the round that failed: its seed is printed.
#include <netinet/in.h>

#include "nat_bindings.h"

#define WORKERS    2
#define STEPS      400 // of a round
#define BURST      4
#define TIMEOUT_MS 60000
#define WEB        80
#define WEB_INSIDE 8080

#define TIMEOUTS                                                                                   \
	"timeouts = { tcp_syn_sent = 60; tcp_syn_recv = 60; tcp_established = 60; udp = 60; "      \
	"udp_stream = 60; icmp = 60; };"

static const char form[] =
	"flows = { max = 65536; " TIMEOUTS " };\n"
	"ports = (\n"
	"  { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; },\n"
	"  { name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; } );\n"
	"routes = ( { to = \"198.51.100.0/24\"; via = \"192.0.2.254\"; } );\n"
	"neighbours = (\n"
	"  { address = \"10.1.0.5\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"10.1.0.6\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"10.1.0.7\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"10.1.0.8\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"192.0.2.254\"; mac = \"02:00:00:00:02:01\"; } );\n"
	"policies = ( { name = \"all\"; local = \"0.0.0.0/0\"; remote = \"0.0.0.0/0\"; action = "
	"\"bypass\"; } );\n%s\n";

static const char *const clients[] = {"10.1.0.5", "10.1.0.6", "10.1.0.7", "10.1.0.8"};
static const char *const servers[] = {"198.51.100.7", "198.51.100.8"};
static const uint8_t protos[] = {IPPROTO_UDP, IPPROTO_TCP, IPPROTO_ICMP};

#define MAPPED    "10.1.0.8" // by the rule of netmap, to
#define MAPPED_TO "203.0.113.8"

#define NETMAP                                                                                     \
	"{ name = \"map\"; action = \"netmap\"; source = \"10.1.0.8\"; to = \"203.0.113.8\"; "     \
	"replaces = \"source\"; out = \"wan\"; },"

static const struct nat_rules rules[] = {
	{"nat = (" NETMAP "{ name = \"web\"; action = \"destination\"; in = \"wan\"; destination = "
	 "\"192.0.2.1\"; proto = \"udp\"; destination_port = \"80\"; to = \"10.1.0.5\"; to_port = "
	 "\"8080\"; }, { name = \"out\"; action = \"source\"; out = \"wan\"; to = \"port\"; "
	 "to_port = \"5000-5007\"; per_source = 8; per_peer = 100; } );",
		5000, false, true, true, 8, 100},
	{"nat = ( { name = \"out\"; action = \"source\"; out = \"wan\"; to = \"192.0.2.1\"; "
	 "to_port = \"5004-5011\"; random = false; per_source = 3; per_peer = 7; } );",
		5004, true, false, false, 3, 7},
	{"", 0, false, false, false, 0, 0},
};

static struct gateway *g[WORKERS];
static struct conf *confs[RTE_DIM(rules)];
static uint64_t seed, round_seed;
static unsigned long refused[DROP_COUNT], expired;

static uint32_t below(uint32_t n)
{
	return random_below(&seed, n);
}

// --- packets ---

static struct binding *alive_at_random(void)
{
	for (unsigned int i = below(BINDINGS), n = 0; n < BINDINGS; n++, i = (i + 1) % BINDINGS)
		if (binding[i].alive)
			return &binding[i];
	return NULL;
}

static struct frame packet_of(const struct binding *b, bool of_first, struct ends e)
{
	const bool lan = (b->in == LAN) == of_first;
	struct frame f = ends_frame(lan ? LAN : WAN, b->proto, e);
	uint8_t *packet = f.b + ETH_LEN, *tcp = packet + IP_LEN;

	if (b->proto != IPPROTO_TCP)
		return f;
	put32(tcp + 4, of_first ? 1000 + (b->stage > 0) : 5000 + (b->stage > 1));
	put32(tcp + 8, of_first ? (b->stage > 0 ? 5001 : 0) : 1001);
	tcp[12] = 0x50;
	tcp[13] = of_first ? (b->stage > 0 ? 0x10 : 0x02) : b->stage > 1 ? 0x10 : 0x12;
	put16(tcp + 14, 65535);
	upper_checksum_update(packet);
	return f;
}

static struct gateway *worker_at_random(void)
{
	return g[below(WORKERS)];
}

// The frame of a burst that has this IP identification; NULL: it was not sent by the port.
static const struct frame *sent_of(const struct gateway *by, uint16_t port, uint16_t id)
{
	for (unsigned int i = 0; i < by->n_sent; i++)
		if (by->sent[i].port == port && be16(frame_packet(&by->sent[i]) + 4) == id)
			return &by->sent[i];
	return NULL;
}

static void number_frame(struct frame *f, uint16_t id)
{
	put16(f->b + ETH_LEN + 4, id);
	ip_checksum_update(f->b + ETH_LEN);
}

static void stage_on(struct binding *b, bool of_first)
{
	if (!of_first && b->stage == 0)
		b->stage = 1;
	else if (of_first && b->stage == 1)
		b->stage = 2;
}

static void pass_binding(struct binding *b, bool of_first)
{
	struct gateway *by = worker_at_random();
	const struct ends in = of_first ? b->from : ends_reversed(b, &b->to);
	const struct ends out = of_first ? b->to : ends_reversed(b, &b->from);
	const struct frame f = packet_of(b, of_first, in);

	expect_ends(gateway_expect_sent(by, &f, f.port == LAN ? WAN : LAN), out);
	stage_on(b, of_first);
	b->seen = by->now;
}

// --- first packets ---

static struct ends begin_ends(uint8_t proto)
{
	struct ends e = {clients[below(RTE_DIM(clients))],
		(uint16_t)(below(2) == 0 ? 4000 + below(4) : 5000 + below(14)),
		servers[below(RTE_DIM(servers))], (uint16_t)(53 + below(2))};

	if (proto == IPPROTO_ICMP)
		e.dport = 1;
	return e;
}

// Learns which port a first packet got, and checks it.
static void learn(struct gateway *by, uint8_t proto, struct ends from, const struct frame *sent)
{
	struct binding *b = binding_slot();
	const bool mapped = rules_now->netmap && strcmp(from.src, MAPPED) == 0;
	struct ends to = from;
	bool none;

	if (mapped) {
		to.src = MAPPED_TO;
	} else if (rules_now->first != 0) {
		const uint16_t port = port_expected(proto, &from, &none);

		to.src = OWN;
		to.sport = be16(frame_packet(sent) + IP_LEN + (proto == IPPROTO_ICMP ? 4 : 0));
		assert_true(port_is_of_rule(to.sport));
		assert_true(port_is_free(proto, &from, to.sport));
		if (port != 0)
			assert_int_equal(to.sport, port);
	}
	expect_ends(sent, to);
	*b = (struct binding){.alive = true,
		.proto = proto,
		.in = LAN,
		.counted = rules_now->first != 0 && !mapped,
		.from = from,
		.to = to,
		.seen = by->now};
}

// Why a first packet has to be dropped.
static enum drop drop_expected(uint8_t proto, const struct ends *from)
{
	bool none;

	if (rules_now->first == 0 || (rules_now->netmap && strcmp(from->src, MAPPED) == 0))
		return DROP_NONE;
	if (bindings_of(proto, from, from->src) >= rules_now->per_source ||
		bindings_of(proto, from, NULL) >= rules_now->per_peer)
		return DROP_NAT_LIMIT;
	port_expected(proto, from, &none);
	return none ? DROP_NAT_PORTS : DROP_NONE;
}

// Packets of clients in one pass, of flows that exist or not, some of one flow.
static void clients_send(void)
{
	struct gateway *by = worker_at_random();
	const unsigned int n = 1 + below(BURST);
	unsigned int drops[DROP_COUNT] = {0};
	uint8_t proto[BURST];
	struct ends from[BURST];
	struct frame f[BURST];

	for (unsigned int i = 0; i < n; i++) {
		const bool same = i > 0 && below(3) == 0;

		proto[i] = same ? proto[i - 1] : protos[below(RTE_DIM(protos))];
		from[i] = same ? from[i - 1] : begin_ends(proto[i]);

		const struct binding *known = binding_find(proto[i], &from[i], NULL);
		const struct binding begun = {.proto = proto[i], .in = LAN};

		f[i] = packet_of(known != NULL ? known : &begun, true, from[i]);
		number_frame(&f[i], (uint16_t)(1 + i));
	}
	gateway_pass(by, f, n);
	for (unsigned int i = 0; i < n; i++) {
		struct binding *b = binding_find(proto[i], &from[i], NULL);
		const enum drop d = b != NULL ? DROP_NONE : drop_expected(proto[i], &from[i]);
		const struct frame *sent = sent_of(by, WAN, (uint16_t)(1 + i));

		drops[d]++;
		assert_int_equal(sent != NULL, d == DROP_NONE);
		if (sent == NULL)
			continue;
		if (b == NULL) {
			learn(by, proto[i], from[i], sent);
			continue;
		}
		expect_ends(sent, b->to);
		stage_on(b, true);
		b->seen = by->now;
	}
	for (int d = 1; d < DROP_COUNT; d++) {
		assert_int_equal(by->last.drops[d], drops[d]);
		refused[d] += drops[d];
	}
}

// A server opens a connection to the forwarded port.
static void server_begins(void)
{
	const struct ends from = {
		servers[below(RTE_DIM(servers))], (uint16_t)(900 + below(4)), OWN, WEB};
	struct binding *b = binding_find(IPPROTO_UDP, &from, NULL);

	if (b == NULL && !rules_now->forwards)
		return;
	if (b == NULL) {
		b = binding_slot();
		*b = (struct binding){.alive = true,
			.proto = IPPROTO_UDP,
			.in = WAN,
			.from = from,
			.to = {from.src, from.sport, clients[0], WEB_INSIDE}};
	}
	pass_binding(b, true);
}

// A packet to a port that has no binding goes to nobody inside.
static void unknown_reply(void)
{
	const uint8_t proto = protos[below(RTE_DIM(protos))];
	const struct binding b = {.proto = proto, .in = LAN};
	struct ends to = {OWN, (uint16_t)(5000 + below(14)), servers[below(RTE_DIM(servers))],
		(uint16_t)(proto == IPPROTO_ICMP ? 1 : 53 + below(2))};
	struct gateway *by = worker_at_random();
	struct frame f;

	if (binding_find(proto, NULL, &to) != NULL)
		return;
	f = packet_of(&b, false, ends_reversed(&b, &to));
	gateway_pass(by, &f, 1);
	for (unsigned int i = 0; i < by->n_sent; i++)
		assert_int_not_equal(by->sent[i].port, LAN);
}

// A packet to the client's own ends is no reply of a translated flow.
static void untranslated_reply(const struct binding *b)
{
	struct frame f;

	if (b->proto != IPPROTO_UDP || ends_equal(&b->from, &b->to) || b->in != LAN)
		return;
	f = packet_of(b, false, ends_reversed(b, &b->from));
	gateway_expect_drop(worker_at_random(), &f, DROP_CT_INVALID);
}

// --- time, flushes, reloads ---

// Both workers look at all flows, and report quiescence.
static void look_at_all(void)
{
	for (unsigned int i = 0; i < 3; i++)
		for (unsigned int k = 0; k < WORKERS; k++) {
			gateway_pass(g[k], NULL, 0);
			flow_tick(g[k]->first->flows, g[k]->w->id, g[k]->w->now_ms, UINT32_MAX / 2);
		}
}

static void time_passes(uint64_t ms)
{
	for (unsigned int k = 0; k < WORKERS; k++)
		g[k]->now += ms * 1000;
	look_at_all();
	for (unsigned int i = 0; i < BINDINGS; i++)
		if (binding[i].alive &&
			g[0]->now - binding[i].seen >= TIMEOUT_MS * UINT64_C(1000)) {
			binding[i].alive = false;
			expired++;
		}
}

static void flush(uint8_t proto)
{
	const struct flow_filter filter = {.proto = proto};

	assert_int_equal(flow_flush(g[0]->flows, &filter), 0);
	look_at_all();
	for (unsigned int i = 0; i < BINDINGS; i++)
		if (proto == 0 || binding[i].proto == proto)
			binding[i].alive = false;
}

static void reload(unsigned int which)
{
	gateway_reload(g[0], confs[which]);
	rules_now = &rules[which];
	look_at_all();
}

static void step(void)
{
	struct binding *b = alive_at_random();

	switch (below(16)) {
	case 0:
		time_passes(1 + below(below(4) == 0 ? 70000 : 5000));
		break;
	case 1:
		if (below(8) == 0)
			flush(protos[below(RTE_DIM(protos))]);
		break;
	case 2:
		if (below(4) == 0)
			reload(below(RTE_DIM(rules)));
		break;
	case 3:
		server_begins();
		break;
	case 4:
		unknown_reply();
		break;
	case 5:
		if (b != NULL)
			untranslated_reply(b);
		break;
	case 6:
	case 7:
	case 8:
	case 9:
		if (b != NULL)
			pass_binding(b, below(3) == 0);
		break;
	default:
		clients_send();
	}
	assert_int_equal(flow_count(g[0]->flows), bindings_alive());
}

// Each port of the rule is given once, and no further one.
static void all_ports_are_free(void)
{
	bool given[PORTS] = {false};

	reload(0);
	for (unsigned int i = 0; i <= PORTS; i++) {
		const struct ends from = {CLIENT, (uint16_t)(100 + i), SERVER, 53};
		const struct frame f = ends_frame(LAN, IPPROTO_UDP, from);
		unsigned int at;

		if (i == PORTS) {
			gateway_expect_drop(g[i % WORKERS], &f, DROP_NAT_LIMIT);
			break;
		}
		at = be16(frame_packet(gateway_expect_sent(g[i % WORKERS], &f, WAN)) + IP_LEN) -
		     (unsigned int)rules_now->first;
		assert_in_range(at, 0, PORTS - 1);
		assert_false(given[at]);
		given[at] = true;
	}
	flush(0);
	assert_int_equal(flow_count(g[0]->flows), 0);
}

static void confs_read(void)
{
	char text[4096];

	for (unsigned int i = 0; i < RTE_DIM(rules); i++) {
		snprintf(text, sizeof(text), form, rules[i].text);
		confs[i] = harness_conf(text, strlen(text), stderr);
		assert_non_null(confs[i]);
	}
}

static void test_translation_is_that_of_the_model(void **state)
{
	const char *given = getenv("CULVERT_TEST_SEED");
	char text[4096];
	uint64_t next = given != NULL ? strtoull(given, NULL, 0) : 20261127;

	(void)state;
	confs_read();
	snprintf(text, sizeof(text), form, rules[0].text);
	g[0] = gateway_new(0, text);
	g[1] = gateway_second(g[0], 1);
	rules_now = &rules[0];
	for (unsigned long round = 0; round < rounds(20); round++) {
		seed = next;
		round_seed = next;
		for (unsigned int i = 0; i < STEPS; i++)
			step();
		flush(0);
		all_ports_are_free();
		next = seed;
	}
	assert_true(refused[DROP_NAT_PORTS] > 0 && refused[DROP_NAT_LIMIT] > 0 && expired > 0);
	gateway_free(g[1]);
	gateway_free(g[0]);
	for (unsigned int i = 0; i < RTE_DIM(confs); i++)
		conf_free(confs[i]);
}

static int end(void **state)
{
	printf("seed of the last round: 0x%lx\n", round_seed);
	return harness_test_end(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_translation_is_that_of_the_model, harness_test_begin, end),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
