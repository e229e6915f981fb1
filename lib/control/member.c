// SPDX-License-Identifier: BSD-3-Clause
#include "member.h"

#include <errno.h>
#include <string.h>

#include "channel.h"
#include "digests.h"
#include "event_log.h"
#include "flow_adopt.h"
#include "log.h"
#include "member_changes.h"

static_assert(PAIR_NAME_MAX >= CONF_NAME_MAX && PAIR_CONFIG_MAX >= CONF_DIGESTS_MAX,
	"room for what is sent");

int member_start(struct control *c)
{
	const struct conf *conf = c->conf;
	struct conf_where where = conf_where_of(conf, "pair");
	int rc;

	if (ip_addr_is_none(&conf->pair_addr))
		return 0;
	rc = channel_new(
		&c->member.channel, &(struct channel_params){
					    .member = conf->pair_member,
					    .address = conf->pair_addr,
					    .peer = conf->pair_peer,
					    .port = (uint16_t)conf->pair_port,
					    .name = conf->instance,
					    .version = c->version,
					    .certificate = conf->pair_certificate,
					    .key = conf->pair_key,
					    .peer_certificate = conf->pair_peer_certificate,
				    });
	if (rc == 0) {
		c->member.changes = member_changes_new();
		rc = c->member.changes != NULL ? 0 : -errno;
	}
	if (rc < 0)
		log_error("%s:%u: pair: the channel cannot be made: %s", where.file, where.line,
			rc == -EINVAL ? "TLS does not accept the keys" : strerror(-rc));
	return rc == 0 ? flow_inbox_new(c->flows) : rc;
}

static void config_follow(struct control *c, uint64_t now_ms)
{
	if (!digests_follow(c, now_ms))
		return;
	channel_config_set(c->member.channel, c->digests.text);
	member_changes_digest(c);
}

int member_connect(struct control *c, int (*confine)(void *arg), void *arg)
{
	int rc;

	if (c->member.channel == NULL)
		return 0;
	config_follow(c, c->io->now_ms()); // a hello without digests differs
	rc = channel_start(c->member.channel, confine, arg);
	if (rc < 0)
		log_error("cannot start the thread of the channel: %s", strerror(-rc));
	return rc;
}

void member_tick(struct control *c, uint64_t now_ms)
{
	struct control_member *m = &c->member;
	struct channel_state s;

	if (m->channel == NULL)
		return;
	config_follow(c, now_ms);
	channel_state(m->channel, &s);
	if (s.epoch == m->epoch)
		return;
	if (m->epoch != 0)
		event_post(MEMBER_DOWN, EVENT_NUMBER(s.peer.member), EVENT_TEXT(s.peer.name),
			EVENT_TEXT(s.epoch == 0 ? s.error : "another connection has replaced it"));
	if (s.epoch != 0)
		event_post(MEMBER_UP, EVENT_NUMBER(s.peer.member), EVENT_TEXT(s.peer.name),
			EVENT_TEXT(s.peer.version),
			EVENT_TEXT(s.config[0] != '\0' ? s.config : "nothing"));
	m->epoch = s.epoch;
}

void member_stop(struct control *c)
{
	channel_free(c->member.channel);
	c->member.channel = NULL;
	member_changes_free(c->member.changes);
	c->member.changes = NULL;
}
