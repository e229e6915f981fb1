// SPDX-License-Identifier: BSD-3-Clause
#include "kernel.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static void refusal_log(char *errors)
{
	char *rest = errors, *line;

	while ((line = strsep(&rest, "\n")) != NULL)
		if (line[0] != '\0')
			DBG1(DBG_KNL, "culvert: %s", line);
	free(errors);
}

static bool change(struct kernel *k, const char *changes)
{
	char *errors;

	if (gateway_change(k->instance, changes, &errors))
		return true;
	refusal_log(errors);
	return false;
}

// Whether no other charon drives the gateway, whose SAs would be removed.
static bool claimed(struct kernel *k)
{
	if (k->claim < 0)
		k->claim = gateway_claim(k->instance);
	if (k->claim >= 0 || errno == ENOENT) // it does not run
		return true;
	if (errno == EWOULDBLOCK)
		DBG1(DBG_KNL, "culvert: another charon drives the instance \"%s\"", k->instance);
	else
		DBG1(DBG_KNL, "culvert: cannot claim the instance \"%s\": %s", k->instance,
			strerror(errno));
	return false;
}

void kernel_unclaim(struct kernel *k)
{
	if (k->claim >= 0)
		close(k->claim);
	k->claim = -1;
}

// SAs and policies of an earlier charon are removed before any is added. culvertd may start after
// charon: it is claimed again then.
static bool ready(struct kernel *k)
{
	if (k->ready || !claimed(k))
		return k->ready;
	k->ready = change(k, "flush\n");
	if (!k->ready)
		kernel_unclaim(k);
	return k->ready;
}

bool kernel_change(struct kernel *k, const char *changes)
{
	return ready(k) && change(k, changes);
}

void kernel_connection(char name[NAME_SIZE])
{
	ike_sa_t *ike_sa = charon->bus->get_sa(charon->bus);

	snprintf(name, NAME_SIZE, "%s", ike_sa != NULL ? ike_sa->get_name(ike_sa) : "none");
	for (char *c = name; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && strchr("_.-", *c) == NULL)
			*c = '_';
}

// strongSwan's hash has a random key: a peer cannot choose an identity with another's number.
uint32_t kernel_peer(void)
{
	ike_sa_t *ike_sa = charon->bus->get_sa(charon->bus);
	identification_t *id = ike_sa != NULL ? ike_sa->get_other_eap_id(ike_sa) : NULL;

	return id != NULL ? max(id->hash(id, 0), 1) : 0;
}

void kernel_address(char text[ADDRESS_SIZE], host_t *host)
{
	inet_ntop(host->get_family(host), host->get_address(host).ptr, text, ADDRESS_SIZE);
}

METHOD(kernel_ipsec_t, get_features, kernel_feature_t, struct kernel *this)
{
	// The new outbound SA of a rekey is used only when the peer is known to have it.
	return KERNEL_ESP_V3_TFC | KERNEL_POLICY_SPI;
}

// Calls a function with the mutex held.
#define LOCKED(call)                                                                               \
	({                                                                                         \
		this->mutex->lock(this->mutex);                                                    \
		status_t locked_status = (call);                                                   \
		this->mutex->unlock(this->mutex);                                                  \
		locked_status;                                                                     \
	})

METHOD(kernel_ipsec_t, get_spi, status_t, struct kernel *this, host_t *src, host_t *dst,
	uint8_t protocol, uint32_t *spi)
{
	if (protocol == IPPROTO_ESP)
		return LOCKED(sa_get_spi(this, src, dst, spi));
	DBG1(DBG_KNL, "culvert: the gateway has no AH");
	return NOT_SUPPORTED;
}

METHOD(kernel_ipsec_t, get_cpi, status_t, struct kernel *this, host_t *src, host_t *dst,
	uint16_t *cpi)
{
	DBG1(DBG_KNL, "culvert: the gateway has no ipcomp: the CHILD_SA does without");
	return NOT_SUPPORTED;
}

METHOD(kernel_ipsec_t, add_sa, status_t, struct kernel *this, kernel_ipsec_sa_id_t *id,
	kernel_ipsec_add_sa_t *data)
{
	return LOCKED(sa_add(this, id, data));
}

METHOD(kernel_ipsec_t, update_sa, status_t, struct kernel *this, kernel_ipsec_sa_id_t *id,
	kernel_ipsec_update_sa_t *data)
{
	return LOCKED(sa_update(this, id, data));
}

METHOD(kernel_ipsec_t, query_sa, status_t, struct kernel *this, kernel_ipsec_sa_id_t *id,
	kernel_ipsec_query_sa_t *data, uint64_t *bytes, uint64_t *packets, time_t *time)
{
	return LOCKED(sa_query(this, id, bytes, packets, time));
}

METHOD(kernel_ipsec_t, del_sa, status_t, struct kernel *this, kernel_ipsec_sa_id_t *id,
	kernel_ipsec_del_sa_t *data)
{
	return LOCKED(sa_del(this, id));
}

static status_t all_forget(struct kernel *this)
{
	policies_forget(this);
	sas_forget(this);
	this->ready = false;
	return ready(this) ? SUCCESS : FAILED;
}

METHOD(kernel_ipsec_t, flush_sas, status_t, struct kernel *this)
{
	return LOCKED(all_forget(this)); // policies have no meaning without them
}

METHOD(kernel_ipsec_t, add_policy, status_t, struct kernel *this, kernel_ipsec_policy_id_t *id,
	kernel_ipsec_manage_policy_t *data)
{
	return LOCKED(policy_add(this, id, data));
}

METHOD(kernel_ipsec_t, query_policy, status_t, struct kernel *this, kernel_ipsec_policy_id_t *id,
	kernel_ipsec_query_policy_t *data, time_t *use_time)
{
	return LOCKED(policy_query(this, id, use_time));
}

METHOD(kernel_ipsec_t, del_policy, status_t, struct kernel *this, kernel_ipsec_policy_id_t *id,
	kernel_ipsec_manage_policy_t *data)
{
	return LOCKED(policy_del(this, id, data));
}

METHOD(kernel_ipsec_t, flush_policies, status_t, struct kernel *this)
{
	return LOCKED(policies_flush(this));
}

// IKE passes by policies of the gateway's configuration.
METHOD(kernel_ipsec_t, bypass_socket, bool, struct kernel *this, int fd, int family)
{
	return true;
}

METHOD(kernel_ipsec_t, enable_udp_decap, bool, struct kernel *this, int fd, int family,
	uint16_t port)
{
	return true;
}

METHOD(kernel_ipsec_t, destroy, void, struct kernel *this)
{
	listener_stop(this);
	events_stop(this);
	all_forget(this);
	kernel_unclaim(this);
	this->sas->destroy(this->sas);
	this->policies->destroy(this->policies);
	this->groups->destroy(this->groups);
	this->mutex->destroy(this->mutex);
	free(this->instance);
	free(this);
}

kernel_ipsec_t *kernel_create(void)
{
	struct kernel *this;

	INIT(this,
		.public =
			{
				.get_features = _get_features,
				.get_spi = _get_spi,
				.get_cpi = _get_cpi,
				.add_sa = _add_sa,
				.update_sa = _update_sa,
				.query_sa = _query_sa,
				.del_sa = _del_sa,
				.flush_sas = _flush_sas,
				.add_policy = _add_policy,
				.query_policy = _query_policy,
				.del_policy = _del_policy,
				.flush_policies = _flush_policies,
				.bypass_socket = _bypass_socket,
				.enable_udp_decap = _enable_udp_decap,
				.destroy = _destroy,
			},
		.claim = -1, .mutex = mutex_create(MUTEX_TYPE_DEFAULT), .sas = sas_create(),
		.policies = linked_list_create(), .groups = linked_list_create(),
		.instance = strdup(lib->settings->get_str(
			lib->settings, "%s.plugins.kernel-culvert.instance", "culvert", lib->ns)));
	ready(this);
	listener_start(this);
	events_start(this);
	pair_start(this);
	return &this->public;
}
