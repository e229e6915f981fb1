// SPDX-License-Identifier: BSD-3-Clause
#include <inttypes.h>
#include <string.h>

#include "conf_check.h"
#include "conf_schema.h"
#include "number_block.h"

#define REPLAY_WINDOW_MIN 32 // RFC 4303 3.4.3
#define IKE_PORT          500

// Reports an option that is for other SAs. In transport mode there is one header, which stays as it
// is.
static void check_option(struct conf_reader *r, const struct conf_option *o, config_setting_t *s,
	const struct conf_sa *sa, bool direction_known)
{
	if (direction_known && (o->only & CONF_ONLY_OUT) != 0 && sa->opt.direction == SA_IN)
		conf_err(r, s, "is for direction \"out\" only");
	else if (direction_known && (o->only & CONF_ONLY_IN) != 0 && sa->opt.direction == SA_OUT)
		conf_err(r, s, "is for direction \"in\" only");
	else if ((o->only & CONF_ONLY_TUNNEL) != 0 && sa->opt.mode == SA_TRANSPORT)
		conf_err(r, s, "is for mode \"tunnel\" only");
}

static void check_options(struct conf_reader *r, const struct conf_option *options,
	config_setting_t *group, const struct conf_sa *sa, bool direction_known)
{
	for (const struct conf_option *o = options; o->name != NULL; o++) {
		config_setting_t *s = conf_given(group, o->name);

		if (s == NULL)
			continue;
		check_option(r, o, s, sa, direction_known);
		if (o->shape == CONF_GROUP)
			check_options(r, o->options, s, sa, direction_known);
	}
}

int conf_compare_sa_names(const struct conf *c, unsigned int a, unsigned int b)
{
	return strcmp(c->sas[a].live.name, c->sas[b].live.name);
}

// Key of a packet's SA: inbound the SPI, outbound the peer finds it by SPI, too (RFC 4301 4.1).
int conf_compare_spis(const struct conf *c, unsigned int a, unsigned int b)
{
	const struct conf_sa *x = &c->sas[a], *y = &c->sas[b];

	if (x->opt.direction != y->opt.direction)
		return x->opt.direction < y->opt.direction ? -1 : 1;
	if (x->opt.spi != y->opt.spi)
		return x->opt.spi < y->opt.spi ? -1 : 1;
	if (x->opt.direction == SA_IN)
		return 0;
	if (ip_addr_is_none(&x->opt.remote)) // of two peers that may be anywhere each has its own
		return a < b ? -1 : a > b;
	return memcmp(&x->opt.remote, &y->opt.remote, sizeof(x->opt.remote));
}

int conf_compare_cipher_keys(const struct conf *c, unsigned int a, unsigned int b)
{
	const struct conf_sa *x = &c->sas[a], *y = &c->sas[b];

	return memcmp(x->cipher_key, y->cipher_key, sizeof(x->cipher_key));
}

int conf_compare_keys(const struct conf *c, unsigned int a, unsigned int b)
{
	int by_cipher = conf_compare_cipher_keys(c, a, b);

	return by_cipher != 0
		       ? by_cipher
		       : memcmp(c->sas[a].auth_key, c->sas[b].auth_key, sizeof(c->sas[a].auth_key));
}

static void check_algorithms(
	struct conf_reader *r, config_setting_t *item, const struct conf_sa *sa)
{
	if (conf_given(item, "cipher") == NULL || conf_rejected(item, "auth") ||
		alg_pair_ok(sa->opt.cipher, sa->opt.auth))
		return;
	if (sa->opt.auth->mode == AUTH_NONE)
		conf_err(r, conf_at(item, "auth"),
			"%s without auth does not protect integrity, must have an auth that is not "
			"none",
			sa->opt.cipher->name);
	else
		conf_err(r, conf_at(item, "auth"), "%s authenticates by itself, auth must be none",
			sa->opt.cipher->name);
}

static void check_route(struct conf_reader *r, config_setting_t *s, const struct ip_addr *from,
	const struct ip_addr *to)
{
	const struct conf_tunnel *tunnel = conf_egress_tunnel(r->c, from, to);
	char buf[IP_ADDR_STRLEN];

	ip_addr_format(buf, to);
	if (!r->nets_known || !r->routes_known || conf_egress_port(r->c, from, to) >= 0)
		return;
	if (tunnel != NULL)
		conf_err(r, s, "the route to %s leads into tunnel \"%s\", must lead to a port", buf,
			tunnel->name);
	else
		conf_err(
			r, s, "no route to %s, must be in a port's network or behind a route", buf);
}

// A link-local address would need the name of its link.
static bool check_scope(struct conf_reader *r, config_setting_t *s, const struct ip_addr *a)
{
	bool narrow = s != NULL && ip_addr_is_link_local(a);

	if (narrow)
		conf_err(r, s, "is link-local, must be an address of wider scope");
	return !narrow;
}

// In transport mode the packets may be those of a host behind the gateway.
static void check_local(struct conf_reader *r, config_setting_t *s, const struct conf_sa *sa)
{
	char buf[IP_ADDR_STRLEN];

	if (!r->nets_known || conf_own_port(r->c, &sa->opt.local) >= 0)
		return;
	ip_addr_format(buf, &sa->opt.local);
	if (sa->opt.mode == SA_TUNNEL)
		conf_err(r, s, "%s is not an address of a port, must be one", buf);
	else if (conf_is_broadcast(r->c, &sa->opt.local))
		conf_err(r, s, "%s is %s, must be a host's", buf, conf_no_host(&sa->opt.local));
	else
		check_route(r, s, &sa->opt.remote, &sa->opt.local);
}

// Until the host has an address, and to check the rest, opt.local is unspecified.
static void local_take(struct conf_reader *r, config_setting_t *item, struct conf_sa *sa)
{
	const struct conf_port *port = conf_port_named(r->c, sa->local.port);
	config_setting_t *s = conf_given(item, "local");

	sa->opt.local = sa->local.addr;
	if (sa->local.port[0] == '\0')
		return;
	if (r->ike)
		conf_err(r, s,
			"the name of a port is not for requests of an IKE daemon, must be "
			"an address");
	else if (r->nets_known && port == NULL)
		conf_err(r, s, "%s is no address and no port, must be one",
			conf_quote(sa->local.port));
	else if (r->nets_known && !port->follows_host)
		conf_err(r, s, "%s has addresses of the file, must be one of them",
			conf_ref(conf_item(r, CONF_PORT, (unsigned int)(port - r->c->ports))));
	if (sa->opt.mode == SA_TRANSPORT && !conf_rejected(item, "mode"))
		conf_err(r, s, "the name of a port is for mode \"tunnel\" only");
	if (conf_given(item, "remote") == NULL)
		return;
	if (ip_addr_is_none(&sa->opt.remote))
		conf_err(r, conf_at(item, "remote"),
			"\"any\" does not show the family of local, which is the name of a port");
	else
		conf_local_follow(sa, &(struct conf_port){0});
}

void conf_check_ends(struct conf_reader *r, config_setting_t *item, const struct conf_sa *sa)
{
	config_setting_t *local = conf_given(item, "local"), *remote = conf_given(item, "remote");
	char buf[IP_ADDR_STRLEN];

	if (local != NULL && remote != NULL && !ip_addr_is_none(&sa->opt.remote) &&
		!conf_check_same_family(
			r, item, "local", &sa->opt.local, "remote", &sa->opt.remote))
		return;
	if (!check_scope(r, local, &sa->opt.local) || !check_scope(r, remote, &sa->opt.remote))
		return;
	if (local != NULL && sa->local.port[0] == '\0' && !conf_rejected(item, "mode"))
		check_local(r, local, sa);
	if (remote == NULL || ip_addr_is_none(&sa->opt.remote))
		return;
	ip_addr_format(buf, &sa->opt.remote);
	if (conf_own_iface(r->c, &sa->opt.remote) >= 0)
		conf_err(r, remote, "%s is an address of this gateway, must be the peer's", buf);
	else if (conf_is_broadcast(r->c, &sa->opt.remote))
		conf_err(r, remote, "%s is %s, must be a host's", buf,
			conf_no_host(&sa->opt.remote));
	else if (sa->local.port[0] == '\0') // the client of the host brings a default route
		check_route(r, remote, &sa->opt.local, &sa->opt.remote);
}

// Workers that share an SA have at most half as many of its packets in flight, which one that does
// not wait for its turn may overtake.
unsigned int conf_replay_window(const struct conf *c)
{
	return c->n_workers > 1 ? c->n_workers * 512 : 64;
}

static void check_replay_window(struct conf_reader *r, config_setting_t *item, struct conf_sa *sa)
{
	config_setting_t *s = conf_given(item, "replay_window");

	if (sa->opt.direction == SA_OUT) {
		sa->opt.replay_window = 0;
	} else if (s == NULL && !r->ike) {
		sa->opt.replay_window = conf_replay_window(r->running != NULL ? r->running : r->c);
	} else if (sa->opt.replay_window > 0 && sa->opt.replay_window < REPLAY_WINDOW_MIN) {
		conf_err(r, s, "%u is out of range, must be 0 (no check) or from %u to 65536",
			sa->opt.replay_window, REPLAY_WINDOW_MIN);
	} else if (s != NULL && sa->opt.replay_window == 0 && sa->opt.esn) {
		// The upper half of a number is derived from the window (RFC 4303 3.3.3).
		conf_err(r, s, "0 (no check) cannot be combined with esn, must be from %u to 65536",
			REPLAY_WINDOW_MIN);
	}
}

static void check_order(struct conf_reader *r, config_setting_t *group, const char *soft_name,
	const char *hard_name, uint64_t soft, uint64_t hard)
{
	config_setting_t *s = conf_given(group, soft_name);

	if (s != NULL && conf_given(group, hard_name) != NULL && soft > hard)
		conf_err(r, s, "is more than %s, must be at most as much", hard_name);
}

// Blocks of numbers that are left out count as packets: of a pair, each member has every second
// block, and each takeover leaves out one or two.
static void check_packets_of_pair(
	struct conf_reader *r, config_setting_t *packets, const struct conf_sa *sa)
{
	uint64_t least = 4 * (sa->opt.esn ? NUMBER_BLOCK_ESN : NUMBER_BLOCK);

	if (packets != NULL && r->c->pair_member != 0 && sa->opt.direction == SA_OUT &&
		sa->live.hard_packets < least)
		conf_err(r, packets,
			"is less than %" PRIu64
			", of which the members of a pair have a part each, must be at least that",
			least);
}

static void check_lifetime(struct conf_reader *r, config_setting_t *item, const struct conf_sa *sa)
{
	config_setting_t *group = conf_given(item, "lifetime"), *packets;

	if (group == NULL)
		return;
	check_order(r, group, "soft_bytes", "hard_bytes", sa->live.soft_bytes, sa->live.hard_bytes);
	check_order(r, group, "soft_packets", "hard_packets", sa->live.soft_packets,
		sa->live.hard_packets);
	check_order(r, group, "soft_seconds", "hard_seconds", sa->live.soft_seconds,
		sa->live.hard_seconds);
	packets = conf_given(group, "hard_packets");
	if (packets != NULL && !conf_rejected(item, "esn") && !sa->opt.esn &&
		sa->live.hard_packets > UINT32_MAX)
		conf_err(r, packets,
			"is more than the sequence numbers without esn, must be at most %u",
			UINT32_MAX);
	check_packets_of_pair(r, packets, sa);
}

// remote = "any" needs UDP encapsulation: the endpoint is learnt from authenticated packets.
static void check_anywhere(struct conf_reader *r, config_setting_t *item, const struct conf_sa *sa)
{
	config_setting_t *remote = conf_given(item, "remote");

	if (remote == NULL || conf_rejected(item, "udp") || !ip_addr_is_none(&sa->opt.remote))
		return;
	if (sa->opt.mode == SA_TRANSPORT && !conf_rejected(item, "mode"))
		conf_err(r, remote, "\"any\" is for mode \"tunnel\" only");
	else if (!sa->opt.in_udp)
		conf_err(r, remote, "\"any\" needs the group udp");
	else if (sa->opt.direction == SA_OUT && !sa->live.follow)
		conf_err(r, remote, "\"any\" needs udp.follow to be true");
}

bool conf_may_have_ike(const struct conf *c)
{
	return c->n_ike_via > 0 || conf_has_host(c);
}

void conf_check_udp(struct conf_reader *r, config_setting_t *item, struct conf_sa *sa)
{
	config_setting_t *group = conf_given(item, "udp");

	sa->opt.in_udp = group != NULL;
	// IKE has its marker everywhere but there (RFC 7296 2.23): it would be taken for ESP.
	if (group != NULL && sa->opt.direction == SA_IN && sa->opt.udp_local_port == IKE_PORT &&
		conf_may_have_ike(r->c))
		conf_err(r, conf_given(group, "local_port"),
			"%u is the port of IKE, used by ike.via or host, must be another",
			IKE_PORT);
}

static bool hides_nothing(const struct cipher_alg *cipher)
{
	return cipher->mode == CIPHER_NULL || cipher->mode == CIPHER_GMAC;
}

// Traffic flow confidentiality (RFC 4303 2.6, 2.7).
static void check_tfc(struct conf_reader *r, config_setting_t *item, struct conf_sa *sa)
{
	config_setting_t *s = conf_given(item, "tfc");

	if (s == NULL) {
		sa->opt.tfc_pad = 0;
		return;
	}
	if (conf_given(item, "cipher") != NULL && hides_nothing(sa->opt.cipher))
		conf_err(r, s, "%s does not encrypt, tfc must have a cipher that does",
			sa->opt.cipher->name);
	// Fields copied from the inner header would distinguish packets.
	if (conf_given(item, "ecn") == NULL)
		sa->opt.ecn = false;
	if (conf_given(item, "df") == NULL)
		sa->opt.df = SA_DF_SET;
}

static void check_dscp(struct conf_reader *r, config_setting_t *item, struct conf_sa *sa)
{
	config_setting_t *s = conf_given(item, "dscp");
	bool out = sa->opt.direction == SA_OUT;

	if (s == NULL)
		sa->opt.dscp = !out ? SA_DSCP_KEEP : sa->opt.tfc_pad != 0 ? 0 : SA_DSCP_COPY;
	else if (conf_given(item, "direction") == NULL)
		return;
	else if (out && sa->opt.dscp == SA_DSCP_KEEP)
		conf_err(r, s, "\"keep\" is for direction \"in\" only");
	else if (!out && sa->opt.dscp <= SA_DSCP_MAX)
		conf_err(r, s,
			"a fixed value is for direction \"out\" only, must be \"keep\" or "
			"\"copy\"");
}

static void check_flow_label(
	struct conf_reader *r, config_setting_t *item, const struct conf_sa *sa)
{
	config_setting_t *s = conf_given(item, "flow_label");

	if (s != NULL && sa->opt.direction == SA_OUT && sa->opt.mode == SA_TUNNEL &&
		conf_given(item, "remote") != NULL && ip_addr_is_v4(&sa->opt.remote))
		conf_err(r, s, "is for tunnels over IPv6 only");
}

// Keeps the indexes of conf_edit_new(). They have all SAs if there was no mistake.
static void index_keep(
	struct conf_reader *r, const struct conf_set *by_name, const struct conf_set *by_spi)
{
	struct conf_set by_keys = conf_set_given(r, CONF_SA, (const char *[]){NULL});

	conf_set_sort(r, &by_keys, conf_compare_keys);
	r->c->tree->sas_by_name = *by_name;
	r->c->tree->sas_by_spi = *by_spi;
	r->c->tree->sas_by_keys = by_keys;
}

void conf_check_sas(struct conf_reader *r)
{
	struct conf *c = r->c;
	struct conf_set spis =
		conf_set_given(r, CONF_SA, (const char *[]){"spi", "direction", "remote", NULL});
	struct conf_set keyed = {.index = conf_alloc(c->n_sas, sizeof(keyed.index[0]))};
	struct conf_set by_name;

	conf_check_ike(r, CONF_SA);
	for (unsigned int i = 0; i < c->n_sas; i++) {
		config_setting_t *item = conf_item(r, CONF_SA, i);
		struct conf_sa *sa = &c->sas[i];

		check_options(r, conf_sa_options, item, sa, conf_given(item, "direction") != NULL);
		local_take(r, item, sa);
		conf_check_ends(r, item, sa);
		if (r->ike)
			conf_check_ike_port(r, item, sa);
		check_replay_window(r, item, sa);
		check_tfc(r, item, sa);
		check_dscp(r, item, sa);
		check_flow_label(r, item, sa);
		check_lifetime(r, item, sa);
		conf_check_udp(r, item, sa);
		check_anywhere(r, item, sa);
		check_algorithms(r, item, sa);
		if (conf_key_read(r, item, sa) && cipher_alg_counts(sa->opt.cipher))
			keyed.index[keyed.n++] = i;
	}
	by_name = conf_check_names(r, CONF_SA);
	conf_reject_equal(r, CONF_SA, &spis, conf_compare_spis, "spi", "is already the SPI of");
	// Their nonces would repeat, which must not be for a key (RFC 3686 2.1, RFC 4106 3.1).
	conf_reject_equal(r, CONF_SA, &keyed, conf_compare_cipher_keys, "cipher_key",
		"key and salt must be unique, are also those of");
	if (c->tree != NULL)
		index_keep(r, &by_name, &spis);
}
