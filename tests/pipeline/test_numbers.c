// SPDX-License-Identifier: BSD-3-Clause
// Two members of a pair with the same SAs, in random order: packets in both directions, ticks,
// reports that arrive or get lost, takeovers by command and by failure, restarts of a member
// that forgets. No number is sent twice, the peer's window accepts all that either sends, and no
// packet that one member has accepted and reported is accepted by the other.
//
//   CULVERT_TEST_SEED=0x... CULVERT_TEST_ROUNDS=...
#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>

#include "group.h"
#include "numbers.h"
#include "peer.h"
#include "site.h"

#define STEPS      2000
#define SENT_LEN   100000
#define PEER_MAX   100000
#define ROUNDS     20
#define WINDOW     64
#define TICK_MS    100
#define MARGIN_MAX 2000 // packets
#define CONF_ROOM  8192

static const struct ipv4 outward = FROM_TO("10.1.0.5", "10.2.0.5"),
			 inward = FROM_TO("10.2.0.5", "10.1.0.5");

struct member {
	struct gateway *g;
	struct control c;
	struct sa_out *out;
	struct sa_in *in;
	uint64_t learnt_ms;
};

static struct member member[2];
static unsigned int active;
static uint64_t now_ms, random_state;
static uint64_t sent[SENT_LEN];
static unsigned int n_sent;
static uint64_t peer_seq; // last number that the peer used
// By number that the peer used: bit i if member i has accepted it, or has learnt that.
static uint8_t accepted_by[PEER_MAX];
static struct replay peer_window;
static bool unreported; // the active one has reported nothing since it is
static bool blind;      // the peer may drop packets: members do not know enough of each other

static uint32_t chance(uint32_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % n;
}

static uint64_t now(void)
{
	return now_ms;
}

static const struct control_io io = {.now_ms = now};

static void member_begin(struct member *m, unsigned int number, bool esn)
{
	char conf[CONF_ROOM], more[128];

	snprintf(more, sizeof(more),
		"pair = { member = %u; };\n"
		"groups = ( { name = \"main\"; addresses = [ \"192.0.2.1\" ]; } );",
		number);
	site_a_conf(conf, sizeof(conf),
		(struct site){.more = more, .window = WINDOW, .sa = esn ? "esn = true;" : ""});
	m->g = gateway_new(number - 1, conf);
	m->c = (struct control){.io = &io, .conf = m->g->conf, .snapshot = m->g->snapshot};
	m->out = gateway_sa_out(m->g, "to-b");
	m->in = gateway_sa_in(m->g, "from-b");
}

static void role_set_to(struct member *m, enum drop reason)
{
	sa_local_set(&m->out->sa, reason);
	sa_local_set(&m->in->sa, reason);
}

// One member reports to the other.
static void report(unsigned int from, bool always)
{
	struct sa *sa[] = {&member[from].out->sa, &member[from].in->sa};
	char line[NUMBERS_LINE_MAX];

	for (unsigned int i = 0; i < 2; i++)
		if (numbers_report(sa[i], always, line) > 0)
			assert_true(numbers_learn(&member[1 - from].c, line));
	member[1 - from].learnt_ms = now_ms;
	unreported &= from != active;
	for (uint64_t seq = 1; seq <= peer_seq; seq++)
		if ((accepted_by[seq] & 1u << from) != 0)
			accepted_by[seq] = 3;
}

static void tick(void)
{
	now_ms += TICK_MS;
	for (unsigned int i = 0; i < 2; i++)
		numbers_tick(&member[i].c, now_ms);
}

static void send_packets(unsigned int by)
{
	struct member *m = &member[by];
	struct frame f = frame_ip(LAN, outward);

	for (unsigned int n = 1 + chance(5); n > 0; n--) {
		const struct frame *esp = gateway_expect_sent(m->g, &f, WAN);
		uint64_t seq = sa_out_seq(m->out);
		bool accepted = replay_check(&peer_window, seq) && replay_commit(&peer_window, seq);

		assert_int_equal(esp_seq(esp), (uint32_t)seq);
		assert_true(n_sent < SENT_LEN);
		sent[n_sent++] = seq;
		if (accepted)
			blind = false;
		else if (!blind)
			fail_msg("the peer drops number %" PRIu64 " of member %u", seq, by + 1);
	}
}

static bool is_accepted(struct member *m, uint64_t seq)
{
	struct peer b = peer_new(m->g, "from-b");
	struct frame f;

	b.upper = (uint32_t)(seq >> 32);
	f = peer_seal_ip(&b, seq, inward);
	gateway_pass(m->g, &f, 1);
	peer_free(&b);
	if (m->g->n_sent == 1)
		accepted_by[seq] |= (uint8_t)(1u << (m - member));
	return m->g->n_sent == 1;
}

static void receive_packets(struct member *m)
{
	for (unsigned int n = 1 + chance(5); n > 0; n--) {
		uint64_t top = replay_top(&m->in->sa.per_packet.replay);

		assert_true(++peer_seq < PEER_MAX);
		if (is_accepted(m, peer_seq) != (peer_seq > top))
			fail_msg("number %" PRIu64 " above %" PRIu64, peer_seq, top);
		if (top > peer_seq + MARGIN_MAX)
			fail_msg("%" PRIu64 " packets are refused", top - peer_seq);
	}
}

static void replay_packet(struct member *m)
{
	uint64_t seq = peer_seq - RTE_MIN(peer_seq, (uint64_t)chance(2 * WINDOW));

	if ((accepted_by[seq] & 1u << (m - member)) != 0 && is_accepted(m, seq))
		fail_msg("number %" PRIu64 " is accepted again", seq);
}

// As if packets had been sent until the block has few numbers left, or fewer, so that the next one
// is begun by a tick.
static void use_block(struct member *m)
{
	struct sa_out *sa = m->out;
	uint64_t left = sa->block_end - RTE_MIN(sa->block_end, sa_out_seq(sa));
	uint64_t few = sa->blocks.mask / (left > sa->blocks.mask / 12 ? 12 : 20);

	if (left <= few)
		return;
	sa_out_seq_alloc(sa, (uint32_t)(left - few));
	sa->sa.record->before = sa_out_seq(sa);
	tick();
	if (chance(2) == 0)
		report(active, false);
}

static void activate(unsigned int i, uint64_t silent_ms)
{
	struct member *m = &member[i];

	numbers_take_over(&m->c, &m->c.conf->groups[0], silent_ms, now_ms);
	role_set_to(m, DROP_NONE);
	numbers_tick(&m->c, now_ms);
}

static void take_over(uint64_t silent_ms)
{
	active = 1 - active;
	unreported = true;
	activate(active, silent_ms);
}

static void take_over_by_command(void)
{
	role_set_to(&member[active], DROP_STANDBY);
	report(active, false);
	take_over(0);
}

// Another process, or machine, without anything of the former one.
static void begin_again(unsigned int i, bool esn)
{
	gateway_free(member[i].g);
	member_begin(&member[i], i + 1, esn);
	role_set_to(&member[i], DROP_STANDBY);
}

// As after a restart, with its disk; or as another machine, without that.
static void restart(unsigned int i, bool with_disk)
{
	struct member *m = &member[i];
	bool esn = m->out->sa.opt.esn;
	uint64_t used = RTE_MAX(m->out->sa.record->claimed, sa_out_seq(m->out)),
		 top = replay_top(&m->in->sa.per_packet.replay);

	begin_again(i, esn);
	if (with_disk) {
		sa_start_behind(&m->out->sa, used);
		sa_start_behind(&m->in->sa, top);
		m->out->sa.record->before = sa_out_seq(m->out);
		m->in->sa.record->before = top;
	}
	for (uint64_t seq = 1; seq <= peer_seq && !with_disk; seq++)
		accepted_by[seq] &= (uint8_t) ~(1u << i);
	report(1 - i, true); // to a member that joins
}

// The active one fails, and may be started again.
static void take_over_by_failure(void)
{
	uint64_t silent_ms = now_ms - member[1 - active].learnt_ms;
	bool known = !unreported && silent_ms <= TICK_MS;

	blind |= !known;
	role_set_to(&member[active], DROP_STANDBY);
	if (chance(2) == 0)
		restart(active, !known || chance(2) == 0);
	take_over(silent_ms + 1);
}

// Both are active for some time; then the one that was is again.
static void both_active(void)
{
	activate(1 - active, now_ms - member[1 - active].learnt_ms + 1);
	for (unsigned int n = chance(20); n > 0; n--) {
		blind = true;
		send_packets(chance(2));
		if (chance(3) == 0)
			tick();
		if (chance(3) == 0)
			report(chance(2), false);
	}
	blind = true;
	role_set_to(&member[1 - active], DROP_STANDBY);
}

static void step(void)
{
	uint32_t what = chance(100);

	if (what < 30)
		send_packets(active);
	else if (what < 50)
		receive_packets(&member[active]);
	else if (what < 60)
		replay_packet(&member[active]);
	else if (what < 75)
		tick();
	else if (what < 90)
		report(chance(2), chance(10) == 0);
	else if (what < 93)
		use_block(&member[active]);
	else if (what < 96)
		take_over_by_command();
	else if (what < 99)
		take_over_by_failure();
	else
		both_active();
}

static bool is_nearly_used_up(void)
{
	const struct sa_out *sa = member[active].out;

	return sa->seq_max - sa_out_seq(sa) < 16 * sa->blocks.mask;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void both_begin(bool esn)
{
	n_sent = active = 0;
	peer_seq = now_ms = 0;
	memset(accepted_by, 0, sizeof(accepted_by));
	blind = false;
	unreported = true;
	assert_int_equal(replay_init(&peer_window, WINDOW), 0);
	for (unsigned int i = 0; i < 2; i++) {
		member_begin(&member[i], i + 1, esn);
		member[i].learnt_ms = 0;
	}
	role_set_to(&member[1], DROP_STANDBY);
	tick();
}

static void both_end(void)
{
	for (unsigned int i = 0; i < 2; i++)
		gateway_free(member[i].g);
	replay_fini(&peer_window, NULL);
}

static void run(uint64_t seed, bool esn)
{
	random_state = seed;
	both_begin(esn);
	for (unsigned int i = 0; i < STEPS && !is_nearly_used_up(); i++)
		step();
	qsort(sent, n_sent, sizeof(sent[0]), by_number);
	for (unsigned int i = 1; i < n_sent; i++)
		if (sent[i] == sent[i - 1])
			fail_msg("number %" PRIu64 " is sent twice", sent[i]);
	assert_true(n_sent > STEPS / 4);
	both_end();
}

// The other one has reported that it is standby when this one had no such key. The second member
// begins with higher numbers than the first.
static void test_report_before_the_key(void **state)
{
	(void)state;
	both_begin(false);
	take_over_by_command();
	send_packets(1);
	begin_again(0, false);
	tick();
	role_set_to(&member[1], DROP_STANDBY);
	take_over(0);
	send_packets(0);
	both_end();
}

// A member that has used numbers of the third own block, and reported them, and is standby now.
static void begin_with_numbers(void)
{
	both_begin(false);
	for (unsigned int i = 0; i < 4; i++)
		take_over_by_command();
	send_packets(0);
	role_set_to(&member[0], DROP_STANDBY);
	report(0, true);
	active = 1;
}

// Another machine is killed before a report has arrived. Its disk has reserved as many
// numbers as the former one had used.
static void test_lost_disk_killed(void **state)
{
	struct member *m = &member[0];

	(void)state;
	begin_with_numbers();
	begin_again(0, false);
	sa_start_behind(&m->out->sa, 4 * NUMBER_BLOCK);
	m->out->sa.record->begun = 4 * NUMBER_BLOCK;
	report(1, true);
	take_over_by_command();
	send_packets(0);
	both_end();
}

// The other member's report has arrived, but no numbers above it are on the disk yet.
static void test_lost_disk_not_written(void **state)
{
	struct frame f = frame_ip(LAN, outward);
	struct member *m = &member[0];

	(void)state;
	begin_with_numbers();
	begin_again(0, false);
	sa_out_allow(m->out, 2 * NUMBER_BLOCK);
	report(1, true);
	take_over_by_command();
	gateway_expect_drop(m->g, &f, DROP_SEQUENCE_UNSAVED);
	sa_out_allow(m->out, UINT64_MAX);
	send_packets(0);
	both_end();
}

// Each reports the numbers of the other one to it again and again.
static void test_lost_disk_both_standby(void **state)
{
	(void)state;
	begin_with_numbers();
	role_set_to(&member[1], DROP_STANDBY);
	restart(0, false);
	for (unsigned int i = 0; i < 100; i++) {
		report(0, true);
		report(1, true);
		tick();
	}
	for (unsigned int i = 0; i < 2; i++)
		assert_true(sa_out_seq(member[i].out) < 12 * NUMBER_BLOCK);
	both_end();
}

static void test_random(void **state)
{
	const char *given = getenv("CULVERT_TEST_SEED"), *rounds = getenv("CULVERT_TEST_ROUNDS");
	uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : 0;
	unsigned int n = rounds != NULL ? (unsigned int)atoi(rounds) : ROUNDS;

	(void)state;
	if (given == NULL)
		assert_int_equal(getrandom(&seed, sizeof(seed), 0), sizeof(seed));
	for (unsigned int i = 0; i < n; i++, seed = seed * 31 + 7) {
		print_message("seed 0x%" PRIx64 "\n", seed);
		run(seed, i % 2 != 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_report_before_the_key),
		pipeline_test(test_lost_disk_killed),
		pipeline_test(test_lost_disk_not_written),
		pipeline_test(test_lost_disk_both_standby),
		pipeline_test(test_random),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
