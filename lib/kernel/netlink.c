// SPDX-License-Identifier: BSD-3-Clause
#include "netlink.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define ANSWER_MAX 4096
#define DUMP_MAX   32768 // octets of one message of a dump
#define BATCH_MAX  4     // requests

void netlink_begin(struct netlink_request *r, uint16_t type, uint16_t flags, size_t message)
{
	memset(r, 0, sizeof(*r));
	r->head.nlmsg_len = (uint32_t)NLMSG_LENGTH(message);
	r->head.nlmsg_type = type;
	r->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
}

static struct rtattr *end_of(struct netlink_request *r)
{
	return (struct rtattr *)((uint8_t *)r + NLMSG_ALIGN(r->head.nlmsg_len));
}

void netlink_add(struct netlink_request *r, uint16_t type, const void *value, size_t len)
{
	struct rtattr *a = end_of(r);

	r->head.nlmsg_len = NLMSG_ALIGN(r->head.nlmsg_len) + (uint32_t)RTA_SPACE(len);
	assert(r->head.nlmsg_len <= sizeof(*r));
	a->rta_type = type;
	a->rta_len = (uint16_t)RTA_LENGTH(len);
	memcpy(RTA_DATA(a), value, len);
}

void netlink_add_u32(struct netlink_request *r, uint16_t type, uint32_t value)
{
	netlink_add(r, type, &value, sizeof(value));
}

void netlink_add_addr(struct netlink_request *r, uint16_t type, const struct ip_addr *addr)
{
	const rte_be32_t v4 = ip_addr_v4(addr);

	if (ip_addr_is_v4(addr))
		netlink_add(r, type, &v4, sizeof(v4));
	else
		netlink_add(r, type, addr->b, sizeof(addr->b));
}

struct rtattr *netlink_nest(struct netlink_request *r, uint16_t type)
{
	struct rtattr *nest = end_of(r);

	netlink_add(r, type, "", 0);
	return nest;
}

void netlink_nest_end(struct netlink_request *r, struct rtattr *nest)
{
	nest->rta_len = (uint16_t)((uint8_t *)end_of(r) - (uint8_t *)nest);
}

static int answer_read(int fd)
{
	union {
		struct nlmsghdr head;
		uint8_t octets[ANSWER_MAX];
	} answer;
	ssize_t n = recv(fd, &answer, sizeof(answer), 0);
	const struct nlmsgerr *error = NLMSG_DATA(&answer.head);

	if (n < 0)
		return -errno;
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(*error)) || answer.head.nlmsg_type != NLMSG_ERROR)
		return -EBADMSG;
	return error->error;
}

int netlink_send(struct netlink_request *r)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int rc;

	if (fd < 0)
		return -errno;
	rc = send(fd, r, r->head.nlmsg_len, 0) < 0 ? -errno : answer_read(fd);
	close(fd);
	return rc;
}

// 1, or -errno: the kernel has stopped before the end.
static int dump_end(const struct nlmsghdr *m)
{
	const int *rc = NLMSG_DATA(m);

	return m->nlmsg_len >= NLMSG_LENGTH(sizeof(*rc)) && *rc < 0 ? *rc : 1;
}

// Returns 1 at the end of the dump, 0 before it, or -errno: then some messages are missing.
static int dump_read(int fd, void (*each)(void *arg, const struct nlmsghdr *m), void *arg)
{
	union {
		struct nlmsghdr head;
		uint8_t octets[DUMP_MAX];
	} answer;
	ssize_t n = recv(fd, &answer, sizeof(answer), 0);

	if (n < 0)
		return -errno;
	for (const struct nlmsghdr *m = &answer.head; NLMSG_OK(m, n); m = NLMSG_NEXT(m, n)) {
		if ((m->nlmsg_flags & NLM_F_DUMP_INTR) != 0) // something has changed meanwhile
			return -EINTR;
		if (m->nlmsg_type == NLMSG_DONE)
			return dump_end(m);
		if (m->nlmsg_type == NLMSG_ERROR)
			return ((const struct nlmsgerr *)NLMSG_DATA(m))->error;
		each(arg, m);
	}
	return 0;
}

static int dump(struct netlink_request *r, int strict,
	void (*each)(void *arg, const struct nlmsghdr *m), void *arg)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), rc;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &strict, sizeof(strict));
	rc = send(fd, r, r->head.nlmsg_len, 0) < 0 ? -errno : 0;
	while (rc == 0)
		rc = dump_read(fd, each, arg);
	close(fd);
	return rc < 0 ? rc : 0;
}

int netlink_dump(uint16_t type, void (*each)(void *arg, const struct nlmsghdr *m), void *arg)
{
	struct netlink_request r;

	netlink_begin(&r, type, NLM_F_DUMP, sizeof(r.link));
	return dump(&r, 0, each, arg);
}

int netlink_dump_some(
	struct netlink_request *r, void (*each)(void *arg, const struct nlmsghdr *m), void *arg)
{
	return dump(r, 1, each, arg);
}

const void *netlink_attribute(const struct nlmsghdr *m, size_t message, uint16_t type, size_t len)
{
	const struct rtattr *a =
		(const struct rtattr *)((const uint8_t *)NLMSG_DATA(m) + NLMSG_ALIGN(message));
	int left = (int)m->nlmsg_len - (int)NLMSG_SPACE(message);

	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == type && RTA_PAYLOAD(a) >= len)
			return RTA_DATA(a);
	return NULL;
}

bool netlink_attribute_addr(
	struct ip_addr *addr, const struct nlmsghdr *m, size_t message, uint16_t type, int family)
{
	bool v4 = family == AF_INET;
	const void *value =
		netlink_attribute(m, message, type, v4 ? sizeof(addr->w[3]) : sizeof(addr->b));

	if (value == NULL || (!v4 && family != AF_INET6))
		return false;
	memcpy(v4 ? (void *)&addr->w[3] : addr->b, value,
		v4 ? sizeof(addr->w[3]) : sizeof(addr->b));
	if (v4)
		*addr = ip_addr_from_v4(addr->w[3]);
	return true;
}

bool netlink_address(struct ip_addr *addr, const struct nlmsghdr *m)
{
	const struct ifaddrmsg *message = NLMSG_DATA(m);

	return netlink_attribute_addr(addr, m, sizeof(*message),
		message->ifa_family == AF_INET ? IFA_LOCAL : IFA_ADDRESS, message->ifa_family);
}

int netlink_watch(void)
{
	struct sockaddr_nl groups = {.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&groups, sizeof(groups)) < 0) {
		int error = errno;

		close(fd);
		return -error;
	}
	return fd >= 0 ? fd : -errno;
}

bool netlink_changed(int fd)
{
	uint8_t message[ANSWER_MAX];
	bool changed = false;

	while (recv(fd, message, sizeof(message), 0) >= 0 || errno == ENOBUFS) // some were lost
		changed = true;
	return changed;
}

// The first or the last message around those of a batch.
static void batch_edge(struct netlink_request *r, uint16_t type)
{
	netlink_begin(r, type, 0, sizeof(r->filter));
	r->head.nlmsg_flags = NLM_F_REQUEST; // no answer
	r->filter.res_id = htons(NFNL_SUBSYS_NFTABLES);
}

static int batch_send(int fd, struct netlink_request r[], unsigned int n)
{
	struct netlink_request begin, end;
	struct iovec iov[BATCH_MAX + 2];
	struct msghdr all = {.msg_iov = iov, .msg_iovlen = n + 2};

	assert(n <= BATCH_MAX);
	batch_edge(&begin, NFNL_MSG_BATCH_BEGIN);
	batch_edge(&end, NFNL_MSG_BATCH_END);
	iov[0] = (struct iovec){&begin, NLMSG_ALIGN(begin.head.nlmsg_len)};
	for (unsigned int i = 0; i < n; i++) {
		r[i].head.nlmsg_seq = i;
		iov[i + 1] = (struct iovec){&r[i], NLMSG_ALIGN(r[i].head.nlmsg_len)};
	}
	iov[n + 1] = (struct iovec){&end, NLMSG_ALIGN(end.head.nlmsg_len)};
	return sendmsg(fd, &all, 0) < 0 ? -errno : 0;
}

int netlink_filter(struct netlink_request r[], unsigned int n)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	int rc;

	if (fd < 0)
		return -errno;
	rc = batch_send(fd, r, n);
	for (unsigned int i = 0; i < n && rc == 0; i++)
		rc = answer_read(fd);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}
