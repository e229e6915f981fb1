// SPDX-License-Identifier: BSD-3-Clause
// Any octets as they come from the other gateway of a pair, once TLS has opened them: lines, and
// among them those of the channel. Proves that a line that is read can be written and read again,
// and that lines that wait are taken as they were put.
#include <string.h>

#include "fuzz.h"
#include "line.h"
#include "message.h"
#include "test.h"

#define QUEUE_SIZE 1500 // it is full at times
#define CONFIG     "sas=11 routes=22"

static struct line_queue queue;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return line_queue_init(&queue, QUEUE_SIZE);
}

static void hello(const char *line)
{
	char again[LINE_LEN_MAX], differing[PAIR_CONFIG_MAX];
	struct pair_hello h, same;

	if (!pair_hello_read(&h, line) || h.protocol != PAIR_PROTOCOL)
		return;
	assert_in_range(h.member, 1, 2);
	assert_true(pair_hello_write(again, sizeof(again), &h) < sizeof(again));
	assert_true(pair_hello_read(&same, again));
	assert_memory_equal(&same, &h, sizeof(h));
	pair_config_compare(differing, sizeof(differing), CONFIG, h.config);
	assert_int_equal(differing[0] == '\0',
		strcmp(h.config, CONFIG) == 0 || strcmp(h.config, "routes=22 sas=11") == 0);
	pair_config_compare(differing, sizeof(differing), h.config, h.config);
	assert_string_equal(differing, "");
}

static void alive(const char *line)
{
	char again[LINE_LEN_MAX];
	struct pair_alive a, same;

	if (!pair_alive_read(&a, line))
		return;
	pair_alive_write(again, sizeof(again), &a);
	assert_true(pair_alive_read(&same, again));
	assert_memory_equal(&same, &a, sizeof(a));
}

static void config(const char *line)
{
	char text[PAIR_CONFIG_MAX];
	const char *words = strchr(line, ' ') + 1;

	if (pair_config_read(text, words))
		assert_string_equal(text, words);
}

static void beacon(const char *line)
{
	char again[LINE_LEN_MAX];
	struct pair_beacon b, same;

	if (!pair_beacon_read(&b, line))
		return;
	pair_beacon_write(again, sizeof(again), &b);
	assert_true(pair_beacon_read(&same, again));
	assert_memory_equal(&same, &b, sizeof(b));
}

static void use(const char *line)
{
	switch (message_word(line)) {
	case MESSAGE_HELLO:
		hello(line);
		break;
	case MESSAGE_ALIVE:
		alive(line);
		break;
	case MESSAGE_CONFIG:
		config(line);
		break;
	case MESSAGE_BYE:
		break;
	case MESSAGE_USER:
		beacon(line);
	}
}

// Puts a line, after those before it if there is room.
static void wait(const char *line)
{
	char taken[LINE_LEN_MAX];
	size_t len = strlen(line), n;

	if (!line_queue_put(&queue, line, len)) {
		assert_true(line_queue_room(&queue) <= len);
		do
			n = line_queue_take(&queue, taken, sizeof(taken));
		while (queue.len > 0 && n > 0);
		assert_true(line_queue_put(&queue, line, len));
	}
	if (queue.len == len + 1 && len % 2 == 1) { // it is alone, and others stay
		assert_int_equal(line_queue_take(&queue, taken, len), 0);
		assert_int_equal(line_queue_take(&queue, taken, sizeof(taken)), len + 1);
		assert_memory_equal(taken, line, len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct line_reader r = {.len = 0};
	size_t used;

	line_queue_clear(&queue);
	for (size_t part = 1; len > 0; part = part * 3 + 1, input += used, len -= used) {
		enum line_result result =
			line_read(&r, (const char *)input, part < len ? part : len, &used);

		assert_in_range(used, 1, len);
		if (result == LINE_TOO_LONG || result == LINE_NOT_TEXT)
			break; // the connection ends
		if (result == LINE_PART)
			continue;
		assert_true(strlen(r.text) == r.len - 1 && r.len <= LINE_LEN_MAX);
		use(r.text);
		wait(r.text);
	}
	return 0;
}
