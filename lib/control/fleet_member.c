// SPDX-License-Identifier: BSD-3-Clause
// The keys of members of a fleet in etcd.
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "etcd_text.h"
#include "fleet_parts.h"
#include "line.h"

#define FLEET_WEIGHT_MAX 1000 // as of the setting

static_assert(FLEET_MEMBER_MAX >= 64 + CONF_NAME_MAX + CONF_DIGESTS_MAX &&
		      PAIR_CONFIG_MAX >= CONF_DIGESTS_MAX,
	"room for all digests");
static_assert(FLEET_MEMBERS_MAX > NUMBER_FLEET_MEMBERS, "and some strangers");

bool fleet_member_at(const struct control *c, unsigned int i, struct fleet_member *m)
{
	if (c->fleet == NULL || i >= c->fleet->n_members)
		return false;
	*m = c->fleet->member[i];
	return true;
}

unsigned int fleet_member_of(const struct fleet *f, int64_t lease)
{
	for (unsigned int i = 0; lease != 0 && i < f->n_members; i++)
		if (f->member[i].lease == lease)
			return i;
	return FLEET_NONE;
}

// "culvert 1 VERSION NAME WEIGHT serves|drains KIND=DIGEST...".
static void value_write(const struct control *c, char value[FLEET_MEMBER_MAX])
{
	snprintf(value, FLEET_MEMBER_MAX, "culvert 1 %.31s %s %u %s %s", c->version,
		c->conf->instance, c->conf->fleet_weight, c->fleet->drains ? "drains" : "serves",
		c->digests.text);
}

bool fleet_member_is_described(const struct control *c)
{
	char value[FLEET_MEMBER_MAX];

	value_write(c, value);
	return strcmp(c->fleet->described, value) == 0;
}

void fleet_member_described(struct fleet *f)
{
	memcpy(f->described, f->describing, sizeof(f->described));
}

char *fleet_member_text(struct control *c, enum fleet_question question)
{
	char key[FLEET_KEY_MAX], *value = c->fleet->describing;

	c->fleet->described[0] = '\0'; // until the answer
	fleet_member_key(c, key);
	value_write(c, value);
	return question == FLEET_REGISTER ? etcd_make_text(key, value, c->fleet->lease)
					  : etcd_change_text(key, value, c->fleet->lease);
}

const char *fleet_name_in(const char *key, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strncmp(key, prefix, len) != 0 || key[len] == '\0' ||
		strlen(key + len) >= CONF_NAME_MAX)
		return NULL;
	return key + len;
}

// The version and name of another text are empty, and its weight 0.
static void member_read(struct fleet_member *m, const char *text)
{
	char word[sizeof("culvert")];
	uint64_t format, weight;

	if (line_word(&text, word, sizeof(word)) && strcmp(word, "culvert") == 0 &&
		line_number(&text, &format, 1) &&
		line_word(&text, m->version, sizeof(m->version)) &&
		line_word(&text, m->name, sizeof(m->name)) &&
		line_number(&text, &weight, FLEET_WEIGHT_MAX) && weight > 0 &&
		line_word(&text, word, sizeof(word)) && text != NULL &&
		pair_config_read(m->config, text)) {
		m->weight = (unsigned int)weight;
		m->drains = strcmp(word, "drains") == 0;
		return;
	}
	m->version[0] = m->name[0] = m->config[0] = '\0';
}

// Also one whose text this version cannot read owns its groups as long as its lease.
void fleet_member_take(struct fleet *f, const char *name, const struct etcd_key *key)
{
	struct fleet_member *m = &f->member[f->n_members], before;
	uint64_t number;

	if (f->n_members == FLEET_MEMBERS_MAX || key->lease == 0)
		return;
	before = *m;
	*m = (struct fleet_member){.lease = key->lease};
	if (line_number(&name, &number, NUMBER_FLEET_MEMBERS) && name == NULL)
		m->number = (unsigned int)number;
	member_read(m, key->value);
	f->members_changed |= m->lease != before.lease || m->weight != before.weight ||
			      m->drains != before.drains;
	f->n_members++;
}

void fleet_member_check(struct fleet *f)
{
	if (fleet_member_of(f, f->lease) != FLEET_NONE)
		return;
	f->registered = false;
	f->lease = 0;
}
