// SPDX-License-Identifier: BSD-3-Clause
#include "sa.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ip.h>
#include <rte_udp.h>

#include "dpdk_compat.h"
#include "line_memory.h"

#define ESP_HEADER_LEN  8
#define ESP_TRAILER_LEN 2 // pad length and next header
#define DF              RTE_BE16(RTE_IPV4_HDR_DF_FLAG)

// The last number that the SA has; outbound the last own one.
static uint64_t seq_end(const struct sa *sa)
{
	uint64_t end = sa->opt.esn ? SA_ESN_MAX : SA_SEQ_MAX;

	return sa->opt.direction == SA_OUT ? number_own_to(&sa_out_of(sa)->blocks, end) : end;
}

struct key_id sa_numbers_id(const struct sa_options *o)
{
	struct {
		struct key_id cipher_key, auth_key;
		uint32_t spi, direction;
	} all;

	if (cipher_alg_counts(o->cipher) && o->direction == SA_OUT)
		return o->cipher_key_id;
	memset(&all, 0, sizeof(all));
	all.cipher_key = o->cipher_key_id;
	all.auth_key = o->auth_key_id;
	all.spi = o->spi;
	all.direction = o->direction == SA_IN; // never another value: files have the name
	return key_id_of((const uint8_t *)&all, sizeof(all));
}

static uint8_t tos_copied(const struct sa_options *o)
{
	return (o->dscp == SA_DSCP_COPY ? RTE_IPV4_HDR_DSCP_MASK : 0) |
	       (o->ecn ? RTE_IPV4_HDR_ECN_MASK : 0);
}

// The workers that may use an SA: outbound the control thread as well.
static unsigned int workers_of(const struct sa_params *p, enum sa_direction direction)
{
	return p->n_workers + (direction == SA_OUT);
}

static struct sa_per_packet per_packet_of(const struct sa_options *o)
{
	return (struct sa_per_packet){
		.iv_len = o->cipher->iv_len,
		.icv_len = alg_pair_icv_len(o->cipher, o->auth),
		.align = o->cipher->block,
		.tos_copied = tos_copied(o),
#define SA_PACKET_OPTION(type, field, ...) .field = o->field,
#include "sa_option.def"
	};
}

// Makes the copies for workers, before they see the SA.
static void copies_make(struct sa *sa)
{
	for (unsigned int i = 0; i < sa->n_workers; i++)
		sa->per_worker[i].per_packet = sa->per_packet;
}

// Updates fields of the copies that may change while workers use the SA.
static void copies_update(struct sa *sa)
{
	const struct sa_per_packet *from = &sa->per_packet;

	for (unsigned int i = 0; i < sa->n_workers; i++) {
		struct sa_per_packet *to = &sa->per_worker[i].per_packet;

		atomic_store_explicit(&to->stop, from->stop, memory_order_relaxed);
		if (sa->opt.direction == SA_IN) {
			to->v4_end = from->v4_end;
			continue;
		}
		atomic_store_explicit(&to->path, from->path, memory_order_release);
		atomic_store_explicit(&to->seq_limit, from->seq_limit, memory_order_release);
	}
}

static int sa_init(struct sa *sa, const struct sa_params *p, enum sa_direction direction)
{
	const struct sa_options *o = &p->opt;
	enum crypto_dir dir = direction == SA_OUT ? CRYPTO_SEAL : CRYPTO_OPEN;
	const struct crypto_key key = {
		o->cipher, o->auth, p->cipher_key, p->auth_key, o->esn, p->iv_mask};
	unsigned int n_workers = workers_of(p, direction);

	*sa = (struct sa){
		.per_packet = per_packet_of(o),
		.per_worker =
			direction == SA_OUT ? sa_out_of(sa)->per_worker : sa_in_of(sa)->per_worker,
		.spi = rte_cpu_to_be_32(o->spi),
		.n_workers = n_workers,
		.udp_port = o->in_udp ? rte_cpu_to_be_16(o->udp_local_port) : 0,
		.opt = *o,
		.live = p->live,
		.by_grant = p->by_grant,
	};
	sa->opt.direction = (uint8_t)direction;
	if (direction == SA_OUT)
		sa_out_of(sa)->blocks = p->fleet_member != 0
						? number_blocks_of_fleet(p->fleet_member)
						: number_blocks_of(p->member, o->esn);
	lifetime_init(&sa->lifetime, &p->live, o->cipher, seq_end(sa));
	sa->per_packet.session = crypto_session_new(&key, dir, p->engine, n_workers);
	return sa->per_packet.session != NULL ? 0 : -errno;
}

static uint8_t outer_proto(const struct sa *sa)
{
	return sa->udp_port != 0 ? IPPROTO_UDP : IPPROTO_ESP;
}

// The outer header of RFC 4301 5.1.2, except the fields that differ from packet to packet.
static void outer_init_v6(struct sa_path *path, const struct sa *sa, const struct ip_addr *local,
	const struct sa_peer *peer)
{
	struct rte_ipv6_hdr ip = {
		.vtc_flow = RTE_BE32(6u << 28),
		.proto = outer_proto(sa),
		.hop_limits = sa->opt.ttl,
	};

	ipv6_src_set(&ip, local);
	ipv6_dst_set(&ip, &peer->addr);
	memcpy(path->outer, &ip, sizeof(ip));
	path->outer_len = sizeof(ip);
}

static void outer_init_v4(struct sa_path *path, const struct sa *sa, const struct ip_addr *local,
	const struct sa_peer *peer)
{
	struct rte_ipv4_hdr ip = {
		.version_ihl = RTE_IPV4_VHL_DEF,
		.time_to_live = sa->opt.ttl,
		.next_proto_id = outer_proto(sa),
		.src_addr = ip_addr_v4(local),
		.dst_addr = ip_addr_v4(&peer->addr),
	};

	path->outer_sum = rte_be_to_cpu_16(rte_raw_cksum((const uint8_t *)&ip + 8, sizeof(ip) - 8));
	memcpy(path->outer, &ip, sizeof(ip));
	path->outer_len = sizeof(ip);
}

// Headers of whatever length leave room for whole blocks and less than one more.
static uint16_t transport_mtu(const struct sa *sa, uint16_t udp_len, uint16_t link_mtu)
{
	bool v4 = ip_addr_is_v4(&sa->opt.local);
	unsigned int hdr_len = v4 ? sizeof(struct rte_ipv4_hdr) : sizeof(struct rte_ipv6_hdr);
	unsigned int unit = v4 ? 4 : 8, mtu = UINT16_MAX;

	for (unsigned int len = hdr_len; len < hdr_len + sa->per_packet.align; len += unit)
		mtu = RTE_MIN(mtu, len + sa_inner_mtu(sa, (uint16_t)(len + udp_len), link_mtu));
	return (uint16_t)mtu;
}

// RFC 3948 2.1
static void outer_add_udp(struct sa_path *path, const struct sa *sa, const struct sa_peer *peer)
{
	const struct rte_udp_hdr udp = {.src_port = sa->udp_port, .dst_port = peer->port};

	memcpy(path->outer + path->outer_len, &udp, sizeof(udp));
	path->outer_len = (uint8_t)(path->outer_len + sizeof(udp));
}

static void path_resize(const struct sa *sa, struct sa_path *path, uint16_t link_mtu)
{
	path->link_mtu = link_mtu;
	path->mtu = sa->opt.mode == SA_TUNNEL ? sa_inner_mtu(sa, path->outer_len, link_mtu)
					      : transport_mtu(sa, path->outer_len, link_mtu);
}

static enum sa_framing framing_of(const struct sa *sa, const struct sa_path *path)
{
	if (path->nexthop == NULL)
		return SA_FRAME_NONE;
	if (sa->opt.mode == SA_TRANSPORT)
		return SA_FRAME_TRANSPORT;
	if (sa->opt.tfc_pad != 0)
		return SA_FRAME_TUNNEL_TFC;
	return sa->udp_port != 0 ? SA_FRAME_TUNNEL_UDP : SA_FRAME_TUNNEL;
}

struct sa_path *sa_path_new(const struct sa *sa, const struct ip_addr *local,
	const struct sa_peer *peer, const struct nexthop *nexthop, uint16_t link_mtu)
{
	struct sa_path *path = line_calloc(1, sizeof(*path));
	uint8_t ip_len;

	if (path == NULL)
		return NULL;
	path->nexthop = nexthop;
	if (ip_addr_is_v4(local))
		outer_init_v4(path, sa, local, peer);
	else
		outer_init_v6(path, sa, local, peer);
	ip_len = path->outer_len;
	if (sa->udp_port != 0)
		outer_add_udp(path, sa, peer);
	if (sa->opt.mode == SA_TRANSPORT)
		path->outer_len = (uint8_t)(path->outer_len - ip_len);
	path->framing = framing_of(sa, path);
	path_resize(sa, path, link_mtu);
	return path;
}

struct sa_path *sa_path_resized(const struct sa *sa, const struct sa_path *path, uint16_t link_mtu)
{
	struct sa_path *resized = line_calloc(1, sizeof(*resized));

	if (resized == NULL)
		return NULL;
	*resized = *path;
	path_resize(sa, resized, link_mtu);
	return resized;
}

// No worker has seen the path.
static void path_limit(const struct sa *sa, struct sa_path *path)
{
	uint16_t max = atomic_load_explicit(&sa->mtu_max, memory_order_relaxed);

	if (max != 0)
		path->mtu = (uint16_t)RTE_MIN(path->mtu, max);
}

void sa_out_limit(struct sa_out *sa, uint16_t mtu_max)
{
	atomic_store_explicit(&sa->sa.mtu_max, mtu_max, memory_order_relaxed);
	if (!sa->sa.begun)
		path_limit(&sa->sa, sa->sa.per_packet.path);
}

struct sa_path *sa_out_path_set(struct sa_out *sa, struct sa_path *path)
{
	struct sa_path *before;

	path_limit(&sa->sa, path);
	before = atomic_exchange_explicit(&sa->sa.per_packet.path, path, memory_order_acq_rel);
	copies_update(&sa->sa);
	return before;
}

uint64_t sa_out_life_end(const struct sa_out *sa)
{
	return RTE_MIN(sa->sa.lifetime.hard[LIFETIME_PACKETS], sa->seq_max);
}

static int sa_out_init(struct sa_out *sa, const struct sa_params *p)
{
	const struct sa_options *o = &p->opt;
	struct sa_per_packet *per_packet = &sa->sa.per_packet;

	sa->seq_max = seq_end(&sa->sa);
	sa->seq_reserved = UINT64_MAX;
	sa->seq_granted = p->by_grant ? 0 : UINT64_MAX;
	sa->peer = sa_peer_configured(o);
	per_packet->spi = sa->sa.spi;
	per_packet->block_zeros = (uint8_t)(64 - __builtin_popcountll(sa->blocks.mask));
	sa_start_behind(&sa->sa, 0);
	per_packet->df_copied = o->df == SA_DF_COPY ? DF : 0;
	per_packet->df_set = o->df == SA_DF_SET ? DF : 0;
	per_packet->tos_fixed = (uint8_t)(o->dscp <= SA_DSCP_MAX ? o->dscp << 2 : 0);
	per_packet->path = sa_path_new(&sa->sa, &o->local, &sa->peer, p->nexthop, p->mtu);
	return per_packet->path != NULL ? 0 : -ENOMEM;
}

static uint64_t v4_end_of(const struct sa *sa)
{
	const struct ip_addr *local = &sa->opt.local;

	return ip_addr_is_v4(local) ? sa_v4_end(ip_addr_v4(local), sa->udp_port) : UINT64_MAX;
}

static int sa_in_init(struct sa_in *sa, const struct sa_params *p)
{
	struct sa_per_packet *per_packet = &sa->sa.per_packet;

	per_packet->v4_end = v4_end_of(&sa->sa);
	per_packet->ingress = p->opt.spi;
	if (replay_init(&per_packet->replay, p->opt.replay_window) < 0)
		return -ENOMEM;
	if (p->by_grant)
		replay_end_set(&per_packet->replay, 0);
	return 0;
}

void sa_local_move(struct sa *sa, const struct ip_addr *local)
{
	sa->opt.local = *local;
	if (sa->opt.direction == SA_IN) {
		sa->per_packet.v4_end = v4_end_of(sa);
		copies_update(sa);
	}
}

void sa_in_ingress_set(struct sa_in *sa, uint32_t ingress)
{
	sa->sa.per_packet.ingress = ingress;
	copies_make(&sa->sa);
}

int sa_in_window_keep(struct sa_in *sa, struct replay_memory *memory, const struct key_id *id)
{
	int rc = replay_keep_in(&sa->sa.per_packet.replay, memory, id);

	if (rc < 0)
		return rc;
	sa->replay_memory = memory;
	copies_make(&sa->sa);
	return 0;
}

struct sa *sa_new(const struct sa_params *p, enum sa_direction direction)
{
	size_t size = direction == SA_OUT ? sizeof(struct sa_out) : sizeof(struct sa_in);
	struct sa *sa = line_calloc(1, size + SA_PLACE(workers_of(p, direction)));
	int rc;

	if (sa == NULL)
		return NULL;
	rc = sa_init(sa, p, direction);
	if (rc == 0)
		rc = direction == SA_OUT ? sa_out_init(sa_out_of(sa), p)
					 : sa_in_init(sa_in_of(sa), p);
	if (rc == 0) {
		copies_make(sa);
		return sa;
	}
	sa_free(sa);
	errno = -rc;
	return NULL;
}

void sa_free(struct sa *sa)
{
	if (sa == NULL)
		return;
	if (sa->opt.direction == SA_OUT) {
		line_free(sa->per_packet.path);
	} else {
		replay_fini(&sa->per_packet.replay, sa_in_of(sa)->replay_memory);
		line_free(sa_in_of(sa)->endpoint);
	}
	crypto_session_free(sa->per_packet.session);
	line_free(sa);
}

struct sa_peer *sa_in_endpoint_set(struct sa_in *sa, struct sa_peer *peer, uint64_t now_ms)
{
	sa->endpoint_ms = now_ms;
	return atomic_exchange_explicit(&sa->endpoint, peer, memory_order_acq_rel);
}

static void limit_update(struct sa_out *sa)
{
	struct sa_per_packet *per_packet = &sa->sa.per_packet;
	bool stopped = atomic_load_explicit(&per_packet->stop, memory_order_relaxed) != DROP_NONE;
	uint64_t limit = RTE_MIN(sa->seq_reserved, RTE_MIN(sa->block_end, sa->seq_granted));

	// It is an own number, as packets up to it are compared with its block.
	limit = number_own_to(&sa->blocks, RTE_MIN(limit, sa_out_life_end(sa)));
	atomic_store_explicit(&per_packet->seq_limit, stopped ? 0 : limit, memory_order_release);
	copies_update(&sa->sa);
}

// Sets the reason before the limit.
static void stop_update(struct sa *sa)
{
	uint8_t reason = sa->ended != DROP_NONE ? sa->ended : sa->local_unusable;

	atomic_store_explicit(&sa->per_packet.stop, reason, memory_order_relaxed);
	if (sa->opt.direction == SA_OUT)
		limit_update(sa_out_of(sa));
	else
		copies_update(sa);
}

void sa_out_allow(struct sa_out *sa, uint64_t seq)
{
	sa->seq_reserved = seq;
	limit_update(sa);
}

void sa_grant(struct sa *sa, uint64_t seq)
{
	if (sa->opt.direction == SA_IN) {
		replay_end_set(&sa->per_packet.replay, seq);
		return;
	}
	sa_out_of(sa)->seq_granted = seq;
	limit_update(sa_out_of(sa));
}

// Numbers begin after sampled_seq: those before may have been used by the other member, and none of
// them is recent.
static void block_begin(struct sa_out *sa, uint64_t seq)
{
	seq = RTE_MIN(number_own_from(&sa->blocks, seq + 1) - 1, sa->seq_max);
	sa->block_end = number_block_end(&sa->blocks, seq + 1);
	sa->sampled_seq = seq;
	atomic_store_explicit(&sa->seq_recent, seq, memory_order_relaxed);
}

void sa_start_behind(struct sa *sa, uint64_t seq)
{
	struct sa_out *out = sa_out_of(sa);

	if (sa->opt.direction == SA_IN) {
		replay_start_behind(&sa->per_packet.replay, seq);
		return;
	}
	block_begin(out, seq);
	limit_update(out);
	atomic_store_explicit(&out->seq, out->sampled_seq, memory_order_relaxed);
}

void sa_out_block_set(struct sa_out *sa, uint64_t seq)
{
	uint64_t last = atomic_load_explicit(&sa->seq, memory_order_relaxed);

	// Packets that have numbers of the block before, and are not framed yet, are dropped.
	block_begin(sa, seq);
	limit_update(sa);
	while (last < sa->sampled_seq &&
		!atomic_compare_exchange_weak_explicit(&sa->seq, &last, sa->sampled_seq,
			memory_order_relaxed, memory_order_relaxed))
		;
}

void sa_change(struct sa *sa, const struct sa_live *live)
{
	struct lifetime l;

	if (sa->opt.direction == SA_OUT && !live->follow)
		sa_out_of(sa)->peer = sa_peer_configured(&sa->opt);
	sa->live = *live;
	lifetime_init(&l, live, sa->opt.cipher, seq_end(sa));
	if (memcmp(l.soft, sa->lifetime.soft, sizeof(l.soft)) == 0 &&
		memcmp(l.hard, sa->lifetime.hard, sizeof(l.hard)) == 0)
		return;
	l.start_ms = sa->lifetime.start_ms;
	sa->lifetime = l; // whose events have not been posted
	sa->ended = DROP_NONE;
	stop_update(sa);
}

enum drop sa_end_reason(const struct sa *sa, enum lifetime_unit unit)
{
	if (unit == LIFETIME_PACKETS && sa->lifetime.hard[unit] >= seq_end(sa))
		return DROP_SEQUENCE_END;
	return DROP_LIFETIME;
}

void sa_stop(struct sa *sa, enum lifetime_unit unit)
{
	enum drop reason = sa_end_reason(sa, unit);

	if (sa->opt.direction == SA_IN && reason == DROP_SEQUENCE_END)
		return;
	sa->ended = (uint8_t)reason;
	stop_update(sa);
}

void sa_local_set(struct sa *sa, enum drop reason)
{
	sa->local_unusable = (uint8_t)reason;
	stop_update(sa);
}

uint16_t sa_inner_mtu(const struct sa *sa, uint16_t outer_len, uint16_t mtu)
{
	const struct sa_per_packet *p = &sa->per_packet;
	int room = mtu - outer_len - ESP_HEADER_LEN - p->iv_len - p->icv_len;

	room -= room % p->align;
	return (uint16_t)RTE_MAX(room - ESP_TRAILER_LEN, 0);
}
