// SPDX-License-Identifier: BSD-3-Clause
#include "metrics.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>

#include "log.h"
#include "metrics_text.h"
#include "openmetrics.h"

#define CONNECTIONS    8u // at once; each may hold the text of one answer
#define CONNECTION_S   10u
#define LISTEN_BACKLOG 16
#define TEXT_TYPE      "text/plain; charset=utf-8"

static struct MHD_Daemon *server; // NULL: there is none

// Answers with text that stays, or that the server frees.
static enum MHD_Result answer(struct MHD_Connection *c, unsigned int status, const char *type,
	char *text, size_t len, enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(len, text, mode);
	enum MHD_Result result;

	if (r == NULL) {
		if (mode == MHD_RESPMEM_MUST_FREE)
			free(text);
		return MHD_NO;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return result;
}

static enum MHD_Result say(struct MHD_Connection *c, unsigned int status, const char *text)
{
	return answer(c, status, TEXT_TYPE, (char *)(uintptr_t)text, strlen(text),
		MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result metrics_answer(struct MHD_Connection *c, struct gateway *g)
{
	size_t len;
	char *text = metrics_text_new(g, &len);

	if (text == NULL)
		return say(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	return answer(c, MHD_HTTP_OK, OPENMETRICS_TYPE, text, len, MHD_RESPMEM_MUST_FREE);
}

// Called for the head of a request, for each part of its body and at its end; *state is the
// request's own.
static enum MHD_Result request(void *arg, struct MHD_Connection *c, const char *url,
	const char *method, const char *version, const char *body, size_t *body_len, void **state)
{
	static int head_seen;

	(void)version;
	(void)body;
	if (*state == NULL) {
		*state = &head_seen;
		return MHD_YES;
	}
	if (*body_len > 0) {
		*body_len = 0; // not wanted
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return say(c, MHD_HTTP_METHOD_NOT_ALLOWED, "there is only GET /metrics\n");
	if (strcmp(url, "/metrics") != 0)
		return say(c, MHD_HTTP_NOT_FOUND, "there is only /metrics\n");
	return metrics_answer(c, arg);
}

static socklen_t address(struct sockaddr_storage *to, const struct conf *conf)
{
	struct sockaddr_in v4 = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)conf->metrics_port)};
	struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)conf->metrics_port)};

	if (ip_addr_is_v4(&conf->metrics_addr)) {
		v4.sin_addr.s_addr = ip_addr_v4(&conf->metrics_addr);
		memcpy(to, &v4, sizeof(v4));
		return sizeof(v4);
	}
	memcpy(&v6.sin6_addr, &conf->metrics_addr, sizeof(v6.sin6_addr));
	memcpy(to, &v6, sizeof(v6));
	return sizeof(v6);
}

// A listening socket, or -1 with errno.
static int listen_at(const struct conf *conf)
{
	const int on = 1;
	struct sockaddr_storage addr = {0};
	socklen_t len = address(&addr, conf);
	int fd = socket(addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); // ports of ended connections
	if (bind(fd, (const struct sockaddr *)&addr, len) == 0 && listen(fd, LISTEN_BACKLOG) == 0)
		return fd;
	close(fd);
	return -1;
}

int metrics_start(struct gateway *g)
{
	char text[IP_ADDR_STRLEN];
	int fd;

	if (g->conf->metrics_port == 0)
		return 0;
	fd = listen_at(g->conf);
	if (fd >= 0)
		server = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, 0, NULL,
			NULL, request, g, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
			CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_S, MHD_OPTION_END);
	if (server != NULL)
		return 0;
	log_error("metrics: cannot listen on %s port %u: %s",
		ip_addr_format(text, &g->conf->metrics_addr), g->conf->metrics_port,
		strerror(errno));
	if (fd >= 0)
		close(fd);
	return -EIO;
}

void metrics_stop(void)
{
	if (server != NULL)
		MHD_stop_daemon(server);
	server = NULL;
}
