// SPDX-License-Identifier: BSD-3-Clause
#include "esp_probe.h"

#include <string.h>

#include <netinet/in.h>

#include "esp_out.h"
#include "ip_view.h"
#include "ipv4.h"
#include "ipv6.h"
#include "tfc.h"

#define TTL 64

static uint16_t header_len(const struct sa_path *path)
{
	return ip_is_v4(path->outer) ? sizeof(struct rte_ipv4_hdr) : sizeof(struct rte_ipv6_hdr);
}

// In transport mode a dummy is a packet of the SA's own without payload (RFC 8200 4.7), of len
// octets with its header.
static bool transport_write(struct rte_mbuf *m, const struct sa_path *path, uint16_t len)
{
	uint16_t ip_len = header_len(path);
	uint16_t payload = (uint16_t)(len - ip_len);
	uint8_t *to = (uint8_t *)rte_pktmbuf_append(m, len);

	if (to == NULL)
		return false;
	memset(to + ip_len, 0, payload);
	memcpy(to, path->outer, ip_len);
	if (ip_is_v4(path->outer)) {
		struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)to;

		ip->next_proto_id = IPPROTO_NONE;
		ip->time_to_live = TTL;
	} else {
		struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)to;

		ip->proto = IPPROTO_NONE;
		ip->hop_limits = TTL;
		ip->payload_len = rte_cpu_to_be_16(payload);
	}
	return true;
}

static bool dummy_write(struct rte_mbuf *m, const struct sa_out *sa, uint16_t len)
{
	if (len == 0)
		return false;
	if (sa->sa.opt.mode == SA_TRANSPORT)
		return transport_write(m, sa_out_path(sa), len);
	return tfc_dummy_write(m, len);
}

bool esp_own_seal(struct sa_out *sa, struct rte_mbuf *m)
{
	unsigned int number = sa->sa.n_workers - 1;
	struct crypto_op op;

	if (esp_out_frame(&op, sa, m, sa_out_seq_alloc(sa, 1), number) != DROP_NONE)
		return false;
	crypto_seal(&op, 1, number);
	if (op.ok)
		esp_out_udp_sum(&sa->sa, m);
	return op.ok;
}

uint16_t esp_own_room(const struct sa_out *sa, uint16_t size)
{
	const struct sa_path *path = sa_out_path(sa);
	uint16_t header = sa->sa.opt.mode == SA_TRANSPORT ? header_len(path) : 0;
	uint16_t payload = sa_inner_mtu(&sa->sa, (uint16_t)(header + path->outer_len), size);

	return payload > 0 ? (uint16_t)(header + payload) : 0;
}

void esp_own_keep_whole(struct rte_mbuf *m, uint16_t id)
{
	struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod(m, struct rte_ipv4_hdr *);

	if (!ip_is_v4(ip))
		return;
	ip->fragment_offset = IPV4_OFFSET_DF; // it is not sealed
	ip->packet_id = rte_cpu_to_be_16(id);
	ipv4_checksum_set(ip);
}

bool esp_probe_make(struct sa_out *sa, struct rte_mbuf *m, uint16_t size, uint16_t id)
{
	if (!dummy_write(m, sa, esp_own_room(sa, size)) || !esp_own_seal(sa, m))
		return false;
	sa->per_worker[sa->sa.n_workers - 1].dummies++;
	esp_own_keep_whole(m, id);
	return true;
}
