// SPDX-License-Identifier: BSD-3-Clause
#include "device_socket.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "port_log.h"

#define MEMIF_SOCKET "/run/memif.sock" // the driver's default
#define LISTENS      0x10000           // in the flags of /proc/net/unix: __SO_ACCEPTCON

enum state {
	ABSENT,
	STALE, // no process has it
	BOUND, // a process has it, but does not listen yet
	USED,
	NO_SOCKET, // another kind of file
};

static bool is(const char *device, const char *driver)
{
	return strncmp(device, driver, strlen(driver)) == 0;
}

static bool is_virtio_user(const char *device)
{
	return is(device, "net_virtio_user") || is(device, "virtio_user");
}

bool device_is_vhost(const char *device)
{
	return is(device, "net_vhost") || is(device, "eth_vhost");
}

// Whether an argument of the device has this value.
static bool has(const char *device, const char *name, const char *value)
{
	char text[16];

	return conf_device_arg(text, sizeof(text), device, name) && strcmp(text, value) == 0;
}

bool device_socket_waits(char path[DEVICE_SOCKET_SIZE], const char *device)
{
	return is_virtio_user(device) && has(device, "server", "1") &&
	       conf_device_arg(path, DEVICE_SOCKET_SIZE, device, "path");
}

// The path on which the device listens. False if it does not, or on an abstract socket, which ends
// with its process.
static bool listens_on(char path[DEVICE_SOCKET_SIZE], const char *device)
{
	if (is_virtio_user(device))
		return device_socket_waits(path, device);
	if (device_is_vhost(device))
		return !has(device, "client", "1") &&
		       conf_device_arg(path, DEVICE_SOCKET_SIZE, device, "iface");
	return is(device, "net_memif") &&
	       (has(device, "role", "server") || has(device, "role", "master")) &&
	       has(device, "socket-abstract", "no") &&
	       conf_device_arg(path, DEVICE_SOCKET_SIZE, device, "socket");
}

// memif appends the name to a zero, and counts the zero at its end.
static bool memif_connects_to(char path[DEVICE_SOCKET_SIZE], const char *device)
{
	size_t at = has(device, "socket-abstract", "no") ? 0 : 1;

	if (!is(device, "net_memif") || has(device, "role", "server") ||
		has(device, "role", "master"))
		return false;
	path[0] = '@';
	if (!conf_device_arg(path + at, DEVICE_SOCKET_SIZE - at, device, "socket"))
		snprintf(path + at, DEVICE_SOCKET_SIZE - at, "%s", MEMIF_SOCKET);
	return true;
}

bool device_socket_connects(char path[DEVICE_SOCKET_SIZE], const char *device)
{
	if (!is_virtio_user(device))
		return memif_connects_to(path, device);
	return !has(device, "server", "1") &&
	       conf_device_arg(path, DEVICE_SOCKET_SIZE, device, "path") && !is(path, "/dev/");
}

unsigned int device_queues(const char *device)
{
	const bool is_packet_socket = is(device, "net_af_packet");
	char text[16] = "1"; // the drivers' default

	if (!is_packet_socket && !is_virtio_user(device) && !device_is_vhost(device))
		return UINT16_MAX;
	conf_device_arg(text, sizeof(text), device, is_packet_socket ? "qpairs" : "queues");
	return (unsigned int)strtoul(text, NULL, 10);
}

// Connects with a type that drivers do not use: the kernel refuses it with one error if a process
// has the socket, which does not notice, and with another if none has it.
static bool is_refused(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool refused;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	refused = connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 && errno == ECONNREFUSED;
	close(fd);
	return refused;
}

// Connects with a socket that is connected already, which the kernel refuses only after it has
// found that the other one listens: that one does not notice.
static bool listens_as(const struct sockaddr_un *addr, int type)
{
	int fd[2];
	bool listens;

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd) < 0)
		return false;
	listens = connect(fd[0], (const struct sockaddr *)addr, sizeof(*addr)) < 0 &&
		  (errno == EISCONN || errno == EAGAIN); // EAGAIN: others wait for it
	close(fd[0]);
	close(fd[1]);
	return listens;
}

// Whether a process not only has the socket, but listens: between the two a connection fails.
static bool listens(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	return listens_as(&addr, SOCK_STREAM) || listens_as(&addr, SOCK_SEQPACKET);
}

// The kernel finds abstract names only by type: /proc/net/unix needs no connection. Ends of
// accepted connections have the same name, and come first.
static enum state abstract_state_of(const char *name)
{
	FILE *f = fopen("/proc/net/unix", "re");
	enum state state = ABSENT;
	unsigned long flags;
	char line[256];

	while (f != NULL && state != USED && fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		const char *last = strrchr(line, ' ');

		if (last != NULL && strcmp(last + 1, name) == 0 &&
			sscanf(line, "%*s %*s %*s %lx", &flags) == 1)
			state = (flags & LISTENS) != 0 ? USED : BOUND;
	}
	if (f != NULL)
		fclose(f);
	return state;
}

static enum state state_of(const char *path)
{
	struct stat st;

	if (path[0] == '@')
		return abstract_state_of(path);
	if (lstat(path, &st) < 0)
		return ABSENT;
	if (!S_ISSOCK(st.st_mode))
		return NO_SOCKET;
	if (is_refused(path))
		return STALE;
	return listens(path) ? USED : BOUND;
}

bool device_socket_is_used(const char *path)
{
	return state_of(path) == USED;
}

static bool explain_listen(const struct conf_port *c, const char *path)
{
	char folder[DEVICE_SOCKET_SIZE];

	switch (state_of(path)) {
	case BOUND:
	case USED:
		port_error(c,
			"another process listens on %s: stop that one ('ss -xlp' lists them), or "
			"give this port another path",
			path);
		return true;
	case NO_SOCKET:
		port_error(c,
			"%s exists and is no socket: remove it, or give this port another path",
			path);
		return true;
	case STALE:
	case ABSENT:
		snprintf(folder, sizeof(folder), "%s", path);
		if (access(dirname(folder), W_OK | X_OK) == 0)
			return false;
		port_error(c, "cannot make the socket %s: its folder: %s", path, strerror(errno));
		return true;
	}
	return false;
}

int device_socket_prepare(const struct conf_port *c)
{
	char path[DEVICE_SOCKET_SIZE];
	enum state state;

	if (!listens_on(path, c->device))
		return 0;
	state = state_of(path);
	if (state == STALE && unlink(path) == 0)
		log_info("removed %s, the socket of an earlier process", path);
	// Several ports of memif may share a socket.
	if (is(c->device, "net_memif") || state == STALE || state == ABSENT)
		return 0;
	explain_listen(c, path);
	return -EIO;
}

// The path to which a device of any driver connects, not an abstract one.
static bool connects_to(char path[DEVICE_SOCKET_SIZE], const char *device)
{
	if (device_is_vhost(device))
		return has(device, "client", "1") &&
		       conf_device_arg(path, DEVICE_SOCKET_SIZE, device, "iface");
	return device_socket_connects(path, device) && path[0] != '@';
}

bool device_socket_is_denied(const char *device)
{
	char path[DEVICE_SOCKET_SIZE];

	return connects_to(path, device) && access(path, W_OK) < 0 && errno == EACCES;
}

static bool explain_connect(const struct conf_port *c, const char *path)
{
	if (is(path, "/dev/")) {
		if (access(path, R_OK | W_OK) == 0)
			return false;
		port_error(c, "%s: %s%s", path, strerror(errno),
			strcmp(path, "/dev/vhost-net") == 0 ? ": 'modprobe vhost-net'" : "");
		return true;
	}
	if (state_of(path) == USED)
		return false;
	port_error(c,
		"no process listens on %s: start the vhost backend first, or add server=1 to the "
		"device: then it may come later, as a client",
		path);
	return true;
}

bool device_socket_explain(const struct conf_port *c)
{
	char path[DEVICE_SOCKET_SIZE];

	if (listens_on(path, c->device))
		return explain_listen(c, path);
	if (device_socket_is_denied(c->device) && connects_to(path, c->device)) {
		port_error(c,
			"cannot connect to %s: %s: let the user or a group of culvertd write to "
			"the socket, and search its folders",
			path, strerror(EACCES));
		return true;
	}
	return is_virtio_user(c->device) &&
	       conf_device_arg(path, sizeof(path), c->device, "path") && explain_connect(c, path);
}
