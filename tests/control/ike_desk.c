// SPDX-License-Identifier: BSD-3-Clause
#include "ike_desk.h"

#include "collect.h"
#include "ike.h"
#include "ike_tables.h"
#include "sa_table.h"
#include "retire.h"

static char request[64 * 1024];
static char *answer;

void ask_add(const char *fmt, ...)
{
	size_t len = strlen(request);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(request + len, sizeof(request) - len, fmt, ap);
	va_end(ap);
	assert_in_range(strlen(request), 0, sizeof(request) - 2);
}

// The key follows from the SPI.
void ask_sa(
	const char *name, const char *direction, unsigned int spi, uint32_t reqid, const char *more)
{
	ask_add("sa add { name = \"ike.%s\"; direction = \"%s\"; spi = \"0x%x\"; reqid = %u; "
		"cipher = \"aes-128-gcm\"; "
		"cipher_key = \"%08x101112131415161718191a1b1c1d1e1f\"; local = \"192.0.2.1\"; "
		"remote = \"192.0.2.2\"; %s }\n",
		name, direction, spi, reqid, spi, more);
}

void ask_pair(const char *name, unsigned int spi, uint32_t reqid)
{
	char text[32];

	snprintf(text, sizeof(text), "%s.in", name);
	ask_sa(text, "in", spi, reqid, "");
	snprintf(text, sizeof(text), "%s.out", name);
	ask_sa(text, "out", spi + 1, reqid, "");
}

void ask_policy(const char *name, const char *remote, uint32_t reqid, const char *more)
{
	ask_add("policy add { name = \"ike.%s\"; local = \"10.1.0.0/24\"; remote = \"%s\"; "
		"action = \"protect\"; reqid = %u; %s }\n",
		name, remote, reqid, more);
}

// Makes the request that was added up, and forgets it.
static bool ask(void)
{
	size_t size;
	FILE *f;
	bool done;

	free(answer);
	f = open_memstream(&answer, &size);
	done = ike_request(&desk, "ike", request, strlen(request), f);
	fclose(f);
	request[0] = '\0';
	return done;
}

void ask_done(void)
{
	if (!ask())
		fail_msg("%s", answer);
}

void ask_refused(const char *why)
{
	assert_false(ask());
	assert_string_equal(answer, why);
}

bool listed_sa(const char *name)
{
	struct sas_view v;
	unsigned int n = 0;

	for (unsigned int i = 0; collect_sas(&v, &desk, i); i++)
		n += strcmp(v.name, name) == 0;
	assert_in_range(n, 0, 1);
	return n == 1;
}

unsigned int listed_sas(void)
{
	struct sas_view v;
	unsigned int n = 0;

	while (collect_sas(&v, &desk, n))
		n++;
	return n;
}

unsigned int listed_policies(void)
{
	struct policies_view v;
	unsigned int n = 0;

	while (collect_policies(&v, &desk, n))
		n++;
	return n;
}

unsigned int listed_tunnels(void)
{
	struct tunnels_view v;
	unsigned int n = 0;

	while (collect_tunnels(&v, &desk, n))
		n++;
	return n;
}

void expect_only_configured(void)
{
	assert_int_equal(listed_sas(), CONFIGURED_SAS);
	assert_int_equal(listed_policies(), CONFIGURED_POLICIES);
	assert_int_equal(listed_tunnels(), CONFIGURED_POLICIES);
	assert_null(desk.ike.sas);
	assert_null(desk.ike.policies);
	assert_null(desk.ike.groups);
	assert_null(desk.ike.ingresses);
}

void expect_no_peers(void)
{
	assert_null(desk.ike.peers);
}

void ike_sas_pretend(int n)
{
	desk.ike.n_sas += (unsigned int)n;
}

unsigned int ike_sas(void)
{
	return desk.ike.n_sas;
}

unsigned int ike_tunnels(void)
{
	return desk.ike.n_tunnels;
}

const struct spd_policy *ike_policy_for(const struct classifier_key *packet)
{
	uint32_t slot;

	spd_table_find(desk.snapshot->objects->policies, packet, 1, &slot);
	return slot != 0 ? spd_table_at(desk.snapshot->objects->policies, slot - 1) : NULL;
}

unsigned int ike_policy_slots(void)
{
	return spd_table_slots(desk.snapshot->objects->policies);
}

const struct spd_policy *listed_policy(const char *name)
{
	return running_policy(desk.snapshot, name);
}

struct tunnels_view listed_tunnel(const char *name)
{
	struct tunnels_view v;

	for (unsigned int i = 0; collect_tunnels(&v, &desk, i); i++)
		if (strcmp(v.name, name) == 0)
			return v;
	fail_msg("no tunnel %s", name);
	return v;
}

// Both places from which workers take the sender of a policy have this SA.
void expect_sender(const char *of, const char *sa)
{
	const struct spd_policy *p = listed_policy(of);

	assert_ptr_equal(p->out, desk_sa_out(sa));
	assert_ptr_equal(desk.snapshot->objects->policy_out[p->number], p->out);
	assert_string_equal(listed_tunnel(of).out, sa);
}

// Frees objects that wait for workers, which have stopped.
void desk_tick(void)
{
	retire_tick(&desk);
	objects_commit(&desk);
}

void desk_settle(void)
{
	do
		desk_tick();
	while (desk_waits());
}

int ike_desk_end(void **state)
{
	free(answer);
	answer = NULL;
	request[0] = '\0';
	return desk_end(state);
}
