// SPDX-License-Identifier: BSD-3-Clause
#include "tfc.h"

#include <string.h>

#include <rte_mbuf.h>

#include "esp_out.h"

// Encryption hides the zeros. The previous content of the buffer must not be sent to the peer.
static bool pad(struct rte_mbuf *m, uint16_t len)
{
	void *zeros = rte_pktmbuf_append(m, len);

	if (zeros == NULL)
		return false;
	memset(zeros, 0, len);
	return true;
}

uint16_t esp_out_tunnel_tfc(struct crypto_op op[], struct sa_out *sa, const struct sa_path *path,
	struct rte_mbuf *const m[], uint16_t n, uint64_t seq, unsigned int worker)
{
	const esp_out_fn frame = sa->sa.udp_port == 0 ? esp_out_tunnel : esp_out_tunnel_udp;
	const uint16_t wanted = tfc_len(&sa->sa, path);

	for (uint16_t i = 0; i < n; i++) {
		const uint16_t len = rte_pktmbuf_data_len(m[i]);
		const uint16_t fill = (uint16_t)(wanted > len ? wanted - len : 0);

		if (!pad(m[i], fill))
			return i;
		if (frame(&op[i], sa, path, &m[i], 1, seq + i, worker) == 0) {
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
