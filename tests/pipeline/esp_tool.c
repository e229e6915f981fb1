// SPDX-License-Identifier: BSD-3-Clause
// Gateway A as a filter, for oracles in other languages: esp_tool CIPHER AUTH, or with a third
// argument, 4 or 6, that of the site with IPv6; the number is the family of the outer header. A
// fourth argument is more settings of the outbound SA.
//
// The first two lines of output are "SA SPI CIPHER-KEY AUTH-KEY" for the SAs to and from gateway B,
// with "-" for no key. Then each line of input, "lan PACKET" or "wan PACKET", is an IP packet
// received from that port. The answer is one line: "sent PACKET..." with the packets sent, "drop
// REASON" or, if the packet is held, "held". Numbers and packets are hexadecimal.
#include "hex.h"
#include "site_v6.h"

#define LINE_LEN (2 * FRAME_MAX + 16)

static void print_hex(const char *before, const uint8_t *p, size_t len)
{
	fputs(before, stdout);
	for (size_t i = 0; i < len; i++)
		printf("%02x", p[i]);
}

static void print_sa(const struct conf_sa *sa)
{
	size_t cipher_key_len = (size_t)sa->opt.cipher->key_len + sa->opt.cipher->salt_len;

	printf("%s %08x", sa->live.name, sa->opt.spi);
	print_hex(cipher_key_len > 0 ? " " : " -", sa->cipher_key, cipher_key_len);
	print_hex(sa->opt.auth->key_len > 0 ? " " : " -", sa->auth_key, sa->opt.auth->key_len);
	putchar('\n');
}

static void answer(const struct gateway *g)
{
	enum drop d = 1;

	while (d < DROP_COUNT && g->last.drops[d] == 0)
		d++;
	if (g->n_sent > 0)
		printf("sent");
	else if (d < DROP_COUNT)
		printf("drop %s", drop_info[d].name);
	else
		printf("held");
	for (unsigned int i = 0; i < g->n_sent; i++)
		print_hex(" ", frame_packet(&g->sent[i]), frame_packet_len(&g->sent[i]));
	putchar('\n');
	fflush(stdout);
}

static bool run_line(struct gateway *g, const char *line)
{
	uint8_t packet[FRAME_MAX];
	int len = strlen(line) > 4 ? hex_parse(packet, sizeof(packet), line + 4) : -1;
	bool lan = strncmp(line, "lan ", 4) == 0;

	if (len <= 0 || (!lan && strncmp(line, "wan ", 4) != 0))
		return false;

	struct frame f = packet[0] >> 4 == 6 ? frame_raw6(lan ? LAN : WAN, packet, (uint16_t)len)
					     : frame_raw(lan ? LAN : WAN, packet, (uint16_t)len);

	gateway_pass(g, &f, 1);
	answer(g);
	return true;
}

int main(int argc, char **argv)
{
	char line[LINE_LEN];
	int rc = 0;

	if (argc < 3 || argc > 5 || harness_start(NULL) < 0 || harness_test_begin(NULL) < 0)
		return 2;

	// Room for ESP around an inner packet of 1500 octets.
	const struct site s = {.cipher = argv[1],
		.auth = argv[2],
		.mtu = 1600,
		.sa_out = argc > 4 ? argv[4] : NULL};
	struct gateway *g =
		argc == 3 ? site_a(s) : site_v6_a(argv[3][0] == '4' ? OVER_V4 : OVER_V6, s);

	for (unsigned int i = 0; i < 2; i++)
		print_sa(&g->conf->sas[i]);
	fflush(stdout);
	while (rc == 0 && fgets(line, sizeof(line), stdin) != NULL)
		rc = run_line(g, line) ? 0 : 2;
	gateway_free(g);
	if (harness_test_end(NULL) < 0)
		rc = 1;
	harness_stop(NULL);
	return rc;
}
