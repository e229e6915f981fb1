// SPDX-License-Identifier: BSD-3-Clause
// Addresses of either family, and of Unix sockets.
#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "conf_schema.h"
#include "hex.h"

#define SOCKET_PATH_MAX 107 // octets, with a zero after them in struct sockaddr_un

#define V4(o0, o1, o2, o3, bits)                                                                   \
	{                                                                                          \
		{.b = {[10] = 0xff, [11] = 0xff, o0, o1, o2, o3}}, IP_V4_BITS + (bits)             \
	}

#define V6(o0, o1, o15, bits)                                                                      \
	{                                                                                          \
		{.b = {o0, o1, [15] = (o15)}}, bits                                                \
	}

// Blocks without addresses of hosts (RFC 6890, RFC 1112, RFC 4291).
static const struct {
	struct ip_prefix block;
	const char *name;
} special[] = {
	{V4(0, 0, 0, 0, 8), "unspecified"},
	{V4(127, 0, 0, 0, 8), "a loopback address"},
	{V4(224, 0, 0, 0, 4), "multicast"},
	{V4(255, 255, 255, 255, 32), "broadcast"},
	{V6(0, 0, 0, 128), "unspecified"},
	{V6(0, 0, 1, 128), "a loopback address"},
	{V6(0xff, 0, 0, 8), "multicast"},
};

const struct conf_iface_addr conf_address_of_host = {.net.len = 128};

const char *conf_not_unicast(const struct ip_prefix *p)
{
	for (unsigned int i = 0; i < RTE_DIM(special); i++)
		if (p->len >= special[i].block.len &&
			ip_prefix_contains(&special[i].block, &p->addr))
			return special[i].name;
	return NULL;
}

static bool check_unicast(const struct conf_value *v, const struct ip_addr *a)
{
	const char *name = conf_not_unicast(&(struct ip_prefix){*a, 128});

	if (name != NULL)
		conf_err(v->r, v->s, "%s is %s, must be unicast", conf_quote(v->text), name);
	return name == NULL;
}

const char *conf_no_host(const struct ip_addr *a)
{
	return ip_addr_is_v4(a) ? "a network or broadcast address"
				: "the address of all routers of a network";
}

bool conf_is_host(const struct ip_addr *a, const struct ip_prefix *net)
{
	unsigned int bits = 128u - net->len;

	if (bits < 2)
		return true;
	if (!ip_addr_is_v4(a)) // the last one is like any other
		return !ip_addr_equal(a, &net->addr);

	uint32_t ones = (uint32_t)((1ull << bits) - 1);
	uint32_t host = rte_be_to_cpu_32(ip_addr_v4(a)) & ones;

	return host != 0 && host != ones;
}

void conf_parse_address(const struct conf_value *v)
{
	struct ip_addr a;

	if (ip_addr_parse(&a, v->text) < 0)
		conf_reject(v);
	else if (check_unicast(v, &a))
		*(struct ip_addr *)v->field = a;
}

void conf_parse_own_end(const struct conf_value *v)
{
	struct conf_own_end *end = v->field;
	struct conf_value part = *v;
	struct ip_addr a;

	part.field = ip_addr_parse(&a, v->text) == 0 ? (void *)&end->addr : (void *)end->port;
	if (part.field == &end->addr)
		conf_parse_address(&part);
	else
		conf_parse_name(&part);
}

static bool is_loopback(const struct ip_addr *a)
{
	const struct ip_prefix v4 = V4(127, 0, 0, 0, 8), v6 = V6(0, 0, 1, 128);

	return ip_prefix_contains(&v4, a) || ip_prefix_contains(&v6, a);
}

// A program of this machine, or of another one.
void conf_parse_collector(const struct conf_value *v)
{
	struct ip_addr a;

	if (ip_addr_parse(&a, v->text) == 0 && is_loopback(&a))
		*(struct ip_addr *)v->field = a;
	else
		conf_parse_address(v);
}

void conf_parse_loopback(const struct conf_value *v)
{
	struct ip_addr a;

	if (ip_addr_parse(&a, v->text) == 0 && is_loopback(&a))
		*(struct ip_addr *)v->field = a;
	else
		conf_reject(v);
}

void conf_parse_peer(const struct conf_value *v)
{
	if (strcmp(v->text, "any") != 0)
		conf_parse_address(v);
}

void conf_parse_prefix(const struct conf_value *v)
{
	struct ip_prefix p;
	char buf[IP_PREFIX_STRLEN];
	int rc = ip_prefix_parse(&p, v->text);

	if (rc == -EINVAL)
		conf_reject(v);
	else if (rc == -ERANGE)
		conf_err(v->r, v->s,
			"%s has bits set beyond the prefix length, did you mean \"%s\"?",
			conf_quote(v->text), ip_prefix_format(buf, &p));
	else
		*(struct ip_prefix *)v->field = p;
}

static bool parse_range(struct conf_addrs *a, const char *text)
{
	const char *dash = strchr(text, '-');
	char first[IP_ADDR_STRLEN];

	if (dash == NULL || dash - text >= (ptrdiff_t)sizeof(first))
		return false;
	memcpy(first, text, (size_t)(dash - text));
	first[dash - text] = '\0';
	return ip_addr_parse(&a->first, first) == 0 && ip_addr_parse(&a->last, dash + 1) == 0 &&
	       ip_addr_family(&a->first) == ip_addr_family(&a->last) &&
	       memcmp(&a->first, &a->last, sizeof(a->first)) < 0;
}

static struct ip_addr last_of(const struct ip_prefix *p)
{
	struct ip_addr last = p->addr;

	for (unsigned int bit = p->len; bit < 128; bit++)
		last.b[bit / 8] |= (uint8_t)(0x80u >> bit % 8);
	return last;
}

void conf_parse_addrs(const struct conf_value *v)
{
	struct conf_addrs a = {.len = 128};
	struct ip_prefix p;

	if (strcmp(v->text, "port") == 0) {
		a.port = true;
	} else if (parse_range(&a, v->text)) {
		a.len = 0;
	} else if (ip_prefix_parse(&p, v->text) == 0) {
		a = (struct conf_addrs){.first = p.addr, .last = last_of(&p), .len = p.len};
	} else {
		conf_reject(v);
		return;
	}
	if (a.port || (check_unicast(v, &a.first) && check_unicast(v, &a.last)))
		*(struct conf_addrs *)v->field = a;
}

void conf_parse_interface(const struct conf_value *v)
{
	struct conf_iface_addr a;

	if (strchr(v->text, '/') == NULL || ip_interface_parse(&a.addr, &a.net, v->text) < 0)
		conf_reject(v);
	else if (!check_unicast(v, &a.addr))
		return;
	else if (a.net.len == (ip_addr_is_v4(&a.addr) ? IP_V4_BITS : 0))
		conf_err(v->r, v->s,
			"%s covers all addresses, must have a prefix length from 1 to %u",
			conf_quote(v->text), ip_addr_is_v4(&a.addr) ? 32u : 128u);
	else if (!conf_is_host(&a.addr, &a.net))
		conf_err(v->r, v->s, "%s is %s, must be a host's", conf_quote(v->text),
			conf_no_host(&a.addr));
	else
		*(struct conf_iface_addr *)v->field = a;
}

// conf_check_ports() refuses "host" beside others.
void conf_parse_port_address(const struct conf_value *v)
{
	if (strcmp(v->text, "host") == 0)
		*(struct conf_iface_addr *)v->field = conf_address_of_host;
	else
		conf_parse_interface(v);
}

// In /proc/sys, "all" and "default" stand for other interfaces.
void conf_parse_iface(const struct conf_value *v)
{
	char name[CONF_NAME_MAX];
	struct conf_value checked = *v;

	checked.field = name;
	if (strlen(v->text) >= IFNAMSIZ || strcmp(v->text, "all") == 0 ||
		strcmp(v->text, "default") == 0) {
		conf_reject(v);
		return;
	}
	name[0] = '\0';
	conf_parse_name(&checked);
	if (name[0] != '\0')
		*(char **)v->field = conf_strdup(name);
}

void conf_parse_mac(const struct conf_value *v)
{
	struct rte_ether_addr mac;

	if (hex_parse(mac.addr_bytes, sizeof(mac), v->text) == sizeof(mac) &&
		rte_is_valid_assigned_ether_addr(&mac))
		*(struct rte_ether_addr *)v->field = mac;
	else
		conf_reject(v);
}

void conf_parse_socket(const struct conf_value *v)
{
	if (strlen(v->text) <= SOCKET_PATH_MAX)
		conf_parse_state_dir(v);
	else
		conf_reject(v);
}

// Reads the address of a text "ADDRESS:PORT", with brackets around one of IPv6. False: it is none.
static bool server_addr(struct ip_addr *a, const char *text)
{
	const char *colon = strrchr(text, ':');
	char host[IP_ADDR_STRLEN + 2];
	bool brackets = text[0] == '[';
	uint32_t port;
	size_t len;

	if (colon == NULL || !conf_number_whole(&port, colon + 1) || port < 1 || port > UINT16_MAX)
		return false;
	text += brackets;
	len = (size_t)(colon - text) - brackets;
	if (len >= sizeof(host) || (brackets && colon[-1] != ']'))
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	return ip_addr_parse(a, host) == 0 && ip_addr_is_v4(a) == !brackets;
}

bool conf_endpoint_addr(struct ip_addr *a, const char *endpoint)
{
	const char *server = strstr(endpoint, "://");

	return server != NULL && server_addr(a, server + 3);
}

void conf_parse_endpoint(const struct conf_value *v)
{
	struct ip_addr a;

	if (conf_endpoint_addr(&a, v->text) &&
		(strncmp(v->text, "http:", 5) == 0 || strncmp(v->text, "https:", 6) == 0))
		conf_parse_text(v);
	else
		conf_reject(v);
}

void conf_parse_etcd_prefix(const struct conf_value *v)
{
	size_t len = strlen(v->text);

	if (len > 0 && len <= 64 && v->text[len - 1] == '/')
		conf_parse_text(v);
	else
		conf_reject(v);
}
