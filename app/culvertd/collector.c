// SPDX-License-Identifier: BSD-3-Clause
#include "collector.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_byteorder.h>

static struct {
	struct ip_addr addr;
	uint16_t port;
	int fd; // if open
	bool open;
} collector;

void collector_close(void)
{
	if (collector.open)
		close(collector.fd);
	collector.open = false;
}

// As of connect(2).
static int connect_to(int fd, const struct ip_addr *to, uint16_t port)
{
	const struct sockaddr_in v4 = {.sin_family = AF_INET,
		.sin_port = rte_cpu_to_be_16(port),
		.sin_addr.s_addr = ip_addr_is_v4(to) ? ip_addr_v4(to) : 0};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = rte_cpu_to_be_16(port)};

	memcpy(&v6.sin6_addr, to, sizeof(v6.sin6_addr));
	return ip_addr_is_v4(to) ? connect(fd, (const struct sockaddr *)&v4, sizeof(v4))
				 : connect(fd, (const struct sockaddr *)&v6, sizeof(v6));
}

// Returns 0 or -errno.
static int collector_open(const struct ip_addr *to, uint16_t port)
{
	int fd = socket(ip_addr_is_v4(to) ? AF_INET : AF_INET6,
		SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int why;

	if (fd < 0)
		return -errno;
	if (connect_to(fd, to, port) < 0) {
		why = errno;
		close(fd);
		return -why;
	}
	collector.addr = *to;
	collector.port = port;
	collector.fd = fd;
	collector.open = true;
	return 0;
}

int collector_send(
	void *arg, const struct ip_addr *to, uint16_t port, const void *message, size_t len)
{
	int rc = 0;

	(void)arg;
	if (!ip_addr_equal(&collector.addr, to) || collector.port != port)
		collector_close();
	if (!collector.open)
		rc = collector_open(to, port);
	if (rc == 0 && send(collector.fd, message, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		rc = -errno;
	if (rc < 0 && rc != -EAGAIN && rc != -ECONNREFUSED)
		collector_close();
	return rc;
}
