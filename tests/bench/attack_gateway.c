// SPDX-License-Identifier: BSD-3-Clause
#include "attack_gateway.h"

#include "conf_text.h"

// The configuration before the SAs. Arguments: settings of the flow table.
static const char form[] =
	"flows = { %s };\n"
	"ports = (\n"
	"  { name = \"lan\"; device = \"net_null0\";\n"
	"    addresses = [ \"10.1.0.1/16\", \"2001:db8:1::1/64\" ]; },\n"
	"  { name = \"wan\"; device = \"net_null1\";\n"
	"    addresses = [ \"198.18.0.1/16\", \"2001:db8:f::1/64\" ]; } );\n"
	"routes = ( { to = \"0.0.0.0/0\"; via = \"198.18.0.2\"; },\n"
	"  { to = \"2001:db8:3::/64\"; via = \"2001:db8:f::2\"; } );\n"
	"neighbours = (\n"
	"  { address = \"10.1.0.2\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"2001:db8:1::2\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"198.18.0.2\"; mac = \"02:00:00:00:02:01\"; },\n"
	"  { address = \"198.18.0.3\"; mac = \"02:00:00:00:02:01\"; },\n"
	"  { address = \"198.18.0.4\"; mac = \"02:00:00:00:02:01\"; },\n"
	"  { address = \"2001:db8:f::2\"; mac = \"02:00:00:00:02:01\"; } );\n"
	"policies = (\n"
	"  { name = \"b\"; local = \"10.1.0.0/16\"; remote = \"10.2.0.0/16\";\n"
	"    action = \"protect\"; out = \"out0\"; in = \"in0\"; },\n"
	"  { name = \"m\"; local = \"10.1.0.0/16\"; remote = \"10.3.0.0/16\";\n"
	"    action = \"protect\"; out = \"out1\"; in = \"in1\"; },\n"
	"  { name = \"m6\"; local = \"2001:db8:1::/64\"; remote = \"2001:db8:3::/64\";\n"
	"    action = \"protect\"; out = \"out1\"; in = \"in1\"; },\n"
	"  { name = \"n\"; local = \"10.1.0.0/16\"; remote = \"10.4.0.0/16\";\n"
	"    action = \"protect\"; out = \"out2\"; in = \"in2\"; } );\n"
	"sas = (\n";

void attack_key(uint8_t key[CRYPTO_CIPHER_KEY_MAX], enum peer peer)
{
	for (unsigned int i = 0; i < CRYPTO_CIPHER_KEY_MAX; i++)
		key[i] = (uint8_t)((peer + 1) * 59 + i * 37);
}

static void sa_write(FILE *f, enum peer peer, bool out)
{
	uint8_t key[CRYPTO_CIPHER_KEY_MAX];

	attack_key(key, peer);
	fprintf(f,
		"%s{ name = \"%s%u\"; direction = \"%s\"; spi = \"%u\"; local = \"198.18.0.1\"; "
		"remote = \"198.18.0.%u\"; cipher = \"aes-128-gcm\"; cipher_key = \"",
		peer > 0 || out ? "," : "", out ? "out" : "in", peer, out ? "out" : "in",
		(out ? PEER_SPI_OUT : PEER_SPI_IN) + peer, 2 + peer);
	for (unsigned int i = 0; i < 20; i++) // the two directions have different keys
		fprintf(f, "%02x", key[i] ^ (out ? 0xff : 0));
	fprintf(f, "\";%s }\n", peer == PEER_N ? " udp = { };" : "");
}

static void conf_write(FILE *f, const void *arg)
{
	const unsigned int *flows_max = arg;
	char flows[32] = "";

	if (*flows_max > 0)
		snprintf(flows, sizeof(flows), "max = %u;", *flows_max);
	fprintf(f, form, flows);
	for (enum peer peer = 0; peer < PEERS; peer++) {
		sa_write(f, peer, false);
		sa_write(f, peer, true);
	}
	fprintf(f, ");\n");
}

struct conf *attack_conf(unsigned int flows_max)
{
	return conf_written(conf_write, &flows_max);
}
