// SPDX-License-Identifier: BSD-3-Clause
// Memory is exhausted at every allocation of a reload and of each kind of change, once and
// permanently. Proves that the change is refused, nothing has changed, nothing is leaked, and
// packets are forwarded as before.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>

#include <rte_malloc.h>

#include "conf_apply.h"
#include "conf_print.h"
#include "failing_alloc.h"
#include "peer.h"
#include "site.h"

#define WORKERS 2

static const struct ipv4 inward = {.src = "10.2.0.5", .dst = "10.1.0.5"};
static const struct ipv4 outward = {.src = "10.1.0.5", .dst = "10.2.0.5"};

// A change, and the change that reverts it.
struct change {
	const char *text, *undo;
};

#define KEY "00112233445566778899aabbccddeeff00112233"
#define SA(name, direction, spi, more)                                                             \
	"sa add { name = \"" name "\"; direction = \"" direction "\"; spi = \"" spi                \
	"\"; local = \"192.0.2.1\"; remote = \"192.0.2.2\"; " more " }\n"

static const struct change changes[] = {
	{SA("n", "out", "0x9001", "cipher = \"aes-128-gcm\"; cipher_key = \"" KEY "\";"),
		"sa del n"},
	{SA("n", "in", "0x9002",
		 "cipher = \"aes-128-cbc\"; auth = \"hmac-sha1-96\"; replay_window = 1024; "
		 "cipher_key = \"00112233445566778899aabbccddeeff\"; auth_key = \"" KEY "\";"),
		"sa del n"},
	{SA("n", "out", "0x9003",
		 "cipher = \"chacha20-poly1305\"; cipher_key = \"" KEY
		 "00112233445566778899aabbccddeeff\"; "
		 "udp = { keepalive = 20; }; lifetime = { hard_packets = 100; };"),
		"sa del n"},
	{"sa set from-b { replay_window = 512; }", "sa set from-b { replay_window = 64; }"},
	{"policy add first { name = \"p\"; local = \"10.1.0.0/24\"; remote = \"10.8.0.0/16\"; "
	 "action = \"bypass\"; }",
		"policy del p"},
	{"rule add { name = \"r\"; source = \"10.8.0.0/16\"; action = \"drop\"; }", "rule del r"},
	{"route add { to = \"10.8.0.0/16\"; via = \"192.0.2.9\"; }", "route del 10.8.0.0/16"},
	{"neighbour add { address = \"192.0.2.9\"; mac = \"02:00:00:00:00:09\"; }",
		"neighbour del 192.0.2.9"},
};

// A text that grows; written while memory may be short, so it is allocated before.
static char messages[64 * 1024];

static FILE *messages_open(void)
{
	FILE *f = fmemopen(messages, sizeof(messages), "w");

	assert_non_null(f);
	setvbuf(f, NULL, _IONBF, 0);
	return f;
}

// --- state that must not change ---

struct state {
	const struct snapshot *snapshot;
	const struct conf *conf;
	char *text;
	unsigned int refs;
	long live;
	size_t dpdk;
};

static char *conf_text(const struct conf *conf)
{
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	conf_print(conf, f);
	fclose(f);
	return text;
}

static unsigned int refs_of(const struct snapshot *s)
{
	const struct sa *sa;
	unsigned int n = 0;

	for (unsigned int i = 0; (sa = running_sa_at(s, i)) != NULL; i++)
		n += sa->refs;
	return n;
}

static size_t dpdk_blocks(void)
{
	struct rte_malloc_socket_stats stats;

	assert_int_equal(rte_malloc_get_socket_stats(0, &stats), 0);
	return stats.alloc_count;
}

static struct state state_of(const struct gateway *g)
{
	struct state s = {g->snapshot, g->conf, conf_text(g->conf), refs_of(g->snapshot), 0, 0};

	ERR_clear_error();
	s.live = alloc_live();
	s.dpdk = dpdk_blocks();
	return s;
}

static void expect_state(const struct gateway *g, const struct state *before)
{
	char *text;

	ERR_clear_error();
	if (alloc_live() != before->live)
		fail_msg("%ld blocks are left: %s", alloc_live() - before->live, messages);
	assert_int_equal(dpdk_blocks(), before->dpdk);
	assert_ptr_equal(g->snapshot, before->snapshot);
	assert_ptr_equal(g->conf, before->conf);
	assert_int_equal(refs_of(g->snapshot), before->refs);
	text = conf_text(g->conf);
	assert_string_equal(text, before->text);
	free(text);
}

// Packets are sent in both directions, and no number is skipped or used again.
static void expect_traffic(struct gateway *g, uint64_t *seq)
{
	struct peer b = peer_new(g, "from-b");
	struct frame out = frame_ip(LAN, outward), in = peer_seal_ip(&b, ++*seq, inward);
	uint32_t sent = be32(frame_packet(gateway_expect_sent(g, &out, WAN)) + IP_LEN + 4);

	gateway_expect_sent(g, &in, LAN);
	gateway_expect_drop(g, &in, DROP_REPLAY);
	assert_int_equal(sent, *seq);
	peer_free(&b);
}

// --- changes made without memory ---

typedef struct conf *make(const struct gateway *g, const void *arg, FILE *errors);

static struct conf *make_change(const struct gateway *g, const void *text, FILE *errors)
{
	return conf_change(g->conf, "test", text, strlen(text), errors);
}

static struct conf *make_reload(const struct gateway *g, const void *path, FILE *errors)
{
	(void)g; // whose number of workers differs from the file's
	return conf_load(path, NULL, errors);
}

struct step {
	make *make;
	const void *arg;
};

// As configure.c does. False: refused.
static bool apply(struct gateway *g, struct step step, FILE *errors)
{
	struct build_port ports[PORTS_MAX] = {0};
	struct snapshot *old = g->snapshot, *s;
	struct conf *conf = step.make(g, step.arg, errors);
	char why[256];

	if (conf == NULL)
		return false;
	conf->n_workers = WORKERS;
	for (uint16_t p = 0; p < conf->n_ports; p++)
		memcpy(&ports[p].mac, mac_of_port(p), sizeof(ports[p].mac));
	s = build_snapshot(conf, ports, old, why, sizeof(why));
	if (s == NULL)
		fputs(why, errors);
	if (s == NULL || build_commit(s, conf) < 0) {
		build_snapshot_free(s);
		conf_free(conf);
		fputs("out of memory", errors);
		return false;
	}
	build_link(s, old);
	gateway_publish(g, s);
	build_link_end(s);
	build_retire(s, old);
	conf_free(g->conf);
	g->conf = conf;
	return true;
}

static void must_apply(struct gateway *g, struct step step)
{
	FILE *errors = messages_open();

	if (!apply(g, step, errors))
		fail_msg("%s", messages);
	fclose(errors);
}

enum result {
	REFUSED,
	DONE_WITHOUT, // the failed allocation was not needed
	DONE,         // no allocation failed
};

// Without allocation n, and those after it if for_good. A successful change is reverted.
static enum result attempt(
	struct gateway *g, struct step step, struct step undo, unsigned int n, bool for_good)
{
	FILE *errors = messages_open();
	bool done, failed;

	alloc_fail(n, for_good);
	done = apply(g, step, errors);
	failed = alloc_fail_end();
	fclose(errors);
	if (done)
		must_apply(g, undo);
	else if (strstr(messages, "out of memory") == NULL)
		fail_msg("allocation %u: %s", n, messages);
	return !done ? REFUSED : failed ? DONE_WITHOUT : DONE;
}

static void check(struct gateway *g, struct step step, struct step undo)
{
	uint64_t seq = gateway_sa_out(g, "to-b")->seq;
	enum result result = REFUSED;

	must_apply(g, step);
	must_apply(g, undo);
	for (unsigned int n = 1; result != DONE; n++) {
		bool for_good = n % 8 == 0;
		struct state before;

		attempt(g, step, undo, n,
			for_good); // libraries allocate some memory once and keep it
		before = state_of(g);
		result = attempt(g, step, undo, n, for_good);
		if (result == REFUSED)
			expect_state(g, &before);
		free(before.text);
		expect_traffic(g, &seq);
	}
}

static void check_changes(const char *engine)
{
	struct gateway *g = site_a((struct site){.more = engine});

	for (size_t i = 0; i < RTE_DIM(changes); i++) {
		const struct change *c = &changes[i];

		check(g, (struct step){make_change, c->text}, (struct step){make_change, c->undo});
	}
	gateway_free(g);
}

static void test_change(void **state)
{
	(void)state;
	check_changes("engine = \"auto\";");
}

static void test_change_openssl(void **state)
{
	(void)state;
	check_changes("engine = \"openssl\";");
}

// The path of a file with the configuration of such a site; it is closed at the end of the program.
static void file_of(char path[32], struct site s)
{
	int fd = memfd_create("test.conf", MFD_CLOEXEC);
	char text[8192];

	site_a_conf(text, sizeof(text), s);
	assert_true(fd >= 0 && fchmod(fd, 0600) == 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	snprintf(path, 32, "/proc/self/fd/%d", fd);
}

static void test_reload(void **state)
{
	struct gateway *g = site_a((struct site){0});
	char before[32], after[32];

	(void)state;
	file_of(before, (struct site){0});
	file_of(after, (struct site){.cipher = "aes-256-cbc",
			       .auth = "hmac-sha2-256-128",
			       .policies = ", { name = \"more\"; action = \"discard\"; }"});
	check(g, (struct step){make_reload, after}, (struct step){make_reload, before});
	gateway_free(g);
}

// The steps of a program that starts.
static bool start(const char *path, struct gateway *g, FILE *errors)
{
	struct build_port ports[PORTS_MAX] = {0};
	struct conf *conf = conf_load(path, NULL, errors);
	char why[256];

	if (conf == NULL)
		return false;
	g->snapshot = build_snapshot(conf, ports, NULL, why, sizeof(why));
	if (g->snapshot == NULL) {
		fputs(why, errors);
	} else if (build_commit(g->snapshot, conf) < 0) {
		fputs("out of memory", errors);
		build_snapshot_free(g->snapshot);
		g->snapshot = NULL;
	} else {
		build_link(g->snapshot, NULL);
		build_link_end(g->snapshot);
	}
	conf_free(conf);
	return g->snapshot != NULL;
}

static void test_start(void **state)
{
	struct gateway g = {.snapshot = NULL};
	bool failed = true;
	char path[32];

	(void)state;
	file_of(path, (struct site){0});
	for (unsigned int n = 1; failed; n++) {
		long live = alloc_live();
		FILE *errors = messages_open();
		bool done;

		alloc_fail(n, n % 2 == 0);
		done = start(path, &g, errors);
		failed = alloc_fail_end();
		fclose(errors);
		if (!done && strstr(messages, "out of memory") == NULL)
			fail_msg("allocation %u: %s", n, messages);
		build_snapshot_free(g.snapshot);
		g.snapshot = NULL;
		ERR_clear_error();
		assert_int_equal(alloc_live(), live);
	}
}

static void change(struct gateway *g, const char *text)
{
	must_apply(g, (struct step){make_change, text});
}

// As reserve_begin() does for an added SA.
static void keep_numbers(struct gateway *g)
{
	struct sa *sa = &gateway_sa_out(g, "n")->sa;

	sa->record->in_file = true;
	sa->record->bound = 1 << 24;
}

// Sends by an SA with a key of that number, which is removed again; or only adds and removes it.
static void key_add_remove(struct gateway *g, unsigned int number, bool used, bool kept)
{
	struct frame out = frame_ip(LAN, outward);
	char text[512];

	snprintf(text, sizeof(text),
		SA("n", "out", "0x9001", "cipher = \"aes-128-gcm\"; cipher_key = \"%08x%032x\";"),
		number, number);
	change(g, text);
	if (kept)
		keep_numbers(g);
	if (used) {
		change(g, "policy set b { out = \"n\"; }");
		gateway_expect_sent(g, &out, WAN);
		change(g, "policy set b { out = \"to-b\"; }");
	}
	change(g, "sa del n");
}

// A record and its node in a tree are left for each key that was used, whether it is in the file or
// not.
static void check_growth(bool kept)
{
	struct gateway *g = site_a((struct site){0});
	const struct sa_ledger *l = running_ledger(g->snapshot);
	unsigned int n;
	long live;

	key_add_remove(g, 1, true, kept);
	live = alloc_live();
	n = l->n;
	for (unsigned int i = 0; i < 100; i++)
		key_add_remove(g, 100 + i, false, false);
	assert_int_equal(alloc_live(), live);
	assert_int_equal(l->n, n);
	for (unsigned int i = 0; i < 100; i++)
		key_add_remove(g, 1000 + i, true, kept);
	assert_int_equal(alloc_live(), live + 200);
	assert_int_equal(l->n, n + 100);
	gateway_free(g);
}

static void test_growth(void **state)
{
	(void)state;
	check_growth(false);
}

static void test_growth_kept(void **state)
{
	(void)state;
	check_growth(true);
}

static int compare(const struct conf *a, const struct conf *b, FILE *out)
{
	struct conf_changes *list = conf_diff(a, b);
	int rc = list != NULL ? 0 : -ENOMEM;

	(void)out;
	conf_changes_free(list);
	return rc;
}

static int print_peer(const struct conf *a, const struct conf *b, FILE *out)
{
	(void)a;
	return conf_print_peer(b, "192.0.2.2", out, out);
}

// Functions that only read configurations: report the lack of memory, and leak nothing.
static void test_reading_reports_lack_of_memory(void **state)
{
	static int (*const reads[])(const struct conf *a, const struct conf *b, FILE *out) = {
		compare, print_peer};
	struct gateway *g = site_a((struct site){0});
	struct conf *changed =
		conf_change(g->conf, "test", changes[0].text, strlen(changes[0].text), stderr);

	(void)state;
	assert_non_null(changed);
	for (size_t i = 0; i < RTE_DIM(reads); i++) {
		bool failed = true;

		for (unsigned int n = 1; failed; n++) {
			FILE *out = messages_open();
			long live = alloc_live();
			int rc;

			alloc_fail(n, n % 2 == 0);
			rc = reads[i](g->conf, changed, out);
			failed = alloc_fail_end();
			if (failed)
				assert_int_equal(rc, -ENOMEM);
			else
				assert_in_range(rc, 0, 100);
			assert_int_equal(alloc_live(), live);
			fclose(out);
		}
	}
	conf_free(changed);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_change),
		pipeline_test(test_change_openssl),
		pipeline_test(test_reload),
		pipeline_test(test_start),
		pipeline_test(test_reading_reports_lack_of_memory),
		pipeline_test(test_growth),
		pipeline_test(test_growth_kept),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
