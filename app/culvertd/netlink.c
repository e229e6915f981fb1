// SPDX-License-Identifier: BSD-3-Clause
#include "netlink.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MAX 4096

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
