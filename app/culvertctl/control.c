// SPDX-License-Identifier: BSD-3-Clause
#include "control.h"

#include <err.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "client.h"
#include "instances.h"
#include "output.h"

static const char *control_strerror(int error)
{
	switch (-error) {
	case EACCES:
		return "permission denied: only root and members of control_group or show_group "
		       "have access";
	case ECONNRESET:
		return "the daemon closed the connection: it stopped";
	case ETIMEDOUT:
		return "no answer in time, see the daemon's log";
	default:
		return client_strerror(error);
	}
}

static void address_of(struct sockaddr_un *addr, const char *instance)
{
	struct sockaddr_un show;

	instance_address(addr, instance, INSTANCE_CONTROL);
	// Members of show_group have a socket of their own, and requests that they may not make are
	// refused there.
	if (access(addr->sun_path, W_OK) < 0 && errno == EACCES &&
		instance_file(&show, instance, INSTANCE_SHOW) == 0 &&
		access(show.sun_path, W_OK) == 0)
		*addr = show;
}

bool control_try(struct answer *answer, const char *instance, const char *request)
{
	struct sockaddr_un addr;
	int ret;

	instance = instance_choose(instance);
	address_of(&addr, instance);
	ret = client_ask(answer, &addr, request);
	if (ret != 0)
		warnx("instance %s (%s): %s", instance, addr.sun_path, control_strerror(ret));
	return ret == 0;
}

void control_request(
	struct answer *answer, const char *instance, const char *request, enum exit_code failed)
{
	if (!control_try(answer, instance, request))
		exit(failed);
}

// The messages of the daemon, in lines.
static void errors_print(const char *text)
{
	char *lines = strdup(text), *rest = lines, *line;

	while (lines != NULL && (line = strsep(&rest, "\n")) != NULL && line[0] != '\0') {
		output_text(stderr, line);
		putc('\n', stderr);
	}
	free(lines);
}

void control_order(struct answer *answer, const char *instance, const char *request)
{
	control_request(answer, instance, request, EXIT_FAILED);
	if (strcmp(answer->status, "ok") == 0)
		return;
	answer->text[strcspn(answer->text, "\n")] = '\0';
	instance_refused(instance, answer->text);
}

static enum exit_code refusal_print(
	const struct options *options, const struct answer *answer, bool of_change)
{
	errors_print(answer->text);
	if (of_change)
		warnx("refused, the running configuration is unchanged");
	if (options->json)
		output_json(
			json_pack("{s:s, s:s}", "result", answer->status, "errors", answer->text));
	return EXIT_FAILED;
}

// The answer to a subscription is one packet. Returns 0, -errno, or 1 if it was refused, after a
// message.
static int subscription_begin(int fd)
{
	static const char request[] = "subscribe", taken[] = "events ";
	char answer[CONTROL_EVENT_MAX];
	int ret = client_send(fd, request);
	ssize_t len = ret == 0 ? TEMP_FAILURE_RETRY(recv(fd, answer, sizeof(answer) - 1, 0)) : 0;

	if (ret != 0 || len < 0)
		return ret != 0 ? ret : errno == EAGAIN ? -ETIMEDOUT : -errno;
	answer[len] = '\0';
	if (strncmp(answer, taken, strlen(taken)) == 0)
		return 0;
	errors_print(strchr(answer, '\n') != NULL ? strchr(answer, '\n') + 1 : answer);
	return len > 0 ? 1 : -ECONNRESET;
}

// From now on it may take any time until the next event.
static int subscription_open(const struct sockaddr_un *addr)
{
	const struct timeval forever = {0};
	int fd = client_connect(addr, CLIENT_REQUEST_S);
	int ret = fd < 0 ? fd : subscription_begin(fd);

	if (ret == 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return ret == 1 ? -EBADRQC : ret;
}

int control_subscribe(const char *instance)
{
	struct sockaddr_un addr;
	int fd;

	address_of(&addr, instance);
	fd = subscription_open(&addr);
	if (fd >= 0)
		return fd;
	if (fd != -EBADRQC)
		warnx("instance %s (%s): %s", instance, addr.sun_path, control_strerror(fd));
	exit(EXIT_FAILED);
}

bool control_event(int fd, const char *instance, char line[CONTROL_EVENT_MAX])
{
	ssize_t len = TEMP_FAILURE_RETRY(recv(fd, line, CONTROL_EVENT_MAX - 1, 0));

	line[len > 0 ? len : 0] = '\0';
	if (len <= 0)
		warnx("instance %s: %s", instance, control_strerror(-ECONNRESET));
	return len > 0;
}

#define CONFIRM_MINUTES_MAX 1440

unsigned int control_confirm_s(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);
	unsigned int unit = strcmp(end, "s") == 0 ? 1 : 60;

	if (text[0] < '0' || text[0] > '9' || (*end != '\0' && unit != 1) ||
		value > CONFIRM_MINUTES_MAX * 60 / unit)
		return 0;
	return (unsigned int)value * unit;
}

char *control_change_request(const struct options *options, const char *format, ...)
{
	char *text = NULL, confirm[32] = "", *request;
	va_list args;

	va_start(args, format);
	if (options->confirm != NULL)
		snprintf(confirm, sizeof(confirm), "confirm-in %u ",
			control_confirm_s(options->confirm));
	if (vasprintf(&text, format, args) < 0 ||
		asprintf(&request, "%s%s%s", options->new_keys ? "new-keys " : "", confirm, text) <
			0)
		err(EXIT_FAILED, NULL);
	va_end(args);
	explicit_bzero(text, strlen(text)); // keys
	free(text);
	return request;
}

// A change that returns by itself.
static void unconfirmed_print(const struct options *options)
{
	unsigned int s = control_confirm_s(options->confirm);

	if (s % 60 == 0)
		printf("undone in %u minute%s, unless you run: culvertctl confirm\n", s / 60,
			s == 60 ? "" : "s");
	else
		printf("undone in %u s, unless you run: culvertctl confirm\n", s);
}

enum exit_code answer_print(
	const struct options *options, const struct answer *answer, const char *done)
{
	unsigned int generation = 0, revision = 0;
	char number[16];

	if (strcmp(answer->status, "ok") != 0)
		return refusal_print(options, answer, done[0] != '\0');
	sscanf(answer->text, "generation %u revision %u", &generation, &revision);
	snprintf(number, sizeof(number), "%u", revision);
	if (options->json)
		return output_json(json_pack("{s:s, s:i, s:i}", "result", done, "generation",
			(int)generation, "revision", (int)revision));
	printf("%s, generation %u%s%s\n", done, generation, revision > 0 ? ", revision " : "",
		revision > 0 ? number : "");
	if (options->confirm != NULL && strstr(answer->text, " waits\n") != NULL)
		unconfirmed_print(options);
	return EXIT_OK;
}
