// SPDX-License-Identifier: BSD-3-Clause
#include "route_mirror.h"

#include <errno.h>
#include <stdlib.h>

#include <libmnl/libmnl.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <rte_common.h>

#define READ_OCTETS  32768 // the most that the kernel puts in one datagram
#define MESSAGES_MAX 1000  // read in a tick from either socket
#define BUCKETS_MAX  2000  // visited in a tick
#define WAIT_MS      50    // from a doubt to a dump: a burst may follow
#define REST_MS      300   // between dumps
#define REST_DUMPS   4     // likewise, in durations of the last one
#define COMPARE_MS   60000 // from one dump to the next without a doubt

// The parts of a dump, in this order: routes refer to objects, and these to links.
enum part { LINKS, OBJECTS, ROUTES_V4, ROUTES_V6, PARTS };

struct route_mirror {
	struct route_mirror_settings settings;
	struct mirror_store store;
	struct mnl_socket *events, *dump; // dump: NULL if there is none in progress
	enum part part;                   // of it
	uint32_t sequence;                // of its request
	bool doubt;                       // a dump is to begin
	uint64_t due_ms;                  // when
	uint64_t begun_ms, ended_ms;      // of the last dump
	uint64_t messages, losses, dumps;
	struct mirror_message message;
	_Alignas(struct nlmsghdr) uint8_t read[READ_OCTETS];
};

// --- sockets ---

static int events_join(struct mnl_socket *s, int group)
{
	return mnl_socket_setsockopt(s, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group));
}

// The groups that the kernel announces routes and their causes to. Old kernels have no objects.
static int events_open(struct route_mirror *m)
{
	static const int groups[] = {
		RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE};
	int size = m->settings.receive_buffer, fd;

	m->events = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (m->events == NULL || mnl_socket_bind(m->events, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	fd = mnl_socket_get_fd(m->events);
	// The first is not limited by the system, but needs CAP_NET_ADMIN.
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	for (size_t i = 0; i < RTE_DIM(groups); i++)
		if (events_join(m->events, groups[i]) < 0)
			return -errno;
	events_join(m->events, RTNLGRP_NEXTHOP);
	return 0;
}

int route_mirror_open(struct route_mirror **m, const struct route_mirror_settings *settings,
	mirror_changed *changed, void *arg)
{
	struct route_mirror *made = calloc(1, sizeof(*made));
	int rc;

	*m = NULL;
	if (made == NULL)
		return -ENOMEM;
	made->settings = *settings;
	made->doubt = true;
	rc = mirror_store_open(&made->store, settings->routes_max, changed, arg);
	if (rc == 0)
		rc = events_open(made);
	if (rc < 0) {
		route_mirror_close(made);
		return rc;
	}
	*m = made;
	return 0;
}

static void dump_close(struct route_mirror *m)
{
	if (m->dump != NULL)
		mnl_socket_close(m->dump);
	m->dump = NULL;
}

void route_mirror_close(struct route_mirror *m)
{
	if (m == NULL)
		return;
	dump_close(m);
	if (m->events != NULL)
		mnl_socket_close(m->events);
	mirror_store_close(&m->store);
	free(m);
}

// --- messages ---

// Lets a dump begin soon.
static void doubt(struct route_mirror *m, uint64_t now_ms)
{
	if (!m->doubt)
		m->due_ms = now_ms + WAIT_MS;
	m->doubt = true;
}

static void lost(struct route_mirror *m, uint64_t now_ms)
{
	m->losses++;
	doubt(m, now_ms);
}

static void message_apply(
	struct route_mirror *m, const struct nlmsghdr *n, bool dumped, uint64_t now_ms)
{
	struct mirror_message *of = &m->message;
	bool silent = false; // the kernel may have changed routes with no message about them

	m->messages++;
	if (mirror_message_read(of, n) < 0) {
		lost(m, now_ms);
		return;
	}
	if (of->about == MIRROR_ROUTE && of->id == m->settings.table)
		mirror_store_apply(&m->store, of, m->settings.protocol[of->protocol], dumped);
	else if (of->about == MIRROR_LINK)
		silent = mirror_link_apply(&m->store.nexthops, of, dumped);
	else if (of->about == MIRROR_NEXTHOP)
		silent = mirror_object_apply(&m->store.nexthops, of, dumped);
	else if (of->about == MIRROR_ADDRESS)
		silent = true;
	if (silent && !dumped)
		doubt(m, now_ms);
}

// Applies the messages of a datagram. Returns how many; a part of one is a loss.
static unsigned int events_apply(struct route_mirror *m, int len, uint64_t now_ms)
{
	const struct nlmsghdr *n = (const struct nlmsghdr *)m->read;
	unsigned int applied = 0;

	for (; mirror_message_is_whole(n, len); n = mnl_nlmsg_next(n, &len), applied++)
		message_apply(m, n, false, now_ms);
	if (len > 0)
		lost(m, now_ms);
	return applied + 1;
}

// Returns whether all have been read.
static bool events_read(struct route_mirror *m, uint64_t now_ms)
{
	for (unsigned int n = 0; n < MESSAGES_MAX;) {
		ssize_t len = mnl_socket_recvfrom(m->events, m->read, sizeof(m->read));

		if (len < 0 && errno == EAGAIN)
			return true;
		if (len < 0)
			lost(m, now_ms); // ENOBUFS: some; ENOSPC: the end of one
		n += len < 0 ? 1 : events_apply(m, (int)len, now_ms);
	}
	return false;
}

// --- dumps ---

static void dump_request(struct route_mirror *m)
{
	static const uint16_t type[PARTS] = {
		RTM_GETLINK, RTM_GETNEXTHOP, RTM_GETROUTE, RTM_GETROUTE};
	static const size_t size[PARTS] = {sizeof(struct ifinfomsg), sizeof(struct nhmsg),
		sizeof(struct rtmsg), sizeof(struct rtmsg)};
	_Alignas(struct nlmsghdr) uint8_t octets[128];
	struct nlmsghdr *n = mnl_nlmsg_put_header(octets);
	uint8_t *family = mnl_nlmsg_put_extra_header(n, size[m->part]); // the first octet of each

	n->nlmsg_type = type[m->part];
	n->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	n->nlmsg_seq = ++m->sequence;
	if (m->part >= ROUTES_V4) {
		*family = m->part == ROUTES_V4 ? AF_INET : AF_INET6;
		mnl_attr_put_u32(n, RTA_TABLE, m->settings.table);
	} else if (m->part == LINKS) {
		mnl_attr_put_u32(n, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	}
	mnl_socket_sendto(m->dump, n, n->nlmsg_len); // without an answer the dump is given up
}

static void dump_begin(struct route_mirror *m, uint64_t now_ms)
{
	int on = 1;

	m->begun_ms = m->ended_ms = now_ms;
	m->dump = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (m->dump == NULL)
		return; // is tried again
	mnl_socket_bind(m->dump, 0, MNL_SOCKET_AUTOPID);
	// The kernel then sends the routes of the table alone.
	mnl_socket_setsockopt(m->dump, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
	m->doubt = false;
	m->part = LINKS;
	mirror_store_dump_begins(&m->store);
	dump_request(m);
}

// Gives up a dump: another one begins soon.
static void dump_abort(struct route_mirror *m, uint64_t now_ms)
{
	m->ended_ms = now_ms;
	dump_close(m);
	lost(m, now_ms);
}

static void dump_end(struct route_mirror *m, uint64_t now_ms)
{
	mirror_store_dump_ended(&m->store);
	m->ended_ms = now_ms;
	m->dumps++;
	dump_close(m);
}

static void part_end(struct route_mirror *m, uint64_t now_ms)
{
	if (m->part == LINKS)
		mirror_links_purge(&m->store.nexthops);
	else if (m->part == OBJECTS)
		mirror_objects_purge(&m->store.nexthops);
	if (++m->part == PARTS)
		dump_end(m, now_ms);
	else
		dump_request(m);
}

// A table without routes may not exist; old kernels have no objects.
static bool is_empty(const struct nlmsghdr *n)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(n);

	return n->nlmsg_type == NLMSG_ERROR && mnl_nlmsg_get_payload_len(n) >= sizeof(*e) &&
	       (e->error == -ENOENT || e->error == -EOPNOTSUPP);
}

// Returns false when the messages of the datagram end, or those of the part.
static bool record_apply(struct route_mirror *m, const struct nlmsghdr *n, uint64_t now_ms)
{
	if (n->nlmsg_seq != m->sequence) {
		dump_abort(m, now_ms);
		return false;
	}
	if ((n->nlmsg_flags & NLM_F_DUMP_INTR) != 0)
		doubt(m, now_ms); // it was changed meanwhile
	if (n->nlmsg_type == NLMSG_DONE || is_empty(n)) {
		part_end(m, now_ms);
		return false;
	}
	if (n->nlmsg_type == NLMSG_ERROR) {
		dump_abort(m, now_ms);
		return false;
	}
	message_apply(m, n, true, now_ms);
	return true;
}

static unsigned int records_apply(struct route_mirror *m, int len, uint64_t now_ms)
{
	const struct nlmsghdr *n = (const struct nlmsghdr *)m->read;
	unsigned int applied = 1;

	for (; mirror_message_is_whole(n, len); n = mnl_nlmsg_next(n, &len), applied++)
		if (!record_apply(m, n, now_ms))
			break;
	return applied;
}

// Returns whether there is more to read at once.
static bool dump_read(struct route_mirror *m, uint64_t now_ms)
{
	for (unsigned int n = 0; m->dump != NULL && n < MESSAGES_MAX;) {
		ssize_t len = mnl_socket_recvfrom(m->dump, m->read, sizeof(m->read));

		if (len <= 0) {
			dump_abort(m, now_ms); // the kernel answers before the request returns
			return false;
		}
		n += records_apply(m, (int)len, now_ms);
	}
	return m->dump != NULL;
}

static bool is_due(const struct route_mirror *m, uint64_t now_ms)
{
	uint64_t took = m->ended_ms - m->begun_ms;

	if (!mirror_store_is_settled(&m->store))
		return false;
	if (m->begun_ms == 0)
		return true;
	if (now_ms < m->ended_ms + RTE_MAX((uint64_t)REST_MS, REST_DUMPS * took))
		return false;
	return (m->doubt && now_ms >= m->due_ms) || now_ms >= m->ended_ms + COMPARE_MS;
}

bool route_mirror_tick(struct route_mirror *m, uint64_t now_ms)
{
	bool busy = !events_read(m, now_ms);

	// Messages that were sent before a dump are not read after it has begun.
	if (m->dump == NULL && !busy && is_due(m, now_ms))
		dump_begin(m, now_ms);
	if (m->dump != NULL)
		busy |= dump_read(m, now_ms);
	busy |= mirror_store_work(&m->store, BUCKETS_MAX);
	if (m->store.doubtful || (m->store.over > 0 && m->store.routes.n_nodes < m->store.max))
		doubt(m, now_ms);
	return busy;
}

void route_mirror_set(
	struct route_mirror *m, const struct route_mirror_settings *settings, uint64_t now_ms)
{
	m->settings = *settings;
	mirror_store_limit(&m->store, settings->routes_max);
	if (m->dump != NULL)
		dump_abort(m, now_ms);
	doubt(m, now_ms);
}

void route_mirror_again(struct route_mirror *m)
{
	mirror_store_again(&m->store);
}

const struct mirror_route *route_mirror_find(struct route_mirror *m, const struct ip_prefix *to)
{
	return mirror_store_find(&m->store, to);
}

void route_mirror_each(const struct route_mirror *m, mirror_changed *each, void *arg)
{
	mirror_store_each(&m->store, each, arg);
}

const char *route_mirror_link_name(const struct route_mirror *m, uint32_t link)
{
	return mirror_link_name(&m->store.nexthops, link);
}

struct route_mirror_stats route_mirror_stats(const struct route_mirror *m)
{
	const struct mirror_store *s = &m->store;
	struct route_mirror_stats stats = {.messages = m->messages,
		.losses = m->losses,
		.dumps = m->dumps,
		.routes = s->n,
		.links = s->nexthops.links.n_nodes,
		.objects = s->nexthops.objects.n_nodes,
		.over = s->over};

	memcpy(stats.unused, s->unused, sizeof(stats.unused));
	return stats;
}
