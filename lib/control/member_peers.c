// SPDX-License-Identifier: BSD-3-Clause
#include "member_peers.h"

#include <stdio.h>
#include <string.h>

#include "ipv4.h"
#include "ipv6.h"
#include "line.h"
#include "member_sa.h"
#include "peers.h"

static const char word[] = "peer";

unsigned int member_peer_report(
	const struct sa *sa, bool always, uint64_t since_ms, char line[MEMBER_PEER_LINE_MAX])
{
	char name[MEMBER_SA_STRLEN], addr[IP_ADDR_STRLEN];
	const struct sa_peer *endpoint;

	if (sa->opt.direction != SA_IN || sa->local_unusable != DROP_NONE)
		return 0;
	endpoint = sa_in_endpoint(sa_in_of(sa));
	if (endpoint == NULL || (!always && sa_in_of(sa)->endpoint_ms < since_ms))
		return 0;
	member_sa_write(name, sa);
	return (unsigned int)snprintf(line, MEMBER_PEER_LINE_MAX, "%s %s %s %u", word, name,
		ip_addr_format(addr, &endpoint->addr), rte_be_to_cpu_16(endpoint->port));
}

// An address that packets can come from and be sent to, of the family of the tunnel.
static bool is_possible(const struct sa *sa, const struct sa_peer *peer)
{
	const struct ip_addr *a = &peer->addr;

	return ip_addr_family(a) == ip_addr_family(&sa->opt.local) && peer->port != 0 &&
	       (ip_addr_is_v4(a) ? ipv4_is_host_address(ip_addr_v4(a)) : ipv6_is_host_address(a));
}

bool member_peer_learn(struct control *c, const char *line, uint64_t now_ms)
{
	char first[sizeof(word)], text[IP_ADDR_STRLEN];
	const char *rest = line;
	struct sa_peer peer;
	uint64_t port;
	struct sa *sa;

	if (!line_word(&rest, first, sizeof(first)) || strcmp(first, word) != 0 ||
		!member_sa_read(c, &rest, SA_IN, &sa) || !line_word(&rest, text, sizeof(text)) ||
		ip_addr_parse(&peer.addr, text) < 0 || !line_number(&rest, &port, UINT16_MAX) ||
		rest != NULL)
		return false;
	peer.port = rte_cpu_to_be_16((uint16_t)port);
	if (sa != NULL && sa->udp_port != 0 && sa->local_unusable == DROP_STANDBY &&
		is_possible(sa, &peer))
		peer_set(c, sa_in_of(sa), &peer, now_ms);
	return true;
}
