// SPDX-License-Identifier: BSD-3-Clause
// The channel of a pair over loopback: two of them, strangers, and a link that fails in one
// direction.
#include <errno.h>
#include <unistd.h>

#include "pair_site.h"
#include "test.h"

struct wanted {
	struct channel *ch;
	enum channel_phase phase;
	const char *error; // that the text contains; NULL: any
	uint64_t strangers;
};

static bool is_wanted(void *arg)
{
	const struct wanted *w = arg;
	struct channel_state s;

	channel_state(w->ch, &s);
	return s.phase == w->phase && (w->error == NULL || strstr(s.error, w->error) != NULL) &&
	       s.strangers >= w->strangers;
}

static void becomes(struct channel *ch, enum channel_phase phase, const char *error)
{
	struct wanted w = {.ch = ch, .phase = phase, .error = error};
	struct channel_state s;

	if (site_wait(is_wanted, &w))
		return;
	channel_state(ch, &s);
	fail_msg("it is %s, error \"%s\"", channel_phase_names[s.phase], s.error);
}

static struct channel *a, *b;

static void start(uint16_t port)
{
	struct channel_params pa = site_params(true, port), pb = site_params(false, port);

	a = site_start(&pa);
	b = site_start(&pb);
	becomes(a, CHANNEL_IN_SYNC, NULL);
	becomes(b, CHANNEL_IN_SYNC, NULL);
}

static void stop(void)
{
	channel_free(a);
	channel_free(b);
	a = b = NULL;
}

static bool has_line(void *arg)
{
	char line[LINE_LEN_MAX];

	return channel_receive(*(struct channel **)arg, line);
}

// --- two channels ---

static void lines_pass_in_order(void **state)
{
	char line[LINE_LEN_MAX], sent[LINE_LEN_MAX];
	struct channel_state s;

	(void)state;
	start(site_port());
	assert_false(channel_send(a, "early", 5)); // it has not looked for the connection
	assert_true(channel_epoch(a) != 0 && channel_epoch(b) != 0);
	memset(sent, '~', sizeof(sent));
	sent[LINE_LEN_MAX - 1] = '\0';
	assert_true(channel_send(a, sent, LINE_LEN_MAX - 1));
	for (int i = 0; i < 1000; i++)
		assert_true(channel_send(a, line, (size_t)sprintf(line, "number %d", i)));
	for (int i = -1; i < 1000; i++) {
		if (i >= 0)
			sprintf(sent, "number %d", i);
		for (unsigned int k = 0; !channel_receive(b, line); k++) {
			assert_true(k < 2000);
			usleep(5000);
		}
		assert_string_equal(line, sent);
	}
	assert_true(channel_send(b, "back", 4));
	assert_true(site_wait(has_line, &a));
	for (unsigned int k = 0; k < 2000; k++, usleep(5000)) {
		channel_state(a, &s);
		if (s.sent_taken == s.sent)
			break;
	}
	assert_int_equal(s.sent, 1001);
	assert_int_equal(s.sent_taken, 1001);
	assert_int_equal(s.received_taken, 1);
	stop();
}

static bool differs(void *arg)
{
	struct channel_state s;

	channel_state(a, &s);
	return strcmp(s.config, arg) == 0;
}

static void hellos_are_known_and_configurations_compared(void **state)
{
	uint16_t port = site_port();
	struct channel_params pa = site_params(true, port), pb = site_params(false, port);
	struct channel_state s;

	(void)state;
	assert_int_equal(channel_new(&a, &pa), 0);
	assert_int_equal(channel_new(&b, &pb), 0);
	channel_config_set(a, "sas=11 routes=22 rules=33");
	channel_config_set(b, "sas=11 routes=23 nat=44");
	channel_start(a, NULL, NULL);
	channel_start(b, NULL, NULL);
	becomes(a, CHANNEL_IN_SYNC, NULL);
	channel_state(a, &s);
	assert_int_equal(s.peer.member, 2);
	assert_string_equal(s.peer.name, "gw-b");
	assert_string_equal(s.peer.version, "0.1");
	assert_string_equal(s.config, "routes,rules,nat");
	assert_true(s.received_ms < 10000 && s.confirmed_ms < 10000 && s.since_ms < 10000);
	channel_config_set(b, "sas=11 routes=22 rules=33");
	assert_true(site_wait(differs, ""));
	stop();
}

// A reader that takes nothing has lines wait, and loses neither them nor the connection.
static void a_slow_reader_loses_nothing(void **state)
{
	uint64_t epoch, sent = 0, taken = 0;
	struct channel_state s;
	char line[LINE_LEN_MAX];

	(void)state;
	start(site_port());
	epoch = channel_epoch(a);
	channel_epoch(b);
	for (unsigned int quiet = 0; quiet < 300; quiet++, usleep(5000)) // the kernel takes much
		while (channel_send(a, line, (size_t)sprintf(line, "%0900lu", sent))) {
			sent++;
			quiet = 0;
		}
	becomes(a, CHANNEL_ONE_WAY, NULL); // nothing is confirmed any more
	channel_state(a, &s);
	assert_true(s.sent_late && s.sent - s.sent_taken > 2 * CHANNEL_QUEUE_MAX / 901 - 10);
	for (unsigned int k = 0; taken < sent && k < 20000; k++) {
		if (!channel_receive(b, line))
			usleep(1000);
		else
			assert_int_equal(strtoul(line, NULL, 10), taken++);
	}
	assert_int_equal(taken, sent);
	becomes(a, CHANNEL_IN_SYNC, NULL);
	assert_int_equal(channel_epoch(a), epoch);
	stop();
}

static bool has_other_epoch(void *arg)
{
	struct channel_state s;

	channel_state(a, &s);
	return s.epoch != 0 && s.epoch != *(uint64_t *)arg;
}

static void a_restart_is_another_connection(void **state)
{
	uint16_t port = site_port();
	struct channel_params pb = site_params(false, port);
	uint64_t epoch;

	(void)state;
	start(port);
	epoch = channel_epoch(a);
	channel_free(b);
	becomes(a, CHANNEL_CONNECTING, "the other gateway: it was stopped");
	assert_false(channel_send(a, "x", 1));
	b = site_start(&pb);
	becomes(a, CHANNEL_IN_SYNC, NULL);
	assert_true(has_other_epoch(&epoch));
	assert_false(channel_send(a, "x", 1)); // of the connection before
	assert_true(channel_epoch(a) != epoch);
	assert_true(channel_send(a, "x", 1));
	stop();
}

static void mistakes_are_refused_at_both_ends(void **state)
{
	uint16_t port = site_port();
	struct channel_params pa = site_params(true, port), pb = site_params(false, port);

	(void)state;
	pb.member = 1;
	a = site_start(&pa);
	b = site_start(&pb);
	becomes(a, CHANNEL_REFUSED,
		"both gateways are member 1: set pair.member of one of them to 2");
	becomes(b, CHANNEL_REFUSED,
		"both gateways are member 1: set pair.member of one of them to 2");
	stop();
	pa = site_params(true, port = site_port());
	pb = site_params(false, port);
	pb.certificate = site_certificate[KEY_STRANGER];
	pb.key = site_key[KEY_STRANGER];
	a = site_start(&pa);
	b = site_start(&pb);
	becomes(a, CHANNEL_REFUSED, "it has another certificate than peer_certificate here");
	becomes(b, CHANNEL_REFUSED, "it refuses the certificate of this gateway");
	stop();
	pa = site_params(true, port = site_port());
	pb = site_params(false, port);
	pb.peer_certificate = site_certificate[KEY_STRANGER];
	a = site_start(&pa);
	b = site_start(&pb);
	becomes(a, CHANNEL_REFUSED, "it refuses the certificate of this gateway");
	becomes(b, CHANNEL_REFUSED, "it has another certificate than peer_certificate here");
	stop();
}

static void unusable_keys_are_an_error(void **state)
{
	struct channel_params p = site_params(true, site_port());

	(void)state;
	p.key = "no key";
	assert_int_equal(channel_new(&a, &p), -EINVAL);
	p = site_params(true, site_port());
	p.key = site_key[KEY_B];
	assert_int_equal(channel_new(&a, &p), -EINVAL);
}

// --- strangers ---

static void refused_so_far(struct channel *ch, enum channel_phase phase, uint64_t n)
{
	struct wanted w = {.ch = ch, .phase = phase, .strangers = n};

	assert_true(site_wait(is_wanted, &w));
}

static void strangers_do_not_disturb_the_connection(void **state)
{
	uint16_t port = site_port();
	char octet, line[2 * LINE_LEN_MAX];
	struct site_client c;
	uint64_t epoch;
	int fd;

	(void)state;
	start(port);
	epoch = channel_epoch(a);
	if (site_client(&c, KEY_STRANGER, port, TLS1_3_VERSION)) // it learns it only by reading
		assert_false(site_client_read(&c, "hello", line));
	site_client_end(&c);
	refused_so_far(a, CHANNEL_IN_SYNC, 1);
	assert_false(site_client(&c, KEY_B, port, TLS1_2_VERSION));
	site_client_end(&c);
	refused_so_far(a, CHANNEL_IN_SYNC, 2);
	fd = site_connect(SITE_CONNECTS, port);
	assert_int_equal(write(fd, "GET / HTTP/1.1\r\n\r\n", 18), 18);
	while (read(fd, &octet, 1) > 0) // an alert
		;
	close(fd);
	refused_so_far(a, CHANNEL_IN_SYNC, 3);
	fd = site_connect("127.0.0.9", port);
	assert_int_equal(read(fd, &octet, 1), 0);
	close(fd);
	refused_so_far(a, CHANNEL_IN_SYNC, 4);
	assert_int_equal(channel_epoch(a), epoch);
	stop();
}

static void connections_without_a_handshake_keep_nobody_out(void **state)
{
	uint16_t port = site_port();
	struct channel_params pa = site_params(true, port), pb = site_params(false, port);
	char octet;
	int fd[12];

	(void)state;
	a = site_start(&pa);
	for (unsigned int i = 0; i < COUNT_OF(fd); i++)
		fd[i] = site_connect(SITE_CONNECTS, port);
	b = site_start(&pb);
	becomes(a, CHANNEL_IN_SYNC, NULL);
	for (unsigned int i = 0; i < COUNT_OF(fd); i++) {
		assert_int_equal(read(fd[i], &octet, 1), 0);
		close(fd[i]);
	}
	refused_so_far(a, CHANNEL_IN_SYNC, COUNT_OF(fd));
	stop();
}

// --- a peer that has the right key, and breaks the rules ---

static struct channel *alone(uint16_t port)
{
	struct channel_params pa = site_params(true, port);

	return site_start(&pa);
}

#define HELLO "hello 1 member=2 name=gw-b version=0.1 sas=11\n"

// These octets end the connection, for this reason.
static void check_ended(const char *octets, size_t len, enum channel_phase phase, const char *why)
{
	uint16_t port = site_port();
	char line[2 * LINE_LEN_MAX];
	struct site_client c;

	a = alone(port);
	assert_true(site_client(&c, KEY_B, port, TLS1_3_VERSION));
	site_client_send(&c, octets, len);
	assert_true(site_client_read(&c, "bye ", line));
	assert_non_null(strstr(line, why));
	becomes(a, phase, why);
	site_client_end(&c);
	channel_free(a);
	a = NULL;
}

#define ENDED(text, why)   check_ended(text, strlen(text), CHANNEL_CONNECTING, why)
#define REFUSED(text, why) check_ended(text, strlen(text), CHANNEL_REFUSED, why)

static void other_lines_end_the_connection(void **state)
{
	static char line[sizeof(HELLO) + LINE_LEN_MAX];

	(void)state;
	memset(line, 'x', sizeof(line));
	memcpy(line, HELLO, strlen(HELLO));
	check_ended(line, sizeof(line), CHANNEL_CONNECTING, "a line is longer than 1024 octets");
	ENDED(HELLO "tab\there\n", "a line is not printable ASCII");
	check_ended(HELLO "a\0b\n", sizeof(HELLO) + 3, CHANNEL_CONNECTING,
		"a line is not printable ASCII");
	ENDED(HELLO HELLO, "a line of the channel is malformed");
	ENDED(HELLO "alive 1 2\n", "a line of the channel is malformed");
	ENDED(HELLO "alive 0 1 0\n", "a line of the channel is malformed"); // none was sent
	ENDED(HELLO "config x\n", "a line of the channel is malformed");
	REFUSED("hello 2 something=else\n", "one gateway speaks protocol 2 of the channel");
	REFUSED("hello 1 member=1 name=c version=0.1 \n", "both gateways are member 1");
	REFUSED("good day\n", "first line is no hello");
	REFUSED("hello 1 member=3 name=c version=0.1 \n", "first line is no hello");
}

static void silence_ends_the_connection(void **state)
{
	uint16_t port = site_port();
	char line[2 * LINE_LEN_MAX];
	struct site_client c;

	(void)state;
	a = alone(port);
	assert_true(site_client(&c, KEY_B, port, TLS1_3_VERSION));
	assert_true(site_client_read(&c, "hello 1 member=1 name=gw-a version=0.1", line));
	site_client_send(&c, HELLO, strlen(HELLO));
	assert_true(site_client_read(&c, "alive 0 0 0", line));
	assert_true(site_client_read(&c, "bye nothing was received for a second", line));
	becomes(a, CHANNEL_CONNECTING, "nothing was received for a second");
	site_client_end(&c);
	stop();
}

static void the_last_one_that_authenticates_is_the_connection(void **state)
{
	uint16_t port = site_port();
	char line[2 * LINE_LEN_MAX];
	struct site_client c, d;
	uint64_t epoch;

	(void)state;
	a = alone(port);
	assert_true(site_client(&c, KEY_B, port, TLS1_3_VERSION));
	site_client_send(&c, HELLO, strlen(HELLO));
	becomes(a, CHANNEL_IN_SYNC, NULL);
	epoch = channel_epoch(a);
	assert_true(site_client(&d, KEY_B, port, TLS1_3_VERSION));
	site_client_send(&d, HELLO, strlen(HELLO));
	assert_true(site_client_read(&c, "bye another connection has replaced it", line));
	assert_true(site_wait(has_other_epoch, &epoch));
	site_client_end(&c);
	site_client_end(&d);
	stop();
}

// --- a link that fails ---

static void a_direction_that_fails_is_seen(void **state)
{
	uint16_t port = site_port();
	struct channel_params pa = site_params(true, port), pb = site_params(false, port);
	struct channel_state s;

	(void)state;
	assert_int_equal(ip_addr_parse(&pa.peer, SITE_PROXY), 0);
	pb.peer = pa.peer;
	site_proxy_start(port);
	a = site_start(&pa);
	b = site_start(&pb);
	becomes(a, CHANNEL_IN_SYNC, NULL);
	becomes(b, CHANNEL_IN_SYNC, NULL);
	site_proxy_cut(false, true);
	becomes(a, CHANNEL_ONE_WAY, NULL);
	becomes(b, CHANNEL_CONNECTING, "");
	becomes(a, CHANNEL_ONE_WAY, "receives nothing from this one");
	channel_state(b, &s);
	assert_true(s.received_ms >= 900);
	site_proxy_cut(true, true);
	becomes(a, CHANNEL_CONNECTING, NULL);
	becomes(b, CHANNEL_CONNECTING, NULL);
	site_proxy_cut(true, false);
	becomes(b, CHANNEL_ONE_WAY, NULL);
	becomes(a, CHANNEL_CONNECTING, NULL);
	site_proxy_cut(false, false);
	becomes(a, CHANNEL_IN_SYNC, NULL);
	becomes(b, CHANNEL_IN_SYNC, NULL);
	stop();
	site_proxy_stop();
}

// The address comes later, or is that of somebody else.
static void an_address_that_is_missing_is_an_error(void **state)
{
	struct channel_params p = site_params(true, site_port());

	(void)state;
	assert_int_equal(ip_addr_parse(&p.address, "192.0.2.77"), 0);
	assert_int_equal(ip_addr_parse(&p.peer, "192.0.2.78"), 0);
	a = site_start(&p);
	becomes(a, CHANNEL_CONNECTING, "cannot use pair.address 192.0.2.77");
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_pass_in_order),
		cmocka_unit_test(hellos_are_known_and_configurations_compared),
		cmocka_unit_test(a_slow_reader_loses_nothing),
		cmocka_unit_test(a_restart_is_another_connection),
		cmocka_unit_test(mistakes_are_refused_at_both_ends),
		cmocka_unit_test(unusable_keys_are_an_error),
		cmocka_unit_test(strangers_do_not_disturb_the_connection),
		cmocka_unit_test(connections_without_a_handshake_keep_nobody_out),
		cmocka_unit_test(other_lines_end_the_connection),
		cmocka_unit_test(silence_ends_the_connection),
		cmocka_unit_test(the_last_one_that_authenticates_is_the_connection),
		cmocka_unit_test(a_direction_that_fails_is_seen),
		cmocka_unit_test(an_address_that_is_missing_is_an_error),
	};

	return cmocka_run_group_tests(tests, site_make, site_remove);
}
