// SPDX-License-Identifier: BSD-3-Clause
#include "conf_edit.h"

#include <stdlib.h>
#include <string.h>

#include "conf_change_text.h"
#include "conf_check.h"
#include "conf_unsaved.h"

#define INDEXES 3

// An edit while it is made.
struct making {
	struct conf_reader r;
	struct conf_edit *e;
	bool fits; // it can be made in place
};

static config_setting_t *list_of(const struct conf *c)
{
	return conf_member(config_root_setting(&c->tree->file), conf_kinds[CONF_SA].list);
}

// --- indexes ---

struct sa_index {
	struct conf_set *set;
	conf_compare compare;
};

static void indexes_of(const struct conf *c, struct sa_index index[INDEXES])
{
	index[0] = (struct sa_index){&c->tree->sas_by_name, conf_compare_sa_names};
	index[1] = (struct sa_index){&c->tree->sas_by_spi, conf_compare_spis};
	index[2] = (struct sa_index){&c->tree->sas_by_keys, conf_compare_keys};
}

// The place of the first SA in an index that does not come before SA i.
static unsigned int place_of(
	const struct conf *c, const struct conf_set *set, conf_compare compare, unsigned int i)
{
	unsigned int low = 0, high = set->n;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (compare(c, set->index[middle], i) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool has_equal(
	const struct conf *c, const struct conf_set *set, conf_compare compare, unsigned int i)
{
	unsigned int at = place_of(c, set, compare, i);

	return at < set->n && compare(c, set->index[at], i) == 0;
}

static void index_add(const struct conf *c, const struct sa_index *index, unsigned int i)
{
	struct conf_set *set = index->set;
	unsigned int at = place_of(c, set, index->compare, i);

	memmove(&set->index[at + 1], &set->index[at], (set->n - at) * sizeof(set->index[0]));
	set->index[at] = i;
	set->n++;
}

static void index_remove(const struct sa_index *index, unsigned int i)
{
	struct conf_set *set = index->set;
	unsigned int n = 0;

	for (unsigned int k = 0; k < set->n; k++)
		if (set->index[k] != i)
			set->index[n++] = set->index[k] - (set->index[k] > i);
	set->n = n;
}

// The SA of this name; -1: there is none.
static int sa_find(const struct conf *c, const char *name)
{
	const struct conf_set *set = &c->tree->sas_by_name;
	unsigned int low = 0, high = set->n;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;
		int order = strcmp(c->sas[set->index[middle]].live.name, name);

		if (order == 0)
			return (int)set->index[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

// --- whether a change concerns other items ---

// The kernel's share of an isolated port depends on all SAs. Addresses that the kernel has added to
// a port are not the configuration's, so that no SA may use them.
static bool has_kernel_share(const struct conf *c)
{
	bool share = false;

	for (unsigned int i = 0; i < c->n_ports; i++)
		share |= c->ports[i].isolated || c->ports[i].guests.n > 0 ||
			 c->ports[i].follows_host;
	return share;
}

// A rule may mean a tunnel by the name of an SA.
static bool is_named_by_rule(const struct conf *c, const char *name)
{
	for (unsigned int i = 0; i < c->n_rules; i++)
		if (strcmp(c->rules[i].tunnel, name) == 0)
			return true;
	return false;
}

// Element i of the array is not yet one of its items.
static bool fits_added(const struct conf *c, unsigned int i)
{
	const struct conf_sa *sa = &c->sas[i];
	int port = conf_sa_port(c, sa);
	conf_compare by_key =
		cipher_alg_counts(sa->opt.cipher) ? conf_compare_cipher_keys : conf_compare_keys;

	return !has_equal(c, &c->tree->sas_by_name, conf_compare_sa_names, i) &&
	       !has_equal(c, &c->tree->sas_by_spi, conf_compare_spis, i) &&
	       !has_equal(c, &c->tree->sas_by_keys, by_key, i) &&
	       (port < 0 || c->ports[port].unprotected) && !is_named_by_rule(c, sa->live.name);
}

// Whether an SA may be the only one by which its port faces the untrusted side.
static bool decides_side(const struct conf *c, unsigned int sa)
{
	int port = conf_sa_port(c, &c->sas[sa]);

	for (unsigned int i = 0; port >= 0 && i < c->n_sas; i++)
		if (i != sa && conf_sa_port(c, &c->sas[i]) == port)
			return false;
	return port >= 0;
}

static bool fits_deleted(const struct conf *c, unsigned int i)
{
	const struct conf_sa *sa = &c->sas[i];

	// Without it its UDP port may be one of ESP no more.
	return !conf_sa_is_used(c, i) && !decides_side(c, i) &&
	       !is_named_by_rule(c, sa->live.name) &&
	       !(sa->opt.in_udp && sa->opt.direction == SA_IN);
}

// --- reading ---

static void change_read(struct making *m, const struct conf_words *w)
{
	struct conf_change c;
	config_t settings;

	if (!conf_change_parse(&m->r, w, &c))
		return;
	m->fits = c.kind == CONF_SA && (c.verb == CONF_ADD || c.verb == CONF_DEL);
	if (!m->fits)
		return;
	if (c.verb == CONF_DEL) {
		m->e->deleted = sa_find(m->e->conf, c.name);
		m->fits = m->e->deleted >= 0;
		return;
	}
	if (conf_change_settings(&m->r, w, &c, &settings))
		conf_change_add(&m->r, &c);
	config_destroy(&settings);
}

// Adds of any number, or a single deletion.
static void changes_read(struct making *m)
{
	struct conf_record in;
	struct conf_words words;

	if (!conf_record_begin(&in, &m->r))
		return;
	while (m->fits && conf_record_next(&in, &words)) {
		m->fits = m->e->deleted < 0;
		if (m->fits)
			change_read(m, &words);
	}
	m->fits = m->fits && (m->e->deleted < 0 || in.n == 1);
}

// The SAs alone, with the ports and routes of the configuration.
static void sas_read(struct making *m)
{
	struct conf_reader *r = &m->r;

	conf_read_setting(r, conf_kinds[CONF_SA].list);
	conf_check_sas(r);
	if (r->n_messages == 0)
		conf_keys_keep(r);
	m->e->sas = r->c->sas;
	m->e->n_sas = r->c->n_sas;
}

static void changes_note(struct conf_edit *e)
{
	e->n = e->deleted >= 0 ? 1 : e->n_sas;
	e->change = conf_alloc(e->n, sizeof(e->change[0]));
	for (unsigned int i = 0; i < e->n_sas; i++)
		e->change[i] = (struct conf_change){
			.verb = CONF_ADD, .kind = CONF_SA, .name = e->sas[i].live.name};
	if (e->deleted >= 0)
		e->change[0] = (struct conf_change){.verb = CONF_DEL,
			.kind = CONF_SA,
			.name = conf_strdup(e->conf->sas[e->deleted].live.name)};
}

static void edit_read(void *arg)
{
	struct making *m = arg;
	struct conf_reader *r = &m->r;
	struct conf *c = m->e->conf;
	struct conf_tree *tree;

	conf_begin(r, c->tree->dir);
	tree = r->c->tree;
	config_init(&tree->file);
	*r->c = *c;
	r->c->tree = tree;
	r->c->sas = NULL;
	r->c->n_sas = 0;
	r->root = config_root_setting(&tree->file);
	r->nets_known = r->routes_known = true;
	changes_read(m);
	if (m->fits && r->n_messages == 0 && m->e->deleted < 0)
		sas_read(m);
	if (m->fits && r->n_messages == 0)
		changes_note(m->e);
}

// --- preparing, with memory of the configuration ---

static void arrays_grow(struct conf *c, unsigned int n)
{
	struct sa_index index[INDEXES];
	size_t room = conf_room(n);

	c->sas = conf_resize(c->sas, room * sizeof(c->sas[0]));
	c->tree->key_files = conf_resize(c->tree->key_files, room * sizeof(c->tree->key_files[0]));
	indexes_of(c, index);
	for (unsigned int i = 0; i < INDEXES; i++)
		index[i].set->index =
			conf_resize(index[i].set->index, room * sizeof(index[i].set->index[0]));
}

// The name of the file of a record: mostly that of the record before.
static const char *file_of(struct conf_edit *e, const char *name)
{
	const char *last = e->conf->tree->record;

	if (last != NULL && strcmp(last, name) == 0)
		return last;
	e->name = conf_strdup(name);
	return e->name;
}

// Its settings, its keys' file, and the note that it was added: element i of the array has the
// rest.
static void sa_add(const struct making *m, unsigned int i, const char *file)
{
	struct conf *c = m->e->conf;
	unsigned int k = i - c->n_sas;
	const struct conf_tree *from = m->r.c->tree;
	const config_setting_t *item =
		conf_tree_add(list_of(c), conf_tree_item(from, CONF_SA, k), file);

	c->sas[i].where = conf_where(item);
	c->tree->key_files[i] = from->key_files[k] != NULL ? conf_strdup(from->key_files[k]) : NULL;
	conf_unsaved_add(c->tree, CONF_SA, c->sas[i].live.name);
}

static void added_prepare(struct making *m)
{
	struct conf_edit *e = m->e;
	struct conf *c = e->conf;
	const char *file;

	m->fits = c->n_sas + e->n_sas <=
		  conf_option_find(conf_top_options, conf_kinds[CONF_SA].list)->n_max;
	if (!m->fits)
		return;
	arrays_grow(c, c->n_sas + e->n_sas);
	memcpy(&c->sas[c->n_sas], e->sas, e->n_sas * sizeof(c->sas[0]));
	memset(&c->tree->key_files[c->n_sas], 0, e->n_sas * sizeof(c->tree->key_files[0]));
	e->n_copied = e->n_sas;
	for (unsigned int i = 0; m->fits && i < e->n_sas; i++)
		m->fits = fits_added(c, c->n_sas + i);
	file = m->fits ? file_of(e, e->sas[0].where.file) : NULL;
	for (unsigned int i = 0; m->fits && i < e->n_sas; i++)
		sa_add(m, c->n_sas + i, file);
}

static void edit_prepare(void *arg)
{
	struct making *m = arg;
	struct conf_edit *e = m->e;
	struct conf *c = e->conf;

	// SAs of a fleet have checks of their own, and values of etcd are looked at again.
	m->fits = list_of(c) != NULL && !has_kernel_share(c) && c->fleet_member == 0;
	if (m->fits && e->deleted < 0) {
		added_prepare(m);
	} else if (m->fits) {
		m->fits = fits_deleted(c, (unsigned int)e->deleted);
		conf_unsaved_reserve(c->tree);
		e->name = conf_strdup(c->sas[e->deleted].live.name);
	}
}

struct conf_edit *conf_edit_new(struct conf *conf, const char *name, const char *text, size_t len)
{
	struct conf_arena *arena = conf_arena_new();
	struct conf_edit edit = {
		.conf = conf, .deleted = -1, .arena = arena, .n_unsaved = conf->tree->unsaved->n};
	struct making m = {.r = {.name = name, .text = text, .len = len}, .e = &edit, .fits = true};
	struct conf_edit *e = malloc(sizeof(*e));
	bool good = e != NULL && arena != NULL && conf_arena_run(arena, edit_read, &m) == 0 &&
		    m.fits && m.r.n_messages == 0;

	if (good)
		good = conf_arena_run(conf->arena, edit_prepare, &m) == 0 && m.fits;
	if (e == NULL) {
		conf_arena_free(arena);
		return NULL;
	}
	*e = edit;
	if (good)
		return e;
	conf_edit_cancel(e);
	return NULL;
}

// --- the end ---

// SA i is no more, so those after it have other indexes.
static void indexes_lower(unsigned int *out, unsigned int in[], unsigned int n_in, unsigned int i)
{
	*out -= *out > i;
	for (unsigned int k = 0; k < n_in; k++)
		in[k] -= in[k] > i;
}

static void sa_delete(struct conf *c, unsigned int i)
{
	unsigned int after = --c->n_sas - i;
	const char **files = c->tree->key_files;
	struct sa_index index[INDEXES];

	memmove(&c->sas[i], &c->sas[i + 1], after * sizeof(c->sas[0]));
	explicit_bzero(&c->sas[c->n_sas], sizeof(c->sas[0]));
	conf_dealloc((char *)files[i]);
	memmove(&files[i], &files[i + 1], after * sizeof(files[0]));
	config_setting_remove_elem(list_of(c), i);
	indexes_of(c, index);
	for (unsigned int k = 0; k < INDEXES; k++)
		index_remove(&index[k], i);
	for (struct conf_policy *p = c->policies; p < c->policies + c->n_policies; p++)
		indexes_lower(&p->sa_out, p->sa_in, p->n_sa_in, i);
	for (struct conf_tunnel *t = c->tunnels; t < c->tunnels + c->n_tunnels; t++)
		indexes_lower(&t->sa_out, t->sa_in, t->n_sa_in, i);
}

void conf_edit_commit(struct conf_edit *e)
{
	struct conf *c = e->conf;
	struct sa_index index[INDEXES];

	indexes_of(c, index);
	for (unsigned int i = 0; i < e->n_sas; i++, c->n_sas++)
		for (unsigned int k = 0; k < INDEXES; k++)
			index_add(c, &index[k], c->n_sas);
	if (e->deleted >= 0) {
		sa_delete(c, (unsigned int)e->deleted);
		conf_unsaved_del(c->tree, CONF_SA, e->name);
	} else if (e->name != NULL) {
		c->tree->record = e->name;
	}
}

void conf_edit_free(struct conf_edit *e)
{
	if (e == NULL)
		return;
	conf_arena_free(e->arena);
	free(e);
}

void conf_edit_cancel(struct conf_edit *e)
{
	struct conf *c = e->conf;
	config_setting_t *list = list_of(c);

	while (list != NULL && (unsigned int)config_setting_length(list) > c->n_sas)
		config_setting_remove_elem(list, c->n_sas);
	while (c->tree->unsaved->n > e->n_unsaved)
		conf_dealloc((char *)c->tree->unsaved->change[--c->tree->unsaved->n].name);
	for (unsigned int i = c->n_sas; i < c->n_sas + e->n_copied; i++) {
		explicit_bzero(&c->sas[i], sizeof(c->sas[0]));
		conf_dealloc((char *)c->tree->key_files[i]);
	}
	conf_dealloc(e->name);
	conf_edit_free(e);
}
