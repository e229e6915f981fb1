// SPDX-License-Identifier: BSD-3-Clause
#include "buffer.h"

bool buffer_is_ordinary(const struct worker *w, uint32_t len)
{
	return len + WORKER_TAILROOM + RTE_PKTMBUF_HEADROOM <= rte_pktmbuf_data_room_size(w->pool);
}

enum drop buffer_take(struct worker *w, struct rte_mbuf **m, uint32_t len)
{
	struct rte_mbuf *one =
		rte_pktmbuf_alloc(buffer_is_ordinary(w, len) ? w->pool : w->large_pool);

	if (one == NULL)
		return DROP_NO_BUFFER;
	if (one->buf_len < len) {
		rte_pktmbuf_free(one);
		return DROP_FRAME_SCATTERED;
	}
	one->data_off = (uint16_t)RTE_MIN((uint32_t)one->data_off, one->buf_len - len);
	rte_pktmbuf_append(one, (uint16_t)len);
	*m = one;
	return DROP_NONE;
}

enum drop buffer_flatten(struct worker *w, struct rte_mbuf **m)
{
	struct rte_mbuf *chain = *m, *one;
	enum drop d = buffer_take(w, &one, rte_pktmbuf_pkt_len(chain));
	uint8_t *to;

	if (d != DROP_NONE)
		return d;
	one->port = chain->port;
	to = rte_pktmbuf_mtod(one, uint8_t *);
	for (const struct rte_mbuf *s = chain; s != NULL; s = s->next) {
		rte_memcpy(to, rte_pktmbuf_mtod(s, const uint8_t *), s->data_len);
		to += s->data_len;
	}
	worker_release(w, chain);
	*m = one;
	return DROP_NONE;
}

enum drop buffer_leave_large(struct worker *w, struct rte_mbuf **m)
{
	if (!buffer_is_large(w, *m))
		return DROP_NONE;
	if (!buffer_is_ordinary(w, rte_pktmbuf_data_len(*m)))
		return DROP_FRAME_SCATTERED;
	return buffer_flatten(w, m);
}

enum drop buffer_chain(struct worker *w, struct rte_mbuf **m)
{
	struct rte_mbuf *chain;

	if (!buffer_is_large(w, *m))
		return DROP_NONE;
	chain = rte_pktmbuf_copy(*m, w->pool, 0, UINT32_MAX);
	if (chain == NULL)
		return DROP_NO_BUFFER;
	worker_release(w, *m);
	*m = chain;
	return DROP_NONE;
}
