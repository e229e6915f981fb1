// SPDX-License-Identifier: BSD-3-Clause
// Any lines about sequence numbers and run-time changes from the other gateway of a pair, to an
// active member and to a standby, while operators change something. Proves that own numbers
// only grow and stay own ones, that windows only advance, that waiting requests are bounded, and
// that nothing but changes is to be served.
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "group.h"
#include "line.h"
#include "log.h"
#include "member_arrivals.h"
#include "member_changes.h"
#include "numbers.h"
#include "site.h"

#define TICK_MS 100
#define INPUTS  8 // for each gateway: a new one takes longer than most inputs

static const char more[] = "pair = { member = 2; };\n"
			   "groups = ( { name = \"main\"; addresses = [ \"192.0.2.1\" ]; } );\n";

static struct gateway *g;
static struct control c;
static struct sa_out *out;
static struct sa_in *in;
static uint64_t now_ms = 1000000;

bool __wrap_channel_send(struct channel *ch, const char *line, size_t len);
size_t __wrap_channel_waiting(struct channel *ch);
void __wrap_log_line(enum log_level level, const char *fmt, ...);

// The log would be as long as the input.
void __wrap_log_line(enum log_level level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
}

// At times there is no room.
bool __wrap_channel_send(struct channel *ch, const char *line, size_t len)
{
	(void)ch;
	assert_int_equal(strlen(line), len);
	assert_in_range(len, 1, LINE_LEN_MAX - 1);
	return now_ms / TICK_MS % 5 != 0;
}

size_t __wrap_channel_waiting(struct channel *ch)
{
	(void)ch;
	return 0;
}

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
	(void)argc;
	(void)argv;
	if (harness_start(NULL) < 0 || harness_test_begin(NULL) < 0)
		return -1;
	atexit(stop);
	return 0;
}

static void gateway_begin(void)
{
	char conf[8192];

	if (g != NULL)
		gateway_free(g);
	site_a_conf(conf, sizeof(conf), (struct site){.more = more, .sa = " esn = true;"});
	g = gateway_new(0, conf);
	out = gateway_sa_out(g, "to-b");
	in = gateway_sa_in(g, "from-b");
}

static void begin(void)
{
	static unsigned int inputs;

	if (inputs++ % INPUTS == 0)
		gateway_begin();
	c = (struct control){.io = &io, .conf = g->conf, .snapshot = g->snapshot};
	c.member.changes = member_changes_new();
	assert_non_null(c.member.changes);
}

static void role_change(void)
{
	bool active = out->sa.local_unusable != DROP_NONE;

	if (active)
		numbers_take_over(&c, &c.conf->groups[0], now_ms % 3, now_ms);
	sa_local_set(&out->sa, active ? DROP_NONE : DROP_STANDBY);
	sa_local_set(&in->sa, active ? DROP_NONE : DROP_STANDBY);
}

static void operator_does(void)
{
	const struct control_request asked = {.text = (char *)(uintptr_t) "x", .from = &c};

	member_changes_note(&c, &asked, now_ms % 2 == 0, "x", "x\n");
}

static void requests_serve(void)
{
	struct control_request asked;
	unsigned int n = 0;

	for (; member_changes_take(&c, &asked); n++) {
		const char *text = asked.text;

		if (strncmp(text, "new-keys ", strlen("new-keys ")) == 0)
			text += strlen("new-keys ");
		assert_memory_equal(text, "change ", strlen("change "));
		member_changes_note(&c, &asked, false, "x", "y\n");
		member_changes_answer(&c, n % 2 == 0 ? "ok" : "refused", text);
		control_request_free(&asked);
	}
	assert_in_range(n, 0, 2 * MEMBER_AHEAD_MAX);
}

// Some first octets stand for other events.
static void use(const char *line)
{
	uint64_t seq = sa_out_seq(out), top = replay_top(&in->sa.per_packet.replay);

	switch (line[0]) {
	case 'R':
		role_change();
		return;
	case 'O':
		operator_does();
		return;
	case 'S':
		requests_serve();
		return;
	case 'C':
		member_changes_connected(&c, now_ms % 2 == 0);
		return;
	case 'D':
		member_changes_digest(&c);
		return;
	case 'L':
		member_changes_clear(&c);
		return;
	case 'T':
		now_ms += TICK_MS;
		numbers_tick(&c, now_ms);
		member_changes_send(&c);
		break;
	default:
		if (!numbers_learn(&c, line))
			member_changes_learn(&c, line);
	}
	assert_true(sa_out_seq(out) >= seq);
	assert_true(sa_out_seq(out) == seq || number_is_own(&out->blocks, sa_out_seq(out) + 1));
	assert_true(replay_top(&in->sa.per_packet.replay) >= top);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct line_reader r = {.len = 0};
	size_t used;

	begin();
	for (; len > 0; input += used, len -= used) {
		enum line_result result = line_read(&r, (const char *)input, len, &used);

		if (result != LINE_WHOLE)
			break;
		use(r.text);
	}
	requests_serve();
	member_changes_free(c.member.changes);
	return 0;
}
