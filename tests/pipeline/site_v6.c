// SPDX-License-Identifier: BSD-3-Clause
#include "site_v6.h"

#define CONF_MAX 8192
#define SA_MAX   512

// The gateway with the number here, whose peer is there. Arguments: here, there, local and remote
// tunnel end, MTU of WAN; for either SA the SPI, and its other settings; more rules; more settings
// of the policies for the tunnel; more policies; MTU of LAN; more settings of ICMP; more settings
// at top level; more of port WAN.
static const char form[] =
	"flows = { max = 4096; };\n%15$s\n"
	"icmp = { errors_per_second = 1000; %14$s };\n"
	"ports = (\n"
	"  { name = \"lan\"; device = \"net_null0\";\n"
	"    addresses = [ \"10.%1$u.0.1/24\", \"2001:db8:%1$u::1/64\" ];\n"
	"    mtu = %13$u; },\n"
	"  { name = \"wan\"; device = \"net_null1\";\n"
	"    addresses = [ \"192.0.2.%1$u/24\", \"2001:db8:f::%1$u/64\" ];\n"
	"    mtu = %5$u; %16$s } );\n"
	"routes = (\n"
	"  { to = \"10.%2$u.0.0/24\"; via = \"192.0.2.%2$u\"; },\n"
	"  { to = \"2001:db8:%2$u::/64\"; via = \"2001:db8:f::%2$u\"; },\n"
	"  { to = \"2001:db8:9::/48\"; via = \"fe80::9\"; port = \"wan\"; } );\n"
	"neighbours = (\n"
	"  { address = \"10.%1$u.0.5\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"2001:db8:%1$u::5\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"fe80::5\"; mac = \"02:00:00:00:02:00\"; port = \"lan\"; },\n"
	"  { address = \"fe80::9\"; mac = \"02:00:00:00:02:01\"; port = \"wan\"; },\n"
	"  { address = \"192.0.2.%2$u\"; mac = \"02:00:00:00:02:01\"; },\n"
	"  { address = \"2001:db8:f::9\"; mac = \"02:00:00:00:02:01\"; },\n"
	"  { address = \"2001:db8:f::%2$u\"; mac = \"02:00:00:00:02:01\"; } );\n"
	"sas = (\n"
	"  { name = \"out\"; direction = \"out\"; spi = \"0x%6$x\"; local = \"%3$s\";\n"
	"    remote = \"%4$s\"; %7$s },\n"
	"  { name = \"in\"; direction = \"in\"; spi = \"0x%8$x\"; local = \"%3$s\";\n"
	"    remote = \"%4$s\"; %9$s } );\n"
	"policies = (\n"
	"  { name = \"six\"; local = \"2001:db8:%1$u::/64\"; remote = \"2001:db8:%2$u::/64\";\n"
	"    action = \"protect\"; out = \"out\"; in = \"in\"; %11$s },\n"
	"  { name = \"four\"; local = \"10.%1$u.0.0/24\"; remote = \"10.%2$u.0.0/24\";\n"
	"    action = \"protect\"; out = \"out\"; in = \"in\"; %11$s },\n"
	"  { name = \"net\"; local = \"2001:db8:%1$u::/64\"; remote = \"2001:db8:9::/48\";\n"
	"    action = \"bypass\"; },\n"
	"  { name = \"lost\"; local = \"2001:db8:%1$u::/64\"; remote = \"2001:db8:8::/48\";\n"
	"    action = \"bypass\"; }%12$s );\n"
	"rules = (\n"
	"  { name = \"telnet\"; proto = \"tcp\"; destination_port = \"23\"; action = \"reject\";\n"
	"    state = [ \"new\" ]; }%10$s );\n";

static void add_key(char *text, const char *name, unsigned int len, unsigned int spi)
{
	char *at = text + strlen(text);

	if (len == 0)
		return;
	at += sprintf(at, " %s = \"", name);
	for (unsigned int i = 0; i < len; i++)
		at += sprintf(at, "%02x", (spi * 31 + i * 7) & 0xff);
	sprintf(at, "\";");
}

// The keys are derived from the SPI, so that both sides have the same.
static void sa_write(char text[SA_MAX], const struct site *s, const char *more, unsigned int spi)
{
	const struct cipher_alg *cipher = cipher_alg_find(s->cipher);
	const struct auth_alg *auth = auth_alg_find(s->auth);

	sprintf(text, "%s cipher = \"%s\"; auth = \"%s\";", more != NULL ? more : "", s->cipher,
		s->auth);
	add_key(text, "cipher_key", cipher->key_len + cipher->salt_len, spi);
	add_key(text, "auth_key", auth->key_len, spi);
	strcat(text, s->sa != NULL ? s->sa : "");
}

static struct gateway *gateway_of(
	unsigned int here, unsigned int there, enum outer outer, struct site s)
{
	char text[CONF_MAX], local[64], remote[64], out[SA_MAX], in[SA_MAX];
	const char *end = outer == OVER_V4 ? "192.0.2.%u" : "2001:db8:f::%u";

	s.cipher = s.cipher != NULL ? s.cipher : "aes-128-gcm";
	s.auth = s.auth != NULL ? s.auth : "none";
	snprintf(local, sizeof(local), end, here);
	snprintf(remote, sizeof(remote), end, there);
	sa_write(out, &s, s.sa_out, 0x1000 + here);
	sa_write(in, &s, s.sa_in, 0x1000 + there);
	snprintf(text, sizeof(text), form, here, there, local, remote, s.mtu != 0 ? s.mtu : 1500,
		0x1000 + here, out, 0x1000 + there, in, s.rules != NULL ? s.rules : "",
		s.tunnel != NULL ? s.tunnel : "", s.policies != NULL ? s.policies : "",
		s.lan_mtu != 0 ? s.lan_mtu : 1500, s.icmp != NULL ? s.icmp : "",
		s.more != NULL ? s.more : "", s.wan != NULL ? s.wan : "");
	return gateway_new(here - 1, text);
}

struct gateway *site_v6_a(enum outer outer, struct site s)
{
	return gateway_of(1, 2, outer, s);
}

struct gateway *site_v6_b(enum outer outer, struct site s)
{
	return gateway_of(2, 1, outer, s);
}

struct gateway *v6_a;

int v6_a_begin(void **state)
{
	if (harness_test_begin(state) < 0)
		return -1;
	v6_a = site_v6_a(OVER_V6, (struct site){0});
	return 0;
}

int v6_a_end(void **state)
{
	gateway_free(v6_a);
	return harness_test_end(state);
}
