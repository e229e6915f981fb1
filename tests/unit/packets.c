// SPDX-License-Identifier: BSD-3-Clause
#include "packets.h"

#include "hex.h"
#include "test.h"

unsigned int packets_each_line(const char *file, void (*use)(char *const word[]))
{
	static char line[4 * PACKETS_LEN_MAX + 256];
	char path[256];
	unsigned int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", VECTORS_DIR, file);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		char *word[PACKETS_WORDS_MAX] = {0};
		unsigned int words = 0;

		if (line[0] == '#')
			continue;
		for (char *w = strtok(line, " \n"); w != NULL; w = strtok(NULL, " \n")) {
			assert_in_range(words, 0, PACKETS_WORDS_MAX - 1);
			word[words++] = w;
		}
		use(word);
		n++;
	}
	fclose(f);
	return n;
}

static const char *wanted_kind;
static void (*wanted_use)(char *const word[]);
static unsigned int wanted_n;

static void use_if_wanted(char *const word[])
{
	if (strcmp(word[0], wanted_kind) != 0)
		return;
	wanted_use(word + 1);
	wanted_n++;
}

unsigned int packets_each(const char *kind, void (*use)(char *const word[]))
{
	wanted_kind = kind;
	wanted_use = use;
	wanted_n = 0;
	packets_each_line("ipv6_packets.txt", use_if_wanted);
	return wanted_n;
}

struct octets packet_octets(const char *word)
{
	uint8_t buf[PACKETS_LEN_MAX];
	int len = hex_parse(buf, sizeof(buf), word);
	struct octets o;

	assert_in_range(len, 1, PACKETS_LEN_MAX);
	o = (struct octets){malloc((size_t)len), (uint32_t)len};
	assert_non_null(o.b);
	memcpy(o.b, buf, o.len);
	return o;
}

struct rte_ether_addr packet_mac(const char *word)
{
	struct rte_ether_addr mac;

	assert_int_equal(rte_ether_unformat_addr(word, &mac), 0);
	return mac;
}
