// SPDX-License-Identifier: BSD-3-Clause
#include "build_sa.h"

#include <string.h>

#include "ecn.h"
#include "sa_identity.h"

// Bits of DSCP and ECN that pass from one header to the other.
static uint8_t tos_copied(const struct conf_sa *c)
{
	return (uint8_t)((c->dscp == CONF_DSCP_COPY ? CONF_DSCP_MAX << 2 : 0) |
			 (c->ecn ? ECN_MASK : 0));
}

static uint8_t tos_fixed(const struct conf_sa *c)
{
	return (uint8_t)(c->dscp <= CONF_DSCP_MAX ? c->dscp << 2 : 0);
}

static void lifetime_write(uint64_t to[LIFETIME_UNITS], const struct conf_lifetime *from)
{
	to[LIFETIME_BYTES] = from->bytes;
	to[LIFETIME_PACKETS] = from->packets;
	to[LIFETIME_SECONDS] = from->seconds;
}

// One field after the other, so that the padding stays zero: descriptions are compared by octets.
void build_sa_params(struct sa_params *p, const struct conf *conf, const struct conf_sa *c)
{
	memset(p, 0, sizeof(*p));
	p->name = c->name;
	p->spi = c->spi;
	p->mode = c->mode;
	p->local = c->local;
	p->remote = c->remote;
	p->key.cipher = c->cipher;
	p->key.auth = c->auth;
	p->key.cipher_key = c->cipher_key;
	p->key.auth_key = c->auth_key;
	p->key.esn = c->esn;
	p->cipher_key_id = c->cipher_key_id;
	p->auth_key_id = c->auth_key_id;
	p->udp_local_port = c->in_udp ? c->udp_local_port : 0;
	p->udp_remote_port = c->in_udp ? c->udp_remote_port : 0;
	p->keepalive_s = c->in_udp ? c->keepalive_s : 0;
	p->follow = c->in_udp && c->follow;
	p->engine = conf->engine;
	p->replay_window = c->replay_window;
	p->tos_copied = tos_copied(c);
	p->tos_fixed = tos_fixed(c);
	p->ttl = c->ttl;
	p->flow_label = c->flow_label;
	p->df = c->df;
	p->fragment_after = c->fragment_after;
	p->tfc_len = c->tfc_pad;
	p->dummies_rate = c->tfc_dummies;
	lifetime_write(p->soft, &c->soft);
	lifetime_write(p->hard, &c->hard);
	p->n_workers = conf->n_workers;
}

struct key_id build_sa_numbers(const struct conf *conf, const struct conf_sa *c)
{
	enum crypto_dir direction = c->direction == CONF_OUT ? CRYPTO_SEAL : CRYPTO_OPEN;
	struct sa_params p;

	build_sa_params(&p, conf, c);

	const struct sa_identity identity = sa_identity_of(direction, &p);

	return sa_identity_numbers(&identity);
}
