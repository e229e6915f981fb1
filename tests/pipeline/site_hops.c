// SPDX-License-Identifier: BSD-3-Clause
#include "site_hops.h"

#define SA(name, direction, spi, remote, key)                                                      \
	"  { name = \"" name "\"; direction = \"" direction "\"; spi = \"" spi "\"; local = "      \
	"\"192.0.2.1\"; remote = \"" remote "\"; cipher = \"null\"; auth = \"hmac-sha1-96\"; "     \
	"auth_key = \"00112233445566778899aabbccddeeff001122" key "\"; }"

const char site_hops[] =
	"flows = { max = 16384; };\n"
	"ports = (\n"
	"  { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; },\n"
	"  { name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; },\n"
	"  { name = \"wan2\"; device = \"net_null2\"; addresses = [ \"198.51.100.1/24\" ]; side = "
	"\"unprotected\"; } );\n"
	"routes = (\n"
	"  { to = \"10.5.0.0/16\"; hops = (\n"
	"    { via = \"192.0.2.254\"; weight = 3; }, { via = \"198.51.100.254\"; port = \"wan2\"; "
	"} ); },\n"
	"  { to = \"10.6.0.0/16\"; hops = ( { tunnel = \"b\"; }, { tunnel = \"c\"; } ); },\n"
	"  { to = \"10.7.0.0/16\"; tunnel = \"c\"; },\n"
	"  { to = \"10.12.0.0/15\"; via = \"192.0.2.254\"; },\n"
	"  { to = \"10.12.0.0/16\"; hops = ( { tunnel = \"b\"; }, { tunnel = \"c\"; } ); down = "
	"\"skip\"; } );\n"
	"neighbours = (\n"
	"  { address = \"10.1.0.5\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"192.0.2.2\"; mac = \"02:00:00:00:02:02\"; },\n"
	"  { address = \"192.0.2.3\"; mac = \"02:00:00:00:02:03\"; },\n"
	"  { address = \"192.0.2.251\"; mac = \"02:00:00:00:02:fb\"; },\n"
	"  { address = \"192.0.2.252\"; mac = \"02:00:00:00:02:fc\"; },\n"
	"  { address = \"192.0.2.253\"; mac = \"02:00:00:00:02:fd\"; },\n"
	"  { address = \"192.0.2.254\"; mac = \"02:00:00:00:02:fe\"; },\n"
	"  { address = \"198.51.100.254\"; mac = \"02:00:00:00:02:ff\"; } );\n"
	"sas = (\n" SA("to-b", "out", "0x1001", "192.0.2.2", "33") ",\n" SA(
		"from-b", "in", "0x1002", "192.0.2.2", "34") ",\n" SA("to-c", "out", "0x2001",
		"192.0.2.3", "35") ",\n" SA("from-c", "in", "0x2002", "192.0.2.3",
		"36") " );\n"
		      "tunnels = ( { name = \"b\"; out = \"to-b\"; in = \"from-b\"; },\n"
		      "  { name = \"c\"; out = \"to-c\"; in = \"from-c\"; } );\n"
		      "policies = ( { name = \"clear\"; action = \"bypass\"; } );\n";
