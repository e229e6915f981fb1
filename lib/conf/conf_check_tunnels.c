// SPDX-License-Identifier: BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "conf_check.h"
#include "conf_schema.h"

static bool uses(unsigned int out, const unsigned int in[], unsigned int n_in, unsigned int sa)
{
	bool found = out == sa;

	for (unsigned int i = 0; i < n_in; i++)
		found |= in[i] == sa;
	return found;
}

bool conf_sa_is_used(const struct conf *c, unsigned int sa)
{
	for (const struct conf_policy *p = c->policies; p < c->policies + c->n_policies; p++)
		if (p->action == SPD_PROTECT && uses(p->sa_out, p->sa_in, p->n_sa_in, sa))
			return true;
	for (const struct conf_tunnel *t = c->tunnels; t < c->tunnels + c->n_tunnels; t++)
		if (t->if_id == 0 && uses(t->sa_out, t->sa_in, t->n_sa_in, sa))
			return true;
	return false;
}

// The policy or tunnel that names an SA, by index of the SA.
struct user {
	config_setting_t *item; // NULL: nobody
	bool is_tunnel;
};

// A packet out of an SA is that of its tunnel, so a tunnel shares its SAs with nobody.
static void use(struct conf_reader *r, struct user *users, unsigned int sa, const struct user *by)
{
	if (users[sa].item != NULL && users[sa].item != by->item && by->is_tunnel)
		conf_err(r, by->item, "%s is used by %s, must be used by one tunnel alone",
			conf_ref(conf_item(r, CONF_SA, sa)), conf_ref(users[sa].item));
	else
		users[sa] = *by;
}

static void use_all(struct conf_reader *r, struct user *users, const struct user *by,
	unsigned int out, const unsigned int in[], unsigned int n_in)
{
	use(r, users, out, by);
	for (unsigned int i = 0; i < n_in; i++)
		use(r, users, in[i], by);
}

static void note_policies(struct conf_reader *r, struct user *users)
{
	const struct conf *c = r->c;

	for (unsigned int i = 0; i < c->n_policies; i++) {
		const struct conf_policy *p = &c->policies[i];
		const struct user by = {.item = conf_item(r, CONF_POLICY, i)};

		if (p->action == SPD_PROTECT && p->n_sa_in > 0)
			use_all(r, users, &by, p->sa_out, p->sa_in, p->n_sa_in);
	}
}

// Metrics and rules name ports, policies and tunnels alike.
static void check_name(struct conf_reader *r, config_setting_t *item, const char *name,
	const struct conf_names *others)
{
	int i = conf_given(item, "name") != NULL ? conf_names_find(others, name) : -1;

	if (i >= 0)
		conf_err(r, conf_member(item, "name"), "is already the name of %s",
			conf_ref(conf_item(r, others->kind, (unsigned int)i)));
}

static void check_mode(struct conf_reader *r, config_setting_t *item, const struct conf_sa *sa)
{
	if (sa->opt.mode != SA_TUNNEL)
		conf_err(r, item, "sa \"%s\" has mode %s, must have %s", sa->live.name,
			sa_mode_names[sa->opt.mode], sa_mode_names[SA_TUNNEL]);
}

static void find_sas(struct conf_reader *r, config_setting_t *item, const struct conf_names *sas,
	struct conf_tunnel *t, struct user *users)
{
	const struct user by = {.item = item, .is_tunnel = true};
	struct conf_policy found = {.action = SPD_PROTECT};

	if (conf_member(item, "if_id") != NULL) {
		conf_refuse_given(r, item, "out", "is for tunnels without if_id");
		conf_refuse_given(r, item, "in", "is for tunnels without if_id");
		return;
	}
	if (config_setting_is_group(item)) {
		conf_require(r, CONF_TUNNEL, item, "out");
		conf_require(r, CONF_TUNNEL, item, "in");
	}
	if (conf_given(item, "out") == NULL || conf_given(item, "in") == NULL ||
		!conf_check_pair(r, item, sas, &found))
		return;
	t->sa_out = found.sa_out;
	t->n_sa_in = found.n_sa_in;
	memcpy(t->sa_in, found.sa_in, sizeof(t->sa_in));
	use_all(r, users, &by, t->sa_out, t->sa_in, t->n_sa_in);
	check_mode(r, item, &r->c->sas[t->sa_out]);
}

static void check_probe(struct conf_reader *r, config_setting_t *item, const struct conf_tunnel *t)
{
	const struct ip_prefix v4 = {.len = IP_V4_BITS, .addr = ip_addr_from_v4(0)}, v6 = {0};
	const struct ip_prefix *all = ip_addr_is_v4(&t->probe.addr) ? &v4 : &v6;
	const uint16_t any = PROTO_ANY;
	const struct proto_ports every = {0, UINT16_MAX};
	const struct conf_policy p = {.local = {.at = all, .n = 1},
		.remote = {.at = all, .n = 1},
		.proto = {.at = &any, .n = 1},
		.local_port = {.at = &every, .n = 1},
		.remote_port = {.at = &every, .n = 1},
		.probe = t->probe};

	conf_check_probe(r, item, &p);
}

// --- addresses ---

// An address of a port or tunnel: iface is as of conf_addrs().
struct own {
	const struct conf_iface_addr *at;
	unsigned int iface;
};

static int compare_own(const void *a, const void *b)
{
	const struct own *x = a, *y = b;
	int rc = memcmp(&x->at->addr, &y->at->addr, sizeof(x->at->addr));

	return rc != 0 ? rc : (x->iface > y->iface) - (x->iface < y->iface);
}

static int compare_nets(const void *a, const void *b)
{
	const struct own *x = a, *y = b;
	int rc = memcmp(&x->at->net.addr, &y->at->net.addr, sizeof(x->at->net.addr));

	if (rc == 0)
		rc = x->at->net.len - y->at->net.len;
	return rc != 0 ? rc : (x->iface > y->iface) - (x->iface < y->iface);
}

// All accepted ones. Every link has the same link-local network, so those are not compared.
static unsigned int list_own(const struct conf *c, struct own *own)
{
	unsigned int n, all = 0;

	for (unsigned int i = 0; i < c->n_ports + c->n_tunnels; i++) {
		const struct conf_iface_addr *a = conf_addrs(c, i, &n);

		for (; n-- > 0; a++)
			if (!ip_addr_is_none(&a->addr) && !ip_addr_is_link_local(&a->addr))
				own[all++] = (struct own){a, i};
	}
	return all;
}

const char *conf_iface_ref(const struct conf_reader *r, unsigned int iface)
{
	return conf_ref(iface < r->c->n_ports ? conf_item(r, CONF_PORT, iface)
					      : conf_item(r, CONF_TUNNEL, iface - r->c->n_ports));
}

// Reports a conflict of two of them about the second. Ports were compared with each other.
static void check_own_pair(struct conf_reader *r, const struct own *x, const struct own *y)
{
	const unsigned int n_ports = r->c->n_ports;
	const char *other = conf_iface_ref(r, x->iface);
	char text[IP_PREFIX_STRLEN];
	config_setting_t *s;

	if (y->iface < n_ports)
		return;
	s = conf_at(conf_item(r, CONF_TUNNEL, y->iface - n_ports), "addresses");
	if (ip_addr_equal(&x->at->addr, &y->at->addr))
		conf_err(r, s, "%s is already an address of %s", ip_addr_format(text, &y->at->addr),
			other);
	else if (conf_equal_prefix(&x->at->net, &y->at->net) && x->iface != y->iface)
		conf_err(r, s, "network %s is already that of %s",
			ip_prefix_format(text, &y->at->net), other);
}

// Of networks that overlap, the longer one counts, as of routes.
static void check_addresses(struct conf_reader *r)
{
	const struct conf *c = r->c;
	struct own *own =
		conf_alloc((c->n_ports + c->n_tunnels) * CONF_ADDRS_MAX + 1, sizeof(own[0]));
	unsigned int n = list_own(c, own);

	qsort(own, n, sizeof(own[0]), compare_own);
	for (unsigned int i = 1; i < n; i++)
		if (ip_addr_equal(&own[i - 1].at->addr, &own[i].at->addr))
			check_own_pair(r, &own[i - 1], &own[i]);
	qsort(own, n, sizeof(own[0]), compare_nets);
	for (unsigned int i = 1; i < n; i++)
		if (!ip_addr_equal(&own[i - 1].at->addr, &own[i].at->addr))
			check_own_pair(r, &own[i - 1], &own[i]);
}

// --- hosts ---

struct host {
	const char *name;
	unsigned int iface; // as of conf_addrs()
};

static int compare_hosts(const void *a, const void *b)
{
	const struct host *x = a, *y = b;
	int rc = strcmp(x->name, y->name);

	return rc != 0 ? rc : (x->iface > y->iface) - (x->iface < y->iface);
}

static void check_host(struct conf_reader *r, config_setting_t *item)
{
	config_setting_t *host = conf_given(item, "host");

	if (host != NULL && conf_member(item, "addresses") == NULL)
		conf_err(r, host, "needs addresses: those of the tunnel are the host's as well");
}

// Ports were compared with each other.
static void check_hosts(struct conf_reader *r)
{
	const struct conf *c = r->c;
	struct host *hosts = conf_alloc(c->n_ports + c->n_tunnels, sizeof(hosts[0]));
	unsigned int n = 0, of_tunnels = 0;

	for (unsigned int i = 0; i < c->n_ports + c->n_tunnels; i++)
		if (conf_host(c, i) != NULL) {
			hosts[n++] = (struct host){conf_host(c, i), i};
			of_tunnels += i >= c->n_ports;
		}
	qsort(hosts, n, sizeof(hosts[0]), compare_hosts);
	for (unsigned int i = 1; i < n; i++)
		if (hosts[i].iface >= c->n_ports && strcmp(hosts[i].name, hosts[i - 1].name) == 0)
			conf_err(r,
				conf_at(conf_item(r, CONF_TUNNEL, hosts[i].iface - c->n_ports),
					"host"),
				"is already the host of %s", conf_iface_ref(r, hosts[i - 1].iface));
	if (of_tunnels > CONF_TUNNEL_HOSTS_MAX)
		conf_err(r, conf_at(r->root, "tunnels"),
			"has %u elements with host, must have at most %u", of_tunnels,
			CONF_TUNNEL_HOSTS_MAX);
}

static int compare_if_ids(const struct conf *c, unsigned int a, unsigned int b)
{
	const uint32_t x = c->tunnels[a].if_id, y = c->tunnels[b].if_id;

	return (x > y) - (x < y);
}

static void check_if_ids(struct conf_reader *r)
{
	struct conf_set set = conf_set_given(r, CONF_TUNNEL, (const char *[]){"if_id", NULL});

	conf_reject_equal(r, CONF_TUNNEL, &set, compare_if_ids, "if_id", "is already that of");
}

void conf_check_tunnels(struct conf_reader *r)
{
	struct conf *c = r->c;
	struct conf_names sas = conf_names_sort(r, CONF_SA), ports = conf_names_sort(r, CONF_PORT),
			  policies = conf_names_sort(r, CONF_POLICY);
	struct user *users = conf_alloc(c->n_sas + 1, sizeof(users[0]));

	conf_check_ike(r, CONF_TUNNEL);
	note_policies(r, users);
	for (unsigned int i = 0; i < c->n_tunnels; i++) {
		config_setting_t *item = conf_item(r, CONF_TUNNEL, i);

		check_name(r, item, c->tunnels[i].name, &ports);
		check_name(r, item, c->tunnels[i].name, &policies);
		find_sas(r, item, &sas, &c->tunnels[i], users);
		check_probe(r, item, &c->tunnels[i]);
		check_host(r, item);
	}
	conf_check_names(r, CONF_TUNNEL);
	check_if_ids(r);
	check_addresses(r);
	check_hosts(r);
	if (c->n_policies + c->n_tunnels > CONF_POLICIES_MAX)
		conf_err(r, conf_at(r->root, "tunnels"),
			"has %u elements, must have at most %u with policies", c->n_tunnels,
			CONF_POLICIES_MAX);
}
