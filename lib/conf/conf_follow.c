// SPDX-License-Identifier: BSD-3-Clause
// Addresses of the kernel that a port with addresses = [ "host" ] has. The file was checked without
// them: here they are checked as those of a file are.
#include <string.h>

#include "conf_check.h"
#include "conf_schema.h"

// Why an address cannot be one of the port because interface i of conf_addrs() has another one.
// NULL: it can.
static const char *conflict(
	const struct conf *c, unsigned int port, unsigned int i, const struct conf_iface_addr *a)
{
	unsigned int n;
	const struct conf_iface_addr *has = conf_addrs(c, i, &n);

	// Every link has the same link-local network.
	if (i == port || ip_addr_is_link_local(&a->addr))
		return NULL;
	for (; n > 0; n--, has++) {
		if (ip_addr_equal(&has->addr, &a->addr))
			return "it is an address";
		if (conf_equal_prefix(&has->net, &a->net))
			return "its network is that";
	}
	return NULL;
}

// False: it is not used, which is reported.
static bool is_usable(
	const struct conf *c, unsigned int port, const struct conf_iface_addr *a, FILE *ignored)
{
	const struct conf_port *p = &c->ports[port];
	const char *why = NULL, *of = NULL;
	char text[IP_ADDR_STRLEN];

	if (conf_not_unicast(&(struct ip_prefix){a->addr, 128}) != NULL ||
		a->net.len == (ip_addr_is_v4(&a->addr) ? IP_V4_BITS : 0) ||
		!conf_is_host(&a->addr, &a->net))
		why = "no host can have it with its prefix length";
	for (unsigned int i = 0; why == NULL && i < c->n_ports + c->n_tunnels; i++) {
		why = conflict(c, port, i, a);
		of = i < c->n_ports ? c->ports[i].name : c->tunnels[i - c->n_ports].name;
	}
	if (why == NULL)
		return true;
	fprintf(ignored, "%s:%u: port \"%s\": address %s of the host is not used: %s%s%s%s\n",
		p->where.file, p->where.line, p->name, ip_addr_format(text, &a->addr), why,
		of != NULL ? " of \"" : "", of != NULL ? of : "", of != NULL ? "\"" : "");
	return false;
}

static struct ip_addr unspecified(const struct ip_addr *remote)
{
	return ip_addr_is_v4(remote) ? ip_addr_from_v4(0) : (struct ip_addr){0};
}

void conf_local_follow(struct conf_sa *sa, const struct conf_port *port)
{
	sa->opt.local = unspecified(&sa->opt.remote);
	for (unsigned int i = port->n_addrs; i-- > 0;) {
		const struct ip_addr *own = &port->addrs[i].addr;

		if (ip_addr_family(own) == ip_addr_family(&sa->opt.remote) &&
			!ip_addr_is_link_local(own))
			sa->opt.local = *own;
	}
}

void conf_follow_host(
	struct conf *c, unsigned int port, const struct conf_followed *has, FILE *ignored)
{
	struct conf_port *p = &c->ports[port];

	if (!p->follows_host)
		return;
	p->followed = *has;
	p->n_addrs = 0;
	for (unsigned int i = 0; i < has->n; i++)
		if (is_usable(c, port, &has->addr[i], ignored))
			p->addrs[p->n_addrs++] = has->addr[i];
	for (unsigned int i = 0; i < c->n_sas; i++)
		if (strcmp(c->sas[i].local.port, p->name) == 0)
			conf_local_follow(&c->sas[i], p);
}
