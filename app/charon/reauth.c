// SPDX-License-Identifier: BSD-3-Clause
// A peer that authenticates itself again makes another IKE_SA with SAs of its own, and deletes the
// one before (RFC 7296 2.8.3). It has the new SAs some time after charon, and loses the old ones
// with the answer to its DELETE: in between, the old SA sends.
#include "kernel.h"

#include <arpa/inet.h>
#include <encoding/payloads/delete_payload.h>
#include <processing/jobs/callback_job.h>

#define WAIT_S 2 // for a peer that never deletes, because it was started again

struct waiting {
	struct kernel *kernel;
	char name[NAME_SIZE];
};

// It may be gone, or going.
static job_requeue_t waited(struct waiting *w)
{
	struct kernel *k = w->kernel;
	const struct kernel_sa *sa;

	k->mutex->lock(k->mutex);
	sa = sa_named(k, w->name);
	if (sa != NULL && !sa->left)
		sa_set_late(k, w->name, false);
	k->mutex->unlock(k->mutex);
	return JOB_REQUEUE_NONE;
}

void reauth_wait(struct kernel *k, const struct kernel_sa *sa)
{
	struct waiting *w = malloc(sizeof(*w));

	w->kernel = k;
	strcpy(w->name, sa->name);
	lib->scheduler->schedule_job(lib->scheduler,
		(job_t *)callback_job_create((void *)waited, w, free, NULL), WAIT_S);
}

static bool deletes_ike_sa(message_t *message)
{
	delete_payload_t *del;

	if (message->get_exchange_type(message) != INFORMATIONAL || !message->get_request(message))
		return false;
	del = (delete_payload_t *)message->get_payload(message, PLV2_DELETE);
	return del != NULL && del->get_protocol_id(del) == PROTO_IKE;
}

// The SAs of an IKE_SA send no more, if others can.
static void leave(struct kernel *k, ike_sa_t *ike_sa)
{
	enumerator_t *e = ike_sa->create_child_sa_enumerator(ike_sa);
	child_sa_t *child;

	while (e->enumerate(e, &child)) {
		struct kernel_sa *sa = sa_find(k, ntohl(child->get_spi(child, FALSE)), false,
			ike_sa->get_other_host(ike_sa));

		if (sa != NULL && sa->name[0] != '\0') {
			sa_set_late(k, sa->name, true);
			sa->left = true;
		}
	}
	e->destroy(e);
}

void reauth_message(struct kernel *k, ike_sa_t *ike_sa, message_t *message)
{
	if (!deletes_ike_sa(message))
		return;
	k->mutex->lock(k->mutex);
	leave(k, ike_sa);
	k->mutex->unlock(k->mutex);
}
