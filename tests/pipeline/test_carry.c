// SPDX-License-Identifier: BSD-3-Clause
// Decisions of flows that outlive a reload, held against a gateway that decides each flow again.
// Both have the same random policies, rules, routes, SAs and tunnel, of which some change with each
// reload, and receive the same packets. They have to do the same with each, by the same policies
// and rule; and most decisions have to be carried. CULVERT_TEST_SEED begins with the round that
// failed: its seed is printed.
#include <netinet/in.h>

#include "peer.h"
#include "site.h"

#define RELOADS  25 // of a round
#define PACKETS  80 // between two
#define ITEMS    7
#define ITEM_MAX 320
#define SAS      3

static struct gateway *carries, *decides;
static uint64_t seed, seq;
static unsigned long n_carried, n_decided;

static uint32_t below(uint32_t n)
{
	return random_below(&seed, n);
}

#define PICK(list) list[below(RTE_DIM(list))]

// --- configurations ---

enum { POLICIES, RULES, ROUTES, LISTS };

struct list {
	char item[ITEMS][ITEM_MAX];
	unsigned int n;
};

struct site_text {
	struct list list[LISTS];
	unsigned int next;        // number in the name of the next item
	unsigned int keys[SAS];   // of the SAs
	unsigned int mtu;         // of a port: concerns no decision
	const char *fallback;     // of rules
	const char *source_check; // of the tunnel; NULL: there is none
};

static const char *const inner[] = {"10.1.0.0/24", "10.1.0.0/25", "10.1.0.128/25", "10.1.0.5/32",
	"10.1.0.0/16", "0.0.0.0/0", "10.3.0.0/16"};
static const char *const outer[] = {"10.2.0.0/24", "10.2.0.0/26", "10.2.0.64/26", "10.2.0.5/32",
	"10.2.0.0/16", "0.0.0.0/0", "10.2.1.0/24", "198.51.100.0/24"};
static const char *const prefixes_of[][2] = {{"source", "destination"}, {"destination", "source"}};

static void policy_make(char *to, unsigned int number)
{
	static const char *const protos[] = {"", "", "proto = \"udp\";",
		"proto = \"udp\"; remote_port = \"7\";", "proto = \"tcp\";"};
	static const char *const clear[] = {"action = \"bypass\";", "action = \"discard\";"};
	const unsigned int sa = below(SAS - 1);
	char action[80];

	if (below(3) > 0)
		snprintf(action, sizeof(action),
			"action = \"protect\"; out = \"out%u\"; in = \"in%u\";", sa, sa);
	else
		snprintf(action, sizeof(action), "%s", PICK(clear));
	if (below(6) == 0)
		snprintf(to, ITEM_MAX,
			"{ name = \"p%u\"; local = [ \"10.1.0.0/25\", \"10.3.0.0/16\" ]; "
			"remote = [ \"10.2.0.0/26\", \"10.2.1.0/24\" ]; %s %s }",
			number, PICK(protos), action);
	else
		snprintf(to, ITEM_MAX, "{ name = \"p%u\"; local = \"%s\"; remote = \"%s\"; %s %s }",
			number, PICK(inner), PICK(outer), PICK(protos), action);
}

static void rule_make(char *to, unsigned int number)
{
	static const char *const more[] = {"", "", "proto = \"udp\";",
		"proto = \"udp\"; destination_port = \"7\";", "tunnel = \"out0\";",
		"tunnel = \"out1\";"};
	static const char *const rare[] = {"state = [ \"new\" ];", "state = [ \"established\" ];",
		"host = true;", "in = \"lan\";", "out = \"wan\";"};
	static const char *const actions[] = {"accept", "accept", "drop", "reject"};
	const char *const *ends = PICK(prefixes_of);

	snprintf(to, ITEM_MAX, "{ name = \"r%u\"; %s = \"%s\"; %s = \"%s\"; action = \"%s\"; %s }",
		number, ends[0], PICK(inner), ends[1], PICK(outer), PICK(actions),
		below(10) > 0 ? PICK(more) : PICK(rare));
}

static void route_make(char *to, unsigned int number)
{
	static const char *const hops[] = {"via = \"192.0.2.2\";", "via = \"192.0.2.2\";",
		"via = \"192.0.2.3\";", "via = \"10.0.0.5\";", "type = \"blackhole\";"};
	static const char *const nets[] = {"10.2.0.0/16", "10.2.0.0/24", "10.2.0.64/26",
		"10.2.1.0/24", "198.51.100.0/24", "10.1.0.0/25", "10.3.0.9/32", "10.1.0.5/32"};

	(void)number;
	snprintf(to, ITEM_MAX, "{ to = \"%s\"; %s }", PICK(nets), PICK(hops));
}

static void (*const make[LISTS])(char *to, unsigned int number) = {
	policy_make, rule_make, route_make};

static void item_add(struct site_text *s, unsigned int list)
{
	struct list *l = &s->list[list];
	const unsigned int at = below(l->n + 1);

	if (l->n == ITEMS)
		return;
	memmove(l->item[at + 1], l->item[at], (l->n - at) * sizeof(l->item[0]));
	make[list](l->item[at], s->next++);
	l->n++;
}

static void item_delete(struct list *l)
{
	const unsigned int at = below(l->n);

	if (l->n > 0)
		memmove(l->item[at], l->item[at + 1], (--l->n - at) * sizeof(l->item[0]));
}

static void item_move(struct list *l)
{
	char moved[ITEM_MAX];
	const unsigned int at = below(l->n);

	if (l->n < 2)
		return;
	memcpy(moved, l->item[at], sizeof(moved));
	memmove(l->item[at], l->item[at + 1], (l->n - 1 - at) * sizeof(moved));
	memcpy(l->item[l->n - 1], moved, sizeof(moved));
}

// The same name with other words.
static void item_change(struct list *l, unsigned int list)
{
	char *at = l->item[below(l->n)];
	unsigned int number;

	if (l->n > 0 && sscanf(at, "{ name = \"%*c%u\"", &number) == 1)
		make[list](at, number);
}

static void site_change(struct site_text *s)
{
	static const char *const checks[] = {"strict", "loose", "none"};
	const unsigned int list = below(LISTS);

	switch (below(10)) {
	case 0:
	case 1:
		item_add(s, list);
		break;
	case 2:
	case 3:
		item_delete(&s->list[list]);
		break;
	case 4:
		item_move(&s->list[list]);
		break;
	case 5:
		item_change(&s->list[list], list);
		break;
	case 6:
		s->keys[below(SAS)]++;
		break;
	case 7:
		s->source_check = s->source_check != NULL && below(2) > 0 ? NULL : PICK(checks);
		break;
	case 8:
		s->fallback = below(4) > 0 ? "accept" : "drop";
		break;
	default:
		s->mtu = 1400 + below(100);
	}
}

static void sas_write(FILE *f, const struct site_text *s)
{
	for (unsigned int i = 0; i < 2 * SAS; i++) {
		const unsigned int key = s->keys[i / 2];
		const bool out = i % 2 == 0;

		fprintf(f,
			"%s{ name = \"%s%u\"; direction = \"%s\"; spi = \"0x%x\"; local = "
			"\"192.0.2.1\"; remote = \"192.0.2.%u\"; cipher = \"aes-128-gcm\"; "
			"cipher_key = \"000102030405060708090a0b0c0d0e%02x%06x%02x\"; }",
			i > 0 ? ",\n" : "sas = (", out ? "out" : "in", i / 2, out ? "out" : "in",
			0x1000 + 0x100 * i + key, i / 2 % 2 + 2, i, key, i);
	}
	fprintf(f, ");\n");
}

static void list_write(FILE *f, const char *name, const struct list *l, const char *last)
{
	fprintf(f, "%s = (", name);
	for (unsigned int i = 0; i < l->n; i++)
		fprintf(f, "%s%s", i > 0 ? ",\n" : "", l->item[i]);
	fprintf(f, "%s%s);\n", l->n > 0 && last[0] != '\0' ? ",\n" : "", last);
}

static char *site_write(const struct site_text *s)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fprintf(f,
		"flows = { max = 4096; };\n"
		"ports = ( { name = \"lan\"; device = \"net_null0\"; addresses = [ "
		"\"10.0.0.1/24\" ]; mtu = %u; },\n"
		"{ name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; "
		"side = \"unprotected\"; },\n"
		"{ name = \"dmz\"; device = \"net_null2\"; addresses = [ \"10.7.0.1/24\" ]; } );\n"
		"neighbours = ( { address = \"10.0.0.5\"; mac = \"02:00:00:00:02:00\"; },\n"
		"{ address = \"192.0.2.2\"; mac = \"02:00:00:00:02:01\"; },\n"
		"{ address = \"192.0.2.3\"; mac = \"02:00:00:00:02:01\"; },\n"
		"{ address = \"10.7.0.5\"; mac = \"02:00:00:00:02:02\"; } );\n"
		"default_action = \"%s\";\n",
		s->mtu, s->fallback);
	sas_write(f, s);
	if (s->source_check != NULL)
		fprintf(f,
			"tunnels = ( { name = \"t\"; out = \"out2\"; in = \"in2\"; source_check = "
			"\"%s\"; } );\n",
			s->source_check);
	list_write(f, "policies", &s->list[POLICIES], "");
	list_write(f, "rules", &s->list[RULES], "");
	list_write(f, "routes", &s->list[ROUTES],
		s->source_check != NULL ? "{ to = \"10.4.0.0/16\"; tunnel = \"t\"; },"
					  "{ to = \"10.1.0.0/16\"; via = \"10.0.0.5\"; },"
					  "{ to = \"10.3.0.0/16\"; via = \"10.7.0.5\"; }"
					: "{ to = \"10.1.0.0/16\"; via = \"10.0.0.5\"; },"
					  "{ to = \"10.3.0.0/16\"; via = \"10.7.0.5\"; }");
	fclose(f);
	return text;
}

// NULL: it has mistakes.
static struct conf *site_conf(const struct site_text *s)
{
	char *text = site_write(s), *mistakes;
	size_t size;
	FILE *errors = open_memstream(&mistakes, &size);
	struct conf *conf = harness_conf(text, strlen(text), errors);

	fclose(errors);
	free(mistakes);
	free(text);
	return conf;
}

// --- packets ---

static struct ipv4 packet(bool outward)
{
	static const char *const at[][2] = {{"10.1.0.5", "10.1.0.200"}, {"10.3.0.9", "10.1.7.7"}};
	static const char *const beyond[] = {
		"10.2.0.5", "10.2.0.70", "10.2.1.9", "198.51.100.7", "10.4.0.5"};
	const char *a = at[below(2)][below(2)], *b = PICK(beyond);
	const uint16_t ports[] = {1024, below(2) > 0 ? 7 : 8};

	return (struct ipv4){.src = outward ? a : b,
		.dst = outward ? b : a,
		.sport = ports[!outward],
		.dport = ports[outward],
		.ttl = 9};
}

static struct frame frame_of(struct ipv4 ip, bool outward)
{
	char name[8];

	if (outward)
		return frame_ip(strncmp(ip.src, "10.3", 4) == 0 ? DMZ : LAN, ip);
	if (below(3) == 0)
		return frame_ip(WAN, ip);
	snprintf(name, sizeof(name), "in%u", below(SAS));

	struct peer peer = peer_new(carries, name);
	const struct frame f = peer_seal_ip(&peer, ++seq, ip);

	peer_free(&peer);
	return f;
}

// --- both gateways ---

static uint64_t lookups(const struct gateway *g)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < rule_set_count(g->snapshot->rules); i++)
		n += decisions_sum(g->snapshot->objects->decisions[DECIDER_RULE],
			rule_set_at(g->snapshot->rules, i)->number)
			     .asked;
	return n;
}

static unsigned int flows_of(const struct gateway *g, struct flow_view v[], unsigned int max)
{
	const struct flow_filter all = {0};
	uint32_t position = FLOW_LIST_START;
	unsigned int n = 0;

	while (position != FLOW_LIST_END)
		n += flow_list(g->flows, &all, 0, &position, v + n, max - n);
	return n;
}

#define FLOWS_MAX 200

// Decisions of this generation that both have.
static void expect_same_decisions(void)
{
	static struct flow_view a[FLOWS_MAX], b[FLOWS_MAX];
	const unsigned int n = flows_of(carries, a, FLOWS_MAX);

	assert_int_equal(n, flows_of(decides, b, FLOWS_MAX));
	for (unsigned int i = 0; i < n; i++) {
		assert_memory_equal(&a[i].key, &b[i].key, sizeof(a[i].key));
		for (unsigned int dir = 0; dir < 2; dir++) {
			if (b[i].generation[dir] != decides->snapshot->flow_generation)
				continue;
			assert_int_equal(b[i].generation[dir], a[i].generation[dir]);
			assert_int_equal(a[i].decision[dir].by.all, b[i].decision[dir].by.all);
			assert_int_equal(a[i].decision[dir].ingress, b[i].decision[dir].ingress);
		}
	}
}

// Whether it is a reply of a flow whose other direction is not decided yet. Its rule is looked up
// by its own interfaces then, which may not be those of the packets that it replies to: whether
// such a reply passes depends on which packet comes first.
static bool is_early_reply(struct ipv4 ip)
{
	uint8_t octets[FRAME_MAX];
	struct ip_layout at;
	struct flow_pkt p;
	struct flow *f;

	ip_write(octets, ip);
	assert_true(ip_layout_read(&at, octets));
	assert_int_equal(flow_pkt_read(&p, octets, &at), DROP_NONE);
	flow_lookup_start(decides->flows, &p);
	f = flow_find(decides->flows, &p);
	return f != NULL && p.dir != flow_word_initiator(flow_word(f)) &&
	       flow_decision_generation(f, !p.dir) != decides->snapshot->flow_generation;
}

static void pass_both(void)
{
	const bool outward = below(2) > 0;
	const struct ipv4 ip = packet(outward);
	const struct frame in = frame_of(ip, outward);

	if (is_early_reply(ip))
		return;
	gateway_pass(carries, &in, 1);
	gateway_pass(decides, &in, 1);
	assert_memory_equal(carries->last.drops, decides->last.drops, sizeof(carries->last.drops));
	assert_int_equal(carries->n_sent, decides->n_sent);
	for (unsigned int i = 0; i < carries->n_sent; i++) {
		const struct frame *a = &carries->sent[i], *b = &decides->sent[i];

		assert_int_equal(a->port, b->port);
		assert_int_equal(a->len, b->len);
		assert_memory_equal(a->b, b->b, ETH_LEN);
		assert_memory_equal(frame_packet(a) + 8, frame_packet(b) + 8, 2);   // TTL, protocol
		assert_memory_equal(frame_packet(a) + 12, frame_packet(b) + 12, 8); // addresses
		if (frame_packet(a)[9] == IPPROTO_ESP)
			assert_int_equal(
				be32(frame_packet(a) + IP_LEN), be32(frame_packet(b) + IP_LEN));
	}
}

static void reload_one(struct gateway *g, const struct site_text *s)
{
	struct conf *conf = site_conf(s);

	gateway_reload(g, conf);
	conf_free(g->conf);
	g->conf = conf;
}

static void reload_both(struct site_text *s)
{
	struct site_text next = *s;
	struct conf *conf;

	for (unsigned int i = below(3); i > 0; i--)
		site_change(&next);
	conf = site_conf(&next);
	if (conf == NULL)
		return;
	conf_free(conf);
	*s = next;
	reload_one(carries, s);
	reload_one(decides, s);
	decides->snapshot->carried = 0;
}

static struct gateway *gateway_of(unsigned int id, const struct site_text *s)
{
	char *text = site_write(s);
	struct gateway *g = gateway_new(id, text);

	free(text);
	return g;
}

static void round_run(void)
{
	struct site_text s = {.mtu = 1500, .fallback = "accept"};

	struct conf *conf;

	do {
		for (unsigned int list = 0; list < LISTS; list++)
			for (unsigned int i = s.list[list].n = 0; i < 4; i++)
				item_add(&s, list);
		conf = site_conf(&s);
	} while (conf == NULL);
	conf_free(conf);
	carries = gateway_of(0, &s);
	decides = gateway_of(1, &s);
	for (unsigned int i = 0; i < RELOADS; i++) {
		for (unsigned int n = 0; n < PACKETS; n++)
			pass_both();
		expect_same_decisions();
		reload_both(&s);
	}
	n_carried += lookups(decides) - lookups(carries);
	n_decided += lookups(decides);
	gateway_free(carries);
	gateway_free(decides);
}

static void test_as_decided_again(void **state)
{
	const char *given = getenv("CULVERT_TEST_SEED");

	(void)state;
	seed = given != NULL ? strtoull(given, NULL, 0) : 1;
	for (unsigned int i = 0; i < rounds(8); i++) {
		if (given == NULL)
			seed = i + 1;
		printf("seed %llu\n", (unsigned long long)seed);
		round_run();
	}
	printf("%lu of %lu decisions were carried\n", n_carried, n_decided);
	assert_true(given != NULL || 4 * n_carried > n_decided);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_as_decided_again),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
