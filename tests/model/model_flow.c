// SPDX-License-Identifier: BSD-3-Clause
// The flow word and the decisions of a flow: flow_track() with all of lib/flow/ct.c and ct_tcp.c,
// flow_entry_add() and flow_unlink() of flow_insert.c, flow_decision_get() and flow_decision_set()
// of flow_entry.h. Two or three workers track packets of one TCP or UDP flow, in every state, while
// it is unlinked, or begin it. Proves for all interleavings: a recorded fact remains for the life
// of the connection, the state follows from the facts, a flow is unlinked once and stays unlinked,
// it counts for its source exactly while its word has the bit; the copies of the word are equal to
// it in the end; a decision is never mixed from two, of one snapshot or of two; and whoever finds a
// flow that begins with a decision finds that as well.
#include "flow_table.h"
#include "ct_tcp.c"

#include <netinet/in.h>

#include "explore.h"

#define CLIENT  0
#define SERVER  1
#define ISN(of) (1000u * (of) + 100u)
#define HASH    1

enum act {
	SYN,       // of the client
	SYN_ACK,   // of the server
	SYN_ACK_2, // of the server, with another number
	ACK,       // of the client, which completes the handshake
	ACK_2,     // of the client: it accepts the second SYN-ACK
	DATA,      // of the server
	FIN,       // of the client
	FIN_BACK,  // of the server, acknowledges it
	LAST_ACK,  // of the client
	RST,       // of the client
	SYN_NEW,   // of the client, for its next connection
	REMOVE,
	DECIDE_1,       // for snapshot 1
	DECIDE_1_CLEAR, // another one for snapshot 1
	DECIDE_2,
	READ_1, // the decision for snapshot 1
	READ_2,
	ASK,           // of the client, UDP
	ANSWER,        // of the server, UDP
	BEGIN_1,       // by ASK, with a decision for snapshot 1
	BEGIN_1_CLEAR, // with another one
	FIND_1,        // and read its decision, which is for snapshot 1
	FIND_2,        // and read the decision for snapshot 2
	FIND_DECIDE_2, // and decide for snapshot 2
	FIND_ANSWER,   // and ANSWER
	FIND_REMOVE,   // and REMOVE
	NOTHING,
};

// The initial state, and the actions of the threads.
struct scenario {
	uint8_t proto;
	enum act before[6];
	enum act thread[EXPLORE_THREADS][2];
};

#define BEFORE(...)                                                                                \
	{                                                                                          \
		__VA_ARGS__, NOTHING                                                               \
	}
#define DOES(a, b)                                                                                 \
	{                                                                                          \
		a, b                                                                               \
	}

static const struct scenario scenarios[] = {
	{IPPROTO_TCP, BEFORE(SYN), {DOES(SYN_ACK, DATA), DOES(ACK, FIN), DOES(REMOVE, NOTHING)}},
	{IPPROTO_TCP, BEFORE(SYN, SYN_ACK),
		{DOES(ACK, FIN), DOES(DATA, NOTHING), DOES(REMOVE, NOTHING)}},
	{IPPROTO_TCP, BEFORE(SYN, SYN_ACK),
		{DOES(ACK, NOTHING), DOES(DATA, NOTHING), DOES(RST, NOTHING)}},
	{IPPROTO_TCP, BEFORE(SYN, SYN_ACK, SYN_ACK_2),
		{DOES(ACK, FIN), DOES(DATA, NOTHING), DOES(REMOVE, NOTHING)}},
	{IPPROTO_TCP, BEFORE(SYN, SYN_ACK),
		{DOES(ACK, NOTHING), DOES(SYN_ACK_2, NOTHING), DOES(ACK_2, NOTHING)}},
	{IPPROTO_TCP, BEFORE(SYN, SYN_ACK, ACK),
		{DOES(FIN, LAST_ACK), DOES(FIN_BACK, NOTHING), DOES(REMOVE, NOTHING)}},
	{IPPROTO_TCP, BEFORE(SYN, SYN_ACK, ACK, FIN),
		{DOES(FIN_BACK, NOTHING), DOES(LAST_ACK, SYN_NEW), DOES(RST, NOTHING)}},
	{IPPROTO_TCP, BEFORE(SYN, SYN_ACK, ACK, RST),
		{DOES(SYN_NEW, NOTHING), DOES(DATA, NOTHING), DOES(REMOVE, NOTHING)}},
	{IPPROTO_TCP, BEFORE(SYN, SYN_ACK, ACK, RST),
		{DOES(SYN_NEW, NOTHING), DOES(SYN_NEW, NOTHING), DOES(FIN_BACK, NOTHING)}},
	{IPPROTO_TCP, BEFORE(SYN, SYN_ACK, ACK),
		{DOES(REMOVE, NOTHING), DOES(REMOVE, NOTHING), DOES(FIN, NOTHING)}},
	{IPPROTO_UDP, BEFORE(ASK),
		{DOES(ANSWER, NOTHING), DOES(ANSWER, ASK), DOES(REMOVE, NOTHING)}},
	{IPPROTO_UDP, BEFORE(ASK, DECIDE_1),
		{DOES(DECIDE_2, NOTHING), DOES(READ_1, READ_2), DOES(READ_2, READ_1)}},
	{IPPROTO_UDP, BEFORE(ASK),
		{DOES(DECIDE_1, NOTHING), DOES(DECIDE_2, NOTHING), DOES(READ_1, READ_2)}},
	{IPPROTO_UDP, BEFORE(ASK),
		{DOES(DECIDE_1, NOTHING), DOES(DECIDE_1_CLEAR, NOTHING), DOES(READ_1, READ_1)}},
	{IPPROTO_UDP, BEFORE(ASK, DECIDE_1),
		{DOES(DECIDE_1_CLEAR, DECIDE_1), DOES(READ_1, NOTHING), DOES(NOTHING, NOTHING)}},
	{IPPROTO_TCP, BEFORE(SYN, SYN_ACK, ACK, RST, DECIDE_1),
		{DOES(SYN_NEW, NOTHING), DOES(DECIDE_1_CLEAR, NOTHING), DOES(READ_1, NOTHING)}},
	{IPPROTO_TCP, BEFORE(SYN, SYN_ACK, ACK, RST),
		{DOES(SYN_NEW, NOTHING), DOES(DECIDE_1_CLEAR, NOTHING), DOES(DECIDE_1, READ_1)}},
	{IPPROTO_UDP, BEFORE(NOTHING),
		{DOES(BEGIN_1, NOTHING), DOES(FIND_1, FIND_ANSWER), DOES(FIND_1, FIND_REMOVE)}},
	{IPPROTO_UDP, BEFORE(NOTHING),
		{DOES(BEGIN_1, NOTHING), DOES(BEGIN_1_CLEAR, NOTHING), DOES(FIND_1, FIND_ANSWER)}},
	{IPPROTO_UDP, BEFORE(NOTHING),
		{DOES(BEGIN_1, NOTHING), DOES(FIND_1, FIND_DECIDE_2), DOES(FIND_2, FIND_2)}},
};

static struct model {
	struct flow flow, other; // at most one of both is in the table
	union {
		struct flow_index index;
		struct {
			char head[sizeof(struct flow_index)];
			struct bucket bucket;
		};
	};
	struct flow_worker worker;        // that removes; it takes nothing back
	uint32_t learnt[EXPLORE_THREADS]; // flow words that occurred
	uint8_t removed;
} * model;

static struct flow_table *table;
static struct flow_worker beginner[2]; // that begin flows; at every step the same, with no entry
static _Atomic uint32_t *cells;        // counters of flows by source: one in each row

unsigned int model_scenarios(void)
{
	return RTE_DIM(scenarios);
}

unsigned int model_threads(unsigned int scenario)
{
	(void)scenario;
	return EXPLORE_THREADS;
}

static struct flow_pkt packet(enum act act, uint8_t proto)
{
	static const struct {
		unsigned int dir;
		uint8_t flags;
		uint32_t seq, ack;
		uint16_t len;
	} segment[] = {
		[SYN] = {CLIENT, RTE_TCP_SYN_FLAG, ISN(CLIENT), 0, 1},
		[SYN_ACK] = {SERVER, RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG, ISN(SERVER),
			ISN(CLIENT) + 1, 1},
		[SYN_ACK_2] = {SERVER, RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG, ISN(SERVER) + 9000,
			ISN(CLIENT) + 1, 1},
		[ACK] = {CLIENT, RTE_TCP_ACK_FLAG, ISN(CLIENT) + 1, ISN(SERVER) + 1, 0},
		[ACK_2] = {CLIENT, RTE_TCP_ACK_FLAG, ISN(CLIENT) + 1, ISN(SERVER) + 9001, 0},
		[DATA] = {SERVER, RTE_TCP_ACK_FLAG, ISN(SERVER) + 1, ISN(CLIENT) + 1, 10},
		[FIN] = {CLIENT, RTE_TCP_FIN_FLAG | RTE_TCP_ACK_FLAG, ISN(CLIENT) + 1,
			ISN(SERVER) + 1, 1},
		[FIN_BACK] = {SERVER, RTE_TCP_FIN_FLAG | RTE_TCP_ACK_FLAG, ISN(SERVER) + 1,
			ISN(CLIENT) + 2, 1},
		[LAST_ACK] = {CLIENT, RTE_TCP_ACK_FLAG, ISN(CLIENT) + 2, ISN(SERVER) + 2, 0},
		[RST] = {CLIENT, RTE_TCP_RST_FLAG, ISN(CLIENT) + 1, 0, 0},
		[SYN_NEW] = {CLIENT, RTE_TCP_SYN_FLAG, ISN(CLIENT) + 5000, 0, 1},
		[ASK] = {CLIENT, 0, 0, 0, 0},
		[ANSWER] = {SERVER, 0, 0, 0, 0},
	};
	struct flow_pkt p = {.dir = (uint8_t)segment[act].dir,
		.tcp_flags = segment[act].flags,
		.seq = segment[act].seq,
		.ack = segment[act].ack,
		.seq_len = segment[act].len,
		.window = 1000,
		.scale = FLOW_NO_SCALE};

	p.key = model->flow.key;
	p.key.proto = proto;
	return p;
}

static struct flow_decision decision_of(uint32_t generation, bool clear)
{
	uint32_t value = 2 * generation + clear;
	void *all = (void *)(uintptr_t)(64 * value);

	return (struct flow_decision){{.all = value},
		clear ? flow_egress_clear(all) : flow_egress_protect(all), value, 0, generation};
}

static void decide(struct flow *f, uint32_t generation, bool clear)
{
	const struct flow_decision d = decision_of(generation, clear);

	flow_decision_set(f, CLIENT, generation, &d);
}

// Returns whether there is one.
static bool read_decision(const struct flow *f, uint32_t generation)
{
	struct flow_decision d;
	uintptr_t all;

	if (!flow_decision_get(f, CLIENT, generation, &d))
		return false;
	all = 64 * d.by.all;
	explore_assert(d.by.all / 2 == generation && d.ingress == d.by.all);
	explore_assert(d.egress == (d.by.all % 2 == 0 ? flow_egress_protect((void *)all)
						      : flow_egress_clear((void *)all)));
	return true;
}

static void begin(bool clear, uint8_t proto)
{
	const struct flow_decision d = decision_of(1, clear);
	struct flow_worker *w = &beginner[clear];
	struct flow_pkt p = packet(ASK, proto);
	enum drop reason;
	uint32_t place;

	p.hash = HASH;
	w->n_free = 1;
	w->free[0] = 1 + clear;
	flow_entry_add(table, w, &p, NULL, NULL, ct_begin(table, &p, &reason) | FLOW_OF_SOURCE, 0,
		FLOW_HELD + FLOW_UNESTABLISHED, &d, 1, &place);
	w->n_free = 0;
	w->births_left = UINT32_MAX;
}

// The facts that an accepted packet has recorded by then, unless the next connection has begun.
static const uint32_t facts_expected[NOTHING] = {
	[SYN_ACK] = FLOW_ACK(SERVER),
	[SYN_ACK_2] = FLOW_ACK(SERVER),
	[ACK] = FLOW_ACK(CLIENT),
	[ACK_2] = FLOW_ACK(CLIENT),
	[DATA] = FLOW_ACK(SERVER),
	[FIN] = FLOW_FIN(CLIENT),
	[FIN_BACK] = FLOW_FIN(SERVER),
	[LAST_ACK] = FLOW_ACK(CLIENT),
	[ANSWER] = FLOW_REPLIED,
};

static void bring(struct flow *f, enum act act, uint8_t proto, uint32_t *learnt)
{
	uint32_t life = f->word & FLOW_LIFE_MASK;
	struct flow_pkt p = packet(act, proto);

	if (flow_track(table, 0, f, &p, 1) != DROP_NONE)
		return;
	*learnt = flow_word(f);
	if ((*learnt & FLOW_LIFE_MASK) == life)
		explore_assert((*learnt & facts_expected[act]) == facts_expected[act]);
}

static void take_out(struct flow *f)
{
	model->removed += flow_unlink(table, &model->worker, f, FLOW_END_FORCED, 1);
}

static void find(enum act act, uint8_t proto, uint32_t *learnt)
{
	struct flow_pkt p = packet(ASK, proto);
	struct flow *f;

	p.hash = HASH;
	f = flow_find(table, &p);
	if (f == NULL)
		return;
	explore_assert(flow_word_state(flow_word(f)) != FLOW_FREE);
	if (act == FIND_1)
		explore_assert(read_decision(f, 1));
	else if (act == FIND_2)
		read_decision(f, 2);
	else if (act == FIND_DECIDE_2)
		decide(f, 2, false);
	else if (act == FIND_ANSWER)
		bring(f, ANSWER, proto, learnt);
	else
		take_out(f);
}

static void act(enum act act, uint8_t proto, uint32_t *learnt)
{
	switch (act) {
	case REMOVE:
		take_out(&model->flow);
		break;
	case DECIDE_1:
	case DECIDE_1_CLEAR:
	case DECIDE_2:
		decide(&model->flow, 1 + (act == DECIDE_2), act == DECIDE_1_CLEAR);
		break;
	case READ_1:
	case READ_2:
		read_decision(&model->flow, 1 + (act == READ_2));
		break;
	case BEGIN_1:
	case BEGIN_1_CLEAR:
		begin(act == BEGIN_1_CLEAR, proto);
		break;
	case FIND_1:
	case FIND_2:
	case FIND_DECIDE_2:
	case FIND_ANSWER:
	case FIND_REMOVE:
		find(act, proto, learnt);
		break;
	case NOTHING:
		break;
	default:
		bring(&model->flow, act, proto, learnt);
	}
}

static void table_setup(void)
{
	if (table == NULL) {
		table = aligned_alloc(64, sizeof(*table));
		memset(table, 0, sizeof(*table));
		table->strict = true;
	}
	table->entry = &model->flow - 1;
	model->index.n = 1;
	table->index = table->oldest = &model->index;
	table->sources.cell = cells = explore_alloc(2 * sizeof(uint32_t));
	beginner[0].births_left = beginner[1].births_left = UINT32_MAX;
}

// Puts the flow into the table that its first packet begins.
static void flow_setup(enum act act, uint8_t proto)
{
	const struct flow_pkt first = packet(act, proto);
	enum drop reason;

	model->flow.hash = HASH;
	model->bucket.tag[0] = HASH;
	model->bucket.place[0] = FLOW_LINES + offsetof(struct flow, dir) / sizeof(struct flow_dir);
	model->flow.word = ct_begin(table, &first, &reason) | FLOW_COUNTED | FLOW_OF_SOURCE;
	flow_word_show(&model->flow);
	flow_source_cells_add(flow_source_cells(&table->sources, &model->flow.key.addr[CLIENT]));
}

void model_setup(unsigned int scenario)
{
	const struct scenario *s = &scenarios[scenario];
	uint32_t learnt;

	model = explore_alloc(sizeof(*model));
	table_setup();
	model->flow.key.addr[CLIENT].b[15] = 1;
	model->flow.key.addr[SERVER].b[15] = 2;
	model->flow.key.proto = s->proto;
	if (s->before[0] != NOTHING)
		flow_setup(s->before[0], s->proto);
	for (unsigned int i = 0; s->before[i] != NOTHING; i++)
		act(s->before[i], s->proto, &learnt);
}

void model_thread(unsigned int scenario, unsigned int thread)
{
	for (unsigned int i = 0; i < 2; i++)
		act(scenarios[scenario].thread[thread][i], scenarios[scenario].proto,
			&model->learnt[thread]);
}

// Packet counters do not matter, nor the time of the last packet.
bool model_matters(const volatile void *p)
{
	bool matters = true;

	for (unsigned int i = 0; i < 4; i++) {
		const struct flow_dir *d = &(&model->flow)[i / 2].dir[i % 2];

		matters &= p != &d->packets && p != &d->octets && p != &d->seen;
	}
	return matters;
}

void model_end(unsigned int scenario)
{
	const struct flow *f = model->other.word != 0 ? &model->other : &model->flow;
	uint32_t word = f->word;
	bool removed = (word & FLOW_REMOVED) != 0, counts = (word & FLOW_COUNTED) != 0 && !removed;

	explore_assert(model->flow.word == 0 || model->other.word == 0);
	if (scenarios[scenario].proto == IPPROTO_TCP)
		explore_assert(flow_word_state(word) == tcp_state(word));
	else
		explore_assert((word & FLOW_REPLIED) == 0 || flow_word_state(word) != FLOW_UDP_NEW);
	for (unsigned int i = 0; i < EXPLORE_THREADS; i++) {
		uint32_t learnt = model->learnt[i] & (FACTS | FLOW_REPLIED | FLOW_RESET);

		if ((model->learnt[i] & FLOW_LIFE_MASK) == (word & FLOW_LIFE_MASK))
			explore_assert((word & learnt) == learnt);
		explore_assert(removed || (model->learnt[i] & FLOW_REMOVED) == 0);
	}
	for (unsigned int dir = 0; dir < 2; dir++)
		explore_assert(flow_word_shown(f, dir) == flow_word_copy(word, dir));
	explore_assert(model->removed <= 1 && removed == (model->removed == 1));
	explore_assert(removed || flow_word_class(word) != FLOW_CLASS_ESTABLISHED || !counts);
	explore_assert(cells[0] == counts && cells[1] == counts);
}
