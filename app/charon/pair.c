// SPDX-License-Identifier: BSD-3-Clause
// Two gateways whose charons give each other their IKE_SAs and CHILD_SAs by strongSwan's plugin ha
// (docs/pair.md). The gateway's groups decide: IKE_SAs whose own address is in a standby group are
// passive, and charon does nothing with them. Compared every second, so the order in which charon,
// the gateway and the other one start does not matter. SAs that the other one may have used get
// new keys, some in a second. Nothing happens without ha.
#include "kernel.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <processing/jobs/callback_job.h>
#include <processing/jobs/delete_ike_sa_job.h>
#include <processing/jobs/retransmit_job.h>
#include <unistd.h>

#define TICK_S      1
#define RENEW_MAX   20 // CHILD_SAs in a tick
#define SETTLE_S    2  // after a takeover, before keys are renewed
#define HA_COMMANDS "/run/charon.ha"

bool pair_is_there(void)
{
	return lib->plugins->has_feature(lib->plugins, PLUGIN_PROVIDE(CUSTOM, "ha"));
}

// --- roles ---

// Whether a list of addresses, with commas between, has this one.
static bool is_listed(const char *list, const char *address)
{
	size_t len = strlen(address);

	for (const char *at = list; at != NULL; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, address, len) == 0 && (at[len] == ',' || at[len] == '\0'))
			return true;
	}
	return false;
}

static const char *group_text(const json_t *group, const char *name)
{
	const char *text = json_string_value(json_object_get(group, name));

	return text != NULL ? text : "";
}

static bool is_active(const json_t *group)
{
	return streq(group_text(group, "role"), "active");
}

// The group that has the IKE_SA's own address; NULL: there is none.
static const json_t *group_of(const json_t *groups, ike_sa_t *ike_sa)
{
	char address[ADDRESS_SIZE];
	const json_t *group;
	size_t i;

	kernel_address(address, ike_sa->get_my_host(ike_sa));
	json_array_foreach(groups, i,
		group) if (is_listed(group_text(group, "addresses"), address)) return group;
	return NULL;
}

static bool any_is_active(const json_t *groups)
{
	const json_t *group;
	size_t i;

	json_array_foreach(groups, i, group) if (is_active(group)) return true;
	return false;
}

// --- new keys ---

// A member that was frozen may take a group back within moments. An exchange that the other one had
// begun meanwhile would leave the peer with a CHILD_SA that neither has.
static void renew_later(struct kernel *k)
{
	k->renew_from = time_monotonic(NULL) + SETTLE_S;
}

void pair_renew(struct kernel *k)
{
	enumerator_t *e;
	struct kernel_sa *sa;

	if (!pair_is_there())
		return;
	k->mutex->lock(k->mutex);
	e = k->sas->ht.create_enumerator(&k->sas->ht);
	while (e->enumerate(e, NULL, &sa)) // one that the gateway has lost may be marked already
		sa->renew |= sa->inbound && sa->name[0] != '\0';
	e->destroy(e);
	k->mutex->unlock(k->mutex);
	renew_later(k);
}

// charon does nothing for passive IKE_SAs.
static void renew_some(struct kernel *k)
{
	unsigned int n = 0;
	enumerator_t *e;
	struct kernel_sa *sa;

	k->mutex->lock(k->mutex);
	e = k->sas->ht.create_enumerator(&k->sas->ht);
	while (n < RENEW_MAX && e->enumerate(e, NULL, &sa))
		if (sa->renew) {
			sa->renew = false;
			sa_expire(sa, false);
			n++;
		}
	e->destroy(e);
	k->mutex->unlock(k->mutex);
}

static void children_mark(struct kernel *k, ike_sa_t *ike_sa)
{
	enumerator_t *e = ike_sa->create_child_sa_enumerator(ike_sa);
	child_sa_t *child;

	k->mutex->lock(k->mutex);
	while (e->enumerate(e, &child)) {
		struct kernel_sa *sa = sa_find(
			k, ntohl(child->get_spi(child, TRUE)), true, ike_sa->get_my_host(ike_sa));

		if (sa != NULL)
			sa->renew = true;
	}
	k->mutex->unlock(k->mutex);
	e->destroy(e);
	renew_later(k);
}

// --- IKE_SAs ---

// A request that was not answered before it became passive would keep all others waiting: it is
// repeated.
static void ike_sa_begin(struct kernel *k, ike_sa_t *ike_sa)
{
	ike_sa->set_state(ike_sa, IKE_ESTABLISHED);
	lib->processor->queue_job(
		lib->processor, (job_t *)retransmit_job_create(ike_sa->get_message_id(ike_sa, TRUE),
					ike_sa->get_id(ike_sa)));
	children_mark(k, ike_sa);
}

static bool ike_sa_rest(ike_sa_t *ike_sa)
{
	ike_sa_state_t state = ike_sa->get_state(ike_sa);

	if (state != IKE_ESTABLISHED && state != IKE_REKEYING)
		return false;
	ike_sa->set_state(ike_sa, IKE_PASSIVE);
	return true;
}

// This charon may have begun IKE_SAs of the same connections, whose packets the standby dropped:
// with them the peer would have everything twice.
static void attempts_end(linked_list_t *connections)
{
	enumerator_t *e = charon->ike_sa_manager->create_enumerator(charon->ike_sa_manager, TRUE);
	ike_sa_t *ike_sa;

	while (e->enumerate(e, &ike_sa))
		if (ike_sa->get_state(ike_sa) == IKE_CONNECTING &&
			ike_sa->get_peer_cfg(ike_sa) != NULL &&
			connections->find_first(
				connections, linked_list_match_str, NULL, ike_sa->get_name(ike_sa)))
			lib->processor->queue_job(lib->processor,
				(job_t *)delete_ike_sa_job_create(ike_sa->get_id(ike_sa), FALSE));
	e->destroy(e);
}

static void ike_sas_follow(struct kernel *k, const json_t *groups)
{
	enumerator_t *e = charon->ike_sa_manager->create_enumerator(charon->ike_sa_manager, TRUE);
	linked_list_t *begun = linked_list_create();
	unsigned int n = 0;
	ike_sa_t *ike_sa;

	while (e->enumerate(e, &ike_sa)) {
		const json_t *group = group_of(groups, ike_sa);

		if (group == NULL)
			continue;
		if (!is_active(group)) {
			n += ike_sa_rest(ike_sa);
		} else if (ike_sa->get_state(ike_sa) == IKE_PASSIVE) {
			ike_sa_begin(k, ike_sa);
			begun->insert_last(begun, strdup(ike_sa->get_name(ike_sa)));
		}
	}
	e->destroy(e);
	if (n > 0)
		DBG1(DBG_KNL, "culvert: %u IKE_SAs are passive, as their group is standby", n);
	if (begun->get_count(begun) > 0) {
		DBG1(DBG_KNL, "culvert: %d IKE_SAs are active, as their group is",
			begun->get_count(begun));
		attempts_end(begun);
	}
	begun->destroy_function(begun, free);
}

// ha assigns addresses of its pools to peers while it has the segment, and its message makes the
// other charon passive at once. It reads one command at a time: the next tick tries again.
static void segment_take(struct kernel *k)
{
	int fd = open(HA_COMMANDS, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return;
	k->segment_taken = write(fd, "+1", 2) == 2;
	close(fd);
}

static void follow(struct kernel *k)
{
	json_t *groups;

	if (k->stopping || !pair_is_there())
		return;
	groups = gateway_groups(k->instance);
	if (groups == NULL)
		return; // it does not run: charon can do nothing anyway
	twice_end();
	ike_sas_follow(k, groups);
	if (!any_is_active(groups)) {
		k->segment_taken = false;
	} else {
		if (!k->segment_taken)
			segment_take(k);
		if (time_monotonic(NULL) > k->renew_from)
			renew_some(k);
	}
	json_decref(groups);
}

// --- calls ---

static job_requeue_t follow_once(struct kernel *k)
{
	follow(k);
	return JOB_REQUEUE_NONE;
}

static job_requeue_t tick(struct kernel *k)
{
	follow(k);
	return JOB_RESCHEDULE(TICK_S);
}

void pair_follow(struct kernel *k)
{
	lib->processor->queue_job(
		lib->processor, (job_t *)callback_job_create_with_prio(
					(void *)follow_once, k, NULL, NULL, JOB_PRIO_HIGH));
}

static void settings_check(void)
{
	if (lib->settings->get_str(lib->settings, "%s.plugins.ha.local", NULL, lib->ns) == NULL)
		return;
	if (lib->settings->get_bool(lib->settings, "%s.plugins.ha.monitor", TRUE, lib->ns))
		DBG1(DBG_KNL, "culvert: set plugins.ha.monitor = no: the gateway's groups decide "
			      "which charon is active");
	if (lib->settings->get_str(lib->settings, "%s.plugins.ha.secret", NULL, lib->ns) != NULL)
		DBG1(DBG_KNL, "culvert: plugins.ha.secret protects nothing here, as the gateway "
			      "has no SAs for this machine's own packets: use a link that nobody "
			      "else can read");
}

void pair_start(struct kernel *k)
{
	settings_check();
	lib->scheduler->schedule_job(lib->scheduler,
		(job_t *)callback_job_create_with_prio((void *)tick, k, NULL, NULL, JOB_PRIO_HIGH),
		TICK_S);
}

// charon deletes no passive IKE_SA at its peer, nor at the other charon.
void pair_stop(struct kernel *k)
{
	enumerator_t *e;
	ike_sa_t *ike_sa;
	json_t *groups;

	if (!pair_is_there())
		return;
	k->stopping = true;
	groups = gateway_groups(k->instance);
	e = charon->ike_sa_manager->create_enumerator(charon->ike_sa_manager, TRUE);
	while (e->enumerate(e, &ike_sa))
		if (groups == NULL || group_of(groups, ike_sa) != NULL)
			ike_sa_rest(ike_sa);
	e->destroy(e);
	json_decref(groups);
}
