// SPDX-License-Identifier: BSD-3-Clause
#include "packets.h"

#include "hex.h"
#include "test.h"

unsigned int packets_each(const char *kind, void (*use)(char *const word[]))
{
	static char line[4 * PACKETS_LEN_MAX + 256];
	FILE *f = fopen(VECTORS_DIR "/ipv6_packets.txt", "r");
	unsigned int n = 0;

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
		if (strcmp(word[0], kind) != 0)
			continue;
		use(word + 1);
		n++;
	}
	fclose(f);
	return n;
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

struct ip_addr packet_addr(const char *word)
{
	struct ip_addr a;

	assert_int_equal(ip_addr_parse(&a, word), 0);
	return a;
}

struct rte_ether_addr packet_mac(const char *word)
{
	struct rte_ether_addr mac;

	assert_int_equal(rte_ether_unformat_addr(word, &mac), 0);
	return mac;
}
