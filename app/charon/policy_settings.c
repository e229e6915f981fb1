// SPDX-License-Identifier: BSD-3-Clause
#include "kernel.h"

// Writes the ports of an end of a policy. False, after a message, if it cannot have them.
static bool ports_write(FILE *f, const char *end, traffic_selector_t *ts)
{
	uint16_t from = ts->get_from_port(ts), to = ts->get_to_port(ts);
	uint8_t proto = ts->get_protocol(ts);

	if (from > to) {
		DBG1(DBG_KNL, "culvert: the gateway has no policy for packets without ports alone");
		return false;
	}
	if (from == 0 && to == UINT16_MAX)
		return true;
	if (proto != IPPROTO_ICMP && proto != IPPROTO_ICMPV6)
		fprintf(f, " %s_port = \"%u-%u\";", end, from, to);
	else if (from == to)
		fprintf(f, " %s_icmp = \"%u/%u\";", end, from >> 8, from & 0xff);
	else if (from >> 8 == to >> 8)
		fprintf(f, " %s_icmp = \"%u/%u-%u\";", end, from >> 8, from & 0xff, to & 0xff);
	else
		fprintf(f, " %s_icmp = \"%u-%u\";", end, from >> 8, to >> 8);
	return true;
}

// Number of bits that a selector compares; of a range, the bits that all of its addresses share.
static unsigned int bits_of(traffic_selector_t *ts)
{
	bool all_ports = ts->get_from_port(ts) == 0 && ts->get_to_port(ts) == UINT16_MAX;
	uint8_t bits;
	host_t *net;

	ts->to_subnet(ts, &net, &bits);
	net->destroy(net);
	return bits + !all_ports;
}

bool policy_settings(char settings[SETTINGS_SIZE], const kernel_ipsec_policy_id_t *id,
	const kernel_ipsec_manage_policy_t *data)
{
	traffic_selector_t *local = local_of(id), *remote = remote_of(id);
	unsigned int proto = max(local->get_protocol(local), remote->get_protocol(remote));
	unsigned int narrow = (bits_of(local) + bits_of(remote)) * 2 + (proto != 0);
	FILE *f = fmemopen(settings, SETTINGS_SIZE, "w");
	bool good;

	if (f == NULL)
		return false;
	good = ports_write(f, "local", local) && ports_write(f, "remote", remote);
	if (proto != 0)
		fprintf(f, " proto = %u;", proto);
	// charon's classes come first, then narrower selectors before wider ones.
	fprintf(f, " priority = 0x%x;",
		data->manual_prio != 0 ? data->manual_prio
				       : (data->prio + 1) * 100000u - narrow * 8);
	if (data->type == POLICY_IPSEC)
		fprintf(f, " action = \"protect\";%s", policy_is_trap(data) ? " trap = true;" : "");
	else
		fprintf(f, " action = \"%s\";", data->type == POLICY_PASS ? "bypass" : "discard");
	if (id->if_id != 0)
		fprintf(f, " if_id = %u;", id->if_id);
	fclose(f);
	return good;
}
