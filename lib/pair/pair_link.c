// SPDX-License-Identifier: BSD-3-Clause
#include "pair_link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SEND_BUFFER 65536 // octets of the kernel, which delay alive lines
#define SEND_UNSENT 16384

socklen_t link_address(struct sockaddr_storage *s, const struct ip_addr *addr, uint16_t port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)s;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)s;

	memset(s, 0, sizeof(*s));
	if (ip_addr_is_v4(addr)) {
		v4->sin_family = AF_INET;
		v4->sin_port = rte_cpu_to_be_16(port);
		v4->sin_addr.s_addr = ip_addr_v4(addr);
		return sizeof(*v4);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = rte_cpu_to_be_16(port);
	memcpy(&v6->sin6_addr, addr, sizeof(v6->sin6_addr));
	return sizeof(*v6);
}

bool link_address_is(const struct sockaddr_storage *s, const struct ip_addr *addr)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)s;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)s;

	if (s->ss_family == AF_INET)
		return ip_addr_is_v4(addr) && v4->sin_addr.s_addr == ip_addr_v4(addr);
	return s->ss_family == AF_INET6 && memcmp(&v6->sin6_addr, addr, sizeof(*addr)) == 0;
}

static void options_set(int fd)
{
	static const int on = 1, buffer = SEND_BUFFER, unsent = SEND_UNSENT;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
}

int link_connect(struct link *l, const struct ip_addr *from, const struct ip_addr *to,
	uint16_t port, uint64_t now_ms)
{
	struct sockaddr_storage own, other;
	socklen_t len = link_address(&own, from, 0);
	int fd = socket(own.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc;

	link_address(&other, to, port);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&own, len) < 0 ||
		(connect(fd, (struct sockaddr *)&other, len) < 0 && errno != EINPROGRESS)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	l->state = LINK_CONNECTING;
	l->fd = fd;
	l->begun_ms = now_ms;
	return 0;
}

int link_connected(const struct link *l)
{
	struct pollfd p = {.fd = l->fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int error = 0;

	if (poll(&p, 1, 0) == 0)
		return -EINPROGRESS;
	getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return -error;
}

int link_begin(struct link *l, const struct tls *t, int fd, bool accepted, uint64_t now_ms)
{
	SSL *ssl = tls_new(t, fd, accepted);

	if (ssl == NULL) {
		close(fd);
		l->state = LINK_NONE;
		return -ENOMEM;
	}
	options_set(fd);
	l->state = LINK_HANDSHAKE;
	l->fd = fd;
	l->ssl = ssl;
	l->accepted = accepted;
	l->begun_ms = l->received_ms = now_ms;
	l->out_len = l->writing = 0;
	return 0;
}

bool link_add(struct link *l, const char *line, size_t len)
{
	if (len + 1 > sizeof(l->out) - l->out_len)
		return false;
	memcpy(l->out + l->out_len, line, len);
	l->out[l->out_len + len] = '\n';
	l->out_len += len + 1;
	return true;
}

enum tls_result link_flush(struct link *l)
{
	while (l->out_len > 0) {
		enum tls_result r;

		if (l->writing == 0)
			l->writing = l->out_len;
		r = tls_write(l->ssl, l->out, l->writing);
		if (r != TLS_DONE)
			return r;
		l->out_len -= l->writing;
		memmove(l->out, l->out + l->writing, l->out_len);
		explicit_bzero(l->out + l->out_len, l->writing); // of changes, which have keys
		l->writing = 0;
	}
	return TLS_DONE;
}

short link_events(const struct link *l)
{
	if (l->state == LINK_CONNECTING)
		return POLLOUT;
	if (l->state == LINK_HANDSHAKE)
		return SSL_want_write(l->ssl) ? POLLOUT : POLLIN;
	return l->out_len > 0 ? POLLIN | POLLOUT : POLLIN;
}

void link_close(struct link *l)
{
	if (l->state == LINK_NONE)
		return;
	SSL_free(l->ssl);
	close(l->fd);
	explicit_bzero(l->out, l->out_len);
	line_reader_clear(&l->in);
	l->ssl = NULL;
	l->state = LINK_NONE;
}
