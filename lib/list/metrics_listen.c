// SPDX-License-Identifier: BSD-3-Clause
#include "metrics_listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_byteorder.h>

#include "state.h"
#include "unix_socket.h"

#define LISTEN_BACKLOG 16

struct metrics_address metrics_address_tcp(const struct conf *conf)
{
	struct metrics_address a = {0};
	rte_be16_t port = rte_cpu_to_be_16((uint16_t)conf->metrics_port);
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = port};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = port};
	char text[IP_ADDR_STRLEN];

	if (conf->metrics_port == 0)
		return a;
	if (ip_addr_is_v4(&conf->metrics_addr)) {
		v4.sin_addr.s_addr = ip_addr_v4(&conf->metrics_addr);
		memcpy(&a.any, &v4, a.len = sizeof(v4));
	} else {
		memcpy(&v6.sin6_addr, &conf->metrics_addr, sizeof(v6.sin6_addr));
		memcpy(&a.any, &v6, a.len = sizeof(v6));
	}
	snprintf(a.name, sizeof(a.name), "%s port %u", ip_addr_format(text, &conf->metrics_addr),
		conf->metrics_port);
	return a;
}

struct metrics_address metrics_address_unix(const struct conf *conf)
{
	static const mode_t modes[] = {
		[CONF_MODE_0600] = 0600, [CONF_MODE_0660] = 0660, [CONF_MODE_0666] = 0666};
	struct metrics_address a = {.mode = modes[conf->metrics_mode]};

	if (conf->metrics_socket == NULL)
		return a;
	a.unix_path.sun_family = AF_UNIX;
	strcpy(a.unix_path.sun_path, conf->metrics_socket);
	strcpy(a.name, conf->metrics_socket);
	a.len = sizeof(a.unix_path);
	return a;
}

static bool is_unix(const struct metrics_address *a)
{
	return a->any.ss_family == AF_UNIX;
}

// Removes the path of a Unix socket without a listener. Other files stay.
static bool remove_stale(const struct metrics_address *a)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;
	bool stale = is_unix(a) && lstat(a->unix_path.sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
		     connect(fd, (const struct sockaddr *)&a->any, a->len) < 0 &&
		     errno == ECONNREFUSED && unlink(a->unix_path.sun_path) == 0;

	if (fd >= 0)
		close(fd);
	errno = EADDRINUSE;
	return stale;
}

static int bind_once(int fd, const struct metrics_address *a)
{
	return is_unix(a) ? unix_socket_bind(fd, &a->unix_path, a->mode)
			  : bind(fd, (const struct sockaddr *)&a->any, a->len);
}

static bool bind_at(int fd, const struct metrics_address *a)
{
	return bind_once(fd, a) == 0 ||
	       (errno == EADDRINUSE && remove_stale(a) && bind_once(fd, a) == 0);
}

// Others could put a socket of their own there, and answer in our name.
static bool is_folder_trusted(
	const struct metrics_address *a, const struct conf *conf, char *why, size_t size)
{
	char folder[sizeof(a->unix_path.sun_path)];
	size_t len = (size_t)(strrchr(a->unix_path.sun_path, '/') - a->unix_path.sun_path);

	memcpy(folder, a->unix_path.sun_path, len);
	folder[len] = '\0';
	return folder_check(len > 0 ? folder : "/", conf, "others could replace the socket", why,
		       size) == 0;
}

static int listen_at(const struct metrics_address *a)
{
	const int on = 1;
	int fd = socket(a->any.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int why;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); // ports of ended connections
	if (bind_at(fd, a) && listen(fd, LISTEN_BACKLOG) == 0)
		return fd;
	why = errno;
	close(fd);
	errno = why;
	return -1;
}

int metrics_listen(const struct metrics_address *a, const struct conf *conf, char *why, size_t size)
{
	int fd;

	if (is_unix(a) && !is_folder_trusted(a, conf, why, size))
		return -1;
	fd = listen_at(a);
	if (fd < 0)
		snprintf(why, size, "%s", strerror(errno));
	return fd;
}

void metrics_unlisten(const struct metrics_address *a)
{
	if (is_unix(a))
		unlink(a->unix_path.sun_path);
}

// Others cannot replace the path: the folder has been checked.
int metrics_mode_set(const struct metrics_address *a)
{
	return chmod(a->unix_path.sun_path, a->mode);
}
