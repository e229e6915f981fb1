// SPDX-License-Identifier: BSD-3-Clause
#include "tfc.h"

#include <string.h>

#include <rte_ip.h>
#include <rte_mbuf.h>

#include "esp_out.h"
#include "ip_view.h"

// Encryption hides the zeros. The previous content of the buffer must not be sent to the peer.
static bool pad(struct rte_mbuf *m, uint16_t len)
{
	void *zeros = rte_pktmbuf_append(m, len);

	if (zeros == NULL)
		return false;
	memset(zeros, 0, len);
	return true;
}

// Whether the outer header of a tunnel has UDP in it.
static bool path_has_udp(const struct sa_path *path)
{
	return path->outer_len >
	       (ip_is_v4(path->outer) ? sizeof(struct rte_ipv4_hdr) : sizeof(struct rte_ipv6_hdr));
}

uint16_t esp_out_tunnel_tfc(struct crypto_op op[], struct sa_per_worker *own,
	const struct sa_path *path, struct rte_mbuf *const m[], uint16_t n, uint64_t seq)
{
	const esp_out_fn frame = path_has_udp(path) ? esp_out_tunnel_udp : esp_out_tunnel;
	const uint16_t wanted = tfc_len(&own->per_packet, path);

	for (uint16_t i = 0; i < n; i++) {
		const uint16_t len = rte_pktmbuf_data_len(m[i]);
		const uint16_t fill = (uint16_t)(wanted > len ? wanted - len : 0);

		if (!pad(m[i], fill))
			return i;
		if (frame(&op[i], own, path, &m[i], 1, seq + i) == 0) {
			rte_pktmbuf_trim(m[i], fill);
			return i;
		}
	}
	return n;
}

bool tfc_dummy_write(struct rte_mbuf *m, uint16_t len)
{
	if (!pad(m, len))
		return false;
	*rte_pktmbuf_mtod(m, uint8_t *) = ESP_DUMMY;
	return true;
}
