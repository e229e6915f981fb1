// SPDX-License-Identifier: BSD-3-Clause
#include "ike.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "conf_ike.h"
#include "event_log.h"
#include "ike_tables.h"
#include "line_memory.h"
#include "peers.h"
#include "retire.h"
#include "sa_table.h"
#include "tunnel_state.h"

#define ASK_AGAIN_MS  1000u
#define ASK_SELDOM_MS 60000u

struct applying {
	struct control *c;
	const struct conf_ike *request;
	FILE *errors;
	struct step *step; // for each change
};

// An object that a change has added, or will set.
struct step {
	struct ike_sa *sa;
	struct ike_policy *policy;
	const struct sa_out *moved;
	struct ip_addr local; // where its ends are then
	struct sa_peer peer;
	struct sa_path *path;
};

static bool refuse(const struct applying *a, const struct conf_ike_change *change, const char *why)
{
	fprintf(a->errors, "%s:%u: %s \"%s\": %s\n", change->c.where.file, change->c.where.line,
		conf_kinds[change->c.kind].noun, change->c.name, why);
	return false;
}

static const char *why_not(int error)
{
	switch (error) {
	case ENOMEM:
		return "out of memory";
	case EEXIST:
		return "is there already";
	case EADDRINUSE:
		return "its SPI is in use";
	case EKEYREJECTED:
		return "its keys are in use";
	case ENOTSUP:
		return "no crypto engine has its algorithms";
	case EADDRNOTAVAIL:
		return "must be in UDP at port 4500 of an unprotected port, with ike.via or the "
		       "host of a port in the configuration";
	case ENXIO:
		return "no tunnel has its if_id: add one to the list tunnels of the configuration";
	case EBUSY:
		return "another peer has SAs with its if_id: give each peer its own tunnel";
	case ENOTUNIQ:
		return "another peer has a policy with the same selectors, and packets cannot tell "
		       "them apart: give the CHILD_SA of each peer an if_id, which a tunnel of the "
		       "configuration has";
	case EINVAL:
		return "dummies are for SAs of the configuration";
	case EHOSTUNREACH:
		return "there is no route to the peer";
	case ENOSPC:
		return "the table is full";
	case EDQUOT:
		return "its peer has used up its share of the table, the rest is for other peers";
	case E2BIG:
		return "its peer, or all, have too many policies between the same networks";
	default:
		return strerror(error);
	}
}

static bool add(struct applying *a, const struct conf_ike_change *change, struct step *step)
{
	const struct conf *conf = a->request->conf;
	int rc = change->c.kind == CONF_POLICY
			 ? ike_policy_add(a->c, &conf->policies[change->index], &step->policy)
			 : ike_sa_add(a->c, conf, &conf->sas[change->index], &step->sa);

	return rc == 0 || refuse(a, change, why_not(-rc));
}

// Where the ends are after the changes before the step, and this move.
static void move_ends(const struct applying *a, struct step *step, const struct sa_out *sa,
	const struct conf_ike_move *move)
{
	const struct step *before = step;

	while (before > a->step && before->moved != sa)
		before--;
	step->local = before->moved == sa ? before->local : sa->sa.opt.local;
	step->peer = before->moved == sa ? before->peer : sa->peer;
	step->moved = sa;
	if (!ip_addr_is_none(&move->local))
		step->local = move->local;
	if (!ip_addr_is_none(&move->remote))
		step->peer.addr = move->remote;
	if (move->udp_remote_port != 0)
		step->peer.port = rte_cpu_to_be_16(move->udp_remote_port);
}

static bool is_family(const struct ip_addr *a, const struct ip_addr *of)
{
	return ip_addr_is_none(a) || ip_addr_family(a) == ip_addr_family(of);
}

// NULL: the SA can be at these ends.
static const char *move_refuse(const struct sa_options *o, const struct conf_ike_move *move)
{
	if (o->mode == SA_TRANSPORT && !ip_addr_is_none(&move->local) &&
		!ip_addr_equal(&move->local, &o->local))
		return "its packets have the address, needs another SA";
	if (move->udp_local_port != 0 && move->udp_local_port != o->udp_local_port)
		return "its own port cannot change, needs another SA";
	if ((move->udp_local_port != 0 || move->udp_remote_port != 0) && !o->in_udp)
		return "is not in UDP, needs another SA";
	if (!is_family(&move->remote, &o->local) || !is_family(&move->local, &o->local))
		return "an end has another family, needs another SA";
	if (o->mode == SA_TRANSPORT && !ip_addr_is_none(&move->remote) &&
		!ip_addr_equal(&move->remote, &o->remote))
		return "its packets have the peer's address, needs another SA";
	return NULL;
}

static bool has_ends(const struct conf_ike_move *move)
{
	return !ip_addr_is_none(&move->local) || !ip_addr_is_none(&move->remote) ||
	       move->udp_remote_port != 0;
}

// Makes a path to where the peer is, to be set once nothing can fail any more. For an inbound SA
// the peer's packets show where it is.
static bool move_prepare(
	struct applying *a, const struct conf_ike_change *change, struct step *step)
{
	const struct ike_sa *o = ike_sa_find(a->c, change->c.name);
	const char *why;
	struct sa_out *sa;

	if (o == NULL)
		return refuse(a, change, "there is none");
	why = move_refuse(&ike_sa_get(o)->opt, &change->move);
	if (why != NULL)
		return refuse(a, change, why);
	if (ike_sa_get(o)->opt.direction == SA_IN && change->move.has_late)
		return refuse(a, change, "late is for direction \"out\" only");
	if (ike_sa_get(o)->opt.direction == SA_IN || !has_ends(&change->move))
		return true;
	sa = sa_out_of(ike_sa_get(o));
	move_ends(a, step, sa, &change->move);
	step->path = peer_path(a->c, sa, &step->local, &step->peer);
	return step->path != NULL || refuse(a, change, why_not(errno));
}

// The request may have deleted it before.
static void move_commit(
	struct control *c, const struct conf_ike_change *change, const struct step *step)
{
	struct ike_sa *o = ike_sa_find(c, change->c.name);

	if (o != NULL && change->move.has_late)
		ike_sa_order(c, o, change->move.late);
	if (o != NULL && !ip_addr_is_none(&change->move.remote))
		ike_sa_get(o)->opt.remote = change->move.remote;
	if (o != NULL && !ip_addr_is_none(&change->move.local)) {
		sa_local_move(ike_sa_get(o), &change->move.local);
		sa_local_set(ike_sa_get(o), address_check(c, c->snapshot, ike_sa_get(o)));
	}
	if (step->path != NULL && o != NULL)
		peer_path_set(c, sa_out_of(ike_sa_get(o)), &step->peer, step->path);
	else
		line_free(step->path);
}

static bool is_there(const struct applying *a, const struct conf_ike_change *change)
{
	bool there = change->c.kind == CONF_POLICY ? ike_policy_find(a->c, change->c.name) != NULL
						   : ike_sa_find(a->c, change->c.name) != NULL;

	return there || refuse(a, change, "there is none");
}

// It would delete the objects that the request adds, too.
static bool flush_prepare(const struct applying *a, const struct conf_ike_change *change)
{
	if (a->request->n > 1)
		fprintf(a->errors, "%s:%u: flush: must be the only change\n", change->c.where.file,
			change->c.where.line);
	return a->request->n == 1;
}

static bool change_prepare(
	struct applying *a, const struct conf_ike_change *change, struct step *step)
{
	if (change->spi != 0)
		return true;
	switch (change->c.verb) {
	case CONF_ADD:
		return add(a, change, step);
	case CONF_SET:
		return move_prepare(a, change, step);
	case CONF_DEL:
		return is_there(a, change);
	case CONF_FLUSH:
		return flush_prepare(a, change);
	}
	return false;
}

// NULL is allowed: a request may delete something twice.
static void delete_both(struct control *c, struct ike_sa *sa, struct ike_policy *policy)
{
	if (policy != NULL)
		ike_policy_delete(c, policy);
	if (sa != NULL)
		ike_sa_delete(c, sa);
}

static void flush(struct control *c)
{
	struct objects *all = c->snapshot->objects;
	const struct sa_list *sas = &all->sas;

	spi_set_clear(&all->awaited);
	while (all->n_listed > 0)
		delete_both(c, NULL, ike_policy_find(c, all->listed[0]->name));
	while (sas->n_out > sas->n_configured[SA_OUT])
		delete_both(c, ike_sa_find(c, sas->out[sas->n_out - 1]->sa.live.name), NULL);
	while (sas->n_in > sas->n_configured[SA_IN])
		delete_both(c, ike_sa_find(c, sas->in[sas->n_in - 1]->sa.live.name), NULL);
}

// Its SA may have been added before.
static void spi_await(struct control *c, const struct conf_ike_change *change)
{
	const rte_be32_t spi = rte_cpu_to_be_32(change->spi);
	struct spi_set *awaited = &c->snapshot->objects->awaited;

	if (change->c.verb == CONF_ADD && snapshot_find_in(c->snapshot, spi) == NULL)
		spi_set_add(awaited, spi);
	else
		spi_set_remove(awaited, spi);
}

static void change_commit(
	struct control *c, const struct conf_ike_change *change, const struct step *step)
{
	if (change->spi != 0)
		spi_await(c, change);
	else if (change->c.verb == CONF_SET)
		move_commit(c, change, step);
	else if (step->policy != NULL)
		ike_policy_open(c, step->policy);
	else if (change->c.verb == CONF_DEL && change->c.kind == CONF_POLICY)
		delete_both(c, NULL, ike_policy_find(c, change->c.name));
	else if (change->c.verb == CONF_DEL)
		delete_both(c, ike_sa_find(c, change->c.name), NULL);
	else if (change->c.verb == CONF_FLUSH)
		flush(c);
}

// Everything that can fail comes first. If a step fails, the added objects are deleted.
static bool apply(struct applying *a)
{
	const struct conf_ike_change *changes = a->request->changes;
	unsigned int n = a->request->n, done = 0;
	bool good = true;

	while (good && done < n) {
		good = change_prepare(a, &changes[done], &a->step[done]);
		done += good;
	}
	for (unsigned int i = 0; good && i < n; i++)
		change_commit(a->c, &changes[i], &a->step[i]);
	for (unsigned int i = done; !good && i-- > 0;) {
		delete_both(a->c, a->step[i].sa, a->step[i].policy);
		line_free(a->step[i].path);
	}
	return good;
}

bool ike_request(struct control *c, const char *name, const char *text, size_t len, FILE *errors)
{
	struct conf_ike *request = conf_ike_read(c->conf, name, text, len, errors);
	struct applying a = {.c = c, .request = request, .errors = errors};
	bool done = false;

	if (request == NULL)
		return false;
	a.step = calloc(request->n, sizeof(a.step[0]));
	pthread_mutex_lock(&c->lock);
	if (a.step != NULL && objects_reserve(c))
		done = apply(&a);
	else
		fputs("out of memory for the request\n", errors);
	objects_commit(c);
	pthread_mutex_unlock(&c->lock);
	free(a.step);
	conf_ike_free(request);
	return done;
}

void ike_stop(struct control *c)
{
	c->loading = false;      // whatever was being made is discarded
	if (c->snapshot != NULL) // the start has not failed before
		flush(c);
	do { // policies leave in two steps
		objects_commit(c);
		retire_all(c);
	} while (c->ike.leaving != NULL);
	free(c->ike.tunnels);
	line_free(c->ike.spare);
	c->ike = (struct ike_state){0};
}

// Whether IKE is asked for an SA of the tunnel: less and less often until it has one, as there may
// be no trap, or a peer that refuses.
static bool tunnel_asks(struct control *c, const struct spd_policy *p, uint64_t now_ms)
{
	struct tunnel *t = tunnel_of_policy(&c->tunnels, spd_place(c->snapshot->spd, p));

	if (p->out != NULL || t->ordered_down || now_ms < t->ask_ms)
		return false;
	t->ask_again_ms =
		t->ask_again_ms == 0 ? ASK_AGAIN_MS : RTE_MIN(2 * t->ask_again_ms, ASK_SELDOM_MS);
	t->ask_ms = now_ms + t->ask_again_ms;
	return true;
}

void ike_acquire(struct control *c, const struct event *e, uint64_t now_ms)
{
	const struct spd_policy *p = NULL;
	char from[IP_ADDR_STRLEN], to[IP_ADDR_STRLEN];
	struct ike_policy *o;
	bool routed;

	if (e->generation == c->snapshot->flow_generation) // else it may be gone
		p = snapshot_policy(c->snapshot, e->policy);
	if (p == NULL)
		return;
	routed = spd_policy_is_routed(p);
	o = routed ? NULL : ike_policy_find(c, p->name);
	if (routed ? !tunnel_asks(c, p, now_ms) : o == NULL || !ike_policy_asks(o, now_ms))
		return;
	event_post(ACQUIRE, EVENT_TEXT(p->name), EVENT_NUMBER(routed ? 0 : p->group),
		EVENT_NUMBER(routed ? (uint32_t)p->group : 0),
		EVENT_TEXT(ip_addr_format(from, &e->addr)),
		EVENT_TEXT(ip_addr_format(to, &e->peer)), EVENT_NUMBER(e->proto),
		EVENT_NUMBER(rte_be_to_cpu_16(e->addr_port)),
		EVENT_NUMBER(rte_be_to_cpu_16(e->peer_port)));
}
