// SPDX-License-Identifier: BSD-3-Clause
// charon's messages: what kernel_ipsec_t does not show.
#include "kernel.h"

#include <stddef.h>

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

void listener_start(struct kernel *k)
{
	k->listener.message = message_seen;
	charon->bus->add_listener(charon->bus, &k->listener);
}

void listener_stop(struct kernel *k)
{
	charon->bus->remove_listener(charon->bus, &k->listener);
}
