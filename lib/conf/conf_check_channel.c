// SPDX-License-Identifier: BSD-3-Clause
#include "conf_check.h"
#include "pem.h"

static bool has_channel(const config_setting_t *pair)
{
	static const char *const names[] = {
		"address", "peer", "port", "certificate", "private_key", "peer_certificate"};

	for (unsigned int i = 0; i < RTE_DIM(names); i++)
		if (conf_member(pair, names[i]) != NULL)
			return true;
	return false;
}

// All settings but those with a default.
static void check_complete(struct conf_reader *r, config_setting_t *pair)
{
	for (const struct conf_option *o = conf_pair_options; o->name != NULL; o++)
		if (o->def == NULL && conf_member(pair, o->name) == NULL)
			conf_reject_missing(r, pair, o);
}

static void check_addresses(struct conf_reader *r, config_setting_t *pair)
{
	config_setting_t *address = conf_given(pair, "address"), *peer = conf_given(pair, "peer");
	const struct ip_addr *own = &r->c->pair_addr, *other = &r->c->pair_peer;
	char text[IP_ADDR_STRLEN];

	if (address != NULL && r->nets_known && conf_own_iface(r->c, own) >= 0)
		conf_err(r, address,
			"%s is an address of %s, must be one of the kernel's interfaces",
			ip_addr_format(text, own),
			conf_iface_ref(r, (unsigned int)conf_own_iface(r->c, own)));
	if (address == NULL || peer == NULL)
		return;
	if (ip_addr_equal(own, other))
		conf_err(r, peer, "is the address of this gateway, must be that of the other one");
	else if (ip_addr_family(own) != ip_addr_family(other))
		conf_err(r, peer, "must be of the family of address");
}

static void check_files(struct conf_reader *r, config_setting_t *pair)
{
	config_setting_t *certificate = conf_given(pair, "certificate");
	config_setting_t *key = conf_given(pair, "private_key");
	config_setting_t *peer = conf_given(pair, "peer_certificate");

	if (certificate == NULL)
		return;
	if (key != NULL && !pem_key_fits(r->c->pair_key, r->c->pair_certificate))
		conf_err(r, key, "is not the key of certificate");
	if (peer != NULL &&
		pem_same_certificate(r->c->pair_certificate, r->c->pair_peer_certificate))
		conf_err(r, peer, "is the own certificate, must be that of the other gateway");
}

void conf_check_channel(struct conf_reader *r)
{
	config_setting_t *pair = conf_given(r->root, "pair");

	if (!has_channel(pair))
		return;
	check_complete(r, pair);
	check_addresses(r, pair);
	check_files(r, pair);
}
