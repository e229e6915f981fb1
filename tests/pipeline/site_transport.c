// SPDX-License-Identifier: BSD-3-Clause
#include "site_transport.h"

#define CONF_MAX 8192

// 1: here, 2: there, 3: mtu of WAN, 4: more policies
static const char form[] =
	"flows = { max = 4096; };\n"
	"ports = (\n"
	"  { name = \"lan\"; device = \"net_null0\";\n"
	"    addresses = [ \"10.%1$u.0.1/24\", \"2001:db8:%1$u::1/64\" ]; },\n"
	"  { name = \"wan\"; device = \"net_null1\"; mtu = %3$u;\n"
	"    addresses = [ \"192.0.2.%1$u/24\", \"2001:db8:f::%1$u/64\" ]; } );\n"
	"routes = (\n"
	"  { to = \"10.%2$u.0.0/24\"; via = \"192.0.2.%2$u\"; },\n"
	"  { to = \"2001:db8:%2$u::/64\"; via = \"2001:db8:f::%2$u\"; } );\n"
	"neighbours = (\n"
	"  { address = \"10.%1$u.0.5\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"2001:db8:%1$u::5\"; mac = \"02:00:00:00:02:00\"; },\n"
	"  { address = \"192.0.2.%2$u\"; mac = \"02:00:00:00:02:01\"; },\n"
	"  { address = \"2001:db8:f::%2$u\"; mac = \"02:00:00:00:02:01\"; } );\n"
	"policies = (\n%4$s"
	"  { name = \"udp\"; proto = \"udp\"; action = \"protect\"; out = \"o1\"; in = \"i1\"; },\n"
	"  { name = \"gre\"; proto = \"gre\"; action = \"protect\"; out = \"o1\"; in = \"i1\"; },\n"
	"  { name = \"udp6\"; proto = \"udp\"; action = \"protect\"; out = \"o2\"; in = \"i2\"; "
	"},\n"
	"  { name = \"own\"; action = \"protect\"; out = \"o3\"; in = \"i3\"; },\n"
	"  { name = \"own6\"; action = \"protect\"; out = \"o4\"; in = \"i4\"; },\n"
	"  { name = \"rest\"; action = \"bypass\"; } );\n"
	"sas = (\n";

static const char *const ends[] = {"10.%u.0.5", "2001:db8:%u::5", "192.0.2.%u", "2001:db8:f::%u"};

static char *sa_write(char *at, const struct site *s, bool out, unsigned int i, unsigned int here)
{
	const struct cipher_alg *cipher = cipher_alg_find(s->cipher);
	const struct auth_alg *auth = auth_alg_find(s->auth);
	const unsigned int lens[] = {cipher->key_len + cipher->salt_len, auth->key_len};
	static const char *const keys[] = {"cipher_key", "auth_key"};
	unsigned int there = 3 - here, spi = (out ? here : there) * 0x1000 + i;

	at += sprintf(at, "  { name = \"%c%u\"; direction = \"%s\"; mode = \"transport\";",
		out ? 'o' : 'i', i + 1, out ? "out" : "in");
	at += sprintf(at, " spi = \"0x%x\"; local = \"", spi);
	at += sprintf(at, ends[i], here);
	at += sprintf(at, "\"; remote = \"");
	at += sprintf(at, ends[i], there);
	at += sprintf(at, "\"; cipher = \"%s\"; auth = \"%s\";", s->cipher, s->auth);
	for (unsigned int k = 0; k < COUNT_OF(keys); k++) {
		at += lens[k] > 0 ? sprintf(at, " %s = \"", keys[k]) : 0;
		for (unsigned int n = 0; n < lens[k]; n++)
			at += sprintf(at, "%02x", (spi * 31 + (spi >> 12) * 59 + n * 7) & 0xff);
		at += lens[k] > 0 ? sprintf(at, "\";") : 0;
	}
	return at + sprintf(at, "%s },\n", s->sa != NULL ? s->sa : "");
}

struct gateway *site_transport(unsigned int here, struct site s)
{
	char text[CONF_MAX], *at = text;

	s.cipher = s.cipher != NULL ? s.cipher : "aes-128-gcm";
	s.auth = s.auth != NULL ? s.auth : "none";
	at += sprintf(at, form, here, 3 - here, s.mtu != 0 ? s.mtu : 1500,
		s.policies != NULL ? s.policies : "");
	for (unsigned int i = 0; i < COUNT_OF(ends); i++) {
		at = sa_write(at, &s, true, i, here);
		at = sa_write(at, &s, false, i, here);
	}
	sprintf(at - 2, ");\n");
	return gateway_new(here - 1, text);
}
