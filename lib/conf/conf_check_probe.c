// SPDX-License-Identifier: BSD-3-Clause
// Probes of tunnels: whether the policy lets the echo request out, and its reply in.
#include <netinet/in.h>

#include "conf_check.h"

// Types of requests and replies, in both families (RFC 792, RFC 4443 4).
static bool carries_echo(const struct conf_policy *p, bool v4)
{
	const unsigned int request = (v4 ? 8u : 128u) << 8, reply = (v4 ? 0 : 129u) << 8;

	if (p->proto != PROTO_ANY && p->proto != (v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6))
		return false;
	return p->local_port_min <= request && request <= p->local_port_max &&
	       p->remote_port_min <= reply && reply <= p->remote_port_max;
}

// Whether a port has an address that requests can be sent from.
static bool has_source(const struct conf *c, const struct conf_policy *p, enum ip_family family)
{
	for (unsigned int i = 0; i < c->n_ports; i++)
		for (unsigned int a = 0; a < c->ports[i].n_addrs; a++) {
			const struct ip_addr *own = &c->ports[i].addrs[a].addr;

			if (ip_addr_family(own) == family && ip_prefix_contains(&p->local, own))
				return true;
		}
	return false;
}

void conf_check_probe(struct conf_reader *r, config_setting_t *policy, const struct conf_policy *p)
{
	config_setting_t *probe = conf_given(policy, "probe");
	config_setting_t *address = conf_given(probe, "address");
	bool v4 = ip_addr_is_v4(&p->probe_addr);

	if (probe != NULL && conf_member(probe, "address") == NULL)
		conf_err(r, probe, "address is missing, must be an address behind the peer");
	if (address == NULL || conf_refused(policy, "local") || conf_refused(policy, "remote"))
		return;
	if (!ip_prefix_contains(&p->remote, &p->probe_addr))
		conf_err(r, address, "is not in remote of the policy, must be in it");
	else if (!conf_refused(policy, "proto") && !carries_echo(p, v4))
		conf_err(r, address, "the policy must match ICMP echo to ping it");
	else if (r->nets_known && !has_source(r->c, p, v4 ? IP_V4 : IP_V6))
		conf_err(r, address, "no port has an address in local to send pings from");
}
