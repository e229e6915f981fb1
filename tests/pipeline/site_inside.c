// SPDX-License-Identifier: BSD-3-Clause
#include "site_inside.h"

#include "site.h"

#define SA(name, direction, spi, remote, digit)                                                    \
	"  { name = \"" name "\"; direction = \"" direction "\"; spi = \"" spi                     \
	"\"; remote = \"" remote "\"; "                                                            \
	"cipher = \"aes-128-gcm\"; cipher_key = \"0001020304050607" digit                          \
	"8090a0b0c0d0e0fa0a1a2a3\"; local = \"192.0.2.1\"; }"

static const char text[] =
	"cpus = { workers = [ 1 ]; }; memory = { size = 64; hugepages = false; }; flows = { max = "
	"1024; };\n"
	"state_dir = \"/nowhere\";\n"
	"ports = (\n"
	"  { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\", "
	"\"2001:db8:1::1/64\" ]; },\n"
	"  { name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; } );\n"
	"routes = (\n"
	"  { to = \"0.0.0.0/0\"; via = \"192.0.2.254\"; },\n"
	"  { to = \"10.2.0.0/16\"; tunnel = \"b\"; }, { to = \"169.254.10.1/32\"; tunnel = \"c\"; "
	"},\n"
	"  { to = \"10.3.0.0/16\"; tunnel = \"c\"; } );\n"
	"neighbours = (\n"
	"  { address = \"10.1.0.5\"; mac = \"02:00:00:00:01:00\"; },\n"
	"  { address = \"192.0.2.2\"; mac = \"02:00:00:00:01:01\"; },\n"
	"  { address = \"192.0.2.3\"; mac = \"02:00:00:00:01:01\"; },\n"
	"  { address = \"192.0.2.254\"; mac = \"02:00:00:00:01:01\"; } );\n"
	"sas = (\n" SA("to-b", "out", "0x1001", "192.0.2.2", "1") ",\n" SA(
		"from-b", "in", "0x1002", "192.0.2.2", "2") ",\n" SA("to-c", "out", "0x2001",
		"192.0.2.3", "3") ",\n" SA("from-c", "in", "0x2002", "192.0.2.3",
		"4") " );\n"
		     "tunnels = (\n"
		     "  { name = \"b\"; out = \"to-b\"; in = \"from-b\"; addresses = [ "
		     "\"169.254.10.1/30\", "
		     "\"fd00:b::1/64\" ]; %s },\n"
		     "  { name = \"c\"; out = \"to-c\"; in = \"from-c\"; addresses = [ "
		     "\"169.254.20.1/30\", "
		     "\"fe80::c/64\" ]; %s } );\n"
		     "policies = ( { name = \"clear\"; action = \"bypass\"; } );\n"
		     "%s\n";

struct gateway *inside_gateway(const char *b, const char *more)
{
	char conf[4096];

	snprintf(conf, sizeof(conf), text, b, "", more);
	return gateway_new(0, conf);
}

struct conf *inside_conf(const char *b, const char *c)
{
	char conf[4096];

	snprintf(conf, sizeof(conf), text, b, c, "");
	return harness_conf(conf, strlen(conf), stderr);
}

struct frame inside_out_of(
	struct gateway *g, const char *sa, unsigned int seq, const uint8_t *packet, uint16_t len)
{
	struct peer peer = peer_new(g, sa);
	struct frame f = peer_seal_packet(&peer, seq, packet, len);

	peer_free(&peer);
	return f;
}

uint16_t inside_sent(struct gateway *g, const char *sa, uint8_t *inner)
{
	struct peer peer = peer_new(g, sa);
	uint16_t len;

	expect_all_sent(g, 1, WAN);
	len = peer_open(&peer, &g->sent[0], inner);
	peer_free(&peer);
	return len;
}
