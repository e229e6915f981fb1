// SPDX-License-Identifier: BSD-3-Clause
// ESP in transport mode for a host behind the gateway, received in fragments (RFC 4303 3.4.1).
// Proves that they are reassembled and opened whatever the policies for packets in clear, and that
// fragments of ESP for which no SA can be are dropped at once.
#include <netinet/in.h>

#include "packet_v6.h"
#include "peer.h"
#include "site.h"

#define CUT 64 // octets in the first fragment

#define KEY   " mode = \"transport\"; cipher = \"null\"; auth = \"hmac-sha1-96\";"
#define ENDS4 " local = \"10.1.0.77\"; remote = \"10.2.0.77\";" KEY
#define ENDS6 " local = \"2001:db8:1::77\"; remote = \"2001:db8:2::77\";" KEY

// %s: policies
static const char form[] =
	"flows = { max = 4096; };\n"
	"ports = ( { name = \"lan\"; device = \"net_null0\";\n"
	"            addresses = [ \"10.1.0.1/24\", \"2001:db8:1::1/64\" ]; },\n"
	"  { name = \"wan\"; device = \"net_null1\";\n"
	"    addresses = [ \"192.0.2.1/24\", \"2001:db8:f::1/64\" ]; } );\n"
	"routes = ( { to = \"10.2.0.0/24\"; via = \"192.0.2.2\"; },\n"
	"  { to = \"2001:db8:2::/64\"; via = \"2001:db8:f::2\"; } );\n"
	"sas = ( { name = \"i1\"; direction = \"in\"; spi = \"0x10003\"; " ENDS4
	"    auth_key = \"000102030405060708090a0b0c0d0e0f10111213\"; },\n"
	"  { name = \"o1\"; direction = \"out\"; spi = \"0x10004\"; " ENDS4
	"    auth_key = \"100102030405060708090a0b0c0d0e0f10111213\"; },\n"
	"  { name = \"i2\"; direction = \"in\"; spi = \"0x10007\"; " ENDS6
	"    auth_key = \"200102030405060708090a0b0c0d0e0f10111213\"; },\n"
	"  { name = \"o2\"; direction = \"out\"; spi = \"0x10008\"; " ENDS6
	"    auth_key = \"300102030405060708090a0b0c0d0e0f10111213\"; } );\n"
	"neighbours = ( { address = \"10.1.0.77\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"2001:db8:1::77\"; mac = \"02:00:00:00:02:00\"; } );\n"
	"policies = ( %s );\n";

#define PROTECT(name, more, i)                                                                     \
	"{ name = \"" name "\"; " more " action = \"protect\"; out = \"o" i "\"; in = \"i" i       \
	"\"; },"
#define BY_PORT "proto = \"udp\"; local_port = 5060;"
#define ALL     PROTECT("all", "", "1") PROTECT("all6", "", "2")
#define SIP     PROTECT("sip", BY_PORT, "1") PROTECT("sip6", BY_PORT, "2")
#define REST(a) "{ name = \"rest\"; action = \"" a "\"; }"

static struct gateway *gateway_with(const char *policies)
{
	char text[4096];

	snprintf(text, sizeof(text), form, policies);
	return gateway_new(0, text);
}

// A datagram from port 5060 to 5060.
static struct frame seal(const struct peer *p, uint32_t seq)
{
	uint8_t text[256] = {0x13, 0xc4, 0x13, 0xc4, 0, 200};

	return peer_seal(p, (struct esp){.seq = seq,
				    .text = text,
				    .text_len = peer_trailer(p, text, 200, IPPROTO_UDP)});
}

// Cuts an ESP packet in two; the second part comes first.
static void cut_v4(struct frame f[2], const struct frame *esp)
{
	uint16_t rest = (uint16_t)(frame_packet_len(esp) - IP_LEN - CUT);

	f[0] = f[1] = *esp;
	memmove(f[0].b + ETH_LEN + IP_LEN, f[0].b + ETH_LEN + IP_LEN + CUT, rest);
	f[0].len = (uint16_t)(ETH_LEN + IP_LEN + rest);
	f[1].len = ETH_LEN + IP_LEN + CUT;
	put16(f[0].b + ETH_LEN + 6, CUT / 8);
	put16(f[1].b + ETH_LEN + 6, MF);
	for (unsigned int i = 0; i < 2; i++) {
		put16(f[i].b + ETH_LEN + 2, frame_packet_len(&f[i]));
		ip_checksum_update(f[i].b + ETH_LEN);
	}
}

static void cut_v6(struct frame f[2], const struct frame *esp)
{
	const uint8_t *payload = frame_packet(esp) + IP6_LEN;
	uint16_t rest = (uint16_t)(frame_packet_len(esp) - IP6_LEN - CUT);
	const uint16_t len[2] = {rest, CUT};

	for (unsigned int i = 0; i < 2; i++) {
		uint8_t *packet = f[i].b + ETH_LEN, *ext = packet + IP6_LEN;

		f[i] = *esp;
		f[i].len = (uint16_t)(ETH_LEN + IP6_LEN + 8 + len[i]);
		put16(packet + 4, 8u + len[i]);
		packet[6] = IPPROTO_FRAGMENT;
		put16(ext, IPPROTO_ESP << 8);
		put16(ext + 2, i == 0 ? CUT : 1);
		put32(ext + 4, 77);
		memcpy(ext + 8, payload + (i == 0 ? CUT : 0), len[i]);
	}
}

// A datagram of IPv6 that was received in fragments is sent in fragments again.
static void check(const char *more, const char *sa, bool v4)
{
	struct gateway *g = gateway_with(more);
	struct peer host = peer_new(g, sa);
	struct frame esp = seal(&host, 1), f[2];
	uint32_t octets = 0;

	print_message("  policies %s\n", more);
	(v4 ? cut_v4 : cut_v6)(f, &esp);
	gateway_pass(g, f, 2);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, v4 ? 1 : 2, LAN);
	for (unsigned int i = 0; i < g->n_sent; i++)
		octets += frame_packet_len(&g->sent[i]) - (v4 ? IP_LEN : IP6_LEN + 8u);
	assert_int_equal(octets, 200);
	peer_free(&host);
	gateway_free(g);
}

// Policies for ESP in clear between the hosts do not apply to ESP for an SA.
static void test_opened(void **state)
{
	static const char *const policies[] = {
		ALL REST("bypass"), ALL REST("discard"), SIP REST("bypass"), SIP REST("discard")};

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(policies); i++) {
		check(policies[i], "i1", true);
		check(policies[i], "i2", false);
	}
}

// --- packets of another implementation ---

static const char first_v4[] = "4500003400072000403245f50a02004d0a01004d00010003000000015a5a5a5a"
			       "000000011f0531e7a3a60ac82ed3ad45528f7f3f";
static const char first_v6[] = "6000000000282c4020010db8000200000000000000000077"
			       "20010db8000100000000000000000077320000010000000700010003000000015a"
			       "5a5a5a00000001977b4684371260c2fc1c26ae637f2313";

static struct frame first_of(const char *hex)
{
	struct frame f = frame_hex_ip(WAN, hex);

	if (f.b[ETH_LEN] >> 4 == 6)
		put16(f.b + 12, 0x86dd);
	return f;
}

#define N_OTHERS 8

// Passes first fragments whose last octet of an end is another. Returns how many are discarded.
static unsigned int discarded(struct gateway *g, const char *hex, unsigned int end)
{
	unsigned int n = 0;

	for (uint8_t i = 1; i <= N_OTHERS; i++) {
		struct frame f = first_of(hex);

		f.b[ETH_LEN + end - 1] ^= i;
		if (f.b[ETH_LEN] == 0x45)
			ip_checksum_update(f.b + ETH_LEN);
		gateway_pass(g, &f, 1);
		n += (unsigned int)g->last.drops[DROP_POLICY_DISCARD];
	}
	return n;
}

// Fragments that one SA may open wait for the others; between other ends they do not, but for one
// pair of ends in five hundred (sad_has_ends).
static void check_first(const char *hex, unsigned int src_end, unsigned int dst_end)
{
	struct gateway *g = gateway_with(ALL REST("discard"));
	struct frame f = first_of(hex);

	gateway_pass(g, &f, 1);
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(worker_held(g->w), 1);
	assert_true(discarded(g, hex, src_end) + discarded(g, hex, dst_end) >= 2 * N_OTHERS - 2);
	gateway_free(g);
}

static void test_first(void **state)
{
	(void)state;
	check_first(first_v4, 16, 20);
	check_first(first_v6, 24, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_opened),
		pipeline_test(test_first),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
