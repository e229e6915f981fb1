// SPDX-License-Identifier: BSD-3-Clause
#include "control.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "ask.h"
#include "client.h"
#include "instances.h"
#include "table.h"

#define SEND_S    5   // until the daemon takes the request
#define ANSWER_S  120 // until it is done
#define PIECE_MAX (16 * 1024)

static int control_open(const struct sockaddr_un *addr)
{
	const struct timeval to_send = {.tv_sec = SEND_S}, to_answer = {.tv_sec = ANSWER_S};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	// SO_SNDTIMEO limits connect() as well: it waits while the daemon's queue is full.
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &to_answer, sizeof(to_answer)) == 0 &&
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &to_send, sizeof(to_send)) == 0 &&
		TEMP_FAILURE_RETRY(connect(fd, (const void *)addr, sizeof(*addr))) == 0)
		return fd;
	error = errno;
	close(fd);
	return error == EAGAIN ? -ETIMEDOUT : -error;
}

// Whoever is not allowed to ask is told so before the request was taken: hence not all errors of
// sending are.
static int request_send(int fd, const char *request, size_t len)
{
	if (TEMP_FAILURE_RETRY(send(fd, request, len, MSG_NOSIGNAL)) >= 0 || errno == EPIPE)
		return 0;
	return errno == EAGAIN ? -ETIMEDOUT : -errno;
}

// Reads to the end. Returns the octets, or -errno.
static ssize_t octets_receive(char **text, int fd)
{
	size_t len = 0;
	ssize_t n;

	*text = NULL;
	do {
		char *longer = realloc(*text, len + PIECE_MAX + 1);

		if (longer == NULL)
			return -ENOMEM;
		*text = longer;
		n = TEMP_FAILURE_RETRY(recv(fd, *text + len, PIECE_MAX, 0));
		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		len += (size_t)n;
	} while (n > 0);
	(*text)[len] = '\0';
	return (ssize_t)len;
}

static int answer_receive(struct answer *answer, int fd)
{
	char *whole, *text;
	ssize_t len = octets_receive(&whole, fd);
	int ret = len < 0 ? (int)len : -ECONNRESET;
	size_t text_len;

	// A daemon that is stopped does not finish.
	if (len > 0 && (text = strchr(whole, '\n')) != NULL &&
		sscanf(whole, "%15s %zu", answer->status, &text_len) == 2 &&
		strlen(text + 1) == text_len) {
		answer->text = strdup(text + 1);
		ret = answer->text != NULL ? 0 : -ENOMEM;
	}
	free(whole);
	return ret;
}

static int exchange(
	struct answer *answer, const struct sockaddr_un *addr, const char *request, size_t len)
{
	int fd = control_open(addr);
	int ret;

	if (fd < 0)
		return fd;
	ret = request_send(fd, request, len);
	if (ret == 0)
		ret = answer_receive(answer, fd);
	close(fd);
	return ret;
}

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

static void failure_print(const struct target *t, const struct sockaddr_un *addr, int error)
{
	warnx("instance %s (%s): %s", t->instance, addr->sun_path, control_strerror(error));
}

static enum exit_code address_of(struct sockaddr_un *addr, const struct target *t)
{
	int ret = instance_address(addr, t->instance, INSTANCE_CONTROL);
	struct sockaddr_un show;

	// Members of show_group have a socket of their own, and are refused there what they may
	// not.
	if (ret == 0 && access(addr->sun_path, W_OK) < 0 && errno == EACCES &&
		instance_address(&show, t->instance, INSTANCE_SHOW) == 0 &&
		access(show.sun_path, W_OK) == 0)
		*addr = show;

	if (ret == 0)
		return EXIT_OK;
	if (ret != -EINVAL) {
		failure_print(t, addr, ret);
		return EXIT_FAILED;
	}
	warnx("invalid instance name \"%s\": use [A-Za-z0-9_.-]", t->instance);
	return EXIT_USAGE;
}

static enum exit_code ask_target(
	struct answer *answer, const struct target *t, const char *request, size_t len)
{
	struct sockaddr_un addr;
	enum exit_code code = address_of(&addr, t);
	int ret;

	if (code != EXIT_OK)
		return code;
	ret = exchange(answer, &addr, request, len);
	if (ret == 0)
		return EXIT_OK;
	failure_print(t, &addr, ret);
	return EXIT_FAILED;
}

enum exit_code control_ask(
	struct answer *answer, const char *instance, const char *request, size_t len)
{
	struct target target;
	enum exit_code code = target_init(&target, instance);

	if (code != EXIT_OK)
		return code;
	code = ask_target(answer, &target, request, len);
	target_fini(&target);
	return code;
}

void answer_fini(struct answer *answer)
{
	free(answer->text);
}

// What was wrong, as the daemon has it, in lines.
static void errors_print(const char *text)
{
	char *lines = strdup(text), *rest = lines, *line;

	while (lines != NULL && (line = strsep(&rest, "\n")) != NULL && line[0] != '\0') {
		table_put_text(stderr, line);
		putc('\n', stderr);
	}
	free(lines);
}

enum exit_code refusal_say(const char *instance, const struct answer *answer)
{
	answer->text[strcspn(answer->text, "\n")] = '\0';
	fprintf(stderr, "%s: instance %s: ", program_invocation_short_name, instance);
	table_put_text(stderr, answer->text);
	putc('\n', stderr);
	return EXIT_USAGE;
}

static enum exit_code refusal_print(const struct options *options, const struct answer *answer)
{
	json_t *object;

	errors_print(answer->text);
	warnx("refused, the running configuration is unchanged");
	if (!options->json)
		return EXIT_FAILED;
	object = json_pack("{s:s, s:s}", "result", answer->status, "errors", answer->text);
	output_json(object);
	json_decref(object);
	return EXIT_FAILED;
}

// The answer to a subscription is one packet. Returns 0, -errno, or 1 if it was refused, which was
// said.
static int subscription_begin(int fd)
{
	static const char request[] = "subscribe", taken[] = "events ";
	char answer[CONTROL_EVENT_MAX];
	int ret = request_send(fd, request, strlen(request));
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
	int fd = control_open(addr);
	int ret = fd < 0 ? fd : subscription_begin(fd);

	if (ret == 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return ret == 1 ? -EBADRQC : ret;
}

enum exit_code control_subscribe(struct subscription *s, const char *instance)
{
	struct sockaddr_un addr;
	enum exit_code code = target_init(&s->target, instance);

	if (code == EXIT_OK)
		code = address_of(&addr, &s->target);
	if (code != EXIT_OK)
		return code;
	s->fd = subscription_open(&addr);
	if (s->fd >= 0)
		return EXIT_OK;
	if (s->fd != -EBADRQC)
		failure_print(&s->target, &addr, s->fd);
	target_fini(&s->target);
	return EXIT_FAILED;
}

bool control_event(const struct subscription *s, char line[CONTROL_EVENT_MAX])
{
	ssize_t len = TEMP_FAILURE_RETRY(recv(s->fd, line, CONTROL_EVENT_MAX - 1, 0));

	line[len > 0 ? len : 0] = '\0';
	if (len <= 0)
		warnx("instance %s: %s", s->target.instance, control_strerror(-ECONNRESET));
	return len > 0;
}

void control_unsubscribe(struct subscription *s)
{
	close(s->fd);
	target_fini(&s->target);
}

enum exit_code answer_print(
	const struct options *options, const struct answer *answer, const char *done)
{
	enum exit_code code = EXIT_OK;
	unsigned int generation = 0;
	json_t *object;

	if (strcmp(answer->status, "ok") != 0)
		return refusal_print(options, answer);
	sscanf(answer->text, "generation %u", &generation);
	if (!options->json) {
		printf("%s, generation %u\n", done, generation);
		return EXIT_OK;
	}
	object = json_pack("{s:s, s:i}", "result", done, "generation", (int)generation);
	code = output_json(object);
	json_decref(object);
	return code;
}
