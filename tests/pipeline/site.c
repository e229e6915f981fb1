// SPDX-License-Identifier: BSD-3-Clause
#include "site.h"

#include <stdarg.h>

#define CONF_MAX 8192

struct text {
	char *to;
	size_t size, len;
};

static __attribute__((format(printf, 2, 3))) void add(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	t->len += (size_t)vsnprintf(t->to + t->len, t->size - t->len, fmt, ap);
	va_end(ap);
	if (t->len >= t->size)
		abort();
}

static void defaults(struct site *s)
{
	s->cipher = s->cipher != NULL ? s->cipher : "aes-128-gcm";
	s->auth = s->auth != NULL ? s->auth : "none";
	s->mtu = s->mtu != 0 ? s->mtu : 1500;
	s->lan_mtu = s->lan_mtu != 0 ? s->lan_mtu : 1500;
	s->window = s->window != 0 ? s->window : 64;
	s->errors_per_second = s->errors_per_second != 0 ? s->errors_per_second : 1000;
	s->hold = s->hold != 0 ? s->hold : 256;
	s->wan = s->wan != NULL ? s->wan : "";
	s->icmp = s->icmp != NULL ? s->icmp : "";
	s->tunnel = s->tunnel != NULL ? s->tunnel : "";
	s->policies = s->policies != NULL ? s->policies : "";
}

static void add_key(struct text *t, const char *name, unsigned int len, unsigned int spi)
{
	if (len == 0)
		return;
	add(t, " %s = \"0x", name);
	for (unsigned int i = 0; i < len; i++)
		add(t, "%02x", ((spi >> 12) * 59 + spi * 31 + i * 7) & 0xff);
	add(t, "\";");
}

// An SA of A or of a peer: the keys are derived from the SPI, so that both sides have the same.
static void add_sa(struct text *t, const char *name, const char *direction, unsigned int spi,
	const char *local, const char *remote, const struct site *s)
{
	const struct cipher_alg *cipher = cipher_alg_find(s->cipher);
	const struct auth_alg *auth = auth_alg_find(s->auth);
	const char *more = strcmp(direction, "in") == 0 ? s->sa_in : s->sa_out;

	add(t,
		"  { name = \"%s\"; direction = \"%s\"; spi = \"0x%x\"; local = \"%s\"; "
		"remote = \"%s\"; cipher = \"%s\"; auth = \"%s\";",
		name, direction, spi, local, remote, s->cipher, s->auth);
	add_key(t, "cipher_key", cipher->key_len + cipher->salt_len, spi);
	add_key(t, "auth_key", auth->key_len, spi);
	if (strcmp(direction, "in") == 0)
		add(t, " replay_window = %u;", s->window);
	add(t, "%s%s },\n", s->sa != NULL ? s->sa : "", more != NULL ? more : "");
}

static void add_neighbour(struct text *t, const char *addr, uint16_t port)
{
	const uint8_t *mac = mac_of_neighbour(port);

	add(t, "  { address = \"%s\"; mac = \"%02x:%02x:%02x:%02x:%02x:%02x\"; },\n", addr, mac[0],
		mac[1], mac[2], mac[3], mac[4], mac[5]);
}

// Removes the comma after the last element.
static void end_list(struct text *t)
{
	t->len -= 2;
	add(t, "\n);\n");
}

static void add_limits(struct text *t, const struct site *s)
{
	add(t, "flows = { max = 4096; };\n");
	add(t, "icmp = { errors_per_second = %u; %s };\n", s->errors_per_second, s->icmp);
	add(t, "neighbour_table = { hold = %u; };\n", s->hold);
	add(t, "%s\n", s->more != NULL ? s->more : "");
}

void site_a_conf(char *text, size_t size, struct site s)
{
	static const struct site to_c = {
		.cipher = "aes-256-cbc", .auth = "hmac-sha2-256-128", .window = 1024};
	struct text t = {text, size, 0};

	defaults(&s);
	add_limits(&t, &s);
	add(&t,
		"ports = (\n"
		"  { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; mtu "
		"= %u; },\n"
		"  { name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; mtu "
		"= %u; %s },\n"
		"  { name = \"dmz\"; device = \"net_null2\"; addresses = [ \"10.7.0.1/24\" ]; mtu "
		"= 600; }\n"
		");\n",
		s.lan_mtu, s.mtu, s.wan);
	add(&t, "routes = (\n"
		"  { to = \"10.2.0.0/24\"; via = \"192.0.2.2\"; },\n"
		"  { to = \"10.3.0.0/24\"; via = \"192.0.2.3\"; },\n"
		"  { to = \"198.51.100.0/24\"; via = \"192.0.2.254\"; },\n"
		"  { to = \"203.0.113.0/24\"; via = \"192.0.2.254\"; }\n"
		");\n");
	add(&t, "neighbours = (\n");
	add_neighbour(&t, "10.1.0.5", LAN);
	add_neighbour(&t, "192.0.2.2", WAN);
	add_neighbour(&t, "192.0.2.3", WAN);
	add_neighbour(&t, "192.0.2.254", WAN);
	add_neighbour(&t, "10.7.0.5", DMZ);
	end_list(&t);
	add(&t, "sas = (\n");
	add_sa(&t, "to-b", "out", 0x1001, "192.0.2.1", "192.0.2.2", &s);
	add_sa(&t, "from-b", "in", 0x1002, "192.0.2.1", "192.0.2.2", &s);
	add_sa(&t, "to-c", "out", 0x2001, "192.0.2.1", "192.0.2.3", &to_c);
	add_sa(&t, "from-c", "in", 0x2002, "192.0.2.1", "192.0.2.3", &to_c);
	end_list(&t);
	add(&t,
		"policies = (\n"
		"  { name = \"b\"; local = \"10.1.0.0/24\"; remote = \"10.2.0.0/24\";"
		"    action = \"protect\"; out = \"to-b\"; in = \"from-b\"; %s },\n"
		"  { name = \"c\"; local = \"10.1.0.0/24\"; remote = \"10.3.0.0/24\";"
		"    action = \"protect\"; out = \"to-c\"; in = \"from-c\"; },\n"
		"  { name = \"ports\"; local = \"10.1.0.0/24\"; remote = \"10.4.0.0/24\"; proto = "
		"\"udp\";"
		"    remote_port = \"5000-5010\"; action = \"protect\"; out = \"to-b\"; in = "
		"\"from-b\"; },\n"
		"  { name = \"c-to-b\"; local = \"10.3.0.0/24\"; remote = \"10.2.0.0/24\";"
		"    action = \"protect\"; out = \"to-b\"; in = \"from-b\"; },\n"
		"  { name = \"b-to-c\"; local = \"10.2.0.0/24\"; remote = \"10.3.0.0/24\";"
		"    action = \"protect\"; out = \"to-c\"; in = \"from-c\"; },\n"
		"  { name = \"dmz\"; local = \"10.1.0.0/24\"; remote = \"10.7.0.0/24\"; action = "
		"\"bypass\"; },\n"
		"  { name = \"echo\"; local = \"10.1.0.0/24\"; remote = \"198.51.100.0/24\"; proto "
		"= \"udp\";"
		"    remote_port = \"7\"; action = \"discard\"; },\n"
		"  { name = \"internet\"; local = \"10.1.0.0/24\"; remote = \"198.51.100.0/24\";"
		"    action = \"bypass\"; },\n"
		"  { name = \"lost\"; local = \"10.1.0.0/24\"; remote = \"198.18.0.0/15\";"
		"    action = \"bypass\"; },\n"
		"  { name = \"bad\"; local = \"10.1.0.0/24\"; remote = \"203.0.113.0/24\";"
		"    action = \"discard\"; }%s\n"
		");\n",
		s.tunnel, s.policies);
}

struct gateway *site_a(struct site s)
{
	char text[CONF_MAX];

	site_a_conf(text, sizeof(text), s);
	return gateway_new(0, text);
}

struct gateway *site_a_host(uint16_t port, struct site s)
{
	struct gateway *g;

	s.wan = "host = \"gw0\";";
	g = site_a(s);
	gateway_host_add(g, port);
	return g;
}

// Replaces the first occurrence of a text.
static void edit(char *text, size_t size, const char *old, const char *new)
{
	char *at = strstr(text, old);
	size_t old_len = strlen(old), new_len = strlen(new);

	assert_non_null(at);
	assert_in_range(strlen(text) + new_len - old_len, 0, size - 1);
	memmove(at + new_len, at + old_len, strlen(at + old_len) + 1);
	memcpy(at, new, new_len);
}

struct gateway *site_a_two_in(void)
{
	static const char more[] =
		"sas = (\n { name = \"from-b2\"; direction = \"in\"; spi = \"0x1003\";"
		" local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\";"
		" cipher_key = \"909192939495969798999a9b9c9d9e9fa0a1a2a3\"; },\n";
	char text[CONF_MAX];

	site_a_conf(text, sizeof(text), (struct site){0});
	edit(text, sizeof(text), "sas = (\n", more);
	edit(text, sizeof(text), "in = \"from-b\"", "in = [ \"from-b\", \"from-b2\" ]");
	return gateway_new(0, text);
}

struct frame site_a_esp(struct gateway *a)
{
	struct frame in = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .len = 1400));

	return *gateway_expect_sent(a, &in, WAN);
}

struct gateway *site_b(struct site s)
{
	char text[CONF_MAX];
	struct text t = {text, sizeof(text), 0};

	defaults(&s);
	add_limits(&t, &s);
	add(&t,
		"ports = (\n"
		"  { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.2.0.1/24\" ]; mtu "
		"= %u; },\n"
		"  { name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.2/24\" ]; mtu "
		"= %u; }\n"
		");\n"
		"routes = (\n"
		"  { to = \"10.1.0.0/24\"; via = \"192.0.2.1\"; }\n"
		");\n",
		s.lan_mtu, s.mtu);
	add(&t, "neighbours = (\n");
	add_neighbour(&t, "10.2.0.5", LAN);
	add_neighbour(&t, "192.0.2.1", WAN);
	end_list(&t);
	add(&t, "sas = (\n");
	add_sa(&t, "to-a", "out", 0x1002, "192.0.2.2", "192.0.2.1", &s);
	add_sa(&t, "from-a", "in", 0x1001, "192.0.2.2", "192.0.2.1", &s);
	end_list(&t);
	add(&t, "policies = (\n"
		"  { name = \"a\"; local = \"10.2.0.0/24\"; remote = \"10.1.0.0/24\";"
		"    action = \"protect\"; out = \"to-a\"; in = \"from-a\"; },\n"
		"  { name = \"rest\"; action = \"discard\"; }\n"
		");\n");
	return gateway_new(1, text);
}

void expect_arrived(const struct frame *arrived, const struct frame *in)
{
	struct frame right = frame_after_hops(in, 2);

	assert_int_equal(arrived->port, LAN);
	assert_int_equal(arrived->len, in->len);
	assert_memory_equal(arrived->b + 12, right.b + 12, in->len - 12u);
}
