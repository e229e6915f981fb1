// SPDX-License-Identifier: BSD-3-Clause
// Sequence numbers that are reserved on a slow disk, while workers use them fast. Time is
// simulated: a write takes the number of ticks that the test sets.
#include <errno.h>
#include <limits.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "conf_apply.h"
#include "file_save.h"
#include "peer.h"
#include "reserve.h"
#include "site.h"

#define RATE       50000000u // packets a second
#define TICK_MS    100
#define DISK_TICKS 2
#define TICKS      100

static char dir[] = "/tmp/culvert-reserve.XXXXXX";
static sem_t disk; // posted for each write that may end

int __real_file_save(const char *path, const char *text, size_t len);
int __wrap_file_save(const char *path, const char *text, size_t len);

int __wrap_file_save(const char *path, const char *text, size_t len)
{
	sem_wait(&disk);
	return __real_file_save(path, text, len);
}

static struct snapshot *snapshot_of(const struct conf *conf, const struct snapshot *old)
{
	struct build_port ports[PORTS_MAX] = {0};
	struct snapshot *s;
	char why[256];

	for (uint16_t p = 0; p < conf->n_ports; p++)
		memcpy(&ports[p].mac, mac_of_port(p), sizeof(ports[p].mac));
	s = build_snapshot(conf, ports, old, why, sizeof(why));
	assert_non_null(s);
	return s;
}

static unsigned int n_calls;

// Called for each SA that begins; and some times more until the disk has written.
static void disk_ends_later(void *snapshot)
{
	const struct snapshot *s = snapshot;

	if (++n_calls == s->control->n_sa + 3)
		sem_post(&disk);
}

static void conf_set(struct conf *conf, unsigned int member)
{
	conf->state_dir = dir;
	conf->pair_member = member;
	snprintf(conf->instance, sizeof(conf->instance), "reserve-%d", getpid());
}

// As load_first() does, with a slow disk. member: of a pair.
static struct reserve *reserve_start_as(struct gateway *g, unsigned int member)
{
	struct snapshot *s = snapshot_of(g->conf, NULL);
	struct reserve *r;

	conf_set(g->conf, member);
	assert_int_equal(reserve_open(&r, g->conf, running_ledger(s)), 0);
	n_calls = 0;
	reserve_meanwhile_set(r, disk_ends_later, s);
	assert_int_equal(reserve_begin(r, s), 0);
	assert_in_range(n_calls, s->control->n_sa + 3, UINT_MAX);
	reserve_meanwhile_set(r, NULL, NULL);
	assert_int_equal(build_commit(s, g->conf), 0);
	build_link(s, NULL);
	build_link_end(s);
	build_snapshot_free(g->snapshot);
	gateway_publish(g, s);
	return r;
}

static struct reserve *reserve_start(struct gateway *g)
{
	return reserve_start_as(g, 0);
}

static void reserve_stop(struct reserve *r, struct gateway *g)
{
	sem_post(&disk);
	sem_post(&disk);
	reserve_finish(r, g->snapshot);
	gateway_free(g);
	reserve_free(r);
	while (sem_trywait(&disk) == 0)
		;
}

// The started write ends, and the reservation sees that.
static void write_end(struct reserve *r, struct gateway *g, uint64_t now_ms)
{
	uint64_t before = gateway_sa_out(g, "to-b")->seq_reserved;

	sem_post(&disk);
	while (gateway_sa_out(g, "to-b")->seq_reserved == before)
		reserve_collect(r, g->snapshot, now_ms);
}

// An SA at full rate from its first packet on loses none.
static void check_rate(const char *settings)
{
	struct gateway *g = site_a((struct site){.sa = settings});
	struct reserve *r = reserve_start(g);
	struct sa_out *sa = gateway_sa_out(g, "to-b");
	unsigned int writing = 0; // ticks

	for (uint64_t tick = 0; tick < TICKS && sa->seq < sa->seq_max - RATE; tick++) {
		uint64_t before = sa->sa.record->bound;

		if (writing > 0 && ++writing > DISK_TICKS) {
			write_end(r, g, tick * TICK_MS);
			writing = 0;
		}
		sa_out_seq_alloc(sa, RATE / (1000 / TICK_MS));
		assert_true(sa->seq <= sa->sa.per_packet.seq_limit);
		reserve_tick(r, g->snapshot, tick * TICK_MS);
		if (writing == 0 && sa->sa.record->bound != before)
			writing = 1;
	}
	reserve_stop(r, g);
}

static void test_full_rate_loses_nothing(void **state)
{
	(void)state;
	check_rate("");
	check_rate("esn = true;");
}

// A number that decreases, as when an SA replaces another one with the same key, is not a rate.
static void test_decrease_is_no_rate(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct reserve *r = reserve_start(g);
	struct sa_record *out = gateway_sa_out(g, "to-b")->sa.record;
	struct sa_record *in = gateway_sa_in(g, "from-b")->sa.record;

	(void)state;
	out->before += 1000;
	in->before += 1000;
	reserve_tick(r, g->snapshot, TICK_MS);
	assert_int_equal(out->rate, 0);
	assert_int_equal(in->rate, 0);
	reserve_stop(r, g);
}

// IKE adds SAs with new keys at any time: they neither wait for the disk nor cause writes.
static void test_of_ike(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct reserve *r = reserve_start(g);
	struct snapshot *s = g->snapshot;
	struct sa_out *out = gateway_sa_out(g, "to-c"), *first = gateway_sa_out(g, "to-b");
	struct sa_in *in = gateway_sa_in(g, "from-c");
	uint64_t turn = running_ledger(s)->turn;

	(void)state;
	running_last_sas_of_ike(s, true); // to-c and from-c
	sa_out_allow(out, UINT64_MAX);
	out->sa.record->bound = in->sa.record->bound = 0;
	sa_out_seq_alloc(out, 1000000);
	replay_commit(&in->sa.per_packet.replay, 1000000);
	reserve_tick(r, s, TICK_MS);
	assert_int_equal(running_ledger(s)->turn, turn);
	sa_out_seq_alloc(first, (uint32_t)first->seq_reserved - 1);
	reserve_tick(r, s, 2 * TICK_MS);
	write_end(r, g, 2 * TICK_MS);
	assert_int_equal(out->seq_reserved, UINT64_MAX);
	running_last_sas_of_ike(s, false);
	reserve_stop(r, g);
}

static struct conf *changed(const struct gateway *g, const char *text)
{
	struct conf *conf = conf_change(g->conf, "test", text, strlen(text), stderr);

	assert_non_null(conf);
	conf->n_workers = g->conf->n_workers;
	return conf;
}

// As configure.c does.
static void change(struct gateway *g, struct reserve *r, const char *text)
{
	struct conf *conf = changed(g, text);
	struct snapshot *old = g->snapshot, *s = snapshot_of(conf, old);

	sem_post(&disk);
	assert_int_equal(reserve_begin(r, s), 0);
	assert_int_equal(build_commit(s, conf), 0);
	build_link(s, old);
	gateway_publish(g, s);
	build_link_end(s);
	build_retire(s, old);
	conf_free(g->conf);
	g->conf = conf;
}

#define SA(name, direction, spi, more)                                                             \
	"sa add { name = \"" name "\"; direction = \"" direction "\"; spi = \"" spi                \
	"\"; local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\"; " more       \
	" }\n"
#define ADD(window)                                                                                \
	SA("n", "out", "0x9001", "cipher_key = \"00112233445566778899aabbccddeeff00112233\";")     \
	SA("m", "in", "0x9002",                                                                    \
		"cipher_key = \"ff112233445566778899aabbccddeeff00112233\"; " window)              \
	"policy set b { out = \"n\"; in = \"m\"; }\n"                                              \
	"policy set ports { out = \"n\"; in = \"m\"; }\n"                                          \
	"policy set c-to-b { out = \"n\"; in = \"m\"; }"
#define DEL                                                                                        \
	"policy set b { out = \"to-b\"; in = \"from-b\"; }\n"                                      \
	"policy set ports { out = \"to-b\"; in = \"from-b\"; }\n"                                  \
	"policy set c-to-b { out = \"to-b\"; in = \"from-b\"; }\n"                                 \
	"sa del n\nsa del m"

// Keys that return continue with their numbers, and no number accepted before is accepted again:
// even if there was no window in between.
static void test_key_returns(void **state)
{
	static const struct ipv4 inward = FROM_TO("10.2.0.5", "10.1.0.5"),
				 outward = FROM_TO("10.1.0.5", "10.2.0.5");
	struct gateway *g = site_a((struct site){0});
	struct reserve *r = reserve_start(g);
	struct frame out = frame_ip(LAN, outward);

	(void)state;
	for (uint64_t seq = 1; seq < 4; seq++) {
		struct peer b;
		struct frame in;

		change(g, r, ADD(""));
		b = peer_new(g, "m");
		if (seq > 1) {
			in = peer_seal_ip(&b, 100 * (seq - 1), inward);
			gateway_expect_drop(g, &in, DROP_REPLAY);
		}
		in = peer_seal_ip(&b, 100 * seq, inward);
		gateway_expect_sent(g, &in, LAN);
		gateway_expect_drop(g, &in, DROP_REPLAY);
		assert_int_equal(esp_seq(gateway_expect_sent(g, &out, WAN)), seq);
		peer_free(&b);
		change(g, r, DEL);
		change(g, r, ADD("replay_window = 0;"));
		change(g, r, DEL);
	}
	reserve_stop(r, g);
}

// An SA with another option continues after the numbers accepted, not after the numbers reserved:
// the process knows better than the disk.
static void test_option_changes(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct reserve *r = reserve_start(g);

	(void)state;
	change(g, r, "sa set from-b { replay_window = 256; }");
	peer_expect_once(g, "from-b", 1);
	change(g, r, "sa set from-b { replay_window = 512; }");
	assert_true(gateway_sa_in(g, "from-b")->sa.record->bound > 2);
	peer_expect_once(g, "from-b", 2);
	reserve_stop(r, g);
}

static struct conf *conf_with_new_sa(const struct gateway *g)
{
	static const char text[] = SA(
		"n", "out", "0x9001", "cipher_key = \"00112233445566778899aabbccddeeff00112244\";");

	return conf_change(g->conf, "test", text, strlen(text), stderr);
}

// An SA that is added in place: its key must be declared, the disk must be there, and it has no
// number before the next write.
static void test_added_in_place(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct reserve *r = reserve_start(g);
	struct conf *conf = conf_with_new_sa(g);
	struct snapshot *s = snapshot_of(conf, g->snapshot);
	struct sa *n = s->control->sa[s->control->n_sa - 1];
	char moved[64];

	(void)state;
	snprintf(moved, sizeof(moved), "%s.moved", dir);
	assert_int_equal(reserve_sa_begin(r, n, false), -EPERM);
	assert_int_equal(rename(dir, moved), 0);
	assert_int_equal(reserve_sa_begin(r, n, true), -ENOSPC);
	assert_int_equal(rename(moved, dir), 0);
	assert_int_equal(reserve_sa_begin(r, n, true), 0);
	assert_int_equal(sa_out_of(n)->seq_reserved, 0);
	build_snapshot_free(s);
	conf_free(conf);
	reserve_stop(r, g);
}

// With a disk that cannot be written, a change without new SAs is made all the same, and numbers
// that were reserved are used; one with a new SA is refused.
static void test_disk_full(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct reserve *r = reserve_start(g);
	struct conf *conf = conf_with_new_sa(g);
	struct snapshot *s = snapshot_of(conf, g->snapshot);
	uint64_t reserved = gateway_sa_out(g, "to-b")->seq_reserved;
	char moved[64];

	(void)state;
	snprintf(moved, sizeof(moved), "%s.moved", dir);
	assert_int_equal(rename(dir, moved), 0);
	sem_post(&disk);
	assert_int_equal(reserve_begin(r, g->snapshot), 0);
	assert_int_equal(gateway_sa_out(g, "to-b")->seq_reserved, reserved);
	sem_post(&disk);
	assert_true(reserve_begin(r, s) < 0);
	assert_int_equal(rename(moved, dir), 0);
	build_snapshot_free(s);
	conf_free(conf);
	reserve_stop(r, g);
}

// After a change, and a restart, an SA continues with the number after the last one used.
static void check_restart(const char *settings, const char *changed_to)
{
	static const struct ipv4 outward = FROM_TO("10.1.0.5", "10.2.0.5");
	struct gateway *g = site_a((struct site){.sa = settings});
	struct reserve *r = reserve_start(g);
	struct frame out = frame_ip(LAN, outward);
	uint32_t seq = 0;

	for (unsigned int i = 0; i < 5; i++)
		seq = esp_seq(gateway_expect_sent(g, &out, WAN));
	change(g, r, changed_to);
	reserve_stop(r, g);

	g = site_a((struct site){.sa = settings});
	r = reserve_start(g);
	assert_int_equal(esp_seq(gateway_expect_sent(g, &out, WAN)), seq + 1);
	reserve_stop(r, g);
}

// A lifetime that ends below the numbers used does not make them unused.
static void test_shorter_life(void **state)
{
	(void)state;
	check_restart("", "sa set to-b { lifetime = { hard_packets = 2; }; }");
}

// Nor does the end of the numbers without ESN, for a key used with ESN before.
static void test_without_esn(void **state)
{
	static const struct ipv4 outward = FROM_TO("10.1.0.5", "10.2.0.5");
	struct gateway *g = site_a((struct site){.sa = "esn = true;"});
	struct reserve *r = reserve_start(g);
	struct frame out = frame_ip(LAN, outward);
	struct sa_out *sa = gateway_sa_out(g, "to-b");

	(void)state;
	sa_start_behind(&sa->sa, UINT64_C(1) << 32);
	sa_out_allow(sa, UINT64_C(1) << 33);
	gateway_expect_sent(g, &out, WAN);
	reserve_stop(r, g);

	g = site_a((struct site){0});
	r = reserve_start(g);
	gateway_expect_drop(g, &out, DROP_SEQUENCE_END);
	reserve_stop(r, g);

	g = site_a((struct site){.sa = "esn = true;"});
	r = reserve_start(g);
	assert_true(gateway_sa_out(g, "to-b")->seq > UINT64_C(1) << 32);
	reserve_stop(r, g);
}

static int start(void **state)
{
	return mkdtemp(dir) != NULL && sem_init(&disk, 0, 0) == 0 ? harness_start(state) : -1;
}

static int stop(void **state)
{
	char command[128];

	snprintf(
		command, sizeof(command), "rm -r %s /run/culvert/reserve-%d.replay", dir, getpid());
	return harness_stop(state) | system(command);
}

// Whether a daemon that is this member of a pair may start with the keys; 0: alone. other_esn: with
// the other value of the setting.
static bool keys_are_accepted(unsigned int member, bool other_esn, bool declared, FILE *errors)
{
	struct sa_ledger *l = sa_ledger_new();
	struct gateway *g = site_a((struct site){0});
	struct reserve *r;
	int rc;

	conf_set(g->conf, member);
	for (unsigned int i = 0; i < g->conf->n_sas; i++)
		g->conf->sas[i].opt.esn ^= other_esn;
	assert_int_equal(reserve_open(&r, g->conf, l), 0);
	rc = reserve_keys_check(r, g->conf, declared, errors);
	reserve_free(r);
	gateway_free(g);
	sa_ledger_free(l);
	return rc == 0;
}

// Another member has other blocks of the numbers of a key: where it would continue, the other
// gateway may have been.
static void test_other_member(void **state)
{
	static const struct ipv4 outward = FROM_TO("10.1.0.5", "10.2.0.5");
	struct gateway *g = site_a((struct site){0});
	struct reserve *r = reserve_start_as(g, 1);
	struct frame out = frame_ip(LAN, outward);
	char text[512] = "";
	FILE *errors = fmemopen(text, sizeof(text), "w");

	(void)state;
	gateway_expect_sent(g, &out, WAN);
	reserve_stop(r, g);
	assert_true(keys_are_accepted(1, false, false, errors));
	assert_false(keys_are_accepted(0, false, true, errors));
	assert_false(keys_are_accepted(1, true, true, errors));
	assert_false(keys_are_accepted(2, false, true, errors));
	rewind(errors);
	assert_false(keys_are_accepted(2, false, false, errors));
	fclose(errors);
	assert_non_null(strstr(text,
		"sa \"to-b\": its key was used with another value of pair.member, fleet.member"));
	assert_null(strstr(text, "to-a")); // nothing is sent with it
}

int main(void)
{
	const struct CMUnitTest tests[] = {pipeline_test(test_other_member),
		pipeline_test(test_full_rate_loses_nothing),
		pipeline_test(test_decrease_is_no_rate), pipeline_test(test_of_ike),
		pipeline_test(test_key_returns), pipeline_test(test_option_changes),
		pipeline_test(test_added_in_place), pipeline_test(test_disk_full),
		pipeline_test(test_shorter_life), pipeline_test(test_without_esn)};

	return cmocka_run_group_tests(tests, start, stop);
}
