// SPDX-License-Identifier: BSD-3-Clause
// SAs of IKE on a member of a pair: their numbers are those of the member, both report to each
// other, and continue after the other one.
#include "hex.h"
#include "ike_desk.h"
#include "numbers.h"
#include "role.h"

#define PAIR                                                                                       \
	"pair = { member = 2; };\n"                                                                \
	"groups = ( { name = \"main\"; addresses = [ \"192.0.2.1\" ]; } );"

static struct sa *out(void)
{
	return &desk_sa_out("ike.a.out")->sa;
}

static struct sa *in(void)
{
	return &desk_sa_in("ike.a.in")->sa;
}

static void pair_begin(void)
{
	desk_reload(PAIR, "");
	ask_pair("a", 0x10000, 7);
	ask_done();
}

// Takes a line of the other member about the key of an SA.
static void learn(const struct sa *sa, const char *direction, uint64_t theirs)
{
	char id[2 * SA_SHORT_ID + 1], line[NUMBERS_LINE_MAX];

	hex_format(id, sa->record->id.octets, SA_SHORT_ID);
	snprintf(line, sizeof(line), "%s %s %" PRIu64 " 0 0", direction, id, theirs);
	assert_true(numbers_learn(&desk, line));
	numbers_tick(&desk, desk_now);
}

static void test_numbers_are_own(void **state)
{
	(void)state;
	pair_begin();
	assert_int_equal(sa_out_seq(sa_out_of(out())), NUMBER_BLOCK - 1);
	assert_int_equal(sa_out_of(out())->block_end, 2 * NUMBER_BLOCK - 1);
	ask_now("flush");
	desk_reload("", "");
	ask_pair("b", 0x20000, 7);
	ask_done();
	assert_int_equal(sa_out_seq(desk_sa_out("ike.b.out")), 0);
}

static void test_other_is_followed(void **state)
{
	(void)state;
	pair_begin();
	learn(out(), "out", 3 * NUMBER_BLOCK - 1);
	assert_int_equal(sa_out_seq(sa_out_of(out())), 3 * NUMBER_BLOCK - 1);
	learn(in(), "in", 1000);
	assert_int_equal(replay_top(&in()->per_packet.replay), 1000);
}

// Also of an SA that is younger than the interval between reports.
static void test_reports(void **state)
{
	char line[NUMBERS_LINE_MAX];
	uint64_t claimed;

	(void)state;
	pair_begin();
	assert_true(role_set(&desk, "main", CONF_STANDBY, desk_now));
	assert_int_not_equal(numbers_report(out(), false, line), 0);
	assert_int_equal(sscanf(line, "out %*s %" SCNu64, &claimed), 1);
	assert_int_equal(claimed, 2 * NUMBER_BLOCK - 1);
}

// ESP packets of the SA; those of the configuration were numbered before there was a pair.
static unsigned int esp_sent(const struct sa *sa)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < desk_n_sent; i++)
		n += desk_sent[i].b[12] == 0x08 && desk_sent[i].b[13] == 0x00 &&
		     desk_sent[i].b[ETH_LEN + 9] == IPPROTO_ESP &&
		     memcmp(&desk_sent[i].b[ETH_LEN + 20], &sa->spi, sizeof(sa->spi)) == 0;
	return n;
}

// By a dummy: the peer may have no other packet from here.
static void test_takeover_is_shown(void **state)
{
	(void)state;
	pair_begin();
	ask_policy("a", "10.5.0.0/24", 7, "");
	ask_done();
	assert_true(role_set(&desk, "main", CONF_STANDBY, desk_now));
	desk_wait(2000);
	desk_forget();
	assert_true(role_set(&desk, "main", CONF_ACTIVE, desk_now));
	desk_wait(300);
	assert_int_equal(esp_sent(out()), 1);
	assert_int_equal(sa_out_of(out())->per_worker[1].dummies, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ike_desk_test(test_numbers_are_own),
		ike_desk_test(test_other_is_followed),
		ike_desk_test(test_reports),
		ike_desk_test(test_takeover_is_shown),
	};

	return cmocka_run_group_tests_name("ike_pair", tests, harness_start, harness_stop);
}
