// SPDX-License-Identifier: BSD-3-Clause
#include "site_routed.h"

#include "peer.h"

static const char base[] =
	"cpus = { workers = [ 1 ]; }; memory = { size = 64; hugepages = false; };\n"
	"flows = { max = 1024; };\n"
	"state_dir = \"/nowhere\";\n"
	"ports = (\n"
	"  { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; },\n"
	"  { name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; } );\n"
	"routes = (\n"
	"  { to = \"0.0.0.0/0\"; via = \"192.0.2.254\"; },\n"
	"  { to = \"10.2.0.0/16\"; tunnel = \"b\"; },\n"
	"  { to = \"172.16.0.0/12\"; tunnel = \"b\"; },\n"
	"  { to = \"10.6.0.0/16\"; tunnel = \"b\"; down = \"skip\"; },\n"
	"  { to = \"10.3.0.0/16\"; tunnel = \"c\"; },\n"
	"  { to = \"10.9.0.0/16\"; type = \"blackhole\"; } );\n"
	"neighbours = (\n"
	"  { address = \"10.1.0.5\"; mac = \"02:00:00:00:01:00\"; },\n"
	"  { address = \"192.0.2.2\"; mac = \"02:00:00:00:01:01\"; },\n"
	"  { address = \"192.0.2.3\"; mac = \"02:00:00:00:01:01\"; },\n"
	"  { address = \"192.0.2.254\"; mac = \"02:00:00:00:01:01\"; } );\n"
	"sas = ( %s );\n"
	"tunnels = (\n"
	"  { name = \"b\"; out = \"to-b\"; in = \"from-b\"; %s },\n"
	"  { name = \"c\"; out = \"to-c\"; in = \"from-c\"; } );\n"
	"policies = ( { name = \"clear\"; action = \"bypass\"; } );\n"
	"%s\n";

// The ciphers differ in one digit of their keys.
static void sas(char text[static 2048])
{
	static const struct {
		const char *name, *direction, *peer;
		unsigned int spi;
	} sa[] = {
		{"to-b", "out", "192.0.2.2", 0x1001},
		{"from-b", "in", "192.0.2.2", 0x1002},
		{"to-c", "out", "192.0.2.3", 0x2001},
		{"from-c", "in", "192.0.2.3", 0x2002},
	};

	*text = '\0';
	for (unsigned int i = 0; i < RTE_DIM(sa); i++)
		snprintf(text + strlen(text), 2048 - strlen(text),
			"%s\n  { name = \"%s\"; direction = \"%s\"; spi = \"0x%x\"; "
			"local = \"192.0.2.1\"; remote = \"%s\"; cipher = \"aes-128-gcm\"; "
			"cipher_key = \"0001020304050607%u8090a0b0c0d0e0fa0a1a2a3\"; }",
			i > 0 ? "," : "", sa[i].name, sa[i].direction, sa[i].spi, sa[i].peer,
			i + 1);
}

void site_routed_conf(char *text, size_t size, const char *b, const char *more)
{
	char all[2048];

	sas(all);
	snprintf(text, size, base, all, b, more);
}

struct gateway *site_routed(const char *b, const char *more)
{
	char text[4096];

	site_routed_conf(text, sizeof(text), b, more);
	return gateway_new(0, text);
}

void site_routed_expect_into(struct gateway *g, const char *dst, const char *sa)
{
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", dst)), right;
	struct peer peer = peer_new(g, sa);
	uint8_t inner[FRAME_MAX];

	right = frame_after_hops(&f, 1);
	gateway_pass(g, &f, 1);
	expect_all_sent(g, 1, WAN);
	assert_int_equal(peer_open(&peer, &g->sent[0], inner), frame_packet_len(&f));
	assert_memory_equal(inner, frame_packet(&right), frame_packet_len(&f));
	peer_free(&peer);
}

void site_routed_expect_dropped(struct gateway *g, const struct frame *f, enum drop reason)
{
	gateway_pass(g, f, 1);
	assert_int_equal(g->n_sent, 0);
	expect_drops(g, reason, 1);
}

struct frame site_routed_out_of(
	struct gateway *g, const char *sa, unsigned int seq, const char *src)
{
	struct peer peer = peer_new(g, sa);
	struct frame f = peer_seal_ip(&peer, seq, (struct ipv4)FROM_TO(src, "10.1.0.5"));

	peer_free(&peer);
	return f;
}
