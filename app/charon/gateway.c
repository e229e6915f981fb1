// SPDX-License-Identifier: BSD-3-Clause
#include "gateway.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#define FOLDER "/var/run/dpdk" // of root, as charon is

static void address_of(struct sockaddr_un *addr, const char *instance, const char *file)
{
	addr->sun_family = AF_UNIX;
	snprintf(addr->sun_path, sizeof(addr->sun_path), FOLDER "/culvert-%s/%s", instance, file);
}

// The file is one that DPDK makes, and locks by fcntl() alone: a start of the gateway would wait
// for a lock of the folder.
int gateway_claim(const char *instance)
{
	struct sockaddr_un addr;
	int fd;

	address_of(&addr, instance, "config");
	fd = open(addr.sun_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		close(fd); // leaves errno, as the descriptor is good
		fd = -1;
	}
	return fd;
}

bool gateway_change(const char *instance, const char *changes, char **errors)
{
	struct sockaddr_un addr;
	struct answer answer;
	char *request;
	int ret;

	*errors = NULL;
	if (asprintf(&request, "ike charon\n%s", changes) < 0)
		return false;
	address_of(&addr, instance, "control");
	ret = client_ask(&answer, &addr, request);
	explicit_bzero(request, strlen(request));
	free(request);
	if (ret != 0) {
		*errors = strdup(client_strerror(ret));
		return false;
	}
	if (strcmp(answer.status, "ok") != 0) {
		*errors = answer.text;
		return false;
	}
	answer_fini(&answer);
	return true;
}

// NULL: it does not answer.
static json_t *list(const char *instance, const char *command, const char *filter)
{
	json_t *items = json_array();
	struct sockaddr_un addr;
	int fd, ret;
	pid_t pid;

	address_of(&addr, instance, "dpdk_telemetry.v2");
	fd = client_open(&pid, &addr);
	ret = fd < 0 ? fd : client_list(items, fd, command, filter);
	if (fd >= 0)
		close(fd);
	if (ret == 0)
		return items;
	json_decref(items);
	return NULL;
}

json_t *gateway_groups(const char *instance)
{
	return list(instance, "/culvert/groups", "");
}

json_t *gateway_sa(const char *instance, const char *name)
{
	char filter[CLIENT_FILTER_MAX];
	json_t *items, *sa;

	snprintf(filter, sizeof(filter), ",name=%s", name);
	items = list(instance, "/culvert/ike_sa", filter);
	sa = json_incref(json_array_get(items, 0));
	json_decref(items);
	return sa;
}

double gateway_number(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	return json_is_string(value) ? strtod(json_string_value(value), NULL)
				     : json_number_value(value);
}

static bool subscription_begin(int fd)
{
	static const char taken[] = "events ";
	char answer[GATEWAY_EVENT_MAX];

	return client_send(fd, "subscribe") == 0 && gateway_event(fd, answer) &&
	       strncmp(answer, taken, strlen(taken)) == 0;
}

int gateway_subscribe(const char *instance)
{
	struct sockaddr_un addr;
	int fd;

	address_of(&addr, instance, "control");
	fd = client_connect(&addr, CLIENT_REQUEST_S);
	if (fd >= 0 && !subscription_begin(fd)) {
		close(fd);
		fd = -1;
	}
	return fd >= 0 ? fd : -1;
}

bool gateway_event(int fd, char event[GATEWAY_EVENT_MAX])
{
	ssize_t len = TEMP_FAILURE_RETRY(recv(fd, event, GATEWAY_EVENT_MAX - 1, 0));

	event[len > 0 ? len : 0] = '\0';
	return len > 0;
}

// NULL if the event has no field NAME=.
static const char *event_field(const char *event, const char *name)
{
	size_t len = strlen(name);

	while (strncmp(event, name, len) != 0) {
		event = strchr(event, '\t');
		if (event == NULL)
			return NULL;
		event++;
	}
	return event + len;
}

void gateway_event_value(const char *event, const char *name, char *value, size_t size)
{
	const char *text = event_field(event, name);
	size_t len = text != NULL ? strcspn(text, "\t") : 0;

	value[0] = '\0';
	if (len < size)
		strncat(value, text != NULL ? text : "", len);
}

bool gateway_event_has(const char *event, const char *name, const char *value)
{
	const char *text = event_field(event, name);
	size_t len = strlen(value);

	return text != NULL && strncmp(text, value, len) == 0 &&
	       (text[len] == '\t' || text[len] == '\0');
}
