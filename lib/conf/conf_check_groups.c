// SPDX-License-Identifier: BSD-3-Clause
#include "conf_check.h"

bool conf_group_has(const struct conf_group *g, const struct ip_addr *a)
{
	for (unsigned int i = 0; i < g->n_addrs; i++)
		if (ip_addr_equal(&g->addrs[i], a))
			return true;
	return false;
}

const struct conf_group *conf_group_of(const struct conf *c, const struct ip_addr *a)
{
	for (unsigned int i = 0; i < c->n_groups; i++)
		if (conf_group_has(&c->groups[i], a))
			return &c->groups[i];
	return NULL;
}

// The group before i that has the address, or i itself if it has it twice; -1: none has.
static int earlier(const struct conf *c, unsigned int i, unsigned int k)
{
	const struct ip_addr *addr = &c->groups[i].addrs[k];

	for (unsigned int g = 0; g <= i; g++)
		for (unsigned int a = 0; a < (g == i ? k : c->groups[g].n_addrs); a++)
			if (ip_addr_equal(&c->groups[g].addrs[a], addr))
				return (int)g;
	return -1;
}

static bool is_of_port(const struct conf *c, const struct ip_addr *addr)
{
	int iface = conf_own_iface(c, addr);

	return iface >= 0 && (unsigned int)iface < c->n_ports;
}

static void check_address(
	struct conf_reader *r, config_setting_t *s, unsigned int group, unsigned int i)
{
	const struct ip_addr *addr = &r->c->groups[group].addrs[i];
	int other = earlier(r->c, group, i);
	char text[IP_ADDR_STRLEN];

	ip_addr_format(text, addr);
	if (r->nets_known && !is_of_port(r->c, addr))
		conf_err(r, s, "%s is no address of a port, must be one of its addresses", text);
	else if (other == (int)group)
		conf_err(r, s, "%s is in the array twice", text);
	else if (other >= 0)
		conf_err(r, s, "%s is of one group alone, and also in %s", text,
			conf_ref(conf_item(r, CONF_OWNED_GROUP, (unsigned int)other)));
}

void conf_check_groups(struct conf_reader *r)
{
	conf_check_names(r, CONF_OWNED_GROUP);
	for (unsigned int i = 0; i < r->c->n_groups; i++) {
		config_setting_t *addrs =
			conf_given(conf_item(r, CONF_OWNED_GROUP, i), "addresses");

		for (unsigned int k = 0; addrs != NULL && k < r->c->groups[i].n_addrs; k++)
			check_address(r, config_setting_get_elem(addrs, k), i, k);
	}
}
