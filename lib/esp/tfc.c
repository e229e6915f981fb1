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

enum drop esp_out_tunnel_tfc(struct crypto_op *op, struct sa_out *sa, const struct sa_path *path,
	struct rte_mbuf *m, uint64_t seq, unsigned int worker)
{
	uint16_t wanted = tfc_len(&sa->sa, path), len = rte_pktmbuf_data_len(m);
	uint16_t fill = (uint16_t)(wanted > len ? wanted - len : 0);
	enum drop d;

	if (!pad(m, fill))
		return DROP_NO_ROOM;
	d = sa->sa.udp_port == 0 ? esp_out_tunnel(op, sa, path, m, seq, worker)
				 : esp_out_tunnel_udp(op, sa, path, m, seq, worker);
	if (d != DROP_NONE)
		rte_pktmbuf_trim(m, fill);
	return d;
}

bool tfc_dummy_write(struct rte_mbuf *m, uint16_t len)
{
	if (!pad(m, len))
		return false;
	*rte_pktmbuf_mtod(m, uint8_t *) = ESP_DUMMY;
	return true;
}
