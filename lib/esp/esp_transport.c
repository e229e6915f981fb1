// SPDX-License-Identifier: BSD-3-Clause
#include "esp_transport.h"

#include "ip_layout.h"

static_assert(ESP_HEADER_MAX == sizeof(struct rte_ipv6_hdr) + IPV6_CHAIN_LEN_MAX, "room for all");

struct esp_place esp_place_to_put(const struct rte_mbuf *m)
{
	const void *ip = rte_pktmbuf_mtod(m, const void *);
	struct ipv6_upper upper;
	struct esp_place place;

	if (ip_is_v4(ip))
		return (struct esp_place){
			rte_ipv4_hdr_len(ip), offsetof(struct rte_ipv4_hdr, next_proto_id)};
	ipv6_upper_find(&upper, ip, rte_pktmbuf_data_len(m));
	ipv6_esp_place(&place.off, &place.next_off, ip, upper.off);
	return place;
}

uint8_t esp_place_next(const struct rte_mbuf *m, struct esp_place place)
{
	return *rte_pktmbuf_mtod_offset(m, const uint8_t *, place.next_off);
}

void ip_header_update(struct rte_mbuf *m, uint16_t next_off, uint8_t next_header)
{
	uint16_t len = rte_pktmbuf_data_len(m);
	uint8_t *ip = rte_pktmbuf_mtod(m, uint8_t *);

	ip[next_off] = next_header;
	if (ip_is_v4(ip)) {
		((struct rte_ipv4_hdr *)ip)->total_length = rte_cpu_to_be_16(len);
		ipv4_checksum_set((struct rte_ipv4_hdr *)ip);
		return;
	}
	len = (uint16_t)(len - sizeof(struct rte_ipv6_hdr));
	((struct rte_ipv6_hdr *)ip)->payload_len = rte_cpu_to_be_16(len);
}
