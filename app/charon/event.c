// SPDX-License-Identifier: BSD-3-Clause
// Events of the gateway for charon: an SA expires, a peer behind a NAT has moved, or the gateway
// has lost all SAs because it was started again or has reloaded its file.
#include "kernel.h"

#include <arpa/inet.h>
#include <processing/jobs/callback_job.h>
#include <unistd.h>

#define RETRY_S 1 // between attempts to subscribe

void sa_expire(const struct kernel_sa *sa, bool hard)
{
	charon->kernel->expire(charon->kernel, IPPROTO_ESP, htonl(sa->spi), sa->dst, hard);
}

static void expired(struct kernel *k, const char *event, bool hard)
{
	char name[NAME_SIZE];
	struct kernel_sa *sa;

	gateway_event_value(event, "sa=", name, sizeof(name));
	k->mutex->lock(k->mutex);
	sa = name[0] != '\0' ? sa_named(k, name) : NULL;
	if (sa != NULL)
		sa_expire(sa, hard);
	k->mutex->unlock(k->mutex);
}

// An address and a port as events have them, 192.0.2.1:4500 or [2001:db8::1]:4500; NULL if it is
// none. Changes text.
static host_t *endpoint_parse(char *text)
{
	char *port = strrchr(text, ':');

	if (port == NULL)
		return NULL;
	*port++ = '\0';
	if (text[0] == '[') {
		text++;
		text[strcspn(text, "]")] = '\0';
	}
	return host_create_from_string(text, (uint16_t)atoi(port));
}

// The gateway already sends to where the peer is now; charon follows with IKE and all its SAs.
static void moved(struct kernel *k, const char *event)
{
	char name[NAME_SIZE], to[ADDRESS_SIZE + 8];
	struct kernel_sa *sa;
	host_t *remote;

	gateway_event_value(event, "sa=", name, sizeof(name));
	gateway_event_value(event, "to=", to, sizeof(to));
	remote = endpoint_parse(to);
	if (remote == NULL)
		return;
	k->mutex->lock(k->mutex);
	sa = name[0] != '\0' ? sa_named(k, name) : NULL;
	if (sa != NULL && !remote->equals(remote, sa->dst))
		charon->kernel->mapping(
			charon->kernel, IPPROTO_ESP, htonl(sa->spi), sa->dst, remote);
	k->mutex->unlock(k->mutex);
	remote->destroy(remote);
}

// Any of the events that were not read in time may have been the only one about an SA that expires.
static void missed(struct kernel *k)
{
	enumerator_t *e;
	struct kernel_sa *sa;

	k->mutex->lock(k->mutex);
	e = k->sas->ht.create_enumerator(&k->sas->ht);
	while (e->enumerate(e, NULL, &sa))
		if (sa->inbound && sa->name[0] != '\0')
			sa_expire(sa, false);
	e->destroy(e);
	k->mutex->unlock(k->mutex);
	DBG1(DBG_KNL, "culvert: events of the gateway are lost, all SAs are renewed");
}

// The gateway has stopped, with all of charon's objects. Another one may get SAs before this plugin
// has its events.
static void stopped(struct kernel *k)
{
	enumerator_t *e;
	struct kernel_sa *sa;

	k->mutex->lock(k->mutex);
	kernel_unclaim(k);
	k->ready = false;
	e = k->sas->ht.create_enumerator(&k->sas->ht);
	while (e->enumerate(e, NULL, &sa)) {
		sa->lost |= sa->name[0] != '\0';
		sa->name[0] = '\0';
	}
	e->destroy(e);
	k->mutex->unlock(k->mutex);
	DBG1(DBG_KNL, "culvert: the gateway has stopped");
}

// Tells charon to make other SAs in the place of lost ones. Returns their number. SAs that the
// other gateway of a pair may use by now are not deleted at the peer.
static unsigned int lost_expire(struct kernel *k)
{
	enumerator_t *e = k->sas->ht.create_enumerator(&k->sas->ht);
	const bool kept = pair_is_there();
	struct kernel_sa *sa;
	unsigned int n = 0;

	while (e->enumerate(e, NULL, &sa)) {
		if (!sa->lost)
			continue;
		sa->lost = false;
		n++;
		if (sa->inbound && kept)
			sa->renew = true;
		else if (sa->inbound)
			sa_expire(sa, true);
	}
	e->destroy(e);
	return n;
}

// The gateway runs. Until charon has made other SAs, its policies drop.
static void started(struct kernel *k)
{
	unsigned int n;

	k->mutex->lock(k->mutex);
	n = lost_expire(k);
	policies_restore(k);
	k->mutex->unlock(k->mutex);
	if (n > 0)
		DBG1(DBG_KNL, "culvert: the gateway was started again, %u SAs are lost", n);
}

static job_requeue_t retry(struct kernel *k)
{
	events_start(k);
	return JOB_REQUEUE_NONE;
}

static void retry_later(struct kernel *k)
{
	lib->scheduler->schedule_job(lib->scheduler,
		(job_t *)callback_job_create((void *)retry, k, NULL, NULL), RETRY_S);
}

static void acquire(struct kernel *k, const char *event)
{
	char policy[NAME_SIZE], if_id[sizeof("4294967295")];

	gateway_event_value(event, "policy=", policy, sizeof(policy));
	gateway_event_value(event, "if_id=", if_id, sizeof(if_id));
	policy_acquire(k, policy, (uint32_t)strtoul(if_id, NULL, 10));
}

static bool event_take(struct kernel *k, int fd, watcher_event_t ready)
{
	char event[GATEWAY_EVENT_MAX];

	if (!gateway_event(fd, event)) {
		stopped(k);
		k->events = -1;
		close(fd);
		retry_later(k);
		return FALSE;
	}
	if (gateway_event_has(event, "event=", "soft_expiry"))
		expired(k, event, false);
	else if (gateway_event_has(event, "event=", "hard_expiry"))
		expired(k, event, true);
	else if (gateway_event_has(event, "event=", "peer_moved"))
		moved(k, event);
	else if (gateway_event_has(event, "event=", "lost"))
		missed(k);
	else if (gateway_event_has(event, "event=", "acquire"))
		acquire(k, event);
	else if (gateway_event_has(event, "event=", "group_role"))
		pair_follow(k);
	else if (gateway_event_has(event, "event=", "member_up"))
		pair_renew(k);
	return TRUE;
}

void events_start(struct kernel *k)
{
	k->events = gateway_subscribe(k->instance);
	if (k->events < 0) {
		retry_later(k);
		return;
	}
	started(k);
	lib->watcher->add(lib->watcher, k->events, WATCHER_READ, (void *)event_take, k);
}

void events_stop(struct kernel *k)
{
	if (k->events < 0)
		return;
	lib->watcher->remove(lib->watcher, k->events);
	close(k->events);
}
