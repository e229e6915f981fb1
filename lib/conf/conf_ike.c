// SPDX-License-Identifier: BSD-3-Clause
#include "conf_ike.h"

#include <string.h>

#include "conf_change_text.h"
#include "conf_check.h"

// --- ends that have moved ---

#define PORT(field)                                                                                \
	.type = &conf_type_uint, .min = 1, .max = UINT16_MAX, FIELD(struct conf_sa, field)

static const struct conf_option udp_options[] = {{.name = "local_port", PORT(opt.udp_local_port)},
	{.name = "remote_port", PORT(opt.udp_remote_port)}, {0}};

static const struct conf_option move_options[] = {
	{.name = "local", .type = &conf_type_address, FIELD(struct conf_sa, opt.local)},
	{.name = "remote", .type = &conf_type_address, FIELD(struct conf_sa, opt.remote)},
	{.name = "udp", .shape = CONF_GROUP, .options = udp_options},
	{.name = "late", .type = &conf_type_bool, FIELD(struct conf_sa, live.late)}, {0}};

// The own end of an SA is an address of a port whatever its mode is, and IKE's port is free
// whatever its direction is: they are the daemon's own.
static struct conf_ike_move move_read(
	struct conf_reader *r, const struct conf_change *c, config_setting_t *settings)
{
	struct conf_sa sa = {.opt = {.mode = SA_TUNNEL, .direction = SA_IN}};

	if (config_setting_length(settings) == 0)
		conf_err_at(r, c->where, NULL,
			"sa set: expected settings, must be some of local, remote, udp, late");
	conf_read_group(r, move_options, settings, &sa);
	conf_check_ends(r, settings, &sa);
	conf_check_ike_port(r, settings, &sa);
	conf_check_udp(r, settings, &sa);
	return (struct conf_ike_move){sa.opt.local, sa.opt.remote, sa.opt.udp_local_port,
		sa.opt.udp_remote_port, conf_given(settings, "late") != NULL, sa.live.late};
}

// --- changes ---

// The list doubles where its length is a power of two.
static struct conf_ike_change *change_new(struct conf_ike *ike, const struct conf_change *c)
{
	if ((ike->n & (ike->n - 1)) == 0)
		ike->changes =
			conf_resize(ike->changes, (2 * ike->n + 1) * sizeof(ike->changes[0]));
	ike->changes[ike->n] = (struct conf_ike_change){.c = *c};
	return &ike->changes[ike->n++];
}

static bool begins_with(const struct conf_words *w, const char *word)
{
	return w->n > 0 && strcmp(w->word[0], word) == 0;
}

static void flush_read(struct conf_reader *r, const struct conf_words *w)
{
	if (w->word[1] != NULL)
		conf_err_at(
			r, w->where, NULL, "flush: unexpected argument %s", conf_quote(w->word[1]));
	if (w->settings != NULL)
		conf_err_at(r, w->where, NULL, "flush: takes no settings { }");
	change_new(r->ike,
		&(struct conf_change){.where = w->where, .verb = CONF_FLUSH, .kind = CONF_KINDS});
}

static void spi_read(struct conf_reader *r, const struct conf_words *w)
{
	const bool add = w->n > 1 && strcmp(w->word[1], "add") == 0;
	const struct conf_change c = {
		.where = w->where, .verb = add ? CONF_ADD : CONF_DEL, .kind = CONF_KINDS};
	uint32_t spi;

	if (w->n != 3 || w->settings != NULL || (!add && strcmp(w->word[1], "del") != 0))
		conf_err_at(r, w->where, NULL, "spi: must be \"spi add SPI\" or \"spi del SPI\"");
	else if (!conf_number_whole(&spi, w->word[2]) || spi < CONF_SPI_MIN)
		conf_err_at(r, w->where, NULL, "spi %s: %s is not allowed, must be %s", w->word[1],
			conf_quote(w->word[2]), conf_type_spi.allowed);
	else
		change_new(r->ike, &c)->spi = spi;
}

// Settings of changes that the grammar allows in a configuration alone.
static bool change_check(
	struct conf_reader *r, const struct conf_words *w, const struct conf_change *c)
{
	const char *noun = conf_kinds[c->kind].noun;

	if (c->verb == CONF_ADD && w->n > 2)
		conf_err_at(r, c->where, NULL,
			"%s add: unexpected argument %s, priority says which one decides", noun,
			conf_quote(w->word[2]));
	else if (c->verb == CONF_SET && c->kind == CONF_POLICY)
		conf_err_at(r, c->where, NULL,
			"policy set: is for the configuration only, must be deleted and added");
	else if (c->verb != CONF_ADD &&
		 strncmp(c->name, CONF_IKE_PREFIX, strlen(CONF_IKE_PREFIX)) != 0)
		conf_err_at(r, c->where, NULL,
			"%s %s is no %s of an IKE daemon, must begin with \"" CONF_IKE_PREFIX "\"",
			noun, conf_quote(c->name), noun);
	else
		return true;
	return false;
}

static void change_read(struct conf_reader *r, const struct conf_words *w, struct conf_change *c)
{
	struct conf_ike_change *change = change_new(r->ike, c);
	config_t settings;

	if (conf_change_settings(r, w, c, &settings)) {
		if (c->verb == CONF_SET)
			change->move = move_read(r, c, config_root_setting(&settings));
		if (c->verb == CONF_ADD)
			conf_change_add(r, c);
	}
	config_destroy(&settings);
}

static void changes_read(struct conf_reader *r)
{
	struct conf_record in;
	struct conf_words words;
	struct conf_change c;

	if (!conf_record_begin(&in, r))
		return;
	while (conf_record_next(&in, &words))
		if (begins_with(&words, "flush"))
			flush_read(r, &words);
		else if (begins_with(&words, "spi"))
			spi_read(r, &words);
		else if (conf_change_parse(r, &words, &c) && change_check(r, &words, &c))
			change_read(r, &words, &c);
}

// --- requests ---

static void items_read(struct conf_reader *r)
{
	conf_read_setting(r, conf_kinds[CONF_SA].list);
	conf_read_setting(r, conf_kinds[CONF_POLICY].list);
	conf_check_sas(r);
	conf_check_policies(r);
}

// Items that are added are numbered in the order of the request.
static void items_name(struct conf_ike *ike)
{
	unsigned int n_sas = 0, n_policies = 0;

	for (struct conf_ike_change *change = ike->changes; change < ike->changes + ike->n;
		change++) {
		struct conf_change *c = &change->c;

		if (c->verb == CONF_ADD && c->kind == CONF_SA) {
			change->index = n_sas++;
			c->name = ike->conf->sas[change->index].live.name;
		} else if (c->verb == CONF_ADD && c->kind == CONF_POLICY) {
			change->index = n_policies++;
			c->name = ike->conf->policies[change->index].name;
		}
	}
}

// The settings of the running configuration have no part in this: ports and routes are taken as
// they are.
static void request_read(struct conf_reader *r)
{
	config_t items;

	r->c = conf_alloc(1, sizeof(*r->c));
	*r->c = *r->running;
	r->c->tree = NULL;
	r->c->sas = NULL;
	r->c->policies = NULL;
	r->c->n_sas = r->c->n_policies = 0;
	r->dir = r->running->tree->dir;
	r->nets_known = r->routes_known = true;
	r->ike = conf_alloc(1, sizeof(*r->ike));
	r->ike->conf = r->c;
	config_init(&items);
	r->root = config_root_setting(&items);
	changes_read(r);
	if (r->n_messages == 0)
		items_read(r);
	config_destroy(&items); // wipes keys
	if (r->n_messages == 0)
		items_name(r->ike);
}

struct conf_ike *conf_ike_read(
	const struct conf *running, const char *name, const char *text, size_t len, FILE *errors)
{
	struct conf_reader r = {.running = running, .name = name, .text = text, .len = len};

	return conf_make(&r, request_read, errors) != NULL ? r.ike : NULL;
}

void conf_ike_free(struct conf_ike *ike)
{
	if (ike != NULL)
		conf_free(ike->conf);
}
