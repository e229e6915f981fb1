// SPDX-License-Identifier: BSD-3-Clause
// charon's messages and CHILD_SAs while it processes them, which kernel_ipsec_t does not show.
#include "kernel.h"

#include <stddef.h>

// An option of the CHILD_SA that this thread installs, which the gateway lacks and the CHILD_SA's
// SAs do not show; NULL: none.
static __thread const char *unknown;

const char *child_unknown(void)
{
	return unknown;
}

// charon calls it before it generates a message, and before it processes one.
static bool message_seen(
	listener_t *listener, ike_sa_t *ike_sa, message_t *message, bool incoming, bool plain)
{
	struct kernel *k = (void *)((char *)listener - offsetof(struct kernel, listener));

	if (plain)
		proposals_filter(message, incoming);
	if (incoming && plain)
		reauth_message(k, ike_sa, message);
	return true;
}

// The inbound SA follows in the same thread.
static bool child_state_changed(
	listener_t *listener, ike_sa_t *ike_sa, child_sa_t *child, child_sa_state_t state)
{
	child_cfg_t *config = child->get_config(child);

	if (state != CHILD_INSTALLING && state != CHILD_ROUTED)
		return true;
	unknown = config->has_option(config, OPT_NO_POLICIES)
			  ? "SAs without policies (policies = no)"
			  : NULL;
	if (unknown != NULL && state == CHILD_ROUTED)
		DBG1(DBG_KNL, "culvert: the gateway has no %s", unknown);
	return true;
}

static bool alert_seen(listener_t *listener, ike_sa_t *ike_sa, alert_t alert, va_list args)
{
	if (alert == ALERT_SHUTDOWN_SIGNAL)
		pair_stop((void *)((char *)listener - offsetof(struct kernel, listener)));
	return true;
}

void listener_start(struct kernel *k)
{
	k->listener.alert = alert_seen;
	k->listener.message = message_seen;
	k->listener.child_state_change = child_state_changed;
	charon->bus->add_listener(charon->bus, &k->listener);
}

void listener_stop(struct kernel *k)
{
	charon->bus->remove_listener(charon->bus, &k->listener);
}
