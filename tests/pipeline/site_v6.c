// SPDX-License-Identifier: BSD-3-Clause
#include "site_v6.h"

#define CONF_MAX 8192

// Of the gateway with the number here, whose peer is there; Arguments: here, there, local and
// remote tunnel end, SPI out, SPI in.
static const char form[] =
	"flows = { max = 4096; };\n"
	"icmp = { errors_per_second = 1000; };\n"
	"ports = (\n"
	"  { name = \"lan\"; device = \"net_null0\";\n"
	"    addresses = [ \"10.%1$u.0.1/24\", \"2001:db8:%1$u::1/64\" ]; },\n"
	"  { name = \"wan\"; device = \"net_null1\";\n"
	"    addresses = [ \"192.0.2.%1$u/24\", \"2001:db8:f::%1$u/64\" ]; } );\n"
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
	"  { name = \"out\"; direction = \"out\"; spi = \"0x%5$x\"; local = \"%3$s\";\n"
	"    remote = \"%4$s\"; cipher = \"aes-128-gcm\";\n"
	"    cipher_key = \"00112233445566778899aabbccddeeff0000%5$x\"; },\n"
	"  { name = \"in\"; direction = \"in\"; spi = \"0x%6$x\"; local = \"%3$s\";\n"
	"    remote = \"%4$s\"; cipher = \"aes-128-gcm\";\n"
	"    cipher_key = \"00112233445566778899aabbccddeeff0000%6$x\"; } );\n"
	"policies = (\n"
	"  { name = \"six\"; local = \"2001:db8:%1$u::/64\"; remote = \"2001:db8:%2$u::/64\";\n"
	"    action = \"protect\"; out = \"out\"; in = \"in\"; },\n"
	"  { name = \"four\"; local = \"10.%1$u.0.0/24\"; remote = \"10.%2$u.0.0/24\";\n"
	"    action = \"protect\"; out = \"out\"; in = \"in\"; },\n"
	"  { name = \"net\"; local = \"2001:db8:%1$u::/64\"; remote = \"2001:db8:9::/48\";\n"
	"    action = \"bypass\"; },\n"
	"  { name = \"lost\"; local = \"2001:db8:%1$u::/64\"; remote = \"2001:db8:8::/48\";\n"
	"    action = \"bypass\"; } );\n"
	"rules = (\n"
	"  { name = \"telnet\"; proto = \"tcp\"; destination_port = \"23\"; action = \"reject\";\n"
	"    state = [ \"new\" ]; } );\n";

static struct gateway *gateway_of(unsigned int here, unsigned int there, enum outer outer)
{
	char text[CONF_MAX], local[64], remote[64];
	const char *end = outer == OVER_V4 ? "192.0.2.%u" : "2001:db8:f::%u";

	snprintf(local, sizeof(local), end, here);
	snprintf(remote, sizeof(remote), end, there);
	snprintf(text, sizeof(text), form, here, there, local, remote, 0x1000 + here,
		0x1000 + there);
	return gateway_new(here - 1, text);
}

struct gateway *site_v6_a(enum outer outer)
{
	return gateway_of(1, 2, outer);
}

struct gateway *site_v6_b(enum outer outer)
{
	return gateway_of(2, 1, outer);
}
